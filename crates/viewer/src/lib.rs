//! Shows runs, attempts and skillbooks: over HTTP on this machine ([`serve`]), or as one HTML file ([`write_page`]).
//!
//! [`Library::open`] takes the folder of a run or of an experiment. Both ways show the same documents (JSON), which
//! [`Library::document`] makes from rows, traces and blobs when they are asked for; the first page reads rows alone.
//! What a trace, a page or a model wrote is data in these documents and never markup.
//!
//! The pages are plain JavaScript without a framework: they are four views over one kind of document, and a file that is
//! opened in ten years depends on nothing but the browser.

#![warn(clippy::missing_errors_doc)]

mod access;
mod act;
mod align;
mod attempt;
mod book;
mod compare;
mod control;
mod control_answer;
mod document;
mod error_chain;
mod evidence;
mod grid;
mod library;
mod page;
mod report_page;
mod response;
mod screen;
mod server;
mod shown;
mod step;
mod turn;

pub use access::ViewerToken;
pub use control::Processes;
pub use document::{Document, DocumentError};
pub use library::{Library, LibraryError};
pub use page::{ExportError, ExportLimits, Exported, write_page};
pub use server::{ServeError, address, serve};
pub use shown::Shown;
