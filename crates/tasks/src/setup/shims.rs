//! Stand-ins for what third-party tasks expect in a world and a plain machine lacks: a process named `chrome`, and a port
//! relay.

/// Returns the process pattern of a plain `pkill` command, else `None`. Chromium processes have their own name even
/// when they were started as `chrome`.
pub(super) fn pkill_pattern(words: &[String]) -> Option<&str> {
    match words {
        [program, pattern] if program == "pkill" && !pattern.starts_with('-') => {
            Some(if pattern == "chrome" { "chrom(e|ium)" } else { pattern })
        }
        _ => None,
    }
}

/// Returns whether a command only relays one port of the world to another. Such a relay is not needed: every port is
/// reachable directly.
pub(super) fn is_relay(words: &[String]) -> bool {
    let holds = |word: &String, part: &str| word.to_lowercase().starts_with(part);
    matches!(words, [program, from, to]
        if program == "socat" && holds(from, "tcp-listen:") && holds(to, "tcp:localhost:"))
}

/// Programs that setup does the work of, so that a world need not have them: a relay between ports.
pub(crate) fn is_stood_in_for(program: &str) -> bool {
    program == "socat"
}

#[cfg(test)]
mod tests {
    use super::{is_relay, pkill_pattern};

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn commands_that_end_processes_are_told_from_others() {
        assert_eq!(pkill_pattern(&words("pkill vlc")), Some("vlc"));
        assert_eq!(pkill_pattern(&words("pkill chrome")), Some("chrom(e|ium)"));
        for other in ["pkill", "pkill -9 vlc", "pkill -9", "killall chrome", "vlc pkill"] {
            assert_eq!(pkill_pattern(&words(other)), None, "{other}");
        }
    }

    #[test]
    fn a_relay_is_one_between_ports() {
        assert!(is_relay(&words("socat tcp-listen:9222,fork tcp:localhost:1337")));
        assert!(!is_relay(&words("socat tcp-listen:9222,fork tcp:example.org:80")));
        assert!(!is_relay(&words("socat - tcp:localhost:1337")));
    }
}
