//! Which function of a book an instruction asks for, if any. For a reader that obeys whatever it gets: a page that is only the
//! nearest of its program did harm in three of eleven tasks, and helped in one.
//!
//! So the instruction is compared with the ways in which people ask for a function, and not with the page. A word that all of
//! these ways hold says what the function is; one that the functions of other pages hold, too, says little.

use std::collections::{BTreeMap, BTreeSet};

use apprentice_wording::{is_for_program, related, stem, words};

use crate::read::snapshot::Snapshot;
use crate::skill::record::Skill;
use crate::skill::short_steps::ShortSteps;

/// Least score of a function that is asked for. With the training tasks of `tasks/starter` and the shipped skillbook, functions
/// that are asked for have 1.25 and more, the best of others 0.98.
const LEAST_SCORE: f64 = 1.0;
/// A function is asked for if its score is at least this many times that of the next one of the program; if two fit alike,
/// nobody knows which is meant. In the training tasks it is 1.7 and more.
const LEAST_LEAD: f64 = 1.25;
/// Domains of skills that belong to no particular program.
const GENERAL: [&str; 2] = ["general", "os"];

/// A function that an instruction asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitting<'a> {
    /// The skill.
    pub skill: &'a Skill,
    /// The function and its steps.
    pub steps: ShortSteps,
    /// How well it fits: 1 and more.
    pub score: f64,
}

/// Returns the function that an instruction asks for, among those of a program and of all programs; `None` if none is, or if
/// several are alike.
///
/// ```
/// use apprentice_skillbook::{Snapshot, fitting};
///
/// assert!(fitting(&Snapshot::empty(), "Save the drawing.", Some("sketcher")).is_none());
/// ```
pub fn fitting<'a>(book: &'a Snapshot, instruction: &str, program: Option<&str>) -> Option<Fitting<'a>> {
    let functions: Vec<(&Skill, ShortSteps)> = book
        .skills()
        .flat_map(|skill| skill.short_steps().into_iter().map(move |steps| (skill, steps)))
        .collect();
    let all: Vec<BTreeMap<String, f64>> = functions.iter().map(|(_, steps)| spoken(steps)).collect();
    let asked: BTreeSet<String> = words(instruction).into_iter().collect();
    let of_program = |skill: &Skill| {
        let domain = skill.id.domain();
        GENERAL.contains(&domain) || program.is_none_or(|program| is_for_program(domain, program))
    };
    let scored = functions.into_iter().zip(&all).filter(|((skill, _), _)| of_program(skill));
    let mut scored: Vec<Fitting<'a>> = scored
        .map(|((skill, steps), said)| Fitting { skill, steps, score: score(said, &all, &asked) })
        .collect();
    scored.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.skill.id.cmp(&b.skill.id)));
    let mut best = scored.into_iter();
    let first = best.next().filter(|first| first.score >= LEAST_SCORE)?;
    let next = best.next().map_or(0.0, |next| next.score);
    (first.score >= next * LEAST_LEAD).then_some(first)
}

/// Returns the function of one skill that an instruction is nearest to, however far.
pub fn fitting_of(skill: &Skill, instruction: &str) -> Option<ShortSteps> {
    let functions = skill.short_steps();
    let all: Vec<BTreeMap<String, f64>> = functions.iter().map(spoken).collect();
    let asked: BTreeSet<String> = words(instruction).into_iter().collect();
    let scores: Vec<f64> = all.iter().map(|said| score(said, &all, &asked)).collect();
    let mut nearest: Option<(f64, ShortSteps)> = None;
    for (score, steps) in scores.into_iter().zip(functions) {
        if nearest.as_ref().is_none_or(|(best, _)| score > *best) {
            nearest = Some((score, steps));
        }
    }
    nearest.map(|(_, steps)| steps)
}

/// Returns the words in which people ask for a function, each with the number of ways that hold it.
fn spoken(steps: &ShortSteps) -> BTreeMap<String, f64> {
    let mut said = BTreeMap::new();
    for way in steps.asked() {
        for word in words(way).into_iter().collect::<BTreeSet<_>>() {
            *said.entry(word).or_insert(0.0) += 1.0;
        }
    }
    said
}

/// Returns the weight of the words of a function that are asked for, or that related words ask for, relative to the weight of
/// all its words.
fn score(said: &BTreeMap<String, f64>, all: &[BTreeMap<String, f64>], asked: &BTreeSet<String>) -> f64 {
    let weight = |word: &String, ways: f64| rarity(word, all) * ways.sqrt();
    let found: f64 = said.iter().map(|(word, ways)| weight(word, *ways) * met(word, asked)).sum();
    let length = said.iter().map(|(word, ways)| weight(word, *ways).powi(2)).sum::<f64>().sqrt();
    if length > 0.0 { found / length } else { 0.0 }
}

/// Returns how surely a word is asked for: 1 for the word itself, less for a related one. Its square counts, since a single
/// related word is often in another sense.
fn met(word: &String, asked: &BTreeSet<String>) -> f64 {
    if asked.contains(word) {
        return 1.0;
    }
    let others = related(word).iter().filter(|other| asked.contains(&stem(other.word)));
    others.map(|other| f64::from(other.weight).powi(2)).fold(0.0, f64::max)
}

/// The rarity of a word among the functions of a book, as in BM25.
#[expect(clippy::cast_precision_loss, reason = "books have far fewer functions than a float can count")]
fn rarity(word: &String, all: &[BTreeMap<String, f64>]) -> f64 {
    let (count, holders) =
        (all.len() as f64, all.iter().filter(|said| said.contains_key(word)).count() as f64);
    (1.0 + (count - holders + 0.5) / (holders + 0.5)).ln()
}
