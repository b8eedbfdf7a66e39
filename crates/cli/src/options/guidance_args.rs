//! Options for the guidance that a run's arm gets from a skillbook.

use std::sync::Arc;

use apprentice_evaluator::arms::function_scope::FunctionScope;
use apprentice_evaluator::arms::hidden_skills::{HiddenSkill, HiddenSkills};
use apprentice_evaluator::arms::{GuidanceProvider, open_inert_skills};
use apprentice_protocol::Clock;
use apprentice_skillbook::Snapshot;
use apprentice_tasks::suite::Suite;
use clap::Args;

use crate::failure::{Failure, Kind, WithKind as _};
use crate::options::servers::Servers;

/// Options for the guidance that a run's arm gets from a skillbook.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct GuidanceArgs {
    /// Hide a skill from tasks of one program, as `domain/skill@program`; may be repeated.
    #[arg(long, value_name = "SKILL@PROGRAM", value_parser = hidden_skill)]
    suppress: Vec<HiddenSkill>,
    /// Let the arms `code` and `code+pull` lend functions that no replays have verified, too. They are marked.
    #[arg(long)]
    unverified_functions: bool,
    #[command(flatten)]
    pub(crate) servers: Servers,
}

fn hidden_skill(text: &str) -> Result<HiddenSkill, String> {
    HiddenSkill::parse(text).map_err(|error| error.to_string())
}

impl GuidanceArgs {
    /// Returns the hidden skills.
    pub(crate) fn suppressed(&self) -> HiddenSkills {
        self.suppress.iter().cloned().collect()
    }

    /// Returns which functions are lent.
    pub(crate) fn functions(&self) -> FunctionScope {
        FunctionScope::with_unverified(self.unverified_functions)
    }

    /// Creates the provider of guidance from a book to the trials of a suite.
    pub(crate) fn provider(
        &self,
        suite: &Suite,
        book: Snapshot,
        clock: &Arc<dyn Clock>,
    ) -> Result<GuidanceProvider, Failure> {
        Ok(GuidanceProvider::new(Arc::new(suite.clone()), book, None)
            .with_inert_skills(open_inert_skills(suite).kind(Kind::Config)?)
            .with_tools(&self.servers.tool_box(clock)?)
            .with_functions(self.functions())
            .with_suppressed(self.suppressed()))
    }
}
