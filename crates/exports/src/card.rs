//! The data card of an export: a README in Markdown, with the front matter that data set hubs read.

use std::fmt::Write as _;

use crate::formats::{ExportFormat, PictureForm};
use crate::manifest::Manifest;
use crate::names::code_span;
use crate::select::Guidance;

/// Writes the card.
pub(crate) fn card(manifest: &Manifest) -> String {
    let mut text = front_matter(manifest);
    let run = |field: &str| {
        code_span(manifest.run.get(field).and_then(|value| value.as_str()).unwrap_or("unknown"))
    };
    let _ = writeln!(text, "# Attempts of the run {}\n", run("run"));
    let _ = writeln!(
        text,
        "{} attempts of computer-use agents at tasks of the suite {}, in the format {}.\n",
        manifest.exported,
        run("suite"),
        code_span(manifest.format.name())
    );
    for (name, value) in facts(manifest) {
        let _ = writeln!(text, "- **{name}:** {value}");
    }
    let _ = writeln!(
        text,
        "\n`index.jsonl` has a line for each attempt: its task, arm, seed, attempt number, reward and files."
    );
    if !manifest.left_out.is_empty() || !manifest.not_selected.is_empty() {
        let _ = writeln!(text, "\n## Left out\n");
        for (reason, count) in &manifest.not_selected {
            let _ = writeln!(text, "- {count}: {}", code_span(reason));
        }
        let count = manifest.left_out.len();
        if count > 0 {
            let _ = writeln!(
                text,
                "- {count}: could not be exported; `manifest.json` names each with its reason"
            );
        }
    }
    text
}

/// The lines that tell a hub which file holds which part. Only constants and a checked licence stand in them.
fn front_matter(manifest: &Manifest) -> String {
    let mut text = "---\n".to_owned();
    if let Some(licence) = manifest.licence.as_deref().filter(|licence| is_plain(licence)) {
        let _ = writeln!(text, "license: {}", licence.to_ascii_lowercase());
    }
    if manifest.format.is_training() && manifest.exported > 0 {
        text.push_str("configs:\n- config_name: default\n  data_files:\n");
        for part in manifest.split.keys() {
            // Hubs expect a part named `train`.
            let name = match (part.as_str(), manifest.split.contains_key("train")) {
                ("none", false) => "train",
                ("none", true) => "unsplit",
                (part, _) => part,
            };
            let ending = if manifest.format == ExportFormat::Parquet { "parquet" } else { "jsonl" };
            let _ = writeln!(text, "  - split: {name}\n    path: {}.{ending}", part_file(part));
        }
    }
    text.push_str("tags:\n- computer-use\n---\n\n");
    text
}

/// The file of a part of the split, without its ending.
pub(crate) fn part_file(part: &str) -> &str {
    match part {
        "none" => "unsplit",
        part => part,
    }
}

fn is_plain(licence: &str) -> bool {
    !licence.is_empty() && licence.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+'))
}

fn facts(manifest: &Manifest) -> Vec<(&'static str, String)> {
    let list = |items: &[String]| match items {
        [] => "unknown".to_owned(),
        items => items.join(", "),
    };
    let spaces: Vec<String> =
        manifest.coordinate_spaces.iter().map(|space| code_span(&space.to_string())).collect();
    let selection = &manifest.selection;
    let split: Vec<String> = manifest.split.iter().map(|(part, count)| format!("{part} {count}")).collect();
    let verdicts: Vec<String> =
        manifest.verdicts.iter().map(|(one, count)| format!("{one} {count}")).collect();
    vec![
        ("Coordinate space of the model's points", list(&spaces)),
        ("Size of the pictures that the model got", match manifest.picture_sizes.as_slice() {
            [] => "it got none; screenshots are of the trace".to_owned(),
            sizes => sizes.join(", "),
        }),
        ("Size of the screen", list(&manifest.screen_sizes)),
        ("Resizing", resizing(manifest)),
        ("Attempts", "the attempt of each trial that counts; `attempt` in the index is its number".to_owned()),
        ("Reward", format!("the score of the task's checks, from 0 to 1; verdicts: {}", list(&verdicts))),
        ("Guidance (skills, notes)", guidance(manifest)),
        ("Steps", match selection.steps.is_whole() {
            true => "whole attempts".to_owned(),
            false => format!(
                "steps {} to {}",
                selection.steps.from,
                selection.steps.to.map_or("the end".to_owned(), |to| to.to_string())
            ),
        }),
        ("Split", format!("by task, never by step: {}. `none`: the run had no locked split", list(&split))),
        ("Pictures", match manifest.picture_form {
            PictureForm::Files if manifest.format == ExportFormat::Osworld => {
                format!("{} files `step_*.png` beside the steps of their task", manifest.pictures)
            }
            PictureForm::Files => format!("{} files in `images/`", manifest.pictures),
            PictureForm::Inline if manifest.format == ExportFormat::Parquet => {
                format!("{}, as files have them, in the column `images`", manifest.pictures)
            }
            PictureForm::Inline => format!("{} data URLs", manifest.pictures),
            PictureForm::None => "none".to_owned(),
        }),
        ("Redaction", format!(
                "{} Replaced here: {}. Painted over: {} places in {} pictures.",
                manifest.redaction, manifest.redacted, manifest.painted_places, manifest.painted_pictures
            )),
        ("Licence", manifest.licence.as_deref().map_or_else(
            || "none is stated. Who passes this on must state one; a model provider's terms may restrict training on \
                its output, and pages and programs in the pictures have owners of their own"
                .to_owned(),
            code_span,
        )),
    ]
}

fn resizing(manifest: &Manifest) -> String {
    let points = match manifest.format {
        ExportFormat::Osworld => "actions have points in pixels of the screen",
        ExportFormat::Csv => "`x`, `y` are in pixels of the screen; `model_x`, `model_y` are the model's own",
        _ => "calls have the model's own points",
    };
    format!("each screenshot was scaled once, to the size that the model got; {points}")
}

fn guidance(manifest: &Manifest) -> String {
    match manifest.selection.guidance {
        Guidance::Kept => {
            "as the model got it; `skills` in the index says for each attempt whether it got any".to_owned()
        }
        Guidance::Removed => {
            "removed: texts of guidance and calls of skill tools. What the model says may still refer to \
                              them; `skills` in the index says for each attempt whether it got any"
                .to_owned()
        }
    }
}
