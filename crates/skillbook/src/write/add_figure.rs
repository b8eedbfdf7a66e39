//! Adds a figure to a skill: the picture becomes an attachment, and the guidance points at it beside a step.

use std::collections::BTreeMap;

use apprentice_protocol::SkillId;
use jiff::Timestamp;

use super::gateway::Gateway;
use super::request::{Applied, WriteRefusal, WriteRequest};
use crate::log::change::Change;
use crate::skill::figure::{FigureRef, NewFigure, figure_path, figure_refs, reference};
use crate::skill::model::{Actor, Cause};

/// A figure for a skill, with who adds it and when.
#[derive(Clone, Debug)]
pub struct FigureWrite {
    /// The writer.
    pub actor: Actor,
    /// The time of the operation.
    pub time: Timestamp,
    /// The cause, for a writer that may repeat itself.
    pub cause: Option<Cause>,
    /// The skill.
    pub skill: SkillId,
    /// The number of the step that the figure belongs to; without one it stands below the last step.
    pub step: Option<u32>,
    /// The figure.
    pub figure: NewFigure,
}

impl Gateway {
    /// Adds a figure, in one operation that changes the guidance. Nothing is kept of a figure that is refused.
    ///
    /// # Errors
    ///
    /// The skill is unknown, the figure or its place is refused, or the gateway refuses the change.
    pub fn add_figure(&mut self, write: FigureWrite) -> Result<Applied, WriteRefusal> {
        let refused = |(code, why)| WriteRefusal::Refused { code, why };
        let (change, sha256, version) = self.figure_change(&write).map_err(refused)?;
        let FigureWrite { actor, time, cause, skill, figure, .. } = write;
        let read = BTreeMap::from([(skill, version)]);
        self.check_change(actor, &change).map_err(refused)?;
        // The picture comes first: a text never points at a picture that was not kept.
        self.keep_files(actor, &BTreeMap::from([(figure_path(&sha256), figure.png)]))?;
        self.apply(WriteRequest { cause, read, ..WriteRequest::of(actor, time, change) })
    }

    /// Has the readers read the page as it will be with a figure.
    pub async fn read_figure(&mut self, write: &FigureWrite) {
        if let Ok((change, ..)) = self.figure_change(write) {
            self.read_change(&change).await;
        }
    }

    /// Returns the change that adds a figure, the hash of the picture, and the version of the skill that it is for.
    fn figure_change(&self, write: &FigureWrite) -> Result<(Change, String, u32), (&'static str, String)> {
        let FigureWrite { skill, step, figure, .. } = write;
        let sha256 = figure.check()?;
        let existing = self.state().skills.get(skill);
        let existing = existing.ok_or_else(|| ("unknown_skill", format!("there is no skill {skill}")))?;
        let reference = FigureRef { alt: figure.alt.clone(), sha256: sha256.clone() };
        let guidance = Some(with_figure(&existing.text.guidance, *step, &reference)?);
        let skill = skill.clone();
        let change = Change::SkillUpdated { skill, description: None, situation: None, guidance };
        Ok((change, sha256, existing.version))
    }
}

/// Returns the guidance with a figure below a step, or below all steps and before further headings.
fn with_figure(
    guidance: &str,
    step: Option<u32>,
    figure: &FigureRef,
) -> Result<String, (&'static str, String)> {
    if figure_refs(guidance).iter().any(|other| other.sha256 == figure.sha256) {
        return Err(("exists", "the skill has this figure already".to_owned()));
    }
    let mut lines: Vec<&str> = guidance.lines().collect();
    let body = lines.iter().position(|line| line.starts_with("## ")).unwrap_or(lines.len());
    let place = match step {
        None => lines[..body].iter().rposition(|line| !line.trim().is_empty()).map_or(0, |last| last + 1),
        Some(number) => {
            let mark = format!("{number}.");
            let found = lines[..body].iter().position(|line| line.trim_start().starts_with(&mark));
            let why = || ("no_step", format!("the guidance has no line that begins with \"{mark}\""));
            found.ok_or_else(why)? + 1
        }
    };
    let line = format!("   {}", reference(&figure.alt, &figure.sha256));
    lines.insert(place, &line);
    Ok(lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::{FigureRef, with_figure};

    #[test]
    fn a_figure_stands_below_its_step_and_before_further_headings() {
        let figure = FigureRef { alt: "Crop".to_owned(), sha256: "a".repeat(64) };
        let line = format!("   ![Crop](figures/{}.png)", figure.sha256);
        let guidance = "1. Open it.\n2. Click.\n\n## Verification\n\n1. Look.";
        let with = |step| with_figure(guidance, step, &figure);
        assert_eq!(
            with(Some(1)),
            Ok(format!("1. Open it.\n{line}\n2. Click.\n\n## Verification\n\n1. Look."))
        );
        assert_eq!(with(None), Ok(format!("1. Open it.\n2. Click.\n{line}\n\n## Verification\n\n1. Look.")));
        assert_eq!(with(Some(3)).expect_err("no such step").0, "no_step");
        let again = with_figure(&with(None).expect("added"), Some(1), &figure);
        assert_eq!(again.expect_err("there already").0, "exists");
    }
}
