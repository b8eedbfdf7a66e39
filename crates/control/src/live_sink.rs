//! A sink that shows watchers what is recorded.

use apprentice_protocol::{BlobHash, EventId, EventKind, EventSink, PersonEvent, SinkError, StepId};

use crate::live_trial::{LiveTrial, Shot};

/// Records as its inner sink does, and keeps the state of a [`LiveTrial`].
pub struct LiveSink<'a> {
    sink: &'a mut dyn EventSink,
    live: &'a LiveTrial,
    /// The last picture that was stored. Which one shows the screen is said by the event after it.
    kept: Option<Shot>,
}

impl<'a> LiveSink<'a> {
    /// Watches what goes to this sink.
    pub fn new(sink: &'a mut dyn EventSink, live: &'a LiveTrial) -> Self {
        Self { sink, live, kept: None }
    }
}

impl EventSink for LiveSink<'_> {
    fn emit(&mut self, step: Option<StepId>, kind: EventKind) -> Result<EventId, SinkError> {
        self.live.follow(&kind);
        let shown = match &kind {
            EventKind::Observed { screenshot, .. } => screenshot.clone(),
            EventKind::Person(PersonEvent::Acted(act)) => act.screenshot.clone(),
            _ => None,
        };
        if let Some(shot) = self.kept.take_if(|kept| Some(&kept.hash) == shown.as_ref()) {
            self.live.show(shot);
        }
        self.sink.emit(step, kind)
    }

    fn keep(&mut self, bytes: &[u8], extension: &str) -> Result<BlobHash, SinkError> {
        let hash = self.sink.keep(bytes, extension)?;
        let media = match extension {
            "png" => "image/png",
            "jpg" => "image/jpeg",
            "webp" => "image/webp",
            _ => return Ok(hash),
        };
        self.kept = Some(Shot { hash: hash.clone(), media: media.to_owned(), bytes: bytes.into() });
        Ok(hash)
    }
}
