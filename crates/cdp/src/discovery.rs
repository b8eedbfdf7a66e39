//! Finds the DevTools endpoint, from the browser's announcement on its output or by asking its HTTP port.

use std::time::Duration;

use serde::Deserialize;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

const REQUEST: &[u8] = b"GET /json/version HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
const MAX_RESPONSE_BYTES: u64 = 64 << 10;

/// The fields read from `/json/version`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct BrowserVersion {
    /// Product and version, for example `Chrome/156`.
    #[serde(rename = "Browser")]
    pub browser: String,
    /// WebSocket URL of the browser target.
    #[serde(rename = "webSocketDebuggerUrl")]
    pub endpoint: String,
}

impl BrowserVersion {
    /// Path of the endpoint, as [`Connection::open`](crate::Connection::open) takes it.
    pub fn path(&self) -> &str {
        path_of(&self.endpoint)
    }
}

/// Why the endpoint was not found.
#[derive(Debug, thiserror::Error)]
pub enum DiscoveryError {
    /// The stream broke.
    #[error("the connection to the DevTools port broke")]
    Io(#[from] std::io::Error),
    /// The port did not answer within the deadline.
    #[error("the DevTools port did not answer within {0:?}")]
    TimedOut(Duration),
    /// The answer is not the one that a browser gives.
    #[error("the DevTools port gave an unusable answer: {0}")]
    Answer(String),
}

/// Asks the DevTools port over a new stream, which is consumed.
///
/// # Errors
///
/// Fails if the stream breaks, if nothing answers within `deadline`, or if the answer is not that of a DevTools port.
pub async fn discover<S>(mut stream: S, deadline: Duration) -> Result<BrowserVersion, DiscoveryError>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let ask = async {
        stream.write_all(REQUEST).await?;
        stream.flush().await?;
        let mut answer = Vec::new();
        let mut chunk = [0; 4096];
        // Some versions keep the connection open despite the header, so the content length decides when the answer
        // ends.
        loop {
            let count = stream.read(&mut chunk).await?;
            answer.extend_from_slice(&chunk[..count]);
            if let Some(version) = parse_answer(&answer)? {
                return Ok(version);
            }
            if count == 0 || answer.len() as u64 > MAX_RESPONSE_BYTES {
                return Err(DiscoveryError::Answer(format!("{} bytes, still incomplete", answer.len())));
            }
        }
    };
    tokio::time::timeout(deadline, ask).await.unwrap_or(Err(DiscoveryError::TimedOut(deadline)))
}

/// Parses the HTTP answer. `None` while it is incomplete.
fn parse_answer(answer: &[u8]) -> Result<Option<BrowserVersion>, DiscoveryError> {
    let unusable = |why: String| DiscoveryError::Answer(why);
    let mut headers = [httparse::EMPTY_HEADER; 32];
    let mut head = httparse::Response::new(&mut headers);
    let start = match head.parse(answer).map_err(|error| unusable(error.to_string()))? {
        httparse::Status::Complete(start) => start,
        httparse::Status::Partial => return Ok(None),
    };
    if head.code != Some(200) {
        return Err(unusable(format!("status {:?}", head.code.unwrap_or_default())));
    }
    let length = head
        .headers
        .iter()
        .find(|header| header.name.eq_ignore_ascii_case("content-length"))
        .and_then(|header| std::str::from_utf8(header.value).ok()?.trim().parse::<usize>().ok())
        .ok_or_else(|| unusable("no content-length".to_owned()))?;
    let Some(body) = start.checked_add(length).and_then(|end| answer.get(start..end)) else {
        return Ok(None);
    };
    serde_json::from_slice(body).map(Some).map_err(|error| unusable(error.to_string()))
}

/// The endpoint's path, if this line of the browser's output announces one.
pub fn parse_endpoint(line: &str) -> Option<&str> {
    line.trim().strip_prefix("DevTools listening on ").map(path_of)
}

fn path_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.find('/').map_or("/", |slash| &rest[slash..])
}

#[cfg(test)]
mod tests {
    use super::{parse_answer, parse_endpoint};

    #[test]
    fn an_announcement_is_recognised_among_other_lines() {
        let line = "DevTools listening on ws://127.0.0.1:9222/devtools/browser/5c0f\n";
        assert_eq!(parse_endpoint(line), Some("/devtools/browser/5c0f"));
        assert_eq!(parse_endpoint("[1:1] ERROR: no bus"), None);
    }

    #[test]
    fn an_answer_counts_when_it_is_whole() {
        let body = r#"{"Browser":"Chrome/156","webSocketDebuggerUrl":"ws://localhost/devtools/browser/a"}"#;
        let whole = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        for end in 0..whole.len() {
            assert_eq!(parse_answer(&whole.as_bytes()[..end]).expect("still good"), None, "{end}");
        }
        let version = parse_answer(whole.as_bytes()).expect("good").expect("whole");
        assert_eq!(version.path(), "/devtools/browser/a");
        for broken in ["HTTP/1.1 404 No\r\n\r\n", "SSH-2.0-x\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n{}"] {
            assert!(parse_answer(broken.as_bytes()).is_err(), "{broken:?}");
        }
    }
}
