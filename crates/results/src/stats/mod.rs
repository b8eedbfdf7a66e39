//! Statistics of paired comparisons, by template. Pure: no clock and no unseeded randomness.
//!
//! The template is the unit: seeds are averaged within a task, tasks within a template, and each template then gives
//! one number. [`sign_flip`] gives the verdict and the interval; [`over_books`] does so for several books; [`wilson`]
//! describes one arm, [`mcnemar`] the tasks that changed sides, and [`holm`] corrects a family of tests.

mod holm;
mod kappa;
mod mcnemar;
mod mean;
mod newcombe;
mod over_books;
mod power;
mod signflip;
mod thresholds;
mod voids;
mod wilson;

pub use holm::holm;
pub use kappa::kappa;
pub use mcnemar::{McNemar, mcnemar};
pub use mean::mean;
pub use newcombe::{Passes, newcombe};
pub use over_books::{MIN_BOOKS, OverBooks, over_books};
pub(crate) use power::p_value;
pub use power::{Design, POWER, PowerAssumptions, TEMPLATE_GAIN, power, smallest_effect, templates_needed};
pub use signflip::{EXACT_UP_TO, Interval, MONTE_CARLO_DRAWS, SignFlip, sign_flip};
pub use thresholds::{ALPHA, MIN_TEMPLATES};
pub use voids::{VOID_CAP, VoidCounts, VoidFault};
pub use wilson::{Cluster, Rate, clustered_rate, wilson};

#[cfg(test)]
mod tests;
