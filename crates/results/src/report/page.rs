//! Renders a report as one self-contained HTML page, and as Markdown.

use std::collections::BTreeMap;

use apprentice_packed::unpack_text;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, Value, context, filters, functions, tests};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;

use super::schema::{Report, TrialLine};
use super::{headline, number_text, plot};
use crate::ablations::AblationArm;
use apprentice_runs::row::Role;

/// The reason a page could not be rendered.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// The template failed, which is a bug in this program.
    #[error("the page {page} could not be rendered")]
    Template {
        /// Name of the page's template.
        page: &'static str,
        /// The cause.
        #[source]
        source: minijinja::Error,
    },
}

/// Includes a template that the build packed.
macro_rules! packed {
    ($name:literal) => {
        ($name, include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".zz")))
    };
}

const TEMPLATES: [(&str, &[u8]); 5] = [
    packed!("page.css"),
    packed!("page.html"),
    packed!("page.md"),
    packed!("trace.css"),
    packed!("trace.html"),
];

/// The attempts of one arm, or of unmeasured trials.
#[derive(Serialize)]
struct Group<'a> {
    id: String,
    title: String,
    lines: Vec<&'a TrialLine>,
}

/// Where the page's attempts lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptLinks {
    /// Nowhere: a file stands alone, and says how to open the viewer.
    None,
    /// To the viewer that serves the page.
    Viewer,
}

/// Renders the HTML page as a file that stands alone.
///
/// # Errors
///
/// Fails if the template cannot be rendered.
pub fn render_page(report: &Report) -> Result<String, PageError> {
    render_page_with(report, AttemptLinks::None)
}

/// Renders the HTML page.
///
/// # Errors
///
/// Fails if the template cannot be rendered.
pub fn render_page_with(report: &Report, links: AttemptLinks) -> Result<String, PageError> {
    let context = context! {
        in_viewer => links == AttemptLinks::Viewer,
        report => Serde(report),
        plots => Serde(plot::plots(report)),
        groups => Serde(groups(report)),
        baseline_ids => baseline_ids(report),
        voids => Serde(voids(report)),
    };
    render("page.html", context)
}

/// Renders the report as Markdown, without plots and without the list of attempts.
///
/// # Errors
///
/// Fails if the template cannot be rendered.
pub fn render_text(report: &Report) -> Result<String, PageError> {
    let text = render("page.md", context! { report => Serde(report) })?;
    // Absent sections leave empty lines behind.
    let mut lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.dedup_by(|line, before| line.is_empty() && before.is_empty());
    Ok(lines.join("\n") + "\n")
}

pub(super) fn render(page: &'static str, context: Value) -> Result<String, PageError> {
    let failed = |source| PageError::Template { page, source };
    let environment = environment().map_err(failed)?;
    environment.get_template(page).and_then(|template| template.render(context)).map_err(failed)
}

fn environment() -> Result<Environment<'static>, minijinja::Error> {
    let mut environment = Environment::empty();
    add_builtins(&mut environment);
    environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    environment.set_undefined_behavior(minijinja::UndefinedBehavior::Strict);
    environment.add_template("head.html", include_str!("head.html"))?;
    for (name, packed) in TEMPLATES {
        environment.add_template_owned(name, unpack_text(packed))?;
    }
    environment.add_filter("percent", number_text::percent);
    environment.add_filter("points", number_text::points);
    environment.add_filter("shown", |finding: String| headline::shown(&finding));
    environment.add_filter("is_part", |arm: String| AblationArm::is_auxiliary(&arm));
    environment.add_filter("help", |arm: String| headline::help(&arm));
    environment.add_filter("moment", |time: String| format_time(&time));
    environment.add_filter("fixed", |value: f64, digits: usize| format!("{value:.digits$}"));
    environment.add_filter("p", |p: f64| if p < 0.0001 { "< 0.0001".into() } else { format!("{p:.4}") });
    environment.add_filter("time", time);
    environment.add_filter("count", count);
    environment.add_filter("words", |text: String| text.replace('_', " "));
    environment.add_filter("cell", |text: String| text.replace('|', "\\|").replace(['\n', '\r'], " "));
    environment.add_filter("slug", |text: String| slug(&text));
    environment.add_filter("viewer", |trace: String| viewer_run(&trace));
    environment.add_filter("short", |hash: String| shorten(&hash));
    Ok(environment)
}

