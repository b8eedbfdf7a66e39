//! OSWorld's checks through the real program.

use serde_json::{Value, json};

use crate::place::{Place, text};

/// Asks for metrics, one question a line, and gives the answers.
fn answers(place: &Place, reading: &str, questions: &[Value]) -> Vec<Value> {
    let lines: Vec<String> = questions.iter().map(Value::to_string).collect();
    std::fs::write(place.path("questions"), lines.join("\n")).expect("written");
    let questions = std::fs::File::open(place.path("questions")).expect("there");
    let mut command = place.command(&["tasks", "metric", "--stdin", "--osworld-compat", reading]);
    let output = command.stdin(questions).output().expect("it starts");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stdout).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn metrics_answer_line_by_line_by_either_reading() {
    let place = Place::new();
    std::fs::write(place.path("found.txt"), "one\ntwo\n").expect("written");
    let path = |name: &str| place.path(name).to_string_lossy().into_owned();
    let questions = [
        json!({"func": "exact_match", "result": "a", "expected": {"expected": "a"}, "id": 7}),
        json!({"func": "diff_text_file", "result": path("found.txt"), "expected": path("found.txt")}),
        json!({"func": "compare_text_file", "result": path("absent.txt"), "expected": path("found.txt")}),
        json!({"func": "compare_tabel", "result": "a"}),
        json!({"func": "compare_config", "result": path("found.txt"), "expected": {"expected": "two"}}),
        json!({"func": "compare_pptx_files", "result": path("found.txt"), "expected": path("found.txt")}),
    ];
    let mended = answers(&place, "fixed", &questions);
    let scores: Vec<&Value> = mended.iter().map(|answer| &answer["score"]).collect();
    assert_eq!(scores, [&json!(1.0), &json!(1.0), &json!(0.0), &Value::Null, &json!(1.0), &Value::Null]);
    assert_eq!(mended[0]["id"], 7);
    let error = |at: usize| mended[at]["error"].as_str().expect("an error");
    assert!(error(3).ends_with("nearest is \"compare_table\""), "{}", error(3));
    assert!(error(5).contains("not built"), "{}", error(5));
    assert_eq!(mended[4]["other_reading"], 0.0);
    let exact = answers(&place, "exact", &questions[4..5]);
    assert_eq!((&exact[0]["score"], &exact[0]["other_reading"]), (&json!(0.0), &json!(1.0)));
}
