//! What an attempt's steps showed: which surfaces led somewhere, what was done there, and what was wasted.

use apprentice_protocol::StepId;

use super::words::same_label;

/// What was done on a surface.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Deed {
    /// A command or an entry of a list was chosen.
    Choose(String),
    /// A switch was turned.
    Switch(String),
    /// A value was typed into a field of this name.
    Fill(String),
    /// A button was pressed.
    Press(String),
    /// A key was pressed.
    Key(String),
}

impl Deed {
    /// The label it was done to; empty for a nameless field.
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

/// One surface that led somewhere: the way there and what was done on it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Visit {
    /// Labels pressed to get there, in order.
    pub(super) way: Vec<String>,
    /// Whether the way starts at a context menu.
    pub(super) by_context: bool,
    /// What was done there.
    pub(super) deeds: Vec<Deed>,
    /// Other labels that stood there.
    pub(super) beside: Vec<String>,
    /// What had to be done first, so that this could be done at all.
    pub(super) first: Vec<(Vec<String>, Deed)>,
    /// Commands that took no input before, the last leg of the way among them.
    pub(super) barred: Vec<String>,
    /// Whether the whole text was selected before.
    pub(super) whole: bool,
    /// Steps wasted before it.
    pub(super) wasted: u32,
    /// The steps that show it.
    pub(super) evidence: Vec<StepId>,
}

/// What a walk over the steps found.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Lesson {
    /// The surfaces that led somewhere, in order.
    pub(super) visits: Vec<Visit>,
    /// Labels that were pressed in vain.
    pub(super) in_vain: Vec<String>,
    /// Every label pressed.
    pub(super) pressed: Vec<String>,
}

impl Lesson {
    /// A switch that the task does not ask for, turned before something else, had to come first.
    pub(super) fn join(mut self, asked: impl Fn(&str) -> bool) -> Self {
        let mut joined: Vec<Visit> = Vec::new();
        let mut first: Vec<Visit> = Vec::new();
        let last = self.visits.len().saturating_sub(1);
        for (at, mut visit) in std::mem::take(&mut self.visits).into_iter().enumerate() {
            let alone = matches!(visit.deeds.as_slice(), [Deed::Switch(label)] if !asked(label));
            if alone && at < last && !visit.by_context {
                first.push(visit);
                continue;
            }
            for before in first.drain(..) {
                visit.wasted += before.wasted;
                visit.evidence.splice(0..0, before.evidence);
                visit.first.extend(before.deeds.into_iter().map(|deed| (before.way.clone(), deed)));
            }
            visit.barred.retain(|_| !visit.first.is_empty());
            joined.push(visit);
        }
        Self { visits: joined, ..self }
    }

    /// Whether a label was pressed.
    pub(super) fn has_pressed(&self, label: &str) -> bool {
        self.pressed.iter().any(|pressed| same_label(pressed, label))
    }
}
