//! `skill_run`: runs a script that a skill brings, inside the world. The package's files are written into a folder of the
//! world's home, and the script runs there like any program of the world, with limits of time and output.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use apprentice_protocol::{
    BoundedText, BoxFuture, Command, EventKind, Guidance, Machine, SkillEvent, SkillEventKind, SkillId,
    StepRef, TextBudget, Tool, ToolOutcome, ToolSpec,
};
use apprentice_skillbook::{Skill, Snapshot};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::reading::event::happened;
use super::reading::tools::{find, read, spec};

/// `skill_run { skill, path, arguments? }`: runs a script that a note brings.
pub const SKILL_RUN: &str = "skill_run";

const SCRIPTS: &str = "scripts/";
/// Folder for packages in the environment, below the home folder.
const FOLDER: &str = ".claude/skill-files";
/// Largest answer, in characters; below, the bytes kept of each output stream.
const MAX_ANSWER_CHARS: TextBudget = TextBudget(12_000);
/// Characters of a check that are kept.
const MAX_CHECK_CHARS: TextBudget = TextBudget(1500);
const MAX_OUTPUT_BYTES: u64 = 64 << 10;
/// Longest run of one script. The limits of the attempt hold, too.
const TIMEOUT_MS: u64 = 120_000;
/// Largest number of arguments; below, the characters of all together.
const MAX_ARGUMENTS: usize = 32;
const MAX_ARGUMENT_CHARS: usize = 8000;
const DESCRIPTION: &str = "Runs a script that a note brings, inside the world, and answers with its exit code and \
                           output. Read it with skill_file first: it does what it says, not what its name says.";

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RunArguments {
    /// The note's name, `domain/name`.
    #[serde(alias = "id", alias = "skill_id")]
    skill: String,
    /// The script's path, as the note names it: `scripts/…`.
    path: String,
    /// Arguments of the script, each as it is.
    #[serde(default)]
    arguments: Vec<String>,
}

/// The scripts of one attempt's skills. The environment is connected with [`Self::enter`] once it is open.
pub struct SkillScripts {
    book: Snapshot,
    spec: ToolSpec,
    machine: OnceLock<Arc<dyn Machine>>,
    /// Skills whose files are in the environment.
    written: Mutex<BTreeSet<SkillId>>,
}

/// The result of the check that a skill brings for its scripts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ScriptCheck {
    /// The check's path.
    pub path: String,
    /// True if it ended with exit code 0.
    pub passed: bool,
    /// Exit code and output, or the reason why it could not be run. Files of before have it under this name.
    #[serde(rename = "told")]
    pub output: String,
}

/// A provided tool.
struct RunTool(Arc<SkillScripts>);

impl SkillScripts {
    /// Prepares the scripts of a book. `None` if no skill brings one.
    pub fn of(book: &Snapshot) -> Option<Arc<Self>> {
        let book = book.lendable();
        let brings = |skill: &Skill| {
            skill.package.iter().flat_map(|package| &package.files).any(|file| file.path.starts_with(SCRIPTS))
        };
        book.skills().any(brings).then(|| {
            Arc::new(Self {
                book: book.clone(),
                spec: spec::<RunArguments>(SKILL_RUN, DESCRIPTION),
                machine: OnceLock::new(),
                written: Mutex::default(),
            })
        })
    }

    /// Sets the environment in which scripts run. Only the first call counts.
    pub fn enter(&self, machine: Arc<dyn Machine>) {
        let _ = self.machine.set(machine);
    }

    /// Returns the guidance with the tool that runs scripts.
    pub fn extend_guidance(self: &Arc<Self>, mut guidance: Guidance) -> Guidance {
        guidance.tools.push(Arc::new(RunTool(Arc::clone(self))));
        guidance
    }

    /// Runs the check that a skill brings for its own scripts, if it brings one: `scripts/check`, with or without an
    /// ending. Failing to run it is a result, too.
    pub async fn check(&self, skill: &SkillId) -> Option<ScriptCheck> {
        let skill_record = self.book.skill(skill)?;
        let files = skill_record.package.iter().flat_map(|package| &package.files);
        let path = files.map(|file| &file.path).find(|path| is_check(path))?.clone();
        let request = RunArguments { skill: skill.to_string(), path: path.clone(), arguments: Vec::new() };
        let text_of = |outcome: &ToolOutcome| {
            outcome.content.iter().filter_map(|part| part.as_text()).collect::<Vec<_>>().join("\n")
        };
        let (passed, output) = match self.run(request).await {
            Ok(outcome) => (!outcome.is_error, text_of(&outcome)),
            Err(why) => (false, why),
        };
        Some(ScriptCheck {
            path,
            passed,
            output: BoundedText::cut(&output, MAX_CHECK_CHARS).as_str().to_owned(),
        })
    }

