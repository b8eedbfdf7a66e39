//! Parses an instruction for a page: clauses with the on/off state they request, and the value for each label.
//!
//! Parsing starts from the visible labels: where the instruction mentions a label, its value is nearby.

use std::ops::Range;

use super::super::clause::{LEADING, MODAL, VERBS};
use super::super::text_match::{KeyTerms, content, plain};
use super::token::{FieldType, Token, TokenKind, tokens};

/// The intent of a clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Intent {
    /// A request to do something.
    Request,
    /// A request to leave something, or to turn it off.
    Leave,
    /// A statement.
    Statement,
}

/// A clause of an instruction.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct InstructionClause {
    /// The clause as written.
    pub(super) text: String,
    /// Its key words, including values.
    pub(super) words: KeyTerms,
    /// Its first request verb; empty if it has none.
    pub(super) verb: String,
    /// Whether it opens with that verb.
    pub(super) commands: bool,
    pub(super) ask: Intent,
    /// Whether it refers to something mentioned before: `Switch that on`.
    pub(super) refers: bool,
    /// Whether it turns off everything that it names.
    pub(super) off: bool,
    /// Its tokens.
    pub(super) span: Range<usize>,
}

/// A value that the instruction gives to a label.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AssignedValue {
    pub(super) value: String,
    /// Its tokens.
    pub(super) span: Range<usize>,
    /// The confidence; a value of 1 or more counts as explicit.
    pub(super) score: f32,
}

/// A parsed instruction.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ParsedInstruction {
    pub(super) tokens: Vec<Token>,
    /// The clauses, in order.
    pub(super) clauses: Vec<InstructionClause>,
}

/// Verbs that commit changes. Their clauses are executed last.
const COMMIT: &[&str] = &["save", "store", "submit", "apply", "confirm", "update", "keep"];

/// Returns whether a verb commits changes.
pub(super) fn is_commit_verb(verb: &str) -> bool {
    COMMIT.contains(&verb)
}

/// Words between a label and its value.
const BETWEEN: &[&str] = &[
    "to", "is", "as", "of", "with", "called", "named", "should", "shall", "be", "the", "a", "an", "at",
    "for", "into", "becomes", "reads", "will", "number", "value", "are",
];
/// Words between a value and a label after it.
const LINKS: &[&str] = &["into", "in", "on", "to", "as", "for", "under", "at"];
/// Words between such a link word and the label.
const NOUNS_BETWEEN: &[&str] =
    &["the", "a", "an", "its", "field", "box", "column", "list", "of", "new", "my"];
/// Words that end a value without quotation marks.
pub(super) const VALUE_END_WORDS: &[&str] = &[
    "and", "to", "in", "into", "on", "for", "as", "with", "at", "from", "then", "by", "under", "so", "that",
    "which", "is", "are", "of", "or", "but", "was", "has", "have", "only", "the", "this", "it", "well",
    "too", "also",
];
/// Pronouns that refer to something mentioned before.
const PRONOUNS: &[&str] = &["that", "it", "this", "them", "him", "her"];
/// Verbs that are followed by a value.
pub(super) const PUTTING: &[&str] = &[
    "add", "type", "enter", "put", "write", "set", "choose", "select", "pick", "fill", "insert", "append",
    "change", "search", "give", "create", "rename", "make",
];

/// Returns whether an unknown word opens a command: `Return Faust`, `Water the roses`.
fn is_command(inside: &[Token], at: usize) -> bool {
    let Some((token, next)) = inside.get(at).zip(inside.get(at + 1)) else { return false };
    let names = content(&token.word).is_empty() || token.sort != TokenKind::Word || token.is_one_of(LINKS);
    let owner = ["the", "a", "an", "my", "our", "this", "all", "every", "each"];
    let object = next.is_value() || next.is_capital() || next.is_one_of(&owner);
    !names && object && inside[..at].iter().all(|before| before.sort == TokenKind::End)
}

