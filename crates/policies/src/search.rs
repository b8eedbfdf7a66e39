//! Best-first search of an interface: which surfaces were seen, which were opened, and how to reach the rest.

use apprentice_protocol::{Action, Button, History, NodeRef, State};

use super::actions::{click, dismiss, key};
use super::control_match::{MatchThreshold, omits_target, target_state};
use super::opener_prior::{promise, strays};
use super::policy::Move;
use super::prerequisites::{PrerequisiteSearch, PrerequisiteStep};
use super::progress::{Open, SurfaceCounts, replaces_content};
use super::route::{Leg, NextLeg, Route, same_way, shared};
use super::scene::{Element, ElementKind, Scene};
use super::text_match::{MatchScore, plain};

/// The largest number of presses towards one target before it is abandoned.
const MAX_PRESSES_PER_TARGET: u32 = 9;

/// The circumstances of a search.
#[derive(Clone, Copy, Debug)]
pub(super) struct SearchContext {
    /// The environment is a browser without a desktop.
    pub(super) browser: bool,
    /// Little of the action budget is left.
    pub(super) late: bool,
    /// The object of the task is not visible.
    pub(super) lacks_object: bool,
}

/// A candidate: an element that was seen and may open another surface or be the answer.
#[derive(Clone, Debug)]
struct Candidate {
    route: Vec<Leg>,
    leg: Leg,
    score: f32,
    opened: bool,
    /// Whether it performs an action itself instead of opening another surface.
    terminal: bool,
}

/// The next step of the search.
#[derive(Clone, Debug)]
pub(super) enum SearchStep {
    /// Make this press on the way to a target.
    Go(Move),
    /// Press this element: it is the best match seen so far.
    Press(NodeRef),
}

/// The next step towards a target.
#[derive(Clone, Debug)]
pub(super) enum Approach<'s> {
    /// Make this move next.
    Go(Move),
    /// The target itself is visible.
    Visible(&'s Element),
    /// The target cannot be reached.
    Unreachable,
}

/// The search for one sub-goal.
#[derive(Clone, Debug, Default)]
pub(super) struct Search {
    /// The route to the surface in front.
    pub(super) route: Route,
    seen: Vec<Candidate>,
    aim: Option<usize>,
    enabling: PrerequisiteSearch,
    dialogs: Vec<(String, Vec<Leg>)>,
    /// The route to a list whose entry was pressed, and the controls beside the list before that press.
    section: Option<(Vec<Leg>, Vec<String>)>,
    presses: u32,
}

impl Search {
    /// Restarts the search for another sub-goal. Everything may be opened again.
    pub(super) fn restart(&mut self) {
        *self = Self { route: self.route.clone(), ..Self::default() };
    }

    /// Records where the last press led.
    pub(super) fn observe(&mut self, scene: &Scene) {
        self.route.observe(scene);
        let Some((route, beside)) = self.section.take() else { return };
        if !replaces_content(&beside, &scene.beside()) {
            // Its entries are only selected; they open nothing.
            self.route.cut(route.len());
            for spot in self
                .seen
                .iter_mut()
                .filter(|spot| spot.leg.kind == ElementKind::Object && !spot.leg.secondary)
            {
                spot.opened |= same_way(&spot.route, &route);
            }
        }
    }

    /// Returns whether the dialog in front was already read by another route.
    fn is_known(&mut self, scene: &Scene) -> bool {
        if !self.route.in_dialog() || !scene.open_menus().is_empty() {
            return false;
        }
        let Some(name) = scene.surface().map(|index| scene.elements[index].name.clone()) else {
            return false;
        };
        let way: Vec<Leg> = self
            .route
            .legs()
            .iter()
            .filter(|leg| !matches!(leg.kind, ElementKind::Tab | ElementKind::Object))
            .cloned()
            .collect();
        match self.dialogs.iter().find(|(known, _)| *known == name) {
            Some((_, known)) => !same_way(known, &way),
            None => {
                self.dialogs.push((name, way));
                false
            }
        }
    }

