//! Validates a change before it is written: shape, size, permissions and references.

use apprentice_protocol::SkillId;

use crate::log::change::Change;
use crate::replay::state::State;
use crate::skill::figure::{check_references, figure_refs};
use crate::skill::function_check;
use crate::skill::model::{Actor, NewDomain, OpId, Origin, SkillText};
use crate::skill::page::is_own_heading;
use crate::skill::record::Skill;
use crate::skill::shipped_id::is_shipped;
use crate::skill::short_steps::{prose_of, written_steps};

/// Prefix of the names of skills that agents publish on their own.
const OWN_PREFIX: &str = "rl-";

const DESCRIPTION_CAP: usize = 160;
const SITUATION_CAP: usize = 1500;
const GUIDANCE_CAP: usize = 3600;
/// Cap for the guidance of imported packages, which keep their own text.
const IMPORTED_CAP: usize = 10_500;
const NOTE_CAP: usize = 500;

/// A refusal: a code for programs and a sentence for the writer.
pub(crate) type Fault = (&'static str, String);

pub(crate) fn validate(state: &State, actor: Actor, change: &Change) -> Result<(), Fault> {
    if !may(actor, change) {
        return Err(("not_permitted", format!("{actor:?} may not make this change")));
    }
    if actor == Actor::Background {
        in_background(state, change)?;
    }
    check(state, actor, change)
}

/// Checks shape, size and references.
fn check(state: &State, actor: Actor, change: &Change) -> Result<(), Fault> {
    match change {
        Change::DomainCreated(domain) => new_domain(state, &domain.domain, &domain.description),
        Change::SkillCreated { skill, text, domain, origin, .. } => {
            in_domain(state, skill, domain.as_ref())?;
            not_shipped(state, actor, skill)?;
            if state.skills.contains_key(skill) {
                return Err(("exists", format!("{skill} exists already; update it or choose another name")));
            }
            texts(text, if *origin == Origin::Imported { IMPORTED_CAP } else { GUIDANCE_CAP })
        }
        Change::SkillPublished { skill, text, domain, .. } => {
            in_domain(state, skill, domain.as_ref())?;
            not_shipped(state, actor, skill)?;
            texts(text, IMPORTED_CAP)
        }
        Change::SkillUpdated { skill, description, situation, guidance } => {
            updated(live(state, skill)?, skill, [description, situation, guidance])
        }
        Change::SkillMerged { source, target, text } => {
            live(state, source)?;
            live(state, target)?;
            if source == target {
                return Err(("same_skill", format!("{source} cannot be merged into itself")));
            }
            texts(text, GUIDANCE_CAP)
        }
        Change::SkillAnnotated { skill, note } => {
            live(state, skill)?;
            one_line("annotation", note, NOTE_CAP)
        }
        Change::SkillSuspended { .. } | Change::SkillResumed { .. } => suspension(state, change),
        Change::SkillDeleted { skill }
        | Change::SkillReviewed { skill, .. }
        | Change::PackageAttached { skill, .. }
        | Change::SkillRenamed { from: skill, .. }
        | Change::SkillEdited { skill, .. } => live(state, skill).map(|_| ()),
        Change::FunctionWritten { .. } | Change::FunctionTested { .. } | Change::FunctionRetired { .. } => {
            validate_function(state, change)
        }
        Change::TrajectoryReflected { .. }
        | Change::CandidateRecorded { .. }
        | Change::ItemClosed { .. }
        | Change::PairKept { .. }
        | Change::CleanupFlagged { .. }
        | Change::CleanupByWords { .. }
        | Change::SkillsTried { .. }
        | Change::TrajectoryLearned
        | Change::CleanupFinished
        | Change::AttemptJudged(_)
        | Change::SuspicionKept { .. }
        | Change::ItemHeldBack { .. }
        | Change::Reverted { .. } => Ok(()),
        Change::ProposalRefused { proposal, why } => refused_proposal(state, *proposal, why),
        // Only the gateway makes a proposal, from a change that it could write.
        Change::WriteProposed { .. } => Err(("not_permitted", "a proposal is not proposed".to_owned())),
        Change::Unknown { op, .. } => Err(("unknown_operation", format!("{op:?} is not of this version"))),
    }
}

fn suspension(state: &State, change: &Change) -> Result<(), Fault> {
    match change {
        Change::SkillSuspended { skill, why } => {
            live(state, skill)?;
            one_line("reason", why, NOTE_CAP)
        }
        Change::SkillResumed { skill } => match live(state, skill) {
            Ok(_) if !state.is_suspended(skill) => {
                Err(("not_suspended", format!("{skill} is not suspended")))
            }
            other => other.map(|_| ()),
        },
        _ => Ok(()),
    }
}

/// Nobody sits beside a background review: it creates learned skills under the prefix of agents' own, and changes only
/// what was learned and no person has rewritten.
fn in_background(state: &State, change: &Change) -> Result<(), Fault> {
    let refused = |why: String| Err(("not_permitted", why));
    match change {
        Change::SkillCreated { origin, .. } if *origin != Origin::Learned => {
            refused("a review creates learned skills only".to_owned())
        }
        Change::SkillCreated { skill, .. } if !skill.slug().starts_with(OWN_PREFIX) => {
            refused(format!("{skill}: a skill of a review is named {OWN_PREFIX}…"))
        }
        Change::SkillUpdated { skill, .. } => match state.skills.get(skill) {
            Some(known) if known.origin != Origin::Learned || known.by_person => {
                refused(format!("{skill} was not learned, or a person has rewritten it; a review leaves it"))
            }
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

fn refused_proposal(state: &State, proposal: OpId, why: &str) -> Result<(), Fault> {
    if !state.proposals.contains_key(&proposal) {
        Err(unknown_proposal(state, proposal))
    } else if why.is_empty() {
        Ok(())
    } else {
        one_line("reason", why, NOTE_CAP)
    }
}

fn validate_function(state: &State, change: &Change) -> Result<(), Fault> {
    match change {
        Change::FunctionWritten { skill, function, source, .. } => {
            function_check::written(live_skill(state, skill)?, function, source)
        }
        Change::FunctionTested { skill, function, version, .. } => {
            function_check::check_version(live_skill(state, skill)?, function, Some(*version))
        }
        Change::FunctionRetired { skill, function, why } => {
            function_check::check_version(live_skill(state, skill)?, function, None)?;
            one_line("reason", why, NOTE_CAP)
        }
        _ => Ok(()),
    }
}

fn updated(existing: &SkillText, skill: &SkillId, parts: [&Option<String>; 3]) -> Result<(), Fault> {
    let [description, situation, guidance] = parts;
    if parts.iter().all(|part| part.is_none()) {
        return Err(("no_change", format!("nothing is given to change in {skill}")));
    }
    // A part that stays may be longer than the cap for new text.
    let cap = if guidance.is_some() { GUIDANCE_CAP } else { IMPORTED_CAP };
    let or = |part: &Option<String>, existing: &String| part.as_ref().unwrap_or(existing).clone();
    let text = SkillText {
        description: or(description, &existing.description),
        situation: or(situation, &existing.situation),
        guidance: or(guidance, &existing.guidance),
    };
    texts(&text, cap)
}

/// Returns whether an actor may make a change.
fn may(actor: Actor, change: &Change) -> bool {
    match change {
        Change::SkillReviewed { .. } | Change::SkillsTried { .. } => matches!(actor, Actor::Handler),
        Change::SkillAnnotated { .. } => {
            matches!(actor, Actor::Handler | Actor::Manager | Actor::Cleaner | Actor::Agent | Actor::Human)
        }
        Change::SkillPublished { .. } => actor == Actor::Agent,
        Change::FunctionWritten { .. } | Change::FunctionRetired { .. } => {
            matches!(actor, Actor::Manager | Actor::Cleaner | Actor::Human)
        }
        Change::FunctionTested { .. } => matches!(actor, Actor::Handler | Actor::Human),
        Change::SkillCreated { .. } | Change::SkillUpdated { .. } if actor == Actor::Background => true,
        Change::SkillCreated { .. } | Change::SkillUpdated { .. } | Change::SkillDeleted { .. } => {
            matches!(actor, Actor::Manager | Actor::Cleaner | Actor::Agent | Actor::Human)
        }
        Change::DomainCreated(_) | Change::SkillMerged { .. } => {
            matches!(actor, Actor::Manager | Actor::Cleaner | Actor::Human)
        }
        // The program suspends on an agent's report; a person may, too.
        Change::SkillSuspended { .. } => matches!(actor, Actor::Handler | Actor::Human),
        Change::SkillEdited { .. }
        | Change::SkillResumed { .. }
        | Change::SkillRenamed { .. }
        | Change::Reverted { .. }
        | Change::ProposalRefused { .. }
        | Change::PackageAttached { .. } => actor == Actor::Human,
        Change::PairKept { .. }
        | Change::CleanupFlagged { .. }
        | Change::CleanupByWords { .. }
        | Change::CleanupFinished => matches!(actor, Actor::Cleaner),
        Change::TrajectoryReflected { .. } | Change::CandidateRecorded { .. } | Change::TrajectoryLearned => {
            actor == Actor::Learner
        }
        Change::AttemptJudged(_) => matches!(actor, Actor::Learner | Actor::Human),
        Change::ItemClosed { .. } | Change::SuspicionKept { .. } => {
            matches!(actor, Actor::Manager | Actor::Cleaner)
        }
        Change::ItemHeldBack { .. } => matches!(actor, Actor::Handler | Actor::Manager),
        Change::WriteProposed { .. } | Change::Unknown { .. } => true,
    }
}

/// Checks that the skill's domain exists or is created with it.
fn in_domain(state: &State, skill: &SkillId, domain: Option<&NewDomain>) -> Result<(), Fault> {
    if let Some(domain) = domain {
        new_domain(state, &domain.domain, &domain.description)?;
        if domain.domain != skill.domain() {
            return Err(("wrong_domain", format!("{skill} is not in domain {}", domain.domain)));
        }
    } else if !state.domains.contains_key(skill.domain()) {
        let domains = state.domains.keys().cloned().collect::<Vec<_>>().join(", ");
        let why = format!(
            "there is no domain {:?}; call create_domain first, or use one of: {domains}",
            skill.domain()
        );
        return Err(("unknown_domain", why));
    }
    Ok(())
}

/// Refuses changes to shipped skills. A book may contain a copy that a person imported.
fn not_shipped(state: &State, actor: Actor, skill: &SkillId) -> Result<(), Fault> {
    if actor == Actor::Human || state.skills.contains_key(skill) || !is_shipped(skill) {
        return Ok(());
    }
    Err(("read_only", format!("{skill} came with the program and is not changed; choose another name")))
}

fn live<'a>(state: &'a State, skill: &SkillId) -> Result<&'a SkillText, Fault> {
    live_skill(state, skill).map(|existing| &existing.text)
}

fn live_skill<'a>(state: &'a State, skill: &SkillId) -> Result<&'a Skill, Fault> {
    if let Some(known) = state.skills.get(skill) {
        return Ok(known);
    }
    if is_shipped(skill) && state.resolve(skill).is_none() {
        return Err(("read_only", format!("{skill} came with the program and is not changed")));
    }
    let why = match state.resolve(skill) {
        Some(now) => format!("{skill} is gone; its knowledge is in {}", now.id),
        None => format!("there is no skill {skill}"),
    };
    Err(("unknown_skill", why))
}

