//! Who is answered over HTTP, and with which headers.

use apprentice_viewer::{Library, Processes, Shown, ViewerToken, serve};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use crate::sample::Sample;

async fn ask(port: u16, head: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.expect("connects");
    stream.write_all(format!("{head}\r\nConnection: close\r\n\r\n").as_bytes()).await.expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("an answer");
    answer
}

#[tokio::test]
async fn only_the_holder_of_the_address_is_answered() {
    let sample = Sample::new();
    let library = Library::open(&sample.folder()).expect("opens");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let shown = Shown { library, processes: Processes::default() };
    let (token, cancel) = (ViewerToken::random(), CancellationToken::new());
    let serving = tokio::spawn(serve(listener, shown, token.clone(), cancel.clone()));
    let (token, host) = (token.as_str(), format!("Host: 127.0.0.1:{port}"));
    let wrong = ViewerToken::random();
    for (head, status) in [
        (format!("GET /{token}/ HTTP/1.1\r\n{host}"), 200),
        (format!("GET /{token}/viewer.css HTTP/1.1\r\n{host}"), 200),
        (format!("GET /{token}/api/grid HTTP/1.1\r\n{host}"), 200),
        (
            format!("GET /{token}/api/attempt/~/t1/1 HTTP/1.1\r\n{host}\r\nOrigin: http://127.0.0.1:{port}"),
            200,
        ),
        (format!("GET /{token}/api/attempt/~/t7/1 HTTP/1.1\r\n{host}"), 404),
        (format!("GET /{token}/../../etc/passwd HTTP/1.1\r\n{host}"), 404),
        (format!("GET /favicon.ico HTTP/1.1\r\n{host}"), 204),
        (format!("GET /api/grid HTTP/1.1\r\n{host}"), 401),
        (format!("GET /{}/api/grid HTTP/1.1\r\n{host}", wrong.as_str()), 401),
        (format!("GET /{token}/api/grid HTTP/1.1\r\nHost: rebound.example.org:{port}"), 403),
        (format!("GET /{token}/api/grid HTTP/1.1\r\n{host}\r\nOrigin: https://example.org"), 403),
        (format!("POST /{token}/api/grid HTTP/1.1\r\n{host}"), 405),
        (format!("GET /{token}/control/picture/1/t1 HTTP/1.1\r\n{host}"), 404),
        (format!("GET /{token}/control/order/1 HTTP/1.1\r\n{host}"), 405),
        (format!("POST /{token}/control/order/1 HTTP/1.1\r\n{host}\r\nContent-Type: text/plain"), 415),
        (format!("POST /{token}/control/order/1 HTTP/1.1\r\n{host}\r\nContent-Type: application/json"), 400),
        (
            format!(
                "POST /{token}/control/order/1 HTTP/1.1\r\n{host}\r\nOrigin: https://example.org\r\n\
                 Content-Type: application/json"
            ),
            403,
        ),
        (format!("POST /control/order/1 HTTP/1.1\r\n{host}\r\nContent-Type: application/json"), 401),
    ] {
        let answer = ask(port, &head).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{head}: {answer}");
        let lower = answer.to_lowercase();
        for header in [
            "content-security-policy: default-src 'none'; script-src 'self'",
            "referrer-policy: no-referrer",
            "x-frame-options: deny",
        ] {
            assert!(lower.contains(header), "{head} lacks {header}");
        }
    }
    cancel.cancel();
    serving.await.expect("no panic").expect("ends");
}
