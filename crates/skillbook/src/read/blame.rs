//! Blame: for each line of a skill, the operation that first wrote it, and the attempt and steps behind that operation.

use std::collections::BTreeMap;

use apprentice_protocol::{SkillId, StepId};
use apprentice_wording::line_diff::{DiffLine, LineChange, LineDiff};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::log::change::Change;
use crate::log::operation::Operation;
use crate::replay::state::State;
use crate::skill::model::{Actor, OpId};
use crate::skill::record::Skill;
use crate::skill::sentence_origin::SentenceOrigin;

/// A section of a skill page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Section {
    /// `## Situation`: when the skill applies.
    Situation,
    /// `## Guidance`: what to do.
    Guidance,
    /// `## Annotations`: notes.
    Annotations,
}

/// One line of a skill and its source.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct BlameLine {
    /// The section that contains the line.
    pub section: Section,
    /// Line number within the section, from 1.
    pub line: usize,
    /// The text of the line.
    pub text: String,
    /// The operation that first wrote the line.
    pub operation: OpId,
    /// Time of that operation.
    #[schemars(with = "String")]
    pub time: Timestamp,
    /// Author of that operation.
    pub actor: Actor,
    /// The attempt that the line was learned from. `None` if it was not learned from an attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trajectory: Option<String>,
    /// The item of that attempt's reflection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<String>,
    /// The steps of the attempt that support the line.
    pub steps: Vec<StepId>,
    /// Reports of other attempts that the writer cites as saying the same.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub agrees_with: Vec<CitedReport>,
    /// Reports of other attempts that the writer cites as saying the contrary.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conflicts_with: Vec<CitedReport>,
    /// Steps of the attempt that the writer cites as proof.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub proved_by: Vec<StepId>,
    /// Where the sentences of the line come from. Empty for a person's words, and for lines of earlier versions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub origins: Vec<SentenceOrigin>,
}

/// A report that a writer cites.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CitedReport {
    /// The operation that recorded the report.
    pub id: OpId,
    /// The attempt that it came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trajectory: Option<String>,
}

/// Returns the cited reports with the attempts that they came from.
fn cited(ids: &[OpId], by_id: &BTreeMap<OpId, &Operation>) -> Vec<CitedReport> {
    let trajectory = |id: &OpId| Some(by_id.get(id)?.cause.as_ref()?.trajectory.clone());
    ids.iter().map(|id| CitedReport { id: *id, trajectory: trajectory(id) }).collect()
}

type Lines = Vec<(String, OpId)>;

/// The source of every line of every skill, updated operation by operation.
#[derive(Default)]
struct LineSources {
    texts: BTreeMap<SkillId, [Lines; 2]>,
}

impl LineSources {
    /// Applies one operation. Unchanged lines keep their source. A line that comes from another skill, or that returns,
    /// brings its own source.
    fn apply(&mut self, operation: &Operation, state: &State) {
        let touched = operation.change.skills();
        let earlier: BTreeMap<String, OpId> = touched
            .iter()
            .filter_map(|skill| self.texts.get(*skill))
            .flat_map(|sections| sections.iter().flatten().cloned())
            .collect();
        for id in touched {
            let Some(skill) = state.skills.get(id) else { continue };
            let before = self.texts.remove(id).unwrap_or_default();
            let texts = [&skill.text.situation, &skill.text.guidance];
            let mut after: [Lines; 2] = Default::default();
            for (index, text) in texts.into_iter().enumerate() {
                after[index] = follow(&before[index], text, operation.id, &earlier);
            }
            self.texts.insert(id.clone(), after);
        }
    }
}

fn follow(before: &Lines, text: &str, by: OpId, earlier: &BTreeMap<String, OpId>) -> Lines {
    let old: Vec<&str> = before.iter().map(|(line, _)| line.as_str()).collect();
    let new: Vec<&str> = text.lines().collect();
    let mut lines = Lines::new();
    for DiffLine { change, text: line, before: place } in LineDiff::of_lines(old, new).lines() {
        match change {
            LineChange::Removed => {}
            LineChange::Kept => {
                let source = place.and_then(|at| before.get(at)).map_or(by, |(_, source)| *source);
                lines.push((line.to_owned(), source));
            }
            LineChange::Added => lines.push((line.to_owned(), earlier.get(line).copied().unwrap_or(by))),
        }
    }
    lines
}

