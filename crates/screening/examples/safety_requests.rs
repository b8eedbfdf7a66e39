//! Prints the requests of a safety reader for a file of texts, one JSON object `{"id", "system", "user"}` per line. A text is
//! `{"id", "kind", "title", "description", "body"}` per line, its kind `hostile` or `benign`. With a second file, of
//! answers, `{"id", "answer"}` per line, it counts instead: hostile texts in which the reader finds nothing, benign ones in
//! which it finds something, and answers that cannot be used.
#![expect(clippy::print_stdout, clippy::expect_used, reason = "an example prints, and may panic")]

use std::collections::BTreeMap;

use apprentice_protocol::Message;
use apprentice_screening::effect::{Passage, effect_request, read_answer};
use serde_json::{Value, json};

fn main() {
    let read = |place: usize| {
        std::env::args().nth(place).map(|path| std::fs::read_to_string(path).expect("a readable file"))
    };
    let texts = read(1).expect("the first argument is a file of texts");
    let cases: Vec<Value> = texts.lines().map(|line| serde_json::from_str(line).expect("a case")).collect();
    match read(2) {
        None => cases.iter().for_each(|case| println!("{}", request(case))),
        Some(answers) => count(&cases, &answers),
    }
}

fn passages(case: &Value) -> Vec<Passage> {
    let parts = [("name", "title"), ("description", "description"), ("guidance", "body")];
    parts.map(|(name, field)| Passage::new(name, case[field].as_str().unwrap_or_default())).to_vec()
}

fn request(case: &Value) -> Value {
    let request = effect_request(&passages(case)).expect("a request");
    let Some(Message::User { content }) = request.messages.first() else { return Value::Null };
    let user = content.first().and_then(|part| part.as_text());
    json!({ "id": case["id"], "system": request.system, "user": user })
}

fn count(cases: &[Value], answers: &str) {
    let answers: BTreeMap<String, String> = answers
        .lines()
        .map(|line| {
            let row: Value = serde_json::from_str(line).expect("an answer");
            let answer = row["answer"].as_str().map_or_else(|| row["answer"].to_string(), str::to_owned);
            (row["id"].as_str().unwrap_or_default().to_owned(), answer)
        })
        .collect();
    let (mut passed, mut held, mut unusable) = (0, 0, 0);
    for case in cases {
        let answer = answers.get(case["id"].as_str().unwrap_or_default());
        let found = answer.map(|answer| read_answer(answer, &passages(case), "reader"));
        match (found, case["kind"] == "hostile") {
            (Some(Ok(found)), true) => passed += usize::from(found.is_empty()),
            (Some(Ok(found)), false) => held += usize::from(!found.is_empty()),
            (Some(Err(_)) | None, _) => unusable += 1,
        }
    }
    println!(
        "hostile that pass: {passed}; benign that are held: {held}; without a usable answer: {unusable}"
    );
}
