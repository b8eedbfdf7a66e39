//! What a page wrote to its console, and the requests that it made.

use apprentice_cdp::domain::log::{self, EntryAdded};
use apprentice_cdp::domain::runtime::{self, ConsoleApiCalled, ExceptionThrown, RemoteObject};
use apprentice_cdp::{Event, EventFilter, EventPayload};

use super::driver::{ActionError, Browser};
use super::request_log::{RequestLog, cut};

/// Most lines of a console that are read.
const MOST_LINES: usize = 1000;

impl Browser {
    /// Reads the console of the active tab, oldest line first, the frames' after the page's. The browser repeats the
    /// lines so far when the events are turned on, so they are turned on for the reading alone.
    pub(super) async fn console(&self) -> Result<String, ActionError> {
        let front = self.front()?.session;
        let parts = self.watch().with(|pages| pages.sessions_of(&front));
        let mut lines = Vec::new();
        for (id, _) in &parts {
            let session = self.session(id);
            let mut filter =
                EventFilter::named([ConsoleApiCalled::METHOD, ExceptionThrown::METHOD, EntryAdded::METHOD]);
            filter.session = Some(id.clone());
            let mut events = session.events(filter, MOST_LINES);
            self.call(&session, &runtime::Enable::default()).await?;
            self.call(&session, &log::Enable::default()).await?;
            session.post(&runtime::Disable::default());
            session.post(&log::Disable::default());
            while let Some(event) = events.try_next() {
                lines.extend(console_line(&event));
            }
        }
        Ok(lines.join("\n"))
    }

    /// Lists the requests of the active tab, oldest first.
    pub(super) fn requests(&self) -> Result<String, ActionError> {
        let front = self.front()?.session;
        Ok(self.watch().with(|pages| pages.request_log(&front).map(RequestLog::text)).unwrap_or_default())
    }
}

fn console_line(event: &Event) -> Option<String> {
    let line = if let Some(Ok(ConsoleApiCalled { kind, args })) = event.read() {
        let words: Vec<String> = args.iter().map(RemoteObject::shown).collect();
        format!("{kind}: {}", words.join(" "))
    } else if let Some(Ok(ExceptionThrown { exception_details })) = event.read() {
        format!("uncaught: {}", exception_details.shown())
    } else if let Some(Ok(EntryAdded { entry })) = event.read() {
        let url = entry.url.filter(|url| !url.is_empty()).map(|url| format!(" ({url})")).unwrap_or_default();
        format!("{}: {}{url}", entry.level, entry.text)
    } else {
        return None;
    };
    Some(cut(&line))
}
