//! Setup steps that act on a browser: tabs through its debugging port, and its history.

use std::io::Write as _;
use std::time::Duration;

use apprentice_metrics::same_url;
use apprentice_protocol::MachineError;
use serde_json::{Value, json};

use super::context::SetupContext;
use super::error::StepError;
use super::polling::Polling;
use super::step::HistoryVisit;
use crate::world_io::{DEBUG_PORTS, HttpRequest, ask, at_home, call_page, escaped_url};

/// The maximum time for a browser to open its debugging port.
const READY_DEADLINE: Duration = Duration::from_secs(75);
/// The maximum time to wait for a page to load; a slower page keeps loading in the background.
const LOAD_DEADLINE: Duration = Duration::from_secs(60);
/// The maximum time to wait for a page to be gone; one that asks before it closes stays.
const CLOSE_DEADLINE: Duration = Duration::from_secs(5);
/// The maximum time to wait for a page to forget its history.
const FORGET_DEADLINE: Duration = Duration::from_secs(5);
/// The empty history database that upstream starts from.
pub(crate) const EMPTY_HISTORY: &str = "https://huggingface.co/datasets/xlangai/ubuntu_osworld_file_cache/resolve/main/chrome/44ee5668-ecd5-4366-a6ce-c1c9b8d4e938/history_empty.sqlite";
/// The address of a page that shows nothing.
const BLANK: &str = "about:blank";
const HISTORY: &str = "~/.config/google-chrome/Default/History";
/// Microseconds between the Windows epoch (1601), which browsers use, and the Unix epoch.
const EPOCH_SHIFT: i64 = 11_644_473_600_000_000;

/// A responsive debugging port, kept open.
pub(super) struct Port(apprentice_protocol::PortForward);

impl Port {
    /// Waits until a browser answers.
    pub(super) async fn open(context: &SetupContext<'_>) -> Result<Self, StepError> {
        let deadline = context.clock.mono() + READY_DEADLINE;
        let mut polling = Polling::start();
        loop {
            let mut why = String::new();
            for port in DEBUG_PORTS {
                let way = context.machine.dial(*port).await?;
                match ask(way.address, HttpRequest::get("/json/version")).await {
                    Ok(_) => return Ok(Self(way)),
                    Err(told) => why = told,
                }
            }
            if context.clock.mono() >= deadline {
                return Err(StepError::NoBrowser(why));
            }
            polling.pause(context.clock).await;
        }
    }

    /// Calls a method of the debugging protocol on a page.
    pub(super) async fn call(
        &self,
        page: &Value,
        method: &str,
        parameters: &Value,
    ) -> Result<Value, StepError> {
        call_page(self.0.address, text(page, "id"), method, parameters).await.map_err(StepError::NoBrowser)
    }

    /// Returns whether the page of an address says that it has loaded. One that is just being replaced says nothing, and the address of
    /// the next one is listed before that is there.
    async fn has_loaded(&self, page: &Value, address: &str) -> bool {
        let arrived = if address == BLANK { "true".into() } else { format!("location.href != '{BLANK}'") };
        let expression = format!("document.readyState == 'complete' && {arrived}");
        let request = json!({"expression": expression, "returnByValue": true});
        let told = self.call(page, "Runtime.evaluate", &request).await;
        told.is_ok_and(|told| told["result"]["value"] == true)
    }

    /// Opens an address in a new page and waits until it has loaded.
    pub(super) async fn visit(&self, context: &SetupContext<'_>, address: &str) -> Result<Value, StepError> {
        let opened = self.ask("PUT", &format!("/json/new?{}", escaped_url(address))).await?;
        await_loaded(context, self, text(&opened, "id"), address).await?;
        Ok(opened)
    }

