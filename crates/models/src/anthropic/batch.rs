//! Anthropic's Message Batches: many Messages requests in one, answered within a day at half the price.

use std::collections::BTreeMap;
use std::time::Duration;

use apprentice_protocol::{BoxFuture, ChatReply, ChatRequest, ModelError, ModelErrorKind};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::{Anthropic, browser, decode, path_segment};
use crate::batch::{
    BatchAnswers, BatchEntry, BatchService, BatchState, EndedBatch, UnconfirmedBatch, json_lines, never,
};
use crate::http::{DecodeError, Json, error_in_success, list, object, read_body};

const PATH: &str = "/v1/messages/batches";
/// Batches of one page of their list.
const PAGE: u32 = 100;

/// The description of a batch.
#[derive(Deserialize)]
struct Batch {
    id: String,
    processing_status: String,
    #[serde(default)]
    request_counts: BTreeMap<String, usize>,
    #[serde(default)]
    created_at: Option<Timestamp>,
}

/// A page of the list of batches, the newest first.
#[derive(Deserialize)]
struct Page {
    data: Vec<Batch>,
    #[serde(default)]
    has_more: bool,
}

/// One line of the results.
#[derive(Deserialize)]
struct Line<'a> {
    custom_id: String,
    #[serde(borrow)]
    result: Outcome<'a>,
}

#[derive(Deserialize)]
struct Outcome<'a> {
    #[serde(rename = "type")]
    kind: String,
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
    #[serde(default)]
    error: Value,
}

impl Outcome<'_> {
    fn body(&self) -> Result<Vec<u8>, ModelError> {
        match (self.kind.as_str(), self.message) {
            ("succeeded", Some(message)) => Ok(message.get().as_bytes().to_vec()),
            _ => Err(match error_in_success(&self.error) {
                Some(error) => error,
                None => {
                    let message = format!("this request is {}", self.kind);
                    ModelError::never(ModelErrorKind::Unavailable, message)
                }
            }),
        }
    }
}

impl Anthropic {
    async fn submit(&self, entries: &[BatchEntry]) -> Result<String, ModelError> {
        let requests = entries.iter().map(|entry| {
            let params: Box<RawValue> = serde_json::from_slice(&entry.body)?;
            Ok(object([("custom_id", entry.key.as_str().into()), ("params", Json::Raw(params.into()))]))
        });
        let requests: Result<Vec<Json>, serde_json::Error> = requests.collect();
        let size = entries.iter().map(|entry| entry.body.len() + 64).sum();
        let body = requests.and_then(|requests| object([("requests", list(requests))]).to_bytes(size));
        let body = body.map_err(|error| {
            ModelError::never(ModelErrorKind::Request, format!("cannot encode the batch: {error}"))
        })?;
        let url = self.config.endpoint.url(PATH);
        let answer = self.transport.post(&url, &self.headers().await?, body).await?;
        Ok(self.batch(&answer.body)?.id)
    }

    /// Looks through the list of batches for one of the same size that no other command knows, back to the time at which it may
    /// have been sent. The API keeps no mark with a batch. Another user's batch of the same size and time would be found, too:
    /// its answers have other names, so that the requests are then told as unanswered, and are sent anew by the next command.
    async fn find(&self, sent: &UnconfirmedBatch) -> Result<Option<String>, ModelError> {
        let (mut after, earliest, mut found) = (String::new(), sent.earliest(), None);
        loop {
            let url = self.config.endpoint.url(&format!("{PATH}?limit={PAGE}{after}"));
            let answer = self.transport.get(&url, &self.headers().await?).await?;
            let page: Page = read_body(&answer.body)
                .map_err(|error: DecodeError| error.into_model_error(&self.transport, &answer.body))?;
            let is_late = |batch: &Batch| batch.created_at.is_some_and(|created| created >= earliest);
            for batch in page.data.iter().filter(|batch| is_late(batch)) {
                if batch.request_counts.values().sum::<usize>() == sent.requests
                    && !sent.others.contains(&batch.id)
                {
                    // The oldest that fits: it was sent at once after the note of it.
                    found = Some(batch.id.clone());
                }
            }
            match page.data.last().filter(|last| page.has_more && is_late(last)) {
                Some(last) => after = format!("&after_id={}", path_segment(&last.id)),
                None => return Ok(found),
            }
        }
    }

    fn batch(&self, body: &[u8]) -> Result<Batch, ModelError> {
        read_body(body).map_err(|error: DecodeError| error.into_model_error(&self.transport, body))
    }

    async fn batch_state(&self, id: &str) -> Result<BatchState, ModelError> {
        let url = self.config.endpoint.url(&format!("{PATH}/{}", path_segment(id)));
        let answer = self.transport.get(&url, &self.headers().await?).await?;
        let Batch { id, processing_status: how, .. } = self.batch(&answer.body)?;
        Ok(match how.as_str() {
            "ended" => BatchState::Ended(EndedBatch { id, how, files: Vec::new() }),
            _ => BatchState::Working,
        })
    }

    /// The results are asked for below the same address as the batch: the server's `results_url` could lead elsewhere.
    async fn batch_answers(&self, ended: &EndedBatch) -> Result<BatchAnswers, ModelError> {
        let url = self.config.endpoint.url(&format!("{PATH}/{}/results", path_segment(&ended.id)));
        let answer = self.transport.get(&url, &self.headers().await?).await?;
        let lines: Vec<Line<'_>> = json_lines(&answer.body)
            .map_err(|error| error.into_model_error(&self.transport, &answer.body))?;
        let read = |line: Line<'_>| {
            let body = line.result.body();
            (line.custom_id, body.map_err(|error| never(self.transport.redacted(error))))
        };
        Ok(lines.into_iter().map(read).collect())
    }
}

impl BatchService for Anthropic {
    fn entry_body(&self, request: &ChatRequest) -> Result<Vec<u8>, ModelError> {
        match self.betas(request) {
            None => self.body(request),
            Some(betas) => {
                let story = format!("a request that needs the beta features {betas} cannot go in a batch");
                Err(ModelError::never(ModelErrorKind::Request, story))
            }
        }
    }

    fn submit<'a>(
        &'a self,
        entries: &'a [BatchEntry],
        _mark: &'a str,
    ) -> BoxFuture<'a, Result<String, ModelError>> {
        Box::pin(self.submit(entries))
    }

    fn find<'a>(&'a self, sent: &'a UnconfirmedBatch) -> BoxFuture<'a, Result<Option<String>, ModelError>> {
        Box::pin(self.find(sent))
    }

    fn state<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<BatchState, ModelError>> {
        Box::pin(self.batch_state(id))
    }

    fn answers<'a>(&'a self, ended: &'a EndedBatch) -> BoxFuture<'a, Result<BatchAnswers, ModelError>> {
        Box::pin(self.batch_answers(ended))
    }

    fn read<'a>(
        &'a self,
        body: &'a [u8],
        request: &'a ChatRequest,
    ) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        let decoded = decode::reply(body, browser::front_tab(request))
            .map_err(|error| error.into_model_error(&self.transport, body))
            .map(|decoded| decoded.into_reply(Duration::ZERO, self.config.tariff.as_ref()));
        Box::pin(std::future::ready(decoded))
    }
}
