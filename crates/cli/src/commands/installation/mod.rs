//! Commands about the installation and a suite's files: settings, models, prompts, splits, first suites, manual pages.

pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod init;
pub(crate) mod manual;
pub(crate) mod models;
pub(crate) mod prompts;
pub(crate) mod selftest;
pub(crate) mod split;
