//! `apprentice skills`: looks at a skillbook, and records what people changed in its pages.

use std::path::{Path, PathBuf};

use apprentice_harness::clock::SystemClock;
use apprentice_protocol::{Clock as _, SkillId};
use apprentice_skills::book::{At, Gateway, GatewayOptions, Problem, Skill, Snapshot};
use clap::{Args, Subcommand};
use serde::Serialize;

use crate::config::Config;
use crate::failure::{Failure, Kind, Kinded as _};
use crate::terminal;

/// Looks at the skillbook.
#[derive(Debug, Args)]
pub(crate) struct Skills {
    /// The book's folder [default: the setting `skillbook`].
    #[arg(long, global = true, value_name = "DIR")]
    skillbook: Option<PathBuf>,
    /// Print one JSON object (`apprentice.skills/1`).
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
        /// `<domain>/<name>`.
        skill: String,
    },
    /// Finds skills by words.
    Search {
        /// The words.
        query: String,
        /// How many.
        #[arg(long, default_value_t = 5)]
        limit: usize,
    },
    /// Records pages that were changed, renamed, added or deleted by hand.
    Sync,
}

#[derive(Debug, Serialize)]
struct Listing<'a> {
    schema: &'static str,
    content_hash: String,
    log_hash: String,
    pending: &'a [String],
    skills: Vec<Line<'a>>,
}

#[derive(Debug, Serialize)]
struct Line<'a> {
    id: &'a SkillId,
    version: u32,
    description: &'a str,
}

#[derive(Debug, Serialize)]
struct Shown<'a> {
    schema: &'static str,
    #[serde(flatten)]
    skill: &'a Skill,
}

/// Runs the command.
pub(crate) fn run(arguments: &Skills, config: &Config) -> Result<(), Failure> {
    let folder = arguments.skillbook.as_deref().unwrap_or(&config.skillbook);
    match &arguments.what {
        What::List => list(&open(folder)?, arguments.json),
        What::Show { skill } => show(&open(folder)?, skill, arguments.json),
        What::Search { query, limit } => search(&open(folder)?, query, *limit, arguments.json),
        What::Sync => sync(folder),
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

fn warn(problems: &[Problem]) {
    for Problem { path, what } in problems {
        terminal::note(format_args!("{path}: {what}; the rest of the book is in use"));
    }
}

fn list(book: &Snapshot, json: bool) -> Result<(), Failure> {
    if json {
        let skills = book.skills().map(|skill| Line {
            id: &skill.id,
            version: skill.version,
            description: &skill.text.description,
        });
        return terminal::json(&Listing {
            schema: "apprentice.skills/1",
            content_hash: book.content_hash(),
            log_hash: book.log_hash(),
            pending: book.pending(),
            skills: skills.collect(),
        });
    }
    if book.is_empty() {
        terminal::line(format_args!("the book holds no skills yet"));
    }
    for domain in book.domains() {
        terminal::line(format_args!("{}", book.index(domain).trim_end()));
    }
    Ok(())
}

fn show(book: &Snapshot, name: &str, json: bool) -> Result<(), Failure> {
    let id = SkillId::parse(name).kind(Kind::Usage)?;
    let Some(skill) = book.skill(&id) else { return Err(unknown(book, name)) };
    if json {
        return terminal::json(&Shown { schema: "apprentice.skill/1", skill });
    }
    terminal::line(format_args!("{}\n", skill.view().trim_end()));
    terminal::line(format_args!(
        "version {}, from {:?}, operations {:?}",
        skill.version, skill.origin, skill.history
    ));
    for ((version, consumer), counts) in &skill.counters {
        terminal::line(format_args!(
            "v{version} {consumer}: requested {}, followed {}, positive {}, negative {}, neutral {}",
            counts.times_requested,
            counts.times_followed,
            counts.positive_impact,
            counts.negative_impact,
            counts.neutral_impact
        ));
    }
    Ok(())
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

fn search(book: &Snapshot, query: &str, limit: usize, json: bool) -> Result<(), Failure> {
    let hits = book.search(query, limit);
    if json {
        return terminal::json(&hits);
    }
    for hit in &hits {
        let about = book.skill(&hit.id).map_or("", |skill| skill.text.description.as_str());
        terminal::line(format_args!("{}: {about}", hit.id));
    }
    match hits.is_empty() {
        true => Err(Failure::say(Kind::NothingMatched, format!("no skill shares a word with {query:?}"))),
        false => Ok(()),
    }
}

fn sync(folder: &Path) -> Result<(), Failure> {
    let options = GatewayOptions::at(SystemClock::default().now());
    let (_, opened) = Gateway::open(folder, options).kind(Kind::Config)?;
    warn(&opened.problems);
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
