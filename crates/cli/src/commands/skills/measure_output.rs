//! What `skills measure` says: the plan, the page, and their JSON.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use apprentice_measure::{Offer, SkillPage, markdown, summary_line};
use apprentice_protocol::counted;
use schemars::JsonSchema;
use serde::Serialize;

use crate::terminal;

/// The page as text, in the folder of the skill.
pub(super) const PAGE_TEXT: &str = "page.md";

/// The output of `skills measure --json`.
#[derive(Serialize, JsonSchema)]
pub(in super::super) struct Measured {
    pub(super) schema: &'static str,
    /// The folder of each skill that was measured, with its page.
    pub(super) skills: Vec<MeasuredFolder>,
    /// Skills that could not be measured, with the reason.
    pub(super) refused: Vec<RefusedSkill>,
}

/// A skill that was measured.
#[derive(Serialize, JsonSchema)]
pub(super) struct MeasuredFolder {
    /// The folder with its experiment and its page.
    pub(super) folder: PathBuf,
    pub(super) page: SkillPage,
}

/// A skill that could not be measured.
#[derive(Serialize, JsonSchema)]
pub(super) struct RefusedSkill {
    pub(super) name: String,
    pub(super) why: String,
}

/// The output of `skills measure --dry-run --json`.
#[derive(Serialize, JsonSchema)]
pub(in super::super) struct MeasurePlan {
    pub(super) schema: &'static str,
    pub(super) skills: Vec<PlannedSkill>,
    pub(super) refused: Vec<RefusedSkill>,
}

/// What would be measured of a skill.
#[derive(Serialize, JsonSchema)]
pub(super) struct PlannedSkill {
    pub(super) name: String,
    /// How the model gets it.
    pub(super) offer: Offer,
    /// Why it gets it so.
    pub(super) offer_because: String,
    pub(super) evals: usize,
    /// Evaluations that a verdict needs.
    pub(super) needed: usize,
    /// The smallest difference that four of five measurements of this size find, as a share; null where none is found.
    pub(super) smallest_effect: Option<f64>,
    pub(super) trials: usize,
    /// Evaluations that only ask whether the skill is read; each is one more attempt, with the skill alone.
    pub(super) triggers: usize,
    pub(super) left_out: BTreeMap<String, String>,
    pub(super) remarks: BTreeSet<String>,
}

pub(super) fn tell(planned: &PlannedSkill) {
    let PlannedSkill {
        name,
        offer,
        offer_because,
        evals,
        needed,
        smallest_effect,
        trials,
        triggers,
        left_out,
        remarks,
    } = planned;
    let (evals, trials) = (counted(*evals, "evaluation"), counted(*trials, "attempt"));
    terminal::note(format_args!("{name}: {evals}, {trials} (without it, with it, with an unrelated text)"));
    if *triggers > 0 {
        let asked = counted(*triggers, "more attempt");
        terminal::note(format_args!(
            "  and {asked} with the skill alone, to see whether it is read when it should be"
        ));
    }
    terminal::note(format_args!("  the model gets {}: {offer_because}", offer.words()));
    match smallest_effect {
        Some(least) => terminal::note(format_args!(
            "  this size finds a difference of {:.0} points four times of five",
            least * 100.0
        )),
        None => terminal::note(format_args!(
            "  no verdict is possible: at least {needed} evaluations are needed to tell a skill from chance"
        )),
    }
    for (id, why) in left_out {
        terminal::note(format_args!("  left out, evaluation {id}: {why}"));
    }
    for remark in remarks {
        terminal::note(format_args!("  note: {remark}"));
    }
}

pub(super) fn tell_refused(refused: &[RefusedSkill]) {
    for RefusedSkill { why, .. } in refused {
        terminal::note(format_args!("not measured: {why}"));
    }
}

pub(super) fn tell_pages(skills: &[MeasuredFolder]) {
    for MeasuredFolder { folder, page } in skills {
        terminal::line(format_args!("\n{}", markdown(page)));
        terminal::note(format_args!("page: {}", folder.join(PAGE_TEXT).display()));
    }
    if skills.len() > 1 {
        for one in skills {
            terminal::line(format_args!("{}", summary_line(&one.page)));
        }
    }
}
