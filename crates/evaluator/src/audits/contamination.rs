//! Contamination check of the book to be measured: sealed material in it, training tasks that nearly duplicate test
//! tasks, and skills that repeat one task's wording instead of general knowledge. Computed once, when the book is
//! frozen and the suite is available, and reported with every result.

use std::collections::{BTreeMap, BTreeSet};

use apprentice_protocol::TaskId;
use apprentice_results::contamination::{
    CONTAMINATION_SCHEMA, Contamination, NearDuplicate, SkillContamination,
};
use apprentice_screening::leak::HeldOutIndex as _;
use apprentice_skillbook::{Skill, Snapshot};

use crate::learn::HeldOutTasks;
use crate::learn::held_out::{task_texts, words};
use crate::split::SplitLock;
use crate::trial_identity::trajectory_id;
use apprentice_runs::row::{Split, TrialRow};
use apprentice_tasks::suite::Suite;
use apprentice_tasks::task::Task;

/// Words of a run that counts as said by a task.
const NGRAM_WORDS: usize = 3;
/// Minimum similarity at which two tasks are reported as near duplicates.
const NEAR_SIMILARITY: f64 = 0.6;
/// Maximum number of reported pairs, most similar first.
const MAX_PAIRS: usize = 20;

/// Examines a book against a suite and its split, if one is locked; rows, where there are any, tell which
/// tasks a skill was learned from.
pub fn examine(suite: &Suite, lock: Option<&SplitLock>, book: &Snapshot, rows: &[TrialRow]) -> Contamination {
    let of = |part| -> Vec<&Task> {
        let is_part = |task: &&Task| lock.and_then(|lock| lock.split_of_task(&task.id).ok()) == Some(part);
        suite.tasks.iter().filter(is_part).collect()
    };
    let (train, test) = (of(Split::Train), of(Split::Test));
    let sealed = lock.map(|lock| HeldOutTasks::build(lock, suite));
    let runs: BTreeMap<&TaskId, BTreeSet<String>> = train
        .iter()
        .map(|task| (&task.id, task_texts(task).iter().flat_map(|text| ngrams(text)).collect()))
        .collect();
    let tasks: BTreeMap<String, &TaskId> = rows.iter().map(|row| (trajectory_id(row), &row.task)).collect();
    let skill = |skill: &Skill| {
        let sources = sources(book, skill, &tasks);
        let known = |id: &TaskId| sources.is_empty() || sources.contains(id);
        let candidates = runs.iter().filter(|(id, _)| known(id));
        let (specificity, most_like) = specific(&skill.text.guidance, candidates);
        let parts = [&skill.text.description, &skill.text.situation, &skill.text.guidance];
        let parts =
            parts.into_iter().map(String::as_str).chain(skill.notes.iter().map(|note| note.text.as_str()));
        let leak = parts.chain([skill.id.as_str()]).find_map(|text| sealed.as_ref()?.find(text));
        SkillContamination { skill: skill.id.to_string(), specificity, most_like, leak }
    };
    let mut skills: Vec<SkillContamination> = book.skills().map(skill).collect();
    skills.sort_by(|one, other| other.specificity.total_cmp(&one.specificity));
    Contamination { schema: CONTAMINATION_SCHEMA.into(), near: near(&train, &test), skills }
}

/// The tasks that a skill was learned from, as far as the rows tell.
fn sources<'r>(book: &Snapshot, skill: &Skill, tasks: &BTreeMap<String, &'r TaskId>) -> BTreeSet<&'r TaskId> {
    let causes = book.state().causes.iter().filter(|(_, operation)| skill.history.contains(operation));
    causes.filter_map(|(cause, _)| tasks.get(&cause.trajectory).copied()).collect()
}

