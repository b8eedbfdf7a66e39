//! What a trajectory analysis yields: the surfaces that contributed, the actions performed there, and the wasted
//! steps.

use apprentice_protocol::StepId;

use super::text_match::same_label;

/// An action performed on a surface.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum SurfaceAction {
    /// Chose a command or a list entry with this label.
    Choose(String),
    /// Toggled the switch with this label.
    Switch(String),
    /// Typed a value into the field with this label.
    Fill(String),
    /// Pressed the button with this label.
    Press(String),
    /// Pressed this key or chord.
    Key(String),
}

impl SurfaceAction {
    /// Returns the label of the target; empty for an unnamed field.
    pub(super) fn label(&self) -> &str {
        match self {
            Self::Choose(label)
            | Self::Switch(label)
            | Self::Fill(label)
            | Self::Press(label)
            | Self::Key(label) => label,
        }
    }
}

/// A surface that contributed to the outcome: the route to it and the actions performed there.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Visit {
    /// Labels pressed to reach the surface, in order.
    pub(super) way: Vec<String>,
    /// Whether the route starts at a context menu.
    pub(super) by_context: bool,
    /// Actions performed on the surface, in order.
    pub(super) actions: Vec<SurfaceAction>,
    /// Other labels visible on the surface.
    pub(super) beside: Vec<String>,
    /// Prerequisites: actions, with their routes, that had to come before.
    pub(super) first: Vec<(Vec<String>, SurfaceAction)>,
    /// Commands that were disabled earlier, including the last leg of the route.
    pub(super) barred: Vec<String>,
    /// Whether the whole text was selected before.
    pub(super) whole: bool,
    /// Number of steps wasted before this visit.
    pub(super) wasted: u32,
    /// The steps that serve as evidence.
    pub(super) evidence: Vec<StepId>,
}

/// The result of analyzing a trajectory.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct AttemptSummary {
    /// The surfaces that contributed, in order.
    pub(super) visits: Vec<Visit>,
    /// Labels whose presses led nowhere.
    pub(super) dead_ends: Vec<String>,
    /// Every label or address used.
    pub(super) pressed: Vec<String>,
}

impl AttemptSummary {
    /// Merges prerequisites: a switch that the task does not ask for, toggled before another visit, becomes a
    /// prerequisite of that visit.
    pub(super) fn merge_prerequisites(mut self, asked: impl Fn(&str) -> bool) -> Self {
        let mut joined: Vec<Visit> = Vec::new();
        let mut first: Vec<Visit> = Vec::new();
        let last = self.visits.len().saturating_sub(1);
        for (at, mut visit) in std::mem::take(&mut self.visits).into_iter().enumerate() {
            let alone = matches!(visit.actions.as_slice(), [SurfaceAction::Switch(label)] if !asked(label));
            if alone && at < last && !visit.by_context {
                first.push(visit);
                continue;
            }
            for before in first.drain(..) {
                visit.wasted += before.wasted;
                visit.evidence.splice(0..0, before.evidence);
                visit.first.extend(before.actions.into_iter().map(|action| (before.way.clone(), action)));
            }
            visit.barred.retain(|_| !visit.first.is_empty());
            joined.push(visit);
        }
        Self { visits: joined, ..self }
    }

    /// Returns whether a label was pressed.
    pub(super) fn has_pressed(&self, label: &str) -> bool {
        self.pressed.iter().any(|pressed| same_label(pressed, label))
    }
}
