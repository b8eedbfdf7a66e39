//! What help a model gets: an arm's policy and what it lends to a trial.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use apprentice_harness::tool::mcp::McpServers;
use apprentice_protocol::{Guidance, SkillId, TaskId};
use apprentice_skills::book::{At, BookError, Skill, Snapshot};
use apprentice_skills::domain_name;
use apprentice_skills::lend::{ArmPolicy, LendError, Present, TaskView, lend, lend_with};
use apprentice_skills::prove::{Admit, admit};

use crate::precedent::{Precedent, nearest};
use crate::servers::{ToolBox, ToolRules, contributed, hash};
use crate::split::trajectory_id;
use crate::suppress::Suppressed;
use apprentice_results::arm::{Arm, UnknownArm, is_hidden};
use apprentice_results::row::TrialRow;
use apprentice_tasks::seed::{VaryError, vary};
use apprentice_tasks::suite::Suite;
use apprentice_tasks::suite::task::Task;

/// Skills that `push` puts in.
const PUSHED: usize = 3;

/// Domains of no program in particular.
const GENERAL: [&str; 2] = ["os", "general"];

/// The folder beside a suite that holds skills which are true and bear on none of its tasks.
const SPARE: &str = "inert";

/// The spare skills of a suite, if it has any.
pub fn spare_of(suite: &Suite) -> Result<Option<Snapshot>, BookError> {
    let folder = suite.root.join(SPARE);
    if folder.is_dir() { Snapshot::open(&folder, At::Now).map(Some) } else { Ok(None) }
}

/// Why there is no arm, or nothing that it could lend.
#[derive(Debug, thiserror::Error)]
pub enum ArmError {
    /// No arm has this name.
    #[error(transparent)]
    Unknown(#[from] UnknownArm),
    /// The suite has no such task.
    #[error("the suite has no task {0:?}")]
    NoTask(TaskId),
    /// The task cannot be varied.
    #[error("task {task}: its variation cannot be made")]
    Vary {
        /// Which.
        task: TaskId,
        /// Why.
        #[source]
        source: VaryError,
    },
    /// Nothing is eligible: the trial is not run, and the report says so.
    #[error("arm {arm} on task {task}")]
    Nothing {
        /// Which arm.
        arm: Arm,
        /// Which task.
        task: TaskId,
        /// Why.
        #[source]
        source: LendError,
    },
}

/// The policy by which an arm lends; `relevant` are the skills that bear on the task.
fn policy(arm: Arm, relevant: Option<&BTreeSet<SkillId>>) -> ArmPolicy {
    match arm {
        Arm::None => ArmPolicy::None,
        Arm::ToolsOnly => ArmPolicy::ToolsOnly,
        Arm::Index => ArmPolicy::Index,
        // What `inline` puts in is known once `pull` has run; it has something wherever `pull` has.
        Arm::Pull | Arm::Inline | Arm::Verified | Arm::Masked | Arm::SelfMade | Arm::Human => ArmPolicy::Pull,
        Arm::Push => ArmPolicy::Push { count: PUSHED },
        Arm::All => ArmPolicy::All,
        Arm::Forced => ArmPolicy::Forced { skills: relevant.into_iter().flatten().cloned().collect() },
        Arm::PlaceboInert => ArmPolicy::PlaceboInert,
        Arm::PlaceboWrong => ArmPolicy::PlaceboWrong,
        // Its text is found by the lender.
        Arm::RawTrace => ArmPolicy::None,
    }
}

/// The programs of a task, as domains.
pub fn apps_of(task: &Task) -> Vec<String> {
    let mut apps: Vec<String> = domain_name(&task.app).into_iter().collect();
    let related = task.extra.get("related_apps").and_then(|apps| apps.as_array());
    let related = related.into_iter().flatten().filter_map(|app| app.as_str());
    apps.extend(related.filter_map(domain_name).filter(|app| !task.app.eq_ignore_ascii_case(app)));
    apps
}

/// Which knowledge each skill came from: by the operations that made its text, the attempts behind them, and
/// the knowledge of their tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Provenance {
    knowledge: BTreeMap<SkillId, BTreeSet<String>>,
}

impl Provenance {
    /// Traces the skills of a book back to tasks, by the rows of the attempts that it was learned from. None
    /// when some skill cannot be traced: then words must decide what bears on what.
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

    /// The skills that share knowledge with a task.
    pub fn relevant(&self, task: &Task) -> BTreeSet<SkillId> {
        let wanted: BTreeSet<&String> = task.apprentice.iter().flat_map(|ours| &ours.knowledge).collect();
        let shares = |labels: &BTreeSet<String>| labels.iter().any(|label| wanted.contains(label));
        self.knowledge.iter().filter(|(_, labels)| shares(labels)).map(|(skill, _)| skill.clone()).collect()
    }
}