fn new_domain(state: &State, domain: &str, description: &str) -> Result<(), Fault> {
    if !SkillId::is_slug(domain) {
        return Err((
            "bad_name",
            format!("{domain:?} is no domain; use lower-case letters, digits and hyphens"),
        ));
    }
    if state.domains.contains_key(domain) {
        return Err(("exists", format!("the domain {domain} exists already; create the skill in it")));
    }
    one_line("description", description, DESCRIPTION_CAP)
}

fn texts(text: &SkillText, guidance_cap: usize) -> Result<(), Fault> {
    one_line("description", &text.description, DESCRIPTION_CAP)?;
    // Short steps have limits of their own, and are read in place of the prose.
    let prose = prose_of(&text.guidance);
    for (name, body, cap) in
        [("situation", &text.situation, SITUATION_CAP), ("guidance", &prose, guidance_cap)]
    {
        sized(name, body, cap)?;
    }
    written_steps(&text.guidance).map_err(|error| ("short_steps", error.to_string()))?;
    headings(text)?;
    for body in [&text.description, &text.situation] {
        if !figure_refs(body).is_empty() {
            return Err(("figure_reference", "figures stand in the guidance, beside their step".to_owned()));
        }
    }
    check_references(&text.guidance)
}

/// Checks the headings of a page's texts: none in the situation; in the guidance further ones, below its first words,
/// that read as none of the page's own.
fn headings(text: &SkillText) -> Result<(), Fault> {
    let is_heading = |line: &&str| line.starts_with("## ") || line.trim_end() == "##";
    if text.situation.lines().any(|line| is_heading(&line) || is_own_heading(line)) {
        return Err(("heading", "the situation must not hold a line that begins with \"## \"".to_owned()));
    }
    if let Some(line) = text.guidance.lines().find(|line| is_own_heading(line)) {
        let why = format!("the guidance must not hold the line {line:?}: the page itself has that heading");
        return Err(("heading", why));
    }
    let first = text.guidance.lines().find(|line| !line.trim().is_empty());
    if first.is_some_and(|line| is_heading(&line)) {
        let why = "the guidance begins with what to do; further headings come after it".to_owned();
        return Err(("heading", why));
    }
    Ok(())
}

fn one_line(name: &str, text: &str, cap: usize) -> Result<(), Fault> {
    sized(name, text, cap)?;
    if text.contains('\n') { Err(("line_break", format!("the {name} must be one line"))) } else { Ok(()) }
}

fn sized(name: &str, text: &str, cap: usize) -> Result<(), Fault> {
    let length = text.chars().count();
    if text.trim().is_empty() {
        return Err(("empty", format!("the {name} is empty")));
    }
    if length > cap {
        return Err(("too_long", format!("the {name} has {length} characters; at most {cap} fit")));
    }
    if text.chars().any(|c| c.is_control() && c != '\n' && c != '\t') {
        return Err(("control_character", format!("the {name} holds control characters")));
    }
    Ok(())
}

/// Returns the refusal for an id under which no proposal waits.
pub(crate) fn unknown_proposal(state: &State, id: OpId) -> Fault {
    let waiting: Vec<String> = state.proposals.keys().map(ToString::to_string).collect();
    let waiting = if waiting.is_empty() {
        "no proposal is waiting".to_owned()
    } else {
        format!("waiting: {}", waiting.join(", "))
    };
    ("unknown_proposal", format!("{id} is not a waiting proposal; {waiting}"))
}
