//! Searches skills by words: BM25 over name, description, situation and guidance, with aliases of domains and related
//! words. In a search by meaning a query word also finds the words of the book that are nearest to it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::OnceLock;

use apprentice_protocol::SkillId;
use apprentice_wording::{Vocabulary, aliases, names_of, related, stem, word_similarity, words};
use bm25::{Embedder, EmbedderBuilder, TokenEmbedder, Tokenizer};

use crate::skill::short_steps::prose_of;
use crate::{Skill, SkillText};

/// The saturation of repetitions of a word in one skill (`k1` of BM25, at its usual value).
const SATURATION: f32 = 1.2;
/// Added to the score of a skill whose program the query names.
const NAMED_PROGRAM: f32 = 2.0;
/// Number of words of the book that a query word is taken for in a search by meaning. It bounds the work in a large book.
const MAX_NEAR_WORDS: usize = 256;

/// A search hit.
#[derive(Clone, Debug, PartialEq, serde::Serialize, schemars::JsonSchema)]
pub struct Hit {
    /// Id of the skill.
    pub id: SkillId,
    /// Version of the skill.
    pub version: u32,
    /// Description of the skill.
    pub description: String,
    /// Score, comparable within one search.
    pub score: f32,
    /// Words of the query that match, directly or through a related word: `erase (delete)`.
    pub matched: Vec<String>,
    /// Cosine similarity to the query, from -1 to 1, if embeddings were used. Comparable within one model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub similarity: Option<f64>,
}

/// The result of a search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Searched {
    /// Hits, best first.
    pub hits: Vec<Hit>,
    /// The reason why only words were used, although the book has an embedder.
    pub embedding_error: Option<String>,
}

/// Tokenizer for texts that were split into words before.
#[derive(Default)]
struct SplitTokenizer;

impl Tokenizer for SplitTokenizer {
    fn tokenize(&self, input_text: &str) -> Vec<String> {
        input_text.split_whitespace().map(str::to_owned).collect()
    }
}

/// A search index: for each word, the skills that contain it with their weights.
pub(crate) struct Search {
    postings: HashMap<u64, Vec<(u32, f32)>>,
    skills: Vec<(SkillId, u32, String)>,
    /// The names of each domain, as stems.
    domains: BTreeMap<String, Vec<Vec<String>>>,
    /// The words of the book as written, for each stem.
    spellings: BTreeMap<String, BTreeMap<String, u32>>,
    /// Their vectors, made at the first search by meaning.
    vocabulary: OnceLock<Vocabulary<u64>>,
}

