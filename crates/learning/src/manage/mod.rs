//! The manager: an agent that decides one item at a time with ten tools and a single write.
//!
//! Every tool answers with one JSON object. `fetch_similar_skills`: `{"skills": [{"skill_id", "description",
//! "situation", "similarity"}], "waiting_for_a_person"?: [id]}`, best first. `read_skills`: `{"skills": [{"skill_id", "version", "description",
//! "situation", "guidance", "annotations", "metrics"}], "missing": [id]}`. `read_reports`: `{"reports": [report], "missing": [id]}`. A write: `{"ok": true, "skill_id",
//! "version"}`. `leave_item`: `{"ok": true, "left": reason}`. A refusal is an error result: `{"error": code, "message"}`.

mod build_item;
mod change_parts;
mod citation_check;
mod conversation;
mod item;
mod kept_lines;
mod manager_tools;
mod pending_domain;
mod read_reports;
mod reports;
mod short_steps;
mod skill_view;
mod support;
mod tools;
mod trivial;
mod waiting_pages;
mod work_item;

pub use build_item::item;
pub(crate) use conversation::PROMPT;
pub use conversation::{Decision, ItemOutcome, ManageError, ManagerCall, manage, manage_request};
pub use item::{
    Corroboration, DomainNames, EarlierReport, FartherReport, ITEM_SCHEMA, InputType, ManageItem, ReportKind,
    StepDone,
};
pub use tools::{
    ANNOTATE_SKILL, AnnotateSkill, CREATE_DOMAIN, CREATE_SKILL, CreateDomain, CreateSkill, DELETE_SKILL,
    DeleteSkill, FETCH_SIMILAR_SKILLS, FetchSimilar, LEAVE_ITEM, LeaveItem, MERGE_SKILLS, MergeSkills,
    READ_REPORTS, READ_SKILLS, ReadReports, ReadSkills, ToolCall, UPDATE_SKILL, UpdateSkill, manager_tools,
    read_call,
};
pub(crate) use trivial::is_trivial;
pub use work_item::{ManageOptions, WorkItem};
