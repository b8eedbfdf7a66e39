//! `apprentice skills`: looks at a skillbook and its history, checks and cleans it, and takes in what others wrote.

mod archive;
pub(crate) mod curate;
mod happened;
mod look;
mod package;
pub(crate) mod proposals;
mod time;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use apprentice_protocol::{Clock as _, SkillId};
use apprentice_sandbox::SystemClock;
use apprentice_skills::Meaning;
use apprentice_skills::book::{
    At, BookError, Gateway, GatewayOptions, OpId, Opened, Problem, Snapshot, WriteMode,
};
use clap::{Args, Subcommand};

use crate::config::Config;
use crate::failure::{Failure, Kind, Kinded as _};
use crate::{terminal, wire};

/// Marks the book that came with the program.
const SHIPPED: &str = ".meta/shipped";

/// Looks at the skillbook, goes back in its history, and curates it.
#[derive(Debug, Args)]
pub(crate) struct Skills {
    /// The book's folder [default: the setting `skillbook`].
    #[arg(long, global = true, value_name = "DIR")]
    skillbook: Option<PathBuf>,
    /// Print one JSON object that names its schema.
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
        /// `<domain>/<name>`; a name that was merged or renamed leads to where it went.
        skill: String,
    },
    /// Finds skills by words, and by meaning where the settings name a model for that (`[embeddings]`).
    Search {
        /// What is looked for.
        #[arg(value_parser = clap::builder::NonEmptyStringValueParser::new())]
        query: String,
        /// How many.
        #[arg(long, default_value_t = 5, value_parser = many)]
        limit: usize,
        /// Leave meaning out.
        #[arg(long)]
        words: bool,
    },
    /// Records pages that were changed, renamed, added or deleted by hand.
    Sync,
    /// Lists the operations of the book, or of one skill under all its names.
    History {
        /// `<domain>/<name>`.
        skill: Option<String>,
    },
    /// Shows how skills differ between two operations; without any, what was changed by hand and not recorded.
    Diff {
        /// The earlier operation, as `o12`.
        from: Option<String>,
        /// The later one [default: the book as it is now].
        to: Option<String>,
    },
    /// Shows the book, or one skill, as it was after an operation.
    At {
        /// The operation, as `o12`.
        operation: String,
        /// `<domain>/<name>`.
        skill: Option<String>,
    },
    /// Takes one operation back and leaves what came after it.
    Revert {
        /// The operation, as `o12`.
        operation: String,
    },
    /// Lists the changes that models propose and that wait for your word, or shows one, with what would change.
    Proposals {
        /// The proposal, as `o12`.
        operation: Option<String>,
    },
    Accept(proposals::Accept),
    Refuse(proposals::Refuse),
    /// Lists what happened to the skills, in the words of the vocabulary of events.
    Events {
        /// `<domain>/<name>`.
        skill: Option<String>,
    },
    /// Shows what was learned and signalled while working, the counters since the last review, and whether one is due.
    Learning,
    /// Names for each line of a skill the operation, the attempt, the step and the picture it came from.
    Blame {
        /// `<domain>/<name>`.
        skill: String,
    },
    Apply(curate::Apply),
    Clean(curate::Clean),
    Validate(package::Validate),
    Export(package::Export),
    Import(package::Import),
}

fn many(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|number| *number > 0).ok_or_else(|| "expected a number from 1 on".to_owned())
}

impl What {
    /// Whether there must be a book; the others begin one where there is none, or may be about another folder.
    fn needs_book(&self) -> bool {
        !matches!(self, Self::Apply(_) | Self::Import(_) | Self::Validate(_))
    }

    /// Whether it may change the book.
    fn writes(&self) -> bool {
        match self {
            Self::Sync
            | Self::Revert { .. }
            | Self::Apply(_)
            | Self::Import(_)
            | Self::Accept(_)
            | Self::Refuse(_) => true,
            Self::Clean(clean) => clean.writes(),
            Self::List
            | Self::Show { .. }
            | Self::Search { .. }
            | Self::History { .. }
            | Self::Diff { .. }
            | Self::At { .. }
            | Self::Events { .. }
            | Self::Proposals { .. }
            | Self::Learning
            | Self::Blame { .. }
            | Self::Validate(_)
            | Self::Export(_) => false,
        }
    }
}

