//! Positions of the plots' marks, in percent of their width; the page's template draws them.

use apprentice_protocol::counted;
use serde::Serialize;

use super::compute_matched_baselines::{ComputeMatchedBaseline, TryChooser};
use super::headline::{claim, help};
use super::input::{CurvePoint, Family, Stratum};
use super::label_placement::{LabelPosition, LabelledMark, height, place};
use super::number_text::{percent, points};
use super::schema::{ArmReport, ComparisonReport, Report};
use crate::ablations::AblationArm;

/// A linear scale onto 0 to 100 percent, with a margin so that marks at the ends are not cut off.
#[derive(Clone, Copy)]
struct Scale {
    low: f64,
    high: f64,
}

const MARGIN: f64 = 1.5;

impl Scale {
    fn at(self, value: f64) -> f64 {
        let share = (value - self.low) / (self.high - self.low);
        let place = MARGIN + share.clamp(0.0, 1.0) * (100.0 - 2.0 * MARGIN);
        (place * 100.0).round() / 100.0
    }

    fn ticks(self, values: &[f64], label: fn(f64) -> String) -> Vec<Tick> {
        values.iter().map(|value| Tick { at: self.at(*value), label: label(*value) }).collect()
    }
}

/// A labelled tick of an axis.
#[derive(Serialize)]
pub(super) struct Tick {
    at: f64,
    label: String,
}

/// A mark with an interval, or a bar that ends at the mark.
#[derive(Serialize)]
pub(super) struct PlotMark {
    label: String,
    detail: String,
    value: String,
    low: f64,
    at: f64,
    high: f64,
    class: &'static str,
    href: String,
}

/// Marks over one axis.
#[derive(Serialize)]
pub(super) struct Plot {
    ticks: Vec<Tick>,
    zero: f64,
    marks: Vec<PlotMark>,
}

/// All plots of a page.
#[derive(Serialize)]
pub(super) struct Plots {
    forest: Plot,
    success: Plot,
    steps: Plot,
    front: Option<CostPlot>,
    curve: Option<Curve>,
}

/// Success against cost, by arm.
#[derive(Serialize)]
pub(super) struct CostPlot {
    /// Height in pixels.
    height: f64,
    marks: Vec<CostMark>,
    ticks: Vec<Tick>,
    unit: &'static str,
}

/// One arm in the cost plot.
#[derive(Serialize)]
pub(super) struct CostMark {
    x: f64,
    y: f64,
    name: String,
    label: String,
    class: &'static str,
    href: String,
    /// Whether the arm is on the Pareto front: no other arm passes as much for less.
    ahead: bool,
    /// Position of its label.
    spot: LabelPosition,
}

/// The learning curve, with one line segment per pair of neighbouring points.
#[derive(Serialize)]
pub(super) struct Curve {
    points: Vec<CurveMark>,
    segments: Vec<[f64; 4]>,
    last: u32,
}

/// A point of the curve.
#[derive(Serialize)]
pub(super) struct CurveMark {
    x: f64,
    y: f64,
    label: String,
}

/// Computes the layout of every plot of a report.
pub(super) fn plots(report: &Report) -> Plots {
    Plots {
        forest: forest(report),
        success: success(&report.arms),
        steps: steps(&report.arms),
        front: front(&report.arms, &report.compute_matched),
        curve: report.learning.as_ref().and_then(|learning| curve(&learning.curve)),
    }
}

fn forest(report: &Report) -> Plot {
    let ends = report.comparisons.iter().filter_map(|one| one.result.ci95);
    let ends = ends.chain(report.strata.iter().map(|one| one.ci95));
    let reach = ends.map(|ci| ci.low.abs().max(ci.high.abs())).fold(0.0, f64::max);
    let reach = if reach > 0.5 { 1.0 } else { 0.5 };
    let scale = Scale { low: -reach, high: reach };
    let of = |one: &ComparisonReport, index: usize| {
        let (difference, ci) = (one.result.difference?, one.result.ci95?);
        Some(PlotMark {
            label: one.name.clone(),
            detail: match one.family {
                Family::Primary => format!("primary · {}", claim(one)),
                Family::Secondary => format!("secondary · {}", claim(one)),
                Family::Exploratory => "exploratory".into(),
            },
            value: format!("{} [{}, {}]", points(difference), points(ci.low), points(ci.high)),
            low: scale.at(ci.low),
            at: scale.at(difference),
            high: scale.at(ci.high),
            class: match one.family {
                Family::Primary => "primary",
                Family::Secondary => "secondary",
                Family::Exploratory => "exploratory",
            },
            href: format!("#comparison-{}", index + 1),
        })
    };
    let mut marks: Vec<PlotMark> =
        report.comparisons.iter().enumerate().filter_map(|(index, one)| of(one, index)).collect();
    let first = report.comparisons.first().map(|one| one.name.as_str());
    for one in report.strata.iter().filter(|one| Some(one.name.as_str()) == first) {
        let (label, expected) = match one.stratum {
            Stratum::Seen => ("knowledge seen in training", ""),
            Stratum::Unseen => ("knowledge never seen", " · expected gain 0"),
        };
        marks.push(PlotMark {
            label: format!("{}: {label}", one.name),
            detail: format!("{}{expected}", counted(one.templates, "template")),
            value: format!(
                "{} [{}, {}]",
                points(one.difference),
                points(one.ci95.low),
                points(one.ci95.high)
            ),
            low: scale.at(one.ci95.low),
            at: scale.at(one.difference),
            high: scale.at(one.ci95.high),
            class: "exploratory",
            href: "#strata".into(),
        });
    }
    let ticks = [-1.0, -0.5, 0.0, 0.5, 1.0].map(|share| share * reach);
    Plot { ticks: scale.ticks(&ticks, points), zero: scale.at(0.0), marks }
}

