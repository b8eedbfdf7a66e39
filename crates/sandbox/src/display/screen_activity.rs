//! Decides when the screen has settled after input, from what was drawn, what windows did and what the cell's programs
//! are doing, rather than from a fixed delay.
//!
//! Where programs can be watched, the screen has settled as soon as nobody has anything left to do. Where something
//! never rests, the wait has a cap, and what moved until then by itself is left out afterwards.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use apprentice_protocol::Rect;

use super::drawn_areas::join;
use super::own_timers::{Effects, Given, Input, OwnTimers};
use super::programs::{ProgramLook, Timer};

/// After something was drawn, idle programs must stay idle for this long: one frame of a display, at which toolkits draw
/// the next one.
const FRAME: Duration = Duration::from_millis(20);
/// The same after a window was opened or closed: its manager, its program and the accessibility bus take turns.
const FRAME_WINDOW: Duration = Duration::from_millis(100);
/// The screen has settled when no drawing happened for this long, although programs may be doing something now and then.
const QUIET: Duration = Duration::from_millis(90);
/// The same after a window was opened or closed, because new windows draw their contents late.
const QUIET_WINDOW: Duration = Duration::from_millis(300);
/// Longest wait for a screen that never settles.
const CAP: Duration = Duration::from_millis(1500);
/// Longest wait while windows keep opening or closing.
const CAP_WINDOW: Duration = Duration::from_millis(3500);
/// A program that has been doing something for this long is busy.
const BUSY: Duration = Duration::from_millis(90);
/// A timer that was set because of the input has ended by then, and what it led to as well. Who still has a short timer
/// ticks by itself.
const TIMERS: Duration = Duration::from_millis(900);
/// So many waits in a row must have ended with a short timer before a program counts as ticking.
const TICKS: u32 = 3;
/// Time between two looks at the programs.
const LOOK: Duration = Duration::from_millis(2);
/// What is still drawn after this part of the longest wait moves by itself.
const MOVING: Duration = Duration::from_millis(900);
/// Most areas of the screen that are remembered as moving by themselves.
const AREAS: usize = 16;

/// What disturbed the screen last, and who is at work.
#[derive(Debug, Default)]
pub(super) struct ScreenActivity {
    drawn: Duration,
    window: Option<Duration>,
    input: Duration,
    /// When the present wait began.
    begun: Duration,
    changes: u64,
    /// Changes when the last input was sent.
    changes_at_input: u64,
    /// Programs that have not rested, with the time since when, and their names.
    awake: BTreeMap<i32, (Duration, String)>,
    turns: BTreeMap<i32, u64>,
    /// Whether all programs were idle between the last two looks, and none has a short timer.
    idle: bool,
    /// Programs with a short timer, as the last look at which all were idle told.
    timers: Vec<i32>,
    /// The last press of a button or a key, or the last input if it pressed nothing.
    pressed: Given,
    /// Timers of programs, and those that are only their own clocks.
    own: OwnTimers,
    /// Processor time of each thread's program, as the last look told.
    work: BTreeMap<i32, Duration>,
    /// Programs that have had a short timer at the end of this many waits in a row.
    ticks: BTreeMap<i32, u32>,
    /// Whether programs can be watched.
    watched: bool,
    /// Programs that a signal has stopped, as the last look told.
    stopped: BTreeMap<i32, String>,
    /// Programs that never rest, and areas that change by themselves.
    restless: BTreeSet<i32>,
    moving: Vec<Rect>,
    /// Areas drawn near the end of the present wait.
    late: Vec<Rect>,
    /// Names of programs that were still at work when the last wait ended at its cap.
    still_busy: Vec<String>,
}

impl ScreenActivity {
    pub(super) fn new(now: Duration) -> Self {
        Self { drawn: now, input: now, begun: now, ..Self::default() }
    }

    /// Records that input was sent. Windows that changed before it no longer count.
    pub(super) fn note_input(&mut self, now: Duration) {
        self.own.note_input(now, self.changes);
        self.pressed = Given { kind: Input::Other, at: now };
        self.input = now;
        self.window = None;
        self.idle = false;
        self.timers.clear();
        self.changes_at_input = self.changes;
    }

