//! Pictures of an attempt for a reviewer that sees. Whoever reads the trace prepares them; this module chooses those
//! that a request can hold.

use apprentice_protocol::{Content, Image, StepId};

use super::ReviewerLimits;

/// The moment of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moment {
    /// The screen before the agent acted.
    Before,
    /// The screen after it.
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
    /// Description of the picture, in a few words.
    pub shows: String,
    /// The encoded picture.
    pub image: Image,
}

/// Chooses the pictures that a request can hold, and returns them in the order of the attempt with their tokens. The
/// given order is their precedence. Of a known context, pictures take at most `room` tokens; of another they take none.
pub(super) fn chosen<'a>(
    pictures: &'a [StepPicture],
    limits: &ReviewerLimits,
    room: u64,
) -> (Vec<&'a StepPicture>, u64) {
    let mut used = 0;
    let mut chosen: Vec<&StepPicture> = Vec::new();
    for picture in pictures.iter().take(limits.pictures) {
        let cost = limits.picture(picture.image.size);
        if used + cost > room {
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

#[cfg(test)]
mod tests {
    use apprentice_protocol::{
        BlobHash, ContextRule, CoordinateSpace, HistoryRule, Image, ImageBytes, ImageRule, MediaType,
        ModelProfile, Size, StepId, ToolRule, ViewRule,
    };

    use super::{Moment, ReviewerLimits, StepPicture, chosen};

    /// Returns how many of five pictures, of 100 tokens each, a model gets, and what they take.
    fn taken(context: Option<ContextRule>, room: u64) -> (usize, u64) {
        let profile = ModelProfile {
            name: "test/reviewer".into(),
            consumer: "reviewer".into(),
            space: CoordinateSpace::ImagePixels,
            images: ImageRule::AsIs,
            outline: true,
            views: ViewRule::Whole,
            history: HistoryRule::Window { images: 9, at_most: None, context },
            tools: ToolRule::Fixed,
            max_output_tokens: 4096,
        };
        let image = Image {
            hash: BlobHash::new("00"),
            size: Size::new(280, 280),
            media: MediaType::Png,
            bytes: ImageBytes::default(),
        };
        let picture =
            StepPicture { step: StepId(1), moment: Moment::Before, shows: "the whole screen".into(), image };
        let pictures = vec![picture; 5];
        let (pictures, tokens) = chosen(&pictures, &ReviewerLimits::of(&profile, 9), room);
        (pictures.len(), tokens)
    }

    #[test]
    fn pictures_fill_their_room_to_the_last_token() {
        let context = Some(ContextRule { tokens: 9000, patch: 28 });
        assert_eq!([taken(context, 299), taken(context, 300)], [(2, 200), (3, 300)]);
        assert_eq!(taken(None, 0), (5, 0), "a context of unknown size shares nothing");
    }
}
