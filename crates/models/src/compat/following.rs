//! What the present step of an advice leaves open to a model of few parameters: which of the listed elements, and what to write.
//!
//! Such a model obeys a page and loses its place in one. Where the step that comes next names something that is listed, its act is
//! therefore the only choice of a turn: the model says which of several elements, options or texts. Where nothing of the step is
//! listed, all acts are.

use std::collections::BTreeSet;

use apprentice_protocol::{is_item_role, takes_text_role};
use serde_json::{Value, json};

use super::act_form::{MAX_TEXT_CHARS, form};
use super::advice_steps::AdviceSteps;
use super::binding::{bound, named_texts};
use super::listed::Listed;

/// Begins the line of a view that says the task again.
const TASK: &str = "\nTask: ";
/// Roles of what is only read.
const READ: [&str; 6] = ["text", "heading", "status", "alert", "paragraph", "label"];
/// Limit on what the advice says of a value, in characters, where it is said again.
const MAX_REMARK_CHARS: usize = 260;
/// An act that changed nothing may be done once more, since what it opened may have closed again.
const MOST_TIMES: usize = 2;

/// Where a conversation stands in its advice.
#[derive(Clone, Debug, Default)]
pub(super) struct Following {
    steps: AdviceSteps,
    task: String,
    listed: Vec<Listed>,
    /// Labels of the list before.
    before: BTreeSet<String>,
}

/// What comes next.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Next {
    /// This step, with what its open values stand for where the task says it.
    Step(String),
    AllDone,
}

impl Following {
    /// Takes note of an act.
    pub(super) fn act(&mut self, act: &Value) {
        if let Some(ahead) = self.skipped() {
            self.steps.skip_to(ahead);
        }
        self.steps.act(act);
    }

    /// Takes note of a text of the conversation: an advice, or a view.
    pub(super) fn hear(&mut self, text: &str) {
        self.steps.hear(text);
        if let Some((_, told)) = text.rsplit_once(TASK) {
            told.trim().clone_into(&mut self.task);
            self.before = self.listed.iter().map(|element| element.label.clone()).collect();
            self.listed = text.lines().filter_map(Listed::read).collect();
        }
    }

    /// Returns the lines that say which step comes next; `None` where there is no advice in steps.
    pub(super) fn told(&self) -> Option<String> {
        Some(match self.next()? {
            Next::AllDone => "All steps of the advice are done.".to_owned(),
            Next::Step(step) => {
                let remark = self.remark(&step).map(|said| format!("\nThe advice says: {said}"));
                format!("Next step of the advice: {step}{}", remark.unwrap_or_default())
            }
        })
    }

    /// Returns the forms of the acts that the step which comes next leaves open; `None` where it leaves everything open.
    /// `times` is how often an act was done on this screen.
    pub(super) fn forms(&self, browser: bool, times: impl Fn(&Value) -> usize) -> Option<Vec<Value>> {
        match self.next()? {
            Next::AllDone => Some(vec![one_of("finish", &["done"])]),
            Next::Step(step) => self.open_to(&Step::read(&step)?, browser, &times),
        }
    }

    fn next(&self) -> Option<Next> {
        let all = self.steps.all();
        if all.is_empty() {
            return None;
        }
        let step = all.get(self.skipped().unwrap_or(self.steps.done()));
        Some(step.map_or(Next::AllDone, |step| Next::Step(bound(step, &self.task, &self.listed))))
    }

    /// The step to go on with where the element of the next one is not listed: the one behind it, whose element is, or the one
    /// before, where what it opened has closed again.
    fn skipped(&self) -> Option<usize> {
        let (all, done) = (self.steps.all(), self.steps.done());
        let listed = |at: usize| all.get(at).and_then(|step| self.is_listed(step));
        if listed(done) != Some(false) {
            return None;
        }
        let ahead = (listed(done + 1) == Some(true)).then_some(done + 1);
        ahead.or_else(|| done.checked_sub(1).filter(|before| listed(*before) == Some(true)))
    }

    /// Whether the element that a step names is listed; `None` for a step that names none.
    fn is_listed(&self, step: &str) -> Option<bool> {
        let step = Step::read(step)?;
        let Words::Named(name) = step.object else { return None };
        (!matches!(step.act, "key" | "type")).then(|| self.elements(&name).next().is_some())
    }

