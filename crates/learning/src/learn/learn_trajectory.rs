//! Learns from one trajectory: reflect, count, decide item by item, and clean up when it is due. Every step leaves its
//! cause in the log. Interrupted learning therefore continues where it stopped, and a finished one does nothing.

use std::sync::Arc;

use apprentice_protocol::{BoundedText, BoxFuture, ChatModel, ModelError, TextBudget};
use apprentice_screening::{Finding, scan};
use apprentice_skillbook::review::{Checked, Fallback, ReflectMode, TrajectoryReflection};
use apprentice_skillbook::{Actor, Change, Gateway, Stage, WriteRefusal};
use serde::Serialize;

use crate::apply_reviews::{HandlerOptions, LearningInput, Refusal, apply_reviews, coming_notes, write};
use crate::cleanup::{CleanupOptions, SkillEmbeddings, find_cleanup_tasks};
use crate::learn::attach_figures::attach_figures;
use crate::learn::book_pages::book_pages;
use crate::manage::{Decision, ManageError, ManageOptions, WorkItem, manage};
use crate::reflect::{
    BookPage, EvidenceRule, ReflectError, ReflectOptions, Reflected, ReviewedAttempt, check,
    reflect_in_context, reflect_with_book,
};

/// Largest length of an embedder's error message, in characters.
const MAX_ERROR_CHARS: TextBudget = TextBudget(200);

/// The models that learn. Both arrive wrapped in retry, budget and recording.
#[derive(Clone)]
pub struct LearnerModels {
    /// Reviews trajectories.
    pub reflector: Arc<dyn ChatModel>,
    /// Decides items.
    pub manager: Arc<dyn ChatModel>,
}

/// Options of the learning cycle.
#[derive(Clone, Debug, Default)]
pub struct LearnOptions {
    /// Options of reflection.
    pub reflect: ReflectOptions,
    /// Options of counting.
    pub handler: HandlerOptions,
    /// Options of the manager.
    pub manage: ManageOptions,
    /// Options of cleanup.
    pub clean: CleanupOptions,
}

/// The result of learning from one trajectory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LearnResult {
    /// True if the book had already learned all of it.
    pub known_before: bool,
    /// The way in which the reflection was made. `None` if the book already contained it.
    pub reflected: Option<ReflectionRoute>,
    /// The reflection as used.
    pub checked: Checked,
    /// Decisions, in order. Cleanup decisions come last.
    pub decisions: Vec<Decision>,
    /// Writes of the handler that were refused.
    pub refusals: Vec<Refusal>,
    /// The reason why the attempt is not learned, if no review of it could be read. Nothing was counted.
    pub unread: Option<UnreadReflection>,
}

/// A review that could not be read. The attempt stays unlearned, and the next call asks again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnreadReflection {
    /// The reason.
    pub why: String,
    /// Problems, one entry per answer.
    pub problems: Vec<String>,
    /// The answers, each cut to a bounded length and without secrets.
    pub answers: Vec<String>,
}

/// The way in which a reflection was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReflectionRoute {
    /// The mode.
    pub mode: ReflectMode,
    /// The reason for not using the attempt's own conversation, if that had been requested.
    pub fallback: Option<Fallback>,
}

