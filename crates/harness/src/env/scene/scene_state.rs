//! The running state of a scene: what is shown, which control has the focus, and the effects of inputs.

use std::collections::BTreeMap;

use apprentice_protocol::{
    ActReport, Action, Button, Chord, NodeRef, Rect, Role, ScreenPoint, Size, State, Target, UiNode, UiTree,
};
use serde_json::{Value, json};

use super::definition::{Control, Effect, Page, Scene};
use super::layout::{OpenMenus, PlacedControl, holds, lay_out, opens_menu};

/// The file with the current page and state values as JSON, for checks: `{"page":…,"values":{…}}`.
pub const STATE_FILE: &str = "/state.json";

/// A running scene.
#[derive(Debug)]
pub(super) struct SceneState {
    pages: std::sync::Arc<BTreeMap<String, Page>>,
    page: String,
    values: BTreeMap<String, Value>,
    /// File contents by path.
    pub(super) files: BTreeMap<String, Vec<u8>>,
    screen: Size,
    popups: OpenMenus,
    focus: Option<String>,
    all_selected: bool,
    refs: BTreeMap<String, NodeRef>,
    said: Vec<String>,
}

impl SceneState {
    pub(super) fn new(scene: Scene, screen: Size) -> Self {
        Self {
            pages: std::sync::Arc::new(scene.pages),
            page: scene.start,
            values: scene.state,
            files: scene.files.into_iter().map(|(path, text)| (path, text.into_bytes())).collect(),
            screen,
            popups: OpenMenus::default(),
            focus: None,
            all_selected: false,
            refs: BTreeMap::new(),
            said: Vec::new(),
        }
    }

    /// The state as the content of [`STATE_FILE`](super::source::STATE_FILE).
    pub(super) fn as_file(&self) -> Vec<u8> {
        json!({ "page": self.page, "values": self.values }).to_string().into_bytes()
    }

    pub(super) fn title(&self) -> &str {
        self.pages.get(&self.page).map_or("", |page| page.title.as_str())
    }

    pub(super) fn screen(&self) -> Size {
        self.screen
    }

