//! Terminal output of an experiment: learned skills, and pass counts by role and arm.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use apprentice_evaluator::learn::LearningRecord;
use apprentice_evaluator::run::{Progress, TrialSpec};
use apprentice_protocol::{Clock, Verdict, counted};
use apprentice_results::ablations::AblationArm;
use apprentice_runs::layout::LEARNING_FOLDER;
use apprentice_runs::row::{Role, TrialRow};
use apprentice_tasks::suite::Suite;
use indicatif::{ProgressBar, ProgressStyle};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

use crate::terminal;

/// How often pass counts are printed during a run without a progress bar.
const PRINT_EVERY: u64 = 8;

/// Whether progress is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verbosity {
    /// A line per attempt, and a bar on a terminal.
    Aloud,
    /// No progress, for output that a program reads.
    Silent,
}

/// Receives the progress of an experiment and prints it.
pub(crate) struct ExperimentProgress {
    progress: UnboundedSender<Progress>,
    records: UnboundedSender<LearningRecord>,
    task: JoinHandle<String>,
}

impl ExperimentProgress {
    /// Starts the display.
    pub(crate) fn open(suite: &Arc<Suite>, clock: Arc<dyn Clock>, verbosity: Verbosity) -> Self {
        let (progress, mut heard) = unbounded_channel();
        let (records, mut learned) = unbounded_channel();
        let mut state = ProgressState::new(suite, clock, verbosity);
        let task = tokio::spawn(async move {
            loop {
                // Print an attempt before the skills learned from it.
                tokio::select! {
                    biased;
                    Some(message) = heard.recv() => state.on_progress(&message),
                    Some(record) = learned.recv() => state.learn(&record),
                    else => break,
                }
            }
            state.bar.finish_and_clear();
            state.times()
        });
        Self { progress, records, task }
    }

    /// Returns the channels for attempts and for learning results.
    pub(crate) fn senders(&self) -> (UnboundedSender<Progress>, UnboundedSender<LearningRecord>) {
        (self.progress.clone(), self.records.clone())
    }

    /// Waits until all messages are printed and returns the time per phase. The experiment must have dropped its
    /// senders.
    pub(crate) async fn close(self) -> String {
        drop((self.progress, self.records));
        // The task ends with the channels; a forgotten sender must not delay the exit.
        match tokio::time::timeout(Duration::from_secs(2), self.task).await {
            Ok(Ok(times)) => times,
            Ok(Err(_)) | Err(_) => String::new(),
        }
    }
}

/// Pass counts of one role and arm.
#[derive(Default)]
struct PassCount {
    passed: u32,
    judged: u32,
}

/// A phase of an experiment (learning or measuring), for the time summary.
struct Phase {
    name: &'static str,
    began: Duration,
    attempts: u32,
    /// Sum of the attempts' durations in seconds; attempts may overlap.
    attempts_s: f64,
}

struct ProgressState {
    suite: Arc<Suite>,
    clock: Arc<dyn Clock>,
    parts: Vec<Phase>,
    bar: ProgressBar,
    verbosity: Verbosity,
    standings: BTreeMap<String, PassCount>,
    total: u64,
    done: u64,
}

impl ProgressState {
    fn new(suite: &Arc<Suite>, clock: Arc<dyn Clock>, verbosity: Verbosity) -> Self {
        let bar = match verbosity {
            Verbosity::Aloud => terminal::lines().add(ProgressBar::new(0)),
            Verbosity::Silent => ProgressBar::hidden(),
        };
        let style = ProgressStyle::with_template("{wide_msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self {
            suite: Arc::clone(suite),
            clock,
            parts: Vec::new(),
            bar,
            verbosity,
            standings: BTreeMap::new(),
            total: 0,
            done: 0,
        }
    }

    fn say(&self, text: &str) {
        if self.verbosity == Verbosity::Aloud {
            terminal::note(format_args!("{text}"));
        }
    }

    fn on_progress(&mut self, message: &Progress) {
        match message {
            Progress::Planned { folder, trials, finished, .. } => {
                (self.total, self.done) = (*trials as u64, *finished as u64);
                self.standings.clear();
                let goes_on = match finished {
                    0 => String::new(),
                    _ => format!(", {finished} already finished"),
                };
                let learning = folder.parent().is_some_and(|above| above.ends_with(LEARNING_FOLDER));
                let (name, what) = if learning {
                    ("learning", "attempts at training tasks fill the skillbook")
                } else {
                    ("measuring", "the same tasks with and without help")
                };
                self.parts.push(Phase { name, began: self.clock.mono(), attempts: 0, attempts_s: 0.0 });
                self.say(&format!(
                    "\n{}: {what}\n  {}{goes_on}; {}",
                    upper(name),
                    counted(*trials, "attempt"),
                    folder.display()
                ));
            }
            Progress::Started { .. } => {}
            Progress::Finished { row, message } => self.finish(row, message.as_deref()),
        }
    }

