//! Stores what a model is sent as blobs, so that the trace holds the whole conversation.

use apprentice_protocol::{BlobHash, ChatRequest, Content, EventSink, Image, MediaType, Message, SinkError};
use serde::Serialize;

/// Stores a request without its messages.
pub(super) fn request(request: &ChatRequest, sink: &mut dyn EventSink) -> Result<BlobHash, SinkError> {
    let frame = ChatRequest {
        purpose: request.purpose,
        system: request.system.clone(),
        messages: Vec::new(),
        edited_before: 0,
        tools: request.tools.clone(),
        world: request.world,
        schema: request.schema.clone(),
        seed: request.seed,
        max_output_tokens: request.max_output_tokens,
    };
    keep(&frame, sink)
}

/// Stores a message, and those of its pictures that the trace does not have in the form in which they are sent.
pub(super) fn message(message: &Message, sink: &mut dyn EventSink) -> Result<BlobHash, SinkError> {
    for image in pictures(message).filter(|image| !image.bytes.0.is_empty()) {
        sink.keep(&image.bytes.0, extension(image.media))?;
    }
    keep(message, sink)
}

fn pictures(message: &Message) -> impl Iterator<Item = &Image> {
    let (content, results, notices) = match message {
        Message::User { content } => (content.as_slice(), [].as_slice(), [].as_slice()),
        Message::Assistant { .. } => ([].as_slice(), [].as_slice(), [].as_slice()),
        Message::Results { results, notices } => ([].as_slice(), results.as_slice(), notices.as_slice()),
    };
    let parts = content.iter().chain(results.iter().flat_map(|result| &result.content)).chain(notices);
    parts.filter_map(|part| match part {
        Content::Image { image } => Some(image),
        Content::Text { .. } => None,
    })
}

pub(super) fn extension(media: MediaType) -> &'static str {
    match media {
        MediaType::Png => "png",
        MediaType::Jpeg => "jpg",
        MediaType::Webp => "webp",
    }
}

fn keep(value: &impl Serialize, sink: &mut dyn EventSink) -> Result<BlobHash, SinkError> {
    let text = serde_json::to_vec(value).map_err(|error| SinkError::Io(error.to_string()))?;
    sink.keep(&text, "json")
}
