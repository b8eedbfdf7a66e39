//! Limits of practice: what a proposal may just hold, what is one over, and how much of the world a proposer sees.

use apprentice_learning::practice::{
    CheckOutput, PracticeMaterial, PracticeProposal, PracticeRules, PracticeStart, PractisedTask, faults,
    practice_request, propose,
};
use apprentice_protocol::Message;
use serde_json::{Value, json};

use crate::clerk::{Written, run};
use crate::practice::{book, good, practised, rules, start};
use crate::shelf::Shelf;

/// Returns what is told about the good proposal with another value of one field.
fn told(field: &str, value: Value, start: &PracticeStart, practised: &[PractisedTask]) -> String {
    let mut task = good();
    task[field] = value;
    let task = serde_json::from_value(task).expect("a task");
    let book = book();
    faults(&task, &PracticeRules { practised, ..rules(start, &book) }).join("\n")
}

#[test]
fn names_have_48_characters_instructions_600_and_texts_of_checks_200() {
    let view = |length: usize| json!({ "kind": "view", "contains": format!("{{{{word}}}}{}", "k".repeat(length - 8)) });
    let instruction = |length: usize| json!(format!("Keep {{{{word}}}} {}", "b".repeat(length - 14)));
    let cases: [(&str, Value, Value, &str); 3] = [
        ("name", json!("n".repeat(48)), json!("n".repeat(49)), "lower-case words"),
        ("instruction", instruction(600), instruction(601), "has 601 characters; it needs 1 to 600"),
        ("check", view(200), view(201), "has 201 characters; it needs 1 to 200"),
    ];
    for (field, fits, over, words) in cases {
        assert_eq!(told(field, fits, &start(), &[]), "", "{field}");
        assert!(told(field, over, &start(), &[]).contains(words), "{field}");
    }
}

/// One value is for learning; two others show whether what was learned holds.
#[test]
fn a_placeholder_has_three_values_at_least_and_none_twice() {
    let values = |of: &[&str]| told("values", json!([{ "name": "word", "of": of }]), &start(), &[]);
    assert_eq!(values(&["a", "b", "c"]), "");
    for wrong in [&["a", "b"][..], &["a", "b", "c", "c"], &["a", "b", "c", " "]] {
        assert!(values(wrong).contains("needs at least 3 texts, all different"), "{wrong:?}");
    }
}

#[test]
fn a_task_is_new_if_less_than_four_fifths_of_its_words_are_those_of_an_earlier_one() {
    let earlier =
        |instruction: &str| vec![PractisedTask { instruction: instruction.into(), ..practised().remove(0) }];
    let same = |instruction: &str| {
        let asked = json!("{{word}} anchor barrel candle drum");
        !told("instruction", asked, &start(), &earlier(instruction)).is_empty()
    };
    assert!(same("anchor barrel candle drum elbow"), "four of five words");
    assert!(!same("anchor barrel candle elbow funnel"), "three of five words");
}

#[test]
fn an_instruction_may_share_seven_words_in_a_row_with_the_screen() {
    let start = PracticeStart {
        title: "t".into(),
        elements: vec!["text \"anchor barrel candle drum elbow funnel garden hammer\"".into(), "File".into()],
    };
    let repeats = |words: &str| !told("instruction", json!(words), &start, &[]).is_empty();
    assert!(!repeats("{{word}} anchor barrel candle drum elbow funnel garden"), "seven may be a title");
    assert!(repeats("{{word}} anchor barrel candle drum elbow funnel garden hammer"));
}

/// Asks a model that gives these answers. Returns what came of it, with the words that followed the first answer.
fn asked(answers: &[&str]) -> (PracticeProposal, String) {
    let model = Written::words(answers);
    let (start, book) = (start(), book());
    let material = PracticeMaterial::new(&start, &book, &[]);
    let proposal = run(propose(&model, &material, &rules(&start, &book))).expect("answers");
    let requests = model.requests.lock().expect("unpoisoned");
    let words = requests.get(1).and_then(|request| request.messages.last()).map(|message| {
        let Message::User { content } = message else { panic!("{message:?}") };
        content[0].as_text().expect("text").to_owned()
    });
    (proposal, words.unwrap_or_default())
}

