//! The proxy: requests of programs in the cell, and connections of this process.

use std::convert::Infallible;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use apprentice_protocol::{AllowedHost, Clock, ConnectionOutcome, ConnectionRecord, Why};
use http_body_util::{Either, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONNECTION, HOST, HeaderMap, HeaderName, HeaderValue};
use hyper::http::uri::PathAndQuery;
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::io::{InspectReader, InspectWriter};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::connection_log::ConnectionLog;
use super::outbound::{NoConnection, connect};

/// Connections that one cell may have open. A browser opens some hundred at most.
const OPEN: usize = 256;
/// The pause after a connection that could not be accepted.
const REFUSED_PAUSE: Duration = Duration::from_millis(100);
/// How long a program may take to send the head of a request.
const HEAD: Duration = Duration::from_secs(30);
/// How long a host may take to begin its answer.
const ANSWER: Duration = Duration::from_secs(120);

/// Headers between two neighbours, which are not passed on (RFC 9110, 7.6.1).
const BETWEEN_NEIGHBOURS: [&str; 8] = [
    "connection",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Characters of a host that are recorded: no name is longer (RFC 1035).
const LONGEST_NAME: usize = 255;

type Answer = Response<Either<Full<Bytes>, Incoming>>;

/// A running proxy. Dropping it ends its connections.
#[derive(Debug)]
pub(crate) struct Proxy {
    log: Arc<ConnectionLog>,
    _end: DropGuard,
}

/// What each connection of the proxy needs.
#[derive(Clone)]
struct Shared {
    allowed: Arc<[AllowedHost]>,
    log: Arc<ConnectionLog>,
    clock: Arc<dyn Clock>,
    end: CancellationToken,
    /// The place of this connection among those that are open; a tunnel keeps it until it ends.
    _permit: Option<Arc<OwnedSemaphorePermit>>,
}

impl Proxy {
    /// Serves a listening socket of the cell.
    pub(crate) fn serve(
        listener: OwnedFd,
        allowed: Vec<AllowedHost>,
        clock: Arc<dyn Clock>,
    ) -> io::Result<Self> {
        let listener = std::net::TcpListener::from(listener);
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let (log, end) = (Arc::new(ConnectionLog::default()), CancellationToken::new());
        let shared =
            Shared { allowed: allowed.into(), log: log.clone(), clock, end: end.clone(), _permit: None };
        tokio::spawn(end.clone().run_until_cancelled_owned(accept(listener, shared)));
        Ok(Self { log, _end: end.drop_guard() })
    }

    /// The connections that programs have asked for.
    pub(crate) fn log(&self) -> &ConnectionLog {
        &self.log
    }
}

async fn accept(listener: TcpListener, shared: Shared) {
    let open = Arc::new(Semaphore::new(OPEN));
    loop {
        let Ok(permit) = open.clone().acquire_owned().await else { return };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Errors of a connection that ended before it was accepted; the listener lives as long as its descriptor.
                tracing::debug!(%error, "a connection to the proxy of a cell was not accepted");
                // It may also be that this process has no descriptor left; asking again at once would only spin.
                shared.clock.pause(REFUSED_PAUSE, Why::Backoff).await;
                continue;
            }
        };
        let shared = Shared { _permit: Some(Arc::new(permit)), ..shared.clone() };
        tokio::spawn(async move {
            let end = shared.end.clone();
            end.run_until_cancelled(serve(stream, &shared)).await;
        });
    }
}

/// Serves the requests of one connection of a program.
async fn serve(stream: TcpStream, shared: &Shared) {
    let service = hyper::service::service_fn(|request| answer(request, shared));
    let mut server = hyper::server::conn::http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(HEAD);
    let served = server.serve_connection(TokioIo::new(stream), service).with_upgrades().await;
    if let Err(error) = served {
        tracing::debug!(%error, "a connection to the proxy of a cell broke");
    }
}

