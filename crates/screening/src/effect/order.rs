//! Orders. Where nothing can be compared with a sentence and no model reads it, words of harm are no sieve: whoever does not
//! use them passes. So this rule is the other way round. An order to point, type, choose or look passes; one to put
//! something into another state passes if nothing of keys, protections, rights or recipients stands beside it; every other
//! order waits. Whether a clause orders is told from its shape and from the words that begin it (`orders.txt`). A language
//! whose shapes are not known waits.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::concern::{Concern, EffectFinding};
use super::lexicon::{Languages, common_counts, found, is_unspaced, plain};
use super::names::without_named;
use super::order_unspaced::{chinese, japanese};
use super::order_words::{Clause, Shape, Word, clauses, ends_as, is_one, rank, verb_of_participle};
use super::passage::{Passage, sentences};
use super::rules::finding;

/// The languages whose shapes of orders are known.
const KNOWN: [&str; 8] = ["en", "de", "fr", "es", "it", "pl", "ja", "zh"];
/// Concepts beside which not even pointing passes.
const BESIDE_POINTING: [&str; 4] = ["security", "shell", "access", "hide"];
/// Concepts beside which nothing is put into another state, nor taken out of a document.
const BESIDE_ACTING: [&str; 12] = [
    "security",
    "shell",
    "access",
    "hide",
    "credential",
    "code",
    "recipient",
    "spend",
    "persist",
    "send",
    "destroy",
    "again",
];
/// Further concepts beside which nothing is put into another state.
const BESIDE_CHANGING: [&str; 1] = ["off"];
/// Further concepts beside which nothing is taken out of a document.
const BESIDE_REMOVING: [&str; 3] = ["warn", "stored", "all"];
/// Shortest word that is an order by its ending alone.
const MIN_ORDER_CHARS: usize = 5;
/// Longest word whose ending says nothing: "mit" ends as German verbs do.
const MAX_BARE_CHARS: usize = 3;
/// Words of a clause among which its verb is sought, if it begins with a noun.
const MAX_NOUN_WORDS: usize = 5;

/// Returns the sentences of a text that order something beyond pointing, typing and choosing. The name of a page orders
/// nothing.
pub fn orders_beyond(passages: &[Passage]) -> Vec<EffectFinding> {
    let page: String = passages.iter().map(|passage| plain(&passage.in_words()) + "\n").collect();
    let mut all = Vec::new();
    // A function is no text: what it may do is limited where it runs. A licence orders nothing of an agent.
    for passage in passages
        .iter()
        .filter(|passage| passage.name != "name" && !passage.is_code() && !is_licence(&passage.name))
    {
        let words = passage.in_words();
        for sentence in sentences(&words) {
            if let Some(why) = beyond(sentence, &page, is_about(&passage.name)) {
                let found = finding(Concern::Order, sentence, &why);
                all.push(EffectFinding { sentence: passage.as_written(found.sentence), ..found });
            }
        }
    }
    all
}

/// Returns whether a file of a package is its licence.
fn is_licence(name: &str) -> bool {
    let name = name.to_lowercase();
    ["license", "licence", "notice", "copying"]
        .iter()
        .any(|start| name == *start || name.starts_with(&format!("{start}.")))
}

/// Returns whether a part of a page says what the page is for, in which "must" names a wish and nouns stand alone.
fn is_about(part: &str) -> bool {
    matches!(part, "description" | "situation" | "domain")
}

/// Returns why a sentence orders something beyond, if so.
fn beyond(sentence: &str, page: &str, is_about: bool) -> Option<String> {
    let Some(language) = language(sentence, page) else {
        return Some("the rules do not know how its language orders".to_owned());
    };
    let (shape, why) = match language {
        "ja" => japanese(sentence),
        "zh" => chinese(sentence, is_about),
        _ => spaced(sentence, language, is_about),
    };
    let text = plain(sentence);
    let beside = |groups: &[&str]| {
        let languages = Languages::of(&text);
        let words: Vec<_> = groups.iter().flat_map(|group| found(group, &text, &languages)).collect();
        words.first().map(|(_, word)| format!("it has somebody do something beside {word:?}"))
    };
    match shape {
        Shape::Tells => None,
        Shape::Points => beside(&BESIDE_POINTING),
        Shape::Changes => beside(&[&BESIDE_CHANGING[..], &BESIDE_ACTING].concat()),
        Shape::Removes => beside(&[&BESIDE_REMOVING[..], &BESIDE_ACTING].concat()),
        Shape::Beyond => Some(format!("it orders more than to point, type and choose: {why:?}")),
    }
}

