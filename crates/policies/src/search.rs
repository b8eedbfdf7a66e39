//! Best-first search of an interface: which controls were seen, which were opened, and how to reach the rest.

use apprentice_protocol::{Action, Button, NodeRef, State};

use super::actions::{click, dismiss, fill, key, quoted};
use super::goal::Goal;
use super::hands::Hands;
use super::page;
use super::policy::Move;
use super::route::{Leg, NextLeg, Route, same_way, shared};
use super::scene::{Element, ElementKind, Scene};
use super::words::plain;

/// The largest number of presses towards one target before it is abandoned.
const MAX_PRESSES_PER_TARGET: u32 = 9;
/// Time to wait for the results of a query, in milliseconds, and how often.
const QUERY_WAIT_MS: u32 = 2000;
const MAX_QUERY_WAITS: u32 = 3;
/// Words in labels of surfaces with settings.
const SETTINGS: &[&str] = &["preferences", "settings", "options", "properties", "advanced"];
/// Words in labels that quit, print, leave or destroy; pressed only when the task mentions them.
const RISKY: &[&str] = &[
    "quit", "exit", "close", "print", "delete", "remove", "about", "help", "contents", "restart", "clear",
    "reset", "recent", "undo", "redo", "reload", "minimize", "maximize", "restore", "trash", "send",
    "detach", "new", "cancel", "back", "forward", "feedback", "report", "ok", "save",
];
/// Words in labels of buttons that open a list of commands.
const LISTS: &[&str] = &["menu", "tools", "more"];
/// Words in labels of modes in which a program offers more.
const MODES: &[&str] = &["mode", "level", "advanced", "expert", "full", "extended"];

/// What is searched for, and the circumstances.
#[derive(Clone, Copy)]
pub(super) struct Hunt<'a> {
    pub(super) goal: &'a Goal,
    pub(super) hands: &'a Hands,
    /// Little of the action budget is left: the best match seen so far is taken.
    pub(super) late: bool,
}

/// An element that was seen and may open another surface or be the answer.
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
    /// Make this move on the way to a target.
    Go(Move),
    /// Press this element: it is the best match seen so far.
    Press(NodeRef),
}

/// The search for one thing.
#[derive(Clone, Debug, Default)]
pub(super) struct Search {
    /// The route to the surface in front.
    pub(super) route: Route,
    seen: Vec<Candidate>,
    aim: Option<usize>,
    /// Modes of the program that are not on.
    modes: Vec<Candidate>,
    /// Whether something disabled was seen that may hide the answer.
    barred: bool,
    /// Whether something disabled was seen whose label is asked for.
    barred_answer: bool,
    presses: u32,
    /// How often it still waits for the results of a query.
    patience: u32,
}

/// Returns whether a text says how many results a query has.
fn counts_results(element: &Element) -> bool {
    let words = plain(&element.name);
    words.len() == 2 && words[0].parse::<u32>().is_ok() && words[1].starts_with("result")
}

impl Search {
    /// Begins again, with everything to be opened once more.
    pub(super) fn restart(&mut self) {
        *self = Self {
            route: std::mem::take(&mut self.route),
            modes: std::mem::take(&mut self.modes),
            ..Self::default()
        };
    }

    /// Returns the next step; `None` when everything in reach was opened, and every mode tried.
    pub(super) fn next(&mut self, scene: &Scene, hunt: Hunt<'_>) -> Option<SearchStep> {
        if self.patience > 0 && !scene.elements.iter().any(counts_results) {
            self.patience -= 1;
            let actions = vec![Action::Wait { ms: QUERY_WAIT_MS }];
            return Some(SearchStep::Go(Move::Act { say: "The results may still appear.".into(), actions }));
        }
        self.patience = 0;
        self.collect(scene, hunt);
        if self.barred_answer
            && let Some(found) = self.pull(scene, hunt)
        {
            return Some(found);
        }
        let found = self.go_on(scene, hunt);
        if found.is_none() && self.barred { self.pull(scene, hunt) } else { found }
    }

    /// Returns the next press towards a mode of the program in which more is enabled. Everything is then opened once more.
    fn pull(&mut self, scene: &Scene, hunt: Hunt<'_>) -> Option<SearchStep> {
        let mode = self.modes.iter_mut().find(|mode| !mode.opened)?;
        mode.opened = true;
        let mode = Candidate { opened: false, ..mode.clone() };
        self.restart();
        self.seen.push(mode);
        self.go_on(scene, hunt)
    }

