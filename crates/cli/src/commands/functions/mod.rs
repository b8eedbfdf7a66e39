//! `apprentice functions`: executable skills. Checks a function, writes it to a skill, admits it by replays, lists and
//! retires those of a book.

mod admit;
pub(super) mod learn;

use std::path::{Path, PathBuf};

use apprentice_functions::{Signature, Violation};
use apprentice_protocol::{Clock as _, SkillId};
use apprentice_sandbox::SystemClock;
use apprentice_skillbook::{
    Actor, At, Change, Gateway, GatewayOptions, SkillFunction, Snapshot, WriteRefusal, WriteRequest,
    check_function,
};
use clap::{Args, Subcommand};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use self::admit::AdmitArgs;
use self::learn::LearnArgs;
use super::skills::writable;
use crate::failure::{Failure, Kind, WithKind as _};
use crate::settings::config::Config;
use crate::terminal;

/// Executable skills: functions that do a whole procedure in a page or on a desktop.
///
/// A function belongs to a skill. It is lent to an agent by the arms `code` and `code+pull` once two replays with other
/// arguments in fresh worlds have passed the checks of a task, and a wrong argument has failed them.
#[derive(Debug, Args)]
pub(crate) struct FunctionsCommand {
    #[command(subcommand)]
    command: FunctionsAction,
    /// The skillbook [default: the setting `skillbook`].
    #[arg(long, value_name = "DIR", global = true)]
    skillbook: Option<PathBuf>,
    /// Print one JSON object; its `schema` names the format.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum FunctionsAction {
    /// Check a function without running it: language, names, arguments, comment, example.
    Check {
        /// The file with the function.
        file: PathBuf,
    },
    /// Write a function to a skill. It is not verified until it is admitted.
    Add {
        /// The skill, `domain/name`.
        #[arg(value_parser = skill)]
        skill: SkillId,
        /// The file with the function.
        file: PathBuf,
    },
    /// List the functions of the skillbook, with what each lacks to be verified.
    List,
    /// Show a function: its source and what replays and calls showed.
    Show {
        /// The skill, `domain/name`.
        #[arg(value_parser = skill)]
        skill: SkillId,
        /// The function's name.
        function: String,
    },
    /// Have a model write a function from attempts at a training task that passed, and add it to a skill.
    ///
    /// What breaks a rule goes back to the model, at most ten times. The function is not verified until it is admitted: the
    /// last line is the command for that.
    Learn(LearnArgs),
    /// Replay a function with other arguments in fresh worlds, judged by the checks of a task.
    Admit(AdmitArgs),
    /// Retire a function: it stays in the skillbook and is lent no more.
    Retire {
        /// The skill, `domain/name`.
        #[arg(value_parser = skill)]
        skill: SkillId,
        /// The function's name.
        function: String,
        /// The reason, in one line.
        #[arg(long)]
        why: String,
    },
}

fn skill(text: &str) -> Result<SkillId, String> {
    SkillId::parse(text).map_err(|error| error.to_string())
}

/// The output of `functions check --json`.
#[derive(Serialize, JsonSchema)]
pub(super) struct Checked<'a> {
    schema: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    signature: Option<&'a Signature>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<Value>,
    violations: Vec<Violation>,
}

/// One function.
#[derive(Serialize, JsonSchema)]
struct Line<'a> {
    skill: &'a SkillId,
    function: &'a str,
    version: u32,
    test_count: usize,
    verified: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<String>,
}

/// The output of `functions list --json`.
#[derive(Serialize, JsonSchema)]
pub(super) struct Listing<'a> {
    schema: &'static str,
    functions: Vec<Line<'a>>,
}

/// The output of `functions show --json` and `functions add --json`.
#[derive(Serialize, JsonSchema)]
pub(super) struct Card<'a> {
    schema: &'static str,
    skill: &'a SkillId,
    name: &'a str,
    test_count: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<String>,
    #[serde(flatten)]
    function: &'a SkillFunction,
}

/// The output of `functions retire --json`.
#[derive(Serialize, JsonSchema)]
pub(super) struct Retired<'a> {
    schema: &'static str,
    skill: &'a SkillId,
    function: &'a str,
}

/// Runs the command.
pub(crate) fn run(arguments: &FunctionsCommand, config: &Config) -> Result<(), Failure> {
    let book = arguments.skillbook.as_deref().unwrap_or(&config.skillbook);
    let changed = || writable(arguments.skillbook.as_deref(), config);
    let json = arguments.json;
    match &arguments.command {
        FunctionsAction::Check { file } => check(file, json),
        FunctionsAction::Add { skill, file } => add(changed()?, skill, file, json),
        FunctionsAction::List => list(&open(book)?, json),
        FunctionsAction::Show { skill, function } => show(&open(book)?, skill, function, json),
        FunctionsAction::Learn(learn) => learn::learn(learn, changed()?, config, json),
        FunctionsAction::Admit(admit) => admit::admit(admit, changed()?, config, json),
        FunctionsAction::Retire { skill, function, why } => {
            let change = Change::FunctionRetired {
                skill: skill.clone(),
                function: function.clone(),
                why: why.clone(),
            };
            write(changed()?, change)?;
            if json {
                return terminal::json(&Retired { schema: "apprentice.functions.retire/1", skill, function });
            }
            terminal::line(format_args!("{skill} {function} is retired"));
            Ok(())
        }
    }
}

