//! Tools that skills bring: available only while their skill is active. Activation belongs to one arm guidance, so that
//! agents cannot open tools for each other.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use apprentice_protocol::{
    BoundedText, BoxFuture, EventKind, SkillEvent, SkillEventKind, SkillId, StepRef, TextBudget, TextMark,
    Tool, ToolOutcome, ToolSpec,
};
use apprentice_skillbook::{Skill, Snapshot};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::tool_text;
use crate::reading::event::happened;
use crate::reading::tools::{find, read, spec, unknown, viewed};

/// `skill_activate { skill }`: makes a skill's tools available and shows its text.
pub const SKILL_ACTIVATE: &str = "skill_activate";
/// `skill_offload { skill }`: makes them unavailable again.
pub const SKILL_OFFLOAD: &str = "skill_offload";
/// `skill_tool { skill, tool, arguments }`: calls one of them.
pub const SKILL_TOOL: &str = "skill_tool";

/// Largest answer to one activation, in characters.
const ACTIVATION_BUDGET: TextBudget = TextBudget(16_000);
/// Replaces the text of a skill that was put away, once the conversation is full.
const SKILL_LEFT_OUT: &str = "[the text of a skill that was put away, left out]";

/// Returns a text whose tools are described as far as what stands before and after them leaves room.
fn around_tools(tools: &[Arc<dyn Tool>], [before, after]: [String; 2], budget: TextBudget) -> String {
    let rest = before.chars().count() + after.chars().count() + tool_text::frame();
    let room = budget.0.saturating_sub(rest);
    let text = format!("{before}{}{after}", tool_text::described(tools, room));
    BoundedText::cut(&text, budget).as_str().to_owned()
}

/// The limit that a skill's tool list sets to tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Gating {
    /// A server that no skill names is available to every active skill.
    #[default]
    Additive,
    /// A skill gets only the tools that it names.
    Strict,
}

/// Tool servers. A server is queried when an active skill needs its tools, so an unused server never starts.
pub trait ToolServers: Send + Sync {
    /// Returns the names of the servers.
    fn names(&self) -> Vec<String>;
    /// Returns the tools of one server, or the reason why there are none.
    fn tools<'a>(&'a self, server: &'a str) -> BoxFuture<'a, Result<Vec<Arc<dyn Tool>>, String>>;
}

/// Tools that already exist, by server.
impl ToolServers for BTreeMap<String, Vec<Arc<dyn Tool>>> {
    fn names(&self) -> Vec<String> {
        self.keys().cloned().collect()
    }

    fn tools<'a>(&'a self, server: &'a str) -> BoxFuture<'a, Result<Vec<Arc<dyn Tool>>, String>> {
        let tools = self.get(server).cloned().ok_or_else(|| "there is no such server".to_owned());
        Box::pin(std::future::ready(tools))
    }
}

/// The names and format in which skills with tools are presented.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolFormat {
    /// This program's format: notes are listed, searched and viewed, and some bring tools.
    #[default]
    Own,
    /// The source design's format: one block lists every skill, and a skill is activated to be read.
    Seed,
}

/// Tools contributed by others. They do not include the agent's own actions, which are always available.
#[derive(Clone, Default)]
pub struct ContributedTools {
    /// The tool servers.
    pub servers: Option<Arc<dyn ToolServers>>,
    /// The interpretation of tool lists.
    pub gating: Gating,
    /// Names of tools that must never be called, whatever a skill lists.
    pub denied: BTreeSet<String>,
    /// The presentation format.
    pub dialect: ToolFormat,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SkillArguments {
    /// The note's name, `domain/name`.
    #[serde(alias = "id", alias = "skill_id")]
    skill: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ToolArguments {
    /// The active note that brings the tool.
    skill: String,
    /// The tool's name.
    tool: String,
    /// Its arguments.
    #[serde(default)]
    arguments: Value,
}

/// Arguments of the activation tools in the source design's format.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NameArguments {
    /// The skill's id, as listed.
    skill_name: String,
}

/// Arguments of a tool call in the source design's format.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CallArguments {
    /// The tool's name, as the guide of an active skill gives it.
    tool: String,
    /// Its arguments.
    #[serde(default)]
    arguments: Value,
}

#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Activate,
    Offload,
    Call,
    SeedActivate,
    SeedOffload,
    SeedCall,
}

