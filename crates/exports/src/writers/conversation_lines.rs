//! Conversations for training, one JSON object per line, in the form of a format.

use serde_json::Value;

use super::parts::PartFiles;
use super::{EpisodeError, sent};
use crate::conversation::Conversation;
use crate::episode::Episode;
use crate::folder::{FolderError, OutFolder, PictureError};
use crate::select::Selection;
use apprentice_trace::Blobs;

/// Returns the line of an attempt in one form.
type LineOf = fn(&Episode<'_>, &Conversation, &mut OutFolder, &Blobs) -> Result<Value, PictureError>;

/// The files under way.
pub(crate) struct ConversationLines<'a> {
    files: PartFiles,
    selection: &'a Selection,
    line: LineOf,
}

impl<'a> ConversationLines<'a> {
    pub(super) fn begin(
        out: &OutFolder,
        selection: &'a Selection,
        line: LineOf,
    ) -> Result<Self, FolderError> {
        Ok(Self { files: PartFiles::begin(out)?, selection, line })
    }

    pub(super) fn add(
        &mut self,
        episode: &Episode<'_>,
        out: &mut OutFolder,
        blobs: &Blobs,
    ) -> Result<String, EpisodeError> {
        let conversation = sent(episode, blobs, self.selection)?;
        let line = (self.line)(episode, &conversation, out, blobs)?;
        self.files.add(episode.row, &line, out, blobs)
    }

    pub(super) fn finish(self) -> Result<(), FolderError> {
        self.files.finish()
    }
}
