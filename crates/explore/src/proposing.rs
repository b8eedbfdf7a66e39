//! Has the learner propose a task for a start, or another check of one, by what is seen in a fresh world.

use std::collections::BTreeSet;
use std::path::PathBuf;

use apprentice_learning::practice::{
    CheckToMend, PracticeMaterial, PracticeProposal, PracticeRules, PracticeStart, PractisedTask, propose,
};
use apprentice_protocol::{ChatModel, Limits, Verdict};
use apprentice_runs::row::Role;
use apprentice_skillbook::Snapshot;

use super::error::ExploreError;
use super::folder::ExploreFolder;
use super::practice_suite::PracticeSuite;
use super::trial_run::TrialRun;
use apprentice_evaluator::learn::{LockedSuites, OwnAttempt};
use apprentice_evaluator::run::{RunControl, RunDeps, RunSummary};
use apprentice_evaluator::trial_identity::trajectory_id;

const NOOP: &str = "baseline/noop";
/// The file of a task as it was proposed.
pub(super) const PROPOSAL_FILE: &str = "proposal.json";

/// What a proposal needs of an exploration.
pub(super) struct Proposing<'a> {
    pub(super) folder: &'a ExploreFolder,
    /// The book as it is now.
    pub(super) book: Snapshot,
    pub(super) held_out: &'a LockedSuites,
    pub(super) deps: &'a RunDeps,
    pub(super) control: &'a RunControl,
    pub(super) learner: &'a dyn ChatModel,
}

impl Proposing<'_> {
    /// Asks the learner for a task in a start, or for another check of one. Returns also what it was shown.
    pub(super) async fn propose(
        &self,
        start: usize,
        mend: Option<&CheckToMend>,
    ) -> Result<(PracticeProposal, PracticeMaterial), ExploreError> {
        let view = self.look(start).await?;
        let practised = self.practised();
        let material = PracticeMaterial::new(&view, &self.book, &practised);
        let material = mend.cloned().into_iter().fold(material, PracticeMaterial::mending);
        let taken = self.start(start)?.taken()?;
        let rules = PracticeRules {
            start: &view,
            book: &self.book,
            practised: &practised,
            held_out: self.held_out,
            taken: &taken,
            mend,
        };
        Ok((self.ask(&material, &rules).await?, material))
    }

    async fn ask(
        &self,
        material: &PracticeMaterial,
        rules: &PracticeRules<'_>,
    ) -> Result<PracticeProposal, ExploreError> {
        tokio::select! {
            biased;
            () = self.control.cancel.cancelled() => Err(ExploreError::Interrupted),
            proposal = propose(self.learner, material, rules) => Ok(proposal?),
        }
    }

    fn practised(&self) -> Vec<PractisedTask> {
        let mut last: Vec<PractisedTask> = Vec::new();
        for episode in self.folder.episodes().iter().filter(|episode| episode.outcome.is_practised()) {
            last.retain(|one| one.name != episode.name);
            last.push(PractisedTask {
                name: episode.name.clone(),
                instruction: episode.instruction.clone(),
                outcome: episode.outcome.told().to_owned(),
                check_showed: episode.check_showed.clone(),
            });
        }
        last
    }

    pub(super) fn start(&self, number: usize) -> Result<&super::start::Start, ExploreError> {
        let missing = || ExploreError::NoStart("the plan names no start".to_owned());
        self.folder.plan().starts.get(number).ok_or_else(missing)
    }

    /// Looks at a start in a fresh world; once for an exploration.
    async fn look(&self, number: usize) -> Result<PracticeStart, ExploreError> {
        let start = self.start(number)?;
        let place = self.folder.start(number);
        let practice = PracticeSuite::of_start(&place.join("suite"), start)?;
        let summary = self.noop(&practice, place.join("runs"), BTreeSet::from([0])).await?;
        let hidden = |why: String| ExploreError::NoView { start: start.told(), why };
        let row = summary.results.first().ok_or_else(|| hidden("it was not run".to_owned()))?;
        if row.verdict == Verdict::Void {
            let cause = row.void_cause.map_or_else(|| "unknown".to_owned(), |cause| format!("{cause:?}"));
            return Err(hidden(format!("{cause}; see {}", summary.folder.join(&row.trace).display())));
        }
        let attempt = OwnAttempt::in_run(&summary.folder, &row.trace, trajectory_id(row))?;
        let view = attempt.material().views.pop();
        let view = view.ok_or_else(|| hidden("its first view holds no elements".to_owned()))?;
        Ok(PracticeStart { title: view.title, elements: view.elements })
    }

    pub(super) async fn noop(
        &self,
        practice: &PracticeSuite,
        place: PathBuf,
        seeds: BTreeSet<u32>,
    ) -> Result<RunSummary, ExploreError> {
        let run = TrialRun {
            practice,
            place: &place,
            role: Role::Baseline,
            model: NOOP,
            book: &Snapshot::empty(),
            seeds,
            limits: Limits::default(),
            command: &self.folder.plan().command,
        };
        run.finish(self.deps, self.control).await
    }
}
