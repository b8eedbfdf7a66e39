//! The export of a run: chooses attempts, reads one after the other, and has the format write each.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use apprentice_protocol::ImageRule;
use apprentice_runs::row::{Split, TrialRow};
use serde_json::{Value, json};

use crate::card::card;
use crate::episode::Episode;
use crate::folder::{FolderError, OutFile, OutFolder};
use crate::formats::{ExportFormat, PictureForm};
use crate::manifest::{EXPORT_SCHEMA, LeftOut, Manifest, REDACTION};
use crate::request::ExportRequest;
use crate::writers::{EpisodeError, Writer, can_encode};
use apprentice_runs::{RunError, StoredRun};

/// The reason an export cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The run cannot be read.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The folder cannot be written.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// No attempt is left.
    #[error("no attempt can be exported: {0}")]
    Nothing(String),
    /// The selection asks for test tasks as training data.
    #[error(
        "{0} holds training data, and attempts at test tasks are kept out of it: whoever trains on them can no longer measure"
    )]
    Test(&'static str),
    /// The format has no such pictures.
    #[error("the format {0} does not hold pictures in this form")]
    Pictures(&'static str),
    /// The program that makes videos is missing.
    #[error("ffmpeg, which makes videos, is not installed")]
    NoFfmpeg,
}

/// Exports a run. The folder is there whole, or not at all.
///
/// # Errors
///
/// Fails if the run cannot be read, if the format does not hold such pictures or no attempt can be exported, if `ffmpeg` is needed
/// and missing, or if the folder exists or cannot be written.
pub fn export(request: &ExportRequest) -> Result<Manifest, ExportError> {
    let training = request.format.is_training();
    let split = &request.selection.split;
    if training && split.only.contains(&Split::Test) && !split.include_test {
        return Err(ExportError::Test(request.format.name()));
    }
    let form = request.pictures.unwrap_or(request.format.pictures());
    if !request.format.allows(form) {
        return Err(ExportError::Pictures(request.format.name()));
    }
    if request.format == ExportFormat::Video && !can_encode() {
        return Err(ExportError::NoFfmpeg);
    }
    let run = StoredRun::open_from(&request.run, request.source.clone())?;
    let chosen = request.selection.choose(&run.rows, training);
    let not_selected: BTreeMap<String, usize> =
        chosen.left_out.iter().map(|(reason, count)| ((*reason).to_owned(), *count)).collect();
    let out = OutFolder::begin(&request.out, Arc::clone(&request.redactor), form)?;
    let index = out.create("index.jsonl")?;
    let mut work = Export {
        request,
        run: &run,
        out,
        index,
        seen: Seen::default(),
        manifest: empty(request, &run, form),
    };
    work.manifest.not_selected = not_selected;
    let mut writer = Writer::begin(request, &run.plan, &chosen.rows, &work.out)?;
    for row in &chosen.rows {
        work.add(row, &mut writer)?;
    }
    work.manifest.remarks.extend(writer.remarks());
    writer.finish(&mut work.out)?;
    work.finish()
}

/// An export under way.
struct Export<'a> {
    request: &'a ExportRequest,
    run: &'a StoredRun,
    out: OutFolder,
    index: OutFile,
    seen: Seen,
    manifest: Manifest,
}

/// What earlier attempts had.
#[derive(Default)]
struct Seen {
    fingerprints: BTreeSet<String>,
    per_template: BTreeMap<String, usize>,
    spaces: BTreeSet<String>,
    pictures: BTreeSet<String>,
    screens: BTreeSet<String>,
}

