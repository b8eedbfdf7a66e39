//! Checks what a reader cites. The reader says which reports agree and which conflict; the program checks what it can
//! know: the ids, the attempts behind them, their verdicts and their number. Every refusal says what holds so far, what is
//! missing, and what may be done now.

use std::collections::{BTreeMap, BTreeSet};

use apprentice_protocol::{JudgedBy, StepId, Verdict};
use apprentice_skillbook::{Citation, OpId};

use super::item::{EarlierReport, InputType, ManageItem, ReportKind};

/// A refusal: a code for programs and a sentence for the model.
pub(super) type Objection = (&'static str, String);

/// The ids as a model wrote them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CitedIds<'a> {
    pub(super) agrees_with: &'a [String],
    pub(super) conflicts_with: &'a [String],
    pub(super) proved_by: &'a [String],
}

/// The code of a refusal because no attempt behind a change is known to have passed.
pub(super) const UNJUDGED: &str = "unjudged";
const INSTEAD: &str = "call annotate_skill or leave_item now; this report is kept, and it counts when another attempt \
                       says the same";

/// The known outcome of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Passed,
    Failed,
    /// A model gave its opinion, or nobody judged.
    Unproved,
}

impl Standing {
    fn of(report: &EarlierReport) -> Self {
        let proved = report.judged_by.is_none_or(JudgedBy::is_evidence);
        match (report.passed(), proved) {
            (true, _) => Self::Passed,
            (false, true) => Self::Failed,
            (false, false) => Self::Unproved,
        }
    }

    fn of_item(item: &ManageItem) -> Self {
        let proved = item.judged_by.is_none_or(JudgedBy::is_evidence);
        match (item.corroboration.this_attempt_passed, proved) {
            (true, _) => Self::Passed,
            (false, true) => Self::Failed,
            (false, false) => Self::Unproved,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Unproved => "has no verdict of checks or of a person",
        }
    }
}

/// Reads cited ids. Refuses an unknown report or step, an attempt that is cited twice, and one on both sides.
pub(super) fn read_citation(item: &ManageItem, ids: CitedIds<'_>) -> Result<Citation, Objection> {
    let agrees_with = reports(item, ids.agrees_with)?;
    // What was left out of a page is read by another tool, without which it cannot be changed.
    if let Some(cut) = agrees_with.iter().find(|report| report.cut && report.kind != ReportKind::Page) {
        let why = format!(
            "you have not seen all words of {}, and those left out may say the contrary: call read_reports for it first",
            cut.id
        );
        return Err(("read_first", why));
    }
    let conflicts_with = reports(item, ids.conflicts_with)?;
    distinct(&agrees_with)?;
    distinct(&conflicts_with)?;
    for report in &agrees_with {
        let same = |other: &&EarlierReport| {
            other.id == report.id || (report.attempt.is_some() && other.attempt == report.attempt)
        };
        if let Some(other) = conflicts_with.iter().copied().find(|other| same(other)) {
            let why = format!(
                "{} stands in agrees_with and {} in conflicts_with, and they are one attempt; an attempt stands on \
                 one side, or on none",
                report.id, other.id
            );
            return Err(("both_sides", why));
        }
    }
    let id = |reports: Vec<&EarlierReport>| reports.into_iter().map(|report| report.id).collect();
    Ok(Citation {
        agrees_with: id(agrees_with),
        conflicts_with: id(conflicts_with),
        proved_by: steps(item, ids.proved_by)?,
        origins: Vec::new(),
    })
}

/// Refuses a change to what the book says while a report conflicts with it.
pub(super) fn no_conflict(conflicts: &BTreeSet<OpId>) -> Result<(), Objection> {
    if conflicts.is_empty() {
        return Ok(());
    }
    let why = format!(
        "you cited {} as conflicting, so the book's text stays until more is known: call annotate_skill and say both \
         versions, or leave_item",
        list(conflicts.iter())
    );
    Err(("conflict", why))
}

