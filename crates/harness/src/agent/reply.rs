//! Asks the model, records its reply, and handles replies without calls.

use std::fmt::Write as _;

use apprentice_protocol::{
    ChatReply, EventKind, Finish, Message, ModelErrorKind, ReplyStop, StopReason, VoidCause,
};

use super::agent_loop::AgentLoop;
use super::conversation::{ContextFit, LeftOut, Trimmed};
use super::known::{Known, Unknown};
use super::prompt;
use super::record;
use super::stop::{Stop, until};

/// This many unusable replies in a row end an attempt.
const UNUSABLE_LIMIT: u32 = 3;
const CONTEXT_FULL: &str = "the conversation no longer fits the model";

impl AgentLoop<'_> {
    /// Asks the model and records its reply.
    pub(super) async fn ask(&mut self) -> Result<ChatReply, Stop> {
        self.make_room()?;
        let reply = self.exchange().await?;
        match reply.stop {
            ReplyStop::Refusal => return Err(Stop::judged(StopReason::Refused, "the provider refused")),
            ReplyStop::ContextFull => return Err(Stop::judged(StopReason::ContextFull, CONTEXT_FULL)),
            ReplyStop::SafetyDeclined => {
                let detail = "a pending safety check was declined";
                return Err(Stop::judged(StopReason::SafetyCheckDeclined, detail));
            }
            ReplyStop::EndTurn | ReplyStop::Calls | ReplyStop::MaxTokens => {}
        }
        self.talk.push(Message::Assistant {
            raw: reply.raw.clone(),
            say: reply.say.clone(),
            calls: reply.calls.clone(),
        });
        Ok(reply)
    }

    /// Asks the model and records its reply. A request that the provider finds too long is sent again with fewer
    /// pictures: the program decides how many there are, so they never end an attempt.
    async fn exchange(&mut self) -> Result<ChatReply, Stop> {
        self.record_request()?;
        loop {
            let (model, request) = (self.attempt.model, self.talk.request());
            match until(&self.attempt.cancel, model.reply(request)).await? {
                Ok(mut reply) if reply.stop == ReplyStop::ContextFull && self.leave_out_half()? => {
                    // The reply broke off in the middle.
                    (reply.say, reply.calls) = (Vec::new(), Vec::new());
                    self.record_reply(&reply)?;
                }
                Ok(reply) => {
                    self.record_reply(&reply)?;
                    return Ok(reply);
                }
                Err(error) if error.fault == ModelErrorKind::ContextFull && self.leave_out_half()? => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn leave_out_half(&mut self) -> Result<bool, Stop> {
        let left_out = self.talk.leave_out_half();
        left_out.map(|left_out| self.record_left_out(left_out)).transpose().map(|done| done.is_some())
    }

    fn record_left_out(&mut self, LeftOut { left_out, kept, why }: LeftOut) -> Result<(), Stop> {
        self.emit(EventKind::PicturesLeftOut { left_out, kept, why })
    }

    /// Records what this request holds that the last one did not.
    fn record_request(&mut self) -> Result<(), Stop> {
        let request = self.talk.request();
        let first = self.recorded_messages == 0;
        let frame = first.then(|| record::request(request, self.sink)).transpose()?;
        let new = request.messages.get(self.recorded_messages..).unwrap_or_default();
        let kept = new.iter().filter(|message| !matches!(message, Message::Assistant { .. }));
        let messages = kept.map(|message| record::message(message, self.sink)).collect::<Result<_, _>>()?;
        self.recorded_messages = request.messages.len();
        self.emit(EventKind::ModelAsked { request: frame, messages })
    }

    fn record_reply(&mut self, reply: &ChatReply) -> Result<(), Stop> {
        self.budget.count_reply(reply);
        self.talk.learn(reply.usage);
        self.provider_model.clone_from(&reply.provider_model);
        let raw = reply.raw.blocks.iter().map(|block| self.sink.keep(block.as_bytes(), "json"));
        let raw = raw.collect::<Result<Vec<_>, _>>()?;
        self.emit(EventKind::ModelReplied {
            raw,
            say: reply.say.clone(),
            calls: reply.calls.clone(),
            usage: reply.usage,
            timing: reply.timing,
            cost_usd: reply.cost_usd,
            provider_model: reply.provider_model.clone(),
            request_bytes: self.talk.text_bytes(),
        })
    }

    /// Leaves out old parts of a conversation that no longer fits, and records that in the trace.
    fn make_room(&mut self) -> Result<(), Stop> {
        match self.talk.make_room() {
            ContextFit::Fits => Ok(()),
            ContextFit::AfterTrimming(Trimmed { pictures, texts, before, after, limit }) => {
                if texts > 0 {
                    // The list that changes refer to may be gone.
                    self.known = Known::Nothing(Unknown::LeftOut);
                }
                self.emit(EventKind::HistoryTrimmed {
                    pictures,
                    texts,
                    before_tokens: before,
                    after_tokens: after,
                    limit_tokens: limit,
                })
            }
            ContextFit::WithoutPictures(left_out) => self.record_left_out(left_out),
            ContextFit::None { unit, needed, limit, held, by_pictures } => {
                let mut detail =
                    format!("the next request needs {needed} {unit}, but the model accepts {limit}");
                if held > 0 {
                    let _ = write!(detail, "; {held} of them are texts that tools have pinned");
                }
                Err(match by_pictures {
                    // The model did not choose its pictures.
                    true => Stop::void(VoidCause::Internal, format!("{detail}; pictures take the room")),
                    false => Stop::judged(StopReason::ContextFull, detail),
                })
            }
        }
    }

    /// Handles a reply without calls: a complete turn is an answer in words, a broken one counts as unusable.
    pub(super) fn handle_text_reply(&mut self, reply: &ChatReply) -> Result<(), Stop> {
        let text = reply.say.join("\n").trim().to_owned();
        if reply.stop == ReplyStop::EndTurn && !text.is_empty() {
            let finish = Finish::Answer { text };
            self.emit(EventKind::Finished(finish.clone()))?;
            self.finish = Some(finish);
            return Err(Stop::judged(StopReason::Answered, "the model answered in words"));
        }
        self.count_unusable()?;
        let told = prompt::unusable();
        self.emit(EventKind::Notice { content: vec![told.clone()] })?;
        self.talk.push(Message::User { content: vec![told] });
        Ok(())
    }

    pub(super) fn count_unusable(&mut self) -> Result<(), Stop> {
        self.unusable += 1;
        if self.unusable < UNUSABLE_LIMIT {
            return Ok(());
        }
        let detail = format!("{UNUSABLE_LIMIT} replies in a row could not be used");
        Err(Stop::judged(StopReason::InvalidOutput, detail))
    }
}
