//! `apprentice skills check`: whether the labels that pages name are still in a program, and whether their functions still run.

use std::sync::Arc;

use apprentice_evaluator::app_versions::start_command;
use apprentice_measure::page_check::{
    FunctionCheck, FunctionFinding, LabelCheck, LabelFinding, PageCheck, PageFinding, ProgramStart,
    check_page,
};
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

/// Looks whether what pages name is still in a program: the labels in quotes, and the functions.
///
/// The program is started in fresh worlds, and each label is looked for in the order of the page. To reach one, only what the page
/// itself names before it is clicked; nothing is typed, and no model is asked. Each function of the page is replayed in a world of
/// its own, with the arguments of its example. What is not found, and a function that stops, no longer holds if the program has
/// another release than the page was written with. Else it counts as not checked: it may need a file, a selection or a key.
///
/// To give the functions what they need, start the program with it: `--start "mousepad notes.txt"`. `functions admit` replays a
/// function on a task whose checks judge it.
///
/// Exit code 10 if anything no longer holds.
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
    pages: Vec<CheckedPage>,
}

/// One page with what was found of it.
#[derive(Serialize, JsonSchema)]
struct CheckedPage {
    /// What was found of it as a whole.
    finding: PageFinding,
    #[serde(flatten)]
    page: PageCheck,
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
            pages.push(CheckedPage { finding: checked.finding(), page: checked });
        }
        Ok(pages)
    })?;
    let broken: Vec<String> = pages
        .iter()
        .filter(|one| one.finding == PageFinding::NoLongerHolds)
        .map(|one| one.page.skill.to_string())
        .collect();
    if json {
        terminal::json(&CheckedPages {
            schema: "apprentice.skills.check/1",
            program: domain.clone(),
            pages,
        })?;
    }
    match broken.is_empty() {
        true => Ok(()),
        false => {
            let told = format!("not every page holds in today's {domain}: {}", broken.join(", "));
            Err(Failure::say(Kind::TasksFailed, told))
        }
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
    let finding = match page.finding() {
        PageFinding::Holds => "holds",
        PageFinding::NoLongerHolds => "no longer holds",
        PageFinding::PartlyChecked => "holds as far as it was checked",
        PageFinding::NotChecked => "not checked",
    };
    let release = match (&page.now, &page.release_unknown) {
        (Some(now), _) => format!("the program is {now}"),
        (None, why) => format!("the program's release is unknown: {}", why.as_deref().unwrap_or("no answer")),
    };
    let written = match page.written_with.is_empty() {
        true => "the page does not say with which release it was written".to_owned(),
        false => format!("written with {}", page.written_with.join(", ")),
    };
    let mut parts = vec![counted(page.labels.len(), "label")];
    if !page.functions.is_empty() {
        parts.push(counted(page.functions.len(), "function"));
    }
    terminal::line(format_args!(
        "{}: {finding}: {} of {} ({}); {release}, {written}",
        page.skill,
        page.held(),
        page.labels.len() + page.functions.len(),
        parts.join(", ")
    ));
    page.labels.iter().for_each(tell_label);
    page.functions.iter().for_each(tell_function);
}

fn tell_label(label: &LabelCheck) {
    let step = label.named.step.map_or_else(String::new, |step| format!("step {step}, "));
    let name = &label.named.label;
    match &label.finding {
        LabelFinding::Holds { .. } => {}
        LabelFinding::NoLongerHolds => terminal::line(format_args!("  no longer holds: {step}\"{name}\"")),
        LabelFinding::NotReached => terminal::line(format_args!(
            "  not checked: {step}\"{name}\": no click on what the page names shows it; it may need a file, a selection or a key"
        )),
        LabelFinding::NotChecked { why } => {
            terminal::line(format_args!("  not checked: {step}\"{name}\": {why}"));
        }
    }
}

fn tell_function(function: &FunctionCheck) {
    let FunctionCheck { name, arguments, finding, .. } = function;
    match finding {
        FunctionFinding::Holds { acts } => terminal::line(format_args!(
            "  holds: the function {name} ran to its end with {arguments}: {}",
            counted(*acts as usize, "action")
        )),
        FunctionFinding::NoLongerHolds { line, why } => {
            terminal::line(format_args!("  no longer holds: the function {name}, line {line}: {why}"));
        }
        FunctionFinding::NotChecked { why } => {
            terminal::line(format_args!("  not checked: the function {name}: {why}"));
        }
    }
}
