//! Answers what an observation can answer: a part of the tree, elements by words, the tabs. Pure.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use apprentice_protocol::{
    NodeRef, Observation, PageReading, ReadFilter, State, TextBudget, UiNode, UiTree, View, outline,
};

use super::element_search::{self, is_interactive};

/// Room for the notes below an outline, in characters.
const NOTES: usize = 300;

/// What an answer says where not all elements were read.
const NOT_ALL_SEARCHED: &str = "[not all elements of this screen were read: what is far from its visible part may be missing; scroll \
    there and find again, or read the text]\n";

/// Answers a reading, or says why it cannot.
pub(crate) fn answer(
    what: &PageReading,
    seen: &Observation,
    view: &View,
    budget: TextBudget,
) -> Result<String, String> {
    let tree = || seen.tree.as_ref().ok_or("this world has no list of elements");
    let text = match what {
        PageReading::Tree { filter, depth, part } => {
            let part = Part { filter: *filter, depth: *depth, root: part.as_ref() };
            part.read(tree()?, view, TextBudget(budget.0.saturating_sub(NOTES)))?
        }
        PageReading::Find { query } => {
            let found = element_search::find(tree()?, query, view)?;
            found + if tree()?.truncated.is_some() { NOT_ALL_SEARCHED } else { "" }
        }
        PageReading::Tabs if seen.tabs.is_empty() => return Err("this world has no tabs".into()),
        PageReading::Tabs => seen.tabs.iter().map(|tab| tab.line() + "\n").collect(),
        PageReading::Text | PageReading::Console | PageReading::Network => {
            return Err("this world has no page to read".into());
        }
    };
    Ok(format!("{}\n{text}", what.heading()))
}

/// A part of a tree.
struct Part<'r> {
    filter: ReadFilter,
    depth: u32,
    root: Option<&'r NodeRef>,
}

impl Part<'_> {
    fn read(&self, tree: &UiTree, view: &View, budget: TextBudget) -> Result<String, String> {
        let start = match self.root {
            None => 0,
            Some(root) => tree
                .nodes
                .iter()
                .position(|node| node.id == *root)
                .ok_or_else(|| format!("element #{root} is not here now; read without it, or find it"))?,
        };
        let (part, too_deep) = self.cut(tree, start);
        let mut text = outline(&part, view, budget).as_str().to_owned();
        if part.nodes.is_empty() {
            text.push_str("[no such element]\n");
        }
        if text.ends_with("do not fit]\n") {
            text.push_str("[read a part by its reference, or only elements that can be acted on]\n");
        }
        if too_deep > 0 {
            let _ = writeln!(
                text,
                "[{too_deep} elements are deeper than {} levels: give a greater depth, or a part by its reference]",
                self.depth
            );
        }
        Ok(text)
    }

    /// The part as a tree of its own, and the number of elements that lie too deep for it.
    fn cut(&self, tree: &UiTree, start: usize) -> (UiTree, usize) {
        let depths = tree.depths();
        let base = depths.get(start).copied().unwrap_or_default();
        let inside = |index: usize| {
            index == start
                || (index > start && depths[start..=index].iter().skip(1).all(|depth| *depth > base))
        };
        let end = (start..tree.nodes.len()).find(|index| self.root.is_some() && !inside(*index));
        let end = end.unwrap_or(tree.nodes.len());
        let mut part = UiTree { nodes: Vec::new(), truncated: tree.truncated };
        // For each element, the nearest element of the part that holds it or is it.
        let mut holders: BTreeMap<u32, u32> = BTreeMap::new();
        let mut too_deep = 0;
        for (index, node) in tree.nodes.iter().enumerate().take(end).skip(start) {
            let holder = node.parent.and_then(|parent| holders.get(&parent).copied());
            let mut place = holder;
            let wanted = self.filter == ReadFilter::All || is_interactive(node);
            if depths[index] - base > self.depth {
                too_deep += usize::from(wanted && !node.is(State::Hidden));
            } else if wanted {
                place = u32::try_from(part.nodes.len()).ok();
                part.nodes.push(UiNode { parent: holder, ..node.clone() });
            }
            if let (Ok(index), Some(place)) = (u32::try_from(index), place) {
                holders.insert(index, place);
            }
        }
        (part, too_deep)
    }
}

