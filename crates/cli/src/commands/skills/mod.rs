//! `apprentice skills`: inspects a skillbook and its history, validates and cleans it, and imports skills.

mod archive;
pub(super) mod certificate;
pub(super) mod check;
pub(crate) mod curate;
pub(super) mod events;
pub(super) mod export;
pub(super) mod figure;
pub(super) mod history;
pub(crate) mod learning;
pub(crate) mod measure;
pub(super) mod measure_output;
mod measure_plan;
pub(super) mod package;
mod package_files;
pub(crate) mod proposals;
pub(super) mod show;
mod skillweaver;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use apprentice_protocol::{Clock as _, SkillId};
use apprentice_sandbox::SystemClock;
use apprentice_screening::effect::EffectRule;
use apprentice_skillbook::{
    At, AuthoredPages, BookError, Gateway, GatewayOptions, OpId, OpenReport, Problem, Snapshot, WriteMode,
};
use apprentice_wording::EmbeddingModel;
use clap::{Args, Subcommand};
use schemars::JsonSchema;
use serde::Serialize;

use crate::failure::{Failure, Kind, WithKind as _};
use crate::settings::config::Config;
use crate::{terminal, wire};

/// Marker file of the shipped skillbook.
const SHIPPED: &str = ".meta/shipped";

/// Inspects and curates the skillbook and its history.
#[derive(Debug, Args)]
pub(crate) struct Skills {
    /// The skillbook's folder [default: the setting `skillbook`].
    #[arg(long, global = true, value_name = "DIR")]
    skillbook: Option<PathBuf>,
    /// Print one JSON object; its `schema` names the format.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Lists all skills, by domain.
    List,
    /// Shows one skill: text, notes, counters, provenance.
    Show {
        /// `<domain>/<name>`; merged and renamed skills are found under their old names.
        skill: String,
    },
    /// Finds skills by keywords and by meaning (`[embeddings]` in the settings chooses the model).
    Search {
        /// The search text.
        #[arg(value_parser = clap::builder::NonEmptyStringValueParser::new())]
        query: String,
        /// Maximum number of results.
        #[arg(long, default_value_t = 5, value_parser = many)]
        limit: usize,
        /// Search by keywords only.
        #[arg(long)]
        words: bool,
    },
    /// Records skill pages that were changed, renamed, added or deleted by hand.
    Sync,
    /// Lists the operations on the skillbook, or on one skill under all its names.
    History {
        /// `<domain>/<name>`.
        skill: Option<String>,
    },
    /// Shows the differences between two operations; without arguments, unrecorded changes by hand.
    Diff {
        /// The earlier operation, such as `o12`, or a time as for `at`.
        from: Option<String>,
        /// The later operation or time [default: the current skillbook].
        to: Option<String>,
    },
    /// Shows the skillbook, or one skill, as of an operation or a time.
    At {
        /// The operation, such as `o12`; or a time (RFC 3339), or a date, which is the end of that day (UTC).
        operation: String,
        /// `<domain>/<name>`.
        skill: Option<String>,
    },
    /// Reverts operations and keeps later ones; several are one change, which is made whole or not at all.
    Revert {
        /// Operations, such as `o12`; or one time (RFC 3339, or a date: the end of that day), to which every skill is
        /// brought back.
        #[arg(required = true, value_name = "OPERATION|TIME")]
        operations: Vec<String>,
    },
    /// Lists proposed changes that wait for review, or shows one with its diff.
    Proposals {
        /// The proposal, such as `o12`.
        operation: Option<String>,
    },
    Accept(proposals::Accept),
    #[command(alias = "refuse")]
    Reject(proposals::Reject),
    /// Gives a suspended skill to agents again.
    Resume {
        /// `<domain>/<name>`.
        skill: String,
    },
    /// Lists the events of skills.
    Events {
        /// `<domain>/<name>`.
        skill: Option<String>,
    },
    Learning(learning::Learning),
    /// Shows the operation, attempt, step and screenshot from which each line of a skill came.
    Blame {
        /// `<domain>/<name>`.
        skill: String,
    },
    Apply(curate::Apply),
    Clean(curate::Clean),
    AddFigure(figure::AddFigure),
    Measure(measure::Measure),
    Certificate(certificate::CertificateCommand),
    Check(check::Check),
    Validate(package::Validate),
    Export(export::Export),
    Import(package::Import),
}

