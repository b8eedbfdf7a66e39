//! Works one trajectory into a book: reflect, count, decide item by item, and clean when it is time. Every
//! step leaves its cause in the log, so that a digest that was cut off goes on where it stopped, and one that
//! was finished does nothing.

use std::sync::Arc;

use apprentice_protocol::{BoundedText, ChatModel, ModelError, TextBudget};

use crate::book::{Actor, Change, Gateway, Stage, WriteRefusal};
use crate::clean::{CleanOptions, Sense, scan};
use crate::handle::{HandlerOptions, Lesson, Refusal, handle, write};
use crate::manage::{Decision, ManageError, ManageOptions, Matter, manage};
use crate::reflect::{
    Checked, Dropped, Fallback, Grounds, ReflectError, ReflectMode, ReflectOptions, Reflected,
    TrajectoryReflection, check, reflect, reflect_here,
};

/// Characters of the reason why an embedder did not answer.
const WHY: TextBudget = TextBudget(200);

/// The models that learn. Both arrive with retry, budget and recording around them.
#[derive(Clone)]
pub struct Staff {
    /// Reviews trajectories.
    pub reflector: Arc<dyn ChatModel>,
    /// Decides on items.
    pub manager: Arc<dyn ChatModel>,
}

/// How learning goes.
#[derive(Clone, Debug, Default)]
pub struct LearnOptions {
    /// Of reflections.
    pub reflect: ReflectOptions,
    /// Of counting.
    pub handler: HandlerOptions,
    /// Of decisions.
    pub manage: ManageOptions,
    /// Of cleaning.
    pub clean: CleanOptions,
}

/// What a trajectory came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Digest {
    /// Whether all of it was in the book before.
    pub known_before: bool,
    /// How it was reflected on; none if the reflection was in the book before.
    pub reflected: Option<Way>,
    /// The reflection as used.
    pub checked: Checked,
    /// Decisions, in order, cleaning last.
    pub decisions: Vec<Decision>,
    /// Writes of the handler that were refused.
    pub refusals: Vec<Refusal>,
}

/// How a trajectory was reflected on, and why not in its own conversation where that had been asked for.
pub type Way = (ReflectMode, Option<Fallback>);

/// Why a trajectory is not worked in. What was done so far stays; doing it again goes on from there.
#[derive(Debug, thiserror::Error)]
pub enum DigestError {
    /// The reflector could not be asked.
    #[error("the reflector could not be asked about {trajectory}")]
    Reflect {
        /// Which trajectory.
        trajectory: String,
        /// Why.
        #[source]
        source: ModelError,
    },
    /// The material could not be written.
    #[error("the material of a trajectory could not be written")]
    Material(#[from] serde_json::Error),
    /// An item could not be decided.
    #[error("an item of {trajectory} could not be decided")]
    Manage {
        /// Which trajectory.
        trajectory: String,
        /// Why.
        #[source]
        source: ManageError,
    },
    /// The book failed.
    #[error("the skillbook refused a mark of progress")]
    Book(#[from] WriteRefusal),
}

/// Works one trajectory in.
pub async fn digest(
    gateway: &mut Gateway,
    staff: &Staff,
    lesson: &Lesson<'_>,
    options: &LearnOptions,
) -> Result<Digest, DigestError> {
    let done = lesson.request(Actor::Learner, Stage::Learn, String::new(), Change::TrajectoryLearned);
    let mut digest = Digest::default();
    let learned = done.cause.as_ref().and_then(|cause| gateway.state().causes.get(cause)).copied();
    if learned.is_some() {
        digest.known_before = true;
        digest.checked = gateway.state().reflections.get(&lesson.trajectory.id).cloned().unwrap_or_default();
    } else {
        (digest.checked, digest.reflected) = reflected(gateway, staff, lesson, options).await?;
        work_in(gateway, staff.manager.as_ref(), lesson, &mut digest, options).await?;
        gateway.apply(done)?;
    }
    // A cleaning that was cut off is taken up by the trajectory that had begun it, and by no earlier one.
    let causes = gateway.state().causes.iter();
    let last = causes.filter(|(cause, _)| cause.stage == Stage::Learn).map(|(_, operation)| *operation).max();
    let due = gateway.state().learned_since_cleaning >= options.clean.every.max(1);
    if due && (learned.is_none() || learned == last) {
        digest.decisions.extend(clean(gateway, staff, lesson, options).await?);
    }
    Ok(digest)
}

/// Counts a reflection, and has its items decided: first the reviews that the table sends on, then learnings.
async fn work_in(
    gateway: &mut Gateway,
    manager: &dyn ChatModel,
    lesson: &Lesson<'_>,
    digest: &mut Digest,
    options: &LearnOptions,
) -> Result<(), DigestError> {
    let handled = handle(gateway, lesson, &digest.checked, &options.handler)?;
    digest.refusals = handled.refusals;
    let reviews = handled.forward.iter().map(|(received, review)| Matter::Review(received, review));
    let learnings = digest.checked.learnings.iter().enumerate();
    let learnings = learnings.map(|(place, learning)| Matter::Learning(place, learning));
    for matter in reviews.chain(learnings) {
        if matches!(&matter, Matter::Review(received, _) if gateway.state().resolve(received).is_none()) {
            continue;
        }
        digest.decisions.push(decide(gateway, manager, lesson, &matter, options).await?);
    }
    Ok(())
}

/// Works a reflection in that somebody else wrote, on its own word: there is no trace to hold it against.
pub async fn digest_given(
    gateway: &mut Gateway,
    manager: &dyn ChatModel,
    lesson: &Lesson<'_>,
    reflection: TrajectoryReflection,
    options: &LearnOptions,
) -> Result<Digest, DigestError> {
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
            let checked = check(reflection, lesson.trajectory, Grounds::Word, options.reflect.max_learnings);
            keep(gateway, lesson, (ReflectMode::Given, None), checked)?
        }
    };
    work_in(gateway, manager, lesson, &mut digest, options).await?;
    gateway.apply(done)?;
    Ok(digest)
}

