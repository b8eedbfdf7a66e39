//! The material that a reflector sees of an attempt: schema `reflect.material.v1`, bounded. Salient steps take
//! precedence; omitted steps are counted. The material contains no expected value and no explanation of a check.

use std::collections::BTreeSet;
use std::ops::Range;

use apprentice_protocol::{
    BoundedText, JudgedBy, RetrievedSkill, SkillId, StepAction, StepId, StopReason, TextBudget, ToolAnswer,
    Trajectory, TrajectoryStep, Verdict, Versions, count_of_more_lines, estimated_tokens, more_lines_changed,
};
use apprentice_skillbook::review::TrajectoryReflection;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::budget::STEP_SHARE;
use super::parts::parted;
use super::pictures::StepPicture;
use super::{MaterialBudget, ReflectOptions};

/// Schema name of the block.
pub const MATERIAL_SCHEMA: &str = "reflect.material.v1";
/// Largest number of programs that are named, and of characters in a name.
const MAX_APPS: usize = 12;
const MAX_APP_CHARS: usize = 64;
/// Largest length of the instruction, in characters.
const MAX_GOAL_CHARS: usize = 2000;

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
    /// Verdict on the attempt. `null` if nobody judged.
    pub verdict: Option<Verdict>,
    /// Who judged, if not the checks of a task.
    #[serde(default, skip_serializing_if = "JudgedBy::is_checks")]
    pub judged_by: JudgedBy,
    /// Score, from 0 to 1. `null` if nobody judged.
    pub score: Option<f64>,
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
        let app = |app: &String| BoundedText::cut(app, TextBudget(MAX_APP_CHARS)).as_str().to_owned();
        let mut seen = BTreeSet::new();
        let apps = trajectory.apps.iter().filter(|app| seen.insert(app.to_lowercase()));
        Self {
            apps: apps.take(MAX_APPS).map(app).collect(),
            versions: trajectory.versions.clone(),
            verdict: trajectory.told_verdict(),
            judged_by: trajectory.judged_by,
            score: trajectory.told_verdict().map(|_| trajectory.score),
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

/// A page of the book that the agent did not receive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BookPage {
    /// Id of the skill.
    pub id: SkillId,
    /// Its whole text, or its description with a line that says so. `None` if the page waits for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Whether it waits for a person, who has not accepted it yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub waits_for_a_person: bool,
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
    /// The instruction that the agent got.
    pub goal: String,
    /// Verdict, score and budget of the attempt.
    #[serde(flatten)]
    pub account: AttemptFacts,
    /// The place among several requests, if the attempt is too long for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<PartOfAttempt>,
    /// Skills received.
    pub skills: Vec<ReceivedSkillText>,
    /// Pages of the book about the same programs that the agent did not receive.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub book: Vec<BookPage>,
    /// Steps, in order.
    pub steps: Vec<TrajectoryStep>,
    /// Steps left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<Gap>,
}

/// The material that a reviewer gets of an attempt.
#[derive(Clone, Copy, Debug)]
pub struct ReviewedAttempt<'a> {
    /// The attempt.
    pub trajectory: &'a Trajectory,
    /// Pictures in order of precedence; a model that does not see gets none of them.
    pub pictures: &'a [StepPicture],
    /// Pages of the book that the attempt did not receive, the nearest first.
    pub book: &'a [BookPage],
}

impl<'a> ReviewedAttempt<'a> {
    /// Returns an attempt without pictures, and without the book.
    pub fn new(trajectory: &'a Trajectory) -> Self {
        Self { trajectory, pictures: &[], book: &[] }
    }
}

/// The place of a request among those about one long attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartOfAttempt {
    /// The part, counted from 1.
    pub number: usize,
    /// Number of parts.
    pub of: usize,
    /// What was found in the earlier parts.
    pub earlier: TrajectoryReflection,
}

/// The steps of a trajectory, bounded, with the requests over which they are spread.
pub(super) struct BoundedSteps {
    steps: Vec<TrajectoryStep>,
    /// The steps of each request, by index. There is always one request.
    parts: Vec<Vec<usize>>,
}

