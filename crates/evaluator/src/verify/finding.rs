//! What verification compares, and the contradictions that it finds.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A claim of stored results that can be checked without whoever made them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Claim {
    /// A file is the one of the bundle's list.
    Files,
    /// The plan agrees with itself and with the experiment, and each planned trial has its result.
    Plan,
    /// A row is of a planned trial, once, with the plan's model, arm, variation and split.
    Rows,
    /// A row agrees with the trace of its attempt.
    Traces,
    /// A verdict follows from the evidence.
    Grades,
    /// A blob is what its name and the traces say.
    Blobs,
    /// A number of `report.json` follows from the rows.
    Report,
    /// A page of the report is made of the report.
    Pages,
}

impl Claim {
    /// All claims, in the order in which they are printed.
    pub const ALL: [Self; 8] = [
        Self::Files,
        Self::Plan,
        Self::Rows,
        Self::Traces,
        Self::Grades,
        Self::Blobs,
        Self::Report,
        Self::Pages,
    ];

    /// The claim in words, after the number of what was compared.
    pub fn words(self) -> &'static str {
        match self {
            Self::Files => "files are those of the bundle's list",
            Self::Plan => "planned trials have one result each",
            Self::Rows => "rows are what the plan says",
            Self::Traces => "rows are what their traces say",
            Self::Grades => "verdicts follow from the evidence",
            Self::Blobs => "blobs are what their names and the traces say",
            Self::Report => "values of report.json follow from the rows",
            Self::Pages => "pages are made of the report",
        }
    }
}

/// Two records that contradict each other, or one that is missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Contradiction {
    /// The claim that does not hold.
    pub claim: Claim,
    /// The file, or the attempt, relative to what was verified.
    pub place: String,
    /// What both say.
    pub problem: String,
}

/// How often a claim was checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckedClaim {
    /// The claim.
    pub claim: Claim,
    /// Number of comparisons: files, trials, rows, values or pages.
    pub checked: u64,
    /// Number of contradictions.
    pub contradicted: u64,
}

/// What verification has found so far.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) contradictions: Vec<Contradiction>,
    checked: BTreeMap<Claim, u64>,
    unchecked: BTreeSet<String>,
}

impl Findings {
    /// Counts comparisons of a claim.
    pub(super) fn count(&mut self, claim: Claim, number: usize) {
        *self.checked.entry(claim).or_default() += number as u64;
    }

    /// Adds a contradiction.
    pub(super) fn add(&mut self, claim: Claim, place: &str, problem: impl Into<String>) {
        self.contradictions.push(Contradiction { claim, place: place.to_owned(), problem: problem.into() });
    }

    /// Names something that nothing could be compared with.
    pub(super) fn leave(&mut self, what: impl Into<String>) {
        self.unchecked.insert(what.into());
    }

    /// The claims that were checked, and what was not.
    pub(super) fn claims(&self) -> (Vec<CheckedClaim>, Vec<String>) {
        let contradicted =
            |claim: Claim| self.contradictions.iter().filter(|one| one.claim == claim).count() as u64;
        let claims = Claim::ALL.into_iter().filter_map(|claim| {
            let (checked, contradicted) =
                (self.checked.get(&claim).copied().unwrap_or(0), contradicted(claim));
            (checked + contradicted > 0).then_some(CheckedClaim { claim, checked, contradicted })
        });
        (claims.collect(), self.unchecked.iter().cloned().collect())
    }
}