/// Refuses a change that the cited reports and steps do not support.
pub(super) fn supported(item: &ManageItem, citation: &Citation) -> Result<(), Objection> {
    let cited: Vec<&EarlierReport> =
        item.earlier_reports.iter().filter(|report| citation.agrees_with.contains(&report.id)).collect();
    if item.earlier_reports.iter().any(|report| report.kind == ReportKind::Page) {
        return both_pages(item, &cited);
    }
    if !citation.proved_by.is_empty() {
        return Ok(());
    }
    let needed = item.corroboration.needed;
    let own = item.trajectory_id.as_ref().map(|id| (id.as_str(), Standing::of_item(item)));
    let others = cited.iter().filter_map(|report| Some((report.attempt.as_deref()?, Standing::of(report))));
    let attempts: BTreeMap<&str, Standing> = others.chain(own).collect();
    let attempt_texts: Vec<String> = attempts
        .iter()
        .map(|(attempt, standing)| {
            let this = if own.is_some_and(|(id, _)| id == *attempt) { "this one, " } else { "" };
            format!("{this}{attempt}, which {}", standing.words())
        })
        .collect();
    let so_far = match attempt_texts.len() {
        0 => "no attempt is cited".to_owned(),
        1 => format!("1 attempt says this so far ({})", attempt_texts.join("; ")),
        number => format!("{number} attempts say this so far ({})", attempt_texts.join("; ")),
    };
    if attempts.len() < needed {
        let why = format!(
            "{so_far}, and {needed} separate attempts are needed. {} Otherwise {INSTEAD}",
            could_cite(item, citation)
        );
        return Err(("not_supported_enough", why));
    }
    if attempts.values().any(|standing| *standing == Standing::Passed) {
        return Ok(());
    }
    if attempts.values().any(|standing| *standing == Standing::Unproved) {
        let why = format!(
            "{so_far}, but none of them is known to have passed: a model's opinion and an attempt without a verdict \
             lift no suspicion. {} Otherwise {INSTEAD}",
            could_cite(item, citation)
        );
        return Err((UNJUDGED, why));
    }
    let why = format!(
        "{so_far}, but none of them passed, so none shows that it works. {} Otherwise {INSTEAD}",
        could_cite(item, citation)
    );
    Err(("none_passed", why))
}

/// Refuses to delete a skill unless enough separate attempts found fault with it, one of them with a verdict of checks or
/// of a person. None needs to have passed: a skill that harms is followed by failures.
pub(super) fn harm_shown(item: &ManageItem, citation: &Citation) -> Result<(), Objection> {
    let finds_fault =
        |kind: ReportKind| matches!(kind, ReportKind::SkillNegative | ReportKind::SkillNotFollowed);
    let cited = item.earlier_reports.iter().filter(|report| citation.agrees_with.contains(&report.id));
    let cited: Vec<&EarlierReport> = cited.collect();
    if let Some(other) = cited.iter().find(|report| !finds_fault(report.kind)) {
        let why = format!("{} finds no fault with the skill; cite reports that do", other.id);
        return Err(("no_harm", why));
    }
    let own = matches!(item.input_type, InputType::SkillNegative | InputType::SkillNotFollowed);
    let own = item.trajectory_id.as_deref().filter(|_| own).map(|id| (id, Standing::of_item(item)));
    let others = cited.iter().filter_map(|report| Some((report.attempt.as_deref()?, Standing::of(report))));
    let attempts: BTreeMap<&str, Standing> = others.chain(own).collect();
    let needed = item.corroboration.needed;
    if attempts.len() < needed {
        let why = format!(
            "{} separate attempts that found fault are cited, and {needed} are needed. {} Otherwise {INSTEAD}",
            attempts.len(),
            could_cite(item, citation)
        );
        return Err(("not_supported_enough", why));
    }
    if attempts.values().all(|standing| *standing == Standing::Unproved) {
        let why = format!(
            "no cited attempt has a verdict of checks or of a person, so none shows harm. Otherwise {INSTEAD}"
        );
        return Err((UNJUDGED, why));
    }
    Ok(())
}

/// Two pages are merged when the reader says of both that they say the same.
fn both_pages(item: &ManageItem, cited: &[&EarlierReport]) -> Result<(), Objection> {
    if cited.len() == item.earlier_reports.len() {
        return Ok(());
    }
    let pages = list(item.earlier_reports.iter().map(|report| &report.id));
    let why = format!(
        "to merge two pages, say that both say the same: cite {pages} in agrees_with. Where they differ or \
         contradict each other, call leave_item"
    );
    Err(("not_supported_enough", why))
}

