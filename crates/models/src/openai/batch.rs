//! OpenAI's batches: a file of requests is uploaded, worked on within a day at half the price, and its answers are files
//! again.

use std::time::Duration;

use apprentice_protocol::{BoxFuture, ChatReply, ChatRequest, ModelError, ModelErrorKind};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::OpenAi;
use crate::batch::{
    BatchAnswers, BatchEntry, BatchService, BatchState, EndedBatch, UnconfirmedBatch, json_lines, never,
};
use crate::http::{DecodeError, error_in_success, read_body, refused_in_file};

/// What every line of the uploaded file asks for.
const ASKED: &str = "/v1/responses";
/// The name under which a batch keeps its mark.
const MARK: &str = "apprentice_requests";
/// Batches of one page of their list.
const PAGE: u32 = 100;
/// Separates the parts of the form. A separator follows a line end with CR, and no line of the file holds one.
const BOUNDARY: &str = "apprentice-batch-7d1f0b6a-end-of-part";

#[derive(Deserialize)]
struct File {
    id: String,
}

/// The description of a batch.
#[derive(Deserialize)]
struct Batch {
    id: String,
    status: String,
    #[serde(default)]
    output_file_id: Option<String>,
    #[serde(default)]
    error_file_id: Option<String>,
    #[serde(default)]
    errors: Value,
    #[serde(default)]
    created_at: i64,
    /// `null`, or texts by name.
    #[serde(default)]
    metadata: Value,
}

/// A page of the list of batches, the newest first.
#[derive(Deserialize)]
struct Page {
    data: Vec<Batch>,
    #[serde(default)]
    has_more: bool,
}

/// One line of an answer file.
#[derive(Deserialize)]
struct Line<'a> {
    custom_id: String,
    #[serde(borrow, default)]
    response: Option<Answered<'a>>,
    #[serde(default)]
    error: Value,
}

#[derive(Deserialize)]
struct Answered<'a> {
    status_code: u16,
    #[serde(borrow)]
    body: &'a RawValue,
}

impl Line<'_> {
    fn body(&self) -> Result<Vec<u8>, ModelError> {
        match &self.response {
            Some(answered) if (200..300).contains(&answered.status_code) => {
                Ok(answered.body.get().as_bytes().to_vec())
            }
            Some(answered) => Err(refused_in_file(answered.status_code, answered.body.get().as_bytes())),
            None => Err(error_in_success(&json!({ "error": self.error })).unwrap_or_else(|| {
                ModelError::never(ModelErrorKind::Protocol, "neither an answer nor an error")
            })),
        }
    }
}

impl OpenAi {
    async fn submit(&self, entries: &[BatchEntry], mark: &str) -> Result<String, ModelError> {
        let mut headers = self.headers().await?;
        let asked = |file: &str| {
            json!({ "input_file_id": file, "endpoint": ASKED, "completion_window": "24h",
                    "metadata": { MARK: mark } })
        };
        let url = self.config.endpoint.url("/files");
        headers.push(("content-type", format!("multipart/form-data; boundary={BOUNDARY}")));
        let file = self.transport.post(&url, &headers, form(&file(entries)?)).await?;
        let file: File = self.told(&file.body)?;
        headers.pop();
        let url = self.config.endpoint.url("/batches");
        let batch = self.transport.post(&url, &headers, asked(&file.id).to_string().into_bytes()).await?;
        Ok(self.told::<Batch>(&batch.body)?.id)
    }

    /// Looks through the list of batches, back to the time at which the one that is sought may have been sent.
    async fn find(&self, sent: &UnconfirmedBatch) -> Result<Option<String>, ModelError> {
        let mut after = String::new();
        loop {
            let url = self.config.endpoint.url(&format!("/batches?limit={PAGE}{after}"));
            let answer = self.transport.get(&url, &self.headers().await?).await?;
            let page: Page = self.told(&answer.body)?;
            if let Some(found) = page.data.iter().find(|batch| batch.metadata[MARK] == sent.mark.as_str()) {
                return Ok(Some(found.id.clone()));
            }
            let earliest = sent.earliest().as_second();
            match page.data.last().filter(|last| page.has_more && last.created_at >= earliest) {
                Some(last) => after = format!("&after={}", plain(&last.id)?),
                None => return Ok(None),
            }
        }
    }

