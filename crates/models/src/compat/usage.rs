//! Reads what a call used, in the fields of any compatible server.

use serde_json::Value;

use crate::http::count;
use crate::price::Tokens;

/// Reads the tokens of a reply. `None` if the server does not say how many there were: none at all is no number, either.
///
/// - Cached input stands in `prompt_tokens_details` (OpenAI, vLLM, OpenRouter), in `prompt_cache_hit_tokens` (DeepSeek),
///   in `cached_tokens` beside the counts (Moonshot), or in Anthropic's fields (litellm). It is part of the input.
/// - Reasoning is part of `completion_tokens`, or stands beside it (xAI): then the total says so.
pub(super) fn tokens(usage: &Value) -> Option<Tokens> {
    let (prompt, details) = (count(&usage["prompt_tokens"])?, &usage["prompt_tokens_details"]);
    let first = |places: &[&Value]| places.iter().find_map(|value| count(value).filter(|count| *count > 0));
    let read = first(&[
        &details["cached_tokens"],
        &usage["prompt_cache_hit_tokens"],
        &usage["cached_tokens"],
        &usage["cache_read_input_tokens"],
    ]);
    let written = first(&[&details["cache_write_tokens"], &usage["cache_creation_input_tokens"]]);
    let read = read.unwrap_or(0).min(prompt);
    let written = written.unwrap_or(0).min(prompt - read);
    let output = output(usage, prompt)?;
    let tokens = Tokens {
        fresh: prompt - read - written,
        cache_read: read,
        cache_write: written,
        cache_write_long: 0,
        output,
    };
    (prompt + output > 0).then_some(tokens)
}

fn output(usage: &Value, prompt: u64) -> Option<u64> {
    let completion = count(&usage["completion_tokens"]);
    let reasoning = count(&usage["completion_tokens_details"]["reasoning_tokens"]).unwrap_or(0);
    match (completion, count(&usage["total_tokens"])) {
        (completion, Some(total)) => Some(completion.unwrap_or(0).max(total.saturating_sub(prompt))),
        (Some(completion), None) if reasoning > completion => Some(completion + reasoning),
        (completion, None) => completion,
    }
}

/// Reads what the call cost, where the server says so (OpenRouter): its own charge, and that of a provider which is paid
/// with the user's own key.
pub(super) fn cost(usage: &Value) -> Option<f64> {
    let dollars = |value: &Value| value.as_f64().filter(|cost| cost.is_finite() && *cost >= 0.0);
    let own = dollars(&usage["cost"])?;
    let upstream = dollars(&usage["cost_details"]["upstream_inference_cost"]);
    let own_key = usage["is_byok"].as_bool() == Some(true);
    Some(own + upstream.filter(|_| own_key).unwrap_or(0.0))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{cost, tokens};

    #[test]
    fn each_servers_counts_are_read() {
        let check = |usage: Value, expected: (u64, u64, u64, u64)| {
            let read = tokens(&usage).unwrap_or_else(|| panic!("{usage} tells no tokens"));
            let got = (read.fresh, read.cache_read, read.cache_write, read.output);
            assert_eq!(got, expected, "{usage}");
        };
        let of = |more: Value| {
            let mut usage = json!({ "prompt_tokens": 1000, "completion_tokens": 20 });
            for (key, value) in more.as_object().expect("an object") {
                usage[key.as_str()] = value.clone();
            }
            usage
        };
        check(of(json!({})), (1000, 0, 0, 20));
        check(of(json!({ "total_tokens": 1020 })), (1000, 0, 0, 20));
        let beside =
            json!({ "total_tokens": 3020, "completion_tokens_details": { "reasoning_tokens": 2000 } });
        check(of(beside), (1000, 0, 0, 2020));
        check(of(json!({ "completion_tokens_details": { "reasoning_tokens": 2000 } })), (1000, 0, 0, 2020));
        let within = json!({ "completion_tokens": 500, "total_tokens": 1500, "completion_tokens_details": { "reasoning_tokens": 400 } });
        check(of(within), (1000, 0, 0, 500));
        check(
            of(json!({ "prompt_cache_hit_tokens": 900, "prompt_cache_miss_tokens": 100 })),
            (100, 900, 0, 20),
        );
        check(of(json!({ "cached_tokens": 900 })), (100, 900, 0, 20));
        let openai = json!({ "prompt_tokens_details": { "cached_tokens": 600, "cache_write_tokens": 100 } });
        check(of(openai), (300, 600, 100, 20));
        check(of(json!({ "prompt_tokens_details": { "cached_tokens": 5000 } })), (0, 1000, 0, 20));
        check(
            of(json!({ "prompt_tokens_details": null, "prompt_tokens": 1000.0, "completion_tokens": "20" })),
            (1000, 0, 0, 20),
        );
    }

    #[test]
    fn no_number_is_no_zero() {
        for usage in [
            json!(null),
            json!({}),
            json!({ "prompt_tokens": null, "completion_tokens": null }),
            json!({ "prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0 }),
            json!({ "prompt_tokens": 1000 }),
            json!({ "prompt_tokens": -5, "completion_tokens": 3 }),
            json!({ "prompt_tokens": "many", "completion_tokens": 3 }),
            json!("1000"),
        ] {
            assert_eq!(tokens(&usage), None, "{usage}");
        }
    }

    #[test]
    fn a_stated_cost_is_read() {
        assert_eq!(cost(&json!({ "cost": 0.0031 })), Some(0.0031));
        let own_key =
            json!({ "cost": 0.001, "is_byok": true, "cost_details": { "upstream_inference_cost": 0.02 } });
        assert_eq!(cost(&own_key), Some(0.021));
        let theirs =
            json!({ "cost": 0.02, "is_byok": false, "cost_details": { "upstream_inference_cost": 0.02 } });
        assert_eq!(cost(&theirs), Some(0.02));
        assert_eq!((cost(&json!({})), cost(&json!({ "cost": "x" }))), (None, None));
    }
}