impl BoundedSteps {
    /// Bounds the steps, with `room` tokens for each request.
    pub(super) fn of(trajectory: &Trajectory, budget: &MaterialBudget, room: u64) -> Self {
        let bound = |step| bounded_step(step, room.min(budget.tokens) / STEP_SHARE, budget.line);
        let steps: Vec<TrajectoryStep> = trajectory.steps.iter().map(bound).collect();
        let costs: Vec<u64> = steps.iter().map(cost).collect();
        let mut parts = parted(&steps, &costs, room, budget.parts);
        if parts.is_empty() {
            parts.push(Vec::new());
        }
        Self { steps, parts }
    }

    /// Returns the number of requests.
    pub(super) fn parts(&self) -> usize {
        self.parts.len()
    }

    /// Returns whether a request shows this step.
    pub(super) fn shows(&self, part: usize, step: StepId) -> bool {
        self.parts[part].iter().any(|index| self.steps[*index].id == step)
    }

    /// Returns the material of one request, counted from 0.
    pub(super) fn material(
        &self,
        reviewed: ReviewedAttempt<'_>,
        options: &ReflectOptions,
        part: usize,
        earlier: TrajectoryReflection,
    ) -> Material {
        let ReviewedAttempt { trajectory, book, .. } = reviewed;
        let kept = &self.parts[part];
        // The parts cover the attempt without gaps between them: each ends where the next one starts.
        let from = if part == 0 { 0 } else { kept[0] };
        let to = self.parts.get(part + 1).map_or(self.steps.len(), |next| next[0]);
        let last = self.steps[..to].last().map_or(StepId(0), |step| step.id);
        let is_last = part + 1 == self.parts.len();
        let of = self.parts.len();
        let received = |skill: &&RetrievedSkill| is_last || skill.step <= last;
        Material {
            schema: MATERIAL_SCHEMA.to_owned(),
            goal: BoundedText::cut(&trajectory.goal, TextBudget(MAX_GOAL_CHARS)).as_str().to_owned(),
            account: AttemptFacts::of(trajectory, options.max_learnings),
            part: (of > 1).then(|| PartOfAttempt { number: part + 1, of, earlier }),
            skills: trajectory
                .skills
                .iter()
                .filter(received)
                .take(options.budget.skills)
                .map(|skill| received_text(skill, &options.budget))
                .collect(),
            book: book.iter().take(options.pages).cloned().collect(),
            steps: kept.iter().map(|index| self.steps[*index].clone()).collect(),
            left_out: gaps(&self.steps, from..to, kept),
        }
    }
}

fn received_text(skill: &RetrievedSkill, budget: &MaterialBudget) -> ReceivedSkillText {
    ReceivedSkillText {
        id: skill.id.clone(),
        step: skill.step,
        text: BoundedText::cut(&skill.text, TextBudget(budget.skill)).as_str().to_owned(),
    }
}

/// Returns the tokens of a step as it is written in the block.
fn cost(step: &TrajectoryStep) -> u64 {
    serde_json::to_string_pretty(step).map_or(0, |text| estimated_tokens(&text))
}

/// Renders a trajectory as material for a reflector in a single request: of a long attempt, the salient steps.
pub fn material(trajectory: &Trajectory, options: &ReflectOptions) -> Material {
    whole_material(ReviewedAttempt::new(trajectory), options)
}

/// Renders an attempt as material for a single request, with the pages of the book.
pub(super) fn whole_material(reviewed: ReviewedAttempt<'_>, options: &ReflectOptions) -> Material {
    let trajectory = reviewed.trajectory;
    let budget = MaterialBudget { parts: 1, ..options.budget };
    let steps = BoundedSteps::of(trajectory, &budget, budget.tokens);
    steps.material(reviewed, &ReflectOptions { budget, ..*options }, 0, TrajectoryReflection::default())
}

