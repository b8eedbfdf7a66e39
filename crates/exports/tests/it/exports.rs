//! What each format holds, what is left out and said, and that nothing escapes.

use std::fs;
use std::sync::Arc;

use apprentice_exports::{
    ExportError, ExportFormat, ExportRequest, FolderError, Guidance, Manifest, PictureForm, Selection,
    SplitChoice, StepRange, export,
};
use apprentice_pixels::decode_png;
use apprentice_protocol::{Action, ActionOrigin, ActionOutcome, PersonAction, PersonEvent, Rect, Verdict};
use apprentice_runs::row::Split;
use apprentice_trace::Redactor;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::sample::{ADVICE, Attempt, HOSTILE, SECRET, Sample, files, lines, picture};

/// Every kind of attempt.
pub(crate) const ATTEMPTS: [Attempt<'_>; 6] = [
    Attempt { trial: "t-one", ..BASE },
    Attempt { trial: "t-again", seed: 1, ..BASE },
    Attempt {
        trial: "t-hostile",
        task: "../../evil",
        template: "evil",
        split: None,
        verdict: Verdict::Fail,
        words: HOSTILE,
        ..BASE
    },
    Attempt {
        trial: "t-test",
        task: "shop-sell",
        template: "sell",
        split: Some("test"),
        words: "Sealed",
        ..BASE
    },
    Attempt { trial: "t-void", task: "shop-void", verdict: Verdict::Void, ..BASE },
    Attempt {
        trial: "t-old",
        task: "shop-old",
        template: "old",
        split: Some("dev"),
        messages: false,
        words: "Old",
        ..BASE
    },
];
const BASE: Attempt<'_> = Attempt {
    clock: "10:01",
    trial: "t-one",
    task: "shop-buy",
    template: "shop",
    split: Some("train"),
    arm: "pull",
    seed: 0,
    verdict: Verdict::Pass,
    words: "Shop",
    messages: true,
    secrets: Some(&[]),
};

fn asked(sample: &Sample, format: ExportFormat, selection: Selection) -> ExportRequest {
    ExportRequest {
        run: sample.run(),
        source: None,
        format,
        out: sample.out(format.name()),
        selection,
        pictures: None,
        licence: Some("CC0-1.0".into()),
        apps: [("shop-buy".to_owned(), "chrome".to_owned())].into(),
        as_sent: None,
        for_profile: None,
        redactor: Arc::new(Redactor::new([SECRET]).expect("builds")),
        program: "0.0.0".into(),
    }
}

fn made(sample: &Sample, format: ExportFormat, selection: Selection) -> Manifest {
    export(&asked(sample, format, selection)).expect("exports")
}

fn roles(line: &Value) -> Vec<&str> {
    line["messages"]
        .as_array()
        .expect("messages")
        .iter()
        .map(|one| one["role"].as_str().expect("a role"))
        .collect()
}

#[test]
fn every_format_is_whole_redacted_and_stays_in_its_folder() {
    let sample = Sample::of(&ATTEMPTS);
    for format in ExportFormat::ALL {
        let manifest = made(&sample, format, Selection::default());
        let expected = if format.is_training() { 2 } else { 5 };
        assert_eq!(manifest.exported, expected, "{}: {:?}", format.name(), manifest.left_out);
        assert_eq!(manifest.not_selected["void"], 1);
        let found = files(&sample.out(format.name()));
        for (name, text) in &found {
            assert!(!text.contains(SECRET), "{}: {name} holds a secret", format.name());
        }
        for name in ["README.md", "manifest.json", "index.jsonl"] {
            assert!(found.iter().any(|(file, _)| file == name), "{}: no {name}", format.name());
        }
        assert_eq!(lines(&sample.out(format.name()).join("index.jsonl")).len(), expected);
    }
    let beside: Vec<String> = fs::read_dir(sample.0.path())
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .filter(|name| name != "run" && !ExportFormat::ALL.iter().any(|format| format.name() == name))
        .collect();
    assert!(beside.is_empty(), "{beside:?}");
}

