//! Asks a model that is shown short views which advice its task asks for, before it gets any.

use apprentice_protocol::{
    AdviceQuestion, ChatReply, ChatRequest, EventKind, Observation, ViewRule, VoidCause,
};

use super::asking::Asking;
use crate::agent::stop::{Stop, until};

/// Most questions about one view. Each is a request, and costs such a model a second or two.
const MAX_QUESTIONS: usize = 12;

impl Asking<'_, '_> {
    /// Asks what the guidance wants to know before it adds anything to a view. A server that fails, or that does not keep its
    /// model to the answers asked for, makes the attempt void: without advice it would count as one that needed none.
    pub(crate) async fn ask_about_advice(&mut self, seen: &Observation) -> Result<(), Stop> {
        let model = self.attempt.model;
        let Some(refresh) = &self.attempt.guidance.refresh else { return Ok(()) };
        if model.profile().views != ViewRule::Short {
            return Ok(());
        }
        for _ in 0..MAX_QUESTIONS {
            let Some(question) = refresh.question(seen) else { return Ok(()) };
            let request = ChatRequest { seed: self.conversation.request().seed, ..question };
            let reply = until(&self.attempt.cancel, model.reply(&request)).await??;
            self.record_question(&request, &reply)?;
            refresh.answer(&reply).map_err(|problem| {
                let remedy = "start a server that enforces JSON schemas, such as llama.cpp";
                Stop::void(VoidCause::ModelProtocol, format!("{problem}; {remedy}"))
            })?;
        }
        Ok(())
    }

    fn record_question(&mut self, request: &ChatRequest, reply: &ChatReply) -> Result<(), Stop> {
        self.budget.count_question(reply);
        self.progress.note_estimate(reply);
        let frame = self.journal.keep_request(request)?;
        let messages = request.messages.iter().map(|message| self.journal.keep_message(message));
        let messages = messages.collect::<Result<_, _>>()?;
        let raw = reply.raw.blocks.iter().map(|block| self.journal.keep(block.as_bytes(), "json"));
        let raw = raw.collect::<Result<_, _>>()?;
        self.journal.emit(EventKind::AdviceAsked(Box::new(AdviceQuestion {
            request: frame,
            messages,
            raw,
            say: reply.say.clone(),
            usage: reply.usage,
            timing: reply.timing,
            cost_usd: reply.cost_usd,
            provider_model: reply.provider_model.clone(),
            estimated: reply.estimated,
        })))
    }
}
