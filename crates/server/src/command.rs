//! Commands inside the world: `/execute`, `/run_python`, `/run_bash_script`, `/setup/launch`.

use std::sync::Arc;
use std::time::Duration;

use apprentice_protocol::{Command, Machine, Output, Why};
use apprentice_tasks::world_io::with_pyautogui;
use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::problem::{Answer, Problem};
use crate::served_world::ServedWorld;

/// OSWorld's limits.
const EXECUTE_DEADLINE: Duration = Duration::from_secs(120);
const PYTHON_DEADLINE: Duration = Duration::from_secs(30);
/// The longest time that a client may give a script or a verification.
const LONGEST: Duration = Duration::from_secs(600);
const LEAST_INTERVAL: Duration = Duration::from_millis(100);

/// A command as one text or as words.
#[derive(Deserialize)]
#[serde(untagged)]
enum CommandText {
    Line(String),
    Words(Vec<String>),
}

#[derive(Deserialize)]
struct Execute {
    command: CommandText,
    #[serde(default)]
    shell: bool,
}

#[derive(Deserialize)]
struct Verified {
    #[serde(flatten)]
    execute: Execute,
    #[serde(default)]
    verification: Verification,
    #[serde(default = "ten_seconds")]
    max_wait_time: f64,
    #[serde(default = "one_second")]
    check_interval: f64,
}

#[derive(Default, Deserialize)]
struct Verification {
    window_exists: Option<String>,
    command_success: Option<CommandText>,
}

#[derive(Deserialize)]
struct Python {
    code: String,
}

#[derive(Deserialize)]
struct Script {
    script: String,
    #[serde(default = "hundred_seconds")]
    timeout: f64,
    working_dir: Option<String>,
}

fn ten_seconds() -> f64 {
    10.0
}

fn one_second() -> f64 {
    1.0
}

fn hundred_seconds() -> f64 {
    100.0
}

/// Reads the JSON of a request, whatever content type it was sent as.
pub(crate) fn json_body<T: DeserializeOwned>(body: &Bytes) -> Answer<T> {
    serde_json::from_slice(body).map_err(|error| Problem::request(format!("the request's JSON: {error}")))
}

/// Expands `~` and `$HOME` at the start of a path.
pub(crate) fn at_home(machine: &dyn Machine, path: &str) -> String {
    let home = &machine.offers().home;
    for start in ["~", "$HOME", "${HOME}"] {
        match path.strip_prefix(start) {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => return format!("{home}{rest}"),
            Some(_) | None => {}
        }
    }
    path.to_owned()
}

fn words_of(machine: &dyn Machine, text: CommandText, shell: bool) -> Answer<Vec<String>> {
    let words = match (text, shell) {
        (CommandText::Line(line), true) => vec!["sh".to_owned(), "-c".to_owned(), line],
        (CommandText::Line(line), false) => {
            let words = shlex::split(&line);
            words.ok_or_else(|| {
                Problem::request(format!("the quotes of the command are not closed: {line}"))
            })?
        }
        (CommandText::Words(words), true) => {
            ["sh".to_owned(), "-c".to_owned()].into_iter().chain(words).collect()
        }
        (CommandText::Words(words), false) => words
            .into_iter()
            .map(|word| if word.starts_with("~/") { at_home(machine, &word) } else { word })
            .collect(),
    };
    if words.is_empty() {
        return Err(Problem::request("the command is empty"));
    }
    Ok(words)
}

async fn command(machine: &dyn Machine, asked: Execute) -> Answer<Command> {
    let words = words_of(machine, asked.command, asked.shell)?;
    Ok(with_pyautogui(machine, words).await?.within(EXECUTE_DEADLINE))
}

