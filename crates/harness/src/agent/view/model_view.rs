//! The last observation as the model saw it: its rendering, its coordinate view, and hit tests for its elements.

use std::fmt::Write as _;

use apprentice_protocol::{
    Action, BoundedText, Content, CoordinateSpace, ImagePoint, Observation, Rect, ScreenPoint, State, Target,
    TextBudget, UiNode, UiTree, View, Window, outline,
};

use super::picture::Picture;

/// Limit on the interface tree in one observation, in characters.
pub const OUTLINE_BUDGET: TextBudget = TextBudget(16_000);

/// Limit on the text about the screen besides its tree (titles, tabs, a dialog), in characters.
const HEADING_BUDGET: TextBudget = TextBudget(2_000);

/// The first line of every text about the screen.
pub const SCREEN_HEADING: &str = "Screen now.\n";

/// The line above the outline in a text about the screen.
pub const ELEMENTS_HEADING: &str = "Elements:\n";

/// The last observation, as the model saw it.
pub(crate) struct ModelView {
    /// The coordinates of the picture and of the screen.
    pub(crate) mapping: View,
    pub(crate) text: BoundedText,
    pub(crate) outline: BoundedText,
    pub(crate) picture: Option<Picture>,
    pub(crate) observation: Observation,
    /// The text that a model gets that is shown changes.
    pub(crate) delta: Option<BoundedText>,
    /// Equal fingerprints mean that the visible screen did not change.
    pub(crate) fingerprint: String,
}

impl ModelView {
    /// Builds the view of an observation. `picture` is the screenshot at the size that is sent to the model.
    pub(crate) fn new(observation: Observation, picture: Option<Picture>, mapping: View) -> Self {
        let heading = heading(&observation, &mapping);
        let tree = observation.tree.as_ref();
        let outline = tree.map_or_else(BoundedText::default, |tree| outline(tree, &mapping, OUTLINE_BUDGET));
        let shot = observation.screenshot.as_ref().map_or("", |image| image.hash.as_str());
        let fingerprint = format!("{}\n{}\n{shot}", heading.as_str(), outline.as_str());
        Self { mapping, text: heading, outline, picture, observation, delta: None, fingerprint }
    }

    /// Returns the observation as parts of a message.
    pub(crate) fn contents(&self, with_outline: bool) -> Vec<Content> {
        let mut text = self.delta.as_ref().unwrap_or(&self.text).as_str().to_owned();
        if with_outline && self.delta.is_none() {
            text.push_str(ELEMENTS_HEADING);
            text.push_str(self.outline.as_str());
        }
        let picture = self.picture.iter().map(|picture| Content::Image { image: picture.sent.clone() });
        std::iter::once(Content::text(text.trim_end())).chain(picture).collect()
    }

    /// Returns the focused element as `role "name"`.
    pub(crate) fn focused(&self) -> Option<String> {
        self.focused_node().map(|node| format!("{} {:?}", node.role.as_str(), node.name))
    }

    fn focused_node(&self) -> Option<&UiNode> {
        focused(&self.observation)
    }

    /// Returns the element that an action hits, as far as this observation shows.
    pub(crate) fn target(&self, action: &Action<ScreenPoint>, untouched: bool) -> Option<&UiNode> {
        target(&self.observation, action, untouched)
    }

    /// Returns the screen point at which an action aims, as far as this observation shows.
    pub(crate) fn point(&self, action: &Action<ScreenPoint>) -> Option<ScreenPoint> {
        point(&self.observation, action)
    }
}

/// Strips the padding that menus put around the shortcut in a name.
pub(crate) fn plain(name: &str) -> String {
    name.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn focused(seen: &Observation) -> Option<&UiNode> {
    seen.tree.as_ref()?.nodes.iter().rfind(|node| node.is(State::Focused))
}

/// Returns the element that an action hits, as far as an observation shows. Keys go to the focused element, provided that
/// no action was executed since.
pub(crate) fn target<'o>(
    seen: &'o Observation,
    action: &Action<ScreenPoint>,
    untouched: bool,
) -> Option<&'o UiNode> {
    let tree = seen.tree.as_ref()?;
    match action {
        Action::Hold { actions, .. } => actions.iter().find_map(|action| target(seen, action, untouched)),
        Action::Drag { path, .. } => path.first().and_then(|start| at_point(tree, *start)),
        Action::Type { .. } | Action::Key { .. } | Action::KeyDown { .. } | Action::KeyUp { .. } => {
            focused(seen).filter(|_| untouched)
        }
        other => other.target().and_then(|at| find(tree, at)),
    }
}

/// Returns the screen point at which an action aims, as far as an observation shows: its own, or the centre of its element.
pub(crate) fn point(seen: &Observation, action: &Action<ScreenPoint>) -> Option<ScreenPoint> {
    match action {
        Action::Drag { path, .. } => path.first().copied(),
        Action::Hold { actions, .. } => actions.iter().find_map(|action| point(seen, action)),
        other => match other.target()? {
            Target::Point(point) => Some(*point),
            Target::Ref(node) => seen.tree.as_ref()?.get(node)?.bounds?.centre(),
        },
    }
}

fn find<'t>(tree: &'t UiTree, target: &Target<ScreenPoint>) -> Option<&'t UiNode> {
    match target {
        Target::Point(point) => at_point(tree, *point),
        Target::Ref(node) => tree.get(node),
    }
}

