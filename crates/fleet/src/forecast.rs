//! How long a fleet takes, what it costs, and what it asks of the database and of the object store: forecast on paper, from the
//! attempts of an earlier run.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use schemars::JsonSchema;
use serde::Serialize;

/// What the database keeps of an attempt besides its result: the trial, its index entries, and the attempt's own.
const ROW_OVERHEAD: f64 = 700.0;

/// An attempt as it was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ObservedAttempt {
    /// How long it took, in seconds.
    pub seconds: f64,
    /// What it cost in US dollars; `None` without a price.
    pub usd: Option<f64>,
    /// The model's calls.
    pub calls: f64,
    /// Whether it was void, and so was repeated.
    pub void: bool,
    /// The bytes of its result.
    pub row_bytes: f64,
}

/// The fleet and the work that are asked about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FleetQuestion {
    /// Trials to carry out.
    pub trials: usize,
    /// Workers.
    pub workers: usize,
    /// Attempts at a time on each.
    pub jobs: usize,
    /// Attempts after which a trial is given up.
    pub attempts: u32,
    /// Seconds of a lease.
    pub lease_s: f64,
    /// The bytes of an attempt's files.
    pub file_bytes: f64,
    /// Calls per minute that the models' provider allows to all workers; `None` without a limit.
    pub calls_per_minute: Option<f64>,
}

/// What is to be expected of a fleet.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FleetForecast {
    /// Workers.
    pub workers: usize,
    /// Trials.
    pub trials: usize,
    /// Attempts, void ones included.
    pub attempts: usize,
    /// Hours until the last trial has its result.
    pub hours: f64,
    /// `attempts` if they take the time, `rate limit` if the models' calls do.
    pub limited_by: &'static str,
    /// The share of the workers' time in which they work.
    pub busy: f64,
    /// US dollars; null if no attempt has a price.
    pub usd: Option<f64>,
    /// Statements per second that the database gets: claims, results and signs of life.
    pub statements_per_second: f64,
    /// Connections to the database.
    pub connections: usize,
    /// Bytes in the object store, before equal files are stored once.
    pub store_bytes: f64,
    /// Bytes in the database.
    pub database_bytes: f64,
}

/// Forecasts a fleet: attempts are drawn from the observed ones and given to whoever is free. `None` without observations.
#[expect(clippy::cast_precision_loss, reason = "counts of trials and workers")]
pub fn forecast_fleet(observed: &[ObservedAttempt], question: &FleetQuestion) -> Option<FleetForecast> {
    if observed.is_empty() || question.trials == 0 {
        return None;
    }
    let slots = (question.workers * question.jobs).max(1);
    let mut random = StdRng::seed_from_u64(1);
    // When each slot is free, in milliseconds.
    let mut free: BinaryHeap<Reverse<u64>> = (0..slots).map(|_| Reverse(0)).collect();
    let (mut attempts, mut calls, mut seconds, mut rows) = (0_usize, 0.0, 0.0, 0.0);
    let (mut usd, mut priced, mut last) = (0.0, false, 0);
    for _ in 0..question.trials {
        for _ in 0..question.attempts.max(1) {
            let one = observed[random.random_range(0..observed.len())];
            let Reverse(begins) = free.pop()?;
            let ends = begins + milliseconds(one.seconds);
            free.push(Reverse(ends));
            last = last.max(ends);
            attempts += 1;
            calls += one.calls;
            seconds += one.seconds;
            rows += one.row_bytes;
            priced |= one.usd.is_some();
            usd += one.usd.unwrap_or(0.0);
            if !one.void {
                break;
            }
        }
    }
    let by_work = last as f64 / 1000.0;
    let by_rate = question.calls_per_minute.map_or(0.0, |rate| calls / rate * 60.0);
    let total = by_work.max(by_rate).max(1e-3);
    let beats = question.workers as f64 * 2.0 / (question.lease_s / 3.0);
    Some(FleetForecast {
        workers: question.workers,
        trials: question.trials,
        attempts,
        hours: total / 3600.0,
        limited_by: if by_rate > by_work { "rate limit" } else { "attempts" },
        busy: seconds / (total * slots as f64),
        usd: priced.then_some(usd),
        statements_per_second: 2.0 * attempts as f64 / total + beats,
        // One for the queue, one for signs of life, and one for the buckets.
        connections: question.workers * 3,
        store_bytes: attempts as f64 * question.file_bytes,
        database_bytes: rows + attempts as f64 * ROW_OVERHEAD,
    })
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the seconds of an attempt")]
fn milliseconds(seconds: f64) -> u64 {
    (seconds.max(0.0) * 1000.0).round() as u64
}

#[cfg(test)]
mod tests {
    use super::{FleetQuestion, ObservedAttempt, forecast_fleet};

    const ATTEMPT: ObservedAttempt =
        ObservedAttempt { seconds: 60.0, usd: Some(0.5), calls: 10.0, void: false, row_bytes: 1000.0 };

    fn question(workers: usize) -> FleetQuestion {
        FleetQuestion {
            trials: 1000,
            workers,
            jobs: 1,
            attempts: 3,
            lease_s: 60.0,
            file_bytes: 1e6,
            calls_per_minute: None,
        }
    }

    #[test]
    fn more_workers_take_less_time_until_the_trials_or_the_rate_limit_run_out() {
        let hours = |workers| forecast_fleet(&[ATTEMPT], &question(workers)).expect("a forecast").hours;
        assert!((hours(10) - 100.0 / 60.0).abs() < 1e-6 && (hours(100) - 10.0 / 60.0).abs() < 1e-6);
        assert!((hours(10_000) - 1.0 / 60.0).abs() < 1e-6, "a trial takes its minute");
        let limited = FleetQuestion { calls_per_minute: Some(100.0), ..question(1000) };
        let limited = forecast_fleet(&[ATTEMPT], &limited).expect("a forecast");
        assert_eq!(limited.limited_by, "rate limit");
        assert!((limited.hours - 100.0 / 60.0).abs() < 1e-6, "10,000 calls at 100 a minute");
        assert!(limited.busy < 0.02, "the workers wait");
    }

    #[test]
    fn void_attempts_are_repeated_and_paid() {
        let void = ObservedAttempt { void: true, ..ATTEMPT };
        let half = forecast_fleet(&[ATTEMPT, void], &question(10)).expect("a forecast");
        assert!((1650..1850).contains(&half.attempts), "1.75 attempts per trial: {}", half.attempts);
        assert_eq!(half.usd, Some(half.attempts as f64 * 0.5));
        assert_eq!(forecast_fleet(&[], &question(10)), None);
        let free = ObservedAttempt { usd: None, ..ATTEMPT };
        assert_eq!(forecast_fleet(&[free], &question(10)).expect("a forecast").usd, None);
    }
}
