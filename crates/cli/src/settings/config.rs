//! The typed settings. Module `settings` reads them from files, the environment and flags.

use apprentice_sandbox::NetworkPolicy;
use std::path::PathBuf;
use std::time::Duration;

use apprentice_learning::foreground::Limits;
use apprentice_screening::effect::EffectRule;
use apprentice_skillbook::{AuthoredPages, WriteMode};
use apprentice_tasks::check::Compat;
use apprentice_tasks::suite::SuiteOptions;
use apprentice_tasks::world_io::Mirror;
use serde::{Deserialize, Serialize};

use crate::settings::embeddings::EmbeddingsSettings;
use crate::settings::provider::Providers;
use crate::settings::role::Roles;

/// How worlds are isolated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum IsolationChoice {
    /// Linux namespaces.
    Cell,
    /// The container around this program is the boundary: as `plain`, and refused outside of a container.
    Container,
    /// A process group and a home folder of its own, no namespaces.
    Plain,
}

impl IsolationChoice {
    /// Returns the value's name in settings.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Cell => "cell",
            Self::Container => "container",
            Self::Plain => "plain",
        }
    }
}

/// Where desktop tasks run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WorldChoice {
    /// In cells on this machine.
    Cell,
    /// On machines that speak OSWorld's server protocol.
    Vm,
}

impl WorldChoice {
    /// Returns the value's name in settings.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Cell => "cell",
            Self::Vm => "vm",
        }
    }
}

/// What one isolated world may use (table `cell`).
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cells {
    /// Memory of all its programs, in MiB.
    pub(crate) memory_mb: u64,
    /// Processes and threads.
    pub(crate) processes: u64,
    /// Size of `/dev/shm`, in MiB.
    pub(crate) shared_memory_mb: u64,
    /// Size of all other files, in MiB.
    pub(crate) files_mb: u64,
}

/// Whether finished sessions are reviewed after the answer was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum BackgroundChoice {
    /// By the process of `do --learn`, after its answer.
    On,
    /// Only by `skills learning run`.
    Off,
}

/// When finished sessions are reviewed, and what that may cost (table `learning`).
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LearningSettings {
    /// Whether `do --learn` reviews after its answer.
    pub(crate) background: BackgroundChoice,
    /// Actions since the last review that call for one.
    pub(crate) review_after_actions: u32,
    /// Turns since the last review that call for one.
    pub(crate) review_after_turns: u32,
    /// Minutes between two reviews.
    pub(crate) review_interval_minutes: u64,
    /// Reviews per day (UTC).
    pub(crate) reviews_per_day: u32,
    /// Cost of one review, in US dollars.
    pub(crate) review_usd: f64,
    /// Cost of all reviews of a day, in US dollars.
    pub(crate) reviews_usd_per_day: f64,
}

impl LearningSettings {
    /// Returns the thresholds and caps of reviews.
    pub(crate) fn limits(&self) -> Limits {
        Limits {
            tool_iters: self.review_after_actions,
            turns: self.review_after_turns,
            interval: Duration::from_secs(self.review_interval_minutes.saturating_mul(60)),
            reviews_per_day: self.reviews_per_day,
            review_usd: self.review_usd,
            day_usd: self.reviews_usd_per_day,
        }
    }
}

/// Machines that speak OSWorld's server protocol (table `vm`).
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Machines {
    /// Their addresses, separated by commas; may be empty when `reset` prints an address.
    pub(crate) url: String,
    /// Shell command that resets a machine to its initial state before each attempt.
    pub(crate) reset: String,
    /// Shell command that runs after each attempt.
    pub(crate) release: String,
    /// Password of the machines' user; some tasks' steps use it.
    pub(crate) password: String,
    /// Number of machines, when `reset` prints their addresses.
    pub(crate) machines: usize,
    /// Time limit of a reset, in seconds.
    pub(crate) reset_s: u64,
    /// Time limit for a machine to answer after its reset, in seconds.
    pub(crate) ready_s: u64,
}

/// Whether Chromium keeps its own sandbox in browser worlds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SandboxChoice {
    /// With the sandbox.
    On,
    /// Without the sandbox.
    Off,
}

/// Where pictures of the pages of browser worlds come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PicturesChoice {
    /// From a screen that the browser fills, where it has one.
    Screen,
    /// From the browser, over its protocol.
    Protocol,
}

/// Whether browsers serve several episodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ReuseChoice {
    /// Each episode has a browser of its own.
    Off,
    /// Each episode has a browser context of its own.
    Context,
}

/// Whether models may run scripts in the pages of browser worlds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ScriptChoice {
    /// Scripts are run.
    On,
    /// Scripts are refused.
    Off,
}

