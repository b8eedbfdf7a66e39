//! A skill and its parts, as plain records: texts, notes, figures, functions, counters and evidence.

pub(crate) mod attachment;
pub(crate) mod counts;
pub(crate) mod figure;
pub(crate) mod function;
pub(crate) mod function_check;
pub(crate) mod hash;
pub(crate) mod model;
pub(crate) mod note;
pub(crate) mod page;
pub(crate) mod record;
pub(crate) mod restored;
pub(crate) mod sentence_origin;
pub(crate) mod shipped_id;
pub(crate) mod short_steps;
pub(crate) mod trial;
pub(crate) mod version_evidence;
