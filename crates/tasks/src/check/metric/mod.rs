//! Metrics under OSWorld's names, with upstream's semantics. Each metric computes a score from evidence.
//!
//! Where upstream raises an exception instead of scoring, a metric returns [`MetricError::Raised`]. [`Compat`] decides
//! whether that counts as a score of zero or as no score.

mod app_settings;
mod archive;
mod attribute_limit;
mod browser;
mod compat;
mod difflib;
mod document;
mod epub;
mod files_to_read;
mod html;
mod image;
mod input;
mod json;
mod list;
mod media;
mod package;
mod pdf;
mod picture;
mod python;
mod python_regex;
mod registry;
mod reward;
mod score;
mod selector;
mod slides;
mod sound;
mod sqlite_and_id3;
mod structure;
mod table;
mod text;
mod thunderbird;
mod tree;
mod url;
mod value;
mod vlc;
mod web_arena;
mod xml;
mod yaml;
mod zip_reader;

pub use compat::Compat;
pub(super) use compat::CompatProbe;
pub(in crate::check) use files_to_read::files_to_read;
pub(crate) use files_to_read::kind_to_read;
pub(super) use input::MetricInput;
pub(super) use json::read as read_json;
pub(super) use picture::grey_thumbnail;
pub use registry::{ArgumentKind, METRICS, Metric, MetricFamily, named};
pub(super) use score::{MetricError, Score};
pub(super) use slides::{Medium, SlideMedium, medium_in_slide};
pub(super) use table::last_row;
pub(crate) use url::Url;
pub(crate) use url::same as same_url;

/// Computes the metric of this name.
pub(super) fn mark(name: &str, case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let metric = named(name).ok_or_else(|| MetricError::Task(format!("unknown metric {name:?}")))?;
    match metric.run(case) {
        Err(MetricError::Raised(why)) if !case.reproduces_bugs() => Ok(Score::none(why)),
        marked => marked,
    }
}

#[cfg(test)]
#[path = "../../../../../examples/metric.rs"]
mod example_metric;
#[cfg(test)]
mod office_tests;
#[cfg(test)]
mod property_tests;
#[cfg(test)]
mod tests;
