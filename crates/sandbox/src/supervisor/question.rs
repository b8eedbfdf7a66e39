//! What a walk asks an element: everything, or its text alone where the rest is known.

use super::cells::cell_at;
use super::details::details;
use super::node::{self, Address};
use super::node_reading::{KnownProperties, Read, read};
use super::peers::Peers;
use super::tree_memory::TablePlace;

/// What a node is asked.
pub(super) enum Question {
    /// Everything that is not known.
    Node(KnownProperties),
    /// The text of a cell, and what it comes from; the rest is known.
    Text { read: Box<Read>, place: Option<TablePlace> },
}

/// What came of it.
pub(super) enum Answer {
    Node(Read),
    Text(Read),
    /// Another object stands for the cell now.
    Replaced(Address, Read),
    /// The node is gone, or its program does not answer.
    Gone,
}

impl Question {
    pub(super) async fn ask(self, bus: &Peers, at: &Address) -> Answer {
        let (known, place) = match self {
            Self::Node(known) => return read(bus, at, known).await.map_or(Answer::Gone, Answer::Node),
            Self::Text { read, place } => (*read, place),
        };
        if let Some(value) = node::value(bus, at, known.role).await {
            let value = value.replace(node::OBJECT, "");
            // A formula may come to what stood there before.
            let details = details(bus, at, known.role, &value).await;
            return Answer::Text(Read { value: Some(value), details, ..known });
        }
        // A spreadsheet drops the objects of its cells after a while. An empty cell has no text either.
        let Some(TablePlace { table, cell }) = place else { return Answer::Gone };
        let Some(new) = cell_at(bus, &table, cell.row, cell.column).await else { return Answer::Gone };
        let known =
            KnownProperties { role: Some(known.role), has_details: true, ..KnownProperties::default() };
        read(bus, &new, known).await.map_or(Answer::Gone, |read| Answer::Replaced(new, read))
    }
}
