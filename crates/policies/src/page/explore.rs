//! Best-first search for controls that are not visible: tabs, collapsed sections, menus, links, search boxes, content
//! further down, and the browser's own menu. It remembers what was opened and where.

use apprentice_protocol::{Action, Button, History, State, Target};

use super::super::actions::{click, fill, key, quoted};
use super::super::policy::Move;
use super::super::scene::Element;
use super::super::text_match::{KeyTerms, content, plain, same_label, starts_with_words, stem};
use super::button::commits;
use super::control_action::looks_up;
use super::instruction::{InstructionClause, ParsedInstruction};
use super::page_view::{FrontSurface, PageControl, PageControlKind, PageView, is_blank, program_button};

/// Words in labels of surfaces with more options.
const MORE: &[&str] =
    &["more", "advanced", "configure", "customize", "menu", "manage", "edit", "change", "modify"];
/// Words in labels of settings surfaces.
const SETTINGS: &[&str] = &["settings", "preferences", "options"];
/// Words of labels that lead away from the task; skipped unless the task mentions them.
const OFF_TASK: &[&str] = &[
    "learn",
    "help",
    "feedback",
    "about",
    "close",
    "exit",
    "print",
    "delete",
    "remove",
    "reset",
    "clear",
    "sign",
    "logout",
    "cancel",
    "back",
    "new",
    "incognito",
    "cast",
    "undo",
    "bookmark",
    "reload",
    "share",
];
/// Words of buttons that go to the next page.
const NEXT_PAGE: &[&str] = &["next", "continue", "›", "»", "→"];
/// The time to wait for search results, in milliseconds.
const SEARCH_WAIT_MS: u32 = 3000;
/// The penalty for an opener that is not visible now.
const NOT_VISIBLE_PENALTY: f32 = 0.15;

/// A method of opening a surface.
#[derive(Clone, Debug, PartialEq)]
enum OpenMethod {
    /// Press a control with this label.
    Press(String, PageControlKind),
    /// Search for this query.
    Query(String),
    /// Scroll down.
    ScrollDown,
    /// Open the browser's own menu.
    BrowserMenu,
    /// Open this address.
    Address(String),
}

/// An opener: something that may lead to the target.
#[derive(Clone, Debug, PartialEq)]
struct Opener {
    page: String,
    via: Vec<OpenMethod>,
    how: OpenMethod,
    score: f32,
    opened: bool,
}

/// The inputs for one step of the search.
#[derive(Clone, Copy, Debug)]
pub(super) struct ExploreContext<'a> {
    /// The parsed instruction.
    pub(super) parsed: &'a ParsedInstruction,
    /// The clause that no visible control matches.
    pub(super) clause: &'a InstructionClause,
    /// Labels and addresses that skills name.
    pub(super) hints: &'a [String],
    /// Whether the environment is a browser without a desktop.
    pub(super) browser: bool,
}

impl ExploreContext<'_> {
    /// Returns the words to search for, without those that only name a location.
    fn words(&self) -> KeyTerms {
        self.clause.words.without(&content("browser page"))
    }
}

/// The search for one clause.
#[derive(Clone, Debug, Default)]
pub(super) struct PageExplorer {
    openers: Vec<Opener>,
    via: Vec<OpenMethod>,
    pages: Vec<String>,
    lost: u32,
    last: Option<(OpenMethod, String)>,
    left_by_back: Option<String>,
    patience: u32,
    /// The fingerprint of the page below an open list.
    under: String,
    /// The page's fingerprint in the previous turn.
    shown: Option<String>,
    /// The key of the page on which a control was last pressed.
    left: Option<String>,
}

/// The largest number of waits for the effect of a press.
const MAX_WAITS: u32 = 2;

/// Returns a fingerprint that distinguishes the states of a page.
pub(super) fn fingerprint(page: &PageView<'_>) -> String {
    let labels: Vec<&str> = page.controls.iter().map(|control| control.label.as_str()).collect();
    format!("{} {:?} {}", page.key, page.front, labels.join("|"))
}

fn is_asked(context: &ExploreContext<'_>, label: &str) -> bool {
    let fit = context.clause.words.fit(label);
    fit.share >= 0.5 && fit.matched >= 0.5
}

/// Returns whether a control with this label goes to the next page.
fn is_onward(label: &str) -> bool {
    plain(label).first().is_some_and(|word| NEXT_PAGE.contains(&word.as_str()))
        || NEXT_PAGE.contains(&label.trim())
}

