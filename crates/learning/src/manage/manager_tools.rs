//! Executes the manager's tools on the book. Enforces reading before writing, citations, and one change per item,
//! independently of the prompt.

use std::collections::{BTreeMap, BTreeSet};

use apprentice_protocol::{SkillId, Trajectory};
use apprentice_screening::effect::{Concern, concerns_about_report};
use apprentice_skillbook::{
    Applied, Cause, Change, Citation, Gateway, LeftItem, NewDomain, OpId, Origin, SentenceOrigin,
    SimilarSkills, SkillSimilarity, SkillText, WriteRefusal, WriteRequest, held_back_cause, prose_of,
};
use apprentice_wording::word_similarity;
use serde_json::{Value, json};

use super::change_parts::{cited_ids, left, names, not_seen, parse, refusal, target, tool_of};
use super::citation_check::{UNJUDGED, harm_shown, no_conflict, read_citation, supported};
use super::item::{InputType, ManageItem};
use super::kept_lines::missing_line;
use super::pending_domain::PendingDomain;
use super::read_reports::read_reports;
use super::skill_view::shown;
use super::tools::{
    ANNOTATE_SKILL, AnnotateSkill, CREATE_DOMAIN, CREATE_SKILL, CreateDomain, CreateSkill, DELETE_SKILL,
    DeleteSkill, LEAVE_ITEM, LeaveItem, MERGE_SKILLS, MergeSkills, ToolCall, UPDATE_SKILL, UpdateSkill,
};
use super::trivial::is_trivial;
use super::waiting_pages::{must_not_wait, tell_waiting_pages};
use super::work_item::WorkItem;
use crate::apply_reviews::Refusal;
use crate::sentence_origins::sentence_origins;

/// Largest number of skills that one call shows.
const MAX_SIMILAR_SKILLS: usize = 8;
/// Largest length of a reason for leaving an item, in characters.
const MAX_REASON_CHARS: usize = 300;
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
    /// The item was left without a change, for this reason.
    Left(LeftItem),
}

/// The manager's tools for one item.
pub(super) struct ManagerTools<'a> {
    gateway: &'a mut Gateway,
    /// Time, actor and cause of the item's change.
    template: WriteRequest,
    scope: PermittedChanges<'a>,
    /// Reports that the manager has cited as conflicting with a change.
    conflicts: BTreeSet<OpId>,
    looked: bool,
    read: BTreeMap<SkillId, u32>,
    opened: Option<PendingDomain>,
    wrote: bool,
    /// The change that was held back for its effects, as it was meant. Unless the manager puts it otherwise or leaves the
    /// item, it waits for a person.
    meant: Option<(&'static str, WriteRequest)>,
}

/// A proposal, the tool that made it, and the skill concerned.
pub(super) type ProposedChange = (OpId, &'static str, Option<SkillId>);

/// The changes that an item permits.
pub(super) struct PermittedChanges<'a> {
    /// The item, with the permitted write tools and the reports that may be cited. A report that is read takes the place of
    /// the one that was cut.
    pub(super) item: ManageItem,
    /// The item to decide.
    pub(super) work_item: &'a WorkItem<'a>,
    /// Permitted existing skills. Empty permits any.
    pub(super) skills: &'a [SkillId],
    /// The attempt, with which the sentences of a text are compared. `None` for a cleanup.
    pub(super) attempt: Option<&'a Trajectory>,
}

impl<'a> ManagerTools<'a> {
    pub(super) fn new(gateway: &'a mut Gateway, template: WriteRequest, scope: PermittedChanges<'a>) -> Self {
        let (conflicts, read) = (BTreeSet::new(), BTreeMap::new());
        Self {
            gateway,
            template,
            scope,
            conflicts,
            looked: false,
            read,
            opened: None,
            wrote: false,
            meant: None,
        }
    }