fn could_cite(item: &ManageItem, citation: &Citation) -> String {
    let is_free =
        |report: &&EarlierReport| report.held_back.is_empty() && !citation.agrees_with.contains(&report.id);
    let free = item.earlier_reports.iter().filter(is_free);
    let free: Vec<String> = free.map(named).collect();
    if free.is_empty() {
        return "No other report of this item can be cited.".to_owned();
    }
    format!("If one of these says the same in other words, cite it in agrees_with: {}.", free.join(", "))
}

fn named(report: &EarlierReport) -> String {
    let verdict = match report.verdict {
        Some(Verdict::Pass) if report.passed() => ", passed",
        Some(Verdict::Pass) => ", passed in a model's opinion",
        Some(Verdict::Fail) => ", failed",
        Some(Verdict::Void) | None if report.judged_by.is_some() => ", without a verdict",
        Some(Verdict::Void) | None => "",
    };
    let source = report.attempt.as_deref().or(report.skill_id.as_ref().map(|id| id.as_str()));
    format!("{} ({}{verdict})", report.id, source.unwrap_or("unknown"))
}

fn list<'a>(ids: impl Iterator<Item = &'a OpId>) -> String {
    ids.map(ToString::to_string).collect::<Vec<_>>().join(" and ")
}

fn reports<'a>(item: &'a ManageItem, ids: &[String]) -> Result<Vec<&'a EarlierReport>, Objection> {
    let find = |id: &String| {
        let cited = item.earlier_reports.iter().find(|report| report.id.to_string() == id.trim());
        cited.ok_or_else(|| {
            if item.farther_reports.iter().any(|farther| farther.id.to_string() == id.trim()) {
                return ("read_first", format!("call read_reports for {} before you cite it", id.trim()));
            }
            let all: Vec<String> = item.earlier_reports.iter().map(named).collect();
            let reports = if all.is_empty() {
                "it has no earlier reports".to_owned()
            } else {
                format!("it has {}", all.join(", "))
            };
            let own = match item.input_type {
                InputType::CleanupTask => "",
                _ => " This attempt counts without being cited.",
            };
            ("unknown_report", format!("{id:?} is no report of this item; {reports}.{own}"))
        })
    };
    let shown = |report: &'a EarlierReport| match report.held_back.as_slice() {
        [] => Ok(report),
        found => {
            let found: Vec<&str> = found.iter().map(|concern| concern.word()).collect();
            let why = format!(
                "{} is held back for a person ({}), so it agrees and conflicts with nothing; leave it out",
                report.id,
                found.join(", ")
            );
            Err(("held_back", why))
        }
    };
    ids.iter().map(|id| find(id).and_then(shown)).collect()
}

fn distinct(reports: &[&EarlierReport]) -> Result<(), Objection> {
    for (index, report) in reports.iter().enumerate() {
        let same = |other: &&&EarlierReport| {
            other.id == report.id || (report.attempt.is_some() && other.attempt == report.attempt)
        };
        if let Some(other) = reports[..index].iter().find(same) {
            let attempt = report.attempt.as_deref().unwrap_or("one page");
            let why = format!(
                "{} and {} come from the same attempt ({attempt}), which counts once; cite one of them",
                other.id, report.id
            );
            return Err(("same_attempt", why));
        }
    }
    Ok(())
}

fn steps(item: &ManageItem, ids: &[String]) -> Result<Vec<StepId>, Objection> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    if item.steps.is_empty() {
        let why = if item.corroboration.this_attempt_passed {
            "proved_by is for a correction of a wrong or outdated skill that the attempt had received"
        } else {
            "this attempt did not pass, so its steps prove nothing"
        };
        return Err(("no_proof", format!("{why}; leave proved_by out, and cite reports in agrees_with")));
    }
    let find = |id: &String| {
        let cited = item.steps.iter().find(|step| step.id.to_string() == id.trim());
        cited.map(|step| step.id).ok_or_else(|| {
            let steps: Vec<String> = item.steps.iter().map(|step| step.id.to_string()).collect();
            let why = format!("{id:?} is no step that could prove it; the item has {}", steps.join(", "));
            ("no_proof", why)
        })
    };
    ids.iter().map(find).collect()
}
