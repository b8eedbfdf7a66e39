//! Records for each step whether something that the checks read changed in it: an environment that looks after each
//! batch of actions, and a sink that records what it saw. The agent's loop knows neither.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use apprentice_protocol::{
    ActReport, Action, ActionOutcome, BlobHash, BoxFuture, ChangeWait, ConnectionReport, Environment,
    EventId, EventKind, EventSink, Machine, Observation, ScreenPoint, SinkError, StepId, Want, WorldError,
};
use apprentice_tasks::check::CheckedState;

/// The result of the latest look that is not yet recorded.
type Pending = Arc<Mutex<Option<bool>>>;

/// An environment that looks at what the checks read: at the first observation, and at each one after an action.
pub(super) struct WatchedEnvironment<'a> {
    pub(super) environment: &'a mut dyn Environment,
    pub(super) watch: CheckWatch<'a>,
}

/// The look at what the checks read.
pub(super) struct CheckWatch<'a> {
    state: CheckedState,
    machine: &'a dyn Machine,
    /// Whether an action was performed since the last look.
    is_due: bool,
    pending: Pending,
}

impl<'a> CheckWatch<'a> {
    /// Returns the look and the sink that records its results.
    pub(super) fn new(
        state: CheckedState,
        machine: &'a dyn Machine,
        sink: &'a mut dyn EventSink,
    ) -> (Self, WatchedSink<'a>) {
        let pending = Pending::default();
        let watch = Self { state, machine, is_due: true, pending: pending.clone() };
        (watch, WatchedSink { sink, pending, acted: None })
    }

    /// Looks if an action was performed since the last look.
    pub(super) async fn look(&mut self) {
        if !std::mem::take(&mut self.is_due) {
            return;
        }
        let seen = self.state.look(self.machine).await;
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        // Several looks may belong to one step. A change seen by one of them is a change.
        *pending = if *pending == Some(true) { *pending } else { seen };
    }
}

impl Environment for WatchedEnvironment<'_> {
    fn observe(&mut self, want: Want) -> BoxFuture<'_, Result<Observation, WorldError>> {
        Box::pin(async move {
            let seen = self.environment.observe(want).await?;
            self.watch.look().await;
            Ok(seen)
        })
    }

    fn act<'a>(
        &'a mut self,
        action: &'a Action<ScreenPoint>,
    ) -> BoxFuture<'a, Result<ActReport, WorldError>> {
        self.watch.is_due = true;
        self.environment.act(action)
    }

    fn await_change(&mut self, cap: Duration) -> BoxFuture<'_, Result<ChangeWait, WorldError>> {
        self.environment.await_change(cap)
    }

    fn take_connections(&mut self) -> ConnectionReport {
        self.environment.take_connections()
    }

    /// Does nothing: the owner of the world closes it.
    fn close(self: Box<Self>, _deadline: Duration) -> BoxFuture<'static, Result<(), WorldError>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// A sink that records the results of the looks as events of the step that acted.
pub(super) struct WatchedSink<'a> {
    sink: &'a mut dyn EventSink,
    pending: Pending,
    /// The last step in which an action was performed.
    acted: Option<StepId>,
}

impl WatchedSink<'_> {
    /// Records the latest result, if there is one that belongs to a step.
    pub(super) fn flush(&mut self) -> Result<(), SinkError> {
        let seen = self.pending.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let (Some(changed), Some(step)) = (seen, self.acted) {
            self.sink.emit(Some(step), EventKind::CheckState { changed })?;
        }
        Ok(())
    }
}

