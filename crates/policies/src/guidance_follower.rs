//! Executes guidance step by step: label by label, key by key. A label that cannot be found ends it.

use std::collections::VecDeque;

use apprentice_protocol::{Action, Button, State, Target};

use super::actions::{click, dismisses, fill, keys, quoted};
use super::control_match::{ControlMatch, MatchThreshold, control, filling, key_of, object};
use super::executor::Executor;
use super::goal::SubGoalKind;
use super::guidance::{Label, Step};
use super::page;
use super::policy::Move;
use super::progress::{PendingPress, SurfaceCounts};
use super::scene::{Element, ElementKind, Scene};
use super::text_match::{plain, stem};

/// The result of one step of following guidance.
#[derive(Clone, Debug)]
pub(super) enum FollowOutcome {
    /// The next action that the guidance prescribes.
    Act(Move),
    /// The guidance has been followed to its end.
    Through,
    /// A control that the guidance names cannot be found.
    Stuck,
}

/// Guidance in progress.
#[derive(Clone, Debug, Default)]
pub(super) struct GuidanceFollower {
    steps: VecDeque<Step>,
    /// The text for the table cell that was opened.
    cell: Option<String>,
    waited: u32,
    /// Number of controls pressed so far.
    pub(super) pressed: u32,
}

/// Returns how often to wait for a control that a sentence names. Web pages take longer to appear than lists.
fn patience(scene: &Scene) -> u32 {
    if page::is_of_browser(scene) { 4 } else { 1 }
}

/// Returns whether two labels are equal after stemming.
fn alike(one: &str, other: &str) -> bool {
    let stems = |text: &str| plain(text).iter().map(|word| stem(word)).collect::<Vec<_>>();
    let (one, other) = (stems(one), stems(other));
    !one.is_empty() && one == other
}

/// Finds the element with this label: in the open menu first, then in the front window, then anywhere.
fn find<'s>(scene: &'s Scene, label: &str) -> Option<&'s Element> {
    let roots = [scene.front(), scene.surface(), None];
    roots.into_iter().find_map(|root| {
        let fits = |element: &&&Element| {
            !matches!(element.kind, ElementKind::Window | ElementKind::Dialog)
                && (alike(&element.name, label) || alike(&scene.label_of(element), label))
        };
        let below = scene.below(root);
        let pressable = |element: &&&Element| fits(element) && element.kind != ElementKind::StaticText;
        below.iter().find(pressable).or_else(|| below.iter().find(fits)).copied()
    })
}

impl GuidanceFollower {
    /// Starts following these steps.
    pub(super) fn new(steps: Vec<Step>) -> Self {
        Self { steps: steps.into(), ..Self::default() }
    }

    /// Returns the next action of the guidance.
    pub(super) fn next(&mut self, scene: &Scene, hands: &mut Executor) -> FollowOutcome {
        while let Some(step) = self.steps.pop_front() {
            match self.take(step, scene, hands) {
                Some(FollowOutcome::Act(found)) => return FollowOutcome::Act(found),
                Some(FollowOutcome::Stuck) if self.waited < patience(scene) => {
                    self.waited += 1;
                    let say = "What the guidance names may still appear.".into();
                    return FollowOutcome::Act(Move::Act {
                        say,
                        actions: vec![Action::Wait { ms: if patience(scene) > 1 { 1000 } else { 300 } }],
                    });
                }
                Some(FollowOutcome::Stuck) => return FollowOutcome::Stuck,
                Some(FollowOutcome::Through) | None => self.waited = 0,
            }
        }
        FollowOutcome::Through
    }

    fn take(&mut self, step: Step, scene: &Scene, hands: &mut Executor) -> Option<FollowOutcome> {
        match step {
            Step::Path(labels) => self.take_path(labels, scene, hands),
            Step::Labels(labels) => self.take_labels(labels, scene, hands),
            Step::Keys(chord) => Some(FollowOutcome::Act(keys(
                format!("The guidance says to press {chord}."),
                &[chord.as_str()],
            ))),
            Step::Fill(label) => self.take_fill(label.as_deref(), scene, hands),
            Step::Pick if page::is_of_browser(scene) => self.pick_on_page(scene, hands),
            Step::Pick => pick(scene, hands).map(FollowOutcome::Act),
            Step::Context(label) => Some(context(label.as_deref(), scene, hands)),
            Step::Visit(address) => Some(FollowOutcome::Act(visit(&address, scene))),
            Step::Cell => Some(self.take_cell(scene, hands)),
            Step::Maybe(steps) => self.take_group(steps, scene, hands),
        }
    }

