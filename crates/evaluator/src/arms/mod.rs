//! Experiment arms: the guidance policy of each arm, and the guidance it gives to a trial.

pub mod auto;
mod changed_help;
pub mod demonstration;
pub mod function_scope;
pub mod guidance;
pub mod hidden_skills;
pub mod tool_servers;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use apprentice_guidance::{ArmPolicy, GuidanceError, TaskView, build_guidance, build_guidance_with_tools};
use apprentice_protocol::{SkillId, TaskId, TrialId};
use apprentice_skillbook::KnownVersions;
use apprentice_skillbook::verification::{AdmissionPolicy, admit};
use apprentice_skillbook::{At, BookError, Skill, Snapshot};

use crate::arms::auto::AutoArms;
use crate::arms::demonstration::{Demonstration, nearest};
use crate::arms::function_scope::FunctionScope;
use crate::arms::guidance::{ArmGuidance, TrialHelp};
use crate::arms::hidden_skills::HiddenSkills;
use crate::arms::tool_servers::{ServerFactory, ToolPolicy, ToolSettings, hash, tool_contribution};
use crate::task_apps::apps_of;
use crate::trial_identity::trajectory_id;
use apprentice_results::arm::{Arm, Delivery, UnknownArm, is_masked};
use apprentice_runs::row::TrialRow;
use apprentice_runs::rows::RowsError;
use apprentice_tasks::suite::Suite;
use apprentice_tasks::task::Task;
use apprentice_tasks::variation::{VariationError, vary};
use apprentice_trace::TraceError;
use apprentice_wording::is_general;

/// The number of skills that `push` inlines.
pub const PUSH_COUNT: usize = 3;

/// The folder beside a suite with skills that are true but irrelevant to all of its tasks.
const INERT_FOLDER: &str = "inert";

/// Opens the irrelevant skills of a suite (folder `inert`), for the inert placebo. `None` when the suite has none.
pub fn open_inert_skills(suite: &Suite) -> Result<Option<Snapshot>, BookError> {
    let folder = suite.root.join(INERT_FOLDER);
    if folder.is_dir() { Snapshot::open(&folder, At::Now).map(Some) } else { Ok(None) }
}

