//! What a function may use of a world. The calls read like those of Playwright; each that acts is one recorded action,
//! and each that names an element waits until exactly one matches.

use std::sync::Arc;
use std::time::Duration;

use apprentice_protocol::{
    Action, Button, Chord, FieldValue, FunctionFailure, History, ImagePoint, Observation, State, Target,
    UiNode,
};
use rhai::{Array, Dynamic, Engine, EvalAltResult, NativeCallContext};

use crate::engine::LIST;
use crate::link::{Link, Unanswered};
use crate::locator::{Locator, LocatorError, Query};
use crate::signature::Surface;

/// How long a call waits for its element, and between two looks.
const PATIENCE: Duration = Duration::from_secs(5);
/// Fewest looks before a function gives up, however long they take.
const LOOKS: u32 = 3;
/// Longest wait for a change before the next look.
const AWAITED: Duration = Duration::from_millis(500);

/// Methods and functions of the world that a function may call. [`register`] registers exactly these.
pub(crate) const NAMES: [&str; 34] = [
    "goto",
    "go_back",
    "press",
    "type",
    "window",
    "menu",
    "get_by_role",
    "get_by_label",
    "get_by_text",
    "click",
    "double_click",
    "right_click",
    "hover",
    "fill",
    "check",
    "uncheck",
    "select_option",
    "wait_for",
    "text",
    "value",
    "count",
    "is_visible",
    "expect",
    "to_be_visible",
    "to_be_hidden",
    "to_have_text",
    "to_have_value",
    "to_be_checked",
    "len",
    "trim",
    "contains",
    "to_lower",
    "to_upper",
    "split",
];
/// Those that act.
pub(crate) const ACTING: [&str; 13] = [
    "goto",
    "go_back",
    "press",
    "type",
    "menu",
    "click",
    "double_click",
    "right_click",
    "hover",
    "fill",
    "check",
    "uncheck",
    "select_option",
];

/// The whole page or desktop, or an element of it.
#[derive(Clone)]
pub(crate) struct Place {
    link: Arc<Link>,
    surface: Surface,
    locator: Locator,
}

/// A statement about an element that must come true.
#[derive(Clone)]
struct Expectation(Place);

type Done<T> = Result<T, Box<EvalAltResult>>;

/// One call of the API, for its failure.
struct CallSite<'c, 'n> {
    context: &'c NativeCallContext<'n>,
    place: &'c Place,
    said: String,
}

impl Place {
    pub(crate) fn whole(link: Arc<Link>, surface: Surface) -> Self {
        Self { link, surface, locator: Locator::default() }
    }

    fn inside(&mut self, part: Query) -> Self {
        Self { link: Arc::clone(&self.link), surface: self.surface, locator: self.locator.inside(part) }
    }
}

impl<'c, 'n> CallSite<'c, 'n> {
    fn new(context: &'c NativeCallContext<'n>, place: &'c Place, said: &str) -> Self {
        let owner = match (place.locator.parts.is_empty(), place.surface) {
            (true, surface) => surface.word().to_owned(),
            (false, surface) => format!("{}.{}", surface.word(), place.locator),
        };
        Self { context, place, said: format!("{owner}.{said}") }
    }

    fn line(&self) -> u32 {
        self.context.call_position().line().and_then(|line| u32::try_from(line).ok()).unwrap_or(0)
    }

    /// Ends the function here.
    fn failed(&self, reason: impl Into<String>) -> Box<EvalAltResult> {
        let failure = FunctionFailure { line: self.line(), act: self.said.clone(), reason: reason.into() };
        self.place.link.fail(failure.clone());
        EvalAltResult::ErrorTerminated(failure.reason.into(), self.context.call_position()).into()
    }

    fn answered<T>(&self, answer: Result<T, Unanswered>) -> Done<T> {
        answer.map_err(|why| match why {
            Unanswered::Refused(why) => self.failed(why),
            Unanswered::Abandoned => self.failed("the attempt ended here"),
        })
    }

    fn act(&self, action: Action<ImagePoint>) -> Done<()> {
        self.answered(self.place.link.act(action, self.line()))
    }

