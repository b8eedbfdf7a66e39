//! Follows a person who steers the attempt: before each step of the model, the loop waits while the attempt is paused, and
//! carries out what a person who has taken over does. None of that spends the model's steps or time.

use apprentice_protocol::{
    Action, ActionOrigin, ActionOutcome, Delivery, Environment, EventKind, Image, PersonAction, PersonEvent,
    ScreenPoint, Steering, SteeringAnswer, SteeringOrder, VoidCause, Want,
};

use crate::agent::attempt::AttemptInput;
use crate::agent::budget::Budget;
use crate::agent::journal::Journal;
use crate::agent::record;
use crate::agent::stop::{Stop, until, world};

/// The stage in which a person holds the attempt: it may use the world and write the trace, and the time is not the
/// model's.
pub(crate) struct Person<'r, 'a> {
    pub(crate) steering: &'a dyn Steering,
    pub(crate) attempt: &'r AttemptInput<'a>,
    pub(crate) environment: &'r mut dyn Environment,
    pub(crate) journal: &'r mut Journal<'a>,
    pub(crate) budget: &'r mut Budget<'a>,
}

impl Person<'_, '_> {
    /// Carries out the person's orders until the model may go on. Returns the number of actions.
    pub(crate) async fn follow(&mut self) -> Result<usize, Stop> {
        let steering = self.steering;
        let begun = self.attempt.clock.mono();
        let mut actions = 0;
        loop {
            match until(&self.attempt.cancel, steering.next()).await? {
                SteeringOrder::Proceed => break,
                SteeringOrder::Record(event) => self.journal.emit(EventKind::Person(event))?,
                SteeringOrder::Look => {
                    let picture = self.picture_for_person().await?;
                    steering.answer(SteeringAnswer { outcome: None, picture });
                }
                SteeringOrder::Act { by, action } => {
                    actions += 1;
                    let answer = self.act_for_person(by, *action).await?;
                    steering.answer(answer);
                }
            }
        }
        self.budget.count_wait(self.attempt.clock.mono().saturating_sub(begun));
        Ok(actions)
    }

    /// Performs and records one action of the person. A world that is lost ends the attempt; a refusal is an answer.
    async fn act_for_person(
        &mut self,
        by: String,
        sent: Action<ScreenPoint>,
    ) -> Result<SteeringAnswer, Stop> {
        let report = world(&self.attempt.cancel, self.environment.act(&sent)).await??;
        let outcome = match report.delivery {
            Delivery::Delivered => ActionOutcome::Done { text: report.text },
            Delivery::Refused { problem } => ActionOutcome::Failed { problem },
        };
        let picture = self.picture_for_person().await?;
        let kept =
            picture.as_ref().map(|image| self.journal.keep(&image.bytes.0, record::extension(image.media)));
        let act = PersonAction {
            by,
            origin: ActionOrigin::Person,
            sent,
            outcome: outcome.clone(),
            screenshot: kept.transpose()?,
        };
        self.journal.emit(EventKind::Person(PersonEvent::Acted(Box::new(act))))?;
        Ok(SteeringAnswer { outcome: Some(outcome), picture })
    }

    async fn picture_for_person(&mut self) -> Result<Option<Image>, Stop> {
        let want = Want { screenshot: true, tree: None };
        Ok(world(&self.attempt.cancel, self.environment.observe(want)).await??.screenshot)
    }
}

/// An attempt that a person stopped is void by that person, not by an interrupt of the process.
pub(crate) fn stopped_by_person(stop: Stop, steering: Option<&dyn Steering>) -> Stop {
    let by = steering.and_then(Steering::stopped_by);
    match (stop.how, by) {
        (Err(VoidCause::Interrupted), Some(by)) => {
            Stop::void(VoidCause::StoppedByPerson, format!("{by} stopped the trial"))
        }
        _ => stop,
    }
}
