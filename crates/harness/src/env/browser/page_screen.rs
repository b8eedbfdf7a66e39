//! Pictures of pages from the screen that Chromium fills.
//!
//! A picture over the protocol costs more: Chromium draws a frame for it, copies it, and encodes it slowly. What it
//! draws on a screen of its own is there anyway.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use apprentice_cdp::SessionId;
use apprentice_protocol::{Image, Size, WorldError};
use apprentice_sandbox::{CellScreen, SoleWindow};

/// How often a picture is taken again because something was drawn while the page's elements were read.
const RETAKES: usize = 2;

/// The screen for a page of a size, which leaves a place free for the pointer. And a window as large as the whole screen is made one
/// pixel smaller by Chromium, as some window managers would take it for one that wants the screen for itself.
pub(super) fn screen_for(page: Size) -> Size {
    Size::new(page.width + 1, page.height + 1)
}

/// Which tabs have the focus, as their documents say.
#[derive(Debug, Default)]
struct Focus {
    /// Tabs that have had it, or must have got it.
    gained: BTreeSet<SessionId>,
    /// Those of them that have lost it.
    lost: BTreeSet<SessionId>,
}

/// The screen that a browser fills.
#[derive(Debug)]
pub(super) struct PageScreen {
    screen: CellScreen,
    focus: Mutex<Focus>,
}

/// A picture of a page.
#[derive(Debug)]
pub(super) struct PagePicture {
    pub(super) image: Image,
    /// The number of the screen's changes up to it, if it is the screen's.
    pub(super) changes: Option<u64>,
}

impl PageScreen {
    /// Takes a screen over. Its pointer would point at the page beside the one of the input that we send, and each tab that comes to
    /// the front would hear of it.
    pub(super) async fn open(screen: CellScreen) -> Result<Self, WorldError> {
        screen.run(|screen, _| screen.park_pointer()).await?;
        Ok(Self { screen, focus: Mutex::default() })
    }

    /// Records that a tab got input that gives it the focus.
    pub(super) fn note_input(&self, tab: &SessionId) {
        self.focus.lock().unwrap_or_else(PoisonError::into_inner).gained.insert(tab.clone());
    }

    /// Records whether the document of a tab has the focus.
    pub(super) fn note_focus(&self, tab: &SessionId, focused: bool) {
        let mut focus = self.focus.lock().unwrap_or_else(PoisonError::into_inner);
        if focused {
            focus.gained.insert(tab.clone());
            focus.lost.remove(tab);
        } else if focus.gained.contains(tab) {
            focus.lost.insert(tab.clone());
        }
    }

    /// Whether Chromium may have drawn something of its own over a tab, such as a question to the user: it takes the focus.
    fn may_be_covered(&self, tab: &SessionId) -> bool {
        self.focus.lock().unwrap_or_else(PoisonError::into_inner).lost.contains(tab)
    }

    /// The picture of the tab that is shown, unless something lies over it.
    pub(super) async fn picture(
        &self,
        tab: &SessionId,
        size: Size,
    ) -> Result<Option<PagePicture>, WorldError> {
        if self.may_be_covered(tab) {
            return Ok(None);
        }
        let seen = self.screen.run(move |screen, stop| screen.sole_window(size, stop)).await?;
        Ok(seen.map(|SoleWindow { picture, changes }| PagePicture { image: picture, changes: Some(changes) }))
    }

    /// Returns whether something was drawn since a picture.
    async fn drawn_since(&self, changes: u64) -> Result<bool, WorldError> {
        self.screen.run(move |screen, _| Ok(screen.activity()?.0 != changes)).await
    }

    /// Takes a picture again if something was drawn since: what is seen of the page and its elements belong to one moment.
    pub(super) async fn renewed(
        &self,
        mut picture: PagePicture,
        tab: &SessionId,
        size: Size,
    ) -> Result<PagePicture, WorldError> {
        for _ in 0..RETAKES {
            let Some(changes) = picture.changes else { break };
            if !self.drawn_since(changes).await? {
                break;
            }
            match self.picture(tab, size).await? {
                Some(newer) => picture = newer,
                None => break,
            }
        }
        Ok(picture)
    }
}
