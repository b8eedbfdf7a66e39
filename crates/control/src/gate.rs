//! Decides what an attempt may do next, from what persons ordered: no I/O and no clock.

use std::collections::VecDeque;
use std::time::Duration;

use apprentice_protocol::{Action, PersonEvent, ScreenPoint};

use crate::message::{Held, Mode, OrderKind};

/// How long a lease lasts without a sign of its holder. Clients renew it some times within.
pub(crate) const LEASE: Duration = Duration::from_secs(15);

/// The right to use mouse and keyboard of one attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Lease {
    by: String,
    key: String,
    until: Duration,
}

/// What a person does while holding the lease.
#[derive(Debug)]
pub(crate) enum HolderRequest {
    Act { by: String, action: Box<Action<ScreenPoint>> },
    Look,
}

/// What the loop does next.
#[derive(Debug)]
pub(crate) enum Decision<T> {
    Proceed,
    Record(PersonEvent),
    Perform(HolderRequest, T),
    /// Nothing, until an order comes or, at the latest, for this long.
    Wait(Option<Duration>),
}

/// What becomes of an order.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    Done,
    /// The lease was granted, with this key.
    Leased(String),
    /// The request waits for the loop to perform it.
    Queued,
    /// The trial is to end.
    Stop,
}

/// The orders to one attempt. `T` is where the answer to a request goes.
#[derive(Debug)]
pub(crate) struct Gate<T> {
    mode: Mode,
    lease: Option<Lease>,
    requests: VecDeque<(HolderRequest, T)>,
    events: VecDeque<PersonEvent>,
    /// A person is the model: the loop waits for their acts, until they hand back.
    awaits_person: bool,
}

impl<T> Gate<T> {
    pub(crate) fn new(mode: Mode) -> Self {
        Self { mode, lease: None, requests: VecDeque::new(), events: VecDeque::new(), awaits_person: false }
    }

    /// The orders to an attempt whose model is a person.
    pub(crate) fn of_person(mode: Mode) -> Self {
        Self { awaits_person: true, ..Self::new(mode) }
    }

    pub(crate) fn mode(&self) -> Mode {
        self.mode
    }

    /// Returns who holds the lease.
    pub(crate) fn held(&self, now: Duration) -> Option<Held> {
        let lease = self.lease.as_ref().filter(|lease| now < lease.until)?;
        let left = lease.until.saturating_sub(now).as_millis();
        Some(Held { by: lease.by.clone(), left_ms: u64::try_from(left).unwrap_or(u64::MAX) })
    }

    /// Ends a lease whose holder gave no sign. What the holder had asked for is dropped, and so is refused.
    fn expire(&mut self, now: Duration) {
        if let Some(lease) = self.lease.take_if(|lease| now >= lease.until) {
            self.requests.clear();
            self.events.push_back(PersonEvent::HandedBack { by: lease.by, expired: true });
        }
    }

    /// Decides what the loop does next.
    pub(crate) fn decide(&mut self, now: Duration) -> Decision<T> {
        self.expire(now);
        if let Some(event) = self.events.pop_front() {
            return Decision::Record(event);
        }
        if let Some((request, answer)) = self.requests.pop_front() {
            return Decision::Perform(request, answer);
        }
        match (&self.lease, self.mode) {
            (Some(lease), _) => Decision::Wait(Some(lease.until.saturating_sub(now))),
            (None, _) if self.awaits_person => Decision::Wait(None),
            (None, Mode::Paused) => Decision::Wait(None),
            (None, Mode::OneStep) => {
                self.mode = Mode::Paused;
                Decision::Proceed
            }
            (None, Mode::Running) => Decision::Proceed,
        }
    }

    /// Takes an order, or says why not. `fresh_key` is the key of a lease that it may grant.
    pub(crate) fn take(
        &mut self,
        by: &str,
        order: &OrderKind,
        now: Duration,
        granted: Granted<T>,
    ) -> Result<Taken, String> {
        self.expire(now);
        self.check_holder(order, now)?;
        let by = by.to_owned();
        match order {
            OrderKind::Pause => self.set_mode(Mode::Paused, PersonEvent::Paused { by }),
            OrderKind::Continue => self.set_mode(Mode::Running, PersonEvent::Continued { by }),
            OrderKind::Step => self.set_mode(Mode::OneStep, PersonEvent::Continued { by }),
            OrderKind::Stop => return Ok(Taken::Stop),
            OrderKind::TakeOver => {
                self.lease = Some(Lease { by: by.clone(), key: granted.key.clone(), until: now + LEASE });
                self.events.push_back(PersonEvent::TookOver { by });
                return Ok(Taken::Leased(granted.key));
            }
            OrderKind::Renew { .. } => self.renew(now),
            OrderKind::HandBack { .. } => {
                self.lease = None;
                self.requests.clear();
                // Who hands back has finished. Who only leaves may come back, or another person may.
                self.awaits_person = false;
                self.events.push_back(PersonEvent::HandedBack { by, expired: false });
            }
            OrderKind::Look { .. } => {
                self.renew(now);
                self.requests.push_back((HolderRequest::Look, granted.answer));
                return Ok(Taken::Queued);
            }
            OrderKind::Act { action, .. } => {
                is_by_hand(action)?;
                self.renew(now);
                self.requests.push_back((HolderRequest::Act { by, action: action.clone() }, granted.answer));
                return Ok(Taken::Queued);
            }
        }
        Ok(Taken::Done)
    }

