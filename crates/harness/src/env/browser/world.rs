//! The browser as an [`Environment`]: performs actions and reports their side effects.

use std::sync::Arc;
use std::time::Duration;

use apprentice_cdp::domain::browser::DownloadState;
use apprentice_protocol::{
    ActReport, Action, BoxFuture, Button, ChangeWait, Chord, Clock, ConnectionReport, Environment, History,
    Machine, Observation, PageReading, ScreenPoint, TabAction, Target, Want, WorldError,
};

use super::driver::{ActionError, Browser, lost};
use super::element::{Element, PointerTarget, named};
use super::input::{Click, InputState};
use super::page_state::{BrowserState, Download, FileChooser};
use super::script::PageScripts;
use super::teardown::Teardown;
use super::upload::inside_home;

/// The pixel at a point of the page.
fn pixel(x: f64, y: f64) -> ScreenPoint {
    #[expect(clippy::cast_possible_truncation, reason = "a point of the page, which the pointer was sent to")]
    let whole = |side: f64| side.round() as i32;
    ScreenPoint::new(whole(x), whole(y))
}

const SCROLLER: &str = include_str!("page/scroller.js");

/// How long a page may take to open its file chooser after a click.
const CHOOSER: Duration = Duration::from_secs(5);

/// The agent's handle on an open browser.
pub(super) struct BrowserEnvironment {
    pub(super) browser: Arc<Browser>,
    pub(super) machine: Arc<dyn Machine>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) hands: InputState,
    /// Whether the model may run scripts.
    pub(super) scripts: PageScripts,
    /// Whether the page has settled since the last action.
    pub(super) calm: bool,
    pub(super) ending: Teardown,
}

impl Environment for BrowserEnvironment {
    fn observe(&mut self, want: Want) -> BoxFuture<'_, Result<Observation, WorldError>> {
        Box::pin(async move {
            match self.look(want).await {
                Ok(seen) => Ok(seen),
                Err(error) => self.excuse(error).await.map(|message| self.nothing_to_see(want, message)),
            }
        })
    }

    fn act<'a>(
        &'a mut self,
        action: &'a Action<ScreenPoint>,
    ) -> BoxFuture<'a, Result<ActReport, WorldError>> {
        Box::pin(async move {
            match self.do_one(action).await {
                Ok(report) => Ok(report.also(&self.ending.cell.take_notices())),
                Err(error) => self.excuse(error).await.map(ActReport::refused),
            }
        })
    }

    fn open_page<'a>(&'a mut self, url: &'a str) -> BoxFuture<'a, Result<ActReport, WorldError>> {
        Box::pin(async move {
            let of_model = std::mem::replace(&mut self.scripts, PageScripts::On);
            let opened = self.act(&Action::Navigate { url: url.to_owned() }).await;
            self.scripts = of_model;
            opened
        })
    }

    fn await_change(&mut self, cap: Duration) -> BoxFuture<'_, Result<ChangeWait, WorldError>> {
        self.calm = false;
        Box::pin(async move {
            match self.browser.await_change(cap).await {
                Ok(ended) => Ok(ended),
                Err(error) => Err(self.ending.cause(error).await),
            }
        })
    }

    fn take_connections(&mut self) -> ConnectionReport {
        self.ending.cell.take_connections()
    }

    fn close(self: Box<Self>, deadline: Duration) -> BoxFuture<'static, Result<(), WorldError>> {
        self.ending.end(deadline)
    }
}

impl BrowserEnvironment {
    async fn do_one(&mut self, action: &Action<ScreenPoint>) -> Result<ActReport, WorldError> {
        self.calm = false;
        let before = match self.browser.front() {
            Ok(tab) => Some(tab),
            // A page that is of no use any more can be left.
            Err(ActionError::Page(_)) if leaves_page(action) => None,
            Err(trouble) => return trouble.report(),
        };
        let harmless = matches!(
            action,
            Action::Screenshot | Action::Zoom { .. } | Action::Dialog { .. } | Action::Wait { .. }
        );
        let (dialog, before) = before.map(|tab| (tab.dialog, tab.name)).unwrap_or_default();
        if let Some(dialog) = dialog.filter(|_| !harmless) {
            let what = dialog.describe();
            return Ok(ActReport::refused(format!("a dialog is open ({what}); answer it first")));
        }
        if !harmless
            && !leaves_page(action)
            && let Ok(front) = self.browser.front()
            && let Err(trouble) = self.browser.must_answer(&front.session).await
        {
            return trouble.report();
        }
        let said = match self.perform(action).await {
            Ok(said) => said,
            Err(trouble) => return self.failed(trouble).await,
        };
        if action.is_observation_only() {
            return Ok(ActReport { text: said, ..ActReport::delivered() });
        }
        if *action == Action::Cursor {
            let (x, y) = self.hands.place();
            return Ok(ActReport { pointer: Some(pixel(x, y)), ..ActReport::delivered() });
        }
        if gives_focus(action) {
            self.browser.note_input();
        }
        match self.browser.settle().await {
            Ok(()) => self.calm = true,
            Err(trouble) => return trouble.report(),
        }
        if let Err(trouble) = self.browser.refresh_tabs().await {
            return trouble.report();
        }
        let told: Vec<String> = said.into_iter().chain(self.side_effects(&before, action)).collect();
        let text = (!told.is_empty()).then(|| told.join("\n"));
        Ok(ActReport { text, ..ActReport::delivered() })
    }

