//! What is exported in a form that can be read as well: a reader of that form gets the same attempt back.

use std::path::PathBuf;
use std::sync::Arc;

use apprentice_exports::{ExportFormat, ExportRequest, Selection, export};
use apprentice_protocol::Verdict;
use apprentice_trace::Redactor;
use apprentice_transcripts::{Log, Program, Transcript, Verdict as Read, find, read};

use crate::sample::{Attempt, SECRET, Sample};

const PASSED: Attempt<'_> = Attempt {
    trial: "t-passed",
    task: "shop-buy",
    template: "shop",
    split: Some("train"),
    arm: "pull",
    seed: 0,
    verdict: Verdict::Pass,
    words: "Shop",
    clock: "10:01",
    messages: true,
    secrets: Some(&[]),
};
const FAILED: Attempt<'_> =
    Attempt { trial: "t-failed", task: "shop-sell", words: "Sold", verdict: Verdict::Fail, ..PASSED };

/// Exports both attempts, and reads what was written.
fn there_and_back(format: ExportFormat) -> (Sample, Vec<Log>) {
    let sample = Sample::of(&[PASSED, FAILED]);
    let out: PathBuf = sample.out(format.name());
    export(&ExportRequest {
        run: sample.run(),
        source: None,
        format,
        out: out.clone(),
        selection: Selection { duplicates: true, ..Selection::default() },
        pictures: None,
        licence: None,
        apps: [("shop-buy".to_owned(), "chrome".to_owned())].into(),
        as_sent: None,
        for_profile: None,
        redactor: Arc::new(Redactor::new([SECRET]).expect("builds")),
        program: "0.0.0".into(),
    })
    .expect("exports");
    let found = find(&out).expect("finds logs");
    let logs = found.iter().map(|found| read(found).expect("reads")).collect();
    (sample, logs)
}

fn transcripts(logs: &[Log]) -> Vec<&Transcript> {
    logs.iter().flat_map(|log| &log.transcripts).collect()
}

/// The attempt as every form has it: three replies, of which the first acts, the second reads a skill, and the third ends.
fn assert_attempt(transcript: &Transcript, words: &str, score: f64) {
    let name = &transcript.name;
    assert_eq!(transcript.turns.len(), 3, "{name}");
    assert!(transcript.turns.iter().all(|turn| turn.text == format!("I look at {words}")), "{name}");
    let calls: Vec<&str> = transcript.calls().map(|call| call.name.as_str()).collect();
    assert_eq!(calls, ["computer", "skill_view", "finish"], "{name}");
    let first = transcript.calls().next().and_then(|call| call.arguments.as_ref()).expect("arguments");
    assert_eq!(first["actions"].as_array().map(Vec::len), Some(2), "{name}");
    let answered: Vec<&str> = transcript.calls().filter_map(|call| call.result.as_deref()).collect();
    assert!(answered[0].starts_with("Screen now."), "{name}: {answered:?}");
    assert_eq!(answered[1], "Menus: the text of a skill.", "{name}");
    assert!(transcript.prompts[0].starts_with(&format!("Task: {words}")), "{name}: {:?}", transcript.prompts);
    assert_eq!(transcript.prompts.len(), 1, "{name}: {:?}", transcript.prompts);
    assert_eq!(transcript.verdict.map(Read::score), Some(score), "{name}");
    assert!(transcript.judge.is_some(), "{name}");
    assert_eq!(transcript.pictures + transcript.picture_paths, 2, "{name}");
}

#[test]
fn conversations_come_back_with_their_calls_and_their_verdicts() {
    for (format, program) in [
        (ExportFormat::Inspect, Program::Inspect),
        (ExportFormat::Atif, Program::Atif),
        (ExportFormat::Openai, Program::OpenAi),
        (ExportFormat::Sharegpt, Program::ShareGpt),
    ] {
        let (_sample, logs) = there_and_back(format);
        assert!(logs.iter().all(|log| log.program == program), "{}", format.name());
        let mut found = transcripts(&logs);
        assert_eq!(found.len(), 2, "{}", format.name());
        found.sort_by_key(|transcript| transcript.prompts.clone());
        assert_attempt(found[0], "Shop", 1.0);
        assert_attempt(found[1], "Sold", 0.0);
        let named = logs.iter().all(|log| {
            let own =
                log.transcripts.iter().all(|transcript| transcript.model.as_deref() == Some("compat/sample"));
            log.model.as_deref() == Some("compat/sample") || own
        });
        assert!(named, "{} names the model", format.name());
    }
}

#[test]
fn tokens_come_back_where_the_form_has_them() {
    for format in [ExportFormat::Inspect, ExportFormat::Atif] {
        let (_sample, logs) = there_and_back(format);
        for transcript in transcripts(&logs) {
            let tokens = transcript.tokens.expect("tokens");
            assert_eq!((tokens.input, tokens.output), (300, 30), "{}", format.name());
        }
    }
}

#[test]
fn a_result_tree_comes_back_with_its_acts_where_they_hit_and_its_rewards() {
    let (_sample, logs) = there_and_back(ExportFormat::Osworld);
    let found = transcripts(&logs);
    let rewards: Vec<_> = found.iter().map(|transcript| transcript.verdict.map(Read::score)).collect();
    assert_eq!(rewards, [Some(1.0), Some(0.0)]);
    for (transcript, words) in found.iter().zip(["Shop", "Sold"]) {
        assert_eq!(transcript.prompts, [words]);
        assert_eq!(transcript.model.as_deref(), Some("compat/sample"));
        let click = transcript.calls().next().and_then(|call| call.target.clone()).expect("a target");
        assert_eq!((click.role.as_deref(), click.point), (Some("button"), Some((60.0, 20.0))));
        // The tree has acts alone: what the model called beside the screen is not in it.
        let calls: Vec<&str> = transcript.calls().map(|call| call.name.as_str()).collect();
        assert_eq!(calls, ["APPRENTICE", "APPRENTICE", "DONE"]);
        assert_eq!(transcript.own_claim, Some(true));
    }
}
