//! Where the caret stands in the field that has the focus: the page is asked, as its accessibility tree does not tell.

use apprentice_protocol::{Detail, NodeRef, State, UiTree};
use serde::Deserialize;

use super::driver::{ActionError, Browser};

const CARET: &str = include_str!("page/caret.js");

/// What a field tells.
#[derive(Deserialize)]
#[serde(tag = "told", rename_all = "snake_case")]
enum Told {
    Selected { text: String },
    Caret { before: String, has_lines: bool, at_end: bool },
}

impl Browser {
    /// Adds the caret, or else the selection, of the field that has the focus.
    pub(super) async fn add_caret(&self, tree: &mut UiTree) -> Result<(), ActionError> {
        let mut nodes = tree.nodes.iter_mut();
        let in_use = nodes.find(|node| node.is(State::Focused) && node.is(State::Editable));
        let Some(node) = in_use else { return Ok(()) };
        match self.caret(&node.id).await {
            Ok(told) => {
                node.details.extend(told);
                Ok(())
            }
            // It went meanwhile, and has no caret any more.
            Err(ActionError::Gone(_) | ActionError::Refused(_) | ActionError::Replaced(_)) => Ok(()),
            Err(other) => Err(other),
        }
    }

    async fn caret(&self, id: &NodeRef) -> Result<Option<Detail>, ActionError> {
        let element = self.find(id).await?;
        let told: Option<Told> = self.apply(&element.session, &element.object, CARET, []).await?;
        Ok(told.map(|told| match told {
            Told::Selected { text } => Detail::selected(&text),
            Told::Caret { before, has_lines, at_end } => Detail::caret(&before, has_lines, at_end),
        }))
    }
}
