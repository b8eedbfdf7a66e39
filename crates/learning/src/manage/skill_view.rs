//! A skill as the manager's tools show it.

use std::collections::BTreeMap;

use apprentice_skillbook::{Skill, VersionEvidence};
use serde_json::{Value, json};

/// Returns a skill with its text, notes, counters and versions.
pub(super) fn shown(skill: &Skill) -> Value {
    let counts = |consumer: &str| json!(skill.counts(Some(consumer)));
    let consumers: BTreeMap<&str, Value> = skill
        .counters
        .keys()
        .filter(|(version, _)| *version == skill.version)
        .map(|(_, consumer)| (consumer.as_str(), counts(consumer)))
        .collect();
    let mut shown = json!({
        "skill_id": skill.id,
        "version": skill.version,
        "description": skill.text.description,
        "situation": skill.text.situation,
        "guidance": skill.text.guidance,
        "annotations": skill.page().annotations,
        "metrics": { "all": skill.counts(None), "by_consumer": consumers },
        "helped": skill.remarks.iter().rev().filter_map(helped).take(3).collect::<Vec<_>>(),
    });
    let seen = |evidence: &VersionEvidence| format!("{} {}", evidence.app, evidence.app_version);
    let seen_on: Vec<String> = skill.confirmed_versions().into_iter().map(seen).collect();
    if !seen_on.is_empty() {
        shown["seen_on"] = json!(seen_on);
    }
    shown
}

fn helped(remark: &apprentice_skillbook::ReviewRemark) -> Option<&str> {
    match &remark.review {
        apprentice_skillbook::review::SkillReview::Positive(review) => Some(&review.what_helped),
        apprentice_skillbook::review::SkillReview::Negative(_)
        | apprentice_skillbook::review::SkillReview::Neutral(_)
        | apprentice_skillbook::review::SkillReview::NotFollowed(_) => None,
    }
}