#[test]
fn an_attempt_repeats_another_one_by_its_acts_whatever_a_clock_on_the_screen_shows() {
    let attempt = |trial, clock| Attempt { trial, clock, ..Attempt::default() };
    let sample = Sample::of(&[attempt("t-one", "10:01"), attempt("t-two", "10:02")]);
    let manifest = made(&sample, ExportFormat::Openai, Selection::default());
    assert_eq!((manifest.exported, manifest.not_selected["repeats another attempt"]), (1, 1));
}

#[test]
fn every_form_counts_its_pictures() {
    let sample = Sample::of(&ATTEMPTS);
    for format in [ExportFormat::Parquet, ExportFormat::Osworld, ExportFormat::Openai] {
        let manifest = made(&sample, format, Selection::default());
        assert!(manifest.pictures > 0 && manifest.picture_bytes > 0, "{}", format.name());
    }
}

/// The screen is twice as large as its pictures.
#[test]
fn what_shows_a_secret_is_painted_over_in_every_form_and_counted() {
    let secrets = [Rect::new(20, 20, 40, 10)];
    let sample = Sample::of(&[Attempt { secrets: Some(&secrets), ..Attempt::default() }]);
    let is_covered = |bytes: &[u8]| {
        let frame = decode_png(bytes).expect("a PNG");
        let (inside, outside) = (frame.pixel(20, 12), frame.pixel(50, 30));
        assert!(outside.is_some_and(|colour| colour != [0; 3]), "the rest is as it was");
        inside == Some([0; 3])
    };
    let pngs = |format: ExportFormat| -> Vec<Vec<u8>> {
        let mut folders = vec![sample.out(format.name())];
        let mut found = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path())
            {
                if entry.is_dir() {
                    folders.push(entry);
                } else if entry.extension().is_some_and(|extension| extension == "png") {
                    found.push(fs::read(entry).expect("read"));
                }
            }
        }
        found
    };
    for format in [ExportFormat::Openai, ExportFormat::Sharegpt, ExportFormat::Atif, ExportFormat::Osworld] {
        let manifest = made(&sample, format, Selection::default());
        assert!(manifest.painted_pictures > 0, "{}", format.name());
        assert_eq!(manifest.painted_places, manifest.painted_pictures, "one in each");
        let pictures = pngs(format);
        assert!(!pictures.is_empty() && pictures.iter().all(|bytes| is_covered(bytes)), "{}", format.name());
        let card = fs::read_to_string(sample.out(format.name()).join("README.md")).expect("a card");
        assert!(card.contains("Painted over: "), "{card}");
    }
    let inline = ExportRequest {
        pictures: Some(PictureForm::Inline),
        out: sample.out("inline"),
        ..asked(&sample, ExportFormat::Openai, Selection::default())
    };
    assert!(export(&inline).expect("exports").painted_pictures > 0);
    let line = lines(&sample.out("inline").join("train.jsonl")).remove(0);
    let url = line["messages"][1]["content"][3]["image_url"]["url"].as_str().expect("a URL").to_owned();
    let bytes = STANDARD.decode(url.strip_prefix("data:image/png;base64,").expect("a PNG")).expect("Base64");
    assert!(is_covered(&bytes));
}

#[test]
fn pictures_of_traces_that_know_no_places_stay_and_the_manifest_says_so() {
    let sample = Sample::of(&[Attempt { secrets: None, ..Attempt::default() }]);
    let manifest = made(&sample, ExportFormat::Openai, Selection::default());
    assert_eq!((manifest.painted_pictures, manifest.painted_places), (0, 0));
    assert!(
        manifest.remarks.iter().any(|remark| remark.contains("nothing is painted over")),
        "{:?}",
        manifest.remarks
    );
}

