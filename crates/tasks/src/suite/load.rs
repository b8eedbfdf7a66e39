//! Loads suites in OSWorld's layout: a file `{"<app>": ["<id>", ...]}` beside `examples/<app>/<id>.json`.
//!
//! Unknown fields are kept in OSWorld's part of a task and rejected in the `apprentice` object. Every error names
//! the file, line, column and nearest valid name.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use apprentice_protocol::{TaskId, did_you_mean, nearest};
use apprentice_trace::hex;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use super::foreign;
use super::known_names::check_names;
use super::source_pos::{SourcePos, offset};
use crate::task::{CheckSpec, OneOrMany, SetupStep, SuiteFileError, Task, read_blocking};

/// The suite file name that lets a folder be loaded under the folder's own name.
pub const SUITE_FILE: &str = "suite.json";

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

/// The reason a suite cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum SuiteError {
    /// A file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// A file below the suite's folder cannot be read.
    #[error(transparent)]
    File(SuiteFileError),
    /// The folder holds no suite file, or several.
    #[error("{} holds {found}; name one suite file", folder.display())]
    NoSuite {
        /// The folder.
        folder: PathBuf,
        /// The candidates found in the folder.
        found: String,
    },
    /// The folder or file is of another kind of suite.
    #[error("{} is {what}", path.display())]
    Foreign {
        /// The folder or file.
        path: PathBuf,
        /// What it is, with the remedy if there is one.
        what: &'static str,
    },
    /// The suite file names a task that has no file.
    #[error("{}:{spot}: task {id:?} has no file {}", suite.display(), path.display())]
    NoTask {
        /// The suite file.
        suite: PathBuf,
        /// The position of the id in the suite file.
        spot: SourcePos,
        /// The task's id.
        id: String,
        /// The expected path of the task file.
        path: PathBuf,
    },
    /// A file has invalid content.
    #[error("{}:{spot}: {problem}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The position in the file.
        spot: SourcePos,
        /// The problem, with the remedy.
        problem: String,
    },
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