/// Whether something is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OnOff {
    /// It is done.
    On,
    /// It is left out.
    Off,
}

/// The effective settings.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    /// Folder in which each run gets its own folder.
    pub(crate) runs: PathBuf,
    /// The skillbook's folder.
    pub(crate) skillbook: PathBuf,
    /// Whether models' changes to the skillbook take effect at once or wait for review.
    pub(crate) write_mode: WriteMode,
    /// Whether learning proposes changes to pages that people wrote, or writes them.
    pub(crate) authored_pages: AuthoredPages,
    /// What happens to texts of models that would make an agent do harm.
    pub(crate) effects: EffectRule,
    /// Folder for the worlds' sockets and mount points; empty for the default.
    pub(crate) state: PathBuf,
    /// Worlds that run in parallel; 0 for the default.
    pub(crate) jobs: usize,
    /// Most worlds that are started ahead of time.
    pub(crate) warm_worlds: usize,
    /// Where desktop tasks run.
    pub(crate) world: WorldChoice,
    /// How worlds are isolated.
    pub(crate) isolation: IsolationChoice,
    /// Which hosts the programs of worlds may reach.
    pub(crate) network: NetworkPolicy,
    /// Program of browser worlds; empty for the first known one that is installed.
    pub(crate) browser_program: String,
    /// Whether browsers keep their own sandbox.
    pub(crate) browser_sandbox: SandboxChoice,
    /// Where pictures of pages come from.
    pub(crate) browser_pictures: PicturesChoice,
    /// Whether browsers serve several episodes.
    pub(crate) browser_reuse: ReuseChoice,
    /// Whether models may run scripts in pages.
    pub(crate) page_scripts: ScriptChoice,
    /// Whether the pointer is drawn into pictures of desktops.
    pub(crate) pointer: OnOff,
    /// Whether windows that do not list their elements are read from their picture.
    pub(crate) ocr: OnOff,
    /// Whether known bugs in OSWorld's checks are corrected or reproduced.
    pub(crate) osworld_compat: Compat,
    /// Whether arms with a book are measured although learning wrote no skill.
    pub(crate) measure_empty_book: OnOff,
    /// Source of the files that tasks download; empty to download none.
    pub(crate) mirror: String,
    /// Attempts per trial when earlier ones end void.
    pub(crate) attempts: u32,
    /// Passes over the training tasks.
    pub(crate) epochs: u32,
    /// Trajectories between two cleanups of the skillbook.
    pub(crate) cleanup_every: u32,
    /// Retries of a failed model call.
    pub(crate) retries: u32,
    /// How a provider's safety checks are answered.
    pub(crate) safety: SafetyChoice,
    /// Price list that replaces the built-in one.
    pub(crate) prices: Option<PathBuf>,
    /// Folder with prompts that replace the built-in ones.
    pub(crate) prompts: Option<PathBuf>,
    /// File in which exchanges with models are recorded.
    pub(crate) record: Option<PathBuf>,
    /// Commands that may cost more than this, in US dollars, ask for confirmation.
    pub(crate) confirm_above: Option<f64>,
    /// Caps on the cost of model calls.
    #[serde(default)]
    pub(crate) cap: Caps,
    /// The models of the roles (teacher, student, …).
    #[serde(default)]
    pub(crate) role: Roles,
    /// Endpoints and keys of the model providers.
    pub(crate) provider: Providers,
    /// What one isolated world may use.
    pub(crate) cell: Cells,
    /// Reviews of finished sessions.
    pub(crate) learning: LearningSettings,
    /// Machines for desktop tasks when `world = "vm"`.
    pub(crate) vm: Machines,
    /// The embeddings server.
    pub(crate) embeddings: EmbeddingsSettings,
}

/// How a provider's safety checks are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SafetyChoice {
    /// Always declined: the attempt ends.
    Refuse,
    /// Always acknowledged.
    Acknowledge,
    /// The user decides at the terminal.
    Ask,
}

/// Caps on cost, in US dollars.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Caps {
    /// Cap of one attempt.
    pub(crate) trial_usd: Option<f64>,
    /// Cap of one command.
    pub(crate) run_usd: Option<f64>,
    /// Cap of one day, over all commands.
    pub(crate) day_usd: Option<f64>,
}

impl Config {
    /// Returns the options for reading external suites.
    pub(crate) fn reading(&self) -> SuiteOptions {
        let mirror = Some(&self.mirror).filter(|place| !place.is_empty()).map(|place| Mirror::at(place));
        // A cell's user has no password.
        let password = if self.world == WorldChoice::Vm { self.vm.password.clone() } else { String::new() };
        SuiteOptions { compat: self.osworld_compat, mirror, password }
    }
}