impl Export<'_> {
    /// Exports one attempt, or notes why it is left out. Only a folder that cannot be written ends the export.
    fn add(&mut self, row: &TrialRow, writer: &mut Writer<'_>) -> Result<(), FolderError> {
        match self.try_add(row, writer) {
            Ok(()) => Ok(()),
            Err(EpisodeError::Folder(error)) => Err(error),
            Err(error) => {
                let reason = self.out.redacted(&error.to_string());
                let (trial, attempt) = (row.trial.to_string(), row.attempt);
                self.manifest.left_out.push(LeftOut { trial, attempt, reason });
                Ok(())
            }
        }
    }

    fn try_add(&mut self, row: &TrialRow, writer: &mut Writer<'_>) -> Result<(), EpisodeError> {
        let at_most = self.request.selection.per_template.unwrap_or(usize::MAX);
        let template = self.seen.per_template.get(&row.template).copied().unwrap_or_default();
        if template >= at_most {
            self.count("enough of its template");
            return Ok(());
        }
        let trace = self.run.trace(row)?;
        let Some(episode) = Episode::of(row, trace) else {
            return Err(EpisodeError::Unfit("the trace has no events"));
        };
        let fingerprint = format!("{}/{}", row.task, episode.fingerprint());
        let training = self.request.format.is_training();
        if training && !self.request.selection.duplicates && self.seen.fingerprints.contains(&fingerprint) {
            self.count("repeats another attempt");
            return Ok(());
        }
        self.out.cover.note(&episode, &self.run.blobs)?;
        let file = writer.add(&episode, &mut self.out, &self.run.blobs)?;
        self.seen.fingerprints.insert(fingerprint);
        *self.seen.per_template.entry(row.template.clone()).or_default() += 1;
        self.note(&episode, &file)?;
        Ok(())
    }

    fn count(&mut self, reason: &str) {
        *self.manifest.not_selected.entry(reason.to_owned()).or_default() += 1;
    }

    /// Adds an exported attempt to the index and the manifest.
    fn note(&mut self, episode: &Episode<'_>, file: &str) -> Result<(), FolderError> {
        let row = episode.row;
        let part = row.split.map_or("none", Split::as_str);
        *self.manifest.split.entry(part.to_owned()).or_default() += 1;
        let verdict = serde_json::to_value(row.verdict).unwrap_or_default();
        *self.manifest.verdicts.entry(verdict.as_str().unwrap_or("unknown").to_owned()).or_default() += 1;
        self.manifest.exported += 1;
        let space = serde_json::to_value(episode.header.model.space).unwrap_or_default();
        self.seen.spaces.insert(space.to_string());
        let screen = episode.header.world.screen.screen();
        self.seen.screens.insert(format!("{} x {}", screen.width, screen.height));
        let got_pictures = episode.header.model.images != ImageRule::None;
        let views = episode
            .turns
            .iter()
            .filter(|_| got_pictures)
            .filter_map(|turn| turn.before.as_ref())
            .map(|seen| seen.view.image);
        self.seen.pictures.extend(views.map(|size| format!("{} x {}", size.width, size.height)));
        let name = format!("trial {} attempt {}", row.trial, row.attempt);
        if episode.torn {
            self.manifest
                .remarks
                .push(format!("{name}: the last line of its trace is cut off and was not read"));
        }
        if episode.trimmed {
            self.manifest.remarks.push(format!(
                "{name}: the model's later requests left out old parts that this conversation still has"
            ));
        }
        let line = json!({
            "run": row.run, "trial": row.trial, "attempt": row.attempt, "suite": row.suite, "task": row.task,
            "template": row.template, "split": row.split, "role": row.role, "arm": row.arm, "seed": row.seed,
            "model": row.model, "verdict": row.verdict, "reward": row.score, "steps": row.world_steps,
            "turns": episode.turns.len(), "person_acts": row.person_acts, "skills": episode.has_guidance(), "skills_viewed": row.skills_viewed,
            "skillbook_hash": row.skillbook_hash, "coordinate_space": space,
            "screen": [screen.width, screen.height], "file": file,
        });
        self.out.line(&mut self.index, &line)
    }

    fn finish(mut self) -> Result<Manifest, ExportError> {
        if self.manifest.exported == 0 {
            return Err(ExportError::Nothing(reasons(&self.manifest)));
        }
        let parsed = |text: &String| serde_json::from_str::<Value>(text).unwrap_or_default();
        self.manifest.coordinate_spaces = self.seen.spaces.iter().map(parsed).collect();
        self.manifest.picture_sizes = self.seen.pictures.iter().cloned().collect();
        self.manifest.screen_sizes = self.seen.screens.iter().cloned().collect();
        self.manifest.pictures = self.out.pictures();
        self.manifest.picture_bytes = self.out.picture_bytes;
        self.manifest.redacted = self.out.redacted_count();
        (self.manifest.painted_pictures, self.manifest.painted_places) = self.out.cover.counts();
        let unknown = self.out.cover.unknown;
        if unknown > 0 {
            self.manifest.remarks.push(format!(
                "{unknown} views were recorded without the places of secrets (no elements, or an earlier version): nothing is \
                 painted over in their pictures"
            ));
        }
        self.index.end()?;
        let manifest = serde_json::to_value(&self.manifest).unwrap_or_default();
        self.out.write_json("manifest.json", &manifest)?;
        self.out.write("README.md", &card(&self.manifest))?;
        self.out.finish()?;
        Ok(self.manifest)
    }
}

fn empty(request: &ExportRequest, run: &StoredRun, picture_form: PictureForm) -> Manifest {
    let plan = &run.plan;
    Manifest {
        schema: EXPORT_SCHEMA,
        format: request.format,
        program: request.program.clone(),
        licence: request.licence.clone(),
        run: json!({
            "run": plan.run, "program": plan.program, "suite": plan.suite, "suite_hash": plan.suite_hash,
            "split_hash": plan.split_hash, "prompt_hash": plan.prompt_hash, "seeds": plan.seeds,
            "models": plan.models, "arms": plan.arms,
        }),
        selection: request.selection.clone(),
        rows: run.rows.len(),
        exported: 0,
        verdicts: BTreeMap::new(),
        split: BTreeMap::new(),
        not_selected: BTreeMap::new(),
        left_out: Vec::new(),
        remarks: run.torn.iter().cloned().collect(),
        picture_form,
        pictures: 0,
        picture_bytes: 0,
        coordinate_spaces: Vec::new(),
        picture_sizes: Vec::new(),
        screen_sizes: Vec::new(),
        redaction: REDACTION,
        redacted: 0,
        painted_pictures: 0,
        painted_places: 0,
    }
}

/// Why no attempt is left, in words.
fn reasons(manifest: &Manifest) -> String {
    let counted = manifest.not_selected.iter().map(|(reason, count)| format!("{count} {reason}"));
    let broken = manifest
        .left_out
        .iter()
        .take(3)
        .map(|one| format!("trial {} attempt {}: {}", one.trial, one.attempt, one.reason));
    let messages: Vec<String> = counted.chain(broken).collect();
    if messages.is_empty() { "the run has no rows".to_owned() } else { messages.join("; ") }
}
