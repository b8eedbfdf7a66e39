//! The gate before every text that an agent may be given: what following it would do is judged by rules, and by models
//! where readers are set. A text with an effect waits for a person. No writer passes another way, since every write is
//! applied by the gateway.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use apprentice_protocol::{ChatModel, SkillId};
use apprentice_screening::effect::{
    Assessment, Concern, EffectFinding, EffectRule, LANGUAGE, Passage, apply_rules, has_effect,
    is_instruction, orders_beyond, read, sentences,
};

use super::gateway::Gateway;
use super::request::WriteRequest;
use crate::log::change::Change;
use crate::log::proposal::shows;
use crate::skill::attachment::{self, AttachedPackage, FileText, reading};
use crate::skill::figure::with_captions;
use crate::skill::function_check;
use crate::skill::hash::hash;
use crate::skill::model::{Actor, NewDomain, Origin, SkillText};
use crate::skill::restored::Restored;
use crate::skill::sentence_origin::{SentenceOrigin, SentenceSource};

/// Returns whether the gate judges a change: whatever shows and a model wrote, and packages from elsewhere.
pub(crate) fn is_gated(actor: Actor, change: &Change) -> bool {
    match change {
        Change::SkillCreated { origin: Origin::Imported, .. } | Change::PackageAttached { .. } => true,
        other => actor != Actor::Human && shows(other),
    }
}

impl Gateway {
    /// Sets the models that read every text before it is written. Each must give a usable answer; else the text waits.
    pub fn set_readers(&mut self, readers: Vec<Arc<dyn ChatModel>>) {
        self.readers = readers;
    }

    /// Has orders beyond pointing, typing and choosing wait where nothing can be compared with a text and no model reads it.
    /// For writers of texts that no attempt of this program stands behind.
    pub fn hold_orders(&mut self) {
        self.holds_orders = true;
    }

    /// Has the readers read the text that a change would put before an agent. Without readers, or for a text that was
    /// read before, does nothing. Dropping the future cancels it.
    pub async fn read_change(&mut self, change: &Change) {
        self.read_passages(&self.passages(change)).await;
    }

    /// Has the readers read the files of a package that is not kept yet.
    pub(crate) async fn read_files(&mut self, files: &BTreeMap<String, Vec<u8>>) {
        self.read_passages(&beside(files)).await;
    }

    async fn read_passages(&mut self, passages: &[Passage]) {
        let key = key(passages);
        if self.readers.is_empty() || passages.is_empty() || self.readings.contains_key(&key) {
            return;
        }
        let reading = read(&self.readers, passages).await;
        self.readings.insert(key, reading);
    }

    /// Returns what is found in the text of a change, as far as it holds the change back.
    pub fn assess(&self, request: &WriteRequest) -> Assessment {
        let WriteRequest { actor, change, citation, .. } = request;
        if !is_gated(*actor, change) || request.effects_accepted && *actor == Actor::Human {
            return Assessment::default();
        }
        let passages = self.passages(change);
        let mut assessment = self.judged(&passages);
        // Nothing shows that anybody did it, and nobody reads it: what it orders must be known to do no harm.
        if !citation.origins.iter().any(|origin| origin.source != SentenceSource::Model) {
            assessment.findings.extend(self.orders(&passages));
        }
        let stands = |sentence: &str| passages.iter().any(|passage| passage.text.contains(sentence));
        // Whether words that nobody acted on urge to harm is a question of meaning. Where no model reads, they wait; where
        // one does, it decides, but for words of others that plainly order something with an effect. Where effects are
        // allowed, no finding stands behind it, so that whatever others urge to waits.
        let weighs = |origin: &&SentenceOrigin| match self.effects {
            EffectRule::RuleBased => false,
            _ if self.effects.allows() => origin.source.is_foreign() && is_instruction(&origin.sentence),
            _ if !self.readers.is_empty() => origin.source.is_foreign() && has_effect(&origin.sentence),
            _ => origin.source.is_only_words(),
        };
        for origin in citation.origins.iter().filter(weighs).filter(|origin| stands(&origin.sentence)) {
            assessment.findings.push(EffectFinding {
                concern: Concern::Quoted,
                sentence: origin.sentence.clone(),
                by: "program".to_owned(),
                why: if origin.source.is_foreign() {
                    "these words stood on a screen or in an answer, and no act shows them; say what was done"
                        .to_owned()
                } else {
                    format!("origin: {}", origin.source.word())
                },
            });
        }
        let judged_before = self.known_sentences(change);
        assessment.findings.retain(|found| !judged_before.contains(found.sentence.as_str()));
        if self.effects.allows() {
            assessment.findings.retain(|found| !found.concern.is_effect());
        }
        assessment
    }

