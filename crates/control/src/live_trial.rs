//! One running attempt: its state for watchers, and the orders of persons for its agent loop.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use apprentice_protocol::{
    ActionDetail, ActionOutcome, ActionRecord, BlobHash, BoxFuture, Clock, EventKind, Limits, PersonEvent,
    Steering, SteeringAnswer, SteeringOrder,
};
use apprentice_trace::Redactor;
use tokio::sync::{Notify, oneshot, watch};
use tokio_util::sync::CancellationToken;

use crate::gate::{Decision, Gate, Granted, HolderRequest, Taken};
use crate::message::{Answer, Mode, OrderKind, Phase, TrialStatus};
use crate::person_model::{PERSON, PersonActs};

/// The most characters of words and acts that are kept for watchers.
const WORDS: usize = 600;

/// One picture of a screen, encoded.
#[derive(Clone, Debug)]
pub(crate) struct Shot {
    pub(crate) hash: BlobHash,
    pub(crate) media: String,
    pub(crate) bytes: Arc<[u8]>,
}

/// Where the answer to a request goes.
type Waiting = oneshot::Sender<SteeringAnswer>;

/// What is known of an attempt when it begins.
pub struct TrialStart {
    /// The trial's id.
    pub trial: String,
    /// Number of the attempt.
    pub attempt: u32,
    /// The task.
    pub task: String,
    /// The model.
    pub model: String,
    /// The arm.
    pub arm: String,
    /// The seed.
    pub seed: u32,
    /// The model's limits.
    pub limits: Limits,
    /// Measures how long it runs.
    pub clock: Arc<dyn Clock>,
    /// Removes secrets from what watchers see.
    pub redactor: Arc<Redactor>,
    /// Ends the attempt.
    pub cancel: CancellationToken,
}

/// One running attempt.
pub struct LiveTrial {
    clock: Arc<dyn Clock>,
    redactor: Arc<Redactor>,
    cancel: CancellationToken,
    began: Duration,
    state: Mutex<State>,
    /// Tells the loop of an order.
    ordered: Notify,
    /// Tells watchers of a change.
    changed: watch::Sender<u64>,
}

/// A person who is the model of the attempt.
struct OwnActs {
    acts: Arc<PersonActs>,
    /// What came of the last act, once it is known.
    outcome: Option<ActionOutcome>,
}

struct State {
    status: TrialStatus,
    gate: Gate<Waiting>,
    picture: Option<Shot>,
    /// Where the answer to the request under way goes.
    answer: Option<Waiting>,
    stopped_by: Option<String>,
    /// The person, if the model is one.
    own: Option<OwnActs>,
    /// Whether the loop waits for a person.
    at_gate: bool,
}

