//! Asks the model, records its reply, and handles replies without calls.

use std::fmt::Write as _;

use apprentice_protocol::{ChatReply, EventKind, Finish, Message, ReplyStop, StopReason};

use super::agent_loop::AgentLoop;
use super::conversation::{ContextFit, Trimmed};
use super::prompt;
use super::stop::{Stop, until};

/// This many unusable replies in a row end an attempt.
const UNUSABLE_LIMIT: u32 = 3;

impl AgentLoop<'_> {
    /// Asks the model and records its reply.
    pub(super) async fn ask(&mut self) -> Result<ChatReply, Stop> {
        self.make_room()?;
        let (model, request) = (self.attempt.model, self.talk.request());
        let reply = until(&self.attempt.cancel, model.reply(request)).await??;
        self.budget.count_reply(&reply);
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
        })?;
        match reply.stop {
            ReplyStop::Refusal => return Err(Stop::judged(StopReason::Refused, "the provider refused")),
            ReplyStop::ContextFull => {
                return Err(Stop::judged(
                    StopReason::ContextFull,
                    "the conversation no longer fits the model",
                ));
            }
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

    /// Leaves out old parts of a conversation that no longer fits, and records that in the trace.
    fn make_room(&mut self) -> Result<(), Stop> {
        match self.talk.make_room() {
            ContextFit::Fits => Ok(()),
            ContextFit::AfterTrimming(Trimmed { pictures, texts, before, after, limit }) => {
                self.emit(EventKind::HistoryTrimmed {
                    pictures,
                    texts,
                    before_tokens: before,
                    after_tokens: after,
                    limit_tokens: limit,
                })
            }
            ContextFit::None { unit, needed, limit, held } => {
                let mut detail =
                    format!("the next request needs {needed} {unit}, but the model accepts {limit}");
                if held > 0 {
                    let _ = write!(detail, "; {held} of them are texts that tools have pinned");
                }
                Err(Stop::judged(StopReason::ContextFull, detail))
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
