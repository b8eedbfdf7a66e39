//! The ways in which operations change a skill: new texts, notes, and evidence for program versions.

use apprentice_protocol::Versions;

use crate::log::operation::Operation;
use crate::review::{IssueType, SkillReview};
use crate::skill::model::{Actor, OpId};
use crate::skill::note::{Note, VISIBLE_NOTES};
use crate::skill::record::Skill;
use crate::skill::version_evidence::VersionEvidence;

/// Parses a note as it stands on a page, including the count at its end.
pub(crate) fn read_note(text: &str, operation: &Operation) -> Note {
    let counted = text.strip_suffix(')').and_then(|text| text.rsplit_once(" (×"));
    let counted = counted.and_then(|(text, count)| count.parse().ok().map(|count| (text, count)));
    let (text, count) = counted.unwrap_or((text, 1));
    Note {
        text: text.to_owned(),
        count,
        author: operation.actor,
        trajectory: operation.cause.as_ref().map(|cause| cause.trajectory.clone()),
        time: operation.time,
    }
}

impl Skill {
    /// Replaces the given parts of the text: description, situation, guidance.
    pub(crate) fn update(&mut self, parts: [&Option<String>; 3], operation: &Operation) {
        let text = &mut self.text;
        let places = [&mut text.description, &mut text.situation, &mut text.guidance];
        for (target, new) in places.into_iter().zip(parts) {
            new.iter().for_each(|new| target.clone_from(new));
        }
        self.written_by(operation);
        self.renew(operation.id);
        self.record_written(&operation.seen, operation.actor);
    }

    /// Records who wrote the text. What a person accepts for their own page stays theirs.
    pub(crate) fn written_by(&mut self, operation: &Operation) {
        self.by_person = operation.actor == Actor::Human || (operation.accepts.is_some() && self.by_person);
    }

    /// Counts a new text as a new version.
    pub(crate) fn renew(&mut self, by: OpId) {
        self.version += 1;
        self.history.push(by);
    }

    /// Adds a note, or increments the count of an equal one.
    pub(crate) fn annotate(&mut self, note: Note) {
        match self.notes.iter_mut().find(|existing| existing.text == note.text) {
            Some(existing) => existing.count += note.count,
            None => self.notes.push(note),
        }
        self.hidden_notes = self.hidden_notes.max(self.notes.len().saturating_sub(VISIBLE_NOTES));
    }

    /// Applies a person's edit of the visible notes. Notes that stay keep their author.
    pub(crate) fn edit(
        &mut self,
        situation: &str,
        guidance: &str,
        annotations: &[String],
        operation: &Operation,
    ) {
        let mut notes: Vec<Note> = self.notes.drain(..self.hidden_notes).collect();
        for text in annotations {
            let note = read_note(text, operation);
            let existing = self.notes.iter().find(|existing| existing.text == note.text).cloned();
            notes.push(
                existing.map_or_else(|| note.clone(), |existing| Note { count: note.count, ..existing }),
            );
        }
        self.notes = notes;
        if self.text.situation != situation || self.text.guidance != guidance {
            situation.clone_into(&mut self.text.situation);
            guidance.clone_into(&mut self.text.guidance);
            self.by_person = true;
            self.renew(operation.id);
        }
    }

    /// Records that the current text is new and that its author observed these versions.
    pub(crate) fn record_written(&mut self, seen: &Versions, actor: Actor) {
        for (app, app_version) in seen {
            self.sighting(self.version, app, app_version).written = true;
        }
        // The cleaner observes no program. Its texts inherit the evidence of the skills that they are made of.
        if actor == Actor::Cleaner && seen.is_empty() {
            let before = self.version.saturating_sub(1);
            let earlier: Vec<VersionEvidence> =
                self.version_evidence.iter().filter(|evidence| evidence.version == before).cloned().collect();
            self.inherit(&earlier);
        }
    }

    /// Records that the current text also contains another skill's text.
    pub(crate) fn inherit_evidence(&mut self, source: Option<&Self>, actor: Actor) {
        if let Some(source) = source.filter(|_| actor == Actor::Cleaner) {
            let of_source: Vec<VersionEvidence> = source.confirmed_versions().into_iter().cloned().collect();
            self.inherit(&of_source);
        }
    }

    fn inherit(&mut self, earlier: &[VersionEvidence]) {
        for evidence in earlier.iter().filter(|evidence| evidence.written || evidence.confirmed > 0) {
            self.sighting(self.version, &evidence.app, &evidence.app_version).written = true;
        }
    }

    /// Records the versions that the attempt behind a review observed.
    pub(crate) fn record_review(
        &mut self,
        seen: &Versions,
        version: u32,
        review: Option<&SkillReview>,
        passed: bool,
    ) {
        let (confirmed, outdated) = match (review, passed) {
            (Some(SkillReview::Positive(_)), true) => (1, 0),
            (Some(SkillReview::Negative(review)), _) if review.issue_type == IssueType::Outdated => (0, 1),
            _ => return,
        };
        for (app, app_version) in seen {
            let sighting = self.sighting(version, app, app_version);
            sighting.confirmed += confirmed;
            sighting.outdated += outdated;
        }
    }

    fn sighting(&mut self, version: u32, app: &str, app_version: &str) -> &mut VersionEvidence {
        let is_same = |evidence: &VersionEvidence| {
            evidence.version == version && evidence.app == app && evidence.app_version == app_version
        };
        let index = self.version_evidence.iter().position(is_same).unwrap_or_else(|| {
            let (app, app_version) = (app.to_owned(), app_version.to_owned());
            let new =
                VersionEvidence { version, app, app_version, written: false, confirmed: 0, outdated: 0 };
            self.version_evidence.push(new);
            self.version_evidence.len() - 1
        });
        &mut self.version_evidence[index]
    }
}