    /// Executes a conditional group. Once its first action succeeds, the rest is executed; if the first action finds
    /// no target, the whole group is skipped.
    fn take_group(&mut self, steps: Vec<Step>, scene: &Scene, hands: &mut Executor) -> Option<FollowOutcome> {
        let mut rest = steps.clone();
        let first = if rest.is_empty() { return None } else { rest.remove(0) };
        let after = self.steps.len();
        for step in rest.into_iter().rev() {
            self.steps.push_front(step);
        }
        match self.take(first, scene, hands) {
            Some(FollowOutcome::Stuck) => {
                while self.steps.len() > after {
                    self.steps.pop_front();
                }
                if self.waited >= patience(scene) {
                    return None;
                }
                self.steps.push_front(Step::Maybe(steps));
                Some(FollowOutcome::Stuck)
            }
            other => other,
        }
    }

    fn take_path(
        &mut self,
        mut labels: Vec<Label>,
        scene: &Scene,
        hands: &mut Executor,
    ) -> Option<FollowOutcome> {
        if labels.is_empty() {
            return None;
        }
        let label = labels.remove(0);
        let Some(element) = find(scene, &label.text) else {
            labels.insert(0, label);
            self.steps.push_front(Step::Path(labels));
            return Some(FollowOutcome::Stuck);
        };
        if !labels.is_empty() {
            self.steps.push_front(Step::Path(labels));
        }
        self.press(element, &label, scene, hands).map(FollowOutcome::Act)
    }

    /// Presses the first visible label of a sentence. When several labels are visible in one open list, presses the
    /// one that the task asks for.
    fn take_labels(
        &mut self,
        labels: Vec<Label>,
        scene: &Scene,
        hands: &mut Executor,
    ) -> Option<FollowOutcome> {
        let seen: Vec<usize> =
            (0..labels.len()).filter(|at| find(scene, &labels[*at].text).is_some()).collect();
        let Some(first) = seen.first().copied() else {
            let place_only = labels.iter().all(|label| is_place(scene, &label.text));
            if place_only {
                return None;
            }
            self.steps.push_front(Step::Labels(labels));
            return Some(FollowOutcome::Stuck);
        };
        let in_menu = seen.iter().filter(|at| in_open_menu(scene, &labels[**at].text)).count();
        let chosen = if in_menu >= 2 { asked_for(&labels, &seen, hands)? } else { first };
        let chosen = if in_menu == 1 {
            seen.iter().copied().find(|at| in_open_menu(scene, &labels[*at].text)).unwrap_or(chosen)
        } else {
            chosen
        };
        let mut rest = labels;
        let label = rest.remove(chosen);
        let element = find(scene, &label.text)?;
        if in_menu < 2 && !rest.is_empty() {
            self.steps.push_front(Step::Labels(rest));
        }
        self.press(element, &label, scene, hands).map(FollowOutcome::Act)
    }

    fn press(
        &mut self,
        element: &Element,
        label: &Label,
        scene: &Scene,
        hands: &mut Executor,
    ) -> Option<Move> {
        self.pressed += 1;
        let is_open = element.kind == ElementKind::Menu
            && scene.open_menus().iter().any(|index| scene.elements[*index].id == element.id);
        if is_open || element.kind == ElementKind::Tab && element.is(State::Selected) {
            return None;
        }
        let wants = &hands.progress.wants;
        let current = hands.progress.current().unwrap_or(0);
        let want = (0..wants.len())
            .filter(|index| !wants[*index].done && wants[*index].wanted.fit(&label.text).matched > 0.0)
            .max_by(|one, other| {
                let score = |index: &usize| wants[*index].wanted.fit(&label.text).score();
                score(one).total_cmp(&score(other))
            })
            .unwrap_or(current);
        let asked = wants.get(want).map(|open| super::control_match::target_state(open, &element.name));
        let state = match element.kind {
            ElementKind::Switch => label.state.or(asked),
            ElementKind::Radio => Some(true),
            _ => None,
        };
        let surfaces = SurfaceCounts::of(scene);
        let pressed = PendingPress {
            want,
            label: element.name.clone(),
            kind: element.kind,
            state,
            surfaces,
            beside: Vec::new(),
            confirms: false,
        };
        let already = state.is_some() && element.is_on() == state;
        let asked = wants.get(want).is_some_and(|open| open.wanted.fit(&label.text).matched > 0.0);
        if !dismisses(&element.name) && !self.comes_first(asked) {
            hands.progress.press(pressed);
        }
        if already {
            return None;
        }
        let say = format!("The guidance names {}.", quoted(&label.text));
        Some(Move::Act { say, actions: vec![click(element, Button::Left, 1)] })
    }