#[test]
fn a_conversation_is_what_was_sent_with_its_pictures() {
    let sample = Sample::of(&ATTEMPTS);
    let manifest = made(&sample, ExportFormat::Openai, Selection::default());
    assert_eq!(manifest.not_selected["repeats another attempt"], 1);
    assert_eq!(manifest.not_selected["test task"], 1);
    assert!(manifest.left_out.len() == 1 && manifest.left_out[0].reason.contains("earlier version"));
    let all = lines(&sample.out("openai").join("train.jsonl"));
    let [line] = all.as_slice() else { panic!("one conversation: {all:?}") };
    assert_eq!(
        roles(line),
        ["system", "user", "assistant", "tool", "user", "assistant", "tool", "assistant"]
    );
    let call = &line["messages"][2]["tool_calls"][0];
    assert_eq!((&call["id"], &call["function"]["name"]), (&json!("c1"), &json!("computer")));
    let arguments: Value =
        serde_json::from_str(call["function"]["arguments"].as_str().expect("text")).expect("JSON");
    assert_eq!(arguments["actions"][1], json!({ "do": "type", "text": "=1+1" }));
    let picture = line["messages"][1]["content"][3]["image_url"]["url"].as_str().expect("a path");
    assert!(sample.out("openai").join(picture).is_file() && picture.starts_with("images/"), "{picture}");
    assert!(line["messages"][1].to_string().contains("[redacted]"));
    assert!(
        sample.out("openai").join("unsplit.jsonl").is_file(),
        "a run without a lock has a file of its own"
    );
}

#[test]
fn guidance_and_its_tools_can_be_removed() {
    let sample = Sample::of(&ATTEMPTS[..1]);
    let selection = Selection { guidance: Guidance::Removed, ..Selection::default() };
    made(&sample, ExportFormat::Openai, selection);
    let text = fs::read_to_string(sample.out("openai").join("train.jsonl")).expect("read");
    assert!(!text.contains("Menus") && !text.contains("skill_view") && !text.contains("advice"), "{text}");
    assert!(text.contains("You work on a computer."));
    made(&sample, ExportFormat::Sharegpt, Selection::default());
    let kept = fs::read_to_string(sample.out("sharegpt").join("train.jsonl")).expect("read");
    assert!(kept.contains("skill_view") && kept.contains(&ADVICE.replace('\n', "\\n")), "{kept}");
}

#[test]
fn a_part_of_an_attempt_begins_with_its_task_and_its_view() {
    let sample = Sample::of(&ATTEMPTS[..1]);
    let steps = StepRange { from: 2, to: Some(2) };
    made(&sample, ExportFormat::Openai, Selection { steps, ..Selection::default() });
    let all = lines(&sample.out("openai").join("train.jsonl"));
    assert_eq!(roles(&all[0]), ["system", "user", "assistant"]);
    let opening = all[0]["messages"][1].to_string();
    assert!(
        opening.contains("Task: Shop") && opening.contains("Screen now.") && opening.contains("image_url")
    );
    let none = StepRange { from: 9, to: None };
    let out = ExportRequest {
        out: sample.out("none"),
        ..asked(&sample, ExportFormat::Openai, Selection { steps: none, ..Selection::default() })
    };
    assert!(matches!(export(&out), Err(ExportError::Nothing(_))));
    assert!(!sample.out("none").exists());
}

#[test]
fn a_mark_of_a_picture_in_a_text_is_no_picture() {
    let sample = Sample::of(&ATTEMPTS[2..3]);
    made(&sample, ExportFormat::Sharegpt, Selection::default());
    let all = lines(&sample.out("sharegpt").join("unsplit.jsonl"));
    let turns = all[0]["conversations"].as_array().expect("turns");
    let sides: Vec<&str> = turns.iter().map(|turn| turn["from"].as_str().expect("a side")).collect();
    assert_eq!(sides, ["human", "gpt", "human", "gpt", "human", "gpt"]);
    let marks: usize =
        turns.iter().map(|turn| turn["value"].as_str().expect("text").matches("<image>").count()).sum();
    assert_eq!((marks, all[0]["images"].as_array().expect("images").len()), (2, 2));
}

