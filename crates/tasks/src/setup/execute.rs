//! Performs setup steps against a [`Machine`], waiting for readiness instead of sleeping.

use std::path::{Component, Path};
use std::time::Duration;

use apprentice_protocol::{BoxFuture, Capability, Command, MachineError, Output, Why, Window};

use super::context::{SetupContext, SetupPhase, SleepMode};
use super::error::{SetupError, StepError};
use super::polling::Polling;
use super::step::{Execute, Launch, Step, Until, VerifiedExecute};
use super::window::{self, CLOSE_DEADLINE, POLL_FLOOR, WINDOW_DEADLINE};
use super::{browser, browser_state, shims};
use crate::task::{SetupStep, read_beneath};
use crate::world_io::{
    CommandText, argv, at_home, not_found, programs_started, provides_for, script_of, with_pyautogui,
};

/// A program that was launched last and shows no window for this long is treated as windowless.
const FIRST_WINDOW_DEADLINE: Duration = Duration::from_secs(60);
const COMMAND_DEADLINE: Duration = Duration::from_secs(120);
const UNTIL_DEADLINE: Duration = Duration::from_secs(120);

/// A completed setup step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompletedStep {
    /// The step's index in the list.
    pub index: u32,
    /// The step's type.
    pub step: String,
    /// The step's duration.
    pub took: Duration,
}

/// Performs the steps in order and stops at the first failure. Then waits for the first window of a program
/// launched last, so that the attempt does not begin without it.
/// The future is boxed: crates that await it would each compile all of it again.
///
/// # Errors
///
/// Returns the first step that failed, with its number from 1 and its cause.
pub fn prepare<'a>(
    steps: &'a [SetupStep],
    context: &'a SetupContext<'_>,
) -> BoxFuture<'a, Result<Vec<CompletedStep>, SetupError>> {
    Box::pin(async move {
        let mut launched = None;
        let mut done = Vec::new();
        for (index, step) in (0u32..).zip(steps) {
            let begun = context.clock.mono();
            perform(step, context, &mut launched).await.map_err(|source| SetupError {
                index,
                step: step.kind.clone(),
                source,
            })?;
            if done.len() + 1 == steps.len() && context.phase == SetupPhase::Start {
                let shown = await_first_window(context, FIRST_WINDOW_DEADLINE, &mut launched).await;
                shown.map_err(|source| SetupError { index, step: step.kind.clone(), source })?;
            }
            let took = context.clock.mono().saturating_sub(begun);
            done.push(CompletedStep { index, step: step.kind.clone(), took });
        }
        Ok(done)
    })
}

/// The windows open before the last launch; `None` once its own window has been waited for.
type WindowsBeforeLaunch = Option<Vec<String>>;

async fn perform(
    step: &SetupStep,
    context: &SetupContext<'_>,
    launched: &mut WindowsBeforeLaunch,
) -> Result<(), StepError> {
    match Step::read(step).ok_or(StepError::Unknown)?.map_err(StepError::Parameters)? {
        Step::Download(files) => {
            for file in files {
                download(context, &file.url, &file.path).await?;
            }
            Ok(())
        }
        Step::Upload(files) => {
            for file in files {
                upload(context, &file.local_path, &file.path).await?;
            }
            Ok(())
        }
        Step::Write(file) => {
            let path = at_home(context.machine, &file.path);
            Ok(context.machine.write(&path, file.content.as_bytes()).await?)
        }
        Step::Launch(launch) => start(context, launch, launched).await,
        // Boxed, because otherwise every setup future would reserve space for it.
        Step::Open(path) => Box::pin(open(context, &path)).await,
        Step::Execute(execute) => run(context, &execute).await,
        Step::Activate(choice) => window::activate(context, &choice).await,
        Step::Close(choice) => window::close(context, &choice).await,
        Step::Await(awaited) => {
            *launched = None;
            window::await_one_of(context, &awaited).await
        }
        Step::Sleep(seconds) => sleep(context, seconds, launched).await,
        Step::OpenTabs(addresses) => browser::open_tabs(context, &addresses).await,
        Step::CloseTabs(addresses) => browser::close_tabs(context, &addresses).await,
        Step::AddHistory(visits) => browser::add_history(context, &visits).await,
        Step::Wallpaper(path) => {
            let uri = format!("file://{}", at_home(context.machine, &path));
            let set = ["gsettings", "set", "org.gnome.desktop.background", "picture-uri", &uri];
            Ok(context.machine.run(&Command::new(set)).await.map(|_| ())?)
        }
        Step::Verify(verified) => verify(context, &verified).await,
        Step::BrowserState(state) => {
            let bytes = local(context, &state.local_path).await?;
            Box::pin(browser_state::restore(context, &bytes)).await
        }
    }
}