impl Search {
    pub(crate) fn over<'a>(skills: impl Iterator<Item = &'a Skill>) -> Self {
        let mut indexed = Vec::new();
        let mut documents = Vec::new();
        let mut spellings: BTreeMap<String, BTreeMap<String, u32>> = BTreeMap::new();
        for skill in skills {
            indexed.push((skill.id.clone(), skill.version, skill.text.description.clone()));
            let text = indexed_text(skill);
            let mut document = Vec::new();
            for Spelled { word, root } in spelled_words(&text) {
                *spellings.entry(root.clone()).or_default().entry(word).or_default() += 1;
                document.push(root);
            }
            documents.push(document);
        }
        let length: usize = documents.iter().map(Vec::len).sum();
        #[expect(clippy::cast_precision_loss, reason = "an average length needs no more than a few digits")]
        let average = length as f32 / documents.len().max(1) as f32;
        let embedder: Embedder<u64, SplitTokenizer> =
            EmbedderBuilder::with_avgdl(average).k1(SATURATION).build();
        let mut postings: HashMap<u64, Vec<(u32, f32)>> = HashMap::new();
        for (key, words) in (0u32..).zip(documents) {
            for token in embedder.embed(&words.join(" ")).0 {
                let list = postings.entry(token.index).or_default();
                // The embedder lists a repeated word twice, with the same weight.
                if list.last().is_none_or(|(last, _)| *last != key) {
                    list.push((key, token.value));
                }
            }
        }
        let domain = |(id, ..): &(SkillId, u32, String)| {
            let names = names_of(id.domain()).iter().map(|name| words(name)).collect();
            (id.domain().to_owned(), names)
        };
        let domains = indexed.iter().map(domain).collect();
        Self { postings, domains, skills: indexed, spellings, vocabulary: OnceLock::new() }
    }

    /// Returns the words of the book with their vectors.
    fn vocabulary(&self) -> &Vocabulary<u64> {
        let entries = self.spellings.iter().map(|(root, spellings)| (u64::embed(root), spellings));
        self.vocabulary.get_or_init(|| Vocabulary::of(entries))
    }

    /// Returns the domains that a query names.
    fn named(&self, query: &[QueryWord]) -> BTreeSet<&str> {
        let has = |stem: &String| query.iter().any(|word| word.root == *stem);
        let named =
            |names: &Vec<Vec<String>>| names.iter().any(|name| !name.is_empty() && name.iter().all(has));
        self.domains.iter().filter(|(_, names)| named(names)).map(|(domain, _)| domain.as_str()).collect()
    }

    /// Returns the best `limit` hits by words. Equal scores are ordered by id, so that the same book gives the same
    /// answer.
    pub(crate) fn find(&self, query: &str, limit: usize) -> Vec<Hit> {
        let query_words = query_words(query);
        let scores = self.scores(&query_words);
        self.best(&scores, limit).into_iter().map(|key| self.hit(key, scores[key], &query_words)).collect()
    }

    /// Returns the best `limit` hits by words and by meaning: the cosine similarity of each skill, and its weight.
    pub(crate) fn find_by_both(
        &self,
        query: &str,
        similarities: &[f64],
        weight: f32,
        limit: usize,
    ) -> Vec<Hit> {
        let mut query_words = query_words(query);
        for word in &mut query_words {
            let near = self.vocabulary().nearest(&word.word, MAX_NEAR_WORDS).into_iter();
            word.meanings.extend(near.map(|near| (near.key, near.similarity, None)));
        }
        let scores = combine_scores(&self.scores(&query_words), similarities, weight);
        let hit = |key: usize| Hit {
            similarity: similarities.get(key).copied(),
            ..self.hit(key, scores[key], &query_words)
        };
        self.best(&scores, limit).into_iter().map(hit).collect()
    }

    fn scores(&self, query: &[QueryWord]) -> Vec<f32> {
        let mut scores = vec![0f32; self.skills.len()];
        let mut meant = vec![0f32; self.skills.len()];
        let mut touched = Vec::new();
        for word in query {
            // Each query word counts once per skill: with the highest weight among its related words in the skill.
            for (token, weight, _) in &word.meanings {
                let list = self.postings.get(token).map_or(&[][..], Vec::as_slice);
                let rarity = self.rarity(list.len());
                for (key, value) in list {
                    let Some(key) = usize::try_from(*key).ok().filter(|key| *key < meant.len()) else {
                        continue;
                    };
                    if meant[key] == 0.0 {
                        touched.push(key);
                    }
                    meant[key] = meant[key].max(weight * rarity * value);
                }
            }
            for key in touched.drain(..) {
                scores[key] += std::mem::take(&mut meant[key]);
            }
        }
        let named = self.named(query);
        let lifted = |(id, ..): &(SkillId, u32, String)| named.contains(id.domain());
        for (score, _) in scores.iter_mut().zip(&self.skills).filter(|(_, skill)| lifted(skill)) {
            *score *= NAMED_PROGRAM;
        }
        scores
    }

    fn best(&self, scores: &[f32], limit: usize) -> Vec<usize> {
        let mut best: Vec<usize> = (0..scores.len()).filter(|key| scores[*key] > 0.0).collect();
        let order = |a: &usize, b: &usize| {
            scores[*b].total_cmp(&scores[*a]).then_with(|| self.skills[*a].0.cmp(&self.skills[*b].0))
        };
        if limit < best.len() && limit > 0 {
            best.select_nth_unstable_by(limit - 1, order);
        }
        best.truncate(limit);
        best.sort_unstable_by(order);
        best
    }

    #[expect(clippy::cast_precision_loss, reason = "books have far fewer skills than a float can count")]
    fn rarity(&self, holders: usize) -> f32 {
        let (all, holders) = (self.skills.len() as f32, holders as f32);
        (1.0 + (all - holders + 0.5) / (holders + 0.5)).ln()
    }

    fn hit(&self, key: usize, score: f32, query: &[QueryWord]) -> Hit {
        let (id, version, description) = self.skills[key].clone();
        let holds = |token: &u64| {
            let list = self.postings.get(token)?;
            list.binary_search_by_key(&key, |(holder, _)| usize::try_from(*holder).unwrap_or(usize::MAX)).ok()
        };
        let held = |word: &QueryWord| {
            let listed = &word.meanings[..word.listed];
            let (_, _, related_to) = listed.iter().find(|(token, ..)| holds(token).is_some())?;
            Some(related_to.map_or_else(|| word.word.clone(), |other| format!("{} ({other})", word.word)))
        };
        let matched = query.iter().filter_map(held).collect();
        Hit { id, version, description, score, matched, similarity: None }
    }
}

