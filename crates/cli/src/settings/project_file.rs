//! Finds the project's settings file: `apprentice.toml` in the current folder, else in the nearest folder above it.

use std::path::{Path, PathBuf};

use crate::failure::{Failure, Kind};

/// The name of a project's settings file.
pub(crate) const PROJECT_FILE: &str = "apprentice.toml";

/// Settings that are paths, wherever they stand (`provider.openai.key_file`).
const PATHS: [&str; 7] = ["runs", "skillbook", "state", "prices", "prompts", "record", "key_file"];
/// What stands before the path in a model's name.
const MODELS_OF_FILES: [&str; 2] = ["cassette:", "scripted:"];

/// A settings file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SettingsFile {
    /// Its path, as messages name it.
    pub(crate) path: PathBuf,
    pub(crate) text: String,
    /// The folder that its relative paths start from, if that is not the current one.
    pub(crate) folder: Option<PathBuf>,
}

impl SettingsFile {
    /// Reads a file, if there is one.
    pub(crate) fn read(path: PathBuf) -> Result<Option<Self>, Failure> {
        match apprentice_files::read_to_string(&path) {
            Ok(text) => Ok(Some(Self { path, text, folder: None })),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Failure::say(Kind::Config, format!("{}: {error}", path.display()))),
        }
    }

    /// Returns a setting's value, where a relative path starts from this file's folder.
    pub(crate) fn placed(&self, key: &str, value: toml::Value) -> toml::Value {
        match (&self.folder, value) {
            (Some(folder), toml::Value::String(text)) => toml::Value::String(placed(folder, key, text)),
            (_, value) => value,
        }
    }
}

fn placed(folder: &Path, key: &str, text: String) -> String {
    let below = |path: &str| folder.join(path).display().to_string();
    let last = key.rsplit('.').next().unwrap_or(key);
    let of_file = MODELS_OF_FILES.iter().find_map(|kind| Some((kind, text.strip_prefix(kind)?)));
    match of_file {
        _ if text.is_empty() => text,
        Some((kind, path)) => format!("{kind}{}", below(path)),
        None if PATHS.contains(&last) => below(&text),
        None if last == "mirror" && text != "origin" && !text.contains("://") => below(&text),
        None => text,
    }
}

/// Returns the project's file for a folder: its own, or that of the nearest folder above it. One above that belongs to
/// somebody else than the folder is refused, as settings name commands to run and addresses that keys are sent to.
pub(crate) fn find(current: &Path) -> Result<Option<SettingsFile>, Failure> {
    if let Some(own) = SettingsFile::read(PathBuf::from(PROJECT_FILE))? {
        return Ok(Some(own));
    }
    let Some(path) = above(current) else { return Ok(None) };
    if owner(&path) != owner(current) {
        let problem = format!("{} belongs to another user than the current folder", path.display());
        let remedy = format!("copy it to ./{PROJECT_FILE}, or write an empty file of that name here");
        return Err(Failure::say(Kind::Config, problem).hint(remedy));
    }
    let folder = path.parent().map(Path::to_owned);
    Ok(SettingsFile::read(path)?.map(|file| SettingsFile { folder, ..file }))
}

/// Returns the path of the settings file in the nearest folder above a folder.
fn above(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().skip(1).map(|folder| folder.join(PROJECT_FILE)).find(|path| path.is_file())
}

/// Returns the settings file beside a suite or above it, if it does not hold for the current folder.
pub(crate) fn beside(suite: &Path, current: &Path) -> Option<PathBuf> {
    let suite = suite.canonicalize().ok()?;
    let own = [suite.join(PROJECT_FILE)].into_iter().find(|path| path.is_file());
    let found = own.or_else(|| above(&suite))?;
    let holds = found.parent().is_some_and(|folder| current.starts_with(folder));
    (!holds).then_some(found)
}

#[cfg(unix)]
fn owner(path: &Path) -> Option<u32> {
    use std::os::unix::fs::MetadataExt as _;
    path.metadata().ok().map(|data| data.uid())
}

#[cfg(not(unix))]
fn owner(_: &Path) -> Option<u32> {
    None
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::{PROJECT_FILE, SettingsFile, above, beside};

    #[test]
    fn the_nearest_file_above_a_folder_is_found() {
        let root = tempfile::tempdir().expect("a folder");
        let root = root.path().canonicalize().expect("a path");
        let deep = root.join("suites/mine/files");
        fs::create_dir_all(&deep).expect("folders");
        let outer = root.join(PROJECT_FILE);
        fs::write(&outer, "").expect("a file");
        assert_eq!(above(&deep), Some(outer.clone()));
        let inner = root.join("suites").join(PROJECT_FILE);
        fs::write(&inner, "").expect("a file");
        assert_eq!(above(&deep), Some(inner));
        assert_eq!(above(&root.join("suites")), Some(outer));
    }

    #[test]
    fn a_suites_file_holds_only_below_its_folder() {
        let root = tempfile::tempdir().expect("a folder");
        let root = root.path().canonicalize().expect("a path");
        let (suite, inside) = (root.join("suite"), root.join("suite/files"));
        fs::create_dir_all(&inside).expect("folders");
        assert_eq!(beside(&suite, &root).filter(|path| path.starts_with(&root)), None, "there is none");
        let file = suite.join(PROJECT_FILE);
        fs::write(&file, "").expect("a file");
        assert_eq!(beside(&suite, &root), Some(file));
        assert_eq!((beside(&suite, &suite), beside(&suite, &inside)), (None, None));
    }

    #[test]
    fn relative_paths_start_from_the_file_and_other_texts_stay() {
        let file = SettingsFile { folder: Some(PathBuf::from("/project")), ..SettingsFile::default() };
        let placed = |key: &str, text: &str| {
            let value = file.placed(key, toml::Value::String(text.to_owned()));
            value.as_str().expect("a text").to_owned()
        };
        assert_eq!(placed("runs", "runs"), "/project/runs");
        assert_eq!(placed("skillbook", "/books/one"), "/books/one");
        assert_eq!(placed("provider.openai.key_file", "key"), "/project/key");
        assert_eq!(placed("role.student.model", "cassette:a.jsonl"), "cassette:/project/a.jsonl");
        assert_eq!(placed("role.student.model", "compat/m"), "compat/m");
        assert_eq!((placed("state", ""), placed("mirror", "origin")), (String::new(), "origin".to_owned()));
        assert_eq!(placed("mirror", "https://x/y"), "https://x/y");
        assert_eq!(placed("mirror", "files"), "/project/files");
        let here = SettingsFile { path: Path::new(PROJECT_FILE).into(), ..SettingsFile::default() };
        let runs = toml::Value::String("runs".to_owned());
        assert_eq!(here.placed("runs", runs.clone()), runs);
    }
}
