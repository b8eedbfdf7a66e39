//! Takes from the supervisor and from the programs below it what they do not need.
//!
//! All of them run as the same user, so the kernel would let any program attach to any other. The supervisor is kept
//! from that twice: it cannot be dumped, and it holds a capability that the programs lack, for the kernel lets nobody
//! attach to a process with more capabilities. Commands whose output decides a verdict get that capability too. It is
//! one that a user namespace cannot make use of.

use std::io;

use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};
use rustix::thread::{CapabilitySet, CapabilitySets, configure_capability_in_ambient_set, set_capabilities};

use super::seccomp;

/// What sets a process apart. The kernel asks for it in its first user namespace alone, so inside it grants nothing.
const MARK: CapabilitySet = CapabilitySet::WAKE_ALARM;
/// The same, as bubblewrap names it.
pub(crate) const MARK_NAME: &str = "CAP_WAKE_ALARM";

/// Leaves the session's keys behind, those of the user who started us among them.
pub(super) fn leave_keys() -> io::Result<()> {
    match keyutils_raw::keyctl_join_session_keyring(None) {
        Ok(_) => Ok(()),
        // A kernel without keys, or an outer filter that bars them: there is nothing to leave.
        Err(error) if [libc::ENOSYS, libc::EPERM].contains(&error.0) => Ok(()),
        Err(error) => Err(io::Error::other(format!("a keyring of the cell's own: {error}"))),
    }
}

/// Closes this process to others of its user. Must come before any other process is started.
pub(super) fn close_to_others() -> io::Result<()> {
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    // What crashes leaves no image of its memory.
    Ok(setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?)
}

/// Confines this process in a cell with namespaces, and all that it starts.
pub(super) fn confine() -> io::Result<()> {
    let kept = CapabilitySets { effective: MARK, permitted: MARK, inheritable: MARK };
    set_capabilities(None, kept)
        .map_err(|error| io::Error::other(format!("the supervisor's capability: {error}")))?;
    configure_capability_in_ambient_set(MARK, false)?;
    seccomp::bar_system_calls()
}

/// While this value lives, processes that this thread starts are set apart.
pub(super) struct SetApart;

impl SetApart {
    /// Starts to set processes apart.
    pub(super) fn begin() -> io::Result<Self> {
        configure_capability_in_ambient_set(MARK, true)?;
        Ok(Self)
    }
}

impl Drop for SetApart {
    fn drop(&mut self) {
        // Lowering a capability in this set cannot fail.
        let _ = configure_capability_in_ambient_set(MARK, false);
    }
}
