//! Learns from one trajectory: reflect, count, decide item by item, and clean up when it is due. Every step leaves its
//! cause in the log. An interrupted digest therefore continues where it stopped, and a finished one does nothing.

use std::sync::Arc;

use apprentice_protocol::{BoundedText, ChatModel, ModelError, TextBudget};

use crate::book::{Actor, Change, Gateway, Stage, WriteRefusal};
use crate::cleanup::{CleanupOptions, SkillEmbeddings, find_cleanup_tasks};
use crate::handle::{HandlerOptions, Lesson, Refusal, handle, write};
use crate::manage::{Decision, ManageError, ManageOptions, WorkItem, manage};
use crate::reflect::{
    Checked, Dropped, EvidenceRule, Fallback, ReflectError, ReflectMode, ReflectOptions, Reflected,
    TrajectoryReflection, check, reflect, reflect_here,
};

/// Largest length of an embedder's error message, in characters.
const WHY: TextBudget = TextBudget(200);

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
pub struct Digest {
    /// Whether the book had already learned all of it.
    pub known_before: bool,
    /// How the reflection was made. `None` if the book already contained it.
    pub reflected: Option<ReflectionRoute>,
    /// The reflection as used.
    pub checked: Checked,
    /// Decisions, in order. Cleanup decisions come last.
    pub decisions: Vec<Decision>,
    /// Writes of the handler that were refused.
    pub refusals: Vec<Refusal>,
}

/// The mode of a reflection, and the reason for not using the attempt's own conversation if that had been requested.
pub type ReflectionRoute = (ReflectMode, Option<Fallback>);

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
pub async fn digest(
    gateway: &mut Gateway,
    staff: &LearnerModels,
    lesson: &Lesson<'_>,
    options: &LearnOptions,
) -> Result<Digest, LearnError> {
    let done = lesson.request(Actor::Learner, Stage::Learn, String::new(), Change::TrajectoryLearned);
    let mut digest = Digest::default();
    let learned = done.cause.as_ref().and_then(|cause| gateway.state().causes.get(cause)).copied();
    if learned.is_some() {
        digest.known_before = true;
        digest.checked = gateway.state().reflections.get(&lesson.trajectory.id).cloned().unwrap_or_default();
    } else {
        (digest.checked, digest.reflected) = reflected(gateway, staff, lesson, options).await?;
        process_reflection(gateway, staff.manager.as_ref(), lesson, &mut digest, options).await?;
        gateway.apply(done)?;
    }
    // An interrupted cleanup is resumed by the trajectory that began it, never by an earlier one.
    let causes = gateway.state().causes.iter();
    let last = causes.filter(|(cause, _)| cause.stage == Stage::Learn).map(|(_, operation)| *operation).max();
    let due = gateway.state().learned_since_cleaning >= options.clean.every.max(1);
    if due && (learned.is_none() || learned == last) {
        digest.decisions.extend(clean(gateway, staff, lesson, options).await?);
    }
    Ok(digest)
}

/// Counts a reflection and has its items decided: first the reviews that the table forwards, then the learnings.
async fn process_reflection(
    gateway: &mut Gateway,
    manager: &dyn ChatModel,
    lesson: &Lesson<'_>,
    digest: &mut Digest,
    options: &LearnOptions,
) -> Result<(), LearnError> {
    let handled = handle(gateway, lesson, &digest.checked, &options.handler)?;
    digest.refusals = handled.refusals;
    let reviews = handled.forward.iter().map(|(received, review)| WorkItem::Review(received, review));
    let learnings = digest.checked.learnings.iter().enumerate();
    let learnings = learnings.map(|(place, learning)| WorkItem::Learning(place, learning));
    for matter in reviews.chain(learnings) {
        if matches!(&matter, WorkItem::Review(received, _) if gateway.state().resolve(received).is_none()) {
            continue;
        }
        digest.decisions.push(decide(gateway, manager, lesson, &matter, options).await?);
    }
    Ok(())
}

/// Learns from a reflection that somebody else wrote, on its own word: there is no trace to check it against.
pub async fn learn_external_reflection(
    gateway: &mut Gateway,
    manager: &dyn ChatModel,
    lesson: &Lesson<'_>,
    reflection: TrajectoryReflection,
    options: &LearnOptions,
) -> Result<Digest, LearnError> {
    let done = lesson.request(Actor::Learner, Stage::Learn, String::new(), Change::TrajectoryLearned);
    let mut digest = Digest::default();
    if done.cause.as_ref().is_some_and(|cause| gateway.state().causes.contains_key(cause)) {
        digest.known_before = true;
        digest.checked = gateway.state().reflections.get(&lesson.trajectory.id).cloned().unwrap_or_default();
        return Ok(digest);
    }
    digest.checked = match gateway.state().reflections.get(&lesson.trajectory.id) {
        Some(known) => known.clone(),
        None => {
            let checked =
                check(reflection, lesson.trajectory, EvidenceRule::Word, options.reflect.max_learnings);
            keep(gateway, lesson, (ReflectMode::Given, None), checked)?
        }
    };
    process_reflection(gateway, manager, lesson, &mut digest, options).await?;
    gateway.apply(done)?;
    Ok(digest)
}

