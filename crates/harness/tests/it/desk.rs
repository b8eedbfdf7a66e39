//! A browser world with one page of ours in it, as the tests of browser worlds use it.

use std::sync::Arc;
use std::time::Duration;

use apprentice_harness::env::browser::{
    BrowserReuse, BrowserSandbox, BrowserSource, PagePictures, PageScripts,
};
use apprentice_protocol::{
    ActReport, Action, AllowedHost, Button, Chord, Delivery, Environment, EnvironmentKind, EnvironmentSource,
    Isolation, Machine, NodeRef, Observation, ScreenPoint, Size, Target, TreeBudget, UiNode, Want, World,
    WorldError, WorldSpec,
};
use apprentice_sandbox::{NetworkPolicy, SystemClock};

use crate::cell;

pub(crate) const SCREEN: Size = Size::new(1280, 800);
pub(crate) const HOME: &str = "/home/user";

/// How long a browser whose processes were killed may seem to live.
const LOST: Duration = Duration::from_secs(30);

pub(crate) type Act = Action<ScreenPoint>;

/// A browser with one page of ours in it.
pub(crate) struct Desk {
    pub(crate) environment: Box<dyn Environment>,
    pub(crate) machine: Arc<dyn Machine>,
    // Outlives the cell, whose state lies in it.
    _state: tempfile::TempDir,
}

impl Desk {
    pub(crate) async fn open() -> Self {
        Self::open_with(PageScripts::Off).await
    }

    pub(crate) async fn open_with(scripts: PageScripts) -> Self {
        Self::open_in(scripts, NetworkPolicy::None, Vec::new()).await.expect("a browser")
    }

    /// Opens a browser for a task that needs hosts, where a policy decides which may be reached.
    pub(crate) async fn open_in(
        scripts: PageScripts,
        policy: NetworkPolicy,
        needed: Vec<AllowedHost>,
    ) -> Result<Self, WorldError> {
        Self::open_program("chromium", scripts, policy, needed).await
    }

    pub(crate) async fn open_program(
        program: &str,
        scripts: PageScripts,
        policy: NetworkPolicy,
        needed: Vec<AllowedHost>,
    ) -> Result<Self, WorldError> {
        let windowless = program.contains("headless");
        let pictures = if windowless { PagePictures::Protocol } else { PagePictures::Screen };
        Self::open_pictured(pictures, program, scripts, policy, needed).await
    }

    /// Opens a browser that takes pictures of pages in one of the ways.
    pub(crate) async fn open_pictured(
        pictures: PagePictures,
        program: &str,
        scripts: PageScripts,
        policy: NetworkPolicy,
        needed: Vec<AllowedHost>,
    ) -> Result<Self, WorldError> {
        let state = cell::state();
        let source = BrowserSource {
            network: policy,
            cell: cell::spec(state.path()),
            program: program.to_owned(),
            sandbox: BrowserSandbox::On,
            pictures,
            reuse: BrowserReuse::off(),
            scripts,
            clock: Arc::new(SystemClock::new()),
        };
        let spec = WorldSpec { network: needed, ..WorldSpec::new(EnvironmentKind::Browser, SCREEN) };
        let World { environment, machine, isolation } = source.open(&spec).await?;
        assert_eq!(isolation, Isolation::Cell);
        Ok(Self { environment, machine, _state: state })
    }

    /// Opens a page made of this body; its title is `page`.
    pub(crate) async fn show(&mut self, name: &str, body: &str) {
        let path = format!("{HOME}/{name}.html");
        let html = format!("<!doctype html><meta charset=utf-8><title>{name}</title>{body}");
        self.machine.write(&path, html.as_bytes()).await.expect("written");
        self.delivered(Act::Navigate { url: format!("file://{path}") }).await;
    }

    pub(crate) async fn act(&mut self, action: Act) -> ActReport {
        self.environment.act(&action).await.expect("the world holds")
    }

    /// Does what must succeed, and returns what was told about it.
    pub(crate) async fn delivered(&mut self, action: Act) -> String {
        let report = self.act(action.clone()).await;
        assert_eq!(report.delivery, Delivery::Delivered, "{action:?}");
        report.text.unwrap_or_default()
    }

    /// Does what must be refused, and returns why it was.
    pub(crate) async fn refused(&mut self, action: Act) -> String {
        match self.act(action.clone()).await.delivery {
            Delivery::Refused { problem } => problem,
            Delivery::Delivered => panic!("{action:?} was delivered"),
        }
    }

    /// Acts until the world is lost, which the next action or the one after it is told.
    pub(crate) async fn lost(&mut self, action: Act) -> WorldError {
        let lost = async {
            loop {
                if let Err(error) = self.environment.act(&action).await {
                    break error;
                }
            }
        };
        tokio::time::timeout(LOST, lost).await.expect("the world is lost")
    }

    pub(crate) async fn look(&mut self) -> Observation {
        let want = Want { screenshot: false, tree: Some(TreeBudget::default()) };
        self.environment.observe(want).await.expect("the world holds")
    }

    pub(crate) async fn title(&mut self) -> String {
        self.environment.observe(Want::default()).await.expect("the world holds").title().to_owned()
    }

    pub(crate) async fn node(&mut self, role: &str, name: &str) -> UiNode {
        let tree = self.look().await.tree.expect("a tree");
        let found = tree.nodes.iter().find(|node| node.role.as_str() == role && node.name == name);
        found.unwrap_or_else(|| panic!("no {role} {name:?} in {tree:#?}")).clone()
    }

    pub(crate) async fn click(&mut self, role: &str, name: &str) -> String {
        let node = self.node(role, name).await.id;
        self.delivered(click(&node)).await
    }

    pub(crate) async fn type_text(&mut self, text: &str) {
        self.delivered(Act::Type { text: text.into() }).await;
    }

    pub(crate) async fn key(&mut self, chord: &str) {
        self.delivered(key(chord)).await;
    }

    pub(crate) async fn close(self) {
        self.environment.close(Duration::from_secs(10)).await.expect("closed");
    }
}

pub(crate) fn click(node: &NodeRef) -> Act {
    Act::Click { at: Target::Ref(node.clone()), button: Button::Left, count: 1, hold: None }
}

pub(crate) fn key(chord: &str) -> Act {
    Act::Key { chord: Chord::parse(chord).expect("a chord"), hold_ms: None }
}

pub(crate) fn select(node: &NodeRef, option: &str) -> Act {
    Act::Select { at: Target::Ref(node.clone()), option: option.into() }
}