    /// Records that a button or a key was pressed.
    pub(super) fn note_pressed(&mut self, what: Input, now: Duration) {
        self.pressed = Given { kind: what, at: now };
    }

    /// Records that a wait begins.
    pub(super) fn note_wait(&mut self, now: Duration) {
        self.begun = now;
        self.late.clear();
        self.still_busy.clear();
        self.awake.clear();
    }

    /// Records that something was drawn in an area. Areas that move by themselves do not count.
    pub(super) fn note_drawing(&mut self, now: Duration, area: Option<Rect>) {
        if area.is_some_and(|area| self.moving.iter().any(|moving| contains(*moving, area))) {
            return;
        }
        if let Some(area) = area.filter(|_| now.saturating_sub(self.base()) > MOVING) {
            self.late.push(area);
        }
        self.drawn = now;
        self.changes += 1;
        self.idle = false;
    }

    /// Records that a window was opened or closed. What never rested may have ended with it.
    pub(super) fn note_window(&mut self, now: Duration) {
        self.window = Some(now);
        self.changes += 1;
        self.idle = false;
        self.restless.clear();
        self.ticks.clear();
        self.moving.clear();
    }

    /// Records a look at the programs. Returns those that have to be asked for short timers, if all are idle.
    pub(super) fn note_look(&mut self, now: Duration, look: Option<ProgramLook>) -> Option<Vec<i32>> {
        self.watched = look.is_some();
        let look = look?;
        self.note_ran(now, &look);
        let ran = |pid: &i32, turns: &u64| self.turns.get(pid).is_some_and(|before| before != turns);
        let fresh = |pid: &i32| !self.turns.contains_key(pid);
        let awake: BTreeSet<i32> = look
            .turns
            .iter()
            .filter(|(pid, turns)| look.running.contains_key(pid) || ran(pid, turns) || fresh(pid))
            .map(|(pid, _)| *pid)
            .collect();
        self.awake.retain(|pid, _| awake.contains(pid));
        for pid in &awake {
            let name = look.running.get(pid).cloned().unwrap_or_default();
            let known = self.awake.entry(*pid).or_insert((now, String::new()));
            if known.1.is_empty() {
                known.1 = name;
            }
        }
        self.turns = look.turns;
        self.stopped = look.stopped;
        self.work = look.work;
        self.idle = false;
        awake
            .iter()
            .all(|pid| self.restless.contains(pid))
            .then(|| self.turns.keys().filter(|pid| !self.restless.contains(pid)).copied().collect())
    }

    /// Records which threads have run since the last look. What was drawn until then has been recorded.
    pub(super) fn note_ran(&mut self, now: Duration, look: &ProgramLook) {
        self.own.judge(self.changes);
        self.own.retain(|thread| look.work.contains_key(&thread));
        look.ran.iter().for_each(|thread| self.own.note_ran(*thread, now));
    }

    /// Records that all programs are idle, and their short timers; `None` if one has begun to run again.
    pub(super) fn note_idle(&mut self, timers: Option<Vec<Timer>>) {
        let Some(timers) = timers else { return };
        let work = |thread: i32| self.work.get(&thread).copied().unwrap_or_default();
        self.own.note_rest(work);
        let mut awaited = Vec::new();
        for timer in timers {
            let before = Effects { changes: self.changes, work: work(timer.thread) };
            let is_own = self.own.note_waiting(timer, before, self.pressed);
            let ticks = self.ticks.get(&timer.process).is_some_and(|ticks| *ticks >= TICKS);
            if !is_own && !ticks && !awaited.contains(&timer.process) {
                awaited.push(timer.process);
            }
        }
        self.idle = awaited.is_empty();
        self.timers = awaited;
    }

    /// The number of changes so far: it tells whether two looks fell into the same moment.
    pub(super) fn changes(&self) -> u64 {
        self.changes
    }

    /// How long nothing has been drawn.
    pub(super) fn undrawn(&self, now: Duration) -> Duration {
        now.saturating_sub(self.drawn)
    }

