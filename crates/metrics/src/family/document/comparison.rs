//! Metrics that compare the texts, tables and pictures of two documents.

use std::borrow::Cow;
use std::collections::BTreeSet;

use roxmltree::Node;

use super::super::picture;
use super::open_text::OpenText;
use super::pair::{OrScore, Pair, expected_fault, files, with_both};
use super::word::{WordFile, attribute, is};
use super::word_table::Table;
use crate::comparison::difflib::edit_similarity;
use crate::evidence::FileRef;
use crate::readers::xml;
use crate::readers::zip_reader::Archive;
use crate::scoring::{MetricError, MetricInput, Score, quote, task_error, upstream_error};

/// Maximum number of pairs of characters of two texts that are compared for their similarity.
const PAIRS: u64 = 40_000_000_000;

/// The paragraphs of both documents.
struct Paragraphs {
    found: Vec<String>,
    wanted: Vec<String>,
}

/// Compares the paragraphs of two documents, which are both docx or both odt.
pub(crate) fn compare(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let pair = match files(case)? {
        Ok(pair) => pair,
        Err(score) => return Ok(score),
    };
    let mut texts = match paragraphs(case, &pair)? {
        Ok(texts) => texts,
        Err(score) => return Ok(score),
    };
    for side in [&mut texts.found, &mut texts.wanted] {
        if case.option("ignore_order", false) {
            side.sort_unstable();
        }
        if case.option("delete_empty_lines", false) {
            side.retain(|text| !text.trim().is_empty());
        }
    }
    if case.option("content_only", false) || case.option("ignore_blanks", true) {
        let fuzzy = case.option("content_only", false) || case.option("fuzzy_match", false);
        return compare_joined(case, &texts, fuzzy);
    }
    compare_by_paragraph(case, &texts)
}

/// Reads the paragraphs of a document; the inner error is one of a document that cannot be opened.
type ReadTexts = fn(&FileRef, bool) -> Result<Result<Vec<String>, String>, MetricError>;

/// Reads the paragraphs of a docx file.
pub(super) fn word_texts(
    file: &FileRef,
    is_expected: bool,
) -> Result<Result<Vec<String>, String>, MetricError> {
    let opened = match WordFile::open(file, is_expected) {
        Ok(opened) => opened,
        Err(why) => return Ok(Err(why)),
    };
    match opened.parse() {
        Ok(word) => word.texts().map(Ok),
        Err(why) => Ok(Err(why)),
    }
}

fn paragraphs(case: &MetricInput<'_>, pair: &Pair<'_>) -> OrScore<Paragraphs> {
    let both = |ending: &str| pair.found.name.ends_with(ending) && pair.wanted.name.ends_with(ending);
    let read: ReadTexts = if both(".docx") {
        word_texts
    } else if both(".odt") {
        |file, _| Ok(OpenText::open(file).and_then(|document| document.texts()))
    } else {
        let (found, wanted) = (&pair.found.name, &pair.wanted.name);
        return Ok(Err(Score::none(format!("{found} and {wanted} are not both docx or both odt"))));
    };
    let found = match read(pair.found, false)? {
        Ok(found) => found,
        Err(why) => return Ok(Err(Score::none(why))),
    };
    match read(pair.wanted, true)? {
        Ok(wanted) => Ok(Ok(Paragraphs { found, wanted })),
        Err(why) => expected_fault(case, why).map(Err),
    }
}

fn compare_joined(case: &MetricInput<'_>, texts: &Paragraphs, fuzzy: bool) -> Result<Score, MetricError> {
    let joined = |side: &[String]| fold(case, &collapse(side)).into_owned();
    let (found, wanted) = (joined(&texts.found), joined(&texts.wanted));
    if fuzzy {
        let score = similarity(&found, &wanted)?;
        return Ok(Score { score, explanation: format!("the texts are similar by {score}") });
    }
    if found == wanted {
        return Ok(Score::full("the texts are equal"));
    }
    let at = found.char_indices().zip(wanted.chars()).find(|((_, a), b)| a != b);
    let at = at.map_or(found.len().min(wanted.len()), |((at, _), _)| at);
    let (found, wanted) = (found.get(at..).unwrap_or_default(), wanted.get(at..).unwrap_or_default());
    Ok(Score::none(format!("from character {at} the text is {}, expected {}", quote(found), quote(wanted))))
}

fn compare_by_paragraph(case: &MetricInput<'_>, texts: &Paragraphs) -> Result<Score, MetricError> {
    let (found, wanted) = (texts.found.len(), texts.wanted.len());
    if found != wanted {
        return Ok(Score::none(format!("{found} paragraphs, expected {wanted}")));
    }
    let pairs = texts.found.iter().zip(&texts.wanted);
    let mut pairs = pairs.map(|(found, wanted)| (fold(case, found), fold(case, wanted)));
    if case.option("fuzzy_match", false) {
        let mut sum = 0.0;
        for (found, wanted) in pairs {
            sum += similarity(&found, &wanted)?;
        }
        let score = if texts.found.is_empty() { 1.0 } else { sum / length(texts.found.len()) };
        return Ok(Score { score, explanation: format!("the paragraphs are similar by {score}") });
    }
    Ok(match pairs.find(|(found, wanted)| found != wanted) {
        None => Score::full("the paragraphs are equal"),
        Some((found, wanted)) => {
            Score::none(format!("a paragraph is {}, expected {}", quote(&found), quote(&wanted)))
        }
    })
}

