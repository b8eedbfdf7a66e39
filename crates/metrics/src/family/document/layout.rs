//! Metrics of the layout of paragraphs and pages: spacing, tab stops, alignment, breaks, footers.

use regex::Regex;
use roxmltree::Node;
use serde_json::Value;
use std::sync::LazyLock;

use super::comparison::compare;
use super::pair::{with_both, with_one};
use super::word::{Word, attribute, child, children, is, paragraph_text, runs};
use crate::scoring::{MetricError, MetricInput, Score, quote, task_error};

/// The characters that Python's `isdigit` accepts.
static DIGIT: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"[\p{Nd}²³¹፩-፱᧚⁰⁴-⁹₀-₉①-⑨⑴-⑼⒈-⒐⓪⓵-⓽⓿❶-❾➀-➈➊-➒𐩀-𐩃𐹠-𐹨𑁒-𑁚🄀-🄊]").ok());

/// Passes if the texts are equal and all paragraphs have the same line spacing.
pub(crate) fn line_spacing(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let none = serde_json::Map::new();
    let same = compare(&MetricInput { options: &none, ..*case })?;
    if same.score == 0.0 {
        return Ok(same);
    }
    with_both(case, |found, wanted| {
        let (paragraphs, others) = (found.paragraphs()?, wanted.paragraphs()?);
        if paragraphs.len() != others.len() {
            return Ok(Score::none(format!("{} paragraphs, expected {}", paragraphs.len(), others.len())));
        }
        for (paragraph, other) in paragraphs.into_iter().zip(others) {
            let (spacing, expected) = (spacing_of(found, paragraph)?, spacing_of(wanted, other)?);
            if spacing != expected {
                let text = quote(&paragraph_text(paragraph));
                return Ok(Score::none(format!("{text} has the spacing {spacing:?}, expected {expected:?}")));
            }
        }
        Ok(Score::full("all paragraphs have the expected spacing"))
    })
}

/// Returns a paragraph's own line spacing: a number of lines, or a length.
fn spacing_of(word: &Word<'_>, paragraph: Node<'_, '_>) -> Result<Option<f64>, MetricError> {
    let node = child(paragraph, "pPr").and_then(|node| child(node, "spacing"));
    let Some(node) = node else { return Ok(None) };
    let line = word.twips(node, "line", true)?.map(|line| line as f64);
    Ok(match attribute(node, "lineRule") {
        None | Some("auto") => line.map(|line| line / 152_400.0),
        Some("exact" | "atLeast") => line,
        Some(other) => return Err(word.fault(format!("unknown rule of line spacing {other:?}"))),
    })
}

/// Passes if the first three paragraphs have single, double and one and a half line spacing.
pub(crate) fn spacing(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    with_one(case, |word| {
        let paragraphs = word.paragraphs()?;
        if paragraphs.len() < 3 {
            return Err(word.fault("the document has fewer than three paragraphs"));
        }
        let mut found = Vec::new();
        for paragraph in paragraphs.into_iter().take(3) {
            found.push(spacing_of(word, paragraph)?);
        }
        let passed = found == [Some(1.0), Some(2.0), Some(1.5)];
        Ok(Score::of(passed, format!("the first three paragraphs have the spacings {found:?}")))
    })
}

/// A tab stop that is neither cleared nor the default one.
struct TabStop<'w> {
    alignment: &'w str,
    position: i64,
}

fn tab_stops_of<'w>(word: &Word<'_>, paragraph: Node<'w, '_>) -> Result<Vec<TabStop<'w>>, MetricError> {
    const KNOWN: [&str; 9] = ["left", "center", "right", "decimal", "bar", "list", "clear", "end", "num"];
    let tabs = child(paragraph, "pPr").and_then(|node| child(node, "tabs"));
    let mut stops = Vec::new();
    for node in tabs.into_iter().flat_map(|tabs| children(tabs, "tab")) {
        let alignment = attribute(node, "val").filter(|name| KNOWN.contains(name) || *name == "start");
        let alignment = alignment.ok_or_else(|| word.fault("a tab stop has no known alignment"))?;
        if alignment == "clear" {
            continue;
        }
        let position = word.twips(node, "pos", true)?;
        let position = position.ok_or_else(|| word.fault("a tab stop has no position"))?;
        if alignment != "left" || position != 0 {
            stops.push(TabStop { alignment, position });
        }
    }
    Ok(stops)
}

/// Returns the distance of the tab stops of two documents, as a part of the text's width, from the full score.
pub(crate) fn tab_stops(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    with_both(case, |found, wanted| {
        let has_text = |node: &Node<'_, '_>| !paragraph_text(*node).trim().is_empty();
        let paragraphs: Vec<_> = found.paragraphs()?.into_iter().filter(has_text).collect();
        let others: Vec<_> = wanted.paragraphs()?.into_iter().filter(has_text).collect();
        if paragraphs.len() != others.len() {
            let message = format!("{} paragraphs with text, expected {}", paragraphs.len(), others.len());
            return Ok(Score::none(message));
        }
        if let Some(wrong) = wrong_words(case, &paragraphs)? {
            return Ok(Score::none(wrong));
        }
        let width = text_width(wanted)?;
        if paragraphs.is_empty() {
            return Err(found.fault("neither document has a paragraph with text"));
        }
        let mut distance = 0.0;
        for (paragraph, other) in paragraphs.iter().zip(&others) {
            let (stops, expected) = (tab_stops_of(found, *paragraph)?, tab_stops_of(wanted, *other)?);
            let same = |(one, other): (&TabStop<'_>, &TabStop<'_>)| one.alignment == other.alignment;
            if stops.len() != expected.len() || !stops.iter().zip(&expected).all(same) {
                let text = quote(&paragraph_text(*paragraph));
                return Ok(Score::none(format!("{text} has other tab stops than expected")));
            }
            let apart = stops.iter().zip(&expected).map(|(one, other)| (one.position - other.position).abs());
            distance += apart.sum::<i64>() as f64 / width;
        }
        let score = 1.0 - distance / paragraphs.len() as f64;
        Ok(Score { score, explanation: format!("the tab stops are {distance} widths of the text away") })
    })
}

