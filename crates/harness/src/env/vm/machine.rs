//! The [`Machine`] port over the server protocol.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use apprentice_protocol::{
    BoxFuture, Capability, ChildProcess, Command, DirEntry, EntryKind, Image, Machine, MachineError,
    MachineInfo, Output, PortForward, Size, TreeBudget, TruncationCause, UiTree, Window,
};
use serde_json::Value;

use super::document;
use super::server::{Executed, Server};
use super::silent_menus::{self, MenuItem};
use super::tree::{self, ElementRefs};
use super::windows;

/// The server's own command timeout.
const SERVER_TIMEOUT: Duration = Duration::from_secs(120);
/// Time allowed for an answer beyond the command's deadline.
const REPLY_MARGIN: Duration = Duration::from_secs(30);
/// Exit code of `timeout` when it ended the command.
const TIMED_OUT: i32 = 124;
/// Exit code of `env` when the program does not exist.
const NO_PROGRAM: i32 = 127;

/// A machine as setup and checks see it.
pub(super) struct VmMachine {
    server: Arc<Server>,
    names: Arc<Mutex<ElementRefs>>,
    offers: MachineInfo,
    /// Numbers the files that hold commands' standard input.
    inputs: AtomicU64,
}

impl VmMachine {
    pub(super) fn new(
        server: Arc<Server>,
        names: Arc<Mutex<ElementRefs>>,
        home: String,
        screen: Size,
    ) -> Self {
        let capabilities = [
            Capability::Files,
            Capability::Commands,
            Capability::Tree,
            Capability::Screenshots,
            Capability::Windows,
            Capability::Ports,
        ];
        let offers =
            MachineInfo { capabilities: capabilities.into_iter().collect(), home, screen: Some(screen) };
        Self { server, names, offers, inputs: AtomicU64::new(0) }
    }

    /// Runs a command directly, within the server's own timeout.
    async fn plain(&self, words: &[String]) -> Result<Output, MachineError> {
        Ok(output(self.server.execute(words, SERVER_TIMEOUT + REPLY_MARGIN).await?))
    }

    /// Runs a command with features that the server lacks: a working directory, variables, standard input, a deadline.
    async fn run_with_env(&self, command: &Command) -> Result<Output, MachineError> {
        let time = Duration::from_millis(command.timeout_ms).min(SERVER_TIMEOUT);
        let limited = time < SERVER_TIMEOUT;
        let mut words = Vec::new();
        if limited {
            let seconds = format!("{}.{:03}", time.as_secs(), time.subsec_millis());
            words.extend(["timeout", "-k", "2"].map(str::to_owned));
            words.push(seconds);
        }
        words.extend(env_command(command));
        let input = if command.stdin.is_empty() { None } else { Some(self.put(&command.stdin).await?) };
        if let Some(path) = &input {
            let line = "f=$1; shift; \"$@\" <\"$f\"; c=$?; rm -f \"$f\"; exit $c";
            let shell = ["sh", "-c", line, "sh", path].map(str::to_owned);
            words.splice(0..0, shell);
        }
        words.extend(command.argv.iter().cloned());
        let mut output = output(self.server.execute(&words, time + REPLY_MARGIN).await?);
        output.timed_out = limited && output.code == TIMED_OUT;
        let program = command.argv.first().map_or("", String::as_str);
        let said = String::from_utf8_lossy(&output.stderr);
        if output.code == NO_PROGRAM && said.contains("No such file or directory") && said.contains(program) {
            return Err(MachineError::MissingProgram(program.to_owned()));
        }
        Ok(output)
    }

    /// The items of open menus that the server lists without a place; `None` if the machine's Python cannot tell them.
    async fn silent_menus(&self) -> Result<Option<Vec<MenuItem>>, MachineError> {
        let output = self.plain(&["python", "-c", silent_menus::SCRIPT].map(str::to_owned)).await?;
        Ok(serde_json::from_slice(&output.stdout).ok().filter(|_| output.code == 0))
    }

    async fn put(&self, bytes: &[u8]) -> Result<String, MachineError> {
        let number = self.inputs.fetch_add(1, Ordering::Relaxed);
        let path = format!("/tmp/.apprentice-input-{number}");
        self.server.write(&path, bytes).await?;
        Ok(path)
    }
}

