//! Elements of windows that lie behind another one: their window comes to the front before they are used, or what covers them is
//! named. Without it a click goes to the window above.

use apprentice_protocol::{NodeRef, ScreenPoint};
use apprentice_sandbox::{Hit, NodeFacts, Pointer};

use super::target::{self, Reach, Unreached};
use super::{ActionError, DesktopEnvironment};

impl DesktopEnvironment {
    /// How an element is reached that another window may cover.
    pub(super) async fn uncovered(
        &self,
        node: &NodeRef,
        facts: &NodeFacts,
        reach: Reach,
        what: &Pointer,
    ) -> Result<Reach, ActionError> {
        let (Reach::Point(at), Some(window)) = (reach, facts.window) else { return Ok(reach) };
        if !is_covered(self.hit(at).await?, window) {
            return Ok(reach);
        }
        let hit = self.cell.on_screen(move |screen, stop| screen.raise(window, at, stop)).await?;
        // It may lie elsewhere now, as a window that was reduced to an icon does.
        let facts = self.facts(node).await?;
        let reached = target::aim(node, &facts, what, &self.screen);
        let reach = reached
            .map_err(|(Unreached::Refused(why) | Unreached::OutOfView(why))| ActionError::Refused(why))?;
        let hit = match reach {
            Reach::Point(now) if now != at => self.hit(now).await?,
            Reach::Point(_) => hit,
            Reach::Press => return Ok(reach),
        };
        match hit {
            Hit::Window(above) if above != window => {
                let title = self.cell.on_screen(move |screen, _| screen.title(above)).await?;
                Err(ActionError::Refused(format!(
                    "{} is covered by the window {title:?}, which stays in front: use or close that first; nothing was done",
                    target::named(node, &facts)
                )))
            }
            Hit::Window(_) | Hit::Other => Ok(reach),
        }
    }

    async fn hit(&self, at: ScreenPoint) -> Result<Hit, ActionError> {
        Ok(self.cell.on_screen(move |screen, _| screen.hit(at)).await?)
    }
}

/// Returns whether another window lies on top. An open menu does not count: which window it belongs to is not known.
fn is_covered(hit: Hit, window: u32) -> bool {
    matches!(hit, Hit::Window(above) if above != window)
}