/// Why an arm cannot give guidance to a trial.
#[derive(Debug, thiserror::Error)]
pub enum ArmError {
    /// No arm has this name.
    #[error(transparent)]
    Unknown(#[from] UnknownArm),
    /// The suite has no such task.
    #[error("the suite has no task {0:?}")]
    NoTask(TaskId),
    /// The task's variation cannot be generated.
    #[error("task {task}: the variation cannot be generated")]
    Vary {
        /// The task.
        task: TaskId,
        /// The cause.
        #[source]
        source: VariationError,
    },
    /// The arm has no eligible guidance: the trial is skipped, and the report says so.
    #[error("arm {arm} on task {task}")]
    NoGuidance {
        /// The arm.
        arm: Arm,
        /// The task.
        task: TaskId,
        /// The cause.
        #[source]
        source: GuidanceError,
    },
    /// What the arm `inline` needs of another trial cannot be brought to this machine.
    #[error("what trial {trial}, which ended before, has left cannot be used: {why}")]
    Prerequisite {
        /// The trial that ended before.
        trial: TrialId,
        /// The reason.
        why: String,
    },
    /// The arm `inline` needs a judged trial of the arm `pull`, and there is none.
    #[error(
        "the arm inline inserts what the arm pull retrieved, and no trial of pull on task {task}, seed {seed} was judged"
    )]
    NothingRetrieved {
        /// The task.
        task: TaskId,
        /// The index of the task's variation.
        seed: u32,
    },
    /// The rows that name the trial of the arm `pull` cannot be read.
    #[error("cannot read what the arm pull retrieved")]
    RetrievedRows(#[from] RowsError),
    /// The trace of the trial of the arm `pull` cannot be read.
    #[error("cannot read what the arm pull retrieved")]
    RetrievedTrace(#[from] TraceError),
    /// The trace of the trial of the arm `pull` ends too early.
    #[error("cannot read what the arm pull retrieved: {} is incomplete", .0.display())]
    IncompleteTrace(PathBuf),
}

/// The error of an `auto` that stands for no arm.
fn unchosen(task: &TaskId) -> ArmError {
    let source =
        GuidanceError::NoEligibleSkill("auto has no dev trials of the model to choose by".to_owned());
    ArmError::NoGuidance { arm: Arm::Auto, task: task.clone(), source }
}

/// The policy by which an arm gives guidance; `relevant` are the skills that bear on the task.
fn policy(arm: Arm, relevant: Option<&BTreeSet<SkillId>>, functions: FunctionScope) -> ArmPolicy {
    let unverified = functions == FunctionScope::All;
    match arm.delivery() {
        // The text of `raw-trace` is found by the provider, and `auto` is another arm before it comes here.
        Delivery::Nothing | Delivery::RawTrace => ArmPolicy::None,
        Delivery::ToolsOnly => ArmPolicy::ToolsOnly,
        Delivery::Index => ArmPolicy::Index,
        // What `inline` puts in is known once `pull` has run; it has something wherever `pull` has.
        Delivery::Pull | Delivery::Inline | Delivery::Auto => ArmPolicy::Pull { figures: false },
        Delivery::PullFigures => ArmPolicy::Pull { figures: true },
        Delivery::IndexPull => ArmPolicy::IndexPull,
        Delivery::Push => ArmPolicy::Push { count: PUSH_COUNT },
        Delivery::All => ArmPolicy::All,
        Delivery::Forced => ArmPolicy::Forced { skills: relevant.into_iter().flatten().cloned().collect() },
        Delivery::Code => ArmPolicy::Code { pull: false, unverified, own_tools: true },
        Delivery::CodePull => ArmPolicy::Code { pull: true, unverified, own_tools: true },
        Delivery::PlaceboInert => ArmPolicy::PlaceboInert,
        Delivery::PlaceboWrong => ArmPolicy::PlaceboWrong,
        Delivery::PlaceboForced => ArmPolicy::PlaceboForced,
        Delivery::PlaceboPush => ArmPolicy::PlaceboPush { count: PUSH_COUNT },
    }
}

/// The knowledge labels of each skill, traced through the operations that wrote its text, the attempts behind those
/// operations, and the labels of the attempts' tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Provenance {
    knowledge: BTreeMap<SkillId, BTreeSet<String>>,
}

impl Provenance {
    /// Traces the skills of a book back to tasks, through the rows of the attempts that the book was learned from.
    /// Returns `None` when any skill cannot be traced; relevance is then decided by word overlap.
    pub fn trace(book: &Snapshot, rows: &[TrialRow], suite: &Suite) -> Option<Self> {
        let tasks: BTreeMap<String, &TaskId> =
            rows.iter().map(|row| (trajectory_id(row), &row.task)).collect();
        let state = book.state();
        let mut knowledge: BTreeMap<SkillId, BTreeSet<String>> = BTreeMap::new();
        for skill in book.skills() {
            let causes = state.causes.iter().filter(|(_, operation)| skill.history.contains(operation));
            let mut traced = false;
            for (cause, _) in causes {
                let task = tasks.get(&cause.trajectory).and_then(|task| suite.task(task.as_str()))?;
                let labels = task.apprentice.iter().flat_map(|ours| ours.knowledge.iter().cloned());
                knowledge.entry(skill.id.clone()).or_default().extend(labels);
                traced = true;
            }
            if !traced {
                return None;
            }
        }
        Some(Self { knowledge })
    }

    /// Returns the skills that share a knowledge label with a task.
    pub fn relevant(&self, task: &Task) -> BTreeSet<SkillId> {
        let wanted: BTreeSet<&String> = task.apprentice.iter().flat_map(|ours| &ours.knowledge).collect();
        let shares = |labels: &BTreeSet<String>| labels.iter().any(|label| wanted.contains(label));
        self.knowledge.iter().filter(|(_, labels)| shares(labels)).map(|(skill, _)| skill.clone()).collect()
    }
}

/// Returns the skills of the book that a task's labels name; `None` if they name none. A label that is the id of a skill says that
/// the skill bears on the task: so a suite is drawn for a given book, whose skills no rows trace back to tasks.
fn named_skills(task: &Task, book: &Snapshot) -> Option<BTreeSet<SkillId>> {
    let labels = task.apprentice.iter().flat_map(|ours| &ours.knowledge);
    let ids = labels.filter_map(|label| SkillId::parse(label).ok());
    let named: BTreeSet<SkillId> = ids.filter(|id| book.skill(id).is_some()).collect();
    (!named.is_empty()).then_some(named)
}

