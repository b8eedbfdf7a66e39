//! Orders in Japanese and Chinese, which part no words: in Japanese the verb ends a clause, in Chinese it begins one.

use super::lexicon::plain;
use super::order_words::{Shape, rank, word_set};

/// What stands for a name between marks.
const NAME: char = '¤';
/// Longest text after the stem of a Japanese verb: `してください`, `ておきましょう`.
const MAX_ENDING_CHARS: usize = 9;

/// Returns what a Japanese sentence orders, and by which clause.
pub(super) fn japanese(sentence: &str) -> (Shape, String) {
    worst(&without_names(sentence), of_japanese)
}

/// Returns what a Chinese sentence orders, and by which clause.
pub(super) fn chinese(sentence: &str, is_about: bool) -> (Shape, String) {
    let found = worst(&without_names(sentence), of_chinese);
    // What a page is for is told with nouns alone, unless the thing stands before the verb.
    let is_noun = is_about && found.0 == Shape::Beyond && !found.1.contains(['把', '将']);
    if is_noun { (Shape::Tells, String::new()) } else { found }
}

fn worst(text: &str, of: fn(&str) -> Shape) -> (Shape, String) {
    let is_mark = |c: char| "、。，；：,;:()（）！？!?.・→—–\n".contains(c);
    let mut worst = (Shape::Tells, String::new());
    for clause in text.split(is_mark).map(str::trim).filter(|clause| !clause.is_empty()) {
        let shape = of(clause);
        if rank(shape) > rank(worst.0) {
            worst = (shape, clause.to_owned());
        }
    }
    worst
}

/// Returns a plain text with a sign in the place of each name, key and number.
fn without_names(sentence: &str) -> String {
    let mut text = String::new();
    let mut until: Option<char> = None;
    for c in sentence.replace("**", "*").chars() {
        match until {
            Some(end) if c == end => until = None,
            Some(_) => {}
            None => {
                until = match c {
                    '「' => Some('」'),
                    '『' => Some('』'),
                    '“' => Some('”'),
                    '《' => Some('》'),
                    '【' => Some('】'),
                    '"' | '`' | '*' => Some(c),
                    _ => None,
                };
                let is_key =
                    c.is_ascii_alphanumeric() || matches!(c, '+' | '>' | '/' | '_' | '=' | '%' | '-');
                match until.is_some() || is_key {
                    true if text.ends_with(NAME) => {}
                    true => text.push(NAME),
                    false if c.is_whitespace() => {}
                    false => text.push(c),
                }
            }
        }
    }
    plain(&text)
}

fn stem_at_start(kind: &'static str, language: &'static str, text: &str) -> Option<usize> {
    let stems = &word_set(kind, language)?.stems;
    stems.iter().find(|stem| text.starts_with(stem.as_str())).map(String::len)
}

/// Returns what a verb orders with whose stem a text begins.
fn of_start(language: &'static str, text: &str) -> Option<Shape> {
    let kinds = [("remove", Shape::Removes), ("point", Shape::Points), ("change", Shape::Changes)];
    kinds.into_iter().find(|(kind, _)| stem_at_start(kind, language, text).is_some()).map(|(_, shape)| shape)
}

/// Returns how long the stem of a verb that tells is, if one stands at a place. One in hiragana follows a particle: after
/// another sign it is the ending of that verb.
fn tells_at(text: &str, at: usize) -> Option<usize> {
    let length = stem_at_start("tells", "ja", &text[at..])?;
    let is_ending = text[at..at + length].chars().all(is_hiragana)
        && text[..at].chars().next_back().is_some_and(|before| !"がはにともでをへ¤".contains(before));
    (!is_ending).then_some(length)
}

fn is_hiragana(c: char) -> bool {
    matches!(u32::from(c), 0x3041..=0x309f) || c == 'ー'
}

fn of_japanese(clause: &str) -> Shape {
    if ["とき", "時", "場合", "ときに使う", "ときに"].iter().any(|end| clause.ends_with(end)) {
        return Shape::Tells;
    }
    let mut worst = Shape::Tells;
    // The verb of each thing that something is done with.
    for part in clause.split('を').skip(1) {
        let shape = match verb_in(part) {
            Some(shape) => shape,
            None if part.is_empty() => Shape::Tells,
            None => Shape::Beyond,
        };
        if rank(shape) > rank(worst) {
            worst = shape;
        }
    }
    let ended = of_japanese_end(clause);
    if rank(ended) > rank(worst) { ended } else { worst }
}

/// Returns what the first verb after a thing orders.
fn verb_in(part: &str) -> Option<Shape> {
    for (at, _) in part.char_indices() {
        if let Some(shape) = of_start("ja", &part[at..]) {
            return Some(shape);
        }
        if tells_at(part, at).is_some() {
            return Some(Shape::Tells);
        }
        // Another verb stands before.
        if part[at..].starts_with('て') || part[at..].starts_with("して") {
            return None;
        }
    }
    None
}

