//! Pipes and other things that are no files, among what comes from elsewhere: each command ends and says what is wrong.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use crate::golden::unpacked;
use crate::place::{Place, Running, await_within, copy};

/// Long enough for any of these commands on a busy machine. Opening a pipe that nobody writes to takes for ever.
const PATIENCE: Duration = Duration::from_secs(60);

/// Puts a pipe in the place of a file.
fn pipe(path: &Path) {
    fs::remove_file(path).expect("removed");
    rustix::fs::mkfifoat(rustix::fs::CWD, path, rustix::fs::Mode::RWXU).expect("a pipe");
}

/// Runs a command, which must end, and gives its exit code and what it says.
fn ended(place: &Place, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = place.command(arguments);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut running = Running::start(command);
    let status =
        await_within(PATIENCE, &format!("the end of {arguments:?}"), || running.0.try_wait().expect("asked"));
    let mut told = String::new();
    running.0.stderr.take().expect("a stream").read_to_string(&mut told).expect("text");
    (status.code(), told)
}

/// The files below a folder, the first few of each folder.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path()).collect();
    entries.sort();
    let (folders, plain): (Vec<_>, Vec<_>) = entries.into_iter().partition(|path| path.is_dir());
    // A run's attempts and pictures are alike.
    found.extend(plain.into_iter().take(4));
    folders.iter().take(3).for_each(|folder| files(folder, found));
}

/// Tries each command with a pipe in the place of each file below `folder`, which is made anew each time.
fn try_each(place: &Place, folder: &Path, make: &dyn Fn(), commands: &[&[&str]]) {
    make();
    let mut found = Vec::new();
    files(folder, &mut found);
    assert!(found.len() >= 2, "{found:?}");
    let mut refusals = 0;
    for file in found {
        fs::remove_dir_all(folder).expect("removed");
        make();
        pipe(&file);
        for command in commands {
            let (code, told) = ended(place, command);
            assert!(
                code.is_some_and(|code| code != 1 && code != 101),
                "{file:?} {command:?}: {code:?} {told}"
            );
            refusals += usize::from(told.contains("it is a pipe, not a regular file"));
        }
    }
    assert!(refusals > 0, "no command says what is wrong");
}

#[test]
fn a_pipe_or_device_that_a_command_names_is_refused() {
    let place = Place::new();
    let pipe = place.path("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).expect("a pipe");
    let commands: [&[&str]; 6] = [
        &["skills", "--skillbook", "book", "apply"],
        &["functions", "check"],
        &["plan"],
        &["distill", "--dry-run"],
        &["skills", "certificate", "verify"],
        &["report"],
    ];
    for command in commands {
        for (file, why) in [("pipe", "a pipe"), ("/dev/zero", "a device")] {
            let mut arguments = command.to_vec();
            arguments.push(file);
            let (code, told) = ended(&place, &arguments);
            assert!(code.is_some_and(|code| !matches!(code, 0 | 1 | 101)), "{arguments:?}: {code:?} {told}");
            assert!(told.contains(why), "{arguments:?}: {told}");
        }
    }
    // The settings of a project lie in a folder that somebody else may have made.
    let settings = place.path("apprentice.toml");
    rustix::fs::mkfifoat(rustix::fs::CWD, &settings, rustix::fs::Mode::RWXU).expect("a pipe");
    let (code, told) = ended(&place, &["config", "show"]);
    assert!(code == Some(3) && told.contains("it is a pipe"), "{code:?} {told}");
}

#[test]
fn a_pipe_in_a_package_holds_no_command_up() {
    let place = Place::new();
    let folder = place.path("count-words");
    let make = || {
        fs::create_dir_all(folder.join("scripts")).expect("a folder");
        let text = "---\nname: count-words\ndescription: Count the words of a text.\n---\n\n# Count words\n\nOpen the menu and choose Count.\n";
        fs::write(folder.join("SKILL.md"), text).expect("written");
        fs::write(folder.join("scripts/count.sh"), "wc -w\n").expect("written");
    };
    let commands: [&[&str]; 2] =
        [&["skills", "--skillbook", "book", "import", "count-words"], &["skills", "validate", "count-words"]];
    try_each(&place, &folder, &make, &commands);
}

#[test]
fn a_pipe_in_a_book_holds_no_command_up() {
    let place = Place::new();
    let (source, folder) = (place.path("packages/count-words"), place.path("book"));
    fs::create_dir_all(&source).expect("a folder");
    let text = "---\nname: count-words\ndescription: Count the words of a text.\n---\n\n# Count words\n\nOpen the menu and choose Count.\n";
    fs::write(source.join("SKILL.md"), text).expect("written");
    let (code, told) = ended(
        &place,
        &["skills", "--skillbook", "made", "import", "packages/count-words", "--accept-effects"],
    );
    assert_eq!(code, Some(0), "{told}");
    let make = || copy(&place.path("made"), &folder);
    let commands: [&[&str]; 4] = [
        &["skills", "--skillbook", "book", "list"],
        &["skills", "--skillbook", "book", "sync"],
        &["skills", "--skillbook", "book", "validate"],
        &["skills", "--skillbook", "book", "history"],
    ];
    try_each(&place, &folder, &make, &commands);
}

#[test]
fn a_pipe_in_a_run_holds_no_command_up() {
    let place = Place::new();
    let kept = unpacked(&place);
    fs::rename(&kept, place.path("kept")).expect("moved");
    let make = || copy(&place.path("kept"), &kept);
    let commands: [&[&str]; 4] = [
        &["report", "old"],
        &["grade", "old"],
        &["sql", "old", "select count(*) from events"],
        &["view", "old", "--export", "page.html"],
    ];
    try_each(&place, &kept, &make, &commands);
}