fn open(folder: &Path) -> Result<Snapshot, Failure> {
    Snapshot::open(folder, At::Now).kind(Kind::Config)
}

fn write(folder: &Path, change: Change) -> Result<(), Failure> {
    let now = SystemClock::default().now();
    let (mut gateway, _) = Gateway::open(folder, GatewayOptions::at(now)).kind(Kind::Config)?;
    gateway.apply(WriteRequest::of(Actor::Human, now, change)).map(|_| ()).map_err(refused)
}

fn refused(refusal: WriteRefusal) -> Failure {
    Failure::new(Kind::Usage, refusal)
}

fn read(file: &Path) -> Result<String, Failure> {
    apprentice_files::read_to_string(file)
        .map_err(|error| Failure::say(Kind::Usage, format_args!("{}: {error}", file.display())))
}

fn check(file: &Path, json: bool) -> Result<(), Failure> {
    let text = read(file)?;
    let (source, violations) = match check_function(&text, &[]) {
        Ok(source) => (Some(source), Vec::new()),
        Err(violations) => (None, violations),
    };
    let signature = source.as_ref().map(|source| source.signature());
    if json {
        let arguments = signature.map(Signature::schema);
        let schema = "apprentice.functions.check/1";
        terminal::json(&Checked { schema, signature, arguments, violations: violations.clone() })?;
    } else if let Some(signature) = signature {
        terminal::line(format_args!("{}", signature.told().trim_end()));
    } else {
        for one in &violations {
            terminal::line(format_args!("{}: {one}", file.display()));
        }
    }
    match violations.len() {
        0 => Ok(()),
        count => Err(Failure::say(Kind::Usage, format_args!("{}: {count} rules are broken", file.display()))),
    }
}

fn add(book: &Path, skill: &SkillId, file: &Path, json: bool) -> Result<(), Failure> {
    let source = read(file)?;
    let checked = check_function(&source, &[]).map_err(|found| {
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        Failure::say(Kind::Usage, format_args!("{}: {}", file.display(), found.join("\n")))
    })?;
    let function = checked.signature().name.clone();
    let change = Change::FunctionWritten {
        skill: skill.clone(),
        function: function.clone(),
        source,
        references: Vec::new(),
    };
    write(book, change)?;
    show(&open(book)?, skill, &function, json)
}

fn lines(book: &Snapshot) -> Vec<Line<'_>> {
    let of = |skill: &'_ apprentice_skillbook::Skill| skill.functions.len();
    book.skills()
        .filter(|skill| of(skill) > 0)
        .flat_map(|skill| {
            skill.functions.iter().map(|(name, function)| Line {
                skill: &skill.id,
                function: name,
                version: function.version,
                test_count: function.test_count(),
                verified: function.is_verified(),
                missing: function.missing(),
            })
        })
        .collect()
}

fn state(missing: Option<&str>) -> String {
    missing.map_or_else(|| "verified".to_owned(), |why| format!("not verified: {why}"))
}

fn list(book: &Snapshot, json: bool) -> Result<(), Failure> {
    let functions = lines(book);
    if json {
        return terminal::json(&Listing { schema: "apprentice.functions/1", functions });
    }
    if functions.is_empty() {
        terminal::line(format_args!("The skillbook has no functions."));
    }
    for Line { skill, function, version, test_count, missing, .. } in functions {
        let state = state(missing.as_deref());
        terminal::line(format_args!(
            "{skill} {function}, version {version}, {test_count} replays passed, {state}"
        ));
    }
    Ok(())
}

fn show(book: &Snapshot, skill: &SkillId, name: &str, json: bool) -> Result<(), Failure> {
    let Some((skill, function)) =
        book.skill(skill).and_then(|known| Some((&known.id, known.functions.get(name)?)))
    else {
        let why =
            format!("{skill} has no function {name}; `apprentice functions list` shows those of the book");
        return Err(Failure::say(Kind::NothingMatched, why));
    };
    let (test_count, missing) = (function.test_count(), function.missing());
    if json {
        let schema = "apprentice.functions.show/1";
        return terminal::json(&Card { schema, skill, name, test_count, missing, function });
    }
    let state = state(missing.as_deref());
    terminal::line(format_args!("{skill} {name}, version {}, {state}\n", function.version));
    terminal::verbatim(function.source.trim_end());
    Ok(())
}
