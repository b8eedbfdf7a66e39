//! A person as the model of a trial: each act with mouse and keyboard becomes a turn, so that a demonstration is an attempt like
//! any other, with its views, its targets and its verdict.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use apprentice_protocol::{
    Action, BoxFuture, Call, CallBody, CallId, ChatModel, ChatReply, ChatRequest, CoordinateSpace, Finish,
    HistoryRule, ImagePoint, ImageRule, Message, ModelError, ModelErrorKind, ModelProfile, RawContent,
    ReplyStop, ScreenPoint, Timing, ToolRule, Usage, ViewRule,
};

/// The name of the model that a person is.
pub const PERSON: &str = "person";

/// What persons did in trials of their own and the loop has not yet taken, by trial.
#[derive(Debug, Default)]
pub struct PersonActs(Mutex<Trials>);

/// The trials that a person can reach, each with the act that waits.
type Trials = BTreeMap<String, Option<Action<ScreenPoint>>>;

impl PersonActs {
    fn trials(&self) -> MutexGuard<'_, Trials> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a person can reach a trial.
    pub(crate) fn begin(&self, trial: &str) {
        self.trials().insert(trial.to_owned(), None);
    }

    /// Keeps an act until the loop asks for it.
    pub(crate) fn give(&self, trial: &str, action: Action<ScreenPoint>) {
        self.trials().insert(trial.to_owned(), Some(action));
    }

    /// The act that waits, if any; `None` for a trial that no person can reach.
    fn take(&self, trial: &str) -> Option<Option<Action<ScreenPoint>>> {
        self.trials().get_mut(trial).map(Option::take)
    }
}

/// The model whose turns are the acts of a person. The loop asks it only when the person has acted, or has finished.
#[derive(Debug)]
pub struct PersonModel {
    profile: ModelProfile,
    trial: String,
    acts: Arc<PersonActs>,
}

impl PersonModel {
    /// The model of a trial.
    pub fn new(acts: Arc<PersonActs>, trial: impl Into<String>) -> Self {
        let profile = ModelProfile {
            name: PERSON.into(),
            consumer: PERSON.into(),
            space: CoordinateSpace::ImagePixels,
            images: ImageRule::None,
            outline: true,
            views: ViewRule::Whole,
            history: HistoryRule::AppendOnly { max_request_bytes: 1 << 30, uploads: false, context: None },
            tools: ToolRule::Fixed,
            max_output_tokens: 4096,
        };
        Self { profile, trial: trial.into(), acts }
    }

    fn answer(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        let Some(act) = self.acts.take(&self.trial) else {
            let problem =
                "no person can reach this trial: `run`, `resume` and `tasks record` have persons as models";
            return Err(ModelError::never(ModelErrorKind::Request, problem));
        };
        let turn = request.messages.iter().filter(|one| matches!(one, Message::Assistant { .. })).count();
        let body = match act {
            Some(action) => CallBody::World { actions: vec![in_picture(action)] },
            None => CallBody::Finish(Finish::Done),
        };
        let told = serde_json::json!({ "type": "act", "body": body }).to_string();
        Ok(ChatReply {
            raw: RawContent { blocks: vec![told] },
            say: Vec::new(),
            thoughts: Vec::new(),
            calls: vec![Call { id: CallId::new(format!("act_{}", turn + 1)), body }],
            stop: ReplyStop::Calls,
            usage: Usage::default(),
            timing: Timing::default(),
            cost_usd: None,
            estimated: false,
            adapted: Vec::new(),
            provider_model: None,
        })
    }
}

/// An act on the picture as a person sees it, which has the size of the screen.
fn in_picture(action: Action<ScreenPoint>) -> Action<ImagePoint> {
    let point = |at: ScreenPoint| -> Result<ImagePoint, std::convert::Infallible> {
        Ok(ImagePoint::new(f64::from(at.x), f64::from(at.y)))
    };
    match action.try_map(&point) {
        Ok(action) => action,
        Err(never) => match never {},
    }
}

impl ChatModel for PersonModel {
    fn profile(&self) -> &ModelProfile {
        &self.profile
    }

    fn reply<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        Box::pin(std::future::ready(self.answer(request)))
    }
}
