//! Files that programs write some time after what they record was done, and what tells that it is in them.
//!
//! The suite's own harness looks at a file twenty seconds after the last act. Here nothing is slept through: a look
//! ends as soon as it is certain that the file holds everything, and goes on for the program's own delay at most.
//! Where setup steps of the check have ended the program, or started it anew, nothing is waited for.

use std::time::Duration;

use apprentice_protocol::{Capability, Command, MachineError, Why};

use super::{CollectContext, CollectError};

const POLL_FLOOR: Duration = Duration::from_millis(200);
/// What is written so soon after the end may have been put together before it.
const WRITING: Duration = Duration::from_millis(500);
/// A file that is never at rest is taken as it is by then.
const REST_DEADLINE: Duration = Duration::from_secs(10);

/// A file that is written behind.
struct Behind {
    /// How its path ends.
    path: &'static str,
    /// The program that writes it, as a pattern of its processes' names.
    program: &'static str,
    /// How long after an act it is written at the latest: as measured, with some room for a busy machine.
    within: Duration,
    sign: Sign,
}

/// What tells that such a file is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sign {
    /// That it was written since the attempt ended: each time the program writes all that it knows.
    Written,
    /// That it has not been written for as long as that: the program takes several turns.
    AtRest,
}

/// What was measured on the real programs; `docs/osworld.md` has the numbers. What is not here was seen to be written
/// at once (VLC's `vlcrc`, GIMP's `gimprc`, within half a second Thunderbird's `prefs.js`) or only as the program ends (GIMP's `sessionrc`).
const BEHIND: &[Behind] = &[
    Behind {
        path: "/registrymodifications.xcu",
        program: "soffice.bin",
        within: Duration::from_millis(1500),
        sign: Sign::AtRest,
    },
    Behind {
        path: "/Default/Preferences",
        program: "chrom(e|ium)",
        within: Duration::from_secs(11),
        sign: Sign::Written,
    },
    Behind {
        path: "/Default/Bookmarks",
        program: "chrom(e|ium)",
        within: Duration::from_secs(4),
        sign: Sign::Written,
    },
    Behind {
        path: "/Default/History",
        program: "chrom(e|ium)",
        within: Duration::from_secs(12),
        sign: Sign::Written,
    },
    Behind {
        path: "/Default/Cookies",
        program: "chrom(e|ium)",
        within: Duration::from_secs(32),
        sign: Sign::Written,
    },
    Behind {
        path: ".default-release/xulstore.json",
        program: "thunderbird",
        within: Duration::from_secs(32),
        sign: Sign::Written,
    },
];

/// Prints the world's time, the time at which the file was written, and the age of the program's oldest process, each
/// `-` where there is none; nothing at all where the file's folder is not there.
const PROBE: &str = r#"[ -d "${1%/*}" ] || exit 0
now=$(date +%s.%N) written=$(stat -c %.9Y -- "$1" 2>/dev/null) pid=$(pgrep -o "$2")
echo "$now ${written:--} $([ -n "$pid" ] && ps -o etimes= -p "$pid" || echo -)""#;

/// Waits until a file holds all that was done before the attempt ended, where its program is known to write it later.
pub(super) async fn await_written(path: &str, context: &CollectContext<'_>) -> Result<(), CollectError> {
    // A world without windows has its programs write when it is asked for their files.
    if !context.machine.offers().capabilities.contains(&Capability::Windows) {
        return Ok(());
    }
    let Some(behind) = BEHIND.iter().find(|behind| path.ends_with(behind.path)) else { return Ok(()) };
    loop {
        let words = ["sh", "-c", PROBE, "sh", path, behind.program];
        let probed = match context.machine.run(&Command::new(words)).await {
            Err(error @ MachineError::Lost(_)) => {
                return Err(CollectError::Machine { getter: path.to_owned(), source: error });
            }
            // What cannot be found out is not waited for.
            probed => probed.ok().and_then(|output| Probed::read(&output.stdout_text())),
        };
        let since = context.clock.mono().saturating_sub(context.ended);
        if probed.is_none_or(|probed| behind.is_done(probed, since)) {
            return Ok(());
        }
        context.clock.pause(POLL_FLOOR, Why::PollFloor).await;
    }
}

/// What was found out about a file and its program.
#[derive(Clone, Copy)]
struct Probed {
    /// How long ago the file was written, if it is there.
    written: Option<Duration>,
    /// How long the program has run at least, in whole seconds.
    runs: Duration,
}

impl Probed {
    /// None where the program does not run, and where nothing is known.
    fn read(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        let now: f64 = words.next()?.parse().ok()?;
        let written: Option<f64> = words.next()?.parse().ok();
        let runs = Duration::from_secs(words.next()?.parse().ok()?);
        let age = |at: f64| Duration::try_from_secs_f64(now - at).unwrap_or_default();
        Some(Self { written: written.map(age), runs })
    }
}

impl Behind {
    fn is_done(&self, probed: Probed, since: Duration) -> bool {
        // Whole seconds are cut off: one that may be older than the attempt's end counts as older.
        let started_after = probed.runs + Duration::from_secs(1) <= since;
        let rested = |written: Duration| written >= self.within;
        started_after
            || match self.sign {
                Sign::Written => {
                    let fresh = |written: Duration| written + WRITING < since;
                    since >= self.within || probed.written.is_some_and(fresh)
                }
                Sign::AtRest => {
                    since >= self.within && (probed.written.is_none_or(rested) || since >= REST_DEADLINE)
                }
            }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{BEHIND, Probed};

    fn check(path: &str, line: &str, since: u64, done: bool) {
        let behind = BEHIND.iter().find(|behind| behind.path.ends_with(path)).expect("it is known");
        let found =
            Probed::read(line).is_none_or(|probed| behind.is_done(probed, Duration::from_secs(since)));
        assert_eq!(found, done, "{path}: {line:?} after {since} s");
    }

    #[test]
    fn a_file_is_looked_at_once_it_holds_everything_and_no_later() {
        // Neither a folder nor a running program.
        check("Preferences", "", 0, true);
        check("Preferences", "100.5 90.0 -", 0, true);
        // Written before the end, then after it, then not at all in its time.
        check("Preferences", "100.5 90.0 30", 3, false);
        check("Preferences", "100.5 97.8 30", 3, false);
        check("Preferences", "100.5 98.5 30", 3, true);
        check("Preferences", "100.5 90.0 30", 11, true);
        check("Bookmarks", "100.5 - 30", 3, false);
        check("Bookmarks", "100.5 - 30", 4, true);
        // Started by the steps of the check; or perhaps just before the end.
        check("Preferences", "100.5 90.0 2", 3, true);
        check("Preferences", "100.5 90.0 3", 3, false);
        // Settings that are written again and again.
        check("registrymodifications.xcu", "100.5 90.0 30", 1, false);
        check("registrymodifications.xcu", "100.5 90.0 30", 2, true);
        check("registrymodifications.xcu", "100.5 99.5 30", 2, false);
        check("registrymodifications.xcu", "100.5 99.5 30", 10, true);
    }
}
