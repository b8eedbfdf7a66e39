//! Selects rows of a file, so that a file can be compared with itself.

use serde::{Deserialize, Serialize};

use apprentice_runs::row::{Role, Split, TrialRow};

/// A row filter; an absent field matches any value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Selector {
    /// The arm.
    pub arm: Option<String>,
    /// The model's role.
    pub role: Option<Role>,
    /// The model's name.
    pub model: Option<String>,
    /// The split recorded in the row.
    pub split: Option<Split>,
}

/// The reason a selector text is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectorError {
    /// A part does not have the form `field=value`.
    #[error("{0:?} does not have the form field=value")]
    Form(String),
    /// The field is unknown.
    #[error("rows are selected by arm, role, model or split, not by {0:?}")]
    Field(String),
    /// The value is not valid for its field.
    #[error("{value:?} is not a {field}: expected {expected}")]
    Value {
        /// The field.
        field: &'static str,
        /// The rejected value.
        value: String,
        /// The valid values.
        expected: &'static str,
    },
}

impl Selector {
    /// Parses a selector such as `arm=pull,role=student`.
    ///
    /// # Errors
    ///
    /// Fails if a part is not `field=value`, if rows are not selected by that field, or if it has no such value.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        let mut selector = Self::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (field, value) = part.split_once('=').ok_or_else(|| SelectorError::Form(part.to_owned()))?;
            let wrong = |field, expected| SelectorError::Value { field, value: value.into(), expected };
            match field.trim() {
                "arm" => selector.arm = Some(value.trim().into()),
                "model" => selector.model = Some(value.trim().into()),
                "role" => {
                    let role =
                        word(value).ok_or_else(|| wrong("role", "teacher, student, solo or baseline"))?;
                    selector.role = Some(role);
                }
                "split" => {
                    let split = word(value).ok_or_else(|| wrong("split", "train, dev or test"))?;
                    selector.split = Some(split);
                }
                other => return Err(SelectorError::Field(other.to_owned())),
            }
        }
        Ok(selector)
    }

    /// Returns whether a row matches.
    pub fn matches(&self, row: &TrialRow) -> bool {
        self.matches_fields(&row.arm, row.role, &row.model, row.split)
    }

    /// Returns whether a trial of this arm, role, model and split is meant.
    pub fn matches_fields(&self, arm: &str, role: Role, model: &str, split: Option<Split>) -> bool {
        self.arm.as_ref().is_none_or(|wanted| wanted == arm)
            && self.role.is_none_or(|wanted| wanted == role)
            && self.model.as_ref().is_none_or(|wanted| wanted == model)
            && self.split.is_none_or(|wanted| split == Some(wanted))
    }

    /// Returns the matching rows, in order.
    pub fn select(&self, rows: &[TrialRow]) -> Vec<TrialRow> {
        rows.iter().filter(|row| self.matches(row)).cloned().collect()
    }
}

/// Parses a word as a unit variant of an enum.
fn word<T: serde::de::DeserializeOwned>(text: &str) -> Option<T> {
    serde_json::from_value(text.trim().into()).ok()
}

#[cfg(test)]
mod tests {
    use super::{Selector, SelectorError};
    use apprentice_runs::row::{Role, Split};

    #[test]
    fn a_text_selects_or_says_what_is_wrong() {
        let selector = Selector::parse("arm=pull, role=student,split=test").expect("a selector");
        let (arm, role, split) = (Some("pull".into()), Some(Role::Student), Some(Split::Test));
        assert_eq!(selector, Selector { arm, role, model: None, split });
        assert_eq!(Selector::parse("pull"), Err(SelectorError::Form("pull".into())));
        assert_eq!(Selector::parse("seed=1"), Err(SelectorError::Field("seed".into())));
        let error = Selector::parse("role=pupil").expect_err("no role");
        assert_eq!(error.to_string(), "\"pupil\" is not a role: expected teacher, student, solo or baseline");
    }
}