    /// Sets the page control that the task asks for.
    fn pick_on_page(&mut self, scene: &Scene, hands: &mut Executor) -> Option<FollowOutcome> {
        let Some((id, label)) = page::choice_for(scene, hands.told()) else {
            self.steps.push_front(Step::Pick);
            return Some(FollowOutcome::Stuck);
        };
        self.pressed += 1;
        for open in hands.progress.wants.iter_mut().filter(|open| open.want.kind != SubGoalKind::Save) {
            open.done = true;
        }
        let at = Target::Ref(id?);
        let actions = vec![Action::Click { at, button: Button::Left, count: 1, hold: None }];
        Some(FollowOutcome::Act(Move::Act {
            say: format!("{} is what the task asks for.", quoted(&label)),
            actions,
        }))
    }

    /// Opens the cell that the task is about.
    fn take_cell(&mut self, scene: &Scene, hands: &Executor) -> FollowOutcome {
        let Some((cell, text)) = page::cell_for(scene, hands.told()) else {
            self.steps.push_front(Step::Cell);
            return FollowOutcome::Stuck;
        };
        self.cell = Some(text);
        self.pressed += 1;
        let at = Target::Ref(cell);
        let actions = vec![Action::Click { at, button: Button::Left, count: 2, hold: None }];
        FollowOutcome::Act(Move::Act { say: "The guidance says to double-click the cell.".into(), actions })
    }

    /// Types the task's value into the opened cell, or into the matching field of the page in front.
    fn fill_page(&mut self, scene: &Scene, hands: &mut Executor) -> Option<Move> {
        let (actions, text) = if let Some(text) = self.cell.take() {
            (vec![Action::Type { text: text.clone() }], text)
        } else {
            let (id, text) = page::field_for(scene, hands.told())?;
            let field = scene.elements.iter().find(|element| element.id == id)?;
            (fill(field, &text), text)
        };
        for open in hands.progress.wants.iter_mut().filter(|open| open.want.kind != SubGoalKind::Save) {
            open.mark_values_in(&text);
            let through = open.unused_values().next().is_none();
            open.done |= through;
        }
        self.pressed += 1;
        Some(Move::Act { say: format!("The guidance says to type {} here.", quoted(&text)), actions })
    }

    /// Returns whether the current press only prepares for a later step of the guidance.
    fn comes_first(&self, asked: bool) -> bool {
        self.steps.iter().any(|step| match step {
            Step::Context(_) | Step::Pick | Step::Cell => true,
            Step::Path(_) | Step::Fill(_) => !asked,
            Step::Labels(_) | Step::Keys(_) | Step::Visit(_) | Step::Maybe(_) => false,
        })
    }

    fn take_fill(
        &mut self,
        label: Option<&str>,
        scene: &Scene,
        hands: &mut Executor,
    ) -> Option<FollowOutcome> {
        if scene.is_page()
            && let Some(found) = self.fill_page(scene, hands)
        {
            return Some(FollowOutcome::Act(found));
        }
        let named = label.and_then(|label| find(scene, label));
        let focused = scene
            .elements
            .iter()
            .find(|element| element.kind == ElementKind::Field && element.is(State::Focused));
        let document = scene.document().map(|element| element.id.clone());
        let mut order: Vec<usize> = (0..hands.progress.wants.len()).collect();
        order.sort_by_key(|index| hands.progress.wants[*index].done);
        for want in order {
            let open = &hands.progress.wants[want];
            let best = filling(scene, scene.surface(), open, &hands.progress.filled);
            let next = open.unused_values().next().map(|(index, value)| (index, value.text.clone()));
            let Some((value, text)) = best.as_ref().map(|best| (best.value, best.text.clone())).or(next)
            else {
                continue;
            };
            let in_hand = focused.filter(|field| document.as_ref() != Some(&field.id));
            let field = named
                .filter(|field| field.kind == ElementKind::Field)
                .or_else(|| best.as_ref().map(|best| best.field))
                .or(in_hand);
            let Some(field) = field else { return Some(FollowOutcome::Stuck) };
            hands.progress.filled.push(key_of(field, &scene.label_of(field)));
            hands.progress.has_unconfirmed_changes |= !scene.dialogs().is_empty();
            if let Some(open) = hands.progress.wants.get_mut(want) {
                open.mark_value(value);
                open.given = true;
            }
            self.pressed += 1;
            let say = format!("The guidance says to type {} here.", quoted(&text));
            return Some(FollowOutcome::Act(Move::Act { say, actions: fill(field, &text) }));
        }
        None
    }
}

