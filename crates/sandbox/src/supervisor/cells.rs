//! The children of a node that manages them itself: it is never asked for all of them, because a spreadsheet reports
//! billions.

use std::collections::HashMap;

use apprentice_protocol::Rect;
use atspi::zbus::zvariant::OwnedValue;
use futures_util::stream::StreamExt as _;

use super::node::{self, ACCESSIBLE, Address, COMPONENT, NodeError, TABLE};
use super::peers::Peers;

/// Children that are asked for concurrently.
const IN_FLIGHT: usize = 128;
/// Distances from an area's edge, in pixels, at which its first and last cells are probed; further in where a header
/// or empty space lies at the edge.
const EDGES: [i32; 5] = [EDGE, 28, 52, 76, 120];
const EDGE: i32 = 4;
/// Most levels between a cell and a part of it.
const PARTS: usize = 4;
/// Most descendants that are read one by one of a node that manages them itself.
const MANAGED_LIMIT: i32 = 400;
/// Most cells between the corners of the visible area that are read: more than a large screen shows at the usual size.
pub(super) const VISIBLE_LIMIT: usize = 1500;

/// The rows and columns between the corners of the visible area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CellRange {
    pub(super) top: i32,
    pub(super) left: i32,
    pub(super) bottom: i32,
    pub(super) right: i32,
}

impl CellRange {
    /// Returns whether more cells are visible than are read.
    pub(super) fn exceeds_limit(&self) -> bool {
        let count = |first: i32, last: i32| i64::from(last) - i64::from(first) + 1;
        let cells = count(self.top, self.bottom).saturating_mul(count(self.left, self.right));
        usize::try_from(cells).is_ok_and(|cells| cells > VISIBLE_LIMIT)
    }
}

/// A cell at its place.
#[derive(Clone, Debug)]
pub(super) struct PlacedCell {
    pub(super) row: i32,
    pub(super) column: i32,
    pub(super) address: Address,
}

/// The visible cells of a table.
#[derive(Clone, Debug)]
pub(super) struct Cells {
    pub(super) range: CellRange,
    pub(super) found: Vec<PlacedCell>,
}

/// What is known of a table's cells before it is asked.
pub(super) struct KnownCells {
    /// Where the table stood.
    pub(super) bounds: Rect,
    /// What was visible of it.
    pub(super) range: CellRange,
    /// Whether the same is visible now.
    pub(super) same: bool,
    /// The cells that are as they were, by row and column.
    pub(super) cells: HashMap<(i32, i32), Address>,
}

/// The descendants to read of a node that manages them itself.
pub(super) enum Managed {
    /// All of them.
    Few(Vec<Address>),
    /// Those between the corners of the visible area.
    Visible(Cells),
}

/// The descendants to read: all of them if they are few, else those between the corners of the visible area.
pub(super) async fn managed_descendants(bus: &Peers, at: &Address, known: Option<KnownCells>) -> Managed {
    let bounds = node::bounds(bus, at).await;
    let known = known.filter(|known| Some(known.bounds) == bounds);
    let unchanged = known.as_ref().filter(|known| known.same).map(|known| known.range);
    if unchanged.is_none() {
        let count: i32 = node::property(bus, at, ACCESSIBLE, "ChildCount").await.unwrap_or(0);
        if count <= MANAGED_LIMIT {
            return Managed::Few(by_index(bus, at, count).await);
        }
    }
    let Some(bounds) = bounds else { return Managed::Few(Vec::new()) };
    let range = match unchanged {
        Some(range) => Some(range),
        // While a cell is edited, a sheet does not say which cells lie at a point.
        None => visible_range(bus, at, bounds).await.or(known.as_ref().map(|known| known.range)),
    };
    let Some(range) = range else { return Managed::Few(Vec::new()) };
    // In another range, cells stand elsewhere, although they may look the same.
    let kept = known.filter(|known| known.range == range).map(|known| known.cells).unwrap_or_default();
    let places = (range.top..=range.bottom)
        .flat_map(|row| (range.left..=range.right).map(move |column| (row, column)))
        .take(VISIBLE_LIMIT);
    let requests = places.map(|(row, column)| {
        let kept = kept.get(&(row, column)).cloned();
        async move {
            let address = match kept {
                Some(address) => Some(address),
                None => cell_at(bus, at, row, column).await,
            };
            Some(PlacedCell { row, column, address: address? })
        }
    });
    let found = futures_util::stream::iter(requests).buffered(IN_FLIGHT).filter_map(std::future::ready);
    Managed::Visible(Cells { range, found: found.collect().await })
}

