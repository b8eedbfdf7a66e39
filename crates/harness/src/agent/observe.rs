//! Observes the world, and adds the guidance for an observation.

use std::time::Duration;

use apprentice_protocol::{BoundedText, Content, EventKind, StepRef, TreeBudget, View, Want};

use super::agent_loop::AgentLoop;
use super::model_view::ModelView;
use super::picture::Picture;
use super::stop::{Stop, off_thread, world};
use super::{picture, prompt};

impl AgentLoop<'_> {
    /// Observes the world, once per batch.
    pub(super) async fn look(&mut self) -> Result<ModelView, Stop> {
        let begun = self.attempt.clock.mono();
        let rule = self.attempt.model.profile().images;
        let whole = self.attempt.header.world.screen.screen();
        let pictures = picture::fit(&rule, whole).is_some();
        // The trace keeps a screenshot for human readers even when the model takes no pictures.
        let want = Want { screenshot: true, tree: Some(TreeBudget::default()) };
        let observation = world(&self.attempt.cancel, self.environment.observe(want)).await??;
        let shot = observation.screenshot.clone().filter(|_| pictures);
        let screen = shot.as_ref().map_or(whole, |image| image.size);
        let size = picture::fit(&rule, screen).unwrap_or(screen);
        let shown = match shot {
            Some(image) => Some(off_thread(move || Picture::of(&image, size)).await?),
            None => None,
        };
        let view = View { image: size, space: self.attempt.model.profile().space, ..View::whole(screen) };
        let mut sight = ModelView::new(observation, shown, view);
        self.tell(&mut sight);
        self.record_observation(&sight, begun)?;
        self.record_connections()?;
        Ok(sight)
    }

    /// Records the connections that the world's programs asked for since the last view.
    fn record_connections(&mut self) -> Result<(), Stop> {
        let report = self.environment.take_connections();
        if report.is_empty() { Ok(()) } else { self.emit(EventKind::Connections(report)) }
    }

    fn record_observation(&mut self, sight: &ModelView, begun: Duration) -> Result<(), Stop> {
        let picture = sight.picture.as_ref().map(|picture| &picture.exact);
        let picture = picture.or(sight.observation.screenshot.as_ref());
        let screenshot = picture.map(|image| self.sink.keep(&image.bytes.0, "png"));
        let has_tree = sight.observation.tree.is_some();
        let outline = has_tree.then(|| self.sink.keep(sight.outline.as_str().as_bytes(), "txt"));
        let shown = sight.told.as_ref().map(|told| self.sink.keep(told.as_str().as_bytes(), "txt"));
        self.emit(EventKind::Observed {
            title: sight.observation.title().to_owned(),
            focused: sight.focused(),
            screenshot: screenshot.transpose()?,
            outline: outline.transpose()?,
            shown: shown.transpose()?,
            view: sight.view,
            took_ms: self.since(begun),
        })
    }

    /// Returns what the guidance adds to the next user turn.
    pub(super) fn refresh(&mut self, sight: &ModelView) -> Result<Option<Content>, Stop> {
        let Some(refresh) = &self.attempt.guidance.refresh else { return Ok(None) };
        let refreshed = refresh.refresh(StepRef { step: self.step }, &sight.observation);
        let Some((text, events)) = refreshed.filter(|(text, _)| !text.is_empty()) else { return Ok(None) };
        let advice = prompt::advice(&text);
        self.emit(EventKind::Notice { content: vec![advice.clone()] })?;
        // The events count the parts of the text that they are about; what stands around these is counted here.
        let before = self.delivered_chars;
        self.emit_all(events)?;
        let counted = self.delivered_chars - before;
        self.delivered_chars += (text.as_str().chars().count() as u64).saturating_sub(counted);
        Ok(Some(advice))
    }

    pub(super) fn deliver(&mut self, text: &BoundedText, content: Vec<Content>) -> Result<(), Stop> {
        self.delivered_chars += text.as_str().chars().count() as u64;
        self.emit(EventKind::Notice { content })
    }
}
