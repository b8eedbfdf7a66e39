//! When a screen counts as settled.

use std::collections::BTreeMap;
use std::time::Duration;

use apprentice_protocol::Rect;

use super::ScreenActivity;
use crate::display::programs::{ProgramLook, Timer};

fn ms(number: u64) -> Duration {
    Duration::from_millis(number)
}

fn look(running: &[i32], turns: &[(i32, u64)]) -> Option<ProgramLook> {
    let running = running.iter().map(|pid| (*pid, format!("p{pid}"))).collect();
    let turns = turns.iter().copied().collect::<BTreeMap<_, _>>();
    let work = turns.keys().map(|pid| (*pid, Duration::ZERO)).collect();
    Some(ProgramLook { running, turns, work, ..ProgramLook::default() })
}

/// A look at which everybody rests.
fn rest(activity: &mut ScreenActivity, now: u64, turns: &[(i32, u64)], timer: bool) {
    if activity.note_look(ms(now), look(&[], turns)).is_some() {
        let timer = timer.then_some(Timer { process: 5, thread: 5, due: ms(now + 300) });
        activity.note_idle(Some(timer.into_iter().collect()));
    }
}

#[test]
fn without_a_view_of_programs_rest_follows_the_last_thing_drawn_and_has_a_cap() {
    let check = |drawn: u64, window: Option<u64>, now: u64, left: Option<u64>| {
        let mut activity =
            ScreenActivity { drawn: ms(drawn), window: window.map(ms), ..ScreenActivity::new(ms(1000)) };
        activity.drawn = ms(drawn);
        assert_eq!(activity.left(ms(now)), left.map(ms), "drawn {drawn}, window {window:?}, now {now}");
    };
    check(0, None, 1000, Some(90));
    check(0, None, 1090, None);
    check(1080, None, 1090, Some(80));
    check(2480, None, 2490, Some(10));
    check(2499, None, 2500, None);
    check(1010, Some(1010), 1200, Some(110));
    check(1010, Some(900), 1200, None);
    check(4400, Some(4400), 4500, None);
}

#[test]
fn programs_that_rest_between_two_looks_have_settled_and_a_short_timer_means_that_they_go_on() {
    let mut activity = ScreenActivity::new(ms(1000));
    rest(&mut activity, 1001, &[(5, 10)], false);
    assert_eq!(activity.left(ms(1001)), Some(ms(2)), "a first look knows nobody");
    rest(&mut activity, 1003, &[(5, 11)], false);
    assert!(activity.left(ms(1003)).is_some(), "it ran in between");
    rest(&mut activity, 1004, &[(5, 11)], true);
    assert!(activity.left(ms(1004)).is_some(), "it has a short timer");
    rest(&mut activity, 1006, &[(5, 11)], false);
    assert_eq!(activity.left(ms(1006)), None);
    activity.note_drawing(ms(1007), None);
    rest(&mut activity, 1008, &[(5, 11)], false);
    assert!(activity.left(ms(1008)).is_some(), "the next frame may change more");
    assert_eq!(activity.left(ms(1027)), None);
}

#[test]
fn a_program_at_work_is_waited_for_up_to_the_cap_and_named() {
    let mut activity = ScreenActivity::new(ms(1000));
    activity.note_wait(ms(1000));
    for now in (1000..2500).step_by(10) {
        assert_eq!(activity.note_look(ms(now), look(&[7], &[(7, now)])), None);
        assert!(activity.left(ms(now)).is_some(), "at {now}");
    }
    assert_eq!(activity.left(ms(2500)), None);
    activity.note_end(ms(2500));
    assert_eq!(activity.still_busy(), ["p7"]);
    activity.note_input(ms(3000));
    activity.note_wait(ms(3000));
    activity.note_look(ms(3001), look(&[7], &[(7, 9)]));
    activity.note_look(ms(3100), look(&[7], &[(7, 10)]));
    assert!(activity.left(ms(3100)).is_some(), "work comes to an end, so it is waited for again");
}

#[test]
fn what_moves_by_itself_is_learned_and_left_out() {
    let mut activity = ScreenActivity::new(ms(1000));
    activity.note_wait(ms(1000));
    let film = Rect::new(100, 100, 200, 100);
    for now in (1000..2500).step_by(20) {
        activity.note_drawing(ms(now), Some(film));
        activity.note_look(ms(now), look(&[7], &[(5, 1), (7, now)]));
        assert!(activity.left(ms(now)).is_some());
    }
    activity.note_end(ms(2500));
    activity.note_input(ms(3000));
    activity.note_wait(ms(3000));
    activity.note_drawing(ms(3001), Some(film));
    assert!(!activity.changed_since_input(), "the film goes on");
    rest(&mut activity, 3002, &[(5, 1), (7, 99)], false);
    assert_eq!(activity.left(ms(3002)), None);
    activity.note_drawing(ms(3003), Some(Rect::new(0, 0, 10, 10)));
    assert!(
        activity.changed_since_input() && activity.left(ms(3003)).is_some(),
        "what lies elsewhere counts"
    );
    activity.note_window(ms(3010));
    activity.note_drawing(ms(3011), Some(film));
    assert_eq!(activity.drawn, ms(3011), "another window may lie there now");
}

#[test]
fn a_timer_set_by_the_input_is_waited_for_and_one_that_always_ticks_is_learned() {
    let mut activity = ScreenActivity::new(ms(0));
    for begun in [1000, 3000, 5000] {
        activity.note_input(ms(begun));
        activity.note_wait(ms(begun));
        for now in (begun..begun + 900).step_by(10) {
            rest(&mut activity, now, &[(5, 1)], true);
            assert!(activity.left(ms(now)).is_some(), "at {now}");
        }
        assert_eq!(activity.left(ms(begun + 900)), None);
        activity.note_end(ms(begun + 900));
    }
    activity.note_input(ms(7000));
    activity.note_wait(ms(7000));
    rest(&mut activity, 7001, &[(5, 1)], true);
    assert_eq!(activity.left(ms(7001)), None, "it ticks by itself");
}
