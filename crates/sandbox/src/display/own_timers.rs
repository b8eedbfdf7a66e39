//! Which timers of a program are its own clock, and not work that input left to do. Pure.
//!
//! A program waits for its next timer, whatever that is for: an answer that it delays, or a habit. GTK waits for a second
//! click and for the moment of a tooltip, GtkSourceView looks for a bracket 50 ms after the caret has moved, and LibreOffice wakes every 150 ms. Nobody can
//! read the purpose, but a habit recurs: at the same time after the same kind of input, or at the same time after its last turn. What
//! has ended so several times without drawing anything is not waited for, until it draws once.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use apprentice_protocol::{Rect, ScreenPoint};

use super::drawn_areas::join;
use super::programs::{SHORT_TIMER, Timer};

/// Two timers that end so near each other are the same. The time of input is known no better, as programs take it when they can.
const NEAR: Duration = Duration::from_millis(8);
/// A timer that ends so near one that works may be that one, as far as a busy machine lets anybody tell.
const BESIDE: Duration = Duration::from_millis(32);
/// A click is another input where none has been made within so many pixels.
const NEIGHBOURHOOD: i32 = 64;
/// So many timers must have ended without effect at the same time after input.
const TIMES: u32 = 3;
/// So often as many once a timer that was not waited for has drawn something.
const DISTRUST: u32 = 4;
/// What a program works at most when it only looks whether there is anything to do. Mousepad takes 0.13 ms at its timers, and
/// LibreOffice 0.5 ms to find that its toolbars are up to date, which another cell under the caret may change. What ends later than any
/// answer that is waited for may take longer.
const LIGHT: Duration = Duration::from_micros(200);
/// Clocks tick no faster than this, as far as they are told by their period.
const SHORTEST_PERIOD: Duration = Duration::from_millis(100);
/// Nor more slowly.
const LONGEST_PERIOD: Duration = Duration::from_millis(350);
/// A clock is known by its period after so many pairs of ends that lie so far apart.
const PAIRS: u32 = 6;
/// Most ends, times and periods that are remembered of a thread.
const REMEMBERED: usize = 16;

/// What was done to a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Input {
    /// A button was pressed at a place.
    Button(u8, ScreenPoint),
    /// A key was pressed.
    Key(u8),
    /// A text was typed.
    Text,
    #[default]
    Other,
}

impl Input {
    /// Whether both are alike, wherever they were given.
    fn is_like(self, other: Self) -> bool {
        match (self, other) {
            (Self::Button(one, _), Self::Button(other, _)) => one == other,
            _ => self == other,
        }
    }

    /// The area around the place where it was given.
    fn area(self) -> Option<Rect> {
        let Self::Button(_, at) = self else { return None };
        Some(Rect::new(at.x - NEIGHBOURHOOD, at.y - NEIGHBOURHOOD, 2 * NEIGHBOURHOOD, 2 * NEIGHBOURHOOD))
    }
}

/// An input, and when it was given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Given {
    pub(super) kind: Input,
    pub(super) at: Duration,
}

/// What had been done and shown at some moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Effects {
    /// Changes of the screen.
    pub(super) changes: u64,
    /// Processor time of the thread's program.
    pub(super) work: Duration,
}

/// The timer that a thread waits for.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    due: Duration,
    before: Effects,
    /// The last input before it.
    input: Given,
}

/// A timer that has ended, and what its program has done by the time that all programs rested again.
#[derive(Clone, Copy, Debug)]
struct Ended {
    timer: Waiting,
    work: Option<Duration>,
}

/// When a timer ends after one kind of input.
#[derive(Clone, Copy, Debug)]
struct Habit {
    input: Input,
    /// Where that was given: elsewhere, other things answer. `None` where there is no place, or all answers have come by then.
    area: Option<Rect>,
    after: Duration,
    /// How often in a row it had no effect.
    idle: u32,
    needed: u32,
}

/// What is known of a thread.
#[derive(Debug, Default)]
struct Known {
    waiting: Option<Waiting>,
    ended: Option<Ended>,
    habits: Vec<Habit>,
    /// When timers ended without effect.
    ends: VecDeque<Duration>,
    /// Times between two such ends, and how often each occurred.
    periods: Vec<(Duration, u32)>,
    /// When a clock is to tick next.
    expected: Vec<Duration>,
    /// A timer that was not waited for.
    passed: Option<Waiting>,
}

/// The timers of all programs.
#[derive(Debug, Default)]
pub(super) struct OwnTimers {
    threads: BTreeMap<i32, Known>,
}

fn is_near(one: Duration, other: Duration) -> bool {
    one.abs_diff(other) <= NEAR
}

impl OwnTimers {
    /// Records that a thread has run since the last look.
    pub(super) fn note_ran(&mut self, thread: i32, now: Duration) {
        let Some(known) = self.threads.get_mut(&thread) else { return };
        known.passed = None;
        let Some(timer) = known.waiting.take() else { return };
        // It may have been woken earlier by something else, and waits for the same timer afterwards.
        if now + NEAR < timer.due || known.ended.is_some() {
            return;
        }
        if let Some(place) = known.expected.iter().position(|due| is_near(*due, timer.due)) {
            known.expected.swap_remove(place);
        }
        known.ended = Some(Ended { timer, work: None });
    }