async fn download(context: &SetupContext<'_>, url: &str, path: &str) -> Result<(), StepError> {
    if let Some(local) = url.strip_prefix("file:") {
        return upload(context, local.trim_start_matches("//"), path).await;
    }
    let mirror = context.mirror.ok_or_else(|| StepError::Network(url.to_owned()))?;
    let bytes = mirror.fetch(url).await?;
    Ok(context.machine.write(&at_home(context.machine, path), &bytes).await?)
}

async fn upload(context: &SetupContext<'_>, from: &str, path: &str) -> Result<(), StepError> {
    let bytes = local(context, from).await?;
    Ok(context.machine.write(&at_home(context.machine, path), &bytes).await?)
}

/// Reads a file of the suite.
async fn local(context: &SetupContext<'_>, local: &str) -> Result<Vec<u8>, StepError> {
    let inside =
        Path::new(local).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if !inside {
        return Err(StepError::OutsideSuite(local.to_owned()));
    }
    Ok(read_beneath(context.suite_root, Path::new(local)).await?)
}

async fn start(
    context: &SetupContext<'_>,
    launch: Launch,
    launched: &mut WindowsBeforeLaunch,
) -> Result<(), StepError> {
    let before = window::window_ids(context.machine).await?;
    let words = command_words(context, &launch.command, launch.shell)?;
    if let Some(pattern) = shims::pkill_pattern(&words) {
        return end(context, pattern).await;
    }
    every_program_of_script_is_there(context, &words).await?;
    let command = with_pyautogui(context.machine, words).await?;
    match context.machine.launch(&command).await {
        Err(MachineError::MissingProgram(_)) if shims::is_relay(&command.argv) => return Ok(()),
        other => other?,
    }
    let shows = context.machine.offers().capabilities.contains(&Capability::Windows);
    *launched = Some(before).filter(|_| shows);
    let Some(name) = launch.window else { return Ok(()) };
    let before = launched.take().unwrap_or_default();
    let mine = |window: &Window| !before.contains(&window.id) && window::names(window, &name);
    window::await_window(context, mine, &name, WINDOW_DEADLINE, WINDOW_DEADLINE).await.map(|_| ())
}

/// Ends processes and waits until they have exited. Programs write their settings on exit, and one that is
/// restarted too early would only connect to the exiting instance.
async fn end(context: &SetupContext<'_>, pattern: &str) -> Result<(), StepError> {
    context.machine.run(&Command::new(["pkill", pattern])).await?;
    let deadline = context.clock.mono() + CLOSE_DEADLINE;
    while context.clock.mono() < deadline {
        if context.machine.run(&Command::new(["pgrep", pattern])).await?.code != 0 {
            break;
        }
        context.clock.pause(POLL_FLOOR, Why::PollFloor).await;
    }
    Ok(())
}

/// The file that receives the exit code of a failed `xdg-open`.
const OPEN_STATUS_FILE: &str = "/tmp/.unopened";

async fn open(context: &SetupContext<'_>, path: &str) -> Result<(), StepError> {
    let path = at_home(context.machine, path);
    let place = Path::new(&path);
    let part = |part: Option<&std::ffi::OsStr>| {
        part.map(|part| part.to_string_lossy().into_owned()).unwrap_or_default()
    };
    let (name, stem) = (part(place.file_name()), part(place.file_stem()));
    if context.machine.read(OPEN_STATUS_FILE).await.is_ok() {
        context.machine.remove(OPEN_STATUS_FILE).await?;
    }
    let before = context.machine.windows().await?;
    // With `BROWSER=false`, a file that no program opens is not passed to a browser, which would treat it as a
    // download. The system's own script stays until the program ends, and so tells when that fails.
    let line = "BROWSER=false /usr/bin/xdg-open \"$1\" || echo $? > \"$2\"";
    let words = ["sh", "-c", line, "sh", &path, OPEN_STATUS_FILE];
    context.machine.launch(&Command::new(words)).await?;
    let wanted = |window: &Window| {
        let named = window.title.contains(&name) || window.title.contains(&stem);
        named || window::shows_by_own_title(window, &before)
    };
    let window = window::await_window(context, wanted, &name, WINDOW_DEADLINE, WINDOW_DEADLINE);
    // The opener may fail long before the wait for a window times out.
    tokio::select! {
        window = window => window::run_wmctrl(context, "-a", &window?).await,
        why = unopened(context, &path) => Err(why),
    }
}