fn fold<'t>(case: &MetricInput<'_>, text: &'t str) -> Cow<'t, str> {
    if case.option("ignore_case", false) { text.to_lowercase().into() } else { text.into() }
}

/// Joins paragraphs, with each run of blanks as one space.
fn collapse(paragraphs: &[String]) -> String {
    let words = paragraphs.iter().flat_map(|text| text.split_whitespace());
    words.fold(String::new(), |mut whole, word| {
        if !whole.is_empty() {
            whole.push(' ');
        }
        whole.push_str(word);
        whole
    })
}

/// Returns the similarity of two texts from 0 to 1, within a limit of their length.
pub(crate) fn similarity(found: &str, wanted: &str) -> Result<f64, MetricError> {
    if (found.len() as u64).saturating_mul(wanted.len() as u64) > PAIRS {
        return Err(task_error("the texts are too long to be compared for their similarity"));
    }
    Ok(edit_similarity(found, wanted) / 100.0)
}

fn length(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

/// Compares the paragraphs without the empty ones.
pub(crate) fn compare_without_empty_lines(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let pair = match files(case)? {
        Ok(pair) => pair,
        Err(score) => return Ok(score),
    };
    if !pair.found.name.ends_with(".docx") || !pair.wanted.name.ends_with(".docx") {
        return Ok(Score::none(format!("{} and {} are not both docx", pair.found.name, pair.wanted.name)));
    }
    let mut texts = match paragraphs(case, &pair)? {
        Ok(texts) => texts,
        Err(score) => return Ok(score),
    };
    texts.found.retain(|text| !text.is_empty());
    texts.wanted.retain(|text| !text.is_empty());
    let (found, wanted) = (&texts.found, &texts.wanted);
    let same = if case.option("ignore_blanks", true) {
        collapse(found) == collapse(wanted)
    } else {
        found == wanted
    };
    let explanation = if same { "equal" } else { "different" };
    Ok(Score::of(same, format!("the paragraphs that are not empty are {explanation}")))
}

/// Compares the paragraphs that both documents have.
pub(crate) fn init_lines(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    with_both(case, |found, wanted| {
        let (found, wanted) = (found.texts()?, wanted.texts()?);
        Ok(match found.iter().zip(&wanted).find(|(found, wanted)| found != wanted) {
            None => Score::full("the paragraphs are equal as far as both documents go"),
            Some((found, wanted)) => {
                Score::none(format!("a paragraph is {}, expected {}", quote(found), quote(wanted)))
            }
        })
    })
}

/// Compares the sets of lines.
pub(crate) fn lines(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    with_both(case, |found, wanted| {
        let set = |texts: Vec<String>| -> BTreeSet<String> {
            texts.iter().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()).collect()
        };
        let (found, wanted) = (set(found.texts()?), set(wanted.texts()?));
        let missing = wanted.difference(&found).map(|line| format!("no line {}", quote(line)));
        let surplus = found.difference(&wanted).map(|line| format!("unexpected line {}", quote(line)));
        let complaints: Vec<String> = missing.chain(surplus).take(20).collect();
        Ok(Score::unless(&complaints, "both documents have the same lines"))
    })
}

/// Compares number, size and texts of the tables.
pub(crate) fn tables(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    with_both(case, |found, wanted| {
        let (tables, expected) = (found.tables()?, wanted.tables()?);
        if tables.len() != expected.len() {
            return Ok(Score::none(format!("{} tables, expected {}", tables.len(), expected.len())));
        }
        for (number, (table, other)) in tables.into_iter().zip(expected).enumerate() {
            let (table, other) = (Table::new(found, table), Table::new(wanted, other));
            let (rows, lines) = (table.rows(), other.rows());
            if rows != lines {
                return Ok(Score::none(format!("table {number} has {rows} rows, expected {lines}")));
            }
            let (columns, across) = (table.columns()?, other.columns()?);
            if columns != across {
                return Ok(Score::none(format!("table {number} has {columns} columns, expected {across}")));
            }
            if rows == 0 || columns == 0 {
                continue;
            }
            let (texts, others) = (table.texts()?, other.texts()?);
            for place in 0..rows * columns {
                let missing = |word: &super::word::Word<'_>| word.fault("a row of a table is too short");
                let text = texts.get(place).ok_or_else(|| missing(found))?.trim();
                let expected = others.get(place).ok_or_else(|| missing(wanted))?.trim();
                if text != expected {
                    let (row, column) = (place / columns, place % columns);
                    let message = format!("cell {row}, {column} of table {number} is {}", quote(text));
                    return Ok(Score::none(format!("{message}, expected {}", quote(expected))));
                }
            }
        }
        Ok(Score::full("the tables are equal"))
    })
}