/// The largest share of a text's n-grams found in one task, and that task.
fn specific<'a>(
    text: &str,
    tasks: impl Iterator<Item = (&'a &'a TaskId, &'a BTreeSet<String>)>,
) -> (f64, Option<TaskId>) {
    let runs: BTreeSet<String> = ngrams(text).into_iter().collect();
    let shares = tasks.map(|(id, said)| (share(runs.intersection(said).count(), runs.len()), *id));
    let most = shares.filter(|(share, _)| *share > 0.0).max_by(|one, other| one.0.total_cmp(&other.0));
    most.map_or((0.0, None), |(share, id)| (share, Some(id.clone())))
}

/// Pairs of tasks with nearly the same instruction.
fn near(train: &[&Task], test: &[&Task]) -> Vec<NearDuplicate> {
    let runs = |task: &Task| -> BTreeSet<String> { ngrams(&task.instruction).into_iter().collect() };
    let train: Vec<_> = train.iter().map(|task| (task, runs(task))).collect();
    let mut pairs = Vec::new();
    for task in test {
        let own = runs(task);
        for (other, said) in &train {
            let likeness = share(own.intersection(said).count(), own.union(said).count());
            if likeness >= NEAR_SIMILARITY {
                pairs.push(NearDuplicate { train: other.id.clone(), test: task.id.clone(), likeness });
            }
        }
    }
    pairs.sort_by(|one, other| other.likeness.total_cmp(&one.likeness));
    pairs.truncate(MAX_PAIRS);
    pairs
}

/// Three-word n-grams; a shorter text is one n-gram.
fn ngrams(text: &str) -> Vec<String> {
    let words = words(text);
    match words.len() {
        0 => Vec::new(),
        length if length < NGRAM_WORDS => vec![words.join(" ")],
        _ => words.windows(NGRAM_WORDS).map(|run| run.join(" ")).collect(),
    }
}

#[expect(clippy::cast_precision_loss, reason = "numbers of words are small")]
fn share(part: usize, of: usize) -> f64 {
    if of == 0 { 0.0 } else { part as f64 / of as f64 }
}

#[cfg(test)]
mod tests {
    use super::{near, ngrams, specific};
    use apprentice_protocol::TaskId;
    use apprentice_tasks::task::Task;

    fn task(id: &str, instruction: &str) -> Task {
        let json = serde_json::json!({ "id": id, "instruction": instruction, "evaluator": { "func": "exact_match" } });
        serde_json::from_value(json).expect("a task")
    }

    #[test]
    fn tasks_that_say_nearly_the_same_are_told_and_others_are_not() {
        let one = task("one", "Replace every tab with four spaces in notes.txt and save the file.");
        let twin = task("twin", "Replace every tab with four spaces in notes.txt and save the page.");
        let kin = task("kin", "Replace the word tea by the word coffee in menu.txt and save it.");
        let pairs = near(&[&one], &[&twin, &kin]);
        let names: Vec<&str> = pairs.iter().map(|pair| pair.test.as_str()).collect();
        assert_eq!(names, ["twin"], "{pairs:?}");
        assert!(pairs[0].likeness > 0.7 && pairs[0].likeness < 1.0);
    }

    #[test]
    fn guidance_that_says_a_tasks_own_words_is_specific() {
        let id = TaskId::new("one");
        let said = ngrams("Write the sum 4711 into cell B7 of budget.ods and save it").into_iter().collect();
        let tasks = [(&id, said)];
        let of = |text: &str| specific(text, tasks.iter().map(|(id, said)| (id, said)));
        let (copied, from) = of("write the sum 4711 into cell B7 of budget.ods");
        assert_eq!((copied, from), (1.0, Some(TaskId::new("one"))));
        let (general, from) = of("Choose Sheet > Insert Cells, then pick Shift Down.");
        assert_eq!((general, from), (0.0, None));
        let (half, _) = of("Choose Sheet > Insert; then write the sum 4711 into cell");
        assert!(half > 0.3 && half < 0.8, "{half}");
        assert_eq!(of("").0, 0.0);
    }
}
