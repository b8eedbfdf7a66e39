//! Gives each request of a role the limit on output that its settings name. Reviews and judgements bring smaller limits
//! of their own, which leave no room for more reasoning.

use std::borrow::Cow;

use apprentice_protocol::{BoxFuture, ChatModel, ChatReply, ChatRequest, ModelError, ModelProfile, Purpose};

/// A model whose replies have a limit of the user's.
pub struct OutputLimited<M> {
    inner: M,
    limit: Option<u32>,
    thinking: Option<u32>,
}

impl<M: ChatModel> OutputLimited<M> {
    /// `limit` replaces the limits of requests, in tokens. Without one, `thinking`, the budget for reasoning, is added
    /// where a request's own limit has no room for it.
    pub fn new(inner: M, limit: Option<u32>, thinking: Option<u32>) -> Self {
        Self { inner, limit, thinking }
    }

    async fn ask(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        let own = request.max_output_tokens;
        let limit = limit(request.purpose, own, self.limit, self.thinking);
        let request = match limit == own {
            true => Cow::Borrowed(request),
            false => Cow::Owned(ChatRequest { max_output_tokens: limit, ..request.clone() }),
        };
        self.inner.reply(&request).await
    }
}

/// Returns the limit of a request, in tokens. Probes keep theirs: they are to be cheap.
fn limit(purpose: Purpose, own: u32, limit: Option<u32>, thinking: Option<u32>) -> u32 {
    match purpose {
        // The agent's own limit is that of the settings, or what the context has room for.
        Purpose::Act if limit.is_some_and(|limit| own < limit) => own,
        Purpose::Act | Purpose::Reflect | Purpose::Manage | Purpose::Judge => match (limit, thinking) {
            (Some(limit), _) => limit,
            (None, Some(budget)) if own <= budget => own.saturating_add(budget),
            (None, Some(_) | None) => own,
        },
        Purpose::Calibrate | Purpose::Check | Purpose::Embed => own,
    }
}

impl<M: ChatModel> ChatModel for OutputLimited<M> {
    fn profile(&self) -> &ModelProfile {
        self.inner.profile()
    }

    fn reply<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        Box::pin(self.ask(request))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use apprentice_protocol::{
        BoxFuture, ChatModel, ChatReply, ChatRequest, ModelError, ModelErrorKind, ModelProfile, Purpose,
    };

    use super::OutputLimited;
    use crate::scripted::Scripted;

    /// Keeps the limit of the latest request.
    struct Asked(Scripted, Mutex<u32>);

    impl ChatModel for Asked {
        fn profile(&self) -> &ModelProfile {
            self.0.profile()
        }

        fn reply<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
            *self.1.lock().expect("unpoisoned") = request.max_output_tokens;
            Box::pin(std::future::ready(Err(ModelError::never(ModelErrorKind::Request, "asked"))))
        }
    }

    #[tokio::test]
    async fn reviews_get_the_limit_of_their_role_and_probes_keep_theirs() {
        for (purpose, own, limit, thinking, expected) in [
            (Purpose::Act, 16_000, None, None, 16_000),
            (Purpose::Manage, 4000, Some(30_000), None, 30_000),
            (Purpose::Reflect, 8000, Some(2000), None, 2000),
            (Purpose::Judge, 2000, None, Some(4096), 6096),
            (Purpose::Judge, 2000, Some(9000), Some(4096), 9000),
            (Purpose::Manage, 4096, None, Some(4096), 8192),
            (Purpose::Reflect, 8000, None, Some(4096), 8000),
            (Purpose::Check, 64, Some(30_000), Some(4096), 64),
        ] {
            let asked = Asked(Scripted::new([]).expect("a script"), Mutex::new(0));
            let model = OutputLimited::new(asked, limit, thinking);
            let request = ChatRequest { purpose, max_output_tokens: own, ..ChatRequest::default() };
            model.reply(&request).await.expect_err("is kept");
            assert_eq!(*model.inner.1.lock().expect("unpoisoned"), expected, "{purpose:?} {own}");
        }
    }
}