    /// Looks until a question about the world has an answer.
    fn until<T>(&self, mut ask: impl FnMut(&Observation) -> Result<T, Wait>) -> Done<T> {
        let (mut waited, mut looks) = (Duration::ZERO, 0);
        loop {
            let seen = self.answered(self.place.link.observe())?;
            match ask(&seen) {
                Ok(found) => return Ok(found),
                Err(Wait::Never(why)) => return Err(self.failed(why)),
                Err(Wait::For(why)) if waited >= PATIENCE && looks >= LOOKS => {
                    let why =
                        format!("{why}, after {} s; the page or window may have changed", PATIENCE.as_secs());
                    return Err(self.failed(why));
                }
                Err(Wait::For(_)) => {}
            }
            waited += self.answered(self.place.link.await_change(AWAITED))?;
            looks += 1;
        }
    }

    /// Waits for the element, as far as it can be used.
    fn element(&self) -> Done<UiNode> {
        self.until(|seen| {
            let node = found(&self.place.locator, seen)?;
            if node.is(State::Disabled) {
                Err(Wait::For(format!("{} {:?} is disabled", node.role.as_str(), node.name)))
            } else {
                Ok(node.clone())
            }
        })
    }

    fn target(&self) -> Done<Target<ImagePoint>> {
        if self.place.locator.parts.is_empty() {
            return Err(self.failed("name an element first, for example with get_by_role"));
        }
        Ok(Target::Ref(self.element()?.id))
    }

    fn click(&self, button: Button, count: u8) -> Done<()> {
        let at = self.target()?;
        self.act(Action::Click { at, button, count, hold: None })
    }

    fn chord(&self, keys: &str) -> Done<Chord> {
        Chord::parse(keys).map_err(|why| self.failed(why.to_string()))
    }

    fn key(&self, keys: &str) -> Done<()> {
        let chord = self.chord(keys)?;
        self.focus()?;
        self.act(Action::Key { chord, hold_ms: None })
    }

    /// Gives the element the focus by a click, unless it has it.
    fn focus(&self) -> Done<()> {
        if self.place.locator.parts.is_empty() || is_window(&self.place.locator) {
            return Ok(());
        }
        let node = self.element()?;
        if node.is(State::Focused) {
            return Ok(());
        }
        self.act(Action::Click { at: Target::Ref(node.id), button: Button::Left, count: 1, hold: None })
    }

    fn type_text(&self, text: &str) -> Done<()> {
        self.focus()?;
        self.act(Action::Type { text: text.to_owned() })
    }

    /// Replaces a field's content. A desktop has no such action: there, its keys do it.
    fn fill(&self, text: &str) -> Done<()> {
        if self.place.surface == Surface::Page {
            let (at, value) = (self.target()?, FieldValue::Text(text.to_owned()));
            return self.act(Action::Fill { at, value });
        }
        self.focus()?;
        let chord = self.chord("ctrl+a")?;
        self.act(Action::Key { chord, hold_ms: None })?;
        self.act(Action::Type { text: text.to_owned() })
    }

    /// Checks or unchecks, unless the element is so already.
    fn set_checked(&self, wanted: bool) -> Done<()> {
        let node = self.element()?;
        if is_checked(&node) == wanted {
            return Ok(());
        }
        self.act(Action::Click { at: Target::Ref(node.id), button: Button::Left, count: 1, hold: None })
    }

    /// Opens a menu and its items, one click each.
    fn menu(&self, names: &[&str]) -> Done<()> {
        for (place, name) in names.iter().enumerate() {
            let part = Query::Menu((*name).to_owned());
            // The items of an open menu may stand outside the window's own elements.
            let locator =
                if place == 0 { self.place.locator.inside(part) } else { Locator { parts: vec![part] } };
            let id = self.until(|seen| found(&locator, seen).map(|node| node.id.clone()))?;
            self.act(Action::Click { at: Target::Ref(id), button: Button::Left, count: 1, hold: None })?;
        }
        Ok(())
    }

    fn expect(&self, holds: impl Fn(&UiNode) -> Result<(), String>) -> Done<()> {
        self.until(|seen| holds(found(&self.place.locator, seen)?).map_err(Wait::For))
    }
}

/// Why a question about the world has no answer.
enum Wait {
    /// It may have one later.
    For(String),
    /// It never will.
    Never(String),
}

fn found<'o>(locator: &Locator, seen: &'o Observation) -> Result<&'o UiNode, Wait> {
    locator.resolve(seen).map_err(|error| match error {
        LocatorError::NoMatch { .. } => Wait::For(error.to_string()),
        LocatorError::Several { .. } | LocatorError::NoTree => Wait::Never(error.to_string()),
    })
}

