//! The latest requests of a tab and how they ended. Pure.

use std::collections::VecDeque;
use std::fmt::Write as _;

use apprentice_cdp::domain::network::{LoadingFailed, RequestWillBeSent, ResponseReceived};

/// Most requests of a tab that are kept.
const MOST_REQUESTS: usize = 200;
/// Limit of an address or a line, in characters.
const LINE_LIMIT: usize = 400;

/// Cuts a line that is too long.
pub(super) fn cut(text: &str) -> String {
    match text.char_indices().nth(LINE_LIMIT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
/// The latest requests of a tab.
#[derive(Debug, Default)]
pub(super) struct RequestLog {
    requests: VecDeque<LoggedRequest>,
    forgotten: u64,
}

#[derive(Debug)]
struct LoggedRequest {
    id: String,
    method: String,
    url: String,
    outcome: String,
}

impl RequestLog {
    pub(super) fn sent(&mut self, event: &RequestWillBeSent) {
        if self.requests.len() == MOST_REQUESTS {
            self.requests.pop_front();
            self.forgotten += 1;
        }
        self.requests.push_back(LoggedRequest {
            id: event.request_id.clone(),
            method: event.request.method.clone(),
            url: cut(&event.request.url),
            outcome: "not answered yet".to_owned(),
        });
    }

    pub(super) fn answered(&mut self, event: &ResponseReceived) {
        self.note(&event.request_id, event.response.status.to_string());
    }

    pub(super) fn failed(&mut self, event: &LoadingFailed) {
        self.note(&event.request_id, format!("failed: {}", event.error_text));
    }

    /// A redirect repeats the id, so the latest counts.
    fn note(&mut self, id: &str, outcome: String) {
        if let Some(request) = self.requests.iter_mut().rfind(|request| request.id == id) {
            request.outcome = outcome;
        }
    }

    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        if self.forgotten > 0 {
            let _ = writeln!(text, "[{} earlier requests are not kept]", self.forgotten);
        }
        for LoggedRequest { method, url, outcome, .. } in &self.requests {
            let _ = writeln!(text, "{method} {url}: {outcome}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{MOST_REQUESTS, RequestLog};

    #[test]
    fn the_latest_requests_are_kept_with_their_outcomes() {
        let mut log = RequestLog::default();
        for number in 0..=MOST_REQUESTS {
            let request = json!({ "requestId": number.to_string(), "request": { "url": format!("http://x/{number}"), "method": "GET" } });
            log.sent(&serde_json::from_value(request).expect("an event"));
        }
        let answer = json!({ "requestId": "2", "response": { "status": 404 } });
        log.answered(&serde_json::from_value(answer).expect("an event"));
        let failure = json!({ "requestId": "3", "errorText": "net::ERR_FAILED" });
        log.failed(&serde_json::from_value(failure).expect("an event"));
        let text = log.text();
        let lines: Vec<&str> = text.lines().take(4).collect();
        let expected = [
            "[1 earlier requests are not kept]",
            "GET http://x/1: not answered yet",
            "GET http://x/2: 404",
            "GET http://x/3: failed: net::ERR_FAILED",
        ];
        assert_eq!(lines, expected);
    }
}