/// Returns what the verb at the end of a clause orders.
fn of_japanese_end(clause: &str) -> Shape {
    let ending = clause.chars().rev().take_while(|c| is_hiragana(*c)).count();
    if ending == 0 || ending == clause.chars().count() && ending < 3 {
        return Shape::Tells;
    }
    let particles = [
        "は",
        "が",
        "に",
        "と",
        "も",
        "の",
        "へ",
        "や",
        "から",
        "まで",
        "では",
        "には",
        "とき",
        "ほど",
        "など",
        "だけ",
        "より",
        "ので",
        "ため",
        "ように",
        "なら",
        "の場合",
    ];
    let start = clause.char_indices().rev().nth(MAX_ENDING_CHARS + 4).map_or(0, |(at, _)| at);
    let tail = &clause[start..];
    let mut best: Option<(usize, Shape)> = None;
    for (at, _) in tail.char_indices() {
        for (kind, shape) in [
            ("point", Shape::Points),
            ("change", Shape::Changes),
            ("remove", Shape::Removes),
            ("tells", Shape::Tells),
        ] {
            let length =
                if kind == "tells" { tells_at(tail, at) } else { stem_at_start(kind, "ja", &tail[at..]) };
            let Some(length) = length else { continue };
            let after = &tail[at + length..];
            if after.chars().all(is_hiragana)
                && after.chars().count() <= MAX_ENDING_CHARS
                && best.is_none_or(|(old, _)| old < length)
            {
                best = Some((length, shape));
            }
        }
    }
    match best {
        Some((_, shape)) => shape,
        None if particles.iter().any(|particle| clause.ends_with(particle)) => Shape::Tells,
        None if clause.ends_with(|c| "るうくすつぬむぐぶてでたろよんいしせりえけめれ".contains(c)) => {
            Shape::Beyond
        }
        None => Shape::Tells,
    }
}

fn of_chinese(clause: &str) -> Shape {
    let mut text = clause;
    while let Some(length) = stem_at_start("skip", "zh", text).filter(|_| of_start("zh", text).is_none()) {
        text = &text[length..];
    }
    if text.chars().count() < 2 || ["时", "时使用", "时用", "的话"].iter().any(|end| text.ends_with(end))
    {
        return Shape::Tells;
    }
    if text.contains('让') {
        return Shape::Beyond;
    }
    // "把 X 拖到 Y": the verb stands after its thing. One sign alone may be part of a name, unless it says where to.
    if let Some(at) = text.find(['把', '将']) {
        let verbs = text[at..].char_indices().filter_map(|(offset, sign)| {
            let rest = &text[at + offset..];
            let is_long = ["point", "change", "remove"]
                .iter()
                .any(|kind| stem_at_start(kind, "zh", rest).is_some_and(|length| length > sign.len_utf8()));
            let after = &rest[sign.len_utf8()..];
            let is_moved = ["到", "在", "成", "入", "为", "进", "回"].iter().any(|to| after.starts_with(to));
            of_start("zh", rest).filter(|_| is_long || is_moved)
        });
        return verbs.max_by_key(|shape| rank(*shape)).unwrap_or(Shape::Beyond);
    }
    if let Some(must) = word_set("must", "zh")
        && let Some((at, length)) =
            must.stems.iter().find_map(|stem| text.find(stem.as_str()).map(|at| (at, stem.len())))
    {
        let mut later = &text[at + length..];
        while let Some(length) =
            stem_at_start("skip", "zh", later).filter(|_| of_start("zh", later).is_none())
        {
            later = &later[length..];
        }
        return of_start("zh", later).unwrap_or(if later.is_empty() { Shape::Tells } else { Shape::Beyond });
    }
    if let Some(shape) = of_start("zh", text) {
        return shape;
    }
    if text.starts_with(['在', '从'])
        && let Some((at, mark)) =
            text.char_indices().skip(2).find(|(_, c)| "里中上下内后时前处旁".contains(*c))
        && !text[at + mark.len_utf8()..].is_empty()
    {
        return of_chinese(&text[at + mark.len_utf8()..]);
    }
    if text.starts_with(NAME) || stem_at_start("opener", "zh", text).is_some() {
        return Shape::Tells;
    }
    let tells = [
        "会", "是", "显示", "出现", "变", "有", "不", "可以", "表示", "位于", "时", "的话", "在", "生效",
        "已", "即", "太", "很", "更", "保持",
    ];
    if tells.iter().any(|word| text.contains(word)) { Shape::Tells } else { Shape::Beyond }
}