fn is_window(locator: &Locator) -> bool {
    matches!(locator.parts.last(), Some(Query::Window(_)))
}

fn is_checked(node: &UiNode) -> bool {
    node.is(State::Checked) || node.is(State::Selected)
}

fn value_of(node: &UiNode) -> &str {
    node.value.as_deref().unwrap_or(&node.name)
}

/// Registers everything that a function may use of a world.
pub(crate) fn register(engine: &mut Engine) {
    engine.register_type_with_name::<Place>("element").register_type_with_name::<Expectation>("expectation");
    register_locators(engine);
    register_acts(engine);
    register_fields(engine);
    register_readings(engine);
    register_texts(engine);
}

/// Registers what takes texts apart. Nothing of it multiplies a text.
fn register_texts(engine: &mut Engine) {
    engine
        .register_fn("len", |text: &str| i64::try_from(text.chars().count()).unwrap_or(i64::MAX))
        .register_fn("trim", |text: &str| text.trim().to_owned())
        .register_fn("contains", |text: &str, part: &str| text.contains(part))
        .register_fn("to_lower", |text: &str| text.to_lowercase())
        .register_fn("to_upper", |text: &str| text.to_uppercase())
        .register_fn("split", |text: &str, by: &str| {
            text.split(by).take(LIST).map(|part| Dynamic::from(part.to_owned())).collect::<Array>()
        });
}

fn register_locators(engine: &mut Engine) {
    engine
        .register_fn("window", |place: &mut Place, title: &str| place.inside(Query::Window(title.to_owned())))
        .register_fn("get_by_role", |place: &mut Place, role: &str| {
            place.inside(Query::Role { role: role.to_owned(), name: None })
        })
        .register_fn("get_by_role", |place: &mut Place, role: &str, name: &str| {
            place.inside(Query::Role { role: role.to_owned(), name: Some(name.to_owned()) })
        })
        .register_fn("get_by_label", |place: &mut Place, label: &str| {
            place.inside(Query::Label(label.to_owned()))
        })
        .register_fn("get_by_text", |place: &mut Place, text: &str| {
            place.inside(Query::Text(text.to_owned()))
        });
}

fn register_acts(engine: &mut Engine) {
    engine
        .register_fn("goto", |context: NativeCallContext<'_>, place: &mut Place, url: &str| {
            CallSite::new(&context, place, &format!("goto({url:?})"))
                .act(Action::Navigate { url: url.to_owned() })
        })
        .register_fn("go_back", |context: NativeCallContext<'_>, place: &mut Place| {
            CallSite::new(&context, place, "go_back()").act(Action::History { go: History::Back })
        })
        .register_fn("press", |context: NativeCallContext<'_>, place: &mut Place, keys: &str| {
            CallSite::new(&context, place, &format!("press({keys:?})")).key(keys)
        })
        .register_fn("type", |context: NativeCallContext<'_>, place: &mut Place, text: &str| {
            CallSite::new(&context, place, &format!("type({text:?})")).type_text(text)
        })
        .register_fn("menu", |context: NativeCallContext<'_>, place: &mut Place, one: &str| {
            CallSite::new(&context, place, &format!("menu({one:?})")).menu(&[one])
        })
        .register_fn("menu", |context: NativeCallContext<'_>, place: &mut Place, one: &str, two: &str| {
            CallSite::new(&context, place, &format!("menu({one:?}, {two:?})")).menu(&[one, two])
        })
        .register_fn(
            "menu",
            |context: NativeCallContext<'_>, place: &mut Place, one: &str, two: &str, three: &str| {
                CallSite::new(&context, place, &format!("menu({one:?}, {two:?}, {three:?})"))
                    .menu(&[one, two, three])
            },
        )
        .register_fn("click", |context: NativeCallContext<'_>, place: &mut Place| {
            CallSite::new(&context, place, "click()").click(Button::Left, 1)
        })
        .register_fn("double_click", |context: NativeCallContext<'_>, place: &mut Place| {
            CallSite::new(&context, place, "double_click()").click(Button::Left, 2)
        })
        .register_fn("right_click", |context: NativeCallContext<'_>, place: &mut Place| {
            CallSite::new(&context, place, "right_click()").click(Button::Right, 1)
        })
        .register_fn("hover", |context: NativeCallContext<'_>, place: &mut Place| {
            let site = CallSite::new(&context, place, "hover()");
            let to = site.target()?;
            site.act(Action::Move { to })
        });
}

