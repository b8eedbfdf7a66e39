//! A minimal HTTP client for servers inside the machine, such as a browser's debugging port.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

const DEADLINE: Duration = Duration::from_secs(5);
const LIMIT: u64 = 16 << 20;

/// One HTTP request.
#[derive(Clone, Copy)]
pub struct HttpRequest<'a> {
    /// The method.
    pub method: &'a str,
    /// Path and query.
    pub path: &'a str,
    /// A line of the header beside those that every request has.
    pub header: Option<&'a str>,
}

impl<'a> HttpRequest<'a> {
    /// A `GET` without a further header line.
    pub fn get(path: &'a str) -> Self {
        Self { method: "GET", path, header: None }
    }
}

/// The body of a successful answer; else why there is none.
pub async fn ask(address: SocketAddr, ask: HttpRequest<'_>) -> Result<Vec<u8>, String> {
    let answered = tokio::time::timeout(DEADLINE, send(address, ask)).await;
    let answer =
        answered.map_err(|_| "no response in time".to_owned())?.map_err(|error| error.to_string())?;
    let split =
        answer.windows(4).position(|end| end == b"\r\n\r\n").ok_or("the response has no end of headers")?;
    let head = String::from_utf8_lossy(&answer[..split]).to_lowercase();
    let status = head.split_whitespace().nth(1).unwrap_or_default().to_owned();
    if !status.starts_with('2') {
        return Err(format!("status {status}"));
    }
    let body = &answer[split + 4..];
    Ok(if head.contains("transfer-encoding: chunked") { decode_chunked(body) } else { body.to_vec() })
}

async fn send(address: SocketAddr, ask: HttpRequest<'_>) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(address).await?;
    let more = ask.header.map_or(String::new(), |line| format!("{line}\r\n"));
    let request = format!(
        "{} {} HTTP/1.1\r\nHost: localhost\r\n{more}Content-Length: 0\r\nConnection: close\r\n\r\n",
        ask.method, ask.path
    );
    stream.write_all(request.as_bytes()).await?;
    let (mut answer, mut stream) = (Vec::new(), stream.take(LIMIT));
    while !is_complete(&answer) {
        if stream.read_buf(&mut answer).await? == 0 {
            break;
        }
    }
    Ok(answer)
}

/// Returns whether a response is complete by its headers: some servers keep the connection open despite
/// `Connection: close`.
fn is_complete(answer: &[u8]) -> bool {
    let Some(split) = answer.windows(4).position(|end| end == b"\r\n\r\n") else { return false };
    let head = String::from_utf8_lossy(&answer[..split]).to_lowercase();
    let body = &answer[split + 4..];
    if head.contains("transfer-encoding: chunked") {
        return body.ends_with(b"0\r\n\r\n");
    }
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
    length.is_some_and(|length: usize| body.len() >= length)
}

/// Decodes a chunked body.
fn decode_chunked(mut rest: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    while let Some(end) = rest.windows(2).position(|end| end == b"\r\n") {
        let line = String::from_utf8_lossy(&rest[..end]);
        let length =
            usize::from_str_radix(line.split(';').next().unwrap_or_default().trim(), 16).unwrap_or(0);
        let Some(piece) = rest.get(end + 2..end + 2 + length).filter(|piece| !piece.is_empty()) else {
            break;
        };
        out.extend_from_slice(piece);
        rest = rest.get(end + 4 + length..).unwrap_or_default();
    }
    out
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::{HttpRequest, ask, decode_chunked};

    #[tokio::test]
    async fn answers_are_read_and_refusals_named() {
        for (answer, expected) in [
            ("HTTP/1.1 200 OK\r\n\r\nbody", Ok(b"body".to_vec())),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nbo\r\n2\r\ndy\r\n0\r\n\r\n",
                Ok(b"body".to_vec()),
            ),
            ("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody", Ok(b"body".to_vec())),
            ("HTTP/1.1 401 No\r\n\r\nbody", Err("status 401".to_owned())),
        ] {
            // With a known length, the client does not wait for the connection to close.
            let lasts = answer.contains("Content-Length") || answer.contains("chunked");
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("listens");
            let address = listener.local_addr().expect("an address");
            let server = async {
                let (mut stream, _) = listener.accept().await.expect("a client");
                let mut asked = [0; 1024];
                let read = stream.read(&mut asked).await.expect("reads");
                assert!(asked[..read].starts_with(b"GET /x HTTP/1.1\r\n"));
                stream.write_all(answer.as_bytes()).await.expect("writes");
                lasts.then_some(stream)
            };
            let (found, _open) = tokio::join!(ask(address, HttpRequest::get("/x")), server);
            assert_eq!(found, expected);
        }
        assert_eq!(decode_chunked(b"5\r\nab"), b"");
    }
}
