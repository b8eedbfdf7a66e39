//! Writes the text about the screen for a model that gets changes: what is in front, what it may still do, and what has
//! changed in the list of elements since its last view.

use std::fmt::Write as _;

use apprentice_protocol::{BoundedText, Limits, ResourceUsage, TextBudget, UiTree, View, ViewRule};

use super::agent_loop::AgentLoop;
use super::element_changes;
use super::element_list::ElementList;
use super::known::Known;
use super::model_view::{ELEMENTS_HEADING, ModelView};

/// The line above what changed in the list of elements.
const CHANGES_HEADING: &str =
    "Changed elements (`+` new, `~` different, `-` gone; the others are as last listed):\n";
/// What a view says of an action after which nothing was drawn and no element differs. Programs may draw a moment after they
/// have come to rest, so it is said of the moment of the view.
const NO_EFFECT: &str = "The last action was delivered, and nothing on the screen has changed so far.\n";
/// Limit on the list of elements, in characters.
const LIST_BUDGET: usize = 12_000;
/// Limit on the whole text, in characters.
const TEXT_BUDGET: TextBudget = TextBudget(16_000);

impl AgentLoop<'_> {
    /// Writes the text of a view for a model that gets changes.
    pub(super) fn tell(&mut self, sight: &mut ModelView) {
        let profile = self.attempt.model.profile();
        if profile.views != ViewRule::Changes {
            return;
        }
        let mut text = sight.text.as_str().to_owned();
        for remark in &sight.observation.remarks {
            text.push_str(remark);
            text.push('\n');
        }
        let tree = sight.observation.tree.as_ref().filter(|_| profile.outline);
        let list = tree.map(|tree| (list_after(&self.known, tree, &sight.view), tree.truncated));
        let now = list.as_ref().map(|(list, _)| list);
        text.push_str(effect_line(sight.observation.nothing_drawn, self.known.list(), now));
        if self.budget.spent().turns == 0 {
            text.push_str(&range_line(&sight.view));
        }
        text.push_str(&limits_line(&self.attempt.brief.limits, &self.budget.spent()));
        if let Some((list, truncated)) = &list {
            text.push_str(&list_text(&self.known, list));
            if let Some(why) = truncated {
                let _ = writeln!(text, "[the list is not whole: the budget of {why:?} ran out]");
            }
        }
        self.known = list.map_or_else(Known::default, |(list, _)| Known::List(list));
        sight.told = Some(BoundedText::cut(&text, TEXT_BUDGET));
    }
}

/// What is said of an action without an effect. Where the list of elements shows changes, nothing is: elements may change
/// without being drawn. A list that cannot be compared shows none.
fn effect_line(nothing_drawn: bool, known: Option<&ElementList>, now: Option<&ElementList>) -> &'static str {
    let shows_changes = known.zip(now).is_some_and(|(known, now)| !known.lists_the_same(now));
    if nothing_drawn && !shows_changes { NO_EFFECT } else { "" }
}

/// The list of a tree, which remembers what was told of elements that are not listed now.
fn list_after(known: &Known, tree: &UiTree, view: &View) -> ElementList {
    let list = ElementList::of(tree, view);
    match known.list() {
        Some(known) => list.after(known),
        None => list,
    }
}

/// Writes the elements of a screen as a model gets them after it has seen the elements of `before`.
pub fn view_text(before: Option<&UiTree>, now: &UiTree, view: &View) -> String {
    let known = before.map_or_else(Known::default, |tree| Known::List(ElementList::of(tree, view)));
    list_text(&known, &list_after(&known, now, view))
}

/// The texts of the views of a screen, one after the other, as a model gets them.
#[derive(Debug, Default)]
pub struct ViewTexts {
    known: Known,
}

impl ViewTexts {
    /// Writes the next view.
    pub fn next(&mut self, tree: &UiTree, view: &View) -> String {
        let list = list_after(&self.known, tree, view);
        let text = list_text(&self.known, &list);
        self.known = Known::List(list);
        text
    }
}

/// The whole list, or what changed in it.
fn list_text(known: &Known, list: &ElementList) -> String {
    let changes = known.list().and_then(|known| element_changes::write(known, list));
    match changes.filter(|changes| changes.len() <= LIST_BUDGET) {
        Some(changes) => format!("{CHANGES_HEADING}{changes}"),
        None if list.lines.is_empty() => {
            format!("{ELEMENTS_HEADING}[no program lists its elements: use the picture, or keys]\n")
        }
        None => format!("{}{ELEMENTS_HEADING}{}", known.why_whole(), list.write(LIST_BUDGET)),
    }
}

/// The range of the coordinates, which is told once.
fn range_line(view: &View) -> String {
    let (right, bottom) = view.extent();
    format!("Coordinates x,y go from 0,0 at the top left to {right},{bottom} at the bottom right.\n")
}

/// What the model may still do.
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
        let told = |drawn_nothing, known: Option<&str>, now: Option<&str>| {
            let (known, now) = (known.map(list), now.map(list));
            effect_line(drawn_nothing, known.as_ref(), now.as_ref()) == NO_EFFECT
        };
        assert!(
            told(true, Some("a"), Some("a")) && told(true, None, Some("a")) && told(true, Some("a"), None)
        );
        assert!(!told(true, Some("a"), Some("b")), "the list shows a change");
        assert!(!told(false, Some("a"), Some("a")), "something was drawn");
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
