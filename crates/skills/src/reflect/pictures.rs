//! Pictures of an attempt for a reviewer that sees. Whoever reads the trace prepares them; this module chooses those
//! that a request can hold.

use apprentice_protocol::{Content, Image, StepId};

use super::ReviewerLimits;

/// The moment of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moment {
    /// What the agent saw before it acted.
    Before,
    /// What it saw next.
    After,
}

impl Moment {
    fn word(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::After => "after",
        }
    }
}

/// A picture of a step: the whole screen, scaled, or a part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepPicture {
    /// The step.
    pub step: StepId,
    /// Before or after its actions.
    pub moment: Moment,
    /// What the picture shows, in a few words.
    pub shows: String,
    /// The encoded picture.
    pub image: Image,
}

/// Chooses the pictures that a request can hold, and returns them in the order of the attempt with their tokens. The
/// given order is their precedence. Of a known context, pictures take at most `room` tokens.
pub(super) fn chosen<'a>(
    pictures: &'a [StepPicture],
    limits: &ReviewerLimits,
    room: u64,
) -> (Vec<&'a StepPicture>, u64) {
    let mut used = 0;
    let mut chosen: Vec<&StepPicture> = Vec::new();
    for picture in pictures.iter().take(limits.pictures) {
        let cost = limits.picture(picture.image.size);
        if limits.is_bounded() && used + cost > room {
            break;
        }
        used += cost;
        chosen.push(picture);
    }
    chosen.sort_by_key(|picture| (picture.step, picture.moment));
    (chosen, used)
}

/// Returns the parts of a message that show pictures, each below its caption.
pub(super) fn contents<'a>(pictures: impl Iterator<Item = &'a StepPicture>) -> Vec<Content> {
    let mut parts = Vec::new();
    for picture in pictures {
        let (step, when) = (picture.step, picture.moment.word());
        parts.push(Content::text(format!("Picture {when} {step}: {}", picture.shows)));
        parts.push(Content::Image { image: picture.image.clone() });
    }
    parts
}
