//! The index beside the conversations that `apprentice export` writes: whose attempts they are, and how those were judged.
//!
//! Conversations for training hold what a trainer's template renders and nothing else, so the model and the reward stand there.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use crate::error::ReadError;
use crate::lines::Lines;
use crate::model::{Transcript, Verdict};

/// The name of the index.
const INDEX_FILE: &str = "index.jsonl";
/// Maximum number of attempts of an index.
const MAX_ATTEMPTS: usize = 100_000;

/// The attempts of an export, by trial.
#[derive(Debug, Default)]
pub(crate) struct ExportIndex(BTreeMap<String, Vec<Attempt>>);

#[derive(Debug, Deserialize)]
struct Attempt {
    trial: String,
    attempt: u32,
    model: String,
    verdict: String,
    reward: f64,
}

impl ExportIndex {
    /// Reads the index beside a file; empty where there is none, or where another program wrote it.
    ///
    /// # Errors
    /// It cannot be read, is damaged, or is too large.
    pub(crate) fn beside(path: &Path) -> Result<Self, ReadError> {
        let mut index = Self::default();
        let file = path.with_file_name(INDEX_FILE);
        if !file.is_file() {
            return Ok(index);
        }
        let mut lines = Lines::open(&file)?;
        let mut count = 0;
        while let Some(line) = lines.next()? {
            let attempt = match serde_json::from_slice::<Attempt>(line.bytes) {
                Ok(attempt) => attempt,
                // Another program's file of that name.
                Err(_) if count == 0 => return Ok(Self::default()),
                Err(error) => {
                    let (line, why) = (Some(line.number), error.to_string());
                    return Err(ReadError::Damaged { path: file, program: "apprentice export", line, why });
                }
            };
            count += 1;
            if count > MAX_ATTEMPTS {
                let (what, most) = ("too many attempts".to_owned(), MAX_ATTEMPTS.to_string());
                return Err(ReadError::TooLarge { path: file, what, most });
            }
            index.0.entry(attempt.trial.clone()).or_default().push(attempt);
        }
        Ok(index)
    }

    /// Adds what the index says of a conversation. Where a trial has several attempts and the conversation does not say which
    /// one it is, it stays unjudged.
    pub(crate) fn complete(&self, transcript: &mut Transcript, attempt: Option<u32>) {
        let Some(attempts) = self.0.get(&transcript.name) else { return };
        let found = match (attempt, attempts.as_slice()) {
            (Some(number), all) => all.iter().find(|found| found.attempt == number),
            (None, [only]) => Some(only),
            (None, _) => None,
        };
        let Some(found) = found else { return };
        if transcript.model.is_none() {
            transcript.model = Some(found.model.clone());
        }
        if transcript.verdict.is_none() && found.verdict != "void" {
            transcript.verdict = Some(Verdict::Reward(found.reward));
            transcript.judge = Some("the task's checks (index.jsonl)".to_owned());
        }
    }
}
