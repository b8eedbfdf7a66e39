//! Attaches the figures that a learning asks for to the skill that was written from it. Whoever has the attempt's pictures
//! cuts them; the gateway checks them like every figure.

use apprentice_protocol::SkillId;
use apprentice_skillbook::review::{Learning, LearningFigure};
use apprentice_skillbook::{Actor, Cause, FigureWrite, Gateway, NewFigure, Stage, WriteRefusal};

use crate::apply_reviews::{LearningInput, Refusal};
use crate::manage::{Decision, ItemOutcome};

/// Attaches the figures of a learning to the skill that the decision wrote. A figure that is refused is recorded, and the
/// skill stays as it is. Repeated calls attach each figure once.
pub(crate) async fn attach_figures(
    gateway: &mut Gateway,
    input: &LearningInput<'_>,
    index: usize,
    learning: &Learning,
    decision: &Decision,
) -> Result<Vec<Refusal>, WriteRefusal> {
    let mut refusals = Vec::new();
    let skill = match learning.figures() {
        [] => return Ok(refusals),
        _ => written_skill(gateway, decision),
    };
    for (number, figure) in learning.figures().iter().enumerate() {
        let item = format!("figure:{index}:{number}");
        let cause = Cause { trajectory: input.trajectory.id.clone(), item, stage: Stage::Manage };
        if gateway.state().causes.contains_key(&cause) {
            continue;
        }
        let mut refuse = |(code, why): (&str, String)| {
            let (code, why) = (code.to_owned(), format!("the figure of {}: {why}", figure.step));
            refusals.push(Refusal { skill: skill.clone(), code, why });
        };
        let Some(skill) = skill.clone() else {
            refuse(("no_skill", "no page was written that could hold it".to_owned()));
            continue;
        };
        match cut(input, figure) {
            Err(problem) => refuse(problem),
            Ok(new) => match attach(gateway, figure_write(input, cause, skill, figure, new)).await {
                Ok(()) => {}
                Err(WriteRefusal::Refused { code, why }) => refuse((code, why)),
                Err(failed @ WriteRefusal::Book(_)) => return Err(failed),
            },
        }
    }
    Ok(refusals)
}

/// Returns the skill that a decision wrote, also if it was made before an interruption.
fn written_skill(gateway: &Gateway, decision: &Decision) -> Option<SkillId> {
    match &decision.outcome {
        ItemOutcome::Wrote { skill_id, .. } => skill_id.clone(),
        ItemOutcome::DecidedBefore { operation } => {
            let skills = gateway.state().skills.values();
            let mut by = skills.filter(|skill| skill.history.contains(operation));
            by.next().map(|skill| skill.id.clone())
        }
        ItemOutcome::Proposed { .. } | ItemOutcome::Nothing { .. } => None,
    }
}

fn cut(input: &LearningInput<'_>, figure: &LearningFigure) -> Result<NewFigure, (&'static str, String)> {
    if !input.trajectory.steps.iter().any(|step| step.id == figure.step) {
        return Err(("unknown_step", "the attempt has no such step".to_owned()));
    }
    let missing = || ("no_picture", "the attempt's pictures are not at hand".to_owned());
    input.figures.ok_or_else(missing)?.cut(figure)
}

/// Returns the write that adds a figure below the step of the guidance that the learning names.
fn figure_write(
    input: &LearningInput<'_>,
    cause: Cause,
    skill: SkillId,
    requested: &LearningFigure,
    figure: NewFigure,
) -> FigureWrite {
    let (actor, time, step) = (Actor::Manager, input.time, requested.guidance_step);
    FigureWrite { actor, time, cause: Some(cause), skill, step, figure }
}

/// Adds a figure below its step of the guidance, or below the last if the page has no such step.
async fn attach(gateway: &mut Gateway, write: FigureWrite) -> Result<(), WriteRefusal> {
    gateway.read_figure(&write).await;
    match gateway.add_figure(write.clone()) {
        Err(WriteRefusal::Refused { code: "no_step", .. }) => {
            let below_last = FigureWrite { step: None, ..write };
            gateway.read_figure(&below_last).await;
            gateway.add_figure(below_last).map(|_| ())
        }
        other => other.map(|_| ()),
    }
}
