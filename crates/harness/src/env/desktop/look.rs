//! Looks at a desktop: picture, windows and list of elements of one settled moment, which say what the screen shows.

use apprentice_pixels::Frame;
use apprentice_protocol::{Observation, TreeBudget, UiTree, Want, Window, WorldError};

use super::{DesktopEnvironment, closed_menus, remarks, unclear_cells, window_names};

/// Most looks for one observation.
const MOST_LOOKS: usize = 4;

/// One look.
struct Glance {
    seen: Observation,
    /// The number of the screen's changes up to it.
    changes: u64,
    /// What was drawn, where a picture was taken.
    frame: Option<Frame>,
}

impl DesktopEnvironment {
    /// Looks until picture, windows and tree belong to one moment. Programs tell the accessibility bus of a new dialog
    /// and its focus after they have drawn it, so after a window was opened or closed, two trees in a row must agree.
    ///
    /// A list that is empty or broken off is read again, and then told as such.
    pub(super) async fn look(&mut self, want: Want) -> Result<Observation, WorldError> {
        if !self.has_looked {
            self.cell.on_screen(|screen, stop| screen.await_first_drawing(stop)).await?;
        }
        let Glance { mut seen, changes, frame } = self.look_until_settled(want).await?;
        self.seen_changes = changes;
        let work = self.cell.on_screen(|screen, _| {
            Ok(remarks::Work { busy: screen.busy_programs(), stopped: screen.stopped_programs() })
        });
        seen.remarks = remarks::of(&seen, &work.await?);
        if self.is_undrawn {
            let undrawn = self.cell.on_screen(|screen, _| screen.undrawn_window()).await?;
            seen.remarks.extend(undrawn.as_ref().map(remarks::undrawn));
            self.is_undrawn = undrawn.is_some();
        }
        let written = self.cell.written_files().await.map_err(|error| self.loss(&error))?;
        // What was written before the first view is no act of the agent's.
        if std::mem::replace(&mut self.has_looked, true) {
            seen.remarks.extend(remarks::written(&written));
        }
        self.read_unlisted(&mut seen, frame).await?;
        seen.nothing_drawn =
            self.awaits_effect && !self.cell.on_screen(|screen, _| screen.changed_since_input()).await?;
        if seen.tree.is_some() {
            self.seen_tree.clone_from(&seen.tree);
        }
        Ok(seen)
    }

    /// Names the parts of the window in front of which no element tells, and reads the pictures of those, or of the window if it lists
    /// nothing.
    async fn read_unlisted(
        &mut self,
        seen: &mut Observation,
        frame: Option<Frame>,
    ) -> Result<(), WorldError> {
        self.reader.forget_places();
        let lists = remarks::lists_its_window(seen);
        let front = seen.windows.iter().find(|window| window.active).map(|window| window.bounds);
        let (Some(front), Some(tree)) = (front, seen.tree.as_mut()) else { return Ok(()) };
        if !lists && !self.sight.ocr {
            return Ok(());
        }
        let frame = match frame {
            Some(frame) => frame,
            None => self.cell.on_screen(|screen, _| screen.frame()).await?,
        };
        let mut parts = vec![(None, front)];
        if lists {
            let silent = self.silent_areas.add_to(tree, front, &frame);
            self.reader.add_places(silent.clone());
            parts = silent.into_iter().map(|(node, area)| (Some(node), area)).collect();
        }
        if !self.sight.ocr || parts.is_empty() {
            return Ok(());
        }
        let machine = self.cell.machine();
        let read = self.reader.add_to(tree, &frame, &parts, &*machine).await;
        seen.remarks.push(read.unwrap_or_else(|| remarks::READ_FROM_PICTURE.to_owned()));
        Ok(())
    }

    /// Makes a tree say what the screen shows: names of windows, no items of closed menus, and cells whose program tells more
    /// than it draws.
    async fn correct(&self, tree: &mut UiTree, windows: &[Window]) -> Result<(), WorldError> {
        window_names::name_nameless(tree, windows);
        let popups = self.cell.on_screen(|screen, _| screen.popup_areas()).await?;
        closed_menus::hide(tree, &popups);
        let doubtful = unclear_cells::doubtful(tree);
        if doubtful.is_empty() {
            return Ok(());
        }
        let asked = doubtful.clone();
        let undrawn = self.cell.on_screen(move |screen, _| {
            let mut undrawn = Vec::new();
            for one in asked {
                if let Some(middle) = one.middle()
                    && screen.is_plain(middle)?
                {
                    undrawn.push(one);
                }
            }
            Ok(undrawn)
        });
        unclear_cells::tell_what_is_known(tree, &doubtful, &undrawn.await?);
        Ok(())
    }

    async fn look_until_settled(&self, want: Want) -> Result<Glance, WorldError> {
        let mut earlier: Option<Observation> = None;
        for _ in 1..MOST_LOOKS {
            let glance = self.glance(&want).await?;
            let seen = &glance.seen;
            if seen.tree.is_none() {
                return Ok(glance);
            }
            let (after, window_changed) = self.cell.on_screen(|screen, _| screen.activity()).await?;
            let agree =
                |earlier: &Observation| (&earlier.tree, &earlier.windows) == (&seen.tree, &seen.windows);
            let stopped = self.cell.on_screen(|screen, _| Ok(screen.stopped_programs())).await?;
            // A program that is stopped lists nothing, however often it is asked.
            let whole = remarks::lists_its_window(seen) || !remarks::with_windows(seen, &stopped).is_empty();
            let rests = glance.changes == after && !window_changed;
            if (rests && whole) || earlier.as_ref().is_some_and(agree) {
                return Ok(glance);
            }
            earlier = Some(glance.seen);
        }
        self.glance(&want).await
    }

    async fn glance(&self, want: &Want) -> Result<Glance, WorldError> {
        if let Some(loss) = self.cell.loss() {
            return Err(loss);
        }
        let (pictured, pointer) = (want.screenshot, self.sight.pointer);
        let (windows, shot, changes) = self
            .cell
            .on_screen(move |screen, stop| {
                screen.settle(stop)?;
                let (changes, _) = screen.activity()?;
                let shot = if pictured { Some(screen.shot(pointer)?) } else { None };
                Ok((screen.windows()?, shot, changes))
            })
            .await?;
        let tree = match &want.tree {
            Some(budget) => {
                let mut tree = self.tree(budget).await?;
                self.correct(&mut tree, &windows).await?;
                Some(tree)
            }
            None => None,
        };
        let monitors = self.screen.several();
        let (screenshot, frame) = shot.map(|shot| (shot.picture, shot.frame)).unzip();
        let seen = Observation { screenshot, tree, windows, monitors, ..Observation::default() };
        Ok(Glance { seen, changes, frame })
    }

    pub(super) async fn tree(&self, budget: &TreeBudget) -> Result<UiTree, WorldError> {
        let tree = tokio::select! {
            biased;
            loss = self.cell.lost() => return Err(loss),
            tree = self.cell.view_tree(budget) => tree,
        };
        tree.map_err(|error| self.loss(&error))
    }
}
