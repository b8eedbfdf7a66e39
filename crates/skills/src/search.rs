//! Skills by words: BM25 over name, description, situation and guidance, with other names of domains.

use std::cmp::Ordering;

use apprentice_protocol::SkillId;
use bm25::{Document, SearchEngine, SearchEngineBuilder, Tokenizer};

use crate::book::{Skill, SkillText};
use crate::words::{aliases, likeness, words};

/// A skill that was found.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Hit {
    /// Which.
    pub id: SkillId,
    /// Its version.
    pub version: u32,
    /// Its line.
    pub description: String,
    /// How well it fits; comparable within one search.
    pub score: f32,
}

struct Words;

impl Tokenizer for Words {
    fn tokenize(&self, input_text: &str) -> Vec<String> {
        words(input_text)
    }
}

/// A searchable set of skills.
pub(crate) struct Search {
    engine: SearchEngine<u32, u32, Words>,
    skills: Vec<(SkillId, u32, String)>,
}

impl Search {
    pub(crate) fn over<'a>(skills: impl Iterator<Item = &'a Skill>) -> Self {
        let mut known = Vec::new();
        let mut documents = Vec::new();
        for (key, skill) in (0u32..).zip(skills) {
            known.push((skill.id.clone(), skill.version, skill.text.description.clone()));
            documents.push(Document::new(key, document(skill)));
        }
        Self {
            engine: SearchEngineBuilder::with_tokenizer_and_documents(Words, documents).build(),
            skills: known,
        }
    }

    /// The best `limit` hits; equal scores are ordered by id, so that the same book answers the same.
    pub(crate) fn find(&self, query: &str, limit: usize) -> Vec<Hit> {
        let mut hits: Vec<Hit> = self
            .engine
            .search(query, None)
            .into_iter()
            .filter_map(|found| {
                let (id, version, description) = self.skills.get(usize::try_from(found.document.id).ok()?)?;
                let (id, description) = (id.clone(), description.clone());
                Some(Hit { id, version: *version, description, score: found.score })
            })
            .filter(|hit| hit.score > 0.0)
            .collect();
        hits.sort_by(|a, b| {
            b.score.partial_cmp(&a.score).unwrap_or(Ordering::Equal).then_with(|| a.id.cmp(&b.id))
        });
        hits.truncate(limit);
        hits
    }
}

/// Skills like a text, most alike first: how the manager looks for what is there already.
pub(crate) fn similar<'a>(
    skills: impl Iterator<Item = &'a Skill>,
    text: &str,
    limit: usize,
) -> Vec<(f64, &'a Skill)> {
    let alike = |skill: &Skill| {
        let SkillText { description, situation, guidance } = &skill.text;
        // A situation is often put in the words of its guidance, and the other way round.
        likeness(text, &format!("{description} {situation}"))
            .max(likeness(text, &format!("{description} {situation} {guidance}")))
    };
    let mut found: Vec<_> =
        skills.map(|skill| (alike(skill), skill)).filter(|(alike, _)| *alike > 0.0).collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.id.cmp(&b.1.id)));
    found.truncate(limit);
    found
}

/// Names and description count twice: they say what a skill is about.
fn document(skill: &Skill) -> String {
    let name = skill.id.slug().replace('-', " ");
    let domain = aliases(skill.id.domain());
    let text = &skill.text;
    format!("{domain} {name} {name} {0} {0} {1} {2}", text.description, text.situation, text.guidance)
}
