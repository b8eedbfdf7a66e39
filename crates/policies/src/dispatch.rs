//! Dispatches a request to acting, reviewing or skillbook maintenance, based on its tools, its schema and the words of
//! its prompt.

use apprentice_protocol::ChatRequest;

use super::explorer::Explorer;
use super::label_follower::LabelFollower;
use super::novice::Novice;
use super::policy::{Move, Policy};
use super::transcript::Transcript;
use super::{reflect, skill_manager};

/// Answers a request as the policy would.
pub(super) fn answer(policy: Policy, request: &ChatRequest) -> Move {
    if request.tools.iter().any(|tool| tool.name == skill_manager::READING_TOOL) {
        return skill_manager::answer(request);
    }
    reflect::answer(request).unwrap_or_else(|| act(policy, request))
}

/// Replays a policy over all turns of the conversation; its last decision is the answer.
fn act(policy: Policy, request: &ChatRequest) -> Move {
    let transcript = Transcript::read(request);
    let mut turns = transcript.turns.iter();
    let mut step: Box<dyn FnMut(&super::transcript::Turn) -> Move> = match policy {
        Policy::Explorer => {
            let mut explorer = Explorer::new(&transcript);
            let transcript = &transcript;
            Box::new(move |turn| explorer.turn(transcript, turn))
        }
        Policy::Novice => {
            let mut novice = Novice::new(&transcript);
            let transcript = &transcript;
            Box::new(move |turn| novice.turn(transcript, turn))
        }
        Policy::LabelFollower => {
            let mut literalist = LabelFollower::new(&transcript);
            let transcript = &transcript;
            Box::new(move |turn| literalist.turn(transcript, turn))
        }
    };
    let mut last = Move::Say("There is nothing to see.".into());
    for turn in turns.by_ref() {
        last = step(turn);
    }
    last
}
