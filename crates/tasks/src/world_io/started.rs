//! The programs that a command line starts, read from its words: those that must be in the world before it runs.
//!
//! A launch in a shell has no "did it start": the shell is there, whatever it is asked for. So the words in the place of a
//! command are resolved in the world first. What only a running shell knows (`$name`, a function) is left to its exit code.

use std::collections::BTreeSet;

/// Words that are part of a shell's language, and commands that it has itself.
const OF_THE_SHELL: [&str; 53] = [
    "!", "{", "}", "if", "then", "elif", "else", "fi", "for", "do", "done", "while", "until", "case", "esac",
    "in", "select", "function", "[[", "]]", ".", ":", "[", "alias", "bg", "break", "builtin", "cd",
    "command", "continue", "declare", "echo", "eval", "exec", "exit", "export", "false", "fg", "hash",
    "history", "jobs", "kill", "local", "printf", "pwd", "read", "return", "set", "shift", "source", "trap",
    "true", "type",
];
/// Further commands of the shell.
const ALSO_OF_THE_SHELL: [&str; 9] =
    ["test", "time", "times", "ulimit", "umask", "unalias", "unset", "wait", "shopt"];
/// Programs that start the program that follows them, with their options that take a word.
const STARTERS: [(&str, &[&str]); 12] = [
    ("env", &["-u", "-C", "-S"]),
    ("exec", &["-a"]),
    ("nohup", &[]),
    ("setsid", &[]),
    ("sudo", &["-u", "-g", "-p", "-h", "-C"]),
    ("nice", &["-n"]),
    ("ionice", &["-c", "-n"]),
    ("stdbuf", &["-i", "-o", "-e"]),
    ("timeout", &["-s", "-k"]),
    ("dbus-launch", &[]),
    ("dbus-run-session", &[]),
    ("time", &[]),
];
/// Words of the shell after which a command follows.
const BEFORE_A_COMMAND: [&str; 8] = ["!", "{", "then", "else", "do", "exec", "time", "eval"];
const SHELLS: [&str; 3] = ["sh", "bash", "dash"];
/// Shells within shells that are read.
const MAX_DEPTH: usize = 4;

/// Returns the programs that a command starts by name or by a path of the system, in the order of their names. What is
/// left out: words of the shell, what variables hold, files below other folders, which the setup itself may make, and a
/// program for whose absence the line provides (`a || b`, `if a`).
pub(crate) fn programs_started(argv: &[String]) -> Vec<String> {
    let mut found = BTreeSet::new();
    of_words(argv, 0, &mut found);
    found.into_iter().collect()
}

/// Returns the programs that a command line starts in a shell.
pub fn programs_of_line(line: &str) -> Vec<String> {
    let mut found = BTreeSet::new();
    of_script(line, 0, &mut found);
    found.into_iter().collect()
}

