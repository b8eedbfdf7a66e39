//! Getters for the machine's files, commands, folders and windows.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use apprentice_metrics::{Compat, EvidenceValue, FileRef, is_truthy};
use apprentice_protocol::{Command, DirEntry, EntryKind, MachineError};
use serde_json::{Value, json};

use super::delayed_write;
use super::output::{GetterOutput, machine_error, required_str};
use crate::check::collect_context::{CollectContext, CollectError};
use crate::task::{SuiteFileError, read_beneath};
use crate::world_io::{CommandText, argv, at_home};

/// Upstream's time limit for a command.
const COMMAND_DEADLINE: Duration = Duration::from_secs(120);

/// A command's output stream.
#[derive(Clone, Copy)]
pub(super) enum Stream {
    Output,
    Errors,
}

/// Returns a file, or several with `multi`, of which `gives` selects those passed to the metric.
pub(super) async fn vm_file(
    spec: &Value,
    context: &CollectContext<'_>,
) -> Result<GetterOutput, CollectError> {
    let wrong =
        |problem: &str| CollectError::Parameters { getter: "vm_file".into(), problem: problem.into() };
    if !spec.get("multi").is_some_and(is_truthy) {
        let path = required_str(spec, "vm_file", "path")?;
        let name = spec.get("dest").and_then(Value::as_str).unwrap_or(path);
        return Ok(one_file(path, name, context).await?.of(path));
    }
    let list =
        |field: &str| spec.get(field).and_then(Value::as_array).ok_or_else(|| wrong("`multi` needs lists"));
    let (paths, names) = (list("path")?, list("dest")?);
    let mut gives: Vec<usize> = match spec.get("gives").and_then(Value::as_array) {
        Some(gives) => {
            gives.iter().filter_map(Value::as_u64).filter_map(|at| usize::try_from(at).ok()).collect()
        }
        None => vec![0],
    };
    // `gives` is a set: the metric gets the files in their own order.
    gives.sort_unstable();
    gives.dedup();
    if gives.iter().any(|at| *at >= paths.len().min(names.len())) {
        return Err(wrong("`gives` is out of range"));
    }
    // All files are fetched, because a metric may look up companions of its own files.
    let (mut files, mut beside) = (vec![None; gives.len()], Vec::new());
    for (at, (path, name)) in paths.iter().zip(names).enumerate() {
        let (path, name) = (path.as_str().unwrap_or_default(), name.as_str().unwrap_or_default());
        let file = read(path, name, context).await?;
        match gives.binary_search(&at) {
            Ok(place) => files[place] = file.ok(),
            Err(_) => beside.extend(file.ok()),
        }
    }
    Ok(GetterOutput::found(EvidenceValue::Files { files, beside }))
}

async fn one_file(
    path: &str,
    name: &str,
    context: &CollectContext<'_>,
) -> Result<GetterOutput, CollectError> {
    Ok(match read(path, name, context).await? {
        Ok(file) => GetterOutput::found(EvidenceValue::files_of(vec![Some(file)])),
        Err(why) => GetterOutput::absent(why),
    })
}

/// Reads a file, or returns the reason why it cannot be judged. A folder, a pipe, or an oversized or unreadable file
/// is a state of the machine, not an error of it.
async fn read(
    path: &str,
    name: &str,
    context: &CollectContext<'_>,
) -> Result<Result<FileRef, String>, CollectError> {
    let place = at_home(context.machine, path);
    delayed_write::await_written(&place, context).await?;
    match bytes(&place, context).await {
        Ok(Some(bytes)) => Ok(Ok(FileRef::new(name, bytes))),
        Ok(None) => Ok(Err(format!("{path} does not exist"))),
        Err(CollectError::Machine { source: MachineError::Refused { why, .. }, .. }) => {
            Ok(Err(format!("{path} cannot be read: {why}")))
        }
        Err(error) => Err(error),
    }
}

async fn bytes(place: &str, context: &CollectContext<'_>) -> Result<Option<Vec<u8>>, CollectError> {
    match context.machine.read(place).await {
        Ok(bytes) => Ok(Some(bytes)),
        Err(MachineError::NotFound(_)) => Ok(None),
        Err(source) => Err(CollectError::Machine { getter: "vm_file".into(), source }),
    }
}

