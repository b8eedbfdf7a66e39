//! Rule-based policies that work as models do: offline, from the wire alone. They are not language models.
//!
//! `explorer` searches the interface; `novice` and `literalist` do not, and differ in how they follow
//! guidance. Each also reviews attempts and keeps a skillbook when a request asks for that. None knows a
//! program: their words are those of interfaces in general.

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
