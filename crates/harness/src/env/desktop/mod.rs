//! Isolated desktops on this machine.
