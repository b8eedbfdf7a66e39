//! Dispatches a request to acting, reviewing or skillbook maintenance, based on its tools, its schema and its material.

use apprentice_protocol::ChatRequest;

use super::agent::Agent;
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
    let mut agent = Agent::new(policy, &transcript);
    let last = transcript.turns.iter().map(|turn| agent.turn(&transcript, turn)).last();
    last.unwrap_or_else(|| Move::Say("There is nothing to see.".into()))
}