fn arm_mark(arm: &ArmReport, index: usize) -> PlotMark {
    PlotMark {
        label: arm.key.arm.clone(),
        detail: format!("{} {}, {}", arm.key.role.as_str(), arm.key.model, help(&arm.key.arm)),
        value: String::new(),
        low: 0.0,
        at: 0.0,
        high: 0.0,
        class: if arm.key.role == apprentice_runs::row::Role::Teacher { "teacher" } else { "student" },
        href: format!("#arm-{}", index + 1),
    }
}

fn success(arms: &[ArmReport]) -> Plot {
    let scale = Scale { low: 0.0, high: 1.0 };
    let mark = |(index, arm): (usize, &ArmReport)| {
        let rate = arm.success?;
        Some(PlotMark {
            value: format!(
                "{} [{}, {}]",
                percent(rate.value),
                percent(rate.ci95.low),
                percent(rate.ci95.high)
            ),
            low: scale.at(rate.ci95.low),
            at: scale.at(rate.value),
            high: scale.at(rate.ci95.high),
            ..arm_mark(arm, index)
        })
    };
    Plot {
        ticks: scale.ticks(&[0.0, 0.25, 0.5, 0.75, 1.0], percent),
        zero: scale.at(0.0),
        marks: by_themselves(arms).filter_map(mark).collect(),
    }
}

fn steps(arms: &[ArmReport]) -> Plot {
    let most = arms.iter().filter_map(|arm| arm.world_steps).fold(0.0, f64::max);
    let top = [5.0, 10.0, 20.0, 40.0, 60.0, 100.0, 200.0, 500.0].into_iter().find(|top| *top >= most);
    let scale = Scale { low: 0.0, high: top.unwrap_or(most) };
    let mark = |(index, arm): (usize, &ArmReport)| {
        let (all, turns) = (arm.world_steps?, arm.turns?);
        let passed = arm.world_steps_passed.map(|steps| format!(", {steps:.1} when passed"));
        Some(PlotMark {
            value: format!("{all:.1} steps{}, {turns:.1} turns", passed.unwrap_or_default()),
            low: scale.at(0.0),
            at: scale.at(all),
            high: arm.world_steps_passed.map_or(scale.at(all), |steps| scale.at(steps)),
            ..arm_mark(arm, index)
        })
    };
    let ticks = [0.0, 0.5, 1.0].map(|share| share * scale.high);
    Plot {
        ticks: scale.ticks(&ticks, |steps| format!("{steps}")),
        zero: scale.at(0.0),
        marks: by_themselves(arms).filter_map(mark).collect(),
    }
}

/// The arms that are reported on their own, with their index.
fn by_themselves(arms: &[ArmReport]) -> impl Iterator<Item = (usize, &ArmReport)> {
    arms.iter().enumerate().filter(|(_, arm)| !AblationArm::is_auxiliary(&arm.key.arm))
}

