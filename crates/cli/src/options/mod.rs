//! Options that several commands have in common.

pub(crate) mod count;
pub(crate) mod guidance_args;
pub(crate) mod servers;
