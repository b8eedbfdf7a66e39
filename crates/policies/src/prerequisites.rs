//! Finds prerequisites: a command or field matches the task but is disabled.
//!
//! Candidate modes and switches are tried one at a time. After each try the policy checks whether the control is
//! enabled now, and reverts the change if it is not.

use super::control_match::MatchThreshold;
use super::progress::Open;
use super::route::{Leg, same_way};
use super::scene::{Element, ElementKind, Scene};
use super::text_match::{KeyTerms, plain};

/// The largest number of candidates that are tried.
const MAX_TRIES: usize = 5;
/// A disabled menu with a lower match score than this is not investigated.
const MIN_SCORE: f32 = 0.3;
/// The largest distance, in elements, between a switch and the control that it enables.
const MAX_DISTANCE: usize = 8;
/// Rank of a switch that shows hidden objects.
const RANK_REVEALS: u8 = 5;
/// Rank of a switch next to the disabled control in a dialog.
const RANK_BESIDE: u8 = 4;
/// Rank of a program-wide mode.
const RANK_MODE: u8 = 3;
/// Words that name modes of a program.
const MODES: &[&str] = &["mode", "level", "advanced", "expert", "full", "extended", "all"];
/// Words in labels of switches that enable a feature.
const ENABLING: &[&str] = &["enable", "allow", "use", "custom", "override", "manual", "advanced", "show"];

/// A disabled control that matches the task, or a named object that is not visible, with the route to it.
#[derive(Clone, Debug)]
struct DisabledTarget {
    route: Vec<Leg>,
    leg: Leg,
    score: f32,
    given_up: bool,
    /// `true` for an object that is not visible, `false` for a disabled control.
    thing: bool,
}

/// A mode or switch that may be the prerequisite.
#[derive(Clone, Debug)]
struct PrerequisiteCandidate {
    route: Vec<Leg>,
    leg: Leg,
    /// The control to press to revert it.
    undo: Leg,
    rank: u8,
    tried: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Idle,
    Pull,
    Look,
    TakeBack,
}

/// The next step towards enabling a disabled control.
#[derive(Clone, Debug)]
pub(super) enum PrerequisiteStep {
    /// Press a candidate, or press the control that reverts it.
    Press {
        /// The route to the control.
        route: Vec<Leg>,
        /// The control to press.
        leg: Leg,
        /// The stated reason.
        say: String,
    },
    /// Check whether the disabled control is enabled now.
    Look {
        /// The route to the control.
        route: Vec<Leg>,
        /// The control to check.
        leg: Leg,
    },
}

/// Disabled controls and the prerequisites tried for them.
#[derive(Clone, Debug, Default)]
pub(super) struct PrerequisiteSearch {
    barred: Vec<DisabledTarget>,
    levers: Vec<PrerequisiteCandidate>,
    phase: Phase,
    target: usize,
    lever: usize,
    tries: usize,
    /// Whether controls whose label matches poorly are investigated too.
    includes_unrelated: bool,
}

impl PrerequisiteSearch {
    /// Records disabled controls on the surface in front that match the sub-goal, and the candidates that might enable
    /// them.
    pub(super) fn collect(&mut self, scene: &Scene, open: &Open, route: &[Leg], lacks_object: bool) {
        let front = scene.front();
        let inside = |index: usize| front.is_none_or(|root| index != root && scene.is_within(index, root));
        for index in (0..scene.elements.len()).filter(|index| inside(*index)) {
            let element = &scene.elements[index];
            if element.is_enabled() {
                continue;
            }
            let label = scene.label_of(element);
            let fit = open.wanted.fit(&label);
            let opens = matches!(element.kind, ElementKind::Menu | ElementKind::Combo) || element.promises();
            let menu = element.kind == ElementKind::Menu && !label.is_empty() && route.len() == 1;
            let answers = menu
                || opens && fit.matched >= 0.9 && fit.share >= 0.5
                || matches!(
                    element.kind,
                    ElementKind::Item
                        | ElementKind::Switch
                        | ElementKind::Radio
                        | ElementKind::Button
                        | ElementKind::Field
                ) && MatchThreshold::Partial.accepts(fit);
            if !answers || label.is_empty() {
                continue;
            }
            let leg = Leg::new(label, element.kind);
            if route.iter().any(|leg| leg.kind == ElementKind::Tab) || !scene.dialogs().is_empty() {
                self.note_near(scene, index, route);
            }
            if !self.barred.iter().any(|known| known.leg.same(&leg) && same_way(&known.route, route)) {
                self.barred.push(DisabledTarget {
                    route: route.to_vec(),
                    leg,
                    score: fit.score(),
                    given_up: false,
                    thing: false,
                });
            }
        }
        if lacks_object && let Some(name) = open.names().first() {
            let leg = Leg::new(*name, ElementKind::Object);
            if !self.barred.iter().any(|known| known.leg.same(&leg)) {
                self.barred.push(DisabledTarget {
                    route: Vec::new(),
                    leg,
                    score: 3.0,
                    given_up: false,
                    thing: true,
                });
            }
            self.note_reveals(scene, route);
        }
        if !scene.open_menus().is_empty() {
            self.note_modes(scene, open, route);
        }
    }

