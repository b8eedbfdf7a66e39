//! Short steps for a model of few parameters: made of the acts of a passed attempt, which names no label that is not there; and
//! those that a writer made, checked against the labels that the attempt saw.

use std::collections::BTreeSet;

use apprentice_protocol::{StepAction, Trajectory, is_field_role, is_item_role};
use apprentice_skillbook::{ShortStep, ShortSteps, Words, short_steps, with_short_steps};

use crate::sentence_origins::listed_controls::MAX_CONTROL_NAME_CHARS;

/// The outcome of an act that was carried out.
const DONE: &str = "done";
/// Acts that change nothing, and belong to looking.
const LOOKING: [&str; 7] = ["wait", "scroll", "move", "screenshot", "zoom", "ask", "read"];
/// The role of a list box that shows one option.
const LIST_BOX: &str = "combobox";
/// The end of a line, as an act's text shows it.
const LINE_END: &str = "\\n";
/// Length from which the text of an act may be cut, in characters.
const CUT_CHARS: usize = 80;
/// Stands in place of what the instruction names.
const VALUE: &str = "text";
const THING: &str = "name";

/// Adds short steps to guidance that has none, if the attempt passed and its acts can be said in them.
pub(crate) fn with_steps_of(guidance: &str, function: &str, attempt: Option<&Trajectory>) -> String {
    let made = attempt.filter(|_| short_steps(guidance).is_ok_and(|own| own.is_empty()));
    let made = made.and_then(|attempt| steps_of(attempt, function));
    let Some(made) = made else { return guidance.to_owned() };
    let text = with_short_steps(guidance, &[made]);
    // Acts that are too many or too long for such a model are left to the prose.
    if short_steps(&text).is_ok() { text } else { guidance.to_owned() }
}

/// Returns the acts of a passed attempt as short steps, with what the instruction names in place of its values. `None` where
/// an act has no name to go by.
fn steps_of(attempt: &Trajectory, function: &str) -> Option<ShortSteps> {
    if !attempt.passed() {
        return None;
    }
    let mut steps: Vec<ShortStep> = Vec::new();
    let kept = attempt.steps.iter().enumerate().filter(|(index, _)| !only_looked_into(attempt, *index));
    let actions = kept.flat_map(|(_, step)| &step.actions);
    for action in actions.filter(|action| action.outcome == DONE) {
        let verb = action.action.split([' ', '"']).next().unwrap_or_default();
        if LOOKING.contains(&verb) {
            continue;
        }
        let step = step_of(action, verb, &attempt.goal)?;
        let enters =
            matches!(&step, ShortStep::Type(_)) && action.action.trim_end_matches('"').ends_with(LINE_END);
        match (steps.last(), step) {
            // A click into a field and what was typed there are one act.
            (Some(ShortStep::Press { act: "click", on, .. }), ShortStep::Type(text))
                if is_field(attempt, on) =>
            {
                let field = on.clone();
                steps.pop();
                steps.push(ShortStep::TypeInto { field, text });
            }
            // Typing into a field replaces what it holds.
            (Some(ShortStep::Press { act: "click", on, .. }), ShortStep::Key(key))
                if is_field(attempt, on) && key.eq_ignore_ascii_case("ctrl+a") => {}
            (Some(last), step) if *last == step => {}
            (_, step) => steps.push(step),
        }
        if enters {
            steps.push(ShortStep::Key("Enter".to_owned()));
        }
    }
    (!steps.is_empty()).then(|| ShortSteps { function: function.to_owned(), also: Vec::new(), steps })
}

/// Returns whether a step only opened a menu of the menu bar from which nothing was chosen: another entry came next that the
/// menu did not hold.
fn only_looked_into(attempt: &Trajectory, index: usize) -> bool {
    let came = |index: usize, name: &str| {
        let lines = attempt.steps.get(index).map(|step| step.seen.changed.as_slice()).unwrap_or_default();
        let mut names = lines.iter().filter(|line| line.starts_with('+')).filter_map(|line| quoted(line));
        names.any(|came| plain(came) == plain(name))
    };
    let entry = |action: &'_ StepAction| {
        let is_entry = action.role.as_deref() == Some("menuitem") && action.action == "click";
        action.name.clone().filter(|_| is_entry)
    };
    let Some([action]) = attempt.steps.get(index).map(|step| step.actions.as_slice()) else { return false };
    let Some(opened) = entry(action).filter(|name| index == 0 || !came(index, name)) else { return false };
    let later = attempt.steps.iter().skip(index + 1).flat_map(|step| &step.actions);
    let next = later.filter(|action| !action.action.starts_with("wait")).map(entry).next();
    next.flatten().is_some_and(|next| next != opened && !came(index + 1, &next))
}

