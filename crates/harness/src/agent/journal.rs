//! The record of one attempt: its events, each with its step, and what of the guidance was delivered.

use std::time::Duration;

use apprentice_protocol::{
    BlobHash, BoundedText, ChatRequest, Clock, Content, EventKind, EventSink, Message, SkillEventKind,
    SkillId, StepId, StepRef,
};

use super::record;
use super::stop::Stop;

/// Writes the trace of an attempt, and counts the guidance that it records.
pub(super) struct Journal<'a> {
    sink: &'a mut dyn EventSink,
    clock: &'a dyn Clock,
    step: StepId,
    delivered_chars: u64,
    skills_viewed: Vec<SkillId>,
}

impl<'a> Journal<'a> {
    /// Starts at the first step.
    pub(super) fn new(sink: &'a mut dyn EventSink, clock: &'a dyn Clock) -> Self {
        Self { sink, clock, step: StepId(1), delivered_chars: 0, skills_viewed: Vec::new() }
    }

    pub(super) fn step(&self) -> StepRef {
        StepRef { step: self.step }
    }

    pub(super) fn next_step(&mut self) {
        self.step = self.step.next();
    }

    pub(super) fn emit(&mut self, kind: EventKind) -> Result<(), Stop> {
        self.sink.emit(Some(self.step), kind)?;
        Ok(())
    }

    /// Records the events that a tool or the guidance reports, and counts the skills viewed.
    pub(super) fn emit_all(&mut self, events: Vec<EventKind>) -> Result<(), Stop> {
        for event in events {
            if let EventKind::Skill(skill) = &event {
                self.delivered_chars += skill.delivered_chars;
                let viewed = skill.happening == SkillEventKind::Viewed;
                if let Some(id) = skill.skill.iter().find(|id| viewed && !self.skills_viewed.contains(*id)) {
                    self.skills_viewed.push(id.clone());
                }
            }
            self.emit(event)?;
        }
        Ok(())
    }

    /// Records a notice to the model.
    pub(super) fn notice(&mut self, notice: &Content) -> Result<(), Stop> {
        self.emit(EventKind::Notice { content: vec![notice.clone()] })
    }

    /// Records guidance that stands in a notice, and whose events count the parts of the text that they are about; what
    /// stands around these is counted here.
    pub(super) fn deliver_with(
        &mut self,
        text: &BoundedText,
        notice: &Content,
        events: Vec<EventKind>,
    ) -> Result<(), Stop> {
        self.notice(notice)?;
        let before = self.delivered_chars;
        self.emit_all(events)?;
        let counted = self.delivered_chars - before;
        self.delivered_chars += (text.as_str().chars().count() as u64).saturating_sub(counted);
        Ok(())
    }

    pub(super) fn keep(&mut self, bytes: &[u8], extension: &str) -> Result<BlobHash, Stop> {
        Ok(self.sink.keep(bytes, extension)?)
    }

    /// Stores a request without its messages.
    pub(super) fn keep_request(&mut self, request: &ChatRequest) -> Result<BlobHash, Stop> {
        Ok(record::request(request, self.sink)?)
    }

    pub(super) fn keep_message(&mut self, message: &Message) -> Result<BlobHash, Stop> {
        Ok(record::message(message, self.sink)?)
    }

    /// Returns the milliseconds since `begun` on the attempt's clock.
    pub(super) fn since(&self, begun: Duration) -> u64 {
        let took = self.clock.mono().saturating_sub(begun);
        u64::try_from(took.as_millis()).unwrap_or(u64::MAX)
    }

    /// Returns the characters of guidance delivered, and the skills whose text the model received, in order.
    pub(super) fn into_deliveries(self) -> (u64, Vec<SkillId>) {
        (self.delivered_chars, self.skills_viewed)
    }
}