/// A query word with its related words.
struct QueryWord {
    word: String,
    root: String,
    /// The word itself, then related words, then the nearest words of the book: token, weight, and the related word.
    meanings: Vec<(u64, f32, Option<&'static str>)>,
    /// The number of meanings that are the word itself or a related word. Only these are shown as matches.
    listed: usize,
}

/// A word as it is written, in lower case, and its stem.
struct Spelled {
    word: String,
    root: String,
}

/// Returns the words of a text, without stop words.
fn spelled_words(text: &str) -> impl Iterator<Item = Spelled> {
    text.split(|c: char| !c.is_alphanumeric())
        .flat_map(|word| words(word).into_iter().map(move |root| Spelled { word: word.to_lowercase(), root }))
}

/// Returns the words of a query, without duplicates.
fn query_words(query: &str) -> Vec<QueryWord> {
    let mut seen = BTreeSet::new();
    let first = spelled_words(query).filter(|spelled| seen.insert(spelled.root.clone()));
    let meant = first.map(|Spelled { word, root }| {
        let others = related(&root)
            .iter()
            // The root of a weight: a related word says nearly as much as the word itself, and better than nothing.
            .map(|other| (u64::embed(&stem(other.word)), other.weight.sqrt(), Some(other.word)));
        let meanings: Vec<_> = [(u64::embed(&root), 1.0, None)].into_iter().chain(others).collect();
        QueryWord { word, root, listed: meanings.len(), meanings }
    });
    meant.collect()
}

/// Combines word scores and cosine similarities. Neither scale is absolute, so each is normalized to the best of this
/// book: word scores from zero, similarities from the book's average.
fn combine_scores(words: &[f32], similarities: &[f64], weight: f32) -> Vec<f32> {
    let most = words.iter().copied().fold(f32::MIN_POSITIVE, f32::max);
    #[expect(clippy::cast_precision_loss, reason = "an average needs no more than a few digits")]
    let usual = similarities.iter().sum::<f64>() / similarities.len().max(1) as f64;
    let nearest = similarities.iter().copied().fold(usual, f64::max);
    let span = (nearest - usual).max(f64::MIN_POSITIVE);
    let both = |(words, near): (&f32, &f64)| {
        #[expect(clippy::cast_possible_truncation, reason = "a share of one")]
        let near = ((near - usual) / span).max(0.0) as f32;
        (1.0 - weight) * words / most + weight * near
    };
    words.iter().zip(similarities).map(both).collect()
}

/// A skill that is similar to a text.
pub struct SkillSimilarity<'a> {
    /// The skill.
    pub skill: &'a Skill,
    /// Similarity by words, from 0 to 1.
    pub words: f64,
    /// Similarity by embedding, if embeddings were used.
    pub meaning: Option<f64>,
}

/// Skills that are similar to a text, most similar first.
pub struct SimilarSkills<'a> {
    /// The skills, most similar first.
    pub skills: Vec<SkillSimilarity<'a>>,
    /// The reason why only words were used, although the book has an embedder.
    pub embedding_error: Option<String>,
}

/// Returns skills that are similar to a text, so that the manager finds existing ones. `similarities` is the cosine
/// similarity of each skill, if embeddings were used.
pub(crate) fn similar_skills<'a>(
    skills: impl Iterator<Item = &'a Skill>,
    text: &str,
    similarities: Option<&[f64]>,
    limit: usize,
) -> Vec<SkillSimilarity<'a>> {
    let skills: Vec<&Skill> = skills.collect();
    let rarity = WordRarity::of(&skills);
    let by_words = |skill: &Skill| {
        let SkillText { description, situation, guidance } = &skill.text;
        let guidance = &prose_of(guidance);
        let (about, all) =
            (format!("{description} {situation}"), format!("{description} {situation} {guidance}"));
        // A situation is often written in the words of its guidance, and vice versa. A short text that a long skill
        // covers has a small cosine, so its covered share counts, too.
        let parts = [description, situation, &about, &all];
        let cosines = parts.into_iter().map(|part| word_similarity(text, part));
        cosines.fold(rarity.covered(text, &all), f64::max)
    };
    let mut found: Vec<SkillSimilarity<'_>> = skills
        .into_iter()
        .enumerate()
        .map(|(index, skill)| {
            let meaning = similarities.and_then(|all| all.get(index)).copied();
            SkillSimilarity { skill, words: by_words(skill), meaning }
        })
        .filter(|similar| similar.words > 0.0 || similar.meaning.is_some())
        .collect();
    // Paraphrases share no words, and texts with the same words say the same, so the higher similarity counts.
    let order = |similar: &SkillSimilarity<'_>| {
        similar.meaning.map_or(similar.words, |meaning| meaning.max(similar.words))
    };
    found.sort_by(|a, b| order(b).total_cmp(&order(a)).then_with(|| a.skill.id.cmp(&b.skill.id)));
    found.truncate(limit);
    found
}

