//! Descriptions of actions in a few words, for models and for people.

use crate::{Action, Button, FieldValue, History, ImagePoint, PageReading, ScreenPoint, TabAction, Target};

/// How much a description tells about an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionDetail {
    /// No points and no amounts, and texts cut to 80 characters: what stays the same when the task is done again.
    Brief,
    /// Amounts and whole texts, but no points: for a line that also names the target.
    Line,
    /// Everything, with points in pixels of the picture.
    Full,
}

/// Maximum number of characters of a text in a brief description.
const TEXT: usize = 80;

impl<P> Action<P> {
    /// Describes the action in a few words: `double click`, `type "abc"`, `key ctrl+s`.
    pub fn describe(&self) -> String {
        words(self, ActionDetail::Brief, &|_| String::new())
    }
}

impl Action<ImagePoint> {
    /// Describes the action in this detail: `double click at 3, 4`, `key ctrl+s for 200 ms`.
    pub fn text(&self, detail: ActionDetail) -> String {
        words(self, detail, &|point| format!("{:.0}, {:.0}", point.x, point.y))
    }
}

impl Action<ScreenPoint> {
    /// Describes the action in this detail, with points in pixels of the screen.
    pub fn text(&self, detail: ActionDetail) -> String {
        words(self, detail, &|point| format!("{}, {}", point.x, point.y))
    }
}

fn words<P>(action: &Action<P>, detail: ActionDetail, point: &dyn Fn(&P) -> String) -> String {
    let brief = detail == ActionDetail::Brief;
    let place = |target: &Target<P>| match target {
        _ if detail != ActionDetail::Full => String::new(),
        Target::Point(at) => format!(" at {}", point(at)),
        Target::Ref(node) => format!(" on #{node}"),
    };
    let here = |target: &Option<Target<P>>| match target {
        Some(target) => place(target),
        None if detail == ActionDetail::Full => " where the pointer is".to_owned(),
        None => String::new(),
    };
    match action {
        Action::Click { at, button, count, hold } => {
            let held = hold.as_ref().map(|hold| format!(" holding {hold}")).unwrap_or_default();
            format!("{}{}click{}{held}", times(*count), side(*button), place(at))
        }
        Action::Move { to } => format!("move the pointer{}", place(to)),
        Action::Press { at, button } => format!("{}press{}", side(*button), here(at)),
        Action::Release { at, button } => format!("{}release{}", side(*button), here(at)),
        Action::Drag { path, button } => match (path.first(), path.last()) {
            (Some(from), Some(to)) if detail == ActionDetail::Full => {
                format!("{}drag from {} to {}", side(*button), point(from), point(to))
            }
            _ => format!("{}drag", side(*button)),
        },
        Action::Scroll { dx, dy, .. } if brief => format!("scroll {}", direction(*dx, *dy)),
        Action::Scroll { at, dx, dy } => format!("scroll {dx} across, {dy} down{}", here(at)),
        Action::Type { text } => format!("type {}", quoted(text, brief)),
        Action::Key { chord, hold_ms: Some(ms) } if !brief => format!("key {chord} for {ms} ms"),
        Action::Key { chord, .. } => format!("key {chord}"),
        Action::KeyDown { keys } => format!("hold {keys} down"),
        Action::KeyUp { keys } => format!("let go of {keys}"),
        Action::Hold { keys, actions } => {
            let inner: Vec<String> = actions.iter().map(|action| words(action, detail, point)).collect();
            format!("{} holding {keys}", inner.join(", "))
        }
        Action::Cursor => "ask where the pointer is".to_owned(),
        Action::Wait { ms } if brief => format!("wait {} s", f64::from(*ms) / 1000.0),
        Action::Wait { ms } => format!("wait {ms} ms"),
        Action::Screenshot => "screenshot".to_owned(),
        Action::Zoom { region: [from, to] } if detail == ActionDetail::Full => {
            format!("zoom to {} – {}", point(from), point(to))
        }
        Action::Zoom { .. } => "zoom".to_owned(),
        Action::Select { at, option } => format!("select {}{}", quoted(option, brief), place(at)),
        Action::ScrollTo { at } => format!("scroll it into view{}", place(at)),
        Action::Fill { at, value } => format!("fill {}{}", value_words(value, brief), place(at)),
        Action::Upload { at, files } => format!("upload {}{}", quoted(&files.join(", "), brief), place(at)),
        Action::Read { what } => reading_words(what, brief),
        Action::Script { source } => format!("run the script {}", quoted(source, brief)),
        Action::Navigate { url } if brief => format!("navigate {}", quoted(url, brief)),
        Action::Navigate { url } => format!("open {url}"),
        Action::History { go: History::Back } => "go back".to_owned(),
        Action::History { go: History::Forward } => "go forward".to_owned(),
        Action::History { go: History::Reload } => "reload".to_owned(),
        Action::Tab { tab } => tab_words(tab, brief),
        Action::Dialog { accept, text } => dialog_words(*accept, text.as_deref().filter(|_| !brief)),
    }
}

