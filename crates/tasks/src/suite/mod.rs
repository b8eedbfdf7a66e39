//! Task suites: loading, auditing, surveying and selecting tasks.

mod doubts;
mod edit;
mod files;
mod lint;
pub mod load;
mod miniwob;
mod options;
pub mod requirements;
mod schema;
mod selection;
mod source_pos;
pub mod task;
mod wordings;

pub use doubts::doubts;
pub use edit::{EditError, with_solution, with_task};
pub use files::{SuiteFileError, read_beneath};
pub use lint::faults;
pub use load::{SPLIT_FILE, Suite, SuiteError, SurveyedTask, WORDINGS_FILE, load, root_of, survey};
pub use miniwob::{MiniwobError, add as create_miniwob_suite};
pub use options::SuiteOptions;
pub use schema::task_schema;
pub use selection::{SELECTION_SCHEMA, Selection, SelectionError};
pub use source_pos::SourcePos;
pub use wordings::wordings_hash;