#[test]
fn training_takes_no_test_task_unless_it_is_named() {
    let sample = Sample::of(&ATTEMPTS[3..4]);
    let named = |include_test| Selection {
        split: SplitChoice { only: [Split::Test].into(), include_test },
        ..Selection::default()
    };
    let refused = export(&asked(&sample, ExportFormat::Sharegpt, named(false)));
    assert!(matches!(refused, Err(ExportError::Test("sharegpt"))), "{refused:?}");
    let silent = export(&asked(&sample, ExportFormat::Sharegpt, Selection::default()));
    assert_eq!(silent.expect_err("nothing").to_string(), "no attempt can be exported: 1 test task");
    assert!(!sample.out("sharegpt").exists());
    assert_eq!(made(&sample, ExportFormat::Sharegpt, named(true)).exported, 1);
    assert_eq!(
        made(&sample, ExportFormat::Atif, Selection::default()).exported,
        1,
        "a format for reading takes it"
    );
}

#[test]
fn a_lost_or_foreign_picture_is_named() {
    let sample = Sample::of(&ATTEMPTS[..1]);
    sample.lose_picture(1);
    let refused =
        export(&asked(&sample, ExportFormat::Openai, Selection::default())).expect_err("no conversation");
    assert!(refused.to_string().contains(".png is missing"), "{refused}");
    made(&sample, ExportFormat::Atif, Selection::default());
    let whole = files(&sample.out("atif"));
    assert!(whole.iter().any(|(_, text)| text.contains("[no picture: the blob")));
    // Another file under the name of a blob.
    let blobs = sample.run().join("blobs");
    for entry in fs::read_dir(&blobs).expect("blobs") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|extension| extension == "png") {
            fs::write(path, b"something else").expect("written");
        }
    }
    let foreign =
        export(&asked(&sample, ExportFormat::Openai, Selection::default())).expect_err("no conversation");
    assert!(foreign.to_string().contains("not the recorded one"), "{foreign}");
}

#[test]
fn tables_hold_points_and_no_formulas() {
    let sample = Sample::of(&ATTEMPTS);
    made(&sample, ExportFormat::Csv, Selection::default());
    let text = fs::read_to_string(sample.out("csv").join("steps.csv")).expect("read");
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let names: Vec<String> = reader.headers().expect("a header").iter().map(str::to_owned).collect();
    let place = |name: &str| names.iter().position(|one| one == name).expect("a column");
    let rows: Vec<csv::StringRecord> = reader.records().map(|row| row.expect("a row")).collect();
    assert_eq!(
        (&rows[0][place("x")], &rows[0][place("y")]),
        ("60", "20"),
        "an act by reference has its point"
    );
    assert!(
        rows[0][place("picture_before")].starts_with("images/") && rows[0][place("picture_after")].is_empty()
    );
    assert!(
        rows[1][place("picture_before")].is_empty() && rows[1][place("picture_after")].starts_with("images/")
    );
    for row in &rows {
        for name in ["text", "target_name", "screen_title", "said", "task"] {
            assert!(!row[place(name)].starts_with(['=', '+', '-', '@']), "{name}: {}", &row[place(name)]);
        }
    }
    assert!(rows.iter().any(|row| row[place("screen_title")].starts_with("'=HYPERLINK")));
}

#[test]
fn a_result_tree_is_sorted_as_osworld_sorts_it() {
    let sample = Sample::of(&ATTEMPTS);
    made(&sample, ExportFormat::Osworld, Selection { voids: true, ..Selection::default() });
    let names: Vec<String> = files(&sample.out("osworld")).into_iter().map(|(name, _)| name).collect();
    let base = "computer_13/screenshot_a11y_tree/compat-sample-pull-seed0";
    assert!(names.contains(&format!("{base}/chrome/shop-buy/result.txt")), "{names:#?}");
    assert!(names.contains(&format!("{base}-void-attempt1/corner-shop/shop-void/status.json")), "{names:#?}");
    let void_result = names.iter().any(|name| name.ends_with("shop-void/result.txt"));
    assert!(!void_result, "void is no result");
    let traj = lines(&sample.out("osworld").join(base).join("chrome/shop-buy/traj.jsonl"));
    assert_eq!(traj[0]["info"]["point"], json!({ "x": 60, "y": 20 }));
    assert_eq!(traj.last().expect("a line")["action"], "DONE");
}

