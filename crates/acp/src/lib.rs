//! The wire of the Agent Client Protocol, version 1, for an agent and for its client: JSON-RPC 2.0, one message a line.
//!
//! It stands here and not on the crates `agent-client-protocol` 5.2.0 and `agent-client-protocol-schema` 1.20.0, because both turn
//! on `preserve_order` of `serde_json`, which cargo would turn on for the whole program and so reorder all JSON that it writes;
//! the first also reads lines and queues messages without a limit. What is on the wire is compared with the TypeScript SDK
//! (`scripts/conformance/acp`).

mod connection;
mod lines;
mod message;
mod words;

pub use connection::{Connection, ConnectionClosed, Inbox, PendingRequest, Writing, connect};
pub use lines::MAX_MESSAGE_BYTES;
pub use message::{Incoming, RequestId, RpcError};
pub use words::{
    ContentBlock, OptionKind, PROTOCOL_VERSION, PermissionOption, PermissionOutcome, StopReason,
    known_fields, method,
};
