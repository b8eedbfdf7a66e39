//! The conversation as it is sent. It is append-only, with three exceptions, of which a rule that only lets it grow has
//! none: a sliding window of pictures, blocks of old pictures, and trimming when the model's known context is full.

mod context;
mod old_pictures;
mod pinned_texts;

use std::collections::VecDeque;

use apprentice_protocol::{
    ActionOutcome, Call, CallBody, CallId, CallResult, ChatRequest, Content, HistoryRule, Message,
    ModelProfile, Purpose, TextMark, ToolSpec, Usage, WorldTool,
};

use self::context::TokenMeter;
pub use self::context::tokens_of;
use self::pinned_texts::{PinnedTexts, Retention};
use super::prompt;

/// Replaces an old picture.
const PICTURE_LEFT_OUT: &str = "[an earlier picture, left out]";
/// Replaces an old observation or a tool's long answer.
const TEXT_LEFT_OUT: &str = "[an earlier text, left out]";
/// Answers a call that its turn's end left undone.
const TURN_ENDED: &str = "not carried out: the turn had ended";
/// Texts of up to this many bytes are kept: removing them would save next to no tokens.
const MIN_TRIMMED_BYTES: usize = 200;
/// The share of the context that is kept when it is trimmed. Freeing more than the next turn needs avoids an edit on
/// every turn, so the provider's prompt cache stays valid.
const KEPT_SHARE: (u64, u64) = (4, 5);
/// A reply of fewer tokens is not asked for: it would hold no call.
const LEAST_REPLY_TOKENS: u32 = 64;
/// The limit on a request to a server whose own is not known: the smallest documented one, Amazon Bedrock's.
const WINDOW_REQUEST_BYTES: u64 = 19_000_000;

/// Returns the request with which every attempt begins, without its task, its guidance and its first view: what a model's
/// context must hold at least.
pub fn opening_request(profile: &ModelProfile, world: WorldTool) -> ChatRequest {
    Conversation::new(profile, world, std::iter::empty(), None).into_request()
}

/// The request of the next turn.
pub(super) struct Conversation {
    request: ChatRequest,
    rule: HistoryRule,
    text_bytes: u64,
    /// Positions of pictures, oldest first.
    pictures: VecDeque<Place>,
    /// Positions of texts that may be left out, oldest first.
    texts: VecDeque<Text>,
    pinned: PinnedTexts,
    /// The most output tokens of a reply, where the context has room for them.
    most_output: u32,
    /// Index of the message with the latest observation, which is never trimmed.
    latest_view: usize,
    /// Index of the message with the latest results, which are never trimmed.
    latest_answers: usize,
    meter: Option<TokenMeter>,
    /// The meter's estimate for the request that was sent last.
    sent: u64,
}

/// The position of one content part. Messages are only appended, so positions stay valid.
#[derive(Clone, Copy, Debug)]
struct Place {
    message: usize,
    part: usize,
}

/// A text that may be left out, unless a tool has pinned it.
#[derive(Clone, Debug)]
struct Text {
    place: Place,
    /// The key under which a tool may pin or release it.
    key: Option<String>,
}

/// Whether the next request fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ContextFit {
    /// It fits as it is.
    Fits,
    /// It fits after old parts were left out.
    AfterTrimming(Trimmed),
    /// It fits after old pictures were left out.
    WithoutPictures(LeftOut),
    /// It does not fit even with every old part left out.
    None {
        /// `tokens` or `bytes`.
        unit: &'static str,
        needed: u64,
        limit: u64,
        /// The part of `needed` that pinned texts take.
        held: u64,
        /// Without the pictures that the program keeps it would fit.
        by_pictures: bool,
    },
}

/// Old pictures that were left out together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LeftOut {
    pub(super) left_out: u32,
    pub(super) kept: u32,
    pub(super) why: String,
}

/// The number of parts left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Trimmed {
    pub(super) pictures: u32,
    pub(super) texts: u32,
    pub(super) before: u64,
    pub(super) after: u64,
    pub(super) limit: u64,
}

