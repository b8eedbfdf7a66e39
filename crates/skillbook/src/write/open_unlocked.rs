//! Opens a book for writing once no other writer holds it.

use std::path::Path;
use std::time::Duration;

use apprentice_protocol::{Clock, Why};

use super::gateway::{Gateway, GatewayOptions};
use super::write_mode::WriteMode;
use crate::BookError;

/// Attempts to open a book that another writer has locked, and the pause between them: five seconds in total.
const OPEN_TRIES: u32 = 50;
const OPEN_PAUSE: Duration = Duration::from_millis(100);

/// Opens a book for writing. Waits for another writer for a while without blocking the thread.
///
/// # Errors
///
/// As [`Gateway::open`], and [`BookError::Locked`] if the other writer does not finish in time.
pub async fn open_unlocked(folder: &Path, clock: &dyn Clock, mode: WriteMode) -> Result<Gateway, BookError> {
    let mut tries = 0;
    loop {
        tries += 1;
        let options = GatewayOptions { mode, ..GatewayOptions::at(clock.now()) };
        match Gateway::try_open(folder, options) {
            Err(BookError::Locked(_)) if tries < OPEN_TRIES => clock.pause(OPEN_PAUSE, Why::PollFloor).await,
            opened => return opened.map(|(gateway, _)| gateway),
        }
    }
}
