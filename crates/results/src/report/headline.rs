//! The texts of a report: the headline, a sentence per comparison, and the notes.

use super::input::{Family, ReportInput};
use super::number_text::{percent, points};
use super::schema::{ArmReport, ComparisonReport, Headline, JudgeReport, Report};
use crate::ablations::AblationArm;
use crate::compare::{Finding, TemplateDifference};
use crate::stats::{MIN_TEMPLATES, mean};
use apprentice_protocol::{VoidCause, counted};
use apprentice_runs::row::Role;

/// The title of a run in which only rule-based policies acted.
const MECHANISM_TITLE: &str =
    "Mechanism check with rule-based policies: it says nothing about language models";

/// Success without a book at which there is little left to measure.
const CEILING_SUCCESS: f64 = 0.9;

/// Share of trials at which an arm's protocol errors are noted.
const NOTED_ERROR_SHARE: f64 = 0.2;

/// Describes an arm's guidance as part of a sentence.
pub(super) fn help(arm: &str) -> String {
    match arm {
        "none" => "without help".into(),
        "pull" => "with this book".into(),
        "placebo-inert" => "with irrelevant skills of equal length".into(),
        "placebo-wrong" => "with relabelled skills of other programs".into(),
        "placebo-forced" | "placebo-push" => "with irrelevant skills of equal length put in".into(),
        "tools-only" => "with an empty book".into(),
        "index" => "with the book’s index alone".into(),
        "push" => "with the book’s best skills put in".into(),
        "all" => "with all of the book put in".into(),
        "verified" => "with the book’s proved skills".into(),
        "forced" => "with the right skill put in".into(),
        "inline" => "with the guidance it retrieved put in".into(),
        "raw-trace" => "with the nearest training attempt put in".into(),
        "masked" => "with a random half of the book".into(),
        "self-made" => "with a book of its own making".into(),
        "human" => "with a book that a person wrote".into(),
        other => match AblationArm::parse(other) {
            Some(AblationArm::Without(skill)) => format!("with this book without {skill}"),
            Some(AblationArm::MoreSteps) => "without help under wider limits".into(),
            Some(AblationArm::Retry(number)) => format!("without help, try {number}"),
            Some(AblationArm::Reworded(arm)) => format!("{}, in other words", help(arm.as_str())),
            None => format!("in arm {other}"),
        },
    }
}

/// Describes an exploratory difference; no claim is made.
pub(super) fn shown(finding: &str) -> String {
    match finding {
        "better" => "looks better".into(),
        "worse" => "looks worse".into(),
        "too_few" => "too few templates: no difference can be shown".into(),
        _ => "no difference can be shown".into(),
    }
}

/// The claim of a comparison, in words.
pub(super) fn claim(one: &ComparisonReport) -> String {
    match one.claim {
        None => "Exploratory".into(),
        Some(Finding::Better) => "Better".into(),
        Some(Finding::Worse) => "Worse".into(),
        Some(Finding::Inconclusive) if one.result.verdict != Finding::Inconclusive => {
            "Inconclusive after Holm’s correction".into()
        }
        Some(Finding::Inconclusive) => "Inconclusive".into(),
        Some(Finding::TooFew) => "Too few templates to decide".into(),
        Some(Finding::NoVerdict) => format!("No verdict ({})", one.result.because),
    }
}

/// Success rates, difference and interval, in a sentence.
pub(super) fn result(one: &ComparisonReport) -> String {
    let result = &one.result;
    let (Some(difference), Some(ci)) = (result.difference, result.ci95) else {
        return format!("nothing to compare, {}.", result.because);
    };
    let rate = |side: fn(&TemplateDifference) -> f64| {
        percent(mean(result.by_template.iter().map(side)).unwrap_or_default())
    };
    let (a, b) = (rate(|line| line.a), rate(|line| line.b));
    let (first, second) = (&result.b, &result.a);
    let sides = if first.model == second.model {
        format!("{} passed {b} {} and {a} {}", first.model, help(&first.arm), help(&second.arm))
    } else {
        format!(
            "{} passed {b} {}, {} passed {a} {}",
            first.model,
            help(&first.arm),
            second.model,
            help(&second.arm)
        )
    };
    format!(
        "{sides} ({} points, 95 % interval {} to {}, {}).",
        points(difference),
        points(ci.low),
        points(ci.high),
        counted(result.templates, "template")
    )
}

