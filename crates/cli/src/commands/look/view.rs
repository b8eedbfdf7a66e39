//! `apprentice view`: shows runs in a browser, as one file, or one attempt on the terminal.

use std::io::IsTerminal as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use apprentice_protocol::{EventKind, Verdict, counted};
use apprentice_results::report::trace::{Pictures, render};
use apprentice_runs::layout::{BLOBS_FOLDER, EVENTS_FILE, TRIALS_FOLDER};
use apprentice_runs::{Wanted, latest_run};
use apprentice_trace::Trace;
use apprentice_viewer::{ExportLimits, Library, Processes, Shown, ViewerToken, address, serve, write_page};
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;
use tokio::net::TcpListener;

use crate::failure::{Failure, Kind, WithKind as _};
use crate::runs::run_place::RunPlace;
use crate::settings::config::Config;
use crate::{process_env, runs::control_socket, terminal, terminal::event_printer, wire};

/// Shows a run, an experiment or a bundle in a browser: results, attempts step by step, two attempts side by side, and the
/// skillbook. Works offline.
///
/// The pages are served on this machine alone, at an address with a token, until the command is interrupted. With `--trial`,
/// or given an attempt's folder, it prints that attempt on the terminal instead.
#[derive(Debug, Args)]
pub(crate) struct View {
    /// The folder of a run, an experiment or an attempt, or a bundle [default: the latest run below the setting `runs`].
    path: Option<PathBuf>,
    /// Trial of the run; its last attempt is printed on the terminal, or exported.
    #[arg(long, value_name = "ID")]
    trial: Option<String>,
    /// Write one HTML file that needs no server, with all pictures; `--trial` limits it to one trial.
    #[arg(long, value_name = "FILE", conflicts_with = "html")]
    export: Option<PathBuf>,
    /// Write one attempt as a plain HTML page without scripts, with all pictures.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// The port to serve at; 0 takes a free one.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Do not open the browser.
    #[arg(long)]
    no_open: bool,
    /// Print the address as one JSON object (`apprentice.view/1`) and open nothing.
    #[arg(long)]
    json: bool,
}

/// What `--json` prints once the viewer answers.
#[derive(Serialize, JsonSchema)]
pub(in crate::commands) struct Served {
    schema: &'static str,
    url: String,
}

/// Runs the command.
pub(crate) fn run(arguments: &View, config: &Config) -> Result<(), Failure> {
    let path = match &arguments.path {
        Some(path) => path.clone(),
        None => latest(&config.runs)?,
    };
    let is_attempt = path.join(EVENTS_FILE).is_file();
    let place = if is_attempt { RunPlace::of_attempt(&path) } else { RunPlace::of(&path, Wanted::Viewed)? };
    if arguments.export.is_none() && (is_attempt || arguments.trial.is_some() || arguments.html.is_some()) {
        return show_attempt(arguments, &place);
    }
    let mut library = Library::open_from(place.folder(), place.source()).kind(Kind::Config)?;
    if place.is_bundle(&path) {
        library = library.titled(bundle_name(&path));
    }
    match &arguments.export {
        Some(file) => export(&library, arguments.trial.as_deref(), file),
        None => {
            let processes = Processes::new(control_socket::places(config)?);
            serve_pages(Shown { library, processes }, arguments)
        }
    }
}

/// Returns the name of a bundle: its file's, without `.tar.gz`.
fn bundle_name(bundle: &Path) -> String {
    let name = bundle.file_name().unwrap_or_default().to_string_lossy();
    let stem = [".tar.gz", ".tgz", ".tar"].iter().find_map(|ending| name.strip_suffix(ending));
    stem.unwrap_or(&name).to_owned()
}

fn export(library: &Library, trial: Option<&str>, file: &Path) -> Result<(), Failure> {
    let written = write_page(library, trial, file, ExportLimits::default()).kind(Kind::Config)?;
    #[expect(clippy::cast_precision_loss, reason = "a size to be read by a person")]
    let megabytes = written.bytes as f64 / 1e6;
    let (attempts, pictures) = (counted(written.attempts, "attempt"), counted(written.pictures, "picture"));
    terminal::line(format_args!("{}: {attempts}, {pictures}, {megabytes:.1} MB", file.display()));
    if written.unreadable > 0 {
        let parts = counted(written.unreadable, "part");
        terminal::note(format_args!("{parts} could not be read; the page says which"));
    }
    Ok(())
}

