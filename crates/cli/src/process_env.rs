//! Access to the process environment; no other module of the program reads it.
#![expect(clippy::disallowed_methods, reason = "this module is the only adapter of the environment")]

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

/// Endings of variable names that mark a secret.
const SECRET_ENDINGS: [&str; 6] = ["_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_PASSWD", "_CREDENTIALS"];

/// Returns a variable's value.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// Returns the current folder, as an absolute path without links.
pub(crate) fn current_folder() -> io::Result<PathBuf> {
    std::env::current_dir()?.canonicalize()
}

/// Returns all variables whose name starts with `prefix` and whose value is valid UTF-8.
pub(crate) fn variables(prefix: &str) -> Vec<(String, String)> {
    let texts = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    texts.filter(|(name, _)| name.starts_with(prefix)).collect()
}

/// Returns the values of variables whose name marks a secret, for the redaction of stored data.
pub(crate) fn secrets() -> Vec<String> {
    let texts = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let secret = |name: &str| SECRET_ENDINGS.iter().any(|ending| name.to_uppercase().ends_with(ending));
    let values = texts.filter(|(name, _)| secret(name)).map(|(_, value)| value.trim().to_owned());
    // A path to a file with a secret is not a secret.
    values.filter(|value| !value.starts_with('/')).collect()
}

/// Variables that programs outside of worlds may inherit: those that the SDKs of the Model Context Protocol pass on. Keys
/// and tokens are in none of them.
const SAFE: [&str; 6] = ["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"];

/// Returns the variables that tool servers on this machine inherit.
pub(crate) fn inherited_by_servers() -> Vec<(OsString, OsString)> {
    let set = SAFE.iter().filter_map(|name| Some((OsString::from(name), variable(name)?)));
    // Some shells export functions as variables, and run them where they find them.
    set.filter(|(_, value)| !value.as_encoded_bytes().starts_with(b"()")).collect()
}

/// Returns the command line as the user typed it, for the run's plan.
pub(crate) fn command_line() -> Vec<String> {
    std::env::args().collect()
}

/// Returns the folders to search for programs: `PATH`, then the usual system folders.
pub(crate) fn program_folders() -> Vec<PathBuf> {
    let search = variable("PATH").unwrap_or_default();
    let usual = ["/usr/bin", "/bin", "/usr/local/bin", "/usr/sbin"].map(PathBuf::from);
    std::env::split_paths(&search).chain(usual).collect()
}

/// Returns the path of a program: the name itself if absolute, else the first match in [`program_folders`].
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    let path = PathBuf::from(name);
    if path.is_absolute() {
        return path.is_file().then_some(path);
    }
    program_folders().into_iter().map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// Folders in which a cell finds its programs, whatever the `PATH` outside is.
const CELL_FOLDERS: [&str; 7] =
    ["/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/games"];

/// Returns the names of the programs that a cell on this machine has.
pub(crate) fn programs_in_cells() -> Vec<String> {
    let entries = CELL_FOLDERS.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect()
}

/// Whether a cell on this machine has a program, by its name or by its path below `/usr` or `/opt`.
pub(crate) fn is_in_cell(name: &str) -> bool {
    let path = PathBuf::from(name);
    if path.is_absolute() {
        return path.is_file();
    }
    apprentice_sandbox::cell_brings(name)
        || CELL_FOLDERS.iter().any(|folder| PathBuf::from(folder).join(name).is_file())
}

/// Returns the folder of the running program and those above it, with their `share/apprentice`, nearest first.
pub(crate) fn program_places() -> Vec<PathBuf> {
    let program = std::env::current_exe().and_then(|path| path.canonicalize()).unwrap_or_default();
    let above = program.ancestors().skip(1).take(4).filter(|folder| !folder.as_os_str().is_empty());
    above.flat_map(|folder| [folder.to_owned(), folder.join("share/apprentice")]).collect()
}

/// Ends the process at once with the exit code of an interrupt. Its worlds end with it.
#[expect(clippy::exit, reason = "the user interrupted twice")]
pub(crate) fn end_now() -> ! {
    std::process::exit(130)
}

/// Returns a name for this process that no other process of any machine has.
#[cfg(feature = "fleet")]
pub(crate) fn unique_name() -> String {
    use std::hash::{BuildHasher as _, RandomState};
    format!("{}-{:08x}", std::process::id(), RandomState::new().hash_one(0u8) >> 32)
}

/// Returns the folders for the state of worlds, the one to use first.
pub(crate) fn world_state() -> io::Result<Vec<PathBuf>> {
    let runtime = variable("XDG_RUNTIME_DIR").map(PathBuf::from);
    apprentice_sandbox::state_folders(runtime.as_deref(), &std::env::temp_dir())
}

/// Returns this user's folder for state that outlives a command. A user without a home has it beside that of worlds, where
/// no other user can write.
pub(crate) fn lasting_state() -> io::Result<PathBuf> {
    let below = |folder: OsString| PathBuf::from(folder).join("apprentice");
    let home = || variable("HOME").map(|home| PathBuf::from(home).join(".local/state/apprentice"));
    match variable("XDG_STATE_HOME").map(below).or_else(home) {
        Some(folder) => Ok(folder),
        None => {
            let folder = world_state()?.into_iter().next().ok_or(io::ErrorKind::NotFound)?;
            Ok(folder.join("lasting"))
        }
    }
}
