//! The lines of a terminal while trials run: one per running trial, and a footer with the run's counts. They go when the run
//! ends. Where standard error is no terminal, nothing of this is drawn: there, a line per finished attempt says what happened.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use apprentice_control::{LiveRuns, Mode, Phase, ProcessStatus, TrialStatus};
use apprentice_protocol::Clock;
use apprentice_sandbox::SystemClock;
use indicatif::{ProgressBar, ProgressStyle};
use tokio::task::JoinHandle;

use crate::terminal;

/// How often the lines are drawn anew when nothing changes, so that the clock goes on while a model thinks.
const TICK: Duration = Duration::from_secs(1);
/// The most trials with a line of their own.
const LINES: usize = 12;
/// The width of a task's name.
const TASK: usize = 20;

/// Draws the lines for as long as it lives.
pub(crate) struct LiveLines {
    drawing: JoinHandle<()>,
    bars: Arc<Bars>,
}

impl Drop for LiveLines {
    fn drop(&mut self) {
        self.drawing.abort();
        self.bars.clear();
    }
}

/// The lines on the terminal.
struct Bars {
    style: ProgressStyle,
    footer: ProgressBar,
    /// One per running trial; `None` once they are gone for good.
    trials: Mutex<Option<Vec<ProgressBar>>>,
}

impl Bars {
    fn new() -> Self {
        let style = ProgressStyle::with_template("{wide_msg}");
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
        let footer = terminal::lines().add(ProgressBar::new(0).with_style(style.clone()));
        Self { style, footer, trials: Mutex::new(Some(Vec::new())) }
    }

    fn draw(&self, texts: &[String], footer: &str) {
        let mut trials = self.trials.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(trials) = trials.as_mut() else { return };
        while trials.len() < texts.len() {
            let bar = ProgressBar::new(0).with_style(self.style.clone());
            trials.push(terminal::lines().insert_before(&self.footer, bar));
        }
        for bar in trials.drain(texts.len()..) {
            remove(&bar);
        }
        trials.iter().zip(texts).for_each(|(bar, text)| set(bar, text));
        set(&self.footer, footer);
    }

    fn clear(&self) {
        let trials = self.trials.lock().unwrap_or_else(PoisonError::into_inner).take();
        trials.iter().flatten().chain([&self.footer]).for_each(remove);
    }
}

fn remove(bar: &ProgressBar) {
    bar.finish_and_clear();
    terminal::lines().remove(bar);
}

fn set(bar: &ProgressBar, text: &str) {
    bar.set_message(terminal::escaped(text).into_owned());
}

impl LiveLines {
    /// Begins to draw what runs.
    pub(crate) fn show(live: &Arc<LiveRuns>) -> Self {
        let bars = Arc::new(Bars::new());
        let (live, drawn) = (Arc::clone(live), Arc::clone(&bars));
        let drawing = tokio::spawn(async move {
            let clock = SystemClock::default();
            let mut changes = live.changes();
            let mut plan = Plan::default();
            loop {
                changes.mark_unchanged();
                let status = live.status();
                let left = plan.time_left(&status, clock.mono());
                drawn.draw(&trial_lines(&status), &footer(&status, left));
                drop(tokio::time::timeout(TICK, changes.changed()).await);
            }
        });
        Self { drawing, bars }
    }
}

/// When the present plan began, and with how many finished trials.
#[derive(Default)]
struct Plan {
    folder: Option<String>,
    began: Duration,
    done: usize,
}

impl Plan {
    /// Estimates the time that is left from the trials finished so far; `None` before the first.
    fn time_left(&mut self, status: &ProcessStatus, now: Duration) -> Option<Duration> {
        let done = status.passed + status.failed;
        if self.folder != status.folder {
            *self = Self { folder: status.folder.clone(), began: now, done };
        }
        let finished = u32::try_from(done.checked_sub(self.done)?).ok().filter(|finished| *finished > 0)?;
        let open = u32::try_from(status.planned.saturating_sub(done)).ok().filter(|open| *open > 0)?;
        Some(now.saturating_sub(self.began) / finished * open)
    }
}

/// One line per running trial, and one for those that have no room.
fn trial_lines(status: &ProcessStatus) -> Vec<String> {
    let most = if status.trials.len() > LINES { LINES - 1 } else { LINES };
    let mut lines: Vec<String> = status.trials.iter().take(most).map(trial_line).collect();
    if status.trials.len() > most {
        lines.push(format!("and {} more", status.trials.len() - most));
    }
    lines
}

/// A trial: what matters most comes first, because a narrow terminal cuts the rest off.
fn trial_line(trial: &TrialStatus) -> String {
    let step = format!("{}/{}", trial.world_steps, trial.limits.world_steps);
    let money = trial.cost_usd.map(|cost| format!(" ${cost:.3}")).unwrap_or_default();
    let act = trial.last_act.as_deref().unwrap_or_default();
    let act = act.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("{:TASK$} {step:>6} {:9}{money} {act}", cut(&trial.task), state(trial)).trim_end().to_owned()
}

