//! Events, and bounded subscriptions to them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::mpsc;

use crate::message::EventPayload;
use crate::payload::Payload;
use crate::session_id::SessionId;

/// An event sent by the browser.
#[derive(Clone, Debug)]
pub struct Event {
    /// The session that it belongs to. `None` for events of the browser target.
    pub session: Option<SessionId>,
    /// The event's method, for example `Page.frameDetached`.
    pub method: Arc<str>,
    /// The parameters, not yet deserialized.
    pub params: Arc<Payload>,
}

impl Event {
    /// Deserializes the parameters as `T`. `None` if the event has another method.
    ///
    /// # Errors
    ///
    /// The inner result is an error if the parameters do not have the form of `T`.
    pub fn read<T: EventPayload>(&self) -> Option<Result<T, serde_json::Error>> {
        (*self.method == *T::METHOD).then(|| self.params.read())
    }
}

/// Selects the events of a subscription.
#[derive(Clone, Debug, Default)]
pub struct EventFilter {
    /// Methods of the wanted events. Empty selects all.
    pub methods: BTreeSet<&'static str>,
    /// The wanted session. `None` selects all.
    pub session: Option<SessionId>,
}

impl EventFilter {
    /// Selects every event of every session.
    pub fn all() -> Self {
        Self::default()
    }

    /// Selects events by method, from all sessions.
    pub fn named(methods: impl IntoIterator<Item = &'static str>) -> Self {
        Self { methods: methods.into_iter().collect(), session: None }
    }

    fn takes(&self, event: &Event) -> bool {
        let method = self.methods.is_empty() || self.methods.contains(&*event.method);
        method && (self.session.is_none() || self.session == event.session)
    }
}

/// Number of events dropped because the subscriber read too slowly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} browser events were dropped because their reader was too slow")]
pub struct Lagged(pub u64);

/// A bounded subscription. Dropping it ends it.
#[derive(Debug)]
pub struct Events {
    receiver: mpsc::Receiver<Event>,
    missed: Arc<AtomicU64>,
}

impl Events {
    /// Waits for the next event. `None` once the connection is closed. A gap is reported before the events that follow
    /// it.
    ///
    /// # Errors
    ///
    /// The inner result is an error if events were dropped because this reader was too slow; it says how many.
    pub async fn next(&mut self) -> Option<Result<Event, Lagged>> {
        let event = self.receiver.recv().await;
        match self.missed.swap(0, Ordering::AcqRel) {
            0 => event.map(Ok),
            // This event may be older or newer than the gap. The reader must start over in both cases.
            count => Some(Err(Lagged(count + u64::from(event.is_some())))),
        }
    }

    /// Returns the next event if one is queued.
    pub fn try_next(&mut self) -> Option<Event> {
        self.receiver.try_recv().ok()
    }
}

#[derive(Debug)]
pub(crate) struct Subscriber {
    filter: EventFilter,
    sender: mpsc::Sender<Event>,
    missed: Arc<AtomicU64>,
}

impl Subscriber {
    pub(crate) fn new(filter: EventFilter, capacity: usize) -> (Self, Events) {
        let (sender, receiver) = mpsc::channel(capacity.max(1));
        let missed = Arc::new(AtomicU64::new(0));
        (Self { filter, sender, missed: Arc::clone(&missed) }, Events { receiver, missed })
    }

    /// Delivers an event. Returns false when the subscription has ended.
    pub(crate) fn offer(&self, event: &Event) -> bool {
        if !self.filter.takes(event) {
            return !self.sender.is_closed();
        }
        match self.sender.try_send(event.clone()) {
            Ok(()) => true,
            Err(mpsc::error::TrySendError::Full(_)) => {
                self.missed.fetch_add(1, Ordering::AcqRel);
                true
            }
            Err(mpsc::error::TrySendError::Closed(_)) => false,
        }
    }
}
