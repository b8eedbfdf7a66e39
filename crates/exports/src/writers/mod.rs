//! One writer per format. A writer puts an attempt together before it writes, so that an attempt that cannot be exported
//! leaves nothing behind.

mod atif;
mod conversation_lines;
mod csv_tables;
mod inspect;
mod openai;
mod osworld;
mod otel;
mod parquet;
mod parts;
mod sent_again;
mod sharegpt;
mod video;

use apprentice_runs::row::TrialRow;
use conversation_lines::ConversationLines;
pub(crate) use video::can_encode;

use crate::conversation::{self, Conversation, Entry};
use crate::episode::Episode;
use crate::folder::{FolderError, OutFolder, PictureError};
use crate::formats::ExportFormat;
use crate::names::file_name;
use crate::request::ExportRequest;
use crate::select::Selection;
use apprentice_runs::{PlanHead, RunError};
use apprentice_trace::{BlobError, Blobs, PictureRef};

/// The reason one attempt is left out, or the whole export ends.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EpisodeError {
    #[error(transparent)]
    Blob(#[from] BlobError),
    #[error(transparent)]
    Trace(#[from] RunError),
    #[error("{0}")]
    Unfit(&'static str),
    #[error("its requests cannot be written again: {0}")]
    Form(String),
    #[error("one of its pictures: {0}")]
    Picture(String),
    #[error("ffmpeg made no video of it: {0}")]
    Video(String),
    #[error(transparent)]
    Folder(#[from] FolderError),
}

impl From<PictureError> for EpisodeError {
    fn from(error: PictureError) -> Self {
        match error {
            PictureError::Blob(error) => Self::Blob(error),
            PictureError::Folder(error) => Self::Folder(error),
            error @ PictureError::Cover(_) => Self::Picture(error.to_string()),
        }
    }
}

/// The writer of a format.
pub(crate) enum Writer<'a> {
    Osworld(osworld::ResultTree<'a>),
    Csv(csv_tables::Tables),
    Conversations(ConversationLines<'a>),
    Parquet(parquet::ConversationTable<'a>),
    Atif(atif::Trajectories<'a>),
    Inspect(inspect::Logs<'a>),
    Otel(otel::Spans<'a>),
    Video(video::Videos),
}

impl<'a> Writer<'a> {
    pub(crate) fn begin(
        request: &'a ExportRequest,
        plan: &'a PlanHead,
        rows: &[&'a TrialRow],
        out: &OutFolder,
    ) -> Result<Self, FolderError> {
        let selection = &request.selection;
        Ok(match request.format {
            ExportFormat::Osworld => Self::Osworld(osworld::ResultTree::new(request, plan)),
            ExportFormat::Csv => Self::Csv(csv_tables::Tables::begin(out, selection.steps)?),
            ExportFormat::Openai => {
                Self::Conversations(ConversationLines::begin(out, request, plan, openai::line)?)
            }
            ExportFormat::Sharegpt => {
                Self::Conversations(ConversationLines::begin(out, request, plan, sharegpt::line)?)
            }
            ExportFormat::Parquet => Self::Parquet(parquet::ConversationTable::begin(out, request)?),
            ExportFormat::Atif => Self::Atif(atif::Trajectories::new(&request.program, selection)),
            ExportFormat::Inspect => Self::Inspect(inspect::Logs::new(request, plan, rows)),
            ExportFormat::Otel => Self::Otel(otel::Spans::begin(request, plan, rows, out)?),
            ExportFormat::Video => Self::Video(video::Videos::new(selection.steps)),
        })
    }

    /// Writes an attempt and returns the file that holds it.
    pub(crate) fn add(
        &mut self,
        episode: &Episode<'_>,
        out: &mut OutFolder,
        blobs: &Blobs,
    ) -> Result<String, EpisodeError> {
        match self {
            Self::Osworld(writer) => writer.add(episode, out, blobs),
            Self::Csv(writer) => writer.add(episode, out, blobs),
            Self::Conversations(writer) => writer.add(episode, out, blobs),
            Self::Parquet(writer) => writer.add(episode, out, blobs),
            Self::Atif(writer) => writer.add(episode, out, blobs),
            Self::Inspect(writer) => writer.add(episode, out, blobs),
            Self::Otel(writer) => writer.add(episode, out),
            Self::Video(writer) => writer.add(episode, out, blobs),
        }
    }

    /// What whoever uses the attempts so far should know.
    pub(crate) fn remarks(&self) -> Vec<String> {
        match self {
            Self::Conversations(writer) => writer.remarks(),
            Self::Osworld(_)
            | Self::Csv(_)
            | Self::Parquet(_)
            | Self::Atif(_)
            | Self::Inspect(_)
            | Self::Otel(_)
            | Self::Video(_) => Vec::new(),
        }
    }

    /// Ends all files.
    pub(crate) fn finish(self, out: &mut OutFolder) -> Result<(), FolderError> {
        match self {
            Self::Osworld(_) | Self::Atif(_) | Self::Video(_) => Ok(()),
            Self::Csv(writer) => writer.finish(),
            Self::Conversations(writer) => writer.finish(),
            Self::Parquet(writer) => writer.finish(),
            Self::Inspect(writer) => writer.finish(out),
            Self::Otel(writer) => writer.finish(),
        }
    }
}

/// The conversation of an attempt for training: exactly as it was sent, or not at all.
fn sent(episode: &Episode<'_>, blobs: &Blobs, selection: &Selection) -> Result<Conversation, EpisodeError> {
    let found = conversation::read(episode, blobs, selection.steps, selection.guidance)?;
    let mut found = found.ok_or(EpisodeError::Unfit(
        "its trace does not hold what the model was sent: it was recorded by an earlier version",
    ))?;
    // A conversation ends with what the model is to learn: nobody replies to the last answers.
    while matches!(found.entries.last(), Some(Entry::Answers { .. } | Entry::User(_))) {
        found.entries.pop();
    }
    let has_reply = found.entries.iter().any(|entry| matches!(entry, Entry::Assistant { .. }));
    if has_reply {
        Ok(found)
    } else {
        Err(EpisodeError::Unfit("no reply of the model is left in the chosen steps"))
    }
}

/// The conversation of an attempt for reading: as it was sent, or put together from an older trace.
fn readable(
    episode: &Episode<'_>,
    blobs: &Blobs,
    selection: &Selection,
) -> Result<Conversation, EpisodeError> {
    match conversation::read(episode, blobs, selection.steps, selection.guidance)? {
        Some(found) => Ok(found),
        None => Ok(conversation::rebuild(episode, blobs, selection.steps)?),
    }
}

/// A picture in a format for reading: its reference, or why it is not there.
fn shown(
    picture: &PictureRef,
    out: &mut OutFolder,
    blobs: &Blobs,
) -> Result<Result<Option<String>, String>, FolderError> {
    match out.picture(picture, blobs) {
        Ok(reference) => Ok(Ok(reference)),
        Err(error @ (PictureError::Blob(_) | PictureError::Cover(_))) => {
            Ok(Err(format!("[no picture: {error}]")))
        }
        Err(PictureError::Folder(error)) => Err(error),
    }
}

/// The name of an attempt's files: readable, unique in its run, and one plain part of a path.
fn attempt_name(row: &TrialRow) -> String {
    format!("{}-{}-{:02}", file_name(row.task.as_str()), file_name(row.trial.as_str()), row.attempt)
}