impl Conversation {
    pub(super) fn new(
        profile: &ModelProfile,
        world: WorldTool,
        tools: impl Iterator<Item = ToolSpec>,
        seed: Option<u64>,
    ) -> Self {
        let request = ChatRequest {
            purpose: Purpose::Act,
            system: prompt::system(profile),
            messages: Vec::new(),
            edited_before: 0,
            tools: std::iter::once(prompt::finish_tool()).chain(tools).collect(),
            world: Some(world),
            schema: None,
            seed,
            max_output_tokens: profile.max_output_tokens,
        };
        let meter = match profile.history {
            HistoryRule::AppendOnly { context, .. } | HistoryRule::Window { context, .. } => {
                context.map(TokenMeter::new)
            }
            // Signatures cover everything that was sent. Such a provider trims by itself or reports a full context.
            HistoryRule::Blocks { .. } => None,
        };
        let meter = meter.map(|mut meter| {
            meter.add_text(&request.system);
            request.tools.iter().for_each(|tool| meter.add_tool(tool));
            meter
        });
        let text_bytes = serialized(&request);
        let (pictures, texts) = (VecDeque::new(), VecDeque::new());
        let (rule, pinned) = (profile.history, PinnedTexts::default());
        Self {
            request,
            rule,
            text_bytes,
            pictures,
            texts,
            pinned,
            most_output: profile.max_output_tokens,
            latest_view: 0,
            latest_answers: 0,
            meter,
            sent: 0,
        }
    }

    pub(super) fn request(&self) -> &ChatRequest {
        &self.request
    }

    pub(super) fn into_request(self) -> ChatRequest {
        self.request
    }

    /// Bytes of the request without pictures.
    pub(super) fn text_bytes(&self) -> u64 {
        self.text_bytes
    }

    /// Adds the first message: the task and guidance, the first observation, and the text below it.
    pub(super) fn open(&mut self, told: Vec<Content>, seen: Vec<Content>, below: Option<Content>) {
        let view = told.len()..told.len() + seen.len();
        let content = told.into_iter().chain(seen).chain(below).collect();
        self.push_with(Message::User { content }, |part| view.contains(&part));
    }

    /// Adds the instruction of a later turn. Calls that a turn left unanswered when it ended are answered first; a message
    /// that was not answered yet is completed, so that a provider gets one message of the user between two of the model.
    pub(super) fn instruct(&mut self, told: Content, seen: Vec<Content>, below: Option<Content>) {
        let seen_count = seen.len();
        let content: Vec<Content> = std::iter::once(told).chain(seen).chain(below).collect();
        let is_view = |part: usize| (1..=seen_count).contains(&part);
        let unanswered = match self.request.messages.last() {
            Some(Message::Assistant { calls, .. }) if !calls.is_empty() => unanswered(calls),
            Some(Message::Results { .. } | Message::User { .. }) => {
                self.complete_last(content, is_view);
                return;
            }
            Some(Message::Assistant { .. }) | None => Vec::new(),
        };
        self.latest_view = self.request.messages.len();
        if unanswered.is_empty() {
            self.push_with(Message::User { content }, is_view);
        } else {
            let before: usize = unanswered.iter().map(|result| result.content.len()).sum();
            let message = Message::Results { results: unanswered, notices: content };
            self.push_with(message, |part| part < before || is_view(part - before));
        }
    }

    /// Adds parts to the last message, which the model has not answered.
    fn complete_last(&mut self, content: Vec<Content>, may_go: impl Fn(usize) -> bool) {
        let Some(message) = self.request.messages.len().checked_sub(1) else { return };
        let first = contents_of(&self.request.messages[message]).count();
        for (offset, part) in content.iter().enumerate() {
            let place = Place { message, part: first + offset };
            self.text_bytes += serialized(part) + 1;
            self.note_part(place, part, may_go(offset), None);
            if let Some(meter) = &mut self.meter {
                meter.add(weight(meter, part));
            }
        }
        match &mut self.request.messages[message] {
            Message::Results { notices, .. } => notices.extend(content),
            Message::User { content: before } => before.extend(content),
            Message::Assistant { .. } => {}
        }
        self.latest_view = message;
        self.latest_answers = message;
        self.keep_window();
    }

    /// Remembers where a part stands that may be left out later.
    fn note_part(&mut self, place: Place, content: &Content, may_go: bool, key: Option<String>) {
        match content {
            Content::Image { .. } => self.pictures.push_back(place),
            Content::Text { text } if may_go && text.len() > MIN_TRIMMED_BYTES => {
                self.texts.push_back(Text { place, key });
            }
            Content::Text { .. } => {}
        }
    }

    /// Leaves out the pictures that a window has no room for.
    fn keep_window(&mut self) {
        if let HistoryRule::Window { images, at_most: None, .. } = self.rule {
            while self.pictures.len() > images as usize {
                self.leave_out(PartKind::Picture);
            }
        }
    }

    /// Stores the marks of a call's result before the result is added.
    pub(super) fn note(&mut self, call: &CallId, marks: Vec<TextMark>) {
        self.pinned.note(call, marks);
    }

    /// Adds a message of results that includes a new observation.
    pub(super) fn push_view(&mut self, message: Message) {
        self.latest_view = self.request.messages.len();
        self.push(message);
    }

