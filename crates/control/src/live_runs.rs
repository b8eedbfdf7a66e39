//! What a process runs: its trials, and how far its run is.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use apprentice_protocol::{ResourceUsage, Verdict};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::live_trial::{LiveTrial, Shot, TrialStart};
use crate::message::{Answer, Mode, Order, OrderKind, ProcessStatus};
use crate::person_model::PersonActs;

/// The most characters of a name that a client gives itself.
const NAME: usize = 60;

/// What a process runs. Cheap to make; without [`crate::serve`] nobody sees it.
#[derive(Default)]
pub struct LiveRuns {
    state: Mutex<State>,
    changed: watch::Sender<u64>,
}

#[derive(Default)]
struct State {
    status: ProcessStatus,
    trials: BTreeMap<String, Arc<LiveTrial>>,
    /// Takes what persons do in trials whose model they are.
    acts: Option<Arc<PersonActs>>,
    /// Ends all that the process runs.
    cancel: Option<CancellationToken>,
}

/// What a finished attempt came to.
#[derive(Clone, Copy, Debug)]
pub struct RunProgressNote {
    /// Its verdict.
    pub verdict: Verdict,
    /// What it used.
    pub spent: ResourceUsage,
}

/// A running trial in the list of its process. Dropping it takes the trial off the list.
pub struct LiveEntry {
    runs: Arc<LiveRuns>,
    trial: Arc<LiveTrial>,
    key: String,
}

impl LiveEntry {
    /// The trial.
    pub fn trial(&self) -> &LiveTrial {
        &self.trial
    }
}

impl Drop for LiveEntry {
    fn drop(&mut self) {
        self.runs.state().trials.remove(&self.key);
        self.runs.tell();
    }
}

impl LiveRuns {
    /// What a process of this command runs; cancelling the token ends it.
    pub fn of_command(command: &str, cancel: CancellationToken) -> Arc<Self> {
        let runs = Self::default();
        {
            let mut state = runs.state();
            state.status.command = command.to_owned();
            state.status.process = std::process::id();
            state.cancel = Some(cancel);
        }
        Arc::new(runs)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self) {
        self.changed.send_modify(|version| *version += 1);
    }

    /// Has persons be the model of the trials that name [`crate::PERSON`] as theirs.
    pub fn take_acts(&self, acts: Arc<PersonActs>) {
        self.state().acts = Some(acts);
    }

    /// Learns of changes: the number grows with each.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Notes that a plan begins.
    pub fn plan(&self, folder: &Path, planned: usize) {
        {
            let mut state = self.state();
            let (process, command) = (state.status.process, state.status.command.clone());
            let (tokens, cost_usd) = (state.status.tokens, state.status.cost_usd);
            let paused = state.status.paused;
            let folder =
                Some(folder.canonicalize().unwrap_or_else(|_| folder.to_owned()).display().to_string());
            state.status = ProcessStatus {
                process,
                command,
                folder,
                planned,
                tokens,
                cost_usd,
                paused,
                ..ProcessStatus::default()
            };
        }
        self.tell();
    }

    /// Notes that an attempt finished.
    pub fn finished(&self, note: RunProgressNote) {
        {
            let mut state = self.state();
            state.status.count(note.verdict);
            state.status.tokens += note.spent.tokens.input + note.spent.tokens.output;
            if let Some(cost) = note.spent.cost_usd {
                *state.status.cost_usd.get_or_insert(0.0) += cost;
            }
        }
        self.tell();
    }

    /// Puts an attempt on the list for as long as the returned entry lives.
    pub fn begin(self: &Arc<Self>, start: TrialStart) -> LiveEntry {
        let key = start.trial.clone();
        let trial = {
            let mut state = self.state();
            let mode = if state.status.paused { Mode::Paused } else { Mode::Running };
            let acts = state.acts.clone();
            let trial = Arc::new(LiveTrial::new(start, mode, acts, self.changed.clone()));
            state.trials.insert(key.clone(), Arc::clone(&trial));
            trial
        };
        self.tell();
        LiveEntry { runs: Arc::clone(self), trial, key }
    }

    /// What runs now.
    pub fn status(&self) -> ProcessStatus {
        let (status, trials) = {
            let state = self.state();
            (state.status.clone(), state.trials.values().cloned().collect::<Vec<_>>())
        };
        ProcessStatus { trials: trials.iter().map(|trial| trial.status()).collect(), ..status }
    }

    fn trial(&self, id: &str) -> Option<Arc<LiveTrial>> {
        self.state().trials.get(id).cloned()
    }

    /// The newest picture of a trial's screen.
    pub(crate) fn picture(&self, trial: &str) -> Option<Shot> {
        self.trial(trial)?.picture()
    }

    /// Carries out an order.
    pub(crate) async fn order(&self, order: &Order) -> Answer {
        let by: String = order.by.chars().filter(|c| !c.is_control()).take(NAME).collect();
        let by = if by.trim().is_empty() { "somebody".to_owned() } else { by };
        match &order.trial {
            Some(id) => match self.trial(id) {
                Some(trial) => trial.order(&by, &order.order).await,
                None => Answer::Refused { why: format!("the trial {id} does not run any more") },
            },
            None => self.order_all(&by, &order.order).await,
        }
    }

    async fn order_all(&self, by: &str, order: &OrderKind) -> Answer {
        match order {
            OrderKind::Pause | OrderKind::Continue | OrderKind::Step => {
                self.state().status.paused = !matches!(order, OrderKind::Continue);
                let trials: Vec<_> = self.state().trials.values().cloned().collect();
                let mut refusal = None;
                for trial in trials {
                    if let Answer::Refused { why } = trial.order(by, order).await {
                        refusal = Some(Answer::Refused { why });
                    }
                }
                self.tell();
                refusal.unwrap_or(Answer::Done { key: None, text: None })
            }
            OrderKind::Stop => match self.state().cancel.clone() {
                Some(cancel) => {
                    cancel.cancel();
                    Answer::Done { key: None, text: None }
                }
                None => Answer::Refused { why: "this process cannot be stopped over its socket".to_owned() },
            },
            _ => Answer::Refused { why: "name the trial to take over".to_owned() },
        }
    }
}
