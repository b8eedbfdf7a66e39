//! Reverts one operation and keeps later changes: a three-way comparison, part by part. Several operations are reverted
//! as one change, so that either all of them are gone or none.

use std::collections::BTreeSet;

use apprentice_protocol::{SkillId, Versions};
use jiff::Timestamp;

use super::validate::Fault;
use crate::log::change::Change;
use crate::log::citation::Citation;
use crate::log::operation::{OPERATION_VERSION, Operation};
use crate::replay::state::State;
use crate::skill::counts::Counts;
use crate::skill::function;
use crate::skill::model::{Actor, NewDomain, OpId, SkillText};
use crate::skill::note::Note;
use crate::skill::record::Skill;
use crate::skill::restored::{Content, Counter, Restored};
use crate::skill::trial::ReviewRemark;
use crate::skill::version_evidence::VersionEvidence;

/// Returns the content of a skill.
fn content_of(skill: &Skill) -> Content {
    let counters = skill.counters.iter().map(|((version, consumer), counts)| Counter {
        version: *version,
        consumer: consumer.clone(),
        counts: *counts,
    });
    Content {
        text: skill.text.clone(),
        notes: skill.notes.clone(),
        hidden_notes: skill.hidden_notes,
        counters: counters.collect(),
        remarks: skill.remarks.clone(),
        version_evidence: skill.version_evidence.clone(),
        origin: skill.origin,
        functions: (!skill.functions.is_empty()).then(|| skill.functions.clone()),
    }
}

/// Returns the change that reverts an operation.
pub(crate) fn change(operations: &[Operation], target: OpId) -> Result<Change, Fault> {
    change_beside(operations, target, &|_| true)
}

/// Returns the change that reverts an operation. Of later operations only those that `stays` names can stand in its way.
fn change_beside(
    operations: &[Operation],
    target: OpId,
    stays: &dyn Fn(OpId) -> bool,
) -> Result<Change, Fault> {
    let Some(place) = operations.iter().position(|operation| operation.id == target) else {
        return Err(("unknown_operation", format!("the book has no operation {target}")));
    };
    if let Change::SkillsTried { .. } = operations[place].change {
        return Err(("nothing_to_revert", format!("{target} is an observation and changed no skill")));
    }
    if let Change::ProposalRefused { .. } = operations[place].change {
        return revert_refusal(operations, target);
    }
    let before = State::fold(&operations[..place]);
    let mut after = before.clone();
    after.apply(&operations[place]);
    let mut now = after.clone();
    operations[place + 1..].iter().for_each(|operation| now.apply(operation));

    let later = LaterOperations { after: &after, operations: &operations[place + 1..], stays };
    let ids: BTreeSet<&SkillId> = before.skills.keys().chain(after.skills.keys()).collect();
    let mut skills = Vec::new();
    for id in ids {
        let (was, became) = (before.skills.get(id), after.skills.get(id));
        if was != became {
            let states = [was, became, now.skills.get(id)].map(|skill| skill.map(AsRef::as_ref));
            skills.extend(restored(id, states, &later)?);
        }
    }
    let opened = after.domains.keys().filter(|domain| !before.domains.contains_key(*domain));
    let empty = |domain: &&String| {
        let goes =
            |id: &SkillId| skills.iter().any(|restored| restored.skill == *id && restored.content.is_none());
        !now.skills.keys().any(|id| id.domain() == **domain && !goes(id))
    };
    let closed: Vec<String> =
        opened.filter(|domain| now.domains.contains_key(*domain)).filter(empty).cloned().collect();
    let gone = before.domains.iter().filter(|(domain, _)| !after.domains.contains_key(*domain));
    let reopened = gone
        .filter(|(domain, _)| !now.domains.contains_key(*domain))
        .map(|(domain, description)| NewDomain { domain: domain.clone(), description: description.clone() });
    let opened: Vec<NewDomain> = reopened.collect();
    if skills.is_empty() && closed.is_empty() && opened.is_empty() {
        let why =
            format!("{target} ({}) changed no skill that still shows it", operations[place].change.name());
        return Err(("nothing_to_revert", why));
    }
    Ok(Change::Reverted { operation: target, also: Vec::new(), skills, closed, opened })
}

