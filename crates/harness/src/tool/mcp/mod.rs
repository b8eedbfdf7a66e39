//! Servers of the Model Context Protocol (MCP) that provide tools. A server starts inside the trial's world when its
//! tools are first requested, and ends with that world. Servers on this machine must be allowed explicitly.

mod connect;
mod serve;
mod spec;

pub use connect::{ConnectError, HostEnvironment};
pub use serve::{CallableTool, McpServers};
pub use spec::{McpServerSpec, McpTransport, SpecError, read_specs};
