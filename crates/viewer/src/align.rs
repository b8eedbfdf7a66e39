//! Aligns the turns of two attempts by the state in which each began.
//!
//! Two attempts at one task see nearly the same screens, but clocks, references and a notification differ. So states are
//! compared by the share of lines that their outlines have in common, and the alignment with the greatest sum is taken
//! (Needleman and Wunsch, without a price for gaps).

use std::collections::BTreeSet;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};

/// Two states with a smaller share of common lines are different places. Two dialogs of one program have the window
/// behind them in common, which is most of an outline.
const SAME_STATE: f64 = 0.8;

/// The state of the world before a turn.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct WorldState {
    title: String,
    lines: BTreeSet<u64>,
}

/// One row of an alignment: turns of both attempts that began in the same state, or a turn of one of them.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub(crate) struct Aligned {
    pub(crate) left: Option<usize>,
    pub(crate) right: Option<usize>,
}

impl WorldState {
    /// A state, from the title and outline of an observation.
    pub(crate) fn of(title: &str, outline: &str) -> Self {
        let lines = outline.lines().map(fingerprint).collect();
        Self { title: title.to_owned(), lines }
    }

    /// The share of lines that two states have in common, from 0 to 1; states without outlines have their titles.
    pub(crate) fn likeness(&self, other: &Self) -> f64 {
        if self.lines.is_empty() && other.lines.is_empty() {
            return if self.title == other.title { 1.0 } else { 0.0 };
        }
        let common = self.lines.intersection(&other.lines).count();
        let all = self.lines.len() + other.lines.len() - common;
        let share = common as f64 / all.max(1) as f64;
        // The same window under another title, for example with the mark of an unsaved change, is a likely match.
        if self.title == other.title { share } else { share * 0.95 }
    }
}

/// A line without its references and places, which differ between two worlds.
fn fingerprint(line: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    for word in line.split_whitespace().filter(|word| !word.starts_with('#') && !word.starts_with('@')) {
        word.hash(&mut hasher);
    }
    hasher.finish()
}

/// Aligns two sequences of states. The rows hold every turn of both, in order.
pub(crate) fn align(left: &[WorldState], right: &[WorldState]) -> Vec<Aligned> {
    let (rows, columns) = (left.len(), right.len());
    let width = columns + 1;
    let mut likeness = vec![0.0; rows * columns];
    // The best sum for the rest of both sequences from each pair of places on.
    let mut best = vec![0.0_f64; (rows + 1) * width];
    for row in (0..rows).rev() {
        for column in (0..columns).rev() {
            let like = left[row].likeness(&right[column]);
            likeness[row * columns + column] = like;
            let skip = best[(row + 1) * width + column].max(best[row * width + column + 1]);
            let take = if like >= SAME_STATE { like + best[(row + 1) * width + column + 1] } else { 0.0 };
            best[row * width + column] = skip.max(take);
        }
    }
    let (mut row, mut column) = (0, 0);
    let mut aligned = Vec::new();
    while row < rows || column < columns {
        let down = if row < rows { best[(row + 1) * width + column] } else { -1.0 };
        let across = if column < columns { best[row * width + column + 1] } else { -1.0 };
        let pair = row < rows && column < columns;
        let like = if pair { likeness[row * columns + column] } else { 0.0 };
        if pair && like >= SAME_STATE && best[(row + 1) * width + column + 1] + like >= down.max(across) {
            aligned.push(Aligned { left: Some(row), right: Some(column) });
            (row, column) = (row + 1, column + 1);
        } else if down >= across {
            aligned.push(Aligned { left: Some(row), right: None });
            row += 1;
        } else {
            aligned.push(Aligned { left: None, right: Some(column) });
            column += 1;
        }
    }
    aligned
}

/// The first row where the attempts part: the same state with different conduct, or a turn without a counterpart.
pub(crate) fn parting(rows: &[Aligned], left: &[Vec<String>], right: &[Vec<String>]) -> Option<usize> {
    rows.iter().position(|row| match (row.left, row.right) {
        (Some(one), Some(other)) => left.get(one) != right.get(other),
        _ => true,
    })
}

#[cfg(test)]
mod tests {
    use super::{Aligned, WorldState, align, parting};

    fn window(name: &str, items: usize) -> WorldState {
        let lines: Vec<String> =
            (0..items).map(|item| format!("button \"{name} {item}\" @{item},7 #n{item}")).collect();
        WorldState::of(name, &lines.join("\n"))
    }

    fn pairs(rows: &[Aligned]) -> Vec<(Option<usize>, Option<usize>)> {
        rows.iter().map(|row| (row.left, row.right)).collect()
    }

    #[test]
    fn references_and_places_do_not_tell_states_apart() {
        let one = WorldState::of("Notes", "button \"Save\" @60,20 #n7\ntext \"a b\" @1,2 #n9");
        let other = WorldState::of("Notes", "button \"Save\" @66,21 #n3\ntext \"a b\" @3,4 #n1");
        assert!((one.likeness(&other) - 1.0).abs() < f64::EPSILON);
        assert!(one.likeness(&window("Menu", 5)) < 0.1);
    }

    #[test]
    fn a_detour_of_one_attempt_stands_alone_and_the_rest_meets_again() {
        let left = [window("Start", 9), window("Menu", 9), window("Dialog", 9)];
        let right = [
            window("Start", 9),
            window("Help", 9),
            window("About", 9),
            window("Menu", 9),
            window("Dialog", 9),
        ];
        let rows = align(&left, &right);
        assert_eq!(
            pairs(&rows),
            [(Some(0), Some(0)), (None, Some(1)), (None, Some(2)), (Some(1), Some(3)), (Some(2), Some(4))]
        );
        let act = |text: &str| vec![text.to_owned()];
        let one = [act("click File"), act("click Save"), act("press Enter")];
        let other = [
            act("click Help"),
            act("click About"),
            act("press Escape"),
            act("click Save"),
            act("press Enter"),
        ];
        assert_eq!(parting(&rows, &one, &other), Some(0), "both stood at the start and did different things");
        let same = [
            act("click File"),
            act("click About"),
            act("press Escape"),
            act("click Save"),
            act("press Enter"),
        ];
        assert_eq!(parting(&rows, &one, &same), Some(1));
    }

    #[test]
    fn every_turn_stands_in_the_alignment_once() {
        let left: Vec<WorldState> = (0..7).map(|number| window(&format!("W{}", number % 3), 6)).collect();
        let right: Vec<WorldState> = (0..5).map(|number| window(&format!("W{}", number % 2), 6)).collect();
        let rows = align(&left, &right);
        assert_eq!(rows.iter().filter_map(|row| row.left).collect::<Vec<_>>(), (0..7).collect::<Vec<_>>());
        assert_eq!(rows.iter().filter_map(|row| row.right).collect::<Vec<_>>(), (0..5).collect::<Vec<_>>());
        assert!(align(&[], &[]).is_empty());
    }
}
