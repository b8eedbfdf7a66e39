//! The tool servers that an editor gives to a session: Model Context Protocol servers, started on this machine, whose tools the
//! agent gets beside those of its world. Every agent must take servers on standard streams; servers over HTTP are for agents
//! that say so (`mcpCapabilities`), which this one does not.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use apprentice_acp::RpcError;
use apprentice_harness::tool::mcp::{CallableTool, McpServerSpec, McpServers, McpTransport};
use apprentice_protocol::{BoxFuture, Clock, StepRef, Tool, ToolOutcome, ToolSpec};
use serde::Deserialize;
use serde_json::Value;

use crate::process_env;

/// The longest name of a tool that OpenAI's and Anthropic's APIs take, in bytes.
const MAX_NAME_BYTES: usize = 64;

/// A server as the protocol describes it.
#[derive(Deserialize)]
struct Given {
    name: String,
    /// `http` or `sse`; a server on standard streams names none, or `stdio`.
    #[serde(rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    command: String,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: Vec<Variable>,
}

#[derive(Deserialize)]
struct Variable {
    name: String,
    value: String,
}

/// The servers of one session.
pub(super) struct ToolServers {
    servers: McpServers,
    names: Vec<String>,
}

impl ToolServers {
    /// Reads the list of `session/new`. Nothing is started.
    pub(super) fn read(list: &Value, cwd: &str, clock: &Arc<dyn Clock>) -> Result<Self, RpcError> {
        let list = list.as_array().ok_or_else(|| RpcError::invalid_params("mcpServers must be a list"))?;
        let (mut specs, mut names) = (BTreeMap::new(), Vec::new());
        for server in list {
            let given = Given::deserialize(server)
                .map_err(|error| RpcError::invalid_params(format!("mcpServers: {error}")))?;
            let Given { name, kind, command, args, env } = given;
            let refused =
                |why: &str| RpcError::invalid_params(format!("the tool server {name:?} is not taken: {why}"));
            if let Some(kind) = kind.filter(|kind| kind != "stdio") {
                let why =
                    format!("its type is {kind}, and mcpCapabilities says that only stdio is taken here");
                return Err(refused(&why));
            }
            if command.is_empty() {
                return Err(refused("it has no command"));
            }
            let spec = McpServerSpec {
                reach: McpTransport::Streams,
                argv: std::iter::once(command).chain(args).collect(),
                env: env.into_iter().map(|Variable { name, value }| (name, value)).collect(),
                cwd: Some(cwd.to_owned()),
            };
            if specs.insert(name.clone(), spec).is_some() {
                return Err(refused("another one has the same name"));
            }
            names.push(name);
        }
        let host = Some(process_env::inherited_by_servers());
        Ok(Self { servers: McpServers::new(Arc::new(specs), host, Arc::clone(clock)), names })
    }

    /// Starts all of them. Returns their tools, in the order in which the editor gave the servers, each named
    /// `SERVER_TOOL`; or why a server could not be started.
    pub(super) async fn tools(&self) -> Result<Vec<CallableTool>, String> {
        let (mut tools, mut taken) = (Vec::<CallableTool>::new(), BTreeSet::new());
        for server in &self.names {
            let of_server = self.servers.tools(server).await;
            for tool in of_server.map_err(|error| format!("the tool server {server:?}: {error}"))? {
                let name = name_of(server, &tool.spec().name);
                if !taken.insert(name.clone()) {
                    return Err(format!("two tools of the tool servers would be named {name}"));
                }
                let spec = ToolSpec { name, ..tool.spec().clone() };
                tools.push(Arc::new(NamedTool { spec, tool }));
            }
        }
        Ok(tools)
    }

    /// Ends all of them.
    pub(super) async fn leave(&self) {
        self.servers.leave().await;
    }
}

/// The name under which a model calls a tool, in the letters that all APIs take.
fn name_of(server: &str, tool: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' };
    let name: String = format!("{server}_{tool}").chars().map(plain).collect();
    name.chars().take(MAX_NAME_BYTES).collect()
}

/// A server's tool under a name of its own.
struct NamedTool {
    spec: ToolSpec,
    tool: CallableTool,
}

impl Tool for NamedTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, arguments: &'a Value, at: StepRef) -> BoxFuture<'a, ToolOutcome> {
        self.tool.call(arguments, at)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use apprentice_protocol::Clock;
    use apprentice_sandbox::SystemClock;
    use serde_json::json;

    use super::{ToolServers, name_of};

    #[test]
    fn servers_on_standard_streams_are_taken_and_others_refused_by_name() {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
        let read = |list: serde_json::Value| match ToolServers::read(&list, "/", &clock) {
            Ok(servers) => servers.names.join(" "),
            Err(error) => error.message,
        };
        let files = json!({ "name": "files", "command": "/bin/files", "args": ["-r"],
            "env": [{ "name": "A", "value": "1" }] });
        assert_eq!(read(json!([])), "");
        assert_eq!(
            read(json!([files, { "name": "b", "type": "stdio", "command": "b", "args": [], "env": [] }])),
            "files b"
        );
        for (list, words) in [
            (json!("files"), "must be a list"),
            (json!([files, files]), "\"files\" is not taken: another one has the same name"),
            (
                json!([{ "name": "far", "type": "http", "url": "http://a", "headers": [] }]),
                "\"far\" is not taken: its type is http",
            ),
            (json!([{ "name": "mute" }]), "\"mute\" is not taken: it has no command"),
            (json!([{ "command": "a" }]), "missing field `name`"),
        ] {
            let told = read(list);
            assert!(told.contains(words), "{told}");
        }
    }

    #[test]
    fn a_tools_name_is_what_all_apis_take() {
        assert_eq!(name_of("my files", "read.file"), "my_files_read_file");
        assert_eq!(name_of("s", &"x".repeat(100)).len(), 64);
    }
}