    fn collect(&mut self, scene: &Scene, open: &Open, how: SearchContext) {
        if self.is_known(scene) {
            return;
        }
        let surface = SurfaceCounts::of(scene).title;
        let found = |element: &Element, legs: &[Leg]| {
            let found = candidate(scene, element, legs, open, how);
            found.filter(|found| !open.is_rejected(&surface, &found.leg.label))
        };
        let legs = self.route.legs().to_vec();
        for element in scene.below(scene.front()) {
            self.note(found(element, &legs));
        }
        if let Some(bar) = self.route.behind_menus() {
            let in_bar = |element: &&Element| {
                element.parent.is_some_and(|parent| scene.elements[parent].role == "menubar")
            };
            for element in scene.below(scene.surface()).into_iter().filter(in_bar) {
                self.note(found(element, &bar));
            }
        }
        self.enabling.collect(scene, open, &legs, how.lacks_object);
        if legs.is_empty() {
            self.collect_context(scene, open);
        }
    }

    /// Records a candidate that was not seen before.
    fn note(&mut self, found: Option<Candidate>) {
        let Some(found) = found else { return };
        let known = |seen: &Candidate| seen.leg.same(&found.leg) && same_way(&seen.route, &found.route);
        if !self.seen.iter().any(known) {
            self.seen.push(found);
        }
    }

    /// Records the context menus of the task's object or of the document.
    fn collect_context(&mut self, scene: &Scene, open: &Open) {
        let named = |element: &&Element| {
            open.want.values.iter().any(|value| value.text == element.name) && !element.name.is_empty()
        };
        let selected = |element: &&Element| {
            element.kind == ElementKind::Object && element.is(State::Selected) && !open.makes_new()
        };
        let things = scene.below(scene.surface());
        let object = things.iter().copied().find(named).or_else(|| things.iter().copied().find(selected));
        let Some(element) = object.or_else(|| scene.document()) else { return };
        let score = if object.is_some() { 0.48 } else { 0.12 };
        let leg = Leg::secondary(element.name.clone());
        self.note(Some(Candidate { route: Vec::new(), leg, score, opened: false, terminal: false }));
    }

    /// Returns the next press of the search; `None` when everything reachable has been opened. Late in an attempt it
    /// accepts the best match seen so far.
    pub(super) fn next(&mut self, scene: &Scene, open: &Open, how: SearchContext) -> Option<SearchStep> {
        self.collect(scene, open, how);
        if let Some(found) = self.enable(scene, open, how) {
            return Some(found);
        }
        if let Some(found) = self.go_on(scene, how) {
            return Some(found);
        }
        // Only disabled controls are left; they are now tried whatever their label.
        self.enabling.include_unrelated();
        self.enable(scene, open, how).or_else(|| self.go_on(scene, how))
    }

    /// Returns the next press towards the best candidate that is not opened yet.
    fn go_on(&mut self, scene: &Scene, how: SearchContext) -> Option<SearchStep> {
        for _ in 0..self.seen.len() + 1 {
            let aim = self.aim.filter(|aim| !self.seen[*aim].opened).or_else(|| self.best(how))?;
            if self.aim.replace(aim) != Some(aim) {
                self.presses = 0;
            }
            self.presses += 1;
            let Candidate { route, leg, terminal, .. } = self.seen[aim].clone();
            let toward = if self.presses > MAX_PRESSES_PER_TARGET {
                Approach::Unreachable
            } else {
                self.toward(scene, &route, &leg, how)
            };
            match toward {
                Approach::Go(found) => return Some(SearchStep::Go(found)),
                Approach::Unreachable => self.seen[aim].opened = true,
                Approach::Visible(element) => {
                    self.seen[aim].opened = true;
                    self.aim = None;
                    if terminal {
                        return Some(SearchStep::Press(element.id.clone()));
                    }
                    if leg.kind == ElementKind::Object && !leg.secondary {
                        self.section = Some((self.route.legs().to_vec(), scene.beside()));
                    }
                    return Some(SearchStep::Go(self.step(&leg, element)));
                }
            }
        }
        None
    }