/// Returns the language of a sentence: that of its page, unless other common words stand in it.
fn language(sentence: &str, page: &str) -> Option<&'static str> {
    let own = plain(sentence);
    let is_kana = |c: char| matches!(u32::from(c), 0x3040..=0x30ff);
    let is_korean = |c: char| matches!(u32::from(c), 0x1100..=0x11ff | 0x3130..=0x318f | 0xac00..=0xd7af);
    if own.chars().any(is_korean) {
        return None;
    }
    if own.chars().any(is_unspaced) {
        return Some(if own.chars().any(is_kana) || page.chars().any(is_kana) { "ja" } else { "zh" });
    }
    if own.chars().any(|c| matches!(u32::from(c), 0x370..=0x52f)) {
        return None;
    }
    let bare = without_named(&own.replace('*', "\""));
    let (counts, of_page) = (common_counts(&bare), common_counts(page));
    // Short texts hold words that several languages share: of those, the ones that are known, English first.
    let most = |counts: &BTreeMap<&'static str, usize>| {
        let place = |name: &str| KNOWN.iter().position(|known| *known == name).unwrap_or(KNOWN.len());
        let best = counts.iter().max_by_key(|(name, count)| (**count, Reverse(place(name))));
        best.filter(|(_, count)| **count > 0).map(|(name, _)| *name)
    };
    let home = most(&of_page).unwrap_or("en");
    let best = most(&counts).unwrap_or(home);
    let count = |name: &str| counts.get(name).copied().unwrap_or(0);
    let chosen = if count(home) * 2 > count(best) || count(best) < 2 { home } else { best };
    KNOWN.into_iter().find(|known| *known == chosen)
}

/// Returns what a sentence orders, and by which words, in a language that parts its words by spaces.
fn spaced(sentence: &str, language: &'static str, is_about: bool) -> (Shape, String) {
    let mut worst = (Shape::Tells, String::new());
    let mut after_under = false;
    let all = clauses(sentence, language);
    for (at, clause) in all.iter().enumerate() {
        let first = clause.words.first().map(|word| word.text.clone()).unwrap_or_default();
        let joined = all.get(at + 1).filter(|_| clause.is_joined);
        let shape = match joined.is_some_and(|next| tells_soon(&next.words, language)) {
            // "Row 1 then stays", "rows and columns are": the verb follows the word that joins.
            true if of_verb(&first, language).is_none() && clause.words.len() <= 3 => Shape::Tells,
            _ => of_clause(clause, (clause.is_start || after_under) && !is_about, is_about, language),
        };
        after_under = is_one("under", language, &first);
        if rank(shape) > rank(worst.0) {
            worst = (shape, clause.words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" "));
        }
    }
    worst
}

fn of_verb(word: &str, language: &'static str) -> Option<Shape> {
    let kinds = [("point", Shape::Points), ("change", Shape::Changes), ("remove", Shape::Removes)];
    let is =
        |word: &str| kinds.into_iter().find(|(kind, _)| is_one(kind, language, word)).map(|(_, shape)| shape);
    // German participles: "angeklickt" has its verb after the syllable, "geklickt" too.
    is(word).or_else(|| (language == "de").then(|| is(&word.replacen("ge", "", 1)))?)
}

/// Where a clause stands.
#[derive(Clone, Copy)]
struct ClausePlace {
    /// At a sentence's beginning, so that an unknown word is an order unless what follows tells otherwise.
    is_strict: bool,
    /// In a part of a page that says what the page is for.
    is_about: bool,
}

