//! The thresholds at which a comparison gets a verdict.

/// The significance level.
pub const ALPHA: f64 = 0.05;

/// Minimum number of templates for a verdict.
pub const MIN_TEMPLATES: usize = 8;
