//! Executes the manager's tools on the book. Enforces reading before writing and one change per item, independently of
//! the prompt.

use std::collections::BTreeMap;

use apprentice_protocol::SkillId;
use serde_json::{Value, json};

use super::tools::{ANNOTATE_SKILL, DELETE_SKILL};
use super::tools::{
    CREATE_DOMAIN, CREATE_SKILL, CreateDomain, CreateSkill, MERGE_SKILLS, MergeSkills, ToolCall,
    UPDATE_SKILL, UpdateSkill,
};
use super::trivial::is_trivial;
use crate::book::{
    Applied, Change, Gateway, NewDomain, OpId, Origin, Skill, SkillText, VersionEvidence, WriteRefusal,
    WriteRequest,
};
use crate::handle::Refusal;
use crate::search::{SimilarSkills, SkillSimilarity};
use crate::words::word_similarity;

const SIMILAR: usize = 8;
/// Similarity from which a new skill would only repeat an existing one.
const DUPLICATE_SIMILARITY: f64 = 0.85;

/// The answer of a tool.
pub(super) enum ToolAnswer {
    /// A normal answer for the model.
    Said(Value),
    /// An error for the model and for the record.
    Refused(Refusal),
    /// The item's single change was written.
    Wrote(OpId, Value),
    /// The item's single change waits for a person's approval.
    Proposed(OpId, Value),
}

/// The manager's tools for one item.
pub(super) struct ManagerTools<'a> {
    gateway: &'a mut Gateway,
    /// Time, actor and cause of the item's change.
    template: WriteRequest,
    scope: PermittedChanges<'a>,
    looked: bool,
    read: BTreeMap<SkillId, u32>,
    opened: Option<PendingDomain>,
    wrote: bool,
}

/// The changes that an item permits.
#[derive(Clone, Copy)]
pub(super) struct PermittedChanges<'a> {
    /// Permitted write tools.
    pub(super) tools: &'a [String],
    /// Permitted existing skills. Empty permits any.
    pub(super) skills: &'a [SkillId],
}

/// A new domain that waits for its first skill.
struct PendingDomain {
    domain: NewDomain,
    /// Whether its skill was refused. The domain then no longer counts as the item's change.
    refused: bool,
}

impl<'a> ManagerTools<'a> {
    pub(super) fn new(gateway: &'a mut Gateway, template: WriteRequest, scope: PermittedChanges<'a>) -> Self {
        Self { gateway, template, scope, looked: false, read: BTreeMap::new(), opened: None, wrote: false }
    }

    /// Executes one call.
    pub(super) async fn call(&mut self, call: ToolCall) -> Result<ToolAnswer, WriteRefusal> {
        match call {
            ToolCall::FetchSimilar(arguments) => {
                self.looked = true;
                return Ok(ToolAnswer::Said(self.similar(&arguments.situation).await));
            }
            ToolCall::Read(arguments) => return Ok(ToolAnswer::Said(self.show(&arguments.skill_ids))),
            ToolCall::CreateDomain(_)
            | ToolCall::Create(_)
            | ToolCall::Update(_)
            | ToolCall::Merge(_)
            | ToolCall::Annotate(_)
            | ToolCall::Delete(_) => {}
        }
        let fulfils = self.opened.as_ref().is_some_and(|opened| opened.awaits(&call));
        let answer = match self.change(call) {
            Ok(None) => ToolAnswer::Said(json!({
                "ok": true,
                "note": "the domain is opened together with the skill that create_skill now puts in it",
            })),
            Ok(Some(change)) => self.write(change)?,
            Err(refusal) => ToolAnswer::Refused(refusal),
        };
        if let (true, ToolAnswer::Refused(_), Some(opened)) = (fulfils, &answer, &mut self.opened) {
            opened.refused = true;
        }
        Ok(answer)
    }

    fn write(&mut self, change: Change) -> Result<ToolAnswer, WriteRefusal> {
        let skill = target(&change).cloned();
        let read = self.read.iter().filter(|(id, _)| names(&change, id));
        let read = read.map(|(id, version)| (id.clone(), *version)).collect();
        match self.gateway.apply(WriteRequest { change, read, ..self.template.clone() }) {
            Ok(Applied::Written(id) | Applied::AlreadyThere(id)) => {
                self.wrote = true;
                let version = skill.as_ref().and_then(|skill| self.gateway.state().skills.get(skill));
                let version = version.map(|skill| skill.version);
                Ok(ToolAnswer::Wrote(id, json!({ "ok": true, "skill_id": skill, "version": version })))
            }
            Ok(Applied::Proposed(id)) => {
                self.wrote = true;
                let note = "a person decides on it; nothing shows of it yet";
                Ok(ToolAnswer::Proposed(
                    id,
                    json!({ "ok": true, "skill_id": skill, "proposed": id, "note": note }),
                ))
            }
            Err(WriteRefusal::Refused { code, why }) => Ok(ToolAnswer::Refused(refusal(skill, code, why))),
            Err(failed @ WriteRefusal::Book(_)) => Err(failed),
        }
    }

