//! The route through an interface: the presses that opened the current surfaces, and which of these surfaces are still
//! open.

use apprentice_protocol::State;

use super::hands::Surfaces;
use super::scene::{Element, ElementKind, Scene};
use super::words::same_label;

/// What kind of surface a press opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SurfaceChange {
    /// Not observed yet.
    Unknown,
    /// A menu or an option list.
    Menu,
    /// A dialog or another window.
    Dialog,
    /// Another part of the same surface.
    SameSurface,
    /// Another page that replaces the current one.
    Page,
}

/// One press on the route from the start to a surface.
#[derive(Clone, Debug)]
pub(super) struct Leg {
    pub(super) label: String,
    /// The kind of the pressed control.
    pub(super) kind: ElementKind,
    /// Whether it was pressed with the secondary mouse button.
    pub(super) secondary: bool,
    led: SurfaceChange,
}

impl Leg {
    /// Creates a press of this label.
    pub(super) fn new(label: impl Into<String>, kind: ElementKind) -> Self {
        Self { label: label.into(), kind, secondary: false, led: SurfaceChange::Unknown }
    }

    /// Creates a press with the secondary mouse button.
    pub(super) fn secondary(label: impl Into<String>) -> Self {
        Self { secondary: true, ..Self::new(label, ElementKind::Menu) }
    }

    /// Returns whether two presses target the same control.
    pub(super) fn same(&self, other: &Self) -> bool {
        self.kind == other.kind
            && self.secondary == other.secondary
            && (self.label == other.label || same_label(&self.label, &other.label))
    }

    /// Finds the element that this leg presses, on the surface that receives input.
    pub(super) fn find<'s>(&self, scene: &'s Scene) -> Option<&'s Element> {
        if self.secondary && self.label.is_empty() {
            return scene.document();
        }
        let fits = |element: &&Element| {
            if self.secondary {
                return element.name == self.label && element.kind != ElementKind::Menu;
            }
            element.kind == self.kind && same_label(&scene.label_of(element), &self.label)
        };
        let front = scene.below(scene.front()).into_iter().find(fits);
        front.or_else(|| scene.below(scene.surface()).into_iter().find(fits))
    }

    fn lists(&self) -> bool {
        self.led == SurfaceChange::Menu && !self.secondary && self.kind == ElementKind::Menu
    }

    fn stays(&self) -> bool {
        self.led == SurfaceChange::SameSurface
    }
}

/// Returns whether two routes are the same, press by press.
pub(super) fn same_way(one: &[Leg], other: &[Leg]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one.same(other))
}

/// Returns the number of presses that two routes share from their start.
pub(super) fn shared(one: &[Leg], other: &[Leg]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one.same(other)).count()
}

/// The next step from the current position towards a leg of another route.
#[derive(Clone, Debug)]
pub(super) enum NextLeg<'s> {
    /// Press this element.
    Press(&'s Element),
    /// Close the surface in front first.
    Leave,
    /// The target does not exist here.
    Missing,
}

/// The route to the surface in front.
#[derive(Clone, Debug, Default)]
pub(super) struct Route {
    legs: Vec<Leg>,
    home: Option<Surfaces>,
    before: Option<Surfaces>,
    fresh: bool,
}

impl Route {
    /// Returns the presses, in order.
    pub(super) fn legs(&self) -> &[Leg] {
        &self.legs
    }

    /// Records a press.
    pub(super) fn push(&mut self, leg: Leg) {
        if leg.kind == ElementKind::Tab {
            let from = self.settled();
            let mut at = 0;
            self.legs.retain(|passed| {
                at += 1;
                at <= from || passed.kind != ElementKind::Tab
            });
        }
        self.legs.push(leg);
        self.fresh = true;
    }