    /// Judges a text by the rules, and by what the readers found. Readers know better than words what following a text
    /// would do. They lift no finding about its form: a text that hides something may deceive them.
    fn judged(&self, passages: &[Passage]) -> Assessment {
        let mut findings = apply_rules(passages);
        if self.readers.is_empty() || passages.is_empty() {
            return Assessment { findings, read_by: Vec::new() };
        }
        let Some(reading) = self.readings.get(&key(passages)) else {
            let (sentence, by) = (String::new(), "program".to_owned());
            let why = "no reader has read it".to_owned();
            findings.push(EffectFinding { concern: Concern::Unread, sentence, by, why });
            return Assessment { findings, read_by: Vec::new() };
        };
        if reading.read_by().len() == self.readers.len() {
            findings.retain(|found| !found.concern.is_effect() && found.why != LANGUAGE);
        }
        findings.extend(reading.findings().iter().cloned());
        Assessment { findings, read_by: reading.read_by().to_vec() }
    }

    /// Returns what a text orders beyond pointing, typing and choosing, where no model reads it and effects are not allowed.
    fn orders(&self, passages: &[Passage]) -> Vec<EffectFinding> {
        let waits = self.holds_orders && self.readers.is_empty() && !self.effects.allows();
        if waits { orders_beyond(passages) } else { Vec::new() }
    }

    /// Returns the first file with an effect of a package that is not kept yet, and what is found in it.
    pub(crate) fn assess_files(&self, files: &BTreeMap<String, Vec<u8>>) -> Option<(String, Assessment)> {
        let weighed = |mut assessment: Assessment| {
            let weighs = |found: &EffectFinding| !self.effects.allows() || !found.concern.is_effect();
            assessment.findings.retain(weighs);
            assessment
        };
        let passages = beside(files);
        // No reader lifts what the rules find in a file: a program stays one.
        let by_rules = passages.iter().map(|passage| {
            let passage_alone = std::slice::from_ref(passage);
            let mut findings = apply_rules(passage_alone);
            findings.extend(self.orders(passage_alone));
            (passage.name.clone(), weighed(Assessment { findings, read_by: Vec::new() }))
        });
        let by_readers = (!self.readers.is_empty() && !passages.is_empty())
            .then(|| ("its files".to_owned(), weighed(self.judged(&passages))));
        by_rules.chain(by_readers).find(|(_, assessment)| !assessment.is_empty())
    }

    /// Judges a change, or refuses it: a text from elsewhere that a person has not seen, and where effects are refused.
    pub(crate) fn gate(&self, request: &WriteRequest) -> Result<Assessment, (&'static str, String)> {
        let assessment = self.assess(request);
        let is_import = request.actor == Actor::Human;
        if !assessment.is_empty() && (is_import || self.effects == EffectRule::Refuse) {
            return Err(("effects", assessment.in_words()));
        }
        Ok(assessment)
    }

