//! What two tasks share that could carry one's solution to the other: the words of the instruction, a start file.

use std::collections::BTreeSet;

use apprentice_protocol::TaskId;
use apprentice_tasks::suite::Suite;
use apprentice_tasks::task::{SetupStep, Task};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use apprentice_runs::row::Split;

/// Share of words, in percent, from which two instructions count as near the same: twice the common words over the
/// words of both. A sieve that errs towards caution: what it finds stands in one part, or is looked at by a person.
pub const NEAR_SAME: usize = 80;

/// What two tasks of different parts have in common.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SharedBy {
    /// Nearly the same words in the instruction.
    Wording,
    /// The same start file.
    StartFile(String),
}

/// Two tasks of different parts that share something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Overlap {
    /// One task.
    pub one: TaskId,
    /// Its part.
    pub one_in: Split,
    /// The other task.
    pub other: TaskId,
    /// Its part.
    pub other_in: Split,
    /// What they share.
    pub shared: SharedBy,
}

impl Overlap {
    /// Whether the two tasks carry what a test measures into training: near the same words in both parts.
    pub fn is_leak(&self) -> bool {
        let parts = [self.one_in, self.other_in];
        self.shared == SharedBy::Wording && parts.contains(&Split::Train) && parts.contains(&Split::Test)
    }
}

/// Lists what tasks of different parts share, in the suite's order.
pub fn overlaps(suite: &Suite, part: &dyn Fn(&TaskId) -> Option<Split>) -> Vec<Overlap> {
    let placed: Vec<(&Task, Split, BTreeSet<String>, BTreeSet<String>)> = suite
        .tasks
        .iter()
        .filter_map(|task| Some((task, part(&task.id)?, words(&task.instruction), start_files(task))))
        .collect();
    let mut found = Vec::new();
    for (at, (one, one_in, one_words, one_files)) in placed.iter().enumerate() {
        for (other, other_in, other_words, other_files) in &placed[at + 1..] {
            if one_in == other_in {
                continue;
            }
            let wording = near_same(one_words, other_words).then_some(SharedBy::Wording);
            let file = one_files.intersection(other_files).next().cloned().map(SharedBy::StartFile);
            found.extend(wording.into_iter().chain(file).map(|shared| Overlap {
                one: one.id.clone(),
                one_in: *one_in,
                other: other.id.clone(),
                other_in: *other_in,
                shared,
            }));
        }
    }
    found
}

/// Says of each pair that carries what a test measures into training what is wrong, and the remedy.
pub(super) fn leaks(suite: &Suite, part: &dyn Fn(&TaskId) -> Option<Split>) -> Vec<String> {
    let told = |one: &Overlap| {
        let (first, second) = (one.one_in.as_str(), one.other_in.as_str());
        format!(
            "{} ({first}) and {} ({second}) ask for the same in nearly the same words: put both into one part",
            one.one, one.other
        )
    };
    overlaps(suite, part).iter().filter(|one| one.is_leak()).map(told).collect()
}

/// Whether two instructions are near the same, by their words.
pub(super) fn near_same(one: &BTreeSet<String>, other: &BTreeSet<String>) -> bool {
    let common = one.intersection(other).count();
    common > 0 && 200 * common >= NEAR_SAME * (one.len() + other.len())
}

/// The words of an instruction. A placeholder is one word whatever its name.
pub(super) fn words(instruction: &str) -> BTreeSet<String> {
    let mut text = String::new();
    for (at, piece) in instruction.split("{{").enumerate() {
        match piece.split_once("}}").filter(|_| at > 0) {
            Some((_, rest)) => text.extend([" 0placeholder ", rest]),
            None => text.push_str(piece),
        }
    }
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

/// The files that a task's setup downloads or uploads.
pub(super) fn start_files(task: &Task) -> BTreeSet<String> {
    let files = |step: &SetupStep| -> Vec<String> {
        let listed = step.parameters.get("files").and_then(Value::as_array);
        let place = |file: &Value| {
            let path = file.get("url").or_else(|| file.get("local_path"))?;
            path.as_str().map(str::to_owned)
        };
        listed.into_iter().flatten().filter_map(place).collect()
    };
    task.config.iter().flat_map(files).collect()
}

#[cfg(test)]
mod tests {
    use super::{near_same, words};

    #[test]
    fn four_of_five_words_are_near_the_same_and_three_of_four_are_not() {
        let near = |one: &str, other: &str| near_same(&words(one), &words(other));
        assert!(near("make this text line bold", "make this text line green"));
        assert!(!near("make this line bold", "make this line green"));
        assert!(near("Open {{file}}, now.", "open {{ other.0 }} now"), "a placeholder's name is no word");
        assert!(!near("", ""));
        // 39 of 49 words are 79.6 percent.
        let numbered = |from: u32| (from..from + 49).map(|n| format!("w{n}")).collect();
        assert!(!near_same(&numbered(0), &numbered(10)));
    }
}