    /// Records switches that show hidden objects.
    fn note_reveals(&mut self, scene: &Scene, route: &[Leg]) {
        for element in scene.below(scene.front()) {
            let words = plain(&element.name);
            let has = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
            let reveals = has(&["show", "display", "view"]) && has(&["hidden", "all", "invisible"]);
            if element.kind == ElementKind::Switch && element.is_on() == Some(false) && reveals {
                let leg = leg_of(element);
                self.add(PrerequisiteCandidate {
                    route: route.to_vec(),
                    undo: leg.clone(),
                    leg,
                    rank: RANK_REVEALS,
                    tried: false,
                });
            }
        }
    }

    /// Records radio items and switches of an open menu.
    fn note_modes(&mut self, scene: &Scene, open: &Open, route: &[Leg]) {
        let lines = scene.below(scene.front());
        for element in &lines {
            let asked = MatchThreshold::Exact.accepts(open.wanted.fit(&element.name));
            let words = plain(&element.name);
            let has = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
            let (undo, rank) = match element.kind {
                ElementKind::Radio if element.is_on() == Some(false) => {
                    let on = lines.iter().find(|other| {
                        other.kind == ElementKind::Radio
                            && other.parent == element.parent
                            && other.is_on() == Some(true)
                    });
                    let Some(on) = on else { continue };
                    (Leg::new(&on.name, ElementKind::Radio), if has(MODES) { RANK_MODE } else { 1 })
                }
                ElementKind::Switch if element.is_on() == Some(false) && has(ENABLING) => {
                    (Leg::new(&element.name, ElementKind::Switch), 1)
                }
                _ => continue,
            };
            if !asked && !element.name.is_empty() {
                self.add(PrerequisiteCandidate {
                    route: route.to_vec(),
                    leg: leg_of(element),
                    undo,
                    rank,
                    tried: false,
                });
            }
        }
    }

    /// Records the nearest unset switch before or after a disabled control of a dialog.
    fn note_near(&mut self, scene: &Scene, barred: usize, route: &[Leg]) {
        let near =
            (barred.saturating_sub(MAX_DISTANCE)..barred).rev().chain(barred + 1..barred + MAX_DISTANCE);
        let switch = near.filter_map(|index| scene.elements.get(index)).find(|element| {
            matches!(element.kind, ElementKind::Switch | ElementKind::Radio)
                && element.is_enabled()
                && element.is_on() == Some(false)
                && !element.name.is_empty()
        });
        if let Some(element) = switch {
            let leg = leg_of(element);
            self.add(PrerequisiteCandidate {
                route: route.to_vec(),
                undo: leg.clone(),
                leg,
                rank: RANK_BESIDE,
                tried: false,
            });
        }
    }

    fn add(&mut self, lever: PrerequisiteCandidate) {
        let known = |known: &PrerequisiteCandidate| {
            same_way(&known.route, &lever.route)
                && (known.leg.same(&lever.leg) || known.undo.same(&lever.leg))
        };
        if !self.levers.iter().any(known) {
            self.levers.push(lever);
        }
    }