/// Returns a control's prior score as an opener; `None` if it opens nothing.
fn prior(page: &PageView<'_>, control: &PageControl<'_>, context: &ExploreContext<'_>) -> Option<f32> {
    let words = plain(&control.label);
    let asked = is_asked(context, &control.label);
    let stems: Vec<String> = words.iter().map(|word| stem(word)).collect();
    if words.is_empty() || words.iter().chain(&stems).any(|word| OFF_TASK.contains(&word.as_str())) && !asked
    {
        return None;
    }
    if commits(&control.label) && !control.element.is(State::Collapsed) {
        return None;
    }
    let settings = words.len() <= 2 && words.iter().any(|word| SETTINGS.contains(&word.as_str()));
    let more = settings || words.iter().any(|word| MORE.contains(&word.as_str())) && words.len() <= 4;
    let onward = is_onward(&control.label);
    let folded = control.element.is(State::Collapsed);
    match control.sort {
        PageControlKind::Tab if !control.element.is(State::Selected) => Some(0.5),
        PageControlKind::Button if more && words.len() <= 2 => Some(0.5),
        PageControlKind::Button | PageControlKind::Entry if folded => Some(0.4),
        PageControlKind::Button if onward => Some(0.35),
        PageControlKind::Button if control.element.promises() => Some(0.2),
        PageControlKind::Button
            if page.same_label_count(control) == 1 && is_asked(context, &control.label) =>
        {
            Some(0.1)
        }
        PageControlKind::Item if settings => Some(1.2),
        PageControlKind::Item if more => Some(0.3),
        PageControlKind::Item if folded => Some(0.25),
        PageControlKind::Item if asked => Some(0.2),
        PageControlKind::Combo => Some(0.15),
        PageControlKind::Link if onward => Some(0.35),
        PageControlKind::Link if more => Some(0.3),
        PageControlKind::Link if !control.element.is(State::Active) => Some(0.2),
        PageControlKind::Field
        | PageControlKind::Number
        | PageControlKind::Date
        | PageControlKind::Switch
        | PageControlKind::Radio
        | PageControlKind::Cell
        | PageControlKind::Entry => None,
        PageControlKind::Tab | PageControlKind::Button | PageControlKind::Item | PageControlKind::Link => {
            None
        }
    }
}

/// Returns a press on a control that may open another surface.
fn press(say: String, element: &Element) -> Move {
    Move::Act { say, actions: vec![click(element, Button::Left, 1)] }
}

impl PageExplorer {
    fn add(&mut self, page: &PageView<'_>, how: OpenMethod, score: f32) {
        let via = self.via.clone();
        // A paging control is a different opener on each page.
        let turns = matches!(&how, OpenMethod::ScrollDown)
            || matches!(&how, OpenMethod::Press(label, PageControlKind::Button | PageControlKind::Link) if is_onward(label));
        let on = if turns { fingerprint(page) } else { page.key.clone() };
        let own_menu = via.first() == Some(&OpenMethod::BrowserMenu);
        let anywhere = own_menu || !matches!(how, OpenMethod::Press(..) | OpenMethod::ScrollDown);
        let same = |known: &Opener| known.how == how && known.via == via && (anywhere || known.page == on);
        let again = |known: &Opener| {
            // Navigation links that appear on every page count as one opener.
            matches!((&known.how, &how), (OpenMethod::Press(one, PageControlKind::Link), OpenMethod::Press(other, PageControlKind::Link)) if one == other)
                && known.opened
                && !turns
        };
        match self.openers.iter_mut().find(|known| same(known) || again(known)) {
            Some(known) if score > known.score => known.score = score,
            Some(_) => {}
            None => self.openers.push(Opener { page: on, via, how, score, opened: false }),
        }
    }

    fn collect(&mut self, page: &PageView<'_>, context: &ExploreContext<'_>) {
        for control in &page.controls {
            let hinted = context.hints.iter().position(|hint| starts_with_words(&control.label, hint));
            let known = prior(page, control, context).or_else(|| hinted.map(|_| 0.2));
            let opens = !matches!(
                control.sort,
                PageControlKind::Switch
                    | PageControlKind::Radio
                    | PageControlKind::Field
                    | PageControlKind::Number
                    | PageControlKind::Cell
            );
            let passed = |how: &OpenMethod| matches!(how, OpenMethod::Press(label, _) if same_label(label, &control.label));
            let Some(prior) = known.filter(|_| opens && !self.via.iter().any(passed)) else { continue };
            let fit = context.words().fit(&control.label).score();
            let place = context.clause.words.fit(&control.place).score();
            let hint = hinted.map_or(0.0, |_| 3.0);
            let results = if control.results { 1.5 } else { 0.0 };
            self.add(
                page,
                OpenMethod::Press(control.label.clone(), control.sort),
                prior + 2.0 * fit + 0.3 * place + hint + results,
            );
        }
        if page.front != FrontSurface::Page {
            return;
        }
        if lies_lower(page) {
            self.add(page, OpenMethod::ScrollDown, 0.33);
        }
        if page.controls.iter().any(looks_up) {
            let queries = context.parsed.queries(context.clause);
            for (at, query) in queries.into_iter().take(5).enumerate() {
                let late = f32::from(u8::try_from(at).unwrap_or(u8::MAX));
                self.add(page, OpenMethod::Query(query), 0.6 - 0.06 * late);
            }
        }
        for address in context.hints.iter().filter(|hint| hint.contains("://")) {
            self.add(page, OpenMethod::Address(address.clone()), 2.5);
        }
        if let Some(button) = program_button(page.scene) {
            let speaks = context.parsed.names(&button.name) || context.parsed.names("browser");
            if speaks || is_blank(page.scene) {
                self.add(page, OpenMethod::BrowserMenu, 0.65);
            }
        }
    }

