//! Writes the sample run where `scripts/conformance/exports` finds it, so that other programs open its exports.

use std::path::Path;

use crate::exports::ATTEMPTS;
use crate::sample::Sample;

#[test]
fn the_sample_run_is_there_for_other_programs() {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("exports");
    if place.exists() {
        std::fs::remove_dir_all(&place).expect("removed");
    }
    let sample = Sample::of(&ATTEMPTS);
    std::fs::create_dir_all(place.parent().expect("a parent")).expect("a folder");
    // The folder of a test may be on another disk, so it is copied and not renamed.
    copy(&sample.run(), &place);
    assert!(place.join("run.json").is_file());
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        match entry.path().is_dir() {
            true => copy(&entry.path(), &to.join(entry.file_name())),
            false => drop(std::fs::copy(entry.path(), to.join(entry.file_name())).expect("copied")),
        }
    }
}
