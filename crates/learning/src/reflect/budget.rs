//! Options of reflection: its mode, and the size of one request in estimated tokens by the reviewing model's profile.

use apprentice_protocol::{ContextRule, HistoryRule, ImageRule, ModelProfile, Size};
use apprentice_skillbook::review::ReflectMode;

/// Tokens reserved for the answer of a reviewer.
pub(super) const MAX_OUTPUT_TOKENS: u32 = 8000;
/// The words of a step get this fraction of a request's tokens.
pub(super) const STEP_SHARE: u64 = 16;

/// Size limits of the material.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaterialBudget {
    /// Estimated tokens of the steps of one request.
    pub tokens: u64,
    /// Largest number of requests over which a long attempt is spread.
    pub parts: usize,
    /// Characters of a line that holds a value. Other lines get half of it.
    pub line: usize,
    /// Characters of one skill's text.
    pub skill: usize,
    /// Number of skills.
    pub skills: usize,
}

impl MaterialBudget {
    /// Returns the largest number of requests over which an attempt of so many steps is spread. A request ends where the
    /// next step does not fit. With the form of the block around its words a step takes less than twice its fraction.
    pub fn most_parts(&self, steps: usize) -> usize {
        let of_a_request = usize::try_from(STEP_SHARE / 2).unwrap_or(usize::MAX);
        steps.div_ceil(of_a_request).min(self.parts).max(1)
    }
}

impl Default for MaterialBudget {
    fn default() -> Self {
        Self { tokens: 40_000, parts: 6, line: 160, skill: 4000, skills: 12 }
    }
}

/// Options of reflection.
#[derive(Clone, Copy, Debug)]
pub struct ReflectOptions {
    /// The reflecting model: a separate reader, or the acting model in its own conversation.
    pub mode: ReflectMode,
    /// Size limits of the material.
    pub budget: MaterialBudget,
    /// Largest number of learnings.
    pub max_learnings: usize,
    /// Number of answers that the model may give.
    pub tries: u32,
    /// Largest number of the book's pages shown that the attempt did not receive. 0 shows none.
    pub pages: usize,
    /// Largest number of pictures shown to a reviewer that sees. 0 shows none.
    pub pictures: usize,
}

impl Default for ReflectOptions {
    fn default() -> Self {
        Self {
            mode: ReflectMode::Fresh,
            budget: MaterialBudget::default(),
            max_learnings: 3,
            tries: 3,
            pages: 12,
            pictures: 24,
        }
    }
}

/// Limits of one request to a reviewing model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReviewerLimits {
    /// Tokens of a request and its reply together, and of pictures; `None` if unknown.
    context: Option<ContextRule>,
    /// Largest number of pictures.
    pub pictures: usize,
}

impl ReviewerLimits {
    /// Returns the limits of a model. A model without pictures gets none, whatever is asked for.
    pub fn of(profile: &ModelProfile, pictures: usize) -> Self {
        let (context, most) = match &profile.history {
            HistoryRule::AppendOnly { context, .. } => (*context, usize::MAX),
            HistoryRule::Blocks { at_most, .. } => (None, usize::try_from(*at_most).unwrap_or(usize::MAX)),
            HistoryRule::Window { images, context, .. } => {
                (*context, usize::try_from(*images).unwrap_or(usize::MAX))
            }
        };
        let sees = profile.images != ImageRule::None;
        Self { context, pictures: if sees { pictures.min(most) } else { 0 } }
    }

    /// Returns the tokens of the answer: a quarter of a small context.
    pub fn output(&self) -> u32 {
        let quarter = self.context.map_or(u64::MAX, |context| context.tokens / 4);
        u32::try_from(quarter).map_or(MAX_OUTPUT_TOKENS, |quarter| quarter.min(MAX_OUTPUT_TOKENS))
    }

    /// Returns the tokens for steps and pictures in one request, of which `fixed` are taken. `None` if nothing is left.
    pub(super) fn room(&self, wanted: u64, fixed: u64) -> Option<u64> {
        let Some(context) = self.context else { return Some(wanted) };
        let left = context.tokens.checked_sub(fixed + u64::from(self.output())).filter(|left| *left > 0)?;
        Some(left.min(wanted))
    }

    /// Estimates the tokens that a picture takes of a known context, which steps and pictures must share; otherwise 0.
    pub(super) fn picture(&self, size: Size) -> u64 {
        self.context.map_or(0, |context| context.picture(size))
    }
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::{
        ContextRule, CoordinateSpace, HistoryRule, ImageRule, ModelProfile, Size, ToolRule, ViewRule,
    };

    use super::ReviewerLimits;

    fn profile(images: ImageRule, history: HistoryRule) -> ModelProfile {
        ModelProfile {
            name: "test/reviewer".into(),
            consumer: "reviewer".into(),
            space: CoordinateSpace::ImagePixels,
            images,
            outline: true,
            views: ViewRule::Whole,
            history,
            tools: ToolRule::Fixed,
            max_output_tokens: 4096,
        }
    }

    fn window(tokens: u64) -> HistoryRule {
        HistoryRule::Window { images: 3, at_most: None, context: Some(ContextRule { tokens, patch: 32 }) }
    }

    #[test]
    fn pictures_go_only_to_models_that_see_and_no_more_than_they_take() {
        let append = HistoryRule::AppendOnly { max_request_bytes: 1, uploads: false, context: None };
        let pictures = |images, history, asked| ReviewerLimits::of(&profile(images, history), asked).pictures;
        assert_eq!(pictures(ImageRule::None, append, 24), 0);
        assert_eq!(pictures(ImageRule::AsIs, append, 24), 24);
        assert_eq!(pictures(ImageRule::AsIs, window(9000), 24), 3);
        assert_eq!(pictures(ImageRule::AsIs, window(9000), 2), 2);
        assert_eq!(pictures(ImageRule::AsIs, append, 0), 0);
    }

    #[test]
    fn a_small_context_bounds_steps_and_answer() {
        let limits = |tokens| ReviewerLimits::of(&profile(ImageRule::None, window(tokens)), 0);
        assert_eq!((limits(32_000).output(), limits(31_996).output()), (8000, 7999));
        assert_eq!(
            limits(1_000_000).output(),
            8000,
            "a large context is for the attempt, not for a longer answer"
        );
        assert_eq!(limits(32_000).room(40_000, 4000), Some(20_000));
        assert_eq!(limits(32_000).room(10_000, 4000), Some(10_000));
        assert_eq!(limits(8000).room(40_000, 5999), Some(1));
        assert_eq!(limits(8000).room(40_000, 6000), None, "nothing is left");
        let unknown = HistoryRule::Window { images: 0, at_most: None, context: None };
        let unknown = ReviewerLimits::of(&profile(ImageRule::None, unknown), 0);
        assert_eq!((unknown.output(), unknown.room(40_000, 1)), (8000, Some(40_000)));
        assert_eq!(unknown.picture(Size::new(64, 33)), 0, "it takes nothing from the steps");
        assert_eq!(limits(8000).picture(Size::new(64, 33)), 4);
    }
}