fn press(act: &'static str, on: Words) -> ShortStep {
    ShortStep::Press { act, on, row: None }
}

fn step_of(action: &StepAction, verb: &str, goal: &str) -> Option<ShortStep> {
    let typed = action.action.split_once('"').and_then(|(_, rest)| rest.rsplit_once('"'));
    let is_whole = |text: &&str| text.chars().count() < CUT_CHARS;
    let typed = typed.map(|(text, _)| text).filter(is_whole);
    let on = || {
        let name = action.name.as_deref().filter(|name| !name.trim().is_empty())?;
        let is_data = action.role.as_deref().is_some_and(is_item_role);
        Some(if is_data { Words::OfTask(THING.to_owned()) } else { Words::Fixed(name.to_owned()) })
    };
    let words = |text: &str| match goal.contains(text) {
        true => Words::OfTask(VALUE.to_owned()),
        false => Words::Fixed(text.to_owned()),
    };
    let typed = typed.map(|text| text.trim_end_matches(LINE_END).trim());
    match verb {
        "click" => Some(press("click", on()?)),
        "double" | "double-click" => Some(press("double_click", on()?)),
        "right" | "right-click" => Some(press("right_click", on()?)),
        "type" => Some(ShortStep::Type(words(typed.filter(|text| !text.is_empty())?))),
        "fill" if action.role.as_deref() == Some(LIST_BOX) => {
            Some(ShortStep::Select { field: on()?, option: words(typed?) })
        }
        "fill" => Some(ShortStep::TypeInto { field: on()?, text: words(typed?) }),
        "key" => Some(ShortStep::Key(action.action.split_once(' ')?.1.trim().to_owned())),
        _ => None,
    }
}

/// Returns whether an act of the attempt shows that a label is that of a field.
fn is_field(attempt: &Trajectory, label: &Words) -> bool {
    let Words::Fixed(label) = label else { return false };
    let mut actions = attempt.steps.iter().flat_map(|step| &step.actions);
    actions.any(|action| {
        action.name.as_ref() == Some(label) && action.role.as_deref().is_some_and(is_field_role)
    })
}

/// Returns the first label of a text's short steps that neither the attempt nor the page shows, with its step. `None` if all
/// were seen, and for a text whose short steps the gateway refuses.
pub(crate) fn unseen_label(
    guidance: &str,
    page: &str,
    attempt: Option<&Trajectory>,
) -> Option<(String, String)> {
    let functions = short_steps(guidance).ok()?;
    let seen = attempt.map(labels).unwrap_or_default();
    let shown = |label: &str| seen.contains(&plain(label)) || page.contains(&format!("\"{label}\""));
    let mut steps = functions.iter().flat_map(|short| &short.steps);
    steps.find_map(|step| {
        let label = step.label().filter(|label| !shown(label))?;
        Some((step.to_string(), label.to_owned()))
    })
}

/// Returns the names of elements that an attempt saw or acted on.
fn labels(attempt: &Trajectory) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for step in &attempt.steps {
        let lines = step.seen.changed.iter().chain(&step.seen.focused);
        found.extend(lines.filter_map(|line| quoted(line)).map(plain));
        found.extend(step.actions.iter().filter_map(|action| action.name.as_deref()).map(plain));
    }
    found
}

/// Returns the name in a line such as `+ menuitem "Copy" [disabled]`.
fn quoted(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once('"')?;
    let end = rest.find("\" ").or_else(|| rest.rfind('"'))?;
    Some(&rest[..end]).filter(|name| name.chars().count() <= MAX_CONTROL_NAME_CHARS)
}