    /// Adds a message. Observations and tool results may be left out later; notices to the model may not.
    pub(super) fn push(&mut self, message: Message) {
        let answers = match &message {
            Message::Results { results, .. } => results.iter().map(|result| result.content.len()).sum(),
            Message::User { .. } | Message::Assistant { .. } => 0,
        };
        self.push_with(message, |part| part < answers);
    }

    fn push_with(&mut self, message: Message, may_go: impl Fn(usize) -> bool) {
        self.text_bytes += serialized(&message) + 1;
        let mut keys = self.pinned.keys(&message);
        let index = self.request.messages.len();
        for (part, content) in contents_of(&message).enumerate() {
            if may_go(part) {
                self.latest_answers = index;
            }
            let key = keys.get_mut(part).and_then(Option::take);
            self.note_part(Place { message: index, part }, content, may_go(part), key);
        }
        if let Some(meter) = &mut self.meter {
            meter.add_message();
            contents_of(&message).for_each(|content| meter.add(weight(meter, content)));
            if let Message::Assistant { raw, .. } = &message {
                raw.blocks.iter().for_each(|block| meter.add_text(block));
            }
        }
        self.request.messages.push(message);
        self.keep_window();
    }

    /// Stores the provider's token count for the request that was sent last.
    pub(super) fn learn(&mut self, usage: Usage) {
        let sent = self.sent;
        if let Some(meter) = &mut self.meter {
            meter.correct(sent, usage.input);
        }
    }

    /// Trims the conversation until the next request may be sent, if that is possible.
    pub(super) fn make_room(&mut self) -> ContextFit {
        let room = match self.rule {
            HistoryRule::AppendOnly { max_request_bytes, uploads, .. } => match self.fit_in_context() {
                ContextFit::Fits => {
                    let pictures = if uploads { 0 } else { self.picture_bytes() };
                    self.fit_in_bytes(self.text_bytes + pictures, max_request_bytes)
                }
                full => full,
            },
            HistoryRule::Blocks { keep, at_most, max_request_bytes } => {
                self.leave_out_blocks(keep, at_most, max_request_bytes)
            }
            HistoryRule::Window { images, at_most, .. } => match self.make_room_in_context() {
                ContextFit::Fits => {
                    self.leave_out_blocks(images, at_most.unwrap_or(images), WINDOW_REQUEST_BYTES)
                }
                other => other,
            },
        };
        self.sent = self.meter.as_ref().map_or(0, TokenMeter::estimated);
        self.limit_reply();
        room
    }

    /// Asks for no longer reply than the context has room for: servers refuse a request whose parts exceed it together. A
    /// tenth of the estimate is kept for its error.
    fn limit_reply(&mut self) {
        let Some(meter) = self.meter else { return };
        let taken = meter.tokens().saturating_mul(11) / 10;
        let left = u32::try_from(meter.rule.tokens.saturating_sub(taken)).unwrap_or(u32::MAX);
        self.request.max_output_tokens = self.most_output.min(left.max(LEAST_REPLY_TOKENS));
    }

    /// Whether the conversation fits the model's context as it is.
    fn fit_in_context(&self) -> ContextFit {
        let Some(meter) = self.meter else { return ContextFit::Fits };
        // A reply may take what is left; a quarter of a small context is kept for it.
        let reply = u64::from(self.most_output).min(meter.rule.tokens / 4);
        let (needed, limit) = (meter.tokens(), meter.rule.tokens.saturating_sub(reply));
        if needed <= limit {
            return ContextFit::Fits;
        }
        ContextFit::None { unit: "tokens", needed, limit, held: self.held(), by_pictures: false }
    }

    fn make_room_in_context(&mut self) -> ContextFit {
        let ContextFit::None { needed: before, limit, .. } = self.fit_in_context() else {
            return ContextFit::Fits;
        };
        let mut trimmed = Trimmed { before, limit, ..Trimmed::default() };
        let enough = limit / KEPT_SHARE.1 * KEPT_SHARE.0;
        for kind in [PartKind::Released, PartKind::Picture, PartKind::Text] {
            while self.tokens() > enough && self.oldest(kind).is_some() {
                self.leave_out(kind);
                match kind {
                    PartKind::Picture => trimmed.pictures += 1,
                    PartKind::Released | PartKind::Text => trimmed.texts += 1,
                }
            }
        }
        trimmed.after = self.tokens();
        if trimmed.after <= limit {
            ContextFit::AfterTrimming(trimmed)
        } else {
            let (needed, held) = (trimmed.after, self.held());
            ContextFit::None { unit: "tokens", needed, limit, held, by_pictures: false }
        }
    }

    fn tokens(&self) -> u64 {
        self.meter.as_ref().map_or(0, TokenMeter::tokens)
    }

