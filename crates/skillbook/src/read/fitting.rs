//! Which functions of a book an instruction may ask for. A reader of few parameters obeys whatever it gets, and a page that is only
//! the nearest of its program did harm in three of eleven tasks, and helped in one: so it is asked first which of these it is, if any.
//!
//! The instruction is compared with the ways in which people ask for a function, and not with the page. A word that all of
//! these ways hold says what the function is; one that the functions of other pages hold, too, says little. Of 25 instructions in
//! words of our own, that nobody had written a page for, the right function was the nearest of its program in 21 and among the
//! nearest two in 24; but no score told them from 31 instructions that asked for something else.

use std::collections::{BTreeMap, BTreeSet};

use apprentice_wording::{is_for_program, is_general, related, stem, words};

use crate::read::snapshot::Snapshot;
use crate::skill::record::Skill;
use crate::skill::short_steps::ShortSteps;

/// A function that may be asked for has at least this score: words find it, and the reader says whether it is the one. With
/// Qwen2.5-Coder 1.5B (llama.cpp) and the nearest two functions, on wordings of our own of which 18 had a page and 71 had none
/// (34 about something else of the program, 37 about the very thing that a page is about), the page was lent to 17 of 18, and a page
/// to 2 of 34 and 21 of 37. At 0.6 these were 14, 0 and 14; at 1.0 9, 0 and 1.
const LEAST_SCORE: f64 = 0.4;

/// A function that an instruction may ask for.
#[derive(Clone, Debug, PartialEq)]
pub struct NearFunction<'a> {
    /// The skill.
    pub skill: &'a Skill,
    /// The function and its steps.
    pub steps: ShortSteps,
    /// How well its words fit: 1 where those that matter are there.
    pub score: f64,
}

/// Returns the functions that an instruction may ask for, among those of a program and of all programs, nearest first and at most
/// `count`.
///
/// ```
/// use apprentice_skillbook::{Snapshot, candidates};
///
/// assert!(candidates(&Snapshot::empty(), "Save the drawing.", Some("sketcher"), 2).is_empty());
/// ```
pub fn candidates<'a>(
    book: &'a Snapshot,
    instruction: &str,
    program: Option<&str>,
    count: usize,
) -> Vec<NearFunction<'a>> {
    let near = functions_by_fit(book, instruction, program).into_iter();
    near.take_while(|function| function.score >= LEAST_SCORE).take(count).collect()
}

/// Returns all functions of a program and of all programs, those first whose words fit an instruction best.
pub fn functions_by_fit<'a>(
    book: &'a Snapshot,
    instruction: &str,
    program: Option<&str>,
) -> Vec<NearFunction<'a>> {
    let functions: Vec<(&Skill, ShortSteps)> = book
        .skills()
        .flat_map(|skill| skill.short_steps().into_iter().map(move |steps| (skill, steps)))
        .collect();
    let all: Vec<BTreeMap<String, f64>> = functions.iter().map(|(_, steps)| spoken(steps)).collect();
    let asked: BTreeSet<String> = words(instruction).into_iter().collect();
    let of_program = |skill: &Skill| {
        let domain = skill.id.domain();
        is_general(domain) || program.is_none_or(|program| is_for_program(domain, program))
    };
    let scored = functions.into_iter().zip(&all).filter(|((skill, _), _)| of_program(skill));
    let mut scored: Vec<NearFunction<'a>> = scored
        .map(|((skill, steps), said)| NearFunction { skill, steps, score: score(said, &all, &asked) })
        .collect();
    scored.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.skill.id.cmp(&b.skill.id)));
    scored
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
