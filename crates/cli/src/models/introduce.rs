//! What is said of the model behind a compatible server before the first trial: its profile with the reason, and what its
//! server lacks. A context that cannot hold the first request is refused.

use apprentice_evaluator::run::ChosenProfile;
use apprentice_harness::agent::{opening_request, tokens_of};
use apprentice_models::compat::{ActionFormat, History, SkillReading, StudentProfile};
use apprentice_models::identity::ModelIdentity;
use apprentice_protocol::{ChatModel as _, HistoryRule, ImageRule, Size, WorldTool};

use super::Models;
use crate::failure::{Failure, Kind};
use crate::settings::provider::{ProviderApi, provider_of};
use crate::terminal;

/// Tokens of a small first view: of 12 starter tasks the least had 222.
const VIEW_TOKENS: u64 = 222;
/// Tokens of a short reply.
const REPLY_TOKENS: u64 = 128;
/// The world of the opening request. Its size changes two numbers of the prompt.
const WORLD: WorldTool = WorldTool { browser: true, display: Size::new(1280, 720) };

impl Models {
    /// The profile of a model behind a compatible server, with the reason for it; `None` for other models.
    pub(crate) fn chosen_profile(&self, name: &str) -> Result<Option<ChosenProfile>, Failure> {
        let Some(model) = self.compat_name(name)? else { return Ok(None) };
        let (student, why) = self.chosen_student(name, &self.settings(name)?, model)?;
        Ok(Some(ChosenProfile { name: student.name, why }))
    }

    /// How a model behind a compatible server takes a skill, with the name of its profile; `None` for other models.
    pub(crate) fn skill_reading(&self, name: &str) -> Result<Option<(SkillReading, String)>, Failure> {
        let Some(model) = self.compat_name(name)? else { return Ok(None) };
        let student = self.student(name, model)?;
        Ok(Some((student.skills, student.name)))
    }

    /// The profile of a model behind a compatible server.
    pub(crate) fn student(&self, name: &str, model: &str) -> Result<StudentProfile, Failure> {
        Ok(self.chosen_student(name, &self.settings(name)?, model)?.0)
    }

    /// The model's name on a compatible server; `None` for other models.
    fn compat_name<'a>(&self, name: &'a str) -> Result<Option<&'a str>, Failure> {
        let named = provider_of(name).filter(|(_, model)| !model.is_empty());
        Ok(named.filter(|(entry, _)| entry.api == ProviderApi::Compat).map(|(_, model)| model))
    }

    /// Says by which profile a model is asked and what its server lacks, once for each model.
    pub(super) async fn introduce(&self, name: &str) -> Result<(), Failure> {
        let Some(model) = self.compat_name(name)? else { return Ok(()) };
        let identity = self.identify(name).await.unwrap_or_default();
        if !self.shared().told.insert(format!("profile of {name}")) {
            return Ok(());
        }
        let (student, why) = self.chosen_student(name, &self.settings(name)?, model)?;
        terminal::note(format_args!("{name}: profile {}, {why}", student.name));
        if student.history == History::Grow {
            terminal::note(format_args!(
                "{name}: nothing is left out of its conversations (history = \"grow\"); one that no longer fits ends its attempt"
            ));
        }
        self.note_unlisted(name, model, &identity);
        let by_tools = student.dialect == ActionFormat::Tools;
        if by_tools && identity.tools == Some(false) {
            self.adaptation(name).without_tools();
            terminal::note(format_args!(
                "{name}: the server's chat template knows no tools, so calls are asked for as JSON in words; if the model \
                 knows tools, start the server with its template (llama.cpp: --jinja --chat-template-file FILE), else set \
                 dialect = \"json\" in a profile"
            ));
        }
        if by_tools && identity.reads_calls == Some(false) {
            terminal::note(format_args!(
                "{name}: the server leaves calls in the model's words: start it with --tool-call-parser NAME"
            ));
        }
        if student.images != ImageRule::None && identity.vision == Some(false) {
            terminal::note(format_args!(
                "{name}: the server says that the model sees no pictures: choose --profile text, or start the server with the \
                 model's projector (llama.cpp: --mmproj FILE)"
            ));
        }
        self.check_context(name, &identity)
    }

    /// Refuses a context that cannot hold the first request.
    fn check_context(&self, name: &str, identity: &ModelIdentity) -> Result<(), Failure> {
        let model = self.compat(name)?;
        let (HistoryRule::Window { context: Some(rule), .. }
        | HistoryRule::AppendOnly { context: Some(rule), .. }) = model.profile().history
        else {
            return Ok(());
        };
        let prompt = model
            .prompt(&opening_request(model.profile(), WORLD))
            .map_err(|error| Failure::say(Kind::Bug, error))?;
        let instructions = tokens_of(&prompt);
        let least = instructions + VIEW_TOKENS + REPLY_TOKENS;
        if rule.tokens >= least {
            return Ok(());
        }
        let whose = if identity.context_tokens == Some(rule.tokens) {
            "as its server says"
        } else {
            "by its settings"
        };
        Err(Failure::say(
            Kind::Config,
            format!(
                "{name}: a context of {} tokens ({whose}) cannot hold the first request: the instructions alone take about \
                 {instructions}, and a view and a reply at least {}",
                rule.tokens,
                VIEW_TOKENS + REPLY_TOKENS
            ),
        )
        .hint("start the server with a larger context (llama.cpp: -c 16384, vLLM: --max-model-len, Ollama: num_ctx)"))
    }
}
