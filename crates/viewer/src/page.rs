//! The page itself: its files as they are served, and one file that brings its documents along.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use apprentice_packed::unpack_text;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::document::{Document, DocumentError, path_of};
use crate::library::Library;

const INDEX: &str = include_str!("assets/index.html");
static STYLE: LazyLock<String> =
    LazyLock::new(|| unpack_text(include_bytes!(concat!(env!("OUT_DIR"), "/viewer.css.zz"))));
static SCRIPT: LazyLock<String> =
    LazyLock::new(|| unpack_text(include_bytes!(concat!(env!("OUT_DIR"), "/viewer.js.zz"))));
/// Where the script is named in the page.
const SCRIPT_MARK: &str = "<!-- scripts -->";
const STYLE_MARK: &str = "<link rel=\"stylesheet\" href=\"viewer.css\">";

/// A file of the page.
pub(crate) struct PageFile {
    pub(crate) media: &'static str,
    pub(crate) text: String,
}

/// Returns a file by its name; the page itself has none.
pub(crate) fn file(name: &str) -> Option<PageFile> {
    match name {
        "" | "index.html" => {
            let text = INDEX.replace(SCRIPT_MARK, "<script src=\"viewer.js\" defer></script>");
            Some(PageFile { media: "text/html; charset=utf-8", text })
        }
        "viewer.css" => Some(PageFile { media: "text/css; charset=utf-8", text: STYLE.clone() }),
        "viewer.js" => Some(PageFile { media: "text/javascript; charset=utf-8", text: SCRIPT.clone() }),
        _ => None,
    }
}

/// What the served page may load: its own files and pictures, and nothing else.
pub(crate) fn policy() -> String {
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; \
     form-action 'none'; frame-ancestors 'none'"
        .to_owned()
}

/// The limits of an exported file.
#[derive(Clone, Copy, Debug)]
pub struct ExportLimits {
    /// The most bytes of the file.
    pub max_bytes: u64,
}

impl Default for ExportLimits {
    fn default() -> Self {
        // Browsers open files of this size within seconds.
        Self { max_bytes: 300 << 20 }
    }
}

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// The attempts in the file.
    pub attempts: usize,
    /// The pictures in the file.
    pub pictures: usize,
    /// The size of the file in bytes.
    pub bytes: u64,
    /// Documents that could not be read; the page says so in their place.
    pub unreadable: usize,
}

/// A file that cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The first page cannot be made.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// It would be too large.
    #[error(
        "the page would be larger than {0} bytes; export single attempts with --trial, or serve it without --export"
    )]
    TooLarge(u64),
    /// No attempt is chosen.
    #[error("there is no trial {0:?}")]
    NoTrial(String),
    /// The file cannot be written.
    #[error("{} cannot be written", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
}

/// Writes a page that needs no server: with `trial`, only the attempts of that trial. The file is there whole or not at all.
///
/// # Errors
///
/// Fails if there is no such trial, if the page would be larger than `limits` allow, or if it cannot be written.
pub fn write_page(
    library: &Library,
    trial: Option<&str>,
    place: &Path,
    limits: ExportLimits,
) -> Result<Exported, ExportError> {
    let mut packed = Packed { library, limits, documents: BTreeMap::new(), exported: Exported::default() };
    packed.pack(trial)?;
    let html = packed.html();
    let mut exported = packed.exported;
    exported.bytes = html.len() as u64;
    let failed = |source| ExportError::Io { path: place.to_owned(), source };
    let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut draft = tempfile::Builder::new().prefix(".page-").tempfile_in(folder).map_err(failed)?;
    draft.write_all(html.as_bytes()).map_err(failed)?;
    draft.as_file().sync_data().map_err(failed)?;
    let draft = draft.persist(place).map_err(|error| failed(error.error))?;
    readable(&draft).map_err(failed)?;
    Ok(exported)
}

/// A draft is its owner's alone; a page is for others, too.
fn readable(file: &fs::File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    file.set_permissions(fs::Permissions::from_mode(0o644))
}

/// The documents of a file under way, by path.
struct Packed<'a> {
    library: &'a Library,
    limits: ExportLimits,
    documents: BTreeMap<String, Value>,
    exported: Exported,
}