/// The smallest visible, named element at a point; of equal ones the later, which is drawn on top.
fn at_point(tree: &UiTree, point: ScreenPoint) -> Option<&UiNode> {
    let around = tree.nodes.iter().filter(|node| {
        !node.is(State::Hidden)
            && !node.name.is_empty()
            && node.bounds.is_some_and(|bounds| bounds.contains(point))
    });
    around.rev().min_by_key(|node| {
        node.bounds.map_or(i64::MAX, |bounds| i64::from(bounds.width) * i64::from(bounds.height))
    })
}

/// Tells where several monitors are, and which windows stand where on them, in the coordinates of the model.
fn monitors(observation: &Observation, view: &View) -> Option<String> {
    let corner = |x: i32, y: i32| {
        let ImagePoint { x, y } = view.to_image(ScreenPoint::new(x, y))?;
        Some(match view.space {
            CoordinateSpace::Unit => format!("{x:.4},{y:.4}"),
            CoordinateSpace::ImagePixels | CoordinateSpace::Grid { .. } => format!("{x},{y}"),
        })
    };
    let range = |area: &Rect| {
        let (start, end) =
            (corner(area.x, area.y)?, corner(area.x + area.width - 1, area.y + area.height - 1)?);
        Some(format!("from {start} to {end}"))
    };
    let window = |window: &Window| {
        // A window may reach beyond the screen, where the model has no coordinates.
        let place = range(&window.bounds).unwrap_or_else(|| "partly off the screen".to_owned());
        let front = if window.active { " (front)" } else { "" };
        format!("{:?} {place}{front}", window.title)
    };
    let told = |(index, area): (usize, &Rect)| {
        let is_here = |window: &&Window| window.bounds.centre().is_some_and(|centre| area.contains(centre));
        let windows: Vec<String> = observation.windows.iter().filter(is_here).map(window).collect();
        let with = if windows.is_empty() { String::new() } else { format!(" with {}", windows.join(", ")) };
        Some(format!("{} {}{with}", index + 1, range(area)?))
    };
    let told: Vec<String> = observation.monitors.iter().enumerate().filter_map(told).collect();
    (!told.is_empty()).then(|| told.join("; "))
}

/// Describes the front window, other windows, tabs and a dialog, in lines that cannot be mistaken for outline lines.
fn heading(observation: &Observation, view: &View) -> BoundedText {
    let mut text = String::from(SCREEN_HEADING);
    let mut line = |label: &str, words: String| {
        text.push_str(label);
        text.push_str(": ");
        text.push_str(&words);
        text.push('\n');
    };
    if let Some(words) = monitors(observation, view) {
        line("Monitors", words);
    }
    if !observation.title().is_empty() {
        line("Front", format!("{:?}", observation.title()));
    }
    let behind: Vec<String> = observation
        .windows
        .iter()
        .filter(|window| !window.active && !window.title.is_empty())
        .map(|window| format!("{:?}", window.title))
        .collect();
    if !behind.is_empty() {
        line("Other windows", behind.join(", "));
    }
    for tab in &observation.tabs {
        text.push_str(&tab.line());
        text.push('\n');
    }
    if let Some(dialog) = &observation.dialog {
        let _ = writeln!(text, "Dialog that waits for an answer: {dialog:?}");
    }
    BoundedText::cut(&text, HEADING_BUDGET)
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::{CoordinateSpace, Observation, Rect, Size, View, Window};

    use super::heading;

    fn text(monitors: &[Rect], view: View) -> String {
        let window = |title: &str, x: i32, active: bool| Window {
            id: "0x1".into(),
            title: title.into(),
            class: String::new(),
            bounds: Rect::new(x, 20, 400, 300),
            active,
            pid: None,
        };
        let windows = vec![window("Letter", 2000, true), window("List", 100, false)];
        let seen = Observation { windows, monitors: monitors.to_vec(), ..Observation::default() };
        heading(&seen, &view).as_str().to_owned()
    }

    #[test]
    fn several_monitors_are_told_in_the_models_coordinates() {
        let monitors = [Rect::new(0, 0, 1920, 1080), Rect::new(1920, 0, 1280, 1024)];
        let whole = View::whole(Size::new(3200, 1080));
        let told = |view: View| text(&monitors, view).lines().nth(1).unwrap_or_default().to_owned();
        assert_eq!(
            told(whole),
            "Monitors: 1 from 0,0 to 1919,1079 with \"List\" from 100,20 to 499,319; 2 from 1920,0 to 3199,1023 with \
             \"Letter\" from 2000,20 to 2399,319 (front)"
        );
        let half = View { image: Size::new(1600, 540), ..whole };
        assert_eq!(
            told(half),
            "Monitors: 1 from 0,0 to 959,539 with \"List\" from 50,10 to 249,159; 2 from 960,0 to 1599,511 with \
             \"Letter\" from 1000,10 to 1199,159 (front)"
        );
        let grid = View { space: CoordinateSpace::Grid { max: 1000 }, ..whole };
        assert!(
            told(grid).ends_with("; 2 from 600,0 to 999,947 with \"Letter\" from 625,18 to 749,295 (front)"),
            "{}",
            told(grid)
        );
        let unit = View { space: CoordinateSpace::Unit, ..whole };
        assert!(told(unit).starts_with("Monitors: 1 from 0.0002,0.0005 to 0.5998,0.9995 with "));
    }

    #[test]
    fn of_one_monitor_nothing_is_told() {
        let one = text(&[], View::whole(Size::new(3200, 1080)));
        assert_eq!(one, "Screen now.\nFront: \"Letter\"\nOther windows: \"List\"\n");
    }
}