impl ParsedInstruction {
    /// Parses an instruction.
    pub(super) fn read(instruction: &str) -> Self {
        let tokens = tokens(instruction);
        let mut parsed = Self { clauses: Vec::new(), tokens };
        let mut from = 0;
        for at in 0..=parsed.tokens.len() {
            let ends = parsed.tokens.get(at).is_none_or(|token| token.sort == TokenKind::End);
            if ends || parsed.opens(at, from) {
                parsed.push(from..at);
                from = at;
            }
        }
        parsed.settle();
        parsed
    }

    /// If no clause but saving is a request, negative requests become requests; if there are none, statements do.
    fn settle(&mut self) {
        for ask in [Intent::Leave, Intent::Statement] {
            let asked = |clause: &InstructionClause| {
                clause.ask == Intent::Request && !(clause.commands && is_commit_verb(&clause.verb))
            };
            if self.clauses.iter().any(asked) {
                return;
            }
            for clause in self.clauses.iter_mut().filter(|clause| clause.ask == ask) {
                clause.ask = Intent::Request;
            }
        }
    }

    /// Returns whether an imperative starts here, in the middle of a sentence.
    fn opens(&self, at: usize, from: usize) -> bool {
        let joint =
            |token: &Token| token.sort == TokenKind::Comma || token.is_one_of(&["and", "then", "but"]);
        let before = at.checked_sub(1).and_then(|before| self.tokens.get(before));
        let pairs_verbs = at.checked_sub(2).is_some_and(|at| self.tokens[at].is_one_of(VERBS));
        at > from + 1
            && before.is_some_and(joint)
            && !(pairs_verbs && before.is_some_and(|token| token.sort == TokenKind::Word))
            && (self.tokens.get(at).is_some_and(|token| token.is_one_of(VERBS)) || self.turns(at, from))
            && self.tokens[from..at].iter().any(|token| !joint(token) && !token.is_one_of(LEADING))
    }

    /// Returns whether a second state starts here: `… be off and the other one on`.
    fn turns(&self, at: usize, from: usize) -> bool {
        let state = |token: &Token| token.is_one_of(&["on", "off"]);
        let end = (at..self.tokens.len())
            .find(|at| self.tokens[*at].sort == TokenKind::End)
            .unwrap_or(self.tokens.len());
        let before = at.checked_sub(2).filter(|before| *before > from);
        before.is_some_and(|before| state(&self.tokens[before]))
            && end > at + 1
            && state(&self.tokens[end - 1])
    }

    fn push(&mut self, span: Range<usize>) {
        let inside = &self.tokens[span.clone()];
        if !inside
            .iter()
            .any(|token| matches!(token.sort, TokenKind::Word | TokenKind::Value | TokenKind::Number))
        {
            return;
        }
        let text = inside.iter().map(|token| token.text.as_str()).collect::<Vec<_>>().join(" ");
        let words: Vec<&str> = inside
            .iter()
            .filter(|token| token.sort == TokenKind::Word)
            .map(|token| token.word.as_str())
            .collect();
        let has = |wanted: &[&str]| words.iter().any(|word| wanted.contains(word));
        let first = inside.iter().position(|token| token.sort != TokenKind::End && !token.is_one_of(LEADING));
        let after_comma =
            inside.iter().position(|token| token.sort == TokenKind::Comma).map(|comma| comma + 1).into_iter();
        let verb = first.into_iter().chain(after_comma).find_map(|at| {
            let opens = |token: &&Token| token.is_one_of(VERBS) || is_command(inside, at);
            inside.get(at).filter(opens).map(|token| token.word.clone())
        });
        let commands = verb.is_some();
        let refers = first.and_then(|at| inside.get(at + 1)).is_some_and(|token| token.is_one_of(PRONOUNS));
        let negated =
            words.windows(2).any(|pair| matches!(pair, ["do" | "shall" | "should" | "must", "not"]))
                || has(&["don't", "don’t", "never", "without", "leave"]);
        let switched = has(&["off"]) && has(&["turn", "switch", "turned", "switched", "shut", "set"]);
        let ends_off =
            words.iter().rfind(|word| !matches!(**word, "and" | "but")).is_some_and(|word| *word == "off");
        let off = switched
            || ends_off
            || has(&["untick", "uncheck", "disable", "deactivate", "hide", "stop", "unmark", "deselect"]);
        let modal = has(MODAL) || has(&["shall", "wish", "let"]);
        let ask = match (&verb, negated, modal) {
            (Some(_), _, _) | (None, _, true) => Intent::Request,
            (None, true, false) => Intent::Leave,
            (None, false, false) => Intent::Statement,
        };
        let goes_on =
            span.start > 0 && self.tokens[span.start - 1].is_one_of(&["and", "but"]) && verb.is_none();
        let ask = if goes_on { self.clauses.last().map_or(ask, |last| last.ask) } else { ask };
        let verb = verb
            .or_else(|| words.iter().find(|word| VERBS.contains(word)).map(|word| (*word).to_owned()))
            .unwrap_or_default();
        let words = KeyTerms::of(&text).without(&content("not no never more longer any"));
        self.clauses.push(InstructionClause { words, text, verb, commands, refers, ask, off, span });
    }