impl Packed<'_> {
    fn pack(&mut self, trial: Option<&str>) -> Result<(), ExportError> {
        let mut grid = self.json("grid")?.unwrap_or_default();
        let all = grid.get("rows").and_then(Value::as_array).cloned().unwrap_or_default();
        let rows: Vec<Value> =
            all.into_iter().filter(|row| trial.is_none_or(|trial| row["trial"] == trial)).collect();
        if rows.is_empty()
            && let Some(trial) = trial
        {
            return Err(ExportError::NoTrial(trial.to_owned()));
        }
        self.exported.unreadable += grid["problems"].as_array().map_or(0, Vec::len);
        grid["rows"] = rows.clone().into();
        let books: Vec<String> = match trial {
            None => grid["books"].as_array().into_iter().flatten().map(text).collect(),
            Some(_) => Vec::new(),
        };
        grid["books"] = books.clone().into();
        self.documents.insert("grid".to_owned(), grid);
        for row in &rows {
            self.attempt(row)?;
        }
        // Attempts at the same task with the same variation are compared: within a run, and across runs where one passed
        // and the other failed. All pairs would be too many.
        for (place, one) in rows.iter().enumerate() {
            for other in &rows[place + 1..] {
                let is_near = one["run"] == other["run"] || one["verdict"] != other["verdict"];
                if one["task"] == other["task"] && one["seed"] == other["seed"] && is_near {
                    let [one, other] = [one, other].map(name_of);
                    let parts: Vec<&str> =
                        ["compare"].into_iter().chain(one.iter().chain(&other).map(String::as_str)).collect();
                    self.add(&path_of(&parts))?;
                }
            }
        }
        books.iter().try_for_each(|book| self.book(book))
    }

    fn attempt(&mut self, row: &Value) -> Result<(), ExportError> {
        let [run, trial, attempt] = name_of(row);
        let Some(document) = self.add(&path_of(&["attempt", &run, &trial, &attempt]))? else { return Ok(()) };
        self.exported.attempts += 1;
        let turns = document["turns"].as_array().cloned().unwrap_or_default();
        let screens = turns.iter().flat_map(|turn| [&turn["before"], &turn["after"]]);
        for screen in screens.chain([&document["last"]]) {
            if let Some(hash) = screen["screenshot"].as_str() {
                self.picture(&path_of(&["picture", &run, &format!("{hash}.png")]))?;
            }
        }
        for place in 0..turns.len() {
            self.add(&path_of(&["step", &run, &trial, &attempt, &place.to_string()]))?;
        }
        Ok(())
    }

    fn book(&mut self, book: &str) -> Result<(), ExportError> {
        let Some(document) = self.add(&path_of(&["book", book]))? else { return Ok(()) };
        for skill in document["skills"].as_array().into_iter().flatten() {
            let Some(skill) = self.add(&path_of(&["skill", book, &text(&skill["id"])]))? else { continue };
            for figure in skill["figures"].as_array().into_iter().flatten() {
                self.picture(&path_of(&["figure", book, &text(&figure["sha256"])]))?;
            }
        }
        Ok(())
    }

    /// Adds a JSON document. What cannot be read is added as its reason.
    fn add(&mut self, path: &str) -> Result<Option<Value>, ExportError> {
        let made = match self.json(path) {
            Ok(made) => made,
            Err(error) => {
                self.exported.unreadable += 1;
                self.documents.insert(path.to_owned(), serde_json::json!({ "error": error.to_string() }));
                return Ok(None);
            }
        };
        if let Some(value) = &made {
            self.count(value.to_string().len() as u64)?;
            self.documents.insert(path.to_owned(), value.clone());
        }
        Ok(made)
    }

    fn json(&self, path: &str) -> Result<Option<Value>, DocumentError> {
        match self.library.document(path)? {
            Document::Json(text) => {
                let read = serde_json::from_str(&text);
                read.map(Some).map_err(|error| DocumentError::Unreadable(error.to_string()))
            }
            Document::Picture { .. } => Ok(None),
        }
    }

    /// Adds a picture once. One that is missing is told by the page.
    fn picture(&mut self, path: &str) -> Result<(), ExportError> {
        if self.documents.contains_key(path) {
            return Ok(());
        }
        let Ok(Document::Picture { media, bytes }) = self.library.document(path) else {
            self.exported.unreadable += 1;
            return Ok(());
        };
        self.exported.pictures += 1;
        self.count(bytes.len() as u64 * 4 / 3)?;
        self.documents
            .insert(path.to_owned(), format!("data:{media};base64,{}", STANDARD.encode(bytes)).into());
        Ok(())
    }

    fn count(&mut self, bytes: u64) -> Result<(), ExportError> {
        self.exported.bytes += bytes;
        if self.exported.bytes > self.limits.max_bytes {
            Err(ExportError::TooLarge(self.limits.max_bytes))
        } else {
            Ok(())
        }
    }

    /// The page with its style, its script and its documents inside. Only this script runs: the policy names its hash.
    fn html(&self) -> String {
        let data = Value::Object(self.documents.clone().into_iter().collect()).to_string();
        // Inside of a script element, only a closing tag and a comment matter, and both begin with this character.
        let data = data.replace('<', "\\u003c");
        let hash = |text: &str| STANDARD.encode(Sha256::digest(text.as_bytes()));
        let policy = format!(
            "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; img-src data:; base-uri 'none'; \
             form-action 'none'",
            hash(&SCRIPT),
            hash(&STYLE)
        );
        let head = format!(
            "<meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n<style>{}</style>",
            *STYLE
        );
        let body = format!(
            "<script type=\"application/json\" id=\"documents\">{data}</script>\n<script>{}</script>",
            *SCRIPT
        );
        INDEX.replace(STYLE_MARK, &head).replace(SCRIPT_MARK, &body)
    }
}

fn name_of(row: &Value) -> [String; 3] {
    [text(&row["run"]), text(&row["trial"]), row["attempt"].to_string()]
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
