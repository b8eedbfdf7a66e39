//! What runs now, for the live page: the states of this user's processes, their pictures, and orders to them. All of it comes
//! from their control sockets.

use std::io;
use std::path::Path;
use std::time::Duration;

use apprentice_control::{Answer, ControlPlace, Order, Peer, PeerError, Picture, ProcessStatus};
use serde::Serialize;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::library::Library;

/// After this time without a change, processes that have begun since are looked for.
const LOOK: Duration = Duration::from_secs(2);
/// The number of states that wait for a slow page.
const WAITING: usize = 2;

/// The processes of this user, as far as they can be reached.
#[derive(Default)]
pub struct Processes {
    places: Vec<ControlPlace>,
}

/// A process, and the name under which the library knows its run.
#[derive(Debug, Serialize)]
struct LiveProcess {
    /// `None` for a run outside of what is shown.
    run: Option<String>,
    #[serde(flatten)]
    status: ProcessStatus,
}

impl Processes {
    /// The processes that have their sockets in these folders.
    pub fn new(places: Vec<ControlPlace>) -> Self {
        Self { places }
    }

    async fn states(&self) -> Vec<ProcessStatus> {
        let mut found = Vec::new();
        for place in &self.places {
            match Peer::all(place).await {
                Ok(states) => found.extend(states),
                // The others can be reached nevertheless.
                Err(_) => continue,
            }
        }
        found
    }

    /// All states as one JSON document.
    async fn document(&self, library: &Library) -> (String, Vec<u32>) {
        let states = self.states().await;
        let ids = states.iter().map(|status| status.process).collect();
        let named = states.into_iter().map(|status| {
            let folder = status.folder.as_deref().map(Path::new);
            let folders = library.folders();
            let existing = folders.iter().find(|run| Some(run.as_path()) == folder);
            LiveProcess { run: existing.map(|run| library.key(run)), status }
        });
        let text = serde_json::to_string(&named.collect::<Vec<_>>());
        (text.unwrap_or_else(|_| "[]".to_owned()), ids)
    }

    /// Sends the states as server-sent events, now and after each change, until the page leaves.
    pub(crate) async fn follow(&self, library: &Library, page: mpsc::Sender<String>) {
        loop {
            let (document, ids) = self.document(library).await;
            if page.send(format!("data: {document}\n\n")).await.is_err() {
                return;
            }
            let change = self.change(&ids);
            tokio::select! {
                () = page.closed() => return,
                _ = tokio::time::timeout(LOOK, change) => {}
            }
        }
    }

    /// The channel over which a page is told.
    pub(crate) fn channel() -> (mpsc::Sender<String>, mpsc::Receiver<String>) {
        mpsc::channel(WAITING)
    }

    /// Waits until one of these processes changes or ends.
    async fn change(&self, processes: &[u32]) {
        let mut watching = JoinSet::new();
        for place in &self.places {
            for process in processes {
                let Ok(mut states) = Peer::new(place, *process).watch().await else { continue };
                watching.spawn(async move {
                    // The first is the state that the page has.
                    let first = states.next().await;
                    if first.is_ok_and(|state| state.is_some()) {
                        drop(states.next().await);
                    }
                });
            }
        }
        if watching.join_next().await.is_none() {
            // Nothing runs, so nothing changes.
            std::future::pending::<()>().await;
        }
    }

    /// The newest picture of a trial.
    pub(crate) async fn picture(&self, process: u32, trial: &str) -> Result<Picture, PeerError> {
        self.peer(process)?.picture(trial).await
    }

    /// Gives an order to a process.
    pub(crate) async fn order(&self, process: u32, order: &Order) -> Result<Answer, PeerError> {
        self.peer(process)?.order(order.clone()).await
    }

    /// The process, by the folder that has its socket.
    fn peer(&self, process: u32) -> Result<Peer<'_>, PeerError> {
        let has_it = |place: &&ControlPlace| place.processes().is_ok_and(|known| known.contains(&process));
        let place = self.places.iter().find(has_it);
        let missing = || PeerError::Unreachable { process, source: io::ErrorKind::NotFound.into() };
        place.map(|place| Peer::new(place, process)).ok_or_else(missing)
    }
}
