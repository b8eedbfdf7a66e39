//! Parses an instruction into sub-goals: clauses in order, each with a verb, key words and values.
//!
//! Parsing uses grammar alone: quotation marks, file names, addresses, numbers and imperative verbs.

use super::clause::{Clause, told, verb_at};
use super::text_match::{KeyTerms, content, plain};
use super::unquoted_values::spoken;
use super::value::{VALUE_MARK, Value, ValueKind, marks, mask, unmask};

/// Words for positions in a text.
const PLACES: &[&str] = &["top", "end", "beginning", "start", "bottom", "above", "below", "first", "last"];

/// The category of a sub-goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SubGoalKind {
    /// Operate the interface.
    Do,
    /// Save the work.
    Save,
    /// Enter text into a document or a command line.
    Write,
}

/// A sub-goal: one clause of an instruction.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SubGoal {
    /// The clause as written.
    pub(super) clause: String,
    pub(super) kind: SubGoalKind,
    /// Its first verb; empty if it has none.
    pub(super) verb: String,
    /// Its key words, without values.
    pub(super) wanted: KeyTerms,
    /// Its values, in order.
    pub(super) values: Vec<Value>,
    /// The requested on/off state, if the clause names one.
    pub(super) switch: Option<bool>,
    /// The target state or value (`set … to these`), as stems.
    pub(super) target: Vec<String>,
    /// Whether it applies to the whole text.
    pub(super) whole: bool,
    /// Whether it mentions the program's settings.
    pub(super) in_settings: bool,
    /// Whether it is a lasting change, as settings are ("from now on").
    pub(super) lasting: bool,
}

/// A parsed instruction.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Goal {
    /// The sub-goals, in order.
    pub(super) wants: Vec<SubGoal>,
    /// All key words of the instruction, without values.
    pub(super) words: KeyTerms,
    /// The instruction as written.
    pub(super) text: String,
}

impl Goal {
    /// Parses an instruction.
    pub(super) fn read(instruction: &str) -> Self {
        let (masked, values) = mask(instruction);
        let clauses = told(&masked);
        let asked = clauses.iter().filter(|clause| clause.asks);
        let mut wants: Vec<SubGoal> = asked.map(|clause| want(&clause.text, &values)).collect();
        if wants.is_empty() {
            wants = clauses.iter().map(|clause| want(&clause.text, &values)).collect();
        }
        let elsewhere = |want: &SubGoal| want.kind == SubGoalKind::Save && points(&plain(&want.clause));
        if wants.iter().all(elsewhere)
            && let Some(told) = clauses.iter().rfind(|clause| !clause.asks)
        {
            // `… needs a mark. Save it with one.`: the statement contains the request.
            wants.insert(0, SubGoal { kind: SubGoalKind::Do, ..want(&told.text, &values) });
        }
        assign_statement_values(&mut wants, &clauses, &values);
        let speaks_of_saved = plain(instruction).iter().any(|word| word == "saved");
        if speaks_of_saved && !wants.iter().any(|want| want.kind == SubGoalKind::Save) {
            wants.push(want("save", &[]));
        }
        for pair in clauses.windows(2) {
            resolve_reference(&mut wants, &pair[0], &pair[1], &values);
        }
        Self { wants, words: KeyTerms::of(&unmask(&masked, &[])), text: instruction.to_owned() }
    }
}

fn want(masked: &str, values: &[Value]) -> SubGoal {
    let text = unmask(masked, &[]);
    let words = plain(&text);
    let verb = verb_at(masked).unwrap_or_default();
    let has = |wanted: &[&str]| words.iter().any(|word| wanted.contains(&word.as_str()));
    let off = has(&["off", "hide", "disable", "deactivate", "uncheck", "untick", "unmark", "stop"])
        || words
            .windows(2)
            .any(|pair| matches!(pair[0].as_str(), "be" | "stay" | "get") && pair[1] == "hidden")
        || (has(&["not", "no", "never"]) && verb != "save");
    let on =
        has(&["on", "show", "enable", "activate", "tick", "check", "visible", "shown", "display", "allow"]);
    let (typed, called) = spoken(masked, &verb, values);
    let mut values: Vec<Value> = marks(masked).into_iter().filter_map(|at| values.get(at).cloned()).collect();
    let inside = |value: &Value| {
        let texts = typed.iter().chain(&called);
        value.kind == ValueKind::Number && texts.into_iter().any(|text| text.text.contains(&value.text))
    };
    values.retain(|value| !inside(value));
    values.splice(0..0, typed);
    values.extend(called);
    let quotes = values.iter().any(|value| value.kind == ValueKind::Quoted);
    let kind = match verb.as_str() {
        "save" | "store" => SubGoalKind::Save,
        "type" | "enter" if !values.is_empty() => SubGoalKind::Write,
        "write" | "append" | "run" | "execute" | "insert" if quotes => SubGoalKind::Write,
        "put" | "add" | "place" if has(&["line", "text", "sentence", "words"]) && has(PLACES) && quotes => {
            SubGoalKind::Write
        }
        _ => SubGoalKind::Do,
    };
    SubGoal {
        clause: unmask(masked, &values),
        kind,
        verb,
        wanted: KeyTerms::of(without_purpose(&text)),
        values,
        switch: if off { Some(false) } else { on.then_some(true) },
        target: target(masked, &verb_at(masked).unwrap_or_default()),
        in_settings: has(&["preferences", "settings", "options", "configuration"]),
        lasting: is_lasting(&words),
        whole: has(&["all", "whole", "entire", "everything", "every", "complete", "each"]),
    }
}