/// The book that a command writes: the one that was named, or the one of the settings, unless that is the one that came
/// with the program.
pub(crate) fn writable<'a>(named: Option<&'a Path>, config: &'a Config) -> Result<&'a Path, Failure> {
    let folder = &*config.skillbook;
    match named {
        Some(folder) => Ok(folder),
        None if folder.join(SHIPPED).is_file() => {
            let what =
                format!("the book {} came with the program and is not written unasked", folder.display());
            Err(Failure::say(Kind::Config, what)
                .hint("name a book of your own: --skillbook DIR, or the setting `skillbook`")
                .hint(format!("to write this one on purpose: --skillbook {}", folder.display())))
        }
        None => Ok(folder),
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
        What::List => look::list(&open(folder)?, json),
        What::Show { skill } => look::show(&open(folder)?, skill, json),
        What::Search { query, limit, words } => {
            let meaning = if *words { None } else { meaning(config)? };
            look::search(&open(folder)?.understood(meaning), query, *limit, json)
        }
        What::Sync => sync(folder, json),
        What::History { skill } => time::history(folder, skill.as_deref(), json),
        What::Diff { from, to } => time::diff(folder, from.as_deref(), to.as_deref(), json),
        What::At { operation, skill } => time::at(folder, operation, skill.as_deref(), json),
        What::Revert { operation } => time::revert(folder, operation, json),
        What::Proposals { operation } => proposals::list(folder, operation.as_deref(), json),
        What::Accept(accept) => proposals::accept(accept, folder, json),
        What::Refuse(refuse) => proposals::refuse(refuse, folder, json),
        What::Events { skill } => happened::events(&open(folder)?, skill.as_deref(), json),
        What::Learning => happened::learning(folder, json),
        What::Blame { skill } => time::blame(folder, skill, &config.runs, json),
        What::Apply(apply) => curate::apply(apply, folder, json, config),
        What::Clean(clean) => curate::clean(clean, folder, json, config),
        What::Validate(validate) => package::validate(validate, folder, json),
        What::Export(export) => package::export(export, folder, json),
        What::Import(import) => package::import(import, folder, json),
    }
}

/// Opens a book to read; says on the way what of it cannot be read.
pub(crate) fn open(folder: &Path) -> Result<Snapshot, Failure> {
    let book = Snapshot::open(folder, At::Now).kind(Kind::Config)?;
    warn(book.problems());
    for path in book.pending() {
        terminal::note(format_args!("{path} was changed by hand; `apprentice skills sync` records it"));
    }
    Ok(book)
}

/// Opens a book to write, at the present time; says what is recorded on the way.
fn write(folder: &Path) -> Result<Gateway, Failure> {
    write_as(folder, WriteMode::Auto)
}

/// The same, for what models write.
fn write_as(folder: &Path, mode: WriteMode) -> Result<Gateway, Failure> {
    let options = GatewayOptions { mode, ..GatewayOptions::at(SystemClock::default().now()) };
    let (gateway, opened) = Gateway::open(folder, options).kind(Kind::Config)?;
    warn(&opened.problems);
    tell_aside(&opened);
    for path in &opened.recorded {
        terminal::note(format_args!("{path} was changed by hand; that is recorded first"));
    }
    Ok(gateway)
}

/// What skills are searched and compared by beside words, if the settings name a model for that.
fn meaning(config: &Config) -> Result<Option<Arc<Meaning>>, Failure> {
    wire::models(config, Arc::new(SystemClock::default()))?.meaning()
}

fn warn(problems: &[Problem]) {
    for Problem { path, what } in problems {
        terminal::note(format_args!("{path}: {what}; the rest of the book is in use"));
    }
}

fn tell_aside(opened: &Opened) {
    if let Some(place) = &opened.set_aside {
        terminal::note(format_args!(
            "the log ended in the middle of a line, which was never committed: it is {place} now"
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
    let failure = Failure::say(Kind::NothingMatched, format!("the book has no skill {name:?}"));
    let nearest =
        book.skills().map(|skill| (strsim::damerau_levenshtein(skill.id.as_str(), name), &skill.id)).min();
    match nearest {
        Some((_, id)) => failure.hint(format!("the nearest name is {id}")),
        None => failure.hint("the book is empty"),
    }
}

fn sync(folder: &Path, json: bool) -> Result<(), Failure> {
    let options = GatewayOptions::at(SystemClock::default().now());
    let (gateway, opened) = Gateway::open(folder, options).kind(Kind::Config)?;
    warn(&opened.problems);
    tell_aside(&opened);
    if json {
        return terminal::json(&serde_json::json!({
            "schema": "apprentice.skills.sync/1",
            "completed": opened.completed,
            "recorded": opened.recorded,
            "content_hash": gateway.snapshot().content_hash(),
        }));
    }
    for path in &opened.completed {
        terminal::line(format_args!("{path}: an unfinished write is completed"));
    }
    for path in &opened.recorded {
        terminal::line(format_args!("{path}: recorded"));
    }
    if opened.completed.is_empty() && opened.recorded.is_empty() {
        terminal::line(format_args!("nothing was changed by hand"));
    }
    Ok(())
}
