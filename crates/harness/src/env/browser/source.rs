//! Opens browser worlds: a cell, Chromium in it, and the connection between them.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use apprentice_cdp::Connection;
use apprentice_cdp::domain::browser::{DownloadBehavior, SetDownloadBehavior};
use apprentice_protocol::{
    BoxFuture, Clock, EnvironmentKind, EnvironmentSource, Isolation, World, WorldError, WorldErrorKind,
    WorldSpec,
};

use super::driver::Browser;
use super::input::InputState;
use super::launch::{BrowserSandbox, Chromium, LaunchOptions, PagePictures, launch};
use super::machine::BrowserMachine;
use super::page_screen::{PageScreen, screen_for};
use super::reuse::{BrowserReuse, ContextPool, IdleBrowser, Returning, first_context};
use super::script::PageScripts;
use super::teardown::Teardown;
use super::world::BrowserEnvironment;
use apprentice_sandbox::{Cell, CellSpec, NetworkPolicy};

/// Opens browser worlds.
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
    /// Whether browsers serve several episodes.
    pub reuse: BrowserReuse,
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

/// A browser whose pages are not used yet.
struct OpenBrowser {
    browser: Arc<Browser>,
    chromium: Chromium,
    cell: Cell,
    /// The episodes that the browser has served, with the one that begins.
    episodes: u32,
}

impl BrowserSource {
    async fn open_one(&self, spec: &WorldSpec) -> Result<World, WorldError> {
        if spec.environment != EnvironmentKind::Browser {
            return Err(start(format!("this source opens browser worlds, not {:?}", spec.environment)));
        }
        let kind = WorldSpec { url: None, ..spec.clone() };
        let pool = self.reuse.pool();
        let OpenBrowser { browser, chromium, cell, episodes } = match pool {
            Some(pool) => self.reuse_one(pool, &kind).await?,
            None => self.start_one(spec).await?,
        };
        let machine = cell.machine();
        let downloads = SetDownloadBehavior {
            behavior: DownloadBehavior::Allow,
            download_path: format!("{}/Downloads", machine.offers().home),
            events_enabled: true,
            browser_context_id: browser.context().cloned(),
        };
        let kept = browser.root().call(&downloads).await;
        kept.map_err(|error| start(format!("downloads could not be set up: {error}")))?;
        if let Some(url) = &spec.url {
            let opened = browser.navigate(url).await.map_err(|trouble| start(trouble.to_string()));
            opened?;
        }
        let isolation = if pool.is_some() { Isolation::Context } else { cell.isolation() };
        let touched = pool.map(|_| Arc::<AtomicBool>::default());
        let returning = pool.zip(touched.clone()).map(|(pool, touched)| Returning {
            pool: Arc::clone(pool),
            kind,
            episodes,
            browser: Arc::clone(&browser),
            touched,
        });
        let machine = Arc::new(BrowserMachine::new(machine, Arc::clone(&browser), touched));
        let environment = BrowserEnvironment {
            browser,
            machine: machine.clone(),
            clock: Arc::clone(&self.clock),
            hands: InputState::default(),
            scripts: self.scripts,
            calm: false,
            ending: Teardown { chromium, cell, returning },
        };
        Ok(World { environment: Box::new(environment), machine, isolation })
    }

    /// Takes a browser that has served episodes before, or starts one.
    async fn reuse_one(&self, pool: &ContextPool, kind: &WorldSpec) -> Result<OpenBrowser, WorldError> {
        while let Some(IdleBrowser { episodes, browser, chromium, cell, .. }) = pool.take(kind).await {
            if browser.still_works().await && cell.loss().is_none() {
                return Ok(OpenBrowser { browser, chromium, cell, episodes: episodes + 1 });
            }
            tracing::debug!("a browser that waited has broken");
        }
        let (cell, chromium, connection) = self.launch_in_cell(kind).await?;
        let browser = Arc::new(first_context(&connection, kind.only_monitor()?, &cell).await?);
        Ok(OpenBrowser { browser, chromium, cell, episodes: 1 })
    }

    async fn start_one(&self, spec: &WorldSpec) -> Result<OpenBrowser, WorldError> {
        let (cell, chromium, connection) = self.launch_in_cell(spec).await?;
        let screen = match cell.screen() {
            Some(screen) => Some(PageScreen::open(screen).await?),
            None => None,
        };
        let browser = Arc::new(Browser::take_over(connection, spec.only_monitor()?, screen).await?);
        Ok(OpenBrowser { browser, chromium, cell, episodes: 1 })
    }

    async fn launch_in_cell(
        &self,
        spec: &WorldSpec,
    ) -> Result<(Cell, Chromium, Arc<Connection>), WorldError> {
        let size = spec.only_monitor()?;
        let network = self.network.hosts(&spec.network)?;
        let folders = spec.folders.clone();
        let (sandbox, pictures, proxied) = (self.sandbox, self.pictures, !network.is_empty());
        let options = LaunchOptions { size, sandbox, pictures, proxied };
        let screen = (pictures == PagePictures::Screen).then(|| screen_for(size).into());
        let cell = CellSpec { screen, bare: true, network, folders, ..self.cell.clone() };
        let cell = Cell::start(&cell, self.clock.clone()).await?;
        let (chromium, pipe) = launch(&cell, &self.program, &options).await?;
        Ok((cell, chromium, Arc::new(Connection::over_pipe(pipe))))
    }
}

fn start(story: String) -> WorldError {
    WorldError::new(WorldErrorKind::Start, story)
}
