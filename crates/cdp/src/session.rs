//! Sessions: handles for calling one target (the browser, a page, an out-of-process frame).

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use crate::domain::target::AttachToTarget;
use crate::event::{EventFilter, Events};
use crate::exchange::{CallError, EncodedCall, Shared};
use crate::message::Command;
use crate::payload::Payload;
use crate::session_id::SessionId;

/// A cheap handle on one target. Dropping a call's future discards its reply.
#[derive(Clone, Debug)]
pub struct Session {
    shared: Arc<Shared>,
    id: Option<SessionId>,
    deadline: Duration,
}

impl Session {
    pub(crate) fn browser(shared: Arc<Shared>, deadline: Duration) -> Self {
        Self { shared, id: None, deadline }
    }

    /// The session's id. `None` for the browser target.
    pub fn id(&self) -> Option<&SessionId> {
        self.id.as_ref()
    }

    /// Returns a handle on another session of the same connection.
    #[must_use]
    pub fn sibling(&self, id: SessionId) -> Self {
        Self { id: Some(id), ..self.clone() }
    }

    /// Returns the same session with another deadline for its calls.
    #[must_use]
    pub fn within(&self, deadline: Duration) -> Self {
        Self { deadline, ..self.clone() }
    }

    /// Attaches to a target and returns the new session.
    ///
    /// # Errors
    ///
    /// Fails if there is no such target, or if the connection is closed or does not answer in time.
    pub async fn attach(&self, target: &str) -> Result<Self, CallError> {
        let reply = self.call(&AttachToTarget { target_id: target.to_owned(), flatten: true }).await?;
        Ok(self.sibling(reply.session_id))
    }

    /// Makes a call and awaits its reply.
    ///
    /// # Errors
    ///
    /// Fails if the browser refuses the call, if its reply does not have the command's form, or if the connection is closed or does
    /// not answer in time.
    pub async fn call<C: Command>(&self, command: &C) -> Result<C::Reply, CallError> {
        let reply = self.request(C::METHOD, command).await?;
        reply
            .read()
            .map_err(|source| CallError::Malformed { method: C::METHOD.to_owned(), source: Arc::new(source) })
    }

    /// Makes calls of one kind in their order, each sent before the one before it is answered, and awaits all replies.
    ///
    /// # Errors
    ///
    /// Returns the first error among the replies, as [`call`](Self::call) gives it. Later calls were made nevertheless.
    pub async fn call_in_order<C: Command>(&self, commands: &[C]) -> Result<(), CallError> {
        let late = || CallError::TimedOut { method: C::METHOD.to_owned(), after: self.deadline };
        let exchange = async {
            let mut sent = Vec::with_capacity(commands.len());
            for command in commands {
                let encoded = self.shared.encode(self.id.as_ref(), C::METHOD, command)?;
                sent.push(self.shared.send(encoded).await?);
            }
            for call in sent {
                call.reply(C::METHOD).await?;
            }
            Ok(())
        };
        tokio::time::timeout(self.deadline, exchange).await.unwrap_or_else(|_| Err(late()))
    }

    /// Makes calls of one kind in their order, so many of them ahead of the reply that comes next, and awaits all replies. Each reply has
    /// the deadline of a call.
    ///
    /// # Errors
    ///
    /// Returns the first error among the replies, as [`call`](Self::call) gives it. So many later calls were made nevertheless.
    pub async fn call_ahead<C: Command>(&self, commands: &[C], ahead: usize) -> Result<(), CallError> {
        let late = || CallError::TimedOut { method: C::METHOD.to_owned(), after: self.deadline };
        let mut sent = VecDeque::with_capacity(ahead);
        let mut commands = commands.iter();
        loop {
            let next = if sent.len() < ahead { commands.next() } else { None };
            let step = async {
                if let Some(command) = next {
                    let encoded = self.shared.encode(self.id.as_ref(), C::METHOD, command)?;
                    sent.push_back(self.shared.send(encoded).await?);
                } else if let Some(call) = sent.pop_front() {
                    call.reply(C::METHOD).await?;
                } else {
                    return Ok(false);
                }
                Ok(true)
            };
            if !tokio::time::timeout(self.deadline, step).await.unwrap_or_else(|_| Err(late()))? {
                return Ok(());
            }
        }
    }

    /// Makes any call by method name, with untyped parameters and result.
    ///
    /// # Errors
    ///
    /// Fails if the browser refuses the call, or if the connection is closed or does not answer in time.
    pub async fn raw(&self, method: &str, params: &Value) -> Result<Value, CallError> {
        let reply = self.request(method, params).await?;
        reply
            .read()
            .map_err(|source| CallError::Malformed { method: method.to_owned(), source: Arc::new(source) })
    }

    /// Sends a call without awaiting the reply, for cleanup code that cannot await. Best effort.
    pub fn post<C: Command>(&self, command: &C) {
        self.shared.post(self.id.as_ref(), C::METHOD, command);
    }

    /// Subscribes to events. At most `capacity` unread events are queued.
    pub fn events(&self, filter: EventFilter, capacity: usize) -> Events {
        self.shared.subscribe(filter, capacity)
    }

    /// Waits until the connection is closed, and returns the reason.
    pub async fn closed(&self) -> Arc<str> {
        self.shared.closed().await
    }

    async fn request<P: Serialize + Sync + ?Sized>(
        &self,
        method: &str,
        params: &P,
    ) -> Result<Payload, CallError> {
        let encoded = self.shared.encode(self.id.as_ref(), method, params)?;
        self.exchange(encoded, method).await
    }

    /// Boxed, so that it is compiled once and not for each type of parameters.
    fn exchange<'a>(
        &'a self,
        encoded: EncodedCall,
        method: &'a str,
    ) -> Pin<Box<dyn Future<Output = Result<Payload, CallError>> + Send + 'a>> {
        Box::pin(async move {
            let late = || CallError::TimedOut { method: method.to_owned(), after: self.deadline };
            let exchange = self.shared.request(encoded, method);
            tokio::time::timeout(self.deadline, exchange).await.unwrap_or_else(|_| Err(late()))
        })
    }
}
