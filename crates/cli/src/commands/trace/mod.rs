//! `apprentice trace`: shows a stored attempt as a reviewer would get it, and what other programs logged.

pub(super) mod read;

use std::path::{Path, PathBuf};

use apprentice_learning::foreground::{
    Bundle, BundleBudget, SummarizedEvent, expand, review, summarize_events,
};
use apprentice_protocol::SkillId;
use apprentice_runs::layout::{EVENTS_FILE, PLAN_FILE, TRIALS_FOLDER};
use apprentice_skillbook::shipped::{ShippedPart, is_shipped};
use apprentice_trace::Trace;
use clap::{Args, Subcommand};
use schemars::JsonSchema;
use serde::Serialize;

use crate::commands::look::view::last_attempt;
use crate::commands::trace::read::ReadTraces;
use crate::failure::{Failure, Kind, WithKind as _};
use crate::terminal;

/// The shipped skill that explains how to write skills.
const AUTHORING: &str = "authoring/right-learn-skill";

/// Inspects stored attempts, and traces of other programs.
#[derive(Debug, Args)]
pub(crate) struct TraceCommand {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Shows the size-limited summary that a review of an attempt would get: key events in full, counts of the rest.
    Review(Review),
    /// Shows what is read of traces of other programs: replies, calls with results, thoughts, tokens, verdicts, and what is missing.
    Read(ReadTraces),
}

#[derive(Debug, Args)]
struct Review {
    /// The attempt's folder, or a run's folder with TRIAL.
    path: PathBuf,
    /// The trial's id; its last attempt is shown.
    trial: Option<String>,
    /// Show this event in full; may be repeated.
    #[arg(long, value_name = "EVENT")]
    expand: Vec<String>,
    /// The skillbook that the review could change.
    #[arg(long, value_name = "DIR")]
    skillbook: Option<PathBuf>,
    /// Maximum number of characters of events.
    #[arg(long, default_value_t = BundleBudget::default().chars, value_name = "N")]
    chars: usize,
    /// Print one JSON object (`apprentice.trace.review/1`).
    #[arg(long)]
    json: bool,
}

/// The output of `trace review --json`.
#[derive(Serialize, JsonSchema)]
pub(super) struct ReviewMaterial<'a> {
    schema: &'static str,
    bundle: &'a Bundle,
    /// The skills that a review may change (`open`), and the shipped ones (`core`).
    skills: Vec<KnownSkill<'a>>,
    /// How skills are written: the text of the shipped skill on it.
    authoring: Option<String>,
}

/// A skill that exists.
#[derive(Serialize, JsonSchema)]
struct KnownSkill<'a> {
    skill: &'a SkillId,
    kind: &'static str,
    description: &'a str,
}

/// The output of `trace review --expand --json`: one object per event.
#[derive(Serialize, JsonSchema)]
pub(super) struct ExpandedEvent<'a> {
    schema: &'static str,
    id: &'a str,
    detail: &'a str,
}

/// Runs the command.
pub(crate) fn run(arguments: &TraceCommand) -> Result<(), Failure> {
    match &arguments.what {
        What::Review(asked) => review_attempt(asked),
        What::Read(asked) => crate::commands::trace::read::run(asked),
    }
}

fn review_attempt(asked: &Review) -> Result<(), Failure> {
    let attempt = match &asked.trial {
        Some(trial) => last_attempt(&asked.path, trial)?,
        None => asked.path.clone(),
    };
    let trace = Trace::read(&attempt.join(EVENTS_FILE)).kind(Kind::Config)?;
    if !asked.expand.is_empty() {
        return expanded(&summarize_events(&trace.events), &asked.expand, asked.json);
    }
    let budget = BundleBudget { chars: asked.chars, ..BundleBudget::default() };
    let (session, invocation) = names(&attempt);
    let Some(bundle) = review(&trace.events, &session, &invocation, &budget) else {
        return Err(Failure::say(Kind::NothingMatched, format!("{} contains no events", attempt.display())));
    };
    match asked.json {
        true => as_json(&bundle, asked.skillbook.as_deref()),
        false => {
            print_bundle(&bundle);
            Ok(())
        }
    }
}

/// Returns the folder names of the run and the attempt.
fn names(attempt: &Path) -> (String, String) {
    let name =
        |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let run = attempt.ancestors().find(|folder| folder.join(PLAN_FILE).is_file());
    let within = run.and_then(|run| attempt.strip_prefix(run.join(TRIALS_FOLDER)).ok());
    let invocation = within.map_or_else(|| name(attempt), |within| within.to_string_lossy().into_owned());
    (run.map_or_else(|| name(attempt), name), invocation)
}

fn expanded(events: &[SummarizedEvent], wanted: &[String], json: bool) -> Result<(), Failure> {
    for id in wanted {
        let Some(detail) = expand(events, id) else {
            let failure = Failure::say(Kind::NothingMatched, format!("the attempt has no event {id:?}"));
            return Err(failure.hint(format!("its last event is e{}", events.len())));
        };
        match json {
            true => {
                let schema = "apprentice.trace.event/1";
                terminal::json(&ExpandedEvent { schema, id, detail })?;
            }
            false => terminal::line(format_args!("{id}: {detail}")),
        }
    }
    Ok(())
}

fn as_json(bundle: &Bundle, book: Option<&Path>) -> Result<(), Failure> {
    let book = match book {
        Some(folder) => crate::commands::skills::open(folder)?,
        None => apprentice_skillbook::Snapshot::empty(),
    };
    let book = book.with_shipped(ShippedPart::All);
    let skills = book.skills().map(|skill| {
        let kind = if is_shipped(&skill.id) { "core" } else { "open" };
        KnownSkill { skill: &skill.id, kind, description: &skill.text.description }
    });
    let authoring = book.skills().find(|skill| skill.id.as_str() == AUTHORING).map(|skill| skill.view());
    let schema = "apprentice.trace.review/1";
    terminal::json(&ReviewMaterial { schema, bundle, skills: skills.collect(), authoring })
}

fn print_bundle(bundle: &Bundle) {
    let scope = &bundle.scope;
    terminal::line(format_args!(
        "{} {} from {} to {}",
        scope.session_id, scope.invocation_id, scope.started_at, scope.finished_at
    ));
    if let Some(signal) = &bundle.signal {
        terminal::line(format_args!("signal: {signal}"));
    }
    for event in &bundle.included_events {
        let detail = event.detail.split_whitespace().collect::<Vec<_>>().join(" ");
        let detail = if detail.is_empty() { detail } else { format!(": {detail}") };
        terminal::line(format_args!("{:>5} {}{detail}", event.id, event.reason.as_str()));
    }
    for span in &bundle.omitted_spans {
        terminal::line(format_args!("not shown: {} to {}: {}", span.range[0], span.range[1], span.summary));
    }
}