/// The headline: the kind of result, then the primary comparison, else each arm's success.
pub(super) fn headline(title: &str, arms: &[ArmReport], made: &[ComparisonReport]) -> Headline {
    let acting = || arms.iter().filter(|arm| arm.key.role != Role::Baseline);
    let mechanism_check =
        acting().next().is_some() && acting().all(|arm| arm.key.model.starts_with("builtin/"));
    let primary = made.iter().find(|one| one.family == Family::Primary);
    let first = primary.or_else(|| made.iter().find(|one| one.family == Family::Secondary));
    let result = match (first, primary) {
        (Some(one), Some(_)) => result(one),
        (Some(one), None) => format!("{} No primary comparison was run.", result(one)),
        (None, _) if arms.is_empty() => "No trial was finished.".into(),
        (None, _) => {
            let line = |arm: &ArmReport| {
                let (tally, model) = (arm.tally, &arm.key.model);
                format!(
                    "{model} ({}) passed {} of {}",
                    arm.key.arm,
                    tally.passed,
                    counted(tally.trials, "trial")
                )
            };
            format!("{}.", arms.iter().map(line).collect::<Vec<_>>().join("; "))
        }
    };
    let subject = title.to_owned();
    let title = if mechanism_check { MECHANISM_TITLE } else { title }.to_owned();
    let (verdict, claim) = (first.and_then(|one| one.claim), first.map(claim).unwrap_or_default());
    Headline { title, subject, claim, result, verdict, mechanism_check, in_other_words: None }
}

/// Notes on an arm whose numbers may have another cause than the book.
fn confound_notes(arm: &ArmReport) -> Vec<String> {
    let judged = f64::from(arm.tally.passed + arm.tally.failed);
    let mut found = Vec::new();
    if f64::from(arm.early_ends) > judged * NOTED_ERROR_SHARE {
        let early = arm.early_ends;
        found.push(format!(
            "{early} of {judged} trials of {} failed because the model said it was done after at most one step",
            arm.key
        ));
    }
    let alone = arm.key.arm == "none" && arm.key.role == Role::Student;
    if alone && arm.success.is_some_and(|success| success.value >= CEILING_SUCCESS) {
        found.push(format!(
            "{} passed {} without help: there is little left to gain, and it may have seen the suite",
            arm.key.model,
            arm.success.map(|success| percent(success.value)).unwrap_or_default()
        ));
    }
    found
}

/// Notes on skills that may do harm.
fn harm_notes(report: &Report) -> Vec<String> {
    let mut notes = Vec::new();
    let harmful: Vec<&str> =
        report.skill_values.iter().filter(|one| one.alarm).map(|one| one.skill.as_str()).collect();
    if !harmful.is_empty() {
        notes.push(format!(
            "these skills may do harm: {}; see the value of individual skills",
            harmful.join(", ")
        ));
    }
    for cell in report.harm.iter().filter(|cell| cell.alarm) {
        notes.push(format!(
            "{} may do harm on tasks of {}: {} lost and {} won while it was viewed (p = {:.3}); to hide it \
             there: suppress {}@{}",
            cell.skill,
            cell.program,
            counted(cell.lost, "task"),
            cell.gained,
            cell.p,
            cell.skill,
            cell.program
        ));
    }
    notes
}

/// Tells the attempts that are void because a person acted in them.
fn acts_of_persons(report: &Report) -> Option<String> {
    let found = report.voids.iter().filter(|void| void.cause == Some(VoidCause::PersonActed)).count();
    (found > 0).then(|| {
        format!(
            "a person acted in {}: the outcome is not the model's own, so that it counts as void",
            counted(found, "attempt")
        )
    })
}