/// An `env` command line with the directory and variables of a command. It also detects a program that does not exist.
fn env_command(command: &Command) -> Vec<String> {
    let mut words = vec!["env".to_owned()];
    if let Some(folder) = &command.cwd {
        words.extend(["-C".to_owned(), folder.clone()]);
    }
    words.extend(command.env.iter().map(|(name, value)| format!("{name}={value}")));
    words
}

fn output(executed: Executed) -> Output {
    let Executed { output, error, returncode } = executed;
    // The server reports the number of a signal as a negative code.
    let code = if returncode < 0 { 128 - returncode } else { returncode };
    Output { code, stdout: output.into_bytes(), stderr: error.into_bytes(), timed_out: false, cut: false }
}

/// Truncates the output to a limit.
fn cut(mut output: Output, limit: u64) -> Output {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    for stream in [&mut output.stdout, &mut output.stderr] {
        output.cut |= stream.len() > limit;
        stream.truncate(limit);
    }
    output
}

/// Collects the entries below a folder from the server's tree, which has no sizes.
fn entries(tree: &Value, above: &str, found: &mut Vec<DirEntry>) {
    for child in tree.get("children").and_then(Value::as_array).into_iter().flatten() {
        let name = child.get("name").and_then(Value::as_str).unwrap_or_default();
        let path = if above.is_empty() { name.to_owned() } else { format!("{above}/{name}") };
        let kind = match child.get("type").and_then(Value::as_str) {
            Some("directory") => EntryKind::Directory,
            Some("file") => EntryKind::File,
            Some(_) | None => EntryKind::Other,
        };
        found.push(DirEntry { path: path.clone(), kind, size: 0 });
        entries(child, &path, found);
    }
}

impl Machine for VmMachine {
    fn offers(&self) -> &MachineInfo {
        &self.offers
    }

    fn read<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Vec<u8>, MachineError>> {
        Box::pin(self.server.read(path))
    }

