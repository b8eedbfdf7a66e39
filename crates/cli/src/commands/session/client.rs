//! The session of a client: a program gives the instructions, by the Model Context Protocol or by the Agent Client Protocol.

use std::path::PathBuf;
use std::sync::Arc;

use apprentice_harness::tool::mcp::CallableTool;
use apprentice_protocol::{Clock, Monitors};

use super::chat::Chat;
use super::learning::Learning;
use super::task::{Conversation, Do, Wiring, record};
use crate::commands::editor::Editor;
use crate::commands::forecast::SpendingArgs;
use crate::failure::Failure;
use crate::models::Models;
use crate::options::servers::Servers;
use crate::settings::config::Config;
use crate::terminal::event_printer::EventListener;

/// What a client's session begins with.
pub(in crate::commands) struct ClientWorld<'a> {
    pub(in crate::commands) model: &'a str,
    pub(in crate::commands) app: Option<&'a String>,
    pub(in crate::commands) url: Option<&'a String>,
    pub(in crate::commands) screen: &'a Monitors,
    pub(in crate::commands) files: &'a [PathBuf],
    pub(in crate::commands) skillbook: Option<&'a PathBuf>,
    pub(in crate::commands) max_steps: u32,
    /// Folder of the trace.
    pub(in crate::commands) folder: PathBuf,
    /// Who sees what the model does and may be asked first.
    pub(in crate::commands) editor: Option<&'a Arc<Editor>>,
    /// Tools of the client's own, beside those of the world.
    pub(in crate::commands) tools: Vec<CallableTool>,
}

/// What the sessions of a command share.
#[derive(Clone, Copy)]
pub(in crate::commands) struct ClientWiring<'a> {
    pub(in crate::commands) config: &'a Config,
    pub(in crate::commands) models: &'a Models,
    pub(in crate::commands) clock: &'a Arc<dyn Clock>,
}

/// Opens a world for a client, and carries out its instructions, as `do --chat` does, until the client ends the session.
pub(in crate::commands) async fn serve_client(
    given: ClientWorld<'_>,
    chat: Chat,
    with: ClientWiring<'_>,
) -> Result<(), Failure> {
    let ClientWiring { config, models, clock } = with;
    let arguments = Do {
        instruction: None,
        chat: true,
        model: given.model.to_owned(),
        app: given.app.cloned(),
        url: given.url.cloned(),
        screen: given.screen.clone(),
        host: false,
        skillbook: given.skillbook.cloned(),
        servers: Servers::default(),
        learning: Learning::default(),
        file: given.files.to_vec(),
        max_steps: given.max_steps,
        out: None,
        consent: SpendingArgs::default(),
    };
    models.check(&arguments.model)?;
    models.identify(&arguments.model).await;
    let model = models.get(&arguments.model, "do")?;
    let model = match given.editor {
        Some(editor) => Editor::watching(editor, model, clock),
        None => model,
    };
    let listener = given.editor.map(|editor| Arc::clone(editor) as Arc<dyn EventListener>);
    let wiring = Wiring { config, models, clock, folder: given.folder };
    // What a turn came to was told to the client.
    let conversation = Conversation { first: None, chat: Some(chat), listener, tools: given.tools };
    record(&arguments, &wiring, &*model, conversation).await.map(drop)
}
