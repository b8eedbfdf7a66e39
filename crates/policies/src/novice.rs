//! The `novice` policy: presses visible controls that the task names, and follows guidance as written. It does not
//! search.

use super::actions::{dismiss, wait};
use super::control_match::MatchThreshold;
use super::executor::Executor;
use super::function_choice::FunctionChoice;
use super::goal::Goal;
use super::guidance;
use super::guidance_follower::{FollowOutcome, GuidanceFollower};
use super::page::PageAgent;
use super::policy::Move;
use super::scene::Scene;
use super::skill_lookup::SkillLookup;
use super::transcript::{Transcript, Turn};

/// The largest number of presses without guidance.
const MAX_PRESSES: u32 = 8;

/// The state of the `novice` policy in one attempt.
#[derive(Clone, Debug, Default)]
pub(super) struct Novice {
    goal: Goal,
    hands: Option<Executor>,
    functions: FunctionChoice,
    consult: SkillLookup,
    plans: Option<Vec<GuidanceFollower>>,
    presses: u32,
    leaving: u32,
    waited: u32,
}

impl Novice {
    /// Creates a novice for the transcript's instruction.
    pub(super) fn new(transcript: &Transcript) -> Self {
        Self { goal: Goal::read(&transcript.instruction), ..Self::default() }
    }

    /// Returns its decision for one turn.
    pub(super) fn turn(&mut self, transcript: &Transcript, turn: &Turn) -> Move {
        let scene = &turn.scene;
        let mut hands = self.hands.take().unwrap_or_else(|| Executor::start(&self.goal, scene));
        hands.progress.observe(scene);
        let found = self.decide(transcript, turn, &mut hands);
        self.hands = Some(hands);
        found
    }

    fn decide(&mut self, transcript: &Transcript, turn: &Turn, hands: &mut Executor) -> Move {
        let scene = &turn.scene;
        if self.waited < 4 && self.plans.is_none() && PageAgent::is_page_loading(scene) {
            self.waited += 1;
            return wait("The page is still loading.");
        }
        if hands.progress.awaits_close() {
            return wait("The dialog is about to close.");
        }
        if let Some(found) = self.functions.next(transcript, &self.goal, turn) {
            return found;
        }
        if self.plans.is_none() {
            if let Some(found) = self.consult.next(transcript, &self.goal, turn) {
                return found;
            }
            self.plans = Some(plans(&self.consult));
        }
        if let Some(found) = self.follow(scene, hands) {
            return found;
        }
        if self.presses < MAX_PRESSES
            && let Some(found) = hands.press_best(scene, MatchThreshold::Exact)
        {
            self.presses += 1;
            return found;
        }
        if !hands.progress.pending().is_empty() && self.presses == 0 && self.waited < 2 && scene.is_sparse() {
            self.waited += 1;
            return wait("Perhaps more is still to come.");
        }
        hands.finish(scene, None)
    }

    /// Returns the next action that a skill prescribes. When a skill does not apply, every surface that it opened is
    /// closed again.
    fn follow(&mut self, scene: &Scene, hands: &mut Executor) -> Option<Move> {
        if self.leaving > 0 {
            self.leaving -= 1;
            if !scene.open_menus().is_empty() || !scene.dialogs().is_empty() {
                return Some(dismiss("This is not the place.", scene));
            }
            self.leaving = 0;
        }
        let plans = self.plans.as_mut()?;
        while let Some(plan) = plans.last_mut() {
            if hands.progress.unfinished().is_empty() && plan.pressed == 0 {
                plans.pop();
                continue;
            }
            if plan.pressed == 0
                && scene.open_menus().is_empty()
                && let Some(want) = hands.progress.pending().first().copied()
                && let Some(found) =
                    hands.select_whole(scene, want).or_else(|| hands.pick_object(scene, want))
            {
                return Some(found);
            }
            match plan.next(scene, hands) {
                FollowOutcome::Act(found) => return Some(found),
                FollowOutcome::Through => {
                    plans.pop();
                    let more = !plans.is_empty();
                    let found = hands.press_best(scene, MatchThreshold::Exact);
                    if found.is_some() || !more {
                        return found;
                    }
                    self.leaving = 5;
                    return self.follow(scene, hands);
                }
                FollowOutcome::Stuck => {
                    plans.pop();
                    self.leaving = 5;
                    return self.follow(scene, hands);
                }
            }
        }
        None
    }
}

/// Returns the skills as plans; the best one is last.
fn plans(consult: &SkillLookup) -> Vec<GuidanceFollower> {
    consult.notes.iter().rev().map(|note| GuidanceFollower::new(guidance::read(&note.text))).collect()
}
