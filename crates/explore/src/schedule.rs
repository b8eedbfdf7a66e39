//! What an exploration does next: a new task, a task that failed, or nothing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::episode::{Episode, Outcome};

/// Most tries at one task.
pub const TRIES: u32 = 3;
/// Episodes between a failure and the next try at it: time for the book to change.
const PAUSE: usize = 2;
/// Proposals in a row that led to nothing, after which no further one is asked for.
const DRY: usize = 2;

/// The limits of an exploration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExploreLimits {
    /// World actions of all attempts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub world_steps: Option<u32>,
    /// Money for all model calls, in US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usd: Option<f64>,
    /// Episodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub episodes: Option<u32>,
}

/// The next episode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EpisodeChoice {
    /// A new task is proposed.
    Propose,
    /// The task of this name is tried again.
    Again(String),
    /// The exploration ends.
    End(String),
}

/// Chooses the next episode from the finished ones. `spent` is the money so far.
pub fn next_episode(done: &[Episode], limits: &ExploreLimits, spent: f64) -> EpisodeChoice {
    if let Some(why) = exhausted(done, limits, spent) {
        return EpisodeChoice::End(why);
    }
    let barren = |episode: &Episode| {
        matches!(episode.outcome, Outcome::Declined | Outcome::Refused | Outcome::AlreadyTrue)
    };
    let proposals = done.iter().filter(|episode| episode.try_number == 1);
    let is_dry = proposals.rev().take_while(|episode| barren(episode)).count() >= DRY;
    // Once nothing new is proposed there is nothing to wait for.
    let pause = if is_dry { 0 } else { PAUSE };
    if let Some(name) = due(done, pause) {
        return EpisodeChoice::Again(name);
    }
    match is_dry {
        true => EpisodeChoice::End(format!("{DRY} proposals in a row led to nothing")),
        false => EpisodeChoice::Propose,
    }
}

fn exhausted(done: &[Episode], limits: &ExploreLimits, spent: f64) -> Option<String> {
    let steps: u32 = done.iter().map(|episode| episode.world_steps).sum();
    if limits.world_steps.is_some_and(|most| steps >= most) {
        return Some(format!("{steps} world actions are used"));
    }
    if limits.usd.is_some_and(|most| spent >= most) {
        return Some(format!("{spent:.4} US dollars are spent"));
    }
    let count = done.len();
    let all = limits.episodes.is_some_and(|most| count >= most as usize);
    all.then(|| format!("{count} episodes are done"))
}

/// The failed task whose last try is longest ago, if it is time to return to it.
fn due(done: &[Episode], pause: usize) -> Option<String> {
    let mut seen = Vec::new();
    let mut found = None;
    for (since, episode) in done.iter().rev().enumerate() {
        if episode.name.is_empty() || seen.contains(&episode.name.as_str()) {
            continue;
        }
        seen.push(episode.name.as_str());
        if episode.outcome.may_be_tried_again() && episode.try_number < TRIES && since >= pause {
            found = Some(episode.name.clone());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::JudgedBy;
    use jiff::Timestamp;

    use super::{EpisodeChoice, ExploreLimits, next_episode};
    use crate::episode::{EPISODE_SCHEMA, Episode, LearnedPart, Outcome};

    fn episode(name: &str, try_number: u32, outcome: Outcome) -> Episode {
        Episode {
            schema: EPISODE_SCHEMA.into(),
            episode: 0,
            name: name.into(),
            try_number,
            start: String::new(),
            instruction: String::new(),
            outcome,
            judged_by: JudgedBy::Checks,
            why: String::new(),
            arm: "none".into(),
            skillbook_hash: None,
            skills_viewed: Vec::new(),
            attempts: Vec::new(),
            world_steps: 10,
            check_showed: Vec::new(),
            learned: LearnedPart::default(),
            function: None,
            refused_proposals: Vec::new(),
            cost_usd: 0.0,
            started_at: Timestamp::UNIX_EPOCH,
            wall_s: 0.0,
        }
    }

    fn next(done: &[(&str, u32, Outcome)], limits: ExploreLimits) -> EpisodeChoice {
        let done: Vec<Episode> =
            done.iter().map(|(name, number, end)| episode(name, *number, *end)).collect();
        next_episode(&done, &limits, 0.5)
    }

    #[test]
    fn a_failed_task_is_tried_again_after_two_others_and_at_most_three_times() {
        use Outcome::{Failed, Passed};
        let free = ExploreLimits::default();
        let again = |name: &str| EpisodeChoice::Again(name.into());
        assert_eq!(next(&[], free), EpisodeChoice::Propose);
        assert_eq!(next(&[("a", 1, Failed)], free), EpisodeChoice::Propose);
        assert_eq!(next(&[("a", 1, Failed), ("b", 1, Passed)], free), EpisodeChoice::Propose);
        let two = [("a", 1, Failed), ("b", 1, Failed), ("c", 1, Passed)];
        assert_eq!(next(&two, free), again("a"));
        let mended = [("a", 1, Failed), ("b", 1, Failed), ("c", 1, Passed), ("a", 2, Passed)];
        assert_eq!(next(&mended, free), again("b"));
        let given_up = [("a", 3, Failed), ("b", 1, Passed), ("c", 1, Passed)];
        assert_eq!(next(&given_up, free), EpisodeChoice::Propose);
        let opinion = [("a", 1, Outcome::OpinionPassed), ("b", 1, Passed), ("c", 1, Passed)];
        assert_eq!(next(&opinion, free), EpisodeChoice::Propose);
    }

    #[test]
    fn it_ends_when_a_limit_is_reached_or_nothing_new_comes() {
        use Outcome::{Declined, Failed, Passed, Refused};
        let free = ExploreLimits::default();
        let ends = |choice: EpisodeChoice, words: &str| match choice {
            EpisodeChoice::End(why) => assert!(why.contains(words), "{why}"),
            other => panic!("{other:?}"),
        };
        let one = [("a", 1, Passed)];
        ends(next(&one, ExploreLimits { world_steps: Some(10), ..free }), "world actions");
        ends(next(&one, ExploreLimits { usd: Some(0.5), ..free }), "dollars");
        ends(next(&one, ExploreLimits { episodes: Some(1), ..free }), "episodes");
        assert_eq!(next(&one, ExploreLimits { world_steps: Some(11), ..free }), EpisodeChoice::Propose);
        ends(next(&[("a", 1, Passed), ("", 1, Declined), ("", 1, Refused)], free), "led to nothing");
        // What failed is returned to before it ends.
        let dry = [("a", 1, Failed), ("", 1, Declined), ("", 1, Declined)];
        assert_eq!(next(&dry, free), EpisodeChoice::Again("a".into()));
    }
}
