//! Commands and paths as task files write them.

use apprentice_protocol::Machine;
use serde::Deserialize;

/// A command as written in a task file.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub(crate) enum CommandText {
    /// One command line.
    Line(String),
    /// Program and arguments.
    Words(Vec<String>),
}

/// Returns the program and arguments of a command. With a shell, a list runs its first entry as the script, as `sh
/// -c` does; without one, a line is split into words by shell rules.
pub(crate) fn argv(command: &CommandText, shell: bool) -> Option<Vec<String>> {
    let script =
        |words: &[String]| ["sh", "-c"].iter().map(ToString::to_string).chain(words.to_vec()).collect();
    match (command, shell) {
        (CommandText::Line(line), true) => Some(script(std::slice::from_ref(line))),
        (CommandText::Words(words), true) => Some(script(words)),
        (CommandText::Line(line), false) => shlex::split(line),
        (CommandText::Words(words), false) => Some(words.clone()),
    }
    .filter(|words| !words.is_empty())
}

/// Expands a leading `~` to the home of the world's user.
pub(crate) fn at_home(machine: &dyn Machine, path: &str) -> String {
    match path.strip_prefix('~') {
        Some("") => machine.offers().home.clone(),
        Some(rest) if rest.starts_with('/') => format!("{}{rest}", machine.offers().home),
        Some(_) | None => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{CommandText, argv};

    #[test]
    fn commands_follow_the_four_cases() {
        let line = |text: &str| CommandText::Line(text.into());
        let words = |list: &[&str]| CommandText::Words(list.iter().map(ToString::to_string).collect());
        let cases = [
            (line("ls 'a b' | wc"), false, vec!["ls", "a b", "|", "wc"]),
            (line("ls | wc"), true, vec!["sh", "-c", "ls | wc"]),
            (words(&["ls", "|"]), false, vec!["ls", "|"]),
            (words(&["ls $0", "x"]), true, vec!["sh", "-c", "ls $0", "x"]),
        ];
        for (command, shell, expected) in cases {
            assert_eq!(
                argv(&command, shell),
                Some(expected.into_iter().map(str::to_owned).collect()),
                "{command:?}"
            );
        }
        assert_eq!(argv(&line(""), false), None);
        assert_eq!(argv(&line("un'closed"), false), None);
    }
}
