//! SkillWeaver's library: Python files of functions over Playwright, each function as a package of its own.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use apprentice_functions::{PlaywrightError, PlaywrightFunction, SYNTAX_PROGRAM, Untranslated, translate};
use apprentice_skillbook::package::{Imported, Package, SKILL_FILE};
use serde_json::Value;

use crate::failure::{Failure, Kind};
use crate::process_env;

/// How the names of the library's files end.
const ENDINGS: [&str; 3] = ["_kb_post_code", "_kb_code", "_code"];
/// Names of the file that holds a library's licence.
const LICENCES: [&str; 4] = ["LICENSE", "LICENSE.txt", "LICENSE.md", "LICENCE"];
const DEPTH: usize = 4;
/// Number of folders above the library in which its licence may stand.
const ABOVE: usize = 3;
/// Largest file.
const MOST_BYTES: u64 = 4 * 1024 * 1024;

/// A library, translated as far as it can be.
pub(super) struct Library {
    pub(super) packages: Vec<Package>,
    /// The functions that could not be translated and the files that could not be read, with the reasons.
    pub(super) left_out: Vec<Imported>,
}

/// Reads the Python files of a folder, or one file. `base` is the address of the site that relative addresses begin with.
pub(super) fn read(place: &Path, base: Option<&str>) -> Result<Library, Failure> {
    let mut files = Vec::new();
    collect(place, DEPTH, &mut files)?;
    files.sort_unstable();
    let licence = licence(place)?;
    let mut library = Library { packages: Vec::new(), left_out: Vec::new() };
    for file in files {
        let named = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let functions = match translate(&syntax(&file)?, base) {
            Ok(functions) => functions,
            Err(error @ PlaywrightError::NotPython { .. }) => {
                library.left_out.push(untranslated(site(&named), &named, &error.to_string()));
                continue;
            }
            Err(error @ PlaywrightError::Unreadable(_)) => {
                return Err(Failure::say(Kind::Config, format!("{}: {error}", file.display())));
            }
        };
        for function in functions {
            let package = Origin { file: &named, licence: licence.as_deref(), function: &function };
            match &function.translated {
                Ok(source) => library.packages.push(package.package(source)),
                Err(reasons) => library.left_out.push(package.left_out(reasons)),
            }
        }
    }
    Ok(library)
}

/// Has Python's own parser read a file. Nothing of it is run, and neither settings nor packages of the user are loaded.
fn syntax(file: &Path) -> Result<Vec<u8>, Failure> {
    let failed = |error| Failure::say(Kind::Config, format!("{}: {error}", file.display()));
    let text = apprentice_files::read(file).map_err(failed)?;
    let python = process_env::find_program("python3").ok_or_else(|| {
        Failure::say(Kind::Environment, "program python3 is not installed: it reads functions in Python")
            .hint("install python3 (3.9 or newer), for example: apt-get install -y python3")
    })?;
    let broke = |error| Failure::say(Kind::Environment, format!("{}: {error}", python.display()));
    let mut parser = Command::new(&python)
        .args(["-I", "-S", "-c", SYNTAX_PROGRAM])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(broke)?;
    // The pipe closes at the end of the statement; the program reads all before it writes.
    let written = parser.stdin.take().map_or(Ok(()), |mut pipe| pipe.write_all(&text));
    let output = parser.wait_with_output().map_err(broke)?;
    if !output.status.success() {
        let told = String::from_utf8_lossy(&output.stderr);
        let last = told.lines().last().unwrap_or("no message").to_owned();
        let what = format!("{}: Python's parser ended with {}: {last}", file.display(), output.status);
        return Err(Failure::say(Kind::Config, what).hint("Python 3.9 or newer is needed"));
    }
    written.map_err(broke)?;
    Ok(output.stdout)
}

fn collect(place: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let failed = |error| Failure::say(Kind::Config, format!("{}: {error}", place.display()));
    let kind = fs::symlink_metadata(place).map_err(failed)?;
    if kind.is_file() && place.extension().is_some_and(|ending| ending == "py") {
        if kind.len() > MOST_BYTES {
            let what = format!("{} has more than {MOST_BYTES} bytes", place.display());
            return Err(Failure::say(Kind::Config, what));
        }
        files.push(place.to_owned());
    }
    if kind.is_dir() && depth > 0 {
        for entry in fs::read_dir(place).map_err(failed)? {
            collect(&entry.map_err(failed)?.path(), depth - 1, files)?;
        }
    }
    Ok(())
}

/// Returns the text of the library's licence, which stands in its folder or in one above.
fn licence(place: &Path) -> Result<Option<String>, Failure> {
    let failed = |error| Failure::say(Kind::Config, format!("{}: {error}", place.display()));
    let whole = fs::canonicalize(place).map_err(failed)?;
    let found = whole.ancestors().take(ABOVE).flat_map(|folder| LICENCES.map(|name| folder.join(name)));
    let Some(found) = found.into_iter().find(|file| file.is_file()) else { return Ok(None) };
    let failed = |error| Failure::say(Kind::Config, format!("{}: {error}", found.display()));
    apprentice_files::read_to_string(&found).map(Some).map_err(failed)
}

/// The site that a file is about, by its name: `map` of `map_kb_post_code.py`.
fn site(file: &str) -> String {
    let stem = file.strip_suffix(".py").unwrap_or(file);
    let short = ENDINGS.iter().find_map(|ending| stem.strip_suffix(ending)).unwrap_or(stem);
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let site: String = short.to_lowercase().chars().map(plain).collect();
    site.trim_matches('-').to_owned()
}

/// A package, or a whole file, that could not be translated.
fn untranslated(package: String, file: &str, why: &str) -> Imported {
    let refused = Some(format!("untranslated: {file}: {why}"));
    Imported { package, skill: None, written: false, refused, findings: Vec::new() }
}

/// A function and where it is from.
struct Origin<'a> {
    file: &'a str,
    licence: Option<&'a str>,
    function: &'a PlaywrightFunction,
}

impl Origin<'_> {
    fn name(&self) -> String {
        format!("{}-{}", site(self.file), self.function.name.replace('_', "-").trim_matches('-'))
    }

    fn left_out(&self, reasons: &[Untranslated]) -> Imported {
        let told: Vec<String> =
            reasons.iter().map(|one| format!("line {}: {}", one.line, one.reason)).collect();
        untranslated(self.name(), self.file, &told.join("; "))
    }

    fn package(&self, source: &str) -> Package {
        let quoted = |text: &str| Value::from(text).to_string();
        let about = self.function.about.replace(['<', '>'], "");
        let licence = match self.licence {
            Some(text) => {
                let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
                format!("license: {}\n", quoted(&format!("{first}, whole in LICENSE")))
            }
            None => String::new(),
        };
        let text = format!(
            "---\nname: {name}\ndescription: {described}\n{licence}metadata:\n  cua-domain: {site}\n  origin: {origin}\n---\n\n\
             {about}\n\nA function of this note does it with other values.\n",
            name = self.name(),
            described = quoted(&about),
            site = quoted(&site(self.file)),
            origin = quoted(&format!("SkillWeaver, {}, {}", self.file, self.function.name)),
        );
        let mut files = vec![
            (SKILL_FILE.to_owned(), text.into_bytes()),
            (format!("functions/{}.fn", self.function.name), source.as_bytes().to_vec()),
        ];
        files.extend(self.licence.map(|text| ("LICENSE".to_owned(), text.as_bytes().to_vec())));
        Package { name: self.name(), files: files.into_iter().collect() }
    }
}
