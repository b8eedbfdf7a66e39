//! The read-only tools over a snapshot. The trace records what they deliver.

use std::sync::Arc;

use apprentice_protocol::{
    BoxFuture, EventKind, SkillEvent, SkillEventKind, SkillId, StepRef, TextMark, Tool, ToolOutcome, ToolSpec,
};
use apprentice_skillbook::{Searched, ShortSteps, Skill, Snapshot, skill_line, with_captions};
use apprentice_wording::{domain_name, is_for_program};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::event::happened;
use super::front_program::FrontProgram;
use super::other_version::other_version_remark;
use super::package_file::{self, SKILL_FILE};
use super::short_reader::ShortReader;
use super::{fence, figures, value_remarks};

/// `skill_list { domain }`: the notes of one program, one line each.
pub const SKILL_LIST: &str = "skill_list";
/// `skill_search { query, limit? }`: notes by words, one line each, best first.
pub const SKILL_SEARCH: &str = "skill_search";
/// `skill_view { skill }`: the text of one note.
pub const SKILL_VIEW: &str = "skill_view";

const DEFAULT_HITS: usize = 5;
const MAX_HITS: usize = 20;
/// Largest part of a query that is searched, and of a name that an answer repeats, in characters.
const MAX_QUERY_CHARS: usize = 1000;
const MAX_NAME_CHARS: usize = 120;
/// Largest part of a note that one call shows, in characters, with the remark on the rest.
const VIEW_BUDGET: usize = 12_000;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListArguments {
    /// A program's domain, as listed.
    domain: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SearchArguments {
    /// What you want to do, in a few words.
    query: String,
    /// How many notes, at most 20.
    #[serde(default)]
    limit: Option<usize>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ViewArguments {
    /// The note's name, `domain/name`.
    #[serde(alias = "id", alias = "skill_id")]
    skill: String,
    /// The first character to show, from 0; a long note comes in parts.
    #[serde(default)]
    from: usize,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FileArguments {
    /// The note's name, `domain/name`.
    #[serde(alias = "id", alias = "skill_id")]
    skill: String,
    /// The file's path, as the note names it.
    path: String,
    /// The first character to show, from 0; a long file comes in parts.
    #[serde(default)]
    from: usize,
}

#[derive(Clone, Copy)]
enum Kind {
    List,
    Search,
    View,
    File,
}

/// The context that the tools of one trial share.
#[derive(Clone)]
pub(crate) struct ReadingContext {
    /// The book.
    pub(crate) book: Snapshot,
    /// The program in front of the agent.
    pub(crate) front: FrontProgram,
    /// True if a skill's text comes with its figures as pictures.
    pub(crate) pictures: bool,
    /// Whether the reader is shown short views.
    pub(crate) reader: ShortReader,
    /// The task's instruction, which decides between the functions of a skill for such a reader.
    pub(crate) instruction: String,
}

struct SkillTool {
    kind: Kind,
    spec: ToolSpec,
    context: ReadingContext,
}

/// Returns the read-only tools over a book.
pub fn over(book: &Snapshot) -> Vec<Arc<dyn Tool>> {
    let front = FrontProgram::default();
    let (reader, instruction) = (ShortReader::default(), String::new());
    within(&ReadingContext { book: book.lendable(), front, pictures: false, reader, instruction })
}

/// Returns the read-only tools of one trial.
pub(crate) fn within(context: &ReadingContext) -> Vec<Arc<dyn Tool>> {
    let tool = |kind, spec| -> Arc<dyn Tool> { Arc::new(SkillTool { kind, spec, context: context.clone() }) };
    let mut tools = vec![
        tool(Kind::List, spec::<ListArguments>(SKILL_LIST, "Lists the notes of one program, one line each.")),
        tool(
            Kind::Search,
            spec::<SearchArguments>(SKILL_SEARCH, "Finds notes by words, best first, in all programs."),
        ),
        tool(Kind::View, spec::<ViewArguments>(SKILL_VIEW, "Shows one note in full.")),
    ];
    if context.book.skills().any(package_file::has_files) {
        tools.push(tool(
            Kind::File,
            spec::<FileArguments>(
                SKILL_FILE,
                "Shows a file that a note brings. It is only read, never run by this.",
            ),
        ));
    }
    tools
}

pub(crate) fn spec<T: JsonSchema>(name: &str, description: &str) -> ToolSpec {
    let mut schema = schemars::schema_for!(T);
    schema.remove("$schema");
    schema.remove("title");
    ToolSpec { name: name.to_owned(), description: description.to_owned(), schema: schema.to_value() }
}

impl Tool for SkillTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, arguments: &'a Value, _at: StepRef) -> BoxFuture<'a, ToolOutcome> {
        let outcome = match self.kind {
            Kind::List => read(arguments).map(|arguments| list(&self.context.book, &arguments)),
            Kind::Search => match read::<SearchArguments>(arguments) {
                Ok(arguments) => return Box::pin(async move { search(&self.context, &arguments).await }),
                Err(why) => Err(why),
            },
            Kind::View => read(arguments).map(|arguments| view(&self.context, &arguments)),
            Kind::File => read::<FileArguments>(arguments).map(|request| {
                match find(&self.context.book, request.skill.trim()) {
                    Some(skill) => package_file::show(&self.context.book, skill, &request.path, request.from),
                    None => ToolOutcome::error(unknown(&self.context.book, &request.skill)),
                }
            }),
        };
        let outcome = outcome.unwrap_or_else(|why| {
            ToolOutcome::error(format!("the arguments of {} do not fit: {why}", self.spec.name))
        });
        Box::pin(std::future::ready(outcome))
    }
}

pub(crate) fn read<T: DeserializeOwned>(arguments: &Value) -> Result<T, serde_json::Error> {
    apprentice_model_json::from_arguments(arguments)
}

fn answered(text: String, events: Vec<SkillEvent>) -> ToolOutcome {
    ToolOutcome { events: events.into_iter().map(EventKind::Skill).collect(), ..ToolOutcome::text(text) }
}

fn list(book: &Snapshot, arguments: &ListArguments) -> ToolOutcome {
    let wanted = domains_named(book, &arguments.domain);
    if wanted.is_empty() {
        let domains = book.domains();
        let names = if domains.is_empty() { "none".to_owned() } else { domains.join(", ") };
        let requested = short(&arguments.domain);
        return ToolOutcome::error(format!("There are no notes on {requested:?}. Known: {names}."));
    }
    let (text, events) = indexes(book, &wanted);
    answered(text, events)
}

/// Returns the domains of a book that a name stands for: the domain itself, those of the same program, and that of its suite.
pub(crate) fn domains_named<'a>(book: &'a Snapshot, name: &str) -> Vec<&'a str> {
    let wanted = domain_name(name).unwrap_or_default();
    book.domains().into_iter().filter(|domain| is_for_program(domain, &wanted)).collect()
}