fn dialog_words(accept: bool, text: Option<&str>) -> String {
    let answer = if accept { "accept" } else { "dismiss" };
    let text = text.map(|text| format!(" with {text:?}")).unwrap_or_default();
    format!("{answer} the dialog{text}")
}

fn tab_words(tab: &TabAction, brief: bool) -> String {
    match tab {
        TabAction::Open { url: Some(url) } if !brief => format!("open a tab with {url}"),
        TabAction::Open { .. } => "open a tab".to_owned(),
        TabAction::Switch { .. } if brief => "switch to another tab".to_owned(),
        TabAction::Switch { id } => format!("switch to tab {id}"),
        TabAction::Close { .. } if brief => "close a tab".to_owned(),
        TabAction::Close { id } => format!("close tab {id}"),
    }
}

fn value_words(value: &FieldValue, brief: bool) -> String {
    match value {
        FieldValue::Checked(true) => "on".to_owned(),
        FieldValue::Checked(false) => "off".to_owned(),
        FieldValue::Text(text) => quoted(text, brief),
        FieldValue::Several(texts) => quoted(&texts.join(", "), brief),
    }
}

fn reading_words(what: &PageReading, brief: bool) -> String {
    match what {
        PageReading::Tree { part: Some(part), .. } if !brief => format!("read the elements in #{part}"),
        PageReading::Tree { .. } => "read the elements".to_owned(),
        PageReading::Find { query } => format!("find {}", quoted(query, brief)),
        PageReading::Text => "read the text".to_owned(),
        PageReading::Console => "read the console".to_owned(),
        PageReading::Network => "read the requests".to_owned(),
        PageReading::Tabs => "list the tabs".to_owned(),
    }
}

fn times(count: u8) -> String {
    match count {
        0 | 1 => String::new(),
        2 => "double ".to_owned(),
        3 => "triple ".to_owned(),
        more => format!("{more}-fold "),
    }
}

fn side(button: Button) -> &'static str {
    match button {
        Button::Left => "",
        Button::Middle => "middle ",
        Button::Right => "right ",
        Button::Back => "back ",
        Button::Forward => "forward ",
    }
}

fn direction(dx: i32, dy: i32) -> &'static str {
    match (dx.signum(), dy.signum()) {
        (0, -1) => "up",
        (0, _) => "down",
        (-1, _) => "left",
        (_, _) => "right",
    }
}

