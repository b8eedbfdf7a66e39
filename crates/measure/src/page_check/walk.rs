//! Walks through a program in the order of a page. Nothing is clicked but what the page itself names, and only to find the next label.

use std::collections::BTreeSet;
use std::time::Duration;

use apprentice_functions::Source;
use apprentice_learning::adherence::as_label;
use apprentice_protocol::{
    Action, Button, Clock, Command, Delivery, EnvironmentSource, NodeRef, Target, TreeBudget, UiNode,
    Versions, Want, World,
};
use apprentice_skillbook::version_of;
use apprentice_tasks::setup::await_any_window;

use super::replay::{self, Ended};
use super::{LabelFinding, NamedLabel, PageCheckError, ProgramStart};
use apprentice_evaluator::app_versions::AppVersions;

/// Clicks that are tried for one label before the program is started anew, and then again.
const CLICKS: usize = 4;
/// Shortest name that is clicked because a page holds it as a word, in characters.
const MIN_NAME_CHARS: usize = 2;
/// The longest that closing a world may take.
const CLOSE: Duration = Duration::from_secs(10);

/// A program that is being looked into.
pub(super) struct Walk<'a> {
    start: &'a ProgramStart,
    worlds: &'a dyn EnvironmentSource,
    clock: &'a dyn Clock,
    world: World,
    versions: Result<Versions, String>,
    /// What was clicked since the program was started.
    clicked: Vec<String>,
}

impl<'a> Walk<'a> {
    /// Starts the program in a fresh world.
    pub(super) async fn begin(
        start: &'a ProgramStart,
        worlds: &'a dyn EnvironmentSource,
        clock: &'a dyn Clock,
    ) -> Result<Self, PageCheckError> {
        let world = opened(start, worlds, clock).await?;
        let versions = versions_in(&world, &start.domain).await;
        Ok(Self { start, worlds, clock, world, versions, clicked: Vec::new() })
    }

    /// The versions of the programs in the world; `Err` says why they are not known.
    pub(super) fn versions(&self) -> &Result<Versions, String> {
        &self.versions
    }

    /// Replays a function in a fresh world.
    pub(super) async fn replay(&mut self, source: &Source) -> Result<Ended, PageCheckError> {
        self.restart().await?;
        let ended = replay::run(source, &mut self.world, self.clock).await?;
        Ok(ended)
    }

    /// Closes the world.
    pub(super) async fn close(self) -> Result<(), PageCheckError> {
        Ok(self.world.environment.close(CLOSE).await?)
    }

    /// Looks for each label in order.
    pub(super) async fn through(
        &mut self,
        page: &str,
        labels: &[NamedLabel],
        deadline: Duration,
    ) -> Result<Vec<LabelFinding>, PageCheckError> {
        let begun = self.clock.mono();
        let mut found = Vec::new();
        for label in labels {
            if self.clock.mono().saturating_sub(begun) > deadline {
                let why = format!("the page took longer than {} s", deadline.as_secs());
                found.push(LabelFinding::NotChecked { why });
                continue;
            }
            found.push(self.look_for(page, label).await?);
        }
        Ok(found)
    }

    /// Looks for a label where the program stands now, and after a fresh start.
    async fn look_for(&mut self, page: &str, label: &NamedLabel) -> Result<LabelFinding, PageCheckError> {
        if self.reach(page, label).await? {
            return Ok(LabelFinding::Holds { after: self.clicked.clone() });
        }
        if !self.clicked.is_empty() {
            self.restart().await?;
            if self.reach(page, label).await? {
                return Ok(LabelFinding::Holds { after: self.clicked.clone() });
            }
        }
        Ok(LabelFinding::NotReached)
    }

    async fn restart(&mut self) -> Result<(), PageCheckError> {
        let fresh = opened(self.start, self.worlds, self.clock).await?;
        let old = std::mem::replace(&mut self.world, fresh);
        self.clicked.clear();
        Ok(old.environment.close(CLOSE).await?)
    }

