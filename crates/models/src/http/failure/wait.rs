//! How long a server asks to wait: in headers, in the body, or in words.

use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822;

/// A date has whole seconds: at the second that it names, the wait may not be over.
const DATE_GRAIN: Duration = Duration::from_secs(1);
/// A number above this is a time, and not a number of seconds from now.
const LEAST_TIME_S: f64 = 1e8;
/// A number above this is a time in milliseconds.
const LEAST_TIME_MS: f64 = 1e11;
/// Words before a delay.
const WORDS: [&str; 8] = [
    "try again in ",
    "retry in ",
    "retry after ",
    "again after ",
    "retrying in ",
    "please wait ",
    "reset in ",
    "resets in ",
];

/// Looks up a header by its lower-case name.
pub(super) type Headers<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Returns the delay that the headers request: `retry-after-ms`, else `retry-after` in seconds or as a date.
pub(super) fn asked(headers: Headers<'_>, now: Timestamp) -> Option<Duration> {
    if let Some(time) = headers("retry-after-ms").and_then(|text| seconds(&text, 0.001)) {
        return Some(time);
    }
    let text = headers("retry-after")?;
    if let Some(time) = seconds(&text, 1.0) {
        return Some(time);
    }
    let until = rfc2822::DateTimeParser::new().parse_timestamp(text.trim()).ok()?;
    Some(until_then(until, now))
}

/// Returns when a rate limit is lifted. Limits that have something left did not refuse the request.
pub(super) fn reset(headers: Headers<'_>, now: Timestamp) -> Option<Duration> {
    let of = |head: &str, what: &str| {
        let (left, reset) = match head {
            "x-ratelimit" => (format!("{head}-remaining-{what}"), format!("{head}-reset-{what}")),
            _ => (format!("{head}-{what}-remaining"), format!("{head}-{what}-reset")),
        };
        Some((headers(&left).is_some_and(|left| left.trim() == "0"), time(&headers(&reset)?, now)?))
    };
    let mut known = Vec::new();
    for head in ["x-ratelimit", "anthropic-ratelimit"] {
        for what in ["tokens", "input-tokens", "output-tokens", "requests"] {
            known.extend(of(head, what));
        }
    }
    let spent = known.iter().filter(|(spent, _)| *spent).map(|(_, time)| *time).max();
    let plain = || {
        let names = ["x-ratelimit-reset-after", "x-ratelimit-reset", "ratelimit-reset"];
        names.iter().find_map(|name| time(&headers(name)?, now))
    };
    // The tokens that are left may be too few for this request.
    spent.or_else(plain).or_else(|| known.first().map(|(_, time)| *time))
}

/// Returns the delay that an error's words name, as "try again in 1m12.5s".
pub(super) fn in_words(words: &str) -> Option<Duration> {
    let words = words.to_lowercase();
    WORDS.iter().find_map(|head| {
        let (_, rest) = words.split_once(head)?;
        span(rest.trim_start_matches(|c: char| !c.is_ascii_digit() && c != ' ').trim_start())
    })
}

fn until_then(until: Timestamp, now: Timestamp) -> Duration {
    let left = Duration::try_from(until.duration_since(now)).unwrap_or_default();
    if left.is_zero() { left } else { left + DATE_GRAIN }
}

fn seconds(text: &str, scale: f64) -> Option<Duration> {
    let value = text.trim().parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0)?;
    Duration::try_from_secs_f64(value * scale).ok()
}

/// Reads a time of any form: `6m0s`, `2.5`, a date, or seconds or milliseconds since 1970.
fn time(text: &str, now: Timestamp) -> Option<Duration> {
    let text = text.trim();
    if let Ok(until) = text.parse::<Timestamp>() {
        return Some(until_then(until, now));
    }
    match text.parse::<f64>() {
        Ok(number) if number >= LEAST_TIME_S => {
            let then = if number >= LEAST_TIME_MS { number / 1000.0 } else { number };
            #[expect(clippy::cast_precision_loss, reason = "seconds since 1970 are far below 2^52")]
            let left = then - now.as_second() as f64;
            Some(if left > 0.0 {
                Duration::try_from_secs_f64(left).ok()? + DATE_GRAIN
            } else {
                Duration::ZERO
            })
        }
        Ok(number) => seconds(&number.to_string(), 1.0),
        Err(_) => span(text),
    }
}

/// Reads the span of time at the beginning of a text, as `1m12.5s`, `120ms` or `20 seconds`. A bare number is of seconds.
fn span(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut sum = None;
    loop {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let Ok(number) = rest[..digits].trim_end_matches('.').parse::<f64>() else { return sum };
        let after = rest[digits..].trim_start();
        let letters = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let scale = match &after[..letters] {
            "ms" | "millisecond" | "milliseconds" => 0.001,
            "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
            "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
            "h" | "hr" | "hour" | "hours" => 3600.0,
            "d" | "day" | "days" => 86400.0,
            _ if sum.is_none() => return Duration::try_from_secs_f64(number).ok(),
            _ => return sum,
        };
        let part = Duration::try_from_secs_f64(number * scale).ok()?;
        sum = Some(sum.unwrap_or(Duration::ZERO) + part);
        rest = after[letters..].trim_start();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jiff::Timestamp;

    use super::{in_words, reset};

    #[test]
    fn delays_in_words_are_read() {
        for (words, expected) in [
            ("Rate limit reached ... Please try again in 40s. Visit", Some(40_000)),
            ("Please try again in 1m12.5s.", Some(72_500)),
            ("try again in 850ms", Some(850)),
            ("Please retry in 22.1s.", Some(22_100)),
            ("Too many requests, retry after 20 seconds", Some(20_000)),
            ("please wait 30 seconds before the next request", Some(30_000)),
            ("Your limit resets in 2 hours", Some(7_200_000)),
            ("try again in a moment", None),
            ("slow down", None),
        ] {
            assert_eq!(in_words(words), expected.map(Duration::from_millis), "{words}");
        }
    }

    #[test]
    fn the_limit_that_is_used_up_decides() {
        let now = Timestamp::from_second(1_700_000_000).expect("a time");
        let check = |headers: &[(&str, &str)], expected: Option<u64>| {
            let find = |name: &str| {
                headers.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
            };
            assert_eq!(reset(&find, now), expected.map(Duration::from_millis), "{headers:?}");
        };
        let both = [("x-ratelimit-reset-requests", "6m0s"), ("x-ratelimit-reset-tokens", "1.5s")];
        check(&both, Some(1500));
        check(&[both[0], both[1], ("x-ratelimit-remaining-requests", "0")], Some(360_000));
        check(&[("x-ratelimit-reset", "1700000030000")], Some(31_000));
        check(&[("x-ratelimit-reset", "1700000030")], Some(31_000));
        check(&[("ratelimit-reset", "12")], Some(12_000));
        check(&[("anthropic-ratelimit-tokens-reset", "2023-11-14T22:13:25Z")], Some(6_000));
        check(&[("x-ratelimit-reset", "1600000000")], Some(0));
        check(&[], None);
    }
}
