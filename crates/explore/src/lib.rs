//! Exploration: a model proposes tasks in a program or on a page, practises them in fresh worlds, and learns from them by the
//! same ways as from a suite's attempts. No person writes a task, and no task leaves its world.

mod check_output;
mod episode;
mod error;
mod explorer;
mod folder;
mod learning;
mod mending;
mod practice_suite;
mod proposing;
mod schedule;
mod start;
mod trial_run;

pub use episode::{
    EPISODE_SCHEMA, Episode, FunctionOutcome, LearnedPart, MendedCheck, Outcome, StoredProposal,
};
pub use error::ExploreError;
pub use explorer::{ExploreEnd, Explorer};
pub use folder::{EPISODES_FILE, EXPLORE_SCHEMA, ExploreFolder, ExplorePlan};
pub use schedule::{EpisodeChoice, ExploreLimits, TRIES, next_episode};
pub use start::{Start, training_starts};