/// Returns what a clause orders. A strict one is a sentence's beginning, so that an unknown word there is an order unless
/// what follows tells otherwise.
fn of_clause(clause: &Clause, is_strict: bool, is_about: bool, language: &'static str) -> Shape {
    let words = &clause.words;
    // "Quand la ligne doit rester": when something holds is no order.
    let is_condition = is_about || words.first().is_some_and(|word| is_one("under", language, &word.text));
    let of_another =
        words.iter().skip(1).position(|word| is_within(&word.text)).map_or(words.len(), |at| at + 1);
    if let Some(at) = (0..of_another).find(|at| is_must(words, *at, language)).filter(|_| !is_condition) {
        return of_obligation(words, at, language);
    }
    let Some(start) = words.iter().position(|word| word.is_name || !is_one("skip", language, &word.text))
    else {
        return Shape::Tells;
    };
    let (first, rest) = (&words[start], &words[start + 1..]);
    let takes_thing = rest.first().is_some_and(|word| !word.is_name && is_one("thing", language, &word.text));
    if first.is_name && !(takes_thing && is_verb_like(&first.text)) {
        return Shape::Tells;
    }
    let next = rest.first();
    if is_one("does", language, &first.text) {
        let is_known = next.is_none_or(|next| {
            next.is_name || is_one("done", language, &next.text) || of_verb(&next.text, language).is_some()
        });
        return if is_known { Shape::Points } else { Shape::Beyond };
    }
    // "Call skill_create": a tool that is lent has its own rules.
    if first.text == "call" && next.is_some_and(|next| next.is_name && next.text.contains('_')) {
        return Shape::Points;
    }
    // "See to it that": not to look.
    if first.text == "see" && next.is_some_and(|next| next.text == "to") {
        return Shape::Beyond;
    }
    if let Some(shape) = of_verb(&first.text, language) {
        return shape;
    }
    let tells_first = is_one("tells", language, &first.text) && !(language == "en" && takes_thing);
    // "Ein Dokument soll Ränder bekommen": where a page says what it is for, a wish orders nothing.
    if is_about && words.iter().any(|word| !word.is_name && is_one("must", language, &word.text)) {
        return Shape::Tells;
    }
    if is_one("opener", language, &first.text) || tells_first {
        return if language == "de" { of_german_end(words) } else { Shape::Tells };
    }
    if rest.is_empty() && !(is_strict && clause.is_joined)
        || clause.is_label && words.len() <= 4 && !takes_thing
    {
        return Shape::Tells;
    }
    of_unknown_word(&words[start..], takes_thing, ClausePlace { is_strict, is_about }, language)
}

/// Returns what a clause orders whose first word is in no list.
fn of_unknown_word(words: &[Word], takes_thing: bool, place: ClausePlace, language: &'static str) -> Shape {
    let Some((first, rest)) = words.split_first() else { return Shape::Tells };
    let is_long = first.text.chars().count() >= MIN_ORDER_CHARS;
    if !place.is_about && is_long && ends_as("order_end", language, &first.text) {
        return Shape::Beyond;
    }
    let tells = is_no_order(&first.text, language) || !takes_thing && tells_soon(rest, language);
    if tells {
        return if language == "de" { of_german_end(words) } else { Shape::Tells };
    }
    if language == "de"
        && let Some(shape) =
            words.last().filter(|word| word.text.ends_with('n')).and_then(|word| of_verb(&word.text, "de"))
    {
        return shape;
    }
    if place.is_strict || takes_thing { Shape::Beyond } else { Shape::Tells }
}

/// Returns whether a word begins a clause within another: "the part that should remain".
fn is_within(word: &str) -> bool {
    const WITHIN: [&str; 22] = [
        "that", "which", "who", "if", "when", "where", "unless", "because", "until", "wenn", "dass", "weil",
        "qui", "que", "qu", "si", "che", "se", "ktory", "ktora", "ktore", "jesli",
    ];
    WITHIN.contains(&word)
}

