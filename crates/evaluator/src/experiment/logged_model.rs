//! Stores every conversation of the learning models beside the run, for later inspection, and ends them when the
//! experiment is cancelled.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use apprentice_protocol::{
    BoxFuture, ChatModel, ChatReply, ChatRequest, ModelError, ModelErrorKind, ModelProfile,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// Wraps a model and stores each request and reply as `<folder>/<name>-<n>.json`. Stops replying once the experiment is
/// cancelled; the book stays consistent and learning resumes from there.
pub(super) struct LoggedModel {
    inner: Arc<dyn ChatModel>,
    folder: PathBuf,
    name: &'static str,
    count: AtomicU32,
    cancel: CancellationToken,
}

impl LoggedModel {
    pub(super) fn new(
        inner: Arc<dyn ChatModel>,
        folder: PathBuf,
        name: &'static str,
        cancel: CancellationToken,
    ) -> Self {
        let prefix = format!("{name}-");
        let kept = fs::read_dir(&folder).into_iter().flatten().flatten();
        let kept = kept.filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix)).count();
        let count = AtomicU32::new(u32::try_from(kept).unwrap_or(u32::MAX));
        Self { inner, folder, name, count, cancel }
    }

    fn keep(&self, request: &ChatRequest, reply: &ChatReply) -> std::io::Result<()> {
        let number = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        fs::create_dir_all(&self.folder)?;
        let text = serde_json::to_string_pretty(&json!({ "request": request, "reply": reply }))?;
        fs::write(self.folder.join(format!("{}-{number:04}.json", self.name)), text)
    }
}

impl ChatModel for LoggedModel {
    fn profile(&self) -> &ModelProfile {
        self.inner.profile()
    }

    fn reply<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        Box::pin(async move {
            let reply = tokio::select! {
                biased;
                () = self.cancel.cancelled() => {
                    let message = "the experiment was stopped from outside";
                    Err(ModelError::never(ModelErrorKind::Unavailable, message))
                }
                reply = self.inner.reply(request) => reply,
            }?;
            self.keep(request, &reply).map_err(|error| {
                let message = format!("{}: a conversation could not be kept: {error}", self.folder.display());
                ModelError::never(ModelErrorKind::Unavailable, message)
            })?;
            Ok(reply)
        })
    }
}
