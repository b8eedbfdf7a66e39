//! Experiments as one file: a bundle verifies on another machine, and tampering is reported.

use std::fs;
use std::path::Path;

use apprentice_evaluator::verify::{Verification, VerifyError, verify, verify_folder};
use apprentice_runs::bundle::{BundleError, Manifest, Pictures, UnpackLimits, pack, pack_with};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;
use tempfile::TempDir;

use crate::experiment::{copied, finished};

fn verified(bundle: &Path) -> Result<Verification, VerifyError> {
    let scratch = TempDir::new().expect("a folder");
    verify(bundle, scratch.path(), UnpackLimits::default())
}

fn edit(path: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(path).expect("reads");
    assert!(text.contains(from), "{from:?} in {}", path.display());
    fs::write(path, text.replacen(from, to, 1)).expect("writes");
}

#[tokio::test]
async fn a_bundle_without_pictures_holds_and_says_what_it_goes_without() {
    let (folder, run) = copied().await;
    let blobs = fs::read_dir(run.join("blobs")).expect("blobs").flatten().map(|entry| entry.path());
    let blobs: Vec<_> = blobs.collect();
    let pictures = blobs.iter().filter(|path| path.extension().is_some_and(|kind| kind == "png")).count();
    assert!(pictures > 0, "{blobs:?}");
    let place = TempDir::new().expect("a folder");
    let bundle = place.path().join("experiment.tar.gz");
    let list = pack_with(folder.path(), &bundle, "0.0.0", Pictures::LeftOut).expect("packs");
    assert!(
        list.pictures_left_out.len() >= pictures && list.files.keys().all(|path| !path.ends_with(".png"))
    );
    let scratch = TempDir::new().expect("a folder");
    let whole = verify(&bundle, scratch.path(), UnpackLimits::default()).expect("verifies");
    assert!(whole.holds, "{:#?}", whole.contradictions);
    assert!(whole.unchecked.iter().any(|what| what.contains("pictures of screens")), "{:?}", whole.unchecked);

    // Unpacked and packed again it still names them; another blob that is missing is no picture that was left out.
    let (again, unpacked) = (place.path().join("again.tar.gz"), place.path().join("unpacked"));
    let archive = fs::File::open(&bundle).expect("the bundle");
    tar::Archive::new(flate2::read::GzDecoder::new(archive)).unpack(&unpacked).expect("unpacked");
    assert_eq!(pack(&unpacked, &again, "0.0.0").expect("packs"), list);
    let text = list.files.keys().find(|path| path.contains("/blobs/")).expect("a text");
    fs::remove_file(unpacked.join(text)).expect("removed");
    pack(&unpacked, &again, "0.0.0").expect("packs");
    let lacking = verified(&again).expect("verifies");
    assert!(!lacking.holds && lacking.contradictions[0].problem.contains("which is missing"), "{lacking:#?}");
}

#[tokio::test]
async fn a_bundle_holds_on_another_machine_and_says_what_was_tampered_with() {
    let (folder, run) = copied().await;
    let (origin, outcome) = finished().await;
    let place = TempDir::new().expect("a folder");
    let bundle = place.path().join("experiment.tar.gz");
    let list = pack(folder.path(), &bundle, "0.0.0").expect("packs");
    let bytes = fs::read(&bundle).expect("a bundle");
    pack(folder.path(), &bundle, "0.0.0").expect("packs");
    assert_eq!(fs::read(&bundle).expect("a bundle"), bytes, "the same folder gives the same bundle");

    // Verification needs neither the packed folder nor any path of this machine.
    let here = origin.to_str().expect("text");
    for path in list.files.keys() {
        let text = fs::read(folder.path().join(path)).expect("reads");
        assert!(!String::from_utf8_lossy(&text).contains(here), "{path} names the folder that it was in");
    }
    let whole = verified(&bundle).expect("verifies");
    assert!(whole.holds, "{whole:#?}");
    assert_eq!((whole.files, whole.runs.len()), (list.files.len(), 2));
    assert_eq!(whole.report_differs, Some(Vec::new()));
    let graded: u64 = whole.runs.values().map(|run| run.same).sum();
    assert_eq!(graded, u64::from(outcome.report.totals.attempts));

    // A forger can repack the bundle so that the file list matches; the grades and the numbers still reveal the
    // change.
    let rows = run.join("trials.jsonl");
    edit(&rows, "\"verdict\":\"fail\",\"score\":0.0", "\"verdict\":\"pass\",\"score\":1.0");
    pack(folder.path(), &bundle, "0.0.0").expect("packs");
    let tampered = verified(&bundle).expect("verifies");
    assert!(!tampered.holds);
    assert_eq!(tampered.runs.values().map(|run| run.differs).sum::<u64>(), 1);
    let differs = tampered.report_differs.expect("a report");
    let passed = differs.iter().find(|one| one.at.starts_with("/arms/") && one.at.ends_with("/passed"));
    let passed = passed.expect("the arm's number is named");
    assert_ne!(passed.stored, passed.computed);
    assert!(!verify_folder(folder.path()).expect("examines").holds);
}

