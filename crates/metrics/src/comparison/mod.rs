//! Comparisons of texts and values as Python makes them.

pub(crate) mod difflib;
pub(crate) mod value;
