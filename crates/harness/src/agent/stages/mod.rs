//! The stages of a turn, each with the part of the attempt's state that it may touch.

mod advice;
pub(super) mod asking;
pub(super) mod batch;
mod element_search;
mod function;
pub(super) mod observe;
pub(super) mod person;
mod reading;
mod repeat;
