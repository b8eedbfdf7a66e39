//! Where the caret stands in the field that has the focus: the page is asked, as its accessibility tree does not tell.

use apprentice_protocol::{Detail, NodeRef, State, TextPlace, UiTree};
use serde::Deserialize;

use super::driver::{ActionError, Browser};

const CARET: &str = include_str!("page/caret.js");

/// What a field tells.
#[derive(Deserialize)]
struct Told {
    /// What is selected.
    text: Option<String>,
    /// Where the caret stands, or the selection begins. Parts of a page that can be edited do not tell it.
    place: Option<Place>,
}

#[derive(Deserialize)]
struct Place {
    before: String,
    after: String,
    has_lines: bool,
}

impl Told {
    fn details(&self) -> Vec<Detail> {
        let place = self.place.as_ref().map(|Place { before, after, has_lines }| TextPlace {
            before,
            after,
            has_lines: *has_lines,
        });
        match &self.text {
            Some(text) => {
                std::iter::once(Detail::selected(text)).chain(place.map(Detail::selection_start)).collect()
            }
            None => place.map(Detail::caret).into_iter().collect(),
        }
    }
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

    async fn caret(&self, id: &NodeRef) -> Result<Vec<Detail>, ActionError> {
        let element = self.find(id).await?;
        let told: Option<Told> = self.apply(&element.session, &element.object, CARET, []).await?;
        Ok(told.map(|told| told.details()).unwrap_or_default())
    }
}
