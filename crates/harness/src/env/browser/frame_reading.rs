//! Reads the accessibility trees and the layout of a tab's frames. A small page is read at once; of a large one, the nodes on the
//! screen are read first and one by one, because reading all takes the browser 0.3 ms a node (Chromium 156).

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use apprentice_cdp::domain::accessibility::{AxNode, GetFullAxTree, GetPartialAxTree};
use apprentice_cdp::domain::dom::{CaptureSnapshot, GetBoxModel, GetFrameOwner};
use apprentice_cdp::domain::page::{Frame, FrameTree, GetFrameTree};
use apprentice_cdp::{Session, SessionId};
use apprentice_protocol::{Rect, TreeBudget};
use futures_util::future::{join_all, try_join_all};

use super::driver::{ActionError, Browser};
use super::layout::{
    Area, FrameOwner, Layout, NodeOrder, Placement, STYLES, Window, WindowSize, window_size,
};
use super::page_state::TabSession;

/// A page of more nodes than this is read by what is on the screen.
const LARGE: usize = 5000;
/// Nodes that are asked for at once.
const AT_ONCE: usize = 200;

/// How much of the tab was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Reach {
    /// All of it.
    #[default]
    Whole,
    /// What is on the screen, and as much around it as the budget allowed.
    Part,
}

/// The accessibility tree of one frame.
pub(super) struct FrameReading {
    pub(super) session: SessionId,
    pub(super) frame: Frame,
    /// The parent frame, and the element in it that contains this frame.
    pub(super) owner: Option<(String, i64)>,
    pub(super) nodes: Vec<AxNode>,
}

/// The trees and boxes read within the time budget.
#[derive(Default)]
pub(super) struct FrameReadings {
    pub(super) frames: Vec<FrameReading>,
    pub(super) reach: Reach,
    layouts: HashMap<SessionId, Layout>,
    /// The window onto each session's own document.
    windows: HashMap<SessionId, Window>,
}

impl FrameReadings {
    /// Where a node is drawn in the tab; `None` if nothing of it is.
    pub(super) fn bounds(&self, session: &SessionId, node: i64) -> Option<Rect> {
        let layout = self.layouts.get(session)?;
        let area = layout.boxes.get(&node).filter(|_| !layout.hidden.contains(&node))?;
        Some(area.rect()).filter(|bounds| bounds.width > 0 && bounds.height > 0)
    }

    /// Where what holds a node is drawn in the tab, if the node is never drawn itself, and it holds nothing else that can be used.
    pub(super) fn stand_in(&self, frame: &FrameReading, node: i64) -> Option<Rect> {
        let stand_in = self.layouts.get(&frame.session)?.stand_ins.get(&node)?;
        let is_used = |other: &AxNode| {
            !other.ignored && other.backend_dom_node_id.is_some_and(|id| stand_in.others.contains(&id))
        };
        let alone = stand_in.others.is_empty() || !frame.nodes.iter().any(is_used);
        alone.then(|| stand_in.area.rect())
    }

    /// What a field suggests: the node of each suggestion and what it enters.
    pub(super) fn suggestions(&self, session: &SessionId, node: i64) -> &[(i64, String)] {
        let layout = self.layouts.get(session);
        layout.and_then(|layout| layout.suggestions.get(&node)).map(Vec::as_slice).unwrap_or_default()
    }

    /// The canvases of a session, with what holds each of them.
    pub(super) fn canvases(&self, session: &SessionId) -> &[(i64, Vec<i64>)] {
        self.layouts.get(session).map(|layout| layout.canvases.as_slice()).unwrap_or_default()
    }

    /// Whether a node hears clicks by itself.
    pub(super) fn is_clickable(&self, session: &SessionId, node: i64) -> bool {
        self.layouts.get(session).is_some_and(|layout| layout.clickable.contains(&node))
    }
}

type Shared<'a> = &'a Mutex<FrameReadings>;

