//! Records which skills an attempt received, which is what verification counts.

use apprentice_skillbook::{Actor, Applied, Change, Gateway, ReceivedSkill, Stage, WriteRefusal, hash};

use crate::adherence::adherence;
use crate::apply_reviews::LearningInput;

/// Length of a template's hash, in characters.
const HASH_CHARS: usize = 16;

/// Records which skills an attempt at a task of this template received and whether it followed them. Repeated calls for
/// the same attempt record it once.
pub fn note_trial(
    gateway: &mut Gateway,
    input: &LearningInput<'_>,
    template: &str,
) -> Result<Applied, WriteRefusal> {
    let trajectory = input.trajectory;
    let tried = trajectory.skills.iter().map(|received| ReceivedSkill {
        skill: received.id.clone(),
        version: received.version,
        followed: adherence(&received.text, &trajectory.steps, received.step).verdict(),
    });
    let short = |text: &str| {
        let mut hash = hash(text.as_bytes());
        hash.truncate(HASH_CHARS);
        hash
    };
    let (template, variation) = (short(template), Some(short(&trajectory.goal)));
    let change = Change::SkillsTried { template, variation, skills: tried.collect(), passed: input.passed() };
    gateway.apply(input.request(Actor::Handler, Stage::Handle, "trial".to_owned(), change))
}