    /// Returns the next press of the search; `None` when everything reachable has been opened.
    pub(super) fn next(&mut self, page: &PageView<'_>, context: &ExploreContext<'_>) -> Option<Move> {
        if page.front != FrontSurface::Popup {
            self.via.clear();
        }
        if let Some(found) = self.wait_for(page) {
            return Some(found);
        }
        if let Some(before) = self.left_by_back.take()
            && before == page.key
        {
            self.pages.clear();
        }
        if self.pages.last() != Some(&page.key) {
            if let Some(at) = self.pages.iter().rposition(|visited| *visited == page.key) {
                self.pages.truncate(at + 1);
            } else {
                self.pages.push(page.key.clone());
            }
        }
        self.collect(page, context);
        for _ in 0..=self.openers.len() {
            let at = self.best(page)?;
            let opener = self.openers[at].clone();
            if let Some(found) = self.reach(page, context, at, &opener) {
                return Some(found);
            }
        }
        None
    }

    /// Waits for the effect of a press: a page, a list, or search results.
    fn wait_for(&mut self, page: &PageView<'_>) -> Option<Move> {
        let (how, before) = self.last.clone()?;
        let same = fingerprint(page) == before;
        let settled = !same && self.shown.as_deref() == Some(fingerprint(page).as_str());
        let searching = matches!(how, OpenMethod::Query(_)) && !page.has_results() && !settled;
        self.shown = Some(fingerprint(page));
        let leads = matches!(&how, OpenMethod::Press(_, PageControlKind::Link))
            || matches!(&how, OpenMethod::Press(_, PageControlKind::Item))
                && page.front == FrontSurface::Page;
        let stays = leads && self.left.as_deref() == Some(page.key.as_str());
        let bare = page.front == FrontSurface::Page && page.is_empty() && how != OpenMethod::BrowserMenu;
        if (same && how != OpenMethod::ScrollDown || stays || searching || bare) && self.patience > 0 {
            self.patience -= 1;
            let ms = if searching { SEARCH_WAIT_MS } else { 1200 };
            return Some(Move::Act {
                say: "It may still be on its way.".into(),
                actions: vec![Action::Wait { ms }],
            });
        }
        self.last = None;
        None
    }

    fn best(&self, page: &PageView<'_>) -> Option<usize> {
        let value = |at: &usize| {
            let opener = &self.openers[*at];
            let here =
                in_sight(page, &opener.how) && (opener.via == self.via || page.front == FrontSurface::Page);
            opener.score - if here { 0.0 } else { NOT_VISIBLE_PENALTY }
        };
        (0..self.openers.len())
            .filter(|at| !self.openers[*at].opened)
            .max_by(|one, other| value(one).total_cmp(&value(other)).then(other.cmp(one)))
    }

    /// Returns one step towards an opener, or `None` if it is no longer reachable.
    fn reach(
        &mut self,
        page: &PageView<'_>,
        context: &ExploreContext<'_>,
        at: usize,
        opener: &Opener,
    ) -> Option<Move> {
        if page.front == FrontSurface::Popup && opener.via != self.via {
            self.via.pop();
            return Some(Move::Act {
                say: "It is not in this list.".into(),
                actions: key("escape").into_iter().collect(),
            });
        }
        let here = in_sight(page, &opener.how) && (opener.via.is_empty() || opener.via == self.via);
        if here {
            self.openers[at].opened = true;
            self.lost = 0;
            self.patience =
                if matches!(opener.how, OpenMethod::Query(_)) { MAX_WAITS + 1 } else { MAX_WAITS };
            self.left = Some(page.key.clone());
            let under =
                if page.front == FrontSurface::Popup { self.under.clone() } else { fingerprint(page) };
            self.under.clone_from(&under);
            self.last = Some((opener.how.clone(), under));
            return self.open(page, context, &opener.how);
        }
        let own_menu = opener.via.first() == Some(&OpenMethod::BrowserMenu);
        if (opener.page == page.key || own_menu)
            && self.via.is_empty()
            && let Some(first) = opener.via.first()
            && in_sight(page, first)
        {
            return self.open(page, context, first);
        }
        self.lost += 1;
        if self.lost > 4
            || !self.pages.contains(&opener.page)
            || opener.page == page.key
            || turns_pages(&opener.how)
        {
            self.openers[at].opened = true;
            self.lost = 0;
            return None;
        }
        self.left_by_back = Some(page.key.clone());
        let say = "It is not here.".to_owned();
        let back = if context.browser {
            vec![Action::History { go: History::Back }]
        } else {
            key("alt+left").into_iter().collect()
        };
        Some(Move::Act { say, actions: back })
    }

