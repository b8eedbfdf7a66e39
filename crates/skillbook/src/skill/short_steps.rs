//! The section `## Short steps` of a page: what a person would ask for, and three to six acts that do it, for a model that
//! follows one label at a time and can weigh nothing.
//!
//! A prototype with pages of this kind, written and assigned by hand, had Qwen2.5-Coder 1.5B pass 10 of 13 tasks, one try each. It
//! failed with prose that names alternatives, conditions or roles: it takes the first of several labels, and a condition for an
//! order. An open value of several words it types as it stands.

use std::fmt;

/// The heading of the section, which stands below the instructions.
const HEADING: &str = "## Short steps";
/// Begins the line that names the function.
const FOR: &str = "For:";
/// Begins the line with other words for it, separated by `;`.
const ALSO: &str = "Also:";
/// Largest number of steps. With eight, such a model still kept its place when the next step was said again.
const MAX_STEPS: usize = 8;
/// Largest number of functions of one page.
const MAX_FUNCTIONS: usize = 6;
/// Largest length of a function and its steps, in characters: 150 tokens with the marks around them.
const MAX_CHARS: usize = 560;
/// Largest length of the line with other words, in characters. It is searched and never lent.
const MAX_ALSO_CHARS: usize = 400;
/// Largest length of a label, in characters. A short view cuts longer ones, and the model could not copy them.
const MAX_LABEL_CHARS: usize = 60;
/// Largest number of words of an open value: `<new name>`.
const MAX_OPEN_WORDS: usize = 2;
/// Stands between a label that each row of a list has and what the row is about.
const IN_ROW: &str = "in row ";
/// Acts on an element.
const PRESSES: [&str; 3] = ["click", "double_click", "right_click"];

/// What an act is about: words that are the same each time, or those of the task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Words {
    /// The label or the text itself, in the words of the list: `"Preferences"`.
    Fixed(String),
    /// What the task names, in a word or two that say which part of it: `<new name>`.
    OfTask(String),
}

/// One act.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShortStep {
    /// `click "File"`, also with `double_click` and `right_click`; `click "Actions" in row <patient>` where each row has one.
    Press {
        /// The act.
        act: &'static str,
        /// The element.
        on: Words,
        /// What the element's row is about, where several rows have one of this name.
        row: Option<Words>,
    },
    /// `select "Paper" <paper>`: in a list box.
    Select {
        /// Label of the list box.
        field: Words,
        /// The option.
        option: Words,
    },
    /// `type_into "Name:" <path>`.
    TypeInto {
        /// Label of the field.
        field: Words,
        /// What is written.
        text: Words,
    },
    /// `type <text>`: where the cursor is.
    Type(Words),
    /// `key ctrl+s`.
    Key(String),
}

/// A function of a program, and the acts that do it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShortSteps {
    /// What a person would ask for, in one line.
    pub function: String,
    /// Other words in which people ask for it.
    pub also: Vec<String>,
    /// The acts, in order.
    pub steps: Vec<ShortStep>,
}

/// Why a section cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the short steps, line {line:?}: {why}")]
pub struct ShortStepsError {
    /// The line.
    pub line: String,
    /// What is wrong with it, and what would be right.
    pub why: String,
}

impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(words) => write!(f, "\"{words}\""),
            Self::OfTask(words) => write!(f, "<{words}>"),
        }
    }
}

impl fmt::Display for ShortStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Press { act, on, row: None } => write!(f, "{act} {on}"),
            Self::Press { act, on, row: Some(row) } => write!(f, "{act} {on} {IN_ROW}{row}"),
            Self::Select { field, option } => write!(f, "select {field} {option}"),
            Self::TypeInto { field, text } => write!(f, "type_into {field} {text}"),
            Self::Type(text) => write!(f, "type {text}"),
            Self::Key(chord) => write!(f, "key {chord}"),
        }
    }
}

impl ShortStep {
    /// Returns the label of the element that the step names, if it names one.
    pub fn label(&self) -> Option<&str> {
        match self {
            Self::Press { on: Words::Fixed(label), .. }
            | Self::Select { field: Words::Fixed(label), .. }
            | Self::TypeInto { field: Words::Fixed(label), .. } => Some(label),
            Self::Press { .. }
            | Self::Select { .. }
            | Self::TypeInto { .. }
            | Self::Type(_)
            | Self::Key(_) => None,
        }
    }