#[test]
fn a_reason_is_kept_up_to_300_characters_and_faults_go_back_up_to_3000() {
    let declined = |length: usize| {
        let reason = "r".repeat(length);
        let answer = json!({ "task": null, "decline": reason }).to_string();
        asked(&[&answer]).0 == PracticeProposal::Declined(reason)
    };
    assert!(declined(300) && !declined(301));
    // A fault of the form is a reason too.
    let unread = |length: usize| {
        let answer = json!({ "x".repeat(length): 1 }).to_string();
        let PracticeProposal::Refused(faults) = asked(&[answer.as_str(); 4]).0 else { panic!("no task") };
        faults[0].clone()
    };
    // The cut may fall on a space, which goes too.
    assert!((290..=300).contains(&unread(1000).chars().count()), "{}", unread(1000));
    let handed_back = |length: usize| {
        let mut task = good();
        task["uses"] = json!(["x".repeat(length)]);
        let answer = json!({ "task": task }).to_string();
        let (proposal, words) = asked(&[answer.as_str(); 4]);
        let PracticeProposal::Refused(faults) = proposal else { panic!("{proposal:?}") };
        (faults[0].chars().count(), words.contains(&faults[0]))
    };
    let around = handed_back(10).0 - 10;
    assert_eq!(handed_back(3000 - around), (3000, true));
    assert_eq!(handed_back(3001 - around), (3001, false));
}

#[test]
fn a_proposer_sees_sixty_skills_the_newest_forty_tasks_and_200_characters_of_each_text() {
    let names: Vec<String> = (0..61).map(|number| format!("gimp/s{number:02}")).collect();
    let skills: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "alpha")).collect();
    let earlier = |count: usize| -> Vec<PractisedTask> {
        let task = |number| PractisedTask { name: format!("t{number}"), ..practised().remove(0) };
        (0..count).map(task).collect()
    };
    let (fits, over) = (Shelf::with(&skills[..60]).snapshot(), Shelf::with(&skills).snapshot());
    let shown = |book, count| PracticeMaterial::new(&start(), book, &earlier(count));
    let (all, most) = (shown(&fits, 40), shown(&over, 41));
    assert_eq!((all.skills.len(), all.left_out.skills), (60, 0));
    assert_eq!((most.skills.len(), most.left_out.skills), (60, 1));
    assert_eq!((all.practised.len(), all.left_out.practised), (40, 0));
    assert_eq!((most.practised.len(), most.left_out.practised), (40, 1));
    assert_eq!((&*most.practised[0].name, &*most.practised[39].name), ("t1", "t40"), "the newest");
    let title = |length: usize| {
        let long = PracticeStart { title: "x".repeat(length), ..start() };
        PracticeMaterial::new(&long, &fits, &[]).start.title == long.title
    };
    assert!(title(200) && !title(201));
    assert_eq!(practice_request(&all).expect("a request").max_output_tokens, 3000, "a task is short");
}

#[test]
fn of_what_a_check_showed_two_worlds_are_told_with_1200_characters_and_600_of_errors() {
    let showed = |output: usize, errors: usize| {
        let whole =
            CheckOutput { output: "o".repeat(output), errors: "e".repeat(errors), ..CheckOutput::default() };
        let shown = whole.clone().bounded();
        (shown.output == whole.output, shown.errors == whole.errors)
    };
    assert_eq!(showed(1200, 600), (true, true));
    assert_eq!(showed(1201, 601), (false, false));
    let mut tried = practised();
    tried[0].check_showed = vec![tried[0].check_showed[0].clone(); 3];
    let book = Shelf::new().snapshot();
    assert_eq!(PracticeMaterial::new(&start(), &book, &tried).practised[0].check_showed.len(), 2);
}
