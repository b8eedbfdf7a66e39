//! The material that a reflector sees of an attempt: schema `reflect.material.v1`, bounded. Salient steps take
//! precedence; omitted steps are counted. The material contains no expected value and no explanation of a check.

use std::collections::BTreeSet;

use apprentice_protocol::{
    BoundedText, SkillId, StepAction, StepId, StopReason, TextBudget, Trajectory, TrajectoryStep, Verdict,
    Versions,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Schema name of the block.
pub const MATERIAL_SCHEMA: &str = "reflect.material.v1";
/// Largest number of programs that are named, and of characters in a name.
const APPS: usize = 12;
const APP: usize = 64;

/// Size limits of the material.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaterialBudget {
    /// Number of steps.
    pub steps: usize,
    /// Changed lines per step.
    pub changed_lines: usize,
    /// Characters per line.
    pub line: usize,
    /// Actions per step.
    pub actions: usize,
    /// Characters of one skill's text.
    pub skill: usize,
    /// Number of skills.
    pub skills: usize,
}

impl Default for MaterialBudget {
    fn default() -> Self {
        Self { steps: 40, changed_lines: 24, line: 160, actions: 12, skill: 4000, skills: 12 }
    }
}

/// How a reflection is made, and where its author has read the skills.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReflectMode {
    /// By a separate reader. The material contains the skills' text.
    #[default]
    Fresh,
    /// By the acting model in the attempt's own conversation, which contains the skills' text.
    InContext,
    /// By somebody else. The reflection was handed over.
    Given,
}

/// Usage and limit of one resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResourceUse {
    /// Amount used.
    pub used: u64,
    /// Amount allowed.
    pub limit: u64,
}

/// The budget of an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BudgetUse {
    /// Actions in the environment.
    pub world_steps: ResourceUse,
    /// Model turns.
    pub turns: ResourceUse,
}

impl BudgetUse {
    /// Returns the budget of an attempt.
    fn of(trajectory: &Trajectory) -> Self {
        let share = |used: u32, limit: u32| ResourceUse { used: u64::from(used), limit: u64::from(limit) };
        let (spent, limits) = (&trajectory.spent, &trajectory.limits);
        Self {
            world_steps: share(spent.world_steps, limits.world_steps),
            turns: share(spent.turns, limits.turns),
        }
    }
}

/// The facts about an attempt that every reviewer gets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AttemptFacts {
    /// Programs involved, as domain names.
    pub apps: Vec<String>,
    /// Versions of the programs, as far as known. The system's version is under `os`.
    #[serde(default, skip_serializing_if = "Versions::is_empty")]
    pub versions: Versions,
    /// Verdict on the attempt.
    pub verdict: Verdict,
    /// Score, from 0 to 1.
    pub score: f64,
    /// The reason why the attempt stopped.
    pub stop: StopReason,
    /// Usage and limits of the attempt.
    pub budget: BudgetUse,
    /// Largest number of learnings.
    pub max_learnings: usize,
}

impl AttemptFacts {
    /// Returns the facts about an attempt.
    pub(super) fn of(trajectory: &Trajectory, max_learnings: usize) -> Self {
        let app = |app: &String| BoundedText::cut(app, TextBudget(APP)).as_str().to_owned();
        Self {
            apps: trajectory.apps.iter().take(APPS).map(app).collect(),
            versions: trajectory.versions.clone(),
            verdict: trajectory.verdict,
            score: trajectory.score,
            stop: trajectory.stop,
            budget: BudgetUse::of(trajectory),
            max_learnings,
        }
    }
}

/// A skill that the agent received.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReceivedSkillText {
    /// Id of the skill.
    pub id: SkillId,
    /// The step in which it arrived.
    pub step: StepId,
    /// Text of the skill.
    pub text: String,
}

/// A range of steps that is left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Gap {
    /// The first step left out.
    pub from: StepId,
    /// The last step left out.
    pub to: StepId,
    /// Number of steps.
    pub steps: usize,
}

/// The material of a reflection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Material {
    /// [`MATERIAL_SCHEMA`].
    pub schema: String,
    /// How the reflection is made.
    pub mode: ReflectMode,
    /// The instruction that the agent got.
    pub goal: String,
    /// Verdict, score and budget of the attempt.
    #[serde(flatten)]
    pub account: AttemptFacts,
    /// Skills received.
    pub skills: Vec<ReceivedSkillText>,
    /// Steps, in order.
    pub steps: Vec<TrajectoryStep>,
    /// Steps left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<Gap>,
}

