//! `apprentice export`: writes the attempts of a run in the formats of other programs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use apprentice_exports::{
    AsSent, ExportError, ExportFormat, ExportRequest, FolderError, ForProfile, Guidance, Manifest,
    PictureForm, Selection, SentForm, SplitChoice, StepRange, export,
};
use apprentice_models::compat::{self, StudentProfile};
use apprentice_protocol::{ChatRequest, ModelProfile, counted};
use apprentice_runs::Wanted;
use apprentice_runs::row::{Role, Split};
use apprentice_trace::{FileSource, Redactor};
use clap::Args;

use crate::failure::{Failure, Kind, WithKind as _};
use crate::runs::run_place::RunPlace;
use crate::{process_env, terminal};

/// Number of left-out attempts and remarks that are printed; the manifest has all.
const SHOWN: usize = 10;

/// Writes the attempts of a run in the format of another program: a result tree, tables, logs, spans, training data or videos.
///
/// The folder appears whole or not at all, with a manifest, an index of the attempts and a data card.
#[derive(Debug, Args)]
pub(crate) struct Export {
    /// The run's folder.
    run: PathBuf,
    /// The format: osworld, csv, openai, sharegpt, parquet, atif, inspect, otel or video.
    #[arg(long, value_parser = format)]
    format: ExportFormat,
    /// The output folder; must not exist or be empty.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    #[command(flatten)]
    which: ExportArgs,
    /// Only attempts that passed.
    #[arg(long)]
    passed: bool,
    /// Void attempts too.
    #[arg(long)]
    void: bool,
    /// Only this role (teacher, student, solo, baseline); may be repeated.
    #[arg(long = "role", value_name = "ROLE", value_parser = role)]
    roles: Vec<Role>,
    /// Only this arm; may be repeated.
    #[arg(long = "arm", value_name = "ARM")]
    arms: Vec<String>,
    /// Only this task; may be repeated.
    #[arg(long = "task", value_name = "ID")]
    tasks: Vec<String>,
    /// Only this part of the split (train, dev, test); may be repeated.
    #[arg(long = "split", value_name = "PART", value_parser = part)]
    parts: Vec<Split>,
    /// Write each conversation as a model of this profile would have been sent it and would have said it (`openai` alone): a name, or
    /// the file of a profile. Attempts for which that is not possible are left out and named.
    #[arg(long, value_name = "NAME")]
    for_profile: Option<String>,
    /// Let attempts at test tasks become training data. A model trained on them can no longer be measured on them.
    #[arg(long)]
    include_test: bool,
    /// The suite, for its tasks' applications: osworld sorts results by them.
    #[arg(long, value_name = "PATH")]
    suite: Option<PathBuf>,
    /// Print the manifest as one JSON object (`apprentice.export/1`).
    #[arg(long)]
    json: bool,
}

/// The options of an export that `collect` has too.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ExportArgs {
    /// The first step of each attempt.
    #[arg(long, value_name = "N", default_value_t = 1)]
    from_step: u32,
    /// The last step of each attempt.
    #[arg(long, value_name = "N")]
    to_step: Option<u32>,
    /// Remove guidance from conversations: texts of skills and notes, and calls of skill tools.
    #[arg(long)]
    without_guidance: bool,
    /// Maximum number of attempts per template.
    #[arg(long, value_name = "N")]
    per_template: Option<usize>,
    /// Keep attempts that repeat another one of the same task act by act (training formats drop them).
    #[arg(long)]
    keep_duplicates: bool,
    /// How pictures are held: files, inline (data URLs, or bytes in Parquet) or none [default: the format's own way].
    #[arg(long, value_name = "HOW", value_parser = pictures)]
    pictures: Option<PictureForm>,
    /// The licence of the data, as an SPDX identifier; none is stated by default.
    #[arg(long, value_name = "SPDX")]
    licence: Option<String>,
}

pub(crate) fn format(text: &str) -> Result<ExportFormat, String> {
    let names = || ExportFormat::ALL.map(ExportFormat::name).join(", ");
    ExportFormat::parse(text).ok_or_else(|| format!("expected one of {}", names()))
}

