//! What watchers see of `apprentice do`, and what they order.

use std::path::Path;
use std::sync::Arc;

use apprentice_control::{LiveEntry, LiveRuns, LiveSink, LiveTrial, TrialStart};
use apprentice_protocol::{Clock, EventSink, Header};
use apprentice_trace::Redactor;
use tokio_util::sync::CancellationToken;

use crate::runs::control_socket::ControlSocket;
use crate::settings::config::Config;

/// The one attempt of the command, offered to watchers.
pub(in crate::commands) struct LiveDo {
    entry: LiveEntry,
    _socket: ControlSocket,
}

/// What the attempt shares with the command.
pub(in crate::commands) struct LiveParts<'a> {
    pub(in crate::commands) config: &'a Config,
    pub(in crate::commands) clock: &'a Arc<dyn Clock>,
    pub(in crate::commands) redactor: Arc<Redactor>,
    pub(in crate::commands) cancel: &'a CancellationToken,
}

impl LiveDo {
    /// Offers the attempt in this folder.
    pub(in crate::commands) fn begin(folder: &Path, header: &Header, parts: LiveParts<'_>) -> Self {
        let live = LiveRuns::of_command("do", parts.cancel.clone());
        live.plan(folder, 1);
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
        let entry = live.begin(TrialStart {
            trial: name.unwrap_or_else(|| "do".to_owned()),
            attempt: 1,
            task: header.brief.id.to_string(),
            model: header.model.name.clone(),
            arm: String::new(),
            seed: 0,
            limits: header.brief.limits,
            clock: Arc::clone(parts.clock),
            redactor: parts.redactor,
            cancel: parts.cancel.clone(),
        });
        Self { entry, _socket: ControlSocket::open(parts.config, &live) }
    }

    /// A sink that shows watchers what is recorded.
    pub(in crate::commands) fn sink<'s>(&'s self, sink: &'s mut dyn EventSink) -> LiveSink<'s> {
        LiveSink::new(sink, self.entry.trial())
    }

    /// The attempt.
    pub(in crate::commands) fn trial(&self) -> &LiveTrial {
        self.entry.trial()
    }
}
