//! Form fields: sets the value of a field in the page, and says what a field cannot take.

use apprentice_protocol::{Chord, FieldValue};
use serde::Deserialize;
use serde_json::json;

use super::driver::{ActionError, Browser};
use super::element::Element;
use super::input::{Pace, type_text};
use super::world::BrowserEnvironment;

const VALUE: &str = include_str!("page/value.js");
const FOCUS_FIELD: &str = include_str!("page/focus_field.js");
const PASTE: &str = include_str!("page/paste.js");
const FILL: &str = include_str!("page/fill.js");

/// Most turns of moving a slider, and most presses in one.
const SLIDES: u32 = 8;
const PRESSES: u32 = 200;
/// Numbers this near are the same.
const NEAR: f64 = 1e-6;

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
    /// The page did not hear of it.
    ByKeys,
    /// A drawn slider, which is moved by keys.
    Slider {
        value: f64,
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
    /// Sets the value of a field. `name` is how the model names the element.
    async fn set_value(
        &self,
        element: &Element,
        name: &str,
        value: &FieldValue,
    ) -> Result<SetValue, ActionError> {
        match self.apply(&element.session, &element.object, FILL, [json!(value)]).await? {
            Filled::ByKeys => Ok(SetValue::Unheard),
            Filled::Slider { value } => Ok(SetValue::Slides(value)),
            filled => filled.told(name, value).map(SetValue::Done).map_err(ActionError::Refused),
        }
    }

    /// What a field holds after `wanted` was entered.
    async fn value_of(&self, element: &Element, wanted: &str) -> Result<String, ActionError> {
        self.apply(&element.session, &element.object, VALUE, [json!(wanted)]).await
    }

    /// Pastes a text over what is selected of a field. Returns whether the page took it.
    async fn paste(&self, element: &Element, text: &str) -> Result<bool, ActionError> {
        if text.is_empty() {
            return Ok(false);
        }
        self.apply(&element.session, &element.object, PASTE, [json!(text)]).await
    }

    async fn focus_on(&self, element: &Element) -> Result<(), ActionError> {
        self.apply::<bool>(&element.session, &element.object, FOCUS_FIELD, []).await.map(drop)
    }
}

/// How setting a field's value ended.
enum SetValue {
    /// It holds the value, with what is worth telling about it.
    Done(Option<String>),
    /// The page put the old value back, or has an editor that hears keys alone.
    Unheard,
    /// It is a drawn slider, and takes this number.
    Slides(f64),
}

impl BrowserEnvironment {
    /// Sets the value of a field, and reads it back. Where the page does not hear of a new value, it is typed.
    pub(super) async fn fill(
        &mut self,
        element: &Element,
        name: &str,
        value: &FieldValue,
    ) -> Result<Option<String>, ActionError> {
        match self.browser.set_value(element, name, value).await? {
            SetValue::Done(told) => return Ok(told),
            SetValue::Slides(wanted) => return self.slide(element, name, wanted).await.map(|()| None),
            SetValue::Unheard => {}
        }
        let FieldValue::Text(text) = value else {
            return Err(ActionError::Refused(format!("{name} takes a text")));
        };
        self.browser.focus_on(element).await?;
        // Editors learn of a focus and a selection a moment later (Slate: 100 ms).
        self.browser.settle().await?;
        self.press_keys("ctrl+a").await?;
        self.browser.settle().await?;
        // Editors complete what is typed (brackets, the space before a line) and take what is pasted as it is.
        if !self.browser.paste(element, text).await? {
            self.press_keys("backspace").await?;
            self.browser.settle().await?;
            self.type_keys(text).await?;
        }
        self.browser.settle().await?;
        let holds = self.browser.value_of(element, text).await?;
        if plain(&holds) == plain(text) {
            return Ok(None);
        }
        Err(ActionError::Refused(format!("{name} did not take it: it holds {holds:?} now")))
    }

    /// Moves a drawn slider by keys, as far as one press was seen to move it, and reads back where it stands.
    async fn slide(&self, element: &Element, name: &str, wanted: f64) -> Result<(), ActionError> {
        self.browser.focus_on(element).await?;
        let mut now = self.slider_at(element).await?;
        let (mut keys, mut step) = (["left", "right"], 0.0_f64);
        for _ in 0..SLIDES {
            let away = wanted - now;
            if away.abs() < NEAR || (step > 0.0 && away.abs() < step / 2.0) {
                break;
            }
            // The first press shows how far one goes; the others go the rest of the way at once.
            let most = f64::from(PRESSES);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 1 to 200")]
            let presses = if step > 0.0 { (away.abs() / step).round().clamp(1.0, most) as u32 } else { 1 };
            for _ in 0..presses {
                self.press_keys(keys[usize::from(away > 0.0)]).await?;
            }
            self.browser.settle().await?;
            let before = std::mem::replace(&mut now, self.slider_at(element).await?);
            // In writing from right to left the keys go the other way.
            if (now - before) * away < 0.0 {
                keys.reverse();
            }
            if presses == 1 {
                step = (now - before).abs();
            }
        }
        if (now - wanted).abs() < NEAR {
            return Ok(());
        }
        let moves = if step > 0.0 { format!(", and a key moves it by {step}") } else { String::new() };
        Err(ActionError::Refused(format!("{name} did not take {wanted}: it stands at {now}{moves}")))
    }

    /// Where a drawn slider stands.
    async fn slider_at(&self, element: &Element) -> Result<f64, ActionError> {
        let text = self.browser.value_of(element, "").await?;
        text.parse().map_err(|_| ActionError::Refused(format!("the slider does not tell a number: {text:?}")))
    }

    /// Chooses an option of a native list box, and reads back what it shows. Where the page puts the old one back, the option is
    /// typed, as a keyboard chooses it.
    pub(super) async fn choose(&mut self, element: &Element, option: &str) -> Result<(), ActionError> {
        let Some(wanted) = self.browser.choose(element, option).await? else { return Ok(()) };
        self.browser.focus_on(element).await?;
        self.type_keys(&wanted).await?;
        self.browser.settle().await?;
        let shows = self.browser.value_of(element, &wanted).await?;
        if plain(&shows) == plain(&wanted) {
            return Ok(());
        }
        Err(ActionError::Refused(format!(
            "the page did not take the option {wanted:?}: the list still shows {shows:?}"
        )))
    }

    async fn press_keys(&self, chord: &str) -> Result<(), ActionError> {
        let chord = Chord::parse(chord).map_err(|error| ActionError::Refused(error.to_string()))?;
        self.hands.press_chord(&self.browser, self.clock.as_ref(), chord.keys(), None).await
    }

    async fn type_keys(&self, text: &str) -> Result<(), ActionError> {
        type_text(&self.browser, text, Pace::Fast, self.hands.modifiers()).await
    }
}

/// A text without the blanks and line breaks that editors add.
fn plain(text: &str) -> String {
    text.replace(['\u{feff}', '\u{200b}'], "").split_whitespace().collect::<Vec<_>>().join(" ")
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
            Self::ByKeys | Self::Slider { .. } => format!("{name} did not take it"),
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
