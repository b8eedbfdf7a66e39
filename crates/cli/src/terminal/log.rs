//! The log: messages of this program's crates, on standard error among its other lines.

use std::ffi::OsString;
use std::io;

use tracing::level_filters::{LevelFilter, STATIC_MAX_LEVEL};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::failure::{Failure, Kind};
use crate::process_env;
use crate::terminal;

/// The variable that asks for other messages than warnings: a level, or levels by crate and module.
const LEVELS: &str = "APPRENTICE_LOG";

/// Shows from now on what is logged.
pub(crate) fn start() -> Result<(), Failure> {
    let levels = levels(process_env::variable(LEVELS))?;
    // A terminal obeys colours, and `terminal` shows what a terminal would obey.
    let lines = tracing_subscriber::fmt::layer()
        .without_time()
        .with_ansi(false)
        .with_writer(|| LogMessage(Vec::new()));
    tracing_subscriber::registry().with(levels).with(lines).init();
    Ok(())
}

/// Reads which messages are shown. By default, warnings and errors of this program's own crates: what a library warns of,
/// the crate that calls it handles or reports.
fn levels(asked: Option<OsString>) -> Result<Targets, Failure> {
    let Some(asked) = asked.filter(|asked| !asked.is_empty()) else {
        return Ok(Targets::new().with_target("apprentice", LevelFilter::WARN));
    };
    let asked = asked.to_string_lossy();
    let wrong = |reason: String| {
        Failure::say(Kind::Usage, format_args!("{LEVELS}={asked}: {reason}"))
            .hint("give a level (error, warn, info, debug, trace, off), or levels by crate: apprentice_harness=info,warn")
    };
    let levels: Targets = asked.parse().map_err(|error| wrong(format!("{error}")))?;
    let finest = levels.iter().map(|(_, level)| level).chain(levels.default_level()).max();
    match finest {
        Some(finest) if finest > STATIC_MAX_LEVEL => {
            Err(wrong(format!("this build logs nothing below {STATIC_MAX_LEVEL}")))
        }
        _ => Ok(levels),
    }
}

/// One message, which is printed when it is complete.
struct LogMessage(Vec<u8>);

impl io::Write for LogMessage {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        self.0.write(part)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for LogMessage {
    fn drop(&mut self) {
        terminal::note(format_args!("{}", String::from_utf8_lossy(&self.0).trim()));
    }
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::*;

    #[test]
    fn warnings_of_this_program_are_shown_unless_others_are_asked_for() {
        let shown = |asked: Option<&str>, target, level| {
            levels(asked.map(OsString::from)).unwrap().would_enable(target, &level)
        };
        assert!(shown(None, "apprentice_harness::env", Level::WARN));
        assert!(!shown(None, "apprentice_harness::env", Level::INFO));
        assert!(!shown(None, "hyper::client", Level::ERROR));
        assert!(shown(Some("apprentice_harness=info"), "apprentice_harness::env", Level::INFO));
        assert!(!shown(Some("apprentice_harness=info"), "apprentice_fleet", Level::ERROR));
        assert!(!shown(Some("off"), "apprentice_fleet", Level::ERROR));
    }

    #[test]
    fn a_level_that_does_not_exist_is_refused() {
        let refused = levels(Some(OsString::from("apprentice=loud"))).unwrap_err();
        assert_eq!(refused.kind, Kind::Usage);
        assert!(refused.to_string().contains("APPRENTICE_LOG=apprentice=loud"), "{refused}");
    }
}
