//! Points of the tab: from an element's document up through its frames, and from the tab down to the element that is hit.

use apprentice_cdp::domain::dom::{GetNodeForLocation, NodeAtLocation, ResolveNode};
use apprentice_cdp::{Session, SessionId};
use serde::Deserialize;

use super::driver::{ActionError, Browser};
use super::element::Element;
use super::layout::{FrameOwner, TabPoint, WindowSize};

const WINDOW: &str = include_str!("page/window.js");
const DESCRIBE: &str = include_str!("page/describe.js");
const IS_DISABLED: &str = include_str!("page/is_disabled.js");

/// The window onto a document.
#[derive(Clone, Copy, Deserialize)]
struct Window {
    width: f64,
    height: f64,
    /// How many pixels one of its pixels is.
    ratio: f64,
    /// How far it was scrolled.
    left: f64,
    top: f64,
}

/// The point within corners that lies at these shares of their width and height. The corners of a turned frame are not upright.
fn between(corners: &[f64], across: f64, down: f64) -> Option<TabPoint> {
    let [left, top, right, right_top, _, _, low_left, low_top] = corners else { return None };
    let x = left + (right - left) * across + (low_left - left) * down;
    let y = top + (right_top - top) * across + (low_top - top) * down;
    Some(TabPoint { x, y })
}

/// The shares of width and height at which a point lies within corners.
fn shares(corners: &[f64], x: f64, y: f64) -> Option<(f64, f64)> {
    let [left, top, right, right_top, _, _, low_left, low_top] = corners else { return None };
    let (ax, ay, bx, by) = (right - left, right_top - top, low_left - left, low_top - top);
    let area = ax * by - ay * bx;
    let (dx, dy) = (x - left, y - top);
    (area.abs() > f64::EPSILON).then(|| ((dx * by - dy * bx) / area, (ax * dy - ay * dx) / area))
}

impl Browser {
    /// Turns a point of an element's document, whose window has this size, into one of the tab.
    pub(super) async fn to_top(
        &self,
        element: &Element,
        point: TabPoint,
        window: WindowSize,
    ) -> Result<TabPoint, ActionError> {
        let mut at = point;
        if let Some(frame) = element.frame.as_ref().filter(|frame| !frame.is_own) {
            let owner = self.frame_owner(&element.session, &frame.id).await?;
            at = self.shown_at(&element.session, &owner, at, window).await?;
        }
        let front = self.front()?.session;
        let parts = self.watch().with(|pages| pages.sessions_of(&front));
        let mut session = element.session.id().cloned();
        while let Some(id) = session {
            let Some((_, part)) = parts.iter().find(|(other, _)| *other == id) else { break };
            let Some(parent) = &part.parent else { break };
            let inner: Window =
                self.evaluate(&self.session(&id), format!("({WINDOW}).call(document)")).await?;
            let outer = self.session(parent);
            let owner = self.frame_owner(&outer, &part.target).await?;
            let size = WindowSize { width: inner.width, height: inner.height };
            at = self.shown_at(&outer, &owner, at, size).await?;
            session = Some(parent.clone());
        }
        Ok(at)
    }

    /// Where the owner of a frame shows a point of it, in the coordinates of the owner's session.
    async fn shown_at(
        &self,
        session: &Session,
        owner: &FrameOwner,
        point: TabPoint,
        window: WindowSize,
    ) -> Result<TabPoint, ActionError> {
        let hidden =
            || ActionError::refused("the frame of the element is not shown, so it cannot be pointed at");
        let (across, down) = (point.x / window.width.max(1.0), point.y / window.height.max(1.0));
        let shown = between(&owner.corners, across, down).ok_or_else(hidden)?;
        let ratio = self.ratio(session, owner.node).await?;
        Ok(TabPoint { x: shown.x * ratio, y: shown.y * ratio })
    }

    /// How many pixels of its session's window one pixel of a node's document is. Chromium 156 divides the boxes of a frame that
    /// `zoom` scales by that factor.
    async fn ratio(&self, session: &Session, node: i64) -> Result<f64, ActionError> {
        let object = self.resolve(session, node).await?;
        let own: Window = self.apply(session, &object, WINDOW, []).await?;
        let outer: Window = self.evaluate(session, format!("({WINDOW}).call(document)")).await?;
        Ok(if outer.ratio > 0.0 { own.ratio / outer.ratio } else { 1.0 })
    }

    async fn resolve(&self, session: &Session, node: i64) -> Result<String, ActionError> {
        let resolved = self.call(session, &ResolveNode { backend_node_id: node }).await?;
        resolved.object.object_id.ok_or_else(|| ActionError::Replaced("the element is gone".to_owned()))
    }

