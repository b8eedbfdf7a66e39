//! Conversations of a list, handed out one by one.

use crate::model::{Log, Transcript};

/// Hands out the conversations of a list one by one. The first waits for the second, which says that it is a list.
pub(crate) struct Samples<'t> {
    take: &'t mut dyn FnMut(&Log, Transcript),
    first: Option<Transcript>,
}

impl<'t> Samples<'t> {
    pub(crate) fn new(take: &'t mut dyn FnMut(&Log, Transcript)) -> Self {
        Self { take, first: None }
    }

    /// Takes the next conversation of the log.
    pub(crate) fn add(&mut self, log: &mut Log, transcript: Transcript) {
        match (self.first.take(), log.sampled) {
            (None, false) => self.first = Some(transcript),
            (first, _) => {
                log.sampled = true;
                first.into_iter().chain([transcript]).for_each(|next| (self.take)(log, next));
            }
        }
    }

    /// Ends the list.
    pub(crate) fn end(&mut self, log: &Log) {
        self.first.take().into_iter().for_each(|only| (self.take)(log, only));
    }
}