    /// Records that all programs rest, and that a thread of one waits for a timer. Returns whether that is its own clock.
    pub(super) fn note_waiting(&mut self, timer: Timer, before: Effects, input: Given) -> bool {
        let known = self.threads.entry(timer.thread).or_default();
        let waiting = *known.waiting.get_or_insert(Waiting { due: timer.due, before, input });
        let after = waiting.due.saturating_sub(waiting.input.at);
        let is_habit = |habit: &Habit| habit.is_of(waiting.input.kind, after) && habit.idle >= habit.needed;
        // A clock ticks whenever it likes, so that an answer may come just then.
        let ticks = || known.expected.iter().any(|expected| is_near(*expected, waiting.due));
        let is_own = known.habits.iter().any(is_habit) || (after > SHORT_TIMER && ticks());
        known.passed = is_own.then_some(waiting);
        is_own
    }

    /// Records that all programs rest: what followed from the timers that have ended is done, and what it drew is told at the next look.
    pub(super) fn note_rest(&mut self, work: impl Fn(i32) -> Duration) {
        for (thread, known) in &mut self.threads {
            if let Some(ended) = &mut known.ended {
                ended.work.get_or_insert(work(*thread));
            }
        }
    }

    /// Judges timers by what has been drawn since they ended.
    pub(super) fn judge(&mut self, changes: u64) {
        for known in self.threads.values_mut() {
            if let Some(Ended { timer, work: Some(work) }) = known.ended {
                known.ended = None;
                let worked = work.saturating_sub(timer.before.work);
                known.judge(timer, changes != timer.before.changes, worked);
            }
        }
    }

    /// Records that more input is about to be sent: what was drawn since the last wait may come from timers that were not waited for.
    pub(super) fn note_input(&mut self, now: Duration, changes: u64) {
        for known in self.threads.values_mut() {
            known.expected.retain(|due| *due > now);
            if let Some(passed) = known.passed.take()
                && passed.due <= now
                && passed.before.changes != changes
            {
                known.distrust(passed);
            }
            // What comes of it is not told from what comes of the input.
            (known.waiting, known.ended) = (None, None);
        }
    }

    /// Forgets the threads that are gone.
    pub(super) fn retain(&mut self, is_there: impl Fn(i32) -> bool) {
        self.threads.retain(|thread, _| is_there(*thread));
    }
}

impl Habit {
    /// Whether it is about a timer that ends so long after an input.
    fn is_of(&self, input: Input, after: Duration) -> bool {
        let is_here = match (self.area, input) {
            (Some(area), Input::Button(_, at)) => area.contains(at),
            _ => true,
        };
        self.input.is_like(input) && is_near(self.after, after) && is_here
    }
}

impl Known {
    fn judge(&mut self, timer: Waiting, drew: bool, worked: Duration) {
        if drew {
            self.distrust(timer);
            return;
        }
        let after = timer.due.saturating_sub(timer.input.at);
        if worked <= LIGHT || after > SHORT_TIMER {
            self.note_idle_end(timer.input.kind, after);
        } else {
            self.doubt(timer);
        }
        for end in self.ends.clone() {
            let length = timer.due.saturating_sub(end);
            if (SHORTEST_PERIOD..=LONGEST_PERIOD).contains(&length) {
                self.note_period(length);
            }
        }
        self.ends.push_back(timer.due);
        if self.ends.len() > REMEMBERED {
            self.ends.pop_front();
        }
        let known = self.periods.iter().filter(|(_, pairs)| *pairs >= PAIRS);
        self.expected.extend(known.map(|(length, _)| timer.due + *length));
    }

    fn note_idle_end(&mut self, input: Input, after: Duration) {
        let area = input.area().filter(|_| after <= SHORT_TIMER);
        if let Some(habit) = self.habits.iter_mut().find(|habit| habit.is_of(input, after)) {
            habit.idle += 1;
            habit.area = habit.area.zip(area).map(|(known, here)| join(known, here));
            return;
        }
        self.habits.push(Habit { input, area, after, idle: 1, needed: TIMES });
        if self.habits.len() > REMEMBERED {
            self.habits.remove(0);
        }
    }

    fn note_period(&mut self, length: Duration) {
        match self.periods.iter_mut().find(|(known, _)| is_near(*known, length)) {
            Some((_, pairs)) => *pairs += 1,
            None => {
                self.periods.push((length, 1));
                if self.periods.len() > REMEMBERED {
                    self.periods.remove(0);
                }
            }
        }
    }

    /// What ends near this timer after input may have an effect.
    fn doubt(&mut self, timer: Waiting) {
        let after = timer.due.saturating_sub(timer.input.at);
        let beside = |habit: &&mut Habit| {
            habit.input.is_like(timer.input.kind) && habit.after.abs_diff(after) <= BESIDE
        };
        self.habits.iter_mut().filter(beside).for_each(|habit| habit.idle = 0);
    }

    /// A timer had an effect: what ends at its time after input, or at its time after the ends before, is waited for again.
    fn distrust(&mut self, timer: Waiting) {
        let after = timer.due.saturating_sub(timer.input.at);
        self.doubt(timer);
        for habit in self.habits.iter_mut().filter(|habit| habit.is_of(timer.input.kind, after)) {
            habit.needed = habit.needed.saturating_mul(DISTRUST);
        }
        let ends = std::mem::take(&mut self.ends);
        let led_here = |length: Duration| ends.iter().any(|end| is_near(*end + length, timer.due));
        self.periods.retain(|(length, _)| !led_here(*length));
        self.expected.clear();
    }
}

#[cfg(test)]
mod tests;
