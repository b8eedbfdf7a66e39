//! The conversation as it is sent: it only grows, except that a window of pictures may slide.

use apprentice_protocol::{
    ChatRequest, Content, HistoryRule, Message, ModelProfile, Purpose, ToolSpec, WorldTool,
};

use super::prompt;

/// What stands where an old picture stood.
const LEFT_OUT: &str = "[an earlier picture, left out]";

/// The request that the next turn sends.
pub(super) struct Conversation {
    request: ChatRequest,
    rule: HistoryRule,
    text_bytes: u64,
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
        let text_bytes = serialized(&request);
        Self { request, rule: profile.history, text_bytes }
    }

    pub(super) fn request(&self) -> &ChatRequest {
        &self.request
    }

    /// Bytes of the request without pictures.
    pub(super) fn text_bytes(&self) -> u64 {
        self.text_bytes
    }

    pub(super) fn push(&mut self, message: Message) {
        self.text_bytes += serialized(&message) + 1;
        self.request.messages.push(message);
        if let HistoryRule::Window { images } = self.rule {
            self.slide(images);
        }
    }

    /// Whether the request may be sent at all.
    pub(super) fn fits(&self) -> bool {
        match self.rule {
            HistoryRule::AppendOnly { max_request_bytes, uploads } => {
                let pictures = if uploads { 0 } else { self.picture_bytes() };
                self.text_bytes + pictures <= max_request_bytes
            }
            HistoryRule::Window { .. } => true,
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

    /// Keeps the last few pictures.
    fn slide(&mut self, images: u32) {
        let mut kept = 0;
        for message in self.request.messages.iter_mut().rev() {
            for content in contents_of_mut(message).into_iter().rev() {
                if matches!(content, Content::Image { .. }) {
                    kept += 1;
                    if kept > images {
                        *content = Content::text(LEFT_OUT);
                    }
                }
            }
        }
    }
}

fn contents_of(message: &Message) -> Vec<&Content> {
    match message {
        Message::User { content } => content.iter().collect(),
        Message::Assistant { .. } => Vec::new(),
        Message::Results { results, notices } => {
            results.iter().flat_map(|result| &result.content).chain(notices).collect()
        }
    }
}

fn contents_of_mut(message: &mut Message) -> Vec<&mut Content> {
    match message {
        Message::User { content } => content.iter_mut().collect(),
        Message::Assistant { .. } => Vec::new(),
        Message::Results { results, notices } => {
            results.iter_mut().flat_map(|result| &mut result.content).chain(notices).collect()
        }
    }
}

fn serialized(value: &impl serde::Serialize) -> u64 {
    serde_json::to_vec(value).map_or(0, |bytes| bytes.len() as u64)
}