    /// Executes one call.
    pub(super) async fn call(&mut self, call: ToolCall) -> Result<ToolAnswer, WriteRefusal> {
        match call {
            ToolCall::FetchSimilar(arguments) => {
                self.looked = true;
                return Ok(ToolAnswer::Said(self.similar(&arguments.situation).await));
            }
            ToolCall::Read(arguments) => return Ok(ToolAnswer::Said(self.show(&arguments.skill_ids))),
            ToolCall::ReadReports(arguments) => {
                return Ok(ToolAnswer::Said(read_reports(&mut self.scope.item, &arguments.report_ids)));
            }
            ToolCall::CreateDomain(_)
            | ToolCall::Create(_)
            | ToolCall::Update(_)
            | ToolCall::Merge(_)
            | ToolCall::Annotate(_)
            | ToolCall::Delete(_)
            | ToolCall::Leave(_) => {}
        }
        let fulfils = self.opened.as_ref().is_some_and(|opened| opened.awaits(&call));
        let citation = read_citation(&self.scope.item, cited_ids(&call)).unwrap_or_default();
        let answer = match self.change(call) {
            Ok(None) => ToolAnswer::Said(json!({
                "ok": true,
                "note": "the domain is opened together with the skill that create_skill now puts in it",
            })),
            Ok(Some((change, citation))) => self.write(change, citation).await?,
            Err(refusal) => {
                if refusal.code == UNJUDGED {
                    self.note_suspicion(citation.agrees_with, &refusal.why)?;
                }
                ToolAnswer::Refused(refusal)
            }
        };
        if let (true, ToolAnswer::Refused(_), Some(opened)) = (fulfils, &answer, &mut self.opened) {
            opened.refused = true;
        }
        Ok(answer)
    }

    /// Notes in the log, once per item, that a suspicion was not lifted because no attempt behind it is known to have
    /// passed.
    fn note_suspicion(&mut self, cited: Vec<OpId>, why: &str) -> Result<(), WriteRefusal> {
        let cause = self.template.cause.clone();
        let cause = cause.map(|cause| Cause { item: format!("{}:unjudged", cause.item), ..cause });
        let change = Change::SuspicionKept { cited, why: why.to_owned() };
        let request = WriteRequest::of(self.template.actor, self.template.time, change);
        self.gateway.apply(WriteRequest { cause, ..request }).map(|_| ())
    }

    /// Notes in the log that a text about this item was held back. Of a cleanup, which no report is behind, nothing is
    /// noted.
    fn note_held_back(&mut self, found: Vec<Concern>) -> Result<(), WriteRefusal> {
        if found.is_empty() || self.scope.item.input_type == InputType::CleanupTask {
            return Ok(());
        }
        let cause = self.template.cause.clone().map(held_back_cause);
        let change = Change::ItemHeldBack { found };
        let request = WriteRequest::of(self.template.actor, self.template.time, change);
        self.gateway.apply(WriteRequest { cause, ..request }).map(|_| ())
    }

