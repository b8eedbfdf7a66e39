//! Deterministic, rule-based policies that implement the model port. They are not language models and run offline.
//!
//! A policy sees only what a provider would receive over the wire. `explorer` searches the interface. `novice` and
//! `literalist` do not search; they differ in how they follow guidance. Every policy also reviews attempts and
//! maintains a skillbook when a request asks for it. The policies contain no knowledge of any specific program: their
//! word lists describe user interfaces in general.

mod block;
mod choose;
mod clause;
mod consult;
mod enable;
mod explorer;
mod follow;
mod goal;
mod guidance;
mod hands;
mod lesson;
mod literalist;
mod manage;
mod naming;
mod novice;
mod page;
mod perceive;
mod progress;
mod promise;
mod reflect;
mod retell;
mod review;
mod role;
mod route;
mod search;
mod sentence;
mod spoken;
mod telling;
mod transcript;
mod walk;
mod wire;
mod words;

pub use wire::{BuiltIn, Policy};