/// Reads a file of the suite's own folder.
pub(super) async fn local(path: &str, context: &CollectContext<'_>) -> Result<Vec<u8>, CollectError> {
    let getter = || "cloud_file".to_owned();
    read_beneath(context.suite_root, Path::new(path)).await.map_err(|error| match error {
        SuiteFileError::Outside(_) => {
            CollectError::Parameters { getter: getter(), problem: error.to_string() }
        }
        error => CollectError::Missing { getter: getter(), what: error.to_string() },
    })
}

/// Returns a file below the home folder: `file_name` inside one of the folders, or the path itself. The first path
/// that exists wins.
pub(super) async fn config_file(
    spec: &Value,
    places: &[&str],
    context: &CollectContext<'_>,
) -> Result<GetterOutput, CollectError> {
    let path = |place: &str| match spec.get("file_name").and_then(Value::as_str) {
        Some(name) => format!("~/{place}/{name}"),
        None => format!("~/{place}"),
    };
    let mut missing = Vec::new();
    for path in places.iter().map(|place| path(place)) {
        match read(&path, &path, context).await? {
            Ok(file) => {
                return Ok(GetterOutput::found(EvidenceValue::files_of(vec![Some(file)])).of(path));
            }
            Err(why) => missing.push(why),
        }
    }
    Ok(GetterOutput::absent(missing.join("; ")))
}

/// Returns a file saved by an `execute` step, which must exist.
pub(super) async fn cache_file(
    spec: &Value,
    context: &CollectContext<'_>,
) -> Result<GetterOutput, CollectError> {
    let name = required_str(spec, "cache_file", "path")?;
    let missing =
        || CollectError::Missing { getter: "cache_file".into(), what: format!("the saved file {name:?}") };
    let file = Path::new(name).file_name().ok_or_else(missing)?;
    let bytes = tokio::fs::read(context.cache_dir.join(file)).await.map_err(|_| missing())?;
    let files = vec![Some(FileRef::new(name, bytes))];
    Ok(GetterOutput::found(EvidenceValue::files_of(files)).of(name))
}

/// Runs a command and returns its output as text, whatever its exit code.
pub(super) async fn command(
    spec: &Value,
    context: &CollectContext<'_>,
    stream: Stream,
) -> Result<GetterOutput, CollectError> {
    let getter = match stream {
        Stream::Output => "vm_command_line",
        Stream::Errors => "vm_command_error",
    };
    let wrong = |problem: String| CollectError::Parameters { getter: getter.into(), problem };
    let text: CommandText = serde_json::from_value(spec.get("command").cloned().unwrap_or_default())
        .map_err(|_| wrong("\"command\" must be a string or a list".into()))?;
    let shell = spec.get("shell").is_some_and(is_truthy);
    let words = argv(&text, shell).ok_or_else(|| wrong(format!("{text:?} cannot be split into words")))?;
    let words: Vec<String> = words.into_iter().map(|word| at_home(context.machine, &word)).collect();
    let shown = words.join(" ");
    let output = match context.machine.run(&Command::new(words).within(COMMAND_DEADLINE).apart()).await {
        Err(error @ (MachineError::TimedOut(_) | MachineError::MissingProgram(_))) => {
            return Ok(GetterOutput::absent(error.to_string()).of(shown));
        }
        other => other.map_err(machine_error(getter))?,
    };
    if output.timed_out {
        return Ok(GetterOutput::absent("the command did not end in time").of(shown));
    }
    let bytes = match stream {
        Stream::Output => &output.stdout,
        Stream::Errors => &output.stderr,
    };
    let mut look = GetterOutput::value(String::from_utf8_lossy(bytes).into_owned()).of(shown);
    look.code = Some(output.code);
    let errors = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    look.errors = Some(errors).filter(|errors| !errors.is_empty());
    Ok(look)
}

/// Returns a folder as a tree of `{type, name, children}`.
pub(super) async fn list_directory(
    spec: &Value,
    context: &CollectContext<'_>,
) -> Result<GetterOutput, CollectError> {
    let path = required_str(spec, "list_directory", "path")?;
    match context.machine.list(&at_home(context.machine, path)).await {
        Ok(entries) => Ok(GetterOutput::value(folder_tree(path, &entries)).of(path)),
        Err(MachineError::NotFound(_)) => Ok(GetterOutput::absent(format!("{path} does not exist")).of(path)),
        Err(MachineError::Refused { why, .. }) => {
            Ok(GetterOutput::absent(format!("{path} cannot be listed: {why}")).of(path))
        }
        Err(source) => Err(CollectError::Machine { getter: "list_directory".into(), source }),
    }
}