/// Returns the lines of a skill page with their sources, or `None` if the book never contained the skill.
pub fn blame(operations: &[Operation], skill: &SkillId) -> Option<Vec<BlameLine>> {
    let mut state = State::default();
    let mut ledger = LineSources::default();
    for operation in operations {
        state.apply(operation);
        if let Change::SkillRenamed { from, to } = &operation.change
            && let Some(lines) = ledger.texts.get(from).cloned()
        {
            ledger.texts.insert(to.clone(), lines);
        }
        ledger.apply(operation, &state);
    }
    let skill = state.resolve(skill)?.clone();
    let sections = ledger.texts.get(&skill.id)?;
    let by_id: BTreeMap<OpId, &Operation> =
        operations.iter().map(|operation| (operation.id, operation)).collect();
    let mut found = Vec::new();
    for (section, lines) in [Section::Situation, Section::Guidance].into_iter().zip(sections) {
        for (number, (text, source)) in (1..).zip(lines) {
            let operation = by_id.get(source)?;
            found.push(BlameLine {
                section,
                line: number,
                text: text.clone(),
                operation: *source,
                time: operation.time,
                actor: operation.actor,
                trajectory: operation.cause.as_ref().map(|cause| cause.trajectory.clone()),
                item: operation.cause.as_ref().map(|cause| cause.item.clone()),
                steps: steps(&state, operation),
                agrees_with: cited(&operation.citation.agrees_with, &by_id),
                conflicts_with: cited(&operation.citation.conflicts_with, &by_id),
                proved_by: operation.citation.proved_by.clone(),
                origins: origins(text, operation),
            });
        }
    }
    found.extend(notes(&skill, &by_id));
    Some(found)
}

/// Returns where the sentences of a line come from, as the operation that wrote it knows.
fn origins(line: &str, operation: &Operation) -> Vec<SentenceOrigin> {
    let origins = operation.citation.origins.iter();
    origins.filter(|origin| line.contains(&origin.sentence)).cloned().collect()
}

/// Returns the steps that the reflection cites for the item decided by `operation`.
pub(crate) fn steps(state: &State, operation: &Operation) -> Vec<StepId> {
    let evidence = operation.cause.as_ref().and_then(|cause| {
        let index: usize = cause.item.strip_prefix("learning:")?.parse().ok()?;
        Some(state.reflections.get(&cause.trajectory)?.learnings.get(index)?.evidence().to_vec())
    });
    evidence.unwrap_or_default()
}

fn notes<'a>(
    skill: &'a Skill,
    operations: &'a BTreeMap<OpId, &'a Operation>,
) -> impl Iterator<Item = BlameLine> + 'a {
    let shown = (1..).zip(skill.notes.iter().skip(skill.hidden_notes));
    shown.map(move |(index, note)| {
        let wrote = operations
            .values()
            .find(|operation| operation.time == note.time && brings(&operation.change, &note.text));
        BlameLine {
            section: Section::Annotations,
            line: index,
            text: note.text.clone(),
            operation: wrote.map_or(skill.uid, |operation| operation.id),
            time: note.time,
            actor: note.author,
            trajectory: note.trajectory.clone(),
            item: wrote.and_then(|operation| operation.cause.as_ref()).map(|cause| cause.item.clone()),
            steps: Vec::new(),
            agrees_with: wrote
                .map(|operation| cited(&operation.citation.agrees_with, operations))
                .unwrap_or_default(),
            conflicts_with: wrote
                .map(|operation| cited(&operation.citation.conflicts_with, operations))
                .unwrap_or_default(),
            proved_by: wrote.map(|operation| operation.citation.proved_by.clone()).unwrap_or_default(),
            origins: wrote.map(|operation| origins(&note.text, operation)).unwrap_or_default(),
        }
    })
}

fn brings(change: &Change, text: &str) -> bool {
    match change {
        Change::SkillAnnotated { note, .. } => note == text,
        Change::SkillCreated { annotations, .. } | Change::SkillEdited { annotations, .. } => {
            annotations.iter().any(|note| note.starts_with(text))
        }
        _ => false,
    }
}
