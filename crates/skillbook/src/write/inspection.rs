//! Refuses what no writer may write: secrets, sealed material, and words to the agent where no gate stands behind.

use std::collections::BTreeMap;

use apprentice_screening::{Finding, scan};

use super::gate::is_gated;
use super::gateway::Gateway;
use crate::log::change::Change;
use crate::skill::attachment::{FileText, reading};
use crate::skill::figure::with_captions;
use crate::skill::model::Actor;

impl Gateway {
    /// Checks the files of a package against the rules for pages: every file and the package's name. In binary files,
    /// checks the printable strings.
    ///
    /// # Errors
    ///
    /// The code and the reason, with the path of the file.
    pub fn inspect_files(
        &self,
        actor: Actor,
        files: &BTreeMap<String, Vec<u8>>,
    ) -> Result<(), (&'static str, String)> {
        for (path, bytes) in files {
            let (FileText::Text(content) | FileText::Binary(content)) = reading(bytes);
            let check = |text: &str| match actor {
                Actor::Human => self.check_text_of(text),
                _ => self.barred(text),
            };
            let objection = check(path).or_else(|| check(&content));
            if let Some((code, why)) = objection {
                return Err((code, format!("{path}: {why}")));
            }
        }
        Ok(())
    }

    /// Returns the reason why a learned text is not allowed in this book: a secret, an injection, or sealed material.
    pub fn check_text(&self, text: &str) -> Option<(&'static str, String)> {
        let unsafe_text = scan(text).map(|finding| ("unsafe_text", finding.why().to_owned()));
        unsafe_text.or_else(|| self.leak(text))
    }

    fn leak(&self, text: &str) -> Option<(&'static str, String)> {
        let found = self.held_out(text)?;
        Some(("leak", format!("it repeats {found}; say it without the words of one task")))
    }

    /// Refuses what no writer may write: secrets and sealed material, and words to the agent where no gate stands behind.
    pub(crate) fn inspect(&self, actor: Actor, change: &Change) -> Result<(), (&'static str, String)> {
        let is_judged = actor != Actor::Human && is_gated(actor, change);
        let objection = |text: &str| if is_judged { self.barred(text) } else { self.check_text_of(text) };
        change.texts().into_iter().find_map(objection).map_or(Ok(()), Err)
    }

    /// Returns the reason why nobody may write a text: a secret, or sealed material.
    pub fn barred(&self, text: &str) -> Option<(&'static str, String)> {
        let text = &with_captions(text);
        match scan(text) {
            Some(finding @ Finding::Secret) => Some(("unsafe_text", finding.why().to_owned())),
            Some(Finding::Injection | Finding::Address) | None => self.leak(text),
        }
    }

    /// Checks a text of which no page shows anything, or that a person wrote. Addresses are free.
    fn check_text_of(&self, text: &str) -> Option<(&'static str, String)> {
        // A reader gets a figure's words, not the hash of its content, which looks like a key.
        let text = &with_captions(text);
        if scan(text) == Some(Finding::Address) { self.leak(text) } else { self.check_text(text) }
    }
}
