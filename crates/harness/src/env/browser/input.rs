//! Pointer and keyboard input. Whatever one action presses is released, even if the action is cancelled.

use std::time::Duration;

use apprentice_cdp::domain::input::{
    DispatchDragEvent, DispatchKeyEvent, DispatchMouseEvent, DragEventKind, DragIntercepted, InsertText,
    MouseButton, MouseEventKind, SetInterceptDrags,
};
use apprentice_cdp::{EventFilter, EventPayload, Session};
use apprentice_protocol::{Button, Chord, Clock, Key, ScreenPoint, Why};

use super::driver::{ActionError, Browser, lost};
use super::keyboard::{self, Typed};

/// Pixels scrolled per notch of the wheel.
const NOTCH: f64 = 100.0;
/// Moves between two points of a drag's path. A page recognises a drag by its moves.
const DRAG_MOVES: u32 = 6;

/// So many characters of a short text are sent one by one: what has fields for a code, or looks things up, takes no more.
const PACED: usize = 32;
/// The same of a longer text, whose first keys may open the field that takes the others.
const PACED_OF_LONG: usize = 8;
/// Most key events that are sent ahead of the page.
const AHEAD: usize = 128;
/// Most events of one stroke: Shift and the key, pressed and released.
const KEY_EVENTS: usize = 4;

/// How fast a text is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    /// As fast as the page takes it.
    Fast,
    /// A character a frame, for fields that hold one character each: pages move on to the next field in a frame of their own.
    ByFrame,
}

/// Position of the pointer, and the buttons and keys held between actions.
#[derive(Clone, Debug, Default)]
pub(super) struct InputState {
    x: f64,
    y: f64,
    buttons: u8,
    /// The keys that are held between actions.
    held: Vec<Key>,
}

/// What to release when an action ends early.
enum Held {
    Button(DispatchMouseEvent),
    Keys(Vec<DispatchKeyEvent>),
}

/// Releases a button or keys when dropped, without waiting for the reply.
struct Release<'a> {
    session: &'a Session,
    held: Option<Held>,
}

impl Drop for Release<'_> {
    fn drop(&mut self) {
        match self.held.take() {
            Some(Held::Button(event)) => self.session.post(&event),
            Some(Held::Keys(events)) => events.iter().for_each(|event| self.session.post(event)),
            None => {}
        }
    }
}

/// The details of a click.
#[derive(Clone, Copy, Debug)]
pub(super) struct Click<'a> {
    pub(super) button: Button,
    pub(super) count: u8,
    pub(super) hold: Option<&'a Chord>,
}

impl InputState {
    pub(super) fn place(&self) -> (f64, f64) {
        (self.x, self.y)
    }

    /// The bits of the modifiers that are held.
    pub(super) fn modifiers(&self) -> u8 {
        keyboard::modifiers_of(&self.held)
    }

    fn event(&self, kind: MouseEventKind, button: MouseButton) -> DispatchMouseEvent {
        DispatchMouseEvent {
            kind,
            x: self.x,
            y: self.y,
            modifiers: self.modifiers(),
            button,
            buttons: self.buttons,
            click_count: 0,
            delta_x: 0.0,
            delta_y: 0.0,
        }
    }

    /// Moves the pointer, keeping held buttons down.
    pub(super) async fn go(&mut self, browser: &Browser, x: f64, y: f64) -> Result<(), ActionError> {
        let event = self.moved(x, y);
        self.send(browser, event).await
    }

    fn moved(&mut self, x: f64, y: f64) -> DispatchMouseEvent {
        (self.x, self.y) = (x, y);
        self.event(MouseEventKind::MouseMoved, named(self.buttons))
    }

    /// Moves the pointer to a point and clicks there.
    pub(super) async fn click(
        &mut self,
        browser: &Browser,
        x: f64,
        y: f64,
        click: Click<'_>,
    ) -> Result<(), ActionError> {
        let session = front(browser)?;
        let moved = self.moved(x, y);
        let keys = click.hold.map(Chord::keys).unwrap_or_default();
        let mut release_keys = Release { session: &session, held: None };
        if !keys.is_empty() {
            release_keys.held = Some(Held::Keys(keyboard::release(keys, self.modifiers())));
            strike(browser, &session, &keyboard::press(keys, self.modifiers())).await?;
        }
        let modifiers = self.modifiers() | keyboard::modifiers_of(keys);
        let button = MouseButton::from(Pressed(click.button));
        let bits = self.buttons | bit(click.button);
        let presses = (1..=click.count.clamp(1, 3)).flat_map(|count| {
            let event =
                |kind| DispatchMouseEvent { modifiers, click_count: count, ..self.event(kind, button) };
            let down = DispatchMouseEvent { buttons: bits, ..event(MouseEventKind::MousePressed) };
            [down, event(MouseEventKind::MouseReleased)]
        });
        let events: Vec<DispatchMouseEvent> =
            std::iter::once(DispatchMouseEvent { modifiers, ..moved }).chain(presses).collect();
        // All are sent before the first is answered: nothing stays pressed if the action ends early, and a page answers
        // a move only with its next frame.
        browser.guard(session.call_in_order(&events)).await?;
        if !keys.is_empty() {
            release_keys.held = None;
            strike(browser, &session, &keyboard::release(keys, self.modifiers())).await?;
        }
        Ok(())
    }

