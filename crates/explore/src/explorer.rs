//! The loop of an exploration: look, propose, practise, judge, learn, and one line on disk for each episode.

use std::collections::BTreeSet;
use std::sync::Arc;

use apprentice_learning::practice::PracticeProposal;
use apprentice_protocol::{ChatModel, JudgedBy, Limits, SkillId, StopReason, Verdict, counted};
use apprentice_runs::row::{Role, TrialRow};
use apprentice_skillbook::Gateway;
use jiff::Timestamp;

use super::check_output::check_outputs;
use super::episode::{EPISODE_SCHEMA, Episode, LearnedPart, Outcome, StoredProposal};
use super::error::ExploreError;
use super::folder::{ExploreFolder, read_json, write_json};
use super::learning::{TryLearning, TryVerdict};
use super::mending::Readiness;
use super::practice_suite::WORLD_STEPS;
use super::proposing::{PROPOSAL_FILE, Proposing};
use super::schedule::{EpisodeChoice, next_episode};
use super::trial_run::TrialRun;
use apprentice_evaluator::learn::{HeldOutTasks, LockedSuites, lock_book};
use apprentice_evaluator::run::{RunControl, RunDeps};

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

    fn proposing(&self) -> Proposing<'_> {
        Proposing {
            folder: &self.folder,
            book: self.gateway.snapshot(),
            held_out: self.held_out,
            deps: &self.deps,
            control: &self.control,
            learner: self.learner.as_ref(),
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
        let (proposal, material) = self.proposing().propose(start, None).await?;
        let (outcome, why) = match proposal {
            PracticeProposal::Task(task, refused) => {
                let folder = self.folder.task(&task.name);
                write_json(&folder.join(MATERIAL_FILE), &material)?;
                let (task, mended) = (*task, Vec::new());
                let proposed = StoredProposal { start, task, refused, mended, proposed_at: began.at };
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

    /// Practises a task, judges it, and learns from it.
    async fn practise(&mut self, attempted: Try) -> Result<Episode, ExploreError> {
        let Try { proposed, number, began } = attempted;
        let (proposed, practice, seeds) = match self.proposing().make_ready(proposed, number).await? {
            Readiness::Ready { proposed, practice, seeds } => (proposed, practice, seeds),
            Readiness::Unfit { proposed, verdict, check_showed } => {
                let episode = self.episode(Some(&proposed), &began, proposed.start, verdict);
                return Ok(Episode { try_number: number, check_showed, ..episode });
            }
        };
        let folder = self.folder.task(&proposed.task.name);
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
        // The agent believed that it was done, and the check did not find it: the next proposal may know better.
        let believed =
            |row: &&TrialRow| row.verdict == Verdict::Fail && row.stop_reason == Some(StopReason::Done);
        let doubtful = summary.results.iter().filter(believed);
        let check_showed =
            check_outputs(&proposed.task, &practice, &summary.folder, doubtful, &self.deps.redactor)?;
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
            check_showed,
            learned: learned.part,
            function: learned.function,
            ..episode
        })
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
            check_showed: Vec::new(),
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
