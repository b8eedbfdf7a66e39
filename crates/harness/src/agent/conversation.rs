//! The conversation as it is sent: it only grows, except that a window of pictures may slide, and that a model whose
//! context is known is not sent more than fits.

use std::collections::VecDeque;

use apprentice_protocol::{
    ChatRequest, Content, HistoryRule, Message, ModelProfile, Purpose, ToolSpec, Usage, WorldTool,
};

use super::context::{Meter, tokens_of};
use super::prompt;

/// What stands where an old picture stood.
const PICTURE_LEFT_OUT: &str = "[an earlier picture, left out]";
/// What stands where an old view or a tool's long answer stood.
const TEXT_LEFT_OUT: &str = "[an earlier text, left out]";
/// A shorter text is kept: leaving it out would win nothing.
const LONG: usize = 200;
/// Once the context is full, this share of it is freed, so that the next turns need not edit again and the server
/// can go on from what it has cached.
const KEPT: (u64, u64) = (4, 5);

/// The request that the next turn sends.
pub(super) struct Conversation {
    request: ChatRequest,
    rule: HistoryRule,
    text_bytes: u64,
    /// Where pictures stand, the oldest first.
    pictures: VecDeque<Place>,
    /// Where texts stand that may be left out, the oldest first.
    texts: VecDeque<Place>,
    /// The message that holds the latest view: what the model is to act on stays.
    latest_view: usize,
    meter: Option<Meter>,
    /// What the meter said of the request that was sent last.
    sent: u64,
}

/// A part of a message. Messages are only added, so a place stays what it is.
#[derive(Clone, Copy, Debug)]
struct Place {
    message: usize,
    part: usize,
}

/// Whether the next request fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    /// It does.
    Enough,
    /// It does, since old parts are left out.
    Made(Trimmed),
    /// It does not, whatever is left out.
    None {
        /// Tokens or bytes.
        unit: &'static str,
        needed: u64,
        limit: u64,
    },
}

