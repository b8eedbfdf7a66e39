//! The exchange of messages: pending calls, subscribers, and what the connection's task shares with the handles.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;
use tokio::sync::{mpsc, oneshot, watch};

use crate::event::{Event, EventFilter, Events, Subscriber};
use crate::message::{ErrorReply, Incoming, Outgoing, WireForm};
use crate::payload::Payload;
use crate::session_id::SessionId;

/// Why a call failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CallError {
    /// The connection is closed. Later calls will fail too.
    #[error("the connection to the browser is closed: {0}")]
    Closed(Arc<str>),
    /// The deadline passed. The browser may still execute the call.
    #[error("{method} was not answered within {after:?}")]
    TimedOut {
        /// The call's method.
        method: String,
        /// The deadline that passed.
        after: Duration,
    },
    /// The browser answered with an error.
    #[error("{method} was refused")]
    Refused {
        /// The call's method.
        method: String,
        /// The browser's error.
        #[source]
        refusal: ErrorReply,
    },
    /// The reply or the call's parameters do not match the expected type.
    #[error("{method} has a malformed reply or parameters")]
    Malformed {
        /// The call's method.
        method: String,
        /// The error of deserializing or serializing.
        #[source]
        source: Arc<serde_json::Error>,
    },
}

impl CallError {
    /// The browser's error, if the browser refused the call.
    pub fn refusal(&self) -> Option<&ErrorReply> {
        match self {
            Self::Refused { refusal, .. } => Some(refusal),
            Self::Closed(_) | Self::TimedOut { .. } | Self::Malformed { .. } => None,
        }
    }
}

type Reply = Result<Payload, ErrorReply>;

#[derive(Debug, Default)]
struct Table {
    pending: HashMap<u64, oneshot::Sender<Reply>>,
    subscribers: Vec<Subscriber>,
}

/// State shared by the task and the handles. No lock is held across an await.
#[derive(Debug)]
pub(crate) struct Shared {
    table: Mutex<Table>,
    form: WireForm,
    outbox: mpsc::Sender<Vec<u8>>,
    last_id: AtomicU64,
    ended: watch::Sender<Option<Arc<str>>>,
}

/// A call as it is sent.
pub(crate) struct EncodedCall {
    id: u64,
    message: Vec<u8>,
}

impl Shared {
    /// The state of an open connection whose task sends what arrives from `outbox`.
    pub(crate) fn new(form: WireForm, outbox: mpsc::Sender<Vec<u8>>) -> Self {
        let (last_id, ended) = (AtomicU64::new(0), watch::Sender::new(None));
        Self { table: Mutex::default(), form, outbox, last_id, ended }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn encode<P: Serialize + ?Sized>(
        &self,
        session: Option<&SessionId>,
        method: &str,
        params: &P,
    ) -> Result<EncodedCall, CallError> {
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let session_id = session.map(|session| &*session.0);
        self.form
            .encode(&Outgoing { id, session_id, method, params })
            .map(|message| EncodedCall { id, message })
            .map_err(|source| CallError::Malformed { method: method.to_owned(), source: Arc::new(source) })
    }

    /// Sends a call, and returns where its reply arrives. Calls that are sent one after the other arrive in that order.
    pub(crate) async fn send(
        self: &Arc<Self>,
        EncodedCall { id, message }: EncodedCall,
    ) -> Result<SentCall<'_>, CallError> {
        let (sender, receiver) = oneshot::channel();
        self.table().pending.insert(id, sender);
        let forget = PendingCallGuard { shared: self, id };
        // If the connection ends after the insertion, the sender is dropped; if it ended before, this check sees it.
        if let Some(why) = self.ended.borrow().clone() {
            return Err(CallError::Closed(why));
        }
        if self.outbox.send(message).await.is_err() {
            return Err(CallError::Closed(self.closed().await));
        }
        Ok(SentCall { receiver, forget })
    }

    pub(crate) async fn request(
        self: &Arc<Self>,
        encoded: EncodedCall,
        method: &str,
    ) -> Result<Payload, CallError> {
        self.send(encoded).await?.reply(method).await
    }

    pub(crate) fn post<P: Serialize + ?Sized>(&self, session: Option<&SessionId>, method: &str, params: &P) {
        if let Ok(EncodedCall { message, .. }) = self.encode(session, method, params) {
            let _ = self.outbox.try_send(message);
        }
    }

    pub(crate) fn subscribe(&self, filter: EventFilter, capacity: usize) -> Events {
        let (subscriber, events) = Subscriber::new(filter, capacity);
        // On a closed connection the sender is dropped at once, which ends the stream.
        let mut table = self.table();
        if self.ended.borrow().is_none() {
            table.subscribers.push(subscriber);
        }
        events
    }

    pub(crate) async fn closed(&self) -> Arc<str> {
        let mut ended = self.ended.subscribe();
        match ended.wait_for(Option::is_some).await {
            Ok(why) => why.clone().unwrap_or_else(|| "dropped".into()),
            Err(_) => "dropped".into(),
        }
    }

    /// Delivers a message to its caller or subscribers. An error ends the connection.
    pub(crate) fn deliver(&self, message: &[u8]) -> Result<(), String> {
        let message: Incoming<'_> = self
            .form
            .decode(message)
            .map_err(|error| format!("the browser sent an invalid message: {error}"))?;
        match (message.id, message.method) {
            (Some(id), _) => {
                let reply = match (message.error, message.result) {
                    (Some(refusal), _) => Err(refusal),
                    (None, Some(result)) => Ok(result),
                    (None, None) => {
                        return Err(format!("the reply to call {id} holds neither result nor error"));
                    }
                };
                // A call whose caller has left is no longer in the table.
                if let Some(caller) = self.table().pending.remove(&id) {
                    let _ = caller.send(reply);
                }
            }
            (None, Some(method)) => {
                let params = message.params.unwrap_or_else(Payload::null);
                let event = Event {
                    session: message.session_id.map(|id| SessionId(id.as_ref().into())),
                    method: method.as_ref().into(),
                    params: Arc::new(params),
                };
                self.table().subscribers.retain(|subscriber| subscriber.offer(&event));
            }
            (None, None) => return Err("the browser sent a message with neither id nor method".to_owned()),
        }
        Ok(())
    }

    /// Ends the connection for its handles: every pending call fails, every subscription ends.
    pub(crate) fn end(&self, why: &str) {
        self.ended.send_if_modified(|ended| {
            let first = ended.is_none();
            ended.get_or_insert_with(|| why.into());
            first
        });
        let mut table = self.table();
        table.pending.clear();
        table.subscribers.clear();
    }
}

/// A call that was sent and waits for its reply. Dropping it discards the reply.
pub(crate) struct SentCall<'a> {
    receiver: oneshot::Receiver<Reply>,
    forget: PendingCallGuard<'a>,
}

impl SentCall<'_> {
    pub(crate) async fn reply(self, method: &str) -> Result<Payload, CallError> {
        match self.receiver.await {
            Ok(Ok(result)) => Ok(result),
            Ok(Err(refusal)) => Err(CallError::Refused { method: method.to_owned(), refusal }),
            Err(_) => Err(CallError::Closed(self.forget.shared.closed().await)),
        }
    }
}

/// Removes a call from the table when its future completes or is dropped.
struct PendingCallGuard<'a> {
    shared: &'a Arc<Shared>,
    id: u64,
}

impl Drop for PendingCallGuard<'_> {
    fn drop(&mut self) {
        self.shared.table().pending.remove(&self.id);
    }
}