/// The base folder of a suite or of a single task, given by its folder or file.
pub fn root_of(path: &Path) -> PathBuf {
    if path.is_dir() {
        return path.to_owned();
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    let in_suite = folder.parent().filter(|above| above.file_name().is_some_and(|name| name == "examples"));
    in_suite.and_then(Path::parent).unwrap_or(folder).to_owned()
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

/// Suites that an error names.
const MAX_NAMED: usize = 5;

/// Returns suite files in the folders of a folder, and in theirs.
fn suites_below(folder: &Path) -> Vec<String> {
    let folders = |folder: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
        let mut folders: Vec<PathBuf> =
            entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
        folders.sort_unstable();
        folders.truncate(200);
        folders
    };
    let near = folders(folder);
    let far: Vec<PathBuf> = near.iter().flat_map(|folder| folders(folder)).collect();
    let holds = |folder: &PathBuf| {
        let own = folder.join(SUITE_FILE);
        let of_osworld = folder.join("test_all.json");
        [own, of_osworld].into_iter().find(|file| file.is_file())
    };
    near.iter().chain(&far).filter_map(holds).take(MAX_NAMED).map(|file| file.display().to_string()).collect()
}

fn find_suite_file(folder: &Path) -> Result<PathBuf, SuiteError> {
    let own = folder.join(SUITE_FILE);
    if own.is_file() {
        return Ok(own);
    }
    let refused = |source| SuiteError::Read { path: folder.to_owned(), source };
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(refused)? {
        let name = entry.map_err(refused)?.file_name().to_string_lossy().into_owned();
        if name.starts_with("test_") && name.ends_with(".json") {
            found.push(name);
        }
    }
    found.sort_unstable();
    match found.as_slice() {
        [only] => Ok(folder.join(only)),
        [] => {
            let below = suites_below(folder);
            let found = match below.as_slice() {
                [] => "neither suite.json nor test_*.json".to_owned(),
                some => format!("no suite file; suites lie below it: {}", some.join(", ")),
            };
            let folder = folder.to_owned();
            Err(match foreign::of_folder(&folder) {
                Some(what) => SuiteError::Foreign { path: folder, what },
                None => SuiteError::NoSuite { folder, found },
            })
        }
        many => Err(SuiteError::NoSuite { folder: folder.to_owned(), found: many.join(" and ") }),
    }
}

fn read(path: &Path) -> Result<String, SuiteError> {
    apprentice_files::read_to_string(path)
        .map_err(|source| SuiteError::Read { path: path.to_owned(), source })
}

/// Parses one task file's text.
pub fn read_task(path: &Path, text: &str) -> Result<Task, SuiteError> {
    let mut fields = fields(path, text, text)?;
    let wrong =
        |spot: SourcePos, problem: String| SuiteError::Invalid { path: path.to_owned(), spot, problem };
    let present: Vec<String> = fields.keys().cloned().collect();
    let need = |name: &str| {
        let like = nearest(name, present.iter().map(String::as_str));
        let hint = like.map_or(String::new(), |like| format!("; is {like:?} a typo of it?"));
        let spot = like.map_or(SourcePos { line: 1, column: 1 }, |like| SourcePos::of_name(text, text, like));
        wrong(spot, format!("field {name:?} is missing{hint}"))
    };
    let id = fields.remove("id").ok_or_else(|| need("id"))?;
    let instruction = fields.remove("instruction").ok_or_else(|| need("instruction"))?;
    let evaluator = fields.remove("evaluator").ok_or_else(|| need("evaluator"))?;
    let config: Vec<SetupStep> = match fields.remove("config") {
        Some(raw) => part(path, text, raw)?,
        None => Vec::new(),
    };
    let apprentice = fields.remove("apprentice");
    let task = Task {
        id: part(path, text, id)?,
        instruction: part(path, text, instruction)?,
        evaluator: read_check(path, text, evaluator)?,
        apprentice: apprentice.map(|raw| part(path, text, raw)).transpose()?,
        config,
        extra: fields
            .into_iter()
            .map(|(name, raw)| Ok((name, part(path, text, raw)?)))
            .collect::<Result<_, _>>()?,
        app: String::new(),
        group: None,
        wordings: Vec::new(),
    };
    if task.apprentice.is_some() {
        check_names(&task)
            .map_err(|(name, problem)| wrong(SourcePos::of_name(text, text, &name), problem))?;
    }
    Ok(task)
}

fn read_check(path: &Path, text: &str, raw: &RawValue) -> Result<CheckSpec, SuiteError> {
    let check: CheckSpec = part(path, text, raw)?;
    let funcs = check.func.len();
    if let OneOrMany::Many(_) = check.func {
        for (name, given) in
            [("result", &check.result), ("expected", &check.expected), ("options", &check.options)]
        {
            let Some(OneOrMany::Many(list)) = given else { continue };
            if list.len() != funcs {
                let spot = SourcePos::of_name(text, raw.get(), name);
                let problem = format!("{name:?} lists {} entries for {funcs} metrics", list.len());
                return Err(SuiteError::Invalid { path: path.to_owned(), spot, problem });
            }
        }
    }
    Ok(check)
}

fn fields<'a>(path: &Path, text: &str, part: &'a str) -> Result<BTreeMap<String, &'a RawValue>, SuiteError> {
    parse(path, text, offset(text, part), part)
}

fn part<T: DeserializeOwned>(path: &Path, text: &str, raw: &RawValue) -> Result<T, SuiteError> {
    parse(path, text, offset(text, raw.get()), raw.get())
}

/// Parses a part of a file's text; errors give the position in the whole file.
fn parse<'a, T: serde::Deserialize<'a>>(
    path: &Path,
    text: &str,
    start: usize,
    part: &'a str,
) -> Result<T, SuiteError> {
    let mut reader = serde_json::Deserializer::from_str(part);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let inner = SourcePos { line: error.inner().line().max(1), column: error.inner().column().max(1) };
        let place = error.path().to_string();
        let message = plain(&error.inner().to_string());
        let problem =
            if matches!(place.as_str(), "." | "?") { message } else { format!("{message} (at {place})") };
        SuiteError::Invalid { path: path.to_owned(), spot: SourcePos::translate(text, start, inner), problem }
    })?;
    reader.end().map_err(|error| {
        let inner = SourcePos { line: error.line().max(1), column: error.column().max(1) };
        let spot = SourcePos::translate(text, start, inner);
        SuiteError::Invalid {
            path: path.to_owned(),
            spot,
            problem: "unexpected text after the end of the value".into(),
        }
    })?;
    Ok(value)
}

