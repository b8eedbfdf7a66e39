//! A recorded attempt up to the step where it forks.

use std::collections::BTreeMap;
use std::sync::Arc;

use apprentice_protocol::{BlobHash, Call, ImageBytes, NodeRef, RawContent, StepId, View};

/// A recorded attempt up to the step where it forks.
#[derive(Clone, Debug)]
pub struct ForkPoint {
    /// The turns before the fork, in order.
    pub turns: Vec<RecordedTurn>,
    /// The step from which the live model acts.
    pub step: StepId,
    /// What the recorded model saw at that step.
    pub screen: Arc<RecordedScreen>,
}

/// One recorded turn of a model.
#[derive(Clone, Debug)]
pub struct RecordedTurn {
    /// The step of the turn.
    pub step: StepId,
    /// What the model saw when it decided.
    pub screen: Arc<RecordedScreen>,
    /// The provider's original blocks.
    pub raw: RawContent,
    /// The text parts of the reply.
    pub say: Vec<String>,
    /// The calls of the reply.
    pub calls: Vec<Call>,
    /// Role and name of the elements that the turn's actions hit, by reference.
    pub targets: BTreeMap<NodeRef, (String, String)>,
}

/// One recorded observation.
#[derive(Clone, Debug)]
pub struct RecordedScreen {
    /// Title of the front window or tab; empty without one.
    pub title: String,
    /// The outline; `None` for a world without an interface tree.
    pub outline: Option<String>,
    /// The picture; `None` if none was recorded.
    pub picture: Option<RecordedPicture>,
    /// The view for interpreting the points of the turn.
    pub view: View,
}

/// A recorded picture, encoded as PNG.
#[derive(Clone, Debug)]
pub struct RecordedPicture {
    /// Hash of the encoded bytes.
    pub hash: BlobHash,
    /// The encoded bytes.
    pub png: ImageBytes,
}
