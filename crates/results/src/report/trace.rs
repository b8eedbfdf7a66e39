//! The page of one attempt: what the model saw, said and did, turn by turn, and how it was judged. Needs only the
//! events and the run's blobs, no network and no environment.

use std::collections::BTreeMap;
use std::path::Path;

use apprentice_protocol::{BlobHash, Event};
use apprentice_trace::blob_path;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use minijinja::context;
use minijinja::value::Serde;

use super::page::{PageError, render as render_template};
use super::trace_steps::{ShownObservation, Steps};

/// How screenshots are included in the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pictures<'a> {
    /// Inlined as data, so that the page is one portable file.
    Inlined,
    /// Linked below this relative path to the run's blob folder.
    Linked(&'a str),
}

/// Renders the page of an attempt. `blobs` is the run's blob folder; missing blobs are marked as missing.
///
/// # Errors
///
/// Fails if the template cannot be rendered.
pub fn render(events: &[Event], blobs: &Path, pictures: Pictures<'_>) -> Result<String, PageError> {
    let steps = Steps::of(events);
    let sights = || steps.cards.iter().filter_map(|card| card.sight.as_ref()).chain(steps.last.as_ref());
    let found = |of: fn(&ShownObservation) -> Option<&BlobHash>,
                 load: &dyn Fn(&BlobHash) -> Option<String>| {
        sights()
            .filter_map(of)
            .filter_map(|hash| Some((hash.to_string(), load(hash)?)))
            .collect::<BTreeMap<String, String>>()
    };
    let screenshots = found(|sight| sight.screenshot.as_ref(), &|hash| picture(hash, blobs, pictures));
    let outlines = found(|sight| sight.outline.as_ref(), &|hash| {
        apprentice_files::read_to_string(blob_path(blobs, hash, "txt")).ok()
    });
    let context = context! {
        head => Serde(&steps.head),
        cards => Serde(&steps.cards),
        last => Serde(&steps.last),
        linked => matches!(pictures, Pictures::Linked(_)),
        screenshots => Serde(screenshots),
        outlines => Serde(outlines),
    };
    render_template("trace.html", context)
}

/// The URL of a screenshot, if its blob exists.
fn picture(hash: &BlobHash, blobs: &Path, pictures: Pictures<'_>) -> Option<String> {
    let path = blob_path(blobs, hash, "png");
    match pictures {
        Pictures::Linked(prefix) => {
            path.exists().then(|| format!("./{}/{hash}.png", prefix.trim_end_matches('/')))
        }
        Pictures::Inlined => {
            let bytes = apprentice_files::read(path).ok()?;
            Some(format!("data:image/png;base64,{}", STANDARD.encode(bytes)))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use apprentice_protocol::Event;

    use super::{Pictures, render};

    /// An attempt of two turns: a skill is read, one click succeeds, one is refused, and an event of a later version is
    /// kept.
    const LINES: &str = include_str!("trace-sample.jsonl");

    fn events() -> Vec<Event> {
        LINES.lines().map(|line| Event::from_line(line).expect("an event")).collect()
    }

    #[test]
    fn a_trace_reads_turn_by_turn() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("aa11.png"), b"picture").expect("writes");
        fs::write(folder.path().join("bb22.txt"), "button \"Save\" @60,20 #n3 <b>").expect("writes");
        let page = render(&events(), folder.path(), Pictures::Linked("../../../blobs/")).expect("renders");
        let body = page.split_once("<body>").expect("a body").1;
        insta::assert_snapshot!(body);
        let inlined = render(&events(), folder.path(), Pictures::Inlined).expect("renders");
        assert_eq!(inlined.matches("base64,cGljdHVyZQ==").count(), 1, "each picture stands in the page once");
    }

    #[test]
    fn a_trace_without_an_end_or_blobs_still_has_a_page() {
        let folder = tempfile::tempdir().expect("a folder");
        let page = render(&events()[..6], folder.path(), Pictures::Inlined).expect("renders");
        for words in ["the attempt was interrupted", "not judged", "The screenshot aa11 is missing."] {
            assert!(page.contains(words), "{words}");
        }
        assert!(render(&[], folder.path(), Pictures::Inlined).is_ok());
    }
}