fn serve_pages(shown: Shown, arguments: &View) -> Result<(), Failure> {
    let cancel = wire::cancel_on_interrupt();
    wire::runtime()?.block_on(async {
        let asked = SocketAddr::from((Ipv4Addr::LOCALHOST, arguments.port));
        let listener = TcpListener::bind(asked).await.map_err(|error| {
            Failure::say(Kind::Environment, format!("cannot listen on {asked}: {error}"))
                .hint("name another port with --port, or 0 for a free one")
        })?;
        let token = ViewerToken::random();
        let url = address(listener.local_addr().kind(Kind::Environment)?, &token);
        if arguments.json {
            terminal::json(&Served { schema: "apprentice.view/1", url })?;
        } else {
            terminal::line(format_args!("{url}"));
            terminal::note(format_args!(
                "whoever has this address can read the run, and steer what runs; Ctrl-C ends the viewer"
            ));
            if !arguments.no_open && std::io::stdout().is_terminal() {
                open_browser(&url);
            }
        }
        serve(listener, shown, token, cancel).await.kind(Kind::Environment)
    })
}

/// Opens the desktop's browser where there is a desktop. The address is printed anyway, so a failure is no error.
fn open_browser(url: &str) {
    let has_desktop = ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| process_env::variable(name).is_some());
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    if (has_desktop || cfg!(target_os = "macos")) && process_env::find_program(program).is_some() {
        let mut command = Command::new(program);
        let started =
            command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        if let Err(error) = started {
            terminal::note(format_args!("the browser did not start: {error}"));
        }
    }
}

/// The run that was begun last.
fn latest(runs: &Path) -> Result<PathBuf, Failure> {
    latest_run(runs).ok_or_else(|| {
        Failure::say(Kind::NothingMatched, format!("there is no run below {}", runs.display()))
            .hint("give the folder of a run or an experiment, or a bundle")
    })
}

/// Prints an attempt on the terminal, or writes its plain page.
fn show_attempt(arguments: &View, place: &RunPlace) -> Result<(), Failure> {
    let path = place.folder();
    let attempt = match &arguments.trial {
        Some(trial) => {
            // As `last_attempt` matches it.
            place.bring(|row| row.trial.as_str() == trial || row.trace.split('/').nth(1) == Some(trial))?;
            last_attempt(path, trial)?
        }
        None => path.to_owned(),
    };
    let trace = Trace::read(&attempt.join(EVENTS_FILE)).kind(Kind::Config)?;
    if let Some(torn) = &trace.torn {
        terminal::note(format_args!("the last line is incomplete: skipped {} bytes", torn.len()));
    }
    let Some(file) = &arguments.html else {
        print(&trace);
        return Ok(());
    };
    place.bring_screens(&trace.events)?;
    let page = render(&trace.events, &blobs_of(&attempt), Pictures::Inlined).kind(Kind::Bug)?;
    std::fs::write(file, page)
        .map_err(|error| Failure::say(Kind::Environment, format!("{}: {error}", file.display())))?;
    terminal::line(format_args!("{}", file.display()));
    Ok(())
}