    fn elements<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Listed> {
        self.listed.iter().filter(move |element| is_named(element, name))
    }

    fn open_to(&self, step: &Step, browser: bool, times: &impl Fn(&Value) -> usize) -> Option<Vec<Value>> {
        let has_options = |element: &Listed| browser && element.options.is_some();
        let allowed = |act: &Value| times(act) < MOST_TIMES;
        match (step.act, &step.object) {
            ("click" | "double_click" | "right_click", object) => {
                let fitting = self.pressed(object, step.row.as_ref()).into_iter();
                let fitting = fitting.filter(|element| !has_options(element));
                let labels: Vec<&str> = fitting
                    .map(|element| element.label.as_str())
                    .filter(|label| allowed(&json!({ step.act: label })))
                    .collect();
                (!labels.is_empty()).then(|| vec![one_of(step.act, &labels)])
            }
            ("select" | "type_into", Words::Named(field)) => {
                let text = step.text.as_ref()?;
                let found: Vec<Value> = self
                    .elements(field)
                    .filter_map(|element| match has_options(element) {
                        true => chosen(element, text),
                        false => (step.act == "type_into" && takes_text_role(&element.role))
                            .then(|| self.written(element, text)),
                    })
                    .collect();
                (!found.is_empty()).then_some(found)
            }
            ("type", text) => Some(vec![form(&[("type", self.text(text))])]),
            ("key", Words::Named(chord)) => {
                allowed(&json!({ "key": chord })).then(|| vec![one_of("key", &[chord])])
            }
            _ => None,
        }
    }

    /// The elements that a press of a step may be on. An open one is among what the act before has shown, if it has shown anything.
    fn pressed<'a>(&'a self, object: &'a Words, row: Option<&Words>) -> Vec<&'a Listed> {
        match object {
            Words::Named(name) => {
                let all: Vec<&Listed> = self.elements(name).filter(|element| is_pressed(element)).collect();
                let Some(Words::Named(row)) = row else { return all };
                let of_row: Vec<&Listed> =
                    all.iter().copied().filter(|element| element.row() == Some(row)).collect();
                if of_row.is_empty() { all } else { of_row }
            }
            Words::Open => {
                let named: Vec<String> =
                    self.steps.all().iter().filter_map(|step| fixed_name(step)).collect();
                let open = self.listed.iter().filter(|element| is_pressed(element) && !element.is_chosen);
                let open: Vec<&Listed> =
                    open.filter(|element| !named.iter().any(|name| is_named(element, name))).collect();
                let is_new = |element: &&Listed| !self.before.contains(&element.label);
                let new: Vec<&Listed> = open.iter().copied().filter(is_new).collect();
                if new.is_empty() { open } else { new }
            }
        }
    }

    fn written(&self, field: &Listed, text: &Words) -> Value {
        let label = json!({ "type": "string", "enum": [field.label] });
        form(&[("type_into", label), ("text", self.text(text))])
    }

    /// The texts that may be written: the step's own, or those that the task quotes or names, or any.
    fn text(&self, text: &Words) -> Value {
        match text {
            Words::Named(text) => json!({ "type": "string", "enum": [text] }),
            Words::Open => match named_texts(&self.task, &self.listed) {
                texts if texts.is_empty() => json!({ "type": "string", "maxLength": MAX_TEXT_CHARS }),
                texts => json!({ "type": "string", "enum": texts }),
            },
        }
    }

    /// What the advice says of the open value of a step: the sentences that quote one of the values to choose from, else those
    /// that quote the field.
    fn remark(&self, step: &str) -> Option<String> {
        let step = Step::read(step)?;
        let values: Vec<&str> = match (&step.object, &step.text) {
            (Words::Named(field), Some(Words::Open)) => {
                self.elements(field).flat_map(Listed::options).collect()
            }
            (Words::Open, _) => self.pressed(&Words::Open, None).into_iter().map(Listed::name).collect(),
            _ => return None,
        };
        let quotes =
            |said: &&String, wanted: &dyn Fn(&str) -> bool| said.split('"').skip(1).step_by(2).any(wanted);
        let of_values = |quoted: &str| values.iter().any(|value| is_same(value, quoted));
        let of_field = |quoted: &str| matches!(&step.object, Words::Named(field) if is_same(field, quoted));
        let remarks = self.steps.remarks();
        let mut said: Vec<&str> =
            remarks.iter().filter(|said| quotes(said, &of_values)).map(String::as_str).collect();
        if said.is_empty() {
            said = remarks.iter().filter(|said| quotes(said, &of_field)).map(String::as_str).collect();
        }
        let mut all = String::new();
        for one in said {
            if all.chars().count() + one.chars().count() < MAX_REMARK_CHARS {
                all.push_str(if all.is_empty() { "" } else { " " });
                all.push_str(one);
            }
        }
        (!all.is_empty()).then_some(all)
    }
}