/// Adds what the templates use of the language's own filters, tests and functions: all of them would add 100 kB to the program.
fn add_builtins(environment: &mut Environment<'_>) {
    environment.set_auto_escape_callback(minijinja::default_auto_escape_callback);
    environment.add_filter("items", filters::items);
    environment.add_filter("join", filters::join);
    environment.add_filter("length", filters::length);
    environment.add_filter("list", filters::list);
    environment.add_filter("map", filters::map);
    environment.add_filter("max", filters::max);
    environment.add_filter("selectattr", filters::selectattr);
    environment.add_filter("unique", filters::unique);
    environment.add_test("defined", tests::is_defined);
    environment.add_test("none", tests::is_none);
    environment.add_function("namespace", functions::namespace);
}

/// Formats a time to the minute.
fn format_time(time: &str) -> String {
    let read = time.parse::<jiff::Timestamp>();
    read.map_or_else(|_| time.to_owned(), |time| time.strftime("%Y-%m-%d %H:%M UTC").to_string())
}

/// Formats a duration in seconds.
fn time(seconds: f64) -> String {
    if seconds < 60.0 {
        return format!("{seconds:.1} s");
    }
    let minutes = (seconds / 60.0).floor();
    if minutes < 60.0 {
        return format!("{minutes:.0} min {:.0} s", (seconds - minutes * 60.0).floor());
    }
    let hours = (minutes / 60.0).floor();
    format!("{hours:.0} h {:.0} min", minutes - hours * 60.0)
}

/// Formats a number with thousands separators.
fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut spaced = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            spaced.push('\u{202f}');
        }
        spaced.push(digit);
    }
    spaced
}

/// Converts a text to an anchor: letters, digits and hyphens.
fn slug(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect()
}

/// What a part of the viewer's addresses writes with percent signs.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Returns the viewer's key of the run of a trace, as a part of an address: `~` and its folder, relative to the report.
fn viewer_run(trace: &str) -> String {
    let run = trace.split("trials/").next().unwrap_or_default().trim_end_matches('/');
    format!("~{}", utf8_percent_encode(run, SEGMENT))
}

/// Shortens hashes of 40 or more hex digits to twelve.
fn shorten(text: &str) -> String {
    let cut = |word: &str| {
        let is_hash = word.len() >= 40 && word.chars().all(|c| c.is_ascii_hexdigit());
        if is_hash { word[..12].to_owned() } else { word.to_owned() }
    };
    text.split(' ').map(cut).collect::<Vec<_>>().join(" ")
}

fn groups(report: &Report) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for (place, arm) in report.arms.iter().enumerate() {
        let lines = report.trials.iter().filter(|line| line.measured && line.key == arm.key).collect();
        groups.push(Group { id: format!("arm-{}", place + 1), title: arm.key.to_string(), lines });
    }
    let mut others: BTreeMap<String, Vec<&TrialLine>> = BTreeMap::new();
    for line in &report.trials {
        if line.measured && report.arms.iter().any(|arm| arm.key == line.key) {
            continue;
        }
        let split = line.split.filter(|_| !line.measured).map(|split| format!(" on {}", split.as_str()));
        others.entry(format!("{}{}", line.key, split.unwrap_or_default())).or_default().push(line);
    }
    for (title, lines) in others {
        groups.push(Group { id: format!("other-{}", slug(&title)), title, lines });
    }
    groups
}

/// The id of the group with a baseline's attempts, by the baseline's name.
fn baseline_ids(report: &Report) -> BTreeMap<String, String> {
    let measured = report.trials.iter().filter(|line| line.measured && line.key.role == Role::Baseline);
    measured.map(|line| (line.key.arm.clone(), format!("other-{}", slug(&line.key.to_string())))).collect()
}

/// Void attempts as lines, which have the task and the trace as well as the cause.
fn voids(report: &Report) -> Vec<&TrialLine> {
    report.trials.iter().filter(|line| line.void_cause.is_some()).collect()
}
