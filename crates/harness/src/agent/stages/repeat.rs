//! Detects a model that makes the same calls on the same screen again and again.

use apprentice_protocol::{Action, Call, CallBody};

/// The model is warned at this many repeats; [`Limits::repeats`](apprentice_protocol::Limits) ends the attempt.
const WARN_AT_REPEATS: u32 = 3;
/// Fewer repeats than these are no loop, whatever the limit says.
const MIN_REPEATS: u32 = 2;

/// What follows from a turn's repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repeats {
    /// Nothing.
    Few,
    /// The model is warned once.
    Warn(u32),
    /// The attempt ends.
    TooMany(u32),
}

/// The last turn's calls and screen, and how often in a row they came.
#[derive(Debug, Default)]
pub(crate) struct RepeatCounter {
    last: Option<(Vec<CallBody>, String)>,
    count: u32,
}

impl RepeatCounter {
    /// Counts a turn, and returns what follows from how often in a row it came. Turns that only wait or take screenshots do not count: a
    /// patient model waits for a screen to change, and the step limit ends it.
    pub(crate) fn note(&mut self, calls: &[Call], screen: &str, limit: u32) -> Repeats {
        match self.count(calls, screen) {
            repeats if repeats >= limit.max(MIN_REPEATS) => Repeats::TooMany(repeats),
            WARN_AT_REPEATS => Repeats::Warn(WARN_AT_REPEATS),
            _ => Repeats::Few,
        }
    }

    fn count(&mut self, calls: &[Call], screen: &str) -> u32 {
        if calls.is_empty() || calls.iter().all(only_waits) {
            return 0;
        }
        let bodies: Vec<CallBody> = calls.iter().map(|call| call.body.clone()).collect();
        let same = self.last.as_ref().is_some_and(|(last, seen)| *last == bodies && seen == screen);
        self.count = if same { self.count + 1 } else { 1 };
        if !same {
            self.last = Some((bodies, screen.to_owned()));
        }
        self.count
    }
}

fn only_waits(call: &Call) -> bool {
    match &call.body {
        CallBody::World { actions } => {
            actions.iter().all(|action| action.is_observation_only() || matches!(action, Action::Wait { .. }))
        }
        CallBody::Tool { .. } | CallBody::Finish(_) | CallBody::Unusable { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::{Action, Call, CallBody, CallId};

    use super::{RepeatCounter, Repeats};

    fn call(action: Action<apprentice_protocol::ImagePoint>) -> Vec<Call> {
        vec![Call { id: CallId::new("c"), body: CallBody::World { actions: vec![action] } }]
    }

    #[test]
    fn only_the_same_on_the_same_screen_counts() {
        let mut repeats = RepeatCounter::default();
        let typed = |text: &str| call(Action::Type { text: text.into() });
        assert_eq!(repeats.count(&typed("a"), "one"), 1);
        assert_eq!(repeats.count(&typed("a"), "one"), 2);
        assert_eq!(repeats.count(&call(Action::Wait { ms: 9 }), "one"), 0);
        assert_eq!(repeats.count(&typed("a"), "one"), 3);
        assert_eq!(repeats.count(&typed("a"), "two"), 1);
        assert_eq!(repeats.count(&typed("b"), "two"), 1);
    }

    #[test]
    fn a_model_is_warned_once_before_the_limit_ends_the_attempt() {
        let outcomes = |limit: u32, turns: usize| -> Vec<Repeats> {
            let mut repeats = RepeatCounter::default();
            (0..turns).map(|_| repeats.note(&call(Action::Type { text: "a".into() }), "one", limit)).collect()
        };
        assert_eq!(
            outcomes(5, 5),
            [Repeats::Few, Repeats::Few, Repeats::Warn(3), Repeats::Few, Repeats::TooMany(5)]
        );
        assert_eq!(outcomes(0, 2), [Repeats::Few, Repeats::TooMany(2)], "one turn repeats nothing");
    }
}
