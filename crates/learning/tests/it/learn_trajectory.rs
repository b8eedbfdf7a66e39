//! The learning cycle as a whole: the same trajectories give the same book, however often learning was interrupted.

use std::sync::Arc;

use apprentice_learning::{
    LearnError, LearnOptions, LearnResult, LearnerModels, LearningInput, learn_trajectory,
};
use apprentice_protocol::{Trajectory, Verdict};
use apprentice_skillbook::Gateway;
use jiff::Timestamp;

use crate::clerk::{Clerk, Written, attempt, run};
use crate::shelf::{Shelf, tree};

fn lessons() -> Vec<Trajectory> {
    let goals = ["Posterize", "Solarize", "Posterize", "Equalize", "Dither", "Posterize"];
    let attempts = goals.iter().enumerate().map(|(number, goal)| {
        let skills: &[(&str, u32)] = if number >= 2 { &[("gimp/open-the-menu-posterize", 1)] } else { &[] };
        attempt(&format!("t{number}"), goal, if number == 3 { Verdict::Fail } else { Verdict::Pass }, skills)
    });
    attempts.collect()
}

/// Learns from all trajectories, in order. `replies` limits the number of model calls.
fn learn(gateway: &mut Gateway, replies: usize) -> Result<Vec<LearnResult>, LearnError> {
    let clerk = Arc::new(Clerk::with(replies));
    let staff = LearnerModels { reflector: clerk.clone(), manager: clerk };
    let mut options = LearnOptions::default();
    options.clean.every = 4;
    // Low enough that the cleaner has a pair to ask about.
    options.clean.similarity = 0.5;
    let mut results = Vec::new();
    for trajectory in &lessons() {
        let input = LearningInput::new(trajectory, Timestamp::UNIX_EPOCH);
        results.push(run(learn_trajectory(gateway, &staff, &input, &options))?);
    }
    Ok(results)
}

fn undisturbed() -> Shelf {
    let shelf = Shelf::new();
    learn(&mut shelf.open().0, usize::MAX).expect("learns");
    shelf
}

#[test]
fn a_skill_is_learned_once_and_counted_where_it_was_received() {
    let shelf = undisturbed();
    let book = shelf.snapshot();
    let ids: Vec<String> = book.skills().map(|skill| skill.id.to_string()).collect();
    assert_eq!(
        ids,
        ["gimp/open-the-menu-dither", "gimp/open-the-menu-posterize", "gimp/open-the-menu-solarize"],
        "what was learned from a failure is no skill"
    );
    assert!(!book.state().kept_pairs.is_empty(), "the cleaner asked");
    let counted = book.skills().nth(1).expect("a skill").counts(Some("teacher"));
    assert_eq!((counted.times_requested, counted.positive_impact), (4, 4));
    assert_eq!(book.state().candidates.len(), lessons().len(), "later attempts can be compared with each");
}

#[test]
fn learning_again_changes_nothing_and_asks_nobody() {
    let shelf = undisturbed();
    let before = tree(shelf.path());
    let results = learn(&mut shelf.open().0, 0).expect("nothing to ask");
    assert!(results.iter().all(|result| result.known_before && result.decisions.is_empty()));
    assert_eq!(tree(shelf.path()), before);
}

#[test]
fn an_attempt_whose_review_cannot_be_read_stays_unlearned_and_is_taken_up_again() {
    let shelf = Shelf::new();
    let (mut gateway, _) = shelf.open();
    let trajectory = attempt("t", "Posterize", Verdict::Pass, &[("gimp/gone", 1)]);
    let input = LearningInput::new(&trajectory, Timestamp::UNIX_EPOCH);
    let key = format!("sk-ant-{}", "api03-AAAABBBBCCCCDDDDEEEEFFFFGGGG");
    let staff = |words: &[&str]| LearnerModels {
        reflector: Arc::new(Written::words(words)),
        manager: Arc::new(Clerk::with(usize::MAX)),
    };
    let before = tree(shelf.path());
    let silly = staff(&["no", "never", &format!("the key is {key}")]);
    let result =
        run(learn_trajectory(&mut gateway, &silly, &input, &LearnOptions::default())).expect("goes on");
    let unread = result.unread.expect("it was not read");
    assert!(unread.why.contains("no usable answer in 3 tries"), "{}", unread.why);
    assert_eq!(
        (unread.problems.len(), &unread.answers[..2]),
        (3, &["no".to_owned(), "never".to_owned()][..])
    );
    assert!(!unread.answers[2].contains(&key), "{}", unread.answers[2]);
    assert!(!result.known_before && result.reflected.is_none());
    assert_eq!(tree(shelf.path()), before, "nothing was counted and nothing marked");
    let again = staff(&["{}"]);
    let result =
        run(learn_trajectory(&mut gateway, &again, &input, &LearnOptions::default())).expect("learns");
    assert!(result.unread.is_none() && !result.known_before && result.reflected.is_some());
    let known =
        run(learn_trajectory(&mut gateway, &staff(&[]), &input, &LearnOptions::default())).expect("knows");
    assert!(known.known_before && known.unread.is_none());
}

#[test]
fn cut_off_after_any_reply_and_resumed_it_is_the_same_book() {
    let whole = tree(undisturbed().path());
    let mut cuts = 0;
    for replies in 0.. {
        let shelf = Shelf::new();
        if learn(&mut shelf.open().0, replies).is_ok() {
            break;
        }
        cuts += 1;
        learn(&mut shelf.open().0, usize::MAX).expect("goes on");
        assert_eq!(tree(shelf.path()), whole, "cut off after {replies} replies");
    }
    assert!(cuts > 10, "{cuts}");
}

#[test]
fn a_cleanup_is_due_after_ten_trajectories() {
    let shelf = Shelf::new();
    let (mut gateway, _) = shelf.open();
    let clerk = Arc::new(Clerk::with(usize::MAX));
    let staff = LearnerModels { reflector: clerk.clone(), manager: clerk };
    let mut cleaned = Vec::new();
    for number in 0..10 {
        let trajectory = attempt(&format!("t{number}"), "Posterize", Verdict::Fail, &[]);
        let input = LearningInput::new(&trajectory, Timestamp::UNIX_EPOCH);
        run(learn_trajectory(&mut gateway, &staff, &input, &LearnOptions::default())).expect("learns");
        let operations = gateway.snapshot().operations();
        cleaned.push(operations.iter().filter(|one| one.change.name() == "cleanup.finished").count());
    }
    assert_eq!(cleaned, [0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
}
