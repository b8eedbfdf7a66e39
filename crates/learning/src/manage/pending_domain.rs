//! A domain that the manager opens for the skill that it creates next.

use apprentice_skillbook::NewDomain;

use super::tools::ToolCall;

/// A new domain that waits for its first skill.
pub(super) struct PendingDomain {
    pub(super) domain: NewDomain,
    /// True if its skill was refused. The domain then no longer counts as the item's change.
    pub(super) refused: bool,
}

impl PendingDomain {
    /// Returns whether a call creates the skill that the domain waits for.
    pub(super) fn awaits(&self, call: &ToolCall) -> bool {
        matches!(call, ToolCall::Create(creation) if creation.domain == self.domain.domain)
    }
}
