//! Builds the item that the manager sees: payload, permitted writes, earlier reports, and the names in the book.

use apprentice_protocol::{Side, SkillId, StepId, TrajectoryStep, Versions};
use apprentice_skillbook::review::{Learning, SkillReview};
use apprentice_skillbook::{Candidate, Gateway, State};
use apprentice_wording::{cosine, domain_name};
use serde_json::json;

use super::item::{DomainNames, EarlierReport, ITEM_SCHEMA, InputType, ManageItem};
use super::reports::{self, ItemReports, Nearness};
use super::support::{self, Support};
use super::work_item::{ManageOptions, WorkItem};
use crate::apply_reviews::LearningInput;
use crate::cleanup::CleanupTask;
use crate::reflect::bounded_step;

/// Largest number of domains in an item.
const MAX_DOMAINS: usize = 40;
/// Largest number of skill names of a domain that the item is about.
const MAX_OWN_NAMES: usize = 40;
/// Largest number of skill names of any other domain.
const MAX_OTHER_NAMES: usize = 6;
/// Largest number of cited steps that an item shows, what each may hold in tokens, and each of its lines in characters.
const MAX_STEPS: usize = 6;
const MAX_STEP_TOKENS: u64 = 500;
const MAX_STEP_LINE_CHARS: usize = 200;
/// Largest number of candidates that are compared by meaning: the newest.
const MAX_EMBEDDED_CANDIDATES: usize = 500;

/// Returns the item in the form that the manager sees, with the nearest reports found by words.
pub fn item(
    state: &State,
    input: &LearningInput<'_>,
    work_item: &WorkItem<'_>,
    options: &ManageOptions,
) -> Result<ManageItem, serde_json::Error> {
    build(state, input, work_item, options, &Nearness::new())
}

/// Returns the same item, with the nearest reports found also by meaning where the book has an embedder.
pub(super) async fn item_by_meaning(
    gateway: &Gateway,
    input: &LearningInput<'_>,
    work_item: &WorkItem<'_>,
    options: &ManageOptions,
) -> Result<ManageItem, serde_json::Error> {
    let WorkItem::Learning(_, learning) = work_item else {
        return item(gateway.state(), input, work_item, options);
    };
    let (near, note) = match nearness(gateway, learning).await {
        Ok(near) => (near, None),
        Err(why) => (Nearness::new(), Some(format!("earlier reports were found by words alone: {why}"))),
    };
    let mut item = build(gateway.state(), input, work_item, options, &near)?;
    item.notes.extend(note);
    Ok(item)
}

/// Returns how near each candidate is to a learning by meaning. Empty without an embedder.
async fn nearness(gateway: &Gateway, learning: &Learning) -> Result<Nearness, String> {
    let candidates = &gateway.state().candidates;
    let Some(meaning) = gateway.meaning().filter(|_| !candidates.is_empty()) else {
        return Ok(Nearness::new());
    };
    let newest: Vec<&Candidate> = candidates.iter().rev().take(MAX_EMBEDDED_CANDIDATES).collect();
    let mut texts = vec![reports::learning_text(learning)];
    texts.extend(newest.iter().map(|candidate| reports::learning_text(&candidate.learning)));
    let vectors = meaning.vectors(Side::Passage, &texts).await.map_err(|error| error.to_string())?;
    let Some((own, others)) = vectors.split_first() else { return Ok(Nearness::new()) };
    let mut near = Nearness::new();
    for (candidate, vector) in newest.iter().zip(others) {
        near.insert(candidate.id, cosine(own, vector).map_err(|error| error.to_string())?);
    }
    Ok(near)
}