    /// Returns the change that a call requests. `None` for a domain, which waits for its first skill.
    fn change(&mut self, call: ToolCall) -> Result<Option<Change>, Refusal> {
        if self.wrote {
            let why = "this item's one change is made; answer in a sentence to finish";
            return Err(refusal(None, "write_budget_exhausted", why));
        }
        self.allow(&call)?;
        if let Some(opened) = self.opened.as_ref().filter(|one| !one.refused && !one.awaits(&call)) {
            let domain = &opened.domain.domain;
            let why = format!(
                "create_domain opened {domain:?} for this item's one change: create a skill in it, or finish"
            );
            return Err(refusal(None, "write_budget_exhausted", why));
        }
        Ok(Some(match call {
            ToolCall::CreateDomain(CreateDomain { domain, description }) => {
                let domain = NewDomain { domain, description };
                let opens = Change::DomainCreated(domain.clone());
                self.gateway
                    .check_change(self.template.actor, &opens)
                    .map_err(|(code, why)| refusal(None, code, why))?;
                self.opened = Some(PendingDomain { domain, refused: false });
                return Ok(None);
            }
            ToolCall::Create(arguments) => self.creation(arguments)?,
            ToolCall::Update(arguments) => {
                let UpdateSkill { skill_id, description, situation, guidance } = arguments;
                let skill = self.subject(&skill_id)?;
                Change::SkillUpdated { skill, description, situation, guidance }
            }
            ToolCall::Merge(arguments) => {
                self.must_look(MERGE_SKILLS)?;
                let MergeSkills { source_skill_id, target_skill_id, description, situation, guidance } =
                    arguments;
                let (source, target) = (self.subject(&source_skill_id)?, self.subject(&target_skill_id)?);
                Change::SkillMerged { source, target, text: SkillText { description, situation, guidance } }
            }
            ToolCall::Annotate(arguments) => {
                let note = arguments.annotation.split_whitespace().collect::<Vec<_>>().join(" ");
                Change::SkillAnnotated { skill: parse(&arguments.skill_id)?, note }
            }
            ToolCall::Delete(arguments) => Change::SkillDeleted { skill: self.subject(&arguments.skill_id)? },
            ToolCall::FetchSimilar(_) | ToolCall::Read(_) => return Ok(None),
        }))
    }

    fn allow(&self, call: &ToolCall) -> Result<(), Refusal> {
        let name = match call {
            ToolCall::CreateDomain(_) => CREATE_DOMAIN,
            ToolCall::Create(_) => CREATE_SKILL,
            ToolCall::Update(_) => UPDATE_SKILL,
            ToolCall::Merge(_) => MERGE_SKILLS,
            ToolCall::Annotate(_) => ANNOTATE_SKILL,
            ToolCall::Delete(_) => DELETE_SKILL,
            ToolCall::FetchSimilar(_) | ToolCall::Read(_) => return Ok(()),
        };
        let tools = self.scope.tools;
        if tools.iter().any(|allowed| allowed == name) {
            return Ok(());
        }
        let allowed = if tools.is_empty() { "nothing".to_owned() } else { tools.join(", ") };
        Err(refusal(
            None,
            "not_supported_enough",
            format!("this item does not support {name}; it allows {allowed}, or no change"),
        ))
    }

    fn creation(&mut self, arguments: CreateSkill) -> Result<Change, Refusal> {
        self.must_look(CREATE_SKILL)?;
        let CreateSkill { domain, skill_name, description, situation, guidance } = arguments;
        let skill = parse(&format!("{domain}/{skill_name}"))?;
        if is_trivial(&guidance) {
            let why = "everybody knows this; only what is not obvious belongs in the book";
            return Err(refusal(Some(skill), "basic", why));
        }
        let text = format!("{description} {situation} {guidance}");
        let twin = self.gateway.state().skills.values().find(|known| {
            let SkillText { description, situation, guidance } = &known.text;
            known.id.domain() == domain
                && word_similarity(&format!("{description} {situation} {guidance}"), &text)
                    >= DUPLICATE_SIMILARITY
        });
        if let Some(twin) = twin {
            let why = format!("{} says the same; read it, and update it if this adds something", twin.id);
            return Err(refusal(Some(skill), "duplicate", why));
        }
        Ok(Change::SkillCreated {
            skill,
            text: SkillText { description, situation, guidance },
            annotations: Vec::new(),
            origin: Origin::Learned,
            domain: self.opened.as_ref().map(|one| &one.domain).filter(|one| one.domain == domain).cloned(),
        })
    }