    /// Writes a change. One that would make an agent do harm is held back once, with its words, so that the manager can put
    /// it otherwise.
    async fn write(&mut self, change: Change, citation: Citation) -> Result<ToolAnswer, WriteRefusal> {
        let skill = target(&change).cloned();
        let left = left(&change).cloned();
        let read = self.read.iter().filter(|(id, _)| names(&change, id));
        let read = read.map(|(id, version)| (id.clone(), *version)).collect();
        let origins = self.origins(&change);
        let citation = Citation { origins, ..citation };
        let request = WriteRequest { change, read, citation, ..self.template.clone() };
        self.gateway.read_change(&request.change).await;
        let assessment = self.gateway.assess(&request);
        if !assessment.is_empty() && self.meant.is_none() {
            let why = format!(
                "following this text would do more than its task, or the text cannot be judged: {}. Put it otherwise, as \
                 the way through the program, or leave it out. The next text that still would waits for a person, and this \
                 item is closed with it",
                assessment.in_words()
            );
            self.meant = Some((tool_of(&request.change), request));
            self.note_held_back(concerns_about_report(&assessment))?;
            return Ok(ToolAnswer::Refused(refusal(skill, "effects", why)));
        }
        let not_seen = not_seen(&request);
        match self.gateway.apply(request) {
            Ok(Applied::Written(id) | Applied::AlreadyThere(id)) => {
                self.wrote = true;
                if let Some(left) = left {
                    return Ok(ToolAnswer::Left(left));
                }
                let version = skill.as_ref().and_then(|skill| self.gateway.state().skills.get(skill));
                let version = version.map(|skill| skill.version);
                let mut answer = json!({ "ok": true, "skill_id": skill, "version": version });
                if !not_seen.is_empty() {
                    answer["not_seen"] = json!(not_seen);
                }
                Ok(ToolAnswer::Wrote(id, answer))
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

    /// Proposes the change that was held back and never put otherwise, so that it is not lost.
    pub(super) fn propose_meant(&mut self) -> Result<Option<ProposedChange>, WriteRefusal> {
        let Some((tool, request)) = self.meant.take().filter(|_| !self.wrote) else { return Ok(None) };
        let skill = target(&request.change).cloned();
        match self.gateway.apply(request) {
            Ok(Applied::Proposed(id)) => Ok(Some((id, tool, skill))),
            Ok(Applied::Written(_) | Applied::AlreadyThere(_)) | Err(WriteRefusal::Refused { .. }) => {
                Ok(None)
            }
            Err(failed @ WriteRefusal::Book(_)) => Err(failed),
        }
    }

    /// Returns where the new sentences of a change come from.
    fn origins(&self, change: &Change) -> Vec<SentenceOrigin> {
        let texts: Vec<&str> = match change {
            Change::SkillCreated { text, .. } | Change::SkillMerged { text, .. } => {
                vec![&text.description, &text.situation, &text.guidance]
            }
            Change::SkillUpdated { description, situation, guidance, .. } => {
                [description, situation, guidance].into_iter().flatten().map(String::as_str).collect()
            }
            Change::SkillAnnotated { note, .. } => vec![note],
            _ => return Vec::new(),
        };
        let pages = change.skills().into_iter().filter_map(|id| self.gateway.state().skills.get(id));
        let pages: String = pages.map(|skill| format!("{}\n", skill.page().render())).collect();
        let mut origins = sentence_origins(&texts, self.scope.attempt, &self.scope.item.evidence_refs);
        origins.retain(|origin| !pages.contains(&origin.sentence));
        origins
    }

    /// Returns the change that a call requests. `None` for a domain, which waits for its first skill.
    fn change(&mut self, call: ToolCall) -> Result<Option<(Change, Citation)>, Refusal> {
        if self.wrote {
            let why = "this item's one change is made; answer in a sentence to finish";
            return Err(refusal(None, "write_budget_exhausted", why));
        }
        self.allow(&call)?;
        let leaves = matches!(call, ToolCall::Leave(_));
        let other = |pending: &&PendingDomain| !leaves && !pending.refused && !pending.awaits(&call);
        if let Some(opened) = self.opened.as_ref().filter(other) {
            let domain = &opened.domain.domain;
            let why = format!(
                "create_domain opened {domain:?} for this item's one change: create a skill in it, or finish"
            );
            return Err(refusal(None, "write_budget_exhausted", why));
        }
        if let ToolCall::CreateDomain(CreateDomain { domain, description }) = call {
            let domain = NewDomain { domain, description };
            let opens = Change::DomainCreated(domain.clone());
            self.gateway
                .check_change(self.template.actor, &opens)
                .map_err(|(code, why)| refusal(None, code, why))?;
            self.opened = Some(PendingDomain { domain, refused: false });
            return Ok(None);
        }
        let citation = read_citation(&self.scope.item, cited_ids(&call))
            .map_err(|(code, why)| refusal(None, code, why))?;
        let Some(change) = self.requested(call)? else { return Ok(None) };
        let change = super::short_steps::completed(change, self.gateway.state(), self.scope.attempt)?;
        self.must_agree(&change, &citation)?;
        Ok(Some((change, citation)))
    }

    /// Returns the change that a call describes. `None` for a call that describes none.
    fn requested(&self, call: ToolCall) -> Result<Option<Change>, Refusal> {
        Ok(Some(match call {
            ToolCall::Create(arguments) => self.creation(arguments)?,
            ToolCall::Update(UpdateSkill { skill_id, description, situation, guidance, .. }) => {
                Change::SkillUpdated { skill: self.subject(&skill_id)?, description, situation, guidance }
            }
            ToolCall::Merge(arguments) => {
                self.must_look(MERGE_SKILLS)?;
                let MergeSkills {
                    source_skill_id, target_skill_id, description, situation, guidance, ..
                } = arguments;
                let (source, target) = (self.subject(&source_skill_id)?, self.subject(&target_skill_id)?);
                Change::SkillMerged { source, target, text: SkillText { description, situation, guidance } }
            }
            ToolCall::Annotate(AnnotateSkill { skill_id, annotation, .. }) => {
                let note = annotation.split_whitespace().collect::<Vec<_>>().join(" ");
                Change::SkillAnnotated { skill: parse(&skill_id)?, note }
            }
            ToolCall::Delete(DeleteSkill { skill_id, .. }) => {
                Change::SkillDeleted { skill: self.subject(&skill_id)? }
            }
            ToolCall::Leave(LeaveItem { reason, why, .. }) => {
                let why: String = why
                    .split_whitespace()
                    .collect::<Vec<_>>()
                    .join(" ")
                    .chars()
                    .take(MAX_REASON_CHARS)
                    .collect();
                if why.is_empty() {
                    return Err(refusal(None, "empty", "say in one sentence why the item is left"));
                }
                self.scope.work_item.closing(String::new(), Some(LeftItem { reason, why }))
            }
            ToolCall::CreateDomain(_)
            | ToolCall::FetchSimilar(_)
            | ToolCall::Read(_)
            | ToolCall::ReadReports(_) => return Ok(None),
        }))
    }

    /// Refuses a change of what the book says that a cited report conflicts with, and one that the citations do not support. New knowledge
    /// from a passed attempt needs none as long as it only adds.
    fn must_agree(&mut self, change: &Change, citation: &Citation) -> Result<(), Refusal> {
        if matches!(change, Change::SkillAnnotated { .. }) || left(change).is_some() {
            return Ok(());
        }
        self.conflicts.extend(&citation.conflicts_with);
        no_conflict(&self.conflicts).map_err(|(code, why)| refusal(None, code, why))?;
        let item = &self.scope.item;
        let missing = match change {
            Change::SkillCreated { .. } if item.writes_allowed.iter().any(|tool| tool == CREATE_SKILL) => {
                return Ok(());
            }
            _ if item.adding_allowed => match self.replaced(change) {
                None => return Ok(()),
                missing => missing,
            },
            _ => None,
        };
        let judged = match change {
            Change::SkillDeleted { .. } => harm_shown(item, citation),
            _ => supported(item, citation),
        };
        let Err((code, why)) = judged else { return Ok(()) };
        let why = match missing {
            Some(line) => format!(
                "this would replace {line:?}. One attempt may add lines to a page; keep every line of its \
                 description, situation and guidance and add yours. To replace a text: {why}"
            ),
            None => why,
        };
        Err(refusal(target(change).cloned(), code, why))
    }

    /// Returns a line of a page that a change does not keep, or `None` if it keeps them all.
    fn replaced(&self, change: &Change) -> Option<String> {
        let text = |id: &SkillId| self.gateway.state().skills.get(id).map(|skill| &skill.text);
        let lost = |old: &str, new: &str| missing_line(old, new).map(str::to_owned);
        match change {
            Change::SkillUpdated { skill, description, situation, guidance } => {
                let existing = text(skill)?;
                let parts = [
                    (&existing.description, description),
                    (&existing.situation, situation),
                    (&existing.guidance, guidance),
                ];
                parts.into_iter().find_map(|(old, new)| lost(old, new.as_deref()?))
            }
            Change::SkillMerged { source, target, text: new } => {
                [source, target].into_iter().filter_map(text).find_map(|old| {
                    lost(&old.situation, &new.situation).or_else(|| lost(&old.guidance, &new.guidance))
                })
            }
            other => target(other).map(ToString::to_string),
        }
    }

    fn allow(&self, call: &ToolCall) -> Result<(), Refusal> {
        let name = match call {
            ToolCall::CreateDomain(_) => CREATE_DOMAIN,
            ToolCall::Create(_) => CREATE_SKILL,
            ToolCall::Update(_) => UPDATE_SKILL,
            ToolCall::Merge(_) => MERGE_SKILLS,
            ToolCall::Annotate(_) => ANNOTATE_SKILL,
            ToolCall::Delete(_) => DELETE_SKILL,
            ToolCall::Leave(_) => LEAVE_ITEM,
            ToolCall::FetchSimilar(_) | ToolCall::Read(_) | ToolCall::ReadReports(_) => return Ok(()),
        };
        let ManageItem { writes_allowed, writes_with_citations, .. } = &self.scope.item;
        if writes_allowed.iter().chain(writes_with_citations).any(|allowed| allowed == name) {
            return Ok(());
        }
        let cited = if writes_with_citations.is_empty() {
            String::new()
        } else {
            format!(", or, with agrees_with, {}", writes_with_citations.join(", "))
        };
        let why = format!("{name} is not for this item; you may call {}{cited}", writes_allowed.join(", "));
        Err(refusal(None, "not_supported_enough", why))
    }

    fn creation(&self, arguments: CreateSkill) -> Result<Change, Refusal> {
        self.must_look(CREATE_SKILL)?;
        let CreateSkill { domain, skill_name, description, situation, guidance, .. } = arguments;
        let skill = parse(&format!("{domain}/{skill_name}"))?;
        if is_trivial(&guidance) {
            let why = "everybody knows this; only what is not obvious belongs in the book";
            return Err(refusal(Some(skill), "basic", why));
        }
        must_not_wait(self.gateway.state(), &skill)?;
        let text = format!("{description} {situation} {guidance}");
        let twin = self.gateway.state().skills.values().find(|existing| {
            let SkillText { description, situation, guidance } = &existing.text;
            existing.id.domain() == domain
                && word_similarity(&format!("{description} {situation} {}", prose_of(guidance)), &text)
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
            domain: self
                .opened
                .as_ref()
                .map(|pending| &pending.domain)
                .filter(|pending| pending.domain == domain)
                .cloned(),
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
        let SimilarSkills { skills, embedding_error } =
            book.similar_skills(situation, MAX_SIMILAR_SKILLS).await;
        let rounded = |likeness: f64| (likeness * 100.0).round() / 100.0;
        let shown = |similar: &SkillSimilarity<'_>| {
            let mut shown = json!({
                "skill_id": similar.skill.id,
                "description": similar.skill.text.description,
                "situation": similar.skill.text.situation,
                "similarity": rounded(similar.words),
            });
            if let Some(meaning) = similar.meaning {
                shown["similarity_of_meaning"] = json!(rounded(meaning));
            }
            shown
        };
        let mut answer = json!({ "skills": skills.iter().map(shown).collect::<Vec<_>>() });
        tell_waiting_pages(self.gateway.state(), &mut answer);
        if let Some(why) = embedding_error {
            answer["note"] = json!(format!("compared by words alone: {why}"));
        }
        answer
    }

    fn show(&mut self, ids: &[String]) -> Value {
        let mut skills = Vec::new();
        let mut missing = Vec::new();
        for id in ids.iter().take(MAX_SIMILAR_SKILLS) {
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
