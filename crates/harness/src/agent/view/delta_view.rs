//! Writes the text about the screen for a model that gets changes: what is in front, what it may still do, and what has
//! changed in the list of elements since its last view.

use apprentice_protocol::{
    BoundedText, Limits, ModelProfile, ResourceUsage, TextBudget, TruncationCause, UiTree, View,
};

use super::element_changes;
use super::element_list::ElementList;
use super::last_view::LastView;
use super::model_view::{ELEMENTS_HEADING, ModelView};

/// The line above what changed in the list of elements.
const CHANGES_HEADING: &str =
    "Changed elements (`+` new, `~` different, `-` gone; the others are as last listed):\n";
/// What a view says of an action after which nothing was drawn and no element differs. Programs may draw a moment after they
/// have come to rest, so it is said of the moment of the view.
pub(super) const NO_EFFECT: &str =
    "The last action was delivered, and nothing on the screen has changed so far.\n";
/// Limit on the list of elements, in characters.
const LIST_BUDGET: usize = 12_000;
/// Limit on the whole text, in characters.
const TEXT_BUDGET: TextBudget = TextBudget(16_000);

/// Writes the text of a view for a model that gets changes, and remembers the elements that it lists.
pub(crate) fn write(
    view: &ModelView,
    last: &mut LastView,
    profile: &ModelProfile,
    limits: &Limits,
    spent: &ResourceUsage,
) -> BoundedText {
    let observation = &view.observation;
    let mut text = view.text.as_str().to_owned();
    for remark in &observation.remarks {
        text.push_str(remark);
        text.push('\n');
    }
    let tree = observation.tree.as_ref().filter(|_| profile.outline);
    let list = tree.map(|tree| (list_after(last, tree, &view.mapping), tree.truncated));
    let now = list.as_ref().map(|(list, _)| list);
    text.push_str(effect_line(observation.nothing_drawn, last.list(), now));
    if spent.turns == 0 {
        text.push_str(&range_line(&view.mapping));
    }
    text.push_str(&limits_line(limits, spent));
    if let Some((list, truncated)) = &list {
        text.push_str(&list_text(last, list));
        if let Some(reason) = truncated {
            text.push_str(not_whole(*reason));
        }
    }
    *last = list.map_or_else(LastView::default, |(list, _)| LastView::List(list));
    BoundedText::cut(&text, TEXT_BUDGET)
}

/// Returns what is said of a list that lacks elements.
fn not_whole(why: TruncationCause) -> &'static str {
    match why {
        TruncationCause::Time | TruncationCause::Nodes => {
            "[not all elements were read: those on the screen and around it are; scroll to read others]\n"
        }
        TruncationCause::Depth => "[the list is not whole: some elements are too deep within others]\n",
    }
}

/// What is said of an action without an effect. Where the list of elements shows changes, nothing is: elements may change
/// without being drawn. A list that cannot be compared shows none.
fn effect_line(nothing_drawn: bool, last: Option<&ElementList>, now: Option<&ElementList>) -> &'static str {
    let shows_changes = last.zip(now).is_some_and(|(last, now)| !last.lists_the_same(now));
    if nothing_drawn && !shows_changes { NO_EFFECT } else { "" }
}

/// Returns the list of a tree, which remembers what was shown of elements that are not listed now.
pub(super) fn list_after(last: &LastView, tree: &UiTree, view: &View) -> ElementList {
    let list = ElementList::of(tree, view);
    match last.list() {
        Some(last) => list.after(last),
        None => list,
    }
}

/// Writes the elements of a screen as a model gets them after it has seen the elements of `before`.
pub fn view_text(before: Option<&UiTree>, now: &UiTree, view: &View) -> String {
    let last = before.map_or_else(LastView::default, |tree| LastView::List(ElementList::of(tree, view)));
    list_text(&last, &list_after(&last, now, view))
}

/// Writes the texts of the views of a screen, one after the other, as a model gets them.
#[derive(Debug, Default)]
pub struct ViewTexts {
    last: LastView,
}

impl ViewTexts {
    /// Writes the next view.
    pub fn next(&mut self, tree: &UiTree, view: &View) -> String {
        let list = list_after(&self.last, tree, view);
        let text = list_text(&self.last, &list);
        self.last = LastView::List(list);
        text
    }
}

/// Writes the whole list, or what changed in it.
fn list_text(last: &LastView, list: &ElementList) -> String {
    let changes = last.list().and_then(|last| element_changes::write(last, list));
    match changes.filter(|changes| changes.len() <= LIST_BUDGET) {
        Some(changes) => format!("{CHANGES_HEADING}{changes}"),
        None if list.lines.is_empty() => {
            format!("{ELEMENTS_HEADING}[no program lists its elements: use the picture, or keys]\n")
        }
        None => format!("{}{ELEMENTS_HEADING}{}", last.why_whole(), list.write(LIST_BUDGET)),
    }
}

/// Writes the range of the coordinates, which the first view has.
fn range_line(view: &View) -> String {
    let (right, bottom) = view.extent();
    format!("Coordinates x,y go from 0,0 at the top left to {right},{bottom} at the bottom right.\n")
}

/// Writes what the model may still do.
fn limits_line(limits: &Limits, spent: &ResourceUsage) -> String {
    let turn = spent.turns + 1;
    let last = if turn >= limits.turns { " (your last)" } else { "" };
    let left = limits.world_steps.saturating_sub(spent.world_steps);
    format!("Turn {turn} of {}{last}; {left} of {} actions left.\n", limits.turns, limits.world_steps)
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::{Limits, NodeRef, ResourceUsage, Size, View};

    use super::{ElementList, NO_EFFECT, effect_line, limits_line, range_line};

    #[test]
    fn the_range_of_coordinates_is_that_of_the_picture() {
        let expected = "Coordinates x,y go from 0,0 at the top left to 1280,800 at the bottom right.\n";
        assert_eq!(range_line(&View::whole(Size::new(1280, 800))), expected);
    }

    #[test]
    fn an_action_without_an_effect_is_told_unless_changes_are_shown() {
        let list = |focus: &str| ElementList { focus: Some(NodeRef(focus.into())), ..ElementList::default() };
        let says_so = |drawn_nothing, last: Option<&str>, now: Option<&str>| {
            let (last, now) = (last.map(list), now.map(list));
            effect_line(drawn_nothing, last.as_ref(), now.as_ref()) == NO_EFFECT
        };
        assert!(
            says_so(true, Some("a"), Some("a"))
                && says_so(true, None, Some("a"))
                && says_so(true, Some("a"), None)
        );
        assert!(!says_so(true, Some("a"), Some("b")), "the list shows a change");
        assert!(!says_so(false, Some("a"), Some("a")), "something was drawn");
    }

    #[test]
    fn a_model_is_told_what_is_left() {
        let limits = Limits { world_steps: 25, turns: 3, ..Limits::default() };
        let check = |turns, world_steps, expected: &str| {
            let spent = ResourceUsage { turns, world_steps, ..ResourceUsage::default() };
            assert_eq!(limits_line(&limits, &spent), format!("{expected}\n"));
        };
        check(0, 0, "Turn 1 of 3; 25 of 25 actions left.");
        check(1, 7, "Turn 2 of 3; 18 of 25 actions left.");
        check(2, 30, "Turn 3 of 3 (your last); 0 of 25 actions left.");
    }
}
