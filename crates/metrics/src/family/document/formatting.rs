//! Metrics of the formatting of runs: fonts, colours, marks.

use roxmltree::Node;

use super::color::{Rgb, difference};
use super::comparison::compare;
use super::open_text::OpenText;
use super::pair::{files, with_both, with_one};
use super::word::{Word, attribute, child, children, is, paragraph_text, run_text, runs};
use super::word_table::Table;
use crate::scoring::{MetricError, MetricInput, Score, quote};

/// Passes if each run has this font.
pub(crate) fn font_names(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let wanted = case.rule("font_name");
    with_one(case, |word| {
        let wanted = wanted?;
        for run in word.paragraphs()?.into_iter().flat_map(runs) {
            let fonts = child(run, "rPr").and_then(|node| child(node, "rFonts"));
            let name = fonts.and_then(|node| attribute(node, "ascii"));
            if name != wanted.as_str() {
                let name = name.map_or("of no font of its own".to_owned(), |name| format!("in {name}"));
                return Ok(Score::none(format!("{} is {name}", quote(&run_text(run)))));
            }
        }
        Ok(Score::full("all runs have the font"))
    })
}

/// Passes if two runs at the same place are both subscripts.
pub(crate) fn subscript(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    with_both(case, |found, wanted| {
        for (run, other) in aligned_runs(found, wanted)? {
            if is_subscript(found, run)? && is_subscript(wanted, other)? {
                return Ok(Score::full("both documents have a subscript at the same place"));
            }
        }
        Ok(Score::none("no subscript at the place of an expected one"))
    })
}

fn is_subscript(word: &Word<'_>, run: Node<'_, '_>) -> Result<bool, MetricError> {
    Ok(word.value(run, "vertAlign")? == Some("subscript"))
}

/// A run of each document, at the same place of paragraphs at the same place.
type RunPair<'a, 'f, 'g> = (Node<'a, 'f>, Node<'a, 'g>);

fn aligned_runs<'a, 'f, 'g>(
    found: &'a Word<'f>,
    wanted: &'a Word<'g>,
) -> Result<Vec<RunPair<'a, 'f, 'g>>, MetricError> {
    let paragraphs = found.paragraphs()?.into_iter().zip(wanted.paragraphs()?);
    Ok(paragraphs.flat_map(|(one, other)| runs(one).zip(runs(other))).collect())
}

/// Passes if the texts are equal and two runs at the same place both hold an embedded object.
pub(crate) fn equation(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    after_same_text(case, |case| {
        with_both(case, |found, wanted| {
            let has = |run: Node<'_, '_>| run.descendants().any(|node| is(node, "object"));
            let same = aligned_runs(found, wanted)?.into_iter().any(|(run, other)| has(run) && has(other));
            let explanation = if same { "an object" } else { "no object" };
            Ok(Score::of(same, format!("{explanation} at the place of an expected one")))
        })
    })
}

/// Passes if runs at the same place both hold a picture, or neither does.
pub(crate) fn has_images(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    with_both(case, |found, wanted| {
        let has = |word: &Word<'_>, run: Node<'_, '_>| word.source(run).contains("graphicData");
        let pairs = aligned_runs(found, wanted)?;
        let differ = pairs.into_iter().any(|(run, other)| has(found, run) != has(wanted, other));
        let explanation =
            if differ { "a picture is missing or unexpected" } else { "pictures are where expected" };
        Ok(Score::of(!differ, explanation))
    })
}