/// Renders a trajectory as material for a reflector.
pub fn material(trajectory: &Trajectory, budget: &MaterialBudget, max_learnings: usize) -> Material {
    let kept = salient(&trajectory.steps, budget.steps);
    let cut = |text: &str, room: usize| BoundedText::cut(text, TextBudget(room)).as_str().to_owned();
    Material {
        schema: MATERIAL_SCHEMA.to_owned(),
        mode: ReflectMode::Fresh,
        goal: cut(&trajectory.goal, 2000),
        account: AttemptFacts::of(trajectory, max_learnings),
        skills: trajectory
            .skills
            .iter()
            .take(budget.skills)
            .map(|skill| ReceivedSkillText {
                id: skill.id.clone(),
                step: skill.step,
                text: cut(&skill.text, budget.skill),
            })
            .collect(),
        steps: kept.iter().map(|index| bounded(&trajectory.steps[*index], budget)).collect(),
        left_out: gaps(&trajectory.steps, &kept),
    }
}

/// Returns the weight of a step: a failure, a change, or an action raises it.
fn weight(step: &TrajectoryStep) -> usize {
    let failed = step.actions.iter().any(|action| action.outcome.starts_with("failed"));
    let named = step.actions.iter().any(|action| action.name.is_some());
    usize::from(failed) * 8 + usize::from(named) * 4 + step.seen.changed.len().min(6)
}

/// Selects the steps to show, in order: the first two, the last six, and the weightiest between them.
fn salient(steps: &[TrajectoryStep], room: usize) -> Vec<usize> {
    if steps.len() <= room {
        return (0..steps.len()).collect();
    }
    let tail = steps.len() - room.min(6);
    let mut kept: BTreeSet<usize> = (tail..steps.len()).collect();
    let mut rest: Vec<usize> = (0..tail).collect();
    rest.sort_by_key(|index| (*index >= 2, std::cmp::Reverse(weight(&steps[*index])), *index));
    kept.extend(rest.into_iter().take(room.saturating_sub(kept.len())));
    kept.into_iter().collect()
}

fn gaps(steps: &[TrajectoryStep], kept: &[usize]) -> Vec<Gap> {
    let mut gaps: Vec<Gap> = Vec::new();
    let mut last_missing = None;
    for (index, step) in steps.iter().enumerate() {
        if kept.binary_search(&index).is_ok() {
            continue;
        }
        match gaps.last_mut().filter(|_| last_missing == index.checked_sub(1)) {
            Some(gap) => {
                gap.to = step.id;
                gap.steps += 1;
            }
            None => gaps.push(Gap { from: step.id, to: step.id, steps: 1 }),
        }
        last_missing = Some(index);
    }
    gaps
}

/// Returns the first added lines and, for a quarter of the room, the first removed lines. Both show where the agent is.
fn lines_shown(changed: &[String], room: usize) -> impl Iterator<Item = &String> {
    let went = |line: &&String| line.starts_with('-');
    let gone = changed.iter().filter(went).count();
    let kept = gone.min((room / 4).max(room.saturating_sub(changed.len() - gone)));
    let came = changed.iter().filter(move |line| !went(line)).take(room - kept);
    came.chain(changed.iter().filter(went).take(kept))
}

fn bounded(step: &TrajectoryStep, budget: &MaterialBudget) -> TrajectoryStep {
    let cut = |text: &String| BoundedText::cut(text, TextBudget(budget.line)).as_str().to_owned();
    // The value of a field matters to its last character, an address above all. Of other text, the beginning is enough.
    let cut_line = |text: &String| {
        let room = if text.contains(" = ") { budget.line } else { budget.line / 2 };
        BoundedText::cut(text, TextBudget(room)).as_str().to_owned()
    };
    let mut shown = step.clone();
    shown.seen.title = cut(&step.seen.title);
    shown.seen.focused = step.seen.focused.as_ref().map(cut);
    shown.seen.changed = lines_shown(&step.seen.changed, budget.changed_lines).map(cut_line).collect();
    let more = step.seen.changed.len().saturating_sub(budget.changed_lines);
    if more > 0 {
        shown.seen.changed.push(format!("[{more} more lines changed]"));
    }
    shown.say = step.say.iter().take(3).map(cut).collect();
    shown.actions =
        step.actions.iter().take(budget.actions).map(|action| bounded_action(action, &cut)).collect();
    shown
}

fn bounded_action(action: &StepAction, cut: &impl Fn(&String) -> String) -> StepAction {
    StepAction {
        action: cut(&action.action),
        role: action.role.as_ref().map(cut),
        name: action.name.as_ref().map(cut),
        outcome: cut(&action.outcome),
    }
}