/// Cleans up: scans, has each finding decided, and scans again until there is no new finding.
pub async fn clean(
    gateway: &mut Gateway,
    staff: &LearnerModels,
    lesson: &Lesson<'_>,
    options: &LearnOptions,
) -> Result<Vec<Decision>, LearnError> {
    let mut decisions: Vec<Decision> = Vec::new();
    loop {
        // If the embedder fails, words decide alone.
        let sense = match gateway.meaning() {
            Some(meaning) => Some(SkillEmbeddings::of(gateway.state(), meaning).await),
            None => None,
        };
        if let Some(Err(error)) = &sense {
            let why = BoundedText::cut(&error.to_string(), WHY).as_str().to_owned();
            let change = Change::CleanupByWords { why };
            gateway.apply(lesson.request(Actor::Cleaner, Stage::Clean, "by_words".to_owned(), change))?;
        }
        let sense = sense.and_then(Result::ok);
        let tasks = find_cleanup_tasks(gateway.state(), &options.clean, sense.as_ref());
        let decided = |key: &String| {
            gateway.state().causes.keys().any(|cause| cause.stage == Stage::Clean && cause.item == *key)
        };
        let Some(task) = tasks.into_iter().find(|task| !decided(&task.key())) else { break };
        let change = Change::CleanupFlagged {
            skills: task.skills().into_iter().cloned().collect(),
            finding: task.headline(),
        };
        gateway.apply(lesson.request(
            Actor::Cleaner,
            Stage::Clean,
            format!("flagged:{}", task.key()),
            change,
        ))?;
        let matter = WorkItem::Cleanup(&task, &options.clean);
        decisions.push(decide(gateway, staff.manager.as_ref(), lesson, &matter, options).await?);
    }
    let change = Change::CleanupFinished;
    gateway.apply(lesson.request(Actor::Cleaner, Stage::Clean, String::new(), change))?;
    Ok(decisions)
}

/// Returns the reflection on a trajectory: from the log if it is there; otherwise requests, checks, filters and stores
/// it.
async fn reflected(
    gateway: &mut Gateway,
    staff: &LearnerModels,
    lesson: &Lesson<'_>,
    options: &LearnOptions,
) -> Result<(Checked, Option<ReflectionRoute>), LearnError> {
    let trajectory = lesson.trajectory;
    if let Some(known) = gateway.state().reflections.get(&trajectory.id) {
        return Ok((known.clone(), None));
    }
    let (answer, mode) = request_reflection(staff.reflector.as_ref(), lesson, &options.reflect).await;
    let (reflection, unusable) = match answer {
        Ok(reflected) => (reflected.reflection, None),
        Err(problem @ (ReflectError::Unusable { .. } | ReflectError::Full)) => {
            (TrajectoryReflection::default(), Some(problem.to_string()))
        }
        Err(ReflectError::Model(source)) => {
            return Err(LearnError::Reflect { trajectory: trajectory.id.clone(), source });
        }
        Err(ReflectError::Material(source)) => return Err(source.into()),
    };
    let mut checked = check(reflection, trajectory, EvidenceRule::Trace, options.reflect.max_learnings);
    let unusable = unusable.map(|why| Dropped::Refused { place: "the reflection".to_owned(), why });
    checked.dropped.extend(unusable);
    Ok((keep(gateway, lesson, mode.clone(), checked)?, Some(mode)))
}

/// Requests a reflection in the chosen mode. Falls back to a separate reader if that mode is not possible.
async fn request_reflection(
    reflector: &dyn ChatModel,
    lesson: &Lesson<'_>,
    options: &ReflectOptions,
) -> (Result<Reflected, ReflectError>, ReflectionRoute) {
    let fallback = match options.mode {
        ReflectMode::Fresh | ReflectMode::Given => None,
        ReflectMode::InContext => {
            match reflect_here(reflector, lesson.conversation, lesson.trajectory, options).await {
                Ok(Ok(reflected)) => return (Ok(reflected), (ReflectMode::InContext, None)),
                Ok(Err(fallback)) => Some(fallback),
                Err(error) => return (Err(error), (ReflectMode::InContext, None)),
            }
        }
    };
    (reflect(reflector, lesson.trajectory, options).await, (ReflectMode::Fresh, fallback))
}

/// Stores a checked reflection without the texts that no skill may contain.
fn keep(
    gateway: &mut Gateway,
    lesson: &Lesson<'_>,
    (mode, fallback): ReflectionRoute,
    checked: Checked,
) -> Result<Checked, WriteRefusal> {
    let checked = checked.without_refused(|text| gateway.objection(text).map(|(_, why)| why));
    let change = Change::TrajectoryReflected { mode, fallback, checked: checked.clone() };
    let request = lesson.request(Actor::Learner, Stage::Reflect, String::new(), change);
    write(gateway, request, None, &mut Vec::new())?;
    Ok(checked)
}

async fn decide(
    gateway: &mut Gateway,
    manager: &dyn ChatModel,
    lesson: &Lesson<'_>,
    matter: &WorkItem<'_>,
    options: &LearnOptions,
) -> Result<Decision, LearnError> {
    manage(manager, gateway, lesson, matter, &options.manage)
        .await
        .map_err(|source| LearnError::Manage { trajectory: lesson.trajectory.id.clone(), source })
}