    /// The open values of the step.
    fn open_values(&self) -> impl Iterator<Item = &str> {
        let words = match self {
            Self::Press { on, row, .. } => [Some(on), row.as_ref()],
            Self::Select { field, option: text } | Self::TypeInto { field, text } => {
                [Some(field), Some(text)]
            }
            Self::Type(text) => [Some(text), None],
            Self::Key(_) => [None, None],
        };
        words.into_iter().flatten().filter_map(|words| match words {
            Words::OfTask(value) => Some(value.as_str()),
            Words::Fixed(_) => None,
        })
    }
}

impl ShortSteps {
    /// Returns the function and its steps as a model gets them.
    pub fn lent(&self) -> String {
        let steps = (1..).zip(&self.steps).map(|(number, step)| format!("\n{number}. {step}"));
        format!("{}.{}", self.function.trim_end_matches('.'), steps.collect::<String>())
    }

    /// Returns the ways in which people ask for the function.
    pub fn asked(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.function.as_str()).chain(self.also.iter().map(String::as_str))
    }

    fn check(self) -> Result<Self, ShortStepsError> {
        let wrong = |why: String| ShortStepsError { line: format!("{FOR} {}", self.function), why };
        if self.steps.is_empty() || self.steps.len() > MAX_STEPS {
            let count = self.steps.len();
            return Err(wrong(format!(
                "it has {count} steps; 1 to {MAX_STEPS} can be followed, best are 3 to 6"
            )));
        }
        let length = self.lent().chars().count();
        if length > MAX_CHARS {
            return Err(wrong(format!(
                "function and steps have {length} characters; at most {MAX_CHARS} fit"
            )));
        }
        let also = self.also.iter().map(|words| words.chars().count()).sum::<usize>();
        if also > MAX_ALSO_CHARS {
            return Err(wrong(format!(
                "its other words have {also} characters; at most {MAX_ALSO_CHARS} fit"
            )));
        }
        Ok(self)
    }
}

/// Returns guidance without its short steps: what a reader of prose gets.
pub fn prose_of(guidance: &str) -> String {
    let Some((start, end)) = place(guidance) else { return guidance.to_owned() };
    let (before, after) = (&guidance[..start], &guidance[end..]);
    format!("{}{}{after}", before.trim_end(), if after.is_empty() { "" } else { "\n\n" })
}

/// Returns the short steps of guidance, one entry for each function.
///
/// # Errors
///
/// A line is no step, a function has no line `For:`, or more is there than such a model can follow.
pub fn short_steps(guidance: &str) -> Result<Vec<ShortSteps>, ShortStepsError> {
    let Some((start, end)) = place(guidance) else { return Ok(Vec::new()) };
    let mut found: Vec<ShortSteps> = Vec::new();
    for line in guidance[start..end].lines().skip(1).map(str::trim).filter(|line| !line.is_empty()) {
        let wrong = |why: &str| ShortStepsError { line: line.to_owned(), why: why.to_owned() };
        if let Some(function) = line.strip_prefix(FOR) {
            let function = function.trim().to_owned();
            if function.is_empty() {
                return Err(wrong("name what a person would ask for"));
            }
            found.push(ShortSteps { function, also: Vec::new(), steps: Vec::new() });
            continue;
        }
        let Some(last) = found.last_mut() else {
            return Err(wrong("they begin with \"For: \" and what a person would ask for"));
        };
        match line.strip_prefix(ALSO) {
            Some(_) if !last.steps.is_empty() => return Err(wrong("\"Also:\" stands before the steps")),
            Some(words) => {
                let words = words.split(';').map(str::trim).filter(|words| !words.is_empty());
                last.also.extend(words.map(str::to_owned));
            }
            None => {
                let step = numbered(line, last.steps.len() + 1).map_err(|why| wrong(&why))?;
                last.steps.push(step);
            }
        }
    }
    if found.is_empty() || found.len() > MAX_FUNCTIONS {
        let why = format!("the section holds {} functions; 1 to {MAX_FUNCTIONS} fit", found.len());
        return Err(ShortStepsError { line: HEADING.to_owned(), why });
    }
    found.into_iter().map(ShortSteps::check).collect()
}

/// Returns the short steps of guidance that is to be written. Pages of earlier versions have open values of many words, and stay
/// readable.
///
/// # Errors
///
/// As [`short_steps`]; and an open value has more than two words, which such a model types as they stand.
pub fn written_steps(guidance: &str) -> Result<Vec<ShortSteps>, ShortStepsError> {
    let functions = short_steps(guidance)?;
    for step in functions.iter().flat_map(|function| &function.steps) {
        let is_long = |value: &&str| !(1..=MAX_OPEN_WORDS).contains(&value.split_whitespace().count());
        if let Some(value) = step.open_values().find(is_long) {
            let why =
                format!("<{value}> would be typed as it stands; one or two words fit, such as <new name>");
            return Err(ShortStepsError { line: step.to_string(), why });
        }
    }
    Ok(functions)
}

