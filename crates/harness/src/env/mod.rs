//! Environments: one adapter per kind of world. The adapters do not depend on each other.

pub mod browser;
pub mod desktop;
pub mod scene;
pub mod vm;
pub mod warm_pool;