    /// Opens an address in a page that shows nothing, and has it forget that it showed nothing. Returns whether the browser
    /// took the address.
    async fn reuse(
        &self,
        context: &SetupContext<'_>,
        page: &Value,
        address: &str,
    ) -> Result<bool, StepError> {
        if self.call(page, "Page.navigate", &json!({"url": address})).await.is_err() {
            return Ok(false);
        }
        await_loaded(context, self, text(page, "id"), address).await?;
        self.forget(context, page).await?;
        Ok(true)
    }

    /// Removes all but the shown entry of a page's history. The browser refuses while it opens another one.
    async fn forget(&self, context: &SetupContext<'_>, page: &Value) -> Result<(), StepError> {
        let deadline = context.clock.mono() + FORGET_DEADLINE;
        let mut polling = Polling::start();
        loop {
            match self.call(page, "Page.resetNavigationHistory", &json!({})).await {
                Ok(_) => return Ok(()),
                Err(error) if context.clock.mono() >= deadline => return Err(error),
                Err(_) => polling.pause(context.clock).await,
            }
        }
    }

    /// Closes a page and waits until it is gone, so that nobody takes it for an open one.
    pub(super) async fn close(&self, context: &SetupContext<'_>, page: &Value) -> Result<(), StepError> {
        let id = text(page, "id");
        self.ask("GET", &format!("/json/close/{id}")).await?;
        let deadline = context.clock.mono() + CLOSE_DEADLINE;
        let mut polling = Polling::start();
        while self.pages().await?.iter().any(|page| text(page, "id") == id) && context.clock.mono() < deadline
        {
            polling.pause(context.clock).await;
        }
        Ok(())
    }

    async fn ask(&self, method: &str, path: &str) -> Result<Value, StepError> {
        let request = HttpRequest { method, ..HttpRequest::get(path) };
        let body = ask(self.0.address, request).await.map_err(StepError::NoBrowser)?;
        // Some responses are plain text.
        Ok(serde_json::from_slice(&body).unwrap_or_default())
    }

    pub(super) async fn pages(&self) -> Result<Vec<Value>, StepError> {
        let targets = self.ask("GET", "/json/list").await?;
        let is_page = |target: &&Value| target.get("type").and_then(Value::as_str) == Some("page");
        Ok(targets.as_array().into_iter().flatten().filter(is_page).cloned().collect())
    }
}

fn text<'v>(target: &'v Value, field: &str) -> &'v str {
    target.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// Opens tabs in order. The first takes the place of the initial tab.
pub(super) async fn open_tabs(context: &SetupContext<'_>, addresses: &[String]) -> Result<(), StepError> {
    let port = Port::open(context).await?;
    let before = port.pages().await?;
    for (at, address) in addresses.iter().enumerate() {
        let first = before.first().filter(|_| at == 0);
        if let Some(blank) = first.filter(|page| text(page, "url") == BLANK)
            // Another tab would be another process of the browser.
            && port.reuse(context, blank, address).await?
        {
            continue;
        }
        port.visit(context, address).await?;
        if let Some(first) = first {
            port.close(context, first).await?;
        }
    }
    Ok(())
}

/// Waits until a page has a title, which arrives with its content, or has loaded without one.
async fn await_loaded(
    context: &SetupContext<'_>,
    port: &Port,
    id: &str,
    address: &str,
) -> Result<(), StepError> {
    let deadline = context.clock.mono() + LOAD_DEADLINE;
    let mut polling = Polling::start();
    while context.clock.mono() < deadline {
        let pages = port.pages().await?;
        let Some(page) = pages.iter().find(|page| text(page, "id") == id) else { return Ok(()) };
        let (title, url) = (text(page, "title"), text(page, "url"));
        // The title of a page that has none is its address, at least in part. The next address of an empty page is listed
        // before its title.
        let is_titled = ![BLANK, ""].contains(&title) && !url.is_empty() && !url.ends_with(title);
        if is_titled || port.has_loaded(page, address).await {
            return Ok(());
        }
        polling.pause(context.clock).await;
    }
    Ok(())
}