    fn write<'a>(&'a self, path: &'a str, bytes: &'a [u8]) -> BoxFuture<'a, Result<(), MachineError>> {
        Box::pin(self.server.write(path, bytes))
    }

    fn list<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Vec<DirEntry>, MachineError>> {
        Box::pin(async move {
            let missing = || MachineError::NotFound(path.to_owned());
            let tree = self.server.list(path).await?.ok_or_else(missing)?;
            let mut found = Vec::new();
            entries(&tree, "", &mut found);
            found.sort_by(|one, other| one.path.cmp(&other.path));
            Ok(found)
        })
    }

    fn remove<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<(), MachineError>> {
        Box::pin(async move {
            let words = ["rm", "-r", "--", path].map(str::to_owned);
            let output = self.plain(&words).await?;
            let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            match output.code {
                0 => Ok(()),
                _ if why.contains("No such file or directory") => {
                    Err(MachineError::NotFound(path.to_owned()))
                }
                _ => Err(MachineError::Refused { what: path.to_owned(), why }),
            }
        })
    }

    fn run<'a>(&'a self, command: &'a Command) -> BoxFuture<'a, Result<Output, MachineError>> {
        Box::pin(async move {
            let long = Duration::from_millis(command.timeout_ms) >= SERVER_TIMEOUT;
            let bare = command.cwd.is_none() && command.env.is_empty() && command.stdin.is_empty();
            let output = if long && bare {
                self.plain(&command.argv).await?
            } else {
                self.run_with_env(command).await?
            };
            Ok(cut(output, command.output_limit))
        })
    }

    fn spawn<'a>(
        &'a self,
        _command: &'a Command,
    ) -> BoxFuture<'a, Result<Box<dyn ChildProcess>, MachineError>> {
        Box::pin(std::future::ready(Err(MachineError::Unsupported(Capability::Processes))))
    }

    fn launch<'a>(&'a self, command: &'a Command) -> BoxFuture<'a, Result<(), MachineError>> {
        Box::pin(async move {
            if command.cwd.is_none() && command.env.is_empty() {
                return self.server.launch(&command.argv).await;
            }
            let words: Vec<String> =
                env_command(command).into_iter().chain(command.argv.iter().cloned()).collect();
            self.server.launch(&words).await
        })
    }

    fn tree<'a>(&'a self, budget: &'a TreeBudget) -> BoxFuture<'a, Result<UiTree, MachineError>> {
        Box::pin(async move {
            let xml = match self.server.tree().await {
                // Some programs' trees take minutes there. The world is still usable.
                Err(MachineError::TimedOut(_)) => {
                    return Ok(UiTree { truncated: Some(TruncationCause::Time), ..UiTree::default() });
                }
                other => other?,
            };
            let refused = |why: String| MachineError::Refused { what: "the interface tree".into(), why };
            let document = document::parse(&xml).map_err(refused)?;
            let menus = match silent_menus::may_be_open(&document) {
                true => self.silent_menus().await?,
                false => Some(Vec::new()),
            };
            let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
            let mut tree = tree::read(&document, menus.as_deref().unwrap_or_default(), budget, &mut names);
            if menus.is_none() {
                // A menu may be open whose items are not known.
                tree.truncated = tree.truncated.or(Some(TruncationCause::Time));
            }
            Ok(tree)
        })
    }

    fn tree_document(&self) -> BoxFuture<'_, Result<Option<String>, MachineError>> {
        Box::pin(async move { self.server.tree().await.map(Some) })
    }

    fn screenshot(&self) -> BoxFuture<'_, Result<Image, MachineError>> {
        Box::pin(self.server.screenshot())
    }

    fn windows(&self) -> BoxFuture<'_, Result<Vec<Window>, MachineError>> {
        Box::pin(async move {
            let words = ["sh", "-c", windows::LINE].map(str::to_owned);
            let output = self.plain(&words).await?;
            if output.code == NO_PROGRAM {
                return Err(MachineError::MissingProgram("wmctrl".into()));
            }
            Ok(windows::read(&String::from_utf8_lossy(&output.stdout)))
        })
    }

    fn dial(&self, port: u16) -> BoxFuture<'_, Result<PortForward, MachineError>> {
        Box::pin(async move {
            let place = self.server.place();
            let refused = |why: String| MachineError::Refused {
                what: format!("port {port} of the machine at {place}"),
                why,
            };
            let outside = place.port(port).ok_or_else(|| refused("it is not published".into()))?;
            let found = tokio::net::lookup_host((place.host(), outside)).await;
            let mut found = found.map_err(|error| refused(error.to_string()))?;
            let address: SocketAddr =
                found.next().ok_or_else(|| refused("the host has no address".into()))?;
            Ok(PortForward { address, guard: Box::new(()) })
        })
    }
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::{Command, EntryKind};
    use serde_json::json;

    use super::{Executed, cut, entries, env_command, output};

    #[test]
    fn what_a_command_left_is_read() {
        let left = output(Executed { output: "abcdef".into(), error: "x".into(), returncode: -9 });
        assert_eq!(left.code, 137);
        let left = cut(left, 3);
        assert_eq!(
            (left.stdout.as_slice(), left.stderr.as_slice(), left.cut),
            (&b"abc"[..], &b"x"[..], true)
        );
        let command = Command {
            cwd: Some("/tmp".into()),
            env: vec![("A".into(), "b c".into())],
            ..Command::new(["x"])
        };
        assert_eq!(env_command(&command), ["env", "-C", "/tmp", "A=b c"]);
    }

    #[test]
    fn a_folders_tree_becomes_a_list() {
        let tree = json!({"type": "directory", "name": "home", "children": [
            {"type": "directory", "name": "a", "children": [{"type": "file", "name": "x.txt"}]},
            {"type": "file", "name": "b.txt"}]});
        let mut found = Vec::new();
        entries(&tree, "", &mut found);
        let told: Vec<(&str, EntryKind)> = found.iter().map(|one| (one.path.as_str(), one.kind)).collect();
        assert_eq!(
            told,
            [("a", EntryKind::Directory), ("a/x.txt", EntryKind::File), ("b.txt", EntryKind::File)]
        );
    }
}
