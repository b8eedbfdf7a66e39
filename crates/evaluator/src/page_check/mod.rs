//! Looks whether what a page names is still in a program: each quoted label, in the order of the page, reached by clicking what the
//! page itself names before it.
//!
//! No model is asked, and nothing is typed. A label that is not reached is no proof that it is gone: a page can need a file, a
//! selection or a key for it. So what was not seen is told apart by the program's release.

mod labels;
mod walk;

use std::time::Duration;

use apprentice_protocol::{Clock, EnvironmentSource, SkillId, WorldError, WorldSpec};
use apprentice_skillbook::{Skill, is_same_release, version_of};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use labels::{NamedLabel, labels_of};

use walk::Walk;

/// The longest that one page is walked through. What is left then counts as not checked.
const PAGE_DEADLINE: Duration = Duration::from_mins(3);

/// A program to look into.
#[derive(Clone, Debug)]
pub struct ProgramStart {
    /// The world.
    pub world: WorldSpec,
    /// The command line that starts the program; `None` where the world is the program.
    pub command: Option<String>,
    /// The program's name in a skillbook.
    pub domain: String,
}

/// What was found of one page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PageCheck {
    /// The page.
    pub skill: SkillId,
    /// The releases of the program with which its text was written or helped.
    pub written_with: Vec<String>,
    /// The release in the world; `None` where the world does not tell.
    pub now: Option<String>,
    /// Its labels, in order.
    pub labels: Vec<LabelCheck>,
    /// Its functions, which need a task with a check for a replay.
    pub functions: Vec<String>,
}

/// What was found of one label.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LabelCheck {
    /// The label.
    #[serde(flatten)]
    pub named: NamedLabel,
    /// What was found.
    #[serde(flatten)]
    pub finding: LabelFinding,
}

/// What was found of a label.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "finding", rename_all = "snake_case")]
pub enum LabelFinding {
    /// It is there.
    Holds {
        /// What was clicked since the program was started, in order.
        after: Vec<String>,
    },
    /// It was not reached, and the program has another release than the page was written with.
    NoLongerHolds,
    /// It was not reached, and nothing says that the program has changed since.
    NotReached,
    /// Nobody looked.
    NotChecked {
        /// The reason.
        why: String,
    },
}

/// Why a program cannot be looked into.
#[derive(Debug, thiserror::Error)]
pub enum PageCheckError {
    /// A world cannot be opened, or was lost.
    #[error(transparent)]
    World(#[from] WorldError),
    /// The program does not start.
    #[error("{command} does not start")]
    Start {
        /// Its command line.
        command: String,
        /// The cause.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// It opens no window.
    #[error("{0} opened no window within 30 s")]
    NoWindow(String),
}

impl PageCheckError {
    fn start(command: &str, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Start { command: command.to_owned(), source: Box::new(source) }
    }
}

impl PageCheck {
    /// Counts the labels with a finding.
    pub fn count(&self, wanted: impl Fn(&LabelFinding) -> bool) -> usize {
        self.labels.iter().filter(|label| wanted(&label.finding)).count()
    }

    /// The labels that no longer hold.
    pub fn broken(&self) -> impl Iterator<Item = &LabelCheck> {
        self.labels.iter().filter(|label| label.finding == LabelFinding::NoLongerHolds)
    }
}

/// Looks for the labels of a page in fresh worlds.
///
/// # Errors
/// No world opens, or the program does not start in one.
pub async fn check_page(
    skill: &Skill,
    start: &ProgramStart,
    worlds: &dyn EnvironmentSource,
    clock: &dyn Clock,
) -> Result<PageCheck, PageCheckError> {
    let labels = labels_of(&skill.text.guidance);
    let mut walk = Walk::begin(start, worlds, clock).await?;
    let walked = walk.through(&skill.text.guidance, &labels, PAGE_DEADLINE).await;
    let versions = walk.versions().clone();
    walk.close().await?;
    let found = walked?;
    let now = version_of(&versions, &start.domain);
    let written: Vec<&str> = skill
        .confirmed_versions()
        .into_iter()
        .filter(|evidence| now.is_none_or(|(app, _)| evidence.app == app))
        .map(|evidence| evidence.app_version.as_str())
        .collect();
    let has_moved = has_moved(&written, now.map(|(_, version)| version));
    let labels = labels.into_iter().zip(found).map(|(named, finding)| {
        let finding = match finding {
            LabelFinding::NotReached if has_moved => LabelFinding::NoLongerHolds,
            other => other,
        };
        LabelCheck { named, finding }
    });
    Ok(PageCheck {
        skill: skill.id.clone(),
        written_with: written.iter().map(|version| (*version).to_owned()).collect(),
        now: now.map(|(_, version)| version.to_owned()),
        labels: labels.collect(),
        functions: skill.functions.keys().cloned().collect(),
    })
}

/// Whether the program has another release than every one with which the page was written or helped. Unknown ones say nothing.
fn has_moved(written: &[&str], now: Option<&str>) -> bool {
    let other = |now| !written.is_empty() && !written.iter().any(|written| is_same_release(written, now));
    now.is_some_and(other)
}

#[cfg(test)]
mod tests {
    use super::has_moved;

    #[test]
    fn only_another_release_makes_a_missing_label_one_that_no_longer_holds() {
        assert!(has_moved(&["0.5.10", "0.5.12"], Some("0.6.1")));
        assert!(!has_moved(&["0.5.10"], Some("0.5.11")), "a bug fix moves no label");
        assert!(
            !has_moved(&[], Some("0.6.1")) && !has_moved(&["0.5.10"], None),
            "an unknown release says nothing"
        );
    }
}
