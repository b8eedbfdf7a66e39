//! The children of a node that manages them itself: it is never asked for all of them, because a spreadsheet reports
//! billions.

use apprentice_protocol::Rect;
use atspi::zbus::Connection;
use atspi::zbus::zvariant::OwnedValue;
use futures_util::stream::StreamExt as _;

use super::node::{self, ACCESSIBLE, Address, COMPONENT, NodeError, TABLE};

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

/// The descendants to read of a node that manages them itself: all of them if they are few, else those between the
/// corners of the visible area.
pub(super) async fn managed_descendants(bus: &Connection, at: &Address) -> Vec<Address> {
    let count: i32 = node::property(bus, at, ACCESSIBLE, "ChildCount").await.unwrap_or(0);
    if count <= MANAGED_LIMIT {
        return by_index(bus, at, count).await;
    }
    let Some(bounds) = node::bounds(bus, at).await else { return Vec::new() };
    let Rect { x, y, width, height } = bounds;
    let first = nearest_place(bus, at, EDGES.map(|edge| (x + EDGE, y + edge)));
    let last = nearest_place(
        bus,
        at,
        EDGES.map(|edge| (x.saturating_add(width - EDGE), y.saturating_add(height - edge))),
    );
    let columns = node::property::<i32>(bus, at, TABLE, "NColumns");
    let (first, last, columns) = tokio::join!(first, last, columns);
    let Some((top, left)) = first else { return Vec::new() };
    // There is nothing to find below the last row.
    let (bottom, right) = last.unwrap_or((top + 60, columns.unwrap_or(1).min(left + 20) - 1));
    let cells =
        (top..=bottom.max(top)).flat_map(|row| (left..=right.max(left)).map(move |column| (row, column)));
    let cells = cells.take(MANAGED_LIMIT.unsigned_abs() as usize);
    in_order(bus, at, cells.map(|(row, column)| Cell::Place(row, column))).await
}

/// The first children of a node, asked for one by one.
pub(super) async fn by_index(bus: &Connection, at: &Address, count: i32) -> Vec<Address> {
    in_order(bus, at, (0..count).map(Cell::Index)).await
}

/// Addresses a descendant by index, or by row and column.
enum Cell {
    Index(i32),
    Place(i32, i32),
}

async fn in_order(bus: &Connection, at: &Address, cells: impl Iterator<Item = Cell>) -> Vec<Address> {
    let asked = cells.map(|cell| async move {
        let found: Result<node::Reference, NodeError> = match cell {
            Cell::Index(index) => node::call(bus, at, ACCESSIBLE, "GetChildAtIndex", &(index,)).await,
            Cell::Place(row, column) => node::call(bus, at, TABLE, "GetAccessibleAt", &(row, column)).await,
        };
        found.ok().and_then(Address::of)
    });
    futures_util::stream::iter(asked).buffered(IN_FLIGHT).filter_map(std::future::ready).collect().await
}

/// The place of the first of these points that lies on a cell.
async fn nearest_place<const N: usize>(
    bus: &Connection,
    at: &Address,
    points: [(i32, i32); N],
) -> Option<(i32, i32)> {
    let found = points.map(|(x, y)| place(bus, at, x, y));
    futures_util::future::join_all(found).await.into_iter().flatten().next()
}

/// Row and column of the cell at a point of the screen.
async fn place(bus: &Connection, at: &Address, x: i32, y: i32) -> Option<(i32, i32)> {
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
async fn child_above(bus: &Connection, at: &Address, mut node: Address) -> Option<Address> {
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
