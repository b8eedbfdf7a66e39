//! Replays the functions of a page in a program that was just started, with the arguments of their own examples.
//!
//! No task judges it, so that an end without a stop says that every element was found and took its act, and no more.

use std::sync::Arc;
use std::time::Duration;

use apprentice_functions::{Source, Surface};
use apprentice_protocol::{
    Action, ChangeWait, Clock, Delivery, FunctionAnswer, FunctionEnd, FunctionRequest, ImagePoint,
    Observation, Size, TreeBudget, View, Want, Why, World, WorldError,
};
use apprentice_skillbook::SkillFunction;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The longest that one function may run. Its own calls wait 5 s at most each.
const FUNCTION_DEADLINE: Duration = Duration::from_mins(1);
/// Time between two looks at a world that no event tells of changes.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// What was found of one function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FunctionCheck {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: u32,
    /// The arguments of the replay: those of its example.
    pub arguments: Value,
    /// What was found.
    #[serde(flatten)]
    pub finding: FunctionFinding,
}

/// What was found of a function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "finding", rename_all = "snake_case")]
pub enum FunctionFinding {
    /// It ran to its end.
    Holds {
        /// The number of its acts.
        acts: u32,
    },
    /// It stopped, and the program has another release than the page was written with.
    NoLongerHolds {
        /// The line at which it stopped, from 1.
        line: u32,
        /// The call that could not be done, with the reason.
        why: String,
    },
    /// It was not replayed, or what stopped it can be what the world lacks.
    NotChecked {
        /// The reason.
        why: String,
    },
}

/// How a replay ended.
pub(super) enum Ended {
    /// At its end, after so many acts.
    Returned(u32),
    /// At a line.
    Stopped { line: u32, why: String },
    /// Not begun, or not finished in time.
    Not(String),
}

/// A function that is ready to be replayed on a desktop; `Err` says why it is not.
pub(super) fn ready(function: &SkillFunction) -> Result<Source, String> {
    let source = Source::read(&function.source, &[]).map_err(|violations| {
        let first = violations.first().map_or_else(String::new, ToString::to_string);
        format!("its source breaks a rule: {first}")
    })?;
    match source.signature().surface {
        Surface::Desktop => Ok(source),
        Surface::Page => {
            Err("it acts in a page, and a page needs a task that opens one: `apprentice functions \
                              admit` replays it there"
                .to_owned())
        }
    }
}

/// Runs a function in a world until it ends.
///
/// # Errors
/// The world was lost.
pub(super) async fn run(source: &Source, world: &mut World, clock: &dyn Clock) -> Result<Ended, WorldError> {
    let mut function = match source.start(&source.example()) {
        Ok(function) => function,
        Err(error) => return Ok(Ended::Not(format!("the call of its example does not fit it: {error}"))),
    };
    let begun = clock.mono();
    let (mut answer, mut acts, mut looked_at) = (FunctionAnswer::Begin, 0, begun);
    loop {
        let left = FUNCTION_DEADLINE.saturating_sub(clock.mono().saturating_sub(begun));
        let Ok(request) = tokio::time::timeout(left, function.next(answer)).await else {
            return Ok(Ended::Not(format!("it took longer than {} s", FUNCTION_DEADLINE.as_secs())));
        };
        answer = match request {
            FunctionRequest::Observe => {
                looked_at = clock.mono();
                let want = Want { screenshot: false, tree: Some(TreeBudget::default()) };
                FunctionAnswer::Seen(Arc::<Observation>::new(world.environment.observe(want).await?))
            }
            FunctionRequest::AwaitChange(cap) => {
                if world.environment.await_change(cap.min(left)).await? == ChangeWait::Untold {
                    clock.pause(cap.min(left).min(POLL_INTERVAL), Why::PollFloor).await;
                }
                FunctionAnswer::Waited(clock.mono().saturating_sub(looked_at))
            }
            FunctionRequest::Act { action, .. } => {
                acts += 1;
                done(*action, world).await?
            }
            FunctionRequest::End(FunctionEnd::Returned { .. }) => return Ok(Ended::Returned(acts)),
            FunctionRequest::End(FunctionEnd::Stopped(failure)) => {
                let why = match failure.act.is_empty() {
                    true => failure.reason,
                    false => format!("{}: {}", failure.act, failure.reason),
                };
                return Ok(Ended::Stopped { line: failure.line, why });
            }
            FunctionRequest::End(FunctionEnd::Interrupted) => {
                return Ok(Ended::Not("it was interrupted".to_owned()));
            }
        };
    }
}

/// Carries out one act. It names elements, never points, so that the size of the picture does not matter.
async fn done(action: Action<ImagePoint>, world: &mut World) -> Result<FunctionAnswer, WorldError> {
    let sent = match action.to_screen(&View::whole(Size::new(1, 1))) {
        Ok(sent) => sent,
        Err(outside) => return Ok(FunctionAnswer::Refused(outside.to_string())),
    };
    Ok(match world.environment.act(&sent).await?.delivery {
        Delivery::Delivered => FunctionAnswer::Acted,
        Delivery::Refused { problem } => FunctionAnswer::Refused(problem),
    })
}