    async fn run(&self, request: RunArguments) -> Result<ToolOutcome, String> {
        let skill = find(&self.book, request.skill.trim()).ok_or_else(|| {
            format!("There is no note {:?}.", request.skill.chars().take(80).collect::<String>())
        })?;
        let chars: usize = request.arguments.iter().map(|argument| argument.chars().count()).sum();
        if request.arguments.len() > MAX_ARGUMENTS || chars > MAX_ARGUMENT_CHARS {
            return Err(format!(
                "At most {MAX_ARGUMENTS} arguments of {MAX_ARGUMENT_CHARS} characters together."
            ));
        }
        let package = skill.package.as_ref();
        let path = request.path.trim().trim_start_matches("./");
        let scripts = || {
            package.iter().flat_map(|package| &package.files).filter(|file| file.path.starts_with(SCRIPTS))
        };
        if !scripts().any(|file| file.path == path) {
            let paths: Vec<&str> = scripts().map(|file| file.path.as_str()).collect();
            return Err(format!("{} brings no such script. It brings: {}.", skill.id, paths.join(", ")));
        }
        let machine = self.machine.get().ok_or("There is no world to run it in.")?;
        let home = machine.offers().home.trim_end_matches('/').to_owned();
        let folder = format!("{home}/{FOLDER}/{}", skill.id.as_str().replace('/', "-"));
        self.write_files(machine.as_ref(), skill, &folder).await?;
        let mut argv = interpreter(path).map_or_else(Vec::new, |program| vec![program.to_owned()]);
        argv.push(format!("{folder}/{path}"));
        argv.extend(request.arguments);
        let command = Command {
            cwd: Some(home),
            timeout_ms: TIMEOUT_MS,
            output_limit: MAX_OUTPUT_BYTES,
            ..Command::new(argv)
        };
        let output =
            machine.run(&command).await.map_err(|error| format!("{path} could not be run: {error}"))?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        let answer = format!("exit code {}\nstandard output:\n{out}\nstandard error:\n{err}", output.code);
        let answer = BoundedText::cut(answer.trim_end(), MAX_ANSWER_CHARS).as_str().to_owned();
        let event = SkillEvent {
            skill: Some(skill.id.clone()),
            version: Some(skill.version),
            detail: Some(format!("{path}: exit code {}", output.code)),
            ..happened(SkillEventKind::ScriptRun, &answer)
        };
        let is_error = output.code != 0;
        Ok(ToolOutcome { is_error, events: vec![EventKind::Skill(event)], ..ToolOutcome::text(answer) })
    }

    /// Writes the files of a skill into the environment, once per attempt.
    async fn write_files(&self, machine: &dyn Machine, skill: &Skill, folder: &str) -> Result<(), String> {
        if self.written.lock().unwrap_or_else(PoisonError::into_inner).contains(&skill.id) {
            return Ok(());
        }
        let failed =
            |path: &str, error: &dyn std::fmt::Display| format!("{path} could not be written: {error}");
        for file in skill.package.iter().flat_map(|package| &package.files) {
            let bytes = self.book.attachment(&file.sha256);
            let bytes = bytes.ok_or_else(|| format!("The book has lost {} of {}.", file.path, skill.id))?;
            let path = format!("{folder}/{}", file.path);
            let above = path.rsplit_once('/').map_or(folder, |(above, _)| above);
            let made = machine.run(&Command::new(["mkdir", "-p", above])).await;
            made.map_err(|error| failed(above, &error))?;
            machine.write(&path, &bytes).await.map_err(|error| failed(&path, &error))?;
            if file.path.starts_with(SCRIPTS) {
                let set = machine.run(&Command::new(["chmod", "u+x", path.as_str()])).await;
                set.map_err(|error| failed(&path, &error))?;
            }
        }
        self.written.lock().unwrap_or_else(PoisonError::into_inner).insert(skill.id.clone());
        Ok(())
    }
}

fn is_check(path: &str) -> bool {
    let name = path.strip_prefix(SCRIPTS).unwrap_or_default();
    name == "check" || name.strip_prefix("check.").is_some_and(|ending| !ending.contains('/'))
}

/// Returns the program that runs a script by its ending. Others need a line that names one (`#!`).
fn interpreter(path: &str) -> Option<&'static str> {
    match path.rsplit_once('.').map(|(_, ending)| ending) {
        Some("sh") => Some("sh"),
        Some("bash") => Some("bash"),
        Some("py") => Some("python3"),
        Some("js") => Some("node"),
        _ => None,
    }
}

impl Tool for RunTool {
    fn spec(&self) -> &ToolSpec {
        &self.0.spec
    }

    fn call<'a>(&'a self, arguments: &'a Value, _at: StepRef) -> BoxFuture<'a, ToolOutcome> {
        Box::pin(async move {
            match read::<RunArguments>(arguments) {
                Ok(asked) => self.0.run(asked).await.unwrap_or_else(ToolOutcome::error),
                Err(why) => ToolOutcome::error(format!("the arguments of {SKILL_RUN} do not fit: {why}")),
            }
        })
    }
}