/// Returns the steps within `range` that are left out, as ranges.
fn gaps(steps: &[TrajectoryStep], range: Range<usize>, kept: &[usize]) -> Vec<Gap> {
    let mut gaps: Vec<Gap> = Vec::new();
    let mut last_missing = None;
    for index in range {
        if kept.binary_search(&index).is_ok() {
            continue;
        }
        let step = &steps[index];
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

/// Bounds a step to about `tokens`: half of them for the model's words, an eighth for the answers of tools and for the
/// actions each, a quarter for what changed.
pub(crate) fn bounded_step(step: &TrajectoryStep, tokens: u64, line: usize) -> TrajectoryStep {
    let cut = |text: &String| BoundedText::cut(text, TextBudget(line)).as_str().to_owned();
    let mut shown = step.clone();
    shown.seen.title = cut(&step.seen.title);
    shown.seen.focused = step.seen.focused.as_ref().map(cut);
    shown.seen.changed = changed_lines(&step.seen.changed, tokens / 4, line);
    shown.say = words(&step.say, tokens / 2);
    shown.finish =
        step.finish.as_ref().map(|text| BoundedText::cut_to_tokens(text, tokens / 8).as_str().into());
    let answers = words(&step.tools.iter().map(|tool| tool.answer.clone()).collect::<Vec<_>>(), tokens / 8);
    shown.tools = step
        .tools
        .iter()
        .zip(answers)
        .map(|(call, answer)| ToolAnswer { answer, tool: cut(&call.tool), is_error: call.is_error })
        .collect();
    shown.actions = actions(&step.actions, tokens / 8, &cut);
    shown
}

/// Returns the texts that fit into `tokens`, in order. The first one that does not fit is cut, and the rest is left
/// out.
fn words(texts: &[String], tokens: u64) -> Vec<String> {
    let mut left = tokens;
    let mut shown = Vec::new();
    for text in texts {
        if left == 0 {
            break;
        }
        shown.push(BoundedText::cut_to_tokens(text, left).as_str().to_owned());
        left = left.saturating_sub(estimated_tokens(text));
    }
    shown
}

/// Returns the actions that fit into `tokens`, at least one, and a mark that counts the rest.
fn actions(actions: &[StepAction], tokens: u64, cut: &impl Fn(&String) -> String) -> Vec<StepAction> {
    let mut left = tokens;
    let mut shown = Vec::new();
    for action in actions {
        let action = StepAction {
            action: cut(&action.action),
            role: action.role.as_ref().map(cut),
            name: action.name.as_ref().map(cut),
            at: action.at,
            near: action.near.as_ref().map(cut),
            outcome: cut(&action.outcome),
        };
        let texts = [Some(&action.action), action.role.as_ref(), action.name.as_ref(), action.near.as_ref()];
        let cost = texts.into_iter().flatten().map(|text| estimated_tokens(text)).sum();
        match left.checked_sub(cost) {
            None if !shown.is_empty() => break,
            rest => left = rest.unwrap_or(0),
        }
        shown.push(action);
    }
    let more = actions.len() - shown.len();
    if more > 0 {
        let action = format!("[{more} more actions]");
        let outcome = "not shown".to_owned();
        shown.push(StepAction { action, role: None, name: None, at: None, near: None, outcome });
    }
    shown
}

/// Returns the changed lines that fit into `tokens`: the added lines first, and the removed lines in what they leave,
/// at least a quarter. Both show where the agent is. The first of each tells most, and is always there.
fn changed_lines(changed: &[String], tokens: u64, line: usize) -> Vec<String> {
    // The value of a field matters to its last character, an address above all. Of other text, the beginning is enough.
    let cut = |text: &String| {
        let room = if text.contains(" = ") { line } else { line / 2 };
        BoundedText::cut(text, TextBudget(room)).as_str().to_owned()
    };
    let counted: usize = changed.iter().filter_map(|line| count_of_more_lines(line)).sum();
    let listed: Vec<&String> = changed.iter().filter(|line| count_of_more_lines(line).is_none()).collect();
    let (gone, came): (Vec<String>, Vec<String>) =
        listed.iter().map(|line| cut(line)).partition(|line| line.starts_with('-'));
    let costs = |lines: &[String]| lines.iter().map(|line| estimated_tokens(line)).sum::<u64>();
    let for_gone = costs(&gone).min((tokens / 4).max(tokens.saturating_sub(costs(&came))));
    let mut shown = fitting(came, tokens.saturating_sub(for_gone));
    shown.extend(fitting(gone, for_gone));
    let more = counted + listed.len() - shown.len();
    if more > 0 {
        shown.push(more_lines_changed(more));
    }
    shown
}

/// Returns the first line, and those of the others that fit into `tokens` with it. One that does not fit is no reason to leave
/// out a shorter one.
fn fitting(lines: Vec<String>, tokens: u64) -> Vec<String> {
    let mut left = tokens;
    let fits = |(index, line): (usize, String)| match left.checked_sub(estimated_tokens(&line)) {
        Some(rest) => {
            left = rest;
            Some(line)
        }
        None if index == 0 => {
            left = 0;
            Some(line)
        }
        None => None,
    };
    lines.into_iter().enumerate().filter_map(fits).collect()
}
