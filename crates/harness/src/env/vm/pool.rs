//! The pool of machines, each of which serves one attempt at a time.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use apprentice_protocol::{WorldError, WorldErrorKind};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::address::MachineAddress;
use super::config::VmConfig;
use super::reset::{self, ResetContext};

/// Numbers of the free machines.
type FreeSlots = Mutex<Vec<usize>>;

/// All machines, in use or free.
pub(super) struct MachinePool {
    config: Arc<VmConfig>,
    free: Arc<FreeSlots>,
    places: Arc<Semaphore>,
}

impl MachinePool {
    pub(super) fn new(config: Arc<VmConfig>) -> Self {
        let count = if config.places.is_empty() { config.machines.max(1) } else { config.places.len() };
        Self {
            config,
            free: Arc::new(Mutex::new((0..count).rev().collect())),
            places: Arc::new(Semaphore::new(count)),
        }
    }

    /// Waits for a free machine and takes it.
    pub(super) async fn lease(&self) -> Result<Lease, WorldError> {
        let gone = || WorldError::new(WorldErrorKind::Start, "no machine is left");
        let permit = Arc::clone(&self.places).acquire_owned().await.map_err(|_| gone())?;
        let slot = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop().ok_or_else(gone)?;
        let place = self.config.places.get(slot).cloned();
        Ok(Lease { slot, place, config: self.config.clone(), free: self.free.clone(), _permit: permit })
    }
}

/// Exclusive use of one machine. Dropping it frees the machine.
pub(super) struct Lease {
    slot: usize,
    place: Option<MachineAddress>,
    config: Arc<VmConfig>,
    free: Arc<FreeSlots>,
    _permit: OwnedSemaphorePermit,
}

impl Lease {
    /// Resets the machine with the user's own command, if one is configured, and returns the machine's address.
    pub(super) async fn reset(&mut self) -> Result<MachineAddress, WorldError> {
        if let Some(line) = &self.config.reset {
            let told = ResetContext { slot: self.slot, place: self.place.as_ref() };
            let said = reset::run(line, told, self.config.reset_within).await?;
            self.place = said.or(self.place.take());
        }
        self.place.clone().ok_or_else(|| {
            let story =
                "no machine is known: set vm.url, or let the last line that vm.reset prints be its address";
            WorldError::new(WorldErrorKind::Start, story)
        })
    }

    /// Releases the machine with the user's own command, if one is configured.
    pub(super) async fn end(self, deadline: Duration) -> Result<(), WorldError> {
        let Some(line) = &self.config.release else { return Ok(()) };
        let told = ResetContext { slot: self.slot, place: self.place.as_ref() };
        reset::run(line, told, deadline.max(self.config.reset_within)).await.map(|_| ())
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.free.lock().unwrap_or_else(PoisonError::into_inner).push(self.slot);
    }
}