/// The activation state of one trial.
pub(crate) struct ActivationState {
    book: Snapshot,
    contributed: ContributedTools,
    active: Mutex<BTreeSet<SkillId>>,
}

pub(crate) struct ActivationTool {
    pub(crate) kind: Kind,
    pub(crate) spec: ToolSpec,
    pub(crate) state: Arc<ActivationState>,
}

/// Returns the skills that bring tools.
pub(crate) fn skills_with_tools(book: &Snapshot) -> impl Iterator<Item = &Skill> {
    book.skills().filter(|skill| skill.package.as_ref().is_some_and(|package| !package.tools.is_empty()))
}

/// Returns the three activation tools, or an empty list if no skill brings tools.
pub(crate) fn over(book: &Snapshot, contributed: &ContributedTools) -> Vec<Arc<dyn Tool>> {
    if skills_with_tools(book).next().is_none() {
        return Vec::new();
    }
    let state = Arc::new(ActivationState::over(book, contributed));
    let tool =
        |kind, spec| -> Arc<dyn Tool> { Arc::new(ActivationTool { kind, spec, state: Arc::clone(&state) }) };
    vec![
        tool(
            Kind::Activate,
            spec::<SkillArguments>(SKILL_ACTIVATE, "Opens the tools that a note brings, and shows the note."),
        ),
        tool(Kind::Offload, spec::<SkillArguments>(SKILL_OFFLOAD, "Closes the tools that a note brings.")),
        tool(Kind::Call, spec::<ToolArguments>(SKILL_TOOL, "Calls a tool of an active note.")),
    ]
}

impl Tool for ActivationTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, arguments: &'a Value, at: StepRef) -> BoxFuture<'a, ToolOutcome> {
        let wrong = |why: serde_json::Error| {
            ToolOutcome::error(format!("the arguments of {} do not fit: {why}", self.spec.name))
        };
        match self.kind {
            Kind::Activate => match read::<SkillArguments>(arguments) {
                Ok(one) => Box::pin(async move { self.state.activate(&one.skill).await }),
                Err(why) => Box::pin(std::future::ready(wrong(why))),
            },
            Kind::Offload => {
                let outcome =
                    read::<SkillArguments>(arguments).map(|arguments| self.state.offload(&arguments.skill));
                Box::pin(std::future::ready(outcome.unwrap_or_else(wrong)))
            }
            Kind::Call => match read::<ToolArguments>(arguments) {
                Ok(call) => Box::pin(async move {
                    match self.state.open(&call).await {
                        Ok(tool) => tool_text::answered(&call.tool, tool.call(&call.arguments, at).await),
                        Err(why) => ToolOutcome::error(why),
                    }
                }),
                Err(why) => Box::pin(std::future::ready(wrong(why))),
            },
            Kind::SeedActivate => match read::<NameArguments>(arguments) {
                Ok(one) => Box::pin(async move { self.state.seed_activate(&one.skill_name).await }),
                Err(why) => Box::pin(std::future::ready(wrong(why))),
            },
            Kind::SeedOffload => {
                let outcome = read(arguments)
                    .map(|arguments: NameArguments| self.state.seed_offload(&arguments.skill_name));
                Box::pin(std::future::ready(outcome.unwrap_or_else(wrong)))
            }
            Kind::SeedCall => match read::<CallArguments>(arguments) {
                Ok(call) => Box::pin(async move {
                    match self.state.open_any(&call.tool).await {
                        Ok(tool) => tool_text::answered(&call.tool, tool.call(&call.arguments, at).await),
                        Err(why) => ToolOutcome::error(why),
                    }
                }),
                Err(why) => Box::pin(std::future::ready(wrong(why))),
            },
        }
    }
}

/// Says which tools of an activated skill are not there, and why.
fn not_had(tools: &[Arc<dyn Tool>], missing: &[String]) -> String {
    let mut text: String = missing.iter().map(|why| format!("Not to be had: {why}.\n")).collect();
    if tools.is_empty() {
        text.push_str("None of its tools can be reached here.\n");
    }
    text
}

/// The marks of a result that holds the text of a skill that is active from now on.
fn pinned(skill: &SkillId) -> Vec<TextMark> {
    vec![TextMark::Holds(skill.to_string()), TextMark::Pins(skill.to_string())]
}

/// The mark of a result that closes a skill.
fn released(skill: &SkillId) -> Vec<TextMark> {
    vec![TextMark::Releases { key: skill.to_string(), left_out: SKILL_LEFT_OUT }]
}

