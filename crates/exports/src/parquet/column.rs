//! One column of a group of rows: its values with their levels, in pages.

use super::metadata::page_header;
use super::schema::{Leaf, Levels};
use super::thrift::varint;

/// A page ends with the record that makes it this large.
const PAGE_BYTES: usize = 1 << 20;

/// A value of a leaf.
#[derive(Clone, Copy)]
pub(super) enum LeafValue<'a> {
    Integer(i64),
    Number(f64),
    Bytes(&'a [u8]),
}

/// A column under way.
pub(super) struct Column {
    pub(super) leaf: Leaf,
    /// Whole pages.
    pub(super) pages: Vec<u8>,
    /// Values in whole pages, those that are missing among them.
    pub(super) count: usize,
    levels: Vec<Levels>,
    values: Vec<u8>,
}

impl Column {
    pub(super) fn new(leaf: Leaf) -> Self {
        Self { leaf, pages: Vec::new(), count: 0, levels: Vec::new(), values: Vec::new() }
    }

    /// The bytes that wait to be written.
    pub(super) fn size(&self) -> usize {
        self.pages.len() + self.values.len() + self.levels.len()
    }

    pub(super) fn push(&mut self, levels: Levels, value: Option<LeafValue<'_>>) {
        self.levels.push(levels);
        match value {
            None => {}
            Some(LeafValue::Integer(value)) => self.values.extend_from_slice(&value.to_le_bytes()),
            Some(LeafValue::Number(value)) => self.values.extend_from_slice(&value.to_le_bytes()),
            Some(LeafValue::Bytes(bytes)) => {
                // A record that does not fit is refused before.
                let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
                self.values.extend_from_slice(&length.to_le_bytes());
                self.values.extend_from_slice(bytes);
            }
        }
    }

    /// Ends the page if it is large enough. Pages begin with a record, so this is called between two.
    pub(super) fn end_record(&mut self) {
        if self.values.len() + self.levels.len() >= PAGE_BYTES {
            self.end_page();
        }
    }

    /// Ends the page.
    pub(super) fn end_page(&mut self) {
        if self.levels.is_empty() {
            return;
        }
        let mut levels = Vec::new();
        let most = self.leaf.most;
        write_levels(&mut levels, most.repetition, self.levels.iter().map(|one| one.repetition));
        write_levels(&mut levels, most.definition, self.levels.iter().map(|one| one.definition));
        page_header(&mut self.pages, self.levels.len(), levels.len() + self.values.len());
        self.pages.append(&mut levels);
        self.pages.append(&mut self.values);
        self.count += self.levels.len();
        self.levels.clear();
    }

    #[cfg(test)]
    pub(super) fn levels(&self) -> &[Levels] {
        &self.levels
    }
}

/// Writes levels as runs of equal ones, with the length of all runs in front; nothing where only one level is possible.
fn write_levels(out: &mut Vec<u8>, most: u8, levels: impl Iterator<Item = u8>) {
    if most == 0 {
        return;
    }
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    let mut run: Option<(u8, u64)> = None;
    for level in levels {
        run = match run {
            Some((same, count)) if same == level => Some((same, count + 1)),
            ended => {
                write_run(out, ended);
                Some((level, 1))
            }
        };
    }
    write_run(out, run);
    let length = u32::try_from(out.len() - start - 4).unwrap_or(u32::MAX);
    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
}

fn write_run(out: &mut Vec<u8>, run: Option<(u8, u64)>) {
    if let Some((level, count)) = run {
        // The lowest bit tells a run from packed bits; levels here fit one byte.
        varint(out, count << 1);
        out.push(level);
    }
}

#[cfg(test)]
mod tests {
    use super::write_levels;

    #[test]
    fn equal_levels_are_one_run() {
        let mut out = Vec::new();
        write_levels(&mut out, 2, [0, 0, 0, 1, 2, 2].into_iter());
        assert_eq!(out, [6, 0, 0, 0, 6, 0, 2, 1, 4, 2]);
        let mut none = Vec::new();
        write_levels(&mut none, 0, [0, 0].into_iter());
        assert!(none.is_empty());
    }
}
