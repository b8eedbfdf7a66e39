//! Waits for files that applications write with a delay, such as Chromium's `Preferences`.
//!
//! OSWorld's own harness sleeps for twenty seconds after the last action. This module polls instead: it returns as
//! soon as the file certainly holds every change, and at the latest after the application's own write delay. It does
//! not wait at all if a setup step of the check has closed or restarted the application.

use std::time::Duration;

use apprentice_protocol::{Capability, Command, MachineError, Why};

use crate::check::collect_context::{CollectContext, CollectError};

const POLL_FLOOR: Duration = Duration::from_millis(200);
/// A write this soon after the attempt's end may hold data gathered before the end.
const WRITE_MARGIN: Duration = Duration::from_millis(500);
/// A file that keeps changing is read as it is after this time.
const REST_DEADLINE: Duration = Duration::from_secs(10);

/// A file that its application writes with a delay.
struct DelayedFile {
    /// Suffix of the path.
    path: &'static str,
    /// A `pgrep` pattern for the application that writes it.
    program: &'static str,
    /// The maximum delay between an action and the write: measured, plus a margin for a busy machine.
    max_delay: Duration,
    completion: Completion,
}

/// The condition under which such a file is complete.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Completion {
    /// It was written after the attempt's end; each write contains the application's whole state.
    Written,
    /// It has not been written for the delay's duration; the application writes in several steps.
    AtRest,
}

/// Delays measured on the real applications; `docs/osworld.md` has the numbers. Files not listed here were written
/// immediately (VLC's `vlcrc`, GIMP's `gimprc`), after half a second at most (Thunderbird's `prefs.js`), or only when
/// the application exits (GIMP's `sessionrc`).
const DELAYED_FILES: &[DelayedFile] = &[
    DelayedFile {
        path: "/registrymodifications.xcu",
        program: "soffice.bin",
        max_delay: Duration::from_millis(1500),
        completion: Completion::AtRest,
    },
    DelayedFile {
        path: "/Default/Preferences",
        program: "chrom(e|ium)",
        max_delay: Duration::from_secs(11),
        completion: Completion::Written,
    },
    DelayedFile {
        path: "/Default/Bookmarks",
        program: "chrom(e|ium)",
        max_delay: Duration::from_secs(12),
        completion: Completion::Written,
    },
    DelayedFile {
        path: "/Default/History",
        program: "chrom(e|ium)",
        max_delay: Duration::from_secs(12),
        completion: Completion::Written,
    },
    DelayedFile {
        path: "/Default/Cookies",
        program: "chrom(e|ium)",
        max_delay: Duration::from_secs(32),
        completion: Completion::Written,
    },
    DelayedFile {
        path: ".default-release/xulstore.json",
        program: "thunderbird",
        max_delay: Duration::from_secs(32),
        completion: Completion::Written,
    },
    DelayedFile {
        path: "/Code/User/settings.json",
        program: "^(code|node)$",
        max_delay: Duration::from_millis(1500),
        completion: Completion::AtRest,
    },
    DelayedFile {
        path: "/Code/User/keybindings.json",
        program: "^(code|node)$",
        max_delay: Duration::from_millis(1500),
        completion: Completion::AtRest,
    },
];

/// Prints the machine's time, the file's modification time and the age of the application's oldest process, with `-`
/// for a missing value. It prints nothing if the file's folder does not exist.
const PROBE: &str = r#"[ -d "${1%/*}" ] || exit 0
now=$(date +%s.%N) written=$(stat -c %.9Y -- "$1" 2>/dev/null) pid=$(pgrep -o "$2")
echo "$now ${written:--} $([ -n "$pid" ] && ps -o etimes= -p "$pid" || echo -)""#;

/// Returns whether an application writes this file some time after the action that changes it.
pub(crate) fn is_written_late(path: &str) -> bool {
    DELAYED_FILES.iter().any(|late| path.ends_with(late.path))
}

