//! Reads what a cell can repeat of a Dockerfile: copied files, variables, the working folder, and commands that install
//! nothing.

use super::conversion::Files;

/// What a command does that a cell cannot: it has neither the network nor rights over the system.
const INSTALLERS: &[&str] = &[
    "apt-get",
    "apt ",
    "apk ",
    "yum ",
    "dnf ",
    "pip ",
    "pip3 ",
    "uv ",
    "npm ",
    "npx ",
    "yarn ",
    "cargo ",
    "go install",
    "gem ",
    "conda ",
    "curl ",
    "wget ",
    "git clone",
    "useradd",
    "adduser",
    "groupadd",
    "chown ",
    "systemctl",
];

/// What a Dockerfile makes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Dockerfile {
    /// The last working folder.
    pub(super) workdir: String,
    /// Variables, each value as a word of a shell.
    pub(super) env: Vec<(String, String)>,
    /// Copied files, by their path without the first slash.
    pub(super) copied: Files,
    /// Commands, each with its folder.
    pub(super) run: Vec<(String, String)>,
}

impl Dockerfile {
    /// Returns the variables with plain values.
    pub(super) fn plain_env(&self) -> impl Iterator<Item = (String, String)> {
        self.env.iter().map(|(name, value)| {
            let plain = shlex::split(value).filter(|words| words.len() == 1).map(|words| words.concat());
            (name.clone(), plain.unwrap_or_else(|| value.clone()))
        })
    }
}

/// Reads a Dockerfile whose context has these files. With `installed`, commands that install are skipped, as the machine
/// has what they install. The error says what a cell cannot do.
pub(super) fn read_dockerfile(text: &str, context: &Files, installed: bool) -> Result<Dockerfile, String> {
    let mut image = Dockerfile { workdir: "/".into(), ..Dockerfile::default() };
    for line in instructions(text) {
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((&line, ""));
        let rest = rest.trim();
        match word.to_ascii_uppercase().as_str() {
            "WORKDIR" => image.workdir = joined(&image.workdir, unquoted(rest)),
            "ENV" => image.env.extend(variables(rest)?),
            "COPY" | "ADD" => copy(&mut image, rest, context)?,
            "RUN" => {
                if let Some(tool) = INSTALLERS.iter().find(|tool| rest.contains(**tool)) {
                    if installed {
                        continue;
                    }
                    let what = format!("its image runs `{}`, which no cell can", tool.trim());
                    return Err(format!(
                        "{what}; --installed skips such lines where this machine has what they install"
                    ));
                }
                if rest.starts_with(['[', '<', '-']) {
                    return Err("its image runs a command in a form that is not read here".into());
                }
                image.run.push((image.workdir.clone(), rest.to_owned()));
            }
            // The base gives programs, which this machine has or has not; the others change nothing that a task sees.
            "FROM" | "LABEL" | "EXPOSE" | "CMD" | "ENTRYPOINT" | "MAINTAINER" | "STOPSIGNAL" | "SHELL"
            | "USER" => {}
            other => return Err(format!("its Dockerfile has {other}, which is not read here")),
        }
    }
    Ok(image)
}

/// Splits a Dockerfile into instructions: joined lines, without comments.
fn instructions(text: &str) -> Vec<String> {
    let (mut all, mut open) = (Vec::new(), String::new());
    for line in text.lines().filter(|line| !line.trim_start().starts_with('#')) {
        match line.trim_end().strip_suffix('\\') {
            Some(part) => {
                open.push_str(part.trim_start());
                open.push(' ');
            }
            None => {
                open.push_str(line.trim());
                all.push(std::mem::take(&mut open));
            }
        }
    }
    all.push(open);
    all.retain(|line| !line.trim().is_empty());
    all
}

fn unquoted(text: &str) -> &str {
    text.trim_matches(['"', '\''])
}

/// Returns a path from a folder on.
fn joined(folder: &str, path: &str) -> String {
    if path.starts_with('/') { path.to_owned() } else { format!("{}/{path}", folder.trim_end_matches('/')) }
}

/// Reads `NAME=VALUE ...`, or the older `NAME VALUE`.
fn variables(rest: &str) -> Result<Vec<(String, String)>, String> {
    let words = shlex::split(rest).ok_or("its Dockerfile has a variable that cannot be read")?;
    let pairs: Option<Vec<(&str, &str)>> = words.iter().map(|word| word.split_once('=')).collect();
    let pairs = pairs.or_else(|| rest.split_once(char::is_whitespace).map(|pair| vec![pair]));
    let pairs = pairs.ok_or("its Dockerfile has a variable that cannot be read")?;
    // A value may name another variable, so it stays open to the shell.
    let quoted = |value: &str| format!("\"{}\"", value.trim().replace('\\', "\\\\").replace('"', "\\\""));
    Ok(pairs.into_iter().map(|(name, value)| (name.trim().to_owned(), quoted(value))).collect())
}

