//! The loop of an exploration: look, propose, practise, judge, learn, and one line on disk for each episode.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use apprentice_protocol::{ChatModel, JudgedBy, Limits, SkillId, StopReason, Verdict, counted};
use apprentice_results::row::{Role, TrialRow};
use apprentice_skills::book::{Gateway, Snapshot};
use apprentice_skills::practice::{
    PracticeMaterial, PracticeProposal, PracticeRules, PracticeStart, PractisedTask, propose,
};
use jiff::Timestamp;

use super::episode::{EPISODE_SCHEMA, Episode, LearnedPart, Outcome, StoredProposal};
use super::error::ExploreError;
use super::folder::{ExploreFolder, read_json, write_json};
use super::learning::{TryLearning, TryVerdict};
use super::practice_suite::{PracticeSuite, WORLD_STEPS};
use super::schedule::{EpisodeChoice, next_episode};
use super::trial_run::TrialRun;
use crate::learn::{HeldOutTasks, LockedSuites, OwnAttempt, lock_book};
use crate::run::{RunControl, RunDeps, RunSummary};
use crate::trial_identity::trajectory_id;

const NOOP: &str = "baseline/noop";
const PROPOSAL_FILE: &str = "proposal.json";
const MATERIAL_FILE: &str = "material.json";

/// How an exploration ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExploreEnd {
    /// Why it ended.
    pub why: String,
}

/// Explores worlds and learns from what it practises.
pub struct Explorer<'a> {
    /// The folder.
    pub folder: ExploreFolder,
    /// The book, open for writing.
    pub gateway: &'a mut Gateway,
    /// What no task may repeat.
    pub held_out: &'a LockedSuites,
    /// What runs need. The guidance is replaced.
    pub deps: RunDeps,
    /// Where runs report, and what cancels them.
    pub control: RunControl,
    /// The model that proposes, reviews, decides and writes functions.
    pub learner: Arc<dyn ChatModel>,
    /// Returns the money that this process has spent.
    pub spent: &'a (dyn Fn() -> f64 + Sync),
    /// Receives each finished episode.
    pub finished: &'a (dyn Fn(&Episode) + Sync),
}

/// A try at a task.
struct Try {
    proposed: StoredProposal,
    number: u32,
    began: Began,
}

/// When an episode began, and what was spent before.
struct Began {
    at: Timestamp,
    usd: f64,
}