/// Waits until a file with a known write delay holds every change made before the attempt ended.
pub(super) async fn await_written(path: &str, context: &CollectContext<'_>) -> Result<(), CollectError> {
    // On a machine without windows, applications write their files when they are read.
    if !context.machine.offers().capabilities.contains(&Capability::Windows) {
        return Ok(());
    }
    let Some(behind) = DELAYED_FILES.iter().find(|behind| path.ends_with(behind.path)) else { return Ok(()) };
    loop {
        let words = ["sh", "-c", PROBE, "sh", path, behind.program];
        let probed = match context.machine.run(&Command::new(words).apart()).await {
            Err(error @ MachineError::Lost(_)) => {
                return Err(CollectError::Machine { getter: path.to_owned(), source: error });
            }
            // If the probe fails, the file is read without waiting.
            probed => probed.ok().and_then(|output| FileState::read(&output.stdout_text())),
        };
        let since = context.clock.mono().saturating_sub(context.ended);
        if probed.is_none_or(|probed| behind.is_complete(probed, since)) {
            return Ok(());
        }
        context.clock.pause(POLL_FLOOR, Why::PollFloor).await;
    }
}

/// The state of a file and its application.
#[derive(Clone, Copy)]
struct FileState {
    /// Time since the file was written; `None` if it does not exist.
    written: Option<Duration>,
    /// Minimum age of the application's process, in whole seconds.
    process_age: Duration,
}

impl FileState {
    /// Parses the probe's output. Returns `None` if the application is not running or the output is incomplete.
    fn read(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        let now: f64 = words.next()?.parse().ok()?;
        let written: Option<f64> = words.next()?.parse().ok();
        let process_age = Duration::from_secs(words.next()?.parse().ok()?);
        let age = |at: f64| Duration::try_from_secs_f64(now - at).unwrap_or_default();
        Some(Self { written: written.map(age), process_age })
    }
}

impl DelayedFile {
    fn is_complete(&self, probed: FileState, since: Duration) -> bool {
        // The age is truncated to whole seconds: a process that may have started before the attempt's end counts as
        // started before it.
        let started_after = probed.process_age + Duration::from_secs(1) <= since;
        let rested = |written: Duration| written >= self.max_delay;
        started_after
            || match self.completion {
                Completion::Written => {
                    let fresh = |written: Duration| written + WRITE_MARGIN < since;
                    since >= self.max_delay || probed.written.is_some_and(fresh)
                }
                Completion::AtRest => {
                    since >= self.max_delay && (probed.written.is_none_or(rested) || since >= REST_DEADLINE)
                }
            }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{DELAYED_FILES, FileState};

    fn check(path: &str, line: &str, since: u64, done: bool) {
        let behind = DELAYED_FILES.iter().find(|behind| behind.path.ends_with(path)).expect("it is known");
        let found =
            FileState::read(line).is_none_or(|probed| behind.is_complete(probed, Duration::from_secs(since)));
        assert_eq!(found, done, "{path}: {line:?} after {since} s");
    }

    #[test]
    fn a_file_is_looked_at_once_it_holds_everything_and_no_later() {
        // No folder, then no running application.
        check("Preferences", "", 0, true);
        check("Preferences", "100.5 90.0 -", 0, true);
        // Written before the end, shortly after it, clearly after it, and not at all during the delay.
        check("Preferences", "100.5 90.0 30", 3, false);
        check("Preferences", "100.5 97.8 30", 3, false);
        check("Preferences", "100.5 98.5 30", 3, true);
        check("Preferences", "100.5 90.0 30", 11, true);
        check("Bookmarks", "100.5 - 30", 11, false);
        check("Bookmarks", "100.5 - 30", 12, true);
        // Started by a step of the check; or possibly just before the end.
        check("Preferences", "100.5 90.0 2", 3, true);
        check("Preferences", "100.5 90.0 3", 3, false);
        // Settings that are written repeatedly.
        check("registrymodifications.xcu", "100.5 90.0 30", 1, false);
        check("registrymodifications.xcu", "100.5 90.0 30", 2, true);
        check("registrymodifications.xcu", "100.5 99.5 30", 2, false);
        check("Code/User/settings.json", "100.5 - 30", 1, false);
        check("Code/User/keybindings.json", "100.5 - 30", 1, false);
        check("Code/User/settings.json", "100.5 - 30", 2, true);
        check("registrymodifications.xcu", "100.5 99.5 30", 10, true);
    }
}
