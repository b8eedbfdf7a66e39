//! Observes a page: when it has settled, its elements, its picture and the tabs.

use apprentice_protocol::{Observation, Want, WorldError, WorldErrorKind};

use super::driver::ActionError;
use super::page_fault::WAYS_OUT;
use super::page_state::BrowserState;
use super::snapshot::dialog_tree;
use super::world::BrowserEnvironment;

impl BrowserEnvironment {
    pub(super) async fn look(&mut self, want: Want) -> Result<Observation, WorldError> {
        // A dialog may open or a process may change during the observation; then it is repeated.
        for _ in 0..3 {
            match self.try_look(want).await {
                Ok(seen) => return Ok(seen),
                Err(ActionError::Dialog(dialog)) => {
                    let message = dialog.describe();
                    return Ok(Observation {
                        tree: want.tree.map(|_| dialog_tree(message.clone())),
                        tabs: self.browser.list_tabs(),
                        dialog: Some(message),
                        ..Observation::default()
                    });
                }
                // The page can neither be read nor shown. That it is so is what there is to see.
                Err(ActionError::Page(message)) => return Ok(self.nothing_to_see(want, message)),
                Err(ActionError::World(error)) => return Err(error),
                Err(ActionError::Replaced(_) | ActionError::Refused(_) | ActionError::Gone(_)) => {
                    self.calm = false;
                }
            }
        }
        let message =
            format!("the page is replaced by another again and again, and cannot be read: {WAYS_OUT}");
        Ok(self.nothing_to_see(want, message))
    }

    /// What a lost world is told as where it is not lost: the page took more than its world has, and its process was ended for it.
    pub(super) async fn excuse(&self, error: WorldError) -> Result<String, WorldError> {
        let error = self.ending.cause(error).await;
        let notices = self.ending.cell.take_notices();
        let is_page = error.fault == WorldErrorKind::Lost && !notices.is_empty();
        if is_page && self.browser.watch().with(BrowserState::blame_page) {
            return Ok(format!("{}: {WAYS_OUT}", notices.join("; ")));
        }
        Err(error)
    }

    /// What is seen of a page that shows nothing: why.
    pub(super) fn nothing_to_see(&self, want: Want, message: String) -> Observation {
        Observation {
            tree: want.tree.map(|_| dialog_tree(message)),
            tabs: self.browser.list_tabs(),
            ..Observation::default()
        }
    }

    async fn try_look(&mut self, want: Want) -> Result<Observation, ActionError> {
        if !std::mem::take(&mut self.calm) {
            self.browser.settle().await?;
        }
        let browser = &self.browser;
        let tree = async {
            Ok(match &want.tree {
                Some(budget) => {
                    let mut tree = browser.tree(budget).await?;
                    browser.add_visible_texts(&mut tree).await?;
                    browser.add_caret(&mut tree).await?;
                    Some(tree)
                }
                None => None,
            })
        };
        let screenshot = async {
            match browser.picture().await {
                // A page that is too large to be drawn in time may still list its elements.
                Err(ActionError::Page(_)) if want.tree.is_some() => Ok(None),
                other => other.map(Some),
            }
        };
        let screenshot = async { if want.screenshot { screenshot.await } else { Ok(None) } };
        // The browser encodes the picture while the page lists its elements.
        let (tree, screenshot, ()) = tokio::try_join!(tree, screenshot, browser.refresh_tabs())?;
        let screenshot = match screenshot {
            Some(picture) => Some(browser.renewed(picture).await?.image),
            None => None,
        };
        Ok(Observation { screenshot, tree, tabs: self.browser.list_tabs(), ..Observation::default() })
    }
}
