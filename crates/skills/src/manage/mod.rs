//! The manager: an agent that decides one item at a time with eight tools and a single write.
//!
//! Every tool answers with one JSON object. `fetch_similar_skills`: `{"skills": [{"skill_id", "description",
//! "situation", "similarity"}]}`, best first. `read_skills`: `{"skills": [{"skill_id", "version", "description",
//! "situation", "guidance", "annotations", "metrics"}], "missing": [id]}`. A write: `{"ok": true, "skill_id",
//! "version"}`. A refusal is an error result: `{"error": code, "message"}`.

mod conversation;
mod item;
mod manager_tools;
mod support;
mod tools;
mod trivial;

pub(crate) use conversation::PROMPT;
pub use conversation::{
    Decision, ItemOutcome, ManageError, ManageOptions, ManagerCall, WorkItem, item, manage, manage_request,
};
pub use item::{Corroboration, ITEM_SCHEMA, InputType, ManageItem};
pub use tools::{
    ANNOTATE_SKILL, AnnotateSkill, CREATE_DOMAIN, CREATE_SKILL, CreateDomain, CreateSkill, DELETE_SKILL,
    DeleteSkill, FETCH_SIMILAR_SKILLS, FetchSimilar, MERGE_SKILLS, MergeSkills, READ_SKILLS, ReadSkills,
    ToolCall, UPDATE_SKILL, UpdateSkill, manager_tools, read_call,
};
pub(crate) use trivial::is_trivial;