    /// Presses a button and keeps it down.
    pub(super) async fn press(&mut self, browser: &Browser, button: Button) -> Result<(), ActionError> {
        self.buttons |= bit(button);
        let event = self.event(MouseEventKind::MousePressed, Pressed(button).into());
        self.send(browser, DispatchMouseEvent { click_count: 1, ..event }).await
    }

    /// Releases a button.
    pub(super) async fn release(&mut self, browser: &Browser, button: Button) -> Result<(), ActionError> {
        self.buttons &= !bit(button);
        let event = self.event(MouseEventKind::MouseReleased, Pressed(button).into());
        self.send(browser, DispatchMouseEvent { click_count: 1, ..event }).await
    }

    /// Presses keys and keeps them down.
    pub(super) async fn hold(&mut self, browser: &Browser, keys: &Chord) -> Result<(), ActionError> {
        let before = self.modifiers();
        let fresh = keys.keys().iter().filter(|key| !self.held.contains(key)).cloned();
        self.held.extend(fresh.collect::<Vec<_>>());
        strike(browser, &front(browser)?, &keyboard::press(keys.keys(), before)).await
    }

    /// Releases keys that are held.
    pub(super) async fn let_go(&mut self, browser: &Browser, keys: &Chord) -> Result<(), ActionError> {
        self.held.retain(|held| !keys.keys().contains(held));
        strike(browser, &front(browser)?, &keyboard::release(keys.keys(), self.modifiers())).await
    }

    /// Presses a chord, holds it for the given time, and releases it.
    pub(super) async fn press_chord(
        &self,
        browser: &Browser,
        clock: &dyn Clock,
        keys: &[Key],
        hold: Option<Duration>,
    ) -> Result<(), ActionError> {
        let (session, base) = (front(browser)?, self.modifiers());
        let mut release =
            Release { session: &session, held: Some(Held::Keys(keyboard::release(keys, base))) };
        strike(browser, &session, &keyboard::press(keys, base)).await?;
        if let Some(time) = hold {
            clock.pause(time, Why::ModelAsked).await;
        }
        release.held = None;
        strike(browser, &session, &keyboard::release(keys, base)).await
    }

    /// Turns the wheel at the pointer's position.
    pub(super) async fn scroll(&mut self, browser: &Browser, dx: i32, dy: i32) -> Result<(), ActionError> {
        let event = self.event(MouseEventKind::MouseWheel, MouseButton::None);
        let (delta_x, delta_y) = (f64::from(dx) * NOTCH, f64::from(dy) * NOTCH);
        self.send(browser, DispatchMouseEvent { delta_x, delta_y, ..event }).await
    }

    /// Drags along a path. A page that uses HTML drag and drop receives its drop at the last point.
    pub(super) async fn drag(
        &mut self,
        browser: &Browser,
        path: &[ScreenPoint],
        button: Button,
    ) -> Result<(), ActionError> {
        let session = front(browser)?;
        let mut filter = EventFilter::named([DragIntercepted::METHOD]);
        filter.session = session.id().cloned();
        let mut dragged = session.events(filter, 4);
        browser.call(&session, &SetInterceptDrags { enabled: true }).await?;
        let done = self.drag_through(browser, path, button, &mut dragged).await;
        session.post(&SetInterceptDrags { enabled: false });
        done
    }

    async fn drag_through(
        &mut self,
        browser: &Browser,
        path: &[ScreenPoint],
        button: Button,
        dragged: &mut apprentice_cdp::Events,
    ) -> Result<(), ActionError> {
        let Some(first) = path.first() else { return Ok(()) };
        let session = &front(browser)?;
        self.go(browser, f64::from(first.x), f64::from(first.y)).await?;
        let up = self.event(MouseEventKind::MouseReleased, Pressed(button).into());
        self.press(browser, button).await?;
        let mut release =
            Release { session, held: Some(Held::Button(DispatchMouseEvent { click_count: 1, ..up })) };
        // A page may take a press for the start of a drag only once it was held for a moment (the delay of dnd-kit).
        browser.timers(session).await?;
        let mut data = None;
        for point in path.windows(2).flat_map(|pair| steps(pair[0], pair[1])) {
            if data.is_none() {
                self.go(browser, point.0, point.1).await?;
                let event = dragged.try_next().and_then(|event| event.read::<DragIntercepted>());
                let Some(begun) = event else { continue };
                let begun =
                    begun.map_err(|error| lost(format!("chromium sent a malformed drag event: {error}")))?;
                data = Some(begun.data);
                self.carry(browser, session, DragEventKind::DragEnter, data.as_ref()).await?;
            } else {
                (self.x, self.y) = point;
                self.carry(browser, session, DragEventKind::DragOver, data.as_ref()).await?;
            }
        }
        if data.is_some() {
            // A browser repeats the event while the pointer rests. Pages leave out those that come right after a change (SortableJS
            // 1.15: within 30 ms), and the last one decides what takes the drop.
            for _ in 0..2 {
                browser.timers(session).await?;
                self.carry(browser, session, DragEventKind::DragOver, data.as_ref()).await?;
            }
            self.carry(browser, session, DragEventKind::Drop, data.as_ref()).await?;
        }
        release.held = None;
        self.release(browser, button).await
    }