    fn finish(&mut self, row: &TrialRow, message: Option<&str>) {
        if let Some(part) = self.parts.last_mut() {
            part.attempts += 1;
            part.attempts_s += row.wall_s;
        }
        if row.verdict != Verdict::Void {
            self.done += 1;
            let standing = self.standings.entry(role_and_arm(row.role, &row.arm)).or_default();
            standing.judged += 1;
            standing.passed += u32::from(row.verdict == Verdict::Pass);
        }
        let place = if self.total > 0 { format!("{:>3}/{}  ", self.done, self.total) } else { String::new() };
        let message = message.map_or_else(String::new, |message| format!(": {message}"));
        self.say(&format!("  {place}{}{message}", line(row, self.app(row))));
        let eighth = (self.total / PRINT_EVERY).max(1);
        let told = self.total > 0 && !self.standings.is_empty() && self.done.is_multiple_of(eighth);
        if self.bar.is_hidden() && told {
            self.say(&format!("      so far: {}", self.standing()));
        }
        self.refresh();
    }

    fn app(&self, row: &TrialRow) -> &str {
        self.suite.task(row.task.as_str()).map_or("", |task| task.app.as_str())
    }

    fn learn(&self, record: &LearningRecord) {
        // Results from before an interruption were printed then.
        if record.known_before {
            return;
        }
        if let Some(unread) = &record.unread {
            self.say(&format!("      not learned from {}: {}", record.task, unread.why));
        }
        for lost in &record.not_written {
            self.say(&format!("      not written from {}: {lost}", record.task));
        }
        for skill in &record.changed {
            self.say(&format!(
                "      learned from {}: {skill} (skillbook: {})",
                record.task,
                counted(record.skills, "skill")
            ));
        }
    }

    /// Describes the time spent in each phase.
    fn times(&self) -> String {
        let ends = self.parts.iter().skip(1).map(|part| part.began).chain([self.clock.mono()]);
        let told = self.parts.iter().zip(ends).map(|(part, end)| {
            let took = end.saturating_sub(part.began).as_secs_f64();
            let attempts = counted(part.attempts, "attempt");
            format!("{} {took:.0} s ({attempts}, {:.0} s in total)", part.name, part.attempts_s)
        });
        told.collect::<Vec<_>>().join(", ")
    }

    fn standing(&self) -> String {
        let one = |(role_and_arm, standing): (&String, &PassCount)| {
            format!("{role_and_arm} {}/{}", standing.passed, standing.judged)
        };
        self.standings.iter().map(one).collect::<Vec<_>>().join(" · ")
    }

    fn refresh(&self) {
        self.bar.set_message(terminal::escaped(&self.standing()).into_owned());
    }
}

/// Describes a role and its arm for the user.
fn role_and_arm(role: Role, arm: &str) -> String {
    if let Some(AblationArm::Reworded(own)) = AblationArm::parse(arm) {
        return format!("{}, other words", role_and_arm(role, own.as_str()));
    }
    match (role, arm) {
        (Role::Teacher, "none") => "teacher".into(),
        (Role::Teacher, "pull") => "teacher with skillbook".into(),
        (Role::Student, "none") => "student alone".into(),
        (Role::Student, "pull") => "student with skillbook".into(),
        (Role::Student, "placebo-inert") => "student with irrelevant skills".into(),
        (Role::Student, "placebo-wrong") => "student with mislabelled skills".into(),
        (Role::Student, "forced") => "student with the right skills in the prompt".into(),
        (Role::Student, "placebo-forced" | "placebo-push") => {
            "student with irrelevant skills in the prompt".into()
        }
        (Role::Baseline, _) => "baseline".into(),
        (role, arm) => format!("{} {arm}", role.as_str()),
    }
}

/// Counts trials by role and arm.
pub(crate) fn parts(trials: &[TrialSpec]) -> BTreeMap<String, usize> {
    let mut parts = BTreeMap::new();
    for trial in trials {
        *parts.entry(role_and_arm(trial.role, &trial.arm)).or_default() += 1;
    }
    parts
}

fn upper(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Describes a finished attempt in one line.
fn line(row: &TrialRow, app: &str) -> String {
    let (verdict, why) = match row.verdict {
        Verdict::Pass => ("passed", String::new()),
        Verdict::Fail => ("failed", String::new()),
        Verdict::Void => (
            "void  ",
            row.void_cause.map_or_else(String::new, |cause| format!(", {}", terminal::words(&cause))),
        ),
    };
    let read = match row.skills_viewed.len() {
        0 => String::new(),
        count => format!(", read {}", counted(count, "skill")),
    };
    format!(
        "{verdict}  {app:10}  {:28}  {:30}  {}{read}, {:.1} s{why}",
        row.task.as_str(),
        role_and_arm(row.role, &row.arm),
        counted(row.world_steps, "step"),
        row.wall_s
    )
}