/// Success against cost, or against tokens if some arm has no price. Void attempts of an arm count towards its cost.
fn front(arms: &[ArmReport], baselines: &[ComputeMatchedBaseline]) -> Option<CostPlot> {
    let priced = arms.iter().all(|arm| arm.cost_usd.is_some_and(|usd| usd > 0.0));
    #[expect(clippy::cast_precision_loss, reason = "tokens of a run are far below 2^52")]
    let took = |arm: &ArmReport| {
        let sum =
            if priced { arm.cost_usd.unwrap_or(0.0) } else { (arm.tokens.input + arm.tokens.output) as f64 };
        sum / f64::from(arm.tally.trials.max(1))
    };
    let shown = arms.iter().enumerate().filter(|(_, arm)| !AblationArm::is_auxiliary(&arm.key.arm));
    let places: Vec<(usize, &ArmReport, f64, f64)> =
        shown.filter_map(|(index, arm)| Some((index, arm, took(arm), arm.success?.value))).collect();
    let spent =
        |baseline: &ComputeMatchedBaseline| if priced { baseline.cost_usd } else { Some(baseline.tokens) };
    // Wider limits are already an arm of their own.
    let computed = baselines.iter().filter(|one| one.teacher.is_some() || one.name.starts_with("best of"));
    let also: Vec<(&ComputeMatchedBaseline, f64)> =
        computed.filter_map(|one| Some((one, spent(one)?))).collect();
    let took_most = places.iter().map(|place| place.2).chain(also.iter().map(|(_, took)| *took));
    let most = took_most.fold(0.0, f64::max);
    if places.len() < 2 || most <= 0.0 {
        return None;
    }
    let (across, up) = (Scale { low: 0.0, high: most }, Scale { low: 1.0, high: 0.0 });
    let amount = |value: f64| if priced { format!("${value:.4}") } else { format!("{value:.0} tokens") };
    let teaches = |arm: &ArmReport| arm.key.role == apprentice_runs::row::Role::Teacher;
    let mark = |(index, arm, took, success): &(usize, &ArmReport, f64, f64)| CostMark {
        x: across.at(*took),
        y: 4.0 + up.at(*success) * 0.92,
        name: if teaches(arm) { "teacher".to_owned() } else { arm.key.arm.clone() },
        spot: LabelPosition::default(),
        label: format!("{}: {} for {} per trial", arm.key, percent(*success), amount(*took)),
        class: if teaches(arm) { "teacher" } else { "student" },
        href: format!("#arm-{}", index + 1),
        ahead: !places
            .iter()
            .any(|other| other.2 <= *took && other.3 >= *success && (other.2 < *took || other.3 > *success)),
    };
    let label = if priced { |value: f64| format!("${value:.4}") } else { |value: f64| format!("{value:.0}") };
    let mut marks: Vec<CostMark> = places.iter().map(mark).collect();
    marks.extend(also.iter().map(|(one, took)| CostMark {
        x: across.at(*took),
        y: 4.0 + up.at(one.success) * 0.92,
        name: baseline_name(one),
        spot: LabelPosition::default(),
        label: format!("{}: {} for {} per trial", one.name, percent(one.success), amount(*took)),
        class: "teacher",
        href: "#rivals".into(),
        ahead: !places.iter().any(|other| other.2 <= *took && other.3 >= one.success),
    }));
    let height = height(marks.len());
    let named: Vec<LabelledMark<'_>> =
        marks.iter().map(|one| LabelledMark { x: one.x, y: one.y, name: &one.name }).collect();
    let spots = place(&named, height);
    marks.iter_mut().zip(spots).for_each(|(mark, spot)| mark.spot = spot);
    // Later marks are drawn on top.
    marks.sort_by_key(|mark| mark.ahead);
    Some(CostPlot {
        height,
        marks,
        ticks: across.ticks(&[0.0, most / 2.0, most], label),
        unit: if priced { "US dollars" } else { "tokens" },
    })
}

/// A baseline's name, marked as an upper bound where the check chooses.
fn baseline_name(baseline: &ComputeMatchedBaseline) -> String {
    match baseline.chooser {
        TryChooser::OwnWord => baseline.name.clone(),
        TryChooser::Check => format!("{} (upper bound)", baseline.name),
    }
}

fn curve(points: &[CurvePoint]) -> Option<Curve> {
    let last = points.iter().map(|point| point.trajectories).max().filter(|last| *last > 0)?;
    let across = Scale { low: 0.0, high: f64::from(last) };
    let up = Scale { low: 1.0, high: 0.0 };
    let marks: Vec<CurveMark> = points
        .iter()
        .map(|point| CurveMark {
            x: across.at(f64::from(point.trajectories)),
            y: 4.0 + up.at(point.success) * 0.92,
            label: format!(
                "after {} trajectories: {}, {} skills, {:.1} steps",
                point.trajectories,
                percent(point.success),
                point.skills,
                point.world_steps
            ),
        })
        .collect();
    let segments = marks.windows(2).map(|two| [two[0].x, two[0].y, two[1].x, two[1].y]).collect();
    Some(Curve { points: marks, segments, last })
}