/// The reason why learning from a trajectory failed. Completed steps stay. A repeated call continues from there.
#[derive(Debug, thiserror::Error)]
pub enum LearnError {
    /// The reflector model failed.
    #[error("the request to the reflector about {trajectory} failed")]
    Reflect {
        /// The trajectory.
        trajectory: String,
        /// The model's error.
        #[source]
        source: ModelError,
    },
    /// The material could not be serialized.
    #[error("the material of a trajectory could not be written as JSON")]
    Material(#[from] serde_json::Error),
    /// An item could not be decided.
    #[error("the manager could not decide an item of {trajectory}")]
    Manage {
        /// The trajectory.
        trajectory: String,
        /// The manager's error.
        #[source]
        source: ManageError,
    },
    /// Writing the book failed.
    #[error("the skillbook refused to record the progress of learning")]
    Book(#[from] WriteRefusal),
}

/// Learns from one trajectory.
/// The future is boxed: crates that await it would each compile all of it again.
pub fn learn_trajectory<'a>(
    gateway: &'a mut Gateway,
    models: &'a LearnerModels,
    input: &'a LearningInput<'_>,
    options: &'a LearnOptions,
) -> BoxFuture<'a, Result<LearnResult, LearnError>> {
    Box::pin(async move {
        let done = input.request(Actor::Learner, Stage::Learn, String::new(), Change::TrajectoryLearned);
        let mut result = LearnResult::default();
        let learned = done.cause.as_ref().and_then(|cause| gateway.state().causes.get(cause)).copied();
        if learned.is_some() {
            result.known_before = true;
            result.checked =
                gateway.state().reflections.get(&input.trajectory.id).cloned().unwrap_or_default();
        } else {
            match load_or_reflect(gateway, models, input, options).await? {
                Ok((checked, reflected)) => (result.checked, result.reflected) = (checked, reflected),
                Err(unread) => {
                    result.unread = Some(unread);
                    return Ok(result);
                }
            }
            process_reflection(gateway, models.manager.as_ref(), input, &mut result, options).await?;
            gateway.apply(done)?;
        }
        // An interrupted cleanup is resumed by the trajectory that began it, never by an earlier one.
        let causes = gateway.state().causes.iter();
        let last =
            causes.filter(|(cause, _)| cause.stage == Stage::Learn).map(|(_, operation)| *operation).max();
        let due = gateway.state().learned_since_cleaning >= options.clean.every.max(1);
        if due && (learned.is_none() || learned == last) {
            result.decisions.extend(clean(gateway, models, input, options).await?);
        }
        Ok(result)
    })
}

/// Counts a reflection and has its items decided: first the reviews that the table forwards, then the learnings.
async fn process_reflection(
    gateway: &mut Gateway,
    manager: &dyn ChatModel,
    input: &LearningInput<'_>,
    result: &mut LearnResult,
    options: &LearnOptions,
) -> Result<(), LearnError> {
    for note in coming_notes(gateway.state(), input, &result.checked, &options.handler) {
        gateway.read_change(&note).await;
    }
    let applied = apply_reviews(gateway, input, &result.checked, &options.handler)?;
    result.refusals = applied.refusals;
    let reviews = applied.forward.iter().map(|(received, review)| WorkItem::Review(received, review));
    let learnings = result.checked.learnings.iter().enumerate();
    let learnings = learnings.map(|(index, learning)| WorkItem::Learning(index, learning));
    for item in reviews.chain(learnings) {
        if matches!(&item, WorkItem::Review(received, _) if gateway.state().resolve(received).is_none()) {
            continue;
        }
        let decision = decide(gateway, manager, input, &item, options).await?;
        if let WorkItem::Learning(place, learning) = item {
            result.refusals.extend(attach_figures(gateway, input, place, learning, &decision).await?);
        }
        result.decisions.push(decision);
    }
    Ok(())
}

/// Learns from a reflection that somebody else wrote, on its own word: there is no trace to check it against.
pub async fn learn_external_reflection(
    gateway: &mut Gateway,
    manager: &dyn ChatModel,
    input: &LearningInput<'_>,
    reflection: TrajectoryReflection,
    options: &LearnOptions,
) -> Result<LearnResult, LearnError> {
    let done = input.request(Actor::Learner, Stage::Learn, String::new(), Change::TrajectoryLearned);
    let mut result = LearnResult::default();
    if done.cause.as_ref().is_some_and(|cause| gateway.state().causes.contains_key(cause)) {
        result.known_before = true;
        result.checked = gateway.state().reflections.get(&input.trajectory.id).cloned().unwrap_or_default();
        return Ok(result);
    }
    result.checked = match gateway.state().reflections.get(&input.trajectory.id) {
        Some(known) => known.clone(),
        None => {
            let checked =
                check(reflection, input.trajectory, EvidenceRule::Word, options.reflect.max_learnings);
            keep(gateway, input, ReflectionRoute { mode: ReflectMode::Given, fallback: None }, checked)?
        }
    };
    process_reflection(gateway, manager, input, &mut result, options).await?;
    gateway.apply(done)?;
    Ok(result)
}