/// Returns guidance with short steps, in place of those that it has.
pub fn with_short_steps(guidance: &str, functions: &[ShortSteps]) -> String {
    let prose = prose_of(guidance);
    if functions.is_empty() {
        return prose;
    }
    let written = functions.iter().map(|short| {
        let also = short.also.join("; ");
        let also = if also.is_empty() { also } else { format!("{ALSO} {also}\n") };
        let steps = (1..).zip(&short.steps).map(|(number, step)| format!("{number}. {step}\n"));
        format!("\n{FOR} {}\n{also}{}", short.function, steps.collect::<String>())
    });
    format!("{}\n\n{HEADING}\n{}", prose.trim_end(), written.collect::<String>()).trim_end().to_owned()
}

/// Returns where the section begins and ends.
fn place(guidance: &str) -> Option<(usize, usize)> {
    let mut at = 0;
    let mut start = None;
    for line in guidance.split_inclusive('\n') {
        match start {
            None if line.trim_end() == HEADING => start = Some(at),
            Some(start) if line.starts_with("## ") => return Some((start, at)),
            None | Some(_) => {}
        }
        at += line.len();
    }
    start.map(|start| (start, guidance.len()))
}

/// Reads `3. click "File"`.
fn numbered(line: &str, number: usize) -> Result<ShortStep, String> {
    let text = line.strip_prefix(&format!("{number}. "));
    step(text.ok_or_else(|| format!("step {number} begins with \"{number}. \""))?.trim())
}

fn step(text: &str) -> Result<ShortStep, String> {
    let (act, rest) = text.split_once(' ').unwrap_or((text, ""));
    let rest = rest.trim();
    let pressed = PRESSES.iter().find(|press| **press == act);
    match (pressed, act) {
        (Some(act), _) => {
            let (on, row) = words(rest)?;
            let row = match row.strip_prefix(IN_ROW) {
                Some(row) => Some(only(row)?),
                None if row.is_empty() => None,
                None => return Err(one_each()),
            };
            Ok(ShortStep::Press { act, on: label(on)?, row })
        }
        (None, "select" | "type_into") => {
            let (field, text) = words(rest)?;
            let (field, text) = (label(field)?, only(text)?);
            Ok(match act {
                "select" => ShortStep::Select { field, option: text },
                _ => ShortStep::TypeInto { field, text },
            })
        }
        (None, "type") => match words(rest)? {
            (text, "") => Ok(ShortStep::Type(text)),
            _ => Err(one_each()),
        },
        (None, "key") if !rest.is_empty() && !rest.contains(char::is_whitespace) => {
            Ok(ShortStep::Key(rest.to_owned()))
        }
        _ => Err(one_each()),
    }
}

fn one_each() -> String {
    "a step is one act: click \"LABEL\" (or double_click, right_click), select \"LABEL\" \"OPTION\", type_into \"LABEL\" \"TEXT\", \
     type \"TEXT\", or key ctrl+s; <new name> in place of \"TEXT\" or \"LABEL\" stands for what the task names"
        .to_owned()
}

/// Reads words that nothing follows.
fn only(text: &str) -> Result<Words, String> {
    match words(text)? {
        (found, "") => label(found),
        _ => Err(one_each()),
    }
}

fn label(words: Words) -> Result<Words, String> {
    let (Words::Fixed(text) | Words::OfTask(text)) = &words;
    if text.trim().is_empty() || text.chars().count() > MAX_LABEL_CHARS {
        return Err(format!("{text:?} has {} characters; 1 to {MAX_LABEL_CHARS} fit", text.chars().count()));
    }
    Ok(words)
}

/// Reads quoted words or those of the task, and returns what follows. Quotes may stand within a label: the last of a line
/// closes it, or the one before the text of a field.
fn words(text: &str) -> Result<(Words, &str), String> {
    if let Some(rest) = text.strip_prefix('<') {
        let (inside, after) = rest.split_once('>').ok_or_else(one_each)?;
        return Ok((Words::OfTask(inside.trim().to_owned()), after.trim()));
    }
    let rest = text.strip_prefix('"').ok_or_else(one_each)?;
    let ends = [rest.find("\" \""), rest.find("\" <"), rest.find("\" in row ")];
    let end = ends.into_iter().flatten().min().or_else(|| rest.rfind('"')).ok_or_else(one_each)?;
    let inside = &rest[..end];
    // Within a label a quotation opens first: `"A" or "B"` are two labels.
    if inside.split_once('"').is_some_and(|(before, _)| !before.is_empty() && !before.ends_with(' ')) {
        return Err(one_each());
    }
    Ok((Words::Fixed(inside.to_owned()), rest[end + 1..].trim()))
}