impl ActivationState {
    /// Returns the initial activation state.
    pub(crate) fn over(book: &Snapshot, contributed: &ContributedTools) -> Self {
        let from_start = skills_with_tools(book)
            .filter(|skill| skill.package.as_ref().is_some_and(|package| package.active));
        let active = Mutex::new(from_start.map(|skill| skill.id.clone()).collect());
        Self { book: book.clone(), contributed: contributed.clone(), active }
    }

    async fn activate(&self, name: &str) -> ToolOutcome {
        let Some(skill) = find(&self.book, name.trim()) else {
            return ToolOutcome::error(unknown(&self.book, name));
        };
        let (news, now) = {
            let mut active = self.active();
            (active.insert(skill.id.clone()), listed(&active))
        };
        if !news {
            return ToolOutcome::text(format!("{} is already active. {now}", skill.id));
        }
        let view = viewed(&self.book, skill);
        let (tools, missing) = self.tools_of(skill).await;
        let parts = [format!("{now}\n\n{}\n", view.0), not_had(&tools, &missing)];
        let text = around_tools(&tools, parts, ACTIVATION_BUDGET);
        let activated = SkillEvent {
            skill: Some(skill.id.clone()),
            version: Some(skill.version),
            detail: (!missing.is_empty()).then(|| missing.join("; ")),
            ..happened(SkillEventKind::Activated, "")
        };
        ToolOutcome {
            events: vec![EventKind::Skill(view.1), EventKind::Skill(activated)],
            marks: pinned(&skill.id),
            ..ToolOutcome::text(text)
        }
    }

    fn offload(&self, name: &str) -> ToolOutcome {
        let named = find(&self.book, name.trim()).map(|skill| skill.id.clone());
        let mut active = self.active();
        let Some(id) = named.filter(|id| active.remove(id)) else {
            return ToolOutcome::error(format!("{name} is not active. {}", listed(&active)));
        };
        let event = SkillEvent { skill: Some(id.clone()), ..happened(SkillEventKind::Offloaded, "") };
        let text = format!("{id} is closed; its tools can no longer be called. {}", listed(&active));
        ToolOutcome { events: vec![EventKind::Skill(event)], marks: released(&id), ..ToolOutcome::text(text) }
    }

    async fn seed_activate(&self, name: &str) -> ToolOutcome {
        let Some(skill) = find(&self.book, name.trim()) else {
            return ToolOutcome::error("skill not found");
        };
        let (news, current) = {
            let mut active = self.active();
            (active.insert(skill.id.clone()), quoted(&active))
        };
        if !news {
            return ToolOutcome::text(format!(
                "skill {} is already active, current skills: {current}",
                skill.id
            ));
        }
        let (guide, viewed) = viewed(&self.book, skill);
        let (tools, missing) = self.tools_of(skill).await;
        let head = format!("skill {} activated, current skills: {current}\n\n<skill_guide>{guide}", skill.id);
        let end = "</skill_guide>";
        let room = TextBudget(ACTIVATION_BUDGET.0 - end.len());
        let text = format!("{}{end}", around_tools(&tools, [head, not_had(&tools, &missing)], room));
        let activated = SkillEvent {
            skill: Some(skill.id.clone()),
            version: Some(skill.version),
            detail: (!missing.is_empty()).then(|| missing.join("; ")),
            ..happened(SkillEventKind::Activated, "")
        };
        ToolOutcome {
            events: vec![EventKind::Skill(viewed), EventKind::Skill(activated)],
            marks: pinned(&skill.id),
            ..ToolOutcome::text(text)
        }
    }

    fn seed_offload(&self, name: &str) -> ToolOutcome {
        let named = find(&self.book, name.trim()).map(|skill| skill.id.clone());
        let mut active = self.active();
        let Some(id) = named.filter(|id| active.remove(id)) else {
            let name = name.trim();
            return ToolOutcome::error(format!(
                "skill {name} not found, current skills: {}",
                quoted(&active)
            ));
        };
        let event = SkillEvent { skill: Some(id.clone()), ..happened(SkillEventKind::Offloaded, "") };
        let text = format!("skill {id} offloaded, current skills: {}", quoted(&active));
        ToolOutcome { events: vec![EventKind::Skill(event)], marks: released(&id), ..ToolOutcome::text(text) }
    }

