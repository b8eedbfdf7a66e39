//! The pages of a skillbook: its skills, and each skill with its history, the source of every line, and the attempts that
//! read it.

use std::path::Path;

use apprentice_protocol::SkillId;
use apprentice_skillbook::{
    At, BlameLine, BookError, Counts, Entry, Note, Skill, Snapshot, Trial, blame, figure_refs, history,
};
use serde::Serialize;

use crate::library::Library;

/// A book.
#[derive(Debug, Serialize)]
pub(crate) struct BookDocument {
    name: String,
    skills: Vec<SkillLine>,
    history: Vec<Entry>,
    problems: Vec<String>,
}

#[derive(Debug, Serialize)]
struct SkillLine {
    id: String,
    description: String,
    version: u32,
    counts: Counts,
}

/// One skill.
#[derive(Debug, Serialize)]
pub(crate) struct SkillDocument {
    book: String,
    id: String,
    version: u32,
    description: String,
    situation: String,
    guidance: String,
    notes: Vec<Note>,
    counts: Counts,
    /// Every line with the operation, attempt and steps that it came from.
    lines: Vec<BlameLine>,
    history: Vec<Entry>,
    /// What attempts made of it, as far as they were reviewed.
    trials: Vec<Trial>,
    figures: Vec<FigureLine>,
    /// The attempts of the opened runs that received the text.
    read_by: Vec<ReadBy>,
}

/// A figure that the text shows.
#[derive(Debug, Serialize)]
struct FigureLine {
    sha256: String,
    alt: String,
}

/// An attempt that received a skill's text.
#[derive(Debug, Serialize)]
struct ReadBy {
    run: String,
    trial: String,
    attempt: u32,
    task: String,
    arm: String,
    model: String,
    seed: u32,
    verdict: apprentice_protocol::Verdict,
    /// The places of the turns in which it was delivered; `None` if the trace cannot be read.
    turns: Option<Vec<usize>>,
}

/// Makes the page of a book.
pub(crate) fn document(name: &str, folder: &Path) -> Result<BookDocument, BookError> {
    let book = Snapshot::open(folder, At::Now)?;
    let line = |skill: &Skill| SkillLine {
        id: skill.id.to_string(),
        description: skill.text.description.clone(),
        version: skill.version,
        counts: skill.lifetime_counts(),
    };
    let mut problems: Vec<String> =
        book.problems().iter().map(|problem| format!("{}: {}", problem.path, problem.what)).collect();
    problems.extend(
        book.pending().iter().map(|page| format!("{page} was edited by hand and is not recorded yet")),
    );
    Ok(BookDocument {
        name: name.to_owned(),
        skills: book.skills().map(line).collect(),
        history: history(&book.operations(), None),
        problems,
    })
}

/// Makes the page of a skill; `None` if the book never had it.
pub(crate) fn skill(
    library: &Library,
    name: &str,
    folder: &Path,
    id: &SkillId,
) -> Result<Option<SkillDocument>, BookError> {
    let book = Snapshot::open(folder, At::Now)?;
    let operations = book.operations();
    let Some(skill) = book.skill(id) else { return Ok(None) };
    let text = format!("{}\n{}", skill.text.situation, skill.text.guidance);
    Ok(Some(SkillDocument {
        book: name.to_owned(),
        id: id.to_string(),
        version: skill.version,
        description: skill.text.description.clone(),
        situation: skill.text.situation.clone(),
        guidance: skill.text.guidance.clone(),
        notes: skill.notes.clone(),
        counts: skill.lifetime_counts(),
        lines: blame(&operations, id).unwrap_or_default(),
        history: history(&operations, Some(id)),
        trials: skill.trials.clone(),
        figures: figure_refs(&text)
            .into_iter()
            .map(|one| FigureLine { sha256: one.sha256, alt: one.alt })
            .collect(),
        read_by: read_by(library, id),
    }))
}

/// Finds the attempts that received a skill. Rows name the skills, so only the traces of these attempts are read.
fn read_by(library: &Library, id: &SkillId) -> Vec<ReadBy> {
    let mut found = Vec::new();
    for folder in library.folders().iter() {
        let name = library.key(folder);
        let Some(Ok(run)) = library.run(&name) else { continue };
        for row in run.rows.iter().filter(|row| row.skills_viewed.contains(id)) {
            let id = id.to_string();
            let of_turn = |turn: &crate::turn::Turn| {
                let is_it = |skill: &crate::act::SkillUse| {
                    skill.skill.as_deref() == Some(&id) && skill.kind == "skill.viewed"
                };
                turn.skills.iter().any(is_it).then_some(turn.place)
            };
            let turns = library.trace(&run, row).ok();
            let turns = turns
                .map(|trace| crate::turn::turns(&trace.events).turns.iter().filter_map(of_turn).collect());
            found.push(ReadBy {
                run: name.clone(),
                trial: row.trial.to_string(),
                attempt: row.attempt,
                task: row.task.to_string(),
                arm: row.arm.clone(),
                model: row.model.clone(),
                seed: row.seed,
                verdict: row.verdict,
                turns,
            });
        }
    }
    found
}

/// The bytes of a figure; `None` if the book has none of this hash, or it is no picture.
pub(crate) fn figure(folder: &Path, sha256: &str) -> Result<Option<Vec<u8>>, BookError> {
    let book = Snapshot::open(folder, At::Now)?;
    let bytes = book.attachment(sha256);
    Ok(bytes.filter(|bytes| apprentice_skillbook::check_png(bytes).is_ok()))
}
