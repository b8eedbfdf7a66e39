//! `program_html`: compares what pages hold with what they must hold.

use serde_json::Value;

use super::answer::{clean, includes, reference, references};
use super::entities::unescaped;
use crate::python;
use crate::scoring::{MetricError, MetricInput, Score, entries, quote, task_error};

/// Compares each content with its target, in order. The getter `page_contents` has read them.
pub(crate) fn program_html(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let targets = entries(case.rules()?, "program_html")?;
    if targets.is_empty() && !case.reproduces_bugs() {
        return Err(task_error("\"program_html\" is empty, so that every page would pass"));
    }
    let found = match case.value()? {
        Ok(found) => found.as_array().ok_or_else(|| task_error("the result must be a list of contents"))?,
        Err(absent) => return Ok(absent),
    };
    if found.len() != targets.len() {
        let what = format!("there are {} contents for {} targets", found.len(), targets.len());
        return Err(task_error(what));
    }
    let mut complaints = Vec::new();
    for (target, content) in targets.iter().zip(found) {
        let content = unescaped(&python::str(content));
        complaints.extend(complaint(target, &content)?);
    }
    Ok(Score::unless(&complaints, "the pages hold what they must"))
}

/// Says what a target's content lacks.
fn complaint(target: &Value, content: &str) -> Result<Option<String>, MetricError> {
    let required = target.get("required_contents").and_then(Value::as_object);
    let required = required.ok_or_else(|| task_error("a target has no object \"required_contents\""))?;
    if let Some(wanted) = required.get("exact_match") {
        let wanted = reference(wanted)?;
        let differs = clean(wanted) != clean(content);
        return Ok(differs.then(|| format!("the page holds {}, not {}", quote(content), quote(wanted))));
    }
    let Some(phrases) = required.get("must_include") else {
        return Err(task_error("\"required_contents\" has neither \"exact_match\" nor \"must_include\""));
    };
    for phrase in references(phrases, "must_include")? {
        let mut any = false;
        for one in phrase.split(" |OR| ") {
            any |= includes(one, content, false)?;
        }
        if !any {
            return Ok(Some(format!("the page {} lacks {}", quote(content), quote(phrase))));
        }
    }
    Ok(None)
}
