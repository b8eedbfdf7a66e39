//! The [`Machine`] port of a scene: its files, interface tree and screenshot.

use std::sync::{Arc, Mutex, PoisonError};

use apprentice_protocol::{
    BoxFuture, Capability, ChildProcess, Command, DirEntry, EntryKind, Image, Machine, MachineError,
    MachineInfo, Output, PortForward, Rect, TreeBudget, UiTree, Window, WorldError,
};

use super::definition::{Fault, FaultPlace};
use super::paint::paint;
use super::scene_state::{STATE_FILE, SceneState};

/// The stage shared by both handles of a world, with its simulated faults.
pub(super) struct Shared {
    stage: Mutex<SceneState>,
    faults: Vec<Fault>,
    used: Mutex<[u32; 5]>,
}

impl Shared {
    pub(super) fn new(stage: SceneState, faults: Vec<Fault>) -> Self {
        Self { stage: Mutex::new(stage), faults, used: Mutex::new([0; 5]) }
    }

    /// Runs a function on the stage under its lock.
    pub(super) fn with<T>(&self, work: impl FnOnce(&mut SceneState) -> T) -> T {
        work(&mut self.stage.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Counts one operation of a kind and raises the fault that is due, if there is one.
    pub(super) async fn raise_due_fault(&self, place: FaultPlace) -> Result<(), WorldError> {
        let before = {
            let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
            let count = &mut used[place as usize];
            *count += 1;
            *count - 1
        };
        let struck = self.faults.iter().find(|fault| fault.at == place && fault.after <= before);
        match struck.map(|fault| fault.fault) {
            None => Ok(()),
            Some(Some(fault)) => {
                Err(WorldError::new(fault, format!("simulated fault at {place:?} after {before} uses")))
            }
            Some(None) => std::future::pending().await,
        }
    }

    pub(super) fn picture(&self) -> Result<Image, String> {
        let (tree, screen) = self.with(|stage| (stage.tree(), stage.screen()));
        paint(&tree, screen).map_err(|error| error.to_string())
    }

    pub(super) fn windows(&self) -> Vec<Window> {
        self.with(|stage| {
            let (width, height) = (stage.screen().width.cast_signed(), stage.screen().height.cast_signed());
            vec![Window {
                id: "0x1".into(),
                title: stage.title().to_owned(),
                class: "scene".into(),
                bounds: Rect::new(0, 0, width, height),
                active: true,
                pid: None,
            }]
        })
    }
}

/// A scene as setup and checks see it.
pub(super) struct SceneMachine {
    pub(super) shared: Arc<Shared>,
    pub(super) offers: MachineInfo,
}

impl SceneMachine {
    /// Runs a function on the stage, unless a fault is due.
    fn work<'a, T: Send + 'a>(
        &'a self,
        work: impl FnOnce(&mut SceneState) -> Result<T, MachineError> + Send + 'a,
    ) -> BoxFuture<'a, Result<T, MachineError>> {
        Box::pin(async move {
            let lost = |error: WorldError| MachineError::Lost(error.message);
            self.shared.raise_due_fault(FaultPlace::Machine).await.map_err(lost)?;
            self.shared.with(work)
        })
    }
}

fn unsupported<T: Send + 'static>(what: Capability) -> BoxFuture<'static, Result<T, MachineError>> {
    Box::pin(std::future::ready(Err(MachineError::Unsupported(what))))
}

impl Machine for SceneMachine {
    fn offers(&self) -> &MachineInfo {
        &self.offers
    }

    fn read<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Vec<u8>, MachineError>> {
        self.work(move |stage| match stage.files.get(path) {
            Some(bytes) => Ok(bytes.clone()),
            None if path == STATE_FILE => Ok(stage.as_file()),
            None => Err(MachineError::NotFound(path.to_owned())),
        })
    }

    fn write<'a>(&'a self, path: &'a str, bytes: &'a [u8]) -> BoxFuture<'a, Result<(), MachineError>> {
        self.work(move |stage| {
            if !path.starts_with('/') {
                let why = "the path is not absolute".into();
                return Err(MachineError::Refused { what: format!("write {path}"), why });
            }
            stage.files.insert(path.to_owned(), bytes.to_vec());
            Ok(())
        })
    }

    fn list<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Vec<DirEntry>, MachineError>> {
        self.work(move |stage| {
            let folder = format!("{}/", path.trim_end_matches('/'));
            let mut entries = std::collections::BTreeMap::new();
            for (file, bytes) in &stage.files {
                let Some(inner) = file.strip_prefix(&folder) else { continue };
                for (end, _) in inner.match_indices('/') {
                    entries.insert(inner[..end].to_owned(), (EntryKind::Directory, 0));
                }
                entries.insert(inner.to_owned(), (EntryKind::File, bytes.len() as u64));
            }
            if entries.is_empty() && folder != "/" {
                return Err(MachineError::NotFound(path.to_owned()));
            }
            Ok(entries.into_iter().map(|(path, (kind, size))| DirEntry { path, kind, size }).collect())
        })
    }

    fn remove<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<(), MachineError>> {
        self.work(move |stage| {
            let folder = format!("{}/", path.trim_end_matches('/'));
            let before = stage.files.len();
            stage.files.retain(|file, _| file != path && !file.starts_with(&folder));
            let gone = stage.files.len() < before;
            gone.then_some(()).ok_or_else(|| MachineError::NotFound(path.to_owned()))
        })
    }

    fn run<'a>(&'a self, _command: &'a Command) -> BoxFuture<'a, Result<Output, MachineError>> {
        unsupported(Capability::Commands)
    }

    fn spawn<'a>(
        &'a self,
        _command: &'a Command,
    ) -> BoxFuture<'a, Result<Box<dyn ChildProcess>, MachineError>> {
        unsupported(Capability::Processes)
    }

    fn launch<'a>(&'a self, _command: &'a Command) -> BoxFuture<'a, Result<(), MachineError>> {
        unsupported(Capability::Commands)
    }

    fn tree<'a>(&'a self, _budget: &'a TreeBudget) -> BoxFuture<'a, Result<UiTree, MachineError>> {
        self.work(|stage| Ok(stage.tree()))
    }

    fn screenshot(&self) -> BoxFuture<'_, Result<Image, MachineError>> {
        self.work(|stage| {
            let tree = stage.tree();
            paint(&tree, stage.screen()).map_err(|error| MachineError::Lost(error.to_string()))
        })
    }

    fn windows(&self) -> BoxFuture<'_, Result<Vec<Window>, MachineError>> {
        Box::pin(std::future::ready(Ok(self.shared.windows())))
    }

    fn dial(&self, _port: u16) -> BoxFuture<'_, Result<PortForward, MachineError>> {
        unsupported(Capability::Ports)
    }
}
