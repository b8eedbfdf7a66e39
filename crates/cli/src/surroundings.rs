//! The one place that reads the process's environment.
#![expect(clippy::disallowed_methods, reason = "this is the one adapter of the environment")]

use std::ffi::OsString;
use std::path::PathBuf;

/// How names of variables that hold a secret end.
const SECRET_ENDINGS: [&str; 6] = ["_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_PASSWD", "_CREDENTIALS"];

/// A variable's value.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// All variables whose name starts with `prefix` and whose value is text.
pub(crate) fn variables(prefix: &str) -> Vec<(String, String)> {
    let texts = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    texts.filter(|(name, _)| name.starts_with(prefix)).collect()
}

/// Values of variables that by their name hold a secret. They are known so that they can be taken out of what is
/// written down.
pub(crate) fn secrets() -> Vec<String> {
    let texts = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let secret = |name: &str| SECRET_ENDINGS.iter().any(|ending| name.to_uppercase().ends_with(ending));
    let values = texts.filter(|(name, _)| secret(name)).map(|(_, value)| value.trim().to_owned());
    // A path to a secret is none.
    values.filter(|value| !value.starts_with('/')).collect()
}

/// Folders in which programs are looked for: the search path, then the usual ones.
pub(crate) fn program_folders() -> Vec<PathBuf> {
    let search = variable("PATH").unwrap_or_default();
    let usual = ["/usr/bin", "/bin", "/usr/local/bin", "/usr/sbin"].map(PathBuf::from);
    std::env::split_paths(&search).chain(usual).collect()
}

/// A program's place: itself when absolute, else the first hit in [`program_folders`].
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    let path = PathBuf::from(name);
    if path.is_absolute() {
        return path.is_file().then_some(path);
    }
    program_folders().into_iter().map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// Ends the process at once, as an interrupted one. Worlds die with it.
#[expect(clippy::exit, reason = "the user interrupted twice")]
pub(crate) fn end_now() -> ! {
    std::process::exit(130)
}

/// The system's folder for temporary files.
pub(crate) fn temporary() -> PathBuf {
    std::env::temp_dir()
}

/// The folder of what lasts from one command to the next, of this user alone.
pub(crate) fn lasting_state() -> PathBuf {
    let below = |folder: OsString| PathBuf::from(folder).join("apprentice");
    let home = || variable("HOME").map(|home| PathBuf::from(home).join(".local/state/apprentice"));
    variable("XDG_STATE_HOME")
        .map(below)
        .or_else(home)
        .unwrap_or_else(|| temporary().join("apprentice-state"))
}