    /// Returns the clause that contains a token.
    pub(super) fn clause_at(&self, token: usize) -> Option<usize> {
        self.clauses.iter().position(|clause| clause.span.contains(&token))
    }

    /// Returns where a label is mentioned, with the fraction of the label that is mentioned there.
    fn mentions(&self, label: &str) -> Vec<(Range<usize>, f32)> {
        let stems = content(label);
        let spelled = plain(label);
        let is_part = |token: &Token| match token.sort {
            TokenKind::Word if stems.is_empty() => spelled.contains(&token.word),
            TokenKind::Word => {
                plain(&token.word).iter().any(|word| content(word).iter().any(|stem| stems.contains(stem)))
            }
            TokenKind::Value => plain(&token.word) == spelled,
            TokenKind::Number | TokenKind::Comma | TokenKind::End => false,
        };
        let whole = if stems.is_empty() { spelled.len() } else { stems.len() };
        let mut found = Vec::new();
        let mut at = 0;
        while at < self.tokens.len() {
            if !is_part(&self.tokens[at]) {
                at += 1;
                continue;
            }
            let mut end = at + 1;
            let mut parts = 1u16;
            while let Some(token) = self.tokens.get(end) {
                let joins =
                    token.is_one_of(&["of", "the", "for"]) && self.tokens.get(end + 1).is_some_and(is_part);
                if (is_part(token) || spelled.contains(&token.word)) && token.sort == TokenKind::Word {
                    parts += 1;
                } else if !joins {
                    break;
                }
                end += 1;
            }
            let whole = f32::from(u16::try_from(whole.max(1)).unwrap_or(u16::MAX));
            let spelled_out = self.tokens[at].sort == TokenKind::Value;
            found.push((at..end, if spelled_out { 1.0 } else { (f32::from(parts) / whole).min(1.0) }));
            at = end;
        }
        found
    }

    /// Returns whether the instruction contains all words of a text, such as a row's name, in sequence.
    pub(super) fn names(&self, text: &str) -> bool {
        let wanted = plain(text);
        let spoken: Vec<String> = self.tokens.iter().flat_map(|token| plain(&token.word)).collect();
        !wanted.is_empty()
            && spoken.windows(wanted.len()).any(|run| {
                run.iter().zip(&wanted).all(|(one, other)| {
                    one == other || content(one) == content(other) && !content(one).is_empty()
                })
            })
    }

    /// Returns the value that the instruction gives to a label.
    pub(super) fn given(&self, label: &str, holds: FieldType) -> Option<AssignedValue> {
        let mut best: Option<AssignedValue> = None;
        for (mention, cover) in self.mentions(label) {
            let tried = [
                self.after(mention.end, holds),
                self.before(mention.start, holds),
                self.near(&mention, holds),
            ];
            for found in tried.into_iter().flatten() {
                let score = found.score * (0.4 + 0.6 * cover);
                if best.as_ref().is_none_or(|best| score > best.score + 0.001) {
                    best = Some(AssignedValue { score, ..found });
                }
            }
        }
        best
    }