    fn set_mode(&mut self, mode: Mode, event: PersonEvent) {
        if self.mode != mode {
            self.mode = mode;
            self.events.push_back(event);
        }
    }

    fn renew(&mut self, now: Duration) {
        if let Some(lease) = &mut self.lease {
            lease.until = now + LEASE;
        }
    }

    /// Refuses whoever does not hold the lease while someone does, and whoever claims one that has ended. Everybody may
    /// stop a trial.
    fn check_holder(&self, order: &OrderKind, now: Duration) -> Result<(), String> {
        let holds = |lease: &Lease| order.key() == Some(lease.key.as_str());
        match &self.lease {
            Some(lease) if !holds(lease) && *order != OrderKind::Stop => Err(format!(
                "{} has taken over, and holds the trial for {} s more unless they go on; ask them to hand it back",
                lease.by,
                lease.until.saturating_sub(now).as_secs()
            )),
            None if order.key().is_some() => {
                Err("your lease has ended: the trial goes on without you; take over again".to_owned())
            }
            _ => Ok(()),
        }
    }
}

/// What an order gets if it is taken: a key for a lease, and where the answer to a request goes.
#[derive(Debug)]
pub(crate) struct Granted<T> {
    pub(crate) key: String,
    pub(crate) answer: T,
}