/// Returns whether a label only names the current location: the window or an open dialog.
fn is_place(scene: &Scene, label: &str) -> bool {
    scene.places().iter().any(|place| {
        let (place, label) = (plain(place), plain(label));
        !label.is_empty() && place.windows(label.len()).any(|run| run == label)
    })
}

fn in_open_menu(scene: &Scene, label: &str) -> bool {
    let Some(menu) = scene.open_menus().last().copied() else { return false };
    scene.below(Some(menu)).iter().any(|element| alike(&element.name, label))
}

/// Returns the label of an open list that matches the current sub-goal best, or `None` if no label matches.
fn asked_for(labels: &[Label], seen: &[usize], hands: &Executor) -> Option<usize> {
    let open = hands.progress.wants.get(hands.progress.current()?)?;
    let score = |at: &usize| open.wanted.fit(&labels[*at].text).score();
    seen.iter().copied().filter(|at| score(at) > 0.0).max_by(|one, other| score(one).total_cmp(&score(other)))
}

fn pick(scene: &Scene, hands: &mut Executor) -> Option<Move> {
    let pending = hands.progress.pending();
    let choices = pending.into_iter().filter_map(|want| {
        let open = hands.progress.wants.get(want)?;
        Some((want, control(scene, scene.front(), open, MatchThreshold::Any)?))
    });
    let best = choices.fold(None, |best: Option<(usize, ControlMatch<'_>)>, next| match best {
        Some(best) if best.1.score >= next.1.score => Some(best),
        Some(_) | None => Some(next),
    });
    let (want, choice) = best?;
    hands.press(scene, want, &choice)
}

fn context(label: Option<&str>, scene: &Scene, hands: &mut Executor) -> FollowOutcome {
    let named = label.and_then(|label| find(scene, label));
    let selected = || {
        scene
            .elements
            .iter()
            .find(|element| element.kind == ElementKind::Object && element.is(State::Selected))
    };
    let pending = hands.progress.pending();
    let wanted = pending.into_iter().find_map(|want| {
        hands.progress.wants.get(want).and_then(|open| object(scene, open)).map(|found| (want, found))
    });
    if let Some((want, (element, value))) = wanted.filter(|_| named.is_none()) {
        hands.object = Some(element.id.clone());
        if let Some(open) = hands.progress.wants.get_mut(want) {
            open.mark_value(value);
        }
    }
    let picked = || scene.elements.iter().find(|element| Some(&element.id) == hands.object.as_ref());
    match named.or_else(picked).or_else(selected).or_else(|| scene.document()) {
        Some(element) => FollowOutcome::Act(Move::Act {
            say: format!("The guidance says to open the context menu of {}.", quoted(&element.name)),
            actions: vec![click(element, Button::Right, 1)],
        }),
        None => FollowOutcome::Stuck,
    }
}

/// Opens an address: in the address field if there is one, else by direct navigation.
fn visit(address: &str, scene: &Scene) -> Move {
    let say = format!("The guidance says to open {address}.");
    let is_bar = |element: &&Element| {
        element.kind == ElementKind::Field
            && plain(&element.name).iter().any(|word| word == "address" || word == "location")
    };
    match scene.elements.iter().find(is_bar) {
        Some(bar) => {
            let mut actions = fill(bar, &format!("{address}\n"));
            actions.retain(|action| !matches!(action, Action::Move { to: Target::Point(_) }));
            Move::Act { say, actions }
        }
        None => Move::Act { say, actions: vec![Action::Navigate { url: address.to_owned() }] },
    }
}
