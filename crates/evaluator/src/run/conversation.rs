//! Saves an attempt's conversation beside its trace, so that it can be continued: `conversation.json`, with images
//! referenced by the hash of their blob in the run.

use std::fs;
use std::io;
use std::path::Path;

use apprentice_learning::reflect::Conversation;
use apprentice_protocol::{Content, ImageBytes, Message};
use apprentice_runs::layout::CONVERSATION_FILE;
use apprentice_trace::{Redactor, blob_path};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The schema name of the file.
pub const CONVERSATION_SCHEMA: &str = "apprentice.conversation/1";

/// The content of `conversation.json`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ConversationFile {
    /// [`CONVERSATION_SCHEMA`].
    pub schema: String,
    /// The conversation with the model.
    #[serde(flatten)]
    pub conversation: Conversation,
}

/// Saves a conversation in the folder of its attempt, without secrets.
pub(super) fn save(conversation: Conversation, folder: &Path, redactor: &Redactor) -> io::Result<()> {
    let kept = ConversationFile { schema: CONVERSATION_SCHEMA.to_owned(), conversation };
    let text = serde_json::to_string(&kept)?;
    fs::write(folder.join(CONVERSATION_FILE), redactor.apply_to_json(&text).as_bytes())
}

/// Whether the attempt in `folder` has a saved conversation.
pub fn has_conversation(folder: &Path) -> bool {
    folder.join(CONVERSATION_FILE).is_file()
}

/// Loads the conversation of the attempt in `folder`, with its images from `blobs`. `None` if it was not saved, is
/// invalid or lacks an image.
pub fn load_conversation(folder: &Path, blobs: &Path) -> Option<Conversation> {
    let text = apprentice_files::read_to_string(folder.join(CONVERSATION_FILE)).ok()?;
    let kept: ConversationFile = serde_json::from_str(&text)
        .inspect_err(
            |error| tracing::warn!(%error, folder = %folder.display(), "cannot read a saved conversation"),
        )
        .ok()?;
    let mut conversation = (kept.schema == CONVERSATION_SCHEMA).then_some(kept.conversation)?;
    for content in conversation.request.messages.iter_mut().flat_map(contents) {
        if let Content::Image { image } = content {
            let bytes = apprentice_files::read(blob_path(blobs, &image.hash, "png")).ok()?;
            image.bytes = ImageBytes(bytes.into());
        }
    }
    Some(conversation)
}

fn contents(message: &mut Message) -> Box<dyn Iterator<Item = &mut Content> + '_> {
    match message {
        Message::User { content } => Box::new(content.iter_mut()),
        Message::Assistant { .. } => Box::new(std::iter::empty()),
        Message::Results { results, notices } => {
            Box::new(results.iter_mut().flat_map(|result| &mut result.content).chain(notices))
        }
    }
}