/// Cleans up: scans, has each finding decided, and scans again until there is no new finding.
pub async fn clean(
    gateway: &mut Gateway,
    models: &LearnerModels,
    input: &LearningInput<'_>,
    options: &LearnOptions,
) -> Result<Vec<Decision>, LearnError> {
    let mut decisions: Vec<Decision> = Vec::new();
    loop {
        // If the embedder fails, words decide alone.
        let embeddings = match gateway.meaning() {
            Some(meaning) => Some(SkillEmbeddings::of(gateway.state(), meaning).await),
            None => None,
        };
        if let Some(Err(error)) = &embeddings {
            let why = BoundedText::cut(&error.to_string(), MAX_ERROR_CHARS).as_str().to_owned();
            let change = Change::CleanupByWords { why };
            gateway.apply(input.request(Actor::Cleaner, Stage::Clean, "by_words".to_owned(), change))?;
        }
        let embeddings = embeddings.and_then(Result::ok);
        let tasks = find_cleanup_tasks(gateway.state(), &options.clean, embeddings.as_ref());
        let decided = |key: &String| {
            gateway.state().causes.keys().any(|cause| cause.stage == Stage::Clean && cause.item == *key)
        };
        let Some(task) = tasks.into_iter().find(|task| !decided(&task.key())) else { break };
        let change = Change::CleanupFlagged {
            skills: task.skills().into_iter().cloned().collect(),
            finding: task.headline(),
        };
        gateway.apply(input.request(
            Actor::Cleaner,
            Stage::Clean,
            format!("flagged:{}", task.key()),
            change,
        ))?;
        let item = WorkItem::Cleanup(&task, &options.clean);
        decisions.push(decide(gateway, models.manager.as_ref(), input, &item, options).await?);
    }
    let change = Change::CleanupFinished;
    gateway.apply(input.request(Actor::Cleaner, Stage::Clean, String::new(), change))?;
    Ok(decisions)
}

/// Asks for a reflection and drops it: a model that sends requests in batches answers the same request again, at no
/// further price, when the trajectory's turn comes. That holds only where the review shows no pages of the book
/// (`options.pages` is 0), which the attempts before it may change. Writes nothing.
pub async fn review_ahead(
    reflector: &dyn ChatModel,
    input: &LearningInput<'_>,
    options: &ReflectOptions,
) -> Result<(), ReflectError> {
    request_reflection(reflector, input, &[], options).await.0.map(drop)
}

/// Returns the reflection on a trajectory: from the log if it is there; otherwise requests, checks, filters and stores
/// it. A reflection that cannot be read is not stored.
async fn load_or_reflect(
    gateway: &mut Gateway,
    models: &LearnerModels,
    input: &LearningInput<'_>,
    options: &LearnOptions,
) -> Result<Result<(Checked, Option<ReflectionRoute>), UnreadReflection>, LearnError> {
    let trajectory = input.trajectory;
    if let Some(known) = gateway.state().reflections.get(&trajectory.id) {
        return Ok(Ok((known.clone(), None)));
    }
    let pages = book_pages(gateway.state(), trajectory, options.reflect.pages);
    let (answer, route) =
        request_reflection(models.reflector.as_ref(), input, &pages, &options.reflect).await;
    let reflected = match answer {
        Ok(reflected) => reflected,
        Err(problem @ (ReflectError::Unusable { .. } | ReflectError::Full)) => {
            return Ok(Err(unread(problem, |text| gateway.check_text(text).is_some())));
        }
        Err(ReflectError::Model(source)) => {
            return Err(LearnError::Reflect { trajectory: trajectory.id.clone(), source });
        }
        Err(ReflectError::Material(source)) => return Err(source.into()),
    };
    let Reflected { reflection, dropped, .. } = reflected;
    let mut checked = check(reflection, trajectory, EvidenceRule::Trace, options.reflect.max_learnings);
    checked.dropped.extend(dropped);
    Ok(Ok((keep(gateway, input, route.clone(), checked)?, Some(route))))
}

