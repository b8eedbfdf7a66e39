//! Cell and range references such as `B6` and `A1:C3`.

/// The place of a cell in a sheet. Orders by row, then column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct CellRef {
    /// The row, from 1.
    pub(crate) row: u32,
    /// The column, from 1.
    pub(crate) column: u32,
}

const ROWS: u32 = 1_048_576;
const COLUMNS: u32 = 18_278;

/// Parses a cell reference, ignoring `$` signs.
pub(crate) fn place(name: &str) -> Option<CellRef> {
    let bare: String = name.chars().filter(|c| *c != '$').collect();
    let digits = bare.find(|c: char| c.is_ascii_digit())?;
    let (letters, digits) = bare.split_at(digits);
    let row: u32 = digits.parse().ok().filter(|row| (1..=ROWS).contains(row))?;
    Some(CellRef { row, column: column(letters)? })
}

fn column(letters: &str) -> Option<u32> {
    if letters.is_empty() || letters.len() > 3 {
        return None;
    }
    letters.chars().try_fold(0_u32, |sum, c| {
        c.is_ascii_alphabetic().then(|| sum * 26 + u32::from(c.to_ascii_uppercase()) - u32::from('A') + 1)
    })
}

/// Returns a column's letters.
pub(crate) fn letters(mut column: u32) -> String {
    let mut out = Vec::new();
    while column > 0 {
        column -= 1;
        out.push(char::from(b'A' + u8::try_from(column % 26).unwrap_or(0)));
        column /= 26;
    }
    out.iter().rev().collect()
}

/// Returns a cell's name.
pub(crate) fn name(place: CellRef) -> String {
    format!("{}{}", letters(place.column), place.row)
}

/// A rectangular range of cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Range {
    pub(crate) from: CellRef,
    pub(crate) to: CellRef,
}

impl Range {
    /// Parses a range; whole columns and rows extend to the sheet's end.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.rsplit('!').next().unwrap_or(text);
        let (from, to) = text.split_once(':').unwrap_or((text, text));
        let side = |name: &str, last: bool| {
            place(name).or_else(|| {
                let bare: String = name.chars().filter(|c| *c != '$').collect();
                match column(&bare) {
                    Some(column) => Some(CellRef { row: if last { ROWS } else { 1 }, column }),
                    None => {
                        let row = bare.parse().ok().filter(|row| (1..=ROWS).contains(row))?;
                        Some(CellRef { row, column: if last { COLUMNS } else { 1 } })
                    }
                }
            })
        };
        let (from, to) = (side(from, false)?, side(to, true)?);
        (from.row <= to.row && from.column <= to.column).then_some(Self { from, to })
    }

    pub(crate) fn cells(self) -> impl Iterator<Item = CellRef> {
        let columns = self.from.column..=self.to.column;
        (self.from.row..=self.to.row)
            .flat_map(move |row| columns.clone().map(move |column| CellRef { row, column }))
    }

    /// Returns the number of cells.
    pub(crate) fn count(self) -> u64 {
        u64::from(self.to.row - self.from.row + 1) * u64::from(self.to.column - self.from.column + 1)
    }

    fn holds(self, other: Self) -> bool {
        self.from.row <= other.from.row
            && self.from.column <= other.from.column
            && self.to.row >= other.to.row
            && self.to.column >= other.to.column
    }

    pub(crate) fn has(self, place: CellRef) -> bool {
        self.holds(Self { from: place, to: place })
    }
}

/// A list of ranges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ranges(pub(crate) Vec<Range>);

impl Ranges {
    /// Parses ranges separated by whitespace.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        text.split_whitespace().map(Range::parse).collect::<Option<Vec<_>>>().map(Self)
    }

    /// Returns whether each of the other ranges lies within one of these.
    pub(crate) fn holds(&self, others: &Self) -> bool {
        others.0.iter().all(|other| self.0.iter().any(|range| range.holds(*other)))
    }
}

#[cfg(test)]
mod tests {
    use super::{CellRef, Range, Ranges, name, place};

    #[test]
    fn names_and_places_are_two_ways_to_say_the_same() {
        for text in ["A1", "Z9", "AA10", "XFD1048576"] {
            assert_eq!(place(text).map(name).as_deref(), Some(text));
        }
        assert_eq!(place("$B$6"), Some(CellRef { row: 6, column: 2 }));
        for wrong in ["", "1", "A0", "A", "ABCD1", "A1048577"] {
            assert_eq!(place(wrong), None, "{wrong}");
        }
        assert_eq!(Range::parse("A1:B2").map(|range| range.cells().count()), Some(4));
        let wide = Ranges::parse("D1:D1048576").expect("ranges");
        assert!(wide.holds(&Ranges::parse("D2:D9 D11").expect("ranges")));
        assert!(!wide.holds(&Ranges::parse("D2:E9").expect("ranges")));
    }
}
