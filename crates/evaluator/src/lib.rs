//! Suites, checks, trials, run scheduling, statistics, the learning loop and reports.
//!
//! This is the only crate that knows about both skills and runs.

pub mod answer_judge;
pub mod app_versions;
pub mod arm;
pub mod arm_guidance;
pub mod audit;
pub mod auto_arms;
pub mod background;
pub mod contamination;
pub mod cost_estimate;
pub mod demonstration;
mod error_chain;
pub mod experiment;
pub mod explore;
pub mod fork;
pub mod function_admission;
pub mod function_scope;
pub mod function_synthesis;
pub mod grade;
pub mod hidden_skills;
pub mod judge_attempts;
pub mod learn;
pub mod review_estimate;
pub mod run;
#[cfg(test)]
mod sample;
pub mod split;
pub mod task_apps;
pub mod tool_servers;
pub mod trial_identity;
pub mod verify;
pub mod work_estimate;
