//! The visible text of a page, in reading order, from the layout of all its frames and shadow roots.

use std::fmt::Write as _;

use apprentice_cdp::domain::dom::{CaptureSnapshot, DocumentSnapshot, Snapshot};

use super::driver::{ActionError, Browser};

/// The styles that a text's box inherits: whether it shows, and whether its blanks count.
const STYLES: [&str; 2] = ["visibility", "white-space-collapse"];
/// How far apart two texts on a line are, in pixels, when a blank stands between them.
const GAP: f64 = 1.0;

impl Browser {
    /// Reads the text of the active tab. Texts of frames follow that of the page, under the frames' addresses.
    pub(super) async fn page_text(&self) -> Result<String, ActionError> {
        let front = self.front()?.session;
        let parts = self.watch().with(|pages| pages.sessions_of(&front));
        let mut texts = Vec::new();
        for (session, _) in &parts {
            let capture = CaptureSnapshot { computed_styles: STYLES.map(str::to_owned).into() };
            match self.call(&self.session(session), &capture).await {
                Ok(snapshot) => texts.extend(documents(&snapshot)),
                // A frame that is removed meanwhile is left out.
                Err(ActionError::Replaced(_)) => {}
                Err(other) => return Err(other),
            }
        }
        let mut whole = String::new();
        for (index, (url, text)) in texts.iter().enumerate() {
            if index > 0 && !text.is_empty() {
                let _ = write!(whole, "\n\n[frame {url}]\n");
            }
            whole.push_str(text);
        }
        Ok(whole)
    }
}

/// The address and the text of each document.
fn documents(snapshot: &Snapshot) -> Vec<(String, String)> {
    let one = |document: &DocumentSnapshot| {
        (snapshot.text(document.url).unwrap_or_default().to_owned(), text(snapshot, document))
    };
    snapshot.documents.iter().map(one).collect()
}

/// Joins the texts of one document: texts on one line follow each other, others begin a new line.
fn text(snapshot: &Snapshot, document: &DocumentSnapshot) -> String {
    let layout = &document.layout;
    let mut joined = String::new();
    let mut last: Option<[f64; 4]> = None;
    for (index, (place, bounds)) in layout.text.iter().zip(&layout.bounds).enumerate() {
        let (Some(words), [left, top, width, height]) = (snapshot.text(*place), bounds.as_slice()) else {
            continue;
        };
        let style = |number: usize| {
            let styles = layout.styles.get(index).and_then(|styles| styles.get(number));
            styles.and_then(|style| snapshot.text(*style)).unwrap_or_default()
        };
        if matches!(style(0), "hidden" | "collapse") || *width <= 0.0 || *height <= 0.0 {
            continue;
        }
        let words = if style(1) == "preserve" { words.to_owned() } else { single_blanks(words) };
        if let Some([old_left, old_top, old_width, old_height]) = last {
            let below = *top >= old_top + old_height - GAP || top + height <= old_top + GAP;
            let apart = *left > old_left + old_width + GAP;
            let blank = joined.ends_with(char::is_whitespace) || words.starts_with(char::is_whitespace);
            if below {
                joined.truncate(joined.trim_end_matches(' ').len());
                joined.push('\n');
            } else if apart && !blank {
                joined.push(' ');
            }
        }
        let fresh = joined.is_empty() || joined.ends_with('\n');
        joined.push_str(if fresh { words.trim_start_matches(' ') } else { &words });
        last = Some([*left, *top, *width, *height]);
    }
    joined.trim().to_owned()
}

/// Makes one blank of each run of blanks.
fn single_blanks(text: &str) -> String {
    let mut single = String::with_capacity(text.len());
    for c in text.chars() {
        let c = if c.is_ascii_whitespace() { ' ' } else { c };
        if c != ' ' || !single.ends_with(' ') {
            single.push(c);
        }
    }
    single
}
