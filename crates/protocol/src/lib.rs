//! Shared data types and ports (traits) of all Apprentice crates.
//!
//! This crate contains plain data and traits: no I/O, no clock, no async runtime, no access to the process
//! environment. A trait is in the same module as the types of its signature. All data on disk or sent to a model
//! has a type of this crate or of `apprentice-evaluator`.

#![warn(clippy::missing_errors_doc)]

mod action;
mod action_text;
mod advice_question;
mod chord;
mod clock;
mod content;
mod counted;
mod detail;
mod embed;
mod environment;
mod event;
mod event_sink;
mod geometry;
mod guidance;
mod id;
mod limits;
mod machine;
mod model;
mod monitors;
mod narration;
mod network;
mod observation;
mod outline;
mod page_reading;
mod picture_size;
mod profile;
mod prompt;
mod roles;
mod root_folder;
mod secret_field;
mod skill_event;
mod spelling;
mod steering;
mod stop;
mod tool;
mod trajectory;
mod tree;
mod world_function;

pub use action::{Action, Button, Finish, History, TabAction, Target};
pub use action_text::ActionDetail;
pub use advice_question::AdviceQuestion;
pub use chord::{Chord, ChordError, Key};
pub use clock::{Clock, VirtualClock, Why};
pub use content::{BoundedText, Content, Image, ImageBytes, MediaType, TextBudget, estimated_tokens};
pub use counted::counted;
pub use detail::{Detail, DetailKind, TextPlace};
pub use embed::{EmbedError, Embedder, Side};
pub use environment::{
    ActReport, ChangeWait, Delivery, Environment, EnvironmentKind, EnvironmentSource, Isolation, World,
    WorldError, WorldErrorKind, WorldSpec,
};
pub use event::{
    ActionRecord, CheckRecord, EVENT_VERSION, Event, EventError, EventKind, Header, Judged, TurnStart,
};
pub use event_sink::{EventSink, SinkError};
pub use futures_core::future::BoxFuture;
pub use geometry::{CoordinateSpace, ImagePoint, OutsideView, Rect, ScreenPoint, Size, View};
pub use guidance::{Guidance, GuidanceRefresh};
pub use id::{BlobHash, CallId, EventId, RunId, SkillId, SkillIdError, StepId, TaskId, TrialId};
pub use limits::{CapOverrides, Limits, ResourceUsage, TaskBrief};
pub use machine::{
    Capability, ChildProcess, Command, DirEntry, EntryKind, Machine, MachineError, MachineInfo, Output,
    PortForward, Window,
};
pub use model::{
    ActionOutcome, Call, CallBody, CallResult, ChatModel, ChatReply, ChatRequest, Message, ModelError,
    ModelErrorKind, NamedSchema, Purpose, RawContent, ReplyStop, Retry, Timing, ToolSpec, Usage, WorldTool,
};
pub use monitors::{DEFAULT_SCREEN, Monitors, MonitorsError};
pub use narration::{changes, count_of_more_lines, more_lines_changed};
pub use network::{AllowedHost, AllowedHostError, ConnectionOutcome, ConnectionRecord, ConnectionReport};
pub use observation::{Observation, Tab, Want};
pub use outline::{OUTLINE_VERSION, Outline, OutlineNode, is_listed, outline, outline_line};
pub use page_reading::{FieldValue, PageReading, READ_DEPTH, ReadFilter};
pub use profile::{ContextRule, HistoryRule, ImageRule, ModelProfile, ToolRule, ViewRule};
pub use prompt::{Prompt, PromptError, replace_prompts, replaced_prompts};
pub use roles::{is_field_role, is_item_role, takes_text_role};
pub use root_folder::{RootFolder, RootFolderError};
pub use skill_event::{SkillEvent, SkillEventKind};
pub use spelling::{did_you_mean, nearest};
pub use steering::{ActionOrigin, PersonAction, PersonEvent, Steering, SteeringAnswer, SteeringOrder};
pub use stop::{StopReason, VoidCause};
pub use tool::{StepRef, TextMark, Tool, ToolOutcome};
pub use trajectory::{
    JudgedBy, RetrievedSkill, Seen, StepAction, ToolAnswer, Trajectory, TrajectoryStep, Verdict, Versions,
};
pub use tree::{
    HiddenNodes, MAX_NODE_TEXT_BYTES, NodeRef, Role, State, TreeBudget, TruncationCause, UiNode, UiTree,
    VisibleText, cut_text,
};
pub use world_function::{
    FunctionAnswer, FunctionCall, FunctionEnd, FunctionFailure, FunctionRecord, FunctionRequest,
    WorldFunction,
};