pub(super) async fn close_tabs(context: &SetupContext<'_>, addresses: &[String]) -> Result<(), StepError> {
    let port = Port::open(context).await?;
    for address in addresses {
        let pages = port.pages().await?;
        if let Some(page) = pages.iter().find(|page| same_url(text(page, "url"), address)) {
            port.close(context, page).await?;
        }
    }
    Ok(())
}

/// Adds visits to the browser's history: to the profile's database, or else to upstream's empty one.
pub(super) async fn add_history(
    context: &SetupContext<'_>,
    visits: &[HistoryVisit],
) -> Result<(), StepError> {
    let path = at_home(context.machine, HISTORY);
    let bytes = match (context.machine.read(&path).await, context.mirror) {
        (Ok(bytes), _) => bytes,
        (Err(MachineError::NotFound(_)), Some(mirror)) => mirror.fetch(EMPTY_HISTORY).await?,
        (Err(MachineError::NotFound(_)), None) => return Err(StepError::Network(EMPTY_HISTORY.to_owned())),
        (Err(error), _) => return Err(error.into()),
    };
    let now = context.clock.now().as_microsecond() + EPOCH_SHIFT;
    let bytes = with_visits(&bytes, visits, now).map_err(StepError::History)?;
    Ok(context.machine.write(&path, &bytes).await?)
}

fn with_visits(bytes: &[u8], visits: &[HistoryVisit], now: i64) -> Result<Vec<u8>, String> {
    let failed = |error: &dyn std::fmt::Display| error.to_string();
    let mut file = tempfile::NamedTempFile::new().map_err(|error| failed(&error))?;
    file.write_all(bytes).map_err(|error| failed(&error))?;
    let add = || -> rusqlite::Result<()> {
        let connection = rusqlite::Connection::open(file.path())?;
        for visit in visits {
            #[expect(clippy::cast_possible_truncation, reason = "seconds of a history are few")]
            let time = now - (visit.visit_time_from_now_in_seconds * 1e6) as i64;
            connection.execute(
                "INSERT INTO urls (url, title, visit_count, typed_count, last_visit_time, hidden) VALUES (?1, ?2, 1, 0, ?3, 0)",
                (&visit.url, &visit.title, time),
            )?;
            connection.execute(
                "INSERT INTO visits (url, visit_time, from_visit, transition, segment_id, visit_duration) VALUES (?1, ?2, 0, 805306368, 0, 0)",
                (connection.last_insert_rowid(), time),
            )?;
        }
        connection.close().map_err(|(_, error)| error)
    };
    add().map_err(|error| failed(&error))?;
    apprentice_files::read(file.path()).map_err(|error| failed(&error))
}

#[cfg(test)]
mod tests {
    use super::{HistoryVisit, with_visits};

    #[test]
    fn visits_are_added_to_a_history() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("History");
        let connection = rusqlite::Connection::open(&path).expect("opens");
        connection
            .execute_batch(
                "CREATE TABLE urls (id INTEGER PRIMARY KEY, url, title, visit_count, typed_count, last_visit_time, hidden);
                 CREATE TABLE visits (id INTEGER PRIMARY KEY, url, visit_time, from_visit, transition, segment_id, visit_duration);",
            )
            .expect("fills");
        drop(connection);
        let bytes = std::fs::read(&path).expect("reads");
        let visit = HistoryVisit {
            url: "https://a.org/".into(),
            title: "A".into(),
            visit_time_from_now_in_seconds: 10.0,
        };
        std::fs::write(&path, with_visits(&bytes, &[visit], 50_000_000).expect("adds")).expect("writes");
        let connection = rusqlite::Connection::open(&path).expect("opens");
        let row: (String, i64) = connection
            .query_row("select u.title, v.visit_time from urls u join visits v on v.url = u.id", [], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .expect("is there");
        assert_eq!(row, ("A".to_owned(), 40_000_000));
        assert!(with_visits(b"no database at all", &[], 0).is_ok_and(|bytes| !bytes.is_empty()));
    }
}