impl LiveTrial {
    /// An attempt that begins. Where its model is a person, `acts` takes what they do.
    pub(crate) fn new(
        start: TrialStart,
        mode: Mode,
        acts: Option<Arc<PersonActs>>,
        changed: watch::Sender<u64>,
    ) -> Self {
        let acts = acts.filter(|_| start.model == PERSON).inspect(|acts| acts.begin(&start.trial));
        let status = TrialStatus {
            trial: start.trial,
            attempt: start.attempt,
            task: start.task,
            model: start.model,
            arm: start.arm,
            seed: start.seed,
            limits: start.limits,
            ..TrialStatus::default()
        };
        let state = State {
            status,
            gate: if acts.is_some() { Gate::of_person(mode) } else { Gate::new(mode) },
            picture: None,
            answer: None,
            stopped_by: None,
            own: acts.map(|acts| OwnActs { acts, outcome: None }),
            at_gate: false,
        };
        Self {
            began: start.clock.mono(),
            clock: start.clock,
            redactor: start.redactor,
            cancel: start.cancel,
            state: Mutex::new(state),
            ordered: Notify::new(),
            changed,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self) {
        self.changed.send_modify(|version| *version += 1);
    }

    /// The token that ends the attempt when a person stops it.
    pub fn cancel(&self) -> &CancellationToken {
        &self.cancel
    }

    /// The state for watchers.
    pub fn status(&self) -> TrialStatus {
        let now = self.clock.mono();
        let state = self.state();
        let elapsed = now.saturating_sub(self.began).as_millis();
        let phase = if state.at_gate { Phase::WaitingForPerson } else { state.status.phase };
        TrialStatus {
            phase,
            mode: state.gate.mode(),
            held: state.gate.held(now),
            elapsed_ms: u64::try_from(elapsed).unwrap_or(u64::MAX),
            ..state.status.clone()
        }
    }

    /// The newest picture of the screen.
    pub(crate) fn picture(&self) -> Option<Shot> {
        self.state().picture.clone()
    }

    /// Takes an order and waits for what comes of it.
    pub(crate) async fn order(&self, by: &str, order: &OrderKind) -> Answer {
        let (answer, answered) = oneshot::channel();
        let granted = Granted { key: format!("{:032x}", rand::random::<u128>()), answer };
        let taken = self.state().gate.take(by, order, self.clock.mono(), granted);
        let done = |key| Answer::Done { key, text: None };
        let answer = match taken {
            Err(why) => return Answer::Refused { why },
            Ok(Taken::Done) => done(None),
            Ok(Taken::Leased(key)) => done(Some(key)),
            Ok(Taken::Stop) => {
                self.state().stopped_by = Some(by.to_owned());
                self.cancel.cancel();
                done(None)
            }
            Ok(Taken::Queued) => {
                self.ordered.notify_one();
                self.tell();
                return answer_of(answered.await.ok());
            }
        };
        self.ordered.notify_one();
        self.tell();
        answer
    }

    /// Follows an event of the attempt.
    pub(crate) fn follow(&self, event: &EventKind) {
        {
            let mut state = self.state();
            let State { status, own, .. } = &mut *state;
            let mut own = own.as_mut();
            match event {
                EventKind::ModelAsked { .. } => status.phase = Phase::WaitingForModel,
                EventKind::Observed { .. } => status.phase = Phase::Acting,
                EventKind::ModelReplied { say, usage, cost_usd, .. } => {
                    status.phase = Phase::Acting;
                    status.turns += 1;
                    status.tokens += usage.input + usage.output;
                    if let Some(cost) = cost_usd {
                        *status.cost_usd.get_or_insert(0.0) += cost;
                    }
                    if let Some(words) = say.iter().rev().find(|words| !words.trim().is_empty()) {
                        status.say = Some(self.shown(words));
                    }
                }
                EventKind::Action(record) => {
                    if let Some(own) = &mut own {
                        own.outcome = Some(record.outcome.clone());
                    }
                    status.world_steps += u32::from(counts(record));
                    status.last_act = Some(self.shown(&in_words(record)));
                }
                EventKind::Person(person) => {
                    status.person_actions += u32::from(matches!(person, PersonEvent::Acted(_)));
                    status.last_act = Some(self.shown(&person.in_words()));
                }
                EventKind::Stopped { .. } => status.phase = Phase::Judging,
                _ => return,
            }
        }
        self.tell();
    }

    /// Takes a new picture of the screen.
    pub(crate) fn show(&self, picture: Shot) {
        {
            let mut state = self.state();
            if state.picture.as_ref().is_some_and(|known| known.hash == picture.hash) {
                return;
            }
            state.picture = Some(picture);
            state.status.picture += 1;
        }
        self.tell();
    }

    fn shown(&self, words: &str) -> String {
        let clean = self.redactor.apply(words);
        match clean.char_indices().nth(WORDS) {
            Some((end, _)) => format!("{}…", &clean[..end]),
            None => clean.into_owned(),
        }
    }

    /// Tells the person who is the model what came of their last act: the loop has seen it, and asks for the next.
    fn answer_own_act(&self) {
        let mut state = self.state();
        let outcome = state.own.as_mut().and_then(|own| own.outcome.take());
        if let Some((outcome, waiting)) = outcome.and_then(|outcome| Some((outcome, state.answer.take()?))) {
            // Whoever asked may have left.
            let _ = waiting.send(SteeringAnswer { outcome: Some(outcome), picture: None });
        }
    }

    /// Hands the act of a person to the loop: as an order, or as the turn of a model that is a person.
    fn order_of(&self, request: HolderRequest, answer: Waiting) -> SteeringOrder {
        let mut state = self.state();
        state.answer = Some(answer);
        match (request, &state.own) {
            (HolderRequest::Look, _) => SteeringOrder::Look,
            (HolderRequest::Act { action, .. }, Some(own)) => {
                own.acts.give(&state.status.trial, *action);
                SteeringOrder::Proceed
            }
            (HolderRequest::Act { by, action }, None) => SteeringOrder::Act { by, action },
        }
    }

    async fn next_order(&self) -> SteeringOrder {
        self.answer_own_act();
        loop {
            let decision = {
                let mut state = self.state();
                let decision = state.gate.decide(self.clock.mono());
                state.at_gate = matches!(decision, Decision::Wait(_));
                decision
            };
            let wait = match decision {
                Decision::Proceed => return SteeringOrder::Proceed,
                Decision::Record(event) => return SteeringOrder::Record(event),
                Decision::Perform(request, answer) => return self.order_of(request, answer),
                Decision::Wait(wait) => wait,
            };
            self.tell();
            // An order that came since the decision left its permit.
            let ordered = self.ordered.notified();
            match wait {
                None => ordered.await,
                Some(most) => drop(tokio::time::timeout(most, ordered).await),
            }
            self.state().at_gate = false;
        }
    }
}

impl Steering for LiveTrial {
    fn next(&self) -> BoxFuture<'_, SteeringOrder> {
        Box::pin(self.next_order())
    }

