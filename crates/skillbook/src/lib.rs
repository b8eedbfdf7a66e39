//! The skillbook on disk: an operation log as the source of truth, pages that a person may edit, generated indexes,
//! snapshots for every read, and one gateway for every write.

mod error;
mod files;
mod log;
pub mod package;
mod read;
mod replay;
pub mod review;
pub mod shipped;
mod skill;
mod write;

pub use error::{BookError, Problem};
pub use log::change::Change;
pub use log::citation::{Citation, LeaveReason, LeftItem};
pub use log::judgement::Judgement;
pub use log::operation::{OPERATION_VERSION, Operation};
pub use log::proposal::Proposal;
pub use read::blame::{BlameLine, CitedReport, Section, blame};
pub use read::difference::{DifferenceKind, SkillDifference, difference};
pub use read::events::BookEvent;
pub use read::fitting::{NearFunction, candidates, fitting_of, functions_by_fit};
pub use read::freeze::freeze;
pub use read::history::{Entry, history};
pub use read::snapshot::{At, Snapshot};
pub use replay::candidate::Candidate;
pub use replay::held_back::held_back_cause;
pub use replay::index::skill_line;
pub use replay::index::{DOMAINS_CAP, INDEX_CAP, LINE_CAP, domains_file, index_file};
pub use replay::state::State;
pub use skill::attachment::{AttachedFile, AttachedPackage};
pub use skill::attachment::{FileText, is_part, reading};
pub use skill::counts::Counts;
pub(crate) use skill::figure::figure_path;
pub use skill::figure::with_captions;
pub use skill::figure::{
    FigureRef, MAX_ALT_CHARS, MAX_FIGURE_BYTES, MAX_FIGURE_SIDE_PIXELS, MAX_FIGURES, NewFigure, check_png,
    figure_refs,
};
pub use skill::function::{
    FunctionEvidence, FunctionReference, FunctionTrial, REPLAYS_NEEDED, STOPPED_CALLS, SkillFunction,
};
pub use skill::function_check::check_function;
pub(crate) use skill::function_check::{function_path, is_function_file};
pub use skill::hash::hash;
pub use skill::model::{Actor, Cause, FileChange, NewDomain, OpId, Origin, SkillText, Stage};
pub use skill::note::{Note, VISIBLE_NOTES};
pub(crate) use skill::page::is_own_heading;
pub use skill::page::{Page, PageError};
pub use skill::record::{Skill, Tombstone};
pub use skill::restored::{Content, Counter, Restored};
pub use skill::sentence_origin::{SentenceOrigin, SentenceSource};
pub use skill::short_steps::{
    ShortStep, ShortSteps, ShortStepsError, Words, prose_of, short_steps, with_short_steps, written_steps,
};
pub use skill::trial::{ReceivedSkill, ReviewRemark, Trial};
pub use skill::version_evidence::{VersionEvidence, is_same_release, version_of};
pub use write::add_figure::FigureWrite;
pub use write::gateway::{Gateway, GatewayOptions, OpenReport};
pub use write::open_unlocked::open_unlocked;
pub use write::request::{Applied, WriteRefusal, WriteRequest};
pub use write::write_mode::{AuthoredPages, AuthoredPagesError, WriteMode, WriteModeError};

pub use read::known_versions::KnownVersions;
pub use read::search::{Hit, Searched, SimilarSkills, SkillSimilarity, embedded_text};
pub use read::verification;
