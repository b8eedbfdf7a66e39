//! What a page holds off the screen: the nearest is listed as far as there is room, and the rest is counted with the ways to it.
//! Pure.

use std::collections::BTreeSet;

use apprentice_protocol::counted;

use super::{ElementList, Line, indented};

/// What is off the screen is listed until the list has this length, in characters.
const ROOM: usize = 6000;

/// A holder of something on the screen counts as being there.
pub(super) fn keep_holders(lines: &mut [Line]) {
    for index in (0..lines.len()).rev() {
        let parent = lines.get(index).filter(|line| !line.off_screen).and_then(|line| line.parent);
        if let Some(parent) = parent.and_then(|parent| lines.get_mut(parent)) {
            parent.off_screen = false;
        }
    }
}

/// Leaves out what is far off the screen.
pub(super) fn leave_out(list: &mut ElementList) {
    let length = |line: &Line| indented(line, line.parts.iter()).chars().count() + 1;
    let is_on: Vec<bool> = list.lines.iter().map(|line| !line.off_screen).collect();
    // What only holds others reaches beyond the screen.
    let holders: BTreeSet<usize> = list.lines.iter().filter_map(|line| line.parent).collect();
    let drawn: Vec<usize> = (0..is_on.len()).filter(|at| is_on[*at] && !holders.contains(at)).collect();
    let (first, last) =
        (drawn.first().copied().unwrap_or_default(), drawn.last().copied().unwrap_or_default());
    let mut used: usize = list.lines.iter().filter(|line| !line.off_screen).map(length).sum();
    let mut kept = is_on.clone();
    // What follows on the screen is wanted sooner than what came before it.
    let off = (first..last).chain(last..list.lines.len()).chain((0..first).rev());
    for index in off {
        let chain = std::iter::successors(Some(index), |at| list.lines.get(*at).and_then(|line| line.parent));
        let fresh: Vec<usize> = chain.take_while(|at| !kept.get(*at).copied().unwrap_or(true)).collect();
        let more: usize = fresh.iter().filter_map(|at| list.lines.get(*at)).map(length).sum();
        if used + more > ROOM {
            continue;
        }
        used += more;
        for at in fresh {
            kept[at] = true;
        }
    }
    let count = |range: std::ops::Range<usize>| -> usize {
        range.filter(|at| !kept[*at]).filter_map(|at| list.lines.get(at)).map(|line| line.parts.len()).sum()
    };
    let (above, between, below) =
        (count(0..first), count(first..last + 1), count(last + 1..list.lines.len()));
    list.outside_note = note(above, between, below);
    let gone = list.lines.iter().zip(&kept).filter(|(_, kept)| !**kept).flat_map(|(line, _)| &line.parts);
    list.outside = gone.map(|part| part.id.clone()).collect::<BTreeSet<_>>();
    remove(&mut list.lines, &kept);
}

/// Removes lines, and has the others refer to their new places.
fn remove(lines: &mut Vec<Line>, kept: &[bool]) {
    let mut next = 0;
    let place: Vec<usize> = kept
        .iter()
        .map(|kept| {
            next += usize::from(*kept);
            next.saturating_sub(1)
        })
        .collect();
    let mut index = 0;
    lines.retain(|_| {
        index += 1;
        kept[index - 1]
    });
    for line in lines {
        line.parent = line.parent.map(|parent| place[parent]);
    }
}

fn note(above: usize, between: usize, below: usize) -> String {
    let told = [(above, "above"), (between, "beside or within what scrolls"), (below, "below")];
    let told: Vec<String> = told
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, where_)| format!("{} {where_}", counted(count, "element")))
        .collect();
    if told.is_empty() {
        return String::new();
    }
    format!("[off the screen and not listed: {}; scroll there, or use find or page_text]\n", told.join(", "))
}
