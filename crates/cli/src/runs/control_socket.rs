//! The socket at which a command that runs trials can be watched and steered.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use apprentice_control::{ControlPlace, LiveRuns, serve};
use apprentice_evaluator::run::{Progress, RunControl};
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

use crate::failure::{Failure, Kind, WithKind as _};
use crate::settings::config::Config;
use crate::{process_env, terminal, wire};

/// Answers watchers for as long as it lives.
pub(crate) struct ControlSocket {
    closing: CancellationToken,
    place: Option<Arc<ControlPlace>>,
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        self.closing.cancel();
        // The runtime may end before the task that answers.
        if let Some(place) = &self.place {
            place.leave();
        }
    }
}

impl ControlSocket {
    /// Opens the socket of this process, within an async runtime. A process without one cannot be watched, and says so.
    pub(crate) fn open(config: &Config, live: &Arc<LiveRuns>) -> Self {
        let closing = CancellationToken::new();
        let place = folders(config).and_then(|folders| {
            let first = folders.into_iter().next();
            let folder = first.ok_or_else(|| Failure::say(Kind::Bug, "there is no state folder"))?;
            open(&folder)
        });
        let place = match place {
            Ok(place) => {
                let place = Arc::new(place);
                let serving = serve(Arc::clone(&place), Arc::clone(live), closing.clone());
                tokio::spawn(async move {
                    if let Err(error) = serving.await {
                        terminal::note(format_args!("this run cannot be watched: {error}"));
                    }
                });
                Some(place)
            }
            Err(failure) => {
                terminal::note(format_args!("this run cannot be watched: {failure}"));
                None
            }
        };
        Self { closing, place }
    }
}

/// Returns the control of a run of this command, which reports to `progress` and ends on an interrupt, and the socket at
/// which it can be watched. The socket has to live as long as the run.
pub(crate) fn offered_run(
    config: &Config,
    command: &str,
    progress: UnboundedSender<Progress>,
) -> (RunControl, ControlSocket) {
    let cancel = wire::cancel_on_interrupt();
    let live = LiveRuns::of_command(command, cancel.clone());
    let socket = ControlSocket::open(config, &live);
    (RunControl::new(progress, cancel).watched(live), socket)
}

/// Opens the folders in which processes of this user have their sockets. One that is not there holds none.
pub(crate) fn places(config: &Config) -> Result<Vec<ControlPlace>, Failure> {
    let there = folders(config)?.into_iter().filter(|folder| folder.is_dir());
    there.map(|folder| open(&folder)).collect()
}

/// The name under which this user orders.
pub(crate) fn own_name() -> String {
    let known = ["USER", "LOGNAME"].iter().find_map(|name| process_env::variable(name));
    known.and_then(|name| name.into_string().ok()).unwrap_or_else(|| "somebody".to_owned())
}

/// Opens the folder of the sockets below a state folder, which only this user can write to. Creates what is missing.
fn open(state: &Path) -> Result<ControlPlace, Failure> {
    let folder = apprentice_sandbox::open_state_folder(state).kind(Kind::Environment)?;
    ControlPlace::open(&folder, state).kind(Kind::Environment)
}

fn folders(config: &Config) -> Result<Vec<PathBuf>, Failure> {
    wire::state_folders(config)
}
