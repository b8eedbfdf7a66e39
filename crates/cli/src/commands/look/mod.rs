//! Commands that look at finished runs: reports, comparisons, queries, exports, bundles, pages.

pub(crate) mod bundle;
pub(crate) mod compare;
pub(crate) mod export;
pub(crate) mod grade;
pub(crate) mod report;
pub(crate) mod sql;
pub(crate) mod view;
