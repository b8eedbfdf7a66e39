//! The world of an evaluation as a task's setup: what is started, and what the agent is told of it.

use apprentice_skillbook::package::evals::{EvalEnvironment, SkillEval};
use serde_json::{Value, json};

use apprentice_evaluator::app_versions::start_command;

/// The folder in which the agent works.
pub(super) const WORK: &str = "/home/user/work";

/// A world of an evaluation.
pub(super) struct EvalWorld {
    /// The kind of world, as a task names it.
    pub(super) environment: &'static str,
    /// The program, by its name in a skillbook.
    pub(super) domain: String,
    /// The programs that the machine needs for it.
    pub(super) programs: Vec<String>,
    /// The setup step that opens what the agent sees first.
    pub(super) start: Value,
}

impl EvalWorld {
    pub(super) fn of(environment: &EvalEnvironment) -> Self {
        match environment {
            EvalEnvironment::Terminal => Self {
                environment: "desktop",
                domain: "terminal".to_owned(),
                programs: vec!["xfce4-terminal".to_owned(), "bash".to_owned()],
                start: json!({"type": "launch", "parameters": {"window": "Terminal", "command": [
                    "xfce4-terminal", "--title=Terminal", "--command", format!("sh -c 'cd {WORK}; exec bash --norc'")]}}),
            },
            EvalEnvironment::Browser { open } => Self {
                environment: "browser",
                domain: "chromium".to_owned(),
                programs: vec!["chromium".to_owned()],
                start: json!({"type": "chrome_open_tabs", "parameters": {"urls_to_open": [address(open)]}}),
            },
            EvalEnvironment::Desktop { program, open } => {
                let mut command: Vec<String> =
                    start_command(program).split_whitespace().map(str::to_owned).collect();
                let programs = command.iter().take(1).cloned().collect();
                command.extend(open.iter().map(|file| format!("{WORK}/{file}")));
                Self {
                    environment: "desktop",
                    domain: program.clone(),
                    programs,
                    start: json!({"type": "launch", "parameters": {"command": command}}),
                }
            }
        }
    }
}

/// The address of a file where the agent works.
fn address(file: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
    let text = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    format!("file://{WORK}/{}", file.bytes().map(text).collect::<String>())
}

/// A locator that finds "yes" if the text of a page holds a text.
pub(super) fn page_holds(text: &str) -> String {
    format!("document.body.innerText.includes({}) ? \"yes\" : \"no\"", json!(text))
}

/// What the agent is asked: the prompt, and where it works.
pub(super) fn instruction(eval: &SkillEval) -> String {
    let names: Vec<&str> = eval.files.iter().map(|file| file.target.as_str()).collect();
    let beside = |place: &str| match names.is_empty() {
        true => String::new(),
        false => format!(" The files that belong to this are in {place}: {}.", names.join(", ")),
    };
    let place = match &eval.environment {
        EvalEnvironment::Terminal => format!(
            "You work in the folder {WORK}; a terminal is open there.{} Files that you make belong into this folder, too.",
            beside("it")
        ),
        EvalEnvironment::Browser { open } => format!("The page {open} is open in the browser."),
        EvalEnvironment::Desktop { program, open: Some(file) } => {
            format!("{file} is open in {program}.{}", beside(WORK))
        }
        EvalEnvironment::Desktop { program, open: None } => format!("{program} is open.{}", beside(WORK)),
    };
    format!(
        "{}\n\n{place} When you are done, finish with an answer: it is all that the person who asked gets to read.",
        eval.prompt
    )
}

#[cfg(test)]
mod tests {
    use super::{WORK, address, page_holds};

    #[test]
    fn names_of_files_and_texts_of_checks_cannot_leave_their_place() {
        assert_eq!(address("a b#c/d.html"), format!("file://{WORK}/a%20b%23c/d.html"));
        assert_eq!(
            page_holds("\") || alert(\""),
            "document.body.innerText.includes(\"\\\") || alert(\\\"\") ? \"yes\" : \"no\""
        );
    }
}