/// Returns a text without its clause of purpose or reason (`… in order to …`, `… because …`).
fn without_purpose(text: &str) -> &str {
    let lower = text.to_lowercase();
    let begins = ["in order to", "because "];
    let cut = begins.iter().filter_map(|mark| lower.find(mark)).filter(|at| *at > 0).min();
    cut.and_then(|at| text.get(..at)).unwrap_or(text)
}

/// Returns the target of `set … to …` as stems: the words after the last such preposition. Empty when there are more
/// than four.
fn target(masked: &str, verb: &str) -> Vec<String> {
    if !matches!(verb, "set" | "change" | "switch" | "turn" | "make" | "convert") {
        return Vec::new();
    }
    let lower = masked.to_lowercase();
    let main = lower.split(',').next().unwrap_or_default();
    let main = main.split(" so that ").next().unwrap_or_default();
    let main = main.split(" for ").next().unwrap_or_default();
    let Some(at) =
        [" to ", " into "].iter().filter_map(|joint| main.rfind(joint).map(|at| at + joint.len())).max()
    else {
        return Vec::new();
    };
    let tail = main.get(at..).unwrap_or_default();
    let found = if tail.contains(VALUE_MARK) { Vec::new() } else { content(tail) };
    if found.len() <= 4 { found } else { Vec::new() }
}

/// Returns whether words describe a lasting setting: `from now on`, `always`, `for good`.
fn is_lasting(words: &[String]) -> bool {
    let single = [
        "always",
        "default",
        "settings",
        "preferences",
        "setting",
        "configure",
        "permanently",
        "automatically",
    ];
    let runs: [&[&str]; 6] = [
        &["from", "now", "on"],
        &["for", "good"],
        &["set", "up"],
        &["all", "windows"],
        &["all", "programs"],
        &["each", "time"],
    ];
    words.iter().any(|word| single.contains(&word.as_str()))
        || runs.iter().any(|run| {
            words.windows(run.len()).any(|words| words.iter().zip(*run).all(|(word, part)| word == part))
        })
}

/// Assigns the values of statements (`The file is "a".`) to the first sub-goal that has none of its own.
fn assign_statement_values(wants: &mut [SubGoal], clauses: &[Clause], values: &[Value]) {
    let told: Vec<usize> =
        clauses.iter().filter(|clause| !clause.asks).flat_map(|clause| marks(&clause.text)).collect();
    let Some(first) = wants.iter_mut().find(|want| want.values.is_empty() && want.kind == SubGoalKind::Do)
    else {
        return;
    };
    let named = |value: &&Value| matches!(value.kind, ValueKind::Quoted | ValueKind::File);
    first.values.extend(told.into_iter().filter_map(|at| values.get(at)).filter(named).cloned());
}

/// Resolves `… holds a hidden jar. Move it away.`: adds the preceding statement's words to the sub-goal.
fn resolve_reference(wants: &mut [SubGoal], before: &Clause, clause: &Clause, values: &[Value]) {
    if before.asks || !clause.asks || !refers(&plain(&clause.text)) {
        return;
    }
    let spelled = want(&clause.text, values).clause;
    if let Some(found) = wants.iter_mut().find(|want| want.clause == spelled && want.kind == SubGoalKind::Do)
    {
        found.wanted.join(&KeyTerms::of(&unmask(&before.text, &[])));
    }
}

/// Returns whether words refer to an earlier description: `with one`, `that way`, `like this`.
fn points(words: &[String]) -> bool {
    words.iter().any(|word| matches!(word.as_str(), "one" | "so" | "that" | "this" | "such" | "way"))
}

/// Returns whether words refer back to something mentioned before.
fn refers(words: &[String]) -> bool {
    words.iter().any(|word| matches!(word.as_str(), "it" | "them" | "they"))
        || words.windows(2).any(|pair| matches!(pair[0].as_str(), "that" | "this") && pair[1] == "way")
}

#[cfg(test)]
mod tests {
    use super::{Goal, SubGoalKind};

    fn check(instruction: &str, expected: &[(&str, SubGoalKind, &[&str], Option<bool>)]) {
        let goal = Goal::read(instruction);
        let found: Vec<_> = goal
            .wants
            .iter()
            .map(|want| {
                let values: Vec<&str> = want.values.iter().map(|value| value.text.as_str()).collect();
                (want.verb.as_str(), want.kind, values, want.switch)
            })
            .collect();
        let expected: Vec<_> = expected
            .iter()
            .map(|(verb, kind, values, switch)| (*verb, *kind, values.to_vec(), *switch))
            .collect();
        assert_eq!(found, expected, "{instruction}");
    }

    #[test]
    fn clauses_are_wants_in_order() {
        use SubGoalKind::{Do, Save, Write};
        check(
            "In the editor, turn the whole poem around and save the file.",
            &[("turn", Do, &[], None), ("save", Save, &[], None)],
        );
        check(
            "The file notes.txt is open. Replace every 'cat' with \"dog's\", then save it as other.txt.",
            &[("replace", Do, &["cat", "dog's"], None), ("save", Save, &["other.txt"], None)],
        );
        check(
            "Type 'x y' into the box; hide the rail. Do not close the window.",
            &[("type", Write, &["x y"], None), ("hide", Do, &[], Some(false))],
        );
        check("The rulers should be visible.", &[("", Do, &[], Some(true))]);
        check(
            "Open http://a.test/b and set the depth to 3.",
            &[("open", Do, &["http://a.test/b"], None), ("set", Do, &["3"], None)],
        );
    }
}
