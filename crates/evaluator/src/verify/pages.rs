//! Renders the pages of a report again, and compares them with the stored ones.

use std::path::PathBuf;

use apprentice_results::report::{Report, render_page, render_text};
use apprentice_runs::bundle::BundleError;

use super::VerifyError;
use super::finding::{Claim, Findings};
use crate::experiment::ExperimentError;

/// Maximum characters of a differing line that are shown.
const MAX_SHOWN_CHARS: usize = 80;

/// Compares the HTML page and the Markdown text, in this order, with those of the report.
pub(super) fn compare(
    pages: &[PathBuf; 2],
    report: &Report,
    found: &mut Findings,
) -> Result<(), VerifyError> {
    let again = [render_page(report), render_text(report)];
    for (path, again) in pages.iter().zip(again).filter(|(path, _)| path.is_file()) {
        let again = again.map_err(ExperimentError::from)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text =
            apprentice_files::read(path).map_err(|source| BundleError::Io { path: path.clone(), source })?;
        let stored = String::from_utf8_lossy(&text).into_owned();
        if stored == again {
            found.count(Claim::Pages, 1);
            continue;
        }
        // Another version words and lays out its pages otherwise, so that only a page of this version is compared.
        let made_by = report.facts.get("program").map_or("", String::as_str);
        if made_by == env!("CARGO_PKG_VERSION") {
            found.count(Claim::Pages, 1);
            found.add(Claim::Pages, &name, first_difference(&stored, &again));
        } else {
            found.leave(format!(
                "{name}: version {made_by} made it otherwise; `apprentice report` makes it again from the rows"
            ));
        }
    }
    Ok(())
}

/// The first line that differs, cut to the part that does.
fn first_difference(stored: &str, again: &str) -> String {
    let lines = stored.lines().map(Some).chain(std::iter::repeat(None));
    let others = again.lines().map(Some).chain(std::iter::repeat(None));
    let differing = lines.zip(others).zip(1..).find(|((one, other), _)| one != other || one.is_none());
    let Some(((one, other), number)) = differing else { return "it differs".to_owned() };
    let (one, other) = (one.unwrap_or("nothing"), other.unwrap_or("nothing"));
    let same = one.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    // A few characters before the difference say where it is.
    let start = same.saturating_sub(MAX_SHOWN_CHARS / 4);
    let part = |line: &str| line.chars().skip(start).take(MAX_SHOWN_CHARS).collect::<String>();
    format!("line {number} says {:?}, and made again from the rows {:?}", part(one), part(other))
}