fn open(readings: Shared<'_>) -> MutexGuard<'_, FrameReadings> {
    readings.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The frames of one session, before their nodes are read.
struct Frames {
    /// The session's own frame first.
    frames: Vec<(Frame, Option<(String, i64)>)>,
    owners: HashMap<String, FrameOwner>,
}

impl Browser {
    /// Reads the parts of a tab into `readings`, which has what was read when the time is over.
    pub(super) async fn read_parts(
        &self,
        parts: &[(SessionId, TabSession)],
        budget: &TreeBudget,
        readings: Shared<'_>,
    ) -> Result<(), ActionError> {
        for (session, part) in parts {
            match self.read_part(session, part, budget, readings).await {
                // A frame that is removed meanwhile is left out.
                Ok(()) | Err(ActionError::Replaced(_)) => {}
                Err(other) => return Err(other),
            }
        }
        Ok(())
    }

    async fn read_part(
        &self,
        id: &SessionId,
        part: &TabSession,
        budget: &TreeBudget,
        readings: Shared<'_>,
    ) -> Result<(), ActionError> {
        let session = self.session(id);
        let is_large = self.known_size(id) > LARGE || budget.nodes == 0;
        let snapshot = CaptureSnapshot { computed_styles: STYLES.map(str::to_owned).into() };
        let whole = GetFullAxTree { depth: None, frame_id: None };
        // The page answers them one after the other, without a round trip in between.
        let calls = async {
            let main = async {
                if is_large { Ok(None) } else { session.call(&whole).await.map(|tree| Some(tree.nodes)) }
            };
            tokio::try_join!(session.call(&GetFrameTree {}), session.call(&snapshot), main)
        };
        let (tree, snapshot, main) = self.guard(calls).await?;
        let frames = self.frames(&session, part, tree.frame_tree).await?;
        let window = self.window(part, &frames, window_size(&snapshot), readings);
        let layout = Layout::of(&snapshot, window, &frames.owners);
        drop(snapshot);
        self.note_size(id, layout.size);
        let first = {
            let mut readings = open(readings);
            readings.windows.insert(id.clone(), window);
            readings.layouts.insert(id.clone(), layout);
            let first = readings.frames.len();
            readings.frames.extend(frames.frames.iter().map(|(frame, owner)| FrameReading {
                session: id.clone(),
                frame: frame.clone(),
                owner: owner.clone(),
                nodes: Vec::new(),
            }));
            first
        };
        match main {
            Some(main) => self.read_whole(&session, main, first, readings).await,
            None => self.read_nearest(&session, first, budget, readings).await,
        }
    }

    /// The window onto a session's own document.
    fn window(&self, part: &TabSession, frames: &Frames, size: WindowSize, readings: Shared<'_>) -> Window {
        let shown = Area::new(0.0, 0.0, self.size.width.into(), self.size.height.into());
        let readings = open(readings);
        let outer = part.parent.as_ref().and_then(|parent| {
            Some((
                readings.windows.get(parent)?,
                readings.layouts.get(parent)?,
                frames.owners.get(&part.target)?,
            ))
        });
        match outer {
            Some((outer, layout, owner)) => layout.frame_window(*outer, owner, size),
            None => Window { place: Placement::TAB, shown, is_frame: false },
        }
    }

    /// The frames of a session, and where their owners show them.
    async fn frames(
        &self,
        session: &Session,
        part: &TabSession,
        tree: FrameTree,
    ) -> Result<Frames, ActionError> {
        let mut found = Frames { frames: Vec::new(), owners: HashMap::new() };
        let mut waiting = vec![tree];
        let mut flat = Vec::new();
        while let Some(FrameTree { frame, child_frames }) = waiting.pop() {
            waiting.extend(child_frames);
            flat.push(frame);
        }
        let outer = part.parent.as_ref().map(|parent| self.session(parent));
        let owners = flat.iter().enumerate().map(|(index, frame)| {
            // The owner of a session's own frame stands in the session above.
            let session = if index == 0 { outer.as_ref() } else { Some(session) };
            async move {
                match session {
                    Some(session) => self.frame_owner(session, &frame.id).await.map(Some),
                    None => Ok(None),
                }
            }
        });
        let owners = try_join_all(owners).await?;
        for (frame, owner) in flat.into_iter().zip(owners) {
            let holder = frame.parent_id.clone().zip(owner.as_ref().map(|owner| owner.node));
            if let Some(owner) = owner {
                found.owners.insert(frame.id.clone(), owner);
            }
            found.frames.push((frame, holder));
        }
        Ok(found)
    }

    /// The element that contains a frame, and where it shows it, in the coordinates of its session's viewport.
    pub(super) async fn frame_owner(
        &self,
        session: &Session,
        frame: &str,
    ) -> Result<FrameOwner, ActionError> {
        let owner = GetFrameOwner { frame_id: frame.to_owned() };
        let node = self.call(session, &owner).await?.backend_node_id;
        let corners = match self.call(session, &GetBoxModel { backend_node_id: node }).await {
            Ok(reply) => reply.model.content,
            // A frame that is not drawn has no box.
            Err(ActionError::Replaced(_)) => Vec::new(),
            Err(other) => return Err(other),
        };
        Ok(FrameOwner { node, corners })
    }

    /// Reads the trees of all frames of a session. That of its own frame is known.
    async fn read_whole(
        &self,
        session: &Session,
        main: Vec<AxNode>,
        first: usize,
        readings: Shared<'_>,
    ) -> Result<(), ActionError> {
        let ids: Vec<String> = {
            let mut readings = open(readings);
            let mut frames = readings.frames.iter_mut().skip(first);
            if let Some(own) = frames.next() {
                own.nodes = main;
            }
            frames.map(|reading| reading.frame.id.clone()).collect()
        };
        for (number, frame) in ids.into_iter().enumerate() {
            let tree = GetFullAxTree { depth: None, frame_id: Some(frame) };
            let nodes = self.call(session, &tree).await?.nodes;
            if let Some(reading) = open(readings).frames.get_mut(first + 1 + number) {
                reading.nodes = nodes;
            }
        }
        Ok(())
    }

    /// Reads the nodes on the screen, then those around, until the budget is used.
    async fn read_nearest(
        &self,
        session: &Session,
        first: usize,
        budget: &TreeBudget,
        readings: Shared<'_>,
    ) -> Result<(), ActionError> {
        let orders: Vec<NodeOrder> = {
            let readings = open(readings);
            let layout = session.id().and_then(|id| readings.layouts.get(id));
            let order = |reading: &FrameReading| {
                layout.and_then(|layout| layout.order.get(&reading.frame.id)).cloned()
            };
            readings.frames.iter().skip(first).map(|reading| order(reading).unwrap_or_default()).collect()
        };
        let mut read = 0;
        for nearest in [true, false] {
            for (number, order) in orders.iter().enumerate() {
                let wanted = if nearest { &order.on_screen } else { &order.others };
                for some in wanted.chunks(AT_ONCE) {
                    if !nearest && read >= budget.nodes as usize {
                        open(readings).reach = Reach::Part;
                        return Ok(());
                    }
                    read += some.len();
                    let nodes = self.read_nodes(session, some).await?;
                    if let Some(reading) = open(readings).frames.get_mut(first + number) {
                        reading.nodes.extend(nodes);
                    }
                }
            }
        }
        Ok(())
    }

    /// Reads single nodes. Those that are gone meanwhile are left out.
    async fn read_nodes(&self, session: &Session, nodes: &[i64]) -> Result<Vec<AxNode>, ActionError> {
        let calls: Vec<GetPartialAxTree> = nodes
            .iter()
            .map(|node| GetPartialAxTree {
                backend_node_id: Some(*node),
                object_id: None,
                fetch_relatives: false,
            })
            .collect();
        let replies =
            self.guard(async { Ok(join_all(calls.iter().map(|call| session.call(call))).await) }).await?;
        let mut found = Vec::with_capacity(nodes.len());
        for reply in replies {
            match self.guard(std::future::ready(reply)).await {
                Ok(tree) => found.extend(tree.nodes),
                Err(ActionError::Replaced(_)) => {}
                Err(other) => return Err(other),
            }
        }
        Ok(found)
    }
}
