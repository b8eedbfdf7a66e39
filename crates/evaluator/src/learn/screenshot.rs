//! Finds the screenshot that an agent saw at one step of a recorded attempt.

use std::fs;
use std::path::{Path, PathBuf};

use apprentice_protocol::{EventKind, StepId};
use apprentice_trace::{Trace, blob_path};

use super::own_attempt::{OwnAttempt, own_id};
use crate::trial_identity::trajectory_id;
use apprentice_runs::layout::{BLOBS_FOLDER, EVENTS_FILE, ROWS_FILE};
use apprentice_runs::row::TrialRow;

/// How deep runs may be nested below the folder of runs; experiments contain runs.
const DEPTH: usize = 3;

/// Finds the screenshot at a step of the attempt `<run>/<trial>/<attempt>`, if its run lies below `runs`; or at a step of
/// an attempt at an instruction of the user's own, if its folder does.
pub fn screenshot(runs: &Path, trajectory: &str, step: StepId) -> Option<PathBuf> {
    let name = trajectory.split('/').next()?;
    let own = runs.join(name);
    if OwnAttempt::is_at(&own) {
        let trace = Trace::read(&own.join(EVENTS_FILE)).ok()?;
        return (own_id(&own, &trace).ok()? == trajectory).then(|| seen_at(&trace, &own, step))?;
    }
    let run = find_run(runs, name, DEPTH)?;
    let rows = apprentice_files::read_to_string(run.join(ROWS_FILE)).ok()?;
    let mut rows = rows.lines().filter_map(|line| serde_json::from_str::<TrialRow>(line).ok());
    let row = rows.find(|row| trajectory_id(row) == trajectory)?;
    let trace = Trace::read(&run.join(&row.trace).join(EVENTS_FILE)).ok()?;
    seen_at(&trace, &run, step)
}

/// Finds the picture that was last seen at a step, among the blobs of a folder.
fn seen_at(trace: &Trace, folder: &Path, step: StepId) -> Option<PathBuf> {
    let seen = trace.events.iter().take_while(|event| event.step.is_none_or(|at| at <= step));
    let shown = seen.filter_map(|event| match &event.kind {
        EventKind::Observed { screenshot, .. } => screenshot.as_ref(),
        _ => None,
    });
    let picture = blob_path(&folder.join(BLOBS_FOLDER), shown.last()?, "png");
    picture.is_file().then_some(picture)
}

fn find_run(folder: &Path, name: &str, depth: usize) -> Option<PathBuf> {
    let here = folder.join(name);
    if here.join(ROWS_FILE).is_file() {
        return Some(here);
    }
    let deeper = depth.checked_sub(1)?;
    let mut folders: Vec<PathBuf> =
        fs::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    folders.sort_unstable();
    folders.into_iter().filter(|path| path.is_dir()).find_map(|path| find_run(&path, name, deeper))
}
