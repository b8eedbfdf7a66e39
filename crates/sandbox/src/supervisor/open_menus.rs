//! Menus that are open and that no list of children holds: Qt names the application as what holds a context menu, and never lists it
//! there. Only an event tells of it.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use atspi::zbus::message::{Message, Type};
use atspi::zbus::zvariant::{Structure, Value};
use atspi::zbus::{self, Connection, MatchRule, MessageStream};
use futures_util::StreamExt as _;

use super::address::Address;

/// Most menus that are remembered.
const MOST: usize = 32;
/// Most events that wait.
const QUEUE: usize = 256;
const SHOWS: &str = "showing";

/// Objects of which an event told that they show, the latest last.
#[derive(Clone, Default)]
pub(super) struct OpenMenus(Rc<RefCell<VecDeque<Address>>>);

impl OpenMenus {
    /// Those of which no event told that they no longer show.
    pub(super) fn all(&self) -> Vec<Address> {
        self.0.borrow().iter().cloned().collect()
    }

    /// Listens for as long as the bus is there.
    pub(super) fn listen(&self, bus: Connection) {
        let known = self.clone();
        tokio::task::spawn_local(async move {
            match events(&bus).await {
                Ok(mut events) => {
                    while let Some(event) = events.next().await {
                        if let Ok(event) = event {
                            known.take(&event);
                        }
                    }
                }
                Err(error) => tracing::warn!(%error, "context menus of Qt are not heard of"),
            }
        });
    }

    fn take(&self, event: &Message) {
        let Some((at, shows)) = read(event) else { return };
        let mut known = self.0.borrow_mut();
        known.retain(|other| *other != at);
        if shows {
            known.push_back(at);
        }
        while known.len() > MOST {
            known.pop_front();
        }
    }
}

/// Asks programs to tell what comes and goes.
async fn events(bus: &Connection) -> zbus::Result<MessageStream> {
    let rule = MatchRule::builder()
        .msg_type(Type::Signal)
        .interface("org.a11y.atspi.Event.Object")?
        .member("StateChanged")?
        .arg(0, SHOWS)?
        .build();
    let stream = MessageStream::for_match_rule(rule, bus, Some(QUEUE)).await?;
    let wanted = (format!("object:state-changed:{SHOWS}"),);
    let registry = ("org.a11y.atspi.Registry", "/org/a11y/atspi/registry");
    bus.call_method(Some(registry.0), registry.1, Some(registry.0), "RegisterEvent", &wanted).await?;
    Ok(stream)
}

/// The object that an event is about, and whether it shows now.
fn read(event: &Message) -> Option<(Address, bool)> {
    let header = event.header();
    let at = Address { name: header.sender()?.to_string(), path: header.path()?.to_string() };
    let body = event.body();
    // What follows the first two fields differs between toolkits.
    let told: Structure<'_> = body.deserialize().ok()?;
    match told.fields() {
        [Value::Str(kind), Value::I32(shows), ..] if kind.as_str() == SHOWS => Some((at, *shows == 1)),
        _ => None,
    }
}
