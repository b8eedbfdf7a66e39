//! Reads an instruction: the words of each sentence, and the texts that it uses verbatim.

use super::words::{Fit, content, holds, is_filler, plain};

/// The syntactic category of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueKind {
    /// Text between quotation marks.
    Quoted,
    /// A file name or path.
    File,
    /// A number, or letters with digits.
    Number,
    /// Capitalized words that begin no sentence, or that something `is` said of.
    Name,
}

/// A text of the instruction that is used verbatim.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Value {
    pub(super) text: String,
    pub(super) kind: ValueKind,
}

/// One sentence of an instruction.
#[derive(Clone, Debug, Default, PartialEq)]
struct Sentence {
    text: String,
    stems: Vec<String>,
    /// Whether it asks for something to be off.
    off: bool,
}

/// A parsed instruction.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Goal {
    /// The instruction as written.
    pub(super) text: String,
    /// The values, in order.
    pub(super) values: Vec<Value>,
    /// Whether it is about the whole text.
    pub(super) whole: bool,
    /// Whether the work is to be saved.
    pub(super) saves: bool,
    /// Whether a text is to be typed into the document.
    pub(super) writes: bool,
    /// Whether it is a lasting change, as settings are.
    pub(super) lasting: bool,
    sentences: Vec<Sentence>,
}

impl Goal {
    /// Parses an instruction.
    pub(super) fn read(instruction: &str) -> Self {
        let values = values(instruction);
        let words = plain(instruction);
        let has = |wanted: &[&str]| words.iter().any(|word| wanted.contains(&word.as_str()));
        let path = values.iter().any(|value| value.kind == ValueKind::File && value.text.contains('/'));
        let saves = has(&["save", "saved", "store"]) && !path;
        let quoted = values.iter().any(|value| value.kind == ValueKind::Quoted);
        let writes =
            quoted && has(&["type", "write", "enter", "append"]) && has(&["end", "beginning", "line"]);
        let lasting =
            ["from now on", "for good", "set up", "next time", "settings", "preferences", "default"];
        let mut found = Self {
            whole: has(&["whole", "everything", "entire", "all"]),
            lasting: lasting.iter().any(|words| holds(instruction, words)),
            saves,
            writes,
            text: instruction.to_owned(),
            values,
            sentences: Vec::new(),
        };
        found.sentences = sentences(instruction).iter().map(|text| found.sentence(text)).collect();
        found
    }

    fn sentence(&self, text: &str) -> Sentence {
        let mut bare = text.to_owned();
        for value in self.values.iter().filter(|value| value.kind == ValueKind::File) {
            bare = bare.replace(&value.text, " ");
        }
        let stems = content(&bare).into_iter().filter(|stem| !(self.saves && stem == "sav"));
        let off = ["off", "hide", "disable", "uncheck", "untick", "stop", "never"];
        Sentence {
            text: text.to_owned(),
            stems: stems.collect(),
            off: plain(text).iter().any(|word| off.contains(&word.as_str())),
        }
    }

    /// Returns how well the instruction asks for a label: as its best sentence does. The request tends to come last, so a
    /// later sentence decides where two are equal.
    pub(super) fn fit(&self, label: &str) -> Fit {
        // A setting is not made by saving something.
        if self.lasting && plain(label).first().is_some_and(|word| word == "save") {
            return Fit::default();
        }
        self.best(label).map_or_else(Fit::default, |(fit, _)| fit)
    }

    /// Returns whether the instruction asks for the thing with this label to be off.
    pub(super) fn is_off(&self, label: &str) -> bool {
        self.best(label).is_some_and(|(_, sentence)| sentence.off)
    }

    fn best(&self, label: &str) -> Option<(Fit, &Sentence)> {
        let fits = self.sentences.iter().map(|sentence| (Fit::of(&sentence.stems, label), sentence));
        fits.max_by(|one, other| one.0.score().total_cmp(&other.0.score()))
    }

    /// Leaves out words that only say where the work is done.
    pub(super) fn forget(&mut self, place: &str) {
        let place = content(place);
        for sentence in &mut self.sentences {
            sentence.stems.retain(|stem| !place.contains(stem));
        }
    }

    /// Returns the sentence that asks for these labels.
    pub(super) fn request(&self, labels: &[String]) -> &str {
        let matched = |sentence: &&Sentence| {
            labels.iter().map(|label| Fit::of(&sentence.stems, label).matched).sum::<f32>()
        };
        let best = self.sentences.iter().max_by(|one, other| matched(one).total_cmp(&matched(other)));
        best.map_or("", |sentence| &sentence.text)
    }

    /// Returns all telling words of the instruction.
    pub(super) fn stems(&self) -> Vec<String> {
        content(&self.text)
    }

    /// Returns what to type into a field that searches: a quotation, or the most telling words.
    pub(super) fn query(&self) -> String {
        let quoted = self.values.iter().find(|value| value.kind == ValueKind::Quoted);
        let longest = || plain(&self.text).into_iter().max_by_key(|word| word.chars().count());
        quoted.map(|value| value.text.clone()).or_else(longest).unwrap_or_default()
    }

    /// Returns the text that the instruction gives to a field with this label: what is quoted, a number, the word after the
    /// label's, or a name.
    pub(super) fn value_for(&self, label: &str, is_label: impl Fn(&str) -> bool) -> Option<String> {
        let of = |kind: ValueKind| {
            let mut fits = self.values.iter().filter(|value| value.kind == kind && !is_label(&value.text));
            fits.next().map(|value| value.text.clone())
        };
        of(ValueKind::Quoted)
            .or_else(|| of(ValueKind::Number))
            .or_else(|| self.after(label))
            .or_else(|| of(ValueKind::Name))
    }

