//! Caps and seeds of trials that run with more than the usual: wider limits, another try.

use apprentice_protocol::Limits;
use sha2::{Digest as _, Sha256};

/// Caps so many times as wide. How often the same action may be repeated is no budget and stays.
pub(crate) fn scaled_limits(limits: Limits, times: u32) -> Limits {
    let times = times.max(1);
    Limits {
        world_steps: limits.world_steps.saturating_mul(times),
        turns: limits.turns.saturating_mul(times),
        tokens: limits.tokens.map(|tokens| tokens.saturating_mul(times.into())),
        cost_usd: limits.cost_usd.map(|usd| usd * f64::from(times)),
        working_s: limits.working_s.saturating_mul(times.into()),
        repeats: limits.repeats,
    }
}

/// What a model that takes a seed is sent at a later try, so that it need not say the same again.
pub(crate) fn retry_seed(seed: u64, number: u32) -> u64 {
    if number < 2 {
        return seed;
    }
    let digest = Sha256::digest(format!("try\0{number}\0{seed}"));
    digest.iter().take(8).fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::Limits;

    use super::{retry_seed, scaled_limits};

    #[test]
    fn budgets_widen_and_tries_differ() {
        let limits = Limits { world_steps: 10, tokens: Some(100), cost_usd: Some(0.5), ..Limits::default() };
        let wide = scaled_limits(limits, 3);
        assert_eq!((wide.world_steps, wide.tokens, wide.cost_usd), (30, Some(300), Some(1.5)));
        assert_eq!((wide.turns, wide.repeats), (limits.turns * 3, limits.repeats));
        assert_eq!(scaled_limits(limits, 0), limits);
        let seeds: std::collections::BTreeSet<u64> = (1..6).map(|number| retry_seed(7, number)).collect();
        assert!(seeds.len() == 5 && retry_seed(7, 1) == 7);
    }
}
