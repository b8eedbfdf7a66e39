//! Searching an interface: which surfaces were seen, which were opened, how to get to the rest, best first.

use apprentice_protocol::{Action, Button, History, NodeRef, State};

use super::choose::Care;

use super::hands::{click, key, leave};
use super::perceive::{Element, Kind, Scene};
use super::progress::{Open, Surfaces};
use super::wire::Move;
use super::words::{plain, same_label};

/// Words of surfaces where settings live.
const SETTINGS: &[&str] = &[
    "preferences",
    "settings",
    "options",
    "configuration",
    "properties",
    "customize",
    "configure",
    "advanced",
    "more",
];

/// Labels that end, print, leave or destroy: opened only when the task speaks of them.
const RISKY: &[&str] = &[
    "quit", "exit", "close", "print", "delete", "remove", "about", "help", "contents", "restart", "clear",
    "reset", "logout", "recent", "undo", "redo", "reload", "minimize", "maximize", "restore", "trash",
    "send", "detach", "new", "cancel", "back", "forward", "feedback", "report", "ok", "save",
];

/// Below this an opener is tried only after what answers in part.
const PROMISING: f32 = 0.25;

/// Circumstances of a search.
#[derive(Clone, Copy, Debug)]
pub(super) struct How {
    /// A browser without a desktop.
    pub(super) browser: bool,
    /// Little of the budget is left.
    pub(super) late: bool,
}

/// One press on the way from the start to a surface.
#[derive(Clone, Debug, PartialEq)]
struct Leg {
    label: String,
    kind: Kind,
    secondary: bool,
}

/// Something that was seen and may open another surface.
#[derive(Clone, Debug, PartialEq)]
struct Spot {
    route: Vec<Leg>,
    leg: Leg,
    score: f32,
    opened: bool,
    /// Does something by itself: pressed only when nothing better is left.
    terminal: bool,
}

/// What the search says to do.
#[derive(Clone, Debug)]
pub(super) enum Found {
    /// A press on the way.
    Go(Move),
    /// This element answers as well as anything seen.
    Press(NodeRef),
}

/// The search of one want.
#[derive(Clone, Debug, Default)]
pub(super) struct Search {
    route: Vec<Leg>,
    seen: Vec<Spot>,
    aim: Option<usize>,
    before: Option<Surfaces>,
    lost: u32,
}

impl Search {
    /// Starts again for another want; what was opened may be opened again.
    pub(super) fn restart(&mut self) {
        *self = Self::default();
    }

    /// Takes note of where the last press led.
    pub(super) fn notice(&mut self, scene: &Scene) {
        let now = Surfaces::of(scene);
        if now.menus == 0 && now.dialogs == 0 {
            let lateral = |leg: &Leg| matches!(leg.kind, Kind::Link);
            let last = self.route.iter().rposition(lateral).map_or(0, |at| at + 1);
            self.route.truncate(last);
        } else if let Some(before) = &self.before {
            let fewer = before.menus + before.dialogs > now.menus + now.dialogs;
            if fewer && now.dialogs == before.dialogs {
                let menus = self.route.iter().filter(|leg| leg.kind == Kind::Menu).count();
                for _ in now.menus..menus.min(before.menus) {
                    self.route.pop();
                }
            } else if now.dialogs < before.dialogs {
                self.route.clear();
            }
        }
        self.before = Some(now);
    }

    fn collect(&mut self, scene: &Scene, open: &Open) {
        let depth = f32::from(u8::try_from(self.route.len()).unwrap_or(u8::MAX));
        for element in scene.below(scene.front()) {
            let label = scene.label_of(element);
            if label.is_empty() || open.has_pressed(&label) {
                continue;
            }
            let fit = open.wanted.fit(&label);
            let terminal = can_answer(element) && Care::Loose.accepts(fit);
            let (score, terminal) = match prior(element, &label, open, self.route.len()) {
                Some(prior) => (fit.score() * 2.0 + prior - depth * 0.05, false),
                None if terminal => (fit.score(), true),
                None => continue,
            };
            let leg = Leg { label, kind: element.kind, secondary: false };
            let mut route = self.route.clone();
            if leg.kind == Kind::Tab {
                route.retain(|passed| passed.kind != Kind::Tab);
            }
            let known = |spot: &Spot| same_label(&spot.leg.label, &leg.label) && spot.route == route;
            if self.seen.iter().any(known) {
                continue;
            }
            let opened = self.route.iter().any(|passed| same_label(&passed.label, &leg.label));
            self.seen.push(Spot { route, leg, score, opened, terminal });
        }
        if self.route.is_empty() {
            self.collect_context(scene, open);
        }
    }

    /// The context menus of what the task is about, and of the place itself.
    fn collect_context(&mut self, scene: &Scene, open: &Open) {
        let named = |element: &&Element| {
            open.want.values.iter().any(|value| value.text == element.name) && !element.name.is_empty()
        };
        let selected = |element: &&Element| element.kind == Kind::Thing && element.is(State::Selected);
        let things = scene.below(scene.surface());
        let object = things.iter().copied().find(named).or_else(|| things.iter().copied().find(selected));
        let Some(element) = object.or_else(|| scene.document()) else { return };
        let leg = Leg { label: element.name.clone(), kind: Kind::Menu, secondary: true };
        if self.seen.iter().any(|spot| spot.leg.secondary && spot.leg.label == leg.label) {
            return;
        }
        let score = if object.is_some() { 0.48 } else { 0.12 };
        self.seen.push(Spot { route: Vec::new(), leg, score, opened: false, terminal: false });
    }

