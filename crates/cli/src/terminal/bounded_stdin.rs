//! Standard input with a limit on the length of a message. A client that sends a longer one gets an error reply, and
//! the server goes on with the next message.

use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader, DuplexStream};

/// The longest message that is accepted, in bytes.
pub(crate) const MAX_MESSAGE_BYTES: usize = 1 << 20;
/// The tool name in the call that replaces an oversized message. No real tool has this name.
pub(crate) const OVERSIZED_MESSAGE: &str = "a message that is too long";
const BUFFER: usize = 64 << 10;
/// Bytes kept from the start and from the end of an oversized message, to find its id in one of them.
const KEPT: usize = 4 << 10;

/// Copies the lines of `input`, with a short call in place of each line that is too long.
pub(crate) fn bounded(input: impl AsyncRead + Unpin + Send + 'static) -> DuplexStream {
    let (near, far) = tokio::io::duplex(BUFFER);
    // The task ends when the input ends or when the reader is dropped.
    tokio::spawn(async move {
        if let Err(error) = pass(input, far).await {
            tracing::debug!(%error, "a stream of messages ended");
        }
    });
    near
}

async fn pass(input: impl AsyncRead + Unpin, mut output: impl AsyncWrite + Unpin) -> std::io::Result<()> {
    let mut input = BufReader::with_capacity(BUFFER, input);
    let mut message = Message::default();
    loop {
        let available = input.fill_buf().await?;
        if available.is_empty() {
            return output.shutdown().await;
        }
        let end = available.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(available.len(), |end| end + 1);
        message.take(&available[..taken]);
        input.consume(taken);
        if end.is_some() {
            output.write_all(&std::mem::take(&mut message).whole()).await?;
        }
    }
}

/// A message that is being received.
#[derive(Default)]
struct Message {
    head: Vec<u8>,
    /// The last bytes of an oversized message.
    tail: Vec<u8>,
    too_long: bool,
}

impl Message {
    fn take(&mut self, bytes: &[u8]) {
        if !self.too_long && self.head.len() + bytes.len() <= MAX_MESSAGE_BYTES {
            self.head.extend_from_slice(bytes);
            return;
        }
        self.too_long = true;
        self.head.truncate(KEPT);
        self.head.shrink_to_fit();
        self.tail.extend_from_slice(&bytes[bytes.len().saturating_sub(KEPT)..]);
        let old = self.tail.len().saturating_sub(KEPT);
        self.tail.drain(..old);
    }

    /// Returns the line. For an oversized one, returns a call that the server answers with an error.
    fn whole(self) -> Vec<u8> {
        if !self.too_long {
            return self.head;
        }
        let (head, tail) = (String::from_utf8_lossy(&self.head), String::from_utf8_lossy(&self.tail));
        let before_contents = head.split("\"params\"").next().unwrap_or_default();
        // A message without an id is a notification; the client expects no reply.
        let id =
            id_of(before_contents).or_else(|| tail.rmatch_indices(ID).find_map(|(at, _)| id_of(&tail[at..])));
        let Some(id) = id else { return Vec::new() };
        let call = serde_json::json!({
            "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": OVERSIZED_MESSAGE },
        });
        format!("{call}\n").into_bytes()
    }
}

const ID: &str = "\"id\"";

/// Returns the first id in a part of a message.
fn id_of(text: &str) -> Option<serde_json::Value> {
    let rest = text.split_once(ID)?.1.trim_start().strip_prefix(':')?;
    let value = serde_json::Deserializer::from_str(rest).into_iter::<serde_json::Value>().next()?.ok()?;
    (value.is_number() || value.is_string()).then_some(value)
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::{MAX_MESSAGE_BYTES, OVERSIZED_MESSAGE, bounded};

    #[tokio::test]
    async fn what_is_too_long_is_answered_and_the_next_is_heard() {
        let long = "x".repeat(2 * MAX_MESSAGE_BYTES);
        let sent = [
            r#"{"id":1,"method":"ping"}"#.to_owned(),
            format!(r#"{{"jsonrpc":"2.0","id":2,"params":{{"id":9,"text":"{long}"}}}}"#),
            format!(r#"{{"method":"m","params":{{"text":"{long}"}},"id":"three"}}"#),
            format!(r#"{{"method":"a notice","params":{{"text":"{long}"}}}}"#),
            r#"{"id":4,"method":"ping"}"#.to_owned(),
        ];
        let mut heard = String::new();
        let input = std::io::Cursor::new(format!("{}\n", sent.join("\n")).into_bytes());
        bounded(input).read_to_string(&mut heard).await.expect("reads");
        let lines: Vec<serde_json::Value> =
            heard.lines().map(|line| serde_json::from_str(line).expect("json")).collect();
        let ids: Vec<&serde_json::Value> = lines.iter().map(|line| &line["id"]).collect();
        assert_eq!(
            ids,
            [1.into(), 2.into(), "three".into(), 4.into()].iter().collect::<Vec<&serde_json::Value>>()
        );
        assert_eq!(
            (&lines[1]["params"]["name"], &lines[3]["method"]),
            (&OVERSIZED_MESSAGE.into(), &"ping".into())
        );
    }
}
