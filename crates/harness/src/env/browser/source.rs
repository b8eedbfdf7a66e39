//! Opens browser worlds: a cell, Chromium in it, and the connection between them.

use std::sync::Arc;

use apprentice_cdp::Connection;
use apprentice_cdp::domain::browser::{DownloadBehavior, SetDownloadBehavior};
use apprentice_protocol::{
    BoxFuture, Clock, EnvironmentKind, EnvironmentSource, World, WorldError, WorldErrorKind, WorldSpec,
};

use super::driver::Browser;
use super::input::InputState;
use super::launch::{BrowserSandbox, LaunchOptions, PagePictures, launch};
use super::machine::BrowserMachine;
use super::page_screen::{PageScreen, screen_for};
use super::script::PageScripts;
use super::teardown::Teardown;
use super::world::BrowserEnvironment;
use apprentice_sandbox::{Cell, CellSpec, NetworkPolicy};

/// Opens browser worlds, each with its own Chromium, profile and cell.
pub struct BrowserSource {
    /// The configuration of the cell for Chromium. What it says of a screen is ignored.
    pub cell: CellSpec,
    /// Which hosts pages may reach.
    pub network: NetworkPolicy,
    /// Chromium's program name inside the cell.
    pub program: String,
    /// Whether Chromium's own sandbox is on.
    pub sandbox: BrowserSandbox,
    /// Where pictures of pages come from.
    pub pictures: PagePictures,
    /// Whether models may run scripts in pages.
    pub scripts: PageScripts,
    /// The clock for holds and pauses that a model asks for.
    pub clock: Arc<dyn Clock>,
}

impl EnvironmentSource for BrowserSource {
    fn open<'a>(&'a self, spec: &'a WorldSpec) -> BoxFuture<'a, Result<World, WorldError>> {
        Box::pin(self.open_one(spec))
    }
}

impl BrowserSource {
    async fn open_one(&self, spec: &WorldSpec) -> Result<World, WorldError> {
        let start = |story: String| WorldError::new(WorldErrorKind::Start, story);
        if spec.environment != EnvironmentKind::Browser {
            return Err(start(format!("this source opens browser worlds, not {:?}", spec.environment)));
        }
        let size = spec.only_monitor()?;
        let network = self.network.hosts(&spec.network)?;
        let folders = spec.folders.clone();
        let (sandbox, pictures, proxied) = (self.sandbox, self.pictures, !network.is_empty());
        let options = LaunchOptions { size, sandbox, pictures, proxied };
        let screen = (pictures == PagePictures::Screen).then(|| screen_for(size).into());
        let cell = CellSpec { screen, bare: true, network, folders, ..self.cell.clone() };
        let cell = Cell::start(&cell, self.clock.clone()).await?;
        let machine = cell.machine();
        let screen = match cell.screen() {
            Some(screen) => Some(PageScreen::open(screen).await?),
            None => None,
        };
        let (chromium, pipe) = launch(&cell, &self.program, &options).await?;
        let connection = Connection::over_pipe(pipe);
        let browser = Arc::new(Browser::take_over(connection, size, screen).await?);
        let downloads = SetDownloadBehavior {
            behavior: DownloadBehavior::Allow,
            download_path: format!("{}/Downloads", machine.offers().home),
            events_enabled: true,
        };
        let kept = browser.root().call(&downloads).await;
        kept.map_err(|error| start(format!("downloads could not be set up: {error}")))?;
        if let Some(url) = &spec.url {
            let opened = browser.navigate(url).await.map_err(|trouble| start(trouble.to_string()));
            opened?;
        }
        let isolation = cell.isolation();
        let machine = Arc::new(BrowserMachine::new(machine, Arc::clone(&browser)));
        let environment = BrowserEnvironment {
            browser,
            machine: machine.clone(),
            clock: Arc::clone(&self.clock),
            hands: InputState::default(),
            scripts: self.scripts,
            calm: false,
            ending: Teardown { chromium, cell },
        };
        Ok(World { environment: Box::new(environment), machine, isolation })
    }
}