    fn answer(&self, answer: SteeringAnswer) {
        if let Some(picture) = &answer.picture {
            let media = serde_json::to_value(picture.media).ok();
            let media = media.and_then(|media| media.as_str().map(str::to_owned)).unwrap_or_default();
            self.show(Shot { hash: picture.hash.clone(), media, bytes: (*picture.bytes.0).into() });
        }
        if let Some(waiting) = self.state().answer.take() {
            // Whoever asked may have left.
            let _ = waiting.send(answer);
        }
    }

    fn stopped_by(&self) -> Option<String> {
        self.state().stopped_by.clone()
    }
}

fn answer_of(answered: Option<SteeringAnswer>) -> Answer {
    let why = match answered.map(|answer| answer.outcome) {
        Some(None) => return Answer::Done { key: None, text: None },
        Some(Some(ActionOutcome::Done { text })) => return Answer::Done { key: None, text },
        Some(Some(ActionOutcome::Failed { problem })) => problem,
        Some(Some(ActionOutcome::NotExecuted)) => "the action was not performed".to_owned(),
        None => "nothing was done: the trial ended, or the lease did".to_owned(),
    };
    Answer::Refused { why }
}

/// Returns whether an action was one in the world, and not a look or a wait.
fn counts(record: &ActionRecord) -> bool {
    use apprentice_protocol::Action;
    let is_look = matches!(
        record.asked,
        Action::Screenshot | Action::Zoom { .. } | Action::Wait { .. } | Action::Read { .. }
    );
    !is_look && record.sent.is_some() && !matches!(record.outcome, ActionOutcome::NotExecuted)
}

/// An act in one line, with its target and why it failed.
fn in_words(record: &ActionRecord) -> String {
    let mut words = record.asked.text(ActionDetail::Line);
    for part in
        [&record.target_role, &record.target_name].into_iter().flatten().filter(|part| !part.is_empty())
    {
        words = words + " " + part;
    }
    match &record.outcome {
        ActionOutcome::Done { .. } => words,
        ActionOutcome::Failed { problem } => format!("{words}: {problem}"),
        ActionOutcome::NotExecuted => format!("{words}: not executed"),
    }
}
