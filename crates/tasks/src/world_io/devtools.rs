//! A browser in the world, asked through its debugging port.

use std::net::SocketAddr;
use std::time::Duration;

use apprentice_cdp::Connection;
use serde_json::{Value, json};
use tokio::net::TcpStream;

/// Ports on which a browser listens for its debugger: Chromium's own default, and the one that OSWorld's tasks forward.
pub(crate) const DEBUG_PORTS: &[u16] = &[9222, 1337];
const ANSWER_DEADLINE: Duration = Duration::from_secs(20);

/// Calls a method of the debugging protocol on one page of the browser at this address.
pub(crate) async fn call_page(
    address: SocketAddr,
    page: &str,
    method: &str,
    parameters: &Value,
) -> Result<Value, String> {
    let call = async {
        let stream = TcpStream::connect(address).await.map_err(|error| error.to_string())?;
        let path = format!("/devtools/page/{page}");
        let opened = Connection::open(stream, &path, ANSWER_DEADLINE).await;
        let connection = opened.map_err(|error| error.to_string())?;
        // A connection to a page's own endpoint needs no session: its calls go to the page.
        let called = connection.browser(ANSWER_DEADLINE).raw(method, parameters).await;
        called.map_err(|error| match error.refusal() {
            Some(refusal) => failed(&json!({"code": refusal.code, "message": refusal.message})),
            None => error.to_string(),
        })
    };
    let answered = tokio::time::timeout(ANSWER_DEADLINE, call).await;
    answered.map_err(|_| "the page did not respond in time".to_owned())?
}

/// Returns the error of a call that the page refused.
pub(crate) fn failed(why: &Value) -> String {
    format!("evaluation in the page failed: {why}")
}

/// Escapes an address for use in the query of another one.
pub(crate) fn escaped_url(address: &str) -> String {
    address.chars().fold(String::new(), |mut out, c| {
        match c {
            ' ' => out.push_str("%20"),
            '#' => out.push_str("%23"),
            '"' => out.push_str("%22"),
            c if c.is_control() => {}
            c => out.push(c),
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::escaped_url;

    #[test]
    fn an_address_within_another_one_is_escaped() {
        assert_eq!(escaped_url("https://h/a b#c"), "https://h/a%20b%23c");
    }
}
