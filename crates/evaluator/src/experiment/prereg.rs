//! The preregistration: the whole definition, including the primary comparison, fixed before anything runs. Later
//! deviations are allowed and reported beside every result.

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

/// Schema name of the preregistration.
pub const PREREG_SCHEMA: &str = "apprentice.prereg/1";

/// Fields that do not affect the measurement.
const NOT_COMPARED: [&str; 2] = ["command", "programs"];

/// Maximum number of map entries listed individually.
const MAX_LISTED: usize = 8;

/// The contents of `prereg.lock`: written once, before the first trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Prereg {
    /// [`PREREG_SCHEMA`].
    pub schema: String,
    /// Time of registration.
    #[schemars(with = "String")]
    pub registered_at: Timestamp,
    /// The smallest effect that the design detects with a power of 0.8, as a share; `None` if it detects none or was
    /// not computed.
    pub smallest_effect: Option<f64>,
    /// The registered definition. Its `primary` is the primary comparison.
    pub definition: Definition,
}

/// The reason a registration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PreregError {
    /// The file cannot be read or written.
    #[error("{}: the registration cannot be {operation}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The failed operation: `read` or `written`.
        operation: &'static str,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The file is not a valid registration.
    #[error("{} is not a valid registration", path.display())]
    Form {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: serde_json::Error,
    },
    /// The file has another schema.
    #[error("{} has schema {found:?}, expected {PREREG_SCHEMA:?}", path.display())]
    Schema {
        /// The file.
        path: PathBuf,
        /// The schema in the file.
        found: String,
    },
}

impl Prereg {
    /// Registers a definition.
    pub fn new(definition: Definition, smallest_effect: Option<f64>, registered_at: Timestamp) -> Self {
        Self { schema: PREREG_SCHEMA.into(), registered_at, smallest_effect, definition }
    }

    /// Reads the registration at a path; `None` if the file does not exist.
    pub fn read(path: &Path) -> Result<Option<Self>, PreregError> {
        let text = match apprentice_files::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(PreregError::Io { path: path.to_owned(), operation: "read", source }),
        };
        let found: Self = serde_json::from_str(&text)
            .map_err(|source| PreregError::Form { path: path.to_owned(), source })?;
        match found.schema == PREREG_SCHEMA {
            true => Ok(Some(found)),
            false => Err(PreregError::Schema { path: path.to_owned(), found: found.schema }),
        }
    }

    /// Writes the registration to a new file; an existing one is never replaced.
    pub fn write(&self, path: &Path) -> Result<(), PreregError> {
        let text = serde_json::to_string_pretty(self)
            .map_err(|source| PreregError::Form { path: path.to_owned(), source })?;
        let failed = |source| PreregError::Io { path: path.to_owned(), operation: "written", source };
        let place = path.parent().filter(|place| !place.as_os_str().is_empty()).unwrap_or(Path::new("."));
        // Readable by everyone who may read the folder.
        let open = fs::Permissions::from_mode(0o644);
        let mut draft = tempfile::Builder::new().permissions(open).tempfile_in(place).map_err(failed)?;
        draft.write_all(text.as_bytes()).and_then(|()| draft.write_all(b"\n")).map_err(failed)?;
        draft.as_file().sync_all().map_err(failed)?;
        draft.persist_noclobber(path).map(drop).map_err(|error| failed(error.error))
    }

    /// Lists the deviations of a definition from the registered one.
    pub fn deviations(&self, carried_out: &Definition) -> Vec<Deviation> {
        let both = (serde_json::to_value(&self.definition), serde_json::to_value(carried_out));
        let (Ok(Value::Object(registered)), Ok(Value::Object(done))) = both else { return Vec::new() };
        let fields: BTreeSet<&String> = registered.keys().chain(done.keys()).collect();
        let differs = |field: &&&String| {
            !NOT_COMPARED.contains(&field.as_str()) && registered.get(**field) != done.get(**field)
        };
        let told = |field: &&String| Deviation {
            field: field.replace('_', " "),
            what: difference(registered.get(*field), done.get(*field)),
        };
        fields.iter().filter(differs).map(told).collect()
    }
}

/// Describes how two values differ. For lists and maps, only what was added, removed or changed.
fn difference(registered: Option<&Value>, done: Option<&Value>) -> String {
    if let (Some(Value::Object(before)), Some(Value::Object(after))) = (registered, done) {
        let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        let differs = |key: &&&String| before.get(**key) != after.get(**key);
        let told = |key: &String| format!("{key} {}", difference(before.get(key), after.get(key)));
        let mut all: Vec<String> = keys.iter().filter(differs).map(|key| told(key)).collect();
        let more = all.len().saturating_sub(MAX_LISTED);
        all.truncate(MAX_LISTED);
        return all.join("; ") + if more > 0 { format!("; and {more} more") } else { String::new() }.as_str();
    }
    let items = |value: Option<&Value>| -> Option<BTreeSet<String>> {
        match value? {
            Value::Array(list) => Some(list.iter().map(display_value).collect()),
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
    let said = |value: Option<&Value>| value.map_or_else(|| "nothing".into(), display_value);
    format!("registered {}, carried out {}", said(registered), said(done))
}

fn display_value(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
