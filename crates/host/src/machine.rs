//! The [`Machine`] port of the user's own desktop. It offers only the size of the screen: files and commands belong to the user.

use std::collections::BTreeSet;

use apprentice_protocol::{
    BoxFuture, Capability, ChildProcess, Command, DirEntry, Image, Machine, MachineError, MachineInfo,
    Output, PortForward, Size, TreeBudget, UiTree, Window,
};

/// A machine that offers only the size of its screen.
pub(crate) struct HostMachine {
    offers: MachineInfo,
}

impl HostMachine {
    pub(crate) fn new(screen: Size) -> Self {
        Self {
            offers: MachineInfo { capabilities: BTreeSet::new(), home: String::new(), screen: Some(screen) },
        }
    }
}

fn unsupported<'a, T: Send + 'a>(what: Capability) -> BoxFuture<'a, Result<T, MachineError>> {
    Box::pin(std::future::ready(Err(MachineError::Unsupported(what))))
}

impl Machine for HostMachine {
    fn offers(&self) -> &MachineInfo {
        &self.offers
    }

    fn read<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Vec<u8>, MachineError>> {
        unsupported(Capability::Files)
    }

    fn write<'a>(&'a self, _: &'a str, _: &'a [u8]) -> BoxFuture<'a, Result<(), MachineError>> {
        unsupported(Capability::Files)
    }

    fn list<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Vec<DirEntry>, MachineError>> {
        unsupported(Capability::Files)
    }

    fn remove<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<(), MachineError>> {
        unsupported(Capability::Files)
    }

    fn run<'a>(&'a self, _: &'a Command) -> BoxFuture<'a, Result<Output, MachineError>> {
        unsupported(Capability::Commands)
    }

    fn spawn<'a>(&'a self, _: &'a Command) -> BoxFuture<'a, Result<Box<dyn ChildProcess>, MachineError>> {
        unsupported(Capability::Processes)
    }

    fn launch<'a>(&'a self, _: &'a Command) -> BoxFuture<'a, Result<(), MachineError>> {
        unsupported(Capability::Commands)
    }

    fn tree<'a>(&'a self, _: &'a TreeBudget) -> BoxFuture<'a, Result<UiTree, MachineError>> {
        unsupported(Capability::Tree)
    }

    fn screenshot(&self) -> BoxFuture<'_, Result<Image, MachineError>> {
        unsupported(Capability::Screenshots)
    }

    fn windows(&self) -> BoxFuture<'_, Result<Vec<Window>, MachineError>> {
        unsupported(Capability::Windows)
    }

    fn dial(&self, _: u16) -> BoxFuture<'_, Result<PortForward, MachineError>> {
        unsupported(Capability::Ports)
    }
}
