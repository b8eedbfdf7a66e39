//! Tests of the skillbook and of learning from traces, on real folders.
#![expect(clippy::expect_used, reason = "a helper of tests fails like the test")]

mod activation;
mod author;
mod book;
mod clerk;
mod digest;
mod folder;
mod foreground;
mod given;
mod here;
mod learning;
mod lend;
mod manage;
mod meaning;
mod package;
mod poison;
mod proposal;
mod prove;
mod recall;
mod reflect;
mod scenarios;
mod shelf;
mod shipped;
mod sighting;
mod store;
mod table;
mod time;
