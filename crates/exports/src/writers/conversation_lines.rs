//! Conversations for training, one JSON object per line, in the form of a format.

use serde_json::Value;

use super::parts::PartFiles;
use super::sent_again::{self, SentForms};
use super::{EpisodeError, openai, sent};
use crate::conversation::Conversation;
use crate::episode::Episode;
use crate::folder::{FolderError, OutFolder, PictureError};
use crate::formats::ExportFormat;
use crate::request::ExportRequest;
use crate::select::{Guidance, Selection};
use apprentice_runs::PlanHead;
use apprentice_trace::Blobs;

/// Returns the line of an attempt in one form.
type LineOf = fn(&Episode<'_>, &Conversation, &mut OutFolder, &Blobs) -> Result<Value, PictureError>;

/// The files under way.
pub(crate) struct ConversationLines<'a> {
    files: PartFiles,
    selection: &'a Selection,
    /// The form in which models were sent their conversations, where the format has one for it.
    as_sent: Option<SentForms<'a>>,
    line: LineOf,
}

impl<'a> ConversationLines<'a> {
    pub(super) fn begin(
        out: &OutFolder,
        request: &'a ExportRequest,
        plan: &PlanHead,
        line: LineOf,
    ) -> Result<Self, FolderError> {
        let selection = &request.selection;
        // What is cut out of a conversation was never sent so.
        let whole = selection.steps.is_whole() && selection.guidance == Guidance::Kept;
        let as_sent = request.as_sent.as_ref().filter(|_| whole && request.format == ExportFormat::Openai);
        let as_sent = as_sent.map(|form| SentForms::of(plan, form));
        Ok(Self { files: PartFiles::begin(out)?, selection, as_sent, line })
    }

    pub(super) fn add(
        &mut self,
        episode: &Episode<'_>,
        out: &mut OutFolder,
        blobs: &Blobs,
    ) -> Result<String, EpisodeError> {
        let conversation = sent(episode, blobs, self.selection)?;
        if let Some(forms) = &self.as_sent
            && let Some(sent) =
                sent_again::read(episode, blobs, forms, &mut |picture| out.picture(picture, blobs))?
        {
            let line = openai::sent_line(episode, sent);
            return self.files.add(episode.row, &line, out, blobs);
        }
        let line = (self.line)(episode, &conversation, out, blobs)?;
        self.files.add(episode.row, &line, out, blobs)
    }

    pub(super) fn finish(self) -> Result<(), FolderError> {
        self.files.finish()
    }
}
