//! Attempts at instructions of the user's own, as `apprentice do` writes them: a folder with one trace, no task, no
//! checks and no split. Somebody else has to judge them, and the learning records say who.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use apprentice_learning::judge::{JudgeMaterial, JudgedView, SaidInTurn, VIEWS};
use apprentice_learning::reflect::StepPicture;
use apprentice_protocol::{
    BlobHash, EnvironmentKind, Event, EventKind, JudgedBy, Outline, Trajectory, Verdict,
};
use apprentice_runs::layout::{BLOBS_FOLDER, EVENTS_FILE, PLAN_FILE};
use apprentice_skillbook::Judgement;
use apprentice_trace::{Trace, TraceError, blob_path, hex};
use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

use super::step_pictures::{PictureError, TraceFiles, last_views};
use super::trajectory::{Judged, TrajectoryError, judged_trajectory};

/// Characters of the hash that tells folders of the same name apart.
const HASH: usize = 12;

/// A recorded attempt at an instruction of the user's own.
#[derive(Clone, Debug)]
pub struct OwnAttempt {
    folder: PathBuf,
    files: TraceFiles,
    id: String,
    trace: Trace,
    unjudged: Trajectory,
    ended: Timestamp,
}

/// The reason an attempt cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OwnAttemptError {
    /// Its trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// Its trace cannot be converted to a trajectory.
    #[error(transparent)]
    Trajectory(#[from] TrajectoryError),
    /// It is a session of several turns, which have a goal each.
    #[error("{} is a session of {turns} turns, which `apprentice skills learning run` reviews", path.display())]
    Session {
        /// The folder.
        path: PathBuf,
        /// Number of turns.
        turns: usize,
    },
    /// The folder has no name.
    #[error("{0} has no name by which its attempt could be known")]
    NoName(PathBuf),
    /// The folder cannot be read.
    #[error("cannot read {path}")]
    Read {
        /// The folder.
        path: PathBuf,
        /// The error.
        #[source]
        source: std::io::Error,
    },
}

impl OwnAttempt {
    /// Returns whether a folder holds such an attempt and no run of a suite.
    pub fn is_at(folder: &Path) -> bool {
        folder.join(EVENTS_FILE).is_file() && !folder.join(PLAN_FILE).exists()
    }

    /// Reads an attempt. Fails for one that is void or was interrupted.
    pub fn read(folder: &Path) -> Result<Self, OwnAttemptError> {
        let trace = Trace::read(&folder.join(EVENTS_FILE))?;
        let turns =
            trace.events.iter().filter(|event| matches!(event.kind, EventKind::TurnStarted(_))).count();
        if turns > 1 {
            return Err(OwnAttemptError::Session { path: folder.to_owned(), turns });
        }
        let id = own_id(folder, &trace)?;
        let files = TraceFiles { run: folder.to_owned(), attempt: PathBuf::new() };
        Self::of_trace(files, trace, id)
    }

    /// Reads an attempt of a run as one that no check judges. Its id is that of the run's row.
    pub fn in_run(run: &Path, attempt: &str, id: String) -> Result<Self, OwnAttemptError> {
        let files = TraceFiles { run: run.to_owned(), attempt: PathBuf::from(attempt) };
        let trace = Trace::read(&run.join(attempt).join(EVENTS_FILE))?;
        Self::of_trace(files, trace, id)
    }

    fn of_trace(files: TraceFiles, trace: Trace, id: String) -> Result<Self, OwnAttemptError> {
        let blobs = files.run.join(BLOBS_FOLDER);
        let text_of = |hash: &BlobHash| apprentice_files::read_to_string(blob_path(&blobs, hash, "txt")).ok();
        let (judged_by, verdict) = (JudgedBy::Nobody, Verdict::Fail);
        let judged = Judged { id: id.clone(), verdict, judged_by, score: 0.0 };
        let (unjudged, ended) = judged_trajectory(&trace, judged, apps(&trace), &text_of)?;
        let folder = files.folder();
        Ok(Self { folder, files, id, trace, unjudged, ended })
    }

