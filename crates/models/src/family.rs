//! The model behind a platform's name. Amazon, Google, Microsoft and gateways have names of their own for the same model;
//! tools, prices and limits are looked up by the vendor's.

/// What follows a model's name without changing the model.
const SUFFIXES: [&str; 3] = ["latest", "default", "original"];

/// Returns the vendor's name of a model, without the date of its release, in lower case:
///
/// - `us.anthropic.claude-opus-4-5-20251101-v1:0`, and the same as an ARN (Bedrock), `claude-opus-4-5@20251101` (Vertex),
///   `anthropic/claude-opus-4.5:beta` (OpenRouter): `claude-opus-4-5`
/// - `gpt-5.5-2026-04-23`, `openai/gpt-5.5`: `gpt-5.5`
///
/// A name that tells no family, as that of a deployment, comes back as it is.
pub fn family(model: &str) -> String {
    let lower = model.trim().to_lowercase();
    let last = lower.rsplit('/').next().unwrap_or_default();
    // Bedrock: `[region.]vendor.model`. A point also stands in versions, as in gpt-5.5.
    let vendors =
        ["anthropic.", "openai.", "google.", "qwen.", "mistral.", "meta.", "deepseek.", "moonshotai."];
    let bare =
        vendors.iter().find_map(|vendor| last.split_once(vendor).map(|(_, rest)| rest)).unwrap_or(last);
    // Vertex: `model@date`. Bedrock: `model-v1:0`. OpenRouter: `model:free`.
    let bare = bare.split(['@', ':']).next().unwrap_or_default();
    let mut parts: Vec<&str> = bare.split('-').collect();
    while let Some(&last) = parts.last() {
        let version = last.strip_prefix('v').is_some_and(|digits| is_number(digits) && digits.len() < 3);
        if parts.len() > 2 && (SUFFIXES.contains(&last) || is_day(last) || (version && parts[0] == "claude"))
        {
            parts.pop();
        } else if parts.len() > 4 && is_date(&parts[parts.len() - 3..]) {
            parts.truncate(parts.len() - 3);
        } else {
            break;
        }
    }
    let name = parts.join("-");
    match name.strip_prefix("claude-") {
        // OpenRouter writes `claude-opus-4.5`.
        Some(rest) => format!("claude-{}", rest.replace('.', "-")),
        None => name,
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a part is a day of this century, as `20251101`.
fn is_day(part: &str) -> bool {
    part.len() == 8 && part.starts_with("20") && is_number(part)
}

/// Whether parts are a date, as `2026`, `04`, `23`.
fn is_date(parts: &[&str]) -> bool {
    parts.iter().map(|part| part.len()).eq([4, 2, 2])
        && parts[0].starts_with("20")
        && parts.iter().all(|part| is_number(part))
}

#[cfg(test)]
mod tests {
    use super::family;

    #[test]
    fn every_platforms_name_tells_the_vendors() {
        for (name, expected) in [
            ("claude-opus-4-5", "claude-opus-4-5"),
            ("claude-opus-4-5-20251101", "claude-opus-4-5"),
            ("us.anthropic.claude-opus-4-5-20251101-v1:0", "claude-opus-4-5"),
            ("global.anthropic.claude-opus-4-6-v1", "claude-opus-4-6"),
            ("us-gov.anthropic.claude-sonnet-5-5", "claude-sonnet-5-5"),
            ("apac.anthropic.claude-fable-5", "claude-fable-5"),
            ("anthropic.claude-fable-5-1", "claude-fable-5-1"),
            (
                "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-haiku-4-5-20251001-v1:0",
                "claude-haiku-4-5",
            ),
            (
                "arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-3-5-sonnet-20241022-v2:0",
                "claude-3-5-sonnet",
            ),
            ("claude-sonnet-4-5@20250929", "claude-sonnet-4-5"),
            ("claude-opus-5-5@default", "claude-opus-5-5"),
            ("anthropic/claude-opus-4.5:beta", "claude-opus-4-5"),
            ("Claude-Haiku-5-5", "claude-haiku-5-5"),
            ("claude-3-5-sonnet-latest", "claude-3-5-sonnet"),
            ("gpt-5.5-2026-04-23", "gpt-5.5"),
            ("openai/gpt-5.4-mini-2026-03-17", "gpt-5.4-mini"),
            ("openai.gpt-oss-120b-1:0", "gpt-oss-120b-1"),
            ("computer-use-preview-2025-03-11", "computer-use-preview"),
            ("gemini-2.5-computer-use-preview-10-2025", "gemini-2.5-computer-use-preview-10-2025"),
            ("gemini-3.1-pro-preview-customtools", "gemini-3.1-pro-preview-customtools"),
            ("arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2c3", "a1b2c3"),
            ("my-deployment", "my-deployment"),
            ("Qwen/Qwen3-VL-8B-Instruct", "qwen3-vl-8b-instruct"),
        ] {
            assert_eq!(family(name), expected, "{name}");
            assert_eq!(family(expected), expected, "{name}: twice");
        }
    }
}
