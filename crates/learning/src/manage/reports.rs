//! Gathers what other attempts reported, nearest first, so that a reader can say which reports agree and which conflict.
//! Similarity only decides what is shown; it is no evidence of agreement. What does not fit can be read by its id.

use std::collections::BTreeMap;

use apprentice_protocol::{BoundedText, JudgedBy, SkillId, TextBudget, Verdict};
use apprentice_skillbook::review::{Learning, SkillReview};
use apprentice_skillbook::{Candidate, OpId, ReviewRemark, Skill, State};
use apprentice_wording::{domain_name, is_for_program, word_similarity};

use super::item::{EarlierReport, FartherReport, ReportKind};

/// Largest number of reports that an item shows, and of further ones that it names.
const MAX_REPORTS: usize = 12;
const MAX_NAMED_REPORTS: usize = 24;
/// Largest length of each text of a shown report, and of the beginning of one that is named, in characters.
const MAX_REPORT_CHARS: TextBudget = TextBudget(700);
const MAX_BEGINNING_CHARS: TextBudget = TextBudget(100);

/// The reports of an item, nearest first.
#[derive(Default)]
pub(super) struct ItemReports {
    /// Those that are shown, with their texts cut.
    pub(super) shown: Vec<EarlierReport>,
    /// Those that are named.
    pub(super) farther: Vec<FartherReport>,
    /// Number of the others.
    pub(super) more: usize,
    /// Those that are shown or named, whole.
    pub(super) whole: Vec<EarlierReport>,
}

impl ItemReports {
    /// Divides reports, nearest first, into those that fit and the others.
    pub(super) fn of(mut whole: Vec<EarlierReport>) -> Self {
        let more = whole.len().saturating_sub(MAX_REPORTS + MAX_NAMED_REPORTS);
        whole.truncate(MAX_REPORTS + MAX_NAMED_REPORTS);
        Self {
            shown: whole.iter().take(MAX_REPORTS).map(cut).collect(),
            farther: whole.iter().skip(MAX_REPORTS).map(named).collect(),
            more,
            whole,
        }
    }
}

fn cut(report: &EarlierReport) -> EarlierReport {
    let bounded = |text: &Option<String>| {
        text.as_ref().map(|text| BoundedText::cut(text, MAX_REPORT_CHARS).as_str().to_owned())
    };
    let mut shown = EarlierReport {
        situation: bounded(&report.situation),
        says: bounded(&report.says),
        proposes: bounded(&report.proposes),
        ..report.clone()
    };
    shown.cut = shown != *report;
    shown
}

fn named(report: &EarlierReport) -> FartherReport {
    let words = report.situation.as_ref().or(report.says.as_ref()).or(report.proposes.as_ref());
    let begins = words.map(|words| BoundedText::cut(words, MAX_BEGINNING_CHARS).as_str().to_owned());
    FartherReport { id: report.id, begins }
}

/// Similarities of candidates to a learning by their embeddings, as far as known.
pub(super) type Nearness = BTreeMap<OpId, f64>;

/// Returns other attempts' reviews of a skill's present text: those that found fault with it first, newest first.
pub(super) fn of_skill(state: &State, skill: &Skill, except: Option<&str>) -> Vec<EarlierReport> {
    let present = |remark: &&ReviewRemark| {
        remark.version == skill.version && Some(remark.trajectory.as_str()) != except
    };
    let mut remarks: Vec<&ReviewRemark> = skill.remarks.iter().filter(present).collect();
    remarks.reverse();
    remarks.sort_by_key(|remark| matches!(remark.review, SkillReview::Positive(_)));
    remarks.iter().filter_map(|remark| of_remark(state, &skill.id, remark)).collect()
}

/// Returns the reports near to a learning, nearest first: candidates of its domain and suite, the same from other domains that share words or
/// meaning with it, and corrections of skills. Those of its own attempt are left out.
pub(super) fn near_learning(
    state: &State,
    learning: &Learning,
    own: &str,
    near: &Nearness,
) -> Vec<EarlierReport> {
    let domain = domain_name(learning.scope());
    let is_own = |other: &str| {
        domain.as_deref().is_some_and(|own| is_for_program(own, other) || is_for_program(other, own))
    };
    let text = learning_text(learning);
    let mut found: Vec<(bool, f64, EarlierReport)> = Vec::new();
    for candidate in state.candidates.iter().filter(|candidate| candidate.trajectory != own) {
        let own_domain = domain_name(candidate.learning.scope()).is_some_and(|other| is_own(&other));
        let words = word_similarity(&text, &learning_text(&candidate.learning));
        let alike = near.get(&candidate.id).copied().unwrap_or_default().max(words);
        found.push((own_domain, alike, of_candidate(state, candidate)));
    }
    for skill in state.skills.values() {
        let of_others = |remark: &&ReviewRemark| {
            remark.version == skill.version && remark.trajectory != own && proposal(&remark.review).is_some()
        };
        for remark in skill.remarks.iter().filter(of_others) {
            let Some(report) = of_remark(state, &skill.id, remark) else { continue };
            let proposal = report.proposes.clone().unwrap_or_default();
            let own_domain = is_own(skill.id.domain());
            found.push((own_domain, word_similarity(&text, &proposal), report));
        }
    }
    found.retain(|(own_domain, alike, _)| *own_domain || *alike > 0.0);
    found.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| b.1.total_cmp(&a.1)).then_with(|| b.2.id.cmp(&a.2.id)));
    found.into_iter().map(|(_, _, report)| report).collect()
}

