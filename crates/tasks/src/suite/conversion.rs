//! What all converted suites share: a new folder with tasks in OSWorld's layout and the files that they need.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde_json::Value;

/// Limit on the total size of the files that a suite takes, in bytes.
pub(super) const LIMIT: u64 = 256 << 20;

/// The reason a suite was not created.
#[derive(Debug, thiserror::Error)]
pub enum ConversionError {
    /// A file or folder cannot be read or written.
    #[error("{}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A wheel is not a valid archive.
    #[error("{} is not a valid wheel", path.display())]
    Archive {
        /// The wheel.
        path: PathBuf,
        /// The cause.
        #[source]
        source: zip::result::ZipError,
    },
    /// The source holds nothing of this suite.
    #[error("{} holds no {what}", path.display())]
    Nothing {
        /// The source.
        path: PathBuf,
        /// What it should hold.
        what: &'static str,
    },
    /// A file of the source has another content than the suite's.
    #[error("{}: {problem}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// The problem.
        problem: String,
    },
    /// The source is larger than such a suite can be.
    #[error("{} holds more than {LIMIT} bytes", .0.display())]
    TooLarge(PathBuf),
    /// The target folder is not empty.
    #[error("{} is not empty; name a new folder with --to", .0.display())]
    Taken(PathBuf),
    /// All tasks were left out.
    #[error("no task can be taken: {0}")]
    NoTask(String),
}

/// What became of a source's tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conversion {
    /// How many tasks the suite has.
    pub tasks: usize,
    /// Why tasks were left out, with the number of each.
    pub left_out: BTreeMap<String, usize>,
    /// What tasks of the suite need before they can be run or graded, with the number of each.
    pub needs: BTreeMap<String, usize>,
}

/// Files by their path in the suite.
pub(super) type Files = BTreeMap<String, SourceFile>;

/// A file of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SourceFile {
    pub(super) bytes: Vec<u8>,
    pub(super) executable: bool,
}

pub(super) fn io_error(path: &Path) -> impl FnOnce(io::Error) -> ConversionError {
    let path = path.to_owned();
    move |source| ConversionError::Io { path, source }
}

/// A suite that is being written.
pub(super) struct NewSuite<'a> {
    to: &'a Path,
    apps: BTreeMap<String, Vec<String>>,
}

impl<'a> NewSuite<'a> {
    /// Begins a suite in a folder that is new or empty.
    pub(super) fn begin(to: &'a Path) -> Result<Self, ConversionError> {
        if fs::read_dir(to).is_ok_and(|mut entries| entries.next().is_some()) {
            return Err(ConversionError::Taken(to.to_owned()));
        }
        Ok(Self { to, apps: BTreeMap::new() })
    }

    /// Writes a task below its application.
    pub(super) fn add(&mut self, app: &str, id: &str, task: &Value) -> Result<(), ConversionError> {
        self.write(&format!("examples/{app}/{id}.json"), format!("{task:#}\n").as_bytes())?;
        self.apps.entry(app.to_owned()).or_default().push(id.to_owned());
        Ok(())
    }

    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> Result<(), ConversionError> {
        let path = self.to.join(name);
        let folder = path.parent().unwrap_or(self.to);
        fs::create_dir_all(folder).map_err(io_error(folder))?;
        fs::write(&path, bytes).map_err(io_error(&path))
    }

    /// Packs files into one tar archive, byte-for-byte reproducibly.
    pub(super) fn pack(&self, name: &str, files: &Files) -> Result<(), ConversionError> {
        let path = self.to.join(name);
        let mut archive = tar::Builder::new(Vec::new());
        for (name, file) in files {
            let mut header = tar::Header::new_gnu();
            header.set_size(file.bytes.len() as u64);
            header.set_mode(if file.executable { 0o755 } else { 0o644 });
            archive.append_data(&mut header, name, &file.bytes[..]).map_err(io_error(&path))?;
        }
        self.write(name, &archive.into_inner().map_err(io_error(&path))?)
    }

    /// Writes the suite file.
    pub(super) fn finish(self) -> Result<(), ConversionError> {
        let suite = serde_json::to_value(&self.apps).unwrap_or_default();
        self.write("suite.json", format!("{suite:#}\n").as_bytes())
    }
}

/// Reads the files of a wheel below a folder.
pub(super) fn read_wheel(path: &Path, below: &str) -> Result<Files, ConversionError> {
    let bad = |source| ConversionError::Archive { path: path.to_owned(), source };
    let mut archive =
        zip::ZipArchive::new(apprentice_files::open(path).map_err(io_error(path))?).map_err(bad)?;
    let (mut files, mut size) = (Files::new(), 0_u64);
    for at in 0..archive.len() {
        let entry = archive.by_index(at).map_err(bad)?;
        let name = entry.name().map_err(bad)?;
        let Some(name) = name.strip_prefix(below).map(str::to_owned) else { continue };
        let plain = name.split('/').all(|part| !matches!(part, "" | "." | ".."));
        if !plain || entry.is_dir() {
            continue;
        }
        let mut bytes = Vec::new();
        entry.take(LIMIT - size + 1).read_to_end(&mut bytes).map_err(io_error(path))?;
        size += bytes.len() as u64;
        if size > LIMIT {
            return Err(ConversionError::TooLarge(path.to_owned()));
        }
        files.insert(name, SourceFile { bytes, executable: false });
    }
    Ok(files)
}

/// Reads all regular files below a folder; links are left out.
pub(super) fn read_folder(root: &Path) -> Result<Files, ConversionError> {
    let (mut files, mut size, mut folders) = (Files::new(), 0_u64, vec![root.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(io_error(&folder))? {
            let entry = entry.map_err(io_error(&folder))?;
            let (path, kind) = (entry.path(), entry.file_type().map_err(io_error(&folder))?);
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() {
                let about = entry.metadata().map_err(io_error(&path))?;
                size += about.len();
                if size > LIMIT {
                    return Err(ConversionError::TooLarge(root.to_owned()));
                }
                let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
                let bytes = apprentice_files::read(&path).map_err(io_error(&path))?;
                files.insert(name, SourceFile { bytes, executable: is_executable(&about) });
            }
        }
    }
    Ok(files)
}

#[cfg(unix)]
fn is_executable(about: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    about.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn is_executable(_: &fs::Metadata) -> bool {
    false
}
