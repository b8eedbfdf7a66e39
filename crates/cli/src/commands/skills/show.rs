//! Prints the contents of a skillbook: the list, one skill, or search results.

use std::collections::BTreeMap;

use apprentice_protocol::{BoundedText, SkillId, TextBudget};
use apprentice_skillbook::Hit;
use apprentice_skillbook::shipped::ShippedPart;
use apprentice_skillbook::verification::{Verification, verification};
use apprentice_skillbook::{Counts, Entry, Note, Origin, Skill, Snapshot, VersionEvidence, history};
use schemars::JsonSchema;
use serde::Serialize;

use super::{id, unknown};
use crate::failure::{Failure, Kind};
use crate::{terminal, wire};

/// The output of `skills list --json`, and of `skills at --json` without a skill.
#[derive(Debug, Serialize, JsonSchema)]
pub(in super::super) struct Listing<'a> {
    schema: &'static str,
    content_hash: String,
    log_hash: String,
    last: String,
    pending: &'a [String],
    problems: Vec<String>,
    domains: &'a BTreeMap<String, String>,
    skills: Vec<Line<'a>>,
    /// Number of proposals that wait for review.
    waiting: usize,
    /// Shipped skills; not part of the skillbook and its hashes.
    shipped: Vec<Line<'a>>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Line<'a> {
    id: &'a SkillId,
    version: u32,
    description: &'a str,
    source: Origin,
}

/// One skill with its counters and provenance: the output of `skills show --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(in super::super) struct Card<'a> {
    schema: &'static str,
    id: &'a SkillId,
    #[serde(skip_serializing_if = "Option::is_none")]
    asked_for: Option<&'a str>,
    domain: &'a str,
    version: u32,
    description: &'a str,
    situation: &'a str,
    guidance: &'a str,
    annotations: Vec<&'a Note>,
    /// Program versions on which each version of the skill was written, helped, or was outdated, as far as observed.
    seen_on: &'a [VersionEvidence],
    metrics: Metrics<'a>,
    provenance: Provenance,
    /// Whether the present text has been seen to help elsewhere.
    verification: Verification,
    text_hash: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Metrics<'a> {
    /// Counters of the current version, over all model classes.
    current: Numbers,
    /// Counters by version, then by model class.
    by_version: BTreeMap<u32, BTreeMap<&'a str, Numbers>>,
    /// Counters over all versions and model classes.
    lifetime: Numbers,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Numbers {
    #[serde(flatten)]
    counts: Counts,
    times_not_followed: f64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Provenance {
    origin: Origin,
    created_by: String,
    trajectories: Vec<String>,
    operations: Vec<Entry>,
}

impl From<Counts> for Numbers {
    fn from(counts: Counts) -> Self {
        Self { counts, times_not_followed: counts.times_not_followed() }
    }
}

pub(super) fn list(book: &Snapshot, json: bool) -> Result<(), Failure> {
    let whole = book.with_shipped(ShippedPart::All);
    let shipped = || whole.skills().filter(|skill| skill.origin == Origin::Shipped);
    if json {
        return terminal::json(&Listing {
            schema: "apprentice.skills/1",
            content_hash: book.content_hash(),
            log_hash: book.log_hash(),
            last: book.last().to_string(),
            pending: book.pending(),
            problems: book.problems().iter().map(|one| format!("{}: {}", one.path, one.what)).collect(),
            domains: &book.state().domains,
            skills: book.skills().map(line).collect(),
            waiting: book.state().proposals.len(),
            shipped: shipped().map(line).collect(),
        });
    }
    if book.is_empty() {
        terminal::line(format_args!("the skillbook contains no skills yet"));
    }
    for domain in book.domains() {
        terminal::line(format_args!("{}\n", book.index(domain).trim_end()));
    }
    match book.state().proposals.len() {
        0 => {}
        1 => terminal::note(format_args!("1 change waits for review: `apprentice skills proposals`")),
        many => {
            terminal::note(format_args!("{many} changes wait for review: `apprentice skills proposals`"));
        }
    }
    terminal::line(format_args!("# shipped with the program, read-only\n"));
    for skill in shipped() {
        terminal::line(format_args!("- {}: {}", skill.id, skill.text.description));
    }
    Ok(())
}

fn line(skill: &Skill) -> Line<'_> {
    Line { id: &skill.id, version: skill.version, description: &skill.text.description, source: skill.origin }
}

