//! The [`Environment`] of a machine: each action is one command there, and the screen settles before an observation.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use apprentice_protocol::{
    ActReport, Action, BoxFuture, Clock, Environment, Image, Machine, MachineError, NodeRef, Observation,
    ScreenPoint, Size, Target, TreeBudget, Want, Why, WorldError, WorldErrorKind,
};

use super::machine::VmMachine;
use super::pool::Lease;
use super::pyautogui;
use super::script::Script;
use super::server::Server;
use super::tree::ElementRefs;
use super::typing;

/// Deadline for an action, the same as in OSWorld's own harness.
const ACTION: Duration = Duration::from_secs(90);
/// Longest wait for the screen to settle after an action.
const SETTLE_LIMIT: Duration = Duration::from_secs(3);
/// Longest wait for the programs to rest before the first view: an office suite draws its window long before its toolbars.
const FIRST_REST: Duration = Duration::from_secs(15);
/// Waits on the machine until its programs rest.
const REST: &str = include_str!("rest.py");
/// Shortest pause between two screenshots of a changing screen.
const POLL_FLOOR: Duration = Duration::from_millis(100);

/// A machine that an agent works on.
pub(super) struct VmEnvironment {
    pub(super) server: Arc<Server>,
    pub(super) machine: Arc<VmMachine>,
    pub(super) names: Arc<Mutex<ElementRefs>>,
    pub(super) screen: Size,
    pub(super) clock: Arc<dyn Clock>,
    /// Time of the last action, until the screen has settled.
    pub(super) disturbed: Option<Duration>,
    /// Whether nothing was looked at since the setup.
    pub(super) is_new: bool,
    pub(super) lease: Lease,
}

impl VmEnvironment {
    /// Why a click is refused: its element is disabled. A tree that says so is read again, because it may be old.
    async fn refusal(&self, action: &Action<ScreenPoint>) -> Result<Option<String>, WorldError> {
        let Action::Click { at: Target::Ref(node), .. } = action else { return Ok(None) };
        if self.disabled(node).is_none() {
            return Ok(None);
        }
        self.machine.tree(&TreeBudget::default()).await.map_err(|error| lost(&error))?;
        Ok(self.disabled(node))
    }

    fn disabled(&self, node: &NodeRef) -> Option<String> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner).disabled(node)
    }

    async fn perform(&mut self, action: &Action<ScreenPoint>) -> Result<ActReport, WorldError> {
        if let Some(problem) = self.refusal(action).await? {
            return Ok(ActReport::refused(problem));
        }
        let script = {
            let names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
            pyautogui::script(action, self.screen, &|node| names.find(node))
        };
        let (code, remapped, untyped) = match script {
            Ok(Script::Nothing) => return Ok(ActReport::delivered()),
            Ok(Script::Line { code, remapped, untyped }) => (code, remapped, untyped),
            Err(problem) => return Ok(ActReport::refused(problem)),
        };
        self.disturbed = Some(self.clock.mono());
        let words = ["python".to_owned(), "-c".to_owned(), code];
        let done = self.server.execute(&words, ACTION).await.map_err(|error| input(&error))?;
        if done.returncode != 0 {
            let last = done.error.trim().lines().last().unwrap_or_default();
            let story = format!("python on the machine could not perform the action: {last}");
            return Err(WorldError::new(WorldErrorKind::Input, story));
        }
        let text = typing::untyped_report(&untyped, &remapped, &done.output);
        Ok(ActReport { text, ..ActReport::delivered() })
    }

    /// Returns a screenshot once two consecutive ones are equal, or after the longest wait.
    async fn settled_picture(&mut self) -> Result<Image, WorldError> {
        let mut picture = self.server.screenshot().await.map_err(|error| lost(&error))?;
        let Some(disturbed) = self.disturbed.take() else { return Ok(picture) };
        while self.clock.mono().saturating_sub(disturbed) < SETTLE_LIMIT {
            self.clock.pause(POLL_FLOOR, Why::PollFloor).await;
            let next = self.server.screenshot().await.map_err(|error| lost(&error))?;
            let rests = next.hash == picture.hash;
            picture = next;
            if rests {
                break;
            }
        }
        Ok(picture)
    }

    /// Waits until what the setup started rests, as programs of a cell do before the first view.
    async fn await_rest(&mut self) -> Result<(), WorldError> {
        let limit = FIRST_REST.as_secs().to_string();
        let words = ["python".to_owned(), "-c".to_owned(), REST.to_owned(), limit];
        let done = self.server.execute(&words, ACTION).await.map_err(|error| lost(&error))?;
        if done.returncode != 0 {
            let last = done.error.trim().lines().last().unwrap_or_default();
            let story = format!("python on the machine could not see whether its programs rest: {last}");
            return Err(WorldError::new(WorldErrorKind::Lost, story));
        }
        self.disturbed = Some(self.clock.mono());
        Ok(())
    }

    async fn look(&mut self, want: Want) -> Result<Observation, WorldError> {
        if std::mem::take(&mut self.is_new) {
            self.await_rest().await?;
        }
        // Before the screen has settled, a tree would be useless too.
        let screenshot = if want.screenshot || self.disturbed.is_some() {
            Some(self.settled_picture().await?).filter(|_| want.screenshot)
        } else {
            None
        };
        let windows = self.machine.windows().await.map_err(|error| lost(&error))?;
        let tree = match want.tree {
            Some(budget) => Some(self.machine.tree(&budget).await.map_err(|error| lost(&error))?),
            None => None,
        };
        Ok(Observation { screenshot, tree, windows, ..Observation::default() })
    }
}

fn lost(error: &MachineError) -> WorldError {
    let fault = match error {
        MachineError::MissingProgram(_) => WorldErrorKind::MissingProgram,
        MachineError::Unsupported(_)
        | MachineError::NotFound(_)
        | MachineError::Refused { .. }
        | MachineError::Lost(_)
        | MachineError::TimedOut(_) => WorldErrorKind::Lost,
    };
    WorldError::new(fault, error.to_string())
}

/// Converts the failure of an action: the machine is lost, or only the input failed.
fn input(error: &MachineError) -> WorldError {
    match error {
        MachineError::Refused { .. } | MachineError::TimedOut(_) => {
            WorldError::new(WorldErrorKind::Input, error.to_string())
        }
        MachineError::Unsupported(_)
        | MachineError::NotFound(_)
        | MachineError::MissingProgram(_)
        | MachineError::Lost(_) => lost(error),
    }
}

impl Environment for VmEnvironment {
    fn observe(&mut self, want: Want) -> BoxFuture<'_, Result<Observation, WorldError>> {
        Box::pin(self.look(want))
    }

    fn act<'a>(
        &'a mut self,
        action: &'a Action<ScreenPoint>,
    ) -> BoxFuture<'a, Result<ActReport, WorldError>> {
        Box::pin(self.perform(action))
    }

    fn close(self: Box<Self>, deadline: Duration) -> BoxFuture<'static, Result<(), WorldError>> {
        Box::pin(async move { self.lease.end(deadline).await })
    }
}
