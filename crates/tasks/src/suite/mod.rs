//! Task suites: loading, auditing, surveying and selecting tasks.

mod form;
pub mod load;
mod miniwob;
pub mod need;
mod reading;
mod selection;
mod spot;
pub mod task;

pub use form::task_schema;
pub use load::{Suite, SuiteError, Surveyed, load, survey};
pub use miniwob::{MiniwobError, add as add_miniwob};
pub use reading::Reading;
pub use selection::{SELECTION_SCHEMA, Selection, SelectionError};
pub use spot::{Spot, nearest};