    /// Returns the text that a change would put before an agent: of a page that it changes, the whole page.
    fn passages(&self, change: &Change) -> Vec<Passage> {
        let page = |name: &str, text: &SkillText| {
            let parts = [
                ("description", &text.description),
                ("situation", &text.situation),
                ("guidance", &text.guidance),
            ];
            let own = parts.map(|(part, text)| Passage::new(part, &with_captions(text)));
            [Passage::new("name", &name.replace(['/', '-'], " "))].into_iter().chain(own).collect::<Vec<_>>()
        };
        let opened = |domain: &NewDomain| Passage::new("domain", &domain.description);
        match change {
            Change::DomainCreated(domain) => vec![Passage::new("name", &domain.domain), opened(domain)],
            Change::SkillCreated { skill, text, annotations, domain, .. } => {
                let notes = annotations.iter().map(|note| Passage::new("note", note));
                page(skill.as_str(), text).into_iter().chain(notes).chain(domain.iter().map(opened)).collect()
            }
            Change::SkillUpdated { skill, description, situation, guidance } => {
                page(skill.as_str(), &self.updated_text(skill, [description, situation, guidance]))
            }
            Change::SkillMerged { target, text, .. } => page(target.as_str(), text),
            Change::SkillEdited { situation, guidance, annotations, .. } => [situation, guidance]
                .into_iter()
                .chain(annotations)
                .map(|text| Passage::new("page", text))
                .collect(),
            Change::SkillAnnotated { note, .. } => vec![Passage::new("note", note)],
            Change::FunctionWritten { source, .. } => function_check::passages(source),
            Change::SkillRenamed { to, .. } => {
                vec![Passage::new("name", &to.as_str().replace(['/', '-'], " "))]
            }
            Change::SkillPublished { skill, text, domain, package } => {
                let files = self.files(package);
                page(skill.as_str(), text).into_iter().chain(domain.iter().map(opened)).chain(files).collect()
            }
            Change::PackageAttached { package, .. } => self.files(package),
            Change::Reverted { skills, .. } => {
                skills.iter().flat_map(Restored::texts).map(|text| Passage::new("page", text)).collect()
            }
            Change::WriteProposed { change, .. } => self.passages(change),
            Change::SkillDeleted { .. }
            | Change::SkillSuspended { .. }
            | Change::SkillResumed { .. }
            | Change::SkillReviewed { .. }
            | Change::TrajectoryReflected { .. }
            | Change::CandidateRecorded { .. }
            | Change::ItemClosed { .. }
            | Change::PairKept { .. }
            | Change::CleanupFlagged { .. }
            | Change::CleanupByWords { .. }
            | Change::TrajectoryLearned
            | Change::SkillsTried { .. }
            | Change::CleanupFinished
            | Change::AttemptJudged(_)
            | Change::FunctionTested { .. }
            | Change::FunctionRetired { .. }
            | Change::SuspicionKept { .. }
            | Change::ItemHeldBack { .. }
            | Change::ProposalRefused { .. }
            | Change::Unknown { .. } => Vec::new(),
        }
    }

    /// Returns the text of a skill with its new parts.
    fn updated_text(&self, skill: &SkillId, parts: [&Option<String>; 3]) -> SkillText {
        let existing = self.state().skills.get(skill).map(|existing| &existing.text);
        let or = |new: &Option<String>, old: fn(&SkillText) -> &String| {
            new.clone().or_else(|| existing.map(|text| old(text).clone())).unwrap_or_default()
        };
        let [description, situation, guidance] = parts;
        SkillText {
            description: or(description, |text| &text.description),
            situation: or(situation, |text| &text.situation),
            guidance: or(guidance, |text| &text.guidance),
        }
    }

    /// Returns the readable text of a package's files, but for the page itself. A file that is gone is judged as one that
    /// nobody can read.
    fn files(&self, package: &AttachedPackage) -> Vec<Passage> {
        let files = package.files.iter().filter(|file| is_beside(&file.path));
        let read = files.map(|file| match attachment::read(self.folder(), &file.sha256) {
            Some(bytes) => file_passage(&file.path, &bytes),
            None => Passage::new(&file.path, "\u{0}"),
        });
        read.collect()
    }

    /// Returns the sentences that the changed pages hold already.
    fn known_sentences(&self, change: &Change) -> BTreeSet<&str> {
        let texts = change
            .skills()
            .into_iter()
            .filter_map(|id| self.state().skills.get(id))
            .map(|existing| &existing.text);
        texts
            .flat_map(|text| [&text.description, &text.situation, &text.guidance])
            .flat_map(|text| sentences(text))
            .collect()
    }
}

/// Returns whether a file is judged beside the page. The page's own text and the words of figures are judged with it.
fn is_beside(path: &str) -> bool {
    path != "SKILL.md" && path != "skill-config.json" && !path.starts_with("figures/")
}

/// Returns the readable text of a package's files, but for the page itself.
fn beside(files: &BTreeMap<String, Vec<u8>>) -> Vec<Passage> {
    let beside = files.iter().filter(|(path, _)| is_beside(path));
    beside.map(|(path, bytes)| file_passage(path, bytes)).collect()
}

fn file_passage(path: &str, bytes: &[u8]) -> Passage {
    let (FileText::Text(text) | FileText::Binary(text)) = reading(bytes);
    Passage::new(path, &text)
}

/// Returns the identity of a text.
fn key(passages: &[Passage]) -> String {
    let lengths = passages
        .iter()
        .map(|passage| format!("{}\u{0}{}\u{0}{}", passage.name, passage.text.len(), passage.text));
    hash(lengths.collect::<Vec<_>>().join("\u{0}").as_bytes())
}
