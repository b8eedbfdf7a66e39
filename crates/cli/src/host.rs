//! The desktop that the user sits at, as a world for `apprentice do --host`: in builds with the feature `host` only,
//! because it alone needs the headers of the desktop's own libraries.

use std::sync::Arc;

use apprentice_protocol::{Clock, EnvironmentSource};
use tokio_util::sync::CancellationToken;

use crate::failure::Failure;

/// The user's desktop; holding the stop key cancels.
#[cfg(feature = "host")]
pub(crate) fn source(
    clock: Arc<dyn Clock>,
    cancel: &CancellationToken,
) -> Result<Arc<dyn EnvironmentSource>, Failure> {
    use crate::terminal;

    let cancel = cancel.clone();
    let stop = move || {
        if !cancel.is_cancelled() {
            terminal::note(format_args!("stopping"));
            cancel.cancel();
        }
    };
    let key = apprentice_host::STOP_KEY;
    terminal::note(format_args!("this is your own desktop, nothing is kept apart: hold {key} to stop"));
    Ok(Arc::new(apprentice_host::HostSource::new(clock, Arc::new(stop))))
}

/// Says how to get a build that can.
#[cfg(not(feature = "host"))]
pub(crate) fn source(
    _: Arc<dyn Clock>,
    _: &CancellationToken,
) -> Result<Arc<dyn EnvironmentSource>, Failure> {
    Err(Failure::say(
        crate::failure::Kind::Environment,
        "this build cannot drive the desktop that you sit at; `scripts/setup --host` installs what is needed, and \
         `cargo build --package apprentice-cli --features host` makes one that can",
    ))
}
