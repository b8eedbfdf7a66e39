//! What happens when a provider wants a person's word before an action.

use std::sync::Arc;

use apprentice_protocol::PortFuture;

/// Asks a person.
pub trait Approver: Send + Sync {
    /// Whether the model may go on, given the provider's concerns in words. Dropping the future means no.
    fn approve<'a>(&'a self, concerns: &'a [String]) -> PortFuture<'a, bool>;
}

/// Who gives the word.
#[derive(Clone, Default)]
pub enum SafetyPolicy {
    /// Nobody: the attempt ends as declined.
    #[default]
    Refuse,
    /// The user did, beforehand and for everything: right for worlds in which nothing can be broken.
    Acknowledge,
    /// A person, each time.
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
    /// Whether the model may go on.
    pub(crate) async fn allows(&self, concerns: &[String]) -> bool {
        match self {
            _ if concerns.is_empty() => true,
            Self::Refuse => false,
            Self::Acknowledge => true,
            Self::Ask(approver) => approver.approve(concerns).await,
        }
    }
}
