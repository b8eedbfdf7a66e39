//! Reads the `mcpServers` file, the format that MCP clients share.

use std::collections::BTreeMap;

use reqwest::Url;
use serde::Deserialize;

/// The definition of one server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpServerSpec {
    /// The transport.
    pub reach: McpTransport,
    /// Program and arguments. With an HTTP transport, the program is started before the address is contacted.
    pub argv: Vec<String>,
    /// Environment variables added to those of the world or machine it starts in.
    pub env: Vec<(String, String)>,
    /// Working directory of the program.
    pub cwd: Option<String>,
}

/// The transport of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum McpTransport {
    /// The standard streams of the started program.
    Streams,
    /// Streamable HTTP. A loopback address is one inside the world.
    Http(Url),
}

/// A servers file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SpecError {
    /// It is not JSON of the known form.
    #[error(
        "the file is not a list of servers: {{\"mcpServers\": {{NAME: {{\"command\": …}} or {{\"url\": …}}}}}}"
    )]
    Form(#[from] serde_json::Error),
    /// A server has neither a command nor a URL. Holds the server's name.
    #[error("server {0:?} has neither a `command` nor a `url`")]
    NoTransport(String),
    /// An address is not an HTTP URL.
    #[error("server {name:?}: {url:?} is not an HTTP URL")]
    Address {
        /// The server's name.
        name: String,
        /// The rejected address.
        url: String,
    },
}

#[derive(Deserialize)]
struct File {
    #[serde(rename = "mcpServers")]
    servers: BTreeMap<String, Entry>,
}

/// Keys of other clients, such as `type` or `disabledTools`, are ignored.
#[derive(Deserialize)]
struct Entry {
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    cwd: Option<String>,
    url: Option<String>,
}

/// Parses a servers file into definitions by server name.
pub fn read_specs(text: &str) -> Result<BTreeMap<String, McpServerSpec>, SpecError> {
    let file: File = serde_json::from_str(text)?;
    file.servers.into_iter().map(|(name, entry)| Ok((name.clone(), entry.into_spec(name)?))).collect()
}

impl Entry {
    fn into_spec(self, name: String) -> Result<McpServerSpec, SpecError> {
        let reach = match self.url {
            None if self.command.is_none() => return Err(SpecError::NoTransport(name)),
            None => McpTransport::Streams,
            Some(url) => match Url::parse(&url).ok().filter(|url| matches!(url.scheme(), "http" | "https")) {
                Some(address) => McpTransport::Http(address),
                None => return Err(SpecError::Address { name, url }),
            },
        };
        let argv = self.command.into_iter().chain(self.args).collect();
        Ok(McpServerSpec { reach, argv, env: self.env.into_iter().collect(), cwd: self.cwd })
    }
}

#[cfg(test)]
mod tests {
    use super::{McpTransport, read_specs};

    #[test]
    fn the_file_of_other_clients_is_read() {
        let text = r#"{"mcpServers": {
            "files": {"type": "stdio", "command": "files", "args": ["--root", "/home/user"], "env": {"A": "1"}},
            "web": {"type": "http", "url": "http://127.0.0.1:8000/mcp"}
        }}"#;
        let specs = read_specs(text).expect("reads");
        assert_eq!(specs["files"].argv, ["files", "--root", "/home/user"]);
        assert_eq!(specs["files"].env, [("A".to_owned(), "1".to_owned())]);
        assert!(matches!(&specs["web"].reach, McpTransport::Http(url) if url.port() == Some(8000)));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let check = |text: &str, expected: &str| {
            let said = read_specs(text).expect_err("is wrong").to_string();
            assert!(said.contains(expected), "{said}");
        };
        check(r#"{"mcpServers": {"a": {}}}"#, "server \"a\" has neither");
        check(r#"{"mcpServers": {"a": {"url": "ftp://a"}}}"#, "\"ftp://a\" is not an HTTP URL");
        check(r#"{"servers": {}}"#, "not a list of servers");
    }
}
