//! Interrupts of a session: the first signal ends the turn, the second the session, the third the process.

use std::sync::{Arc, Mutex, PoisonError};

use tokio_util::sync::CancellationToken;

use crate::wire::{self, StopRequest};
use crate::{process_env, terminal};

/// The cancellation of a session and of its present turn.
pub(crate) struct SessionInterrupts {
    session: CancellationToken,
    turn: Mutex<CancellationToken>,
}

/// What one signal ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    Turn,
    Session,
    Process,
}

/// Decides what a signal does, from what earlier ones did. A request to terminate ends the session at once.
fn effect(request: StopRequest, turn_ended: bool, session_ended: bool) -> Effect {
    match (session_ended, request) {
        (true, _) => Effect::Process,
        (false, StopRequest::Terminate) => Effect::Session,
        (false, StopRequest::Interrupt) if turn_ended => Effect::Session,
        (false, StopRequest::Interrupt) => Effect::Turn,
    }
}

impl SessionInterrupts {
    /// Listens for signals until the process ends.
    pub(crate) fn listen() -> Arc<Self> {
        let session = CancellationToken::new();
        let turn = Mutex::new(session.child_token());
        let interrupts = Arc::new(Self { session, turn });
        let heard = Arc::clone(&interrupts);
        wire::on_stop_request(move |request| heard.handle(request));
        interrupts
    }

    /// A session that ends with others, and hears no signals itself.
    pub(crate) fn under(all: &CancellationToken) -> Arc<Self> {
        let session = all.child_token();
        let turn = Mutex::new(session.child_token());
        Arc::new(Self { session, turn })
    }

    /// Returns the token that ends the session, and with it its turn.
    pub(crate) fn session(&self) -> &CancellationToken {
        &self.session
    }

    /// Begins a turn, and returns the token that ends it.
    pub(crate) fn begin_turn(&self) -> CancellationToken {
        let token = self.session.child_token();
        *self.turn.lock().unwrap_or_else(PoisonError::into_inner) = token.clone();
        token
    }

    fn handle(&self, request: StopRequest) {
        let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match effect(request, turn.is_cancelled(), self.session.is_cancelled()) {
            Effect::Turn => {
                terminal::note(format_args!("stopping the turn; interrupt again to end the session"));
                turn.cancel();
            }
            Effect::Session => {
                terminal::note(format_args!("ending the session; interrupt again to exit at once"));
                self.session.cancel();
            }
            Effect::Process => process_env::end_now(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Effect, effect};
    use crate::wire::StopRequest::{Interrupt, Terminate};

    #[test]
    fn one_signal_ends_the_turn_two_the_session_three_the_process() {
        assert_eq!(effect(Interrupt, false, false), Effect::Turn);
        assert_eq!(effect(Interrupt, true, false), Effect::Session);
        assert_eq!(effect(Interrupt, true, true), Effect::Process);
        assert_eq!(effect(Terminate, false, false), Effect::Session);
        assert_eq!(effect(Terminate, true, true), Effect::Process);
    }
}
