//! Looks whether what a page names is still in a program: each quoted label, in the order of the page, reached by clicking what the
//! page itself names before it; and each function, replayed with the arguments of its example.
//!
//! No model is asked. A label that is not reached, or a function that stops, is no proof that something is gone: a page can need a
//! file, a selection or a key for it. So what was not seen is told apart by the program's release.

mod labels;
mod replay;
mod walk;

use std::time::Duration;

use apprentice_protocol::{Clock, EnvironmentSource, SkillId, Versions, WorldError, WorldSpec};
use apprentice_skillbook::{Skill, SkillFunction, is_same_release, version_of};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use labels::{NamedLabel, labels_of};
pub use replay::{FunctionCheck, FunctionFinding};

use replay::Ended;
use walk::Walk;

/// The longest that the labels of one page are looked for. What is left then counts as not checked.
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PageCheck {
    /// The page.
    pub skill: SkillId,
    /// The releases of the program with which its text was written or helped.
    pub written_with: Vec<String>,
    /// The release in the world; `None` where the world does not tell.
    pub now: Option<String>,
    /// Why the release in the world is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release_unknown: Option<String>,
    /// Its labels, in order.
    pub labels: Vec<LabelCheck>,
    /// Its functions, by name.
    pub functions: Vec<FunctionCheck>,
}

/// What was found of a page as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PageFinding {
    /// Every label is there, and every function ran to its end.
    Holds,
    /// A label or a function no longer holds.
    NoLongerHolds,
    /// Nothing speaks against it, and a part of it was not reached.
    PartlyChecked,
    /// It names no label and has no function, or nothing of it was reached.
    NotChecked,
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

    /// The number of labels and functions that no longer hold.
    pub fn broken(&self) -> usize {
        let functions = self.functions.iter();
        let stopped = |one: &&FunctionCheck| matches!(one.finding, FunctionFinding::NoLongerHolds { .. });
        self.count(|finding| *finding == LabelFinding::NoLongerHolds) + functions.filter(stopped).count()
    }

    /// The number of labels and functions that hold.
    pub fn held(&self) -> usize {
        let functions = self.functions.iter();
        let ran = |one: &&FunctionCheck| matches!(one.finding, FunctionFinding::Holds { .. });
        self.count(|finding| matches!(finding, LabelFinding::Holds { .. })) + functions.filter(ran).count()
    }

    /// What was found of it as a whole.
    pub fn finding(&self) -> PageFinding {
        let all = self.labels.len() + self.functions.len();
        match (self.held(), self.broken()) {
            (_, broken) if broken > 0 => PageFinding::NoLongerHolds,
            (0, _) => PageFinding::NotChecked,
            (held, _) if held == all => PageFinding::Holds,
            _ => PageFinding::PartlyChecked,
        }
    }
}

/// Looks for the labels of a page, and replays its functions, in fresh worlds.
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
    let looked = look(skill, &labels, &mut walk).await;
    let (versions, release_unknown) = match walk.versions().clone() {
        Ok(versions) => (versions, None),
        Err(why) => (Versions::default(), Some(why)),
    };
    let closed = walk.close().await;
    // The first failure says more than one of closing what it left.
    let (found, ended) = looked?;
    closed?;
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
    let functions = in_use(skill).zip(ended).map(|((name, function), (arguments, ended))| {
        let (name, version) = (name.clone(), function.version);
        FunctionCheck { name, version, arguments, finding: function_finding(ended, has_moved) }
    });
    Ok(PageCheck {
        skill: skill.id.clone(),
        written_with: written.iter().map(|version| (*version).to_owned()).collect(),
        now: now.map(|(_, version)| version.to_owned()),
        release_unknown,
        labels: labels.collect(),
        functions: functions.collect(),
    })
}

/// The functions of a page that nobody retired, by name.
fn in_use(skill: &Skill) -> impl Iterator<Item = (&String, &SkillFunction)> {
    skill.functions.iter().filter(|(_, function)| function.retired.is_none())
}

/// Looks for the labels and replays the functions, in order.
async fn look(
    skill: &Skill,
    labels: &[NamedLabel],
    walk: &mut Walk<'_>,
) -> Result<(Vec<LabelFinding>, Vec<(Value, Ended)>), PageCheckError> {
    let found = walk.through(&skill.text.guidance, labels, PAGE_DEADLINE).await?;
    let mut ended = Vec::new();
    for (_, function) in in_use(skill) {
        ended.push(match replay::ready(function) {
            Ok(source) => (source.example(), walk.replay(&source).await?),
            Err(why) => (Value::Null, Ended::Not(why)),
        });
    }
    Ok((found, ended))
}

/// What the end of a replay says. A stop in a program of the same release can come from what the world lacks.
fn function_finding(ended: Ended, has_moved: bool) -> FunctionFinding {
    match ended {
        Ended::Returned(acts) => FunctionFinding::Holds { acts },
        Ended::Stopped { line, why } if has_moved => FunctionFinding::NoLongerHolds { line, why },
        Ended::Stopped { line, why } => {
            FunctionFinding::NotChecked { why: format!("it stopped at line {line}: {why}") }
        }
        Ended::Not(why) => FunctionFinding::NotChecked { why },
    }
}

/// Whether the program has another release than every one with which the page was written or helped. Unknown ones say nothing.
fn has_moved(written: &[&str], now: Option<&str>) -> bool {
    let other = |now| !written.is_empty() && !written.iter().any(|written| is_same_release(written, now));
    now.is_some_and(other)
}

#[cfg(test)]
mod tests {
    use super::{Ended, FunctionFinding, function_finding, has_moved};

    #[test]
    fn a_stop_in_the_same_release_proves_nothing() {
        let stopped = || Ended::Stopped { line: 5, why: "no element".to_owned() };
        assert!(matches!(function_finding(stopped(), true), FunctionFinding::NoLongerHolds { line: 5, .. }));
        assert!(matches!(function_finding(stopped(), false), FunctionFinding::NotChecked { .. }));
        assert_eq!(function_finding(Ended::Returned(3), true), FunctionFinding::Holds { acts: 3 });
    }

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