/// Cleans: finds what stands out, has it decided, looks again; until nothing new stands out.
pub async fn clean(
    gateway: &mut Gateway,
    staff: &Staff,
    lesson: &Lesson<'_>,
    options: &LearnOptions,
) -> Result<Vec<Decision>, DigestError> {
    let mut decisions: Vec<Decision> = Vec::new();
    loop {
        // Without an answer of the embedder words decide alone.
        let sense = match gateway.meaning() {
            Some(meaning) => Some(Sense::of(gateway.state(), meaning).await),
            None => None,
        };
        if let Some(Err(error)) = &sense {
            let why = BoundedText::cut(&error.to_string(), WHY).as_str().to_owned();
            let change = Change::CleanupByWords { why };
            gateway.apply(lesson.request(Actor::Cleaner, Stage::Clean, "by_words".to_owned(), change))?;
        }
        let sense = sense.and_then(Result::ok);
        let tasks = scan(gateway.state(), &options.clean, sense.as_ref());
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
        let matter = Matter::Cleanup(&task, &options.clean);
        decisions.push(decide(gateway, staff.manager.as_ref(), lesson, &matter, options).await?);
    }
    let change = Change::CleanupFinished;
    gateway.apply(lesson.request(Actor::Cleaner, Stage::Clean, String::new(), change))?;
    Ok(decisions)
}

/// The reflection of a trajectory: from the log if it is there, else asked for, checked, sifted and kept.
async fn reflected(
    gateway: &mut Gateway,
    staff: &Staff,
    lesson: &Lesson<'_>,
    options: &LearnOptions,
) -> Result<(Checked, Option<Way>), DigestError> {
    let trajectory = lesson.trajectory;
    if let Some(known) = gateway.state().reflections.get(&trajectory.id) {
        return Ok((known.clone(), None));
    }
    let (answer, mode) = asked(staff.reflector.as_ref(), lesson, &options.reflect).await;
    let (reflection, unusable) = match answer {
        Ok(reflected) => (reflected.reflection, None),
        Err(problem @ (ReflectError::Unusable { .. } | ReflectError::Full)) => {
            (TrajectoryReflection::default(), Some(problem.to_string()))
        }
        Err(ReflectError::Model(source)) => {
            return Err(DigestError::Reflect { trajectory: trajectory.id.clone(), source });
        }
        Err(ReflectError::Material(source)) => return Err(source.into()),
    };
    let mut checked = check(reflection, trajectory, Grounds::Trace, options.reflect.max_learnings);
    let unusable = unusable.map(|why| Dropped::Refused { place: "the reflection".to_owned(), why });
    checked.dropped.extend(unusable);
    Ok((keep(gateway, lesson, mode.clone(), checked)?, Some(mode)))
}

/// Asks for a reflection in the way that was chosen, and a reader where that way is barred.
async fn asked(
    reflector: &dyn ChatModel,
    lesson: &Lesson<'_>,
    options: &ReflectOptions,
) -> (Result<Reflected, ReflectError>, Way) {
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

/// Writes a checked reflection down, without what no skill may hold.
fn keep(
    gateway: &mut Gateway,
    lesson: &Lesson<'_>,
    (mode, fallback): Way,
    checked: Checked,
) -> Result<Checked, WriteRefusal> {
    let checked = checked.sifted(|text| gateway.objection(text).map(|(_, why)| why));
    let change = Change::TrajectoryReflected { mode, fallback, checked: checked.clone() };
    let request = lesson.request(Actor::Learner, Stage::Reflect, String::new(), change);
    write(gateway, request, None, &mut Vec::new())?;
    Ok(checked)
}

async fn decide(
    gateway: &mut Gateway,
    manager: &dyn ChatModel,
    lesson: &Lesson<'_>,
    matter: &Matter<'_>,
    options: &LearnOptions,
) -> Result<Decision, DigestError> {
    manage(manager, gateway, lesson, matter, &options.manage)
        .await
        .map_err(|source| DigestError::Manage { trajectory: lesson.trajectory.id.clone(), source })
}
