//! Asks the model, records its reply, and handles replies without calls and replies that repeat themselves.

use std::fmt::Write as _;

use apprentice_protocol::{
    Call, CallBody, ChatReply, Content, EventKind, Finish, Message, ModelErrorKind, ReplyStop, StopReason,
    VoidCause,
};

use super::repeat::{RepeatCounter, Repeats};
use crate::agent::attempt::AttemptInput;
use crate::agent::budget::Budget;
use crate::agent::conversation::{ContextFit, Conversation, LeftOut, Trimmed};
use crate::agent::journal::Journal;
use crate::agent::prompt;
use crate::agent::stop::{Stop, until};
use crate::agent::view::last_view::{LastView, WholeListReason};
use crate::agent::view::model_view::ModelView;

/// This many unusable replies in a row end an attempt.
const MAX_UNUSABLE_REPLIES: u32 = 3;
const CONTEXT_FULL: &str = "the conversation no longer fits the model";
const LARGER_CONTEXT: &str =
    "start the server with a larger context (llama.cpp: -c, vLLM: --max-model-len, Ollama: num_ctx)";

/// What the stage keeps from one reply to the next.
#[derive(Default)]
pub(crate) struct AskingProgress {
    /// The number of messages of the conversation that the trace has.
    recorded_messages: usize,
    /// The number of unusable replies in a row.
    unusable: u32,
    repeats: RepeatCounter,
    provider_model: Option<String>,
    /// Whether the server did not say what some reply used.
    estimated: bool,
}

impl AskingProgress {
    /// Counts anew: a turn of a session has limits of its own.
    pub(crate) fn begin_turn(&mut self) {
        (self.unusable, self.repeats) = (0, RepeatCounter::default());
    }

    /// Whether what was used holds estimates.
    pub(crate) fn is_estimated(&self) -> bool {
        self.estimated
    }

    /// Notes whether what a reply used is an estimate.
    pub(crate) fn note_estimate(&mut self, reply: &ChatReply) {
        self.estimated |= reply.estimated;
    }

    pub(crate) fn into_provider_model(self) -> Option<String> {
        self.provider_model
    }
}

/// The stage that asks the model: it may change the conversation and write the trace, and has no hold of the world.
pub(crate) struct Asking<'r, 'a> {
    pub(crate) attempt: &'r AttemptInput<'a>,
    pub(crate) journal: &'r mut Journal<'a>,
    pub(crate) budget: &'r mut Budget<'a>,
    pub(crate) conversation: &'r mut Conversation,
    pub(crate) progress: &'r mut AskingProgress,
    pub(crate) last_view: &'r mut LastView,
    pub(crate) finish: &'r mut Option<Finish>,
}

