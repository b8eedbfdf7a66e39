//! The evaluators of WebArena: a string that answers, an address, and what pages hold. Each follows the Python of the same
//! purpose in the package `libwebarena`, which `scripts/conformance/webarena-oracle` compares.

mod address;
mod answer;
mod entities;
mod page_content;
mod words;

pub(super) use address::url_match;
pub(super) use answer::string_match;
pub(super) use page_content::program_html;
