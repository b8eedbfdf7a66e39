//! The lines that a person types in a session. One line is one instruction; nothing is read before it is asked for.

use std::io::{BufRead, Read as _};

use apprentice_harness::agent::MAX_INSTRUCTION_CHARS;
use tokio::sync::mpsc;

/// The longest line that is kept, in bytes: the longest instruction in the longest letters.
const MAX_BYTES: u64 = MAX_INSTRUCTION_CHARS as u64 * 4;
/// Asks that what a session has shown be kept as a skill.
const REMEMBER: &str = "/remember";
/// Ends the session, like the end of the input.
const QUIT: &str = "/quit";

/// One line of a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ChatLine {
    /// An instruction.
    Instruction(String),
    /// The request to keep what was shown as a skill, with further words.
    Remember(String),
    /// A line that is no instruction, with what is wrong with it.
    Unusable(String),
    /// The end of the input, or the word that ends a session.
    End,
}

/// Reads lines on a thread of its own, since a read from a terminal cannot be cancelled.
pub(crate) struct ChatInput {
    asks: std::sync::mpsc::Sender<()>,
    lines: mpsc::UnboundedReceiver<std::io::Result<ChatLine>>,
}

impl ChatInput {
    /// Prepares to read standard input.
    pub(crate) fn open() -> std::io::Result<Self> {
        let (asks, asked) = std::sync::mpsc::channel();
        let (found, lines) = mpsc::unbounded_channel();
        // The thread ends with the process, or when nobody asks any more.
        std::thread::Builder::new().name("chat".into()).spawn(move || {
            while asked.recv().is_ok() {
                if found.send(read_line(&mut std::io::stdin().lock())).is_err() {
                    break;
                }
            }
        })?;
        Ok(Self { asks, lines })
    }

    /// Waits for the next line that says something. Dropping the future loses no line.
    pub(crate) async fn next(&mut self) -> std::io::Result<ChatLine> {
        if self.asks.send(()).is_err() {
            return Ok(ChatLine::End);
        }
        self.lines.recv().await.unwrap_or(Ok(ChatLine::End))
    }
}

/// Reads the next line that is not blank.
fn read_line(input: &mut impl BufRead) -> std::io::Result<ChatLine> {
    loop {
        let mut bytes = Vec::new();
        input.by_ref().take(MAX_BYTES + 1).read_until(b'\n', &mut bytes)?;
        if bytes.is_empty() {
            return Ok(ChatLine::End);
        }
        if bytes.last() != Some(&b'\n') && bytes.len() as u64 > MAX_BYTES {
            input.skip_until(b'\n')?;
            return Ok(too_long());
        }
        let Ok(text) = String::from_utf8(bytes) else {
            return Ok(ChatLine::Unusable("the line is not UTF-8 text; nothing was done".into()));
        };
        if !text.trim().is_empty() {
            return Ok(parse(text.trim()));
        }
    }
}

fn parse(line: &str) -> ChatLine {
    if line.chars().count() > MAX_INSTRUCTION_CHARS {
        return too_long();
    }
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    match word {
        QUIT if rest.is_empty() => ChatLine::End,
        REMEMBER => ChatLine::Remember(rest.trim().to_owned()),
        // A path is an instruction's own; a command is a slash and a word.
        _ if word.starts_with('/') && word.len() > 1 && !word[1..].contains(['/', '.']) => {
            ChatLine::Unusable(format!("there is no command {word}; there are {REMEMBER} and {QUIT}"))
        }
        _ => ChatLine::Instruction(line.to_owned()),
    }
}

fn too_long() -> ChatLine {
    ChatLine::Unusable(format!(
        "an instruction has at most {MAX_INSTRUCTION_CHARS} characters; nothing was done"
    ))
}

#[cfg(test)]
mod tests {
    use super::{ChatLine, MAX_BYTES, read_line};

    fn read(mut input: &[u8]) -> Vec<ChatLine> {
        let mut found = Vec::new();
        loop {
            match read_line(&mut input).expect("reads") {
                ChatLine::End => return found,
                line => found.push(line),
            }
        }
    }

    #[test]
    fn lines_are_instructions_and_commands() {
        let text = "Save it.\n\n  \n/remember the menu\n/remember\nOpen /etc/hosts.\n/etc/hosts is wrong\n/forget it\nlast";
        let unusable = "there is no command /forget; there are /remember and /quit".to_owned();
        let expected = [
            ChatLine::Instruction("Save it.".into()),
            ChatLine::Remember("the menu".into()),
            ChatLine::Remember(String::new()),
            ChatLine::Instruction("Open /etc/hosts.".into()),
            ChatLine::Instruction("/etc/hosts is wrong".into()),
            ChatLine::Unusable(unusable),
            ChatLine::Instruction("last".into()),
        ];
        assert_eq!(read(text.as_bytes()), expected);
        assert_eq!(read(b"a\n/quit\nb\n"), [ChatLine::Instruction("a".into())]);
    }

    #[test]
    fn what_is_too_long_or_no_text_is_refused_and_the_next_line_is_read() {
        let mut input = vec![b'x'; usize::try_from(MAX_BYTES).expect("fits") + 9];
        input.extend(b"\n\xff\xfe\nSave it.\n");
        let lines = read(&input);
        assert!(
            matches!(&lines[0], ChatLine::Unusable(why) if why.contains("20000 characters")),
            "{lines:?}"
        );
        assert!(matches!(&lines[1], ChatLine::Unusable(why) if why.contains("UTF-8")), "{lines:?}");
        assert_eq!(lines[2..], [ChatLine::Instruction("Save it.".into())]);
    }
}