#[cfg(test)]
mod tests {

    use apprentice_protocol::{
        NodeRef, Observation, PageReading, ReadFilter, Size, Tab, TextBudget, UiNode, UiTree, View,
    };

    use super::answer;

    fn tree(nodes: &[(Option<u32>, &str, &str)]) -> UiTree {
        let node = |(index, (parent, role, name)): (usize, &(Option<u32>, &str, &str))| {
            UiNode::new(format!("n{index}"), *parent, role, *name)
        };
        UiTree { nodes: nodes.iter().enumerate().map(node).collect(), truncated: None }
    }

    fn page() -> Observation {
        let tree = tree(&[
            (None, "document", "Shop"),
            (Some(0), "form", "Order"),
            (Some(1), "group", ""),
            (Some(2), "textbox", "Street"),
            (Some(1), "button", "Send"),
            (Some(0), "heading", "News"),
            (Some(5), "link", "More"),
        ]);
        Observation { tree: Some(tree), ..Observation::default() }
    }

    fn read(filter: ReadFilter, depth: u32, part: Option<&str>, budget: usize) -> Result<String, String> {
        let part = part.map(|part| NodeRef(part.into()));
        let what = PageReading::Tree { filter, depth, part };
        answer(&what, &page(), &View::whole(Size::new(800, 600)), TextBudget(budget))
    }

    #[test]
    fn parts_levels_and_kinds_of_a_tree_are_read() {
        let check = |filter, depth, part, expected: &str| {
            assert_eq!(
                read(filter, depth, part, 9000).expect("reads"),
                format!("Elements of the page:\n{expected}")
            );
        };
        check(
            ReadFilter::Interactive,
            15,
            None,
            "textbox \"Street\" #n3\nbutton \"Send\" #n4\nlink \"More\" #n6\n",
        );
        check(
            ReadFilter::All,
            15,
            Some("n1"),
            "form \"Order\" #n1\n  textbox \"Street\" #n3\n  button \"Send\" #n4\n",
        );
        let deeper =
            "[1 elements are deeper than 1 levels: give a greater depth, or a part by its reference]\n";
        check(ReadFilter::All, 1, Some("n5"), "heading \"News\" #n5\n  link \"More\" #n6\n");
        check(
            ReadFilter::All,
            1,
            Some("n1"),
            &format!("form \"Order\" #n1\n  button \"Send\" #n4\n{deeper}"),
        );
        check(
            ReadFilter::Interactive,
            15,
            Some("n0"),
            "textbox \"Street\" #n3\nbutton \"Send\" #n4\nlink \"More\" #n6\n",
        );
        assert!(
            read(ReadFilter::All, 15, Some("n9"), 9000).is_err_and(|why| why.contains("#n9 is not here"))
        );
    }

    #[test]
    fn a_tree_that_does_not_fit_says_so() {
        let text = read(ReadFilter::All, 15, None, 430).expect("reads");
        assert!(text.contains("more elements do not fit]\n[read a part by its reference"), "{text}");
        assert!(text.chars().count() <= 430, "{text}");
    }

    #[test]
    fn tabs_are_listed_and_a_world_without_them_says_so() {
        let view = View::whole(Size::new(8, 8));
        let tab = Tab { id: "t1".into(), title: "A".into(), url: "http://a/".into(), active: true };
        let seen = Observation { tabs: vec![tab], ..Observation::default() };
        let told = answer(&PageReading::Tabs, &seen, &view, TextBudget(900));
        assert_eq!(told.as_deref(), Ok("Tabs:\nTab: t1 \"A\" http://a/ (in front)\n"));
        assert!(answer(&PageReading::Tabs, &Observation::default(), &view, TextBudget(900)).is_err());
    }
}
