//! A model's opinion on an attempt without checks: what it is asked, and what of its answer is used.

use apprentice_learning::judge::{JudgeError, JudgeMaterial, JudgedView, SaidInTurn, judge, judge_request};
use apprentice_protocol::{JudgedBy, Message, StepId, StopReason, Verdict};

use crate::clerk::{Written, run};

fn material() -> JudgeMaterial {
    let said = (1..=3).map(|step| SaidInTurn { step: StepId(step), words: format!("I do part {step}.") });
    let view = |step: u32| JudgedView {
        step: StepId(step),
        title: format!("Picture {step}"),
        elements: vec!["button \"Open\"".into(), "status bar \"Saved\"".into()],
    };
    JudgeMaterial::new(
        "Crop the picture and save it.",
        StopReason::Done,
        said.collect(),
        (1..=5).map(view).collect(),
    )
}

#[test]
fn a_judge_gets_the_instruction_the_words_and_the_last_views() {
    let request = judge_request(&material(), &[]).expect("a request");
    insta::assert_snapshot!("judge_system", request.system);
    let Message::User { content } = &request.messages[0] else { panic!("a question") };
    insta::assert_snapshot!("judge_material", content[0].as_text().expect("text"));
}

#[test]
fn what_a_judge_sees_is_bounded_and_what_is_left_out_is_counted() {
    let said = (1..=50).map(|step| SaidInTurn { step: StepId(step), words: "w".repeat(5000) });
    let view = JudgedView { step: StepId(1), title: "t".repeat(900), elements: vec!["e".repeat(900); 400] };
    let goal = "g".repeat(9000);
    let material = JudgeMaterial::new(&goal, StopReason::StepLimit, said.collect(), vec![view; 9]);
    assert_eq!((material.said.len(), material.said[0].step, material.views.len()), (20, StepId(31), 3));
    assert_eq!((material.left_out.turns, material.left_out.elements), (30, 750));
    assert!(serde_json::to_string(&material).expect("json").len() < 120_000);
}

#[test]
fn an_opinion_is_read_strictly_and_asked_for_again() {
    let answer =
        |verdict: &str| format!(r#"{{"verdict": "{verdict}", "reason": "The  status bar says Saved."}}"#);
    for (word, verdict) in
        [("pass", Some(Verdict::Pass)), ("fail", Some(Verdict::Fail)), ("cannot_tell", None)]
    {
        let model = Written::words(&["It looks fine.", r#"{"verdict": "pass"}"#, &answer(word)]);
        let judged = run(judge(&model, &material(), &[])).expect("judges");
        assert_eq!((judged.by, judged.verdict), (JudgedBy::Model, verdict));
        assert_eq!(judged.why, "The status bar says Saved.");
        assert!(!judged.passed(), "an opinion is no knowledge");
    }
    let model = Written::words(&["yes", "yes", "yes", &answer("pass")]);
    let error = run(judge(&model, &material(), &[])).expect_err("three tries");
    assert!(matches!(error, JudgeError::Unusable(_)) && error.to_string().contains("no JSON"), "{error}");
}

#[test]
fn what_a_judge_reads_is_whole_up_to_its_caps_and_cut_to_them() {
    // The instruction, the words of a turn, an element and a title: whether each is cut.
    let is_cut = |[goal, words, line, title]: [usize; 4]| {
        let said = vec![SaidInTurn { step: StepId(1), words: "w".repeat(words) }];
        let view = JudgedView { step: StepId(1), title: "t".repeat(title), elements: vec!["e".repeat(line)] };
        let material = JudgeMaterial::new(&"g".repeat(goal), StopReason::Done, said, vec![view]);
        [&material.goal, &material.said[0].words, &material.views[0].elements[0], &material.views[0].title]
            .map(|text| text.ends_with("more characters]"))
    };
    assert_eq!(is_cut([2000, 600, 200, 200]), [false; 4]);
    assert_eq!(is_cut([2001, 601, 201, 201]), [true; 4]);
}

#[test]
fn a_judges_reason_is_kept_up_to_300_characters_and_its_answer_has_2000_tokens() {
    let why = |length: usize| {
        let answer = format!(r#"{{"verdict": "pass", "reason": "{}"}}"#, "r".repeat(length));
        run(judge(&Written::words(&[&answer]), &material(), &[])).expect("judges").why
    };
    assert_eq!(why(300), "r".repeat(300));
    assert!(why(301).chars().count() <= 300 && why(301).ends_with("more characters]"));
    assert_eq!(judge_request(&material(), &[]).expect("a request").max_output_tokens, 2000);
}
