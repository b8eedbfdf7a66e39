//! Getters that read open pages through the browser's debugging port.

use std::net::SocketAddr;
use std::time::Duration;

use apprentice_metrics::EvidenceValue;
use apprentice_protocol::{PortForward, Why};
use serde_json::{Value, json};

use super::accessibility;
use super::output::{GetterOutput, machine_error, required_str};
use crate::check::collect_context::{CollectContext, CollectError};
use crate::world_io::{DEBUG_PORTS, HttpRequest, ask, call_page, escaped_url, failed};

/// A JavaScript function that extracts the values that a check asks for.
const READ: &str = include_str!("page.js");
const LOAD_DEADLINE: Duration = Duration::from_secs(60);
const POLL_FLOOR: Duration = Duration::from_millis(250);
/// A page that requests no new resource for this long has loaded.
const QUIET: Duration = Duration::from_millis(500);
const STATE: &str = "[document.readyState, performance.getEntriesByType('resource').length, location.href]";
pub(super) const CONTENT: &str = "({title: document.title, url: location.href, content: \
    (document.doctype ? new XMLSerializer().serializeToString(document.doctype) : '') + document.documentElement.outerHTML})";

/// A browser with a working debugging port, and its pages.
pub(super) struct Browser {
    endpoint: PortForward,
    /// The pages, those used last first.
    pub(super) pages: Vec<Value>,
}

impl Browser {
    /// Connects to the browser; `None` if no debugging port responds.
    pub(super) async fn connect(
        getter: &str,
        context: &CollectContext<'_>,
    ) -> Result<Option<Self>, CollectError> {
        for port in DEBUG_PORTS {
            let endpoint = context.machine.dial(*port).await.map_err(machine_error(getter))?;
            if let Ok(body) = ask(endpoint.address, HttpRequest::get("/json/list")).await {
                let targets: Value = serde_json::from_slice(&body).unwrap_or_default();
                let is_page = |target: &&Value| target["type"] == "page";
                let pages = targets.as_array().into_iter().flatten().filter(is_page).cloned().collect();
                return Ok(Some(Self { endpoint, pages }));
            }
        }
        Ok(None)
    }

    /// Evaluates an expression in a page.
    pub(super) async fn value(&self, page: &Value, expression: &str) -> Result<Value, String> {
        evaluate(self.endpoint.address, page["id"].as_str().unwrap_or_default(), expression).await
    }

    /// Opens a URL in a new page and returns its content.
    async fn visit(&self, url: &str, context: &CollectContext<'_>) -> Result<Value, String> {
        let page = self.open(url).await?;
        let read = self.load(&page, context).await;
        self.close(&page).await;
        read
    }

    /// Opens a URL in a new page, which loads in the background.
    pub(super) async fn open(&self, url: &str) -> Result<Value, String> {
        let path = format!("/json/new?{}", escaped_url(url));
        let opened =
            ask(self.endpoint.address, HttpRequest { method: "PUT", ..HttpRequest::get(&path) }).await?;
        serde_json::from_slice(&opened).map_err(|error| error.to_string())
    }

    pub(super) async fn close(&self, page: &Value) {
        let id = page["id"].as_str().unwrap_or_default();
        // If closing fails, the page is already gone.
        let _ = ask(self.endpoint.address, HttpRequest::get(&format!("/json/close/{id}"))).await;
    }

    async fn load(&self, page: &Value, context: &CollectContext<'_>) -> Result<Value, String> {
        let is_there = self.settled(page, context).await;
        let mut content = self.value(page, CONTENT).await?;
        if !is_there {
            content["title"] = "Load timeout".into();
        }
        Ok(content)
    }

    /// Waits until a page has loaded and requests nothing new. Returns whether it did in time.
    pub(super) async fn settled(&self, page: &Value, context: &CollectContext<'_>) -> bool {
        let deadline = context.clock.mono() + LOAD_DEADLINE;
        let (mut last, mut since) = (Value::Null, context.clock.mono());
        loop {
            let state = self.value(page, STATE).await.unwrap_or_default();
            let now = context.clock.mono();
            if state != last {
                (last, since) = (state, now);
            }
            let is_there = last[0] == "complete" && last[2] != "about:blank" && now - since >= QUIET;
            if is_there || now >= deadline {
                return is_there;
            }
            context.clock.pause(POLL_FLOOR, Why::PollFloor).await;
        }
    }
}

async fn evaluate(address: SocketAddr, page: &str, expression: &str) -> Result<Value, String> {
    let parameters = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
    let mut answer = call_page(address, page, "Runtime.evaluate", &parameters).await?;
    match answer.get("exceptionDetails") {
        Some(why) => Err(failed(why)),
        None => Ok(answer.pointer_mut("/result/value").map(Value::take).unwrap_or_default()),
    }
}

/// Returns the values that a check's rules select in the active page.
pub(super) async fn parsed(spec: &Value, context: &CollectContext<'_>) -> Result<GetterOutput, CollectError> {
    const GETTER: &str = "active_tab_html_parse";
    let look = accessibility::active_url(spec, context).await?;
    let EvidenceValue::Value { value: Value::String(url) } = &look.found else { return Ok(look) };
    let Some(browser) = Browser::connect(GETTER, context).await? else {
        return Ok(GetterOutput::absent("no browser responds on its debugging port").of(url.clone()));
    };
    let active = plain(url);
    let is_active = |page: &&Value| page["url"].as_str().is_some_and(|url| plain(url) == active);
    let Some(page) = browser.pages.iter().find(is_active) else {
        return Ok(GetterOutput::value(json!({})).of(url.clone()));
    };
    let found = browser.value(page, &format!("{READ}({spec})")).await;
    // The page is as the model left it: one that hangs or has crashed shows nothing.
    let found = match found {
        Ok(found) => GetterOutput::value(found),
        Err(why) => GetterOutput::absent(format!("the active page was not read: {why}")),
    };
    Ok(found.of(url.clone()))
}

/// Normalizes a URL for comparison: decoded, without a trailing slash.
fn plain(url: &str) -> String {
    super::tab_url::decoded(url).trim_end_matches('/').to_owned()
}

/// Reloads the active page's URL and returns title, URL and content.
pub(super) async fn active(spec: &Value, context: &CollectContext<'_>) -> Result<GetterOutput, CollectError> {
    let look = accessibility::active_url(spec, context).await?;
    let EvidenceValue::Value { value: Value::String(url) } = &look.found else { return Ok(look) };
    visit_url("active_tab_info", url, context).await
}

/// Returns title, URL and content of the URL that the check names.
pub(super) async fn named(spec: &Value, context: &CollectContext<'_>) -> Result<GetterOutput, CollectError> {
    let url = required_str(spec, "page_info", "url")?;
    visit_url("page_info", url, context).await
}

async fn visit_url(
    getter: &str,
    url: &str,
    context: &CollectContext<'_>,
) -> Result<GetterOutput, CollectError> {
    let Some(browser) = Browser::connect(getter, context).await? else {
        return Ok(GetterOutput::absent("no browser responds on its debugging port").of(url));
    };
    let found = browser.visit(url, context).await;
    let found = found.map_err(|what| CollectError::Missing { getter: getter.into(), what })?;
    Ok(GetterOutput::value(found).of(url))
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn addresses_are_compared_as_people_read_them() {
        assert_eq!(plain("https://h.org/a%20b/"), plain("https://h.org/a b"));
        assert_ne!(plain("https://h.org/a+b"), plain("https://h.org/a b"));
    }
}