    /// The next press of the search; none when everything in reach has been opened. Late in an attempt it
    /// settles for the best that was seen.
    pub(super) fn next(&mut self, scene: &Scene, open: &Open, how: How) -> Option<Found> {
        self.collect(scene, open);
        for _ in 0..self.seen.len() + 1 {
            let aim = self.aim.filter(|aim| !self.seen[*aim].opened).or_else(|| self.best(how.late))?;
            self.aim = Some(aim);
            let spot = self.seen[aim].clone();
            let shared = spot.route.iter().zip(&self.route).take_while(|(one, other)| one == other).count();
            if shared < self.route.len() {
                self.lost += 1;
                if self.lost > 4 {
                    return None;
                }
                return Some(Found::Go(self.back(scene, how.browser)));
            }
            let leg = spot.route.get(shared).unwrap_or(&spot.leg).clone();
            let arrived = shared == spot.route.len();
            let Some(element) = find(scene, &leg) else {
                self.seen[aim].opened = true;
                continue;
            };
            if arrived {
                self.seen[aim].opened = true;
                self.aim = None;
            }
            self.lost = 0;
            if arrived && spot.terminal {
                return Some(Found::Press(element.id.clone()));
            }
            return Some(Found::Go(self.step(&leg, element)));
        }
        None
    }

    fn best(&self, late: bool) -> Option<usize> {
        let near = |spot: &Spot| {
            let shared = spot.route.iter().zip(&self.route).take_while(|(one, other)| one == other).count();
            let steps = self.route.len() - shared + spot.route.len() - shared;
            f32::from(u8::try_from(steps).unwrap_or(u8::MAX)) * 0.08
        };
        let value = |at: &usize| self.seen[*at].score - near(&self.seen[*at]);
        let left = |terminal: bool| {
            (0..self.seen.len())
                .filter(move |at| !self.seen[*at].opened && self.seen[*at].terminal == terminal)
                .max_by(|one, other| value(one).total_cmp(&value(other)).then(other.cmp(one)))
        };
        let (opener, terminal) = (left(false), left(true));
        let promising = opener.filter(|at| self.seen[*at].score >= PROMISING && !late);
        promising.or(terminal).or(opener)
    }

    fn step(&mut self, leg: &Leg, element: &Element) -> Move {
        let (button, say) = if leg.secondary {
            (Button::Right, format!("Perhaps the context menu of \"{}\" holds it.", leg.label))
        } else {
            (Button::Left, format!("Perhaps it is behind \"{}\".", leg.label))
        };
        let stays =
            matches!(leg.kind, Kind::Other | Kind::Thing | Kind::Button) && element.is(State::Collapsed);
        if !stays {
            if leg.kind == Kind::Tab {
                self.route.retain(|passed| passed.kind != Kind::Tab);
            }
            self.route.push(leg.clone());
        }
        Move::Act { say, actions: vec![click(element, button, 1)] }
    }

    fn back(&mut self, scene: &Scene, browser: bool) -> Move {
        let on_page = scene.open_menus().is_empty() && scene.dialogs().is_empty();
        let tab_only = self.route.last().is_some_and(|leg| leg.kind == Kind::Tab);
        if on_page || tab_only {
            self.route.pop();
        }
        if !on_page {
            return leave("It is not here.", scene);
        }
        let actions = if browser {
            vec![Action::History { go: History::Back }]
        } else {
            key("alt+left").into_iter().collect()
        };
        Move::Act { say: "It is not here.".into(), actions }
    }
}

fn find<'s>(scene: &'s Scene, leg: &Leg) -> Option<&'s Element> {
    let fits = |element: &&Element| {
        element.name == leg.label && leg.secondary
            || element.kind == leg.kind && same_label(&scene.label_of(element), &leg.label)
    };
    let front = scene.below(scene.front()).into_iter().find(fits);
    front.or_else(|| scene.below(scene.surface()).into_iter().find(fits))
}

/// Whether pressing an element can be an answer by itself.
fn can_answer(element: &Element) -> bool {
    matches!(element.kind, Kind::Item | Kind::Switch | Kind::Radio | Kind::Button | Kind::Combo)
}

/// How promising an element is before its words are weighed; none if it opens nothing.
fn prior(element: &Element, label: &str, open: &Open, depth: usize) -> Option<f32> {
    let words = plain(label);
    let asked = open.wanted.fit(label).share >= 0.5;
    if words.iter().any(|word| RISKY.contains(&word.as_str())) && !asked {
        return None;
    }
    let settings = words.iter().any(|word| SETTINGS.contains(&word.as_str()));
    let closed = element.is(State::Collapsed);
    match element.kind {
        Kind::Menu if settings => Some(0.6),
        Kind::Menu if depth == 0 => Some(0.45),
        Kind::Menu => Some(0.26 - 0.08 * f32::from(u8::try_from(depth).unwrap_or(u8::MAX))),
        Kind::Tab if !element.is(State::Selected) => Some(0.6),
        Kind::Item | Kind::Button if settings => Some(if open.want.lasting { 0.75 } else { 0.35 }),
        Kind::Item | Kind::Button if element.promises() => Some(0.1),
        Kind::Link => Some(if settings { 0.5 } else { 0.15 }),
        Kind::Combo => Some(0.2),
        Kind::Other | Kind::Thing | Kind::Button if closed => Some(0.35),
        Kind::Item
        | Kind::Button
        | Kind::Switch
        | Kind::Radio
        | Kind::Field
        | Kind::Tab
        | Kind::Thing
        | Kind::Window
        | Kind::Dialog
        | Kind::Words
        | Kind::Other => None,
    }
}
