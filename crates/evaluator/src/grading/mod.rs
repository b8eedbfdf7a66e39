//! Verdicts on finished attempts: from stored evidence, and from models that read answers.

pub mod answer_judge;
pub mod grade;
pub mod judge_attempts;