    /// Clicks what the page names before a label, the nearest first, until the label is there.
    async fn reach(&mut self, page: &str, label: &NamedLabel) -> Result<bool, PageCheckError> {
        let wanted = as_label(&label.label);
        let before = page.get(..label.at).unwrap_or_default();
        let mut tried: BTreeSet<String> = BTreeSet::new();
        for _ in 0..=CLICKS {
            let nodes = self.nodes().await?;
            if nodes.iter().any(|node| as_label(&node.name) == wanted) {
                return Ok(true);
            }
            let Some((name, at)) = nearest(&nodes, before, &tried) else { return Ok(false) };
            tried.insert(name.clone());
            let act = Action::Click { at: Target::Ref(at), button: Button::Left, count: 1, hold: None };
            let done = self.world.environment.act(&act).await?;
            if done.delivery == Delivery::Delivered {
                self.clicked.push(name);
            }
        }
        Ok(false)
    }

    async fn nodes(&mut self) -> Result<Vec<UiNode>, PageCheckError> {
        let want = Want { screenshot: false, tree: Some(TreeBudget::default()) };
        let seen = self.world.environment.observe(want).await?;
        let nodes = seen.tree.map(|tree| tree.nodes).unwrap_or_default();
        Ok(nodes.into_iter().filter(|node| node.bounds.is_some() && !node.name.trim().is_empty()).collect())
    }
}

/// The element whose name stands nearest before a place of the page, as a word of it, and that was not clicked yet.
fn nearest(nodes: &[UiNode], before: &str, tried: &BTreeSet<String>) -> Option<(String, NodeRef)> {
    let places = nodes.iter().filter_map(|node| {
        let name = node.name.trim().trim_end_matches(['.', '…', ':']);
        let long = name.chars().count() >= MIN_NAME_CHARS;
        (long && !tried.contains(name)).then(|| Some((last_word(before, name)?, name, &node.id)))?
    });
    let (_, name, id) = places.max_by_key(|(at, name, _)| (*at, name.len()))?;
    Some((name.to_owned(), id.clone()))
}

/// Where a name stands last in a text, with no letter or digit beside it.
fn last_word(text: &str, name: &str) -> Option<usize> {
    let is_apart = |at: usize| {
        let (left, right) = (text[..at].chars().next_back(), text[at + name.len()..].chars().next());
        ![left, right].into_iter().flatten().any(char::is_alphanumeric)
    };
    text.rmatch_indices(name).map(|(at, _)| at).find(|at| is_apart(*at))
}

/// Asks a world for the versions of its programs. A world that does not answer is no world without programs: the reason is kept.
async fn versions_in(world: &World, domain: &str) -> Result<Versions, String> {
    let mut versions = AppVersions::default();
    match versions.query(&*world.machine, &[domain.to_owned()]).await {
        None => Err("the world runs no commands, so that it cannot be asked for a release".to_owned()),
        Some(_) => match versions.known() {
            known if version_of(&known, domain).is_some() => Ok(known),
            _ => Err(format!("neither the package nor the command of {domain} tells a release in the world")),
        },
    }
}

/// Opens a world and starts the program in it.
async fn opened(
    start: &ProgramStart,
    worlds: &dyn EnvironmentSource,
    clock: &dyn Clock,
) -> Result<World, PageCheckError> {
    let world = worlds.open(&start.world).await?;
    let Some(command) = &start.command else { return Ok(world) };
    let started = async {
        let line = Command::shell(format!("exec {command}"));
        world.machine.launch(&line).await.map_err(|error| PageCheckError::start(command, error))?;
        match await_any_window(&*world.machine, clock).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(PageCheckError::NoWindow(command.clone())),
            Err(error) => Err(PageCheckError::start(command, error)),
        }
    };
    match started.await {
        Ok(()) => Ok(world),
        Err(error) => {
            // The first failure says more than one of closing what it left.
            let _closed = world.environment.close(CLOSE).await;
            Err(error)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::last_word;

    #[test]
    fn a_name_is_a_word_of_a_page() {
        assert_eq!(last_word("Open File, then Files", "File"), Some(5));
        assert_eq!(last_word("Profile", "file"), None);
        assert_eq!(last_word("File: then the File", "File"), Some(15));
    }
}
