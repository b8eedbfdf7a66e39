//! What LibreOffice tells of an element besides its text: formulas and comments of cells, and which words of a paragraph are set
//! apart by their letters.

use std::collections::HashMap;

use apprentice_protocol::{Detail, DetailKind};
use atspi::Role as BusRole;

use super::node::{self, ACCESSIBLE, Address, TEXT};
use super::peers::Peers;

/// Most runs of a paragraph that are asked for.
const RUNS: usize = 48;
/// The mark between parts that do not follow on each other, and after the last where more may come.
const GAP: &str = "…";
/// The least weight of bold letters.
const BOLD: u32 = 600;

/// Attributes by their names, as the bus sends them.
type Attributes = HashMap<String, String>;

/// A run of letters that look alike.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Run {
    start: usize,
    end: usize,
    kinds: Vec<DetailKind>,
}

/// Reads what is told of an element that says `text`.
pub(super) async fn details(bus: &Peers, at: &Address, role: BusRole, text: &str) -> Vec<Detail> {
    match role {
        BusRole::TableCell => of_cell(bus, at).await,
        BusRole::Paragraph | BusRole::Heading => of_paragraph(bus, at, text).await,
        _ => Vec::new(),
    }
}

async fn of_cell(bus: &Peers, at: &Address) -> Vec<Detail> {
    let told: Attributes = node::call(bus, at, ACCESSIBLE, "GetAttributes", &()).await.unwrap_or_default();
    let tell = |name: &str, kind, sign: &str| {
        let text = told.get(name).filter(|text| !text.is_empty())?;
        Some(Detail { kind, text: format!("{sign}{text}") })
    };
    let told = [tell("Formula", DetailKind::Formula, "="), tell("Note", DetailKind::Comment, "")];
    told.into_iter().flatten().collect()
}

async fn of_paragraph(bus: &Peers, at: &Address, text: &str) -> Vec<Detail> {
    let count = text.chars().count();
    let mut runs: Vec<Run> = Vec::new();
    let mut next = 0;
    while next < count && runs.len() < RUNS {
        let Ok(offset) = i32::try_from(next) else { break };
        // Letters that look as the paragraph's style says are told without attributes.
        let asked: Result<(Attributes, i32, i32), _> =
            node::call(bus, at, TEXT, "GetAttributeRun", &(offset, false)).await;
        let Ok((told, _, end)) = asked else { break };
        let Some(end) = usize::try_from(end).ok().filter(|end| *end > next) else { break };
        runs.push(Run { start: next, end: end.min(count), kinds: kinds(&told) });
        next = end;
    }
    summarize(text, &runs, next >= count)
}

/// How a run is set apart.
fn kinds(told: &Attributes) -> Vec<DetailKind> {
    let is_set = |name: &str| {
        told.get(name).is_some_and(|value| !["none", "normal", "false"].contains(&value.as_str()))
    };
    let weight = told.get("weight").and_then(|weight| weight.parse::<u32>().ok());
    let found = [
        (weight.is_some_and(|weight| weight >= BOLD), DetailKind::Bold),
        (is_set("style"), DetailKind::Italic),
        (is_set("underline"), DetailKind::Underlined),
        (is_set("strikethrough"), DetailKind::Struck),
    ];
    found.into_iter().filter_map(|(holds, kind)| holds.then_some(kind)).collect()
}

/// Says which parts of a text are set apart. `whole` says whether the runs reach its end.
fn summarize(text: &str, runs: &[Run], whole: bool) -> Vec<Detail> {
    let letters: Vec<char> = text.chars().collect();
    let of_kind = |kind: DetailKind| {
        let mut parts: Vec<(usize, usize)> = Vec::new();
        for run in runs.iter().filter(|run| run.kinds.contains(&kind)) {
            match parts.last_mut() {
                Some((_, end)) if *end == run.start => *end = run.end,
                _ => parts.push((run.start, run.end)),
            }
        }
        let said = parts.iter().filter_map(|(start, end)| letters.get(*start..*end));
        let mut visible: Vec<String> =
            said.map(|part| part.iter().collect::<String>().trim().to_owned()).collect();
        visible.retain(|part| !part.is_empty());
        let mut text = visible.join(&format!(" {GAP} "));
        if !text.is_empty() && !whole {
            text.push(' ');
            text.push_str(GAP);
        }
        (!text.is_empty()).then_some(Detail { kind, text })
    };
    DetailKind::ALL.into_iter().filter_map(of_kind).collect()
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::DetailKind;

    use super::{Attributes, Run, kinds, summarize};

    #[test]
    fn parts_that_follow_on_each_other_are_one_and_others_are_told_apart() {
        let run = |start, end, kinds: &[DetailKind]| Run { start, end, kinds: kinds.into() };
        let runs = [
            run(0, 5, &[DetailKind::Bold, DetailKind::Italic]),
            run(5, 11, &[DetailKind::Bold]),
            run(11, 27, &[]),
            run(27, 28, &[DetailKind::Italic]),
            run(28, 33, &[DetailKind::Bold]),
        ];
        let text = "Sómé words here are plain,  some not.";
        let told = |whole| -> Vec<String> {
            let told = summarize(text, &runs, whole);
            told.iter().map(|detail| format!("{}: {}", detail.kind.word(), detail.text)).collect()
        };
        assert_eq!(told(true), ["bold: Sómé words … some", "italic: Sómé"]);
        assert_eq!(told(false), ["bold: Sómé words … some …", "italic: Sómé …"]);
    }

    #[test]
    fn letters_of_a_style_are_not_set_apart() {
        let told = |attributes: &[(&str, &str)]| {
            let attributes = attributes.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            kinds(&attributes.collect::<Attributes>())
        };
        assert_eq!(told(&[("weight", "400"), ("style", "normal"), ("underline", "none")]), []);
        assert_eq!(
            told(&[("weight", "600"), ("underline", "single")]),
            [DetailKind::Bold, DetailKind::Underlined]
        );
        assert_eq!(
            told(&[("style", "italic"), ("strikethrough", "single")]),
            [DetailKind::Italic, DetailKind::Struck]
        );
    }
}
