//! Follows guidance step by step. A control that is not there after a while ends it.

use std::collections::VecDeque;

use apprentice_protocol::{Action, Button, State};

use super::actions::{click, clicks, dismisses, fill, keys, quoted};
use super::guidance::{Line, Step};
use super::hands::{Care, Hands};
use super::page;
use super::policy::Move;
use super::scene::{Element, ElementKind, Scene};
use super::words::same_label;

/// The result of one step of following guidance.
#[derive(Clone, Debug)]
pub(super) enum Followed {
    /// The next move that the guidance prescribes.
    Act(Move),
    /// The guidance has been followed to its end.
    Through,
    /// A control that the guidance names cannot be found.
    Stuck,
}

/// Guidance in progress.
#[derive(Clone, Debug, Default)]
pub(super) struct Follower {
    lines: VecDeque<Line>,
    waited: u32,
    /// Number of moves so far.
    pub(super) moves: u32,
}

/// Finds the control with this label: in the open menu first, then in the front window, then anywhere.
fn find<'s>(scene: &'s Scene, label: &str) -> Option<&'s Element> {
    let roots = [scene.front(), scene.surface(), None];
    roots.into_iter().find_map(|root| {
        let is_control = |element: &&Element| {
            element.kind.is_pressed() || matches!(element.kind, ElementKind::Field | ElementKind::Object)
        };
        let bare = |name: &str| name.trim_end_matches(['…', '.', ':']).to_owned();
        let fits = |element: &&Element| {
            same_label(&bare(&element.name), label) || same_label(&scene.label_of(element), label)
        };
        scene.below(root).into_iter().filter(is_control).find(fits)
    })
}

impl Follower {
    /// Starts following these lines.
    pub(super) fn new(lines: Vec<Line>) -> Self {
        Self { lines: lines.into(), ..Self::default() }
    }

    /// Returns the next move of the guidance.
    pub(super) fn next(&mut self, scene: &Scene, hands: &mut Hands) -> Followed {
        let patience = if page::address_field(scene).is_some() { 4 } else { 1 };
        while let Some(line) = self.lines.front().cloned() {
            match self.take(&line, scene, hands) {
                Taken::Move(found) => {
                    self.lines.pop_front();
                    self.waited = 0;
                    self.moves += 1;
                    return Followed::Act(found);
                }
                Taken::Nothing => {
                    self.lines.pop_front();
                }
                Taken::Missing if self.waited < patience => {
                    self.waited += 1;
                    let say = "What the guidance names may still appear.".into();
                    return Followed::Act(Move::Act {
                        say,
                        actions: vec![Action::Wait { ms: 300 * patience }],
                    });
                }
                Taken::Missing if line.optional => {
                    while self.lines.front().is_some_and(|line| line.optional) {
                        self.lines.pop_front();
                    }
                    self.waited = 0;
                }
                Taken::Missing => return Followed::Stuck,
            }
        }
        Followed::Through
    }

    fn take(&self, line: &Line, scene: &Scene, hands: &mut Hands) -> Taken {
        match &line.step {
            Step::Press(label) => match find(scene, label) {
                Some(element) => self.press(element, scene, hands),
                None => Taken::Missing,
            },
            Step::Keys(chord) => Taken::Move(keys(format!("The guidance says to press {chord}."), &[chord])),
            Step::Fill(label) => self.fill(label.as_deref(), scene, hands),
            Step::Pick => match hands.act(scene, Care::Any, false) {
                Some(found) => Taken::Move(found),
                None if hands.done => Taken::Nothing,
                None => Taken::Missing,
            },
            Step::Context => context(scene, hands),
            Step::Visit(address) => Taken::Move(visit(address, scene)),
            Step::Cell => hands.open_cell(scene).map_or(Taken::Missing, Taken::Move),
        }
    }

    fn press(&self, element: &Element, scene: &Scene, hands: &mut Hands) -> Taken {
        let is_open = element.kind == ElementKind::Menu
            && scene.open_menus().iter().any(|index| scene.elements[*index].id == element.id);
        let stands =
            element.is_on().is_some() && element.is_on() == hands.wanted_state(element, &element.name);
        if is_open || stands || element.kind == ElementKind::Tab && element.is(State::Selected) {
            return Taken::Nothing;
        }
        // What comes before the last choice only prepares it.
        let prepares = self.lines.iter().skip(1).any(|line| {
            matches!(line.step, Step::Context | Step::Pick | Step::Cell | Step::Fill(_) | Step::Press(_))
                && !matches!(&line.step, Step::Press(label) if dismisses(label))
        });
        if !prepares && !dismisses(&element.name) {
            hands.expect(scene, element, &element.name);
        }
        Taken::Move(clicks(format!("The guidance names {}.", quoted(&element.name)), element))
    }

    /// Types the task's text into the opened cell, or into the field.
    fn fill(&self, label: Option<&str>, scene: &Scene, hands: &mut Hands) -> Taken {
        if let Some(text) = hands.cell.take() {
            hands.finish_values(&text);
            let say = format!("The guidance says to type {} here.", quoted(&text));
            return Taken::Move(Move::Act { say, actions: vec![Action::Type { text }] });
        }
        if let Some((field, text)) = hands.page_field(scene).filter(|_| scene.is_page()) {
            hands.finish_values(&text);
            return Taken::Move(Move::Act {
                say: "The guidance says to type it here.".into(),
                actions: fill(field, &text),
            });
        }
        let is_field = |element: &&Element| element.kind == ElementKind::Field;
        let named = label.and_then(|label| find(scene, label)).filter(is_field);
        let focused = || scene.elements.iter().filter(is_field).find(|field| field.is(State::Focused));
        let document = scene.document().map(|element| element.id.clone());
        let only = || scene.below(scene.surface()).into_iter().find(|element| is_field(element));
        let field = named.or_else(focused).or_else(only).filter(|field| document.as_ref() != Some(&field.id));
        match (field, hands.next_text()) {
            (_, None) => Taken::Nothing,
            (Some(field), Some(text)) => Taken::Move(hands.fill(scene, field, &text)),
            (None, Some(_)) => Taken::Missing,
        }
    }
}

/// What came of one line.
enum Taken {
    /// A move.
    Move(Move),
    /// Nothing is to be done for it.
    Nothing,
    /// Its target is not there.
    Missing,
}

fn context(scene: &Scene, hands: &mut Hands) -> Taken {
    let Some(element) = hands.find_object(scene).or_else(|| scene.document()) else { return Taken::Missing };
    let say = format!("The guidance says to open the context menu of {}.", quoted(&element.name));
    Taken::Move(Move::Act { say, actions: vec![click(element, Button::Right, 1)] })
}

/// Opens an address: in the address field if there is one, else by direct navigation.
fn visit(address: &str, scene: &Scene) -> Move {
    let say = format!("The guidance says to open {address}.");
    let actions = match page::address_field(scene) {
        Some(field) => fill(field, &format!("{address}\n")),
        None => vec![Action::Navigate { url: address.to_owned() }],
    };
    Move::Act { say, actions }
}