/// Returns the one change that reverts several operations, the latest first, so that none of them is a later change in
/// the way of another.
pub(crate) fn change_of_all(operations: &[Operation], targets: &BTreeSet<OpId>) -> Result<Change, Fault> {
    let mut latest_first = targets.iter().rev().copied();
    let Some(first) = latest_first.next() else {
        return Err(("nothing_to_revert", "no operation is named".to_owned()));
    };
    let real = operations.last().map_or(OpId(0), |operation| operation.id);
    let stays = |id: OpId| id <= real && !targets.contains(&id);
    let whole = change_beside(operations, first, &stays)?;
    let mut all = operations.to_vec();
    let mut also = Vec::new();
    let mut last = whole.clone();
    for target in latest_first {
        // Each is compared with the book as it is without the later ones.
        all.push(imagined(&all, last));
        last = change_beside(&all, target, &stays)?;
        also.push(target);
    }
    if also.is_empty() {
        return Ok(whole);
    }
    all.push(imagined(&all, last));
    let (now, then) = (State::fold(operations), State::fold(&all));
    let whole = between(&now, &then, first, also);
    if now.refused == then.refused && is_empty(&whole) {
        return Err((
            "nothing_to_revert",
            "together these operations changed nothing that still shows".to_owned(),
        ));
    }
    Ok(whole)
}

/// Returns whether a revert restores nothing.
fn is_empty(change: &Change) -> bool {
    matches!(change, Change::Reverted { skills, closed, opened, .. }
        if skills.is_empty() && closed.is_empty() && opened.is_empty())
}

/// Returns the change that brings every skill back to what it was at an operation. `None` if nothing differs.
pub(crate) fn change_to(operations: &[Operation], moment: OpId) -> Option<Change> {
    let kept = operations.iter().take_while(|operation| operation.id <= moment).count();
    let (then, now) = (State::fold(&operations[..kept]), State::fold(operations));
    let mut undone =
        operations[kept..].iter().rev().filter(|operation| !operation.change.skills().is_empty());
    let first = undone.next()?.id;
    let also = undone.map(|operation| operation.id).collect();
    Some(between(&now, &then, first, also)).filter(|change| !is_empty(change))
}

/// An operation that is not written: what a revert would make of the book.
fn imagined(operations: &[Operation], change: Change) -> Operation {
    let last = operations.last().map_or(OpId(0), |operation| operation.id);
    Operation {
        version: OPERATION_VERSION,
        id: OpId(last.0 + 1),
        time: Timestamp::UNIX_EPOCH,
        actor: Actor::Human,
        cause: None,
        accepts: None,
        seen: Versions::new(),
        citation: Citation::default(),
        files: Vec::new(),
        change,
    }
}

/// Returns the change that leads from one state to another, as a revert of these operations.
fn between(now: &State, then: &State, operation: OpId, also: Vec<OpId>) -> Change {
    let ids: BTreeSet<&SkillId> = now.skills.keys().chain(then.skills.keys()).collect();
    let content = |state: &State, id: &SkillId| state.skills.get(id).map(|skill| content_of(skill));
    let differing = ids.into_iter().filter(|id| content(now, id) != content(then, id));
    let restored = |id: &SkillId| {
        let mut content = content(then, id);
        if let Some(content) = &mut content {
            // A skill that had no functions then has none again.
            content.functions.get_or_insert_default();
        }
        content
    };
    let skills = differing.map(|id| Restored { skill: id.clone(), content: restored(id) }).collect();
    let closed = now.domains.keys().filter(|domain| !then.domains.contains_key(*domain)).cloned().collect();
    let opened = then.domains.iter().filter(|(domain, _)| !now.domains.contains_key(*domain));
    let opened = opened
        .map(|(domain, description)| NewDomain { domain: domain.clone(), description: description.clone() });
    Change::Reverted { operation, also, skills, closed, opened: opened.collect() }
}

/// Reverts the refusal of a proposal. Models may propose the change again; the old proposal does not wait again.
fn revert_refusal(operations: &[Operation], target: OpId) -> Result<Change, Fault> {
    if State::fold(operations).refused.values().any(|by| *by == target) {
        return Ok(Change::Reverted {
            operation: target,
            also: Vec::new(),
            skills: Vec::new(),
            closed: Vec::new(),
            opened: Vec::new(),
        });
    }
    Err(("nothing_to_revert", format!("the refusal {target} is no longer in effect")))
}

/// The operations after a reverted one.
struct LaterOperations<'a> {
    /// The state right after the reverted operation.
    after: &'a State,
    operations: &'a [Operation],
    /// Returns true if an operation stays, and is not reverted as well.
    stays: &'a dyn Fn(OpId) -> bool,
}

/// Returns the restored state of one skill from its states before and after the operation and its current state.
fn restored(
    id: &SkillId,
    [was, became, now]: [Option<&Skill>; 3],
    later: &LaterOperations<'_>,
) -> Result<Option<Restored>, Fault> {
    let conflict = || {
        let by = last_text_change(id, later).map_or_else(String::new, |by| format!(" by {by}"));
        ("conflict", format!("{id} was changed again{by}; revert that first"))
    };
    let content = match (was, became, now) {
        (None, Some(_), None) | (Some(_), Some(_), None) | (None, None, _) => return Ok(None),
        (None, Some(became), Some(now)) if became.text == now.text => None,
        (Some(was), None, None) => Some(content_of(was)),
        (Some(was), Some(became), Some(now)) => Some(merge_reversal(was, became, now).ok_or_else(conflict)?),
        (None, Some(_), Some(_)) | (Some(_), None, Some(_)) => return Err(conflict()),
    };
    Ok(Some(Restored { skill: id.clone(), content }))
}