/// Compares the pictures of two documents pixel by pixel.
pub(crate) fn images(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let pair = match files(case)? {
        Ok(pair) => pair,
        Err(score) => return Ok(score),
    };
    let found = match WordFile::open(pair.found, false) {
        Ok(found) => found.pictures()?,
        Err(why) => return Ok(Score::none(why)),
    };
    let wanted = match WordFile::open(pair.wanted, true) {
        Ok(wanted) => wanted.pictures()?,
        Err(why) => return expected_fault(case, why),
    };
    if found.len() != wanted.len() {
        return Ok(Score::none(format!("{} pictures, expected {}", found.len(), wanted.len())));
    }
    for (number, (found, wanted)) in found.iter().zip(&wanted).enumerate() {
        let name = |side: &str| format!("picture {number} of the {side}");
        let read = picture::pixels(found).map_err(|why| why.of(&name("result")))?;
        let other = picture::pixels(wanted)
            .map_err(|why| task_error(why.of(&name("expected")).message().to_owned()))?;
        if read != other {
            return Ok(Score::none(format!("picture {number} differs")));
        }
    }
    Ok(Score::full(format!("all {} pictures are equal", found.len())))
}

/// Compares the items after a heading by their similarity, rescaled above a base.
pub(crate) fn references(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let pair = match files(case)? {
        Ok(pair) => pair,
        Err(score) => return Ok(score),
    };
    if !pair.found.name.ends_with(".docx") || !pair.wanted.name.ends_with(".docx") {
        return Ok(Score::none(format!("{} and {} are not both docx", pair.found.name, pair.wanted.name)));
    }
    let heading = match case.options.get("reference_indicator") {
        None => "References",
        Some(value) => value.as_str().ok_or_else(|| task_error("`reference_indicator` must be a text"))?,
    };
    let base = match case.options.get("reference_base_result") {
        None => 0.5,
        Some(value) => {
            value.as_f64().ok_or_else(|| task_error("`reference_base_result` must be a number"))?
        }
    };
    let texts = match paragraphs(case, &pair)? {
        Ok(texts) => texts,
        Err(score) => return Ok(score),
    };
    let (found, wanted) = match (after(&texts.found, heading), after(&texts.wanted, heading)) {
        (Some(found), Some(wanted)) => (found, wanted),
        (None, None) => return Ok(Score::full(format!("neither document has a paragraph {heading:?}"))),
        _ => return Ok(Score::none(format!("only one document has a paragraph {heading:?}"))),
    };
    if found.len() != wanted.len() {
        return Ok(Score::none(format!("{} references, expected {}", found.len(), wanted.len())));
    }
    if found.is_empty() {
        return Err(upstream_error("both documents have no references"));
    }
    let mut sum = 0.0;
    for (found, wanted) in found.iter().zip(&wanted) {
        sum += similarity(found, wanted)?;
    }
    let mean = sum / length(found.len());
    let score = if mean >= base + 0.01 { (mean - base) / (1.0 - base) } else { 0.0 };
    Ok(Score { score, explanation: format!("the references are similar by {mean}") })
}

fn after<'t>(texts: &'t [String], heading: &str) -> Option<Vec<&'t str>> {
    let at = texts.iter().position(|text| text == heading)?;
    let rest = texts.iter().skip(at + 1).map(String::as_str);
    Some(rest.filter(|text| !text.trim().is_empty()).collect())
}

/// Compares the sets of highlighted texts.
pub(crate) fn highlighted_text(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let pair = match files(case)? {
        Ok(pair) => pair,
        Err(score) => return Ok(score),
    };
    let found = highlighted(pair.found).map_err(upstream_error)?;
    let wanted = highlighted(pair.wanted).map_err(task_error)?;
    let same = found == wanted;
    let explanation = if same { "the highlighted texts are equal" } else { "the highlighted texts differ" };
    Ok(Score::of(same, explanation))
}

fn highlighted(file: &FileRef) -> Result<BTreeSet<String>, String> {
    let mut archive = Archive::open(&file.bytes)?;
    let text = archive.text("word/document.xml")?.ok_or("the document has no main part")?;
    let tree = xml::read(&text)?;
    let first = |run: Node<'_, '_>, name: &str| {
        run.descendants().skip(1).find(|node| is(*node, name)).map(|node| node.id())
    };
    let mut found = BTreeSet::new();
    for run in tree.descendants().filter(|node| is(*node, "r")) {
        let mark = first(run, "highlight").and_then(|id| tree.get_node(id));
        if mark.is_none_or(|node| attribute(node, "val") == Some("none")) {
            continue;
        }
        if let Some(text) = first(run, "t").and_then(|id| tree.get_node(id)) {
            found.insert(xml::text(text).to_owned());
        }
    }
    Ok(found)
}
