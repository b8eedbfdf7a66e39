//! How likely a model holds each of the answers that a schema allows, where the schema asks for that.
//!
//! A model of few parameters says "no" to most questions of the form "is it this one?", and "yes" to the wrong one of several: of 42
//! instructions Qwen2.5-Coder 1.5B (llama.cpp b10434) named the right function of a list in 20. But the function to which it gave
//! "yes" the highest probability was the right one in 33.

use std::collections::BTreeMap;

use apprentice_protocol::ChatRequest;
use serde_json::{Value, json};

/// A schema of a few words with this keyword is answered by an object with the logarithm of each word's probability, where the server
/// tells them; else by a word, as any other.
const KEYWORD: &str = "x-likelihoods";
/// Most tokens that a server lists for a place: llama.cpp and OpenAI take 20.
pub(super) const MOST_TOKENS: u32 = 20;

/// The answers whose likelihoods a request asks for; none for other requests.
pub(super) fn asked(request: &ChatRequest) -> Vec<&str> {
    let schema = request.schema.as_ref().map(|named| &named.schema);
    let schema = schema.filter(|schema| schema[KEYWORD] == json!(true));
    let answers = schema.and_then(|schema| schema["enum"].as_array());
    answers.into_iter().flatten().filter_map(Value::as_str).collect()
}

/// The schema as a server gets it.
pub(super) fn without_keyword(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Some(fields) = schema.as_object_mut() {
        fields.remove(KEYWORD);
    }
    schema
}

/// Reads the likelihoods in the field `logprobs` of a choice: those at the first place where answers begin. `None` where the server
/// told none.
pub(super) fn told(logprobs: &Value, answers: &[&str]) -> Option<String> {
    let places = logprobs["content"].as_array()?;
    places.iter().find_map(|place| {
        let mut found: BTreeMap<&str, f64> = BTreeMap::new();
        for token in place["top_logprobs"].as_array()? {
            let (text, likelihood) = (token["token"].as_str()?, token["logprob"].as_f64()?);
            let text = text.trim().trim_matches('"');
            let answer = answers.iter().find(|answer| !text.is_empty() && answer.starts_with(text));
            if let Some(answer) = answer {
                let best = found.entry(answer).or_insert(likelihood);
                *best = best.max(likelihood);
            }
        }
        (!found.is_empty()).then(|| json!(found).to_string())
    })
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::{ChatRequest, NamedSchema};
    use serde_json::json;

    use super::{asked, told, without_keyword};

    #[test]
    fn they_are_asked_for_by_a_keyword_of_the_schema() {
        let schema = json!({ "type": "string", "enum": ["yes", "no"], "x-likelihoods": true });
        let request = |schema: &serde_json::Value| ChatRequest {
            schema: Some(NamedSchema { name: "fits".into(), schema: schema.clone() }),
            ..ChatRequest::default()
        };
        assert_eq!(asked(&request(&schema)), ["yes", "no"]);
        let plain = without_keyword(&schema);
        assert_eq!(plain, json!({ "type": "string", "enum": ["yes", "no"] }));
        assert!(asked(&request(&plain)).is_empty() && asked(&ChatRequest::default()).is_empty());
    }

    #[test]
    fn those_of_the_place_where_answers_begin_are_read() {
        let place = |tokens: &[(&str, f64)]| {
            let all: Vec<_> =
                tokens.iter().map(|(token, at)| json!({ "token": token, "logprob": at })).collect();
            json!({ "token": "x", "top_logprobs": all })
        };
        let said = json!({ "content": [
            place(&[("\"", -0.1), ("The", -3.0)]),
            place(&[("no", -0.25), (" no", -4.0), ("yes", -1.5), ("maybe", -5.0)]),
            place(&[("yes", -0.1)]),
        ] });
        assert_eq!(told(&said, &["yes", "no"]).as_deref(), Some("{\"no\":-0.25,\"yes\":-1.5}"));
        assert_eq!(told(&json!(null), &["yes", "no"]), None);
        assert_eq!(told(&json!({ "content": [] }), &["yes"]), None);
    }
}
