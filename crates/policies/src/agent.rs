//! The acting policies, turn by turn. Both read skills first and follow them, then press what the task names and the screen
//! shows; `explorer` searches for the rest.

use apprentice_protocol::NodeRef;

use super::actions::{clicks, dismiss, wait};
use super::follow::{Followed, Follower};
use super::function_choice::FunctionChoice;
use super::goal::Goal;
use super::guidance;
use super::hands::{Care, Hands};
use super::policy::{Move, Policy};
use super::route::Leg;
use super::scene::Scene;
use super::search::{Hunt, Search, SearchStep};
use super::skill_lookup::SkillLookup;
use super::transcript::{Transcript, Turn};

/// Number of world actions after which the search ends.
const MAX_ACTIONS: u32 = 34;
/// Number of world actions after which the search takes the best match seen so far.
const LATE_ACTIONS: u32 = 27;
/// The largest number of presses without guidance and search.
const MAX_PRESSES: u32 = 8;
/// How often it closes what a skill opened in vain.
const MAX_CLOSES: u32 = 5;
/// How often it waits for a page that is loading.
const MAX_WAITS: u32 = 4;

/// The state of a policy in one attempt.
#[derive(Clone, Debug, Default)]
pub(super) struct Agent {
    searches: bool,
    hands: Hands,
    functions: FunctionChoice,
    lookup: SkillLookup,
    plans: Option<Vec<Follower>>,
    search: Search,
    object: Option<NodeRef>,
    hunts_saving: bool,
    presses: u32,
    leaving: u32,
    waited: u32,
    acted: u32,
}

impl Agent {
    /// Creates an agent for the transcript's instruction.
    pub(super) fn new(policy: Policy, transcript: &Transcript) -> Self {
        let hands = Hands::new(Goal::read(&transcript.instruction));
        Self { searches: policy == Policy::Explorer, hands, ..Self::default() }
    }

    /// Returns its decision for one turn.
    pub(super) fn turn(&mut self, transcript: &Transcript, turn: &Turn) -> Move {
        let scene = &turn.scene;
        self.acted += turn.actions;
        self.hands.observe(scene);
        self.search.route.observe(scene);
        let found = self.decide(transcript, turn);
        if let Some(pressed) = self.hands.last.as_ref().filter(|_| !self.hands.awaits_close()) {
            self.search.route.push(Leg::new(&pressed.label, pressed.kind));
        }
        found
    }

    fn decide(&mut self, transcript: &Transcript, turn: &Turn) -> Move {
        let scene = &turn.scene;
        if self.waited < MAX_WAITS && scene.is_loading() {
            self.waited += 1;
            return wait("The page is still loading.");
        }
        if let Some(found) = self.hands.wait_for_close() {
            return found;
        }
        if let Some(found) = self.functions.next(transcript, &self.hands.goal, turn) {
            return found;
        }
        if self.plans.is_none() {
            if let Some(found) = self.lookup.next(transcript, &self.hands.goal, turn) {
                return found;
            }
            let notes = self.lookup.notes.iter().rev();
            self.plans = Some(notes.map(|note| Follower::new(guidance::read(note))).collect());
        }
        let found = self.follow(scene).or_else(|| self.press(scene)).or_else(|| self.look(scene));
        found.unwrap_or_else(|| self.finish(scene))
    }

    /// Returns the next move that a skill prescribes. Surfaces that a failed skill opened are closed again.
    fn follow(&mut self, scene: &Scene) -> Option<Move> {
        if self.leaving > 0 {
            self.leaving -= 1;
            if !scene.open_menus().is_empty() || !scene.dialogs().is_empty() {
                return Some(dismiss("This is not the place.", scene));
            }
            self.leaving = 0;
        }
        let plans = self.plans.as_mut()?;
        let plan = plans.last_mut()?;
        if plan.moves == 0 {
            if self.hands.done {
                plans.clear();
                return None;
            }
            let first = self.hands.select_whole(scene).or_else(|| self.hands.pick_object(scene));
            if first.is_some() {
                return first;
            }
        }
        match plan.next(scene, &mut self.hands) {
            Followed::Act(found) => Some(found),
            Followed::Through => {
                plans.pop();
                let found = self.press(scene);
                if found.is_none() && !self.hands.done {
                    self.leaving = MAX_CLOSES;
                    return self.follow(scene);
                }
                found
            }
            Followed::Stuck => {
                plans.pop();
                self.leaving = MAX_CLOSES;
                self.follow(scene)
            }
        }
    }

    /// Presses what the task names and the screen shows.
    fn press(&mut self, scene: &Scene) -> Option<Move> {
        if self.presses >= MAX_PRESSES && !self.searches {
            return None;
        }
        let is_open = !scene.open_menus().is_empty() || !scene.dialogs().is_empty();
        if self.hands.done && !is_open {
            return None;
        }
        let found = self.hands.act(scene, Care::Exact, self.searches)?;
        self.presses += 1;
        Some(found)
    }

    /// Returns the next step of the search.
    fn look(&mut self, scene: &Scene) -> Option<Move> {
        if !self.searches || self.hands.done || self.acted >= MAX_ACTIONS {
            return None;
        }
        if self.object != self.hands.object {
            // The newly selected object has menus of its own.
            self.object.clone_from(&self.hands.object);
            self.search.restart();
        }
        if let Some(found) = self.hands.select_whole(scene) {
            return Some(found);
        }
        let hunt = Hunt { goal: &self.hands.goal, hands: &self.hands, late: self.acted >= LATE_ACTIONS };
        match self.search.next(scene, hunt)? {
            SearchStep::Go(found) => Some(found),
            SearchStep::Press(id) => {
                let element = scene.elements.iter().find(|element| element.id == id)?;
                self.hands.press(scene, element, &scene.label_of(element))
            }
        }
    }

    fn finish(&mut self, scene: &Scene) -> Move {
        let failed = self.searches && !self.hands.done;
        let reason = failed.then(|| format!("Nothing in reach answers this: {}", self.hands.goal.text));
        if self.hands.must_save_page(scene) {
            if let Some(found) = self.save_page(scene) {
                return found;
            }
            self.hands.stop_saving();
        }
        self.hands.finish(scene, reason)
    }

    /// Saves a page: with a visible control, or with one that the search finds.
    fn save_page(&mut self, scene: &Scene) -> Option<Move> {
        if let Some(control) = self.hands.saving_control(scene) {
            self.hands.stop_saving();
            return Some(clicks("The work is saved.", control));
        }
        if !self.searches || self.acted >= MAX_ACTIONS {
            return None;
        }
        if !std::mem::replace(&mut self.hunts_saving, true) {
            self.search.restart();
        }
        let goal = Goal::read("Keep the changes: save.");
        match self.search.next(scene, Hunt { goal: &goal, hands: &self.hands, late: false })? {
            SearchStep::Go(found) => Some(found),
            SearchStep::Press(id) => {
                let element = scene.elements.iter().find(|element| element.id == id)?;
                self.hands.stop_saving();
                Some(clicks("The work is saved.", element))
            }
        }
    }
}
