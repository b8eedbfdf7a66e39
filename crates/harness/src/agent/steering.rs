//! Follows a person who steers the attempt: before each step of the model, the loop waits while the attempt is paused, and
//! carries out what a person who has taken over does. None of that spends the model's steps or time.

use apprentice_protocol::{
    Action, ActionOrigin, ActionOutcome, Delivery, EventKind, Image, PersonAction, PersonEvent, ScreenPoint,
    SteeringAnswer, SteeringOrder, VoidCause, Want,
};

use super::agent_loop::AgentLoop;
use super::known::{Known, Unknown};
use super::model_view::ModelView;
use super::stop::{Stop, until, world};
use super::{prompt, record};

impl AgentLoop<'_> {
    /// Carries out a person's orders until the model may go on. Returns the new view after actions of the person.
    pub(super) async fn follow_person(&mut self) -> Result<Option<ModelView>, Stop> {
        let Some(steering) = self.steering else { return Ok(None) };
        let begun = self.attempt.clock.mono();
        let mut actions = 0;
        loop {
            match until(&self.attempt.cancel, steering.next()).await? {
                SteeringOrder::Proceed => break,
                SteeringOrder::Record(event) => self.emit(EventKind::Person(event))?,
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
        match actions {
            0 => Ok(None),
            actions => self.look_after_person(actions).await.map(Some),
        }
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
            picture.as_ref().map(|image| self.sink.keep(&image.bytes.0, record::extension(image.media)));
        let act = PersonAction {
            by,
            origin: ActionOrigin::Person,
            sent,
            outcome: outcome.clone(),
            screenshot: kept.transpose()?,
        };
        self.emit(EventKind::Person(PersonEvent::Acted(Box::new(act))))?;
        Ok(SteeringAnswer { outcome: Some(outcome), picture })
    }

    async fn picture_for_person(&mut self) -> Result<Option<Image>, Stop> {
        let want = Want { screenshot: true, tree: None };
        Ok(world(&self.attempt.cancel, self.environment.observe(want)).await??.screenshot)
    }

    /// Shows the model the screen as the person left it.
    async fn look_after_person(&mut self, actions: usize) -> Result<ModelView, Stop> {
        // What the model knows of the screen is no basis for a list of changes: others made them.
        self.known = Known::Nothing(Unknown::Person);
        let sight = self.look().await?;
        let below = self.refresh(&sight)?;
        let told = prompt::person(actions);
        self.emit(EventKind::Notice { content: vec![told.clone()] })?;
        let seen = sight.contents(self.attempt.model.profile().outline);
        self.talk.instruct(told, seen, below);
        Ok(sight)
    }

    /// An attempt that a person stopped is void by that person, not by an interrupt of the process.
    pub(super) fn stopped_by_person(&self, stop: Stop) -> Stop {
        let by = self.steering.and_then(apprentice_protocol::Steering::stopped_by);
        match (stop.how, by) {
            (Err(VoidCause::Interrupted), Some(by)) => {
                Stop::void(VoidCause::StoppedByPerson, format!("{by} stopped the trial"))
            }
            _ => stop,
        }
    }
}