/// OSWorld's `show_result.py` takes the mean of the results in one model's folder.
#[test]
fn a_verdict_of_a_later_attempt_lies_in_its_models_folder_and_the_void_one_beside_it() {
    let void = Attempt { trial: "t-void", verdict: Verdict::Void, ..ATTEMPTS[0] };
    let sample = Sample::of(&[void, ATTEMPTS[0]]);
    let rows = sample.run().join("trials.jsonl");
    let text = fs::read_to_string(&rows).expect("read");
    let (first, second) = text.trim_end().split_once('\n').expect("two rows");
    let second = second.replace("\"attempt\":1", "\"attempt\":2");
    fs::write(&rows, format!("{first}\n{second}\n")).expect("written");
    made(&sample, ExportFormat::Osworld, Selection { voids: true, ..Selection::default() });
    let names: Vec<String> = files(&sample.out("osworld")).into_iter().map(|(name, _)| name).collect();
    let base = "computer_13/screenshot_a11y_tree/compat-sample-pull-seed0";
    assert!(names.contains(&format!("{base}/chrome/shop-buy/result.txt")), "{names:#?}");
    let beside: Vec<&String> = names.iter().filter(|name| name.contains("-void-attempt1/")).collect();
    assert!(!beside.is_empty() && beside.iter().all(|name| !name.ends_with("result.txt")), "{names:#?}");
}

#[test]
fn a_folder_is_never_written_over_and_a_torn_row_is_told() {
    let sample = Sample::of(&ATTEMPTS[..1]);
    let rows = sample.run().join("trials.jsonl");
    let whole = fs::read_to_string(&rows).expect("read");
    fs::write(&rows, format!("{whole}{}", &whole[..40])).expect("written");
    let manifest = made(&sample, ExportFormat::Csv, Selection::default());
    assert!(manifest.remarks[0].contains("line 2 of trials.jsonl is cut off"), "{:?}", manifest.remarks);
    let again = export(&asked(&sample, ExportFormat::Csv, Selection::default()));
    assert!(matches!(again, Err(ExportError::Folder(FolderError::Exists(_)))), "{again:?}");
}

#[test]
fn a_row_cannot_lead_out_of_its_run() {
    let sample = Sample::of(&ATTEMPTS[..1]);
    let rows = sample.run().join("trials.jsonl");
    let text = fs::read_to_string(&rows).expect("read");
    for place in ["../elsewhere", "/etc", "trials/link"] {
        fs::write(&rows, text.replace("trials/t-one/attempt-01", place)).expect("written");
        if place == "trials/link" {
            let outside = sample.out("outside");
            fs::create_dir(&outside).expect("a folder");
            fs::copy(sample.run().join("trials/t-one/attempt-01/events.jsonl"), outside.join("events.jsonl"))
                .expect("copied");
            std::os::unix::fs::symlink(&outside, sample.run().join("trials/link")).expect("linked");
        }
        let refused = export(&asked(&sample, ExportFormat::Csv, Selection::default())).expect_err("outside");
        assert!(refused.to_string().contains("not inside the run"), "{place}: {refused}");
    }
}

#[test]
fn pictures_may_stand_in_the_text_or_be_left_out() {
    let sample = Sample::of(&ATTEMPTS[..1]);
    for (form, has) in [(PictureForm::Inline, true), (PictureForm::None, false)] {
        let out = sample.out(if has { "inline" } else { "without" });
        let request = ExportRequest {
            pictures: Some(form),
            out: out.clone(),
            ..asked(&sample, ExportFormat::Openai, Selection::default())
        };
        export(&request).expect("exports");
        let text = fs::read_to_string(out.join("train.jsonl")).expect("read");
        assert_eq!((text.contains("data:image/png;base64,iVBOR"), out.join("images").exists()), (has, false));
    }
    let odd = ExportRequest {
        pictures: Some(PictureForm::Inline),
        ..asked(&sample, ExportFormat::Csv, Selection::default())
    };
    assert!(matches!(export(&odd), Err(ExportError::Pictures("csv"))));
}