    /// Returns a tool that some active skill brings.
    async fn open_any(&self, tool: &str) -> Result<Arc<dyn Tool>, String> {
        let active: Vec<SkillId> = self.active().iter().cloned().collect();
        let mut names = BTreeSet::new();
        for skill in active.iter().filter_map(|id| self.book.skill(id)) {
            let (tools, _) = self.tools_of(skill).await;
            if let Some(found) = tools.iter().find(|candidate| candidate.spec().name == tool) {
                return Ok(Arc::clone(found));
            }
            names.extend(tools.iter().map(|tool| tool.spec().name.clone()));
        }
        let current = quoted(&self.active());
        let names = if names.is_empty() {
            "none".to_owned()
        } else {
            names.into_iter().collect::<Vec<_>>().join(", ")
        };
        Err(format!(
            "no active skill brings the tool {tool:?}, current skills: {current}; their tools: {names}"
        ))
    }

    /// Locks the set of active skills. The guard must not be held across an await.
    fn active(&self) -> MutexGuard<'_, BTreeSet<SkillId>> {
        self.active.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the tool of a call if its skill is active and brings it.
    async fn open(&self, call: &ToolArguments) -> Result<Arc<dyn Tool>, String> {
        let skill = find(&self.book, call.skill.trim()).ok_or_else(|| unknown(&self.book, &call.skill))?;
        let closed = {
            let active = self.active();
            (!active.contains(&skill.id)).then(|| listed(&active))
        };
        if let Some(now) = closed {
            return Err(format!("{} is not active; call {SKILL_ACTIVATE} first. {now}", skill.id));
        }
        let (tools, missing) = self.tools_of(skill).await;
        let names: Vec<&str> = tools.iter().map(|tool| tool.spec().name.as_str()).collect();
        let mut why = format!("{} brings no tool {:?}; it brings: {}", skill.id, call.tool, names.join(", "));
        for missing in missing {
            let _ = write!(why, ". Not to be had: {missing}");
        }
        tools.iter().find(|tool| tool.spec().name == call.tool).cloned().ok_or(why)
    }

    /// Returns the tools of a skill: those it names, or all of a server if its list is empty. Also returns the reasons
    /// for missing tools.
    async fn tools_of(&self, skill: &Skill) -> (Vec<Arc<dyn Tool>>, Vec<String>) {
        let Some(package) = &skill.package else { return Default::default() };
        let names = self.contributed.servers.as_ref().map_or_else(Vec::new, |servers| servers.names());
        let absent = package.tools.keys().filter(|server| !names.contains(server));
        let mut missing: Vec<String> =
            absent.map(|server| format!("the server {server}: it is not set up here")).collect();
        let Some(servers) = &self.contributed.servers else { return (Vec::new(), missing) };
        let claimed: BTreeSet<&String> = skills_with_tools(&self.book)
            .filter_map(|skill| skill.package.as_ref())
            .flat_map(|package| package.tools.keys())
            .collect();
        let mut found = Vec::new();
        for server in names {
            let all: &[String] = &[];
            let list = match package.tools.get(&server) {
                Some(list) => list.as_slice(),
                None if self.contributed.gating == Gating::Additive && !claimed.contains(&server) => all,
                None => continue,
            };
            match servers.tools(&server).await {
                Ok(tools) => {
                    let allowed = tools.into_iter().filter(|tool| {
                        let name = &tool.spec().name;
                        (list.is_empty() || list.contains(name)) && !self.contributed.denied.contains(name)
                    });
                    for tool in allowed {
                        let name = &tool.spec().name;
                        let taken = found.iter().any(|other: &Arc<dyn Tool>| other.spec().name == *name);
                        if taken {
                            missing.push(format!("{name} of {server}: another server has the name"));
                        } else {
                            found.push(tool);
                        }
                    }
                }
                Err(why) => missing.push(format!("the server {server}: {why}")),
            }
        }
        (found, missing)
    }
}

fn quoted(active: &BTreeSet<SkillId>) -> String {
    let names: Vec<String> = active.iter().map(|id| format!("'{id}'")).collect();
    format!("[{}]", names.join(", "))
}

fn listed(active: &BTreeSet<SkillId>) -> String {
    if active.is_empty() {
        "Nothing is active.".to_owned()
    } else {
        let names: Vec<&str> = active.iter().map(SkillId::as_str).collect();
        format!("Active: {}.", names.join(", "))
    }
}
