//! The language of a cell's programs.

use std::process::Command;
use std::sync::OnceLock;

/// The language of OSWorld's machines. It orders names as people do, small and capital letters together.
const WANTED: (&str, &str) = ("en_US.UTF-8", "en_US.utf8");
/// A language that every system has, in which all texts are English, too.
const ALWAYS_THERE: &str = "C.UTF-8";

/// Returns the value of `LANG` inside a cell: American English where this system has its data (`scripts/setup` makes
/// them), since a cell shows the system's own files. It is asked for once.
pub(super) fn language() -> &'static str {
    static FOUND: OnceLock<&str> = OnceLock::new();
    FOUND.get_or_init(|| {
        let listed =
            Command::new("locale").arg("-a").output().map(|output| output.stdout).unwrap_or_default();
        among(&String::from_utf8_lossy(&listed))
    })
}

/// Chooses among the languages that `locale -a` lists, which writes them in its own form.
fn among(listed: &str) -> &'static str {
    let has =
        listed.lines().any(|line| line.trim().eq_ignore_ascii_case(WANTED.1) || line.trim() == WANTED.0);
    if has { WANTED.0 } else { ALWAYS_THERE }
}

#[cfg(test)]
mod tests {
    use super::among;

    #[test]
    fn a_language_without_data_is_not_set() {
        assert_eq!(among("C\nC.utf8\nPOSIX\n"), "C.UTF-8");
        assert_eq!(
            among("C\nen_GB.utf8\nen_US\n"),
            "C.UTF-8",
            "the same language in Latin letters is another one"
        );
        assert_eq!(among("C\nen_US.utf8\n"), "en_US.UTF-8");
        assert_eq!(among(""), "C.UTF-8");
    }
}