/// The weights of words: a word that few skills contain weighs more.
struct WordRarity {
    skills: f64,
    holders: BTreeMap<String, f64>,
}

impl WordRarity {
    fn of(skills: &[&Skill]) -> Self {
        let mut holders: BTreeMap<String, f64> = BTreeMap::new();
        for skill in skills {
            let SkillText { description, situation, guidance } = &skill.text;
            let guidance = prose_of(guidance);
            let all: BTreeSet<String> =
                words(&format!("{description} {situation} {guidance}")).into_iter().collect();
            all.into_iter().for_each(|word| *holders.entry(word).or_default() += 1.0);
        }
        #[expect(clippy::cast_precision_loss, reason = "books have far fewer skills than a float can count")]
        Self { skills: skills.len() as f64, holders }
    }

    /// Returns the share of a text's words that another text holds, from 0 to 1; rare words weigh more.
    fn covered(&self, text: &str, by: &str) -> f64 {
        let by: BTreeSet<String> = words(by).into_iter().collect();
        let query_words: BTreeSet<String> = words(text).into_iter().collect();
        let weight = |word: &String| {
            (1.0 + self.skills / (1.0 + self.holders.get(word).copied().unwrap_or_default())).ln()
        };
        let all: f64 = query_words.iter().map(weight).sum();
        let held: f64 = query_words.iter().filter(|word| by.contains(*word)).map(weight).sum();
        if all > 0.0 { held / all } else { 0.0 }
    }
}

/// Returns the indexed text. Name, description and situation count twice, because they say what a skill is about.
fn indexed_text(skill: &Skill) -> String {
    let name = skill.id.slug().replace('-', " ");
    let domain = aliases(skill.id.domain());
    let text = &skill.text;
    format!("{domain} {name} {name} {0} {0} {1} {1} {2}", text.description, text.situation, text.guidance)
}

