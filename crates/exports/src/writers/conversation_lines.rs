//! Conversations for training, one JSON object per line, in the form of a format.

use std::collections::BTreeSet;

use serde_json::Value;

use super::parts::PartFiles;
use super::sent_again::{SentForms, written_for};
use super::{EpisodeError, openai, sent};
use crate::as_sent::ForProfile;
use crate::conversation::Conversation;
use crate::episode::Episode;
use crate::folder::{FolderError, OutFolder, PictureError};
use crate::formats::ExportFormat;
use crate::request::ExportRequest;
use crate::select::{Guidance, Selection};
use apprentice_runs::PlanHead;
use apprentice_trace::{Blobs, PictureRef};

/// Returns the line of an attempt in one form.
type LineOf = fn(&Episode<'_>, &Conversation, &mut OutFolder, &Blobs) -> Result<Value, PictureError>;

/// The files under way.
pub(crate) struct ConversationLines<'a> {
    files: PartFiles,
    selection: &'a Selection,
    /// The form in which models were sent their conversations, where the format has one for it.
    as_sent: Option<SentForms<'a>>,
    /// The profile for which they are written, whatever model had them.
    for_profile: Option<&'a ForProfile>,
    /// The profiles of which nothing is known here, so that their models' conversations have another form.
    unknown: BTreeSet<String>,
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
        let for_profile = request.for_profile.as_ref();
        Ok(Self {
            files: PartFiles::begin(out)?,
            selection,
            as_sent,
            for_profile,
            unknown: BTreeSet::new(),
            line,
        })
    }

    pub(super) fn add(
        &mut self,
        episode: &Episode<'_>,
        out: &mut OutFolder,
        blobs: &Blobs,
    ) -> Result<String, EpisodeError> {
        let own = self.as_sent.as_ref().and_then(|forms| forms.profile(&episode.row.model));
        if let Some(wanted) = self.for_profile.filter(|wanted| own != Some(wanted.name.as_str())) {
            let mut add_picture = |picture: &PictureRef| out.picture(picture, blobs);
            let sent = written_for(wanted, episode, blobs, &mut add_picture)?;
            let line = openai::written_line(episode, &sent, &wanted.name);
            return self.files.add(episode.row, &line, out, blobs);
        }
        let forms = self.as_sent.as_ref().filter(|_| episode.has_conversation());
        if let Some(forms) = forms
            && let Some(profile) = forms.profile(&episode.row.model)
        {
            let mut add_picture = |picture: &PictureRef| out.picture(picture, blobs);
            if let Some(sent) = forms.read(profile, episode, blobs, &mut add_picture)? {
                let line = openai::sent_line(episode, &sent, profile);
                return self.files.add(episode.row, &line, out, blobs);
            }
            self.unknown.insert(profile.to_owned());
        }
        let conversation = sent(episode, blobs, self.selection)?;
        let line = (self.line)(episode, &conversation, out, blobs)?;
        self.files.add(episode.row, &line, out, blobs)
    }

    /// The models whose conversations are not as they were sent.
    pub(super) fn remarks(&self) -> Vec<String> {
        let remark = |profile: &String| {
            format!(
                "nothing is known here of the profile {profile:?}: conversations of its models have the program's own form, \
                 not the one that was sent"
            )
        };
        self.unknown.iter().map(remark).collect()
    }

    pub(super) fn finish(self) -> Result<(), FolderError> {
        self.files.finish()
    }
}
