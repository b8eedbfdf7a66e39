//! Tools that let an agent write skills directly: create, patch, delete, validate. Skill names are ids, never paths.
//! Every write goes through the gateway. Every refusal is both an answer to the model and an event.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use apprentice_protocol::{
    BoundedText, BoxFuture, ChatModel, Clock, EventKind, Prompt, SkillEvent, SkillEventKind, SkillId,
    StepRef, TextBudget, Tool, ToolOutcome, ToolSpec,
};
use apprentice_skillbook::{
    Actor, Applied, Change, Gateway, NewDomain, OpId, Origin, Page, SkillText, WriteMode, WriteRefusal,
    WriteRequest, open_unlocked,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::manage::is_trivial;

/// `skill_create { id, summary, body }`
pub const SKILL_CREATE: &str = "skill_create";
/// `skill_patch { id, old, new, replace_all? }`
pub const SKILL_PATCH: &str = "skill_patch";
/// `skill_delete { id }`
pub const SKILL_DELETE: &str = "skill_delete";
/// `skill_validate { id }`
pub const SKILL_VALIDATE: &str = "skill_validate";

pub(crate) const CREATE: Prompt = Prompt::new("skills/author", include_str!("prompts/author.md"), &[]);
const PATCH: &str =
    "Replaces a passage of a skill's page. `old` must stand there exactly once, unless replace_all is true.";
const DELETE: &str = "Takes a skill out of the book. Its content stays in the history.";
/// Largest total size of a call's texts, in bytes. The tool refuses a longer call before it reads the texts.
const MAX_CALL_BYTES: usize = 64 << 10;
/// Largest refusal text, in characters. A refusal may repeat the request.
const MAX_REFUSAL_CHARS: TextBudget = TextBudget(600);
const VALIDATE: &str = "Says what is wrong or unwise about a skill's page.";

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CreateArguments {
    /// `<program>/<name>`.
    id: String,
    /// One line that says when to look at it.
    #[serde(alias = "description")]
    summary: String,
    /// The page, or the guidance alone.
    body: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PatchArguments {
    /// `<program>/<name>`.
    id: String,
    /// What stands there now.
    old: String,
    /// What should stand there.
    new: String,
    /// Whether every place is meant.
    #[serde(default)]
    replace_all: bool,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct IdArguments {
    /// `<program>/<name>`.
    id: String,
}

#[derive(Clone, Copy)]
enum AuthorAction {
    Create,
    Patch,
    Delete,
    Validate,
}

struct AuthorTool {
    action: AuthorAction,
    spec: ToolSpec,
    folder: PathBuf,
    clock: Arc<dyn Clock>,
    mode: WriteMode,
    readers: Vec<Arc<dyn ChatModel>>,
}

/// Returns the authoring tools for the book in `folder`. Each call opens the book again, so that other writers get
/// their turn.
pub fn author_tools(folder: &Path, clock: &Arc<dyn Clock>, mode: WriteMode) -> Vec<Arc<dyn Tool>> {
    author_tools_with_readers(folder, clock, mode, &[])
}

/// Returns the authoring tools whose texts these models read before they are written.
pub fn author_tools_with_readers(
    folder: &Path,
    clock: &Arc<dyn Clock>,
    mode: WriteMode,
    readers: &[Arc<dyn ChatModel>],
) -> Vec<Arc<dyn Tool>> {
    let tool = |action, spec| -> Arc<dyn Tool> {
        let (folder, clock, readers) = (folder.to_owned(), Arc::clone(clock), readers.to_vec());
        Arc::new(AuthorTool { action, spec, folder, clock, mode, readers })
    };
    vec![
        tool(AuthorAction::Create, spec::<CreateArguments>(SKILL_CREATE, CREATE.text())),
        tool(AuthorAction::Patch, spec::<PatchArguments>(SKILL_PATCH, PATCH)),
        tool(AuthorAction::Delete, spec::<IdArguments>(SKILL_DELETE, DELETE)),
        tool(AuthorAction::Validate, spec::<IdArguments>(SKILL_VALIDATE, VALIDATE)),
    ]
}

fn spec<T: JsonSchema>(name: &str, description: &str) -> ToolSpec {
    let mut schema = schemars::schema_for!(T);
    schema.remove("$schema");
    schema.remove("title");
    ToolSpec { name: name.to_owned(), description: description.to_owned(), schema: schema.to_value() }
}

/// A refusal: a code for programs and a sentence for the model.
type Fault = (String, String);

impl Tool for AuthorTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, arguments: &'a Value, _at: StepRef) -> BoxFuture<'a, ToolOutcome> {
        Box::pin(async move {
            self.answer(arguments).await.unwrap_or_else(|(code, why)| {
                let named = arguments["id"].as_str().and_then(|id| SkillId::parse(id).ok());
                let message =
                    BoundedText::cut(&format!("{code}: {why}"), MAX_REFUSAL_CHARS).as_str().to_owned();
                let refused = event(SkillEventKind::WriteRefused, named, Some(message.clone()));
                ToolOutcome { events: vec![refused], ..ToolOutcome::error(message) }
            })
        })
    }
}

fn read<T: DeserializeOwned>(arguments: &Value) -> Result<T, Fault> {
    let texts =
        arguments.as_object().into_iter().flat_map(|fields| fields.values().filter_map(Value::as_str));
    let bytes = texts.map(str::len).sum::<usize>();
    if bytes > MAX_CALL_BYTES {
        return Err(("too_long".to_owned(), format!("{bytes} bytes; a page has at most {MAX_CALL_BYTES}")));
    }
    apprentice_model_json::from_arguments(arguments)
        .map_err(|error| ("bad_arguments".to_owned(), format!("the arguments do not fit: {error}")))
}

fn event(happening: SkillEventKind, skill: Option<SkillId>, detail: Option<String>) -> EventKind {
    EventKind::Skill(SkillEvent {
        happening,
        skill,
        version: None,
        rank: None,
        detail,
        text: None,
        delivered_chars: 0,
    })
}

fn parse(id: &str) -> Result<SkillId, Fault> {
    SkillId::parse(id).map_err(|error| ("bad_name".to_owned(), error.to_string()))
}

impl AuthorTool {
    async fn answer(&self, arguments: &Value) -> Result<ToolOutcome, Fault> {
        match self.action {
            AuthorAction::Create => {
                let arguments: CreateArguments = read(arguments)?;
                let skill = parse(&arguments.id)?;
                self.create(&skill, arguments, self.open().await?).await
            }
            AuthorAction::Patch => {
                let arguments: PatchArguments = read(arguments)?;
                let skill = parse(&arguments.id)?;
                self.patch(&skill, &arguments, self.open().await?).await
            }
            AuthorAction::Delete => {
                let skill = parse(&read::<IdArguments>(arguments)?.id)?;
                self.delete(skill, self.open().await?).await
            }
            AuthorAction::Validate => {
                let skill = parse(&read::<IdArguments>(arguments)?.id)?;
                validate(&skill, &self.open().await?)
            }
        }
    }

    /// Opens the book. Waits for another writer for a while without blocking the thread.
    async fn open(&self) -> Result<Gateway, Fault> {
        let opened = open_unlocked(&self.folder, self.clock.as_ref(), self.mode).await;
        let mut gateway = opened.map_err(|error| ("unavailable".to_owned(), error.to_string()))?;
        gateway.hold_orders();
        gateway.set_readers(self.readers.clone());
        Ok(gateway)
    }

    async fn write(&self, gateway: &mut Gateway, change: Change, what: &str) -> Result<ToolOutcome, Fault> {
        gateway.read_change(&change).await;
        let skills = change.skills();
        let skill = skills.first().map(|skill| (*skill).clone());
        let version = |id: &SkillId| gateway.state().skills.get(id).map(|skill| skill.version);
        let read: BTreeMap<SkillId, u32> =
            skills.into_iter().filter_map(|id| Some((id.clone(), version(id)?))).collect();
        let request = WriteRequest { read, ..WriteRequest::of(Actor::Agent, self.clock.now(), change) };
        match gateway.apply(request) {
            Ok(Applied::Written(_) | Applied::AlreadyThere(_)) => Ok(written(skill, what)),
            Ok(Applied::Proposed(by)) => {
                let why = gateway.state().proposals.get(&by).map(|proposal| proposal.assessment.in_words());
                Ok(proposed(skill, by, &why.unwrap_or_default()))
            }
            Err(WriteRefusal::Refused { code, why }) => Err((code.to_owned(), why)),
            Err(WriteRefusal::Book(error)) => Err(("unavailable".to_owned(), error.to_string())),
        }
    }

    async fn create(
        &self,
        skill: &SkillId,
        arguments: CreateArguments,
        mut gateway: Gateway,
    ) -> Result<ToolOutcome, Fault> {
        let page = Page::parse(&arguments.body);
        let (situation, guidance, annotations) = match page {
            Ok(page) => (page.situation, page.guidance, page.annotations),
            Err(error) if arguments.body.contains("## ") => {
                return Err(("bad_page".to_owned(), error.to_string()));
            }
            Err(_) => (arguments.summary.clone(), arguments.body.trim().to_owned(), Vec::new()),
        };
        if is_trivial(&guidance) {
            let why = "everybody knows this; only what is not obvious belongs in the book";
            return Err(("basic".to_owned(), why.to_owned()));
        }
        let exists = gateway.state().domains.contains_key(skill.domain());
        let description = format!("Skills on {}.", skill.domain());
        let domain = (!exists).then(|| NewDomain { domain: skill.domain().to_owned(), description });
        let text = SkillText { description: arguments.summary, situation, guidance };
        let change = Change::SkillCreated {
            skill: skill.clone(),
            text,
            annotations,
            origin: Origin::Authored,
            domain,
        };
        self.write(&mut gateway, change, "is written").await
    }

    async fn patch(
        &self,
        skill: &SkillId,
        arguments: &PatchArguments,
        mut gateway: Gateway,
    ) -> Result<ToolOutcome, Fault> {
        let Some(known) = gateway.state().skills.get(skill).cloned() else { return Err(missing(skill)) };
        let page = known.page().render();
        let places = if arguments.old.is_empty() { 0 } else { page.matches(&arguments.old).count() };
        match places {
            0 => {
                return Err(("not_there".to_owned(), format!("{skill} does not hold that passage; view it")));
            }
            1 => {}
            _ if arguments.replace_all => {}
            many => {
                let why = format!("the passage stands {many} times; give more of it, or set replace_all");
                return Err(("ambiguous".to_owned(), why));
            }
        }
        let patched = Page::parse(&page.replace(&arguments.old, &arguments.new))
            .map_err(|error| ("bad_page".to_owned(), error.to_string()))?;
        if patched.annotations != known.page().annotations {
            return Err(("annotations".to_owned(), "notes of earlier reviews are not rewritten".to_owned()));
        }
        let changed = |new: String, old: &str| (new != old).then_some(new);
        let change = Change::SkillUpdated {
            skill: skill.clone(),
            description: None,
            situation: changed(patched.situation, &known.text.situation),
            guidance: changed(patched.guidance, &known.text.guidance),
        };
        self.write(&mut gateway, change, "is changed").await
    }

    async fn delete(&self, skill: SkillId, mut gateway: Gateway) -> Result<ToolOutcome, Fault> {
        self.write(&mut gateway, Change::SkillDeleted { skill }, "is taken out").await
    }
}

fn validate(skill: &SkillId, gateway: &Gateway) -> Result<ToolOutcome, Fault> {
    let Some(known) = gateway.state().skills.get(skill) else { return Err(missing(skill)) };
    let text = &known.text;
    let mut remarks = Vec::new();
    for part in [&text.description, &text.situation, &text.guidance] {
        remarks.extend(gateway.check_text(part).map(|(code, why)| format!("error, {code}: {why}")));
    }
    if !text.guidance.contains(['>', '\n', '+', '"', '`']) {
        remarks.push("warning: the guidance names no menu path, key or label".to_owned());
    }
    if text.guidance.contains("TODO") {
        remarks.push("warning: the guidance holds a note of unfinished work".to_owned());
    }
    let size = text.guidance.chars().count() + text.situation.chars().count();
    if size > 3600 {
        remarks.push(format!("warning: {size} characters are much to read; keep to one situation"));
    }
    let message = if remarks.is_empty() { format!("{skill} is in order.") } else { remarks.join("\n") };
    Ok(ToolOutcome::text(message))
}

fn missing(skill: &SkillId) -> Fault {
    ("unknown_skill".to_owned(), format!("there is no skill {skill}"))
}

fn written(skill: Option<SkillId>, what: &str) -> ToolOutcome {
    let message = skill.as_ref().map(|skill| format!("{skill} {what}.")).unwrap_or_default();
    let event = event(SkillEventKind::Written, skill, Some(what.to_owned()));
    ToolOutcome { events: vec![event], ..ToolOutcome::text(message) }
}

/// Says that a change waits, and what in its text holds it back, so that it can be put otherwise.
fn proposed(skill: Option<SkillId>, by: OpId, why: &str) -> ToolOutcome {
    let why = match why {
        "" => String::new(),
        why => format!(" It waits because of {}.", BoundedText::cut(why, MAX_REFUSAL_CHARS).as_str()),
    };
    let message = skill.as_ref().map(|skill| {
        format!("Your change of {skill} is proposed ({by}); it waits for a person's word, and nothing shows of it yet.{why}")
    });
    let event = event(SkillEventKind::Proposed, skill, Some(by.to_string()));
    ToolOutcome { events: vec![event], ..ToolOutcome::text(message.unwrap_or_default()) }
}