/// Describes a reflection that could not be read. An answer that no skill may contain is named and not kept.
fn unread(problem: ReflectError, refused: impl Fn(&str) -> bool) -> UnreadReflection {
    let kept = |text: String| {
        if refused(&text) {
            "[left out: it may hold a secret or an instruction to an agent]".to_owned()
        } else {
            text
        }
    };
    let why = kept(problem.to_string());
    let (problems, answers) = match problem {
        ReflectError::Unusable { problems, answers } => (problems, answers),
        ReflectError::Full | ReflectError::Model(_) | ReflectError::Material(_) => (Vec::new(), Vec::new()),
    };
    UnreadReflection {
        why,
        problems: problems.into_iter().map(kept).collect(),
        answers: answers.into_iter().map(kept).collect(),
    }
}

/// Requests a reflection in the chosen mode. Falls back to a separate reader if that mode is not possible.
async fn request_reflection(
    reflector: &dyn ChatModel,
    input: &LearningInput<'_>,
    book: &[BookPage],
    options: &ReflectOptions,
) -> (Result<Reflected, ReflectError>, ReflectionRoute) {
    let own_conversation = ReflectionRoute { mode: ReflectMode::InContext, fallback: None };
    let fallback = match options.mode {
        ReflectMode::Fresh | ReflectMode::Given => None,
        ReflectMode::InContext => {
            match reflect_in_context(reflector, input.conversation, input.trajectory, options).await {
                Ok(Ok(reflected)) => return (Ok(reflected), own_conversation),
                Ok(Err(fallback)) => Some(fallback),
                Err(error) => return (Err(error), own_conversation),
            }
        }
    };
    let reviewed = ReviewedAttempt { trajectory: input.trajectory, pictures: input.pictures, book };
    let answer = reflect_with_book(reflector, reviewed, options).await;
    (answer, ReflectionRoute { mode: ReflectMode::Fresh, fallback })
}

/// Stores a checked reflection without the texts that no skill may contain.
fn keep(
    gateway: &mut Gateway,
    input: &LearningInput<'_>,
    route: ReflectionRoute,
    checked: Checked,
) -> Result<Checked, WriteRefusal> {
    // A way out of the program is no reason to lose a learning: what is written of it is judged.
    let refused = |text: &str| {
        let (_, why) = gateway.barred(text).or_else(|| injection(text))?;
        let is_secret = gateway.barred(text).is_some();
        Some((why, if is_secret { String::new() } else { text.to_owned() }))
    };
    let checked = checked.without_refused(refused);
    let ReflectionRoute { mode, fallback } = route;
    let change = Change::TrajectoryReflected { mode, fallback, checked: checked.clone() };
    let request = input.request(Actor::Learner, Stage::Reflect, String::new(), change);
    write(gateway, request, None, &mut Vec::new())?;
    Ok(checked)
}

/// Returns why a text speaks to an agent about its instructions, if it does.
fn injection(text: &str) -> Option<(&'static str, String)> {
    let found = scan(text).filter(|found| *found == Finding::Injection)?;
    Some(("unsafe_text", found.why().to_owned()))
}

async fn decide(
    gateway: &mut Gateway,
    manager: &dyn ChatModel,
    input: &LearningInput<'_>,
    item: &WorkItem<'_>,
    options: &LearnOptions,
) -> Result<Decision, LearnError> {
    let manage_options = ManageOptions { harm: options.clean.harm(), ..options.manage };
    // The conversation is large, and everything that learns awaits it.
    Box::pin(manage(manager, gateway, input, item, &manage_options))
        .await
        .map_err(|source| LearnError::Manage { trajectory: input.trajectory.id.clone(), source })
}