    /// Returns the word that follows a mention of a label.
    fn after(&self, label: &str) -> Option<String> {
        let wanted = content(label);
        let words: Vec<&str> = self.text.split_whitespace().collect();
        words.windows(2).find_map(|pair| {
            let mentions =
                !wanted.is_empty() && content(pair[0]) == wanted && pair[0].ends_with(char::is_alphanumeric);
            let next = pair[1].trim_matches(|c: char| !c.is_alphanumeric());
            (mentions && !content(next).is_empty() && !is_filler(next)).then(|| next.to_owned())
        })
    }
}

/// Splits a text at the ends of its sentences.
fn sentences(text: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    for word in text.split_whitespace() {
        if let Some(last) = found.last_mut() {
            last.push_str(word);
            last.push(' ');
        }
        if word.trim_end_matches(['"', '\'', ')']).ends_with(['.', '!', '?', ':', ';']) {
            found.push(String::new());
        }
    }
    found.retain(|sentence| !sentence.trim().is_empty());
    found
}

/// Returns the values of a text, in order.
fn values(text: &str) -> Vec<Value> {
    let mut found: Vec<Value> = Vec::new();
    let (mut rest, mut begins, mut joins) = (text, true, false);
    while let Some(first) = rest.chars().next() {
        if first.is_whitespace() {
            rest = &rest[first.len_utf8()..];
            continue;
        }
        if let Some(inside) = quoted(rest) {
            found.push(Value { text: inside.to_owned(), kind: ValueKind::Quoted });
            rest = &rest[first.len_utf8()..][inside.len()..];
            rest = rest.get(rest.chars().next().map_or(0, char::len_utf8)..).unwrap_or_default();
            (begins, joins) = (false, false);
            continue;
        }
        let (word, after) = rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len()));
        let bare = word.trim_matches(['.', ',', ';', ':', '!', '?', '(', ')', '"', '\'']);
        let bare =
            if word.starts_with('.') { word.trim_end_matches(['.', ',', ';', ':', '!', '?']) } else { bare };
        let is_said = after.trim_start().starts_with("is ");
        let is_name = bare.len() > 1 && bare.starts_with(char::is_uppercase) && (!begins || is_said || joins);
        match kind(bare).or(is_name.then_some(ValueKind::Name)) {
            Some(ValueKind::Name) if joins => {
                if let Some(last) = found.last_mut() {
                    last.text = format!("{} {bare}", last.text);
                }
            }
            Some(kind) => found.push(Value { text: bare.to_owned(), kind }),
            None => {}
        }
        joins = is_name && kind(bare).is_none() && word.ends_with(char::is_alphanumeric);
        begins = word.ends_with(['.', '!', '?', ':']);
        rest = after;
    }
    found
}

/// Returns the text between the quotation marks at the start of a text.
fn quoted(text: &str) -> Option<&str> {
    let open = text.chars().next()?;
    let close = match open {
        '"' | '\'' | '`' => open,
        '“' => '”',
        '‘' => '’',
        _ => return None,
    };
    let body = &text[open.len_utf8()..];
    let ends = |at: usize| !body[at + close.len_utf8()..].starts_with(char::is_alphanumeric);
    let (end, _) = body.match_indices(close).find(|(at, _)| *at > 0 && ends(*at))?;
    Some(&body[..end])
}

/// Returns the kind of a word that is a value by its form.
fn kind(word: &str) -> Option<ValueKind> {
    let name = word.rsplit('/').next().unwrap_or(word);
    let dotted = name.rsplit_once('.').is_some_and(|(stem, end)| {
        !stem.is_empty() && (1..=5).contains(&end.len()) && end.chars().all(|c| c.is_ascii_lowercase())
    });
    let hidden = name.strip_prefix('.').is_some_and(|rest| rest.starts_with(char::is_alphabetic));
    let has_digit = word.starts_with(char::is_alphanumeric) && word.contains(|c: char| c.is_ascii_digit());
    if dotted || hidden || word.starts_with('/') && word.len() > 2 {
        Some(ValueKind::File)
    } else {
        has_digit.then_some(ValueKind::Number)
    }
}

#[cfg(test)]
mod tests {
    use super::{Goal, ValueKind};

    #[test]
    fn values_are_found_by_their_form() {
        let goal =
            Goal::read("Kim is here. Put the loaf 'rye bread' and .crumbs into /tmp/oven.txt, 25 times.");
        let found: Vec<(&str, ValueKind)> =
            goal.values.iter().map(|value| (value.text.as_str(), value.kind)).collect();
        assert_eq!(
            found,
            [
                ("Kim", ValueKind::Name),
                ("rye bread", ValueKind::Quoted),
                (".crumbs", ValueKind::File),
                ("/tmp/oven.txt", ValueKind::File),
                ("25", ValueKind::Number)
            ]
        );
    }

    #[test]
    fn a_field_gets_the_word_after_its_label_or_a_name() {
        let value = |text: &str, label: &str| Goal::read(text).value_for(label, |text| text == label);
        assert_eq!(value("Add the spice pepper to the dish.", "Spices").as_deref(), Some("pepper"));
        assert_eq!(value("Note Ida Holm among the cooks.", "Cooks").as_deref(), Some("Ida Holm"));
        assert_eq!(value("Ida gets oven B4 now.", "Oven").as_deref(), Some("B4"));
    }
}