/// Returns the indexes of domains, with their trace events.
pub(crate) fn indexes(book: &Snapshot, domains: &[&str]) -> (String, Vec<SkillEvent>) {
    let texts: Vec<String> = domains.iter().map(|domain| book.index(domain)).collect();
    let event = |(domain, text): (&&str, &String)| SkillEvent {
        detail: Some((*domain).to_owned()),
        ..happened(SkillEventKind::Indexed, text)
    };
    let events = domains.iter().zip(&texts).map(event).collect();
    (texts.join("\n"), events)
}

async fn search(context: &ReadingContext, arguments: &SearchArguments) -> ToolOutcome {
    let book = &context.book;
    let limit = arguments.limit.unwrap_or(DEFAULT_HITS).clamp(1, MAX_HITS);
    let query: String = arguments.query.chars().take(MAX_QUERY_CHARS).collect();
    let Searched { hits, embedding_error } = book.find(&query, MAX_HITS).await;
    let hits = context.front.first(hits, limit);
    let mut text = String::new();
    // The model gets the hits by words. The trace records that the search by meaning failed.
    let mut events: Vec<SkillEvent> = embedding_error
        .map(|why| SkillEvent {
            detail: Some(format!("by words alone: {why}")),
            ..happened(SkillEventKind::Searched, "")
        })
        .into_iter()
        .collect();
    if hits.is_empty() {
        text.push_str("Nothing found.");
    }
    for (rank, hit) in (1..).zip(&hits) {
        let line = skill_line(hit.id.as_str(), &hit.description) + "\n";
        events.push(SkillEvent {
            skill: Some(hit.id.clone()),
            version: Some(hit.version),
            rank: Some(rank),
            detail: Some(query.clone()),
            ..happened(SkillEventKind::Searched, &line)
        });
        text.push_str(&line);
    }
    answered(text, events)
}

