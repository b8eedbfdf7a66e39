//! Lists, shows, accepts and refuses changes that models proposed.

use std::io::IsTerminal as _;
use std::path::Path;

use apprentice_protocol::Clock as _;
use apprentice_sandbox::SystemClock;
use apprentice_skillbook::{
    OpId, Proposal, SentenceOrigin, SkillDifference, Snapshot, WriteMode, WriteRefusal,
};
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

use super::{open, operation, write};
use crate::failure::{Failure, Kind};
use crate::settings::config::Config;
use crate::terminal;

/// The option `--write-mode` of commands in which models change the skillbook.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct WriteModeArg {
    /// How models' changes take effect: `auto` at once, `propose` after `skills accept`, `approve` after a question at
    /// the end, if there is a terminal [default: the setting `write_mode`].
    #[arg(long, value_name = "MODE")]
    write_mode: Option<WriteMode>,
}

impl WriteModeArg {
    /// Returns the effective mode.
    pub(crate) fn mode(self, config: &Config) -> WriteMode {
        self.write_mode.unwrap_or(config.write_mode)
    }

    /// Whether the option was given.
    pub(crate) fn is_named(self) -> bool {
        self.write_mode.is_some()
    }
}

/// Accepts proposed changes. Each is written in its author's name, unless the skillbook has changed too much for it.
#[derive(Debug, Args)]
pub(crate) struct Accept {
    /// The proposals, such as `o12`.
    #[arg(required_unless_present = "all", value_name = "OPERATION")]
    proposals: Vec<String>,
    /// Accept all waiting proposals, oldest first.
    #[arg(long, conflicts_with = "proposals")]
    all: bool,
}

/// Rejects proposed changes; the same change cannot be proposed again.
#[derive(Debug, Args)]
pub(crate) struct Reject {
    /// The proposals, such as `o12`.
    #[arg(required_unless_present = "all", value_name = "OPERATION")]
    proposals: Vec<String>,
    /// Reject all waiting proposals.
    #[arg(long, conflicts_with = "proposals")]
    all: bool,
    /// The reason, in one line.
    #[arg(long, value_name = "TEXT", default_value = "")]
    why: String,
}

/// The output of `skills proposals --json`.
#[derive(Serialize, JsonSchema)]
pub(in super::super) struct Waiting<'a> {
    schema: &'static str,
    proposals: &'a [Shown<'a>],
}

/// A proposal and what it would change.
#[derive(Serialize, JsonSchema)]
struct Shown<'a> {
    #[serde(flatten)]
    proposal: &'a Proposal,
    /// The differences to the current skillbook.
    skills: Vec<SkillDifference>,
}

/// Prints the waiting proposals, or one of them, with their diffs.
pub(super) fn list(folder: &Path, name: Option<&str>, as_json: bool) -> Result<(), Failure> {
    let wanted = name.map(operation).transpose()?;
    let book = open(folder)?;
    let waiting = book.state().proposals.values().filter(|one| wanted.is_none_or(|wanted| wanted == one.id));
    let shown: Vec<Shown<'_>> =
        waiting.map(|one| Shown { proposal: one, skills: book.would_change(one) }).collect();
    if let Some(wanted) = wanted.filter(|_| shown.is_empty()) {
        return Err(not_waiting(&book, wanted));
    }
    if as_json {
        let schema = "apprentice.skills.proposals/1";
        return terminal::json(&Waiting { schema, proposals: &shown });
    }
    if shown.is_empty() {
        terminal::line(format_args!("no proposals are waiting"));
    }
    for one in &shown {
        print_proposal(one);
    }
    Ok(())
}

fn print_proposal(Shown { proposal, skills }: &Shown<'_>) {
    let Proposal { id, time, actor, cause, change, assessment, citation, .. } = proposal;
    let actor = format!("{actor:?}").to_lowercase();
    let about = change.skills().iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    let from = cause.as_ref().map(|cause| format!(" from {}", cause.trajectory)).unwrap_or_default();
    terminal::line(format_args!("{id} {time} {actor} {} {about}{from}", change.name()));
    for found in &assessment.findings {
        let why = if found.why.is_empty() { String::new() } else { format!(", {}", found.why) };
        terminal::line(format_args!(
            "  waits: {} (by {}{why}): {}",
            found.concern.word(),
            found.by,
            found.sentence.replace('\n', " ")
        ));
    }
    for SentenceOrigin { sentence, source } in &citation.origins {
        terminal::line(format_args!("  origin: {}: {sentence}", source.word()));
    }
    for skill in skills {
        terminal::verbatim(skill.diff.trim_end());
    }
}

fn not_waiting(book: &Snapshot, wanted: OpId) -> Failure {
    let failure = Failure::say(Kind::NothingMatched, format!("{wanted} is not a waiting proposal"));
    let waiting: Vec<String> = book.state().proposals.keys().map(ToString::to_string).collect();
    failure.hint(match waiting.is_empty() {
        true => "no proposals are waiting".to_owned(),
        false => format!("waiting: {}", waiting.join(", ")),
    })
}