    fn spots<'p>(&self, pages: &'p BTreeMap<String, Page>) -> Vec<PlacedControl<'p>> {
        pages
            .get(&self.page)
            .map_or_else(Vec::new, |page| lay_out(&self.page, page, &self.values, &self.popups, self.screen))
    }

    /// The interface tree. A control keeps its reference for as long as the world lives.
    pub(super) fn tree(&mut self) -> UiTree {
        let pages = self.pages.clone();
        let spots = self.spots(&pages);
        let (width, height) = (self.screen.width.cast_signed(), self.screen.height.cast_signed());
        let mut nodes = vec![UiNode {
            id: self.name_node(&format!("{}/", self.page)),
            parent: None,
            role: Role::new("window"),
            name: self.title().to_owned(),
            value: None,
            visible: None,
            details: Vec::new(),
            states: [State::Active].into(),
            bounds: Some(Rect::new(0, 0, width, height)),
        }];
        for spot in &spots {
            let parent = spot.parent.map_or(0, |parent| parent + 1);
            let value = self.shown_value(spot.control).filter(|_| spot.control.role != "checkbox");
            nodes.push(UiNode {
                id: self.name_node(&spot.key),
                parent: u32::try_from(parent).ok(),
                role: Role::new(spot.control.role.clone()),
                name: spot.control.name.clone(),
                value,
                visible: None,
                details: Vec::new(),
                states: self.states_of(spot),
                bounds: spot.bounds,
            });
        }
        UiTree { nodes, truncated: None }
    }

    fn name_node(&mut self, key: &str) -> NodeRef {
        let next = NodeRef(format!("n{}", self.refs.len() + 1));
        self.refs.entry(key.to_owned()).or_insert(next).clone()
    }

    fn shown_value(&self, control: &Control) -> Option<String> {
        let value = self.values.get(control.bind.as_ref()?)?;
        Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    }

    fn states_of(&self, spot: &PlacedControl<'_>) -> std::collections::BTreeSet<State> {
        let control = spot.control;
        let bound = control.bind.as_ref().and_then(|name| self.values.get(name));
        let mut states = std::collections::BTreeSet::new();
        match control.role.as_str() {
            "checkbox" | "switch" if bound == Some(&Value::Bool(true)) => _ = states.insert(State::Checked),
            "checkbox" | "switch" => _ = states.insert(State::Unchecked),
            "textbox" => _ = states.insert(State::Editable),
            "radio" | "option" | "listitem" | "tab"
                if bound.and_then(Value::as_str) == Some(&control.name) =>
            {
                states.insert(State::Selected);
            }
            _ => {}
        }
        if opens_menu(control) {
            let open = self.popups.menus.contains(&spot.key);
            states.insert(if open { State::Expanded } else { State::Collapsed });
        }
        if !holds(&control.enabled_when, &self.values) {
            states.insert(State::Disabled);
        }
        if spot.bounds.is_none() {
            states.insert(State::Hidden);
        }
        if self.focus.as_ref() == Some(&spot.key) {
            states.insert(State::Focused);
        }
        states
    }

    /// Performs one action.
    pub(super) fn act(&mut self, action: &Action<ScreenPoint>) -> ActReport {
        let done = match action {
            Action::Click { at, button, count, .. } => self.click(at, *button, *count),
            Action::Type { text } => {
                text.chars().for_each(|c| self.type_char(c));
                Ok(())
            }
            Action::Key { chord, .. } => {
                self.press_chord(chord);
                Ok(())
            }
            Action::Select { at, option } => self.select(at, option),
            Action::Move { to: at } | Action::Scroll { at: Some(at), .. } => self.find(at).map(drop),
            Action::Press { .. }
            | Action::Release { .. }
            | Action::Drag { .. }
            | Action::Scroll { at: None, .. }
            | Action::Hold { .. }
            | Action::Wait { .. }
            | Action::Screenshot
            | Action::Zoom { .. } => Ok(()),
            Action::Read { what } if what.is_in_observation() => Ok(()),
            Action::KeyDown { .. } | Action::KeyUp { .. } => Err("this world holds no keys down".into()),
            Action::Cursor => Err("this world has no pointer".into()),
            Action::ScrollTo { .. }
            | Action::Fill { .. }
            | Action::Upload { .. }
            | Action::Read { .. }
            | Action::Script { .. }
            | Action::Navigate { .. }
            | Action::History { .. }
            | Action::Tab { .. }
            | Action::Dialog { .. } => {
                Err("this world is no browser: use the pointer and the keyboard".into())
            }
        };
        let said = std::mem::take(&mut self.said);
        match done {
            Ok(()) => {
                ActReport { text: (!said.is_empty()).then(|| said.join("\n")), ..ActReport::delivered() }
            }
            Err(problem) => ActReport::refused(problem),
        }
    }

    /// The key of the control under a target. `None` where there is no control.
    fn find(&self, target: &Target<ScreenPoint>) -> Result<Option<String>, String> {
        let pages = self.pages.clone();
        let spots = self.spots(&pages);
        match target {
            Target::Point(point) => {
                let hit = |popup: bool| {
                    spots.iter().rev().find(|spot| {
                        spot.popup == popup && spot.bounds.is_some_and(|bounds| bounds.contains(*point))
                    })
                };
                Ok(hit(true).or_else(|| hit(false)).map(|spot| spot.key.clone()))
            }
            Target::Ref(node) => {
                let key = self.refs.iter().find(|(_, known)| *known == node).map(|(key, _)| key);
                let Some(key) = key else { return Err(format!("there is no element #{node}")) };
                match spots.iter().find(|spot| spot.key == *key) {
                    Some(PlacedControl { bounds: Some(_), .. }) => Ok(Some(key.clone())),
                    Some(_) => Err(format!("element #{node} is not on the screen: its menu is closed")),
                    None if key.ends_with('/') => Ok(None),
                    None => Err(format!("element #{node} is not there any more")),
                }
            }
        }
    }

    fn click(&mut self, at: &Target<ScreenPoint>, button: Button, count: u8) -> Result<(), String> {
        let key = self.find(at)?;
        let pages = self.pages.clone();
        let spots = self.spots(&pages);
        let spot = key.and_then(|key| spots.into_iter().find(|spot| spot.key == key));
        let Some(spot) = spot else {
            self.popups = OpenMenus::default();
            return Ok(());
        };
        if !holds(&spot.control.enabled_when, &self.values) {
            let (role, name) = (&spot.control.role, &spot.control.name);
            return Err(format!("{role} {name:?} is disabled: something else must be done first"));
        }
        match button {
            Button::Left => self.click_spot(&spot, count),
            Button::Right => {
                self.popups = OpenMenus::default();
                let corner = match at {
                    Target::Point(point) => Some(*point),
                    Target::Ref(_) => spot.bounds.and_then(|bounds| bounds.centre()),
                };
                if !spot.control.context.is_empty() {
                    self.popups.context = corner.map(|corner| (spot.key, corner));
                }
            }
            Button::Middle | Button::Back | Button::Forward => {}
        }
        Ok(())
    }

    fn click_spot(&mut self, spot: &PlacedControl<'_>, count: u8) {
        if opens_menu(spot.control) {
            let was_open = self.popups.menus.contains(&spot.key);
            self.popups.menus.retain(|open| spot.key.starts_with(&format!("{open}/")));
            if !was_open {
                self.popups.menus.push(spot.key.clone());
            }
            return;
        }
        self.popups = OpenMenus::default();
        self.all_selected = count > 1 && spot.control.role == "textbox";
        if !spot.popup {
            self.focus = Some(spot.key.clone());
        }
        self.activate(spot.control);
        if count > 1 {
            self.apply(&spot.control.double_click);
        }
    }

    /// Applies the effects of a click or the Enter key on a control.
    fn activate(&mut self, control: &Control) {
        if let Some(name) = &control.bind {
            match control.role.as_str() {
                "checkbox" | "switch" | "menuitemcheckbox" => self.toggle(name),
                "radio" | "option" | "listitem" | "tab" | "menuitemradio" => {
                    self.values.insert(name.clone(), Value::from(control.name.clone()));
                }
                _ => {}
            }
        }
        self.apply(&control.click);
    }

    fn toggle(&mut self, name: &str) {
        let was = self.values.get(name) == Some(&Value::Bool(true));
        self.values.insert(name.to_owned(), Value::Bool(!was));
    }

    fn select(&mut self, at: &Target<ScreenPoint>, option: &str) -> Result<(), String> {
        let key = self.find(at)?;
        let pages = self.pages.clone();
        let spots = self.spots(&pages);
        let spot = key.and_then(|key| spots.into_iter().find(|spot| spot.key == key));
        let Some(control) = spot.map(|spot| spot.control).filter(|control| !control.options.is_empty())
        else {
            return Err("there is no list box to choose from".into());
        };
        let (Some(name), true) = (&control.bind, control.options.iter().any(|known| known == option)) else {
            return Err(format!("no option {option:?}; there are: {}", control.options.join(", ")));
        };
        self.values.insert(name.clone(), Value::from(option));
        self.apply(&control.click);
        Ok(())
    }

    fn focused<'p>(&self, pages: &'p BTreeMap<String, Page>) -> Option<&'p Control> {
        let focus = self.focus.as_ref()?;
        self.spots(pages).into_iter().find(|spot| spot.key == *focus).map(|spot| spot.control)
    }

    fn type_char(&mut self, c: char) {
        match c {
            '\n' => self.press_named("enter"),
            '\t' => self.press_named("tab"),
            _ => self.edit(|text| text.push(c)),
        }
    }

    /// Changes the text of the focused text box, if one has the focus.
    fn edit(&mut self, change: impl FnOnce(&mut String)) {
        let pages = self.pages.clone();
        let Some(control) = self.focused(&pages).filter(|control| control.role == "textbox") else { return };
        let Some(name) = &control.bind else { return };
        let mut text = self.shown_value(control).unwrap_or_default();
        if std::mem::take(&mut self.all_selected) {
            text.clear();
        }
        change(&mut text);
        self.values.insert(name.clone(), Value::from(text));
    }

    fn press_chord(&mut self, chord: &Chord) {
        let pages = self.pages.clone();
        let spelled = chord.to_string();
        match pages.get(&self.page).and_then(|page| page.keys.get(&spelled)) {
            Some(effects) => self.apply(effects),
            None if chord.keys().len() == 1 && spelled.chars().count() == 1 => {
                spelled.chars().for_each(|c| self.type_char(c));
            }
            None => self.press_named(&spelled),
        }
    }

    fn press_named(&mut self, chord: &str) {
        let pages = self.pages.clone();
        match chord {
            "escape" if self.popups.menus.pop().is_none() => self.popups = OpenMenus::default(),
            "ctrl+a" => self.all_selected = true,
            "backspace" | "delete" => self.edit(|text| _ = text.pop()),
            "tab" => self.focus_next(&pages),
            "enter" | "space" => match self.focused(&pages) {
                Some(control) if control.role == "textbox" && chord == "space" => {
                    self.edit(|text| text.push(' '));
                }
                Some(control) if control.role == "textbox" => self.apply(&control.enter),
                Some(control) => self.activate(control),
                None => {}
            },
            _ => {}
        }
    }

    fn focus_next(&mut self, pages: &BTreeMap<String, Page>) {
        const TAKES_FOCUS: &[&str] =
            &["textbox", "button", "checkbox", "switch", "radio", "link", "combobox"];
        let keys: Vec<String> = self
            .spots(pages)
            .into_iter()
            .filter(|spot| !spot.popup && TAKES_FOCUS.contains(&spot.control.role.as_str()))
            .map(|spot| spot.key)
            .collect();
        let now = keys.iter().position(|key| Some(key) == self.focus.as_ref());
        self.focus = keys.get(now.map_or(0, |now| (now + 1) % keys.len())).cloned();
        self.all_selected = true;
    }

    fn apply(&mut self, effects: &[Effect]) {
        for effect in effects {
            match effect {
                Effect::Set(values) => self.values.extend(values.clone()),
                Effect::Copy(names) => {
                    for (to, from) in names {
                        let value = self.values.get(from).cloned().unwrap_or(Value::Null);
                        self.values.insert(to.clone(), value);
                    }
                }
                Effect::Toggle(name) => self.toggle(name),
                Effect::Go(page) => {
                    self.page.clone_from(page);
                    self.popups = OpenMenus::default();
                    self.focus = None;
                }
                Effect::Write(files) => {
                    for (path, text) in files {
                        self.files.insert(path.clone(), self.filled(text).into_bytes());
                    }
                }
                Effect::Say(text) => self.said.push(self.filled(text)),
                Effect::When { is, then } => {
                    if holds(is, &self.values) {
                        self.apply(then);
                    }
                }
            }
        }
    }

    fn filled(&self, text: &str) -> String {
        self.values.iter().fold(text.to_owned(), |text, (name, value)| {
            let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            text.replace(&format!("{{{name}}}"), &shown)
        })
    }
}