/// The form of a choice from a list box: the option of the step, or each one that is not the present one.
fn chosen(element: &Listed, text: &Words) -> Option<Value> {
    let label = json!({ "type": "string", "enum": [element.label] });
    let all: Vec<&str> = element.options().collect();
    let option = match text {
        Words::Named(text) if all.contains(&text.as_str()) || all.is_empty() => {
            json!({ "type": "string", "enum": [text] })
        }
        _ if all.is_empty() => json!({ "type": "string", "maxLength": MAX_TEXT_CHARS }),
        _ => {
            let left: Vec<&str> =
                all.into_iter().filter(|option| element.value.as_deref() != Some(option)).collect();
            if left.is_empty() {
                return None;
            }
            json!({ "type": "string", "enum": left })
        }
    };
    Some(form(&[("select", label), ("option", option)]))
}

fn one_of(act: &str, values: &[&str]) -> Value {
    form(&[(act, json!({ "type": "string", "enum": values }))])
}

/// Whether an element can be pressed: not what is only read, but also a row or a cell.
fn is_pressed(element: &Listed) -> bool {
    is_item_role(&element.role) || !READ.contains(&element.role.as_str())
}

fn is_named(element: &Listed, name: &str) -> bool {
    is_same(element.name(), name)
}

/// Whether two names are the same but for case and what stands behind them.
fn is_same(one: &str, other: &str) -> bool {
    let bare = |name: &str| name.trim().trim_end_matches(['.', '…', ':']).to_lowercase();
    bare(one) == bare(other)
}

/// The name of what a step is about.
fn fixed_name(step: &str) -> Option<String> {
    match Step::read(step)?.object {
        Words::Named(name) => Some(name),
        Words::Open => None,
    }
}

/// What a step names, or leaves to the task.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Words {
    Named(String),
    Open,
}

/// A step of the form `click "Actions" in row <patient>`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Step {
    act: &'static str,
    object: Words,
    row: Option<Words>,
    text: Option<Words>,
}

impl Step {
    /// Reads a step; `None` where it is a sentence.
    fn read(step: &str) -> Option<Self> {
        const ACTS: [&str; 7] =
            ["click", "double_click", "right_click", "select", "type_into", "type", "key"];
        let (act, rest) = step.split_once(' ')?;
        let act = ACTS.into_iter().find(|known| *known == act)?;
        if act == "key" {
            return Some(Self { act, object: Words::Named(rest.trim().to_owned()), row: None, text: None });
        }
        let (object, rest) = words(rest)?;
        let (row, text) = match rest.strip_prefix("in row ") {
            Some(row) => (Some(words(row)?.0), None),
            None if rest.is_empty() => (None, None),
            None => (None, Some(words(rest)?.0)),
        };
        Some(Self { act, object, row, text })
    }
}

/// Reads `"File"` or `<new name>`, and returns what follows. The last quotation mark closes a label, or the one before what belongs
/// to it.
fn words(text: &str) -> Option<(Words, &str)> {
    if let Some(rest) = text.strip_prefix('<') {
        return rest.split_once('>').map(|(_, after)| (Words::Open, after.trim()));
    }
    let rest = text.strip_prefix('"')?;
    let ends = [rest.find("\" \""), rest.find("\" <"), rest.find("\" in row ")];
    let end = ends.into_iter().flatten().min().or_else(|| rest.rfind('"'))?;
    Some((Words::Named(rest[..end].to_owned()), rest[end + 1..].trim()))
}

#[cfg(test)]
mod tests;