    /// Records what the last press opened, and removes legs whose surfaces were closed.
    pub(super) fn observe(&mut self, scene: &Scene) {
        let now = Surfaces::of(scene);
        let home = self.home.get_or_insert_with(|| now.clone()).clone();
        if let Some(before) = self.before.replace(now.clone())
            && std::mem::take(&mut self.fresh)
            && let Some(last) = self.legs.last_mut()
        {
            last.led = led(last, scene, &before, &now);
            if last.led == SurfaceChange::Unknown {
                self.legs.pop();
            }
        }
        let open = (now.dialogs + now.windows).saturating_sub(home.dialogs + home.windows);
        let mut dialogs = 0;
        let closed = self.legs.iter().position(|leg| {
            dialogs += usize::from(leg.led == SurfaceChange::Dialog);
            dialogs > open
        });
        if let Some(closed) = closed {
            self.legs.truncate(closed);
        }
        let from = self.settled();
        let menus = scene.open_menus();
        let stands = |leg: &Leg| match leg.led {
            SurfaceChange::Menu if leg.lists() => {
                menus.iter().any(|menu| same_label(&scene.elements[*menu].name, &leg.label))
            }
            SurfaceChange::Menu => !menus.is_empty(),
            SurfaceChange::Unknown
            | SurfaceChange::Dialog
            | SurfaceChange::SameSurface
            | SurfaceChange::Page => true,
        };
        let mut at = 0;
        self.legs.retain(|leg| {
            at += 1;
            at <= from || stands(leg)
        });
    }

    /// Returns the start of the part of the route that closes by itself: menus and tabs.
    fn settled(&self) -> usize {
        self.legs
            .iter()
            .rposition(|leg| matches!(leg.led, SurfaceChange::Dialog | SurfaceChange::Page))
            .map_or(0, |at| at + 1)
    }

    /// Returns the next step towards a leg of a route that shares its first `shared` legs with this one.
    pub(super) fn onward<'s>(&self, scene: &'s Scene, leg: &Leg, shared: usize) -> NextLeg<'s> {
        let rest = &self.legs[shared.min(self.legs.len())..];
        let beside = rest.iter().all(Leg::lists) && !leg.secondary || rest.iter().all(Leg::stays);
        if !rest.is_empty() && !beside {
            return NextLeg::Leave;
        }
        match leg.find(scene) {
            Some(element) => NextLeg::Press(element),
            None if rest.is_empty() || rest.iter().all(Leg::stays) => NextLeg::Missing,
            None => NextLeg::Leave,
        }
    }

    /// Truncates the route to its first `kept` legs.
    pub(super) fn cut(&mut self, kept: usize) {
        self.legs.truncate(kept);
        self.fresh = false;
    }

    /// Returns whether a surface is open that was not open at the start.
    pub(super) fn is_away(&self, scene: &Scene) -> bool {
        let now = Surfaces::of(scene);
        let home = self.home.as_ref().map_or(0, |home| home.dialogs + home.windows);
        now.menus > 0 || now.dialogs + now.windows > home
    }
}

/// Classifies what a press opened, by comparing the surfaces before and after it.
fn led(leg: &Leg, scene: &Scene, before: &Surfaces, now: &Surfaces) -> SurfaceChange {
    if now.dialogs + now.windows > before.dialogs + before.windows {
        return SurfaceChange::Dialog;
    }
    let opened = leg.kind == ElementKind::Menu && !leg.secondary && {
        scene.open_menus().iter().any(|menu| same_label(&scene.elements[*menu].name, &leg.label))
    };
    if opened || now.menus > before.menus {
        return SurfaceChange::Menu;
    }
    if leg.kind == ElementKind::Tab || leg.kind == ElementKind::Object && is_selected(scene, &leg.label) {
        return SurfaceChange::SameSurface;
    }
    let elsewhere = scene.is_page() && now.title != before.title;
    if leg.kind == ElementKind::Link || elsewhere { SurfaceChange::Page } else { SurfaceChange::Unknown }
}

fn is_selected(scene: &Scene, label: &str) -> bool {
    scene.elements.iter().any(|element| {
        element.kind == ElementKind::Object
            && (element.is(State::Selected) || element.is(State::Focused))
            && same_label(&element.name, label)
    })
}