fn many(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|number| *number > 0).ok_or_else(|| "expected a number from 1 on".to_owned())
}

impl What {
    /// Whether the skillbook must exist. The other commands create it if necessary, or work on another folder.
    fn needs_book(&self) -> bool {
        !matches!(
            self,
            Self::Apply(_) | Self::Import(_) | Self::Validate(_) | Self::Measure(_) | Self::Certificate(_)
        )
    }

    /// Whether the command may change the skillbook.
    fn writes(&self) -> bool {
        match self {
            Self::Sync
            | Self::Revert { .. }
            | Self::Resume { .. }
            | Self::Apply(_)
            | Self::Import(_)
            | Self::Accept(_)
            | Self::Reject(_)
            | Self::AddFigure(_) => true,
            Self::Clean(clean) => clean.writes(),
            Self::Learning(learning) => learning.writes(),
            Self::List
            | Self::Show { .. }
            | Self::Search { .. }
            | Self::History { .. }
            | Self::Diff { .. }
            | Self::At { .. }
            | Self::Events { .. }
            | Self::Proposals { .. }
            | Self::Blame { .. }
            | Self::Validate(_)
            | Self::Measure(_)
            | Self::Certificate(_)
            | Self::Check(_)
            | Self::Export(_) => false,
        }
    }
}

/// Returns the skillbook that a command writes: the given one, or the one of the settings unless that is the shipped
/// skillbook.
pub(crate) fn writable<'a>(named: Option<&'a Path>, config: &'a Config) -> Result<&'a Path, Failure> {
    let folder = &*config.skillbook;
    match named {
        Some(folder) => Ok(folder),
        None if folder.join(SHIPPED).is_file() => {
            let what = format!(
                "the skillbook {} is shipped with the program and protected from changes",
                folder.display()
            );
            Err(Failure::say(Kind::Config, what)
                .hint("use your own skillbook: --skillbook DIR, or the setting `skillbook`")
                .hint(format!("to change this one on purpose: --skillbook {}", folder.display())))
        }
        None => Ok(folder),
    }
}

