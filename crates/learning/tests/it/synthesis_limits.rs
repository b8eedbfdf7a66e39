//! Limits of what the writer of a function sees, at their edges.

use apprentice_functions::Surface;
use apprentice_learning::synthesis::{AttemptMaterial, SynthesisMaterial, synthesis_request, synthesize};
use apprentice_protocol::{Message, StepId, Trajectory, TrajectoryStep, Verdict};

use crate::clerk::{Written, attempt, run};
use crate::shelf::{Shelf, id};

fn material(attempts: &[Trajectory]) -> SynthesisMaterial {
    let book = Shelf::with(&[("gimp/entries", "opening entries")]).snapshot();
    let skill = book.skill(&id("gimp/entries")).expect("a skill");
    SynthesisMaterial::new(skill, Surface::Desktop, &attempts.iter().collect::<Vec<_>>())
}

fn shown(attempt: Trajectory) -> AttemptMaterial {
    material(&[attempt]).attempts.remove(0)
}

/// An attempt of so many steps that act, each of which saw so many changed lines, and of a last look.
fn acting(steps: u32, lines: usize) -> Trajectory {
    let passed = attempt("a", "Open it.", Verdict::Pass, &[]);
    let mut step = passed.steps[0].clone();
    step.seen.changed = (0..lines).map(|line| format!("+ label \"{line}\"")).collect();
    let mut last = TrajectoryStep { id: StepId(steps + 1), ..step.clone() };
    last.actions.clear();
    let steps = (1..=steps).map(|number| TrajectoryStep { id: StepId(number), ..step.clone() });
    Trajectory { steps: steps.chain([last]).collect(), ..passed }
}

#[test]
fn four_attempts_are_shown() {
    for (given, taken) in [(4, 4), (5, 4)] {
        let attempts: Vec<Trajectory> =
            (0..given).map(|number| attempt(&format!("a{number}"), "Open it.", Verdict::Pass, &[])).collect();
        let shown = material(&attempts).attempts;
        assert_eq!(shown.len(), taken);
        assert_eq!(shown[0].attempt, "run/a0/1", "the first ones");
    }
}

#[test]
fn thirty_changed_lines_of_a_screen_are_shown_and_the_rest_is_counted() {
    for (lines, left_out) in [(30, 0), (31, 1)] {
        let shown = shown(acting(1, lines));
        for seen in [&shown.steps[0].seen, &shown.end.expect("a last look")] {
            assert_eq!((seen.changed.len(), seen.left_out), (30, left_out));
        }
    }
}

#[test]
fn the_steps_of_an_attempt_share_240_changed_lines() {
    for (steps, lines) in [(8, 30), (9, 26), (12, 20), (24, 10), (40, 6), (41, 6), (80, 6)] {
        let shown = shown(acting(steps, 50));
        assert!(shown.steps.iter().all(|step| step.seen.changed.len() == lines), "{steps} steps");
        assert_eq!(shown.end.expect("a last look").changed.len(), 30, "the end counts apart");
    }
}

#[test]
fn forty_steps_are_shown_the_last_ones() {
    for (steps, first, left_out) in [(40, 1, 0), (41, 2, 1)] {
        let shown = shown(acting(steps, 1));
        assert_eq!((shown.steps.len(), shown.left_out), (40, left_out));
        assert_eq!(shown.steps[0].id, StepId(first));
    }
}

#[test]
fn a_text_is_shown_up_to_2000_characters_and_a_changed_line_up_to_160() {
    let cut = |goal: usize, line: usize| {
        let mut attempt = Trajectory { goal: "g".repeat(goal), ..acting(1, 1) };
        attempt.steps[0].seen.changed = vec!["l".repeat(line)];
        let shown = shown(attempt);
        let [goal, line] = [&shown.goal, &shown.steps[0].seen.changed[0]];
        assert!(goal.chars().count() <= 2000 && line.chars().count() <= 160);
        [goal, line].map(|text| text.contains("more characters]"))
    };
    assert_eq!(cut(2000, 160), [false, false]);
    assert_eq!(cut(2001, 161), [true, true]);
}

#[test]
fn a_function_may_have_6000_tokens() {
    let request = synthesis_request(&material(&[acting(1, 1)])).expect("a request");
    assert_eq!(request.max_output_tokens, 6000);
}

#[test]
fn what_is_wrong_with_an_answer_is_told_up_to_4000_characters() {
    let source = "/// Opens an entry of the list.\n/// - entry (text): the entry\n/// Example: open_entry(\"Third\")\n\
                  fn open_entry(desktop, entry) {\n    desktop.get_by_role(\"menuitem\", entry).click();\n}\n";
    let answer = serde_json::json!({ "function": source, "arguments": [], "decline": null }).to_string();
    // The one violation names the attempt, so its name sets the length.
    let lacks = "`arguments` lacks the attempt \"\"".len();
    for (length, whole) in [(4000, true), (4001, false)] {
        let attempt = Trajectory { id: "i".repeat(length - lacks), ..acting(1, 1) };
        let model = Written::words(&[&answer]);
        assert!(run(synthesize(&model, &material(&[attempt]), &[])).is_err(), "one reply is not enough");
        let requests = model.requests.lock().expect("unpoisoned");
        let last = requests.last().and_then(|request| request.messages.last());
        let Some(Message::User { content }) = last else { panic!("{last:?}") };
        let told = content.last().and_then(|content| content.as_text()).expect("text");
        let (_, told) = told.split_once("cannot be taken:\n").expect("a beginning");
        let (told, _) = told.split_once("\nAnswer with the whole").expect("an end");
        assert!(told.starts_with("`arguments` lacks the attempt \"iii"), "{told}");
        assert_eq!(!told.contains("more characters]"), whole, "{told}");
        assert!(told.chars().count() <= 4000);
    }
}