/// Returns whether a command is a shell with a script on its command line.
pub(crate) fn script_of(argv: &[String]) -> Option<&str> {
    let (program, rest) = argv.split_first()?;
    let name = program.rsplit('/').next().unwrap_or(program);
    if !SHELLS.contains(&name) {
        return None;
    }
    let at = rest
        .iter()
        .position(|word| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c'))?;
    rest.get(at + 1).map(String::as_str)
}

fn of_words(argv: &[String], depth: usize, found: &mut BTreeSet<String>) {
    let assignments = argv.iter().take_while(|word| is_assignment(word)).count();
    let Some(argv) = argv.get(assignments..).filter(|rest| !rest.is_empty() && depth < MAX_DEPTH) else {
        return;
    };
    if let Some(script) = script_of(argv) {
        add(&argv[0], found);
        return of_script(script, depth + 1, found);
    }
    let program = argv[0].as_str();
    let name = program.rsplit('/').next().unwrap_or(program);
    let Some((_, with_word)) = STARTERS.iter().find(|(starter, _)| *starter == name) else {
        return add(program, found);
    };
    if !is_of_the_shell(name) {
        add(program, found);
    }
    let mut at = 1;
    while let Some(word) = argv.get(at) {
        match word {
            word if with_word.contains(&word.as_str()) => at += 2,
            word if word.starts_with('-') || is_assignment(word) => at += 1,
            _ => break,
        }
    }
    // The first word of `timeout` is a time.
    at += usize::from(name == "timeout");
    of_words(argv.get(at..).unwrap_or_default(), depth, found);
}

fn of_script(script: &str, depth: usize, found: &mut BTreeSet<String>) {
    let Some(commands) = commands(script) else { return };
    for (at, command) in commands.iter().enumerate() {
        if !is_provided(&commands[at..]) {
            of_words(&command.words, depth, found);
        }
    }
}

/// Returns whether a script goes on as it should where the first of these commands is missing. A pipeline is provided for as a
/// whole: `a | b || c`.
fn is_provided(commands: &[Simple]) -> bool {
    let ended = commands.iter().find(|one| one.end != End::Pipe).map(|one| one.end);
    ended == Some(End::Or) || commands.first().is_some_and(|command| command.is_asked)
}

/// Returns whether a shell's script provides for the absence of a program, so that what the shell wrote of it is no fault.
pub(crate) fn provides_for(argv: &[String], program: &str) -> bool {
    let Some(commands) = script_of(argv).and_then(commands) else { return false };
    let mut all =
        (0..commands.len()).filter(|at| commands[*at].words.iter().any(|word| word == program)).peekable();
    all.peek().is_some() && all.all(|at| is_provided(&commands[at..]))
}

fn add(program: &str, found: &mut BTreeSet<String>) {
    let of_system =
        ["/usr/", "/opt/", "/bin/", "/sbin/", "/snap/"].iter().any(|folder| program.starts_with(folder));
    let readable = !program.is_empty()
        && program
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '+' | '/' | '@'));
    if readable
        && !is_of_the_shell(program)
        && (of_system || !program.contains('/'))
        && !program.starts_with('-')
    {
        found.insert(program.to_owned());
    }
}

fn is_of_the_shell(word: &str) -> bool {
    OF_THE_SHELL.contains(&word) || ALSO_OF_THE_SHELL.contains(&word)
}

fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map_or("", |(name, _)| name);
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    starts && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// What ends a simple command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// `|`
    Pipe,
    /// `||`
    Or,
    /// `;`, `&`, `&&`, a line break, a bracket, or the end.
    Other,
}

/// A simple command of a script.
#[derive(Debug)]
struct Simple {
    words: Vec<String>,
    end: End,
    /// Whether it is the condition of an `if`, `while` or `until`.
    is_asked: bool,
}

/// Splits a script into simple commands; `None` for one that cannot be read without running it (here-documents, functions,
/// `case`, unclosed quotes).
fn commands(script: &str) -> Option<Vec<Simple>> {
    let mut reader = Reader { rest: script, all: Vec::new(), words: Vec::new() };
    if script.contains("<<") || script.contains("()") {
        return None;
    }
    reader.read()?;
    let has_case = reader.all.iter().any(|one| one.words.first().is_some_and(|word| word == "case"));
    (!has_case).then_some(reader.all)
}

struct Reader<'a> {
    rest: &'a str,
    all: Vec<Simple>,
    words: Vec<String>,
}