    fn told<'a, T: Deserialize<'a>>(&self, body: &'a [u8]) -> Result<T, ModelError> {
        read_body(body).map_err(|error: DecodeError| error.into_model_error(&self.transport, body))
    }

    async fn batch_state(&self, id: &str) -> Result<BatchState, ModelError> {
        let url = self.config.endpoint.url(&format!("/batches/{}", plain(id)?));
        let answer = self.transport.get(&url, &self.headers().await?).await?;
        let Batch { id, status, output_file_id, error_file_id, errors, .. } = self.told(&answer.body)?;
        Ok(match status.as_str() {
            "completed" | "expired" | "cancelled" => {
                let files = output_file_id.into_iter().chain(error_file_id).collect();
                BatchState::Ended(EndedBatch { id, how: status, files })
            }
            "failed" => {
                let why = errors["data"][0]["message"].as_str().unwrap_or("it gave no reason");
                BatchState::Failed(self.transport.clean(why))
            }
            _ => BatchState::Working,
        })
    }

    async fn batch_answers(&self, ended: &EndedBatch) -> Result<BatchAnswers, ModelError> {
        let mut answers = BatchAnswers::new();
        for file in &ended.files {
            let url = self.config.endpoint.url(&format!("/files/{}/content", plain(file)?));
            let answer = self.transport.get(&url, &self.headers().await?).await?;
            let lines: Vec<Line<'_>> = json_lines(&answer.body)
                .map_err(|error| error.into_model_error(&self.transport, &answer.body))?;
            let read = |line: Line<'_>| {
                let body = line.body();
                (line.custom_id, body.map_err(|error| never(self.transport.redacted(error))))
            };
            answers.extend(lines.into_iter().map(read));
        }
        Ok(answers)
    }
}

/// Returns an id of the server's that can stand in a path.
fn plain(id: &str) -> Result<&str, ModelError> {
    let fits = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    fits.then_some(id).ok_or_else(|| {
        ModelError::never(ModelErrorKind::Protocol, format!("{id:?} is no id of a file or a batch"))
    })
}

/// Writes the file of requests, one a line.
fn file(entries: &[BatchEntry]) -> Result<Vec<u8>, ModelError> {
    let size = entries.iter().map(|entry| entry.body.len() + 128).sum();
    let mut file = Vec::with_capacity(size);
    for BatchEntry { key, body } in entries {
        let whole = body.iter().all(|byte| !matches!(byte, b'\n' | b'\r'));
        if !whole {
            let story = "a request of a batch would be more than one line";
            return Err(ModelError::never(ModelErrorKind::Request, story));
        }
        let head = format!(r#"{{"custom_id":"{key}","method":"POST","url":"{ASKED}","body":"#);
        file.extend_from_slice(head.as_bytes());
        file.extend_from_slice(body);
        file.extend_from_slice(b"}\n");
    }
    Ok(file)
}

/// Writes the form that uploads a file: the purpose, and the file.
fn form(file: &[u8]) -> Vec<u8> {
    let head = format!(
        "--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n\
         --{BOUNDARY}\r\ncontent-disposition: form-data; name=\"file\"; filename=\"requests.jsonl\"\r\n\
         content-type: application/jsonl\r\n\r\n"
    );
    let mut form = head.into_bytes();
    form.extend_from_slice(file);
    form.extend_from_slice(format!("\r\n--{BOUNDARY}--\r\n").as_bytes());
    form
}

impl BatchService for OpenAi {
    fn entry_body(&self, request: &ChatRequest) -> Result<Vec<u8>, ModelError> {
        self.body(request)
    }

    fn submit<'a>(
        &'a self,
        entries: &'a [BatchEntry],
        mark: &'a str,
    ) -> BoxFuture<'a, Result<String, ModelError>> {
        Box::pin(self.submit(entries, mark))
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
        Box::pin(self.read_reply(request, body, Duration::ZERO))
    }
}
