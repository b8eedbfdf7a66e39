//! Which acts a step leaves open, and what is said beside it.

use serde_json::{Value, json};

use super::{Following, Step, Words};

const ADVICE: &str = "<advice>\nlet a reader borrow.\n1. click \"Readers\"\n2. click <reader>\n3. select \"Card\" <state>\n4. click \
                      \"Store\"\n- A lost card becomes \"blocked\".\n- \"Group\" is by age.\n- Choose at \"Card\".\n</advice>";

fn view(lines: &[&str], task: &str) -> String {
    let lines: String = (1..).zip(lines).map(|(at, line)| format!("#n{at} {line}\n")).collect();
    format!("Elements:\n{lines}Task: {task}")
}

fn following(advice: &str, views: &[(&str, String)]) -> Following {
    let mut following = Following::default();
    following.hear(advice);
    for (act, view) in views {
        if !act.is_empty() {
            following.act(&serde_json::from_str(act).expect("JSON"));
        }
        following.hear(view);
    }
    following
}

/// The values that a form allows for a word of an act; none where every act is open.
fn allowed(following: &Following, word: &str) -> Option<Vec<String>> {
    let forms = following.forms(true, |_| 0)?;
    let of = |form: &Value| form["properties"][word]["enum"].as_array().cloned().unwrap_or_default();
    let all = forms.iter().flat_map(of);
    Some(all.filter_map(|value| value.as_str().map(str::to_owned)).collect())
}

const TASK: &str = "Ada may borrow again.";

#[test]
fn the_act_of_the_present_step_is_the_only_choice() {
    let first = view(&["Loans (tab)", "Readers (tab)", "Title (checkbox)"], TASK);
    let at_first = following(ADVICE, &[("", first.clone())]);
    assert_eq!(allowed(&at_first, "click"), Some(vec!["Readers (tab)".to_owned()]));
    let readers =
        view(&["Loans (tab)", "Readers (tab)", "Ben Ost (button)", "Ada Holm (button)", "Of 2 (text)"], TASK);
    let click = r#"{"click": "Readers (tab)"}"#;
    let second = following(ADVICE, &[("", first.clone()), (click, readers.clone())]);
    let new = ["Ben Ost (button)", "Ada Holm (button)"].map(str::to_owned).to_vec();
    assert_eq!(allowed(&second, "click"), Some(new), "an open element is what the act before has shown");
    let card =
        view(&["Card (combobox) = \"blocked\" [options: valid | blocked | expired]", "Store (button)"], TASK);
    let reader = r#"{"click": "Ada Holm (button)"}"#;
    let views = [("", first.clone()), (click, readers.clone()), (reader, card.clone())];
    let third = following(ADVICE, &views);
    assert_eq!(allowed(&third, "option"), Some(vec!["valid".to_owned(), "expired".to_owned()]));
    let told = third.told().expect("a step");
    assert_eq!(
        told,
        "Next step of the advice: select \"Card\" <state>\nThe advice says: A lost card becomes \"blocked\"."
    );
    let select = r#"{"select": "Card (combobox)", "option": "valid"}"#;
    let store = r#"{"click": "Store (button)"}"#;
    let views: Vec<(&str, String)> =
        views.into_iter().chain([(select, card.clone()), (store, first.clone())]).collect();
    let last = following(ADVICE, &views);
    assert_eq!(allowed(&last, "finish"), Some(vec!["done".to_owned()]));
    assert_eq!(last.told().as_deref(), Some("All steps of the advice are done."));
    assert_eq!(following("Screen now.", &[("", first)]).told(), None, "no advice");
}

#[test]
fn where_the_element_of_a_step_is_not_listed_the_one_behind_or_before_it_counts() {
    let advice = "<advice>\nprint.\n1. click \"File\"\n2. click \"Print…\"\n3. key Enter\n</advice>";
    let opened = following(advice, &[("", view(&["Print... (menuitem)", "Close (menuitem)"], TASK))]);
    assert_eq!(allowed(&opened, "click"), Some(vec!["Print... (menuitem)".to_owned()]));
    assert_eq!(opened.told().as_deref(), Some("Next step of the advice: click \"Print…\""));
    let bar = view(&["File (menuitem)", "Edit (menuitem)"], TASK);
    let click = r#"{"click": "File (menuitem)"}"#;
    let closed = following(advice, &[("", bar.clone()), (click, bar.clone())]);
    assert_eq!(allowed(&closed, "click"), Some(vec!["File (menuitem)".to_owned()]), "it has closed again");
    assert_eq!(closed.forms(true, |_| 2), None, "it was done twice on this screen");
    let elsewhere = following(advice, &[("", view(&["Edit (menuitem)"], TASK))]);
    assert_eq!(elsewhere.forms(true, |_| 0), None, "everything is open");
    let printing = following(advice, &[("", bar.clone()), (r#"{"click": "Print... (menuitem)"}"#, bar)]);
    assert_eq!(allowed(&printing, "key"), Some(vec!["Enter".to_owned()]));
}

#[test]
fn what_is_written_is_what_the_task_names() {
    let advice = "<advice>\nadd.\n1. type_into \"Name\" <name>\n2. type <text>\n</advice>";
    let texts =
        |task: &str, fields: &[&str]| allowed(&following(advice, &[("", view(fields, task))]), "text");
    let field = ["Name (textbox) = \"Old\"", "Old (text)"];
    assert_eq!(texts("Call \"Old\" now \"New\" or \"Newer\".", &field).expect("forms"), ["New", "Newer"]);
    let both = texts("Add a@example.org and b@example.org.", &field).expect("forms");
    assert_eq!(both, ["a@example.org\nb@example.org", "a@example.org", "b@example.org"]);
    assert_eq!(texts("Call it otherwise.", &field).expect("forms"), [""; 0], "any text");
    let rows = "<advice>\nopen.\n1. click \"Details\" in row <person>\n</advice>";
    let list = ["Details (button, row 7 Ada Holm)", "Details (button, row 8 Ben Ost)"];
    let of = |task: &str| allowed(&following(rows, &[("", view(&list, task))]), "click").expect("forms");
    assert_eq!(of("For Ben Ost."), ["Details (button, row 8 Ben Ost)"]);
    assert_eq!(of("For somebody.").len(), 2);
}

#[test]
fn steps_are_read_as_they_are_written_on_pages() {
    let named = |text: &str| Words::Named(text.to_owned());
    let read = |step: &str| Step::read(step).map(|step| (step.act, step.object, step.row, step.text));
    assert_eq!(read("click \"Send \"x\" to all\""), Some(("click", named("Send \"x\" to all"), None, None)));
    let row = Some(("click", named("Edit"), Some(Words::Open), None));
    assert_eq!(read("click \"Edit\" in row <old name>"), row);
    assert_eq!(read("select \"Paper\" \"A4\""), Some(("select", named("Paper"), None, Some(named("A4")))));
    assert_eq!(read("type <text>"), Some(("type", Words::Open, None, None)));
    assert_eq!(read("key ctrl+s"), Some(("key", named("ctrl+s"), None, None)));
    assert_eq!(read("click the wanted unit"), None);
    assert_eq!(json!(Step::read("jump \"high\"").is_none()), json!(true));
}