async fn answer(request: Request<Incoming>, shared: &Shared) -> Result<Answer, Infallible> {
    let tunnel = request.method() == Method::CONNECT;
    let target = target(request.uri(), tunnel);
    let begun = shared.clock.mono();
    let connected = match &target {
        Ok((host, port)) => connect(&shared.allowed, host, *port).await,
        Err(why) => Err(NoConnection::Refused((*why).to_owned())),
    };
    let took = shared.clock.mono().saturating_sub(begun).as_millis();
    let outcome = match &connected {
        Ok(stream) => {
            ConnectionOutcome::Connected { address: stream.peer_addr().ok().map(|at| at.to_string()) }
        }
        Err(none) => none.outcome(),
    };
    let (host, port) = target.unwrap_or_else(|_| (request.uri().to_string(), 0));
    let host = host.chars().take(LONGEST_NAME).collect();
    let took_ms = u64::try_from(took).unwrap_or(u64::MAX);
    shared.log.add(ConnectionRecord { host, port, tunnel, outcome, took_ms });
    Ok(match connected {
        Ok(stream) if tunnel => {
            carry_tunnel(request, stream, shared.clone());
            Response::new(Either::Left(Full::default()))
        }
        Ok(stream) => forward(request, stream, shared).await,
        Err(NoConnection::Refused(why)) => told(StatusCode::FORBIDDEN, why),
        Err(NoConnection::Failed(why)) => told(StatusCode::BAD_GATEWAY, why),
    })
}

/// An answer of the proxy itself.
fn told(status: StatusCode, why: String) -> Answer {
    let mut answer = Response::new(Either::Left(Full::from(why + "\n")));
    *answer.status_mut() = status;
    answer
        .headers_mut()
        .insert(hyper::header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    answer
}

/// The host and the port that a request asks for.
fn target(uri: &Uri, tunnel: bool) -> Result<(String, u16), &'static str> {
    let authority = uri.authority().ok_or("the request names no host")?;
    let port = match (tunnel, uri.scheme_str()) {
        (true, _) => authority.port_u16().ok_or("a tunnel needs a port")?,
        (false, Some("http")) => authority.port_u16().unwrap_or(80),
        (false, _) => return Err("pages without encryption are asked for by http:// alone"),
    };
    if authority.as_str().contains('@') {
        return Err("an address with a user name is not carried");
    }
    Ok((authority.host().to_owned(), port))
}

/// Carries a tunnel's bytes once the program has been told that it is open.
fn carry_tunnel(request: Request<Incoming>, outside: TcpStream, shared: Shared) {
    tokio::spawn(async move {
        let carry = async {
            let Ok(inside) = hyper::upgrade::on(request).await else { return };
            let mut outside = counted(outside, shared.log.clone());
            // Each end sees a failure of the other as the end of the stream.
            let _ = tokio::io::copy_bidirectional(&mut TokioIo::new(inside), &mut outside).await;
        };
        shared.end.run_until_cancelled(carry).await;
    });
}

/// Passes a request for one page on, and its answer back.
async fn forward(mut request: Request<Incoming>, outside: TcpStream, shared: &Shared) -> Answer {
    let host = request.uri().authority().map(ToString::to_string).unwrap_or_default();
    let path = request.uri().path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
    *request.uri_mut() = Uri::from(path);
    strip(request.headers_mut());
    if let Ok(host) = HeaderValue::from_str(&host) {
        request.headers_mut().insert(HOST, host);
    }
    let stream = TokioIo::new(counted(outside, shared.log.clone()));
    let answered = tokio::time::timeout(ANSWER, async {
        let (mut sender, connection) = hyper::client::conn::http1::handshake(stream).await?;
        let end = shared.end.clone();
        tokio::spawn(async move {
            // The answer's reader gets the error, if there is one.
            let _ = end.run_until_cancelled(connection).await;
        });
        sender.send_request(request).await
    });
    match answered.await {
        Ok(Ok(mut answer)) => {
            strip(answer.headers_mut());
            answer.map(Either::Right)
        }
        Ok(Err(error)) => told(StatusCode::BAD_GATEWAY, error.to_string()),
        Err(_) => told(StatusCode::GATEWAY_TIMEOUT, format!("no answer within {} s", ANSWER.as_secs())),
    }
}

/// Removes the headers that are meant for the neighbour alone.
fn strip(headers: &mut HeaderMap) {
    let listed: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in listed {
        headers.remove(name);
    }
    for name in BETWEEN_NEIGHBOURS {
        headers.remove(name);
    }
}

/// A stream whose bytes are counted.
fn counted(stream: TcpStream, log: Arc<ConnectionLog>) -> impl AsyncRead + AsyncWrite + Unpin {
    let of_reads = log.clone();
    let stream = InspectReader::new(stream, move |bytes: &[u8]| of_reads.add_received(bytes.len()));
    InspectWriter::new(stream, move |bytes: &[u8]| log.add_sent(bytes.len()))
}
