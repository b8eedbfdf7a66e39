//! Shows what a model says while it says it, on a terminal.

use std::fmt::Write as _;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use apprentice_models::http::ReplyWords;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::terminal;

/// The words of one model on the terminal.
#[derive(Clone)]
pub(crate) struct LiveWords(Arc<Mutex<Screen>>);

struct Screen {
    words: UnboundedReceiver<ReplyWords>,
    text: LiveText,
}

impl LiveWords {
    /// Starts to show words, and returns where they are sent. `None` where they cannot be shown: standard error is no
    /// terminal, or a key could stand in two pieces of a text that are shown one after the other.
    pub(crate) fn start() -> Option<(UnboundedSender<ReplyWords>, Self)> {
        if !terminal::shows_pieces() {
            return None;
        }
        let (sender, words) = unbounded_channel();
        let live = Self(Arc::new(Mutex::new(Screen { words, text: LiveText::default() })));
        let shown = live.clone();
        tokio::spawn(poll_fn(move |context| shown.screen().show(context)));
        Some((sender, live))
    }

    fn screen(&self) -> MutexGuard<'_, Screen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows the rest of a reply that has ended; returns whether any of its words were shown.
    pub(crate) fn end(&self) -> bool {
        let mut screen = self.screen();
        while let Ok(said) = screen.words.try_recv() {
            if let Some(text) = screen.text.take(said) {
                terminal::part(&text);
            }
        }
        screen.text.end().map(|rest| terminal::part(&rest)).is_some()
    }
}

impl Screen {
    /// Shows what has come. Ready when nothing comes any more.
    fn show(&mut self, context: &mut Context<'_>) -> Poll<()> {
        while let Poll::Ready(said) = self.words.poll_recv(context) {
            let Some(said) = said else { return Poll::Ready(()) };
            if let Some(text) = self.text.take(said) {
                terminal::part(&text);
            }
        }
        Poll::Pending
    }
}

/// The text of a reply that comes in pieces. A piece that can be shown ends where no key goes on: keys, in all spellings
/// that are looked for, hold neither white space nor letters beyond ASCII.
#[derive(Debug, Default)]
struct LiveText {
    held: String,
    is_shown: bool,
}

impl LiveText {
    /// Takes the next words; returns what can be shown by now.
    fn take(&mut self, said: ReplyWords) -> Option<String> {
        match said {
            ReplyWords::Begun => {
                self.held.clear();
                std::mem::take(&mut self.is_shown)
                    .then(|| "\n    [the reply was cut, and is asked for again]\n".to_owned())
            }
            ReplyWords::Words(words) => {
                self.held.push_str(&words);
                let (place, last) = self.held.char_indices().rfind(|(_, c)| terminal::ends_words(*c))?;
                let text: String = self.held.drain(..place + last.len_utf8()).collect();
                Some(self.indented(&text))
            }
        }
    }

    /// Returns the rest of an ended reply, if anything of it was or can be shown.
    fn end(&mut self) -> Option<String> {
        let rest = std::mem::take(&mut self.held);
        if rest.is_empty() && !self.is_shown {
            return None;
        }
        let mut rest = self.indented(&rest);
        self.is_shown = false;
        let _ = writeln!(rest);
        Some(rest)
    }

    fn indented(&mut self, text: &str) -> String {
        let begun = std::mem::replace(&mut self.is_shown, true);
        let text = text.replace('\n', "\n    ");
        if begun { text } else { format!("    {text}") }
    }
}

#[cfg(test)]
mod tests {
    use super::LiveText;
    use crate::terminal::{hide, shown};
    use apprentice_models::http::ReplyWords;

    const KEY: &str = "planted-key-of-live-words-5521";

    /// Says a text in these pieces, and gives what the terminal gets.
    fn told<'a>(pieces: impl Iterator<Item = &'a str>) -> String {
        let mut live = LiveText::default();
        let mut told: Vec<String> =
            pieces.filter_map(|piece| live.take(ReplyWords::Words(piece.to_owned()))).collect();
        told.extend(live.end());
        told.iter().map(|piece| shown(format_args!("{piece}"))).collect()
    }

    #[test]
    fn no_key_is_shown_however_a_text_is_cut() {
        hide(KEY);
        let hex: String = KEY.bytes().map(|byte| format!("{byte:02x}")).collect();
        for key in [KEY, &hex, &KEY.replace('-', "%2D"), "sk-ant-0123456789abcdefghij"] {
            let text = format!("The key is {key}.\nIch drücke 保存, dann \u{1b}[2J weiter");
            let whole = shown(format_args!("    {}\n", text.replace('\n', "\n    ")));
            assert!(whole.contains("[redacted]") && !whole.contains(key), "{whole}");
            let letters = text.char_indices().map(|(place, letter)| &text[place..place + letter.len_utf8()]);
            assert_eq!(told(letters), whole);
            let places: Vec<usize> = text.char_indices().map(|(place, _)| place).collect();
            for (number, first) in places.iter().enumerate() {
                for second in &places[number..] {
                    let pieces = [&text[..*first], &text[*first..*second], &text[*second..]];
                    assert_eq!(told(pieces.into_iter()), whole, "{pieces:?}");
                }
            }
        }
    }

    #[test]
    fn words_come_as_soon_as_no_key_can_go_on() {
        let mut live = LiveText::default();
        let mut say = |words: &str| live.take(ReplyWords::Words(words.to_owned()));
        assert_eq!(say("I op"), Some("    I ".into()));
        assert_eq!(say("en"), None);
        assert_eq!(say(" the menu"), Some("open the ".into()));
        assert_eq!(live.take(ReplyWords::Begun).map(|text| text.contains("asked for again")), Some(true));
        assert_eq!(live.end(), None, "nothing of the new reply has come");
        assert_eq!(live.take(ReplyWords::Begun), None);
        live.take(ReplyWords::Words("Done.".into()));
        assert_eq!(live.end(), Some("    Done.\n".into()));
        assert_eq!(live.end(), None);
    }
}