fn quoted(text: &str, brief: bool) -> String {
    let end = text.char_indices().nth(TEXT).filter(|_| brief).map_or(text.len(), |(end, _)| end);
    format!("{:?}", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::{ActionDetail, TEXT};
    use crate::{
        Action, Button, Chord, FieldValue, ImagePoint, NodeRef, PageReading, ReadFilter, TabAction, Target,
    };

    fn check(action: &Action<ImagePoint>, brief: &str, line: &str, full: &str) {
        let details = [ActionDetail::Brief, ActionDetail::Line, ActionDetail::Full];
        assert_eq!(details.map(|detail| action.text(detail)), [brief, line, full]);
        assert_eq!(action.describe(), brief);
    }

    #[test]
    fn one_action_in_three_details() {
        let at = Target::Point(ImagePoint { x: 3.4, y: 5.0 });
        let click = |count, button| Action::Click { at: at.clone(), button, count, hold: None };
        check(&click(1, Button::Left), "click", "click", "click at 3, 5");
        check(
            &click(3, Button::Right),
            "triple right click",
            "triple right click",
            "triple right click at 3, 5",
        );
        check(&click(4, Button::Left), "4-fold click", "4-fold click", "4-fold click at 3, 5");
        let to = Target::Ref(NodeRef("7".into()));
        check(&Action::Move { to }, "move the pointer", "move the pointer", "move the pointer on #7");
        let press = Action::Press { at: None, button: Button::Left };
        check(&press, "press", "press", "press where the pointer is");
        let path = vec![ImagePoint { x: 1.0, y: 2.0 }, ImagePoint { x: 3.0, y: 4.0 }];
        check(&Action::Drag { path, button: Button::Left }, "drag", "drag", "drag from 1, 2 to 3, 4");
        let scroll = Action::Scroll { at: Some(at.clone()), dx: 0, dy: -2 };
        check(&scroll, "scroll up", "scroll 0 across, -2 down", "scroll 0 across, -2 down at 3, 5");
        check(&Action::Wait { ms: 500 }, "wait 0.5 s", "wait 500 ms", "wait 500 ms");
        let select = Action::Select { at, option: "A4".into() };
        check(&select, "select \"A4\"", "select \"A4\"", "select \"A4\" at 3, 5");
        let url = "https://garden.example/".to_owned();
        let open = format!("open {url}");
        check(&Action::Navigate { url: url.clone() }, "navigate \"https://garden.example/\"", &open, &open);
        let with = format!("open a tab with {url}");
        check(&Action::Tab { tab: TabAction::Open { url: Some(url) } }, "open a tab", &with, &with);
        let at = Target::Ref(NodeRef("7".into()));
        let fill = Action::Fill { at: at.clone(), value: FieldValue::Checked(false) };
        check(&fill, "fill off", "fill off", "fill off on #7");
        let upload = Action::Upload { at, files: vec!["a.png".into(), "b.png".into()] };
        check(&upload, "upload \"a.png, b.png\"", "upload \"a.png, b.png\"", "upload \"a.png, b.png\" on #7");
        let part = Some(NodeRef("7".into()));
        let read = Action::Read { what: PageReading::Tree { filter: ReadFilter::All, depth: 3, part } };
        check(&read, "read the elements", "read the elements in #7", "read the elements in #7");
        let keys = Chord::parse("ctrl").expect("a chord");
        check(&Action::KeyDown { keys }, "hold ctrl down", "hold ctrl down", "hold ctrl down");
        let dialog = Action::Dialog { accept: false, text: Some("no".into()) };
        check(
            &dialog,
            "dismiss the dialog",
            "dismiss the dialog with \"no\"",
            "dismiss the dialog with \"no\"",
        );
    }

    #[test]
    fn only_a_brief_description_cuts_texts() {
        let typed = |letters| Action::<ImagePoint>::Type { text: "é".repeat(letters) };
        let whole = |letters: usize| format!("type \"{}\"", "é".repeat(letters));
        assert_eq!(typed(TEXT).describe(), whole(80));
        assert_eq!(typed(TEXT + 1).describe(), whole(80));
        assert_eq!(typed(TEXT + 1).text(ActionDetail::Line), whole(81));
    }
}