/// Takes files of the context into the image.
fn copy(image: &mut Dockerfile, rest: &str, context: &Files) -> Result<(), String> {
    let unread = || "its Dockerfile copies in a form that is not read here".to_owned();
    let mut words: Vec<String> = match serde_json::from_str(rest) {
        Ok(words) => words,
        Err(_) => shlex::split(rest).ok_or_else(unread)?,
    };
    if words.iter().any(|word| word.starts_with("--from") || word.starts_with("<<")) {
        return Err(unread());
    }
    words.retain(|word| !word.starts_with("--"));
    let target = words.pop().ok_or_else(unread)?;
    let is_folder = target.ends_with('/') || matches!(target.as_str(), "." | "./") || words.len() > 1;
    let place = joined(&image.workdir, target.trim_start_matches("./"));
    let place = place.trim_matches('/').trim_end_matches("/.").to_owned();
    let into = |name: &str| {
        if place.is_empty() || place == "." { name.to_owned() } else { format!("{place}/{name}") }
    };
    for source in &words {
        let source = source.trim_start_matches("./").trim_matches('/');
        if source.contains(['*', '?', '[']) || source.contains("://") {
            return Err(unread());
        }
        if let Some(file) = context.get(source) {
            let name = source.rsplit('/').next().unwrap_or(source);
            let path = if is_folder { into(name) } else { place.clone() };
            image.copied.insert(path, file.clone());
            continue;
        }
        let start = if source.is_empty() || source == "." { String::new() } else { format!("{source}/") };
        let inside: Vec<_> =
            context.iter().filter_map(|(name, file)| Some((name.strip_prefix(&start)?, file))).collect();
        if inside.is_empty() {
            return Err(format!("its Dockerfile copies {source:?}, which is not there"));
        }
        image.copied.extend(inside.into_iter().map(|(name, file)| (into(name), file.clone())));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Files, read_dockerfile};
    use crate::suite::conversion::SourceFile;

    #[test]
    fn what_a_cell_can_repeat_is_read() {
        let file = || SourceFile { bytes: b"x".to_vec(), executable: false };
        let context: Files = ["a.txt", "data/b.txt", "data/c/d.txt"]
            .into_iter()
            .map(|name| (name.to_owned(), file()))
            .collect();
        let text = "FROM python:3 # base\nWORKDIR /app\nENV A=1 B=\"two words\"\nCOPY a.txt .\nCOPY data /srv/data\n\
                    # note\nRUN mkdir -p x \\\n  && touch x/y\nWORKDIR sub\nCOPY a.txt other.txt\nCMD [\"sh\"]\n";
        let image = read_dockerfile(text, &context, false).expect("is read");
        let copied: Vec<&str> = image.copied.keys().map(String::as_str).collect();
        assert_eq!(copied, ["app/a.txt", "app/sub/other.txt", "srv/data/b.txt", "srv/data/c/d.txt"]);
        assert_eq!(image.workdir, "/app/sub");
        assert_eq!(image.run, [("/app".to_owned(), "mkdir -p x  && touch x/y".to_owned())]);
        assert_eq!(image.plain_env().collect::<Vec<_>>()[1], ("B".to_owned(), "two words".to_owned()));
    }

    #[test]
    fn what_a_cell_cannot_do_is_told() {
        let none = Files::new();
        for (text, expected) in [
            ("RUN apt-get install -y vim", "apt-get"),
            ("COPY --from=build /a /b", "not read"),
            ("COPY missing.txt /b", "not there"),
            ("HEALTHCHECK CMD true", "HEALTHCHECK"),
        ] {
            let error = read_dockerfile(text, &none, false).expect_err("cannot be done");
            assert!(error.contains(expected), "{text}: {error}");
        }
        assert!(read_dockerfile("RUN apt-get install -y vim", &none, true).expect("skipped").run.is_empty());
    }
    proptest::proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "((RUN|COPY|ENV|WORKDIR|ADD|FROM|[A-Z]{1,4}) ?[ -~\\n]{0,30}\n){0,6}") {
            let _ = read_dockerfile(&text, &Files::new(), false);
        }
    }
}
