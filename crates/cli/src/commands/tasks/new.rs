//! `apprentice tasks new`: writes a task file from a program, an instruction and a check.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use apprentice_tasks::suite::load::{SUITE_FILE, read_task};
use apprentice_tasks::suite::with_task;
use clap::Args;
use serde_json::{Value, json};

use crate::commands::tasks::keep::write;
use crate::failure::{Failure, Kind, WithKind as _};
use crate::terminal;

/// Writes a task of a suite: asks for what the options leave out.
///
/// The check is a command that runs in the world after the attempt, and the text that it must print. Add seeds, a
/// solution and a near miss to the file afterwards: the guide's page "Your own tasks" has their form.
#[derive(Debug, Args)]
pub(crate) struct New {
    /// The suite's folder; a new or an empty one becomes a suite.
    suite: PathBuf,
    /// The task's id: small letters, digits and hyphens.
    #[arg(long)]
    id: Option<String>,
    /// The program, for example `mousepad`.
    #[arg(long, value_name = "PROGRAM")]
    app: Option<String>,
    /// What the agent is asked to do.
    #[arg(long)]
    instruction: Option<String>,
    /// The command that starts the program [default: the program's name].
    #[arg(long, value_name = "COMMAND")]
    launch: Option<String>,
    /// The command whose output tells whether the task was done, for example `cat /home/user/Documents/a.txt`.
    #[arg(long, value_name = "COMMAND")]
    check: Option<String>,
    /// The text that the command must print, without the last line break.
    #[arg(long, value_name = "TEXT")]
    expect: Option<String>,
}

/// Runs the command.
pub(crate) fn run(arguments: &New) -> Result<(), Failure> {
    let (root, known) = match is_new(&arguments.suite)? {
        true => (arguments.suite.clone(), Vec::new()),
        false => {
            let suite = crate::suite::load(&arguments.suite)?;
            (suite.root, suite.tasks)
        }
    };
    let list = root.join(SUITE_FILE);
    if !known.is_empty() && !list.is_file() {
        return Err(Failure::say(Kind::Config, format!("{} has no {SUITE_FILE}", root.display())));
    }
    let id = asked(arguments.id.as_ref(), "--id", "id of the task (small letters, digits, hyphens)")?;
    if id.is_empty() || !id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-') {
        let told = format!("{id:?} is no id: use small letters, digits and hyphens");
        return Err(Failure::say(Kind::Usage, told));
    }
    if known.iter().any(|task| task.id.as_str() == id) {
        return Err(Failure::say(Kind::Usage, format!("the suite has a task {id} already")));
    }
    let app = asked(arguments.app.as_ref(), "--app", "program, as its command is called")?;
    if app.is_empty() || app.contains(['/', ' ']) {
        return Err(Failure::say(Kind::Usage, format!("{app:?} is no program's name")));
    }
    let instruction = asked(arguments.instruction.as_ref(), "--instruction", "instruction for the agent")?;
    let check = asked(arguments.check.as_ref(), "--check", "command that tells the result")?;
    let expect = asked(arguments.expect.as_ref(), "--expect", "text that the command must print")?;
    let text = task_text(&NewTask {
        id: &id,
        app: &app,
        instruction: &instruction,
        launch: arguments.launch.as_deref(),
        check: &check,
        expect: &expect,
    })?;
    let path = root.join("examples").join(&app).join(format!("{id}.json"));
    read_task(&path, &text).kind(Kind::Usage)?;
    // A suite begins with its first task.
    let listed = if list.is_file() {
        apprentice_files::read_to_string(&list).kind(Kind::Config)?
    } else {
        "{}\n".to_owned()
    };
    let listed = with_task(&listed, &app, &id).kind(Kind::Config)?;
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).kind(Kind::Environment)?;
    }
    // The list comes last: a task that it does not name does no harm.
    write(&path, &text)?;
    write(&list, &listed)?;
    let (place, root) = (path.display(), arguments.suite.display());
    terminal::line(format_args!(
        "{place} written. Next: add `vary`, `solution` and `near_miss`, then\n  \
         apprentice tasks check {root}\n  apprentice tasks audit {root} --task {id}\n\
         or solve it once with `apprentice run {root} --task {id} --model MODEL` and keep that:\n  \
         apprentice tasks keep-solution runs/ID/trials/TRIAL/attempt-01 --suite {root}"
    ));
    Ok(())
}

/// Whether a suite begins here: there is no folder yet, or an empty one.
fn is_new(folder: &Path) -> Result<bool, Failure> {
    match std::fs::read_dir(folder) {
        Ok(mut entries) => Ok(entries.next().is_none()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Ok(crate::suite::found(folder).is_err())
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => Ok(false),
        Err(error) => Err(Failure::say(Kind::Config, format!("{}: {error}", folder.display()))),
    }
}

/// Returns the option's value, or asks for it on the terminal.
fn asked(given: Option<&String>, option: &str, what: &str) -> Result<String, Failure> {
    if let Some(given) = given {
        return Ok(given.trim().to_owned());
    }
    let missing = || Failure::say(Kind::Usage, format!("{option} is missing")).hint(what.to_owned());
    if !std::io::stdin().is_terminal() {
        return Err(missing());
    }
    terminal::note(format_args!("{what}:"));
    terminal::answer().map(|line| line.trim().to_owned()).ok_or_else(missing)
}

/// A task to write.
struct NewTask<'a> {
    id: &'a str,
    /// The program, as its command is called.
    app: &'a str,
    instruction: &'a str,
    /// The command line that starts the program; the program's name if absent.
    launch: Option<&'a str>,
    /// The command that tells the result.
    check: &'a str,
    /// The text that the command must print.
    expect: &'a str,
}

/// The task file's text, in the order in which a person reads it.
fn task_text(new: &NewTask<'_>) -> Result<String, Failure> {
    let NewTask { id, app, instruction, launch, check, expect } = *new;
    let quoted = |text: &str| Value::from(text).to_string();
    let part = |value: &Value| -> Result<String, Failure> {
        Ok(serde_json::to_string_pretty(value).kind(Kind::Bug)?.replace('\n', "\n  "))
    };
    let config = json!([{ "type": "launch", "parameters": { "command": launch.unwrap_or(app) } }]);
    let evaluator = json!({
        "func": "exact_match",
        "result": { "type": "vm_command_line", "command": ["sh", "-c", check] },
        "expected": { "type": "rule", "rules": { "expected": format!("{expect}\n") } },
    });
    let ours = json!({
        "environment": "desktop",
        "template": id,
        "programs": [app],
        "limits": { "world_steps": 40, "turns": 60, "working_s": 240 },
    });
    Ok(format!(
        "{{\n  \"id\": {},\n  \"instruction\": {},\n  \"config\": {},\n  \"evaluator\": {},\n  \"related_apps\": [{}],\n  \
         \"apprentice\": {}\n}}\n",
        quoted(id),
        quoted(instruction),
        part(&config)?,
        part(&evaluator)?,
        quoted(app),
        part(&ours)?,
    ))
}