impl Skills {
    /// The measurement that the command starts, if it is one, and whether it prints JSON.
    pub(crate) fn into_measure(self) -> Option<measure::Measure> {
        match self.what {
            What::Measure(measure) => Some(measure),
            _ => None,
        }
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &Skills, config: &Config) -> Result<(), Failure> {
    let folder = arguments.skillbook.as_deref().unwrap_or(&config.skillbook);
    if arguments.what.writes() {
        writable(arguments.skillbook.as_deref(), config)?;
    }
    if arguments.what.needs_book() && !folder.is_dir() {
        return Err(BookError::Missing(folder.to_owned())).kind(Kind::Config);
    }
    let json = arguments.json;
    match &arguments.what {
        What::List => show::list(&open(folder)?, json),
        What::Show { skill } => show::show(&open(folder)?, skill, json),
        What::Search { query, limit, words } => {
            let embedding = if *words { None } else { embedding(config)? };
            show::search(&open(folder)?.with_embedding(embedding), query, *limit, json)
        }
        What::Sync => sync(folder, json),
        What::History { skill } => history::history(folder, skill.as_deref(), json),
        What::Diff { from, to } => history::diff(folder, from.as_deref(), to.as_deref(), json),
        What::At { operation, skill } => history::at(folder, operation, skill.as_deref(), json),
        What::Revert { operations } => history::revert(folder, operations, json),
        What::Proposals { operation } => proposals::list(folder, operation.as_deref(), json),
        What::Accept(accept) => proposals::accept(accept, folder, json),
        What::Reject(reject) => proposals::reject(reject, folder, json),
        What::Resume { skill } => history::resume(folder, skill, json),
        What::Events { skill } => events::events(&open(folder)?, skill.as_deref(), json),
        What::Learning(learning) => learning.run(folder, json, config),
        What::Blame { skill } => history::blame(folder, skill, &config.runs, json),
        What::Apply(apply) => curate::apply(apply, folder, json, config),
        What::Clean(clean) => curate::clean(clean, folder, json, config),
        What::Measure(measure) => measure::run(measure, json, config),
        What::Certificate(certificate) => certificate::run(certificate, json),
        What::Check(check) => check::run(check, &open(folder)?, json, config),
        What::Validate(validate) => package::validate(validate, folder, json),
        What::AddFigure(figure) => figure::add_figure(figure, folder, json),
        What::Export(export) => export::export(export, folder, json),
        What::Import(import) => package::import(import, folder, json, config),
    }
}

/// Opens a skillbook for reading; prints notes about unreadable pages and unrecorded changes.
pub(crate) fn open(folder: &Path) -> Result<Snapshot, Failure> {
    let book = Snapshot::open(folder, At::Now).kind(Kind::Config)?;
    warn(book.problems());
    for path in book.pending() {
        terminal::note(format_args!("{path} was changed by hand; `apprentice skills sync` records it"));
    }
    Ok(book)
}

/// Opens a skillbook for writing; prints notes about changes by hand, which are recorded first.
fn write(folder: &Path) -> Result<Gateway, Failure> {
    write_as(folder, WriteMode::Auto, AuthoredPages::default(), EffectRule::default())
}

/// Opens a skillbook for writing in a given mode, for changes by models.
fn write_as(
    folder: &Path,
    mode: WriteMode,
    authored: AuthoredPages,
    effects: EffectRule,
) -> Result<Gateway, Failure> {
    let options =
        GatewayOptions { mode, authored, effects, ..GatewayOptions::at(SystemClock::default().now()) };
    let (mut gateway, opened) = Gateway::open(folder, options).kind(Kind::Config)?;
    gateway.hold_orders();
    warn(&opened.problems);
    note_moved_log(&opened);
    for path in &opened.recorded {
        terminal::note(format_args!("{path} was changed by hand; recorded that change first"));
    }
    Ok(gateway)
}

/// Returns the embedder for semantic search, unless the settings choose words alone.
fn embedding(config: &Config) -> Result<Option<Arc<EmbeddingModel>>, Failure> {
    wire::models(config, Arc::new(SystemClock::default()))?.embedding()
}

fn warn(problems: &[Problem]) {
    for Problem { path, what } in problems {
        terminal::note(format_args!("{path}: {what}; the rest of the skillbook is used"));
    }
}

fn note_moved_log(opened: &OpenReport) {
    if let Some(place) = &opened.set_aside {
        terminal::note(format_args!(
            "the log ended with an incomplete line that was never committed; moved it to {place}"
        ));
    }
}

fn id(name: &str) -> Result<SkillId, Failure> {
    SkillId::parse(name).kind(Kind::Usage)
}

fn operation(name: &str) -> Result<OpId, Failure> {
    OpId::try_from(name.to_owned()).map_err(|why| Failure::say(Kind::Usage, why))
}

fn unknown(book: &Snapshot, name: &str) -> Failure {
    let failure = Failure::say(Kind::NothingMatched, format!("the skillbook has no skill {name:?}"));
    match book.skills().next() {
        Some(_) => failure.hint_nearest(name, book.skills().map(|skill| skill.id.as_str())),
        None => failure.hint("the skillbook is empty"),
    }
}

/// The output of `skills sync --json`.
#[derive(Serialize, JsonSchema)]
pub(super) struct Synced<'a> {
    schema: &'static str,
    /// Files of unfinished writes that were completed.
    completed: &'a [String],
    /// Files that were changed by hand and are recorded now.
    recorded: &'a [String],
    /// The skillbook's hash afterwards.
    content_hash: String,
}

fn sync(folder: &Path, json: bool) -> Result<(), Failure> {
    let options = GatewayOptions::at(SystemClock::default().now());
    let (gateway, opened) = Gateway::open(folder, options).kind(Kind::Config)?;
    warn(&opened.problems);
    note_moved_log(&opened);
    if json {
        return terminal::json(&Synced {
            schema: "apprentice.skills.sync/1",
            completed: &opened.completed,
            recorded: &opened.recorded,
            content_hash: gateway.snapshot().content_hash(),
        });
    }
    for path in &opened.completed {
        terminal::line(format_args!("{path}: completed an unfinished write"));
    }
    for path in &opened.recorded {
        terminal::line(format_args!("{path}: recorded"));
    }
    if opened.completed.is_empty() && opened.recorded.is_empty() {
        terminal::line(format_args!("no changes by hand"));
    }
    Ok(())
}
