//! Streamed responses: server-sent events, which an adapter's assembler puts together to the body that the server
//! would have sent in one piece.

use std::io::Cursor;
use std::pin::pin;
use std::time::Duration;

use futures_util::stream::{self, Stream, StreamExt as _};
use sse_stream::SseStream;
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::timeout;

use super::decode_error::DecodeError;
use super::response::{PieceError, Pieces};
use super::well_formed::well_formed_text;

/// The data of the event with which several APIs end their streams.
const LAST: &str = "[DONE]";
/// How long the end of a response may take after its last event, so that the connection can be used again.
pub(super) const DRAIN: Duration = Duration::from_millis(250);

/// What a model says while it says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplyWords {
    /// A reply begins. What came of an earlier one before its end was lost, and the request was sent again.
    Begun,
    /// The next words of the text.
    Words(String),
}

/// What an event adds to a reply.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Nothing that can be shown.
    More,
    /// Words of the model.
    Words(String),
    /// The reply is complete: the body of the same response in one piece.
    Complete(Vec<u8>),
    /// The rest of the reply is not waited for: the body so far. Servers stop writing when the connection closes.
    Enough(Vec<u8>),
}

/// Puts the events of a stream together.
pub(crate) trait Assembler: Send {
    /// Takes the data of one event.
    fn take(&mut self, data: &str) -> Result<Progress, DecodeError>;

    /// Returns the body at the mark that ends a stream, `[DONE]`.
    fn done(&mut self) -> Result<Option<Vec<u8>>, DecodeError> {
        self.end()
    }

    /// Returns the body if the stream may end here, for APIs whose last event names itself by no type.
    fn end(&mut self) -> Result<Option<Vec<u8>>, DecodeError> {
        Ok(None)
    }
}

/// Assembles the events of a response.
pub(super) async fn assembled(
    pieces: Pieces,
    assembler: &mut dyn Assembler,
    words: Option<&UnboundedSender<ReplyWords>>,
) -> Result<Vec<u8>, Broken> {
    let bytes = stream::try_unfold(pieces, |mut pieces| async move {
        let piece = pieces.next().await?;
        Ok(piece.map(|piece| (Cursor::new(piece.as_ref().to_vec()), pieces)))
    });
    let tell = |said: ReplyWords| {
        // Nobody needs to listen.
        words.map(|words| words.send(said).ok());
    };
    tell(ReplyWords::Begun);
    read(bytes, assembler, &mut |said| tell(ReplyWords::Words(said))).await
}

/// Why a stream gave no reply.
#[derive(Debug)]
pub(crate) enum Broken {
    /// The bytes could not be had.
    Lost(PieceError),
    /// The bytes are no events.
    NotEvents(sse_stream::Error),
    /// A frame of the stream is damaged, for this reason.
    #[cfg(feature = "bedrock")]
    Frame(String),
    /// An event, with its data, cannot be part of a reply.
    Event(DecodeError, String),
    /// The bytes end before the reply does.
    Cut,
}

/// Reads events until the reply is complete, and hands over words as they come.
pub(crate) async fn read(
    bytes: impl Stream<Item = Result<Cursor<Vec<u8>>, PieceError>> + Send,
    assembler: &mut dyn Assembler,
    tell: &mut (dyn FnMut(String) + Send),
) -> Result<Vec<u8>, Broken> {
    let mut events = pin!(SseStream::from_bytes_stream(bytes));
    while let Some(event) = events.next().await {
        let data = event.map_err(broken)?.data.unwrap_or_default();
        let progress = match data.trim() {
            "" => Progress::More,
            LAST => match assembler.done() {
                Ok(Some(body)) => Progress::Complete(body),
                Ok(None) => return Err(Broken::Cut),
                Err(error) => return Err(Broken::Event(error, data)),
            },
            _ => match assembler.take(&well_formed_text(&data)) {
                Ok(progress) => progress,
                Err(error) => return Err(Broken::Event(error, data)),
            },
        };
        match progress {
            Progress::More => {}
            Progress::Words(said) => tell(said),
            Progress::Enough(body) => return Ok(body),
            Progress::Complete(body) => {
                let drained =
                    timeout(DRAIN, async { while events.next().await.is_some_and(|one| one.is_ok()) {} });
                // Without an end the connection is closed, and the next request opens another.
                drained.await.ok();
                return Ok(body);
            }
        }
    }
    match assembler.end() {
        Ok(Some(body)) => Ok(body),
        Ok(None) => Err(Broken::Cut),
        Err(error) => Err(Broken::Event(error, String::new())),
    }
}

fn broken(error: sse_stream::Error) -> Broken {
    match error {
        sse_stream::Error::Body(inner) => match inner.downcast::<PieceError>() {
            Ok(lost) => Broken::Lost(*lost),
            Err(other) => Broken::NotEvents(sse_stream::Error::Body(other)),
        },
        other => Broken::NotEvents(other),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::io::Cursor;

    use futures_util::stream;

    use super::{Assembler, Broken, Progress, read};
    use crate::http::DecodeError;

    /// Reads a stream that comes in these pieces; also returns the words.
    pub(crate) fn streamed(
        pieces: &[&[u8]],
        assembler: &mut dyn Assembler,
    ) -> (Result<Vec<u8>, Broken>, String) {
        let bytes = stream::iter(pieces.iter().map(|piece| Ok(Cursor::new(piece.to_vec()))));
        let mut words = String::new();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        let body = runtime.block_on(read(bytes, assembler, &mut |said| words.push_str(&said)));
        (body, words)
    }

    /// The events of a stream, one a line, as an API without event names sends them.
    pub(crate) fn events(all: &[serde_json::Value]) -> String {
        all.iter().map(|event| format!("data: {event}\n\n")).collect()
    }

    /// Ends at the event `end`, or wherever `finished` was seen.
    #[derive(Default)]
    struct Letters {
        finished: bool,
    }

    impl Assembler for Letters {
        fn take(&mut self, data: &str) -> Result<Progress, DecodeError> {
            match data {
                "end" => Ok(Progress::Complete(b"whole".to_vec())),
                "finished" => {
                    self.finished = true;
                    Ok(Progress::More)
                }
                "bad" => Err(DecodeError::form("bad")),
                letter => Ok(Progress::Words(letter.to_owned())),
            }
        }

        fn end(&mut self) -> Result<Option<Vec<u8>>, DecodeError> {
            Ok(self.finished.then(|| b"finished".to_vec()))
        }
    }

    #[test]
    fn a_reply_ends_with_its_last_event_and_nowhere_else() {
        let read = |text: &str| streamed(&[text.as_bytes()], &mut Letters::default());
        let (body, words) = read(": hello\n\nevent: x\ndata: a\n\ndata: é\r\n\r\ndata: end\n\ndata: bad\n\n");
        assert_eq!((body.expect("whole"), words.as_str()), (b"whole".to_vec(), "aé"));
        assert!(matches!(read("data: a\n\n").0, Err(Broken::Cut)));
        assert!(matches!(read("data: a\n\ndata: [DONE]\n\n").0, Err(Broken::Cut)), "too early");
        assert!(matches!(read("").0, Err(Broken::Cut)));
        for end in ["", "data: [DONE]\n\n"] {
            let (body, _) = read(&format!("data: finished\n\n{end}"));
            assert_eq!(body.expect("may end"), b"finished");
        }
        assert!(matches!(read("data: bad\n\n").0, Err(Broken::Event(..))));
        assert!(matches!(read("<html>\n").0, Err(Broken::NotEvents(_))));
    }
}