/// What was left out.
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
            system: prompt::system(),
            messages: Vec::new(),
            tools: std::iter::once(prompt::finish_tool()).chain(tools).collect(),
            world: Some(world),
            schema: None,
            seed,
            max_output_tokens: profile.max_output_tokens,
        };
        let meter = match profile.history {
            HistoryRule::Window { context, .. } => context.map(Meter::new),
            // Signatures bind to all that was sent: the provider itself forgets, or says that it is full.
            HistoryRule::AppendOnly { .. } => None,
        };
        let meter = meter.map(|mut meter| {
            meter.add_text(&request.system);
            request.tools.iter().for_each(|tool| meter.add_tool(tool));
            meter
        });
        let text_bytes = serialized(&request);
        let (pictures, texts) = (VecDeque::new(), VecDeque::new());
        Self { request, rule: profile.history, text_bytes, pictures, texts, latest_view: 0, meter, sent: 0 }
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

    /// Begins with what is told once and for all, the first view, and what is added below it.
    pub(super) fn open(&mut self, told: Vec<Content>, seen: Vec<Content>, below: Option<Content>) {
        let view = told.len()..told.len() + seen.len();
        let content = told.into_iter().chain(seen).chain(below).collect();
        self.push_with(Message::User { content }, |part| view.contains(&part));
    }

    /// Adds a message. Views and tools' answers may be left out later; words to the model are not.
    pub(super) fn push(&mut self, message: Message) {
        let answers = match &message {
            Message::Results { results, .. } => results.iter().map(|result| result.content.len()).sum(),
            Message::User { .. } | Message::Assistant { .. } => 0,
        };
        self.push_with(message, |part| part < answers);
    }

    fn push_with(&mut self, message: Message, may_go: impl Fn(usize) -> bool) {
        self.text_bytes += serialized(&message) + 1;
        let place = |part| Place { message: self.request.messages.len(), part };
        for (part, content) in contents_of(&message).enumerate() {
            if may_go(part) {
                self.latest_view = self.request.messages.len();
            }
            match content {
                Content::Image { .. } => self.pictures.push_back(place(part)),
                Content::Text { text } if may_go(part) && text.len() > LONG => {
                    self.texts.push_back(place(part));
                }
                Content::Text { .. } => {}
            }
        }
        if let Some(meter) = &mut self.meter {
            meter.add_message();
            contents_of(&message).for_each(|content| meter.add(weight(meter, content)));
            if let Message::Assistant { raw, .. } = &message {
                raw.blocks.iter().for_each(|block| meter.add_text(block));
            }
        }
        self.request.messages.push(message);
        if let HistoryRule::Window { images, .. } = self.rule {
            while self.pictures.len() > images as usize {
                self.leave_out(Kind::Picture);
            }
        }
    }

    /// Learns what the server counted for the request that was sent last.
    pub(super) fn learn(&mut self, usage: Usage) {
        let sent = self.sent;
        if let Some(meter) = &mut self.meter {
            meter.learn(sent, usage.input);
        }
    }

    /// Sees to it that the next request may be sent at all.
    pub(super) fn make_room(&mut self) -> Room {
        let room = match self.rule {
            HistoryRule::AppendOnly { max_request_bytes, uploads } => {
                let pictures = if uploads { 0 } else { self.picture_bytes() };
                match self.text_bytes + pictures {
                    needed if needed <= max_request_bytes => Room::Enough,
                    needed => Room::None { unit: "bytes", needed, limit: max_request_bytes },
                }
            }
            HistoryRule::Window { .. } => self.make_room_in_context(),
        };
        self.sent = self.meter.as_ref().map_or(0, Meter::estimated);
        room
    }

    fn make_room_in_context(&mut self) -> Room {
        let Some(meter) = self.meter else { return Room::Enough };
        let limit = meter.rule.tokens.saturating_sub(u64::from(self.request.max_output_tokens));
        let before = meter.tokens();
        if before <= limit {
            return Room::Enough;
        }
        let mut trimmed = Trimmed { before, limit, ..Trimmed::default() };
        let enough = limit / KEPT.1 * KEPT.0;
        for (kind, count) in [(Kind::Picture, &mut trimmed.pictures), (Kind::Text, &mut trimmed.texts)] {
            while self.tokens() > enough && self.is_old(kind) {
                self.leave_out(kind);
                *count += 1;
            }
        }
        trimmed.after = self.tokens();
        match trimmed.after <= limit {
            true => Room::Made(trimmed),
            false => Room::None { unit: "tokens", needed: trimmed.after, limit },
        }
    }

    fn tokens(&self) -> u64 {
        self.meter.as_ref().map_or(0, Meter::tokens)
    }

    /// Whether there is one that stands before the latest view.
    fn is_old(&self, kind: Kind) -> bool {
        let places = match kind {
            Kind::Picture => &self.pictures,
            Kind::Text => &self.texts,
        };
        places.front().is_some_and(|place| place.message < self.latest_view)
    }

    /// Leaves the oldest one out.
    fn leave_out(&mut self, kind: Kind) {
        let (places, mark) = match kind {
            Kind::Picture => (&mut self.pictures, PICTURE_LEFT_OUT),
            Kind::Text => (&mut self.texts, TEXT_LEFT_OUT),
        };
        let Some(place) = places.pop_front() else { return };
        let message = self.request.messages.get_mut(place.message);
        let Some(content) = message.and_then(|message| part_of(message, place.part)) else { return };
        let old = std::mem::replace(content, Content::text(mark));
        self.text_bytes = (self.text_bytes + serialized(content)).saturating_sub(serialized(&old));
        if let Some(meter) = &mut self.meter {
            meter.take(weight(meter, &old));
            meter.add(tokens_of(mark));
        }
    }

    /// Bytes of all pictures in the text form in which they travel.
    fn picture_bytes(&self) -> u64 {
        let contents = self.request.messages.iter().flat_map(contents_of);
        contents
            .map(|content| match content {
                Content::Image { image } => (image.bytes.0.len() as u64).div_ceil(3) * 4,
                Content::Text { .. } => 0,
            })
            .sum()
    }
}

/// What is left out first, and second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Picture,
    Text,
}