/// Checks the number of words in the part of each paragraph that `index` names, between tabs.
fn wrong_words(case: &MetricInput<'_>, paragraphs: &[Node<'_, '_>]) -> Result<Option<String>, MetricError> {
    let Some(number) = case.options.get("word_number_split_by_tabstop").filter(|value| !value.is_null())
    else {
        return Ok(None);
    };
    let index = case.options.get("index").map_or(Some(0), Value::as_i64);
    let index = index.ok_or_else(|| task_error("`index` must be a whole number"))?;
    for paragraph in paragraphs {
        let text = paragraph_text(*paragraph);
        let parts: Vec<&str> = text.split('\t').collect();
        let at = if index < 0 { index + i64::try_from(parts.len()).unwrap_or(i64::MAX) } else { index };
        let part = usize::try_from(at).ok().and_then(|at| parts.get(at));
        let part = part.ok_or_else(|| {
            crate::scoring::upstream_error(format!("{} has no part {index} between tabs", quote(&text)))
        })?;
        let words = part.split_whitespace().count();
        if !crate::comparison::value::equal(&Value::from(words), number) {
            return Ok(Some(format!("{} has {words} words, expected {number}", quote(part))));
        }
    }
    Ok(None)
}

/// Returns the width between the margins of the first section.
fn text_width(word: &Word<'_>) -> Result<f64, MetricError> {
    let sections = word.sections();
    let section = sections.first().ok_or_else(|| word.fault("the document has no section"))?;
    let length = |element: &str, name: &str, signed: bool| {
        let node = child(*section, element).map(|node| word.twips(node, name, signed));
        let length = node.transpose()?.flatten();
        length.ok_or_else(|| word.fault(format!("the section has no {element} with {name}")))
    };
    let width = length("pgSz", "w", false)?;
    let width = width - length("pgMar", "left", false)? - length("pgMar", "right", false)?;
    if width == 0 { Err(word.fault("the text has no width")) } else { Ok(width as f64) }
}

/// Passes if the document has page breaks, and as many as wanted.
pub(crate) fn page_breaks(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    with_one(case, |word| {
        let runs = word.paragraphs()?.into_iter().flat_map(runs);
        let breaks = runs.flat_map(|run| run.descendants().filter(|node| is(*node, "br")));
        let count = breaks.filter(|node| attribute(*node, "type") == Some("page")).count();
        let wanted = case.rules().ok().and_then(|rules| rules.get("page_break_count"));
        let wanted = wanted.filter(|wanted| !wanted.is_null());
        let as_wanted =
            wanted.is_none_or(|wanted| crate::comparison::value::equal(&Value::from(count), wanted));
        Ok(Score::of(as_wanted && count > 0, format!("the document has {count} page breaks")))
    })
}

/// Passes if the first paragraph is centred.
pub(crate) fn first_line_centered(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    const KNOWN: [&str; 8] =
        ["left", "center", "right", "both", "distribute", "mediumKashida", "highKashida", "lowKashida"];
    with_one(case, |word| {
        let paragraphs = word.paragraphs()?;
        let first = paragraphs.first().ok_or_else(|| word.fault("the document has no paragraph"))?;
        let node = child(*first, "pPr").and_then(|node| child(node, "jc"));
        let alignment = node.and_then(|node| attribute(node, "val"));
        if node.is_some() && alignment.is_none_or(|name| !KNOWN.contains(&name)) {
            return Err(word.fault("the first paragraph has no known alignment"));
        }
        let told = alignment.unwrap_or("not aligned by itself");
        Ok(Score::of(alignment == Some("center"), format!("the first paragraph is {told}")))
    })
}

/// Passes if the first paragraph of each section's footer has a digit.
pub(crate) fn footers(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    with_one(case, |word| {
        let has_digit = |text: &String| DIGIT.as_ref().is_some_and(|digit| digit.is_match(text));
        Ok(match word.footers()?.iter().find(|text| !has_digit(text)) {
            Some(text) => Score::none(format!("the footer {} has no number", quote(text))),
            None => Score::full("all footers have a number"),
        })
    })
}

/// Passes if each sentence of more than two words begins with three words that single spaces separate, before others.
pub(crate) fn alignment(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    with_one(case, |word| {
        for text in word.texts()? {
            for sentence in text.split('.') {
                let words: Vec<&str> = sentence.split_whitespace().collect();
                if words.len() < 3 {
                    continue;
                }
                let (first, second) = (words[..3].join(" "), words[3..].join(" "));
                let in_order = match (sentence.find(&first), sentence.find(&second)) {
                    (Some(first), Some(second)) => first < second,
                    _ => false,
                };
                if !in_order {
                    return Ok(Score::none(format!("{} is not split after three words", quote(sentence))));
                }
            }
        }
        Ok(Score::full("all sentences are split after three words"))
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn digits_are_those_of_every_script_and_no_other_numbers() {
        let digit = super::DIGIT.as_ref().expect("the pattern is valid");
        assert!(["7", "٣", "²", "①"].iter().all(|text| digit.is_match(text)));
        assert!(!["½", "Ⅷ", "page", "三"].iter().any(|text| digit.is_match(text)));
    }
}