/// Returns the given proposals, or all waiting ones; each must be waiting.
fn selected_proposals(book: &Snapshot, names: &[String]) -> Result<Vec<OpId>, Failure> {
    if names.is_empty() {
        return Ok(book.state().proposals.keys().copied().collect());
    }
    let ids = names.iter().map(|name| operation(name)).collect::<Result<Vec<_>, _>>()?;
    match ids.iter().find(|id| !book.state().proposals.contains_key(id)) {
        Some(unknown) => Err(not_waiting(book, *unknown)),
        None => Ok(ids),
    }
}

/// The output of `skills accept --json` and `skills reject --json`.
#[derive(Serialize, JsonSchema)]
pub(in super::super) struct Decisions<'a> {
    schema: String,
    proposals: &'a [Decided],
    /// The skillbook's hash afterwards.
    content_hash: String,
}

/// A proposal that was decided on.
#[derive(Serialize, JsonSchema)]
struct Decided {
    proposal: OpId,
    /// The operation that recorded the change or its refusal.
    #[serde(skip_serializing_if = "Option::is_none")]
    operation: Option<OpId>,
    /// The reason why the change could not be applied; it keeps waiting.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

pub(super) fn accept(arguments: &Accept, folder: &Path, as_json: bool) -> Result<(), Failure> {
    decide(folder, &arguments.proposals, "accepted", as_json, |gateway, id| {
        gateway.accept(id, SystemClock::default().now())
    })
}

pub(super) fn reject(arguments: &Reject, folder: &Path, as_json: bool) -> Result<(), Failure> {
    decide(folder, &arguments.proposals, "refused", as_json, |gateway, id| {
        gateway.refuse(id, &arguments.why, SystemClock::default().now()).map(|_| gateway.state().last)
    })
}

/// Decides on each proposal; one that fails keeps waiting and does not stop the others.
fn decide(
    folder: &Path,
    names: &[String],
    word: &str,
    as_json: bool,
    mut act: impl FnMut(&mut apprentice_skillbook::Gateway, OpId) -> Result<OpId, WriteRefusal>,
) -> Result<(), Failure> {
    let mut gateway = write(folder)?;
    let mut decided = Vec::new();
    for proposal in selected_proposals(&gateway.snapshot(), names)? {
        let (operation, problem) = match act(&mut gateway, proposal) {
            Ok(by) => (Some(by), None),
            Err(refusal @ WriteRefusal::Refused { .. }) => (None, Some(refusal.to_string())),
            Err(failed @ WriteRefusal::Book(_)) => return Err(Failure::new(Kind::Config, failed)),
        };
        decided.push(Decided { proposal, operation, problem });
    }
    let stuck = decided.iter().filter(|one| one.operation.is_none()).count();
    if as_json {
        let schema = format!("apprentice.skills.{word}/1");
        let content_hash = gateway.snapshot().content_hash();
        terminal::json(&Decisions { schema, proposals: &decided, content_hash })?;
    } else {
        if decided.is_empty() {
            terminal::line(format_args!("no proposals are waiting"));
        }
        for Decided { proposal, operation, problem } in &decided {
            match (operation, problem) {
                (Some(by), _) => terminal::line(format_args!("{proposal} is {word} ({by})")),
                (None, problem) => {
                    let problem = problem.as_deref().unwrap_or_default();
                    terminal::line(format_args!("{proposal} keeps waiting: {problem}"));
                }
            }
        }
    }
    match stuck {
        0 => Ok(()),
        stuck => Err(Failure::say(Kind::NothingMatched, format!("{stuck} could not be {word}"))
            .hint("their base has changed; reject them and learn from the attempt again")),
    }
}

/// Prints the number of waiting proposals at the end of a command; in mode `approve` asks the user about each.
pub(crate) fn conclude(folder: &Path, mode: WriteMode) -> Result<(), Failure> {
    if !folder.is_dir() {
        return Ok(());
    }
    let book = open(folder)?;
    let waiting: Vec<_> = book.state().proposals.values().cloned().collect();
    if mode != WriteMode::Approve || waiting.is_empty() || !std::io::stdin().is_terminal() {
        if !waiting.is_empty() {
            let count = match waiting.len() {
                1 => "1 change waits".to_owned(),
                many => format!("{many} changes wait"),
            };
            let place = folder.display();
            terminal::note(format_args!(
                "{count} for review: `apprentice skills proposals --skillbook {place}`"
            ));
        }
        return Ok(());
    }
    for one in waiting {
        print_proposal(&Shown { proposal: &one, skills: book.would_change(&one) });
        terminal::note(format_args!(
            "accept it? Type yes or no and press Enter; anything else leaves it waiting"
        ));
        let Some(answer) = terminal::answer() else { return Ok(()) };
        let names = [one.id.to_string()];
        let decided = match answer.trim() {
            "yes" => decide(folder, &names, "accepted", false, |gateway, id| {
                gateway.accept(id, SystemClock::default().now())
            }),
            "no" => decide(folder, &names, "refused", false, |gateway, id| {
                gateway.refuse(id, "", SystemClock::default().now()).map(|_| gateway.state().last)
            }),
            _ => Ok(()),
        };
        // A proposal that no longer applies must not prevent decisions on the others.
        if let Err(failure) = decided {
            terminal::note(format_args!("{}", failure.source));
        }
    }
    Ok(())
}
