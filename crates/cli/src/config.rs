//! What can be set, typed; where the values come from stands in `settings`.

use std::path::PathBuf;

use apprentice_skills::book::WriteMode;
use apprentice_tasks::check::Compat;
use apprentice_tasks::setup::Mirror;
use apprentice_tasks::suite::Reading;
use serde::{Deserialize, Serialize};

use crate::embeddings::EmbeddingsSettings;
use crate::role::Roles;

/// How worlds are kept apart, as a user names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum IsolationChoice {
    /// Own namespaces.
    Cell,
    /// Own process group and home, no namespaces.
    Plain,
}

impl IsolationChoice {
    /// Its name in settings.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Cell => "cell",
            Self::Plain => "plain",
        }
    }
}

/// Where desktop tasks run, as a user names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WorldChoice {
    /// In cells of this machine.
    Cell,
    /// On machines behind OSWorld's server protocol.
    Vm,
}

impl WorldChoice {
    /// Its name in settings.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Cell => "cell",
            Self::Vm => "vm",
        }
    }
}

/// Machines behind OSWorld's server protocol.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Machines {
    /// Where they are reached, separated by commas.
    pub(crate) url: String,
    /// A line for the shell that brings one into its first state.
    pub(crate) reset: String,
    /// A line for the shell that is run after each attempt.
    pub(crate) release: String,
    /// The password of their user, which some tasks' steps name.
    pub(crate) password: String,
    /// How many there are, where `reset` says where they are.
    pub(crate) machines: usize,
    /// How long a reset may take, in seconds.
    pub(crate) reset_s: u64,
    /// How long one may take to answer after it, in seconds.
    pub(crate) ready_s: u64,
}

/// Whether the browser of a browser world keeps its own sandbox, as a user names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SandboxChoice {
    /// It does.
    On,
    /// It does not.
    Off,
}

/// The settings in force.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    /// Folder of runs.
    pub(crate) runs: PathBuf,
    /// Folder of the skillbook.
    pub(crate) skillbook: PathBuf,
    /// Whether what models write into the skillbook takes effect at once.
    pub(crate) write_mode: WriteMode,
    /// Run-time folder of worlds.
    pub(crate) state: PathBuf,
    /// Worlds active at once.
    pub(crate) jobs: usize,
    /// Where desktop tasks run.
    pub(crate) world: WorldChoice,
    /// How worlds are kept apart.
    pub(crate) isolation: IsolationChoice,
    /// Whether browsers keep their sandbox.
    pub(crate) browser_sandbox: SandboxChoice,
    /// How known faults of OSWorld's checks are read.
    pub(crate) osworld_compat: Compat,
    /// Where files that tasks fetch come from; empty: nowhere.
    pub(crate) mirror: String,
    /// Tries at one trial.
    pub(crate) attempts: u32,
    /// Rounds over the training tasks.
    pub(crate) epochs: u32,
    /// Trajectories between two cleanups.
    pub(crate) cleanup_every: u32,
    /// Tries of one call to a model, after the first.
    pub(crate) retries: u32,
    /// Who answers a provider's safety checks.
    pub(crate) safety: SafetyChoice,
    /// A list of prices in place of the one that the program brings along.
    pub(crate) prices: Option<PathBuf>,
    /// A folder with texts in place of what the program says to models.
    pub(crate) prompts: Option<PathBuf>,
    /// Where exchanges with models are recorded.
    pub(crate) record: Option<PathBuf>,
    /// A command that may cost more, in US dollars, asks first.
    pub(crate) confirm_above: Option<f64>,
    /// Most that calls to models may cost.
    #[serde(default)]
    pub(crate) cap: Caps,
    /// Which models play which parts.
    #[serde(default)]
    pub(crate) role: Roles,
    /// Where models are reached.
    pub(crate) provider: Providers,
    /// Machines that desktop tasks run on, with `world = "vm"`.
    pub(crate) vm: Machines,
    /// Where texts are turned into vectors.
    pub(crate) embeddings: EmbeddingsSettings,
}

/// Who answers a provider's safety checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SafetyChoice {
    /// Nobody: the attempt ends as declined.
    Refuse,
    /// The user, beforehand.
    Acknowledge,
    /// A person at the terminal.
    Ask,
}

/// Caps on money, in US dollars.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Caps {
    /// Of one try at a trial.
    pub(crate) trial_usd: Option<f64>,
    /// Of one command.
    pub(crate) run_usd: Option<f64>,
    /// Of one day, over all commands.
    pub(crate) day_usd: Option<f64>,
}

/// Where models are reached.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Providers {
    /// Anthropic's Messages API.
    pub(crate) anthropic: Provider,
    /// OpenAI's Responses API.
    pub(crate) openai: Provider,
    /// Gemini's Interactions API.
    pub(crate) gemini: Provider,
    /// Any server with `/chat/completions`.
    pub(crate) compat: Provider,
}

/// Where one provider is reached, and how.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Provider {
    /// The address below which its paths stand.
    pub(crate) base_url: String,
    /// The environment variable that holds the key.
    pub(crate) key_env: String,
    /// A file that holds the key and that nobody else may read.
    pub(crate) key_file: Option<PathBuf>,
    /// A command that prints the key.
    pub(crate) key_command: Option<String>,
    /// Most calls at once with one key.
    pub(crate) max_in_flight: u32,
    /// How hard models are to think.
    pub(crate) effort: Option<String>,
    /// The version of the API (Anthropic).
    pub(crate) version: Option<String>,
    /// From so many input tokens on, the server forgets old tool results (Anthropic).
    pub(crate) forget_above: Option<u64>,
    /// How a student sees and speaks: a profile's name or file (compat).
    pub(crate) profile: Option<String>,
    /// Tokens that the server gives a request and its answer together, where it does not say so itself (compat).
    pub(crate) context_tokens: Option<u64>,
    /// What an hour of the machine costs, for models of one's own; zero for free (compat).
    pub(crate) usd_per_hour: Option<f64>,
}

impl Config {
    /// How suites of others are read.
    pub(crate) fn reading(&self) -> Reading {
        let mirror = Some(&self.mirror).filter(|place| !place.is_empty()).map(|place| Mirror::at(place));
        // A cell's user has no password, and nothing to use one for.
        let password = if self.world == WorldChoice::Vm { self.vm.password.clone() } else { String::new() };
        Reading { compat: self.osworld_compat, mirror, password }
    }
}
