//! What a model should know about a view of a desktop besides what it shows. Pure.

use std::collections::BTreeMap;

use apprentice_protocol::{Observation, State, UiNode, Window};

/// What is said of lines that were read from a picture.
pub(super) const READ_FROM_PICTURE: &str =
    "Lines that begin with ~text were read from the picture of the window in front: letters may be wrong.";

/// Whether the window in front has its elements in the tree.
pub(super) fn lists_its_window(seen: &Observation) -> bool {
    let (Some(front), Some(tree)) = (seen.windows.iter().find(|window| window.active), &seen.tree) else {
        return true;
    };
    if front.title.is_empty() {
        return true;
    }
    let is_front =
        |node: &UiNode| node.role.is_window() && (node.is(State::Active) || node.name.contains(&front.title));
    let window = tree.nodes.iter().position(is_front).and_then(|index| u32::try_from(index).ok());
    window.is_some_and(|window| tree.nodes.iter().any(|node| node.parent == Some(window)))
}

/// The sentence about a window in front that has drawn nothing.
pub(super) fn undrawn(window: &Window) -> String {
    let title = &window.title;
    format!(
        "The window {title:?} is of one colour so far: its program may still be loading, or cannot draw here: wait, then look again."
    )
}

/// Most files that are named.
const FILES: usize = 5;

/// The sentence about files that programs wrote since the last view: many tell of a saved document by an icon alone.
pub(super) fn written(files: &[String]) -> Option<String> {
    let named: Vec<&str> = files.iter().take(FILES).map(String::as_str).collect();
    match (files, files.len() - named.len()) {
        ([], _) => None,
        ([one], _) => Some(format!("The file {one} was written since the last view.")),
        (_, 0) => Some(format!("These files were written since the last view: {}.", named.join(", "))),
        (_, more) => Some(format!(
            "These files were written since the last view: {}, and {more} more.",
            named.join(", ")
        )),
    }
}

/// What programs were doing when a view was taken.
#[derive(Clone, Debug, Default)]
pub(super) struct Work {
    /// Names of those that were still at work.
    pub(super) busy: Vec<String>,
    /// Those that a signal had stopped, by process id.
    pub(super) stopped: BTreeMap<i32, String>,
}

/// Names of the programs that have a window. One without may well be stopped, such as a job of a shell.
pub(super) fn with_windows<'a>(seen: &Observation, programs: &'a BTreeMap<i32, String>) -> Vec<&'a String> {
    let owners: Vec<i64> = seen.windows.iter().filter_map(|window| window.pid).map(i64::from).collect();
    programs.iter().filter(|(pid, _)| owners.contains(&i64::from(**pid))).map(|(_, name)| name).collect()
}

/// The sentences about a view.
pub(super) fn of(seen: &Observation, work: &Work) -> Vec<String> {
    let at_work = |name: &String| {
        let name = name.trim_end_matches(".bin");
        format!(
            "The program {name:?} is still working, so this view may be unfinished: wait, then look again."
        )
    };
    let mut told: Vec<String> = work.busy.iter().map(at_work).collect();
    told.extend(with_windows(seen, &work.stopped).into_iter().map(|name| {
        let name = name.trim_end_matches(".bin");
        format!("The program {name:?} is frozen: it was stopped by a signal, and its windows answer nothing.")
    }));
    if seen.tree.is_some() && !lists_its_window(seen) {
        let title = seen.title();
        told.push(format!(
            "The window {title:?} does not list its elements: use its picture, or the keyboard."
        ));
    }
    told
}

#[cfg(test)]
mod tests {

    use apprentice_protocol::{Observation, Rect, UiNode, UiTree, Window};

    use super::{Work, lists_its_window, of, written};

    fn node(id: u32, parent: Option<u32>, role: &str, name: &str) -> UiNode {
        UiNode::new(format!("n{id}"), parent, role, name)
    }

    #[test]
    fn a_stopped_program_with_a_window_is_named() {
        let mut view = seen("a.txt", vec![node(1, None, "window", "a.txt"), node(2, Some(0), "menubar", "")]);
        view.windows[0].pid = Some(7);
        let work =
            Work { stopped: [(7, "mousepad".to_owned()), (8, "sleep".to_owned())].into(), ..Work::default() };
        let told = of(&view, &work);
        assert!(told.len() == 1 && told[0].starts_with("The program \"mousepad\" is frozen"), "{told:?}");
    }

    fn seen(title: &str, nodes: Vec<UiNode>) -> Observation {
        let (id, bounds) = ("0x1".into(), Rect::new(0, 0, 9, 9));
        let window =
            Window { id, title: title.into(), class: String::new(), bounds, active: true, pid: None };
        let tree = Some(UiTree { nodes, truncated: None });
        Observation { windows: vec![window], tree, ..Observation::default() }
    }

    #[test]
    fn some_of_the_written_files_are_named_and_the_rest_counted() {
        let files =
            |count: usize| (1..=count).map(|number| format!("/home/user/{number}.ods")).collect::<Vec<_>>();
        assert_eq!(written(&files(0)), None);
        let one = written(&files(1)).expect("told");
        assert_eq!(one, "The file /home/user/1.ods was written since the last view.");
        let many = written(&files(7)).expect("told");
        assert!(many.ends_with("/home/user/5.ods, and 2 more.") && !many.contains("/6.ods"), "{many}");
    }

    #[test]
    fn a_message_box_lists_its_elements() {
        let nodes = vec![node(1, None, "alert", "Question"), node(2, Some(0), "button", "Cancel")];
        assert_eq!(of(&seen("Question", nodes), &Work::default()), [""; 0]);
        let empty = of(&seen("Question", vec![node(1, None, "alert", "Question")]), &Work::default());
        assert!(empty[0].starts_with("The window \"Question\" does not list"), "{empty:?}");
    }

    #[test]
    fn a_window_without_elements_and_a_busy_program_are_told() {
        let whole = seen("a.txt", vec![node(1, None, "window", "a.txt"), node(2, Some(0), "menubar", "")]);
        assert!(lists_its_window(&whole) && of(&whole, &Work::default()).is_empty());
        assert!(!lists_its_window(&seen("a.txt", vec![node(1, None, "window", "a.txt")])), "it is empty");
        let terminal = seen("xterm", vec![node(1, None, "window", "a.txt"), node(2, Some(0), "menubar", "")]);
        let busy = Work { busy: vec!["soffice.bin".into()], ..Work::default() };
        assert_eq!(
            of(&terminal, &busy),
            [
                "The program \"soffice\" is still working, so this view may be unfinished: wait, then look again.",
                "The window \"xterm\" does not list its elements: use its picture, or the keyboard.",
            ]
        );
    }
}
