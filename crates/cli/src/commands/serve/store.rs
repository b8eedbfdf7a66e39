//! Keeps the attempts of served episodes as runs, so that `view`, `grade` and `export` read them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use apprentice_evaluator::run::{RunFolder, ServedTrial, attempt_folder};
use apprentice_protocol::{Clock, TaskId, Verdict, VoidCause};
use apprentice_runs::layout::EVIDENCE_FOLDER;
use apprentice_runs::row::TrialRow;
use apprentice_server::{CLIENT_MODEL, EpisodeEnd, EpisodeFolder, EpisodeStart, EpisodeStore};
use apprentice_tasks::suite::Suite;
use serde_json::json;

use crate::failure::{Failure, Kind, WithKind as _};
use crate::process_env;

/// Makes a run of each episode.
pub(super) struct RunPerEpisode {
    root: PathBuf,
    suite: Suite,
    clock: Arc<dyn Clock>,
    concessions: Vec<String>,
    command: Vec<String>,
    /// Tells the episodes of this process apart.
    count: AtomicU64,
}

impl RunPerEpisode {
    pub(super) fn new(
        root: &Path,
        suite: &Suite,
        clock: Arc<dyn Clock>,
        concessions: Vec<String>,
    ) -> Result<Self, Failure> {
        std::fs::create_dir_all(root)
            .kind(Kind::Environment)
            .map_err(|failure| failure.hint(format!("--out {} must be a folder", root.display())))?;
        let command = process_env::command_line();
        Ok(Self {
            root: root.to_owned(),
            suite: suite.clone(),
            clock,
            concessions,
            command,
            count: AtomicU64::new(0),
        })
    }
}

impl EpisodeStore for RunPerEpisode {
    fn begin(&self, start: &EpisodeStart) -> Result<Box<dyn EpisodeFolder>, String> {
        let now = self.clock.now();
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let served = ServedTrial {
            suite: &self.suite,
            task: TaskId::new(start.task.as_str()),
            seed: start.seed,
            episode: start.episode.clone(),
            max_steps: start.max_steps,
            model: CLIENT_MODEL,
            concessions: &self.concessions,
            command: &self.command,
            program: env!("CARGO_PKG_VERSION"),
            unique: &format!("{} {} {number}", std::process::id(), now.as_nanosecond()),
        };
        let run =
            served.create(&self.root, now).map_err(|error| format!("{:#}", anyhow::Error::from(error)))?;
        let trial = run.plan().trials.first().ok_or("the run has no trial")?;
        let row = run.lost_row(trial, 1);
        Ok(Box::new(EpisodeRun {
            attempt: run.path().join(attempt_folder(trial, 1)),
            row,
            episode: start.episode.clone(),
            run,
        }))
    }
}

/// The run of one episode.
struct EpisodeRun {
    run: RunFolder,
    attempt: PathBuf,
    /// Its row, before anything is known of the outcome.
    row: TrialRow,
    episode: String,
}

impl EpisodeFolder for EpisodeRun {
    fn attempt(&self) -> PathBuf {
        self.attempt.clone()
    }

    fn blobs(&self) -> PathBuf {
        self.run.blobs()
    }

    fn evidence(&self) -> PathBuf {
        self.attempt.join(EVIDENCE_FOLDER)
    }

    fn program(&self) -> (String, String) {
        (self.run.plan().program.clone(), self.run.plan().prompt_hash.clone())
    }

    fn finish(self: Box<Self>, end: EpisodeEnd) -> Result<(), String> {
        let mut row = self.row;
        row.extra.insert("episode".to_owned(), json!(self.episode));
        row.started_at = end.started_at;
        row.wall_s = end.wall.as_secs_f64();
        row.working_s = end.working.as_secs_f64();
        // The client is the model: what the world did not take, it did.
        row.model_s = end.wall.saturating_sub(end.working).as_secs_f64();
        row.world_steps = end.world_steps;
        row.turns = end.turns;
        row.isolation = end.isolation;
        row.stop_reason = end.stop;
        row.void_cause = match (&end.judged, end.void) {
            (Some(_), None) => None,
            (_, cause) => Some(cause.unwrap_or(VoidCause::Internal)),
        };
        if let (Some(judged), None) = (end.judged, row.void_cause) {
            (row.verdict, row.score) = (judged.verdict, judged.score);
        } else {
            (row.verdict, row.score, row.stop_reason) = (Verdict::Void, 0.0, None);
        }
        self.run.append(&row).map_err(|error| format!("{:#}", anyhow::Error::from(error)))
    }
}
