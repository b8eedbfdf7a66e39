//! An element as a short view lists it: `#n7 Paper (combobox) = "sheet" [options: sheet | roll] [focused]`.

use super::references::reference;

/// The options of a closed list box in its line: `[options: sheet | roll]`, or their number where they are many.
const OPTIONS: &str = "[options: ";
const BETWEEN_OPTIONS: &str = " | ";
const MANY_OPTIONS: &str = " options, from ";

/// Splits `#n7 Save (button)`. A heading of a note (`# gimp/export`) is no element.
pub(super) fn split_reference(line: &str) -> Option<(&str, &str)> {
    let (word, rest) = line.split_once(' ')?;
    Some((reference(word)?, rest))
}

/// An element of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Listed {
    pub(super) label: String,
    pub(super) role: String,
    pub(super) reference: String,
    /// What a list box offers; empty where these are too many to be listed. `None` for other elements.
    pub(super) options: Option<Vec<String>>,
    /// What stands in it, where that is listed whole.
    pub(super) value: Option<String>,
    /// Whether it is a choice that is made already.
    pub(super) is_chosen: bool,
}

impl Listed {
    /// Reads `#n7 Save (button) = "value" [states]`.
    pub(super) fn read(line: &str) -> Option<Self> {
        let (reference, rest) = split_reference(line)?;
        let ends = [") = \"", ") ["].iter().filter_map(|end| rest.find(end)).min();
        let label = match ends {
            Some(at) => rest.get(..=at)?,
            None => rest.trim_end().ends_with(')').then(|| rest.trim_end())?,
        };
        let role = label.rsplit_once(" (")?.1;
        let role: String = role.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        let behind = &rest[label.len()..];
        let (options, value) = (options_in(behind), value_in(behind));
        let is_chosen = role == "radio" && has_state(line, "checked");
        let (label, reference) = (label.to_owned(), reference.to_owned());
        Some(Self { label, role, reference, options, value, is_chosen })
    }

    /// The name, without role and row.
    pub(super) fn name(&self) -> &str {
        self.label.rsplit_once(&format!(" ({}", self.role)).map_or(&self.label, |(name, _)| name)
    }

    /// The options of a list box that are listed.
    pub(super) fn options(&self) -> impl Iterator<Item = &str> {
        self.options.iter().flatten().map(String::as_str)
    }

    /// The row that the element stands in, where others of its name stand in other rows.
    pub(super) fn row(&self) -> Option<&str> {
        self.label.strip_suffix(')')?.rsplit_once(&format!(" ({}, row ", self.role)).map(|(_, row)| row)
    }
}

/// The options of a list box in what stands behind its label.
fn options_in(rest: &str) -> Option<Vec<String>> {
    let Some((_, listed)) = rest.split_once(OPTIONS) else {
        return rest.contains(MANY_OPTIONS).then(Vec::new);
    };
    let end = listed.rfind("] [").or_else(|| listed.rfind(']'))?;
    Some(listed[..end].split(BETWEEN_OPTIONS).map(str::to_owned).collect())
}

/// The value in what stands behind a label: ` = "sheet" [options: …]`.
fn value_in(behind: &str) -> Option<String> {
    let quoted = behind.strip_prefix(" = ")?;
    let end = quoted.find("\" [").map_or(quoted.len(), |at| at + 1);
    serde_json::from_str(quoted.get(..end)?).ok()
}

/// Whether a line ends with a state: `[focused, checked]`.
pub(super) fn has_state(line: &str, state: &str) -> bool {
    let states = line.strip_suffix(']').and_then(|line| line.rsplit_once('[')).map(|(_, states)| states);
    states.is_some_and(|states| states.split(", ").any(|one| one == state))
}