impl Reader<'_> {
    fn read(&mut self) -> Option<()> {
        while let Some(first) = self.rest.chars().next() {
            match first {
                ' ' | '\t' => self.skip(1),
                '\\' if self.rest.starts_with("\\\n") => self.skip(2),
                '#' => self.skip(self.rest.find('\n').unwrap_or(self.rest.len())),
                '|' if self.rest.starts_with("||") => self.ended(End::Or, 2),
                '|' => self.ended(End::Pipe, 1),
                '&' if self.rest.starts_with("&>") => self.redirected(2)?,
                '&' => self.ended(End::Other, if self.rest.starts_with("&&") { 2 } else { 1 }),
                ';' | '\n' | '(' | ')' => self.ended(End::Other, 1),
                '<' | '>' => self.redirected(1)?,
                _ => {
                    let word = self.word()?;
                    let is_number = !word.is_empty() && word.chars().all(|c| c.is_ascii_digit());
                    // `2>` is a place and no word.
                    if !(is_number && self.rest.starts_with(['<', '>'])) {
                        self.words.push(word);
                    }
                }
            }
        }
        self.ended(End::Other, 0);
        Some(())
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default();
    }

    /// Skips a redirection with its file.
    fn redirected(&mut self, bytes: usize) -> Option<()> {
        self.skip(bytes);
        self.rest = self.rest.trim_start_matches(['>', '&', '|', ' ', '\t']);
        self.word().map(drop)
    }

    fn ended(&mut self, end: End, bytes: usize) {
        self.skip(bytes);
        let mut words: &[String] = &self.words;
        let mut is_asked = false;
        while let Some((first, rest)) = words.split_first() {
            let asks = matches!(first.as_str(), "if" | "while" | "until" | "elif");
            if !asks && !BEFORE_A_COMMAND.contains(&first.as_str()) {
                break;
            }
            is_asked |= asks;
            words = rest;
        }
        if !words.is_empty() {
            let words = words.to_vec();
            self.all.push(Simple { words, end, is_asked });
        }
        self.words.clear();
    }

    /// Reads a word without its quotes. A substitution stays in it as it stands, so that no name is made of it.
    fn word(&mut self) -> Option<String> {
        let mut word = String::new();
        while let Some(c) = self.rest.chars().next() {
            match c {
                ' ' | '\t' | '\n' | ';' | '|' | '&' | '<' | '>' | '(' | ')' => break,
                '\'' => {
                    let end = self.rest[1..].find('\'')? + 1;
                    word.push_str(&self.rest[1..end]);
                    self.skip(end + 1);
                }
                '"' => word.push_str(&self.quoted()?),
                '\\' => {
                    let next = self.rest[1..].chars().next()?;
                    word.push(next);
                    self.skip(1 + next.len_utf8());
                }
                '$' if self.rest.starts_with("$(") => word.push_str(&self.substitution()?),
                '`' => {
                    let end = self.rest[1..].find('`')? + 2;
                    word.push_str(&self.rest[..end]);
                    self.skip(end);
                }
                c => {
                    word.push(c);
                    self.skip(c.len_utf8());
                }
            }
        }
        Some(word)
    }

    fn quoted(&mut self) -> Option<String> {
        self.skip(1);
        let mut text = String::new();
        loop {
            let c = self.rest.chars().next()?;
            match c {
                '"' => break,
                '\\' => {
                    let next = self.rest[1..].chars().next()?;
                    text.push(next);
                    self.skip(1 + next.len_utf8());
                }
                '$' if self.rest.starts_with("$(") => text.push_str(&self.substitution()?),
                c => {
                    text.push(c);
                    self.skip(c.len_utf8());
                }
            }
        }
        self.skip(1);
        Some(text)
    }

    /// Takes `$(…)` with the brackets in it.
    fn substitution(&mut self) -> Option<String> {
        let mut depth = 0_usize;
        for (at, c) in self.rest.char_indices() {
            match c {
                '(' => depth += 1,
                ')' if depth == 1 => {
                    let text = self.rest[..=at].to_owned();
                    self.skip(at + 1);
                    return Some(text);
                }
                ')' => depth -= 1,
                _ => {}
            }
        }
        None
    }
}

/// Returns the program that a shell or Python says it did not find, in the form that each of them has for it.
pub(crate) fn not_found(stderr: &str) -> Option<&str> {
    let of_python = stderr.contains("subprocess.py\"").then(|| {
        let last = stderr.lines().rev().find(|line| !line.trim().is_empty())?;
        let name = last.strip_prefix("FileNotFoundError: [Errno 2] No such file or directory: '")?;
        name.strip_suffix('\'').filter(|name| !name.contains('/'))
    });
    of_python.flatten().or_else(|| stderr.lines().find_map(of_shell))
}