    /// The folder of the attempt.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The id under which its trajectory is known: `<folder>/<hash>/1`.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The attempt as it is recorded, without a verdict.
    pub fn recorded(&self) -> &Trajectory {
        &self.unjudged
    }

    /// Returns the attempt with a verdict, and the time it ended.
    pub fn judged(&self, judgement: &Judgement) -> (Trajectory, Timestamp) {
        let (judged_by, verdict) = match judgement.verdict {
            Some(verdict) => (judgement.by, verdict),
            None => (JudgedBy::Nobody, Verdict::Fail),
        };
        let score = if verdict == Verdict::Pass { 1.0 } else { 0.0 };
        (Trajectory { verdict, judged_by, score, ..self.unjudged.clone() }, self.ended)
    }

    /// Where its trace and pictures are.
    pub fn files(&self) -> TraceFiles {
        self.files.clone()
    }

    /// Returns what a judge gets: the instruction, the agent's own words and the last views.
    pub fn material(&self) -> JudgeMaterial {
        let said = self.unjudged.steps.iter().filter_map(|step| {
            let words: Vec<&str> = step.say.iter().chain(&step.finish).map(String::as_str).collect();
            (!words.is_empty()).then(|| SaidInTurn { step: step.id, words: words.join("\n") })
        });
        let views = views(&self.trace.events, &self.files.run.join(BLOBS_FOLDER));
        JudgeMaterial::new(&self.unjudged.goal, self.unjudged.stop, said.collect(), views)
    }

    /// Returns pictures of the last views, scaled, the newest last. Empty where none were taken.
    pub fn last_pictures(&self) -> Result<Vec<StepPicture>, PictureError> {
        last_views(&self.files(), VIEWS)
    }
}

/// Returns the id of the attempt in a folder. The hash of its first event tells folders of the same name apart.
pub(super) fn own_id(folder: &Path, trace: &Trace) -> Result<String, OwnAttemptError> {
    let failed = |source| OwnAttemptError::Read { path: folder.to_owned(), source };
    let whole = fs::canonicalize(folder).map_err(failed)?;
    let name = whole.file_name().ok_or_else(|| OwnAttemptError::NoName(folder.to_owned()))?;
    let start = trace.events.first().map(|event| (event.wall.to_string(), goal(event)));
    let (wall, goal) = start.unwrap_or_default();
    let hash = hex(&Sha256::digest(format!("{wall}\n{goal}")));
    Ok(format!("{}/{}/1", name.to_string_lossy(), &hash[..HASH]))
}

fn goal(event: &Event) -> String {
    match &event.kind {
        EventKind::Started(header) => header.brief.instruction.clone(),
        _ => String::new(),
    }
}

/// Returns the programs that the world told of, as domains.
fn apps(trace: &Trace) -> Vec<String> {
    let header = trace.header();
    let browser = header.is_some_and(|header| header.world.environment == EnvironmentKind::Browser);
    let mut apps: BTreeSet<String> = browser.then(|| "chromium".to_owned()).into_iter().collect();
    for event in &trace.events {
        if let EventKind::VersionsSeen { versions } = &event.kind {
            apps.extend(versions.keys().filter(|app| *app != "os").cloned());
        }
    }
    apps.into_iter().collect()
}

fn views(events: &[Event], blobs: &Path) -> Vec<JudgedView> {
    let mut views = Vec::new();
    for event in events {
        let (Some(step), EventKind::Observed { title, outline, .. }) = (event.step, &event.kind) else {
            continue;
        };
        views.push((step, title, outline.as_ref()));
    }
    let late = views.split_off(views.len().saturating_sub(VIEWS));
    let view = |(step, title, outline): (_, &String, Option<&BlobHash>)| {
        let text =
            outline.and_then(|hash| apprentice_files::read_to_string(blob_path(blobs, hash, "txt")).ok());
        let elements = text.map(|text| Outline::parse(&text).without_doubled_menu_bars().describe());
        let elements = elements.unwrap_or_default();
        JudgedView { step, title: title.clone(), elements }
    };
    late.into_iter().map(view).collect()
}