#[test]
fn a_table_holds_conversations_with_their_pictures_and_no_secret() {
    let sample = Sample::of(&ATTEMPTS);
    let manifest = made(&sample, ExportFormat::Parquet, Selection::default());
    assert_eq!((manifest.exported, manifest.picture_form), (2, PictureForm::Inline));
    assert_eq!(manifest.not_selected["test task"], 1);
    let out = sample.out("parquet");
    let table = fs::read(out.join("train.parquet")).expect("read");
    let holds = |part: &[u8]| table.windows(part.len()).any(|window| window == part);
    assert!(table.starts_with(b"PAR1") && table.ends_with(b"PAR1"));
    let length: [u8; 4] = table[table.len() - 8..table.len() - 4].try_into().expect("four bytes");
    let footer = &table[table.len() - 8 - u32::from_le_bytes(length) as usize..];
    assert!(
        footer.windows(11).any(|window| window == b"huggingface"),
        "the footer says what the columns are"
    );
    // An attempt of two steps: both screens, each once, and the words with them.
    assert!(holds(&picture(0)) && holds(&picture(1)) && !holds(&picture(2)));
    assert!(holds(b"You work on a computer.") && holds(b"[redacted]") && !holds(SECRET.as_bytes()));
    let card = fs::read_to_string(out.join("README.md")).expect("a card");
    assert!(card.contains("path: train.parquet") && card.contains("path: unsplit.parquet"), "{card}");
    assert!(!out.join("images").exists() && out.join("unsplit.parquet").is_file());
    let without = ExportRequest {
        pictures: Some(PictureForm::None),
        out: sample.out("words"),
        ..asked(&sample, ExportFormat::Parquet, Selection::default())
    };
    export(&without).expect("exports");
    let words = fs::read(sample.out("words").join("train.parquet")).expect("read");
    assert!(!words.windows(4).any(|window| window == b"\x89PNG"), "no picture, nor a place for one");
}

#[test]
fn manifests_are_as_published() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/export-1.json");
    let written = schemars::generate::SchemaSettings::draft2020_12().for_serialize();
    let schema = written.into_generator().into_root_schema_for::<Manifest>();
    let mut text = serde_json::to_string_pretty(&schema).expect("writes");
    text.push('\n');
    if fs::read_to_string(&path).is_ok_and(|committed| committed == text) {
        return;
    }
    let draft = path.with_extension("json.new");
    fs::write(&draft, text).expect("writes");
    panic!("schemas/export-1.json is not what the types say; look at export-1.json.new, then move it there");
}

/// Puts an action of a person between the first and the second turn of an attempt.
fn take_over(sample: &Sample, trial: &str) {
    let act = PersonAction {
        by: "ann".into(),
        origin: ActionOrigin::Person,
        sent: Action::Type { text: "milk".into() },
        outcome: ActionOutcome::Done { text: None },
        screenshot: None,
    };
    let event = json!({
        "v": 1, "id": "e90", "wall": "1970-01-01T00:00:09Z", "mono_us": 1, "step": "s2", "kind": "person",
        "data": PersonEvent::Acted(Box::new(act)),
    });
    let path = sample.run().join(format!("trials/{trial}/attempt-01/events.jsonl"));
    let text = fs::read_to_string(&path).expect("a trace");
    let second = text.match_indices("\"kind\":\"observed\"").nth(1).expect("two views").0;
    let line = text[..second].rfind('\n').expect("a line before") + 1;
    fs::write(&path, format!("{}{event}\n{}", &text[..line], &text[line..])).expect("written");
}