#[tokio::test]
async fn a_report_or_evidence_that_was_changed_is_named() {
    let (folder, run) = copied().await;
    let (_, outcome) = finished().await;
    let stored = fs::read_to_string(folder.path().join("report.json")).expect("reads");
    edit(&folder.path().join("report.json"), "\"passed\": 3", "\"passed\": 4");
    let found = verify_folder(folder.path()).expect("examines");
    let differs = found.report_differs.expect("a report");
    let [one] = differs.as_slice() else { panic!("one place: {differs:?}") };
    assert_eq!((one.stored.as_str(), one.computed.as_str(), found.holds), ("4", "3", false));

    // Changed wording is reported but proves nothing; a changed number in a sentence does.
    fs::write(folder.path().join("report.json"), stored).expect("writes");
    edit(&folder.path().join("report.json"), "every sentence is about", "all of it is about");
    let found = verify_folder(folder.path()).expect("examines");
    let places = found.report_differs.expect("a report");
    assert!(found.holds && places.len() == 1 && places[0].wording, "{places:?}");
    let stored = fs::read_to_string(folder.path().join("report.json")).expect("reads");
    let at = stored.find("\"result\": \"").expect("the headline's sentence");
    let digit = at + stored[at..].find(|c: char| c.is_ascii_digit()).expect("a number");
    let other = if stored[digit..].starts_with('9') { "8" } else { "9" };
    let told = format!("{}{other}{}", &stored[..digit], &stored[digit + 1..]);
    fs::write(folder.path().join("report.json"), told).expect("writes");
    assert!(!verify_folder(folder.path()).expect("examines").holds);

    let first = outcome.report.trials.iter().find(|line| line.measured).expect("a trial");
    let evidence = folder.path().join(&first.trace).join("evidence/evidence.json");
    fs::remove_file(&evidence).expect("removes");
    let found = verify_folder(folder.path()).expect("examines");
    assert_eq!(found.runs.values().map(|run| run.missing).sum::<u64>(), 1);
    // A row that points outside the run could cause another person's files to be read.
    edit(&run.join("trials.jsonl"), "\"trace\":\"trials", "\"trace\":\"../trials");
    assert!(matches!(verify_folder(folder.path()), Err(VerifyError::OutsideRun { .. })));
}

/// A malformed bundle: an empty list, and then the given entries.
fn made(bundle: &Path, entries: &[(&str, tar::EntryType, &[u8])]) {
    let file = fs::File::create(bundle).expect("a file");
    let mut archive = tar::Builder::new(GzEncoder::new(file, Compression::fast()));
    let list = Manifest {
        schema: "apprentice.bundle/1".into(),
        program: "0".into(),
        files: [].into(),
        pictures_left_out: [].into(),
    };
    let list = json!(list).to_string();
    let first = [("bundle.json", tar::EntryType::Regular, list.as_bytes())];
    for (name, kind, bytes) in first.iter().chain(entries) {
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        header.set_entry_type(*kind);
        header.as_ustar_mut().expect("ustar").name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_cksum();
        archive.append(&header, *bytes).expect("appends");
    }
    archive.into_inner().expect("whole").finish().expect("whole");
}

#[test]
fn a_bundle_that_reaches_outside_or_fills_the_disk_is_refused() {
    let place = TempDir::new().expect("a folder");
    let bundle = place.path().join("bad.tar.gz");
    let cases = [
        ("../out", tar::EntryType::Regular, "leaves the bundle"),
        ("a/../../out", tar::EntryType::Regular, "leaves the bundle"),
        ("/etc/out", tar::EntryType::Regular, "leaves the bundle"),
        ("a/link", tar::EntryType::Symlink, "is not a regular file"),
        ("a/link", tar::EntryType::Link, "is not a regular file"),
        ("a/device", tar::EntryType::Char, "is not a regular file"),
        ("././@LongLink", tar::EntryType::GNULongName, "unpack it, and pack the folder with"),
        ("././@PaxHeader", tar::EntryType::XHeader, "unpack it, and pack the folder with"),
        ("a/global", tar::EntryType::XGlobalHeader, "unpack it, and pack the folder with"),
    ];
    for (path, kind, why) in cases {
        made(&bundle, &[(path, kind, b"x")]);
        let scratch = TempDir::new().expect("a folder");
        let inner = scratch.path().join("inner");
        fs::create_dir(&inner).expect("a folder");
        let error = verify(&bundle, &inner, UnpackLimits::default()).expect_err("is refused").to_string();
        assert!(error.contains(why), "{path}: {error}");
        assert!(!scratch.path().join("out").exists(), "{path} was written");
    }

    let zeros = vec![0; 1 << 20];
    made(&bundle, &[("a", tar::EntryType::Regular, &zeros)]);
    assert!(fs::metadata(&bundle).expect("data").len() < 20_000, "a small file that unpacks to a large one");
    let scratch = TempDir::new().expect("a folder");
    let small = |bytes, files| verify(&bundle, scratch.path(), UnpackLimits { bytes, files });
    assert!(matches!(small(1 << 20, 10), Err(VerifyError::Bundle(BundleError::TooLarge { .. }))));
    assert!(matches!(small(1 << 30, 1), Err(VerifyError::Bundle(BundleError::TooLarge { .. }))));
    assert!(!scratch.path().join("a").exists(), "refused before it was written");

    made(&bundle, &[("a", tar::EntryType::Regular, b"1"), ("a", tar::EntryType::Regular, b"2")]);
    let twice = verified(&bundle).expect_err("one path twice").to_string();
    assert!(twice.contains("\"a\"") && twice.contains("stands in the bundle twice"), "{twice}");
    fs::write(&bundle, b"no archive").expect("writes");
    assert!(matches!(verified(&bundle), Err(VerifyError::Bundle(BundleError::Form { .. }))));
    let error = pack(place.path(), &bundle, "0.0.0").expect_err("nothing there").to_string();
    assert!(error.contains("not a run or an experiment"), "{error}");
}