    fn open(&mut self, page: &PageView<'_>, context: &ExploreContext<'_>, how: &OpenMethod) -> Option<Move> {
        match how {
            OpenMethod::Press(label, sort) => {
                let fits = |control: &&PageControl<'_>| control.sort == *sort && control.label == *label;
                let named = |control: &&PageControl<'_>| {
                    let texts = control.row.map(|row| page.texts_of(row)).unwrap_or_default();
                    texts.iter().any(|text| text.chars().count() > 1 && context.parsed.names(text))
                };
                let mut all = page.controls.iter().filter(fits);
                let control = all.clone().find(named).or_else(|| all.next())?;
                if matches!(sort, PageControlKind::Button | PageControlKind::Combo | PageControlKind::Item) {
                    self.via.push(how.clone());
                }
                Some(press(format!("Perhaps it is behind {}.", quoted(label)), control.element))
            }
            OpenMethod::Query(query) => {
                let field = page.controls.iter().find(|control| looks_up(control))?.element;
                let mut actions = vec![click(field, Button::Left, 1)];
                if field.value.as_deref().is_some_and(|held| !held.is_empty()) {
                    actions.extend(key("ctrl+a"));
                }
                actions.push(Action::Type { text: query.clone() });
                actions.push(Action::Wait { ms: SEARCH_WAIT_MS });
                Some(Move::Act { say: format!("Perhaps a search for {} finds it.", quoted(query)), actions })
            }
            OpenMethod::ScrollDown => {
                let middle = page.middle()?;
                let at = Some(Target::Ref(middle.id.clone())).filter(|_| middle.at.is_some());
                Some(Move::Act {
                    say: "Perhaps it is further down.".into(),
                    actions: vec![Action::Scroll { at, dx: 0, dy: 6 }, Action::Wait { ms: 600 }],
                })
            }
            OpenMethod::BrowserMenu => {
                self.via.push(how.clone());
                let button = program_button(page.scene)?;
                Some(press("Perhaps the program's own menu holds it.".into(), button))
            }
            OpenMethod::Address(address) => Some(visit(page, address)),
        }
    }
}

/// Returns whether an opener shows more of the same page. Such an opener is unreachable once it is out of sight.
fn turns_pages(how: &OpenMethod) -> bool {
    match how {
        OpenMethod::ScrollDown => true,
        OpenMethod::Press(label, _) => is_onward(label),
        OpenMethod::Query(_) | OpenMethod::BrowserMenu | OpenMethod::Address(_) => false,
    }
}

/// Opens an address: in the address field if there is one, else by direct navigation.
fn visit(page: &PageView<'_>, address: &str) -> Move {
    let say = format!("{address} may be the place.");
    match super::page_view::address_field(page.scene) {
        Some(field) => Move::Act { say, actions: fill(field, &format!("{address}\n")) },
        None => Move::Act { say, actions: vec![Action::Navigate { url: address.to_owned() }] },
    }
}

fn in_sight(page: &PageView<'_>, how: &OpenMethod) -> bool {
    match how {
        OpenMethod::Press(label, sort) => {
            page.controls.iter().any(|control| control.sort == *sort && same_label(&control.label, label))
        }
        OpenMethod::Query(_) => page.front == FrontSurface::Page && page.controls.iter().any(looks_up),
        OpenMethod::ScrollDown => page.front == FrontSurface::Page,
        OpenMethod::BrowserMenu => page.front == FrontSurface::Page && program_button(page.scene).is_some(),
        OpenMethod::Address(_) => true,
    }
}

/// Returns whether the page seems to continue below the visible part.
fn lies_lower(page: &PageView<'_>) -> bool {
    let Some(middle) = page.middle().and_then(|document| document.at) else { return false };
    let inside = |index: usize| page.scene.is_within(index, page.document) && index != page.document;
    let lowest = (0..page.scene.elements.len())
        .filter(|index| inside(*index))
        .filter_map(|index| page.scene.elements[index].at)
        .map(|at| at.y)
        .fold(0.0, f64::max);
    lowest > middle.y * 1.55
}
