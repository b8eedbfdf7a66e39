//! Servers of the Model Context Protocol that contribute tools. A server is started when its tools are first asked
//! for, inside the trial's world, and ends with it; what runs on this machine itself must be allowed by name.

mod connect;
mod serve;
mod spec;

pub use connect::ConnectError;
pub use serve::{CallableTool, McpServers};
pub use spec::{McpServerSpec, Reach, SpecError, read_specs};