    fn collect(&mut self, scene: &Scene, hunt: Hunt<'_>) {
        let legs = self.route.legs().to_vec();
        let front = scene.front();
        let mut is_result = false;
        for element in scene.below(front) {
            if is_result && element.kind.is_pressed() {
                let leg = Leg::new(&element.name, element.kind);
                self.note(Some(Candidate {
                    route: legs.clone(),
                    leg,
                    score: 1.5,
                    opened: false,
                    terminal: false,
                }));
            } else {
                self.note(candidate(scene, element, &legs, hunt));
            }
            is_result = counts_results(element) || is_result && !element.kind.is_pressed();
            let words = plain(&element.name);
            let is_mode = matches!(element.kind, ElementKind::Radio | ElementKind::Switch)
                && words.iter().any(|word| MODES.contains(&word.as_str()));
            let leg = Leg::new(&element.name, element.kind);
            if is_mode && element.is_on() == Some(false) && !self.modes.iter().any(|mode| mode.leg.same(&leg))
            {
                self.modes.push(Candidate {
                    route: legs.clone(),
                    leg,
                    score: 3.0,
                    opened: false,
                    terminal: false,
                });
            }
        }
        let inside =
            |index: &usize| front.is_none_or(|front| *index != front && scene.is_within(*index, front));
        for element in (0..scene.elements.len()).filter(inside).map(|index| &scene.elements[index]) {
            let fit = hunt.goal.fit(&element.name);
            if element.is(State::Disabled) && element.kind.is_pressed() && !legs.is_empty() {
                self.barred |= element.kind == ElementKind::Menu || fit.is_partial();
                self.barred_answer |=
                    fit.is_partial() || element.kind == ElementKind::Menu && fit.share >= 0.5;
            }
        }
        if legs.is_empty() && !hunt.hands.lacks_object() && !scene.is_page() {
            self.collect_context(scene, hunt);
        }
    }

    /// Records the context menu of the task's object or of the document.
    fn collect_context(&mut self, scene: &Scene, hunt: Hunt<'_>) {
        let is_object = |element: &&Element| Some(&element.id) == hunt.hands.object.as_ref();
        let object = scene.elements.iter().find(is_object);
        let Some(element) = object.or_else(|| scene.document()) else { return };
        let score = if object.is_some() { 0.48 } else { 0.12 };
        let leg = Leg::secondary(element.name.clone());
        self.note(Some(Candidate { route: Vec::new(), leg, score, opened: false, terminal: false }));
    }

    /// Records a candidate that was not seen before.
    fn note(&mut self, found: Option<Candidate>) {
        let Some(found) = found else { return };
        let known = |seen: &Candidate| seen.leg.same(&found.leg) && same_way(&seen.route, &found.route);
        if !self.seen.iter().any(known) {
            self.seen.push(found);
        }
    }

    /// Returns the next press towards the best candidate that is not opened yet.
    fn go_on(&mut self, scene: &Scene, hunt: Hunt<'_>) -> Option<SearchStep> {
        for _ in 0..=self.seen.len() {
            let aim = self.aim.filter(|aim| !self.seen[*aim].opened).or_else(|| self.best(hunt))?;
            if self.aim.replace(aim) != Some(aim) {
                self.presses = 0;
            }
            self.presses += 1;
            let Candidate { route, leg, terminal, .. } = self.seen[aim].clone();
            let shared = shared(&route, self.route.legs());
            let next = route.get(shared).unwrap_or(&leg);
            match self.route.onward(scene, next, shared) {
                _ if self.presses > MAX_PRESSES_PER_TARGET => self.seen[aim].opened = true,
                NextLeg::Press(element) => {
                    let is_there = shared == route.len();
                    self.seen[aim].opened |= is_there;
                    if is_there && terminal {
                        return Some(SearchStep::Press(element.id.clone()));
                    }
                    self.route.cut(shared);
                    return Some(SearchStep::Go(self.step(next, element, hunt)));
                }
                NextLeg::Leave => return Some(SearchStep::Go(self.back(scene))),
                NextLeg::Missing if self.route.is_away(scene) && route.len() < self.route.legs().len() => {
                    return Some(SearchStep::Go(self.back(scene)));
                }
                NextLeg::Missing => self.seen[aim].opened = true,
            }
        }
        None
    }

    fn best(&self, hunt: Hunt<'_>) -> Option<usize> {
        let value = |at: &usize| {
            let spot = &self.seen[*at];
            let shared = shared(&spot.route, self.route.legs());
            let steps = (self.route.legs().len() - shared).min(2) + spot.route.len() - shared;
            let far = f32::from(u8::try_from(steps).unwrap_or(u8::MAX)) * 0.08;
            let is_menu = spot.route.is_empty() && spot.leg.kind == ElementKind::Menu && !spot.leg.secondary;
            let is_sooner = hunt.late && spot.terminal || self.barred_answer && is_menu;
            spot.score - far + if is_sooner { 1.0 } else { 0.0 }
        };
        (0..self.seen.len())
            .filter(|at| !self.seen[*at].opened)
            .max_by(|one, other| value(one).total_cmp(&value(other)).then(other.cmp(one)))
    }