fn role(text: &str) -> Result<Role, String> {
    serde_json::from_value(text.into()).map_err(|_| "expected teacher, student, solo or baseline".to_owned())
}

fn part(text: &str) -> Result<Split, String> {
    serde_json::from_value(text.into()).map_err(|_| "expected train, dev or test".to_owned())
}

fn pictures(text: &str) -> Result<PictureForm, String> {
    match text {
        "files" => Ok(PictureForm::Files),
        "inline" => Ok(PictureForm::Inline),
        "none" => Ok(PictureForm::None),
        _ => Err("expected files, inline or none".to_owned()),
    }
}

impl ExportArgs {
    /// A selection with these options, which takes every attempt that is not void.
    fn selection(&self) -> Result<Selection, Failure> {
        let steps = StepRange { from: self.from_step, to: self.to_step };
        if steps.from == 0 || steps.to.is_some_and(|to| to < steps.from) {
            return Err(Failure::say(
                Kind::Usage,
                "steps are counted from 1, and --to-step is not below --from-step",
            ));
        }
        Ok(Selection {
            steps,
            guidance: if self.without_guidance { Guidance::Removed } else { Guidance::Kept },
            per_template: self.per_template,
            duplicates: self.keep_duplicates,
            ..Selection::default()
        })
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &Export) -> Result<(), Failure> {
    let selection = Selection {
        passed_only: arguments.passed,
        voids: arguments.void,
        roles: arguments.roles.iter().copied().collect(),
        arms: arguments.arms.iter().cloned().collect(),
        tasks: arguments.tasks.iter().cloned().collect(),
        split: SplitChoice {
            only: arguments.parts.iter().copied().collect::<BTreeSet<_>>(),
            include_test: arguments.include_test,
        },
        ..arguments.which.selection()?
    };
    let for_profile =
        arguments.for_profile.as_deref().map(|name| written_for(name, arguments)).transpose()?;
    let run = RunPlace::of(&arguments.run, Wanted::Run)?;
    let place = Place {
        run: run.folder(),
        source: run.source(),
        format: arguments.format,
        out: &arguments.out,
        for_profile,
    };
    let manifest = place.export(selection, &arguments.which, apps(arguments.suite.as_deref())?)?;
    match arguments.json {
        true => terminal::json(&manifest),
        false => {
            show(&manifest, &arguments.out);
            Ok(())
        }
    }
}

/// Exports the attempts of a finished `collect` that passed, or all that were judged.
pub(crate) fn collected(
    place: &Place<'_>,
    which: &ExportArgs,
    passed_only: bool,
) -> Result<Manifest, Failure> {
    place.export(Selection { passed_only, ..which.selection()? }, which, BTreeMap::new())
}

/// The run, the format and the output folder.
pub(crate) struct Place<'a> {
    pub(crate) run: &'a Path,
    pub(crate) source: Option<Arc<dyn FileSource>>,
    pub(crate) format: ExportFormat,
    pub(crate) out: &'a Path,
    /// The profile for which conversations are written.
    pub(crate) for_profile: Option<ForProfile>,
}

impl Place<'_> {
    fn export(
        &self,
        selection: Selection,
        which: &ExportArgs,
        apps: BTreeMap<String, String>,
    ) -> Result<Manifest, Failure> {
        let secrets = process_env::secrets();
        let redactor = Redactor::new(secrets.iter().map(String::as_str)).kind(Kind::Config)?;
        let request = ExportRequest {
            run: self.run.to_owned(),
            source: self.source.clone(),
            format: self.format,
            out: self.out.to_owned(),
            selection,
            pictures: which.pictures,
            licence: which.licence.clone(),
            apps,
            as_sent: Some(as_sent()),
            for_profile: self.for_profile.clone(),
            redactor: Arc::new(redactor),
            program: env!("CARGO_PKG_VERSION").to_owned(),
        };
        export(&request).map_err(failure)
    }
}