    /// Reports a failure. What has become of an element that is gone is looked up.
    async fn failed(&self, trouble: ActionError) -> Result<ActReport, WorldError> {
        let ActionError::Gone(node) = &trouble else { return trouble.report() };
        match self.browser.successors(node).await {
            Ok(problem) => Ok(ActReport::refused(problem)),
            Err(ActionError::World(error)) => Err(error),
            Err(_) => trouble.report(),
        }
    }

    /// Performs an action, and returns what it says.
    async fn perform(&mut self, action: &Action<ScreenPoint>) -> Result<Option<String>, ActionError> {
        match action {
            Action::Fill { at, value } => {
                let element = self.element(at).await?;
                self.fill(&element, &named(at), value).await
            }
            Action::Upload { at, files } => self.upload(at, files).await,
            Action::Type { text } => self.type_text(text).await,
            Action::Key { chord, hold_ms } => self.key(chord, *hold_ms).await,
            Action::Script { source } => self.browser.script(source, self.scripts).await.map(Some),
            Action::Read { what } => self.read(what).await,
            Action::ScrollTo { at } => {
                let element = match at {
                    Target::Ref(node) => self.browser.find(node).await?,
                    Target::Point(_) => self.element(at).await?,
                };
                self.browser.reveal(&element).await.map(|()| None)
            }
            Action::Select { at, option } => {
                let element = self.element(at).await?;
                self.choose(&element, option).await.map(|()| None)
            }
            Action::Navigate { url } => {
                self.scripts.allow(url)?;
                self.browser.navigate(url).await.map(|()| None)
            }
            Action::History { go } => self.browser.go(*go).await.map(|()| None),
            Action::Tab { tab } => {
                if let TabAction::Open { url: Some(url) } = tab {
                    self.scripts.allow(url)?;
                }
                self.browser.tab(tab).await.map(|()| None)
            }
            Action::Dialog { accept, text } => {
                self.browser.answer(*accept, text.as_deref()).await.map(|()| None)
            }
            _ => self.use_input(action).await.map(|()| None),
        }
    }

    /// Performs an action of the pointer or the keyboard.
    async fn use_input(&mut self, action: &Action<ScreenPoint>) -> Result<(), ActionError> {
        match action {
            // In a browser the buttons on the side go through the history.
            Action::Click { button: Button::Back, .. } => self.browser.go(History::Back).await,
            Action::Click { button: Button::Forward, .. } => self.browser.go(History::Forward).await,
            Action::Click { at, button, count, hold } => {
                self.click(at, Click { button: *button, count: *count, hold: hold.as_ref() }).await
            }
            Action::KeyDown { keys } => self.hands.hold(&self.browser, keys).await,
            Action::KeyUp { keys } => self.hands.let_go(&self.browser, keys).await,
            Action::Hold { keys, actions } => {
                self.hands.hold(&self.browser, keys).await?;
                let mut done = Ok(());
                for action in actions {
                    done = match action {
                        Action::Hold { .. } => Err(ActionError::refused("keys are held already")),
                        _ => Box::pin(self.perform(action)).await.map(drop),
                    };
                    if done.is_err() {
                        break;
                    }
                }
                self.hands.let_go(&self.browser, keys).await?;
                done
            }
            Action::Move { to } => self.point(Some(to)).await,
            Action::Press { at, button } => {
                self.point(at.as_ref()).await?;
                self.hands.press(&self.browser, *button).await
            }
            Action::Release { at, button } => {
                self.point(at.as_ref()).await?;
                self.hands.release(&self.browser, *button).await
            }
            Action::Drag { path, button } => {
                if path.len() < 2 {
                    return Err(ActionError::refused("a drag needs at least two points"));
                }
                path.iter().try_for_each(|point| self.check(*point))?;
                self.hands.drag(&self.browser, path, *button).await
            }
            Action::Scroll { at, dx, dy } => self.scroll(at.as_ref(), *dx, *dy).await,
            // The screenshot comes with the next observation, and the agent loop does the waiting. The rest is
            // performed elsewhere.
            Action::Screenshot
            | Action::Zoom { .. }
            | Action::Wait { .. }
            | Action::Cursor
            | Action::Type { .. }
            | Action::Key { .. }
            | Action::Select { .. }
            | Action::Fill { .. }
            | Action::Upload { .. }
            | Action::Read { .. }
            | Action::Script { .. }
            | Action::ScrollTo { .. }
            | Action::Navigate { .. }
            | Action::History { .. }
            | Action::Tab { .. }
            | Action::Dialog { .. } => Ok(()),
        }
    }

