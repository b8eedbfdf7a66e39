//! Asks for the reviews of several attempts at once, for a reviewer whose requests go in batches.

use apprentice_learning::{LearnOptions, LearnerModels, LearningInput, review_ahead};
use apprentice_skillbook::Gateway;
use futures_util::future::join_all;

use super::cycle::{AttemptOutcome, CycleError, admit, pictures};
use crate::split::SplitLock;

/// How the reviews that were asked for ahead came out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReviewsAhead {
    /// Attempts whose review was asked for. The others are void, or known to the book.
    pub asked: usize,
    /// Why there is no review, one entry per attempt without one. The same is told again at the attempt's turn.
    pub missing: Vec<String>,
}

/// Asks for the reviews of the attempts that the book does not know, all at the same time, and drops them. The reviewer has
/// to answer equal requests again at no price. The book is learned afterwards, in plan order, by
/// [`learn_from`](super::learn_from).
pub async fn reviews_ahead(
    gateway: &Gateway,
    lock: &SplitLock,
    learners: &LearnerModels,
    attempts: Vec<AttemptOutcome>,
    options: &LearnOptions,
) -> Result<ReviewsAhead, CycleError> {
    let mut inputs = Vec::new();
    for attempted in attempts {
        let Some(admitted) = admit(lock, attempted)? else { continue };
        if gateway.state().reflections.contains_key(&admitted.trajectory.trajectory().id) {
            continue;
        }
        let shown = pictures(admitted.files.as_ref(), learners, options)?;
        inputs.push((admitted, shown));
    }
    let reviews = inputs.iter().map(|(admitted, shown)| async move {
        let input = LearningInput {
            conversation: admitted.conversation.as_ref(),
            pictures: shown,
            ..LearningInput::new(admitted.trajectory.trajectory(), admitted.time)
        };
        review_ahead(learners.reflector.as_ref(), &input, &options.reflect).await
    });
    let failed = join_all(reviews).await.into_iter().filter_map(Result::err);
    let missing = failed.map(|error| crate::error_chain::error_chain(&error)).collect();
    Ok(ReviewsAhead { asked: inputs.len(), missing })
}