    /// Returns whether something was drawn, or a window came or went, since the last input.
    pub(super) fn changed_since_input(&self) -> bool {
        self.changes != self.changes_at_input
    }

    /// Returns whether a window was opened or closed since the last input.
    pub(super) fn window_changed(&self) -> bool {
        self.window.is_some_and(|window| window >= self.input)
    }

    /// Names of programs that were still at work when the last wait ended.
    pub(super) fn still_busy(&self) -> &[String] {
        &self.still_busy
    }

    /// The programs that a signal has stopped, with their names.
    pub(super) fn stopped(&self) -> &BTreeMap<i32, String> {
        &self.stopped
    }

    /// Where the longest wait begins: at the input, or at the wait if the input was long ago.
    fn base(&self) -> Duration {
        if self.begun.saturating_sub(self.input) > CAP { self.begun } else { self.input }
    }

    /// Returns whether a program that usually rests has been doing something for a while.
    fn is_busy(&self, now: Duration) -> bool {
        self.awake
            .iter()
            .any(|(pid, (since, _))| !self.restless.contains(pid) && now.saturating_sub(*since) >= BUSY)
    }

    /// How long to wait for another event before checking again. `None` if the screen has settled, or the wait has
    /// reached its cap.
    pub(super) fn left(&self, now: Duration) -> Option<Duration> {
        let window = self.window.filter(|window| *window >= self.input);
        let cap = self.base() + if window.is_some() { CAP_WINDOW } else { CAP };
        if now >= cap {
            return None;
        }
        let drawn = self.drawn.max(self.input);
        if self.idle {
            let rest = if self.drawn > self.input { self.drawn + FRAME } else { now };
            let rest = window.map_or(rest, |window| rest.max(window + FRAME_WINDOW)).min(cap);
            if rest <= now {
                return None;
            }
        } else if !self.watched || !self.is_busy(now) {
            let timers = if self.timers.is_empty() { Duration::ZERO } else { self.base() + TIMERS };
            let rest = (drawn + QUIET).max(timers);
            let rest = window.map_or(rest, |window| rest.max(window + QUIET_WINDOW)).min(cap);
            let left = rest.saturating_sub(now);
            if left.is_zero() {
                return None;
            }
            return Some(if self.watched { left.min(LOOK) } else { left });
        }
        Some(LOOK.min(cap.saturating_sub(now)))
    }

    /// Records that a wait has ended. At its cap, what was still going on is remembered: programs are named, and what
    /// moved by itself is left out from now on.
    pub(super) fn note_end(&mut self, now: Duration) {
        self.own.judge(self.changes);
        let cap = self.base() + if self.window_changed() { CAP_WINDOW } else { CAP };
        let ticks = !self.idle && now >= self.base() + TIMERS;
        let timers: Vec<i32> = if ticks { self.timers.drain(..).collect() } else { Vec::new() };
        self.ticks.retain(|pid, ticks| *ticks >= TICKS || timers.contains(pid));
        for pid in timers {
            *self.ticks.entry(pid).or_default() += 1;
        }
        if now < cap {
            return;
        }
        let busy: Vec<(i32, String)> = self
            .awake
            .iter()
            .filter(|(pid, (since, _))| !self.restless.contains(pid) && now.saturating_sub(*since) >= BUSY)
            .map(|(pid, (_, name))| (*pid, name.clone()))
            .collect();
        self.still_busy = busy.iter().map(|(_, name)| name.clone()).filter(|name| !name.is_empty()).collect();
        self.still_busy.sort_unstable();
        self.still_busy.dedup();
        // Work comes to an end, and a film does not: only what draws all the time never rests.
        if !self.late.is_empty() && !self.window_changed() {
            self.restless.extend(busy.iter().map(|(pid, _)| *pid));
            if let Some(area) = self.late.drain(..).reduce(join)
                && self.moving.len() < AREAS
            {
                self.moving.push(area);
            }
        }
    }
}

fn contains(outer: Rect, inner: Rect) -> bool {
    inner.x >= outer.x
        && inner.y >= outer.y
        && inner.x + inner.width <= outer.x + outer.width
        && inner.y + inner.height <= outer.y + outer.height
}

#[cfg(test)]
mod tests;