/// Returns whether a person can do this with mouse and keyboard.
fn is_by_hand(action: &Action<ScreenPoint>) -> Result<(), String> {
    match action {
        Action::Click { .. }
        | Action::Move { .. }
        | Action::Press { .. }
        | Action::Release { .. }
        | Action::Drag { .. }
        | Action::Scroll { .. }
        | Action::Type { .. }
        | Action::Key { .. }
        | Action::KeyDown { .. }
        | Action::KeyUp { .. }
        | Action::Hold { .. } => Ok(()),
        _ => Err("only actions of mouse and keyboard can be performed".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use apprentice_protocol::{Action, PersonEvent};

    use super::{Decision, Gate, Granted, LEASE, Taken};
    use crate::message::{Mode, OrderKind};

    const NOW: Duration = Duration::from_secs(100);

    fn take(gate: &mut Gate<()>, by: &str, order: &OrderKind, now: Duration) -> Result<Taken, String> {
        gate.take(by, order, now, Granted { key: format!("key of {by}"), answer: () })
    }

    /// Takes all events, and returns the first decision that is none.
    fn after_events(gate: &mut Gate<()>, now: Duration) -> (Vec<PersonEvent>, Decision<()>) {
        let mut events = Vec::new();
        loop {
            match gate.decide(now) {
                Decision::Record(event) => events.push(event),
                other => return (events, other),
            }
        }
    }

    fn act(key: &str) -> OrderKind {
        OrderKind::Act { key: key.into(), action: Box::new(Action::Type { text: "milk".into() }) }
    }

    #[test]
    fn a_pause_holds_until_it_ends_and_a_step_is_one_step() {
        let mut gate = Gate::new(Mode::Running);
        assert!(matches!(gate.decide(NOW), Decision::Proceed));
        take(&mut gate, "ann", &OrderKind::Pause, NOW).expect("taken");
        take(&mut gate, "ann", &OrderKind::Pause, NOW).expect("taken");
        let (events, then) = after_events(&mut gate, NOW);
        assert_eq!(events, [PersonEvent::Paused { by: "ann".into() }], "once");
        assert!(matches!(then, Decision::Wait(None)));
        take(&mut gate, "bob", &OrderKind::Step, NOW).expect("anybody may");
        assert!(matches!(after_events(&mut gate, NOW).1, Decision::Proceed));
        assert!(matches!(gate.decide(NOW), Decision::Wait(None)));
        take(&mut gate, "bob", &OrderKind::Continue, NOW).expect("taken");
        assert!(matches!(after_events(&mut gate, NOW).1, Decision::Proceed));
        assert!(matches!(gate.decide(NOW), Decision::Proceed));
    }

    #[test]
    fn one_person_holds_the_lease_and_a_second_is_told_who() {
        let mut gate = Gate::new(Mode::Running);
        assert_eq!(take(&mut gate, "ann", &OrderKind::TakeOver, NOW), Ok(Taken::Leased("key of ann".into())));
        for order in [OrderKind::TakeOver, OrderKind::Pause, OrderKind::Continue, act("guessed")] {
            let why = take(&mut gate, "bob", &order, NOW).expect_err("held");
            assert!(why.contains("ann has taken over") && why.contains("15 s"), "{why}");
        }
        assert_eq!(take(&mut gate, "bob", &OrderKind::Stop, NOW), Ok(Taken::Stop), "an end is open to all");
        assert_eq!(take(&mut gate, "ann", &act("key of ann"), NOW), Ok(Taken::Queued));
        let (events, then) = after_events(&mut gate, NOW);
        assert_eq!(events, [PersonEvent::TookOver { by: "ann".into() }]);
        assert!(matches!(then, Decision::Perform(..)));
        assert!(matches!(gate.decide(NOW), Decision::Wait(Some(left)) if left == LEASE));
        take(&mut gate, "ann", &OrderKind::HandBack { key: "key of ann".into() }, NOW).expect("hers");
        let (events, then) = after_events(&mut gate, NOW);
        assert_eq!(events, [PersonEvent::HandedBack { by: "ann".into(), expired: false }]);
        assert!(matches!(then, Decision::Proceed));
        let why = take(&mut gate, "ann", &act("key of ann"), NOW).expect_err("no longer hers");
        assert!(why.contains("your lease has ended"), "{why}");
    }

    #[test]
    fn whoever_leaves_loses_the_lease_and_the_run_goes_on_or_stays_paused() {
        for (mode, goes_on) in [(Mode::Running, true), (Mode::Paused, false)] {
            let mut gate = Gate::new(mode);
            take(&mut gate, "ann", &OrderKind::TakeOver, NOW).expect("free");
            take(&mut gate, "ann", &OrderKind::Renew { key: "key of ann".into() }, NOW + LEASE / 2)
                .expect("hers");
            assert!(matches!(after_events(&mut gate, NOW + LEASE).1, Decision::Wait(Some(_))), "renewed");
            take(&mut gate, "ann", &act("key of ann"), NOW + LEASE).expect("hers");
            let late = NOW + LEASE * 2;
            let (events, then) = after_events(&mut gate, late);
            assert_eq!(events, [PersonEvent::HandedBack { by: "ann".into(), expired: true }]);
            assert_eq!(
                matches!(then, Decision::Proceed),
                goes_on,
                "what was left undone is not done late: {then:?}"
            );
            assert!(gate.held(late).is_none());
            take(&mut gate, "bob", &OrderKind::TakeOver, late).expect("free again");
        }
    }

    #[test]
    fn an_attempt_of_a_person_waits_until_they_hand_back() {
        let mut gate = Gate::of_person(Mode::Running);
        assert!(matches!(gate.decide(NOW), Decision::Wait(None)), "nobody has taken over yet");
        take(&mut gate, "ann", &OrderKind::TakeOver, NOW).expect("free");
        let (_, then) = after_events(&mut gate, NOW + LEASE);
        assert!(matches!(then, Decision::Wait(None)), "whoever leaves has not finished: {then:?}");
        take(&mut gate, "bob", &OrderKind::TakeOver, NOW + LEASE).expect("free again");
        take(&mut gate, "bob", &act("key of bob"), NOW + LEASE).expect("his");
        assert!(matches!(after_events(&mut gate, NOW + LEASE).1, Decision::Perform(..)));
        take(&mut gate, "bob", &OrderKind::HandBack { key: "key of bob".into() }, NOW + LEASE).expect("his");
        assert!(matches!(after_events(&mut gate, NOW + LEASE).1, Decision::Proceed));
    }

    #[test]
    fn a_person_has_mouse_and_keyboard_and_nothing_else() {
        let mut gate = Gate::new(Mode::Running);
        take(&mut gate, "ann", &OrderKind::TakeOver, NOW).expect("free");
        let key = || "key of ann".to_owned();
        for action in [Action::Script { source: "1".into() }, Action::Navigate { url: "file:///".into() }] {
            let order = OrderKind::Act { key: key(), action: Box::new(action) };
            take(&mut gate, "ann", &order, NOW).expect_err("not by hand");
        }
    }
}