fn build(
    state: &State,
    input: &LearningInput<'_>,
    work_item: &WorkItem<'_>,
    options: &ManageOptions,
    near: &Nearness,
) -> Result<ManageItem, serde_json::Error> {
    let needed = options.corroboration;
    let own = input.trajectory.id.as_str();
    let mut about = Vec::new();
    let (input_type, evidence, support, payload, reports) = match work_item {
        WorkItem::Review(skill, review) => {
            let now = state.resolve(skill);
            let id = now.map_or(*skill, |now| &now.id);
            about.push(id.domain().to_owned());
            let support = support::of_review(state, input, id, review, options);
            let mut payload = serde_json::to_value(review)?;
            payload["skill_id"] = json!(id);
            let reports = now.map(|now| reports::of_skill(state, now, Some(own))).unwrap_or_default();
            (review_type(review), received_at(input, skill), support, payload, reports)
        }
        WorkItem::Learning(_, learning) => {
            let domain = domain_name(learning.scope());
            about.extend(domain.clone());
            let support = support::of_learning(input, learning, needed);
            let mut payload = serde_json::to_value(learning)?;
            payload["domain"] = json!(domain);
            let reports = reports::near_learning(state, learning, own, near);
            (InputType::Learning, learning.evidence().to_vec(), support, payload, reports)
        }
        WorkItem::Cleanup(task, clean) => {
            about.extend(task.skills().into_iter().map(|skill| skill.domain().to_owned()));
            let support = support::of_cleanup(task, clean, needed);
            let payload = serde_json::to_value(task)?;
            (InputType::CleanupTask, Vec::new(), support, payload, of_task(state, task))
        }
    };
    let reports = ItemReports::of(reports);
    let of_attempt = input_type != InputType::CleanupTask;
    let (domains, more_domains) = names(state, &about);
    let Support { corroboration, writes, cited_writes, adding, steps } = support;
    let owned = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
    Ok(ManageItem {
        schema: ITEM_SCHEMA.to_owned(),
        input_type,
        trajectory_id: of_attempt.then(|| own.to_owned()),
        judged_by: Some(input.trajectory.judged_by).filter(|by| of_attempt && !by.is_checks()),
        versions: if of_attempt { input.trajectory.versions.clone() } else { Versions::new() },
        evidence_steps: evidence_steps(input, &evidence),
        evidence_refs: evidence,
        corroboration,
        writes_allowed: owned(writes),
        writes_with_citations: owned(cited_writes),
        adding_allowed: adding,
        payload,
        earlier_reports: reports.shown,
        farther_reports: reports.farther,
        more_reports: reports.more,
        whole_reports: reports.whole,
        steps,
        domains,
        more_domains,
        notes: Vec::new(),
    })
}

fn review_type(review: &SkillReview) -> InputType {
    match review {
        SkillReview::Negative(_) => InputType::SkillNegative,
        SkillReview::Positive(_) | SkillReview::Neutral(_) => InputType::SkillNeutral,
        SkillReview::NotFollowed(_) => InputType::SkillNotFollowed,
    }
}

fn of_task(state: &State, task: &CleanupTask) -> Vec<EarlierReport> {
    match task {
        CleanupTask::Duplicates { skill_ids, .. } => reports::of_pages(state, skill_ids),
        CleanupTask::NegativeHeavy { skill_id, .. } | CleanupTask::LowFollowRate { skill_id, .. } => {
            let skill = state.skills.get(skill_id);
            skill.map(|skill| reports::of_skill(state, skill, None)).unwrap_or_default()
        }
    }
}

/// Returns the first cited steps as the reviewer saw them.
fn evidence_steps(input: &LearningInput<'_>, cited: &[StepId]) -> Vec<TrajectoryStep> {
    let steps = input.trajectory.steps.iter().filter(|step| cited.contains(&step.id)).take(MAX_STEPS);
    steps.map(|step| bounded_step(step, MAX_STEP_TOKENS, MAX_STEP_LINE_CHARS)).collect()
}

fn received_at(input: &LearningInput<'_>, skill: &SkillId) -> Vec<StepId> {
    let received = input.trajectory.skills.iter().filter(|received| received.id == *skill);
    received.map(|received| received.step).take(1).collect()
}

/// Returns the domains of the book with the names of their skills, those that the item is about first, then the largest,
/// and how many domains do not fit.
fn names(state: &State, about: &[String]) -> (Vec<DomainNames>, usize) {
    let (own, mut others): (Vec<&String>, Vec<&String>) =
        state.domains.keys().partition(|domain| about.contains(domain));
    let entry = |domain: &String, fit: usize| {
        let all: Vec<&str> = state.skills_of(domain).map(|skill| skill.id.slug()).collect();
        DomainNames {
            domain: domain.clone(),
            more: all.len().saturating_sub(fit),
            skills: all.into_iter().take(fit).map(str::to_owned).collect(),
        }
    };
    others
        .sort_by_cached_key(|domain| (std::cmp::Reverse(state.skills_of(domain).count()), (*domain).clone()));
    let own = own.into_iter().map(|domain| entry(domain, MAX_OWN_NAMES));
    let all: Vec<DomainNames> = own
        .chain(others.into_iter().map(|domain| entry(domain, MAX_OTHER_NAMES)))
        .take(MAX_DOMAINS)
        .collect();
    let more = state.domains.len() - all.len();
    (all, more)
}