fn register_fields(engine: &mut Engine) {
    engine
        .register_fn("fill", |context: NativeCallContext<'_>, place: &mut Place, text: &str| {
            CallSite::new(&context, place, &format!("fill({text:?})")).fill(text)
        })
        .register_fn("check", |context: NativeCallContext<'_>, place: &mut Place| {
            CallSite::new(&context, place, "check()").set_checked(true)
        })
        .register_fn("uncheck", |context: NativeCallContext<'_>, place: &mut Place| {
            CallSite::new(&context, place, "uncheck()").set_checked(false)
        })
        .register_fn("select_option", |context: NativeCallContext<'_>, place: &mut Place, option: &str| {
            let site = CallSite::new(&context, place, &format!("select_option({option:?})"));
            let at = site.target()?;
            site.act(Action::Select { at, option: option.to_owned() })
        });
}

fn register_readings(engine: &mut Engine) {
    engine
        .register_fn("wait_for", |context: NativeCallContext<'_>, place: &mut Place| {
            CallSite::new(&context, place, "wait_for()").expect(|_| Ok(()))
        })
        .register_fn("text", |context: NativeCallContext<'_>, place: &mut Place| {
            CallSite::new(&context, place, "text()").element().map(|node| node.name)
        })
        .register_fn("value", |context: NativeCallContext<'_>, place: &mut Place| {
            CallSite::new(&context, place, "value()").element().map(|node| value_of(&node).to_owned())
        })
        .register_fn("count", |context: NativeCallContext<'_>, place: &mut Place| {
            let site = CallSite::new(&context, place, "count()");
            let seen = site.answered(site.place.link.observe())?;
            let count = place.locator.count(&seen).map_err(|why| site.failed(why.to_string()))?;
            Ok::<_, Box<EvalAltResult>>(i64::try_from(count).unwrap_or(i64::MAX))
        })
        .register_fn("is_visible", |context: NativeCallContext<'_>, place: &mut Place| {
            let site = CallSite::new(&context, place, "is_visible()");
            let seen = site.answered(site.place.link.observe())?;
            Ok::<_, Box<EvalAltResult>>(place.locator.count(&seen).is_ok_and(|count| count > 0))
        })
        .register_fn("expect", |place: Place| Expectation(place));
    register_expectations(engine);
}

fn register_expectations(engine: &mut Engine) {
    engine
        .register_fn("to_be_visible", |context: NativeCallContext<'_>, expected: &mut Expectation| {
            CallSite::new(&context, &expected.0, "to_be_visible()").expect(|_| Ok(()))
        })
        .register_fn("to_be_hidden", |context: NativeCallContext<'_>, expected: &mut Expectation| {
            let site = CallSite::new(&context, &expected.0, "to_be_hidden()");
            site.until(|seen| match expected.0.locator.count(seen) {
                Ok(0) => Ok(()),
                Ok(_) => Err(Wait::For("it is visible".to_owned())),
                Err(LocatorError::NoMatch { .. }) => Ok(()),
                Err(why) => Err(Wait::Never(why.to_string())),
            })
        })
        .register_fn(
            "to_have_text",
            |context: NativeCallContext<'_>, expected: &mut Expectation, text: &str| {
                let site = CallSite::new(&context, &expected.0, &format!("to_have_text({text:?})"));
                site.expect(|node| {
                    if node.name == text { Ok(()) } else { Err(format!("its text is {:?}", node.name)) }
                })
            },
        )
        .register_fn(
            "to_have_value",
            |context: NativeCallContext<'_>, expected: &mut Expectation, value: &str| {
                let site = CallSite::new(&context, &expected.0, &format!("to_have_value({value:?})"));
                site.expect(|node| {
                    if value_of(node) == value {
                        Ok(())
                    } else {
                        Err(format!("its value is {:?}", value_of(node)))
                    }
                })
            },
        )
        .register_fn("to_be_checked", |context: NativeCallContext<'_>, expected: &mut Expectation| {
            let site = CallSite::new(&context, &expected.0, "to_be_checked()");
            site.expect(|node| if is_checked(node) { Ok(()) } else { Err("it is not checked".to_owned()) })
        });
}