/// A label without the marks that lists and people write or leave out.
fn plain(label: &str) -> String {
    label.trim().trim_end_matches(['.', '…', ':']).to_lowercase()
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::{Seen, StepAction, StepId, Trajectory, TrajectoryStep};
    use apprentice_skillbook::{prose_of, short_steps};
    use serde_json::json;

    use super::{unseen_label, with_steps_of};

    fn attempt(verdict: &str, acts: &[(&str, &str, &str)]) -> Trajectory {
        let limits = serde_json::to_value(apprentice_protocol::Limits::default()).expect("JSON");
        let spent = serde_json::to_value(apprentice_protocol::ResourceUsage::default()).expect("JSON");
        let mut made: Trajectory = serde_json::from_value(json!({
            "id": "r/t/1", "goal": "Rename the layer to coast and save it.", "apps": ["sketcher"], "consumer": "c",
            "verdict": verdict, "score": 1.0, "stop": "done", "limits": limits, "spent": spent,
            "steps": [], "skills": [],
        }))
        .expect("a trajectory");
        made.steps = (1..)
            .zip(acts)
            .map(|(number, (action, role, name))| TrajectoryStep {
                actions: vec![StepAction {
                    action: (*action).to_owned(),
                    role: (!role.is_empty()).then(|| (*role).to_owned()),
                    name: (!name.is_empty()).then(|| (*name).to_owned()),
                    at: None,
                    near: None,
                    outcome: "done".to_owned(),
                }],
                ..TrajectoryStep::new(
                    StepId(number),
                    Seen { changed: vec!["+ menuitem \"Seen only\"".into()], ..Seen::default() },
                )
            })
            .collect();
        made
    }

    const ACTS: [(&str, &str, &str); 8] = [
        ("click", "menuitem", "Layer"),
        ("click", "menuitem", "Layer"),
        ("wait 1 s", "", ""),
        ("click", "textbox", "Name:"),
        ("key ctrl+a", "", ""),
        ("type \"coast\\n\"", "", ""),
        ("double click", "cell", "coast"),
        ("key ctrl+s", "", ""),
    ];

    #[test]
    fn the_acts_of_a_passed_attempt_become_steps_with_the_tasks_values_left_open() {
        let text = with_steps_of("1. Open the menu.", "Rename a layer", Some(&attempt("pass", &ACTS)));
        let read = short_steps(&text).expect("short steps");
        assert_eq!(
            read[0].lent(),
            "Rename a layer.\n1. click \"Layer\"\n2. type_into \"Name:\" <text>\n3. key Enter\n4. \
             double_click <name>\n5. key ctrl+s"
        );
        assert_eq!(prose_of(&text), "1. Open the menu.");
        let again = with_steps_of(&text, "Other", Some(&attempt("pass", &ACTS)));
        assert_eq!(again, text, "what is there stays");
        for other in [
            None,
            Some(attempt("fail", &ACTS)),
            Some(attempt("pass", &[("click", "button", "")])),
            Some(attempt("pass", &[("click", "button", "A"); 0])),
            // A text of this length may have been cut where the act was noted.
            Some(attempt("pass", &[(&format!("type \"{}\"", "wave ".repeat(16)), "", "")])),
        ] {
            assert_eq!(with_steps_of("1. Go.", "Rename", other.as_ref()), "1. Go.");
        }
    }

    #[test]
    fn what_was_chosen_in_a_list_box_becomes_a_step_of_its_own() {
        let acts = [("fill \"roll\"", "combobox", "Paper"), ("fill \"coast\"", "textbox", "Note")];
        let text = with_steps_of("1. Open it.", "Print labels", Some(&attempt("pass", &acts)));
        let read = short_steps(&text).expect("short steps");
        assert_eq!(
            read[0].lent(),
            "Print labels.\n1. select \"Paper\" \"roll\"\n2. type_into \"Note\" <text>"
        );
    }

    #[test]
    fn a_menu_from_which_nothing_was_chosen_is_left_out() {
        let acts = ["File", "Edit", "Preferences...", "Lock"].map(|name| ("click", "menuitem", name));
        let mut looked = attempt("pass", &acts);
        let came: [&[&str]; 4] = [&["File", "Edit"], &["New"], &["Preferences..."], &["Lock"]];
        for (step, names) in looked.steps.iter_mut().zip(came) {
            step.seen.changed = names.iter().map(|name| format!("+ menuitem \"{name}\"")).collect();
        }
        let text = with_steps_of("1. Open it.", "Lock a layer", Some(&looked));
        let read = short_steps(&text).expect("short steps");
        assert_eq!(
            read[0].lent(),
            "Lock a layer.\n1. click \"Edit\"\n2. click \"Preferences...\"\n3. click \"Lock\""
        );
    }

    #[test]
    fn a_label_that_nobody_saw_is_named_with_its_step() {
        let text = |label: &str| format!("1. Go.\n\n## Short steps\n\nFor: it\n1. click \"{label}\"");
        let attempt = attempt("pass", &ACTS);
        for seen in ["Layer", "Layer...", "Seen only", "On the page"] {
            assert_eq!(unseen_label(&text(seen), "Click \"On the page\".", Some(&attempt)), None, "{seen}");
        }
        let unseen = Some(("click \"Filters\"".to_owned(), "Filters".to_owned()));
        assert_eq!(unseen_label(&text("Filters"), "Click Filters.", Some(&attempt)), unseen);
        assert_eq!(unseen_label("1. Click \"Filters\".", "", None), None);
    }
}
