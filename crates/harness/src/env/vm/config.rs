//! The configuration of the machines.

use std::time::Duration;

use super::address::MachineAddress;

/// Configuration shared by all machines.
#[derive(Clone, Debug)]
pub struct VmConfig {
    /// Addresses of the machines. Each serves one attempt at a time. Empty if the reset command prints the address.
    pub places: Vec<MachineAddress>,
    /// Shell command line, run on the host before each attempt, that resets a machine.
    pub reset: Option<String>,
    /// Shell command line, run on the host after each attempt, that releases a machine.
    pub release: Option<String>,
    /// Number of machines, when no addresses are given.
    pub machines: usize,
    /// Deadline for a reset.
    pub reset_within: Duration,
    /// Deadline for a machine to answer after a reset.
    pub ready_within: Duration,
}