/// Waits until opening a file has failed, and returns the error.
async fn unopened(context: &SetupContext<'_>, path: &str) -> StepError {
    let mut polling = Polling::start();
    loop {
        match context.machine.read(OPEN_STATUS_FILE).await {
            Ok(code) if !code.is_empty() => {
                let code = String::from_utf8_lossy(&code).trim().to_owned();
                return match code.as_str() {
                    "2" => StepError::Machine(MachineError::NotFound(path.to_owned())),
                    "3" => StepError::NoViewer(path.to_owned()),
                    _ => StepError::OpenFailed(path.to_owned(), code),
                };
            }
            Ok(_) | Err(MachineError::NotFound(_)) => {}
            Err(error) => return error.into(),
        }
        polling.pause(context.clock).await;
    }
}

async fn run(context: &SetupContext<'_>, execute: &Execute) -> Result<(), StepError> {
    let words = command_words(context, &execute.command, execute.shell)?;
    every_program_of_script_is_there(context, &words).await?;
    let command = with_pyautogui(context.machine, words).await?.within(COMMAND_DEADLINE);
    let mut output = context.machine.run(&command).await?;
    if execute.until.is_none() {
        every_program_is_there(&command.argv, &output)?;
    }
    if let Some(until) = &execute.until {
        let deadline = context.clock.mono() + UNTIL_DEADLINE;
        let mut polling = Polling::start();
        while !holds(until, &output) {
            if context.clock.mono() >= deadline {
                let output_text = String::from_utf8_lossy(if output.stderr.is_empty() {
                    &output.stdout
                } else {
                    &output.stderr
                });
                let tail: String =
                    output_text.chars().skip(output_text.chars().count().saturating_sub(200)).collect();
                return Err(StepError::Until {
                    command: command.argv.join(" "),
                    code: output.code,
                    output: tail,
                });
            }
            polling.pause(context.clock).await;
            output = context.machine.run(&command).await?;
        }
    }
    for (name, bytes) in [(&execute.stdout, &output.stdout), (&execute.stderr, &output.stderr)] {
        if name.is_empty() {
            continue;
        }
        let file = Path::new(name).file_name().ok_or_else(|| StepError::OutsideSuite(name.clone()))?;
        let path = context.cache_dir.join(file);
        let kept = tokio::fs::create_dir_all(context.cache_dir).await;
        let kept = if kept.is_ok() { tokio::fs::write(&path, bytes).await } else { kept };
        kept.map_err(|source| StepError::Local { path, source })?;
    }
    Ok(())
}

/// The exit code of a shell that did not find the program of its last command.
const NOT_FOUND_BY_SHELL: i32 = 127;

/// Refuses to begin an attempt in a world that lacks what its setup started: by the exit code of a shell, or by what a shell
/// or Python wrote of a program that it did not find.
fn every_program_is_there(argv: &[String], output: &Output) -> Result<(), StepError> {
    let output_text = String::from_utf8_lossy(&output.stderr);
    let missing = not_found(&output_text).filter(|program| !provides_for(argv, program));
    if output.code != NOT_FOUND_BY_SHELL && missing.is_none() {
        return Ok(());
    }
    let line = missing.or_else(|| output_text.lines().last()).unwrap_or_default();
    Err(StepError::NoProgram(line.trim().to_owned()))
}

/// Asks the world for the programs of a script before it runs: a shell starts whatever it is asked for, and a launch has no
/// exit code.
async fn every_program_of_script_is_there(
    context: &SetupContext<'_>,
    words: &[String],
) -> Result<(), StepError> {
    let programs = programs_started(words);
    if script_of(words).is_none() || programs.is_empty() {
        return Ok(());
    }
    let line = "for name; do command -v -- \"$name\" >/dev/null 2>&1 || printf '%s\\n' \"$name\"; done";
    let words = ["sh", "-c", line, "sh"].map(str::to_owned).into_iter().chain(programs);
    let output = context.machine.run(&Command::new(words).within(COMMAND_DEADLINE)).await?;
    match String::from_utf8_lossy(&output.stdout).lines().next() {
        Some(missing) => Err(StepError::NoProgram(missing.to_owned())),
        None => Ok(()),
    }
}

