//! Validates a server's response to an embedding request.

use apprentice_protocol::{ModelError, ModelErrorKind, Retry};
use serde::Deserialize;
use serde_json::Value;

use crate::http::{Transport, error_in_success};

/// A valid response: one vector per text, in order.
#[derive(Debug)]
pub(super) struct EmbeddingResponse {
    pub(super) vectors: Vec<Vec<f32>>,
    pub(super) tokens: u64,
}

#[derive(Deserialize)]
struct Body {
    data: Vec<One>,
    #[serde(default)]
    usage: Usage,
}

#[derive(Deserialize)]
struct One {
    index: usize,
    embedding: Vec<f32>,
}

#[derive(Default, Deserialize)]
struct Usage {
    #[serde(default)]
    total_tokens: u64,
}

/// Parses and validates the response to a request for `texts` texts.
pub(super) fn read(
    transport: &Transport,
    body: &[u8],
    texts: usize,
    dimensions: Option<u32>,
) -> Result<EmbeddingResponse, ModelError> {
    let whole: Value = serde_json::from_slice(body).map_err(|error| transport.not_json(body, &error))?;
    if let Some(error) = error_in_success(&whole) {
        return Err(transport.redacted(error));
    }
    let Body { data, usage } =
        serde_json::from_value(whole).map_err(|error| transport.not_json(body, &error))?;
    if data.len() != texts {
        return Err(broken(&format!("{} vectors for {texts} texts", data.len())));
    }
    let mut vectors: Vec<Option<Vec<f32>>> = vec![None; texts];
    for One { index, embedding } in data {
        let place = vectors.get_mut(index).filter(|place| place.is_none());
        let place = place.ok_or_else(|| broken(&format!("no single vector for text {index} of {texts}")))?;
        if let Some(why) = unusable(&embedding, dimensions) {
            return Err(broken(&format!("the vector of text {index} {why}")));
        }
        *place = Some(embedding);
    }
    let vectors: Vec<Vec<f32>> = vectors.into_iter().flatten().collect();
    one_length(&vectors)?;
    Ok(EmbeddingResponse { vectors, tokens: usage.total_tokens })
}

fn unusable(vector: &[f32], dimensions: Option<u32>) -> Option<String> {
    if let Some(asked) = dimensions.filter(|asked| usize::try_from(*asked).is_ok_and(|n| n != vector.len())) {
        return Some(format!("has {} dimensions where {asked} were asked for", vector.len()));
    }
    if vector.iter().any(|number| !number.is_finite()) {
        return Some("contains a value that is not a number".to_owned());
    }
    vector.iter().all(|number| *number == 0.0).then(|| "is empty".to_owned())
}

/// Rejects vectors of different lengths, which cannot be compared.
pub(super) fn one_length(vectors: &[Vec<f32>]) -> Result<(), ModelError> {
    let first = vectors.first().map_or(0, Vec::len);
    match vectors.iter().find(|vector| vector.len() != first) {
        Some(other) => Err(broken(&format!("vectors of {first} and of {} dimensions", other.len()))),
        None => Ok(()),
    }
}

/// The error for a response in the wrong format. A retry may help, so it is allowed.
pub(super) fn broken(what: &str) -> ModelError {
    let message = format!("the server's vectors cannot be used: {what}");
    ModelError { fault: ModelErrorKind::Protocol, retry: Retry::Now, message }
}
