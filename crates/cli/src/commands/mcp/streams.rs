//! The Model Context Protocol on this program's standard streams.

use std::path::Path;

use rmcp::service::DynService;
use rmcp::{RoleServer, ServiceExt as _};

use crate::failure::{Failure, Kind, WithKind as _};
use crate::terminal::bounded_stdin;
use tokio::net::UnixStream;

/// Answers a client on the standard streams until it leaves. The service is boxed, so that the protocol is compiled once.
pub(in crate::commands) async fn serve_streams(
    server: Box<dyn DynService<RoleServer>>,
) -> Result<(), Failure> {
    let (input, output) = rmcp::transport::stdio();
    let running = server.serve((bounded_stdin::bounded(input), output)).await.kind(Kind::Environment)?;
    running.waiting().await.kind(Kind::Bug)?;
    Ok(())
}

/// Passes the standard streams on to the server at a socket, until either side ends.
pub(super) async fn join_streams(socket: &Path) -> Result<(), Failure> {
    let stream = UnixStream::connect(socket).await.kind(Kind::Environment)?;
    let (mut read, mut write) = stream.into_split();
    let (mut input, mut output) = (tokio::io::stdin(), tokio::io::stdout());
    let there = async {
        tokio::io::copy(&mut input, &mut write).await?;
        tokio::io::AsyncWriteExt::shutdown(&mut write).await
    };
    let back = async { tokio::io::copy(&mut read, &mut output).await.map(drop) };
    let (mut there, mut back) = (std::pin::pin!(there), std::pin::pin!(back));
    let passed = tokio::select! {
        passed = &mut back => passed,
        // The server answers what it has heard, and then ends.
        passed = &mut there => match passed {
            Ok(()) => back.await,
            Err(error) => Err(error),
        },
    };
    passed.kind(Kind::Environment)
}
