//! Observes the world, and adds the guidance for an observation.

use std::time::Duration;

use apprentice_protocol::{Content, Environment, EventKind, TreeBudget, View, ViewRule, Want};
use apprentice_secrets::contains_secret;

use crate::agent::attempt::AttemptInput;
use crate::agent::budget::Budget;
use crate::agent::journal::Journal;
use crate::agent::prompt;
use crate::agent::stop::{Stop, off_thread, world};
use crate::agent::view::delta_view;
use crate::agent::view::last_view::LastView;
use crate::agent::view::model_view::ModelView;
use crate::agent::view::picture::Picture;
use crate::agent::view::short_view::{self, Attempted};

/// The stage that observes: it may read the world, write the trace, and replace what the model was last shown.
pub(crate) struct Observer<'r, 'a> {
    pub(crate) attempt: &'r AttemptInput<'a>,
    pub(crate) environment: &'r mut dyn Environment,
    pub(crate) journal: &'r mut Journal<'a>,
    pub(crate) budget: &'r Budget<'a>,
    pub(crate) last_view: &'r mut LastView,
    /// All advice so far, which a short view lists by.
    pub(crate) advised: &'r mut String,
}

impl Observer<'_, '_> {
    /// Observes the world, once per batch.
    pub(crate) async fn observe(&mut self) -> Result<ModelView, Stop> {
        let begun = self.attempt.clock.mono();
        let profile = self.attempt.model.profile();
        let whole = self.attempt.header.world.screen.screen();
        let pictures = profile.images.fit(whole).is_some();
        // The trace keeps a screenshot for human readers even when the model takes no pictures.
        let want = Want { screenshot: true, tree: Some(TreeBudget::default()) };
        let observation = world(&self.attempt.cancel, self.environment.observe(want)).await??;
        let shot = observation.screenshot.clone().filter(|_| pictures);
        let screen = shot.as_ref().map_or(whole, |image| image.size);
        let size = profile.images.fit(screen).unwrap_or(screen);
        let shown = match shot {
            Some(image) => Some(off_thread(move || Picture::of(&image, size)).await?),
            None => None,
        };
        let mapping = View { image: size, space: profile.space, ..View::whole(screen) };
        let mut view = ModelView::new(observation, shown, mapping);
        let (limits, spent) = (&self.attempt.brief.limits, self.budget.spent());
        view.delta = match profile.views {
            ViewRule::Whole => None,
            ViewRule::Changes => Some(delta_view::write(&view, self.last_view, profile, limits, &spent)),
            ViewRule::Short => {
                let instruction = &self.attempt.brief.instruction;
                let attempted = Attempted { limits, spent: &spent, instruction, advice: self.advised };
                Some(short_view::write(&view, self.last_view, attempted))
            }
        };
        self.record_observation(&view, begun)?;
        self.record_connections()?;
        Ok(view)
    }

    /// Records the connections that the world's programs asked for since the last view.
    fn record_connections(&mut self) -> Result<(), Stop> {
        let report = self.environment.take_connections();
        if report.is_empty() { Ok(()) } else { self.journal.emit(EventKind::Connections(report)) }
    }

    fn record_observation(&mut self, view: &ModelView, begun: Duration) -> Result<(), Stop> {
        let picture = view.picture.as_ref().map(|picture| &picture.exact);
        let picture = picture.or(view.observation.screenshot.as_ref());
        let screenshot = picture.map(|image| self.journal.keep(&image.bytes.0, "png"));
        let has_tree = view.observation.tree.is_some();
        let outline = has_tree.then(|| self.journal.keep(view.outline.as_str().as_bytes(), "txt"));
        let shown = view.delta.as_ref().map(|delta| self.journal.keep(delta.as_str().as_bytes(), "txt"));
        self.journal.emit(EventKind::Observed {
            title: view.observation.title().to_owned(),
            focused: view.focused(),
            screenshot: screenshot.transpose()?,
            outline: outline.transpose()?,
            shown: shown.transpose()?,
            view: view.mapping,
            // Without elements nobody can say what the screen shows.
            secrets: view.observation.tree.as_ref().map(|tree| tree.secret_places(contains_secret)),
            took_ms: self.journal.since(begun),
        })
    }

    /// Returns what the guidance adds to the next user turn.
    pub(crate) fn refresh(&mut self, view: &ModelView) -> Result<Option<Content>, Stop> {
        let Some(refresh) = &self.attempt.guidance.refresh else { return Ok(None) };
        let (at, seen) = (self.journal.step(), &view.observation);
        let refreshed = match self.attempt.model.profile().views {
            ViewRule::Short => refresh.refresh_briefly(at, seen),
            ViewRule::Whole | ViewRule::Changes => refresh.refresh(at, seen),
        };
        let Some((text, events)) = refreshed.filter(|(text, _)| !text.is_empty()) else { return Ok(None) };
        self.advised.push_str(text.as_str());
        let advice = prompt::advice(&text);
        self.journal.deliver_with(&text, &advice, events)?;
        Ok(Some(advice))
    }
}
