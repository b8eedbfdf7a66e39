//! Reports: one self-contained HTML page and the same numbers as JSON and Markdown; also the page of one attempt.
//!
//! [`build`] computes every number from rows alone; [the page](render_page) and the JSON show the same [`Report`].
//!
//! The page's template draws the plots as SVG from coordinates computed by `plot`. Plotting crates were considered:
//! `plotters` writes fixed colours, which cannot follow light and dark mode, and has its own text layout; `charming`
//! needs a JavaScript engine. Three plots of bars, points and lines need neither.

mod action_text;
mod aggregate;
mod by_program;
mod compute_matched_baselines;
mod contrast;
mod file;
mod grouping;
mod harm;
mod headline;
mod input;
mod label_placement;
mod number_text;
mod page;
mod plot;
mod replicates;
mod schema;
mod skill_value;
pub mod trace;
mod trace_steps;
mod wordings;

pub use aggregate::build;
pub use compute_matched_baselines::{BookVsBaseline, ComputeMatchedBaseline, TryChooser};
pub use file::{REPORT_FILES, ReportFileError, write_report};
pub use harm::HarmCell;
pub use input::{
    ArmKey, Contrast, CurvePoint, Deviation, Eligibility, Family, FixedPlan, LearningSummary, PlannedTrial,
    PrimaryComparison, Registration, ReportInput, ReviewerSummary, SkillSummary, Stratum, UnreviewedAttempt,
    contrasts, default_contrasts,
};
pub use page::{AttemptLinks, PageError, render_page, render_page_with, render_text};
pub use replicates::{BookResult, Replicates};
pub use replicates::{MeasuredBook, replicates};
pub use schema::{
    ArmReport, BaselineReport, ComparisonReport, GapClosed, Headline, ProgramReport, ProgramScore,
    REPORT_SCHEMA, Report, StratumReport, Tally, TemplateReport, Totals, TrialLine, WordingComparison,
};
pub use skill_value::{SkillAblation, SkillValue};
pub use trace_steps::{EventLine, event_line};

#[cfg(test)]
mod tests;
