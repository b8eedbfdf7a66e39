//! `apprentice queue --metrics`: serves the state of a queue to a monitoring system.

use std::net::SocketAddr;
use std::sync::Arc;

use apprentice_fleet::Queue;

use crate::failure::{Failure, Kind, WithKind as _};
use crate::{terminal, wire};

/// Serves metrics until the command is interrupted.
pub(super) async fn serve(queue: Queue, address: SocketAddr) -> Result<(), Failure> {
    let listener = tokio::net::TcpListener::bind(address).await;
    let listener = listener
        .map_err(|error| Failure::say(Kind::Environment, format!("cannot listen at {address}: {error}")))?;
    let address = listener.local_addr().kind(Kind::Environment)?;
    terminal::line(format_args!("http://{address}/metrics"));
    let interrupted = wire::cancel_on_interrupt();
    apprentice_fleet::serve_metrics(Arc::new(queue), listener, interrupted).await.kind(Kind::Environment)
}
