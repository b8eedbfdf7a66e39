//! Which timers are a program's own clock.

use std::time::Duration;

use apprentice_protocol::ScreenPoint;

use super::{Effects, Given, Input, OwnTimers};
use crate::display::programs::Timer;

const CLICK: Input = Input::Button(1, ScreenPoint::new(500, 300));

fn ms(number: u64) -> Duration {
    Duration::from_millis(number)
}

/// A program of one thread, as looks at it tell.
#[derive(Default)]
struct Program {
    timers: OwnTimers,
    now: u64,
    input: u64,
    kind: Input,
    effects: Effects,
}

impl Program {
    /// Sends input to a program that has rested for long.
    fn send(&mut self, kind: Input) {
        (self.now, self.kind) = (self.now + 5000, kind);
        self.input = self.now;
        self.timers.note_input(ms(self.now), self.effects.changes);
        self.timers.note_ran(7, ms(self.now));
    }

    /// Says whether the timer that ends so long after the input is the program's own clock.
    fn waits(&mut self, until: u64) -> bool {
        let timer = Timer { process: 7, thread: 7, due: ms(self.input + until) };
        self.timers.note_rest(|_| self.effects.work);
        self.timers.judge(self.effects.changes);
        self.timers.note_waiting(timer, self.effects, Given { kind: self.kind, at: ms(self.input) })
    }

    /// Lets a timer end, with what it draws and how long it works.
    fn ends(&mut self, after: u64, drawn: u64, micros: u64) {
        self.now = self.input + after;
        self.timers.note_ran(7, ms(self.now));
        self.effects.work += Duration::from_micros(micros);
        self.timers.note_rest(|_| self.effects.work);
        self.effects.changes += drawn;
        self.timers.judge(self.effects.changes);
    }

    /// Sends input whose timers end so without effect, and returns which of them are waited for.
    fn answer(&mut self, kind: Input, after: &[u64]) -> Vec<u64> {
        self.send(kind);
        let mut awaited = Vec::new();
        for after in after {
            if !self.waits(*after) {
                awaited.push(*after);
            }
            self.ends(*after, 0, 100);
        }
        awaited
    }
}

#[test]
fn a_timer_that_ends_three_times_without_effect_after_the_same_input_is_a_habit() {
    let mut program = Program::default();
    for round in 0..3 {
        assert_eq!(program.answer(CLICK, &[50]), [50], "round {round}");
    }
    assert_eq!(program.answer(CLICK, &[53]), [0_u64; 0], "it is known");
    assert_eq!(program.answer(CLICK, &[80]), [80], "a timer of another length is an answer");
    let elsewhere = |button, x| Input::Button(button, ScreenPoint::new(x, 300));
    for (other, told) in [
        (Input::Key(38), "a key is another input"),
        (elsewhere(3, 500), "and so is another button"),
        (elsewhere(1, 600), "what is clicked elsewhere may answer"),
    ] {
        assert_eq!(program.answer(other, &[50]), [50], "{told}");
    }
    for x in [540, 580, 620] {
        assert_eq!(program.answer(elsewhere(1, x), &[50]), [0_u64; 0], "one place leads to the next: {x}");
    }
}

#[test]
fn what_draws_or_works_is_waited_for_however_often_it_comes() {
    let mut program = Program::default();
    for (drawn, micros) in [(1, 100), (0, 500)] {
        for round in 0..20 {
            program.send(CLICK);
            assert!(!program.waits(300), "round {round} of {drawn} drawings and {micros} µs");
            program.ends(300, drawn, micros);
        }
    }
}

#[test]
fn what_comes_later_than_any_answer_may_work_longer() {
    let mut program = Program::default();
    for _ in 0..3 {
        program.send(CLICK);
        assert!(!program.waits(620));
        program.ends(620, 0, 500);
    }
    program.send(CLICK);
    assert!(program.waits(620));
}

#[test]
fn a_habit_that_draws_once_is_waited_for_again_and_for_longer() {
    let mut program = Program::default();
    (0..4).for_each(|_| drop(program.answer(CLICK, &[50])));
    // Nobody waited for it this time, and it drew.
    program.send(CLICK);
    assert!(program.waits(50));
    program.effects.changes += 1;
    for round in 0..12 {
        assert_eq!(program.answer(CLICK, &[50]), [50], "round {round}");
    }
    assert_eq!(program.answer(CLICK, &[50]), [0_u64; 0]);
}

#[test]
fn a_clock_is_known_by_its_period_once_answers_have_come() {
    let mut program = Program::default();
    // It ticks every 150 ms, whenever the input comes.
    for phase in [20, 71, 33] {
        program.answer(CLICK, &[phase, phase + 150, phase + 300, phase + 450]);
    }
    assert_eq!(program.answer(CLICK, &[101, 251, 401, 551]), [101, 251], "an answer may come at a tick");
    program.send(CLICK);
    program.ends(60, 0, 100);
    assert!(!program.waits(410), "whoever saw no tick expects none");
}

#[test]
fn what_ends_beside_an_answer_is_waited_for() {
    let mut program = Program::default();
    for round in 0..8 {
        program.send(CLICK);
        assert!(!program.waits(320), "round {round}");
        program.ends(320, 0, 500);
        assert!(!program.waits(340), "round {round}");
        program.ends(340, 0, 100);
    }
}

#[test]
fn a_program_that_is_woken_before_its_timer_waits_for_the_same_one() {
    let mut program = Program::default();
    for _ in 0..3 {
        program.send(CLICK);
        program.waits(50);
        program.now += 20;
        program.timers.note_ran(7, ms(program.now));
        assert!(!program.waits(50));
        program.ends(50, 0, 100);
    }
    program.send(CLICK);
    assert!(program.waits(50));
}