/// `sh: 1: NAME: not found` of dash, `bash: line 1: NAME: command not found` of bash.
fn of_shell(line: &str) -> Option<&str> {
    let (shell, rest) = line.split_once(": ")?;
    if !SHELLS.contains(&shell.rsplit('/').next().unwrap_or(shell)) {
        return None;
    }
    let (place, rest) =
        rest.split_once(": ").filter(|_| rest.matches(": ").count() > 1).unwrap_or(("1", rest));
    let is_line = place.trim_start_matches("line ").chars().all(|c| c.is_ascii_digit());
    let name = rest.strip_suffix(": command not found").or_else(|| rest.strip_suffix(": not found"))?;
    (is_line && !name.contains([' ', '/'])).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::{not_found, programs_started};

    #[track_caller]
    fn starts(line: &str, expected: &str) {
        let argv = ["sh", "-c", line].map(str::to_owned);
        let found = programs_started(&argv);
        let found: Vec<&str> = found.iter().map(String::as_str).filter(|name| *name != "sh").collect();
        assert_eq!(found.join(" "), expected, "{line}");
    }

    #[test]
    fn the_programs_of_a_line_are_those_in_the_place_of_a_command() {
        for (line, expected) in [
            ("VLC_VERBOSE=-1 vlc --no-audio 2>/dev/null", "vlc"),
            ("cd /tmp && nosuch --x; true", "nosuch"),
            ("nosuch | cat > out.txt &", "cat nosuch"),
            ("nohup env A=1 nosuch >/dev/null 2>&1 &", "env nohup nosuch"),
            ("timeout -k 1 20 nosuch; sudo -u user nice -n 3 other", "nice nosuch other sudo timeout"),
            ("bash -lc 'nosuch a; b'", "b bash nosuch"),
            ("echo \"$(nosuch)\" && $PROGRAM x; ./made.sh; /home/user/x; /usr/bin/nosuch", "/usr/bin/nosuch"),
            ("(sleep 1; nosuch) & wait", "nosuch sleep"),
            ("if nosuch; then other; else third; fi", "other third"),
            ("nosuch || true", ""),
            ("nosuch | grep x || true", ""),
            ("command -v nosuch && echo 'a; b'", ""),
            ("# nosuch\nls \\\n -l", "ls"),
            ("cat <<E\nnosuch\nE", ""),
            ("f() { nosuch; }", ""),
            ("echo 'unclosed", ""),
            ("echo \"x | nosuch\" && printf ';nosuch'", ""),
            ("! grep -q x /etc/hosts", "grep"),
            ("while ! nosuch; do sleep 1; done", "sleep"),
            ("", ""),
        ] {
            starts(line, expected);
        }
        assert_eq!(programs_started(&["nosuch".into(), "|".into(), "x".into()]), ["nosuch"]);
        assert_eq!(programs_started(&[]), [""; 0]);
    }

    #[test]
    fn shells_and_python_say_what_they_did_not_find() {
        assert_eq!(not_found("sh: 1: nosuch: not found\n"), Some("nosuch"));
        assert_eq!(not_found("/bin/sh: 1: nosuch: not found"), Some("nosuch"));
        assert_eq!(not_found("bash: line 3: nosuch: command not found"), Some("nosuch"));
        assert_eq!(not_found("bash: nosuch: command not found"), Some("nosuch"));
        let python = "Traceback (most recent call last):\n  File \"/usr/lib/python3.11/subprocess.py\", line 1955, in _execute_child\n    \
                      raise child_exception_type(errno_num, err_msg, err_filename)\n\
                      FileNotFoundError: [Errno 2] No such file or directory: 'nosuch'\n";
        assert_eq!(not_found(python), Some("nosuch"));
        for other in [
            "FileNotFoundError: [Errno 2] No such file or directory: 'a.txt'",
            "sh: 1: cannot open a: No such file",
            "grep: x: not found",
            "the file a: not found",
            "",
        ] {
            assert_eq!(not_found(other), None, "{other}");
        }
    }
}