    pub(super) fn spell(&self, span: Range<usize>, score: f32) -> AssignedValue {
        let value =
            self.tokens[span.clone()].iter().map(|token| token.text.as_str()).collect::<Vec<_>>().join(" ");
        AssignedValue { value, span, score }
    }

    /// Returns the run of capitalized words that starts here.
    pub(super) fn capitals(&self, from: usize) -> Range<usize> {
        let mut end = from;
        while self.tokens.get(end).is_some_and(Token::is_capital) {
            end += 1;
        }
        from..end
    }

    /// Extends a run by the words that follow it: `Clean` with `windows`.
    pub(super) fn whole(&self, mut run: Range<usize>) -> Range<usize> {
        let goes_on = |token: &Token| {
            matches!(token.sort, TokenKind::Word | TokenKind::Number) && !token.is_one_of(VALUE_END_WORDS)
        };
        while run.len() < 6 && self.tokens.get(run.end).is_some_and(goes_on) {
            run.end += 1;
        }
        run
    }

    /// Finds the value after a label: `room number 214`, `the day is Thursday`, `name Ida Holm`.
    fn after(&self, end: usize, holds: FieldType) -> Option<AssignedValue> {
        let mut at = end;
        while at < end + 4
            && self
                .tokens
                .get(at)
                .is_some_and(|token| token.is_one_of(BETWEEN) || token.sort == TokenKind::Comma && at == end)
        {
            at += 1;
        }
        let token = self.tokens.get(at)?;
        if token.is_value() && token.holds(holds) {
            return Some(self.spell(at..at + 1, if token.sort == TokenKind::Value { 1.6 } else { 1.5 }));
        }
        if holds != FieldType::Text {
            return None;
        }
        let run = self.capitals(at);
        if !run.is_empty() {
            return Some(self.spell(self.whole(run), 1.4));
        }
        let articles = ["of", "the", "a", "an"];
        let linked = self.tokens[end..at].iter().any(|token| !token.is_one_of(&articles));
        let ends = |token: &Token| token.sort != TokenKind::Word || token.is_one_of(VALUE_END_WORDS);
        let length = self.tokens[at..].iter().take_while(|token| !ends(token)).count();
        let put = self
            .clause_at(end.saturating_sub(1))
            .is_some_and(|clause| PUTTING.contains(&self.clauses[clause].verb.as_str()));
        ((1..=4).contains(&length) && (linked || put))
            .then(|| self.spell(at..at + length, if linked { 0.9 } else { 0.7 }))
    }

    /// Finds the value before a label: `Type hello world into the field Name`.
    fn before(&self, start: usize, holds: FieldType) -> Option<AssignedValue> {
        let mut at = start;
        let mut linked = false;
        while at > 0 && start - at < 6 {
            let token = &self.tokens[at - 1];
            linked |= token.is_one_of(LINKS);
            if !token.is_one_of(LINKS) && !token.is_one_of(NOUNS_BETWEEN) {
                break;
            }
            at -= 1;
        }
        let last = at.checked_sub(1)?;
        if !linked {
            return None;
        }
        let token = &self.tokens[last];
        if token.is_value() {
            return token.holds(holds).then(|| self.spell(last..at, 1.5));
        }
        if holds != FieldType::Text || token.sort != TokenKind::Word {
            return None;
        }
        let clause = self.clause_at(last)?;
        let verb = self.tokens[..at]
            .iter()
            .rposition(|token| token.is_one_of(PUTTING) || token.sort == TokenKind::End)?;
        let from = (verb + 1).max(self.clauses[clause].span.start);
        let run = &self.tokens[from..at];
        if run.first().is_some_and(|token| token.is_one_of(PRONOUNS)) && run.len() <= 2 {
            return self.antecedent(from);
        }
        if run.iter().any(|token| token.sort != TokenKind::Word) || run.len() > 6 {
            return None;
        }
        let capital = (from..at).find(|index| self.capitals(*index) == (*index..at));
        let articles = run.iter().take_while(|token| token.is_one_of(&["the", "a", "an", "my"])).count();
        let (from, score) = capital.map_or((from + articles, 0.8), |capital| (capital, 1.3));
        (from < at).then(|| self.spell(from..at, score))
    }

