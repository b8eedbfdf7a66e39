//! The port through which learning gets figures: whoever has an attempt's pictures cuts them.

use std::fmt;

use apprentice_skillbook::NewFigure;
use apprentice_skillbook::review::LearningFigure;

/// Cuts figures from the pictures of one attempt.
pub trait FigureSource: fmt::Debug + Sync {
    /// Cuts a figure and marks its place. Refuses what is not there, with a code and the reason.
    fn cut(&self, figure: &LearningFigure) -> Result<NewFigure, (&'static str, String)>;
}
