//! The report of a fork as text for a terminal.

use std::fmt::Write as _;

use apprentice_protocol::Verdict;

use super::report::{ForkArm, ForkReport, ForkVerdict, History};

/// Writes the report as text, one fact per line.
pub fn fork_text(report: &ForkReport) -> String {
    let recorded = &report.recorded;
    let mut text = format!(
        "fork of {} at {}: task {}, seed {}, {} / {} (attempt {} {})\n",
        recorded.trial,
        report.step,
        recorded.task,
        recorded.seed,
        recorded.model,
        recorded.arm,
        recorded.attempt,
        match recorded.verdict {
            Verdict::Pass => "passed",
            Verdict::Fail => "failed",
            Verdict::Void => "void",
        },
    );
    let told = match report.history {
        History::OwnTurns => "as its own turns",
        History::AsText => "told as text, because another model took them",
    };
    let _ = writeln!(
        text,
        "repeated: {} turns with {} actions; {} goes on and has them {told}",
        report.repeated_turns, report.repeated_actions, report.model
    );
    for arm in &report.arms {
        let _ = writeln!(text, "{}", arm_line(arm));
    }
    match &report.effect {
        Some(effect) => {
            let says = match effect.verdict {
                ForkVerdict::Helps => "it helps here".to_owned(),
                ForkVerdict::Harms => "it harms here".to_owned(),
                ForkVerdict::TooFewToTell => "too few to tell".to_owned(),
            };
            let _ = writeln!(
                text,
                "{} - {}: {:+.1} points (95 %: {:+.1} to {:+.1}): {says}",
                effect.with,
                effect.without,
                points(effect.difference),
                points(effect.ci95.low),
                points(effect.ci95.high)
            );
        }
        None if report.arms.len() > 1 => {
            let _ = writeln!(text, "no effect: an arm has no judged attempt");
        }
        None => {}
    }
    for attempt in &report.attempts {
        if let Some(parted) = &attempt.parted {
            let (replicate, arm) = (attempt.replicate, &attempt.arm);
            let _ = writeln!(text, "parted at {} ({arm}, {replicate}): {}", parted.step, parted.difference);
        }
    }
    for note in &report.notes {
        let _ = writeln!(text, "note: {note}");
    }
    text
}

fn arm_line(arm: &ForkArm) -> String {
    let mut line = format!("{}: {} of {} passed", arm.arm, arm.passed, arm.judged);
    if let Some(rate) = &arm.rate {
        let (low, high) = (100.0 * rate.ci95.low, 100.0 * rate.ci95.high);
        let _ = write!(line, " (95 %: {low:.0} % to {high:.0} %)");
    }
    if let (Some(actions), Some(turns)) = (arm.actions_after, arm.turns_after) {
        let _ = write!(line, ", {actions:.1} actions and {turns:.1} turns after the fork");
    }
    if arm.parted > 0 {
        let _ = write!(line, ", {} parted", arm.parted);
    }
    if arm.void > 0 {
        let _ = write!(line, ", {} void", arm.void);
    }
    if let Some(cost) = arm.cost_usd.filter(|cost| *cost > 0.0) {
        let _ = write!(line, ", ${cost:.4}");
    }
    line
}

/// Rounds a share to tenths of a point, without a negative zero.
fn points(share: f64) -> f64 {
    let points = (share * 1000.0).round() / 10.0;
    if points == 0.0 { 0.0 } else { points }
}
