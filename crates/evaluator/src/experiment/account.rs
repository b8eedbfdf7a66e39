//! What the report is told of an experiment, beside the rows.

use std::collections::{BTreeMap, BTreeSet};

use apprentice_protocol::{TaskId, Verdict};
use apprentice_skills::book::Snapshot;

use super::{Experiment, ExperimentError, measure};
use crate::learn::Worked;
use crate::report::{
    ArmKey, CurvePoint, LearningSummary, PlannedTrial, Report, ReportInput, SkillSummary, Stratum, build,
    default_contrasts,
};
use crate::row::{Split, TrialRow};
use crate::rows;
use crate::run::{RunFolder, RunSummary};

/// Attempts around a point of the learning curve that its numbers are the mean of.
const AROUND: usize = 5;

/// One experiment at its end.
pub(super) struct Account<'a> {
    pub(super) experiment: &'a Experiment,
    pub(super) book: &'a Snapshot,
    pub(super) learned: &'a [Worked],
    pub(super) learning_rows: &'a [TrialRow],
}

impl Account<'_> {
    /// Builds the report, from the rows and the plan as they stand on disk.
    pub(super) fn report(&self, measured: &RunSummary) -> Result<Report, ExperimentError> {
        let folder = RunFolder::open(&measured.folder)?;
        let plan = folder.plan().clone();
        // The page lies above both runs: its links start there.
        let mut rows = below("learning", self.learning_rows.to_vec());
        rows.extend(below("measure", folder.rows()));
        let planned: Vec<PlannedTrial> = plan
            .trials
            .iter()
            .map(|trial| PlannedTrial {
                trial: trial.trial.clone(),
                task: trial.task.clone(),
                key: ArmKey { role: trial.role, model: trial.model.clone(), arm: trial.arm.clone() },
                seed: trial.seed,
            })
            .collect();
        Ok(build(&ReportInput {
            run: plan.run.clone(),
            title: format!("{} and a book learned from {}", self.experiment.student, self.experiment.teacher),
            started_at: Some(plan.planned_at),
            contrasts: default_contrasts(&rows),
            rows: &rows,
            planned: &planned,
            strata: self.strata(),
            unvaried: self.unvaried(),
            learning: Some(self.learning()),
            facts: self.facts(&plan.suite_hash, plan.split_hash.as_deref(), &plan.prompt_hash),
            notes: self.notes(measured),
        }))
    }

    /// Test templates by whether a training template needs some of the same knowledge.
    fn strata(&self) -> BTreeMap<String, Stratum> {
        let knowledge = |part| -> BTreeMap<String, BTreeSet<String>> {
            let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
            for id in self.experiment.tasks(part) {
                let Some(task) = self.experiment.suite.task(id.as_str()) else { continue };
                let labels = task.apprentice.iter().flat_map(|ours| ours.knowledge.iter().cloned());
                found.entry(task.template().to_owned()).or_default().extend(labels);
            }
            found
        };
        let taught: BTreeSet<String> = knowledge(Split::Train).into_values().flatten().collect();
        let tested = knowledge(Split::Test).into_iter().filter(|(_, labels)| !labels.is_empty());
        let stratum = |labels: &BTreeSet<String>| match labels.is_disjoint(&taught) {
            true => Stratum::Unseen,
            false => Stratum::Seen,
        };
        tested.map(|(template, labels)| (template, stratum(&labels))).collect()
    }

    fn unvaried(&self) -> Vec<TaskId> {
        let ignores =
            |id: &TaskId| self.experiment.suite.task(id.as_str()).is_some_and(|task| !task.varies());
        self.experiment.tasks(Split::Test).into_iter().filter(ignores).collect()
    }

    fn learning(&self) -> LearningSummary {
        let mut operations: BTreeMap<String, u32> = BTreeMap::new();
        for tool in self.learned.iter().flat_map(|one| &one.decisions).filter_map(|(_, tool)| tool.as_ref()) {
            *operations.entry(tool.clone()).or_default() += 1;
        }
        let mut reviews: BTreeMap<String, u32> = BTreeMap::new();
        for (kind, count) in self.learned.iter().flat_map(|one| &one.review_kinds) {
            *reviews.entry(kind.clone()).or_default() += count;
        }
        LearningSummary {
            epochs: self.experiment.learning.epochs,
            trajectories: u32::try_from(self.learned.len()).unwrap_or(u32::MAX),
            reviews,
            operations,
            skills: self
                .book
                .skills()
                .map(|skill| SkillSummary {
                    skill: skill.id.to_string(),
                    situation: first_line(&skill.text.situation),
                    version: skill.version,
                    status: "active".into(),
                })
                .collect(),
            curve: self.curve(),
            ..LearningSummary::default()
        }
    }

    /// Success and steps of the last few attempts before each point, beside the book's size there.
    fn curve(&self) -> Vec<CurvePoint> {
        let trials = rows::trials(self.learning_rows);
        let mut in_order: Vec<&TrialRow> = trials.iter().map(|trial| trial.last).collect();
        in_order.sort_by_key(|row| row.order);
        let mut curve = Vec::new();
        for (place, worked) in self.learned.iter().enumerate() {
            let until = (place + 1).min(in_order.len());
            let around = &in_order[until.saturating_sub(AROUND)..until];
            #[expect(clippy::cast_precision_loss, reason = "a handful of attempts")]
            let count = around.len().max(1) as f64;
            let passed = around.iter().filter(|row| row.verdict == Verdict::Pass).count();
            let steps: u32 = around.iter().map(|row| row.world_steps).sum();
            #[expect(clippy::cast_precision_loss, reason = "a handful of attempts")]
            let success = passed as f64 / count;
            curve.push(CurvePoint {
                trajectories: u32::try_from(place + 1).unwrap_or(u32::MAX),
                skills: u32::try_from(worked.skills).unwrap_or(u32::MAX),
                success,
                world_steps: f64::from(steps) / count,
            });
        }
        curve
    }

    fn facts(
        &self,
        suite_hash: &str,
        split_hash: Option<&str>,
        prompt_hash: &str,
    ) -> BTreeMap<String, String> {
        let experiment = self.experiment;
        BTreeMap::from([
            ("command".to_owned(), experiment.command.join(" ")),
            ("program".to_owned(), experiment.program.clone()),
            ("suite".to_owned(), experiment.suite.name.clone()),
            ("suite hash".to_owned(), suite_hash.to_owned()),
            ("split hash".to_owned(), split_hash.unwrap_or("none").to_owned()),
            ("prompt hash".to_owned(), prompt_hash.to_owned()),
            ("skillbook hash".to_owned(), self.book.content_hash()),
            ("teacher".to_owned(), experiment.teacher.clone()),
            ("student".to_owned(), experiment.student.clone()),
            ("seeds".to_owned(), experiment.seeds.to_string()),
        ])
    }

    fn notes(&self, measured: &RunSummary) -> Vec<String> {
        let mut notes: Vec<String> = measure::not_eligible(measured, self.experiment)
            .into_iter()
            .map(|(arm, count)| {
                format!("{count} test tasks have nothing eligible in the arm {arm}; not run there")
            })
            .collect();
        let pulled = self.learned.iter().any(|one| one.received > 0);
        if !pulled {
            notes.push("no skill was requested while learning".to_owned());
        }
        notes
    }
}

fn below(folder: &str, mut rows: Vec<TrialRow>) -> Vec<TrialRow> {
    for row in &mut rows {
        row.trace = format!("{folder}/{}/{}", row.run, row.trace);
    }
    rows
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}
