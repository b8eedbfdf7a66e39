//! Experiment arms: the guidance policy of each arm, and the guidance it gives to a trial.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use apprentice_harness::tool::mcp::McpServers;
use apprentice_protocol::{Guidance, SkillId, TaskId};
use apprentice_skills::book::{At, BookError, Skill, Snapshot};
use apprentice_skills::domain_name;
use apprentice_skills::lend::{ArmPolicy, LendError, Present, TaskView, lend, lend_with};
use apprentice_skills::prove::{Admit, admit};
use sha2::{Digest as _, Sha256};

use crate::precedent::{Precedent, nearest};
use crate::row::TrialRow;
use crate::seed::{VaryError, vary};
use crate::servers::{ToolBox, ToolRules, contributed, hash};
use crate::split::trajectory_id;
use crate::suite::Suite;
use crate::suite::task::Task;
use crate::suppress::Suppressed;

/// The number of skills that `push` inlines.
const PUSHED: usize = 3;

/// Domains of skills that belong to no particular program.
const GENERAL: [&str; 2] = ["os", "general"];

/// The folder beside a suite with skills that are true but irrelevant to all of its tasks.
const SPARE: &str = "inert";

/// Opens the irrelevant skills of a suite (folder `inert`), for the inert placebo. `None` when the suite has none.
pub fn spare_of(suite: &Suite) -> Result<Option<Snapshot>, BookError> {
    let folder = suite.root.join(SPARE);
    if folder.is_dir() { Snapshot::open(&folder, At::Now).map(Some) } else { Ok(None) }
}

/// An experiment arm: the kind of guidance that a model gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Arm {
    /// No guidance.
    None,
    /// The skill tools over an empty book.
    ToolsOnly,
    /// The index of skills without their bodies.
    Index,
    /// An overview of domains; the skills on request.
    Pull,
    /// The best skills for the instruction, inlined into the prompt.
    Push,
    /// Every skill of the book, inlined.
    All,
    /// `pull` over the verified skills only.
    Verified,
    /// The relevant skills of the task, inlined.
    Forced,
    /// The exact text that the `pull` arm read in the same trial, inlined, without tools.
    Inline,
    /// The nearest successful training attempt, cut to the length of the skill that would have helped, inlined.
    RawTrace,
    /// True skills of the same program that are irrelevant to the task.
    PlaceboInert,
    /// The skills' own names with bodies from other domains.
    PlaceboWrong,
    /// `pull` with about half of the book hidden at random in each trial. It measures the value of single skills.
    Masked,
    /// `pull` over a book that the student learned itself.
    SelfMade,
    /// `pull` over a book written by a person.
    Human,
}

/// The reason an arm is unknown or has no guidance for a trial.
#[derive(Debug, thiserror::Error)]
pub enum ArmError {
    /// No arm has this name.
    #[error("there is no arm {name:?}; the arms are {}", Arm::list())]
    Unknown {
        /// The name as it was written.
        name: String,
    },
    /// The suite does not contain the task.
    #[error("the suite has no task {0:?}")]
    NoTask(TaskId),
    /// The task's variation cannot be generated.
    #[error("task {task}: the variation cannot be generated")]
    Vary {
        /// The task.
        task: TaskId,
        /// The cause.
        #[source]
        source: VaryError,
    },
    /// The arm has no eligible guidance: the trial is skipped, and the report says so.
    #[error("arm {arm} on task {task}")]
    Nothing {
        /// The arm.
        arm: Arm,
        /// The task.
        task: TaskId,
        /// The cause.
        #[source]
        source: LendError,
    },
}

impl Arm {
    /// All arms, in the order in which reports list them.
    pub const EVERY: [Self; 15] = [
        Self::None,
        Self::ToolsOnly,
        Self::Index,
        Self::Pull,
        Self::Push,
        Self::All,
        Self::Verified,
        Self::Forced,
        Self::Inline,
        Self::RawTrace,
        Self::PlaceboInert,
        Self::PlaceboWrong,
        Self::Masked,
        Self::SelfMade,
        Self::Human,
    ];

