//! Asks servers inside the machine over HTTP, such as a browser's debugging port.
//!
//! The client is hyper's client of one connection, as the address leads out of a cell: it knows no proxy, no redirect
//! and no TLS, and the environment cannot change where it connects.

use std::net::SocketAddr;
use std::time::Duration;

use http_body_util::{BodyExt as _, Empty, LengthLimitError, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{CONNECTION, HOST};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

const DEADLINE: Duration = Duration::from_secs(5);
/// The largest accepted body, in bytes.
const MAX_BODY_BYTES: usize = 16 << 20;

/// One HTTP request.
#[derive(Clone, Copy)]
pub struct HttpRequest<'a> {
    /// The method.
    pub method: &'a str,
    /// Path and query.
    pub path: &'a str,
    /// Name and value of a header beside those that every request has.
    pub header: Option<(&'a str, &'a str)>,
}

impl<'a> HttpRequest<'a> {
    /// A `GET` without a further header.
    pub fn get(path: &'a str) -> Self {
        Self { method: "GET", path, header: None }
    }
}

/// The body of a successful answer; else why there is none.
///
/// # Errors
///
/// Returns why there is no body: the server does not answer in time, answers with another status than success, or sends too much.
pub async fn ask(address: SocketAddr, ask: HttpRequest<'_>) -> Result<Vec<u8>, String> {
    let answered = tokio::time::timeout(DEADLINE, exchange(address, ask)).await;
    answered.map_err(|_| "no response in time".to_owned())?
}

async fn exchange(address: SocketAddr, ask: HttpRequest<'_>) -> Result<Vec<u8>, String> {
    let stream = TcpStream::connect(address).await.map_err(|error| error.to_string())?;
    let (mut sender, connection) =
        http1::handshake(TokioIo::new(stream)).await.map_err(|error| innermost(&error))?;
    // The set ends the connection when the answer is complete: some servers keep it open despite `Connection: close`.
    let mut driver = JoinSet::new();
    driver.spawn(connection);
    let response = sender.send_request(request(ask)?).await.map_err(|error| innermost(&error))?;
    let status = response.status();
    if !status.is_success() {
        return Err(format!("status {}", status.as_u16()));
    }
    let body = Limited::new(response.into_body(), MAX_BODY_BYTES).collect().await;
    let body = body.map_err(|error| match error.downcast_ref::<LengthLimitError>() {
        Some(_) => format!("the response is larger than {} MB", MAX_BODY_BYTES >> 20),
        None => innermost(&*error),
    })?;
    Ok(body.to_bytes().into())
}

fn request(ask: HttpRequest<'_>) -> Result<hyper::Request<Empty<Bytes>>, String> {
    // A page's address may hold these two; in a request they must be encoded.
    let path = ask.path.replace('<', "%3C").replace('>', "%3E");
    let request = hyper::Request::builder().method(ask.method).uri(path);
    let request = request.header(HOST, "localhost").header(CONNECTION, "close");
    let request = ask.header.into_iter().fold(request, |request, (name, value)| request.header(name, value));
    request.body(Empty::new()).map_err(|error| error.to_string())
}

/// The text of an error's first cause, such as that of the operating system.
fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    std::iter::successors(Some(error), |error| error.source()).last().unwrap_or(error).to_string()
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};

    use super::{HttpRequest, MAX_BODY_BYTES, ask};

    /// Answers one request; returns the request and the stream, which stays open until it is dropped.
    async fn answer(listener: &TcpListener, answer: &[u8]) -> (String, TcpStream) {
        let (mut stream, _) = listener.accept().await.expect("a client");
        let mut buffer = [0; 1024];
        let read = stream.read(&mut buffer).await.expect("reads");
        // A client that has seen enough may be gone.
        let _ = stream.write_all(answer).await;
        (String::from_utf8_lossy(&buffer[..read]).into_owned(), stream)
    }

    #[tokio::test]
    async fn answers_are_read_and_refusals_named() {
        for (given, expected) in [
            ("HTTP/1.1 200 OK\r\n\r\nbody", Ok(b"body".to_vec())),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nbo\r\n2\r\ndy\r\n0\r\n\r\n",
                Ok(b"body".to_vec()),
            ),
            ("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody", Ok(b"body".to_vec())),
            ("HTTP/1.1 401 No\r\n\r\nbody", Err("status 401".to_owned())),
            ("HTTP/1.1 302 No\r\nLocation: http://192.0.2.1/\r\n\r\n", Err("status 302".to_owned())),
        ] {
            // With a known length, the client does not wait for the connection to close.
            let lasts = given.contains("Content-Length") || given.contains("chunked");
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("listens");
            let address = listener.local_addr().expect("an address");
            let server = async {
                let (asked, stream) = answer(&listener, given.as_bytes()).await;
                assert!(asked.starts_with("GET /x HTTP/1.1\r\n"), "{asked}");
                assert!(asked.contains("host: localhost\r\n"), "{asked}");
                lasts.then_some(stream)
            };
            let (found, _open) = tokio::join!(ask(address, HttpRequest::get("/x")), server);
            assert_eq!(found, expected);
        }
    }

    #[tokio::test]
    async fn a_request_carries_its_method_header_and_any_address() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("listens");
        let address = listener.local_addr().expect("an address");
        let path = "/json/new?https://h.org/ä?q={a}|<b>'^`\\&x=[1]";
        let question = HttpRequest { method: "PUT", path, header: Some(("Authorization", "Basic eA==")) };
        let server = answer(&listener, b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        let (found, (asked, _open)) = tokio::join!(ask(address, question), server);
        assert_eq!(found, Ok(Vec::new()));
        let path = path.replace('<', "%3C").replace('>', "%3E");
        assert!(asked.starts_with(&format!("PUT {path} HTTP/1.1\r\n")), "{asked}");
        assert!(asked.contains("authorization: Basic eA==\r\n"), "{asked}");
    }

    #[tokio::test]
    async fn what_is_no_answer_is_an_error() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("listens");
        let address = listener.local_addr().expect("an address");
        let mut huge = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
        huge.resize(huge.len() + MAX_BODY_BYTES + 1, b'x');
        let (found, _) = tokio::join!(ask(address, HttpRequest::get("/")), answer(&listener, &huge));
        assert_eq!(found, Err("the response is larger than 16 MB".to_owned()));
        for cut in [&b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbo"[..], b"HTTP/1.1 200", b"hello\r\n\r\n"]
        {
            let server = async { drop(answer(&listener, cut).await) };
            let (found, ()) = tokio::join!(ask(address, HttpRequest::get("/")), server);
            assert!(found.is_err(), "{found:?}");
        }
        drop(listener);
        let refused = ask(address, HttpRequest::get("/")).await;
        assert_eq!(refused, Err("Connection refused (os error 111)".to_owned()));
    }
}