fn state(trial: &TrialStatus) -> &'static str {
    match (trial.held.is_some(), trial.phase, trial.mode) {
        (true, ..) => "taken",
        (false, Phase::WaitingForPerson, _) => "paused",
        (false, Phase::SettingUp, _) => "setting up",
        (false, Phase::Judging, _) => "judging",
        (false, _, Mode::Paused) => "pausing",
        (false, Phase::WaitingForModel, _) => "waiting",
        (false, Phase::Acting, _) => "working",
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(TASK) {
        Some(_) => text.chars().take(TASK - 1).chain(['…']).collect(),
        None => text.to_owned(),
    }
}

/// The counts of the run, its tokens and money with those of the trials that run, and the time that is left.
fn footer(status: &ProcessStatus, left: Option<Duration>) -> String {
    // Before there is a plan, nothing can be counted.
    if status.planned == 0 && status.trials.is_empty() {
        return String::new();
    }
    let running = |of: fn(&TrialStatus) -> Option<f64>| {
        status.trials.iter().filter_map(of).fold(None, |sum, cost| Some(sum.unwrap_or(0.0) + cost))
    };
    let cost = match (status.cost_usd, running(|trial| trial.cost_usd)) {
        (None, None) => None,
        (one, other) => Some(one.unwrap_or(0.0) + other.unwrap_or(0.0)),
    };
    let tokens = status.tokens + status.trials.iter().map(|trial| trial.tokens).sum::<u64>();
    let mut text = format!(
        "{}/{} done: {} passed, {} failed, {} void",
        status.passed + status.failed,
        status.planned,
        status.passed,
        status.failed,
        status.void
    );
    if let Some(left) = left {
        text = text + ", " + about(left).as_str() + " left";
    }
    if let Some(cost) = cost {
        text += format!(", ${cost:.2}").as_str();
    }
    if tokens > 0 {
        text += format!(", {} tokens", thousands(tokens)).as_str();
    }
    if status.paused {
        text += ", paused";
    }
    text
}

fn about(time: Duration) -> String {
    match time.as_secs() {
        0..60 => format!("{} s", time.as_secs().max(1)),
        60..3600 => format!("{} min", time.as_secs().div_ceil(60)),
        seconds => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

fn thousands(number: u64) -> String {
    match number {
        0..10_000 => number.to_string(),
        10_000..10_000_000 => format!("{}k", number / 1000),
        _ => format!("{}M", number / 1_000_000),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use apprentice_control::{Held, Mode, Phase, ProcessStatus, TrialStatus};

    use super::{LINES, Plan, footer, trial_line, trial_lines};

    fn trial() -> TrialStatus {
        TrialStatus {
            task: "mousepad-windows-lines".into(),
            phase: Phase::WaitingForModel,
            world_steps: 3,
            last_act: Some("click button\n \"Find and replace all of it\"".into()),
            cost_usd: Some(0.0123),
            tokens: 1200,
            ..TrialStatus::default()
        }
    }

    #[test]
    fn a_trial_says_in_sixty_columns_where_it_is() {
        let line = trial_line(&trial());
        assert_eq!(
            line,
            "mousepad-windows-li…   3/50 waiting   $0.012 click button \"Find and replace all of it\""
        );
        let seen: String = line.chars().take(60).collect();
        assert!(seen.contains("3/50") && seen.contains("waiting") && seen.contains("$0.012"), "{seen}");
        let held = Held { by: "ann".into(), left_ms: 1 };
        assert!(trial_line(&TrialStatus { held: Some(held), ..trial() }).contains(" taken "));
        assert!(trial_line(&TrialStatus { mode: Mode::Paused, ..trial() }).contains(" pausing "));
    }

    #[test]
    fn trials_without_room_are_counted() {
        let trials = vec![trial(); LINES + 3];
        let lines = trial_lines(&ProcessStatus { trials, ..ProcessStatus::default() });
        assert_eq!(lines.len(), LINES);
        assert_eq!(lines.last().map(String::as_str), Some("and 4 more"));
    }

    #[test]
    fn the_footer_adds_what_runs_and_estimates_from_what_is_done() {
        let mut status = ProcessStatus {
            folder: Some("runs/1".into()),
            planned: 48,
            passed: 8,
            failed: 3,
            void: 1,
            tokens: 120_000,
            cost_usd: Some(0.4),
            trials: vec![trial()],
            ..ProcessStatus::default()
        };
        assert_eq!(footer(&ProcessStatus::default(), None), "", "there is no plan yet");
        let mut plan = Plan::default();
        let began = Duration::from_secs(10);
        assert_eq!(plan.time_left(&status, began), None, "nothing has finished since the resumption");
        (status.passed, status.failed) = (10, 3);
        let left = plan.time_left(&status, began + Duration::from_secs(20));
        assert_eq!(left, Some(Duration::from_secs(350)));
        let text = footer(&status, left);
        assert_eq!(text, "13/48 done: 10 passed, 3 failed, 1 void, 6 min left, $0.41, 121k tokens");
        assert!(text.chars().count() > 60 && text[..60].contains("6 min left"), "the rest may be cut off");
    }
}