fn folder_tree(path: &str, entries: &[DirEntry]) -> Value {
    let mut children: BTreeMap<&str, Vec<&DirEntry>> = BTreeMap::new();
    for entry in entries {
        let parent = entry.path.rsplit_once('/').map_or("", |(parent, _)| parent);
        children.entry(parent).or_default().push(entry);
    }
    fn below(folder: &str, children: &BTreeMap<&str, Vec<&DirEntry>>) -> Vec<Value> {
        let list = children.get(folder).map(Vec::as_slice).unwrap_or_default();
        let node = |entry: &&DirEntry| {
            let name = last_part(&entry.path);
            match entry.kind {
                EntryKind::Directory => {
                    json!({"type": "directory", "name": name, "children": below(&entry.path, children)})
                }
                EntryKind::File | EntryKind::Link | EntryKind::Other => json!({"type": "file", "name": name}),
            }
        };
        list.iter().map(node).collect()
    }
    json!({"type": "directory", "name": last_part(path), "children": below("", &children)})
}

fn last_part(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or(path)
}

pub(super) fn screen_size(context: &CollectContext<'_>) -> Result<GetterOutput, CollectError> {
    let missing =
        || CollectError::Missing { getter: "vm_screen_size".into(), what: "a machine with a screen".into() };
    let size = context.machine.offers().screen.ok_or_else(missing)?;
    Ok(GetterOutput::value(json!({"width": size.width, "height": size.height})))
}

pub(super) async fn window_size(
    spec: &Value,
    context: &CollectContext<'_>,
) -> Result<GetterOutput, CollectError> {
    let class = required_str(spec, "vm_window_size", "app_class_name")?;
    let windows = context.machine.windows().await.map_err(machine_error("vm_window_size"))?;
    let named = |text: &str| text.to_lowercase().contains(&class.to_lowercase());
    Ok(match windows.iter().find(|window| named(&window.class)) {
        Some(window) => {
            GetterOutput::value(json!({"width": window.bounds.width, "height": window.bounds.height}))
        }
        None => GetterOutput::absent(format!("no window of class {class:?}")),
    })
}

/// Returns the text of every `.desktop` file on the desktop, by file name.
pub(super) async fn shortcuts(context: &CollectContext<'_>) -> Result<GetterOutput, CollectError> {
    let folder = at_home(context.machine, "~/Desktop");
    let entries = match context.machine.list(&folder).await {
        Ok(entries) => entries,
        Err(MachineError::NotFound(_)) => Vec::new(),
        Err(MachineError::Refused { why, .. }) => {
            return Ok(GetterOutput::absent(format!("{folder} cannot be listed: {why}")));
        }
        Err(source) => return Err(machine_error("shortcuts_on_desktop")(source)),
    };
    let mut texts = serde_json::Map::new();
    for entry in entries.iter().filter(|entry| entry.path.ends_with(".desktop") && !entry.path.contains('/'))
    {
        let path = format!("{folder}/{}", entry.path);
        match context.machine.read(&path).await {
            Ok(bytes) => {
                texts.insert(entry.path.clone(), String::from_utf8_lossy(&bytes).into());
            }
            // A folder of such a name, or a file deleted meanwhile, is not a shortcut. Upstream raises an error.
            Err(error @ (MachineError::NotFound(_) | MachineError::Refused { .. })) => {
                if context.compat == Compat::Exact {
                    return Ok(GetterOutput::absent(error.to_string()));
                }
            }
            Err(source) => return Err(machine_error("shortcuts_on_desktop")(source)),
        }
    }
    Ok(GetterOutput::value(texts))
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::{DirEntry, EntryKind};
    use serde_json::json;

    use super::folder_tree;

    #[test]
    fn a_flat_listing_becomes_a_tree() {
        let entry = |path: &str, kind| DirEntry { path: path.into(), kind, size: 0 };
        let entries = [
            entry("a", EntryKind::Directory),
            entry("a/x.txt", EntryKind::File),
            entry("b.txt", EntryKind::Link),
        ];
        let expected = json!({"type": "directory", "name": "home", "children": [
            {"type": "directory", "name": "a", "children": [{"type": "file", "name": "x.txt"}]},
            {"type": "file", "name": "b.txt"},
        ]});
        assert_eq!(folder_tree("/home/", &entries), expected);
    }
}
