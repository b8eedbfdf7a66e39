//! Environments: adapters to worlds. They do not know each other.

pub mod browser;
pub mod desktop;
pub mod scene;
pub mod vm;