    /// Returns the next step towards enabling a control. Returns `None` if there is no disabled control, or while
    /// unexplored menus (`unread`) may still contain the prerequisite.
    pub(super) fn next(&mut self, scene: &Scene, open: &Open, unread: bool) -> Option<PrerequisiteStep> {
        if self.phase == Phase::Idle {
            let best =
                |one: &usize, other: &usize| self.barred[*one].score.total_cmp(&self.barred[*other].score);
            let tried = |barred: &DisabledTarget| {
                barred.given_up || barred.score < MIN_SCORE && !self.includes_unrelated
            };
            let left = (0..self.barred.len()).filter(|index| !tried(&self.barred[*index]));
            self.target = left.max_by(best)?;
            let barred = &self.barred[self.target];
            let lever =
                self.choose(barred, open).filter(|lever| self.levers[*lever].rank >= RANK_MODE || !unread);
            let Some(lever) = lever else {
                if !unread {
                    self.barred[self.target].given_up = true;
                }
                return None;
            };
            if self.tries >= MAX_TRIES {
                return None;
            }
            self.tries += 1;
            self.lever = lever;
            self.levers[lever].tried = true;
            self.phase = Phase::Pull;
        }
        let (barred, lever) = (self.barred.get(self.target)?, self.levers.get(self.lever)?);
        let (barred, lever) = (barred.clone(), lever.clone());
        match self.phase {
            Phase::Idle => None,
            Phase::Pull => {
                let say = format!(
                    "\"{}\" takes no input; perhaps \"{}\" must come first.",
                    barred.leg.label, lever.leg.label
                );
                Some(PrerequisiteStep::Press { route: lever.route, leg: lever.leg, say })
            }
            Phase::Look if barred.thing && scene.has_object_named(&[barred.leg.label.as_str()]) => {
                self.mark_enabled();
                None
            }
            Phase::Look if barred.thing || self.still_barred(scene, &barred) => {
                self.phase = Phase::TakeBack;
                self.next(scene, open, unread)
            }
            Phase::Look => Some(PrerequisiteStep::Look { route: barred.route, leg: barred.leg }),
            Phase::TakeBack => {
                let say = format!("\"{}\" did not help and is taken back.", lever.leg.label);
                Some(PrerequisiteStep::Press { route: lever.route, leg: lever.undo, say })
            }
        }
    }

    /// Returns whether a control is disabled and no candidate prerequisite is known yet.
    pub(super) fn waits(&self) -> bool {
        self.phase == Phase::Idle
            && self.tries < MAX_TRIES
            && self.barred.iter().any(|barred| !barred.given_up && barred.score >= MIN_SCORE)
    }

    /// Returns whether the control is in front and still disabled.
    fn still_barred(&self, scene: &Scene, barred: &DisabledTarget) -> bool {
        let front = scene.front();
        scene.elements.iter().enumerate().any(|(index, element)| {
            front.is_none_or(|root| index != root && scene.is_within(index, root))
                && element.kind == barred.leg.kind
                && scene.label_of(element) == barred.leg.label
                && !element.is_enabled()
        })
    }

    /// Returns the untried candidate whose label overlaps most with the disabled control; the first one on a tie.
    fn choose(&self, barred: &DisabledTarget, open: &Open) -> Option<usize> {
        let wanted = KeyTerms::of(&barred.leg.label);
        let value = |lever: &PrerequisiteCandidate| {
            let shared = wanted.fit(&lever.leg.label).matched + open.wanted.fit(&lever.leg.label).matched;
            f32::from(lever.rank) + shared
        };
        let mut best: Option<(f32, usize)> = None;
        for (index, lever) in self.levers.iter().enumerate().filter(|(_, lever)| !lever.tried) {
            let fits = match lever.rank {
                RANK_REVEALS => barred.thing,
                RANK_BESIDE => !barred.thing && same_way(&lever.route, &barred.route),
                _ => !barred.thing,
            };
            if fits && best.is_none_or(|(most, _)| value(lever) > most) {
                best = Some((value(lever), index));
            }
        }
        best.map(|(_, index)| index)
    }

    /// From now on, disabled controls are investigated whatever their label.
    pub(super) fn include_unrelated(&mut self) {
        self.includes_unrelated = true;
    }

    /// Records that the requested press was made.
    pub(super) fn pressed(&mut self) {
        self.phase = match self.phase {
            Phase::Pull => Phase::Look,
            Phase::TakeBack | Phase::Look | Phase::Idle => Phase::Idle,
        };
    }

    /// Records that the control is enabled now.
    pub(super) fn mark_enabled(&mut self) {
        self.phase = Phase::Idle;
        if let Some(barred) = self.barred.get_mut(self.target) {
            barred.given_up = true;
        }
    }

    /// Records that the target of the current step could not be reached.
    pub(super) fn mark_unreachable(&mut self) {
        self.phase = match self.phase {
            Phase::Look => Phase::TakeBack,
            Phase::Pull | Phase::TakeBack | Phase::Idle => Phase::Idle,
        };
    }
}

fn leg_of(element: &Element) -> Leg {
    Leg::new(&element.name, element.kind)
}