    fn must_look(&self, tool: &str) -> Result<(), Refusal> {
        if self.looked {
            return Ok(());
        }
        Err(refusal(None, "look_first", format!("call fetch_similar_skills before {tool}")))
    }

    /// Returns a skill that belongs to the item and that the manager has read.
    fn subject(&self, id: &str) -> Result<SkillId, Refusal> {
        let skill = parse(id)?;
        let about = self.scope.skills;
        if !about.is_empty() && !about.contains(&skill) {
            let about = about.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ");
            let why =
                format!("this item is about {about}; it says nothing that {skill} could be changed for");
            return Err(refusal(Some(skill), "not_supported_enough", why));
        }
        if self.read.contains_key(&skill) || !self.gateway.state().skills.contains_key(&skill) {
            return Ok(skill);
        }
        let why = format!("call read_skills for {skill} before changing it");
        Err(refusal(Some(skill), "read_first", why))
    }

    async fn similar(&self, situation: &str) -> Value {
        let book = self.gateway.snapshot();
        let SimilarSkills { skills, embedding_error } = book.similar_skills(situation, SIMILAR).await;
        let rounded = |likeness: f64| (likeness * 100.0).round() / 100.0;
        let shown = |one: &SkillSimilarity<'_>| {
            let mut shown = json!({
                "skill_id": one.skill.id,
                "description": one.skill.text.description,
                "situation": one.skill.text.situation,
                "similarity": rounded(one.words),
            });
            if let Some(meaning) = one.meaning {
                shown["similarity_of_meaning"] = json!(rounded(meaning));
            }
            shown
        };
        let mut answer = json!({ "skills": skills.iter().map(shown).collect::<Vec<_>>() });
        if let Some(why) = embedding_error {
            answer["note"] = json!(format!("compared by words alone: {why}"));
        }
        answer
    }

    fn show(&mut self, ids: &[String]) -> Value {
        let mut skills = Vec::new();
        let mut missing = Vec::new();
        for id in ids.iter().take(SIMILAR) {
            let skill = SkillId::parse(id).ok().and_then(|id| self.gateway.state().resolve(&id).cloned());
            let Some(skill) = skill else {
                missing.push(id.clone());
                continue;
            };
            self.read.insert(skill.id.clone(), skill.version);
            skills.push(shown(&skill));
        }
        json!({ "skills": skills, "missing": missing })
    }
}

impl PendingDomain {
    /// Returns whether a call creates the skill that the domain waits for.
    fn awaits(&self, call: &ToolCall) -> bool {
        matches!(call, ToolCall::Create(creation) if creation.domain == self.domain.domain)
    }
}

fn shown(skill: &Skill) -> Value {
    let counts = |consumer: &str| json!(skill.counts(Some(consumer)));
    let consumers: BTreeMap<&str, Value> = skill
        .counters
        .keys()
        .filter(|(version, _)| *version == skill.version)
        .map(|(_, consumer)| (consumer.as_str(), counts(consumer)))
        .collect();
    let mut shown = json!({
        "skill_id": skill.id,
        "version": skill.version,
        "description": skill.text.description,
        "situation": skill.text.situation,
        "guidance": skill.text.guidance,
        "annotations": skill.page().annotations,
        "metrics": { "all": skill.counts(None), "by_consumer": consumers },
        "helped": skill.remarks.iter().rev().filter_map(helped).take(3).collect::<Vec<_>>(),
    });
    let seen = |one: &VersionEvidence| format!("{} {}", one.app, one.app_version);
    let seen_on: Vec<String> = skill.confirmed_versions().into_iter().map(seen).collect();
    if !seen_on.is_empty() {
        shown["seen_on"] = json!(seen_on);
    }
    shown
}

fn helped(remark: &crate::book::ReviewRemark) -> Option<&str> {
    match &remark.review {
        crate::reflect::SkillReview::Positive(review) => Some(&review.what_helped),
        crate::reflect::SkillReview::Negative(_)
        | crate::reflect::SkillReview::Neutral(_)
        | crate::reflect::SkillReview::NotFollowed(_) => None,
    }
}

fn parse(id: &str) -> Result<SkillId, Refusal> {
    SkillId::parse(id).map_err(|error| refusal(None, "bad_name", error.to_string()))
}

fn refusal(skill: Option<SkillId>, code: &str, why: impl Into<String>) -> Refusal {
    Refusal { skill, code: code.to_owned(), why: why.into() }
}

fn target(change: &Change) -> Option<&SkillId> {
    match change {
        Change::SkillCreated { skill, .. }
        | Change::SkillUpdated { skill, .. }
        | Change::SkillAnnotated { skill, .. }
        | Change::SkillDeleted { skill }
        | Change::SkillMerged { target: skill, .. } => Some(skill),
        _ => None,
    }
}

fn names(change: &Change, id: &SkillId) -> bool {
    matches!(change, Change::SkillMerged { source, .. } if source == id) || target(change) == Some(id)
}