    /// Returns the arm's name in rows and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::ToolsOnly => "tools-only",
            Self::Index => "index",
            Self::Pull => "pull",
            Self::Push => "push",
            Self::All => "all",
            Self::Verified => "verified",
            Self::Forced => "forced",
            Self::Inline => "inline",
            Self::RawTrace => "raw-trace",
            Self::PlaceboInert => "placebo-inert",
            Self::PlaceboWrong => "placebo-wrong",
            Self::Masked => "masked",
            Self::SelfMade => "self-made",
            Self::Human => "human",
        }
    }

    /// Parses an arm's name.
    pub fn parse(name: &str) -> Result<Self, ArmError> {
        let found = Self::EVERY.into_iter().find(|arm| arm.as_str() == name);
        found.ok_or_else(|| ArmError::Unknown { name: name.to_owned() })
    }

    /// Whether the arm's guidance comes from a skillbook.
    pub fn needs_book(self) -> bool {
        !matches!(self, Self::None | Self::ToolsOnly | Self::RawTrace)
    }

    fn list() -> String {
        Self::EVERY.map(Self::as_str).join(", ")
    }

    fn policy(self, relevant: Option<&BTreeSet<SkillId>>) -> ArmPolicy {
        match self {
            Self::None => ArmPolicy::None,
            Self::ToolsOnly => ArmPolicy::ToolsOnly,
            Self::Index => ArmPolicy::Index,
            // The text of `inline` is known only after `pull` has run; `inline` is possible wherever `pull` is.
            Self::Pull | Self::Inline | Self::Verified | Self::Masked | Self::SelfMade | Self::Human => {
                ArmPolicy::Pull
            }
            Self::Push => ArmPolicy::Push { count: PUSHED },
            Self::All => ArmPolicy::All,
            Self::Forced => ArmPolicy::Forced { skills: relevant.into_iter().flatten().cloned().collect() },
            Self::PlaceboInert => ArmPolicy::PlaceboInert,
            Self::PlaceboWrong => ArmPolicy::PlaceboWrong,
            // `guidance` replaces this policy with the text of a training attempt.
            Self::RawTrace => ArmPolicy::None,
        }
    }
}

impl fmt::Display for Arm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Whether [`Arm::Masked`] hides a skill from a trial. The draw is a hash, so anyone can reproduce it.
pub fn is_hidden(skill: &SkillId, task: &TaskId, seed: u32) -> bool {
    let drawn = Sha256::digest(format!("mask\0{task}\0{seed}\0{skill}"));
    drawn.first().is_some_and(|byte| byte & 1 == 1)
}

