//! The user's own desktop as a world for `apprentice do --host`. Only builds with the feature `host` include it,
//! because it needs the headers of the desktop's libraries.

use std::sync::Arc;

use apprentice_protocol::{Clock, EnvironmentSource};
use tokio_util::sync::CancellationToken;

use crate::failure::Failure;

/// Returns the user's desktop as a source of worlds; holding the stop key cancels the attempt.
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
    terminal::note(format_args!("this is your own desktop, without any isolation: hold {key} to stop"));
    Ok(Arc::new(apprentice_host::HostSource::new(clock, Arc::new(stop))))
}

/// Returns an error that explains how to get a build with this feature.
#[cfg(not(feature = "host"))]
pub(crate) fn source(
    _: Arc<dyn Clock>,
    _: &CancellationToken,
) -> Result<Arc<dyn EnvironmentSource>, Failure> {
    Err(Failure::say(
        crate::failure::Kind::Environment,
        "this build cannot control your own desktop; `scripts/setup --host` installs what is needed, and \
         `cargo build --package apprentice-cli --features host` builds a version that can",
    ))
}
