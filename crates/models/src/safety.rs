//! Policies for a provider's pending safety checks, which need a confirmation before an action.

use std::sync::Arc;

use apprentice_protocol::BoxFuture;

/// Asks a person for confirmation.
pub trait Approver: Send + Sync {
    /// Returns whether the model may continue, given the provider's concerns in words. Dropping the future means no.
    fn approve<'a>(&'a self, concerns: &'a [String]) -> BoxFuture<'a, bool>;
}

/// Who confirms a safety check.
#[derive(Clone, Default)]
pub enum SafetyPolicy {
    /// Every check is declined, which ends the attempt.
    #[default]
    Refuse,
    /// The user acknowledged every check in advance. Suits worlds in which no harm can be done.
    Acknowledge,
    /// A person confirms each check.
    Ask(Arc<dyn Approver>),
}

impl std::fmt::Debug for SafetyPolicy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Refuse => "Refuse",
            Self::Acknowledge => "Acknowledge",
            Self::Ask(_) => "Ask",
        })
    }
}

impl SafetyPolicy {
    /// Returns whether the model may continue.
    pub(crate) async fn allows(&self, concerns: &[String]) -> bool {
        match self {
            _ if concerns.is_empty() => true,
            Self::Refuse => false,
            Self::Acknowledge => true,
            Self::Ask(approver) => approver.approve(concerns).await,
        }
    }
}
