//! Tests of learning from traces, on real folders.
#![expect(clippy::expect_used, reason = "a helper of tests fails like the test")]

mod author;
mod background;
mod background_limits;
mod citations;
#[path = "../../../screening/tests/it/clerk.rs"]
mod clerk;
#[path = "../../../skillbook/tests/it/deeds.rs"]
mod deeds;
mod embedding;
mod external_reflection;
mod figures;
mod folder;
mod foreground;
mod fuzz;
mod gate;
mod harm;
mod held_back;
mod in_context;
mod item_limits;
mod judge;
mod learn_trajectory;
mod learning;
mod limits;
mod manage;
mod manage_limits;
mod practice;
mod practice_limits;
mod prose;
mod reflect;
mod report_reading;
mod scenarios;
#[path = "../../../skillbook/tests/it/shelf.rs"]
mod shelf;
mod synthesis;
mod synthesis_limits;
mod table;
mod time;
mod verification;
mod version_evidence;