    /// What the tab shows above an element of a frame at a point, if that is something outside of the frame. Within its own
    /// document, an element is aimed at where it is hit.
    pub(super) async fn cover(&self, element: &Element, at: TabPoint) -> Result<Option<String>, ActionError> {
        let front = self.front()?.session;
        let in_tab = element.session.id() == Some(&front);
        if in_tab && element.frame.as_ref().is_none_or(|frame| frame.is_own) {
            return Ok(None);
        }
        let top = self.session(&front);
        let hit = self.hit(&top, at).await?;
        let Some(hit) = hit else { return Ok(None) };
        let parts = self.watch().with(|pages| pages.sessions_of(&front));
        let mut session = element.session.id().cloned();
        let mut below = None;
        while let Some(id) = session.clone().filter(|id| *id != front) {
            let part = parts.iter().find(|(other, _)| *other == id).map(|(_, part)| part);
            below = part.map(|part| part.target.clone());
            session = part.and_then(|part| part.parent.clone());
        }
        let is_meant = match (&below, &element.frame) {
            // The tab knows of a frame of another process that it is hit.
            (Some(target), _) => {
                let owner = self.frame_owner(&top, target).await?;
                owner.node == hit.backend_node_id
            }
            (None, Some(frame)) => hit.frame_id == frame.id,
            (None, None) => true,
        };
        if is_meant {
            return Ok(None);
        }
        let object = self.resolve(&top, hit.backend_node_id).await?;
        self.apply(&top, &object, DESCRIBE, []).await.map(Some)
    }

    /// What a point of a session's window hits. Chromium 156 takes the point from the top of the document, and its documentation does
    /// not say so.
    async fn hit(&self, session: &Session, at: TabPoint) -> Result<Option<NodeAtLocation>, ActionError> {
        let window: Window = self.evaluate(session, format!("({WINDOW}).call(document)")).await?;
        #[expect(clippy::cast_possible_truncation, reason = "casts from f64 saturate")]
        let whole = |place: f64| place.floor() as i32;
        let location = GetNodeForLocation { x: whole(at.x + window.left), y: whole(at.y + window.top) };
        match self.call(session, &location).await {
            Ok(hit) => Ok(Some(hit)),
            // Nothing is drawn there.
            Err(ActionError::Replaced(_)) => Ok(None),
            Err(other) => Err(other),
        }
    }

    /// The innermost element at a point of the active page, through shadow roots and frames of any process.
    pub(super) async fn under(&self, x: f64, y: f64) -> Result<Element, ActionError> {
        let nothing = || ActionError::refused(format!("nothing is at ({x}, {y})"));
        let front = self.front()?.session;
        let parts = self.watch().with(|pages| pages.sessions_of(&front));
        let (mut id, mut at) = (front, TabPoint { x, y });
        loop {
            let session = self.session(&id);
            let hit = self.hit(&session, at).await?.ok_or_else(nothing)?;
            match self.inner_session(&session, &parts, &hit, at).await? {
                Some((inner, place)) => (id, at) = (inner, place),
                None => {
                    let object = self.resolve(&session, hit.backend_node_id).await?;
                    return Ok(Element { session, object, frame: None });
                }
            }
        }
    }

    /// The session of the frame of another process that was hit, and the point in it.
    async fn inner_session(
        &self,
        session: &Session,
        parts: &[(SessionId, super::page_state::TabSession)],
        hit: &NodeAtLocation,
        at: TabPoint,
    ) -> Result<Option<(SessionId, TabPoint)>, ActionError> {
        for (id, part) in parts.iter().filter(|(_, part)| part.parent.as_ref() == session.id()) {
            let owner = self.frame_owner(session, &part.target).await?;
            if owner.node != hit.backend_node_id {
                continue;
            }
            let ratio = self.ratio(session, owner.node).await?;
            let inner: Window =
                self.evaluate(&self.session(id), format!("({WINDOW}).call(document)")).await?;
            let within = shares(&owner.corners, at.x / ratio, at.y / ratio);
            let place = |across, down| TabPoint { x: across * inner.width, y: down * inner.height };
            return Ok(within.map(|(across, down)| (id.clone(), place(across, down))));
        }
        Ok(None)
    }

    /// Refuses a click at a point where a form control is disabled: the page would not notice it.
    pub(super) async fn must_be_enabled(&self, x: f64, y: f64) -> Result<(), ActionError> {
        let element = match self.under(x, y).await {
            Ok(element) => element,
            // A click where nothing is drawn is a click on the page.
            Err(ActionError::Refused(_) | ActionError::Replaced(_)) => return Ok(()),
            Err(other) => return Err(other),
        };
        if self.apply(&element.session, &element.object, IS_DISABLED, []).await? {
            return Err(ActionError::refused(format!(
                "what is at ({x}, {y}) is disabled: something else must be done first"
            )));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{TabPoint, between, shares};

    #[test]
    fn a_point_of_a_turned_frame_is_found_both_ways() {
        // A quarter turn: the left edge points up.
        let corners = [10.0, 110.0, 10.0, 10.0, 60.0, 10.0, 60.0, 110.0];
        let point = between(&corners, 0.25, 0.5).expect("corners");
        assert_eq!(point, TabPoint { x: 35.0, y: 85.0 });
        assert_eq!(shares(&corners, 35.0, 85.0), Some((0.25, 0.5)));
        assert_eq!(between(&[], 0.5, 0.5), None);
    }
}
