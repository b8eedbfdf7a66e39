//! Translates the calls of a recorded turn for a fresh world and another model: points into the space of the live
//! model, element references into those of the present outline.

use apprentice_protocol::{
    Action, Call, CallBody, ImagePoint, ModelProfile, NodeRef, Outline, OutlineNode, Size, Target, View,
};

use super::recorded::RecordedTurn;

/// Why a recorded turn cannot be replayed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ReplayError {
    /// A point has no counterpart in the live model's coordinate space.
    #[error(
        "step {step} cannot be replayed: its point ({x}, {y}) lies outside the recorded picture, and this model counts points differently"
    )]
    Point {
        /// The step.
        step: String,
        /// Horizontal coordinate in the recorded model's space.
        x: f64,
        /// Vertical coordinate in the recorded model's space.
        y: f64,
    },
    /// The element of an action is not there.
    #[error("{role} {name:?}, which step {step} acted on, is not on the screen")]
    Element {
        /// The step.
        step: String,
        /// The element's role.
        role: String,
        /// The element's name.
        name: String,
    },
}

/// Returns the view through which a live model would see the screen of a recorded view.
pub(super) fn live_view(recorded: &View, profile: &ModelProfile) -> View {
    let side = |length: i32| length.max(1).unsigned_abs();
    let screen = Size::new(side(recorded.region.width), side(recorded.region.height));
    View { image: profile.images.fit(screen).unwrap_or(screen), space: profile.space, ..*recorded }
}

/// Converts a point from one view of a screen to another. `None` if it lies outside.
fn convert(point: ImagePoint, from: &View, to: &View) -> Option<ImagePoint> {
    if from == to {
        return Some(point);
    }
    from.to_screen(point).ok().and_then(|pixel| to.to_image(pixel))
}

/// Translates the points of a turn for a live model.
pub(super) fn with_live_points(
    mut turn: RecordedTurn,
    profile: &ModelProfile,
) -> Result<RecordedTurn, ReplayError> {
    let (from, to) = (turn.screen.view, live_view(&turn.screen.view, profile));
    let step = turn.step.to_string();
    let outside = |point: ImagePoint| ReplayError::Point { step: step.clone(), x: point.x, y: point.y };
    for action in turn.calls.iter_mut().flat_map(actions) {
        *action =
            action.clone().try_map(&|point| convert(point, &from, &to).ok_or_else(|| outside(point)))?;
    }
    Ok(turn)
}

fn actions(call: &mut Call) -> &mut [Action<ImagePoint>] {
    match &mut call.body {
        CallBody::World { actions } => actions,
        CallBody::Tool { .. } | CallBody::Finish(_) | CallBody::Unusable { .. } => &mut [],
    }
}

/// Returns the calls of a turn with the references of the present outline. `present` is `None` when the live model
/// gets no outline; then an element becomes its recorded point. A reference that the record does not explain stays.
pub(super) fn present_calls(
    turn: &RecordedTurn,
    present: Option<&Outline>,
    profile: &ModelProfile,
) -> Result<Vec<Call>, ReplayError> {
    let recorded = turn.screen.outline.as_deref().map(Outline::parse).unwrap_or_default();
    let present_target = |target: Target<ImagePoint>| {
        let Target::Ref(node) = &target else { return Ok(target) };
        let found = match present {
            Some(present) => counterpart(turn, node, &recorded, present)?.map(Target::Ref),
            None => {
                let known = recorded.nodes.iter().find(|known| known.id == *node);
                let to = live_view(&turn.screen.view, profile);
                let point = known.and_then(|known| known.at);
                point.and_then(|point| convert(point, &turn.screen.view, &to)).map(Target::Point)
            }
        };
        Ok(found.unwrap_or(target))
    };
    let mut calls = turn.calls.clone();
    for action in calls.iter_mut().flat_map(actions) {
        *action = action.clone().try_map_targets(&present_target, &Ok)?;
    }
    Ok(calls)
}

/// Finds the element that a recorded reference stands for: the one with the same role and name, and of several the
/// one at the same place in their order.
fn counterpart(
    turn: &RecordedTurn,
    node: &NodeRef,
    recorded: &Outline,
    present: &Outline,
) -> Result<Option<NodeRef>, ReplayError> {
    let (role, name, place) = match recorded.nodes.iter().find(|known| known.id == *node) {
        Some(known) => {
            let before = recorded.nodes.iter().take_while(|other| other.id != *node);
            (
                known.role.clone(),
                known.name.clone(),
                before.filter(|other| is(other, &known.role, &known.name)).count(),
            )
        }
        None => match turn.targets.get(node) {
            Some((role, name)) => (role.clone(), name.clone(), 0),
            None => return Ok(None),
        },
    };
    let found = present.nodes.iter().filter(|other| is(other, &role, &name)).nth(place);
    match found {
        Some(found) => Ok(Some(found.id.clone())),
        None => Err(ReplayError::Element { step: turn.step.to_string(), role, name }),
    }
}

fn is(node: &OutlineNode, role: &str, name: &str) -> bool {
    node.role == role && node.name == name
}

#[cfg(test)]
mod tests;