    /// Returns the position of the next part to leave out: the oldest before the latest results that is not part of the
    /// latest observation.
    fn oldest(&self, kind: PartKind) -> Option<usize> {
        let is_old = |place: &Place| place.message < self.latest_answers && place.message != self.latest_view;
        match kind {
            PartKind::Picture => self.pictures.front().is_some_and(is_old).then_some(0),
            PartKind::Released | PartKind::Text => {
                let may_go = |text: &Text| match self.pinned.retention(text.key.as_deref()) {
                    Some(Retention::Pinned) => false,
                    Some(Retention::Released { .. }) => true,
                    None => kind == PartKind::Text,
                };
                self.texts.iter().position(|text| is_old(&text.place) && may_go(text))
            }
        }
    }

    /// Leaves out the oldest part of this kind.
    fn leave_out(&mut self, kind: PartKind) {
        let (place, mark) = match kind {
            PartKind::Picture => (self.pictures.pop_front(), PICTURE_LEFT_OUT),
            PartKind::Released | PartKind::Text => self.take_text(kind),
        };
        let Some(place) = place else { return };
        let message = self.request.messages.get_mut(place.message);
        let Some(content) = message.and_then(|message| part_of(message, place.part)) else { return };
        let old = std::mem::replace(content, Content::text(mark));
        self.text_bytes = (self.text_bytes + serialized(content)).saturating_sub(serialized(&old));
        if let Some(meter) = &mut self.meter {
            meter.take(weight(meter, &old));
            meter.add(tokens_of(mark));
        }
    }

    /// Takes the oldest text of this kind from the list, with the words that replace it.
    fn take_text(&mut self, kind: PartKind) -> (Option<Place>, &'static str) {
        let text = self.oldest(kind).and_then(|index| self.texts.remove(index));
        let retention = text.as_ref().and_then(|text| self.pinned.retention(text.key.as_deref()));
        let mark = match (kind, retention) {
            (PartKind::Released, Some(Retention::Released { left_out })) => left_out,
            _ => TEXT_LEFT_OUT,
        };
        (text.map(|text| text.place), mark)
    }

    /// Estimated tokens of texts that stay because they are pinned.
    fn held(&self) -> u64 {
        let pinned = |text: &&Text| self.pinned.retention(text.key.as_deref()) == Some(Retention::Pinned);
        let content = |text: &Text| {
            let message = self.request.messages.get(text.place.message)?;
            contents_of(message).nth(text.place.part)?.as_text()
        };
        self.texts.iter().filter(pinned).filter_map(content).map(tokens_of).sum()
    }
}

/// The kinds of parts, in the order in which they are left out. Trimming waits until the context is full: removing a
/// text as soon as it is released would invalidate the provider's cache for everything below it, to be paid for
/// at full price.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PartKind {
    /// Texts that a tool pinned and then released.
    Released,
    Picture,
    Text,
}

/// Estimates the tokens of one part.
fn weight(meter: &TokenMeter, content: &Content) -> u64 {
    match content {
        Content::Text { text } => tokens_of(text),
        Content::Image { image } => meter.rule.picture(image.size),
    }
}

/// Answers calls that were not carried out, because their turn had ended.
fn unanswered(calls: &[Call]) -> Vec<CallResult> {
    let not_done = |call: &Call| CallResult {
        id: call.id.clone(),
        per_action: match &call.body {
            CallBody::World { actions } => actions.iter().map(|_| ActionOutcome::NotExecuted).collect(),
            CallBody::Tool { .. } | CallBody::Finish(_) | CallBody::Unusable { .. } => Vec::new(),
        },
        content: vec![Content::text(TURN_ENDED)],
        is_error: true,
    };
    calls.iter().map(not_done).collect()
}

/// The parts of a message, in the order in which [`part_of`] counts them.
fn contents_of(message: &Message) -> impl Iterator<Item = &Content> {
    let (content, results, notices) = match message {
        Message::User { content } => (content.as_slice(), [].as_slice(), [].as_slice()),
        Message::Assistant { .. } => ([].as_slice(), [].as_slice(), [].as_slice()),
        Message::Results { results, notices } => ([].as_slice(), results.as_slice(), notices.as_slice()),
    };
    content.iter().chain(results.iter().flat_map(|result| &result.content)).chain(notices)
}

fn part_of(message: &mut Message, part: usize) -> Option<&mut Content> {
    match message {
        Message::User { content } => content.get_mut(part),
        Message::Assistant { .. } => None,
        Message::Results { results, notices } => {
            results.iter_mut().flat_map(|result| &mut result.content).chain(notices).nth(part)
        }
    }
}

fn serialized(value: &impl serde::Serialize) -> u64 {
    serde_json::to_vec(value).map_or(0, |bytes| bytes.len() as u64)
}

#[cfg(test)]
mod tests;
