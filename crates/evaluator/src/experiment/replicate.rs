//! Replicates of the learning: further books of the same method, each learned in another task order and with other
//! seeds, and measured in the arms that use the book. Each replicate is an experiment of its own in a subfolder, with
//! its own report.

use std::path::{Path, PathBuf};

use apprentice_skillbook::{At, Snapshot};

use super::definition::Definition;
use super::stored_run::StoredRun;
use super::{BookSource, Experiment, ExperimentError};
use crate::learn::CycleOptions;
use apprentice_results::ablations::Ablations;
use apprentice_results::arm::Arm;
use apprentice_results::compare::PlannedCounts;
use apprentice_results::report::{ArmKey, MeasuredBook, PrimaryComparison, Replicates, replicates};
use apprentice_runs::layout::{LEARNING_FOLDER, MEASURE_FOLDER, SKILLBOOK_FOLDER};
use apprentice_runs::row::{Role, TrialRow};

/// The folder name of a replicate, counted from 2; the experiment itself is the first.
pub(super) fn name(number: u32) -> String {
    format!("replicate-{number}")
}

/// Lists the folders of the replicates that have started.
pub(super) fn begun(folder: &Path) -> Vec<PathBuf> {
    (2..).map(|number| folder.join(name(number))).take_while(|place| place.is_dir()).collect()
}

impl Experiment {
    /// Derives a replicate: the same learning, and the arms that depend on its book; `None` for a given book.
    pub(super) fn replicate(&self, number: u32) -> Option<Self> {
        let BookSource::Learned(plan) = &self.book else { return None };
        let mut plan = plan.clone();
        let CycleOptions { epochs, rehearse, .. } = plan.cycle;
        let seeds = epochs + u32::from(rehearse);
        plan.cycle.order = Some(u64::from(number));
        plan.cycle.first_seed = seeds * number.saturating_sub(1);
        let depends = |arm: &&Arm| arm.needs_book() || **arm == Arm::RawTrace;
        Some(Self {
            book: BookSource::Learned(plan),
            arms: self.arms.iter().filter(depends).copied().collect(),
            teacher: None,
            others: Vec::new(),
            baselines: false,
            ablations: Ablations::default(),
            replicates: 1,
            order_seed: self.order_seed.wrapping_add(u64::from(number) - 1),
            registered: None,
            ..self.clone()
        })
    }

    /// Iterates over all replicates after the first.
    pub(super) fn later_replicates(&self) -> impl Iterator<Item = (u32, Self)> + '_ {
        (2..=self.replicates).filter_map(|number| Some((number, self.replicate(number)?)))
    }
}

/// Compares treatment and control over all books measured so far. A control arm that does not depend on the book was
/// measured with the first book and is compared with every book.
pub(super) fn summary(
    folder: &Path,
    definition: &Definition,
    primary: &PrimaryComparison,
) -> Result<Option<Replicates>, ExperimentError> {
    if definition.replicates < 2 {
        return Ok(None);
    }
    let mut first: Option<(Vec<TrialRow>, usize)> = None;
    let mut books = Vec::new();
    for number in 1..=definition.replicates {
        let below = if number == 1 { String::new() } else { name(number) };
        let place = if number == 1 { folder.to_owned() } else { folder.join(&below) };
        let Some(measured) = StoredRun::below(&place, MEASURE_FOLDER)? else { continue };
        let of = |arm: &str, run: &StoredRun| {
            let key = ArmKey { role: Role::Student, model: definition.student.clone(), arm: arm.to_owned() };
            let rows: Vec<TrialRow> = run.rows.iter().filter(|row| ArmKey::of(row) == key).cloned().collect();
            (rows, run.planned().filter(|trial| trial.key == key).count())
        };
        let treatment = of(&primary.treatment, &measured);
        let own = of(&primary.control, &measured);
        if number == 1 {
            first = Some(own.clone());
        }
        let control = if own.1 > 0 { own } else { first.clone().unwrap_or_default() };
        let learned = StoredRun::below(&place, LEARNING_FOLDER)?;
        let book = place.join(SKILLBOOK_FOLDER);
        books.push(MeasuredBook {
            book: number,
            skills: if book.is_dir() { Snapshot::open(&book, At::Now)?.skills().count() } else { 0 },
            folder: below,
            planned: PlannedCounts { a: control.1, b: treatment.1 },
            treatment: treatment.0,
            control: control.0,
            attempts: learned.into_iter().chain([measured]).flat_map(|run| run.rows).collect(),
        });
    }
    let comparison = format!("{} vs {}", primary.treatment, primary.control);
    Ok(Some(replicates(comparison, definition.replicates, &books)))
}