#[cfg(test)]
mod tests {
    use super::{ShortStep, Words, prose_of, short_steps, with_short_steps, written_steps};

    const PAGE: &str = "1. Open \"View\", or press Alt+V.\n\n## Short steps\n\nFor: change the units of a drawing\nAlso: \
                        measure in metres; inches instead\n1. click \"View\"\n2. click <unit>\n3. type_into \
                        \"Scale:\" <scale>\n4. key ctrl+s\n\nFor: send \"x\" to all\n1. click \"Send \"x\" to \
                        all\"\n2. type_into \"Address\" \"chrome://a/b\"\n3. type <text>\n4. click \"Edit\" in row <old name>\n5. select \"Size in row\" \"A4\"\n\n## If it fails\n\nUndo.";

    #[test]
    fn a_section_is_read_and_written_as_it_stands() {
        let read = short_steps(PAGE).expect("two functions");
        assert_eq!(read.len(), 2);
        assert_eq!(read[0].also, ["measure in metres", "inches instead"]);
        assert_eq!(
            read[0].steps[1],
            ShortStep::Press { act: "click", on: Words::OfTask("unit".into()), row: None }
        );
        assert_eq!(read[1].steps[0].label(), Some("Send \"x\" to all"));
        let in_row = &read[1].steps[3];
        assert!(
            matches!(in_row, ShortStep::Press { row: Some(Words::OfTask(row)), .. } if row == "old name")
        );
        assert_eq!((in_row.label(), read[1].steps[4].label()), (Some("Edit"), Some("Size in row")));
        assert_eq!(read[1].steps[1].to_string(), "type_into \"Address\" \"chrome://a/b\"");
        let lent = "change the units of a drawing.\n1. click \"View\"\n2. click <unit>\n3. type_into \"Scale:\" \
                    <scale>\n4. key ctrl+s";
        assert_eq!(read[0].lent(), lent);
        assert_eq!(prose_of(PAGE), "1. Open \"View\", or press Alt+V.\n\n## If it fails\n\nUndo.");
        let written = with_short_steps("1. Do it.", &read);
        assert_eq!(short_steps(&written), Ok(read));
        assert_eq!(prose_of(&written), "1. Do it.");
        assert_eq!(with_short_steps(&written, &[]), "1. Do it.");
    }

    #[test]
    fn what_such_a_model_cannot_follow_is_refused_with_its_line() {
        let refused = |lines: &str| {
            let error = short_steps(&format!("1. Do.\n\n## Short steps\n\n{lines}")).expect_err("refused");
            format!("{}|{}", error.line, error.why)
        };
        for (step, part) in [
            ("1. click \"A\" or \"B\"", "one act"),
            ("1. click the button A", "one act"),
            ("1. If a dialog opens, click \"A\"", "one act"),
            ("1. wait 2 s", "one act"),
            ("2. click \"A\"", "step 1 begins with"),
            ("1. click \"\"", "0 characters"),
            ("1. type_into \"A\"", "one act"),
            ("1. select \"A\"", "one act"),
            ("1. click \"A\" in column \"B\"", "one act"),
        ] {
            let said = refused(&format!("For: do it\n{step}"));
            assert!(said.starts_with(step) && said.contains(part), "{said}");
        }
        assert!(refused("1. click \"A\"").contains("begin with \"For: \""));
        assert!(refused("").contains("0 functions"));
        assert!(refused("For: do it").contains("0 steps"));
        let nine: String = (1..10).map(|n| format!("{n}. key Tab\n")).collect();
        assert!(refused(&format!("For: do it\n{nine}")).contains("9 steps"));
        assert!(
            refused(&format!("For: {}\n1. key Tab", "long ".repeat(120))).contains("characters; at most")
        );
        assert!(refused(&format!("For: do it\n1. click \"{}\"", "x".repeat(61))).contains("61 characters"));
        assert_eq!(short_steps("1. Click \"A\" or \"B\"."), Ok(Vec::new()), "prose has none");
        let long = "1. Do.\n\n## Short steps\n\nFor: it\n1. type_into \"A\" <the weeks of the task>";
        assert!(short_steps(long).is_ok(), "an older page stays readable");
        let refused = written_steps(long).expect_err("is refused").to_string();
        assert!(
            refused.contains("type_into \\\"A\\\" <the weeks") && refused.contains("one or two words"),
            "{refused}"
        );
        assert!(written_steps(&long.replace("the weeks of the task", "weeks")).is_ok());
    }
}