/// Names the models on whose comparisons of answers verdicts hang, with what they took.
fn judge_notes(report: &Report) -> Vec<String> {
    let note = |judge: &JudgeReport| {
        let cost = judge.cost_usd.map(|usd| format!(", ${usd:.2}")).unwrap_or_default();
        format!(
            "the verdicts of {} hang on {}, which compared their answers with the references and may be wrong ({}, {} \
             tokens{cost}; the arms' costs exclude it)",
            counted(judge.decided, "attempt"),
            judge.model,
            counted(judge.questions, "question"),
            judge.tokens.input + judge.tokens.output
        )
    };
    let mut notes: Vec<String> = report.judges.iter().map(note).collect();
    if notes.len() > 1 {
        notes.push(
            "answers were compared by several models: trials of different judges cannot be compared".into(),
        );
    }
    notes
}

/// The notes: data problems, oddities, and the limits of the conclusions.
pub(super) fn notes(input: &ReportInput<'_>, report: &Report, refused: Vec<String>) -> Vec<String> {
    let mut notes = input.notes.clone();
    notes.extend(refused);
    notes.extend(harm_notes(report));
    let deviations = report.registration.as_ref().map_or(0, |plan| plan.deviations.len());
    if deviations > 0 {
        notes.push(format!(
            "{} from the registration: see the preregistration",
            counted(deviations, "deviation")
        ));
    }
    notes.extend(acts_of_persons(report));
    notes.extend(judge_notes(report));
    if !report.not_run.is_empty() {
        let (missing, planned) = (report.not_run.len(), input.planned.len());
        notes.push(format!("the run is not complete: {missing} of {planned} planned trials were not run"));
    }
    for one in report.eligible.iter().filter(|one| one.templates < one.of) {
        notes.push(format!(
            "the arm {} ran on {} of {} templates: on the others the book has no eligible skill",
            one.arm, one.templates, one.of
        ));
    }
    notes.extend(arm_notes(report));
    let by_themselves = report.arms.iter().filter(|arm| !AblationArm::is_auxiliary(&arm.key.arm));
    notes.extend(by_themselves.flat_map(confound_notes));
    let templates = report.arms.iter().map(|arm| arm.templates).max().unwrap_or(0);
    if !report.comparisons.is_empty() && templates < MIN_TEMPLATES {
        notes.push(format!(
            "{} measured: below {MIN_TEMPLATES} no difference can be shown",
            counted(templates, "test template")
        ));
    }
    if let Some(found) = &report.replicates {
        notes.push(format!(
            "{} books were planned: “this book” is the first of them; for claims about the method, see the \
             other books",
            found.planned
        ));
    } else if report.arms.iter().any(|arm| arm.key.arm == "pull") {
        notes.push("one book was measured: every sentence is about this book, not about the method".into());
    }
    if report.versions.contains_key("accepted drift") {
        notes.push("the run was resumed with changed versions: see versions".into());
    }
    notes
}

/// The judged trials of an arm that ended at the limit of time.
fn ended_by_time(arm: &ArmReport) -> u32 {
    arm.stop_reasons.get("working_time_limit").copied().unwrap_or(0)
}

/// What is conspicuous in single arms.
fn arm_notes(report: &Report) -> Vec<String> {
    let mut notes = Vec::new();
    for arm in &report.arms {
        let judged = arm.tally.passed + arm.tally.failed;
        if arm.key.arm == "pull" && judged > 0 && arm.viewed_skills == 0 {
            notes.push(format!(
                "{} never viewed a skill: its arm measures only the effect of offering the book",
                arm.key
            ));
        }
        let broken: u32 =
            ["invalid_output", "loop"].iter().filter_map(|reason| arm.stop_reasons.get(*reason)).sum();
        if f64::from(broken) > f64::from(judged) * NOTED_ERROR_SHARE {
            notes.push(format!(
                "{broken} of {judged} trials of {} ended in a loop or in unusable output",
                arm.key
            ));
        }
        let late = ended_by_time(arm);
        if late > 0 {
            notes.push(format!(
                "{late} of {judged} trials of {} ended at the limit of time, which is a limit of the machine as much as of the \
                 model: compare arms only with a limit that none reaches (`--working-s`)",
                arm.key
            ));
        }
        if arm.cost_estimated {
            notes.push(format!(
                "tokens and cost of {} hold estimates: the model's server did not say what some calls used",
                arm.key
            ));
        }
    }
    notes
}