/// Prints the task, every event in one line, and the verdict with its reason.
fn print(trace: &Trace) {
    if let Some(header) = trace.header() {
        terminal::line(format_args!("task {}: {}", header.brief.id, header.brief.instruction));
        terminal::line(format_args!("model {}", header.model.name));
    }
    for event in &trace.events {
        if let Some(text) = event_printer::describe(&event.kind) {
            let step = event.step.map_or_else(|| "   ".into(), |step| format!("{step:>3}"));
            terminal::line(format_args!("{step} {text}"));
        }
    }
    let judged = trace.events.iter().find_map(|event| match &event.kind {
        EventKind::Judged(judged) => Some(judged),
        _ => None,
    });
    match judged {
        None => terminal::line(format_args!("not judged")),
        Some(judged) => {
            let verdict = match judged.verdict {
                Verdict::Pass => "passed",
                Verdict::Fail => "failed",
                Verdict::Void => "void",
            };
            terminal::line(format_args!("{verdict}, score {:.2}: {}", judged.score, judged.explanation));
            for check in &judged.checks {
                let score = check.score.map_or_else(|| "no score".to_owned(), |score| format!("{score:.2}"));
                terminal::line(format_args!("  {} {score}: {}", check.metric, check.explanation));
            }
        }
    }
}
/// Returns the folder of a trial's last attempt.
pub(in crate::commands) fn last_attempt(run: &Path, trial: &str) -> Result<PathBuf, Failure> {
    let trials = run.join(TRIALS_FOLDER);
    let folders = |path: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        let mut found: Vec<PathBuf> =
            entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
        found.sort_unstable();
        found
    };
    // A trial's folder is named `TASK-ID`; an id contains no hyphen. Messages name the folder.
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let has_id = |path: &PathBuf| {
        let name = name(path);
        let id = name.rsplit_once('-').map_or(name.as_str(), |(_, id)| id);
        !trial.is_empty() && (id == trial || name == trial)
    };
    let missing =
        || Failure::say(Kind::NothingMatched, format!("{} contains no trial {trial:?}", trials.display()));
    let found: Vec<PathBuf> = folders(&trials).into_iter().filter(has_id).collect();
    let folder = match found.as_slice() {
        [] => return Err(missing()),
        [folder] => folder,
        several => {
            let names: Vec<String> = several.iter().map(|path| name(path)).collect();
            let message =
                format!("{} contains several trials {trial:?}: {}", trials.display(), names.join(", "));
            return Err(Failure::say(Kind::Usage, message)
                .hint("give the folder of the attempt instead of `--trial`"));
        }
    };
    folders(folder).pop().ok_or_else(missing)
}

/// Returns the folder of an attempt's pictures: its own, or its run's.
fn blobs_of(attempt: &Path) -> PathBuf {
    let above = attempt.ancestors().map(|folder| folder.join(BLOBS_FOLDER));
    above.take(4).find(|folder| folder.is_dir()).unwrap_or_else(|| attempt.join(BLOBS_FOLDER))
}

#[cfg(test)]
mod tests {
    use super::last_attempt;

    #[test]
    fn a_trial_is_matched_by_its_whole_id() {
        let run = tempfile::tempdir().expect("a folder");
        for attempt in
            ["bake-bread-0a1b2c/attempt-01", "bake-bread-0a1b2c/attempt-02", "bake-rye-ff0a1b2c/attempt-01"]
        {
            std::fs::create_dir_all(run.path().join("trials").join(attempt)).expect("creates");
        }
        let found = |trial: &str| last_attempt(run.path(), trial).map_err(|failure| failure.to_string());
        assert_eq!(found("0a1b2c"), Ok(run.path().join("trials/bake-bread-0a1b2c/attempt-02")));
        for name in ["ff0a1b2c", "bake-rye-ff0a1b2c"] {
            assert_eq!(found(name), Ok(run.path().join("trials/bake-rye-ff0a1b2c/attempt-01")));
        }
        for part in ["2c", "a1b2c", "bread-0a1b2c", ""] {
            assert!(found(part).expect_err("is no id").contains("contains no trial"), "{part}");
        }
    }

    #[test]
    fn an_id_of_several_trials_is_refused_with_their_names() {
        let run = tempfile::tempdir().expect("a folder");
        for trial in ["bake-bread-0a1b2c", "bake-rye-0a1b2c"] {
            std::fs::create_dir_all(run.path().join("trials").join(trial).join("attempt-01"))
                .expect("creates");
        }
        let told = last_attempt(run.path(), "0a1b2c").expect_err("which of them?").to_string();
        assert!(told.contains("several") && told.contains("bake-bread-0a1b2c, bake-rye-0a1b2c"), "{told}");
    }
}