/// Returns the last later operation that changed a skill's text, made it or removed it. Reviews and notes stand in no
/// reversal's way.
fn last_text_change(id: &SkillId, later: &LaterOperations<'_>) -> Option<OpId> {
    let mut state = later.after.clone();
    let mut last = None;
    for operation in later.operations {
        let before = state.skills.get(id).map(|skill| skill.text.clone());
        state.apply(operation);
        if state.skills.get(id).map(|skill| &skill.text) != before.as_ref() && (later.stays)(operation.id) {
            last = Some(operation.id);
        }
    }
    last
}

/// Merges the reversal into the current state: removes what the operation added and restores what it removed. Returns
/// `None` if a later text has replaced the operation's text.
fn merge_reversal(was: &Skill, became: &Skill, now: &Skill) -> Option<Content> {
    let part = |was: &String, became: &String, now: &String| {
        if was == became { Some(now.clone()) } else { (now == became).then(|| was.clone()) }
    };
    let text = SkillText {
        description: part(&was.text.description, &became.text.description, &now.text.description)?,
        situation: part(&was.text.situation, &became.text.situation, &now.text.situation)?,
        guidance: part(&was.text.guidance, &became.text.guidance, &now.text.guidance)?,
    };
    let functions = function::reverted([&was.functions, &became.functions, &now.functions])?;
    let functions = (functions != now.functions).then_some(functions);
    let notes = merge_notes(was, became, now);
    let mut counters = now.counters.clone();
    for (key, after) in &became.counters {
        let added = *after - was.counters.get(key).copied().unwrap_or_default();
        if let Some(counts) = counters.get_mut(key) {
            *counts = *counts - added;
        }
    }
    counters.retain(|_, counts| *counts != Counts::default());
    let stays_remarked =
        |remark: &&ReviewRemark| !became.remarks.contains(remark) || was.remarks.contains(remark);
    let remarks = now.remarks.iter().filter(stays_remarked).cloned().collect();
    let next = (text != now.text).then_some(now.version + 1);
    let version_evidence = evidence_without(now, was, became, next);
    let bare = Skill {
        version_evidence,
        text,
        hidden_notes: now.hidden_notes.min(notes.len()),
        notes,
        ..now.clone()
    };
    Some(Content { remarks, functions, ..content_of(&Skill { counters, ..bare }) })
}

fn merge_notes(was: &Skill, became: &Skill, now: &Skill) -> Vec<Note> {
    let count = |skill: &Skill, text: &str| {
        skill.notes.iter().find(|note| note.text == text).map_or(0, |note| note.count)
    };
    let mut notes = Vec::new();
    for note in &now.notes {
        let added = count(became, &note.text).saturating_sub(count(was, &note.text));
        let left = note.count.saturating_sub(added);
        if left > 0 {
            notes.push(Note { count: left, ..note.clone() });
        }
    }
    let taken = was.notes.iter().filter(|note| count(became, &note.text) == 0 && count(now, &note.text) == 0);
    notes.extend(taken.cloned());
    notes.sort_by_key(|note| note.time);
    notes
}

/// Returns the evidence that remains after reverting an operation that led from `was` to `became`. If its text is
/// removed, the text of `was` is restored as version `next`.
fn evidence_without(now: &Skill, was: &Skill, became: &Skill, next: Option<u32>) -> Vec<VersionEvidence> {
    let same = |left: &VersionEvidence, right: &VersionEvidence| {
        (left.version, &left.app, &left.app_version) == (right.version, &right.app, &right.app_version)
    };
    let evidence = |skill: &Skill, wanted: &VersionEvidence| {
        let found = skill.version_evidence.iter().find(|evidence| same(evidence, wanted));
        found.map_or((false, 0, 0), |evidence| (evidence.written, evidence.confirmed, evidence.outdated))
    };
    let mut left = Vec::new();
    for changed in &now.version_evidence {
        let (before, after) = (evidence(was, changed), evidence(became, changed));
        let kept = VersionEvidence {
            written: changed.written && (before.0 || !after.0),
            confirmed: changed.confirmed.saturating_sub(after.1.saturating_sub(before.1)),
            outdated: changed.outdated.saturating_sub(after.2.saturating_sub(before.2)),
            ..changed.clone()
        };
        if kept.written || kept.confirmed > 0 || kept.outdated > 0 {
            left.push(kept);
        }
    }
    let again = was.version_evidence.iter().filter(|evidence| evidence.version == was.version);
    let again = next.into_iter().flat_map(|version| {
        again.clone().map(move |evidence| VersionEvidence { version, ..evidence.clone() })
    });
    left.extend(again.collect::<Vec<_>>());
    left
}
