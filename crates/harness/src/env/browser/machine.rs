//! The [`Machine`] port of a browser world: the cell's, but with the page's interface tree and screenshot.

use std::sync::Arc;
use std::time::Duration;

use apprentice_protocol::{
    BoxFuture, Capability, ChildProcess, Command, DirEntry, Image, Machine, MachineError, MachineInfo,
    Output, PortForward, TreeBudget, UiTree, Window,
};

use super::driver::{ActionError, Browser};
use super::snapshot::dialog_tree;

/// Chromium's profile folder, relative to the home folder.
const PROFILE: &str = ".config/chromium";
/// How long Chromium may take to write its profile.
const PROFILE_WRITE: Duration = Duration::from_secs(10);

/// A browser world as setup and checks see it.
pub(super) struct BrowserMachine {
    cell: Arc<dyn Machine>,
    browser: Arc<Browser>,
    offers: MachineInfo,
}

impl BrowserMachine {
    pub(super) fn new(cell: Arc<dyn Machine>, browser: Arc<Browser>) -> Self {
        let mut offers = cell.offers().clone();
        offers.capabilities.extend([Capability::Tree, Capability::Screenshots]);
        offers.screen = Some(browser.size);
        Self { cell, browser, offers }
    }
}

impl BrowserMachine {
    fn is_in_profile(&self, path: &str) -> bool {
        let home = &self.offers.home;
        let inside = path.strip_prefix("~/").or_else(|| path.strip_prefix(home.as_str()));
        inside.unwrap_or(path).trim_start_matches('/').starts_with(PROFILE)
    }

    /// Makes Chromium write its profile. It does so some seconds after a change, or when it ends, so this ends it. A
    /// check that reads profile files wants the latest settings, and has read the pages before.
    async fn write_profile(&self) -> Result<(), MachineError> {
        self.browser.finish().await;
        // Chromium removes its lock before it writes its last files, so this waits for the process. The brackets keep
        // the pattern from matching the shell's own command line.
        let line =
            "pid=$(pgrep -fo -- '[-]-remote-debugging-port=') && tail --pid=\"$pid\" -s 0.05 -f /dev/null";
        self.cell.run(&Command::shell(line).within(PROFILE_WRITE)).await.map(|_| ())
    }
}

impl Machine for BrowserMachine {
    fn offers(&self) -> &MachineInfo {
        &self.offers
    }

    fn read<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Vec<u8>, MachineError>> {
        Box::pin(async move {
            if self.is_in_profile(path) {
                self.write_profile().await?;
            }
            self.cell.read(path).await
        })
    }

    fn write<'a>(&'a self, path: &'a str, bytes: &'a [u8]) -> BoxFuture<'a, Result<(), MachineError>> {
        self.cell.write(path, bytes)
    }

    fn list<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Vec<DirEntry>, MachineError>> {
        self.cell.list(path)
    }

    fn remove<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<(), MachineError>> {
        self.cell.remove(path)
    }

    fn run<'a>(&'a self, command: &'a Command) -> BoxFuture<'a, Result<Output, MachineError>> {
        self.cell.run(command)
    }

    fn spawn<'a>(
        &'a self,
        command: &'a Command,
    ) -> BoxFuture<'a, Result<Box<dyn ChildProcess>, MachineError>> {
        self.cell.spawn(command)
    }

    fn launch<'a>(&'a self, command: &'a Command) -> BoxFuture<'a, Result<(), MachineError>> {
        self.cell.launch(command)
    }

    fn tree<'a>(&'a self, budget: &'a TreeBudget) -> BoxFuture<'a, Result<UiTree, MachineError>> {
        Box::pin(async move {
            match self.browser.tree(budget).await {
                Err(ActionError::Dialog(dialog)) => Ok(dialog_tree(dialog.describe())),
                other => other.map_err(|trouble| refuse("the tree", trouble)),
            }
        })
    }

    fn screenshot(&self) -> BoxFuture<'_, Result<Image, MachineError>> {
        Box::pin(async {
            self.browser
                .picture()
                .await
                .map(|seen| seen.image)
                .map_err(|trouble| refuse("a picture", trouble))
        })
    }

    fn windows(&self) -> BoxFuture<'_, Result<Vec<Window>, MachineError>> {
        self.cell.windows()
    }

    fn dial(&self, port: u16) -> BoxFuture<'_, Result<PortForward, MachineError>> {
        self.cell.dial(port)
    }
}

fn refuse(what: &str, trouble: ActionError) -> MachineError {
    match trouble {
        ActionError::World(error) => MachineError::Lost(error.message),
        other => MachineError::Refused { what: what.to_owned(), why: other.to_string() },
    }
}
