//! A table of a word-processor document with merged cells, read as python-docx reads it.

use roxmltree::Node;

use super::word::{Word, attribute, child, children, paragraph_text};
use crate::python;
use crate::scoring::MetricError;

/// Maximum number of cells of a table, merged ones counted once for each place.
const CELLS: usize = 1_000_000;

/// A table with its columns and rows.
pub(super) struct Table<'w, 'd, 'i> {
    word: &'w Word<'i>,
    columns: Option<usize>,
    rows: Vec<Vec<Node<'d, 'i>>>,
}

impl<'w, 'd, 'i> Table<'w, 'd, 'i> {
    pub(super) fn new(word: &'w Word<'i>, table: Node<'d, 'i>) -> Self {
        let columns = child(table, "tblGrid").map(|grid| children(grid, "gridCol").count());
        let rows = children(table, "tr").map(|row| children(row, "tc").collect()).collect();
        Self { word, columns, rows }
    }

    /// Returns the number of columns; an error for a table without a grid.
    pub(super) fn columns(&self) -> Result<usize, MetricError> {
        self.columns.ok_or_else(|| self.word.fault("a table has no grid of columns"))
    }

    pub(super) fn rows(&self) -> usize {
        self.rows.len()
    }

    /// Returns the texts of all places of the grid, row by row; a merged cell shows its text in each of its places.
    pub(super) fn texts(&self) -> Result<Vec<String>, MetricError> {
        let columns = self.columns()?;
        let mut texts: Vec<String> = Vec::new();
        let mut size = 0_usize;
        for cell in self.rows.iter().flatten() {
            let continues = self.continues(*cell);
            for place in 0..self.span(*cell)? {
                let text = if continues {
                    let above = texts.len().checked_sub(columns).filter(|_| columns > 0);
                    let above = above.and_then(|at| texts.get(at)).cloned();
                    above.ok_or_else(|| self.word.fault("a merged cell has no cell above it"))?
                } else if place > 0 {
                    texts.last().cloned().unwrap_or_default()
                } else {
                    cell_text(*cell)
                };
                size += text.len();
                if texts.len() >= CELLS || size > 64 << 20 {
                    return Err(self.word.fault("the table is too large"));
                }
                texts.push(text);
            }
        }
        Ok(texts)
    }

    /// Returns the cells of a row, in which a cell that continues one above it is replaced by that one.
    pub(super) fn row(&self, row: usize) -> Result<Vec<Node<'d, 'i>>, MetricError> {
        let mut cells = Vec::new();
        for cell in self.rows.get(row).into_iter().flatten() {
            let root = self.root(row, *cell)?;
            let count = self.span(root)?;
            if cells.len() + count > CELLS {
                return Err(self.word.fault("the table is too large"));
            }
            cells.extend(std::iter::repeat_n(root, count));
        }
        Ok(cells)
    }

    fn root(&self, mut row: usize, mut cell: Node<'d, 'i>) -> Result<Node<'d, 'i>, MetricError> {
        while self.continues(cell) {
            let offset = self.offset(row, cell)?;
            let above = row.checked_sub(1).ok_or_else(|| self.word.fault("no row above the topmost one"))?;
            cell = self
                .at(above, offset)?
                .ok_or_else(|| self.word.fault("a merged cell has no cell above it"))?;
            row = above;
        }
        Ok(cell)
    }

    fn offset(&self, row: usize, cell: Node<'d, 'i>) -> Result<usize, MetricError> {
        let mut offset = self.before(cell)?;
        for other in self.rows.get(row).into_iter().flatten().take_while(|other| **other != cell) {
            offset += self.span(*other)?;
        }
        Ok(offset)
    }

    fn at(&self, row: usize, offset: usize) -> Result<Option<Node<'d, 'i>>, MetricError> {
        let cells = self.rows.get(row).map(Vec::as_slice).unwrap_or_default();
        let mut place = cells.first().map_or(Ok(0), |cell| self.before(*cell))?;
        for cell in cells {
            if place == offset {
                return Ok(Some(*cell));
            }
            place += self.span(*cell)?;
        }
        Ok(None)
    }

    /// Returns how many places of the grid the row of a cell leaves free at its start.
    fn before(&self, cell: Node<'d, 'i>) -> Result<usize, MetricError> {
        let properties = cell.parent().and_then(|row| child(row, "trPr"));
        self.number(properties.and_then(|node| child(node, "gridBefore"))).map(|number| number.unwrap_or(0))
    }

    fn span(&self, cell: Node<'d, 'i>) -> Result<usize, MetricError> {
        let properties = child(cell, "tcPr");
        self.number(properties.and_then(|node| child(node, "gridSpan"))).map(|number| number.unwrap_or(1))
    }

    fn number(&self, node: Option<Node<'d, 'i>>) -> Result<Option<usize>, MetricError> {
        let Some(node) = node else { return Ok(None) };
        let number = attribute(node, "val").and_then(python::int);
        let number = number.ok_or_else(|| self.word.fault("a number of a table cannot be read"))?;
        Ok(Some(usize::try_from(number).unwrap_or(0)))
    }

    fn continues(&self, cell: Node<'d, 'i>) -> bool {
        let merge = child(cell, "tcPr").and_then(|node| child(node, "vMerge"));
        merge.is_some_and(|node| attribute(node, "val").unwrap_or("continue") == "continue")
    }
}

fn cell_text(cell: Node<'_, '_>) -> String {
    children(cell, "p").map(paragraph_text).collect::<Vec<_>>().join("\n")
}
