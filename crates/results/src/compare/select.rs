//! Picks rows out of a file, so that one file can be compared with itself.

use serde::{Deserialize, Serialize};

use crate::row::{Role, Split, TrialRow};

/// Which rows are meant; an absent field means any.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Selector {
    /// The arm.
    pub arm: Option<String>,
    /// The model's part.
    pub role: Option<Role>,
    /// The model.
    pub model: Option<String>,
    /// The split, as the rows say it.
    pub split: Option<Split>,
}

/// Why a text selects nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectorError {
    /// A part is not `field=value`.
    #[error("{0:?} is not of the form field=value")]
    Form(String),
    /// There is no such field.
    #[error("rows are selected by arm, role, model or split, not by {0:?}")]
    Field(String),
    /// The value is none of the field's.
    #[error("{value:?} is no {field}: expected {expected}")]
    Value {
        /// The field.
        field: &'static str,
        /// The value.
        value: String,
        /// What it may be.
        expected: &'static str,
    },
}

impl Selector {
    /// Reads `arm=pull,role=student`.
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

    /// Whether a row is meant.
    pub fn matches(&self, row: &TrialRow) -> bool {
        self.means(&row.arm, row.role, &row.model, row.split)
    }

    /// Whether a trial of this arm, role, model and split is meant.
    pub fn means(&self, arm: &str, role: Role, model: &str, split: Option<Split>) -> bool {
        self.arm.as_ref().is_none_or(|wanted| wanted == arm)
            && self.role.is_none_or(|wanted| wanted == role)
            && self.model.as_ref().is_none_or(|wanted| wanted == model)
            && self.split.is_none_or(|wanted| split == Some(wanted))
    }

    /// The rows that are meant, in their order.
    pub fn select(&self, rows: &[TrialRow]) -> Vec<TrialRow> {
        rows.iter().filter(|row| self.matches(row)).cloned().collect()
    }
}

/// Reads one word as the value of an enum that is written in one word.
fn word<T: serde::de::DeserializeOwned>(text: &str) -> Option<T> {
    serde_json::from_value(text.trim().into()).ok()
}

#[cfg(test)]
mod tests {
    use super::{Selector, SelectorError};
    use crate::row::{Role, Split};

    #[test]
    fn a_text_selects_or_says_what_is_wrong() {
        let selector = Selector::parse("arm=pull, role=student,split=test").expect("a selector");
        let (arm, role, split) = (Some("pull".into()), Some(Role::Student), Some(Split::Test));
        assert_eq!(selector, Selector { arm, role, model: None, split });
        assert_eq!(Selector::parse("pull"), Err(SelectorError::Form("pull".into())));
        assert_eq!(Selector::parse("seed=1"), Err(SelectorError::Field("seed".into())));
        let error = Selector::parse("role=pupil").expect_err("no role");
        assert_eq!(error.to_string(), "\"pupil\" is no role: expected teacher, student, solo or baseline");
    }
}