/// Provides guidance from one frozen book to the trials of a suite.
#[derive(Clone)]
pub struct GuidanceProvider {
    suite: Arc<Suite>,
    book: Snapshot,
    hash: String,
    provenance: Option<Provenance>,
    inert: Option<Snapshot>,
    demonstrations: Vec<Demonstration>,
    servers: Option<ServerFactory>,
    server_list: Option<String>,
    rules: ToolPolicy,
    suppressed: HiddenSkills,
    auto: AutoArms,
    functions: FunctionScope,
}

impl GuidanceProvider {
    /// Creates a provider for `book`. `provenance`, when known, decides which skills are relevant to a task.
    pub fn new(suite: Arc<Suite>, book: Snapshot, provenance: Option<Provenance>) -> Self {
        let hash = book.content_hash();
        let rules = ToolPolicy::default();
        let (inert, demonstrations, suppressed) = (None, Vec::new(), HiddenSkills::default());
        Self {
            suite,
            book,
            hash,
            provenance,
            inert,
            demonstrations,
            servers: None,
            server_list: None,
            rules,
            suppressed,
            auto: AutoArms::default(),
            functions: FunctionScope::default(),
        }
    }

    /// Sets which functions the arms with functions lend.
    #[must_use]
    pub fn with_functions(self, functions: FunctionScope) -> Self {
        Self { functions, ..self }
    }

    /// Sets the arms that `auto` stands for, which earlier trials of the models chose.
    #[must_use]
    pub fn with_auto(self, auto: AutoArms) -> Self {
        Self { auto, ..self }
    }

    /// Returns the arms that `auto` stands for.
    pub fn auto(&self) -> &AutoArms {
        &self.auto
    }

    /// Returns the arm that an arm stands for with a model: for `auto` the one that its dev trials chose, for every
    /// other arm itself.
    ///
    /// # Errors
    ///
    /// Fails if it is `auto` and no arm was chosen for the model.
    pub fn resolve(&self, arm: Arm, model: &str, task: &TaskId) -> Result<Arm, ArmError> {
        match arm {
            Arm::Auto => self.auto.of(model).ok_or_else(|| unchosen(task)),
            other => Ok(other),
        }
    }

    /// Adds true skills that are irrelevant to all tasks of the suite, for the inert placebo.
    #[must_use]
    pub fn with_inert_skills(self, inert: Option<Snapshot>) -> Self {
        Self { inert, ..self }
    }

    /// Adds successful training attempts, for the `raw-trace` arm.
    #[must_use]
    pub fn with_demonstrations(self, demonstrations: Vec<Demonstration>) -> Self {
        Self { demonstrations, ..self }
    }

    /// Sets the MCP servers for the skills that use them, and the rules for their tools.
    #[must_use]
    pub fn with_tools(self, tools: &ToolSettings) -> Self {
        let ToolSettings { servers, list, rules } = tools.clone();
        Self { servers, server_list: list, rules, ..self }
    }

    /// Hides skills from the tasks of some programs.
    #[must_use]
    pub fn with_suppressed(self, suppressed: HiddenSkills) -> Self {
        Self { suppressed, ..self }
    }

    /// Returns the content hash of the book.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// Returns the inputs of an arm's guidance other than the book, for the run's plan: the embedding model, a hash of
    /// the tool server list, the skills suppressed per program, the arm that `auto` stands for, and whether unverified
    /// functions are lent. Empty for an arm without a book.
    pub fn inputs(&self, arm: Arm) -> BTreeMap<String, String> {
        if !arm.needs_book() {
            return BTreeMap::new();
        }
        let embeddings =
            self.book.meaning().map(|meaning| ("embeddings".to_owned(), meaning.name().to_owned()));
        let servers = self.server_list.as_deref().map(|list| ("mcp_servers".to_owned(), hash(list)));
        let suppressed =
            (!self.suppressed.is_empty()).then(|| ("suppressed".to_owned(), self.suppressed.to_string()));
        let is_chosen = arm == Arm::Auto && self.auto.arms().next().is_some();
        let chosen = is_chosen.then(|| ("auto".to_owned(), self.auto.to_string()));
        let unverified = self.functions == FunctionScope::All
            && matches!(arm.delivery(), Delivery::Code | Delivery::CodePull);
        let functions = unverified.then(|| ("functions".to_owned(), "unverified too".to_owned()));
        embeddings.into_iter().chain(servers).chain(suppressed).chain(chosen).chain(functions).collect()
    }

