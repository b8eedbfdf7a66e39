//! Executable skills: functions that act in a world.
//!
//! A function is a short text in a small language ([`Source`]): one `fn` whose first parameter is the `page` of a
//! browser or the `desktop`, with a comment that describes it and its arguments. [`Source::read`] checks it without
//! running it; [`Source::start`] runs it as a [`WorldFunction`](apprentice_protocol::WorldFunction), whose every act is
//! carried out by whoever drives it. It reaches nothing but the world, and is bounded in steps, depth, memory and acts.

#![warn(clippy::missing_errors_doc)]

mod api;
mod argument;
mod check;
mod engine;
mod link;
mod locator;
mod playwright;
mod running;
mod signature;
mod source;

pub use argument::{ArgumentError, arguments_of};
pub use check::{SourceConstant, Violation, holds, replace_words};
pub use engine::{ACTS, OPERATIONS, SOURCE_CAP};
pub use locator::{Locator, LocatorError, Query};
pub use playwright::{PlaywrightError, PlaywrightFunction, SYNTAX_PROGRAM, Untranslated, translate};
pub use signature::{Parameter, ParameterKind, Signature, Surface};
pub use source::{Source, StartError};