pub(super) fn show(book: &Snapshot, name: &str, json: bool) -> Result<(), Failure> {
    let book = &book.with_shipped(ShippedPart::All);
    let Some(skill) = book.skill(&id(name)?) else { return Err(unknown(book, name)) };
    if json {
        return terminal::json(&card(book, skill, name));
    }
    terminal::line(format_args!("{}\n", skill.view().trim_end()));
    terminal::line(format_args!(
        "version {}, origin: {}, operations {}",
        skill.version,
        terminal::words(&skill.origin),
        skill.history.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    ));
    for one in &skill.version_evidence {
        let VersionEvidence { version, app, app_version, written, confirmed, outdated } = one;
        let written = if *written { "written there, " } else { "" };
        terminal::line(format_args!(
            "v{version} on {app} {app_version}: {written}helped {confirmed}, outdated {outdated}"
        ));
    }
    match verification(book.state(), skill) {
        Verification { verified: true, helped, .. } => {
            terminal::line(format_args!("verified: it helped in {}", helped.join(", ")));
        }
        Verification { missing, .. } => {
            terminal::line(format_args!("not verified: {}", missing.unwrap_or_default()));
        }
    }
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

fn card<'a>(book: &Snapshot, skill: &'a Skill, name: &'a str) -> Card<'a> {
    let mut by_version: BTreeMap<u32, BTreeMap<&str, Numbers>> = BTreeMap::new();
    for ((version, consumer), counts) in &skill.counters {
        by_version.entry(*version).or_default().insert(consumer, (*counts).into());
    }
    let operations = history(&book.operations(), Some(&skill.id));
    let mut trajectories: Vec<String> =
        operations.iter().filter_map(|one| Some(one.cause.as_ref()?.trajectory.clone())).collect();
    trajectories.sort_unstable();
    trajectories.dedup();
    Card {
        schema: "apprentice.skill/1",
        id: &skill.id,
        asked_for: Some(name).filter(|name| *name != skill.id.as_str()),
        domain: skill.id.domain(),
        version: skill.version,
        description: &skill.text.description,
        situation: &skill.text.situation,
        guidance: &skill.text.guidance,
        annotations: skill.notes.iter().collect(),
        seen_on: &skill.version_evidence,
        metrics: Metrics {
            current: skill.counts(None).into(),
            by_version,
            lifetime: skill.lifetime_counts().into(),
        },
        provenance: Provenance {
            origin: skill.origin,
            created_by: skill.uid.to_string(),
            trajectories,
            operations,
        },
        verification: verification(book.state(), skill),
        text_hash: skill.text_hash(),
    }
}

/// The output of `skills search --json`.
#[derive(Serialize, JsonSchema)]
pub(in super::super) struct Hits<'a> {
    schema: &'static str,
    query: &'a str,
    hits: &'a [Hit],
}

pub(super) fn search(book: &Snapshot, query: &str, limit: usize, json: bool) -> Result<(), Failure> {
    let found = wire::runtime()?.block_on(async { Ok(book.find(query, limit).await) })?;
    if let Some(why) = found.embedding_error {
        return Err(Failure::say(Kind::Model, why)
            .hint("--words turns semantic search off; `[embeddings]` configures the server"));
    }
    let hits = found.hits;
    let asked = BoundedText::cut(query, TextBudget(200));
    let no_shared_word = format!("no skill shares a word with {:?}", asked.as_str());
    if hits.is_empty() {
        return Err(Failure::say(Kind::NothingMatched, no_shared_word));
    }
    if hits.iter().all(|hit| hit.matched.is_empty()) {
        terminal::note(format_args!("{no_shared_word}; these are the nearest in meaning"));
    }
    if json {
        return terminal::json(&Hits { schema: "apprentice.skills.search/1", query, hits: &hits });
    }
    for hit in &hits {
        let near = hit.similarity.map(|near| format!("meaning {near:.2}"));
        let why: Vec<String> = hit.matched.iter().cloned().chain(near).collect();
        terminal::line(format_args!("{}: {} [{}]", hit.id, hit.description, why.join(", ")));
    }
    Ok(())
}