    /// Returns the next press towards enabling a disabled control that matches.
    fn enable(&mut self, scene: &Scene, open: &Open, how: SearchContext) -> Option<SearchStep> {
        let in_bar =
            |spot: &Candidate| spot.route.is_empty() && !spot.opened && spot.leg.kind == ElementKind::Menu;
        let unread = self.seen.iter().any(in_bar);
        for _ in 0..4 {
            let (route, leg, say) = match self.enabling.next(scene, open, unread)? {
                PrerequisiteStep::Press { route, leg, say } => (route, leg, Some(say)),
                PrerequisiteStep::Look { route, leg } => (route, leg, None),
            };
            match (self.toward(scene, &route, &leg, how), say) {
                (Approach::Go(found), _) => return Some(SearchStep::Go(found)),
                (Approach::Unreachable, _) => self.enabling.mark_unreachable(),
                (Approach::Visible(element), Some(say)) => {
                    self.enabling.pressed();
                    let actions = vec![click(element, Button::Left, 1)];
                    return Some(SearchStep::Go(Move::Act { say, actions }));
                }
                (Approach::Visible(_), None) => {
                    self.enabling.mark_enabled();
                    self.prefer(route, leg);
                    return None;
                }
            }
        }
        None
    }

    /// Makes a control that is enabled now the next target.
    fn prefer(&mut self, route: Vec<Leg>, leg: Leg) {
        self.aim = None;
        let known = |spot: &&mut Candidate| spot.leg.same(&leg) && same_way(&spot.route, &route);
        match self.seen.iter_mut().find(known) {
            Some(spot) => (spot.opened, spot.score) = (false, 3.0),
            None => {
                let terminal = matches!(
                    leg.kind,
                    ElementKind::Item | ElementKind::Switch | ElementKind::Radio | ElementKind::Button
                );
                self.seen.push(Candidate { route, leg, score: 3.0, opened: false, terminal });
            }
        }
    }

    /// Returns the next press towards a leg at the end of a route.
    fn toward<'s>(&mut self, scene: &'s Scene, route: &[Leg], leg: &Leg, how: SearchContext) -> Approach<'s> {
        let shared = shared(route, self.route.legs());
        let next = route.get(shared).unwrap_or(leg);
        match self.route.onward(scene, next, shared) {
            NextLeg::Press(element) if shared == route.len() => Approach::Visible(element),
            NextLeg::Press(element) => {
                self.route.cut(shared);
                Approach::Go(self.step(next, element))
            }
            NextLeg::Leave => Approach::Go(self.back(scene, how.browser)),
            NextLeg::Missing if self.route.is_away(scene) && route.len() < self.route.legs().len() => {
                Approach::Go(self.back(scene, how.browser))
            }
            NextLeg::Missing => Approach::Unreachable,
        }
    }

    fn best(&self, how: SearchContext) -> Option<usize> {
        let waits = self.enabling.waits();
        let value = |at: &usize| {
            let spot = &self.seen[*at];
            let shared = shared(&spot.route, self.route.legs());
            let steps = (self.route.legs().len() - shared).min(2) + spot.route.len() - shared;
            let far = f32::from(u8::try_from(steps).unwrap_or(u8::MAX)) * 0.08;
            let settles = how.late && spot.terminal;
            // A prerequisite is needed: it is more likely in another menu than deeper in this one.
            let looks_around =
                waits && spot.route.is_empty() && spot.leg.kind == ElementKind::Menu && !spot.leg.secondary;
            let known = spot.leg.label.ends_with(['.', '…']) && self.has_opened(spot);
            spot.score - far - if known { 0.6 } else { 0.0 } + if settles || looks_around { 1.0 } else { 0.0 }
        };
        (0..self.seen.len())
            .filter(|at| !self.seen[*at].opened)
            .max_by(|one, other| value(one).total_cmp(&value(other)).then(other.cmp(one)))
    }

    /// Returns whether the candidate's dialog was already opened by another route.
    fn has_opened(&self, spot: &Candidate) -> bool {
        self.seen.iter().any(|other| other.opened && other.leg.same(&spot.leg))
    }

    fn step(&mut self, leg: &Leg, element: &Element) -> Move {
        let (button, say) = if leg.secondary {
            (Button::Right, format!("Perhaps the context menu of \"{}\" holds it.", leg.label))
        } else {
            (Button::Left, format!("Perhaps it is behind \"{}\".", leg.label))
        };
        self.route.push(leg.clone());
        Move::Act { say, actions: vec![click(element, button, 1)] }
    }

    fn back(&mut self, scene: &Scene, browser: bool) -> Move {
        if self.route.is_away(scene) {
            return dismiss("It is not here.", scene);
        }
        self.route.cut(self.route.legs().len().saturating_sub(1));
        let actions = if browser {
            vec![Action::History { go: History::Back }]
        } else {
            key("alt+left").into_iter().collect()
        };
        Move::Act { say: "It is not here.".into(), actions }
    }
}