/// The object that stands for a cell now.
pub(super) async fn cell_at(bus: &Peers, table: &Address, row: i32, column: i32) -> Option<Address> {
    let found: Result<node::Reference, NodeError> =
        node::call(bus, table, TABLE, "GetAccessibleAt", &(row, column)).await;
    found.ok().and_then(Address::of)
}

/// The rows and columns at the corners of a table's area.
async fn visible_range(bus: &Peers, at: &Address, bounds: Rect) -> Option<CellRange> {
    let Rect { x, y, width, height } = bounds;
    let first = nearest_place(bus, at, EDGES.map(|edge| (x + EDGE, y + edge)));
    let last = nearest_place(
        bus,
        at,
        EDGES.map(|edge| (x.saturating_add(width - EDGE), y.saturating_add(height - edge))),
    );
    let columns = node::property::<i32>(bus, at, TABLE, "NColumns");
    let (first, last, columns) = tokio::join!(first, last, columns);
    let (top, left) = first?;
    // There is nothing to find below the last row.
    let (bottom, right) = last.unwrap_or((top + 60, columns.unwrap_or(1).min(left + 20) - 1));
    Some(CellRange { top, left, bottom: bottom.max(top), right: right.max(left) })
}

/// The first children of a node, asked for one by one.
pub(super) async fn by_index(bus: &Peers, at: &Address, count: i32) -> Vec<Address> {
    let requests = (0..count).map(|index| async move {
        let found: Result<node::Reference, NodeError> =
            node::call(bus, at, ACCESSIBLE, "GetChildAtIndex", &(index,)).await;
        found.ok().and_then(Address::of)
    });
    futures_util::stream::iter(requests).buffered(IN_FLIGHT).filter_map(std::future::ready).collect().await
}

/// The place of the first of these points that lies on a cell.
async fn nearest_place<const N: usize>(
    bus: &Peers,
    at: &Address,
    points: [(i32, i32); N],
) -> Option<(i32, i32)> {
    let found = points.map(|(x, y)| place(bus, at, x, y));
    futures_util::future::join_all(found).await.into_iter().flatten().next()
}

/// Row and column of the cell at a point of the screen.
async fn place(bus: &Peers, at: &Address, x: i32, y: i32) -> Option<(i32, i32)> {
    let found: node::Reference =
        node::call(bus, at, COMPONENT, "GetAccessibleAtPoint", &(x, y, 0u32)).await.ok()?;
    let cell = child_above(bus, at, Address::of(found)?).await?;
    let index: i32 = node::call(bus, &cell, ACCESSIBLE, "GetIndexInParent", &()).await.ok()?;
    let index = (index,);
    let (row, column) = tokio::join!(
        node::call::<i32, _>(bus, at, TABLE, "GetRowAtIndex", &index),
        node::call::<i32, _>(bus, at, TABLE, "GetColumnAtIndex", &index),
    );
    row.ok().zip(column.ok()).filter(|(row, column)| *row >= 0 && *column >= 0)
}

/// The child of `at` that is the node itself or an ancestor of it: a point may lie on a part of a cell.
async fn child_above(bus: &Peers, at: &Address, mut node: Address) -> Option<Address> {
    for _ in 0..PARTS {
        let parent: node::Reference =
            node::property::<OwnedValue>(bus, &node, ACCESSIBLE, "Parent").await.ok()?.try_into().ok()?;
        let parent = Address::of(parent)?;
        if parent.path == at.path {
            return Some(node);
        }
        node = parent;
    }
    None
}
