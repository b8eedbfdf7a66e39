//! Amazon's event streams, in a build with the feature `bedrock`: binary frames with checksums, each of which holds one event
//! of the vendor's own stream, or the exception that ended it.

use apprentice_protocol::{ModelError, ModelErrorKind, Retry};
use aws_smithy_eventstream::frame::{DecodedFrame, MessageFrameDecoder};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::timeout;

use super::decode_error::DecodeError;
use super::failure::refused_in_file;
use super::response::Pieces;
use super::stream::{Assembler, Broken, DRAIN, Progress, ReplyWords};

/// The content type of these streams.
pub(super) const CONTENT_TYPE: &str = "application/vnd.amazon.eventstream";

/// What a frame holds in its payload: the event, in base64.
#[derive(Deserialize)]
struct Chunk {
    bytes: String,
}

/// Splits bytes into frames, however they come.
#[derive(Default)]
struct Frames {
    decoder: MessageFrameDecoder,
    bytes: Vec<u8>,
}

impl Frames {
    /// Returns the next event; `None` if it has not come whole.
    fn next(&mut self) -> Result<Option<String>, Broken> {
        let mut rest = self.bytes.as_slice();
        let frame = self.decoder.decode_frame(&mut rest);
        let read = self.bytes.len() - rest.len();
        let frame = frame.map_err(|error| Broken::Frame(error.to_string()))?;
        self.bytes.drain(..read);
        let DecodedFrame::Complete(message) = frame else { return Ok(None) };
        let header = |name: &str| {
            let found = message.headers().iter().find(|header| header.name().as_str() == name)?;
            found.value().as_string().ok().map(|value| value.as_str().to_owned())
        };
        let word = |name: &str| header(name).unwrap_or_default();
        match word(":message-type").as_str() {
            "event" => event(message.payload()).map(Some),
            "exception" => Err(exception(&word(":exception-type"), message.payload())),
            "error" => {
                let told = serde_json::json!({ "message": word(":error-message") }).to_string();
                Err(exception(&word(":error-code"), told.as_bytes()))
            }
            other => Err(Broken::Frame(format!("there is no message type {other:?}"))),
        }
    }
}

fn event(payload: &[u8]) -> Result<String, Broken> {
    let told = || String::from_utf8_lossy(payload).into_owned();
    let chunk: Chunk =
        serde_json::from_slice(payload).map_err(|error| Broken::Event(DecodeError::Form(error), told()))?;
    let bytes = STANDARD.decode(&chunk.bytes).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    bytes.ok_or_else(|| Broken::Event(DecodeError::form("the chunk is no base64 of text"), told()))
}

/// Classifies the exception that ended a stream by its name.
fn exception(name: &str, payload: &[u8]) -> Broken {
    let body: serde_json::Value = serde_json::from_slice(payload).unwrap_or_default();
    let told = body["message"].as_str().unwrap_or("it gave no reason");
    let message = format!("the stream ended with {name}: {told}");
    let passing = [
        "internalServerException",
        "modelStreamErrorException",
        "modelTimeoutException",
        "serviceUnavailableException",
        "throttlingException",
    ];
    let error = match name {
        "validationException" => ModelError { message, ..refused_in_file(400, payload) },
        name if passing.contains(&name) => {
            ModelError { fault: ModelErrorKind::Unavailable, retry: Retry::Now, message }
        }
        _ => ModelError { fault: ModelErrorKind::Protocol, retry: Retry::Now, message },
    };
    Broken::Event(DecodeError::Error(error), String::new())
}

/// Assembles the events of a framed response.
pub(super) async fn assembled(
    mut pieces: Pieces,
    assembler: &mut dyn Assembler,
    words: Option<&UnboundedSender<ReplyWords>>,
) -> Result<Vec<u8>, Broken> {
    let tell = |said: ReplyWords| {
        // Nobody needs to listen.
        words.map(|words| words.send(said).ok());
    };
    tell(ReplyWords::Begun);
    let mut frames = Frames::default();
    while let Some(piece) = pieces.next().await.map_err(Broken::Lost)? {
        frames.bytes.extend_from_slice(piece.as_ref());
        while let Some(data) = frames.next()? {
            match assembler.take(&data) {
                Ok(Progress::More) => {}
                Ok(Progress::Enough(body)) => return Ok(body),
                Ok(Progress::Words(said)) => tell(ReplyWords::Words(said)),
                Ok(Progress::Complete(body)) => {
                    let rest = async { while pieces.next().await.is_ok_and(|piece| piece.is_some()) {} };
                    // Without an end the connection is closed, and the next request opens another.
                    timeout(DRAIN, rest).await.ok();
                    return Ok(body);
                }
                Err(error) => return Err(Broken::Event(error, data)),
            }
        }
    }
    match assembler.end() {
        Ok(Some(body)) if frames.bytes.is_empty() => Ok(body),
        Ok(Some(_) | None) => Err(Broken::Cut),
        Err(error) => Err(Broken::Event(error, String::new())),
    }
}