#[test]
fn what_a_person_did_stays_theirs() {
    let sample = Sample::of(&ATTEMPTS[..1]);
    take_over(&sample, "t-one");
    made(&sample, ExportFormat::Csv, Selection::default());
    let text = fs::read_to_string(sample.out("csv").join("steps.csv")).expect("read");
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let names: Vec<String> = reader.headers().expect("a header").iter().map(str::to_owned).collect();
    let place = |name: &str| names.iter().position(|one| one == name).expect("a column");
    let rows: Vec<csv::StringRecord> = reader.records().map(|row| row.expect("a row")).collect();
    let by: Vec<&str> = rows.iter().map(|row| &row[place("by")]).collect();
    assert_eq!(by.iter().filter(|by| **by == "person").count(), 1, "{by:?}");
    assert_eq!(by[2], "person", "between the first turn's two actions and the second turn");
    assert_eq!((&rows[2][place("action")], &rows[2][place("outcome")]), ("type", "done"));
    assert!(rows[2][place("input_tokens")].is_empty(), "a person costs no tokens");
    made(&sample, ExportFormat::Atif, Selection::default());
    let all = files(&sample.out("atif"));
    let (_, text) = all.iter().find(|(name, _)| name.ends_with("trajectory.json")).expect("a trajectory");
    let trajectory: Value = serde_json::from_str(text).expect("json");
    let steps = trajectory["steps"].as_array().expect("steps");
    let place = steps.iter().position(|step| step["extra"]["origin"] == "person").expect("the person's step");
    assert_eq!((&steps[place]["source"], &steps[place]["extra"]["by"]), (&json!("user"), &json!("ann")));
    assert_eq!(steps[place + 1]["source"], "agent", "the turn that followed");
}

/// What `ffprobe`, which comes with `ffmpeg`, says of a file.
fn probed(file: &std::path::Path) -> Value {
    let said = std::process::Command::new("ffprobe")
        .args(["-loglevel", "error", "-of", "json", "-show_format", "-show_streams"])
        .arg(file)
        .output()
        .expect("ffprobe runs");
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    serde_json::from_slice(&said.stdout).expect("JSON")
}

#[test]
fn a_video_shows_each_step_with_the_models_words() {
    let sample = Sample::of(&ATTEMPTS);
    let request = asked(&sample, ExportFormat::Video, Selection::default());
    let manifest = match export(&request) {
        Err(ExportError::NoFfmpeg) => {
            println!("skipped: ffmpeg is not installed");
            return;
        }
        made => made.expect("exports"),
    };
    let videos = lines(&sample.out("video/index.jsonl"));
    assert_eq!((videos.len(), manifest.exported), (5, 5), "{:?}", manifest.left_out);
    for line in videos {
        let video = sample.out("video").join(line["file"].as_str().expect("a file"));
        let told = probed(&video);
        let streams = told["streams"].as_array().expect("streams");
        let of = |kind: &str| streams.iter().find(|stream| stream["codec_type"] == kind).expect("a stream");
        assert_eq!(of("video")["codec_name"], "h264");
        let seconds: f64 = told["format"]["duration"].as_str().expect("a text").parse().expect("a number");
        let turns = line["turns"].as_f64().expect("a number");
        assert!(seconds >= 0.5 * turns && seconds <= 3.0 * turns + 2.5, "{seconds} s of {turns} turns");
        let words = std::process::Command::new("ffmpeg")
            .args(["-loglevel", "error", "-i"])
            .arg(&video)
            .args(["-map", "0:s", "-f", "srt", "-"])
            .output()
            .expect("reads");
        let words = String::from_utf8_lossy(&words.stdout).into_owned();
        assert!(words.contains("1: ") && !words.contains(SECRET), "{words}");
    }
    sample.lose_picture(1);
    let lost = ExportRequest {
        out: sample.out("lost"),
        ..asked(&sample, ExportFormat::Video, Selection::default())
    };
    assert!(matches!(export(&lost), Err(ExportError::Nothing(_))), "no video has a gap");
}
