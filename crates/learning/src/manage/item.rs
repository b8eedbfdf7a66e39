//! One item as the manager sees it: schema `manage.item.v2`. The program writes the envelope; the reflector or the
//! cleaner writes the payload. Items of `manage.item.v1` still parse.

use apprentice_protocol::{JudgedBy, SkillId, StepId, TrajectoryStep, Verdict, Versions};
use apprentice_screening::effect::Concern;
use apprentice_skillbook::OpId;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Schema name of the block.
pub const ITEM_SCHEMA: &str = "manage.item.v2";

/// Kind of item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InputType {
    /// New knowledge.
    Learning,
    /// A skill that caused trouble, with a correction.
    SkillNegative,
    /// A skill that changed little, with an improvement.
    SkillNeutral,
    /// A skill that the agent did not trust.
    SkillNotFollowed,
    /// A skill or pair that the counters single out.
    CleanupTask,
}

/// What the program knows about the support of an item. Which reports agree is for the reader to say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Corroboration {
    /// Number of separate attempts that make a pattern, including this one.
    pub needed: usize,
    /// Whether this attempt passed.
    #[serde(default)]
    pub this_attempt_passed: bool,
    /// Whether the menus, keys and labels that the correction names occur in this attempt's actions. A hint by words
    /// alone: it proves nothing. `None` if the correction names none.
    #[serde(default, alias = "proven_here", skip_serializing_if = "Option::is_none")]
    pub named_actions_done: Option<bool>,
}

/// Kind of an earlier report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReportKind {
    /// New knowledge from another attempt.
    Learning,
    /// The skill's present text caused trouble.
    SkillNegative,
    /// The skill's present text changed little.
    SkillNeutral,
    /// The skill's present text was not followed.
    SkillNotFollowed,
    /// The skill's present text helped.
    SkillPositive,
    /// A page of the book, in an item about two pages.
    Page,
}

/// What another attempt reported, in its own words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EarlierReport {
    /// The id by which it is cited: the operation that recorded it.
    #[schemars(with = "String")]
    pub id: OpId,
    /// Kind of report.
    pub kind: ReportKind,
    /// The attempt that reported it. `None` for pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<String>,
    /// Verdict on that attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// Who judged that attempt, if not the checks of a task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged_by: Option<JudgedBy>,
    /// Time of the report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub date: Option<Timestamp>,
    /// Program versions of that attempt, as far as known.
    #[serde(default, skip_serializing_if = "Versions::is_empty")]
    pub versions: Versions,
    /// The skill that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill_id: Option<SkillId>,
    /// The situation of a learning or page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub situation: Option<String>,
    /// What it reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub says: Option<String>,
    /// The guidance, correction, improvement or other way that it proposes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposes: Option<String>,
    /// Whether words of it are left out here. `read_reports` gives it whole.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// Why the gate holds its words back. They are not shown, and the report is cited on neither side.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held_back: Vec<Concern>,
}

impl EarlierReport {
    /// Returns whether its attempt is known to have passed.
    pub(super) fn passed(&self) -> bool {
        self.verdict == Some(Verdict::Pass) && self.judged_by.is_none_or(JudgedBy::is_evidence)
    }
}

/// A report that an item does not show. `read_reports` gives it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FartherReport {
    /// Its id.
    #[schemars(with = "String")]
    pub id: OpId,
    /// The beginning of its words. `None` if they are held back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begins: Option<String>,
}

/// A step of the attempt, with what it did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepDone {
    /// Id of the step.
    pub id: StepId,
    /// Its actions that were carried out.
    pub did: Vec<String>,
}

/// A domain of the book with the names of its skills.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DomainNames {
    /// Name of the domain.
    pub domain: String,
    /// Names of its skills, as far as they fit.
    pub skills: Vec<String>,
    /// Number of its skills that do not fit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// An item for the manager.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ManageItem {
    /// [`ITEM_SCHEMA`].
    pub schema: String,
    /// Kind of item.
    pub input_type: InputType,
    /// The trajectory that the item came from. `None` for cleanup tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trajectory_id: Option<String>,
    /// Who judged that attempt, if not the checks of a task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged_by: Option<JudgedBy>,
    /// Program versions of that attempt, as far as known.
    #[serde(default, skip_serializing_if = "Versions::is_empty")]
    pub versions: Versions,
    /// Steps that support the item.
    pub evidence_refs: Vec<StepId>,
    /// The first of these steps, as its reviewer saw them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence_steps: Vec<TrajectoryStep>,
    /// How well supported the item is.
    pub corroboration: Corroboration,
    /// Names of the write tools that need no citation.
    pub writes_allowed: Vec<String>,
    /// Names of the write tools that need citations.
    #[serde(default)]
    pub writes_with_citations: Vec<String>,
    /// Whether `update_skill` and `merge_skills` need no citation while they keep every line of the pages.
    #[serde(default)]
    pub adding_allowed: bool,
    /// The review, learning or cleanup task.
    pub payload: Value,
    /// What other attempts reported.
    #[serde(default)]
    pub earlier_reports: Vec<EarlierReport>,
    /// Further reports, nearest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub farther_reports: Vec<FartherReport>,
    /// Number of reports that are farther still and not named.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more_reports: usize,
    /// The shown and the named reports with all their words, for `read_reports`.
    #[serde(skip)]
    pub(super) whole_reports: Vec<EarlierReport>,
    /// The steps that `proved_by` may cite. Empty where no proof is accepted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepDone>,
    /// The domains of the book, with the names of their skills.
    #[serde(default)]
    pub domains: Vec<DomainNames>,
    /// Number of domains that do not fit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more_domains: usize,
    /// Remarks of the program on the item.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::ManageItem;

    #[test]
    fn an_item_of_the_first_version_still_parses() {
        let old = json!({
            "schema": "manage.item.v1", "input_type": "skill_negative", "trajectory_id": "run/t/1",
            "evidence_refs": ["s1"],
            "corroboration": {"reports": 2, "needed": 2, "conflicts": false, "proven_here": true},
            "writes_allowed": ["update_skill"], "payload": {"skill_id": "gimp/a"},
        });
        let item: ManageItem = serde_json::from_value(old).expect("parses");
        assert_eq!((item.corroboration.needed, item.corroboration.named_actions_done), (2, Some(true)));
        assert!(item.earlier_reports.is_empty() && !item.adding_allowed);
    }
}