/// Runs a metric if the texts of both documents are equal.
fn after_same_text(
    case: &MetricInput<'_>,
    run: impl FnOnce(&MetricInput<'_>) -> Result<Score, MetricError>,
) -> Result<Score, MetricError> {
    let none = serde_json::Map::new();
    let same = compare(&MetricInput { options: &none, ..*case })?;
    if same.score == 0.0 { Ok(same) } else { run(case) }
}

/// Passes if the texts are equal and italic runs have a size of 14 points.
pub(crate) fn italic_size(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    after_same_text(case, |case| {
        with_one(case, |word| {
            for run in word.paragraphs()?.into_iter().flat_map(runs) {
                if word.flag(run, "i")? != Some(true) {
                    continue;
                }
                let size = word.value(run, "sz")?.map(|text| word.length(text, 6350.0, false)).transpose()?;
                if size != Some(14 * 12_700) {
                    return Ok(Score::none(format!("{} is not of 14 points", quote(&run_text(run)))));
                }
            }
            Ok(Score::full("all italic runs are of 14 points"))
        })
    })
}

/// Passes if the texts are equal and all runs of the last paragraph are struck through.
pub(crate) fn strike_through(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    after_same_text(case, |case| {
        with_one(case, |word| {
            let paragraphs = word.paragraphs()?;
            let last = paragraphs.last().ok_or_else(|| word.fault("the document has no paragraph"))?;
            for run in runs(*last) {
                if word.flag(run, "strike")? != Some(true) {
                    return Ok(Score::none(format!("{} is not struck through", quote(&run_text(run)))));
                }
            }
            Ok(Score::full(format!("{} is struck through", quote(&paragraph_text(*last)))))
        })
    })
}

/// Passes if the texts are equal and no span is highlighted in yellow.
pub(crate) fn highlighted_words(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    after_same_text(case, |case| {
        let pair = match files(case)? {
            Ok(pair) => pair,
            Err(score) => return Ok(score),
        };
        let found = OpenText::open(pair.found).and_then(|document| document.has_span_background("#ffff00"));
        let highlighted = found.map_err(crate::scoring::upstream_error)?;
        let explanation = if highlighted { "a span is highlighted" } else { "no span is highlighted" };
        Ok(Score::of(!highlighted, explanation))
    })
}

/// Runs a function on each paragraph of each cell of each table, until one answers.
fn first_in_tables<T>(
    word: &Word<'_>,
    mut look: impl FnMut(Node<'_, '_>) -> Result<Option<T>, MetricError>,
) -> Result<Option<T>, MetricError> {
    for table in word.tables()? {
        let table = Table::new(word, table);
        for row in 0..table.rows() {
            for cell in table.row(row)? {
                for run in children(cell, "p").flat_map(runs) {
                    if let Some(answer) = look(run)? {
                        return Ok(Some(answer));
                    }
                }
            }
        }
    }
    Ok(None)
}

/// Passes if the texts are equal and, in tables, words that begin with a vowel are red and the others blue.
pub(crate) fn colored_words(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    after_same_text(case, |case| {
        let threshold = case.options.get("threshold").map_or(Some(3.5), serde_json::Value::as_f64);
        let threshold =
            threshold.ok_or_else(|| crate::scoring::task_error("`threshold` must be a number"))?;
        with_one(case, |word| {
            let wrong = first_in_tables(word, |run| {
                let text = run_text(run);
                let Some(first) = text.chars().next() else { return Ok(None) };
                let vowel = matches!(first.to_ascii_lowercase(), 'a' | 'e' | 'i' | 'o' | 'u');
                let wanted = if vowel { Rgb([255, 0, 0]) } else { Rgb([0, 0, 255]) };
                let color = match word.value(run, "color")? {
                    None | Some("auto") => return Err(word.fault(format!("{} has no colour", quote(&text)))),
                    Some(value) => Rgb::parse(value),
                };
                let color = color.ok_or_else(|| word.fault("a colour cannot be read"))?;
                let far = difference(color, wanted) > threshold;
                Ok(far.then(|| format!("{} has the wrong colour", quote(&text))))
            })?;
            Ok(wrong.map_or_else(|| Score::full("all words have their colour"), Score::none))
        })
    })
}

/// Passes if no run is in capital letters.
pub(crate) fn converted_to_lower(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    with_one(case, |word| {
        let told = |run: Node<'_, '_>| {
            let text = run_text(run);
            is_upper(&text).then(|| format!("{} is in capital letters", quote(&text)))
        };
        if let Some(wrong) = first_in_tables(word, |run| Ok(told(run)))? {
            return Ok(Score::none(wrong));
        }
        let wrong = word.paragraphs()?.into_iter().flat_map(runs).find_map(told);
        Ok(wrong.map_or_else(|| Score::full("no run is in capital letters"), Score::none))
    })
}

/// Returns whether a text has letters with a case, and all of them are capitals.
fn is_upper(text: &str) -> bool {
    let mut cased = text.chars().filter(|c| c.is_uppercase() || c.is_lowercase()).peekable();
    cased.peek().is_some() && cased.all(char::is_uppercase)
}
