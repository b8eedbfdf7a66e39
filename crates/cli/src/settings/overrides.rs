//! The global flags that override settings.

use clap::Args;

use crate::failure::Failure;
use crate::settings::config::{IsolationChoice, WorldChoice};
use crate::settings::provider::{PROVIDERS, ProviderEntry};
use crate::settings::{Settings, Sources};
use crate::terminal;

/// Global flags that override settings of models, worlds and external suites.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Models")]
pub(crate) struct Overrides {
    /// How worlds are isolated.
    #[arg(long, global = true, value_enum, value_name = "HOW", help_heading = "Worlds")]
    isolation: Option<IsolationChoice>,
    /// Hosts that programs of worlds may reach: `none`, `task` for those that the task names, or a list with commas.
    #[arg(long, global = true, value_name = "none|task|HOSTS", help_heading = "Worlds")]
    network: Option<String>,
    /// Worlds that run in parallel; 0 for twice the number of cores.
    #[arg(long, global = true, value_name = "N", help_heading = "Worlds", value_parser = crate::options::count::at_least_none::<usize>)]
    jobs: Option<usize>,
    /// Where desktop tasks run: in cells on this machine, or on machines that speak OSWorld's server protocol.
    #[arg(long, global = true, value_enum, value_name = "WHERE", help_heading = "Worlds")]
    world: Option<WorldChoice>,
    /// Addresses of these machines, separated by commas.
    #[arg(long, global = true, value_name = "URL", help_heading = "Worlds")]
    vm_url: Option<String>,
    /// Shell command that resets a machine to its initial state before each attempt.
    #[arg(long, global = true, value_name = "LINE", help_heading = "Worlds")]
    vm_reset: Option<String>,
    /// Base URL of the model's API, in place of the provider's default.
    #[arg(long, global = true, value_name = "URL")]
    base_url: Option<String>,
    /// Profile of a `compat/` model: its image rules and action format, by name or as a file.
    #[arg(long, global = true, value_name = "PROFILE")]
    profile: Option<String>,
    /// The model that compares answers with a check's references where words alone do not decide (WebArena's `fuzzy_match`).
    #[arg(long, global = true, value_name = "MODEL")]
    judge: Option<String>,
    /// Cap on what this command's model calls may cost, in US dollars.
    #[arg(long, global = true, value_name = "USD", value_parser = crate::options::count::dollars)]
    max_usd: Option<f64>,
    /// Record all exchanges with models; `--model cassette:FILE` replays them.
    #[arg(long, global = true, value_name = "FILE")]
    record: Option<String>,
    /// Folder with prompts that replace the built-in ones; see `apprentice prompts`.
    #[arg(long, global = true, value_name = "DIR")]
    prompts: Option<String>,
    /// Source of the files that tasks download: a folder, a URL, or `origin` for the tasks' own addresses.
    #[arg(long, global = true, value_name = "DIR|URL|origin", help_heading = "Suites")]
    mirror: Option<String>,
    /// Whether to correct known bugs in OSWorld's checks (`fixed`) or to reproduce them (`exact`).
    #[arg(long, global = true, value_name = "fixed|exact", help_heading = "Suites")]
    osworld_compat: Option<String>,
    /// Measure the arms of an experiment although learning wrote no skill.
    #[arg(long, global = true, help_heading = "Suites")]
    measure_empty_book: bool,
}

impl Overrides {
    /// Whether a judge is named on the command line.
    pub(crate) fn names_judge(&self) -> bool {
        self.judge.is_some()
    }

    fn apply_to(&self, settings: &mut Settings) -> Result<(), Failure> {
        if let Some(url) = &self.base_url {
            for ProviderEntry { name, .. } in PROVIDERS {
                settings.set(&format!("provider.{name}.base_url"), url, "--base-url")?;
            }
            settings.set_in_roles("base_url", url, "--base-url")?;
        }
        if let Some(profile) = &self.profile {
            settings.set_in_roles("profile", profile, "--profile")?;
        }
        let dollars = self.max_usd.map(|dollars| dollars.to_string());
        let jobs = self.jobs.map(|jobs| jobs.to_string());
        for (key, value, flag) in [
            ("provider.compat.profile", self.profile.as_deref(), "--profile"),
            ("role.judge", self.judge.as_deref(), "--judge"),
            ("cap.run_usd", dollars.as_deref(), "--max-usd"),
            ("record", self.record.as_deref(), "--record"),
            ("prompts", self.prompts.as_deref(), "--prompts"),
            ("isolation", self.isolation.map(IsolationChoice::name), "--isolation"),
            ("network", self.network.as_deref(), "--network"),
            ("jobs", jobs.as_deref(), "--jobs"),
            ("world", self.world.map(WorldChoice::name), "--world"),
            ("vm.url", self.vm_url.as_deref(), "--vm-url"),
            ("vm.reset", self.vm_reset.as_deref(), "--vm-reset"),
            ("mirror", self.mirror.as_deref(), "--mirror"),
            ("measure_empty_book", self.measure_empty_book.then_some("on"), "--measure-empty-book"),
            ("osworld_compat", self.osworld_compat.as_deref(), "--osworld-compat"),
        ] {
            if let Some(value) = value {
                settings.set(key, value, flag)?;
            }
        }
        Ok(())
    }
}

/// Loads the settings and applies these flags; later flags override earlier ones.
pub(crate) fn settings(flags: &[&Overrides]) -> Result<Settings, Failure> {
    let sources = Sources::read()?;
    if let Some(path) = sources.above() {
        terminal::note(format_args!("settings of {}", path.display()));
    }
    let mut settings = Settings::layer(&sources)?;
    flags.iter().try_for_each(|flags| flags.apply_to(&mut settings))?;
    Ok(settings)
}