/// What an arm lends to one trial.
#[derive(Clone, Default)]
pub struct Loan {
    /// Text and tools.
    pub guidance: Guidance,
    /// Content hash of the book behind it, if there is one.
    pub skillbook_hash: Option<String>,
    /// Servers whose tools the book's skills may open, for this trial alone.
    pub servers: Option<Arc<McpServers>>,
    /// Skills that are hidden from the task because they harmed in a program of it.
    pub suppressed: Vec<SkillId>,
    /// Where the versions of the world's programs are told to the tools.
    pub present: Present,
}

/// What a loan depends on beside the book itself, for the plan of its run: the model that the book is searched by, a
/// hash of the list of tool servers, and which skills are hidden from which programs.
pub fn aids(book: &Snapshot, servers: Option<&str>, suppressed: &Suppressed) -> BTreeMap<String, String> {
    let embeddings = book.meaning().map(|meaning| ("embeddings".to_owned(), meaning.name().to_owned()));
    let servers = servers.map(|list| ("mcp_servers".to_owned(), hash(list)));
    let suppressed = (!suppressed.is_empty()).then(|| ("suppressed".to_owned(), suppressed.to_string()));
    embeddings.into_iter().chain(servers).chain(suppressed).collect()
}

/// Makes the servers of one trial.
pub type MakeServers = Arc<dyn Fn() -> Arc<McpServers> + Send + Sync>;

/// Lends one frozen book to the trials of a suite.
#[derive(Clone)]
pub struct Lender {
    suite: Arc<Suite>,
    book: Snapshot,
    hash: String,
    provenance: Option<Provenance>,
    spare: Option<Snapshot>,
    precedents: Vec<Precedent>,
    servers: Option<MakeServers>,
    rules: ToolRules,
    suppressed: Suppressed,
}

impl Lender {
    /// Lends `book`; provenance, where there is one, tells which skills bear on which task.
    pub fn new(suite: Arc<Suite>, book: Snapshot, provenance: Option<Provenance>) -> Self {
        let hash = book.content_hash();
        let rules = ToolRules::default();
        let (spare, precedents, suppressed) = (None, Vec::new(), Suppressed::default());
        Self { suite, book, hash, provenance, spare, precedents, servers: None, rules, suppressed }
    }

    /// The same, with true skills that bear on no task of the suite, for the inert placebo.
    #[must_use]
    pub fn with_spare(self, spare: Option<Snapshot>) -> Self {
        Self { spare, ..self }
    }

    /// The same, with successful training attempts, for the arm `raw-trace`.
    #[must_use]
    pub fn with_precedents(self, precedents: Vec<Precedent>) -> Self {
        Self { precedents, ..self }
    }

    /// The same, with servers of tools for the skills that bring some.
    #[must_use]
    pub fn with_servers(self, servers: Option<MakeServers>) -> Self {
        Self { servers, ..self }
    }

    /// The same, with all that is settled about tools.
    #[must_use]
    pub fn with_tools(self, tools: &ToolBox) -> Self {
        self.with_servers(tools.servers.clone()).with_rules(tools.rules.clone())
    }

    /// The same, with rules for the tools that skills bring.
    #[must_use]
    pub fn with_rules(self, rules: ToolRules) -> Self {
        Self { rules, ..self }
    }

    /// The same, with skills hidden from the tasks of some programs.
    #[must_use]
    pub fn with_suppressed(self, suppressed: Suppressed) -> Self {
        Self { suppressed, ..self }
    }

    /// Content hash of the book.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// What an arm lends to a task's variation. The same call lends the same.
    pub fn lend(&self, arm: Arm, task: &TaskId, seed: u32) -> Result<Loan, ArmError> {
        let hidden = match arm {
            Arm::Masked => self.hidden(task, seed),
            _ => BTreeSet::new(),
        };
        self.lend_but(arm, (task, seed), &hidden)
    }

    /// What `pull` lends of the book without one of its skills.
    pub fn lend_without(&self, skill: &SkillId, task: &TaskId, seed: u32) -> Result<Loan, ArmError> {
        let hidden = BTreeSet::from([skill.clone()]);
        let loan = self.lend_but(Arm::Pull, (task, seed), &hidden)?;
        Ok(Loan { skillbook_hash: Some(self.book.without(&hidden).content_hash()), ..loan })
    }