/// Writes conversations as the servers of compatible models got them.
fn as_sent() -> AsSent {
    Arc::new(|profile, request| {
        let student = StudentProfile::load(profile).ok()?;
        let sent = compat::as_sent(&student, request);
        Some(match sent {
            Ok((messages, tools)) => Ok(SentForm { messages, tools }),
            Err(error) => Err(error.message),
        })
    })
}

/// Writes conversations as a model of a profile would have had them.
fn written_for(name: &str, arguments: &Export) -> Result<ForProfile, Failure> {
    let which = &arguments.which;
    if arguments.format != ExportFormat::Openai {
        return Err(Failure::say(Kind::Usage, "--for-profile needs --format openai"));
    }
    if which.without_guidance || which.from_step > 1 || which.to_step.is_some() {
        let why = "--for-profile takes whole conversations: leave out --from-step, --to-step and --without-guidance";
        return Err(Failure::say(Kind::Usage, why));
    }
    let student = StudentProfile::load(name).kind(Kind::Config)?;
    let name = student.name.clone();
    let write = Arc::new(move |recorded: &ModelProfile, request: &ChatRequest| {
        let (messages, tools) = compat::as_written(&student, recorded, request)?;
        Ok(SentForm { messages, tools })
    });
    Ok(ForProfile { name, write })
}

/// The application of each task of a suite.
fn apps(suite: Option<&Path>) -> Result<BTreeMap<String, String>, Failure> {
    let Some(path) = suite else { return Ok(BTreeMap::new()) };
    let suite = crate::suite::load(path)?;
    Ok(suite.tasks.iter().map(|task| (task.id.to_string(), task.app.clone())).collect())
}

fn failure(error: ExportError) -> Failure {
    let kind = match &error {
        ExportError::Run(_) => Kind::Config,
        ExportError::Folder(FolderError::Exists(_)) | ExportError::Test(_) | ExportError::Pictures(_) => {
            Kind::Usage
        }
        ExportError::Folder(FolderError::DiskFull(_) | FolderError::Io { .. }) => Kind::Environment,
        ExportError::Nothing(_) => Kind::NothingMatched,
        ExportError::NoFfmpeg => Kind::Environment,
    };
    let hint = match &error {
        ExportError::Test(_) => Some("--include-test exports them all the same"),
        ExportError::Nothing(_) => Some("nothing was written; other options may select more (see --help)"),
        ExportError::Pictures(_) => Some("leave --pictures out, or give none"),
        ExportError::NoFfmpeg => Some("on Debian: apt-get install ffmpeg"),
        ExportError::Run(_) | ExportError::Folder(_) => None,
    };
    let failure = Failure::new(kind, error);
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// Prints what was exported and what was not.
pub(crate) fn show(manifest: &Manifest, out: &Path) {
    for (reason, count) in &manifest.not_selected {
        terminal::note(format_args!("{}: {reason}", counted(*count, "attempt")));
    }
    for one in manifest.left_out.iter().take(SHOWN) {
        terminal::note(format_args!("left out: trial {} attempt {}: {}", one.trial, one.attempt, one.reason));
    }
    manifest.remarks.iter().take(SHOWN).for_each(|remark| terminal::note(format_args!("{remark}")));
    let more = manifest.left_out.len().saturating_sub(SHOWN) + manifest.remarks.len().saturating_sub(SHOWN);
    if more > 0 {
        terminal::note(format_args!("{more} more; manifest.json lists all"));
    }
    if manifest.licence.is_none() {
        terminal::note(format_args!("no licence is stated (--licence)"));
    }
    #[expect(clippy::cast_precision_loss, reason = "a size to be read by a person")]
    let megabytes = manifest.picture_bytes as f64 / 1e6;
    terminal::line(format_args!(
        "{} as {}, {} ({megabytes:.1} MB): {}",
        counted(manifest.exported, "attempt"),
        manifest.format.name(),
        counted(manifest.pictures, "picture"),
        out.display()
    ));
}
