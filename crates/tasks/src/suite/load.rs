//! Loads suites in OSWorld's layout: a file `{"<app>": ["<id>", ...]}` beside `examples/<app>/<id>.json`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use apprentice_protocol::{TaskId, did_you_mean};
use apprentice_trace::hex;
use sha2::{Digest, Sha256};

pub use super::find_file::SUITE_FILE;
use super::find_file::find_suite_file;
use super::foreign;
use super::source_pos::SourcePos;
use super::suite_error::SuiteError;
use super::task_file::parse;
pub use super::task_file::read_task;
use crate::task::{Task, read_blocking};

/// The file beside a suite that holds its locked split.
pub const SPLIT_FILE: &str = "split.json";

/// The file beside a suite that holds other wordings of its tasks: `{"<task>": ["<instruction>", ...]}`. A wording may
/// have the same placeholders as the instruction.
pub const WORDINGS_FILE: &str = "paraphrases.json";

/// Folders within each other below `files/`.
const MAX_DEPTH: usize = 32;

/// A set of tasks.
#[derive(Clone, Debug, PartialEq)]
pub struct Suite {
    /// The suite file's stem. When the file is called `suite.json`: the name that the split beside it holds, so that
    /// a renamed copy stays the same suite, or the folder's name without a split.
    pub name: String,
    /// The base folder of relative paths in the tasks.
    pub root: PathBuf,
    /// SHA-256 over the suite file, its task files and everything below `files/`.
    pub hash: String,
    /// The tasks, in suite file order.
    pub tasks: Vec<Task>,
}

impl Suite {
    /// Returns the task with this id.
    pub fn task(&self, id: &str) -> Option<&Task> {
        self.tasks.iter().find(|task| task.id.as_str() == id)
    }

    /// Maps each task to its template, as a split lock needs it.
    pub fn templates(&self) -> BTreeMap<TaskId, String> {
        self.tasks.iter().map(|task| (task.id.clone(), task.template().to_owned())).collect()
    }
}

/// Loads a suite from its file or from a folder with exactly one suite file, or a single task from its file.
///
/// # Errors
///
/// Fails if nothing or several suites are there, or with the file, line and key that is wrong.
pub fn load(path: &Path) -> Result<Suite, SuiteError> {
    let file = if path.is_dir() { find_suite_file(path)? } else { path.to_owned() };
    let root = file.parent().unwrap_or(Path::new("")).to_owned();
    let text = read(&file)?;
    if serde_json::from_str::<serde_json::Value>(&text).is_ok_and(|json| json.get("instruction").is_some()) {
        return load_one(&file, &text);
    }
    let mut hash = Sha256::new();
    hash_part(&mut hash, "suite", text.as_bytes());
    let mut tasks: Vec<Task> = Vec::new();
    for listed in listed(&file, &text)? {
        let (mut task, task_text) = listed.read(&file, &text)?;
        hash_part(&mut hash, &format!("{}/{}", listed.app, listed.id), task_text.as_bytes());
        if tasks.iter().any(|known| known.id == task.id) {
            let spot = SourcePos::of_name(&task_text, &task_text, task.id.as_str());
            let problem = format!("duplicate task id {:?}", task.id.as_str());
            return Err(SuiteError::Invalid { path: listed.place, spot, problem });
        }
        task.app = listed.app;
        tasks.push(task);
    }
    hash_files(&mut hash, &root, "files")?;
    let split = read_split(&root)?;
    for task in &mut tasks {
        task.group = split.tasks.get(&task.id).cloned();
    }
    add_wordings(&file, &mut tasks)?;
    let stem = |path: &Path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let own = || split.suite.or_else(|| fs::canonicalize(&root).ok().as_deref().and_then(stem));
    let name = if file.ends_with(SUITE_FILE) { own() } else { stem(&file) };
    Ok(Suite { name: name.unwrap_or_else(|| "suite".into()), root, hash: hex(&hash.finalize()), tasks })
}