    /// Reads what an observation does not hold.
    async fn read(&mut self, what: &PageReading) -> Result<Option<String>, ActionError> {
        if what.is_in_observation() {
            return Ok(None);
        }
        self.browser.settle().await?;
        self.calm = true;
        match what {
            PageReading::Text => self.browser.page_text().await.map(Some),
            PageReading::Console => self.browser.console().await.map(Some),
            PageReading::Network => self.browser.requests().map(Some),
            PageReading::Tree { .. } | PageReading::Find { .. } | PageReading::Tabs => Ok(None),
        }
    }

    /// The element of a target.
    pub(super) async fn element(&self, at: &Target<ScreenPoint>) -> Result<Element, ActionError> {
        match at {
            Target::Ref(node) => self.browser.find_same(node).await,
            Target::Point(point) => {
                self.check(*point)?;
                self.browser.under(point.x.into(), point.y.into()).await
            }
        }
    }

    pub(super) async fn click(
        &mut self,
        at: &Target<ScreenPoint>,
        click: Click<'_>,
    ) -> Result<(), ActionError> {
        let (x, y) = match at {
            Target::Point(point) => {
                self.check(*point)?;
                let (x, y) = (f64::from(point.x), f64::from(point.y));
                self.browser.must_be_enabled(x, y).await?;
                (x, y)
            }
            Target::Ref(node) => match self.browser.aim(node, true).await? {
                PointerTarget::At(x, y) => (x, y),
                // Clicking an option chooses it, whether or not its list could be opened.
                PointerTarget::Choice(option) => return self.choose(&option, "").await,
                PointerTarget::List => {
                    return Err(ActionError::refused(
                        "this is a native list box: choose an option with select, or click the option itself",
                    ));
                }
            },
        };
        // As in any browser, a link opened with Ctrl or the middle button stays in the background.
        let behind = click.button == Button::Middle || click.hold.is_some_and(holds_control);
        self.browser.watch().with(|pages| {
            pages.take_file_chooser();
            pages.follow = !behind;
        });
        self.hands.click(&self.browser, x, y, click).await
    }

    /// Moves the pointer to a target. Without a target, the pointer stays where it is.
    async fn point(&mut self, target: Option<&Target<ScreenPoint>>) -> Result<(), ActionError> {
        let (x, y) = match target {
            None => self.hands.place(),
            Some(Target::Point(point)) => {
                self.check(*point)?;
                (f64::from(point.x), f64::from(point.y))
            }
            Some(Target::Ref(node)) => match self.browser.aim(node, false).await? {
                PointerTarget::At(x, y) => (x, y),
                PointerTarget::List | PointerTarget::Choice(_) => {
                    return Err(ActionError::refused(
                        "a native list box can only be chosen from with select",
                    ));
                }
            },
        };
        self.hands.go(&self.browser, x, y).await
    }

    async fn scroll(
        &mut self,
        at: Option<&Target<ScreenPoint>>,
        dx: i32,
        dy: i32,
    ) -> Result<(), ActionError> {
        self.point(at).await?;
        if at.is_none() {
            let (x, y) = self.hands.place();
            let session = self.browser.session(&self.browser.front()?.session);
            let scrolls = format!("({SCROLLER})({x}, {y}, {dx}, {dy})");
            let place: Option<(f64, f64)> = self.browser.evaluate(&session, scrolls).await?;
            if let Some((there, down)) = place.filter(|place| *place != (x, y)) {
                self.hands.go(&self.browser, there, down).await?;
            }
        }
        self.hands.scroll(&self.browser, dx, dy).await
    }

