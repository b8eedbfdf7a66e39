//! Queries on a parsed instruction beyond the values of labels: unassigned values, added objects, search queries, and
//! whether a control is to be turned off.

use std::ops::Range;

use super::super::clause::{MODAL, VERBS};
use super::super::text_match::content;
use super::instruction::{AssignedValue, InstructionClause, PUTTING, ParsedInstruction};
use super::token::{Token, TokenKind};

/// Words that are useless as search queries.
const USELESS_QUERIES: &[&str] =
    &["no", "not", "never", "any", "more", "longer", "shall", "browser", "page", "always"];

impl ParsedInstruction {
    /// Returns the literal values that no label has used yet.
    pub(super) fn left(&self, used: &[Range<usize>]) -> Vec<AssignedValue> {
        (0..self.tokens.len())
            .filter_map(|at| {
                let told =
                    at > 0 && self.tokens[at - 1].is_one_of(&["is", "named", "called", "choose", "select"]);
                if self.tokens[at].is_value() {
                    Some(at..at + 1)
                } else {
                    (told && self.tokens[at].is_capital()).then(|| self.capitals(at))
                }
            })
            .filter(|span| !used.iter().any(|used| used.start < span.end && span.start < used.end))
            .map(|span| self.spell(span, 0.5))
            .collect()
    }

    /// Returns the object that a clause adds when no label tells: `add the chore Clean windows`.
    pub(super) fn object(&self, clause: &InstructionClause, used: &[Range<usize>]) -> Option<AssignedValue> {
        let free =
            |span: &Range<usize>| !used.iter().any(|used| used.start < span.end && span.start < used.end);
        let spelled = |at: &usize| self.tokens[*at].sort == TokenKind::Value && free(&(*at..*at + 1));
        if let Some(at) = clause.span.clone().find(spelled) {
            return Some(self.spell(at..at + 1, 0.9));
        }
        let verb = clause
            .span
            .clone()
            .find(|at| self.tokens[*at].is_one_of(PUTTING) || self.tokens[*at].word == clause.verb)?;
        let capital = (verb + 1..clause.span.end).find(|at| self.tokens[*at].is_capital());
        let run = capital.map(|capital| self.whole(self.capitals(capital))).filter(free);
        if let Some(run) = run {
            return Some(self.spell(run, 0.7));
        }
        let number = clause
            .span
            .clone()
            .find(|at| self.tokens[*at].sort == TokenKind::Number && free(&(*at..*at + 1)))?;
        let known = used
            .iter()
            .any(|used| self.tokens[used.clone()].iter().any(|token| token.text == self.tokens[number].text));
        (!known).then(|| self.spell(number..number + 1, 0.6))
    }

    /// Returns queries for a search box, the most specific first: quotations, word pairs, single words.
    pub(super) fn queries(&self, clause: &InstructionClause) -> Vec<String> {
        let inside: Vec<&Token> = self.tokens[clause.span.clone()].iter().collect();
        let mut found: Vec<String> = inside
            .iter()
            .filter(|token| token.sort == TokenKind::Value && !token.text.contains("://"))
            .map(|token| token.text.clone())
            .collect();
        let tells = |token: &&Token| {
            token.sort == TokenKind::Word
                && !content(&token.word).is_empty()
                && !token.is_one_of(VERBS)
                && !token.is_one_of(MODAL)
                && !token.is_one_of(USELESS_QUERIES)
        };
        let mut pairs: Vec<String> = inside
            .windows(2)
            .filter(|pair| pair.iter().all(tells))
            .map(|pair| format!("{} {}", pair[0].word, pair[1].word))
            .collect();
        pairs.sort_by_key(|pair| std::cmp::Reverse(pair.chars().count()));
        let mut words: Vec<String> =
            inside.iter().filter(|token| tells(token)).map(|token| token.word.clone()).collect();
        words.sort_by_key(|word| std::cmp::Reverse(word.chars().count()));
        found.extend(pairs.into_iter().take(1));
        found.extend(words.into_iter().take(4));
        found
    }

    /// Returns the quoted texts of a clause.
    pub(super) fn quotes(&self, clause: &InstructionClause) -> Vec<String> {
        let inside = self.tokens[clause.span.clone()].iter();
        inside.filter(|token| token.sort == TokenKind::Value).map(|token| token.text.clone()).collect()
    }

    /// Returns whether a clause wants the labeled control turned off, either as a whole or by a negation just before
    /// the label.
    pub(super) fn is_off(&self, clause: &InstructionClause, label: &str) -> bool {
        if clause.off {
            return true;
        }
        let stems = content(label);
        let negates = |at: &usize| {
            self.tokens[*at].is_one_of(&["not", "no", "never", "without", "don't", "don’t", "neither"])
        };
        let part = |at: &usize| {
            let token = &self.tokens[*at];
            token.sort == TokenKind::Word && content(&token.word).iter().any(|stem| stems.contains(stem))
        };
        let Some(first) = clause.span.clone().find(|at| part(at) && !negates(at)) else {
            return clause.span.clone().any(|at| negates(&at));
        };
        let bound = |at: &usize| {
            let token = &self.tokens[*at];
            token.sort == TokenKind::Comma || token.is_one_of(&["and", "but", "or"])
        };
        let from = (clause.span.start..first).rev().find(bound).map_or(clause.span.start, |at| at + 1);
        (from..first).any(|at| negates(&at))
    }
}