/// Gives each task the wordings that the file beside the suite holds for it; without the file they have none.
fn add_wordings(suite: &Path, tasks: &mut [Task]) -> Result<(), SuiteError> {
    let path = suite.with_file_name(WORDINGS_FILE);
    if !path.is_file() {
        return Ok(());
    }
    let text = read(&path)?;
    let mut wordings: BTreeMap<TaskId, Vec<String>> = parse(&path, &text, 0, &text)?;
    for task in tasks.iter_mut() {
        task.wordings = wordings.remove(&task.id).unwrap_or_default();
    }
    // Beside several suite files, it also holds the tasks of the others.
    let Some(unknown) = wordings.keys().next().filter(|_| suite.ends_with(SUITE_FILE)) else { return Ok(()) };
    let hint = did_you_mean(unknown.as_str(), tasks.iter().map(|task| task.id.as_str()));
    let problem = format!("the suite has no task {:?}{hint}", unknown.as_str());
    Err(SuiteError::Invalid { spot: SourcePos::of_name(&text, &text, unknown.as_str()), path, problem })
}

/// What a suite takes from the split beside it: its lasting name, and the groups of tasks without a template.
#[derive(Default, serde::Deserialize)]
struct SuiteSplit {
    suite: Option<String>,
    #[serde(default)]
    tasks: BTreeMap<TaskId, String>,
}

fn read_split(root: &Path) -> Result<SuiteSplit, SuiteError> {
    let path = root.join(SPLIT_FILE);
    if path.is_file() {
        let text = read(&path)?;
        parse(&path, &text, 0, &text)
    } else {
        Ok(SuiteSplit::default())
    }
}

/// A task listed by a suite file, with the result of loading it.
#[derive(Debug)]
pub struct SurveyedTask {
    /// The application under which it is listed.
    pub app: String,
    /// The id under which it is listed.
    pub id: String,
    /// The task, or the reason it does not load.
    pub task: Result<Task, SuiteError>,
}

/// Reads every task of a suite, including those that fail to load.
///
/// # Errors
///
/// Fails if the suite's own file cannot be read. A task that fails to load is returned with its error.
pub fn survey(path: &Path) -> Result<Vec<SurveyedTask>, SuiteError> {
    let file = if path.is_dir() { find_suite_file(path)? } else { path.to_owned() };
    let text = read(&file)?;
    if serde_json::from_str::<serde_json::Value>(&text).is_ok_and(|json| json.get("instruction").is_some()) {
        let suite = load_one(&file, &text)?;
        let one = |task: Task| SurveyedTask {
            app: task.app.clone(),
            id: task.id.as_str().to_owned(),
            task: Ok(task),
        };
        return Ok(suite.tasks.into_iter().map(one).collect());
    }
    let surveyed = |listed: TaskEntry| {
        let task = listed.read(&file, &text).map(|(task, _)| Task { app: listed.app.clone(), ..task });
        SurveyedTask { app: listed.app, id: listed.id, task }
    };
    Ok(listed(&file, &text)?.into_iter().map(surveyed).collect())
}

/// A task named by a suite file.
struct TaskEntry {
    app: String,
    id: String,
    place: PathBuf,
}

impl TaskEntry {
    fn read(&self, suite: &Path, suite_text: &str) -> Result<(Task, String), SuiteError> {
        if !self.place.is_file() {
            let spot = SourcePos::of_name(suite_text, suite_text, &self.id);
            let (id, path) = (self.id.clone(), self.place.clone());
            return Err(SuiteError::NoTask { suite: suite.to_owned(), spot, id, path });
        }
        let text = read(&self.place)?;
        Ok((read_task(&self.place, &text)?, text))
    }
}

fn listed(file: &Path, text: &str) -> Result<Vec<TaskEntry>, SuiteError> {
    let foreign = foreign::of_file(text).map(|what| SuiteError::Foreign { path: file.to_owned(), what });
    let apps: SuiteFile = foreign.map_or_else(|| parse(file, text, 0, text), Err)?;
    let examples = file.parent().unwrap_or(Path::new("")).join("examples");
    let place = |app: &str, id: &str| examples.join(app).join(format!("{id}.json"));
    let of = |(app, ids): (String, Vec<String>)| {
        let listed = move |id: String| TaskEntry { place: place(&app, &id), app: app.clone(), id };
        ids.into_iter().map(listed).collect::<Vec<_>>()
    };
    Ok(apps.0.into_iter().flat_map(of).collect())
}

/// Loads a suite of one task. A file in a suite's `examples` folder keeps that suite's root.
fn load_one(file: &Path, text: &str) -> Result<Suite, SuiteError> {
    let mut task = read_task(file, text)?;
    let folder = file.parent().unwrap_or(Path::new(""));
    let named = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let examples = folder.parent().filter(|above| named(above).as_deref() == Some("examples"));
    let root = examples.and_then(Path::parent).unwrap_or(folder).to_owned();
    task.app = examples.and_then(|_| named(folder)).unwrap_or_default();
    let mut hash = Sha256::new();
    hash_part(&mut hash, "task", text.as_bytes());
    hash_files(&mut hash, &root, "files")?;
    let name = task.id.as_str().to_owned();
    Ok(Suite { name, root, hash: hex(&hash.finalize()), tasks: vec![task] })
}