async fn verify(context: &SetupContext<'_>, verified: &VerifiedExecute) -> Result<(), StepError> {
    let words = command_words(context, &verified.command, verified.shell)?;
    every_program_of_script_is_there(context, &words).await?;
    let command = with_pyautogui(context.machine, words).await?.within(COMMAND_DEADLINE);
    context.machine.run(&command).await?;
    let wait = Duration::try_from_secs_f64(verified.max_wait_time).unwrap_or(COMMAND_DEADLINE);
    let deadline = context.clock.mono() + wait;
    loop {
        let mut lacking = None;
        if let Some(name) = &verified.verification.window_exists {
            let there = context.machine.windows().await?.iter().any(|window| window.title.contains(name));
            lacking = (!there).then(|| format!("window {name:?}"));
        }
        if let Some(line) = verified.verification.command_success.as_ref().filter(|_| lacking.is_none()) {
            let output = context.machine.run(&Command::shell(line)).await?;
            lacking = (output.code != 0).then(|| format!("command {line:?}"));
        }
        match lacking {
            None => return Ok(()),
            Some(lacking) if context.clock.mono() >= deadline => {
                return Err(StepError::VerificationTimeout(lacking));
            }
            Some(_) => context.clock.pause(POLL_FLOOR, Why::PollFloor).await,
        }
    }
}

/// Returns whether one of the given conditions holds; true when no condition is given.
fn holds(until: &Until, output: &Output) -> bool {
    let contains = |bytes: &[u8], part: &Option<String>| {
        part.as_ref().map(|part| String::from_utf8_lossy(bytes).contains(part.as_str()))
    };
    let any = [
        until.returncode.map(|code| code == output.code),
        contains(&output.stdout, &until.stdout),
        contains(&output.stderr, &until.stderr),
    ];
    any.contains(&Some(true)) || any == [None; 3]
}

/// Waits up to a deadline for the first window of a launched program, unless it was already waited for. A program
/// may have no window, so a timeout is not an error.
async fn await_first_window(
    context: &SetupContext<'_>,
    within: Duration,
    launched: &mut WindowsBeforeLaunch,
) -> Result<(), StepError> {
    let Some(before) = launched.take() else { return Ok(()) };
    let deadline = context.clock.mono() + within;
    while context.clock.mono() < deadline {
        let windows = context.machine.windows().await?;
        if windows.iter().any(|window| !before.contains(&window.id) && !window::is_splash(window)) {
            break;
        }
        context.clock.pause(POLL_FLOOR, Why::PollFloor).await;
    }
    Ok(())
}

async fn sleep(
    context: &SetupContext<'_>,
    seconds: f64,
    launched: &mut WindowsBeforeLaunch,
) -> Result<(), StepError> {
    let time = Duration::try_from_secs_f64(seconds).unwrap_or_default();
    if launched.is_some() && context.sleep_mode == SleepMode::Ready {
        return await_first_window(context, time, launched).await;
    }
    context.clock.pause(time, Why::TaskStep).await;
    Ok(())
}

fn command_words(
    context: &SetupContext<'_>,
    command: &CommandText,
    shell: bool,
) -> Result<Vec<String>, StepError> {
    let words = argv(command, shell).ok_or_else(|| StepError::Command(format!("{command:?}")))?;
    Ok(words.into_iter().map(|word| at_home(context.machine, &fill(context, word))).collect())
}

/// Fills in OSWorld's own placeholders.
fn fill(context: &SetupContext<'_>, word: String) -> String {
    if !word.contains('{') {
        return word;
    }
    let screen = context.screen;
    [
        ("{SCREEN_WIDTH_HALF}", (screen.width / 2).to_string()),
        ("{SCREEN_HEIGHT_HALF}", (screen.height / 2).to_string()),
        ("{SCREEN_WIDTH}", screen.width.to_string()),
        ("{SCREEN_HEIGHT}", screen.height.to_string()),
        ("{CLIENT_PASSWORD}", context.password.to_owned()),
    ]
    .iter()
    .fold(word, |word, (name, value)| word.replace(name, value))
}
