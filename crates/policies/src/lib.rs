//! Deterministic, rule-based policies that implement the model port. They are not language models and run offline.
//!
//! A policy sees only what a provider would receive over the wire. `explorer` searches the interface. `novice` and
//! `literalist` do not search; they differ in how they follow guidance. Every policy also reviews attempts and
//! maintains a skillbook when a request asks for it. The policies contain no knowledge of any specific program: their
//! word lists describe user interfaces in general.

mod actions;
mod attempt_summary;
mod builtin_model;
mod clause;
mod control_match;
mod dispatch;
mod executor;
mod explorer;
mod function_choice;
mod goal;
mod guidance;
mod guidance_follower;
mod json_block;
mod label_extraction;
mod label_follower;
mod learning_text;
mod novice;
mod opener_prior;
mod page;
mod policy;
mod prerequisites;
mod progress;
mod quotation;
mod reconstruct;
mod reflect;
mod review;
mod review_material;
mod route;
mod scene;
mod search;
mod sentence;
mod skill_lookup;
mod skill_manager;
mod text_match;
mod trajectory_analysis;
mod transcript;
mod unquoted_values;
mod value;

pub use builtin_model::BuiltInModel;
pub use policy::Policy;
