//! The table of an experiment's forecast, as `plan` and dry runs print it.

use apprentice_evaluator::experiment::{Forecast, Power};
use apprentice_protocol::counted;
use apprentice_results::stats::MIN_TEMPLATES;

use crate::terminal;

/// Prints an experiment's trials by role and arm, its cost, and what its size can show.
pub(super) fn print(found: &Forecast) {
    terminal::line(format_args!(
        "{} on {}: {}, {} of {}",
        counted(found.trials, "trial"),
        found.suite,
        counted(found.train_tasks, "training task"),
        counted(found.test_tasks, "test task"),
        counted(found.test_templates, "template")
    ));
    for part in &found.parts {
        let phase = if part.learning { "learning" } else { "measuring" };
        terminal::line(format_args!(
            "  {phase:9} {:8} {} {}: {}",
            part.role.as_str(),
            part.model,
            part.arm,
            part.trials
        ));
    }
    match (found.least_usd, found.most_usd) {
        (Some(least), Some(most)) => {
            let expected = found.expected_usd.filter(|_| most > 0.0);
            let told = expected.map_or_else(String::new, |one| {
                format!(
                    "about {:.2} ({:.2} to {:.2} if attempts take as many turns as measured ones), ",
                    one.median, one.low, one.high
                )
            });
            terminal::line(format_args!("cost: {told}at least {least:.2}, at most {most:.2} US dollars"));
        }
        (_, _) => terminal::line(format_args!("cost: unknown, because a model has no price")),
    }
    for one in found.cost.iter().filter(|one| one.most_usd.is_some_and(|most| most > 0.0)) {
        let (least, most) = (one.least_usd.unwrap_or_default(), one.most_usd.unwrap_or_default());
        terminal::line(format_args!("  {}: {least:.2} to {most:.2}", one.model));
    }
    for one in &found.cost {
        if let Some(work) = &one.work {
            terminal::line(format_args!("  {}: {work}", one.model));
        }
    }
    let primary = &found.primary;
    terminal::line(format_args!("primary comparison: {} against {}", primary.treatment, primary.control));
    show(&found.power);
    for note in &found.notes {
        terminal::line(format_args!("note: {note}"));
    }
}

fn show(power: &Power) {
    if power.templates < MIN_TEMPLATES {
        terminal::line(format_args!(
            "a verdict needs {MIN_TEMPLATES} test templates or more; there are {}: too few to decide, {} more to write",
            power.templates,
            MIN_TEMPLATES - power.templates
        ));
    } else {
        terminal::line(format_args!(
            "a verdict needs {MIN_TEMPLATES} test templates or more; there are {}",
            power.templates
        ));
    }
    let points = |share: f64| format!("{:+.0} points", share * 100.0);
    let Power { templates, seeds, .. } = power;
    match power.smallest_effect {
        Some(effect) => terminal::line(format_args!(
            "power 0.8 for differences from {}, with {} in {}, if \
             templates pass up to {:.0} % without help",
            points(effect),
            counted(*templates, "template"),
            counted(*seeds, "variation"),
            power.base * 100.0
        )),
        None => {
            terminal::line(format_args!("no difference, however large, reaches a power of 0.8"));
        }
    }
    if let (Some(effect), Some(found)) = (power.effect, power.found) {
        let needed = match power.templates_needed {
            Some(needed) => format!("a power of 0.8 needs {}", counted(needed, "template")),
            None => "a power of 0.8 needs more than 400 templates".into(),
        };
        terminal::line(format_args!(
            "{} are detected in {:.0} % of experiments; {needed}",
            points(effect),
            found * 100.0
        ));
    }
}
