//! `apprentice skills check`: whether the labels that pages name are still in a program.

use std::sync::Arc;

use apprentice_evaluator::app_versions::start_command;
use apprentice_evaluator::page_check::{LabelCheck, LabelFinding, PageCheck, ProgramStart, check_page};
use apprentice_protocol::{Clock, EnvironmentKind, Monitors, Size, WorldSpec, counted};
use apprentice_sandbox::SystemClock;
use apprentice_skillbook::{Skill, Snapshot};
use apprentice_wording::domain_name;
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

use super::{id, unknown};
use crate::failure::{Failure, Kind, WithKind as _};
use crate::settings::config::Config;
use crate::{terminal, wire};

/// The screen of the worlds.
const SCREEN: Size = Size::new(1280, 800);

/// Looks whether the labels that pages name in quotes are still in a program.
///
/// The program is started in fresh worlds, and each label is looked for in the order of the page. To reach one, only what the page
/// itself names before it is clicked; nothing is typed, and no model is asked. A label that is not found no longer holds if the
/// program has another release than the page was written with. Else it was only not reached: it may need a file, a selection or a
/// key. Functions need a task for a replay, and are named as not checked.
///
/// Exit code 3 if anything no longer holds.
#[derive(Debug, Args)]
pub(crate) struct Check {
    /// The program, by its name in the skillbook, such as `mousepad` or `libreoffice-calc`.
    #[arg(long, value_name = "PROGRAM")]
    on: String,
    /// The command line that starts it [default: its usual one].
    #[arg(long, value_name = "COMMAND")]
    start: Option<String>,
    /// Check this page alone; may be repeated [default: every page of the program].
    #[arg(long, value_name = "DOMAIN/NAME")]
    skill: Vec<String>,
}

/// The output of `skills check --json`.
#[derive(Serialize, JsonSchema)]
pub(in super::super) struct CheckedPages {
    schema: &'static str,
    /// The program.
    program: String,
    /// The pages.
    pages: Vec<PageCheck>,
}

/// Runs the command.
pub(crate) fn run(arguments: &Check, book: &Snapshot, json: bool, config: &Config) -> Result<(), Failure> {
    let domain = domain_name(&arguments.on)
        .ok_or_else(|| Failure::say(Kind::Usage, format!("{:?} is no name of a program", arguments.on)))?;
    let skills = chosen(arguments, book, &domain)?;
    let command = arguments.start.clone().unwrap_or_else(|| start_command(&domain));
    let world = WorldSpec::new(EnvironmentKind::Desktop, Monitors::from(SCREEN));
    let start = ProgramStart { world, command: Some(command), domain: domain.clone() };
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let runtime = wire::runtime()?;
    let pages = runtime.block_on(async {
        let worlds = wire::worlds(config, Arc::clone(&clock))?;
        let mut pages = Vec::new();
        for skill in skills {
            let checked = check_page(skill, &start, &*worlds, &*clock).await.kind(Kind::Environment)?;
            if !json {
                tell(&checked);
            }
            pages.push(checked);
        }
        Ok(pages)
    })?;
    let broken = pages.iter().flat_map(PageCheck::broken).count();
    if json {
        terminal::json(&CheckedPages { schema: "apprentice.skills.check/1", program: domain, pages })?;
    }
    match broken {
        0 => Ok(()),
        _ => Err(Failure::say(Kind::Config, format!("{} no longer hold", counted(broken, "label")))),
    }
}

/// The pages to look at.
fn chosen<'a>(arguments: &Check, book: &'a Snapshot, domain: &str) -> Result<Vec<&'a Skill>, Failure> {
    if !arguments.skill.is_empty() {
        let named = arguments.skill.iter();
        return named.map(|name| book.skill(&id(name)?).ok_or_else(|| unknown(book, name))).collect();
    }
    let found: Vec<&Skill> = book.skills().filter(|skill| skill.id.domain() == domain).collect();
    if found.is_empty() {
        let failure = Failure::say(Kind::NothingMatched, format!("the skillbook has no page of {domain}"));
        return Err(failure.hint_nearest(domain, book.domains().iter().copied()));
    }
    Ok(found)
}

fn tell(page: &PageCheck) {
    let now = page.now.as_deref().unwrap_or("of an unknown release");
    let written = match page.written_with.is_empty() {
        true => "the page does not say with which release it was written".to_owned(),
        false => format!("written with {}", page.written_with.join(", ")),
    };
    let held = page.count(|finding| matches!(finding, LabelFinding::Holds { .. }));
    terminal::line(format_args!(
        "{}: {held} of {} found; the program is {now}, {written}",
        page.skill,
        counted(page.labels.len(), "label")
    ));
    page.labels.iter().for_each(tell_label);
    for function in &page.functions {
        terminal::line(format_args!(
            "  not checked: the function {function}; `apprentice functions admit` replays it on a task"
        ));
    }
}

fn tell_label(label: &LabelCheck) {
    let step = label.named.step.map_or_else(String::new, |step| format!("step {step}, "));
    let name = &label.named.label;
    match &label.finding {
        LabelFinding::Holds { .. } => {}
        LabelFinding::NoLongerHolds => terminal::line(format_args!("  no longer holds: {step}\"{name}\"")),
        LabelFinding::NotReached => terminal::line(format_args!("  not reached: {step}\"{name}\"")),
        LabelFinding::NotChecked { why } => {
            terminal::line(format_args!("  not checked: {step}\"{name}\": {why}"));
        }
    }
}
