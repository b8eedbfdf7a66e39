//! Detects a model that makes the same calls on the same screen again and again.

use apprentice_protocol::{Action, Call, CallBody};

/// The last turn's calls and screen, and how often in a row they came.
#[derive(Debug, Default)]
pub(super) struct RepeatCounter {
    last: Option<(Vec<CallBody>, String)>,
    count: u32,
}

impl RepeatCounter {
    /// Counts a turn and returns how often in a row it came. Turns that only wait or take screenshots do not count: a
    /// patient model waits for a screen to change, and the step limit ends it.
    pub(super) fn note(&mut self, calls: &[Call], screen: &str) -> u32 {
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

    use super::RepeatCounter;

    fn call(action: Action<apprentice_protocol::ImagePoint>) -> Vec<Call> {
        vec![Call { id: CallId::new("c"), body: CallBody::World { actions: vec![action] } }]
    }

    #[test]
    fn only_the_same_on_the_same_screen_counts() {
        let mut repeats = RepeatCounter::default();
        let typed = |text: &str| call(Action::Type { text: text.into() });
        assert_eq!(repeats.note(&typed("a"), "one"), 1);
        assert_eq!(repeats.note(&typed("a"), "one"), 2);
        assert_eq!(repeats.note(&call(Action::Wait { ms: 9 }), "one"), 0);
        assert_eq!(repeats.note(&typed("a"), "one"), 3);
        assert_eq!(repeats.note(&typed("a"), "two"), 1);
        assert_eq!(repeats.note(&typed("b"), "two"), 1);
    }
}
