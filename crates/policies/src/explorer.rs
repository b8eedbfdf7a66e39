//! The `explorer` policy: reads skills first, presses controls that match the task, and otherwise runs a best-first
//! search over menus, dialogs, tabs and pages, remembering what it opened.

use apprentice_protocol::NodeRef;

use super::actions::{dismiss, keys, wait};
use super::control_match::{ControlMatch, MatchThreshold};
use super::executor::Executor;
use super::function_choice::FunctionChoice;
use super::goal::Goal;
use super::guidance;
use super::guidance_follower::{FollowOutcome, GuidanceFollower};
use super::page::PageAgent;
use super::policy::Move;
use super::route::Leg;
use super::scene::Scene;
use super::search::{Search, SearchContext, SearchStep};
use super::skill_lookup::SkillLookup;
use super::transcript::{Transcript, Turn};

/// Number of world actions after which it stops searching and finishes with what it has.
const MAX_ACTIONS: u32 = 33;
/// Number of world actions after which it accepts partial matches.
const ACCEPT_PARTIAL_AFTER: u32 = 26;

/// The state of the `explorer` policy in one attempt.
#[derive(Clone, Debug, Default)]
pub(super) struct Explorer {
    goal: Goal,
    hands: Option<Executor>,
    functions: FunctionChoice,
    consult: SkillLookup,
    plans: Option<Vec<GuidanceFollower>>,
    search: Search,
    searched_for: Option<usize>,
    object: Option<NodeRef>,
    leaving: u32,
    waited: u32,
    acted: u32,
    surfer: Option<PageAgent>,
}

impl Explorer {
    /// Creates an explorer for the transcript's instruction.
    pub(super) fn new(transcript: &Transcript) -> Self {
        Self { goal: Goal::read(&transcript.instruction), ..Self::default() }
    }

    /// Returns its decision for one turn.
    pub(super) fn turn(&mut self, transcript: &Transcript, turn: &Turn) -> Move {
        let scene = &turn.scene;
        self.acted += turn.actions;
        let mut hands = self.hands.take().unwrap_or_else(|| Executor::start(&self.goal, scene));
        hands.progress.observe(scene);
        self.search.observe(scene);
        let found = self.decide(transcript, turn, &mut hands);
        if let Some(pressed) = hands.progress.last.as_ref().filter(|_| !hands.progress.awaits_close()) {
            self.search.route.push(Leg::new(&pressed.label, pressed.kind));
        }
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
            let notes = self.consult.notes.iter().rev();
            self.plans = Some(notes.map(|note| GuidanceFollower::new(guidance::read(&note.text))).collect());
        }
        if let Some(found) = self.surf(transcript, turn) {
            return found;
        }
        if let Some(found) = self.follow(scene, hands) {
            return found;
        }
        if let Some(found) = hands.press_best(scene, MatchThreshold::Strict) {
            return found;
        }
        let pending = hands.progress.pending();
        if let Some(want) = pending.first().copied()
            && let Some(found) = self.look(transcript, scene, want, hands)
        {
            return found;
        }
        if !pending.is_empty() && self.acted <= self.waited && self.waited < 4 {
            self.waited += 1;
            return wait("Perhaps more is still to come.");
        }
        let missing = pending.first().and_then(|want| hands.progress.wants.get(*want));
        let missing = missing.filter(|_| !hands.progress.has_done_something());
        let reason = missing.map(|open| format!("Nothing in reach answers this: {}.", open.want.clause));
        hands.finish(scene, reason)
    }

    /// Returns its decision when a browser page is in front.
    fn surf(&mut self, transcript: &Transcript, turn: &Turn) -> Option<Move> {
        if self.surfer.is_none() && !PageAgent::handles(transcript, &turn.scene) {
            return None;
        }
        let notes: Vec<&str> = self.consult.notes.iter().map(|note| note.text.as_str()).collect();
        let surfer = self.surfer.get_or_insert_with(|| PageAgent::new(&self.goal.text, &notes));
        surfer.turn(transcript, turn, self.acted)
    }

    /// Returns the next press of the search for a sub-goal.
    fn look(
        &mut self,
        transcript: &Transcript,
        scene: &Scene,
        want: usize,
        hands: &mut Executor,
    ) -> Option<Move> {
        if self.acted >= MAX_ACTIONS {
            return None;
        }
        if self.object != hands.object {
            // The newly selected object has menus of its own.
            self.object.clone_from(&hands.object);
            self.search.restart();
        }
        if self.searched_for != Some(want) {
            let first = self.searched_for.replace(want).is_none();
            self.search.restart();
            if !first && !scene.open_menus().is_empty() {
                return Some(keys("On with the next thing.", &["escape"]));
            }
        }
        if scene.open_menus().is_empty()
            && scene.dialogs().is_empty()
            && let Some(found) = hands.select_whole(scene, want)
        {
            return Some(found);
        }
        let open = hands.progress.wants.get(want)?.clone();
        let how = SearchContext {
            browser: transcript.browser,
            late: self.acted >= ACCEPT_PARTIAL_AFTER,
            lacks_object: hands.lacks_object(&open),
        };
        match self.search.next(scene, &open, how)? {
            SearchStep::Go(found) => Some(found),
            SearchStep::Press(id) => {
                let element = scene.elements.iter().find(|element| element.id == id)?;
                let choice =
                    ControlMatch { element, label: scene.label_of(element), value: None, score: 0.0 };
                hands.press(scene, want, &choice)
            }
        }
    }

    /// Returns the next action that a skill prescribes. Surfaces that a failed skill opened are closed again.
    fn follow(&mut self, scene: &Scene, hands: &mut Executor) -> Option<Move> {
        if self.leaving > 0 {
            self.leaving -= 1;
            if !scene.open_menus().is_empty() || !scene.dialogs().is_empty() {
                return Some(dismiss("The note does not fit here.", scene));
            }
            self.leaving = 0;
        }
        let plans = self.plans.as_mut()?;
        let want = hands.progress.pending().first().copied()?;
        let plan = plans.last_mut()?;
        if plan.pressed == 0
            && scene.open_menus().is_empty()
            && let Some(found) = hands.select_whole(scene, want).or_else(|| hands.pick_object(scene, want))
        {
            return Some(found);
        }
        match plan.next(scene, hands) {
            FollowOutcome::Act(found) => Some(found),
            FollowOutcome::Through => {
                plans.pop();
                hands.press_best(scene, MatchThreshold::Partial)
            }
            FollowOutcome::Stuck => {
                plans.pop();
                self.leaving = 5;
                self.follow(scene, hands)
            }
        }
    }
}