/// Returns two pages as reports, so that the reader can say whether they agree.
pub(super) fn of_pages(state: &State, skills: &[SkillId]) -> Vec<EarlierReport> {
    let page = |id: &SkillId| {
        let skill = state.skills.get(id)?;
        Some(EarlierReport {
            id: *skill.history.last()?,
            kind: ReportKind::Page,
            attempt: None,
            verdict: None,
            judged_by: None,
            date: None,
            versions: Default::default(),
            skill_id: Some(id.clone()),
            situation: Some(skill.text.situation.clone()),
            says: None,
            proposes: Some(skill.text.guidance.clone()),
            cut: false,
            held_back: Vec::new(),
        })
    };
    skills.iter().filter_map(page).collect()
}

/// Returns the text by which learnings are compared.
pub(super) fn learning_text(learning: &Learning) -> String {
    format!("{} {}", learning.situation(), learning.guidance())
}

/// Returns the alternative that a review proposes.
pub(super) fn proposal(review: &SkillReview) -> Option<&str> {
    match review {
        SkillReview::Positive(_) => None,
        SkillReview::Negative(review) => review.corrected_guidance.as_deref(),
        SkillReview::Neutral(review) => review.suggested_improvement.as_deref(),
        SkillReview::NotFollowed(review) => review.alternative_used.as_deref(),
    }
}

/// Returns the verdict on an attempt and its origin, which is `None` for the checks of a task. What was recorded with a
/// report holds unless the attempt was judged in another way.
fn verdict(state: &State, trajectory: &str, passed: bool) -> (Option<Verdict>, Option<JudgedBy>) {
    match state.judgements.get(trajectory) {
        Some(judgement) => (judgement.verdict, Some(judgement.by)),
        None => (Some(if passed { Verdict::Pass } else { Verdict::Fail }), None),
    }
}

/// A remark of a restored skill may lack its operation. It cannot be cited and is left out.
fn of_remark(state: &State, skill: &SkillId, remark: &ReviewRemark) -> Option<EarlierReport> {
    let (verdict, judged_by) = verdict(state, &remark.trajectory, remark.passed);
    let (kind, says) = match &remark.review {
        SkillReview::Positive(review) => (ReportKind::SkillPositive, Some(&review.what_helped)),
        SkillReview::Negative(review) => (ReportKind::SkillNegative, Some(&review.what_went_wrong)),
        SkillReview::Neutral(_) => (ReportKind::SkillNeutral, None),
        SkillReview::NotFollowed(review) => (ReportKind::SkillNotFollowed, Some(&review.explanation)),
    };
    Some(without_held_back(EarlierReport {
        id: remark.id?,
        kind,
        attempt: Some(remark.trajectory.clone()),
        verdict,
        judged_by,
        date: remark.time,
        versions: remark.seen.clone(),
        skill_id: Some(skill.clone()),
        situation: None,
        says: says.cloned(),
        proposes: proposal(&remark.review).map(str::to_owned),
        cut: false,
        held_back: remark.held_back.clone(),
    }))
}

/// Removes the words of a report that the gate holds back. That another attempt reported something stays known.
fn without_held_back(report: EarlierReport) -> EarlierReport {
    if report.held_back.is_empty() {
        report
    } else {
        EarlierReport { situation: None, says: None, proposes: None, ..report }
    }
}

fn of_candidate(state: &State, candidate: &Candidate) -> EarlierReport {
    let (verdict, judged_by) = verdict(state, &candidate.trajectory, candidate.passed);
    without_held_back(EarlierReport {
        id: candidate.id,
        kind: ReportKind::Learning,
        attempt: Some(candidate.trajectory.clone()),
        verdict,
        judged_by,
        date: Some(candidate.time),
        versions: candidate.seen.clone(),
        skill_id: None,
        situation: Some(candidate.learning.situation().to_owned()),
        says: None,
        proposes: Some(candidate.learning.guidance().to_owned()),
        cut: false,
        held_back: candidate.held_back.clone(),
    })
}