impl EventSink for WatchedSink<'_> {
    fn emit(&mut self, step: Option<StepId>, kind: EventKind) -> Result<EventId, SinkError> {
        let is_view = matches!(kind, EventKind::Observed { .. });
        if let EventKind::Action(record) = &kind
            && matches!(record.outcome, ActionOutcome::Done { .. })
        {
            self.acted = step.or(self.acted);
        }
        let id = self.sink.emit(step, kind)?;
        if is_view {
            self.flush()?;
        }
        Ok(id)
    }

    fn keep(&mut self, bytes: &[u8], extension: &str) -> Result<BlobHash, SinkError> {
        self.sink.keep(bytes, extension)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use apprentice_harness::env::scene::SceneSource;
    use apprentice_protocol::{
        ActReport, Action, ActionOutcome, ActionRecord, BlobHash, BoxFuture, CallId, Environment,
        EnvironmentSource as _, EventId, EventKind, EventSink, Observation, ScreenPoint, SinkError, Size,
        StepId, View, Want, World, WorldError,
    };
    use apprentice_tasks::check::CheckedState;
    use apprentice_tasks::task::Task;
    use apprentice_tasks::variation::vary;
    use serde_json::{Value, json};

    use super::{CheckWatch, WatchedEnvironment};

    /// Types into a file of the world.
    struct Typewriter {
        world: World,
        file: &'static str,
    }

    impl Environment for Typewriter {
        fn observe(&mut self, want: Want) -> BoxFuture<'_, Result<Observation, WorldError>> {
            self.world.environment.observe(want)
        }

        fn act<'a>(
            &'a mut self,
            action: &'a Action<ScreenPoint>,
        ) -> BoxFuture<'a, Result<ActReport, WorldError>> {
            Box::pin(async move {
                if let Action::Type { text } = action {
                    self.world.machine.write(self.file, text.as_bytes()).await.expect("writes");
                }
                Ok(ActReport::delivered())
            })
        }

        fn close(self: Box<Self>, _: Duration) -> BoxFuture<'static, Result<(), WorldError>> {
            Box::pin(std::future::ready(Ok(())))
        }
    }

    #[derive(Default)]
    struct Memory(Vec<(Option<StepId>, EventKind)>);

    impl EventSink for Memory {
        fn emit(&mut self, step: Option<StepId>, kind: EventKind) -> Result<EventId, SinkError> {
            self.0.push((step, kind));
            Ok(EventId(1))
        }

        fn keep(&mut self, _: &[u8], _: &str) -> Result<BlobHash, SinkError> {
            Ok(BlobHash::new("00"))
        }
    }

    fn task(result: &Value) -> Task {
        serde_json::from_value(json!({
            "id": "note", "instruction": "Write the note.",
            "evaluator": { "func": "exact_match", "result": result, "expected": { "type": "rule", "rules": {} } },
            "apprentice": { "environment": "scene", "template": "note", "scene": {
                "start": "main", "state": {}, "pages": { "main": { "title": "Note", "controls": [] } } } },
        }))
        .expect("a task")
    }

    /// Acts once per text, and returns for each step what was recorded.
    async fn recorded(result: Value, file: &'static str, texts: &[Option<&str>]) -> Vec<(u32, bool)> {
        let task = task(&result);
        let varied = vary(&task, "small", 0).expect("varies");
        let world = SceneSource::default().open(&varied.world).await.expect("opens");
        let machine = world.machine.clone();
        let (mut hand, mut memory) = (Typewriter { world, file }, Memory::default());
        let state = CheckedState::of(&varied.task.evaluator, machine.as_ref());
        let (watch, mut sink) = CheckWatch::new(state, machine.as_ref(), &mut memory);
        let mut environment = WatchedEnvironment { environment: &mut hand, watch };
        let look = EventKind::Observed {
            title: String::new(),
            focused: None,
            screenshot: None,
            outline: None,
            shown: None,
            view: View::whole(Size::new(10, 10)),
            secrets: None,
            took_ms: 0,
        };
        let want = Want { screenshot: false, tree: None };
        environment.observe(want).await.expect("observes");
        sink.emit(Some(StepId(1)), look.clone()).expect("records");
        for (step, text) in (1..).zip(texts) {
            let action = match text {
                Some(text) => Action::Type { text: (*text).to_owned() },
                None => Action::Wait { ms: 1 },
            };
            environment.act(&action).await.expect("acts");
            let record = ActionRecord {
                call: CallId::new("c"),
                index: 0,
                asked: Action::Screenshot,
                line: None,
                sent: Some(action),
                target_role: None,
                target_name: None,
                point: None,
                outcome: ActionOutcome::Done { text: None },
            };
            sink.emit(Some(StepId(step)), EventKind::Action(Box::new(record))).expect("records");
            // The last batch is looked at after the agent has stopped.
            if usize::try_from(step).expect("fits") < texts.len() {
                environment.observe(want).await.expect("observes");
                sink.emit(Some(StepId(step + 1)), look.clone()).expect("records");
            }
        }
        environment.watch.look().await;
        sink.flush().expect("records");
        let told = memory.0.into_iter().filter_map(|(step, kind)| match kind {
            EventKind::CheckState { changed } => Some((step.expect("a step").0, changed)),
            _ => None,
        });
        told.collect()
    }

    #[tokio::test]
    async fn the_step_that_did_it_is_known_and_so_is_the_wandering_after_it() {
        let file = json!({ "type": "vm_file", "path": "/home/user/note.txt", "dest": "note.txt" });
        let texts = [None, None, Some("milk"), None, Some("milk"), None];
        let told = recorded(file.clone(), "/home/user/note.txt", &texts).await;
        let expected = [(1, false), (2, false), (3, true), (4, false), (5, false), (6, false)];
        assert_eq!(told, expected);
        let last = recorded(file, "/home/user/note.txt", &[None, Some("milk")]).await;
        assert_eq!(last, [(1, false), (2, true)], "the last batch counts too");
    }

    #[tokio::test]
    async fn what_a_command_reads_besides_its_files_stays_unknown() {
        let command =
            json!({ "type": "vm_command_line", "command": ["sh", "-c", "cat /home/user/note.txt"] });
        let told = recorded(command, "/home/user/note.txt", &[None, Some("milk"), None]).await;
        assert_eq!(told, [(2, true)], "rest is not claimed");
        let other = json!({ "type": "vm_command_line", "command": ["date"] });
        assert_eq!(recorded(other, "/home/user/note.txt", &[Some("milk")]).await, []);
    }

    #[tokio::test]
    async fn a_large_file_is_not_compared() {
        let file = json!({ "type": "vm_file", "path": "/home/user/note.txt", "dest": "note.txt" });
        let sized = |size: usize| "x".repeat(size);
        let (fits, large) = (sized(4 << 20), sized((4 << 20) + 1));
        let path = "/home/user/note.txt";
        assert_eq!(recorded(file.clone(), path, &[Some(fits.as_str())]).await, [(1, true)]);
        assert_eq!(recorded(file, path, &[Some(large.as_str()), None]).await, []);
    }

    #[tokio::test]
    async fn eight_files_are_watched() {
        let paths: Vec<String> = (1..=9).map(|number| format!("/home/user/{number}.txt")).collect();
        let files = json!({ "type": "vm_file", "multi": true, "path": paths, "dest": paths });
        let texts = [Some("milk"), None];
        assert_eq!(recorded(files.clone(), "/home/user/8.txt", &texts).await, [(1, true)], "rest is unknown");
        assert_eq!(recorded(files, "/home/user/9.txt", &texts).await, []);
        let eight = json!({ "type": "vm_file", "multi": true, "path": paths[..8], "dest": paths[..8] });
        assert_eq!(recorded(eight, "/home/user/8.txt", &texts).await, [(1, true), (2, false)]);
    }

    #[tokio::test]
    async fn files_that_are_written_late_are_not_watched() {
        let file = json!({ "type": "vm_file", "path": "/home/user/p/Default/Preferences", "dest": "p" });
        assert_eq!(recorded(file, "/home/user/p/Default/Preferences", &[Some("{}")]).await, []);
    }
}
