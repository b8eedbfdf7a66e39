//! Events and bounded subscriptions to them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::value::RawValue;
use tokio::sync::mpsc;

use crate::message::Happening;
use crate::session::SessionId;

/// Something that the browser reports of its own accord.
#[derive(Clone, Debug)]
pub struct Event {
    /// The session it belongs to; none for the browser's own.
    pub session: Option<SessionId>,
    /// Its name.
    pub method: Arc<str>,
    /// Its parameters, unread.
    pub params: Arc<RawValue>,
}

impl Event {
    /// The parameters as `T`, if this is such an event; the error is that of their form.
    pub fn read<T: Happening>(&self) -> Option<Result<T, serde_json::Error>> {
        (*self.method == *T::METHOD).then(|| serde_json::from_str(self.params.get()))
    }
}

/// Which events a subscription gets.
#[derive(Clone, Debug, Default)]
pub struct EventFilter {
    /// Names of events; every event if empty.
    pub methods: BTreeSet<&'static str>,
    /// One session alone; all if absent.
    pub session: Option<SessionId>,
}

impl EventFilter {
    /// Every event of every session.
    pub fn all() -> Self {
        Self::default()
    }

    /// The events of these names, from every session.
    pub fn named(methods: impl IntoIterator<Item = &'static str>) -> Self {
        Self { methods: methods.into_iter().collect(), session: None }
    }

    fn takes(&self, event: &Event) -> bool {
        let method = self.methods.is_empty() || self.methods.contains(&*event.method);
        method && (self.session.is_none() || self.session == event.session)
    }
}

/// The subscription's reader was too slow, and so many events were dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} browser events were dropped because their reader was too slow")]
pub struct Missed(pub u64);

/// A bounded subscription; dropping it ends it.
#[derive(Debug)]
pub struct Events {
    receiver: mpsc::Receiver<Event>,
    missed: Arc<AtomicU64>,
}

impl Events {
    /// The next event; none once the connection is closed. What was missed is reported before what
    /// follows it.
    pub async fn next(&mut self) -> Option<Result<Event, Missed>> {
        let event = self.receiver.recv().await;
        match self.missed.swap(0, Ordering::AcqRel) {
            0 => event.map(Ok),
            // The event in hand is older or newer than the gap: its reader must start afresh either way.
            count => Some(Err(Missed(count + u64::from(event.is_some())))),
        }
    }

    /// The next event, if one is waiting.
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

    /// Hands the event over; false when nobody listens any more.
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
