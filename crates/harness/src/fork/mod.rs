//! A fork of a recorded attempt: a model that first repeats the recorded turns, so that the agent loop itself brings a
//! fresh world to the place of the fork, and then passes every request on to a live model.
//!
//! At each repeated turn and at the first live one, the screen in the request is compared with the recorded one. Where
//! they part, the attempt ends as void, before the live model is asked.

mod as_text;
mod recorded;
mod replay;
mod screen;

use std::sync::Arc;

use apprentice_protocol::{
    BoxFuture, ChatModel, ChatReply, ChatRequest, Message, ModelError, ModelErrorKind, ModelProfile,
    RawContent, ReplyStop, StepId, Timing, Usage, ViewRule,
};

pub(crate) use as_text::TURN;
pub use recorded::{ForkPoint, RecordedPicture, RecordedScreen, RecordedTurn};
pub use replay::ReplayError;
pub use screen::{COLOUR_TOLERANCE, ELEMENTS_PER_STRAY, PIXELS_PER_STRAY};

/// Where a fresh world differs from the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parting {
    /// The recorded step whose screen is not there.
    pub step: StepId,
    /// The first difference, in words.
    pub difference: String,
}

impl Parting {
    /// Tells the parting in one sentence.
    pub fn message(&self) -> String {
        format!("the fork parted at step {}: {}", self.step, self.difference)
    }
}

/// How a live model gets the turns before the fork.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PriorTurns {
    /// As its own turns, with their original blocks: it is the recorded model.
    Own,
    /// As text in the first message. A provider refuses the blocks of another model.
    AsText,
}

/// Hears of a parting, once at most per attempt.
pub type PartingListener = Arc<dyn Fn(Parting) + Send + Sync>;

/// A model that repeats recorded turns and then asks a live model. One value serves one attempt or many: the
/// request tells which turn it is.
pub struct ForkedModel {
    turns: Vec<RecordedTurn>,
    point: Arc<ForkPoint>,
    live: Arc<dyn ChatModel>,
    profile: ModelProfile,
    prior: PriorTurns,
    parted: PartingListener,
}

impl ForkedModel {
    /// Prepares the recorded turns for a live model.
    pub fn new(
        point: Arc<ForkPoint>,
        live: Arc<dyn ChatModel>,
        prior: PriorTurns,
        parted: PartingListener,
    ) -> Result<Self, ReplayError> {
        let profile = live.profile();
        let turns = point.turns.iter().cloned().map(|turn| replay::with_live_points(turn, profile));
        let turns = turns.collect::<Result<_, _>>()?;
        // A screen is compared with its record by all of its elements, and references are found again among them.
        let profile = ModelProfile { views: ViewRule::Whole, ..profile.clone() };
        Ok(Self { turns, point, live, profile, prior, parted })
    }

    async fn answer(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        let turn = request.messages.iter().filter(|one| matches!(one, Message::Assistant { .. })).count();
        if let Some(recorded) = self.turns.get(turn) {
            return self.repeat(recorded, request).await;
        }
        let repeated = self.turns.len();
        if turn == repeated {
            self.compare(self.point.step, &self.point.screen, request).await?;
        }
        match self.prior == PriorTurns::Own || repeated == 0 {
            true => self.live.reply(request).await,
            false => self.live.reply(&as_text::with_turns_as_text(request, repeated)).await,
        }
    }

    async fn repeat(&self, recorded: &RecordedTurn, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        self.compare(recorded.step, &recorded.screen, request).await?;
        let present = screen::shown(request).and_then(|shown| shown.outline());
        let calls = match replay::present_calls(recorded, present.as_ref(), self.live.profile()) {
            Ok(calls) => calls,
            Err(error) => return Err(self.part(recorded.step, error.to_string())),
        };
        let raw = match self.prior {
            PriorTurns::Own => recorded.raw.clone(),
            PriorTurns::AsText => RawContent::default(),
        };
        Ok(ChatReply {
            raw,
            say: recorded.say.clone(),
            // A recorded turn without calls was cut off: a whole one would have ended the attempt.
            stop: if calls.is_empty() { ReplyStop::MaxTokens } else { ReplyStop::Calls },
            thoughts: Vec::new(),
            calls,
            usage: Usage::default(),
            timing: Timing::default(),
            cost_usd: None,
            estimated: false,
            adapted: Vec::new(),
            provider_model: None,
        })
    }

    /// Compares the screen of a request with a recorded one.
    async fn compare(
        &self,
        step: StepId,
        recorded: &RecordedScreen,
        request: &ChatRequest,
    ) -> Result<(), ModelError> {
        let Some(shown) = screen::shown(request) else {
            return Err(self.part(step, "the request shows no screen".to_owned()));
        };
        if let Some(difference) = screen::text_difference(recorded, &shown) {
            return Err(self.part(step, difference));
        }
        let pictures = recorded.picture.as_ref().zip(shown.picture);
        let Some((before, now)) = pictures.filter(|(before, now)| before.hash != now.hash) else {
            return Ok(());
        };
        let (before, now) = (before.png.0.clone(), now.bytes.0.clone());
        let compared = tokio::task::spawn_blocking(move || screen::picture_difference(&before, &now)).await;
        match compared {
            Ok(Ok(None)) => Ok(()),
            Ok(Ok(Some(difference))) => Err(self.part(step, difference)),
            Ok(Err(error)) => Err(self.part(step, format!("a picture cannot be read: {error}"))),
            Err(error) => Err(self.part(step, format!("the pictures could not be compared: {error}"))),
        }
    }

    fn part(&self, step: StepId, difference: String) -> ModelError {
        let parting = Parting { step, difference };
        let message = parting.message();
        (self.parted)(parting);
        ModelError::never(ModelErrorKind::Replay, message)
    }
}

impl ChatModel for ForkedModel {
    fn profile(&self) -> &ModelProfile {
        &self.profile
    }

    fn reply<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        Box::pin(self.answer(request))
    }
}

#[cfg(test)]
mod tests;