fn view(context: &ReadingContext, arguments: &ViewArguments) -> ToolOutcome {
    let book = &context.book;
    let Some(skill) = find(book, arguments.skill.trim()) else {
        return ToolOutcome::error(unknown(book, &arguments.skill));
    };
    if let Some(steps) = context.reader.steps(skill, &context.instruction) {
        let (text, event) = viewed_steps(skill, &steps);
        let marks = vec![TextMark::Holds(skill.id.to_string())];
        return ToolOutcome { marks, ..answered(text, vec![event]) };
    }
    let (whole, from) = (whole_text(skill), arguments.from);
    let length = whole.chars().count();
    if from > 0 && from >= length {
        let why = format!("{} has {length} characters; `from` lies behind its end.", skill.id);
        return ToolOutcome::error(why);
    }
    let (text, event) = viewed_part(book, skill, &whole, from);
    let mut outcome =
        ToolOutcome { marks: vec![TextMark::Holds(skill.id.to_string())], ..answered(text, vec![event]) };
    if context.pictures {
        outcome.content.extend(figures::pictures(book, skill));
    }
    outcome
}

/// Returns a skill's text as delivered, with its trace event: the whole, or of a long one the first part.
pub(crate) fn viewed(book: &Snapshot, skill: &Skill) -> (String, SkillEvent) {
    viewed_part(book, skill, &whole_text(skill), 0)
}

/// Returns the short steps of a skill, as delivered to a reader of short views, with the trace event.
pub(crate) fn viewed_steps(skill: &Skill, steps: &ShortSteps) -> (String, SkillEvent) {
    delivered(skill, fence::note(skill, &value_remarks::lent(skill, steps)))
}

/// A text of a skill as delivered, with its trace event.
pub(crate) fn delivered(skill: &Skill, text: String) -> (String, SkillEvent) {
    let event = SkillEvent {
        skill: Some(skill.id.clone()),
        version: Some(skill.version),
        text: Some(text.clone()),
        ..happened(SkillEventKind::Viewed, &text)
    };
    (text, event)
}

/// Returns a skill's text with the names of its files.
fn whole_text(skill: &Skill) -> String {
    format!("{}{}", with_captions(&skill.prose_view()), package_file::listed(skill))
}

/// Returns the part of a skill's text that begins at a character, as delivered, with its trace event.
fn viewed_part(book: &Snapshot, skill: &Skill, whole: &str, from: usize) -> (String, SkillEvent) {
    let remark = other_version_remark(book.app_versions(), skill)
        .map(|remark| format!("\n{remark}\n"))
        .unwrap_or_default();
    let room = VIEW_BUDGET.saturating_sub(remark.chars().count());
    delivered(skill, fence::note(skill, &package_file::part_of(whole, from, room)) + "\n" + remark.as_str())
}

/// Finds a skill by id, following redirects. A bare name is sufficient if it is unique.
pub(crate) fn find<'a>(book: &'a Snapshot, name: &str) -> Option<&'a Skill> {
    if let Ok(id) = SkillId::parse(name) {
        return book.skill(&id);
    }
    let mut named = book.skills().filter(|skill| skill.id.slug() == name);
    named.next().filter(|_| named.next().is_none())
}

/// Shortens a name for repetition in an answer.
fn short(name: &str) -> String {
    name.chars().take(MAX_NAME_CHARS).collect()
}

pub(crate) fn unknown(book: &Snapshot, name: &str) -> String {
    let name = short(name);
    let near = book.skills().map(|skill| (strsim::jaro_winkler(&name, skill.id.as_str()), &skill.id));
    let nearest = near.max_by(|a, b| a.0.total_cmp(&b.0).then_with(|| b.1.cmp(a.1)));
    match nearest.filter(|(likeness, _)| *likeness > 0.7) {
        Some((_, id)) => format!("There is no note {name:?}. Did you mean {id}?"),
        None => format!("There is no note {name:?}. skill_list shows the notes of one program."),
    }
}