impl Explorer<'_> {
    /// Works until a limit is reached or nothing is left to practise. Dropped or killed anywhere, the same call on the same
    /// folder goes on from there.
    pub async fn explore(&mut self) -> Result<ExploreEnd, ExploreError> {
        let before = self.folder.spent();
        loop {
            if self.control.cancel.is_cancelled() {
                return Err(ExploreError::Interrupted);
            }
            let began = Began { at: self.deps.clock.now(), usd: self.folder.spent() };
            let limits = self.folder.plan().limits;
            let ended = match self.left_over()? {
                Some(proposed) => self.practise(Try { proposed, number: 1, began }).await,
                None => match next_episode(self.folder.episodes(), &limits, self.folder.spent()) {
                    EpisodeChoice::End(why) => return Ok(ExploreEnd { why }),
                    EpisodeChoice::Propose => self.propose_and_practise(began).await,
                    EpisodeChoice::Again(name) => self.try_again(&name, began).await,
                },
            };
            // Money is noted on every path: a model that was asked has been paid.
            self.folder.note_spent(before + (self.spent)())?;
            let mut episode = ended?;
            episode.cost_usd = (self.folder.spent() - episode.cost_usd).max(0.0);
            episode.wall_s = self.deps.clock.now().duration_since(episode.started_at).as_secs_f64();
            (self.finished)(&episode);
            self.folder.append(episode)?;
        }
    }

    /// Returns the task that was proposed and not finished, if there is one.
    fn left_over(&self) -> Result<Option<StoredProposal>, ExploreError> {
        let tasks = self.folder.path().join("tasks");
        if !tasks.is_dir() {
            return Ok(None);
        }
        let failed = |source| ExploreError::File { path: tasks.clone(), source };
        for entry in std::fs::read_dir(&tasks).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if self.folder.episodes().iter().all(|episode| episode.name != name)
                && let Some(proposed) = read_json(&entry.path().join(PROPOSAL_FILE))?
            {
                return Ok(Some(proposed));
            }
        }
        Ok(None)
    }

    async fn try_again(&mut self, name: &str, began: Began) -> Result<Episode, ExploreError> {
        let path = self.folder.task(name).join(PROPOSAL_FILE);
        let missing = || ExploreError::NoStart(format!("{} is missing", path.display()));
        let proposed = read_json(&path)?.ok_or_else(missing)?;
        let tries = self.folder.episodes().iter().filter(|episode| episode.name == name).count();
        let number = u32::try_from(tries).unwrap_or(u32::MAX) + 1;
        self.practise(Try { proposed, number, began }).await
    }

    async fn propose_and_practise(&mut self, began: Began) -> Result<Episode, ExploreError> {
        let proposals = self.folder.episodes().iter().filter(|episode| episode.try_number == 1).count();
        let start = proposals % self.folder.plan().starts.len().max(1);
        let view = self.look(start).await?;
        let practised: Vec<PractisedTask> = self.practised();
        let book = self.gateway.snapshot();
        let material = PracticeMaterial::new(&view, &book, &practised);
        let taken = self.start(start)?.taken()?;
        let rules = PracticeRules {
            start: &view,
            book: &book,
            practised: &practised,
            held_out: self.held_out,
            taken: &taken,
        };
        let asked = propose(self.learner.as_ref(), &material, &rules);
        let proposal = tokio::select! {
            biased;
            () = self.control.cancel.cancelled() => return Err(ExploreError::Interrupted),
            proposal = asked => proposal?,
        };
        let (outcome, why) = match proposal {
            PracticeProposal::Task(task, refused) => {
                let folder = self.folder.task(&task.name);
                write_json(&folder.join(MATERIAL_FILE), &material)?;
                let proposed = StoredProposal { start, task: *task, refused, proposed_at: began.at };
                // The proposal comes last: with it the task is to be practised.
                write_json(&folder.join(PROPOSAL_FILE), &proposed)?;
                return self.practise(Try { proposed, number: 1, began }).await;
            }
            PracticeProposal::Declined(why) => (Outcome::Declined, why),
            PracticeProposal::Refused(faults) => (Outcome::Refused, faults.join("; ")),
        };
        let verdict = TryVerdict { outcome, judged_by: JudgedBy::Nobody, why };
        Ok(self.episode(None, &began, start, verdict))
    }

    fn practised(&self) -> Vec<PractisedTask> {
        let mut last: Vec<PractisedTask> = Vec::new();
        for episode in self.folder.episodes().iter().filter(|episode| episode.outcome.is_practised()) {
            last.retain(|one| one.name != episode.name);
            last.push(PractisedTask {
                name: episode.name.clone(),
                instruction: episode.instruction.clone(),
                outcome: episode.outcome.told().to_owned(),
            });
        }
        last
    }

    fn start(&self, number: usize) -> Result<&super::start::Start, ExploreError> {
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

    async fn noop(
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
        run.finish(&self.deps, &self.control).await
    }

    /// Practises a task, judges it, and learns from it.
    async fn practise(&mut self, attempted: Try) -> Result<Episode, ExploreError> {
        let Try { proposed, number, began } = attempted;
        let folder = self.folder.task(&proposed.task.name);
        let start = self.start(proposed.start)?.clone();
        let practice = PracticeSuite::of_task(&folder.join("suite"), &start, &proposed.task)?;
        let seeds = practice.seeds(number)?;
        if let Some(verdict) = self.untouched(&proposed, &practice, &seeds, number).await? {
            let episode = self.episode(Some(&proposed), &began, proposed.start, verdict);
            return Ok(Episode { try_number: number, ..episode });
        }
        let place = folder.join(format!("try-{number}"));
        let book = self.gateway.snapshot();
        let run = TrialRun {
            practice: &practice,
            place: &place,
            role: Role::Teacher,
            model: &self.folder.plan().model,
            book: &book,
            limits: self.limits(seeds.len()),
            seeds,
            command: &self.folder.plan().command,
        };
        let summary = run.finish(&self.deps, &self.control).await?;
        let trying = TryLearning {
            practice: &practice,
            place: &place,
            run: &summary.folder,
            rows: &summary.results,
            learner: &self.learner.clone(),
        };
        let learned = self.learn(&trying, proposed.task.check.is_some()).await?;
        let episode = self.episode(Some(&proposed), &began, proposed.start, learned.verdict);
        let viewed: BTreeSet<&SkillId> = summary.results.iter().flat_map(|row| &row.skills_viewed).collect();
        let below = |row: &TrialRow| {
            let path = summary.folder.join(&row.trace);
            path.strip_prefix(self.folder.path()).unwrap_or(&path).to_string_lossy().into_owned()
        };
        // An earlier process may have begun the run, with the book as it was then.
        let first = summary.results.first();
        Ok(Episode {
            try_number: number,
            arm: first.map_or_else(|| episode.arm.clone(), |row| row.arm.clone()),
            skillbook_hash: first.and_then(|row| row.skillbook_hash.clone()),
            skills_viewed: viewed.into_iter().cloned().collect(),
            attempts: summary.results.iter().map(below).collect(),
            world_steps: summary.results.iter().map(|row| row.world_steps).sum(),
            learned: learned.part,
            function: learned.function,
            ..episode
        })
    }

    /// Checks in untouched worlds that the check fails before anything is done. Returns the verdict if the task cannot be
    /// practised.
    async fn untouched(
        &self,
        proposed: &StoredProposal,
        practice: &PracticeSuite,
        seeds: &BTreeSet<u32>,
        number: u32,
    ) -> Result<Option<TryVerdict>, ExploreError> {
        if proposed.task.check.is_none() {
            return Ok(None);
        }
        let place = self.folder.task(&proposed.task.name).join(format!("untouched-{number}"));
        let summary = self.noop(practice, place, seeds.clone()).await?;
        let verdict = |outcome, why: String| Some(TryVerdict { outcome, judged_by: JudgedBy::Checks, why });
        let of = |wanted: Verdict| summary.results.iter().find(|row| row.verdict == wanted);
        if let Some(row) = of(Verdict::Void) {
            let cause = row.void_cause.map_or_else(|| "unknown".to_owned(), |cause| format!("{cause:?}"));
            return Ok(verdict(Outcome::Void, format!("the untouched world was void ({cause})")));
        }
        let why = "the check passes in an untouched world, so that it would prove nothing";
        Ok(of(Verdict::Pass).and_then(|_| verdict(Outcome::AlreadyTrue, why.to_owned())))
    }

    /// The caps of an attempt: what is left of the exploration's world actions, divided over the attempts of a try.
    fn limits(&self, attempts: usize) -> Limits {
        let used: u32 = self.folder.episodes().iter().map(|episode| episode.world_steps).sum();
        let left = self.folder.plan().limits.world_steps.map_or(u32::MAX, |most| most.saturating_sub(used));
        let each = left / u32::try_from(attempts.max(1)).unwrap_or(1);
        let world_steps = each.clamp(1, WORLD_STEPS);
        Limits { world_steps, turns: world_steps.saturating_mul(2), ..Limits::default() }
    }

    async fn learn(&mut self, trying: &TryLearning<'_>, has_check: bool) -> Result<LearnedTry, ExploreError> {
        let unlearned = |outcome, why: String| LearnedTry {
            verdict: TryVerdict { outcome, judged_by: JudgedBy::Nobody, why },
            part: LearnedPart::default(),
            function: None,
        };
        let judged = trying.rows.iter().filter(|row| row.verdict != Verdict::Void).count();
        if judged == 0 {
            let causes: BTreeSet<String> = trying
                .rows
                .iter()
                .filter_map(|row| row.void_cause)
                .map(|cause| format!("{cause:?}"))
                .collect();
            let causes: Vec<String> = causes.into_iter().collect();
            return Ok(unlearned(Outcome::Void, causes.join(", ")));
        }
        // Money that ran out says nothing about the task.
        if trying.rows.iter().any(|row| row.stop_reason == Some(StopReason::TrialCostLimit)) {
            return Ok(unlearned(Outcome::Unfinished, "an attempt reached the limit of money".to_owned()));
        }
        let cancel = self.control.cancel.clone();
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(ExploreError::Interrupted),
            learned = self.learn_judged(trying, has_check) => learned,
        }
    }

    async fn learn_judged(
        &mut self,
        trying: &TryLearning<'_>,
        has_check: bool,
    ) -> Result<LearnedTry, ExploreError> {
        if !has_check {
            let (verdict, part) = trying.learn_from_opinions(self.gateway, self.held_out).await?;
            return Ok(LearnedTry { verdict, part, function: None });
        }
        // Whoever learns into this book later sees that it knows of no held-out task.
        let book = self.folder.plan().skillbook.clone();
        if LockedSuites::of_book(&book)?.is_empty() {
            lock_book(&book, &trying.practice.lock, &HeldOutTasks::default())?;
        }
        let part = trying.learn_from_states_once(self.gateway).await?;
        let of = |wanted: Verdict| trying.rows.iter().filter(|row| row.verdict == wanted).count();
        let (passed, failed) = (of(Verdict::Pass), of(Verdict::Fail));
        let outcome = if failed == 0 { Outcome::Passed } else { Outcome::Failed };
        let why = format!("{} passed the check of the state, {failed} failed it", counted(passed, "attempt"));
        let function = match passed {
            0 => None,
            _ => Some(trying.function(self.gateway, &part.changed, &self.deps, &self.control).await?),
        };
        let verdict = TryVerdict { outcome, judged_by: JudgedBy::Checks, why };
        Ok(LearnedTry { verdict, part, function })
    }

    /// An episode without attempts. Its cost holds what was spent before it, until it is finished.
    fn episode(
        &self,
        proposed: Option<&StoredProposal>,
        began: &Began,
        start: usize,
        verdict: TryVerdict,
    ) -> Episode {
        let number = u32::try_from(self.folder.episodes().len()).unwrap_or(u32::MAX) + 1;
        let start = self.folder.plan().starts.get(start).map(super::start::Start::told).unwrap_or_default();
        Episode {
            schema: EPISODE_SCHEMA.to_owned(),
            episode: number,
            name: proposed.map(|one| one.task.name.clone()).unwrap_or_default(),
            try_number: 1,
            start,
            instruction: proposed.map(|one| one.task.instruction.clone()).unwrap_or_default(),
            outcome: verdict.outcome,
            judged_by: verdict.judged_by,
            why: verdict.why,
            arm: "none".to_owned(),
            skillbook_hash: None,
            skills_viewed: Vec::new(),
            attempts: Vec::new(),
            world_steps: 0,
            learned: LearnedPart::default(),
            function: None,
            refused_proposals: proposed.map(|one| one.refused.clone()).unwrap_or_default(),
            cost_usd: began.usd,
            started_at: began.at,
            wall_s: 0.0,
        }
    }
}

/// What a try leaves.
struct LearnedTry {
    verdict: TryVerdict,
    part: LearnedPart,
    function: Option<super::episode::FunctionOutcome>,
}