    /// Gives files to the input that the target is, labels or holds, or whose file chooser a click on it opens.
    async fn upload(
        &mut self,
        at: &Target<ScreenPoint>,
        files: &[String],
    ) -> Result<Option<String>, ActionError> {
        let files = inside_home(self.machine.as_ref(), files).await?;
        let element = self.element(at).await?;
        let input = match self.browser.file_input(&element).await? {
            Some(input) => input,
            None => {
                let chooser = self.open_chooser(at).await?;
                self.browser.chooser_input(&chooser).await?
            }
        };
        self.browser.give(&input, files).await
    }

    /// Gives a waiting file input the typed paths, one per line.
    pub(super) async fn choose_files(
        &self,
        chooser: &FileChooser,
        text: &str,
    ) -> Result<Option<String>, ActionError> {
        let typed: Vec<String> =
            text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect();
        let closed = |error| match error {
            ActionError::Refused(why) => ActionError::Refused(format!("{why}; the file chooser was closed")),
            other => other,
        };
        let files = inside_home(self.machine.as_ref(), &typed).await.map_err(closed)?;
        let input = self.browser.chooser_input(chooser).await?;
        self.browser.give(&input, files).await.map_err(closed)
    }

    async fn open_chooser(&mut self, at: &Target<ScreenPoint>) -> Result<FileChooser, ActionError> {
        self.click(at, Click { button: Button::Left, count: 1, hold: None }).await?;
        let opened = self.browser.watch().until(BrowserState::take_file_chooser);
        match tokio::time::timeout(CHOOSER, opened).await {
            Ok(Some(chooser)) => Ok(chooser),
            Ok(None) => Err(lost("chromium is gone").into()),
            Err(_) => Err(ActionError::refused(
                "this is no file input, and a click on it opened no file chooser: give the input or its button",
            )),
        }
    }

    fn check(&self, point: ScreenPoint) -> Result<(), ActionError> {
        let size = self.browser.size;
        let inside = |value: i32, end: u32| u32::try_from(value).is_ok_and(|value| value < end);
        if inside(point.x, size.width) && inside(point.y, size.height) {
            return Ok(());
        }
        Err(ActionError::refused(format!(
            "point ({}, {}) lies outside the page of {} by {} pixels",
            point.x, point.y, size.width, size.height
        )))
    }

    /// Reports side effects of an action: downloads, a new active tab, a waiting file input.
    fn side_effects(&self, tab_before: &str, action: &Action<ScreenPoint>) -> Option<String> {
        let mut lines = Vec::new();
        self.browser.watch().with(|pages| {
            pages.follow = true;
            lines.extend(pages.take_ended_downloads().iter().map(describe));
            if pages.is_downloading() {
                lines.push("a download is still going on".to_owned());
            }
            let Some(front) = pages.front() else { return };
            if front.name != tab_before && !matches!(action, Action::Tab { .. } | Action::Key { .. }) {
                lines.push(format!("tab {} is in front now: {:?} {}", front.name, front.title, front.url));
            }
            if front.chooser.is_some() {
                lines.push(
                    "the page asks for a file: type its full path, or press escape to choose none".to_owned(),
                );
            }
        });
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}

/// Whether an action leads away from the page that is shown, or needs none.
fn leaves_page(action: &Action<ScreenPoint>) -> bool {
    matches!(
        action,
        Action::Navigate { .. }
            | Action::History { .. }
            | Action::Tab { .. }
            | Action::Wait { .. }
            | Action::Screenshot
            | Action::Cursor
    )
}

/// Whether an action gives the page the focus, unless something else takes it.
fn gives_focus(action: &Action<ScreenPoint>) -> bool {
    matches!(
        action,
        Action::Click { .. }
            | Action::Press { .. }
            | Action::Drag { .. }
            | Action::Key { .. }
            | Action::Type { .. }
            | Action::Hold { .. }
    )
}

fn holds_control(chord: &Chord) -> bool {
    chord.keys().iter().any(|key| key.as_str() == "ctrl")
}

fn describe(download: &Download) -> String {
    let Download { name, state, bytes } = download;
    match state {
        DownloadState::Completed => format!("downloaded {name:?} ({bytes} bytes) to ~/Downloads"),
        DownloadState::Canceled => format!("the download of {name:?} failed"),
        DownloadState::InProgress => format!("the download of {name:?} goes on"),
    }
}
