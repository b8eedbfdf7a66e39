//! Functions of skills: written from attempts that passed, admitted by replays, and lent to trials.

pub mod admission;
pub mod synthesis;
