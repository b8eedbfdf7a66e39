//! The skillbook on disk: an operation log as the source of truth, pages that a person may edit, generated indexes,
//! snapshots for every read, and one gateway for every write.

mod add_figure;
mod approval;
mod attachment;
mod blame;
mod change;
mod change_name;
mod citation;
mod counts;
mod difference;
mod disk;
mod events;
mod figure;
mod file_stamps;
mod freeze;
mod function;
mod function_check;
mod gate;
mod gateway;
mod hash;
mod held_back;
mod history;
mod index;
mod inspection;
mod judgement;
mod log;
mod model;
mod note;
mod open_unlocked;
mod operation;
mod page;
mod proposal;
mod restored;
mod revert;
mod sentence_origin;
mod skill;
mod skill_update;
mod snapshot;
mod state;
mod trial;
mod validate;
mod version_evidence;
mod write;
mod write_mode;

use std::io;
use std::path::PathBuf;

use crate::leak::HeldOutError;

pub use add_figure::FigureWrite;
pub use attachment::{AttachedFile, AttachedPackage};
pub(crate) use attachment::{FileText, is_part, reading};
pub use blame::{BlameLine, CitedReport, Section, blame};
pub use change::Change;
pub use citation::{Citation, LeaveReason, LeftItem};
pub use counts::Counts;
pub use difference::{DifferenceKind, SkillDifference, difference};
pub use events::BookEvent;
pub use figure::{ALT_CAP, FIGURE_BYTES, FIGURE_SIDE, FIGURES, FigureRef, NewFigure, check_png, figure_refs};
pub(crate) use figure::{figure_path, with_captions};
pub use freeze::freeze;
pub use function::{
    FunctionEvidence, FunctionReference, FunctionTrial, REPLAYS_NEEDED, STOPPED_CALLS, SkillFunction,
};
pub use function_check::check_function;
pub(crate) use function_check::{function_path, is_function_file};
pub use gateway::{Gateway, GatewayOptions, OpenReport};
pub(crate) use hash::hash;
pub(crate) use held_back::held_back_cause;
pub use history::{Entry, history};
pub(crate) use index::skill_line;
pub use index::{DOMAINS_CAP, INDEX_CAP, LINE_CAP, domains_file, index_file};
pub use judgement::Judgement;
pub use model::{Actor, Cause, FileChange, NewDomain, OpId, Origin, SkillText, Stage};
pub use note::{Note, VISIBLE_NOTES};
pub(crate) use open_unlocked::open_unlocked;
pub use operation::{OPERATION_VERSION, Operation};
pub(crate) use page::is_own_heading;
pub use page::{Page, PageError};
pub use proposal::Proposal;
pub use restored::{Content, Counter, Restored};
pub use sentence_origin::{SentenceOrigin, SentenceSource};
pub use skill::{Skill, Tombstone};
pub use snapshot::{At, Snapshot};
pub use state::{Candidate, State};
pub use trial::{ReceivedSkill, ReviewRemark, Trial};
pub use version_evidence::{VersionEvidence, is_same_release, version_of};
pub use write::{Applied, WriteRefusal, WriteRequest};
pub use write_mode::{AuthoredPages, AuthoredPagesError, WriteMode, WriteModeError};

/// A part of a book that could not be read. The rest of the book still opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Path of the file, relative to the book.
    pub path: String,
    /// Description of the problem, with the line number if known.
    pub what: String,
}

/// An error while opening or writing a book.
#[derive(Debug, thiserror::Error)]
pub enum BookError {
    /// The folder does not exist.
    #[error("there is no skillbook at {0}; create the folder, or name another with --skillbook")]
    Missing(PathBuf),
    /// A file could not be read or written.
    #[error("{path}: cannot be read or written")]
    Io {
        /// The file.
        path: PathBuf,
        /// The underlying error.
        #[source]
        source: io::Error,
    },
    /// An index of held-out tasks could not be read. Nothing is written without it.
    #[error(transparent)]
    HeldOut(#[from] HeldOutError),
    /// Edits by people that are not recorded yet.
    #[error("pages changed by hand are not recorded yet: {}; run `apprentice skills sync`", .0.join(", "))]
    Pending(Vec<String>),
    /// Another process is writing the book.
    #[error("{0}: another process is writing this skillbook")]
    Locked(PathBuf),
    /// An operation could not be serialized.
    #[error("an operation could not be written as JSON")]
    Json(#[from] serde_json::Error),
    /// An earlier write failed halfway.
    #[error("an earlier write to {0} failed; open the skillbook again")]
    Broken(PathBuf),
}
