//! Which part of a long text of a page is on the screen: the page is asked, as its accessibility tree does not tell.

use apprentice_protocol::{NodeRef, UiNode, UiTree, VisibleText};
use serde::Deserialize;
use serde_json::json;

use super::driver::{ActionError, Browser};

const DRAWN_TEXT: &str = include_str!("page/drawn_text.js");
const VISIBLE_TEXT: &str = include_str!("page/visible_text.js");

/// A text of fewer characters is told whole.
const SHORT: usize = 400;
/// Most texts of one page that are asked about: each takes two calls.
const MOST: usize = 8;

/// Most characters of a text that is drawn in the place of a field, and most fields that are asked.
const DRAWN: usize = 2000;
const DRAWN_FIELDS: usize = 4;

/// A text and the part of it that shows, in the UTF-16 units that a page counts in.
#[derive(Deserialize)]
struct Shown {
    text: String,
    start: usize,
    end: usize,
}

impl Browser {
    /// Adds the visible parts of the long texts that show first. What a page does not tell is left out.
    pub(super) async fn add_visible_texts(&self, tree: &mut UiTree) -> Result<(), ActionError> {
        let long: Vec<(usize, NodeRef)> = tree
            .nodes
            .iter()
            .enumerate()
            .filter_map(|(index, node)| {
                let text = if node.role.as_str() == "text" { Some(&node.name) } else { node.value.as_ref() };
                // More bytes than characters are no harm: the page tells a short text whole.
                (text.is_some_and(|text| text.len() > SHORT) && node.bounds.is_some())
                    .then(|| (index, node.id.clone()))
            })
            .take(MOST)
            .collect();
        for (index, id) in long {
            let part = match self.visible_part(&id).await {
                Ok(part) => part,
                Err(ActionError::Gone(_) | ActionError::Refused(_) | ActionError::Replaced(_)) => None,
                Err(other) => return Err(other),
            };
            if let Some(node) = tree.nodes.get_mut(index) {
                node.visible = part;
            }
        }
        Ok(())
    }

    /// Adds the texts that are drawn in the place of fields which tell none themselves.
    pub(super) async fn add_drawn_texts(
        &self,
        tree: &mut UiTree,
        stood_for: &[NodeRef],
    ) -> Result<(), ActionError> {
        let is_empty = |node: &&mut UiNode| node.value.as_deref().unwrap_or_default().is_empty();
        let fields = tree.nodes.iter_mut().filter(|node| stood_for.contains(&node.id)).filter(is_empty);
        for node in fields.take(DRAWN_FIELDS) {
            match self.drawn_text(&node.id).await {
                Ok(text) if !text.is_empty() => node.value = Some(text),
                Ok(_) | Err(ActionError::Gone(_) | ActionError::Refused(_) | ActionError::Replaced(_)) => {}
                Err(other) => return Err(other),
            }
        }
        Ok(())
    }

    async fn drawn_text(&self, id: &NodeRef) -> Result<String, ActionError> {
        let element = self.find(id).await?;
        self.apply(&element.session, &element.object, DRAWN_TEXT, [json!(DRAWN)]).await
    }

    async fn visible_part(&self, id: &NodeRef) -> Result<Option<VisibleText>, ActionError> {
        let element = self.find(id).await?;
        let shown: Option<Shown> = self.apply(&element.session, &element.object, VISIBLE_TEXT, []).await?;
        Ok(shown.map(|shown| part(&shown)))
    }
}

fn part(shown: &Shown) -> VisibleText {
    let units: Vec<u16> = shown.text.encode_utf16().collect();
    let characters = |end: usize| String::from_utf16_lossy(&units[..end.min(units.len())]).chars().count();
    VisibleText::between(&shown.text, characters(shown.start), characters(shown.end))
}

#[cfg(test)]
mod tests {
    use super::{Shown, part};

    #[test]
    fn a_page_counts_in_other_units() {
        let shown = Shown { text: "😀 one\ntwo\nthree".into(), start: 7, end: 11 };
        let found = part(&shown);
        assert_eq!((found.text.as_str(), found.line, found.lines), ("two", 2, 3));
    }
}