    fn step(&mut self, leg: &Leg, element: &Element, hunt: Hunt<'_>) -> Move {
        self.route.push(leg.clone());
        if element.kind == ElementKind::Field && !leg.secondary {
            let query = hunt.goal.query();
            let mut actions = fill(element, &query);
            actions.push(Action::Wait { ms: QUERY_WAIT_MS });
            self.patience = MAX_QUERY_WAITS;
            return Move::Act { say: format!("Perhaps a search for {} finds it.", quoted(&query)), actions };
        }
        let (button, place) =
            if leg.secondary { (Button::Right, "in the context menu of") } else { (Button::Left, "behind") };
        let say = format!("Perhaps it is {place} {}.", quoted(&leg.label));
        Move::Act { say, actions: vec![click(element, button, 1)] }
    }

    fn back(&mut self, scene: &Scene) -> Move {
        let say = "It is not here.";
        if self.route.is_away(scene) {
            return dismiss(say, scene);
        }
        self.route.cut(self.route.legs().len().saturating_sub(1));
        Move::Act { say: say.into(), actions: key("alt+left").into_iter().collect() }
    }
}

/// Returns an element behind a route as a candidate if it opens a surface or is asked for.
fn candidate(scene: &Scene, element: &Element, legs: &[Leg], hunt: Hunt<'_>) -> Option<Candidate> {
    let label = scene.label_of(element);
    if label.is_empty() {
        return None;
    }
    let fit = hunt.goal.fit(&label);
    let depth = f32::from(u8::try_from(legs.len()).unwrap_or(u8::MAX));
    let ends = fit.is_partial() && !hunt.hands.has_pressed(&label) && ends(element, &label, hunt);
    let (score, terminal) = match promise(scene, element, &label, hunt, legs) {
        Some(promise) => (fit.score() * 2.0 + promise - depth * 0.05, false),
        None if ends => (0.5 + fit.score(), true),
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

/// Returns whether pressing an element can complete the task. Before its object is found, only a switch helps.
fn ends(element: &Element, label: &str, hunt: Hunt<'_>) -> bool {
    let switches = matches!(element.kind, ElementKind::Switch | ElementKind::Radio);
    let idle = switches && element.is_on() == hunt.hands.wanted_state(element, label);
    let acts =
        switches || matches!(element.kind, ElementKind::Item | ElementKind::Button | ElementKind::Link);
    let is_command = element.kind == ElementKind::Item && hunt.goal.lasting;
    acts && !idle && !is_command && (switches || !hunt.hands.lacks_object())
}

/// Returns the prior score of an element that may open a surface; `None` if it opens nothing or must not be opened.
fn promise(scene: &Scene, element: &Element, label: &str, hunt: Hunt<'_>, legs: &[Leg]) -> Option<f32> {
    let (words, fit) = (plain(label), hunt.goal.fit(label));
    let has = |known: &[&str]| words.len() <= 3 && words.iter().any(|word| known.contains(&word.as_str()));
    if words.iter().any(|word| RISKY.contains(&word.as_str())) && fit.share < 0.5 {
        return None;
    }
    let lasting = hunt.goal.lasting;
    let program =
        || scene.elements.iter().find(|element| element.role == "application").map(|found| &found.name);
    match element.kind {
        ElementKind::Menu if has(SETTINGS) => Some(0.6),
        ElementKind::Menu if legs.is_empty() => Some(0.45),
        ElementKind::Menu => Some(0.26 - 0.08 * f32::from(u8::try_from(legs.len()).unwrap_or(u8::MAX))),
        ElementKind::Tab if !element.is(State::Selected) => Some(if lasting { 0.6 } else { 0.4 }),
        ElementKind::Item | ElementKind::Button if has(&["properties"]) => {
            Some(if hunt.hands.object.is_some() { 0.44 } else { 0.1 })
        }
        ElementKind::Item | ElementKind::Button | ElementKind::Link if has(SETTINGS) => {
            Some(if lasting { 0.75 } else { 0.3 })
        }
        ElementKind::Item | ElementKind::Button if element.promises() => Some(0.1),
        ElementKind::Button | ElementKind::Switch if legs.is_empty() && has(LISTS) => Some(0.4),
        ElementKind::Button if program().is_some_and(|name| name == label) => Some(0.35),
        ElementKind::Field if scene.is_page() && page::looks_up(element) && !hunt.hands.done => Some(0.5),
        ElementKind::Link => Some(0.15),
        ElementKind::Item if scene.is_page() && scene.open_menus().is_empty() => Some(0.15),
        ElementKind::Combo => Some(if fit.matched > 0.0 { 0.2 } else { -0.05 }),
        ElementKind::Button | ElementKind::Other if element.is(State::Collapsed) => Some(0.3),
        _ => None,
    }
}
