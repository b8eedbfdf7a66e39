//! The metrics, by the kind of data that they evaluate, and the table of their names.

mod app_settings;
mod archive;
mod browser;
mod document;
mod epub;
mod files_to_read;
mod html;
mod image;
mod list;
mod media;
mod pdf;
mod picture;
mod registry;
mod reward;
mod skill_eval;
mod slides;
mod sound;
mod sqlite_and_id3;
mod structure;
mod table;
mod text;
mod thunderbird;
mod tree;
mod vlc;
mod web_arena;

pub use files_to_read::{files_to_read, kind_to_read};
pub use picture::grey_thumbnail;
pub use registry::{ArgumentKind, METRICS, Metric, MetricFamily, named};
pub use slides::{MediumLocation, SlideMedium, medium_in_slide};
pub use table::last_row;
pub use tree::SYNTHETIC_TREE;

use crate::scoring::{MetricError, MetricInput, Score};

/// Computes the metric of this name.
///
/// # Errors
///
/// Fails if the check is wrong or takes too much, if only a model can judge the answer, or if the result is malformed, so that
/// OSWorld's function raises an exception.
pub fn compute(name: &str, case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let metric = named(name).ok_or_else(|| MetricError::Task(format!("unknown metric {name:?}")))?;
    match metric.run(case) {
        Err(MetricError::Raised(why)) if !case.reproduces_bugs() => Ok(Score::none(why)),
        marked => marked,
    }
}

#[cfg(test)]
#[path = "../../../../examples/metric.rs"]
mod example_metric;
#[cfg(test)]
mod office_tests;
#[cfg(test)]
mod property_tests;
#[cfg(test)]
mod tests;
