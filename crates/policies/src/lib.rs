//! Deterministic, rule-based policies that implement the model port: the two agents of the demo. They are not language models
//! and run offline.
//!
//! A policy sees only what a provider would receive over the wire. `explorer` searches the interface; `novice` does not. Both
//! follow guidance in the form in which their own reviews write it, review attempts, and maintain a skillbook when a request
//! asks for it. They contain no knowledge of any specific program: their word lists describe user interfaces in general.

mod actions;
mod agent;
mod builtin_model;
mod dispatch;
mod follow;
mod function_choice;
mod goal;
mod guidance;
mod hands;
mod learning;
mod lesson;
mod page;
mod page_lesson;
mod policy;
mod reflect;
mod review_material;
mod route;
mod scene;
mod search;
mod skill_lookup;
mod skill_manager;
mod transcript;
mod words;

pub use builtin_model::BuiltInModel;
pub use policy::Policy;