/// Tokens of one part, by estimate.
fn weight(meter: &Meter, content: &Content) -> u64 {
    match content {
        Content::Text { text } => tokens_of(text),
        Content::Image { image } => meter.rule.picture(image.size),
    }
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
mod tests {
    use apprentice_protocol::{
        BlobHash, CallId, CallResult, Content, ContextRule, CoordinateSpace, HistoryRule, Image, ImageBytes,
        ImageRule, MediaType, Message, ModelProfile, RawContent, Size, ToolRule, Usage, WorldTool,
    };
    use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

    use super::super::context::Meter;
    use super::{Conversation, PICTURE_LEFT_OUT, Room, TEXT_LEFT_OUT, contents_of, weight};

    fn talk(tokens: u64, images: u32) -> Conversation {
        let profile = ModelProfile {
            name: "compat/small".into(),
            consumer: "small".into(),
            space: CoordinateSpace::ImagePixels,
            images: ImageRule::AsIs,
            outline: true,
            history: HistoryRule::Window { images, context: Some(ContextRule { tokens, patch: 28 }) },
            tools: ToolRule::Fixed,
            max_output_tokens: 1000,
        };
        let world = WorldTool { browser: false, display: Size::new(1280, 720) };
        Conversation::new(&profile, world, std::iter::empty(), None)
    }

    /// 46 by 26 patches are 1,196 tokens.
    fn picture() -> Content {
        let (hash, size) = (BlobHash::new("0"), Size::new(1280, 720));
        Content::Image { image: Image { hash, size, media: MediaType::Png, bytes: ImageBytes::default() } }
    }

    fn view(chars: usize) -> Vec<Content> {
        vec![Content::text("v".repeat(chars)), picture()]
    }

    fn turn(talk: &mut Conversation, chars: usize) {
        let raw = RawContent { blocks: vec!["\"a reply\"".into()] };
        talk.push(Message::Assistant { raw, say: Vec::new(), calls: Vec::new() });
        let result = CallResult {
            id: CallId::new("c"),
            per_action: Vec::new(),
            content: view(chars),
            is_error: false,
        };
        talk.push(Message::Results { results: vec![result], notices: Vec::new() });
    }

    fn count(talk: &Conversation, mark: &str) -> usize {
        let parts = talk.request().messages.iter().flat_map(contents_of);
        parts.filter(|part| part.as_text() == Some(mark)).count()
    }

    #[test]
    fn old_pictures_go_before_old_texts_and_the_latest_view_stays() {
        // Room for 11,000 tokens: three views of 1,000 + 1,196 fit beside prompt and tools, five do not.
        let mut talk = talk(12_000, 9);
        talk.open(vec![Content::text("the task ".repeat(99))], view(3000), None);
        assert_eq!(talk.make_room(), Room::Enough);
        let mut made = Vec::new();
        for _ in 0..12 {
            turn(&mut talk, 3000);
            if let Room::Made(trimmed) = talk.make_room() {
                assert!(trimmed.before > trimmed.limit && trimmed.after <= trimmed.limit, "{trimmed:?}");
                made.push((trimmed.pictures, trimmed.texts));
            }
        }
        assert!(made[0].0 > 0 && made[0].1 == 0, "texts are left out last: {made:?}");
        assert!(made.iter().any(|(_, texts)| *texts > 0), "{made:?}");
        let first = contents_of(&talk.request().messages[0]).next().and_then(Content::as_text);
        assert!(first.is_some_and(|text| text.starts_with("the task")), "the task stays");
        let last: Vec<_> = talk.request().messages.last().into_iter().flat_map(contents_of).collect();
        assert!(last[0].as_text().is_some_and(|text| text.starts_with("vvv")) && *last[1] == picture());
    }

    #[test]
    fn what_cannot_fit_even_so_is_said() {
        let mut talk = talk(4_000, 9);
        talk.open(vec![Content::text("the task")], view(30_000), None);
        let Room::None { unit: "tokens", needed, limit: 3_000 } = talk.make_room() else {
            panic!("{:?}", talk.make_room());
        };
        assert!(needed > 11_000, "{needed}");
        assert_eq!((count(&talk, PICTURE_LEFT_OUT), count(&talk, TEXT_LEFT_OUT)), (0, 0));
    }

    #[test]
    fn the_servers_count_decides_when_it_is_full() {
        let mut talk = talk(12_000, 9);
        talk.open(vec![Content::text("the task")], view(300), None);
        assert_eq!(talk.make_room(), Room::Enough);
        talk.learn(Usage { input: 8_000, ..Usage::default() });
        turn(&mut talk, 6_000);
        let Room::Made(trimmed) = talk.make_room() else { panic!("8,000 and 3,200 more are too many") };
        assert_eq!((trimmed.pictures, trimmed.texts), (1, 1));
    }

    proptest! {
        #[test]
        fn a_request_fits_or_nothing_old_is_left(
            tokens in 2_000u64..20_000,
            images in 1u32..6,
            turns in proptest::collection::vec((0usize..9_000, 0u64..3), 1..20),
        ) {
            let mut talk = talk(tokens, images);
            talk.open(vec![Content::text("the task")], view(900), None);
            for (chars, share) in turns {
                turn(&mut talk, chars);
                match talk.make_room() {
                    Room::Enough | Room::Made(_) => prop_assert!(talk.tokens() <= tokens - 1000),
                    Room::None { needed, limit, .. } => {
                        prop_assert!(needed > limit);
                        prop_assert!(!talk.is_old(super::Kind::Picture) && !talk.is_old(super::Kind::Text));
                    }
                }
                let sent = talk.sent;
                // What was added and taken bit by bit is what a fresh count finds.
                let mut fresh = Meter::new(ContextRule { tokens, patch: 28 });
                fresh.add_text(&talk.request.system);
                talk.request.tools.iter().for_each(|tool| fresh.add_tool(tool));
                for message in &talk.request.messages {
                    fresh.add_message();
                    contents_of(message).for_each(|part| fresh.add(weight(&fresh.clone(), part)));
                    if let Message::Assistant { raw, .. } = message {
                        raw.blocks.iter().for_each(|block| fresh.add_text(block));
                    }
                }
                prop_assert_eq!(fresh.estimated(), sent);
                let kept = talk.pictures.len();
                prop_assert!(kept >= 1 && kept <= images as usize);
                talk.learn(Usage { input: sent * (1 + share) / 2, ..Usage::default() });
            }
        }
    }
}