/// Returns a parser's message without its position, and with the nearest valid name instead of the full list.
fn plain(message: &str) -> String {
    let message = message.rsplit_once(" at line ").map_or(message, |(message, _)| message);
    let Some((problem, listed)) = message.split_once(", expected ") else { return message.to_owned() };
    let quoted = |text: &str| text.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    let (wrong, valid) = (quoted(problem), quoted(listed));
    let hint = wrong.first().map(|wrong| did_you_mean(wrong, valid.iter().map(String::as_str)));
    match hint.filter(|hint| !hint.is_empty()) {
        Some(hint) => format!("{problem}{hint}"),
        None => message.to_owned(),
    }
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
    use std::path::Path;

    use super::{load, read_task};

    const GOOD: &str = r#"{"id":"t","instruction":"Do it.","config":[{"type":"launch","parameters":{"command":"x"}}],
 "evaluator":{"func":"exact_match","result":{"type":"rule","rules":1},"expected":{"type":"rule","rules":{"expected":1}}},
 "apprentice":{"environment":"desktop","template":"t"}}"#;

    #[test]
    fn a_wrong_file_is_refused_with_place_and_nearest_name() {
        assert_eq!(read_task(Path::new("t.json"), GOOD).map(|task| task.config.len()).ok(), Some(1));
        let said: Vec<String> = [
            ("\"launch\"", "\"lauch\""),
            ("exact_match", "exact_mach"),
            ("\"exact_match\"", "\"compare_csv\",\"options\":{\"ignore_cse\":true}"),
            ("\"exact_match\"", "\"exact_match\",\"options\":{\"strict\":true}"),
            ("\"rule\"", "\"rulle\""),
            ("\"template\"", "\"templte\""),
            ("\"instruction\"", "\"instrction\""),
            ("\"desktop\"", "\"dekstop\""),
            ("\"Do it.\",", "\"Do it.\""),
        ]
        .iter()
        .map(|(from, to)| {
            let read = read_task(Path::new("t.json"), &GOOD.replacen(from, to, 1));
            read.err().map_or_else(|| format!("{to} was taken"), |error| error.to_string())
        })
        .collect();
        insta::assert_snapshot!(said.join("\n"), @r#"
        t.json:1:52: unknown setup step "lauch"; did you mean "launch"?
        t.json:2:22: unknown metric "exact_mach"; did you mean "exact_match"?
        t.json:2:47: unknown option of compare_csv "ignore_cse"; did you mean "ignore_case"?
        t.json:2:47: unknown option of exact_match "strict"
        t.json:2:53: unknown getter "rulle"; did you mean "rule"?
        t.json:3:48: unknown field `templte`; did you mean "template"? (at templte)
        t.json:1:11: field "instruction" is missing; is "instrction" a typo of it?
        t.json:3:38: unknown variant `dekstop`; did you mean "desktop"? (at environment)
        t.json:1:33: expected `,` or `}`
        "#);
    }

    #[test]
    fn options_that_upstream_ignores_may_stay_in_a_task_of_osworld() {
        let read = |from: &str, to: &str| read_task(Path::new("t.json"), &GOOD.replacen(from, to, 1)).is_ok();
        let noted = r#""compare_csv","options":{"_note":"why"}"#;
        assert!(read(r#""exact_match""#, noted), "a note is no option");
        assert!(!read(r#""exact_match""#, r#""exact_match","options":{"_note":"why"}"#), "upstream raises");
        let ignored = |snapshot: &str| {
            let text =
                GOOD.replacen("\"exact_match\"", r#""compare_csv","options":{"content_only":true}"#, 1);
            read_task(Path::new("t.json"), &text.replacen('{', snapshot, 1)).is_ok()
        };
        assert!(ignored(r#"{"snapshot":"calc","#));
        assert!(!ignored("{"), "in a task of our own it is a mistake");
    }

    #[test]
    fn osworld_tasks_keep_what_we_do_not_know() {
        let text = r#"{"id":"x","instruction":"i","snapshot":"chrome","config":[{"type":"googledrive","parameters":{"a":1}}],
            "evaluator":{"func":"no_such_metric","_config_note":"n"}}"#;
        let task = read_task(Path::new("x.json"), text).expect("loads");
        assert_eq!(task.extra["snapshot"], "chrome");
        assert_eq!(task.evaluator.extra["_config_note"], "n");
        assert_eq!(task.config[0].kind, "googledrive");
    }

    #[test]
    fn a_suite_with_a_link_out_of_its_folder_or_around_in_it_is_refused() {
        use std::os::unix::fs::symlink;

        let folder = tempfile::tempdir().expect("a folder");
        let suite = folder.path().join("suite");
        std::fs::create_dir_all(suite.join("files")).expect("made");
        std::fs::write(suite.join("suite.json"), "{}").expect("written");
        std::fs::write(folder.path().join("secret"), "secret").expect("written");
        symlink("../../secret", suite.join("files/notes.txt")).expect("linked");
        let told = load(&suite).expect_err("refused").to_string();
        assert!(told.ends_with("files/notes.txt leads out of the suite's folder"), "{told}");
        std::fs::remove_file(suite.join("files/notes.txt")).expect("removed");
        symlink(".", suite.join("files/again")).expect("linked");
        let told = load(&suite).expect_err("refused");
        let cause = std::error::Error::source(&told).expect("a cause").to_string();
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
