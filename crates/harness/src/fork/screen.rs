//! Decides whether a fresh world shows the recorded screen: elements by their meaning, pictures by their pixels.
//!
//! Element references and positions are not compared, and clock times and dates count as equal. An element that is on
//! both screens must have the same value and states. Programs report the focus and the active window a moment after they
//! show a dialog: a record without any focused element was made before that, and the focus is then not compared; the same
//! holds for the active window. One element in [`ELEMENTS_PER_STRAY`] may be on one screen only.
//! A pixel differs when one of its colours differs by more than [`COLOUR_TOLERANCE`]; one pixel in
//! [`PIXELS_PER_STRAY`] may differ, which is more than a caret, a clock or a blinking light.

use std::collections::BTreeMap;

use apprentice_pixels::{Frame, PixelError, decode_png, resize};
use apprentice_protocol::{ChatRequest, Content, Image, Message, Outline, OutlineNode, State};

use super::recorded::RecordedScreen;
use crate::agent::{ELEMENTS_HEADING, SCREEN_HEADING};

/// One element per this many recorded elements may be on one of the two screens only.
pub const ELEMENTS_PER_STRAY: usize = 50;
/// One pixel per this many may differ.
pub const PIXELS_PER_STRAY: usize = 100;
/// A pixel differs when its red, green or blue differs by more than this, of 255.
pub const COLOUR_TOLERANCE: u8 = 48;

/// The latest screen that a request shows to its model.
pub(super) struct ShownScreen<'a> {
    text: &'a str,
    pub(super) picture: Option<&'a Image>,
}

impl ShownScreen<'_> {
    /// The outline; `None` if the model gets none.
    pub(super) fn outline(&self) -> Option<Outline> {
        self.outline_text().map(Outline::parse)
    }

    fn outline_text(&self) -> Option<&str> {
        let heading = ELEMENTS_HEADING.trim_end();
        let start = self.text.find(&format!("\n{heading}"))? + 1 + heading.len();
        Some(&self.text[start..])
    }

    fn heading(&self) -> &str {
        let end = self.text.find(&format!("\n{}", ELEMENTS_HEADING.trim_end()));
        &self.text[..end.unwrap_or(self.text.len())]
    }
}

/// Finds the latest screen of a request.
pub(super) fn shown(request: &ChatRequest) -> Option<ShownScreen<'_>> {
    request.messages.iter().rev().find_map(|message| {
        let parts: Vec<&Content> = parts(message).collect();
        let is_screen =
            |part: &&Content| part.as_text().is_some_and(|text| text.starts_with(SCREEN_HEADING.trim_end()));
        let place = parts.iter().rposition(is_screen)?;
        let picture = match parts.get(place + 1) {
            Some(Content::Image { image }) => Some(image),
            Some(Content::Text { .. }) | None => None,
        };
        Some(ShownScreen { text: parts[place].as_text()?, picture })
    })
}

fn parts(message: &Message) -> Box<dyn Iterator<Item = &Content> + '_> {
    match message {
        Message::User { content } => Box::new(content.iter()),
        Message::Assistant { .. } => Box::new(std::iter::empty()),
        Message::Results { results, notices } => {
            Box::new(results.iter().flat_map(|result| &result.content).chain(notices))
        }
    }
}

/// Describes the first difference in the title or the elements; `None` if they agree.
pub(super) fn text_difference(recorded: &RecordedScreen, shown: &ShownScreen<'_>) -> Option<String> {
    if !recorded.title.is_empty() {
        let line = format!("Front: {:?}", recorded.title);
        let front = shown.heading().lines().find(|line| line.starts_with("Front: "));
        match front {
            Some(front) if without_times(front) == without_times(&line) => {}
            Some(front) => return Some(format!("in front was {:?} and is {}", recorded.title, &front[7..])),
            None => return Some(format!("{:?} is not in front", recorded.title)),
        }
    }
    let (before, now) = (recorded.outline.as_deref()?, shown.outline()?);
    elements_difference(&Outline::parse(before).nodes, &now.nodes)
}

/// What must be equal in an element that is on both screens.
fn condition(node: &OutlineNode, unknown: &[State]) -> String {
    let value = node.value.as_deref().map(|value| format!(" = {:?}", without_times(value)));
    let known = node.states.iter().filter(|state| !unknown.contains(state));
    let mut states: Vec<String> = known.map(|state| format!("{state:?}").to_lowercase()).collect();
    states.sort_unstable();
    let states = if states.is_empty() { String::new() } else { format!(" [{}]", states.join(", ")) };
    format!("{}{states}", value.unwrap_or_default())
}

type ByName<'a> = BTreeMap<(&'a str, String), Vec<String>>;