/// Returns the programs of a task as skillbook domains.
pub fn apps_of(task: &Task) -> Vec<String> {
    let mut apps: Vec<String> = domain_name(&task.app).into_iter().collect();
    let related = task.extra.get("related_apps").and_then(|apps| apps.as_array());
    let related = related.into_iter().flatten().filter_map(|app| app.as_str());
    apps.extend(related.filter_map(domain_name).filter(|app| !task.app.eq_ignore_ascii_case(app)));
    apps
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

/// The guidance that an arm gives to one trial.
#[derive(Clone, Default)]
pub struct Loan {
    /// Prompt text and tools.
    pub guidance: Guidance,
    /// Content hash of the skillbook; `None` for arms without one.
    pub skillbook_hash: Option<String>,
    /// Servers whose tools the book's skills may open, for this trial only.
    pub servers: Option<Arc<McpServers>>,
    /// Skills hidden from the task because they caused harm in one of its programs.
    pub suppressed: Vec<SkillId>,
    /// Receives the program versions of the world, for the skill tools.
    pub present: Present,
}

/// Inputs to an arm's guidance other than the book, for the run's plan: the embedding model, a hash of the tool
/// server list, and the skills suppressed per program.
pub fn aids(book: &Snapshot, servers: Option<&str>, suppressed: &Suppressed) -> BTreeMap<String, String> {
    let embeddings = book.meaning().map(|meaning| ("embeddings".to_owned(), meaning.name().to_owned()));
    let servers = servers.map(|list| ("mcp_servers".to_owned(), hash(list)));
    let suppressed = (!suppressed.is_empty()).then(|| ("suppressed".to_owned(), suppressed.to_string()));
    embeddings.into_iter().chain(servers).chain(suppressed).collect()
}

/// Creates the servers of one trial.
pub type MakeServers = Arc<dyn Fn() -> Arc<McpServers> + Send + Sync>;

/// Provides guidance from one frozen book to the trials of a suite.
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
    /// Creates a provider for `book`. `provenance`, when known, decides which skills are relevant to a task.
    pub fn new(suite: Arc<Suite>, book: Snapshot, provenance: Option<Provenance>) -> Self {
        let hash = book.content_hash();
        let rules = ToolRules::default();
        let (spare, precedents, suppressed) = (None, Vec::new(), Suppressed::default());
        Self { suite, book, hash, provenance, spare, precedents, servers: None, rules, suppressed }
    }

    /// Adds true skills that are irrelevant to all tasks of the suite, for the inert placebo.
    #[must_use]
    pub fn with_spare(self, spare: Option<Snapshot>) -> Self {
        Self { spare, ..self }
    }

    /// Adds successful training attempts, for the `raw-trace` arm.
    #[must_use]
    pub fn with_precedents(self, precedents: Vec<Precedent>) -> Self {
        Self { precedents, ..self }
    }

    /// Adds MCP servers for the skills that use them.
    #[must_use]
    pub fn with_servers(self, servers: Option<MakeServers>) -> Self {
        Self { servers, ..self }
    }

    /// Sets the servers and rules of an experiment's tool settings.
    #[must_use]
    pub fn with_tools(self, tools: &ToolBox) -> Self {
        self.with_servers(tools.servers.clone()).with_rules(tools.rules.clone())
    }

    /// Sets the rules for tools that skills use.
    #[must_use]
    pub fn with_rules(self, rules: ToolRules) -> Self {
        Self { rules, ..self }
    }

    /// Hides skills from the tasks of some programs.
    #[must_use]
    pub fn with_suppressed(self, suppressed: Suppressed) -> Self {
        Self { suppressed, ..self }
    }

    /// Returns the content hash of the book.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// Builds the guidance of an arm for one variation of a task. Equal arguments give equal guidance.
    pub fn lend(&self, arm: Arm, task: &TaskId, seed: u32) -> Result<Loan, ArmError> {
        let hidden = match arm {
            Arm::Masked => self.hidden(task, seed),
            _ => BTreeSet::new(),
        };
        self.lend_but(arm, (task, seed), &hidden)
    }

    /// Builds the guidance of `pull` over the book without one skill.
    pub fn lend_without(&self, skill: &SkillId, task: &TaskId, seed: u32) -> Result<Loan, ArmError> {
        let hidden = BTreeSet::from([skill.clone()]);
        let loan = self.lend_but(Arm::Pull, (task, seed), &hidden)?;
        Ok(Loan { skillbook_hash: Some(self.book.without(&hidden).content_hash()), ..loan })
    }

    /// Returns the most requested skills, summed over all consumers; ties are sorted by name.
    pub fn most_asked_for(&self, count: u32) -> Vec<SkillId> {
        let asked = |skill: &Skill| skill.counters.values().map(|counts| counts.times_requested).sum::<u32>();
        let mut skills: Vec<&Skill> = self.book.skills().collect();
        skills.sort_by_key(|skill| (std::cmp::Reverse(asked(skill)), skill.id.clone()));
        skills.into_iter().take(count as usize).map(|skill| skill.id.clone()).collect()
    }

    /// Whether a skill's domain is a program of the task or a general domain.
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
        // If the mask hides every skill, the trial keeps the skill tools over an empty book and counts like the
        // others.
        let left = match arm {
            Arm::Verified => admit(&self.book.without(hidden), Admit::Verified).0,
            _ if hidden.is_empty() => self.book.clone(),
            _ => self.book.without(hidden),
        };
        let nothing = |source| ArmError::Nothing { arm, task: task.clone(), source };
        let without = |why: &str| nothing(LendError::NothingEligible(why.to_owned()));
        let policy = match arm {
            Arm::Verified if left.is_empty() => return Err(without("no skill in the book is verified")),
            Arm::RawTrace => ArmPolicy::Inline {
                text: self
                    .precedent(&view)
                    .ok_or_else(|| without("no successful training attempt uses a program of this task"))?,
            },
            _ if left.is_empty() && !hidden.is_empty() => ArmPolicy::ToolsOnly,
            _ => arm.policy(relevant.as_ref()),
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
    /// Builds the guidance of `inline` from the text that `pull` read; no guidance when `pull` read nothing.
    pub fn inline(&self, task: &TaskId, text: &str) -> Result<Loan, ArmError> {
        let policy = match text.trim().is_empty() {
            true => ArmPolicy::None,
            false => ArmPolicy::Inline { text: text.to_owned() },
        };
        let guidance = lend(&self.book, &policy, &TaskView::default())
            .map_err(|source| ArmError::Nothing { arm: Arm::Inline, task: task.clone(), source })?;
        Ok(Loan { guidance, skillbook_hash: Some(self.hash.clone()), ..Loan::default() })
    }

    /// Returns the nearest successful training attempt, cut to the length of the longest relevant skill. Without a
    /// relevant skill, the limit is the longest skill of the task's programs, else of the whole book.
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

    /// Returns the skills that the random mask hides from a trial.
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
