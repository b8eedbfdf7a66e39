//! Sources of desktops and browsers whose cells lie in one folder, for tests and benchmarks.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use apprentice_harness::env::browser::{
    BrowserReuse, BrowserSandbox, BrowserSource, PagePictures, PageScripts,
};
use apprentice_harness::env::desktop::{DesktopConfig, DesktopSource, Sight};
use apprentice_protocol::{EnvironmentKind, EnvironmentSource as _, Size, World, WorldError, WorldSpec};
use apprentice_sandbox::{CellIsolation, CellLimits, NetworkPolicy, SystemClock};

use crate::cell;

/// Opens worlds, and knows the folder of their cells.
pub(crate) struct Sources {
    pub(crate) desktop: DesktopSource,
    pub(crate) browser: BrowserSource,
    pub(crate) clock: SystemClock,
    pub(crate) state: PathBuf,
}

impl Sources {
    pub(crate) fn new(state: &Path, limits: CellLimits) -> Self {
        let mut spec = cell::spec(state);
        spec.limits = limits;
        let config = DesktopConfig {
            network: NetworkPolicy::None,
            isolation: CellIsolation::Bubblewrap,
            program: cell::owner(),
            argument: "cell-supervisor".to_owned(),
            state: state.to_owned(),
            golden: None,
            limits,
            sight: Sight::default(),
        };
        Self {
            desktop: DesktopSource::new(config, Arc::new(SystemClock::new())),
            browser: BrowserSource {
                network: NetworkPolicy::None,
                cell: spec,
                program: "chromium".into(),
                sandbox: BrowserSandbox::On,
                pictures: PagePictures::Screen,
                reuse: BrowserReuse::off(),
                scripts: PageScripts::Off,
                clock: Arc::new(SystemClock::new()),
            },
            clock: SystemClock::new(),
            state: state.to_owned(),
        }
    }

    pub(crate) async fn open(&self, environment: EnvironmentKind, screen: Size) -> Result<World, WorldError> {
        let spec = WorldSpec::new(environment, screen);
        match environment {
            EnvironmentKind::Browser => self.browser.open(&spec).await,
            _ => self.desktop.open(&spec).await,
        }
    }
}