async fn run(machine: &dyn Machine, command: &Command) -> Answer<Output> {
    let output = machine.run(command).await?;
    if output.timed_out {
        let seconds = Duration::from_millis(command.timeout_ms).as_secs_f64();
        return Err(Problem::world(format!("the command was ended after {seconds} s")));
    }
    Ok(output)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn told(output: &Output) -> Value {
    json!({
        "status": "success",
        "output": text(&output.stdout),
        "error": text(&output.stderr),
        "returncode": output.code,
    })
}

/// `POST /execute`, `/setup/execute`: runs a command to its end.
pub(crate) async fn execute(State(world): State<Arc<ServedWorld>>, body: Bytes) -> Answer<Json<Value>> {
    let machine = world.machine().await?;
    let command = command(&*machine, json_body(&body)?).await?;
    Ok(Json(told(&run(&*machine, &command).await?)))
}

/// `POST /execute_with_verification`: runs a command, then waits until its effect shows.
pub(crate) async fn execute_verified(
    State(world): State<Arc<ServedWorld>>,
    body: Bytes,
) -> Answer<Json<Value>> {
    let machine = world.machine().await?;
    let asked: Verified = json_body(&body)?;
    let (within, interval) =
        (seconds(asked.max_wait_time)?, seconds(asked.check_interval)?.max(LEAST_INTERVAL));
    let check = match asked.verification.command_success {
        Some(text) => Some(command(&*machine, Execute { command: text, shell: true }).await?),
        None => None,
    };
    let command = command(&*machine, asked.execute).await?;
    let mut told = told(&run(&*machine, &command).await?);
    let began = world.clock.mono();
    loop {
        let window = match &asked.verification.window_exists {
            Some(name) => machine.windows().await?.iter().any(|window| window.title.contains(name)),
            None => true,
        };
        let succeeded = match &check {
            Some(check) => run(&*machine, check).await?.code == 0,
            None => true,
        };
        let waited = world.clock.mono() - began;
        if window && succeeded {
            told["verification"] = json!("passed");
            told["wait_time"] = json!(waited.as_secs_f64());
            return Ok(Json(told));
        }
        if waited >= within {
            return Err(Problem::world(format!("not verified within {} s", within.as_secs_f64())));
        }
        world.clock.pause(interval, Why::PollFloor).await;
    }
}

/// `POST /run_python`: runs Python code, for at most 30 s.
pub(crate) async fn run_python(State(world): State<Arc<ServedWorld>>, body: Bytes) -> Answer<Json<Value>> {
    let machine = world.machine().await?;
    let Python { code } = json_body(&body)?;
    let words = ["python3".to_owned(), "-c".to_owned(), code].to_vec();
    let output = run(&*machine, &with_pyautogui(&*machine, words).await?.within(PYTHON_DEADLINE)).await?;
    let done = output.code == 0;
    Ok(Json(json!({
        "status": if done { "success" } else { "error" },
        "message": text(if done { &output.stdout } else { &output.stderr }),
        "need_more": false,
        "output": text(&output.stdout),
        "error": text(&output.stderr),
        "return_code": output.code,
    })))
}

/// `POST /run_bash_script`: runs a script of Bash; its error output is part of its output.
pub(crate) async fn run_bash(State(world): State<Arc<ServedWorld>>, body: Bytes) -> Answer<Json<Value>> {
    let machine = world.machine().await?;
    let Script { script, timeout, working_dir } = json_body(&body)?;
    let words = ["bash".to_owned(), "-c".to_owned(), format!("exec 2>&1\n{script}")].to_vec();
    let mut command = with_pyautogui(&*machine, words).await?.within(seconds(timeout)?);
    command.cwd = working_dir.map(|folder| at_home(&*machine, &folder));
    let output = run(&*machine, &command).await?;
    let status = if output.code == 0 { "success" } else { "error" };
    Ok(Json(json!({
        "status": status, "output": text(&output.stdout), "error": "", "returncode": output.code,
    })))
}

/// `POST /setup/launch`: starts a program that keeps running.
pub(crate) async fn launch(State(world): State<Arc<ServedWorld>>, body: Bytes) -> Answer<String> {
    let machine = world.machine().await?;
    let command = command(&*machine, json_body(&body)?).await?;
    machine.launch(&command).await?;
    Ok(format!("{} launched successfully", command.argv.join(" ")))
}

/// Reads a length of time in seconds.
fn seconds(value: f64) -> Answer<Duration> {
    let time = Duration::try_from_secs_f64(value).ok().filter(|time| *time <= LONGEST);
    let most = LONGEST.as_secs();
    time.ok_or_else(|| Problem::request(format!("{value} is no time in seconds from 0 to {most}")))
}
