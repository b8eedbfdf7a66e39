//! Form fields: sets the value of a field in the page, and says what a field cannot take.

use apprentice_protocol::FieldValue;
use serde::Deserialize;
use serde_json::json;

use super::driver::{ActionError, Browser};
use super::element::Element;

const FILL: &str = include_str!("page/fill.js");

/// What the page says of a field that was to be filled in.
#[derive(Deserialize)]
#[serde(tag = "filled", rename_all = "snake_case")]
enum Filled {
    Yes {
        #[serde(default)]
        value: Option<String>,
        #[serde(default)]
        complaint: String,
    },
    Kept {
        value: String,
    },
    Gone,
    File,
    NoField {
        what: String,
    },
    Disabled,
    ReadOnly,
    Switch,
    TextOnly,
    OneOnly,
    NoOption {
        options: Vec<String>,
    },
    DisabledOption,
    RadioStays {
        options: Vec<String>,
    },
    TooLong {
        most: u64,
    },
    Form {
        kind: String,
        min: String,
        max: String,
        step: String,
    },
}

impl Browser {
    /// Sets the value of a field, and returns what is worth telling about it. `name` is how the model names the element.
    pub(super) async fn fill(
        &self,
        element: &Element,
        name: &str,
        value: &FieldValue,
    ) -> Result<Option<String>, ActionError> {
        let filled: Filled = self.apply(&element.session, &element.object, FILL, [json!(value)]).await?;
        filled.told(name, value).map_err(ActionError::Refused)
    }
}

impl Filled {
    fn told(self, name: &str, value: &FieldValue) -> Result<Option<String>, String> {
        Err(match self {
            Self::Yes { value, complaint } => {
                let made = value.map(|value| format!("the page made {value:?} of it"));
                let complaint = Some(complaint)
                    .filter(|text| !text.is_empty())
                    .map(|text| format!("the page says: {text}"));
                let told: Vec<String> = made.into_iter().chain(complaint).collect();
                return Ok((!told.is_empty()).then(|| told.join("\n")));
            }
            Self::Kept { value } => format!("{name} did not take it: it holds {value:?} now"),
            Self::Gone => format!("{name} is gone; look again"),
            Self::File => format!("{name} takes files: upload them"),
            Self::NoField { what } => {
                format!("{name} is a <{what}> and takes no value: click it, or type into a field")
            }
            Self::Disabled => format!("{name} is disabled"),
            Self::ReadOnly => format!("{name} is read-only"),
            Self::Switch => format!("{name} is on or off: give true or false"),
            Self::TextOnly => format!("{name} takes a text"),
            Self::OneOnly => format!("{name} takes exactly one option"),
            Self::NoOption { options } => {
                format!("there is no option {} in {name}; the options are {options:?}", written(value))
            }
            Self::DisabledOption => format!("the option {} of {name} is disabled", written(value)),
            Self::RadioStays { options } => {
                format!("{name} is turned off by choosing another of its group; the options are {options:?}")
            }
            Self::TooLong { most } => format!("{name} takes at most {most} characters"),
            Self::Form { kind, min, max, step } => form(name, value, &kind, [&min, &max, &step]),
        })
    }
}

fn form(name: &str, value: &FieldValue, kind: &str, [min, max, step]: [&str; 3]) -> String {
    let wanted = match kind {
        "date" => "a date as YYYY-MM-DD",
        "time" => "a time as HH:MM",
        "datetime-local" => "a date and a time as YYYY-MM-DDTHH:MM",
        "month" => "a month as YYYY-MM",
        "week" => "a week as YYYY-Www",
        "color" => "a color as #rrggbb",
        _ => "a number",
    };
    let bound = |word: &str, bound: &str| (!bound.is_empty()).then(|| format!(" {word} {bound}"));
    // A range without bounds goes from 0 to 100.
    let (min, max) = match (kind, min, max) {
        ("range", "", "") => ("0", "100"),
        ("range", "", max) => ("0", max),
        ("range", min, "") => (min, "100"),
        (_, min, max) => (min, max),
    };
    let bounds: String =
        [bound("from", min), bound("to", max), bound("in steps of", step)].into_iter().flatten().collect();
    format!("{name} does not take {}: it takes {wanted}{bounds}", written(value))
}

fn written(value: &FieldValue) -> String {
    json!(value).to_string()
}
