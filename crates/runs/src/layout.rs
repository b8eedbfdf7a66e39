//! The names of the files and folders of a run, of an experiment and of a bundle. No other crate spells them.
//!
//! ```text
//! RUN/run.json                     the plan; written once
//! RUN/trials.jsonl                 one row per finished attempt; appended and synced
//! RUN/trials/<task>-<trial>/attempt-<n>/
//!     events.jsonl                 the trace
//!     conversation.json            the conversation, if the run keeps conversations
//!     evidence/evidence.json       what the check read; asked.json is the check, files are named by their hash
//! RUN/blobs/<hash>.<extension>     pictures, texts and messages of all traces
//! RUN/book/                        the frozen skillbook
//! RUN/learning/                    pictures and unreadable reviews of a run that was learned from
//! RUN/report.{json,html,md}        the report
//!
//! EXPERIMENT/experiment.json       the definition; written once
//! EXPERIMENT/{learning,dev,measure}/<run>/   its runs
//! EXPERIMENT/book-<n>/             a replicate: an experiment of its own
//! EXPERIMENT/skillbook/            the learned book
//! EXPERIMENT/prereg.lock           what was fixed before it began
//! EXPERIMENT/hygiene.json          how well training and test data are separated
//! EXPERIMENT/skill.json            the skill that was measured, if it is a measurement of one
//!
//! BUNDLE: one of both as a gzip-compressed tar archive that starts with bundle.json
//! ```

pub use apprentice_trace::{BLOBS_FOLDER, EVENTS_FILE};

/// The plan of a run.
pub const PLAN_FILE: &str = "run.json";
/// The plan while it is written.
pub const PLAN_DRAFT: &str = "run.json.draft";
/// The rows of a run: one per finished attempt.
pub const ROWS_FILE: &str = "trials.jsonl";
/// What a killed process left of a row.
pub const PARTIAL_ROWS_FILE: &str = "trials.torn";
/// The lock of the one process that writes to a run.
pub const LOCK_FILE: &str = "run.lock";
/// A file that is written and removed to learn whether the disk has room.
pub const PROBE_FILE: &str = ".probe";
/// The folder of a run's attempts.
pub const TRIALS_FOLDER: &str = "trials";
/// The frozen skillbook of a run.
pub const BOOK_FOLDER: &str = "book";
/// The evidence of an attempt's check.
pub const EVIDENCE_FOLDER: &str = "evidence";
/// The index of the evidence.
pub const EVIDENCE_FILE: &str = "evidence.json";
/// The check that was asked, beside its evidence.
pub const CHECK_FILE: &str = "asked.json";
/// The conversation of an attempt.
pub const CONVERSATION_FILE: &str = "conversation.json";
/// Files that a check downloaded while its attempt ran.
pub const CACHE_FOLDER: &str = "cache";

/// The definition of an experiment.
pub const EXPERIMENT_FILE: &str = "experiment.json";
/// The definition while it is written.
pub const EXPERIMENT_DRAFT: &str = "experiment.json.draft";
/// The training runs of an experiment; in a run, what learning from it stored.
pub const LEARNING_FOLDER: &str = "learning";
/// The runs on which the arm `auto` chooses.
pub const DEV_FOLDER: &str = "dev";
/// The measuring runs of an experiment.
pub const MEASURE_FOLDER: &str = "measure";
/// The learned skillbook of an experiment.
pub const SKILLBOOK_FOLDER: &str = "skillbook";
/// The preregistration of an experiment.
pub const PREREG_FILE: &str = "prereg.lock";
/// How well training and test data of an experiment are separated.
pub const CONTAMINATION_FILE: &str = "hygiene.json";

/// The skill that an experiment measured.
pub const SKILL_FILE: &str = "skill.json";

/// The report as JSON.
pub const REPORT_JSON: &str = "report.json";
/// The report as a page.
pub const REPORT_HTML: &str = "report.html";
/// The report as Markdown.
pub const REPORT_MARKDOWN: &str = "report.md";

/// The result of a fork, beside its runs.
pub const FORK_FILE: &str = "fork.json";
/// The result of a fork while it is written.
pub const FORK_DRAFT: &str = "fork.json.draft";
/// The plan of an exploration.
pub const EXPLORE_FILE: &str = "explore.json";

/// The list of a bundle's files with their hashes; its first file.
pub const BUNDLE_FILE: &str = "bundle.json";
/// What the name of a bundle ends with.
pub const BUNDLE_EXTENSION: &str = ".tar.gz";

/// What belongs to a process or to this machine, not to a run's data.
pub(crate) const LOCAL_FILES: [&str; 3] = [LOCK_FILE, PROBE_FILE, ".meta/lock"];
/// A derived cache of a skillbook, which would expose this machine's file times.
pub(crate) const LOCAL_FOLDER: &str = ".meta/cache";
/// Folders of a run that hold no runs.
pub(crate) const FOLDERS_WITHOUT_RUNS: [&str; 5] =
    [TRIALS_FOLDER, BLOBS_FOLDER, BOOK_FOLDER, EVIDENCE_FOLDER, ".meta"];
