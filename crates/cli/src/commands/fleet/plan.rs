//! `apprentice plan --fleet`: what fleets of several sizes would take, from the attempts of an earlier run.

use std::path::{Path, PathBuf};

use apprentice_evaluator::run::read_run;
use apprentice_fleet::{
    DEFAULT_LEASE, FleetForecast, FleetQuestion, ObservedAttempt, files_below, forecast_fleet,
};
use apprentice_protocol::Verdict;
use clap::Args;

use crate::failure::{Failure, Kind, WithKind as _};
use crate::settings::config::Config;
use crate::{terminal, wire};

/// Options of `plan` for several machines.
#[derive(Debug, Args)]
pub(crate) struct FleetPlan {
    /// Tell what this many workers would take, from the attempts of an earlier run (`--from`); several with commas.
    #[arg(long, value_name = "N", value_delimiter = ',', requires = "from", value_parser = clap::value_parser!(u32).range(1..=100_000), help_heading = "Fleet")]
    fleet: Vec<u32>,
    /// The earlier run whose times, costs and sizes are taken.
    #[arg(long, value_name = "RUN", requires = "fleet", help_heading = "Fleet")]
    from: Option<PathBuf>,
    /// Calls per minute that the models' provider allows to all workers together.
    #[arg(long, value_name = "N", requires = "fleet", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Fleet")]
    calls_per_minute: Option<u32>,
}

impl FleetPlan {
    /// Forecasts each size for this many trials.
    #[expect(clippy::cast_precision_loss, reason = "sizes of files")]
    pub(crate) fn forecasts(&self, trials: usize, config: &Config) -> Result<Vec<FleetForecast>, Failure> {
        let Some(run) = &self.from else { return Ok(Vec::new()) };
        let (_, rows) = read_run(run).kind(Kind::Config)?;
        let observed: Vec<ObservedAttempt> = rows
            .iter()
            .map(|row| ObservedAttempt {
                seconds: row.wall_s,
                usd: row.cost_usd,
                calls: f64::from(row.turns),
                void: row.verdict == Verdict::Void,
                row_bytes: serde_json::to_string(row).map_or(0.0, |text| text.len() as f64),
            })
            .collect();
        if observed.is_empty() {
            return Err(Failure::say(Kind::Config, format!("{} has no attempts to plan by", run.display())));
        }
        let question = FleetQuestion {
            trials,
            workers: 1,
            jobs: wire::jobs(config),
            attempts: config.attempts,
            lease_s: DEFAULT_LEASE.as_secs_f64(),
            file_bytes: size(run)? as f64 / observed.len() as f64,
            calls_per_minute: self.calls_per_minute.map(f64::from),
        };
        let of = |workers: &u32| {
            let workers = usize::try_from(*workers).unwrap_or(usize::MAX);
            forecast_fleet(&observed, &FleetQuestion { workers, ..question })
        };
        Ok(self.fleet.iter().filter_map(of).collect())
    }
}

/// The bytes of a run's traces and pictures.
fn size(run: &Path) -> Result<u64, Failure> {
    let mut bytes = 0;
    for path in files_below(run).kind(Kind::Environment)? {
        if path.starts_with("trials/") || path.starts_with("blobs/") {
            bytes += std::fs::metadata(run.join(path)).kind(Kind::Environment)?.len();
        }
    }
    Ok(bytes)
}

/// Prints the forecasts as a table.
pub(crate) fn print(forecasts: &[FleetForecast]) {
    if forecasts.is_empty() {
        return;
    }
    terminal::line(format_args!(
        "\n{:>8}  {:>9}  {:>6}  {:>10}  {:>12}  {:>12}  {:>10}  limited by",
        "workers", "hours", "busy", "US dollars", "statements/s", "object store", "database"
    ));
    for one in forecasts {
        let usd = one.usd.map_or_else(|| "no price".to_owned(), |usd| format!("{usd:.2}"));
        terminal::line(format_args!(
            "{:>8}  {:>9.2}  {:>5.0}%  {usd:>10}  {:>12.1}  {:>9.2} GB  {:>7.3} GB  {}",
            one.workers,
            one.hours,
            one.busy * 100.0,
            one.statements_per_second,
            one.store_bytes / 1e9,
            one.database_bytes / 1e9,
            one.limited_by
        ));
    }
}
