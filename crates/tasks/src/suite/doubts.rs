//! Doubts about a task's check, found without a world: it passes when nothing is found, compares the same twice, has
//! options that its metric does not read, or commands whose words a shell would read otherwise.

use serde_json::Value;

use crate::check::{
    AttemptEnding, EVIDENCE_SCHEMA, Evidence, EvidenceItem, EvidenceValue, FileRef, judge, named,
};
use crate::task::{CheckSpec, OneOrMany, Task};
use apprentice_metrics::is_truthy;

/// Words that only a shell understands.
const SHELL_WORDS: [&str; 6] = ["|", "&&", "||", ">", ">>", ";"];

/// Returns the doubts about a task's check. None of them keeps it from being run.
pub fn doubts(task: &Task) -> Vec<String> {
    let spec = &task.evaluator;
    let mut doubts = Vec::new();
    if !spec.is_infeasible() {
        doubts.extend(passes_without_evidence(spec));
        doubts.extend(repeated(spec));
        doubts.extend(unread_options(spec));
        doubts.extend(shell_words(spec));
    }
    doubts
}

/// Judges the check with nothing found, where its expected values stand in the task file.
fn passes_without_evidence(spec: &CheckSpec) -> Option<String> {
    let expected: Result<Vec<Option<EvidenceItem>>, KnownLater> =
        spec.expected.iter().flat_map(OneOrMany::iter).map(stated).collect();
    let expected = expected.ok()?;
    let nothing = [
        ("no result", EvidenceValue::Absent { why: "nothing is found".into() }),
        ("an empty text", EvidenceValue::Value { value: "".into() }),
        ("an empty list", EvidenceValue::Value { value: Value::Array(Vec::new()) }),
        ("an empty file", EvidenceValue::files_of(vec![Some(FileRef::new("empty", Vec::new()))])),
    ];
    let passing = nothing.into_iter().filter(|(_, found)| {
        let results = spec.result.iter().flat_map(OneOrMany::iter).map(|_| item(found.clone())).collect();
        let evidence = Evidence {
            schema: EVIDENCE_SCHEMA.into(),
            results,
            expected: expected.clone(),
            readings: Vec::new(),
            judgements: Vec::new(),
        };
        judge(spec, &evidence, &AttemptEnding::Ended).score > 0.0
    });
    let passing: Vec<&str> = passing.map(|(name, _)| name).collect();
    (!passing.is_empty()).then(|| format!("the check scores for {}", passing.join(", ")))
}

/// What is expected is not in the task file.
struct KnownLater;

/// Returns an expected value that the task file states, if the comparison has one.
fn stated(getter: &Value) -> Result<Option<EvidenceItem>, KnownLater> {
    if getter.as_object().is_some_and(serde_json::Map::is_empty) || getter.is_null() {
        return Ok(None);
    }
    let is_rule = getter.get("type").is_some_and(|kind| kind == "rule");
    let value = getter.get("rules").filter(|_| is_rule).ok_or(KnownLater)?.clone();
    Ok(Some(item(EvidenceValue::Value { value })))
}

fn item(found: EvidenceValue) -> EvidenceItem {
    EvidenceItem { getter: "rule".into(), command: None, code: None, errors: None, took_ms: 0, found }
}

/// Comparisons that say the same twice.
fn repeated(spec: &CheckSpec) -> Option<String> {
    let entry =
        |specs: &Option<OneOrMany<Value>>, at: usize| specs.iter().flat_map(OneOrMany::iter).nth(at).cloned();
    let comparison = |(at, name): (usize, &String)| {
        (name.clone(), entry(&spec.result, at), entry(&spec.expected, at), spec.options(at).cloned())
    };
    let all: Vec<_> = spec.func.iter().enumerate().map(comparison).collect();
    let same = (1..all.len()).find(|at| all[..*at].contains(&all[*at]))?;
    Some(format!("comparison {} of the check, {:?}, is there already", same + 1, all[same].0))
}

fn unread_options(spec: &CheckSpec) -> Vec<String> {
    let unread = |(at, name): (usize, &String)| {
        let read = named(name)?.options()?;
        let given = spec.options(at)?;
        let unread: Vec<&str> = given
            .keys()
            .map(String::as_str)
            .filter(|key| !key.starts_with('_') && !read.contains(key))
            .collect();
        // Archives hand the options of their members on.
        let matters = !unread.is_empty() && name != "compare_archive";
        matters.then(|| format!("{name} does not read the option {}", unread.join(", ")))
    };
    spec.func.iter().enumerate().filter_map(unread).collect()
}

/// Commands in a list, without a shell, that have words of one.
fn shell_words(spec: &CheckSpec) -> Vec<String> {
    let getters = [&spec.result, &spec.expected].into_iter().flatten().flat_map(OneOrMany::iter);
    let doubtful = |getter: &Value| {
        let words = getter.get("command")?.as_array()?;
        let by_shell = getter.get("shell").is_some_and(is_truthy);
        let word = words.iter().filter_map(Value::as_str).find(|word| SHELL_WORDS.contains(word))?;
        (!by_shell)
            .then(|| format!("a command without a shell has the word {word:?}, which it gets as it stands"))
    };
    getters.filter_map(doubtful).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::doubts;
    use crate::suite::load::read_task;

    fn of(evaluator: &str) -> Vec<String> {
        let text = format!(r#"{{"id":"t","instruction":"i","config":[],"evaluator":{evaluator}}}"#);
        doubts(&read_task(Path::new("t.json"), &text).expect("loads"))
    }

    #[test]
    fn checks_that_nothing_passes_are_doubted() {
        let result = r#""result":{"type":"vm_command_line","command":["ls"]}"#;
        let check = |func: &str, rules: &str| {
            of(&format!(r#"{{"func":"{func}",{result},"expected":{{"type":"rule","rules":{rules}}}}}"#))
        };
        assert_eq!(check("check_include_exclude", r#"{"include":["a"],"exclude":[]}"#), [""; 0]);
        assert_eq!(
            check("check_include_exclude", r#"{"include":[],"exclude":["a"]}"#),
            ["the check scores for an empty text, an empty list"]
        );
        assert_eq!(check("exact_match", r#"{"expected":""}"#), ["the check scores for an empty text"]);
        // What is expected is only known later.
        let later = format!(
            r#"{{"func":"exact_match",{result},"expected":{{"type":"vm_command_line","command":"x"}}}}"#
        );
        assert_eq!(of(&later), [""; 0]);
    }

    #[test]
    fn repeated_comparisons_unread_options_and_words_of_a_shell_are_doubted() {
        let found = of(r#"{"func":["compare_text_file","compare_text_file"],
            "result":[{"type":"vm_file","path":"a","dest":"a"},{"type":"vm_file","path":"a","dest":"a"}],
            "expected":[{"type":"cloud_file","path":"b","dest":"b"},{"type":"cloud_file","path":"b","dest":"b"}],
            "options":[{"ignore_blank":true},{"ignore_blank":true}]}"#);
        assert_eq!(found[0], "comparison 2 of the check, \"compare_text_file\", is there already");
        assert_eq!(found[1], "compare_text_file does not read the option ignore_blank");
        let piped =
            of(r#"{"func":"is_in_list","result":{"type":"vm_command_line","command":["ls","|","grep","x"]},
            "expected":{"type":"vm_command_line","command":"x"}}"#);
        assert_eq!(piped, ["a command without a shell has the word \"|\", which it gets as it stands"]);
    }
}