impl Asking<'_, '_> {
    /// Asks the model and records its reply.
    pub(crate) async fn ask(&mut self) -> Result<ChatReply, Stop> {
        self.make_room()?;
        let reply = self.exchange().await?;
        match reply.stop {
            ReplyStop::Refusal => return Err(Stop::judged(StopReason::Refused, "the provider refused")),
            ReplyStop::ContextFull => return Err(Stop::judged(StopReason::ContextFull, CONTEXT_FULL)),
            ReplyStop::SafetyDeclined => {
                let detail = "a pending safety check was declined";
                return Err(Stop::judged(StopReason::SafetyCheckDeclined, detail));
            }
            ReplyStop::EndTurn | ReplyStop::Calls | ReplyStop::MaxTokens | ReplyStop::UnreadCall => {}
        }
        self.conversation.push(Message::Assistant {
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
            let (model, request) = (self.attempt.model, self.conversation.request());
            match until(&self.attempt.cancel, model.reply(request)).await? {
                Ok(mut reply) if reply.stop == ReplyStop::ContextFull && self.leave_out_half()? => {
                    // The reply broke off in the middle.
                    (reply.say, reply.thoughts, reply.calls) = (Vec::new(), Vec::new(), Vec::new());
                    self.record_reply(&reply)?;
                }
                Ok(reply) => {
                    self.record_reply(&reply)?;
                    return Ok(reply);
                }
                Err(error)
                    if matches!(error.fault, ModelErrorKind::ContextFull | ModelErrorKind::TooLarge)
                        && self.leave_out_half()? => {}
                Err(error)
                    if error.fault == ModelErrorKind::ContextFull
                        || error.fault == ModelErrorKind::TooLarge && self.conversation.only_grows() =>
                {
                    return Err(self.context_full(error.message));
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The end of an attempt whose next request does not fit. A model that was never asked cannot have failed.
    fn context_full(&self, detail: String) -> Stop {
        if self.budget.spent().turns > 0 {
            return Stop::judged(StopReason::ContextFull, detail);
        }
        Stop::void(VoidCause::RequestRefused, format!("{detail}: it is the first one, so {LARGER_CONTEXT}"))
    }

    fn leave_out_half(&mut self) -> Result<bool, Stop> {
        let left_out = self.conversation.leave_out_half();
        left_out.map(|left_out| self.record_left_out(left_out)).transpose().map(|done| done.is_some())
    }

    fn record_left_out(&mut self, LeftOut { left_out, kept, why }: LeftOut) -> Result<(), Stop> {
        self.journal.emit(EventKind::PicturesLeftOut { left_out, kept, why })
    }

    /// Records what this request holds that the last one did not.
    fn record_request(&mut self) -> Result<(), Stop> {
        let request = self.conversation.request();
        let first = self.progress.recorded_messages == 0;
        let frame = first.then(|| self.journal.keep_request(request)).transpose()?;
        let new = request.messages.get(self.progress.recorded_messages..).unwrap_or_default();
        let kept = new.iter().filter(|message| !matches!(message, Message::Assistant { .. }));
        let messages = kept.map(|message| self.journal.keep_message(message)).collect::<Result<_, _>>()?;
        self.progress.recorded_messages = request.messages.len();
        self.journal.emit(EventKind::ModelAsked { request: frame, messages })
    }

    fn record_reply(&mut self, reply: &ChatReply) -> Result<(), Stop> {
        self.budget.count_reply(reply);
        for what in &reply.adapted {
            self.journal.emit(EventKind::RequestAdapted { what: what.clone() })?;
        }
        if !reply.estimated {
            self.conversation.learn(reply.usage);
        }
        self.progress.note_estimate(reply);
        self.progress.provider_model.clone_from(&reply.provider_model);
        let raw = reply.raw.blocks.iter().map(|block| self.journal.keep(block.as_bytes(), "json"));
        let raw = raw.collect::<Result<Vec<_>, _>>()?;
        self.journal.emit(EventKind::ModelReplied {
            raw,
            say: reply.say.clone(),
            thoughts: reply.thoughts.clone(),
            calls: reply.calls.clone(),
            usage: reply.usage,
            timing: reply.timing,
            cost_usd: reply.cost_usd,
            provider_model: reply.provider_model.clone(),
            request_bytes: self.conversation.text_bytes(),
            estimated: reply.estimated,
        })
    }

    /// Leaves out old parts of a conversation that no longer fits, and records that in the trace.
    fn make_room(&mut self) -> Result<(), Stop> {
        match self.conversation.make_room() {
            ContextFit::Fits => Ok(()),
            ContextFit::AfterTrimming(Trimmed { pictures, texts, before, after, limit }) => {
                if texts > 0 {
                    // The list that changes refer to may be gone.
                    *self.last_view = LastView::Unlisted(WholeListReason::LeftOut);
                }
                self.journal.emit(EventKind::HistoryTrimmed {
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
                Err(if by_pictures {
                    // The model did not choose its pictures.
                    Stop::void(VoidCause::Internal, format!("{detail}; pictures take the room"))
                } else {
                    self.context_full(detail)
                })
            }
        }
    }

    /// Handles a reply without calls: a complete turn is an answer in words, a broken one counts as unusable.
    pub(crate) fn handle_text_reply(&mut self, reply: &ChatReply) -> Result<(), Stop> {
        let text = reply.say.join("\n").trim().to_owned();
        if reply.stop == ReplyStop::EndTurn && !text.is_empty() {
            let finish = Finish::Answer { text };
            self.journal.emit(EventKind::Finished(finish.clone()))?;
            *self.finish = Some(finish);
            return Err(Stop::judged(StopReason::Answered, "the model answered in words"));
        }
        let limit = self.conversation.request().max_output_tokens;
        let (notice, why) = match reply.stop {
            ReplyStop::MaxTokens => (
                prompt::cut(limit),
                format!("it was cut off; its limit is {limit} output tokens (`max_output_tokens`)"),
            ),
            ReplyStop::UnreadCall => (prompt::unread_call(), "it wrote a call in its words".to_owned()),
            _ => (prompt::unusable(), "it held neither a call nor an answer".to_owned()),
        };
        self.count_unusable(&why)?;
        self.journal.notice(&notice)?;
        self.conversation.push(Message::User { content: vec![notice] });
        Ok(())
    }

    /// Warns a model that repeats itself, and ends the attempt when it continues.
    pub(crate) fn check_repeats(
        &mut self,
        reply: &ChatReply,
        view: &ModelView,
    ) -> Result<Option<Content>, Stop> {
        let limit = self.attempt.brief.limits.repeats;
        match self.progress.repeats.note(&reply.calls, &view.fingerprint, limit) {
            Repeats::Few => Ok(None),
            Repeats::Warn(repeats) => {
                self.journal.emit(EventKind::LoopSuspected { repeats })?;
                let warning = prompt::repeat(repeats);
                self.journal.notice(&warning)?;
                Ok(Some(warning))
            }
            Repeats::TooMany(repeats) => {
                self.journal.emit(EventKind::LoopSuspected { repeats })?;
                let detail = format!("the same calls on the same screen {repeats} times in a row");
                Err(Stop::judged(StopReason::Loop, detail))
            }
        }
    }

    /// Counts the unusable replies in a row, and ends the attempt when there are too many.
    pub(crate) fn count_usable(&mut self, is_usable: bool, calls: &[Call]) -> Result<(), Stop> {
        if is_usable {
            self.progress.unusable = 0;
            return Ok(());
        }
        let problem = calls.iter().rev().find_map(|call| match &call.body {
            CallBody::Unusable { problem } => Some(problem.as_str()),
            CallBody::World { .. } | CallBody::Tool { .. } | CallBody::Finish(_) => None,
        });
        self.count_unusable(problem.unwrap_or("its calls could not be read"))
    }

    fn count_unusable(&mut self, why: &str) -> Result<(), Stop> {
        self.progress.unusable += 1;
        if self.progress.unusable < MAX_UNUSABLE_REPLIES {
            return Ok(());
        }
        let detail = format!("{MAX_UNUSABLE_REPLIES} replies in a row could not be used; the last: {why}");
        Err(Stop::judged(StopReason::InvalidOutput, detail))
    }
}
