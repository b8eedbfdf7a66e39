//! The Model Context Protocol on this program's standard streams.

use rmcp::service::DynService;
use rmcp::{RoleServer, ServiceExt as _};

use crate::failure::{Failure, Kind, WithKind as _};
use crate::terminal::bounded_stdin;

/// Answers a client on the standard streams until it leaves. The service is boxed, so that the protocol is compiled once.
pub(in crate::commands) async fn serve_streams(
    server: Box<dyn DynService<RoleServer>>,
) -> Result<(), Failure> {
    let (input, output) = rmcp::transport::stdio();
    let running = server.serve((bounded_stdin::bounded(input), output)).await.kind(Kind::Environment)?;
    running.waiting().await.kind(Kind::Bug)?;
    Ok(())
}