    async fn carry(
        &self,
        browser: &Browser,
        session: &Session,
        kind: DragEventKind,
        data: Option<&serde_json::Value>,
    ) -> Result<(), ActionError> {
        let Some(data) = data.cloned() else { return Ok(()) };
        browser.call(session, &DispatchDragEvent { kind, x: self.x, y: self.y, data }).await?;
        Ok(())
    }

    async fn send(&self, browser: &Browser, event: DispatchMouseEvent) -> Result<(), ActionError> {
        browser.call(&front(browser)?, &event).await?;
        Ok(())
    }
}

/// Types a text as a keyboard does. What no key gives is inserted.
///
/// The first characters are sent one by one, so that a page may move the focus or wait a tick after each (fields of a code, a
/// search while typing); the rest is sent ahead, and awaited where a key may move the focus to another process.
pub(super) async fn type_text(
    browser: &Browser,
    text: &str,
    pace: Pace,
    modifiers: u8,
) -> Result<(), ActionError> {
    let session = front(browser)?;
    let text = text.replace("\r\n", "\n");
    let shift = keyboard::release_shift(modifiers);
    let mut release = Release { session: &session, held: Some(Held::Keys(vec![shift])) };
    let mut ahead = Vec::new();
    let pieces = keyboard::typed(&text, modifiers);
    let last = pieces.len().saturating_sub(1);
    let paced = if pieces.len() > 2 * PACED { PACED_OF_LONG } else { PACED };
    for (index, piece) in pieces.into_iter().enumerate() {
        // What ends a text takes what the page found for it, which comes a moment after the last character (a search while typing).
        if index == last && index > 0 && moves_on(&piece) {
            strike(browser, &session, &std::mem::take(&mut ahead)).await?;
            browser.timers(&session).await?;
        }
        match piece {
            Typed::Keys(events) => ahead.extend(events),
            Typed::Text(text) => {
                strike(browser, &session, &std::mem::take(&mut ahead)).await?;
                browser.call(&session, &InsertText { text }).await?;
            }
        }
        if index < paced || moves_on_at_end(&ahead) || pace == Pace::ByFrame {
            strike(browser, &session, &std::mem::take(&mut ahead)).await?;
        }
        if pace == Pace::ByFrame {
            browser.frame(&session).await?;
        }
    }
    strike(browser, &session, &ahead).await?;
    release.held = None;
    Ok(())
}

/// Whether a key may lead from a field to another.
fn leads_on(event: &DispatchKeyEvent) -> bool {
    matches!(event.key.as_str(), "Enter" | "Tab")
}

fn moves_on(piece: &Typed) -> bool {
    matches!(piece, Typed::Keys(events) if events.iter().any(leads_on))
}

/// Whether the last of these keys may lead from a field to another.
fn moves_on_at_end(events: &[DispatchKeyEvent]) -> bool {
    events.iter().rev().take(KEY_EVENTS).any(leads_on)
}

/// Sends key events in order, without awaiting each: a page gets them as fast as it takes them.
async fn strike(
    browser: &Browser,
    session: &Session,
    events: &[DispatchKeyEvent],
) -> Result<(), ActionError> {
    browser.guard(session.call_ahead(events, AHEAD)).await
}

fn front(browser: &Browser) -> Result<Session, ActionError> {
    Ok(browser.session(&browser.front()?.session))
}

/// Equal steps from one point to the next, excluding the first point.
fn steps(from: ScreenPoint, to: ScreenPoint) -> impl Iterator<Item = (f64, f64)> {
    (1..=DRAG_MOVES).map(move |step| {
        let part = f64::from(step) / f64::from(DRAG_MOVES);
        let between = |from: i32, to: i32| f64::from(from) + f64::from(to - from) * part;
        (between(from.x, to.x), between(from.y, to.y))
    })
}

struct Pressed(Button);

impl From<Pressed> for MouseButton {
    fn from(Pressed(button): Pressed) -> Self {
        match button {
            Button::Left => Self::Left,
            Button::Middle => Self::Middle,
            Button::Right => Self::Right,
            Button::Back => Self::Back,
            Button::Forward => Self::Forward,
        }
    }
}

fn bit(button: Button) -> u8 {
    match button {
        Button::Left => 1,
        Button::Right => 2,
        Button::Middle => 4,
        Button::Back => 8,
        Button::Forward => 16,
    }
}

/// The button to report in a move, from the mask of held buttons.
fn named(bits: u8) -> MouseButton {
    match bits {
        0 => MouseButton::None,
        bits if bits & 1 != 0 => MouseButton::Left,
        bits if bits & 2 != 0 => MouseButton::Right,
        _ => MouseButton::Middle,
    }
}