/// Returns the embedded text of a skill, in which each part appears once.
pub fn embedded_text(skill: &Skill) -> String {
    let SkillText { description, situation, guidance } = &skill.text;
    let name = |part: &str| part.replace('-', " ");
    let (domain, slug) = (name(skill.id.domain()), name(skill.id.slug()));
    format!("{domain} {slug}: {description}. {situation} {guidance}")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use apprentice_protocol::SkillId;

    use super::{Search, query_words, similar_skills};
    use crate::{OpId, Origin, Skill, SkillText};

    fn skill(id: &str, words: &str, guidance: &str) -> Arc<Skill> {
        let text = SkillText {
            description: format!("About {words}"),
            situation: format!("You need {words}."),
            guidance: guidance.to_owned(),
        };
        let id = SkillId::parse(id).expect("an id");
        Arc::new(Skill::new(&id, &text, Vec::new(), Origin::Learned, OpId(1)))
    }

    #[test]
    fn a_direct_match_of_a_long_skill_is_similar_and_a_stranger_is_not() {
        let long = "1. Open Site settings. 2. Choose Location. 3. Pick the row of the page. ".repeat(12);
        let skills = [
            skill("chromium/site-permissions", "allowing a page to know the location", &long),
            skill("gimp/crop", "cropping a picture to a size", "1. Press Shift+C. 2. Drag."),
        ];
        let near = |text: &str| {
            let found = similar_skills(skills.iter().map(Arc::as_ref), text, None, 9);
            found.into_iter().map(|one| (one.skill.id.slug().to_owned(), one.words)).collect::<Vec<_>>()
        };
        let found = near("allowing a page to know the location in site settings");
        assert!(found[0].0 == "site-permissions" && found[0].1 > 0.9, "{found:?}");
        assert!(found.get(1).is_none_or(|(_, words)| *words < 0.2), "{found:?}");
        assert!(near("brew coffee").iter().all(|(_, words)| *words < 0.2));
    }

    #[test]
    fn a_related_word_counts_by_the_root_of_its_nearness() {
        let asked = query_words("bin");
        let weight = asked[0]
            .meanings
            .iter()
            .find(|(.., other)| *other == Some("trash"))
            .map(|(_, weight, _)| *weight);
        assert!(weight.is_some_and(|weight| (weight - 0.6_f32.sqrt()).abs() < 1e-6), "{weight:?}");
    }

    #[test]
    fn a_repeated_word_soon_stops_to_count() {
        let once = skill("gimp/a", "layers", "1. Do what is to be done there.");
        let often = skill("gimp/b", "layers", "1. Layers, layers and layers.");
        let search = Search::over([once, often].iter().map(Arc::as_ref));
        let hits = search.find("layers", 2);
        let gain = hits[0].score / hits[1].score;
        assert!(hits[0].id.slug() == "b" && gain > 1.02 && gain < 1.12, "{gain}");
    }

    #[test]
    fn the_program_that_a_query_names_comes_first() {
        let skills = [
            skill("gimp/rename", "renaming", "1. Do."),
            skill("libreoffice-calc/rename", "renaming", "1. Do."),
            skill("thunar/rename", "renaming", "1. Do."),
        ];
        let search = Search::over(skills.iter().map(Arc::as_ref));
        let first = |query: &str| search.find(query, 1)[0].id.domain().to_owned();
        assert_eq!(first("rename in LibreOffice Calc"), "libreoffice-calc");
        assert_eq!(first("rename in calc"), "libreoffice-calc", "a name that users say");
        assert_eq!(first("rename, thunar"), "thunar");
        // The lift of the score from a word that is no name is the factor for a named program.
        let of_calc = |query: &str| {
            let hits = search.find(query, 3);
            hits.iter().find(|hit| hit.id.domain() == "libreoffice-calc").map_or(0.0, |hit| hit.score)
        };
        let lift = (of_calc("renaming calc") - of_calc("calc")) / of_calc("renaming");
        assert!((lift - 2.0).abs() < 1e-3, "{lift}");
        assert_eq!(first("rename it in office"), "gimp", "half a name names no program");
    }

    /// A skill whose words stand in its guidance alone.
    fn bare(id: &str, guidance: &str) -> Arc<Skill> {
        let guidance = guidance.to_owned();
        let text = SkillText { description: String::new(), situation: String::new(), guidance };
        let id = SkillId::parse(id).expect("an id");
        Arc::new(Skill::new(&id, &text, Vec::new(), Origin::Learned, OpId(1)))
    }

    fn score(search: &Search, query: &str, slug: &str) -> f32 {
        let hits = search.find(query, 9);
        hits.iter().find(|hit| hit.id.slug() == slug).map_or(0.0, |hit| hit.score)
    }

    #[test]
    fn a_word_that_stands_four_times_counts_seventeen_tenths_of_one_that_stands_once() {
        let skills =
            [bare("gimp/first", "layers qwx vbn zxc"), bare("gimp/second", "layers layers layers layers")];
        let search = Search::over(skills.iter().map(Arc::as_ref));
        let gain = score(&search, "layers", "second") / score(&search, "layers", "first");
        assert!((gain - 1.6923).abs() < 1e-3, "{gain}");
    }

    #[test]
    fn a_word_of_one_skill_of_two_counts_nearly_four_times_as_much_as_a_word_of_both() {
        let skills = [bare("gimp/first", "qwx vbn"), bare("gimp/second", "qwx zxc")];
        let search = Search::over(skills.iter().map(Arc::as_ref));
        let gain = score(&search, "vbn", "first") / score(&search, "qwx", "first");
        assert!((gain - 3.8018).abs() < 1e-3, "{gain}");
    }

    #[test]
    fn by_meaning_a_word_is_taken_for_the_256_words_that_are_nearest_to_it() {
        let skills: Vec<_> = (100..700).map(|number| bare(&format!("os/photo{number}"), "")).collect();
        let search = Search::over(skills.iter().map(Arc::as_ref));
        let hits = search.find_by_both("photo", &[0.0; 600], 0.0, 600);
        assert_eq!(hits.len(), 256);
    }
}
