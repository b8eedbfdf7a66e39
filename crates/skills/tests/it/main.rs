//! Tests of the skillbook and of learning from traces, on real folders.
#![expect(clippy::expect_used, reason = "a helper of tests fails like the test")]

mod activation;
mod author;
mod background;
mod book;
mod citations;
mod clerk;
mod delivery;
mod effects;
mod embedding;
mod external_reflection;
mod figures;
mod folder;
mod foreground;
mod gate;
mod guidance;
mod in_context;
mod judge;
mod learn_trajectory;
mod learning;
mod limits;
mod manage;
mod package;
mod poison;
mod proposal;
mod prose;
mod recall;
mod reflect;
mod scenarios;
mod shelf;
mod shipped;
mod store;
mod table;
mod time;
mod verification;
mod version_evidence;