fn by_name<'a>(nodes: &'a [OutlineNode], unknown: &[State]) -> ByName<'a> {
    let mut found = ByName::new();
    for node in nodes {
        found.entry((&node.role, without_times(&node.name))).or_default().push(condition(node, unknown));
    }
    found
}

/// Removes the conditions that both have, and returns the rest of each.
fn unequal(before: &[String], now: &[String]) -> (Vec<String>, Vec<String>) {
    let mut left = now.to_vec();
    let mut gone = Vec::new();
    for condition in before {
        match left.iter().position(|other| other == condition) {
            Some(place) => drop(left.swap_remove(place)),
            None => gone.push(condition.clone()),
        }
    }
    (gone, left)
}

fn elements_difference(before: &[OutlineNode], now: &[OutlineNode]) -> Option<String> {
    let reported = |state: &State| before.iter().any(|node| node.states.contains(state));
    let mut unknown = vec![State::Focused, State::Active];
    unknown.retain(|state| !reported(state));
    let (recorded, shown) = (by_name(before, &unknown), by_name(now, &unknown));
    let (mut missing, mut added) = (Vec::new(), Vec::new());
    for (key, conditions) in &recorded {
        let found = shown.get(key).map_or(&[][..], Vec::as_slice);
        let (gone, left) = unequal(conditions, found);
        let name = format!("{} {:?}", key.0, key.1);
        if let (Some(was), Some(is)) = (gone.first(), left.first()) {
            let told = |condition: &str| match condition.trim() {
                "" => "without a value or state".to_owned(),
                condition => condition.to_owned(),
            };
            return Some(format!("{name} was {} and is {}", told(was), told(is)));
        }
        missing.extend(gone.iter().map(|_| name.clone()));
        added.extend(left.iter().map(|_| name.clone()));
    }
    let new = shown.iter().filter(|(key, _)| !recorded.contains_key(*key));
    added.extend(new.flat_map(|(key, all)| all.iter().map(move |_| format!("{} {:?}", key.0, key.1))));
    if missing.len().max(added.len()) * ELEMENTS_PER_STRAY <= before.len() {
        return None;
    }
    let counted = |names: &[String], what: &str| {
        let first = names.first()?;
        let more = match names.len() - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        Some(format!("{first}{more} {what}"))
    };
    let told = counted(&missing, "missing").into_iter().chain(counted(&added, "new"));
    Some(format!("of {} elements: {}", before.len(), told.collect::<Vec<_>>().join(", ")))
}

/// Describes the difference of two pictures; `None` if they agree. Pictures of different sizes are compared at half of
/// the smaller size, because scaling blurs edges.
pub(super) fn picture_difference(recorded: &[u8], shown: &[u8]) -> Result<Option<String>, PixelError> {
    let (mut one, mut other) = (decode_png(recorded)?, decode_png(shown)?);
    if (one.width(), one.height()) != (other.width(), other.height()) {
        let width = (one.width().min(other.width()) / 2).max(1);
        let height = (one.height().min(other.height()) / 2).max(1);
        (one, other) = (resize(&one, width, height)?, resize(&other, width, height)?);
    }
    let (changed, all) = (changed_pixels(&one, &other), one.rgb().len() / 3);
    if changed * PIXELS_PER_STRAY <= all {
        return Ok(None);
    }
    // Rounded up, so that what is too much never reads as what is allowed.
    let percent = (changed * 1000).div_ceil(all.max(1));
    Ok(Some(format!("{}.{} % of the picture differs", percent / 10, percent % 10)))
}

/// Counts the pixels that differ. Both frames have the same size.
fn changed_pixels(one: &Frame, other: &Frame) -> usize {
    let differs = |(a, b): (&[u8], &[u8])| a.iter().zip(b).any(|(a, b)| a.abs_diff(*b) > COLOUR_TOLERANCE);
    one.rgb().chunks_exact(3).zip(other.rgb().chunks_exact(3)).filter(|pair| differs(*pair)).count()
}

/// Replaces clock times (`9:05`, `10:15:30`) and dates (`2026-11-22`) by a sign, so that they compare as equal.
fn without_times(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        out.push_str(&rest[..start]);
        rest = &rest[start..];
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != ':' && c != '-').unwrap_or(rest.len());
        let run = &rest[..end];
        let kept = run.trim_end_matches([':', '-']);
        out.push_str(if is_time(kept) { "⌚" } else { kept });
        out.push_str(&run[kept.len()..]);
        rest = &rest[end..];
    }
    out.push_str(rest);
    out
}

fn is_time(text: &str) -> bool {
    let lengths = |separator: char| text.split(separator).map(str::len).collect::<Vec<usize>>();
    matches!(lengths(':')[..], [1 | 2, 2] | [1 | 2, 2, 2]) || lengths('-') == [4, 2, 2]
}

#[cfg(test)]
mod tests;