/// A suite file's content in file order, which a JSON map would lose.
struct SuiteFile(Vec<(String, Vec<String>)>);

impl<'de> serde::Deserialize<'de> for SuiteFile {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> serde::de::Visitor<'de> for InOrder {
            type Value = SuiteFile;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object of application names to lists of task ids")
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<SuiteFile, A::Error> {
                let mut apps = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    apps.push(entry);
                }
                Ok(SuiteFile(apps))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

fn read(path: &Path) -> Result<String, SuiteError> {
    apprentice_files::read_to_string(path)
        .map_err(|source| SuiteError::Read { path: path.to_owned(), source })
}

fn hash_part(hash: &mut Sha256, name: &str, bytes: &[u8]) {
    for part in [name.as_bytes(), bytes] {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
}

/// Hashes the files of one of the suite's folders.
fn hash_files(hash: &mut Sha256, root: &Path, name: &str) -> Result<(), SuiteError> {
    let folder = root.join(name);
    if !folder.is_dir() {
        return Ok(());
    }
    let refused = |source| SuiteError::Read { path: folder.clone(), source };
    if name.split('/').count() > MAX_DEPTH {
        return Err(refused(std::io::Error::other(
            "too many folders within each other; is one a link to a folder above it?",
        )));
    }
    let mut entries =
        fs::read_dir(&folder).map_err(refused)?.collect::<Result<Vec<_>, _>>().map_err(refused)?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (path, name) = (entry.path(), format!("{name}/{}", entry.file_name().to_string_lossy()));
        if path.is_dir() {
            hash_files(hash, root, &name)?;
        } else {
            let bytes = read_blocking(root, Path::new(&name)).map_err(SuiteError::File)?;
            hash_part(hash, &name, &bytes);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::load;
    use crate::suite::task_file::tests::GOOD;

    #[test]
    fn a_suite_with_a_link_out_of_its_folder_or_around_in_it_is_refused() {
        use std::os::unix::fs::symlink;

        let folder = tempfile::tempdir().expect("a folder");
        let suite = folder.path().join("suite");
        std::fs::create_dir_all(suite.join("files")).expect("made");
        std::fs::write(suite.join("suite.json"), "{}").expect("written");
        std::fs::write(folder.path().join("secret"), "secret").expect("written");
        symlink("../../secret", suite.join("files/notes.txt")).expect("linked");
        let refusal = load(&suite).expect_err("refused").to_string();
        assert!(refusal.ends_with("files/notes.txt leads out of the suite's folder"), "{refusal}");
        std::fs::remove_file(suite.join("files/notes.txt")).expect("removed");
        symlink(".", suite.join("files/again")).expect("linked");
        let refusal = load(&suite).expect_err("refused");
        let cause = std::error::Error::source(&refusal).expect("a cause").to_string();
        assert!(cause.contains("link to a folder above it"), "{cause}");
    }

    #[test]
    fn a_folder_needs_exactly_one_suite_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let error = load(folder.path()).expect_err("empty");
        assert!(error.to_string().contains("neither suite.json"), "{error}");
        std::fs::write(folder.path().join("suite.json"), "{\"a\": [\n \"missing\"]}").expect("writes");
        let error = load(folder.path()).expect_err("no task").to_string();
        assert!(error.contains("suite.json:2:2: task \"missing\" has no file"), "{error}");
    }

    #[test]
    fn a_single_task_is_a_suite_of_its_own_with_the_root_of_its_suite() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = folder.path().join("examples/editor");
        std::fs::create_dir_all(&place).expect("makes");
        std::fs::write(place.join("t.json"), GOOD).expect("writes");
        std::fs::write(folder.path().join("t.json"), GOOD).expect("writes");
        let inside = load(&place.join("t.json")).expect("loads");
        assert_eq!((inside.root.as_path(), inside.tasks[0].app.as_str()), (folder.path(), "editor"));
        let alone = load(&folder.path().join("t.json")).expect("loads");
        assert_eq!((alone.root.as_path(), alone.name.as_str(), alone.tasks.len()), (folder.path(), "t", 1));
    }
}
