//! The [`Machine`] port of a browser world: the cell's, but with the page's interface tree and screenshot.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
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
    /// Where the browser serves several episodes: whether this one touched the cell beside it.
    touched: Option<Arc<AtomicBool>>,
}

impl BrowserMachine {
    pub(super) fn new(
        cell: Arc<dyn Machine>,
        browser: Arc<Browser>,
        touched: Option<Arc<AtomicBool>>,
    ) -> Self {
        let mut offers = cell.offers().clone();
        offers.capabilities.extend([Capability::Tree, Capability::Screenshots]);
        offers.screen = Some(browser.size);
        Self { cell, browser, offers, touched }
    }
}

impl BrowserMachine {
    fn is_in_profile(&self, path: &str) -> bool {
        let home = &self.offers.home;
        let inside = path.strip_prefix("~/").or_else(|| path.strip_prefix(home.as_str()));
        inside.unwrap_or(path).trim_start_matches('/').starts_with(PROFILE)
    }

    /// Notes that the cell is touched at a path. Fails for the profile of a browser that serves several episodes.
    fn touch(&self, path: &str) -> Result<(), MachineError> {
        self.check_own(path)?;
        if let Some(touched) = &self.touched {
            touched.store(true, Ordering::Release);
        }
        Ok(())
    }

    /// The same by a command, if its words name the profile.
    fn touch_by(&self, command: &Command) -> Result<(), MachineError> {
        let named = command.argv.iter().find(|word| word.contains(PROFILE));
        self.touch(named.map_or("", |_| PROFILE))
    }

    /// Fails for the profile of a browser that serves several episodes.
    fn check_own(&self, path: &str) -> Result<(), MachineError> {
        if self.touched.is_none() || !self.is_in_profile(path) {
            return Ok(());
        }
        let why = "the browser serves several episodes, and its profile belongs to none of them: set browser_reuse to \"off\"";
        Err(MachineError::Refused { what: PROFILE.to_owned(), why: why.to_owned() })
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
            self.check_own(path)?;
            if self.is_in_profile(path) {
                self.write_profile().await?;
            }
            self.cell.read(path).await
        })
    }

    fn write<'a>(&'a self, path: &'a str, bytes: &'a [u8]) -> BoxFuture<'a, Result<(), MachineError>> {
        Box::pin(async move {
            self.touch(path)?;
            self.cell.write(path, bytes).await
        })
    }

    fn list<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Vec<DirEntry>, MachineError>> {
        Box::pin(async move {
            self.check_own(path)?;
            self.cell.list(path).await
        })
    }

    fn remove<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<(), MachineError>> {
        Box::pin(async move {
            self.touch(path)?;
            self.cell.remove(path).await
        })
    }

    fn run<'a>(&'a self, command: &'a Command) -> BoxFuture<'a, Result<Output, MachineError>> {
        Box::pin(async move {
            self.touch_by(command)?;
            self.cell.run(command).await
        })
    }

    fn spawn<'a>(
        &'a self,
        command: &'a Command,
    ) -> BoxFuture<'a, Result<Box<dyn ChildProcess>, MachineError>> {
        Box::pin(async move {
            self.touch_by(command)?;
            self.cell.spawn(command).await
        })
    }

    fn launch<'a>(&'a self, command: &'a Command) -> BoxFuture<'a, Result<(), MachineError>> {
        Box::pin(async move {
            self.touch_by(command)?;
            self.cell.launch(command).await
        })
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
