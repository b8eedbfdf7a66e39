//! Task suites: loading, auditing, surveying and selecting tasks.

mod conversion;
mod dockerfile;
mod doubts;
mod edit;
mod foreign;
mod harbor;
mod harbor_file;
mod known_names;
mod lint;
pub mod load;
mod miniwob;
mod opencomputer;
mod options;
pub mod requirements;
mod schema;
mod selection;
mod source_pos;
mod webarena;
mod wordings;

pub use conversion::{Conversion, ConversionError};
pub use doubts::doubts;
pub use edit::{EditError, with_solution, with_task};
pub use harbor::{HarborOptions, add as create_harbor_suite};
pub use lint::faults;
pub use load::{SPLIT_FILE, Suite, SuiteError, SurveyedTask, WORDINGS_FILE, load, root_of, survey};
pub use miniwob::{MiniwobOptions, add as create_miniwob_suite};
pub use opencomputer::add as create_opencomputer_suite;
pub use options::SuiteOptions;
pub use schema::task_schema;
pub use selection::{SELECTION_SCHEMA, Selection, SelectionError};
pub use source_pos::SourcePos;
pub use webarena::{SITES as WEBARENA_SITES, WebArenaOptions, add as create_webarena_suite};
pub use wordings::wordings_hash;
