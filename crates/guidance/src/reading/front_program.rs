//! The program in front of the agent, as the last observation shows it. Tools and refreshes of one trial share it.

use std::sync::{Arc, Mutex, PoisonError};

use apprentice_protocol::Observation;
use apprentice_skillbook::Hit;
use apprentice_wording::{domain_of_class, is_for_program};

/// The domain of the program that shows tabs.
pub(crate) const BROWSER: &str = "chromium";
/// A skill of the front program comes first if its score is at least this share of the best hit's.
const FRONT_SHARE: f32 = 0.5;

/// The front program of a trial; unknown until a view shows one.
#[derive(Clone, Default)]
pub(crate) struct FrontProgram(Arc<Mutex<Option<String>>>);

/// Returns the domain of the program in front: that of the active window, else the browser whose tabs are seen.
pub(crate) fn front_domain(seen: &Observation) -> Option<String> {
    let active = seen.windows.iter().find(|window| window.active);
    let by_window = active.and_then(|window| domain_of_class(&window.class));
    by_window.or_else(|| (!seen.tabs.is_empty()).then(|| BROWSER.to_owned()))
}

impl FrontProgram {
    /// Notes what a view shows. A view without a program in front changes nothing.
    pub(crate) fn note(&self, seen: &Observation) {
        if let Some(domain) = front_domain(seen) {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(domain);
        }
    }

    /// Returns the domain of the front program.
    pub(crate) fn domain(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the first `limit` hits, those of the front program before others of the same order of fit.
    pub(crate) fn first(&self, hits: Vec<Hit>, limit: usize) -> Vec<Hit> {
        front_first(hits, self.domain().as_deref(), limit)
    }
}

fn front_first(hits: Vec<Hit>, front: Option<&str>, limit: usize) -> Vec<Hit> {
    let best = hits.first().map_or(0.0, |hit| hit.score);
    let leads = |hit: &Hit| {
        front.is_some_and(|front| is_for_program(hit.id.domain(), front)) && hit.score >= best * FRONT_SHARE
    };
    let (first, rest): (Vec<Hit>, Vec<Hit>) = hits.into_iter().partition(leads);
    first.into_iter().chain(rest).take(limit).collect()
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::{Observation, Rect, SkillId, Tab, Window};

    use super::{FRONT_SHARE, Hit, front_domain, front_first};

    fn hit(id: &str, score: f32) -> Hit {
        let id = SkillId::parse(id).expect("an id");
        Hit { id, version: 1, description: String::new(), score, matched: Vec::new(), similarity: None }
    }

    #[test]
    fn skills_of_the_front_program_lead_where_they_fit_about_as_well() {
        let order = |near: f32, limit| {
            let hits = vec![hit("gimp/crop", 8.0), hit("thunar/crop", 7.0), hit("chrome/crop", near)];
            let ids = front_first(hits, Some("chromium"), limit).into_iter().map(|hit| hit.id.to_string());
            ids.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(order(8.0 * FRONT_SHARE, 3), "chrome/crop gimp/crop thunar/crop");
        assert_eq!(order(8.0 * 0.5, 1), "chrome/crop");
        assert_eq!(order(8.0 * 0.49, 3), "gimp/crop thunar/crop chrome/crop");
        let hits = vec![hit("gimp/crop", 8.0), hit("chrome/crop", 7.0)];
        assert_eq!(front_first(hits.clone(), None, 9), hits);
        let of_suite = vec![hit("gimp/crop", 8.0), hit("libreoffice/crop", 7.0)];
        assert_eq!(front_first(of_suite, Some("libreoffice-calc"), 1)[0].id.domain(), "libreoffice");
    }

    #[test]
    fn the_active_window_or_the_tabs_name_the_front_program() {
        let window = |class: &str, active| Window {
            id: "0x1".to_owned(),
            title: String::new(),
            class: class.to_owned(),
            bounds: Rect::new(0, 0, 10, 10),
            active,
            pid: None,
        };
        let tab =
            Tab { id: "1".to_owned(), title: String::new(), url: "about:blank".to_owned(), active: true };
        let windows = vec![window("Thunar", false), window("Gimp-2.10", true)];
        let seen = Observation { windows, tabs: vec![tab], ..Observation::default() };
        assert_eq!(front_domain(&seen).as_deref(), Some("gimp"));
        let tabs = Observation { windows: Vec::new(), ..seen };
        assert_eq!(front_domain(&tabs).as_deref(), Some("chromium"));
        assert_eq!(front_domain(&Observation::default()), None);
    }
}
