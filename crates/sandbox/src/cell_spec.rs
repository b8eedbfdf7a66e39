//! The configuration of a cell, and how it is isolated from the host.

use std::path::PathBuf;

use apprentice_protocol::{AllowedHost, Isolation, Monitors, RootFolder};

use super::limits::CellLimits;

/// How a cell is isolated from the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellIsolation {
    /// Linux namespaces, created by bubblewrap.
    Bubblewrap,
    /// Only a process group and a home of its own, in a container that is the boundary.
    Container,
    /// Only a process group and a home of its own.
    Plain,
}

impl CellIsolation {
    /// Returns whether the cell has namespaces of its own.
    pub(super) fn has_namespaces(self) -> bool {
        self == Self::Bubblewrap
    }
}

impl From<CellIsolation> for Isolation {
    fn from(isolation: CellIsolation) -> Self {
        match isolation {
            CellIsolation::Bubblewrap => Self::Cell,
            CellIsolation::Container => Self::Container,
            CellIsolation::Plain => Self::Plain,
        }
    }
}

/// The configuration for starting a cell.
#[derive(Clone, Debug)]
pub struct CellSpec {
    /// The screen. `None` starts no display, window manager or accessibility bus.
    pub screen: Option<Monitors>,
    /// Whether the screen stands alone: without window manager and accessibility bus, for one program that fills it.
    pub bare: bool,
    /// How the cell is isolated from the host.
    pub isolation: CellIsolation,
    /// Path of our own program, which is started again inside the cell as its supervisor.
    pub program: PathBuf,
    /// The hidden argument under which that program calls [`supervise`].
    pub argument: String,
    /// A folder for run-time state, shared by all cells of this user.
    pub state: PathBuf,
    /// A home to start from. The built-in seed files are added to it.
    pub golden: Option<PathBuf>,
    /// What the cell's programs may use.
    pub limits: CellLimits,
    /// The hosts that the cell's programs may reach, by a proxy. The cell has no network otherwise.
    pub network: Vec<AllowedHost>,
    /// Folders below the root that the cell's programs can write to, beside those of every cell. Without namespaces they are
    /// those of this machine.
    pub folders: Vec<RootFolder>,
}