    /// Resolves `that name`: returns the last value or name before it.
    fn antecedent(&self, before: usize) -> Option<AssignedValue> {
        let value = self.tokens[..before].iter().rposition(|token| token.sort == TokenKind::Value);
        if let Some(at) = value {
            return Some(self.spell(at..at + 1, 1.2));
        }
        let is_name = |token: &Token| {
            token.is_capital()
                && !content(&token.word).is_empty()
                && !token.is_one_of(VERBS)
                && !token.is_one_of(LEADING)
        };
        let last = self.tokens[..before].iter().rposition(is_name)?;
        let mut from = last;
        while from > 0 && is_name(&self.tokens[from - 1]) {
            from -= 1;
        }
        Some(self.spell(from..last + 1, 1.2))
    }

    /// Returns the closest value in the clause: `the number of lamps to 84`.
    fn near(&self, mention: &Range<usize>, holds: FieldType) -> Option<AssignedValue> {
        let clause = self.clauses.get(self.clause_at(mention.start)?)?;
        let fits = |at: &usize| self.tokens[*at].is_value() && self.tokens[*at].holds(holds);
        let later = (mention.end..clause.span.end).find(fits).map(|at| (at, 0.85));
        let earlier = (clause.span.start..mention.start).rev().find(fits).map(|at| (at, 0.6));
        let (at, score) = later.or(earlier)?;
        Some(self.spell(at..at + 1, score))
    }
}

#[cfg(test)]
mod tests {
    use super::super::token::FieldType;
    use super::{Intent, ParsedInstruction};

    fn given(instruction: &str, label: &str) -> String {
        ParsedInstruction::read(instruction)
            .given(label, FieldType::Text)
            .map_or_else(String::new, |given| given.value)
    }

    fn check(instruction: &str, expected: &[(&str, &str)]) {
        for (label, value) in expected {
            assert_eq!(given(instruction, label), *value, "{label:?} in {instruction:?}");
        }
    }

    #[test]
    fn labels_get_the_values_beside_them() {
        check(
            "Order for Mona Ek: phone 0151 22, mail mona@ek.test, size Large, note \"ring twice\".",
            &[("E-mail address", "mona@ek.test"), ("Size", "Large"), ("Note", "ring twice")],
        );
        check("Type hello world into the field Greeting.", &[("Greeting", "hello world")]);
        check(
            "Go from Ulm to Bern on 2026-05-01, seat Window.",
            &[("From", "Ulm"), ("To", "Bern"), ("Seat", "Window")],
        );
        check("Set the width of the frame to 30.", &[("Width", "30")]);
        check("Our meeting place is Hall Nine. Choose that.", &[("Meeting place", "Hall Nine")]);
        check("Write Jan Moor into the field \"Nick name\" and go on.", &[("Nick name", "Jan Moor")]);
        check("Olga wants to join too. Put that name on the list of singers.", &[("Singers", "Olga")]);
    }

    #[test]
    fn clauses_are_told_apart_by_what_they_ask() {
        let told = ParsedInstruction::read(
            "Ben lost a key. Return Mirror to the shelf, do not ring the bell, and store it.",
        );
        let asks: Vec<(Intent, bool, &str)> =
            told.clauses.iter().map(|clause| (clause.ask, clause.off, clause.verb.as_str())).collect();
        assert_eq!(
            asks,
            [
                (Intent::Statement, false, ""),
                (Intent::Request, false, "return"),
                (Intent::Request, false, "store")
            ],
            "{:?}",
            told.clauses
        );
    }
}