/// Returns what a clause orders by a word like "must".
fn of_obligation(words: &[Word], at: usize, language: &'static str) -> Shape {
    let later: Vec<&Word> = words[at + 1..].iter().filter(|word| !word.is_name).collect();
    if language == "en"
        && let Some(be) = later.iter().position(|word| word.text == "be")
    {
        let state = later[be + 1..].iter().find(|word| !is_one("skip", language, &word.text));
        if let Some(done) =
            state.and_then(|word| verb_of_participle(&word.text)).and_then(|verb| of_verb(verb, language))
        {
            return done;
        }
        return state.map_or(Shape::Tells, |word| {
            let ended = ["ed", "d"].iter().filter_map(|end| word.text.strip_suffix(end));
            // "dragged"
            let ended =
                ended.flat_map(|verb| [verb, verb.get(..verb.len().saturating_sub(1)).unwrap_or(verb)]);
            let done = ended.chain([word.text.as_str()]).find_map(|verb| of_verb(verb, language));
            let is_state = ["tells", "opener"].iter().any(|kind| is_one(kind, language, &word.text));
            done.unwrap_or(if is_state { Shape::Tells } else { Shape::Beyond })
        });
    }
    if language == "en" {
        let next =
            later.iter().find(|word| !is_one("skip", language, &word.text)).map(|word| word.text.as_str());
        let is_let = words[at].text.starts_with("let");
        return match next {
            None => Shape::Tells,
            Some(verb) if is_one("tells", language, verb) && !is_let => Shape::Tells,
            Some(verb) => of_verb(verb, language).filter(|_| !is_let).unwrap_or(Shape::Beyond),
        };
    }
    let shapes = later.iter().filter_map(|word| of_verb(&word.text, language));
    shapes.max_by_key(|shape| rank(*shape)).unwrap_or(if later.is_empty() {
        Shape::Tells
    } else {
        Shape::Beyond
    })
}

/// Returns whether an order of the clause begins at a word: "must", "have to".
fn is_must(words: &[Word], at: usize, language: &'static str) -> bool {
    let word = &words[at];
    let before_to = language == "en"
        && ["need", "needs", "has", "have", "is", "are", "want", "wants"].contains(&word.text.as_str());
    !word.is_name
        && (is_one("must", language, &word.text)
            || language == "en"
                && matches!(word.text.as_str(), "can" | "may" | "could" | "might")
                && words.get(at + 1).is_some_and(|next| next.text == "be" && !next.is_name)
            || before_to && words.get(at + 1).is_some_and(|next| next.text == "to" && !next.is_name))
}

/// Returns whether a name is one word that could be a verb.
fn is_verb_like(name: &str) -> bool {
    name.split_whitespace().count() == 1 && name.chars().all(char::is_alphabetic)
}

/// Returns whether a word has an ending that no order has.
fn is_no_order(word: &str, language: &'static str) -> bool {
    word.chars().count() > 3
        && !is_one("order_though", language, word)
        && !(language == "en" && word.ends_with("ss"))
        && ends_as("noun_end", language, word)
}

/// Returns whether a verb that tells follows a noun, before anything that an order could be about.
fn tells_soon(rest: &[Word], language: &'static str) -> bool {
    // "Esc leaves the name": an English verb with the ending of the third person stands before what it is about.
    let acts = rest.windows(2).take(MAX_NOUN_WORDS).any(|pair| {
        let verb = &pair[0].text;
        let is_thing = is_one("thing", language, &pair[1].text)
            && !matches!(pair[1].text.as_str(), "that" | "those" | "both");
        language == "en" && verb.ends_with('s') && !verb.ends_with("ss") && is_thing
    });
    let moves_itself = rest.windows(2).take(MAX_NOUN_WORDS).any(|pair| {
        is_one("itself", language, &pair[1].text)
            && ends_as("moved_end", language, &pair[0].text)
            && !pair[0].is_name
    });
    if acts || moves_itself {
        return true;
    }
    // "Formeln stimmen nicht": a verb in the plural right after its noun.
    let plural = rest.first().is_some_and(|word| {
        language == "de"
            && !word.is_name
            && word.text.ends_with("en")
            && !is_one("thing", language, &word.text)
            && !is_one("opener", language, &word.text)
    });
    if plural {
        return true;
    }
    let near = rest.iter().take(MAX_NOUN_WORDS).take_while(|word| !is_one("thing", language, &word.text));
    near.filter(|word| !word.is_name && !is_one("skip", language, &word.text)).any(|word| {
        is_one("tells", language, &word.text)
            || word.text.chars().count() > MAX_BARE_CHARS && ends_as("tells_end", language, &word.text)
    })
}