/// Returns an element behind a route as a candidate if it opens a surface or matches the sub-goal.
fn candidate(
    scene: &Scene,
    element: &Element,
    legs: &[Leg],
    open: &Open,
    how: SearchContext,
) -> Option<Candidate> {
    let label = scene.label_of(element);
    if label.is_empty() || open.has_pressed(&label) {
        return None;
    }
    let depth = f32::from(u8::try_from(legs.len()).unwrap_or(u8::MAX));
    let fit = open.wanted.fit(&label);
    let terminal = !how.lacks_object && can_answer(element) && answers(element, &label, fit, open);
    let (score, terminal) = match promise(scene, element, &label, open, legs) {
        Some(promise) => (fit.score() * 2.0 + promise - depth * 0.05, false),
        None if terminal && open.want.in_settings && scene.dialogs().is_empty() && !scene.is_page() => {
            (-0.5, true)
        }
        None if terminal && is_telling(fit) => (0.5 + fit.score(), true),
        None if terminal => (fit.score() * 0.3 - 0.3, true),
        None => return None,
    };
    let leg = Leg::new(label, element.kind);
    let mut route = legs.to_vec();
    if leg.kind == ElementKind::Tab {
        route.retain(|passed| passed.kind != ElementKind::Tab);
    }
    let opened = legs.iter().any(|passed| passed.same(&leg));
    Some(Candidate { route, leg, score, opened, terminal })
}

/// Returns whether pressing an element can complete a sub-goal.
fn can_answer(element: &Element) -> bool {
    matches!(
        element.kind,
        ElementKind::Item
            | ElementKind::Switch
            | ElementKind::Radio
            | ElementKind::Button
            | ElementKind::Combo
    )
}

/// Returns whether a label with this match score may be the answer. A switch that already has the wanted state, or a
/// command with another purpose, is not.
fn answers(element: &Element, label: &str, fit: MatchScore, open: &Open) -> bool {
    let stands = matches!(element.kind, ElementKind::Switch | ElementKind::Radio)
        && element.is_on() == Some(element.kind == ElementKind::Radio || target_state(open, label));
    let idle = stands && !MatchThreshold::Exact.accepts(fit);
    let strays = strays(&plain(label), &open.want) || omits_target(open, element, label);
    !idle && !strays && (MatchThreshold::Partial.accepts(fit) || is_telling(fit))
}

/// Returns whether a match is specific enough to be the answer on its own.
fn is_telling(fit: MatchScore) -> bool {
    fit.share >= 0.99 && fit.top >= 0.6 || fit.matched >= 2.0 && fit.share >= 0.5
}
