//! The keyboard of a browser world: texts, keys, and the chords of a browser's own interface.

use std::time::Duration;

use apprentice_cdp::domain::runtime::Evaluate;
use apprentice_protocol::{Chord, History, TabAction};
use serde::Deserialize;

use super::driver::ActionError;
use super::input::{Pace, type_text};
use super::page_state::BrowserState;
use super::world::BrowserEnvironment;

const FOCUS: &str = include_str!("page/focus.js");
const HEEDED: &str = include_str!("page/heeded.js");

/// Longest time that a chord may be held.
const LONGEST_HOLD: Duration = Duration::from_secs(30);

/// Chords of a browser's own interface that this one does not have, and what to do instead. A page may take them for itself.
const MISSING: &[(&[&str], &str)] = &[
    (&["ctrl+f", "f3", "ctrl+g"], "has no find bar: find elements by their words, or read the page's text"),
    (&["ctrl+plus", "ctrl+=", "ctrl+-", "ctrl+0", "ctrl+kp_add", "ctrl+kp_subtract"], "does not zoom pages"),
    (&["ctrl+p"], "does not print"),
    (&["ctrl+s"], "does not save pages"),
    (&["ctrl+o"], "opens files with navigate alone"),
    (&["ctrl+u", "f12", "ctrl+shift+i", "ctrl+shift+j", "ctrl+shift+c"], "shows no developer tools"),
    (&["ctrl+shift+t"], "does not open closed tabs again: open the address in a new tab"),
    (&["ctrl+n", "ctrl+shift+n"], "opens no further windows: open a tab"),
    (&["ctrl+d", "ctrl+shift+d", "ctrl+shift+b", "ctrl+shift+o"], "shows no bookmarks by key"),
    (
        &["ctrl+h", "ctrl+j", "ctrl+shift+delete"],
        "shows its own pages by their addresses alone, such as chrome://history",
    ),
    (&["f11"], "has no full screen"),
    (&["f7", "shift+escape", "alt+f", "alt+e", "f10", "alt+home"], "has no menus"),
];

/// What typed keys go to.
#[derive(Deserialize)]
struct Focus {
    takes: Takes,
    /// Whether the field holds one character.
    single: bool,
    /// What has the focus, where it takes no text.
    what: String,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Takes {
    Yes,
    No,
    Unknown,
}

impl BrowserEnvironment {
    /// Types a text. Where the focus certainly takes none, the report says so: the keys were sent all the same, as a page may
    /// listen to them.
    pub(super) async fn type_text(&mut self, text: &str) -> Result<Option<String>, ActionError> {
        if let Some(chooser) = self.browser.watch().with(BrowserState::take_file_chooser) {
            return self.choose_files(&chooser, text).await;
        }
        let session = self.browser.session(&self.browser.front()?.session);
        let focus: Focus = self.browser.evaluate(&session, FOCUS.to_owned()).await?;
        let pace = if focus.single { Pace::ByFrame } else { Pace::Fast };
        type_text(&self.browser, text, pace, self.hands.modifiers()).await?;
        Ok((focus.takes == Takes::No).then(|| match focus.what.as_str() {
            "" => "no field had the focus, so the page itself got the keys: if it shows nothing of them, click the \
                   field and type again"
                .to_owned(),
            what => format!(
                "{what} had the focus and takes no text: if the page shows nothing of the keys, click the field and \
                 type again"
            ),
        }))
    }

    /// Presses a chord. What a browser does with it outside of the page is done here, or said to be missing.
    pub(super) async fn key(
        &mut self,
        chord: &Chord,
        hold_ms: Option<u32>,
    ) -> Result<Option<String>, ActionError> {
        let text = chord.to_string();
        if text == "escape" && self.browser.watch().with(BrowserState::take_file_chooser).is_some() {
            return Ok(None);
        }
        // Chords that the browser handles itself never reach a page.
        let done = match text.as_str() {
            "ctrl+t" => self.browser.tab(&TabAction::Open { url: None }).await,
            "ctrl+w" | "ctrl+f4" => {
                let id = self.browser.front()?.name;
                self.browser.tab(&TabAction::Close { id }).await
            }
            "ctrl+tab" | "ctrl+page_down" => self.browser.step_tab(1).await,
            "ctrl+shift+tab" | "ctrl+page_up" => self.browser.step_tab(-1).await,
            "alt+left" => self.browser.go(History::Back).await,
            "alt+right" => self.browser.go(History::Forward).await,
            "f5" | "ctrl+r" | "ctrl+f5" | "ctrl+shift+r" => self.browser.go(History::Reload).await,
            "ctrl+l" | "alt+d" | "f6" => {
                Err(ActionError::refused("this browser shows no address bar: open addresses with navigate"))
            }
            other => match other.strip_prefix("ctrl+").and_then(|digit| digit.parse::<usize>().ok()) {
                Some(number @ 1..=9) => self.browser.show_numbered_tab(number).await,
                _ => return self.press(chord, &text, hold_ms).await,
            },
        };
        done.map(|()| None)
    }

    /// Presses a chord in the page.
    async fn press(
        &self,
        chord: &Chord,
        text: &str,
        hold_ms: Option<u32>,
    ) -> Result<Option<String>, ActionError> {
        let hold = hold_ms.map(|ms| Duration::from_millis(u64::from(ms)).min(LONGEST_HOLD));
        let press = self.hands.press_chord(&self.browser, self.clock.as_ref(), chord.keys(), hold);
        let Some((_, what)) = MISSING.iter().find(|(chords, _)| chords.contains(&text)) else {
            return press.await.map(|()| None);
        };
        let session = self.browser.session(&self.browser.front()?.session);
        let listen = Evaluate {
            expression: HEEDED.to_owned(),
            await_promise: false,
            return_by_value: false,
            timeout: None,
        };
        let listener = self.browser.call(&session, &listen).await?.result.object_id;
        press.await?;
        let heeded: Option<bool> = match listener {
            Some(object) => {
                let asked =
                    self.browser.apply(&session, &object, "function () { return this.heard; }", []).await;
                match asked {
                    Ok(heeded) => heeded,
                    // The page went to another address by this key.
                    Err(ActionError::Replaced(_)) => Some(true),
                    Err(other) => return Err(other),
                }
            }
            None => None,
        };
        Ok((heeded != Some(true))
            .then(|| format!("the page did not take {text} for itself, and this browser {what}")))
    }
}
