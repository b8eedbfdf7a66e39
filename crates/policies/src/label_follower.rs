//! The `literalist` policy: it parses no grammar. It presses each visible label that occurs in the guidance, in order
//! of mention. To serve as an independent second student, it shares no guidance-following code with `novice`.

use std::collections::BTreeSet;

use apprentice_protocol::{Button, NodeRef};

use super::actions::{click, dismiss, quoted, wait};
use super::control_match::{MatchThreshold, control};
use super::executor::Executor;
use super::goal::Goal;
use super::page::PageAgent;
use super::policy::Move;
use super::progress::{PendingPress, SurfaceCounts};
use super::scene::{Element, ElementKind, Scene};
use super::skill_lookup::SkillLookup;
use super::text_match::plain;
use super::transcript::{Transcript, Turn};

/// The largest number of presses without guidance.
const MAX_PRESSES: u32 = 6;

/// The state of the `literalist` policy in one attempt.
#[derive(Clone, Debug, Default)]
pub(super) struct LabelFollower {
    goal: Goal,
    hands: Option<Executor>,
    consult: SkillLookup,
    text: Option<Vec<String>>,
    pressed: BTreeSet<NodeRef>,
    presses: u32,
    leaving: u32,
    waited: u32,
}

/// Presses what the task names and the screen shows. In an open menu it presses commands only and opens no further
/// menu.
fn press_asked(scene: &Scene, hands: &mut Executor) -> Option<Move> {
    if scene.open_menus().is_empty() {
        return hands.press_best(scene, MatchThreshold::Exact);
    }
    let want = hands.progress.pending().first().copied()?;
    let open = hands.progress.wants.get(want)?.clone();
    let choice = control(scene, scene.front(), &open, MatchThreshold::Any)
        .filter(|choice| choice.element.kind != ElementKind::Menu)?;
    hands.press(scene, want, &choice)
}

/// Returns whether a mentioned control of this kind is pressed.
fn presses(kind: ElementKind) -> bool {
    matches!(
        kind,
        ElementKind::Menu
            | ElementKind::Item
            | ElementKind::Button
            | ElementKind::Switch
            | ElementKind::Radio
            | ElementKind::Tab
            | ElementKind::Link
    )
}

/// Returns the position of a label's first mention in the text.
fn mention(text: &[String], label: &str) -> Option<usize> {
    let label = plain(label);
    if label.is_empty() || label.concat().chars().count() < 2 {
        return None;
    }
    text.windows(label.len()).position(|run| run == label)
}

impl LabelFollower {
    /// Creates a literalist for the transcript's instruction.
    pub(super) fn new(transcript: &Transcript) -> Self {
        Self { goal: Goal::read(&transcript.instruction), ..Self::default() }
    }

    /// Returns its decision for one turn.
    pub(super) fn turn(&mut self, transcript: &Transcript, turn: &Turn) -> Move {
        let mut hands = self.hands.take().unwrap_or_else(|| Executor::start(&self.goal, &turn.scene));
        hands.progress.observe(&turn.scene);
        let found = self.decide(transcript, turn, &mut hands);
        self.hands = Some(hands);
        found
    }

    fn decide(&mut self, transcript: &Transcript, turn: &Turn, hands: &mut Executor) -> Move {
        let scene = &turn.scene;
        if self.waited < 4 && self.text.is_none() && PageAgent::is_page_loading(scene) {
            self.waited += 1;
            return wait("The page is still loading.");
        }
        if hands.progress.awaits_close() {
            return wait("The dialog is about to close.");
        }
        if self.text.is_none() {
            if let Some(found) = self.consult.next(transcript, &self.goal, turn) {
                return found;
            }
            let told = |text: &str| {
                let body = text.split("## Guidance").nth(1).unwrap_or(text);
                plain(body.split("## Annotations").next().unwrap_or(body))
            };
            self.text = Some(self.consult.notes.iter().take(1).flat_map(|note| told(&note.text)).collect());
        }
        if let Some(want) = hands.progress.pending().first().copied() {
            let in_dialog = scene.open_menus().is_empty() && !scene.dialogs().is_empty();
            let filled = if in_dialog { hands.fill_next(scene, want) } else { None };
            if let Some(found) = filled.or_else(|| self.press_mentioned(scene, hands)) {
                return found;
            }
        }
        if self.presses < MAX_PRESSES
            && let Some(found) = press_asked(scene, hands)
        {
            self.presses += 1;
            return found;
        }
        let astray = !hands.progress.pending().is_empty() && self.leaving < 4;
        if astray && (!scene.open_menus().is_empty() || !scene.dialogs().is_empty()) {
            self.leaving += 1;
            return dismiss("Nothing here is mentioned.", scene);
        }
        if !hands.progress.pending().is_empty() && self.presses == 0 && self.waited < 2 && scene.is_sparse() {
            self.waited += 1;
            return wait("Perhaps more is still to come.");
        }
        hands.finish(scene, None)
    }

    /// Presses a visible label that the guidance mentions. A label of the open list that also matches the task comes
    /// first; otherwise the one mentioned first.
    fn press_mentioned(&mut self, scene: &Scene, hands: &mut Executor) -> Option<Move> {
        let want = hands.progress.pending().first().copied()?;
        let text = self.text.as_ref()?;
        let menu = scene.open_menus().last().copied();
        let open = hands.progress.wants.get(want)?;
        let mut seen: Vec<(bool, usize, &Element)> = scene
            .below(menu.or_else(|| scene.surface()))
            .into_iter()
            .filter(|element| !self.pressed.contains(&element.id))
            .filter(|element| presses(element.kind))
            .filter_map(|element| {
                let at = mention(text, &element.name)?;
                let fits = open.wanted.fit(&element.name).score() > 0.0;
                let asked = menu.is_some() && fits;
                if element.kind == ElementKind::Switch && menu.is_none() && !fits {
                    return None;
                }
                Some((!asked, at, element))
            })
            .collect();
        seen.sort_by_key(|(unasked, at, element)| (*unasked, *at, element.depth));
        let (_, _, element) = seen.first()?;
        if self.pressed.is_empty()
            && menu.is_none()
            && let Some(found) = hands.select_whole(scene, want)
        {
            return Some(found);
        }
        self.pressed.insert(element.id.clone());
        let state = (element.kind == ElementKind::Switch)
            .then(|| {
                hands
                    .progress
                    .wants
                    .get(want)
                    .map(|open| super::control_match::target_state(open, &element.name))
            })
            .flatten();
        let already = state.is_some() && element.is_on() == state;
        let asked =
            hands.progress.wants.get(want).is_some_and(|open| open.wanted.fit(&element.name).matched > 0.0);
        // A control that the task does not mention is only a preparation.
        let prepares =
            !asked && matches!(element.kind, ElementKind::Switch | ElementKind::Radio | ElementKind::Item);
        let pressed = PendingPress {
            want,
            label: element.name.clone(),
            kind: element.kind,
            state,
            surfaces: SurfaceCounts::of(scene),
            beside: Vec::new(),
            confirms: false,
        };
        if !prepares {
            hands.progress.press(pressed);
        }
        let say = format!("The guidance mentions {}.", quoted(&element.name));
        let actions = if already { Vec::new() } else { vec![click(element, Button::Left, 1)] };
        (!actions.is_empty()).then_some(Move::Act { say, actions })
    }
}
