//! Routes of signals: the change that each may lead to, and the signals that an agent reported.

use apprentice_protocol::{Call, CallBody};
use serde::{Deserialize, Serialize};

use crate::foreground::{CreateTrigger, Effect, FinalReport, Issue, SKILL_REPORT};

/// The change that a candidate may lead to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "may_only", rename_all = "snake_case")]
pub enum Route {
    /// A new skill.
    Create {
        /// Why.
        trigger: CreateTrigger,
        /// A name for it, as the agent reported it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        package_name_hint: Option<String>,
    },
    /// A change of this skill.
    Patch {
        /// The skill, by its id or name.
        skill_name: String,
        /// The fault of the skill, if known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        issue: Option<Issue>,
        /// The observed effect of the fault.
        observed_effect: Effect,
    },
}

/// A signal that the agent reported in a turn.
#[derive(Clone, Debug, PartialEq)]
pub struct ReportedSignal {
    /// The change that it may lead to.
    pub route: Route,
    /// The events that it refers to.
    pub refs: Vec<String>,
    /// The agent's words.
    pub summary: String,
}

/// Returns the signal that a call reports, if it is a report with exactly one.
pub(super) fn reported_signal(call: &Call) -> Option<ReportedSignal> {
    let CallBody::Tool { name, arguments } = &call.body else { return None };
    let report: FinalReport =
        (name == SKILL_REPORT).then(|| serde_json::from_value(arguments.clone()).ok())??;
    match (report.learning_signal, report.skill_issue_signal) {
        (Some(signal), None) => Some(ReportedSignal {
            route: Route::Create {
                trigger: signal.trigger,
                package_name_hint: Some(signal.package_name_hint),
            },
            refs: signal.event_refs,
            summary: signal.summary,
        }),
        (None, Some(signal)) => Some(ReportedSignal {
            route: Route::Patch {
                skill_name: signal.skill_name,
                issue: Some(signal.issue),
                observed_effect: signal.observed_effect,
            },
            refs: signal.event_refs,
            summary: signal.patch_hint,
        }),
        _ => None,
    }
}
