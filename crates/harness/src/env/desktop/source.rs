//! Opens desktop worlds: a cell with a screen.

use std::path::PathBuf;
use std::sync::Arc;

use apprentice_protocol::{BoxFuture, Clock, EnvironmentSource, World, WorldError, WorldSpec};
use apprentice_sandbox::{Cell, CellIsolation, CellLimits, CellSpec, NetworkPolicy};

use super::DesktopEnvironment;
use super::ocr::WindowReader;
use super::silent_areas::SilentAreas;

/// Configuration shared by the cells of all desktop worlds.
#[derive(Clone, Debug)]
pub struct DesktopConfig {
    /// How cells are isolated from the host.
    pub isolation: CellIsolation,
    /// Path of our own program, which is started again inside the cell as its supervisor.
    pub program: PathBuf,
    /// The hidden argument that makes the program a supervisor.
    pub argument: String,
    /// A folder for run-time state.
    pub state: PathBuf,
    /// A home to start from. The built-in seed files are added to it.
    pub golden: Option<PathBuf>,
    /// What the programs of one cell may use.
    pub limits: CellLimits,
    /// Which hosts programs may reach.
    pub network: NetworkPolicy,
    /// What views hold.
    pub sight: Sight,
}

/// What the views of a desktop hold besides what the screen and the accessibility bus give.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sight {
    /// Whether the pointer is drawn into pictures.
    pub pointer: bool,
    /// Whether the picture of a window that does not list its elements is read by tesseract.
    pub ocr: bool,
}

/// Opens desktop worlds, each in its own cell.
pub struct DesktopSource {
    config: DesktopConfig,
    clock: Arc<dyn Clock>,
}

impl DesktopSource {
    /// Creates a source of desktop worlds.
    pub fn new(config: DesktopConfig, clock: Arc<dyn Clock>) -> Self {
        Self { config, clock }
    }

    async fn start(&self, spec: &WorldSpec) -> Result<World, WorldError> {
        let screen = spec.screen.clone();
        let DesktopConfig { isolation, program, argument, state, golden, limits, network, sight } =
            self.config.clone();
        let network = network.hosts(&spec.network)?;
        let folders = spec.folders.clone();
        let spec = CellSpec {
            screen: Some(screen.clone()),
            bare: false,
            isolation,
            program,
            argument,
            state,
            golden,
            limits,
            network,
            folders,
        };
        let cell = Cell::start(&spec, self.clock.clone()).await?;
        let (machine, isolation) = (cell.machine(), cell.isolation());
        let desktop = DesktopEnvironment {
            cell,
            screen,
            awaits_effect: false,
            has_looked: false,
            is_undrawn: true,
            seen_changes: 0,
            seen_tree: None,
            silent_areas: SilentAreas::default(),
            sight,
            reader: WindowReader::default(),
        };
        Ok(World { environment: Box::new(desktop), machine, isolation })
    }
}

impl EnvironmentSource for DesktopSource {
    fn open<'a>(&'a self, spec: &'a WorldSpec) -> BoxFuture<'a, Result<World, WorldError>> {
        Box::pin(self.start(spec))
    }
}