    /// Returns the tasks on which an arm has guidance; for `auto`, those on which any chosen arm has.
    pub fn eligible_tasks(&self, arm: Arm, tasks: &BTreeSet<TaskId>) -> Result<BTreeSet<TaskId>, ArmError> {
        let mut eligible = BTreeSet::new();
        if arm == Arm::Auto {
            for chosen in self.auto.arms() {
                eligible.extend(self.eligible_tasks(chosen, tasks)?);
            }
            return Ok(eligible);
        }
        for task in tasks {
            match self.arm_guidance(arm, task, 0) {
                Ok(_) => drop(eligible.insert(task.clone())),
                Err(ArmError::NoGuidance { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(eligible)
    }

    /// Builds the guidance of one trial from its model and the name of its arm. The arm `inline` is an error here: only an
    /// experiment knows what `pull` retrieved, and calls [`GuidanceProvider::inline`].
    pub fn guidance_for(
        &self,
        model: &str,
        arm: &str,
        task: &TaskId,
        seed: u32,
    ) -> Result<ArmGuidance, ArmError> {
        match TrialHelp::of_arm(arm)? {
            TrialHelp::Unaided => Ok(ArmGuidance::unaided()),
            TrialHelp::Aided(Arm::Inline) => Err(ArmError::NothingRetrieved { task: task.clone(), seed }),
            TrialHelp::Aided(arm) => self.arm_guidance(self.resolve(arm, model, task)?, task, seed),
            TrialHelp::AidedWithout(skill) => self.guidance_without(&skill, task, seed),
        }
    }

    /// Builds the guidance of an arm other than `auto` for one variation of a task. Equal arguments give equal guidance.
    pub fn arm_guidance(&self, arm: Arm, task: &TaskId, seed: u32) -> Result<ArmGuidance, ArmError> {
        let hidden = match arm {
            Arm::Masked => self.hidden(task, seed),
            Arm::Auto => return Err(unchosen(task)),
            _ => BTreeSet::new(),
        };
        self.build(arm, task, seed, &hidden)
    }

    /// Returns the frozen book.
    pub fn book(&self) -> &Snapshot {
        &self.book
    }

    /// Returns the most requested skills, summed over all consumers; ties are sorted by name.
    pub fn most_requested(&self, count: u32) -> Vec<SkillId> {
        let asked = |skill: &Skill| skill.counters.values().map(|counts| counts.times_requested).sum::<u32>();
        let mut skills: Vec<&Skill> = self.book.skills().collect();
        skills.sort_by_key(|skill| (std::cmp::Reverse(asked(skill)), skill.id.clone()));
        skills.into_iter().take(count as usize).map(|skill| skill.id.clone()).collect()
    }

    /// Whether a skill's domain is a program of the task or a general domain.
    pub fn applies_to(&self, skill: &SkillId, task: &TaskId) -> bool {
        let found = self.suite.task(task.as_str());
        is_general(skill.domain())
            || found.is_some_and(|task| apps_of(task).iter().any(|app| app == skill.domain()))
    }

    fn build(
        &self,
        arm: Arm,
        task: &TaskId,
        seed: u32,
        hidden: &BTreeSet<SkillId>,
    ) -> Result<ArmGuidance, ArmError> {
        let found = self.suite.task(task.as_str()).ok_or_else(|| ArmError::NoTask(task.clone()))?;
        let varied = vary(found, &self.suite.name, seed)
            .map_err(|source| ArmError::Vary { task: task.clone(), source })?;
        let suppressed = match arm.needs_book() {
            true => self.suppressed.hidden_from(&apps_of(found)),
            false => BTreeSet::new(),
        };
        let suppressed: Vec<SkillId> =
            suppressed.into_iter().filter(|skill| self.book.skill(skill).is_some()).collect();
        let hidden: &BTreeSet<SkillId> = &hidden.iter().chain(&suppressed).cloned().collect();
        let relevant = self.provenance.as_ref().map(|known| known.relevant(found));
        let relevant = relevant.or_else(|| named_skills(found, &self.book));
        let view = TaskView {
            instruction: varied.task.instruction,
            apps: apps_of(found),
            relevant: relevant.clone(),
            spare: self.inert.clone(),
            present: KnownVersions::default(),
        };
        let servers = self.servers.as_ref().map(|make| make());
        // If the mask hides every skill, the trial keeps the skill tools over an empty book and counts like the
        // others.
        let left = match arm {
            Arm::Verified => admit(&self.book.without(hidden), AdmissionPolicy::Verified).0,
            _ if hidden.is_empty() => self.book.clone(),
            _ => self.book.without(hidden),
        };
        let nothing = |source| ArmError::NoGuidance { arm, task: task.clone(), source };
        let without = |why: &str| nothing(GuidanceError::NoEligibleSkill(why.to_owned()));
        let policy = match arm {
            Arm::Verified if left.is_empty() => return Err(without("no skill in the book is verified")),
            Arm::RawTrace => ArmPolicy::Inline {
                text: self
                    .demonstration(&view)
                    .ok_or_else(|| without("no successful training attempt uses a program of this task"))?,
            },
            _ if left.is_empty() && !hidden.is_empty() => ArmPolicy::ToolsOnly,
            _ => policy(arm, relevant.as_ref(), self.functions),
        };
        let tools = tool_contribution(servers.as_ref(), &self.rules);
        let guidance = build_guidance_with_tools(&left, &policy, &view, &tools).map_err(nothing)?;
        Ok(ArmGuidance {
            guidance,
            skillbook_hash: arm.needs_book().then(|| self.hash.clone()),
            servers,
            suppressed,
            known_versions: view.present,
        })
    }
}

impl GuidanceProvider {
    /// Builds the guidance of `inline` from the text that `pull` read; no guidance when `pull` read nothing.
    pub fn inline(&self, task: &TaskId, text: &str) -> Result<ArmGuidance, ArmError> {
        let policy = match text.trim().is_empty() {
            true => ArmPolicy::None,
            false => ArmPolicy::Inline { text: text.to_owned() },
        };
        let guidance = build_guidance(&self.book, &policy, &TaskView::default())
            .map_err(|source| ArmError::NoGuidance { arm: Arm::Inline, task: task.clone(), source })?;
        Ok(ArmGuidance { guidance, skillbook_hash: Some(self.hash.clone()), ..ArmGuidance::unaided() })
    }

    /// Returns the nearest successful training attempt, cut to the length of the longest relevant skill. Without a
    /// relevant skill, the limit is the longest skill of the task's programs, else of the whole book.
    fn demonstration(&self, view: &TaskView) -> Option<String> {
        let longest = |wanted: &dyn Fn(&SkillId) -> bool| {
            let skills = self.book.skills().filter(|skill| wanted(&skill.id));
            skills.map(|skill| skill.view().chars().count()).max()
        };
        let relevant = |id: &SkillId| view.relevant.as_ref().is_some_and(|known| known.contains(id));
        let of_program = |id: &SkillId| view.apps.iter().any(|app| app == id.domain());
        let length = longest(&relevant).or_else(|| longest(&of_program)).or_else(|| longest(&|_| true))?;
        nearest(&self.demonstrations, &view.instruction, &view.apps).map(|found| found.within(length))
    }

    /// Returns the skills that the random mask hides from a trial.
    fn hidden(&self, task: &TaskId, seed: u32) -> BTreeSet<SkillId> {
        let skills = self.book.skills().map(|skill| &skill.id);
        skills.filter(|skill| is_masked(skill, task, seed)).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Arm;

    #[test]
    fn names_lead_back_to_arms() {
        for arm in Arm::ALL {
            assert_eq!(Arm::parse(arm.as_str()).expect("an arm"), arm);
        }
        let error = Arm::parse("pul").expect_err("no arm");
        assert!(error.to_string().contains("pull, pull+figures"), "{error}");
    }
}