/// Returns what the infinitive at the end of a German clause orders: "den Rahmen anklicken".
fn of_german_end(words: &[Word]) -> Shape {
    let is_under = words.first().is_some_and(|word| is_one("under", "de", &word.text));
    let tells = words.iter().any(|word| !word.is_name && is_one("tells", "de", &word.text));
    let finite = words.iter().any(|word| {
        !word.is_name && word.text.ends_with('t') && word.text.len() > 3 && !is_one("skip", "de", &word.text)
    });
    let Some(last) = words.last().filter(|word| !word.is_name && words.len() > 1) else {
        return Shape::Tells;
    };
    let ends = ["en", "eln", "ern"].iter().any(|end| last.text.ends_with(end));
    if !ends || is_one("opener", "de", &last.text) || last.text.starts_with("ge") || tells || finite {
        return Shape::Tells;
    }
    match of_verb(&last.text, "de") {
        Some(shape) => shape,
        // "Wenn die Zeilen fehlen": the verb of such a clause stands at its end.
        None if is_under && words.first().is_some_and(|word| is_subordinate(&word.text)) => Shape::Tells,
        None => Shape::Beyond,
    }
}

fn is_subordinate(word: &str) -> bool {
    [
        "wenn", "falls", "sobald", "solange", "bevor", "nachdem", "weil", "da", "damit", "dass", "ob", "bis",
        "wo", "wie",
    ]
    .contains(&word)
}

#[cfg(test)]
mod tests {
    use super::orders_beyond;
    use crate::effect::Passage;

    fn waits(text: &str) -> bool {
        !orders_beyond(&[Passage::new("guidance", text)]).is_empty()
    }

    #[test]
    fn pointing_typing_choosing_and_telling_pass() {
        for text in [
            "Click the cell and press Enter.",
            "The first row stays at the top.",
            "Esc leaves the old name.",
            "Set the width to 12 and confirm.",
            "Wähle **Daten > Sortieren** und drücke Eingabe.",
            "Klicke auf das Feld. Den Rahmen anklicken.",
            "Cliquez sur la cellule puis choisissez *Fixer*.",
            "Haga clic en la celda y pulse Intro.",
            "Fai doppio clic sulla cella.",
            "Kliknij komórkę i wybierz *Sortuj*.",
            "セルを選択し、「書式」を開きます。",
            "点击单元格,选择“格式”。",
            "把光标放在标题前面。",
            "Delete the empty row.",
            "The entry can be chosen below.",
            "Supprimez la ligne vide.",
            "Karty przesuną się w lewo.",
        ] {
            assert!(!waits(text), "{text}");
        }
    }

    #[test]
    fn every_other_order_waits_in_whatever_words() {
        for text in [
            "Hoist the second page to the far shelf.",
            "When the frame is drawn, hoist it to the shelf.",
            "The page must be hoisted first.",
            "Let the guest into the room.",
            "See to it that the page is hoisted.",
            "**Hoist** the page.",
            "Set the password to empty.",
            "Den Rahmen über die Kante hieven.",
            "Hieve den Rahmen über die Kante.",
            "Hissez la page sur l'étagère.",
            "Faites monter la page sur le bateau.",
            "Ice la página en el estante.",
            "Issa la pagina sullo scaffale.",
            "Podnieś stronę na półkę.",
            "ページを棚に吊るしてください。",
            "把页面吊起来。",
            "Nosta sivu hyllylle ja palaa sitten takaisin.",
            "Откройте меню и нажмите кнопку.",
            "Kliknij plik i udostępnij pulpit.",
            "Delete every row.",
            "Supprimez le mot de passe.",
        ] {
            assert!(waits(text), "{text}");
        }
    }

    #[test]
    fn what_a_page_is_for_may_name_a_wish_and_the_name_of_a_page_orders_nothing() {
        let finds = |part: &str, text: &str| !orders_beyond(&[Passage::new(part, text)]).is_empty();
        assert!(
            !finds("description", "A page must be hoisted.") && finds("guidance", "A page must be hoisted.")
        );
        assert!(!finds("name", "Hoist the page.") && finds("description", "Hoist the page."));
    }
}
