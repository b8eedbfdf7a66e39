//! What was registered before anything ran: the whole definition with the comparison that decides. What is done
//! otherwise afterwards is allowed, and is told beside every result.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Definition;
use apprentice_results::report::Deviation;

/// The name of the file's format.
pub const PREREG_SCHEMA: &str = "apprentice.prereg/1";

/// The file's name, beside the sheet and in the experiment's folder.
pub const PREREG_FILE: &str = "prereg.lock";

/// Fields that say nothing about what is measured.
const INCIDENTAL: [&str; 2] = ["command", "programs"];

/// Entries of a map that are told one by one.
const TOLD: usize = 8;

/// `prereg.lock`: written once, before the first trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Prereg {
    /// [`PREREG_SCHEMA`].
    pub schema: String,
    /// When it was registered.
    #[schemars(with = "String")]
    pub registered_at: Timestamp,
    /// The smallest effect that the design finds with a power of 0.8, as a share; none if it finds none, or if
    /// nobody asked.
    pub smallest_effect: Option<f64>,
    /// What was registered. Its `primary` is the comparison that decides.
    pub definition: Definition,
}

/// Why there is no registration.
#[derive(Debug, thiserror::Error)]
pub enum PreregError {
    /// The file cannot be read or written.
    #[error("{}: the registration cannot be {deed}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// `read` or `written`.
        deed: &'static str,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The file is no registration.
    #[error("{} is no registration", path.display())]
    Form {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// Its format is of another version.
    #[error("{} has schema {found:?}, expected {PREREG_SCHEMA:?}", path.display())]
    Schema {
        /// Which.
        path: PathBuf,
        /// What it says.
        found: String,
    },
}

impl Prereg {
    /// Registers a definition.
    pub fn new(definition: Definition, smallest_effect: Option<f64>, registered_at: Timestamp) -> Self {
        Self { schema: PREREG_SCHEMA.into(), registered_at, smallest_effect, definition }
    }

    /// The registration at a path, if there is one.
    pub fn read(path: &Path) -> Result<Option<Self>, PreregError> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(PreregError::Io { path: path.to_owned(), deed: "read", source }),
        };
        let found: Self = serde_json::from_str(&text)
            .map_err(|source| PreregError::Form { path: path.to_owned(), source })?;
        match found.schema == PREREG_SCHEMA {
            true => Ok(Some(found)),
            false => Err(PreregError::Schema { path: path.to_owned(), found: found.schema }),
        }
    }

    /// Writes it where nothing is yet: a registration is never replaced.
    pub fn write(&self, path: &Path) -> Result<(), PreregError> {
        let text = serde_json::to_string_pretty(self)
            .map_err(|source| PreregError::Form { path: path.to_owned(), source })?;
        let failed = |source| PreregError::Io { path: path.to_owned(), deed: "written", source };
        let place = path.parent().filter(|place| !place.as_os_str().is_empty()).unwrap_or(Path::new("."));
        // Whoever may read the folder may read what was registered.
        let open = fs::Permissions::from_mode(0o644);
        let mut draft = tempfile::Builder::new().permissions(open).tempfile_in(place).map_err(failed)?;
        draft.write_all(text.as_bytes()).and_then(|()| draft.write_all(b"\n")).map_err(failed)?;
        draft.as_file().sync_all().map_err(failed)?;
        draft.persist_noclobber(path).map(drop).map_err(|error| failed(error.error))
    }

    /// What a definition does otherwise than was registered.
    pub fn deviations(&self, carried_out: &Definition) -> Vec<Deviation> {
        let both = (serde_json::to_value(&self.definition), serde_json::to_value(carried_out));
        let (Ok(Value::Object(registered)), Ok(Value::Object(done))) = both else { return Vec::new() };
        let fields: BTreeSet<&String> = registered.keys().chain(done.keys()).collect();
        let differs = |field: &&&String| {
            !INCIDENTAL.contains(&field.as_str()) && registered.get(**field) != done.get(**field)
        };
        let told = |field: &&String| Deviation {
            field: field.replace('_', " "),
            what: difference(registered.get(*field), done.get(*field)),
        };
        fields.iter().filter(differs).map(told).collect()
    }
}

/// How two values differ, in words: of lists and maps only what was added, removed or changed.
fn difference(registered: Option<&Value>, done: Option<&Value>) -> String {
    if let (Some(Value::Object(before)), Some(Value::Object(after))) = (registered, done) {
        let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        let differs = |key: &&&String| before.get(**key) != after.get(**key);
        let told = |key: &String| format!("{key} {}", difference(before.get(key), after.get(key)));
        let mut all: Vec<String> = keys.iter().filter(differs).map(|key| told(key)).collect();
        let more = all.len().saturating_sub(TOLD);
        all.truncate(TOLD);
        return all.join("; ") + &if more > 0 { format!("; and {more} more") } else { String::new() };
    }
    let items = |value: Option<&Value>| -> Option<BTreeSet<String>> {
        match value? {
            Value::Array(list) => Some(list.iter().map(plain).collect()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => None,
        }
    };
    if let (Some(before), Some(after)) = (items(registered), items(done)) {
        let list = |items: Vec<&String>| items.into_iter().cloned().collect::<Vec<_>>().join(", ");
        let added = list(after.difference(&before).collect());
        let removed = list(before.difference(&after).collect());
        return match (added.is_empty(), removed.is_empty()) {
            (false, true) => format!("added {added}"),
            (true, false) => format!("left out {removed}"),
            (false, false) => format!("added {added}; left out {removed}"),
            (true, true) => "in another order".into(),
        };
    }
    let said = |value: Option<&Value>| value.map_or_else(|| "nothing".into(), plain);
    format!("registered {}, carried out {}", said(registered), said(done))
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