    /// The skills that were asked for most often, whoever asked; of equal ones the first by name.
    pub fn most_asked_for(&self, count: u32) -> Vec<SkillId> {
        let asked = |skill: &Skill| skill.counters.values().map(|counts| counts.times_requested).sum::<u32>();
        let mut skills: Vec<&Skill> = self.book.skills().collect();
        skills.sort_by_key(|skill| (std::cmp::Reverse(asked(skill)), skill.id.clone()));
        skills.into_iter().take(count as usize).map(|skill| skill.id.clone()).collect()
    }

    /// Whether a skill is about a program of a task, or about no program in particular.
    pub fn concerns(&self, skill: &SkillId, task: &TaskId) -> bool {
        let found = self.suite.task(task.as_str());
        GENERAL.contains(&skill.domain())
            || found.is_some_and(|task| apps_of(task).iter().any(|app| app == skill.domain()))
    }

    fn lend_but(
        &self,
        arm: Arm,
        (task, seed): (&TaskId, u32),
        hidden: &BTreeSet<SkillId>,
    ) -> Result<Loan, ArmError> {
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
        let view = TaskView {
            instruction: varied.task.instruction,
            apps: apps_of(found),
            relevant: relevant.clone(),
            spare: self.spare.clone(),
            present: Present::default(),
        };
        let servers = self.servers.as_ref().map(|make| make());
        // Where the lot hides all of it, the tools stay, over an empty book: it is a trial like the others.
        let left = match arm {
            Arm::Verified => admit(&self.book.without(hidden), Admit::Verified).0,
            _ if hidden.is_empty() => self.book.clone(),
            _ => self.book.without(hidden),
        };
        let nothing = |source| ArmError::Nothing { arm, task: task.clone(), source };
        let without = |why: &str| nothing(LendError::NothingEligible(why.to_owned()));
        let policy = match arm {
            Arm::Verified if left.is_empty() => return Err(without("no skill of the book is proved")),
            Arm::RawTrace => ArmPolicy::Inline {
                text: self.precedent(&view).ok_or_else(|| {
                    without("no successful training attempt in a program of the task is at hand")
                })?,
            },
            _ if left.is_empty() && !hidden.is_empty() => ArmPolicy::ToolsOnly,
            _ => policy(arm, relevant.as_ref()),
        };
        let lent = contributed(servers.as_ref(), &self.rules);
        let guidance = lend_with(&left, &policy, &view, &lent).map_err(nothing)?;
        Ok(Loan {
            guidance,
            skillbook_hash: arm.needs_book().then(|| self.hash.clone()),
            servers,
            suppressed,
            present: view.present,
        })
    }
}

impl Lender {
    /// What `inline` lends: the text that `pull` looked at, or nothing where it looked at nothing.
    pub fn inline(&self, task: &TaskId, text: &str) -> Result<Loan, ArmError> {
        let policy = match text.trim().is_empty() {
            true => ArmPolicy::None,
            false => ArmPolicy::Inline { text: text.to_owned() },
        };
        let guidance = lend(&self.book, &policy, &TaskView::default())
            .map_err(|source| ArmError::Nothing { arm: Arm::Inline, task: task.clone(), source })?;
        Ok(Loan { guidance, skillbook_hash: Some(self.hash.clone()), ..Loan::default() })
    }

    /// The nearest successful training attempt, no longer than the longest skill that bears on the task; where no
    /// skill does, than the longest one of its programs, or of the book.
    fn precedent(&self, view: &TaskView) -> Option<String> {
        let longest = |wanted: &dyn Fn(&SkillId) -> bool| {
            let skills = self.book.skills().filter(|skill| wanted(&skill.id));
            skills.map(|skill| skill.view().chars().count()).max()
        };
        let relevant = |id: &SkillId| view.relevant.as_ref().is_some_and(|known| known.contains(id));
        let of_program = |id: &SkillId| view.apps.iter().any(|app| app == id.domain());
        let length = longest(&relevant).or_else(|| longest(&of_program)).or_else(|| longest(&|_| true))?;
        nearest(&self.precedents, &view.instruction, &view.apps).map(|found| found.within(length))
    }

    /// What the lot hides of the book from a trial.
    fn hidden(&self, task: &TaskId, seed: u32) -> BTreeSet<SkillId> {
        let skills = self.book.skills().map(|skill| &skill.id);
        skills.filter(|skill| is_hidden(skill, task, seed)).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Arm;

    #[test]
    fn names_lead_back_to_arms() {
        for arm in Arm::EVERY {
            assert_eq!(Arm::parse(arm.as_str()).expect("an arm"), arm);
        }
        let error = Arm::parse("pul").expect_err("no arm");
        assert!(error.to_string().contains("pull, push"), "{error}");
    }
}
