//! The commands of the first `--help`, in groups by what a person wants.

use std::fmt::Write as _;

use crate::terminal::wrap;

/// What an old terminal shows in a line, and what a page of documentation does.
const MAX_COLUMNS: usize = 80;

/// Each group with its commands, those first that a person meets first. A build may lack some.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Run agents", &["do", "run", "resume", "collect", "ps", "watch", "pause", "continue", "step", "stop"]),
    ("Look at what they did", &["view", "report", "trace", "sql", "export", "bundle", "verify"]),
    ("Learn from it", &["learn", "skills", "explore", "functions"]),
    ("Measure", &["demo", "bench", "plan", "distill", "compare", "grade", "fork"]),
    ("Serve", &["serve", "mcp", "acp", "submit", "worker", "queue", "fetch", "cancel", "drain"]),
    (
        "Set up",
        &[
            "doctor",
            "init",
            "tasks",
            "split",
            "models",
            "prompts",
            "config",
            "completions",
            "manual",
            "selftest",
            "help",
        ],
    ),
];

/// Gives the first `--help` its groups, in place of one list of all commands.
pub(crate) fn grouped(command: clap::Command) -> clap::Command {
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}{{all-args}}{{after-help}}",
        groups(&command)
    );
    // A hidden command works as before. The usage would not name commands where all are hidden.
    let hidden = command.mut_subcommands(|command| command.hide(true));
    hidden.help_template(template).override_usage("apprentice [OPTIONS] <COMMAND>")
}

fn groups(command: &clap::Command) -> String {
    let mut text = String::new();
    for (heading, names) in GROUPS {
        let known: Vec<(&str, String)> =
            names.iter().filter_map(|name| Some((*name, about(command, name)?))).collect();
        if known.is_empty() {
            continue;
        }
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{heading}:");
        for (name, about) in known {
            let _ = writeln!(text, "{}", wrap::wrapped(&format!("  {name:11}  {about}"), MAX_COLUMNS));
        }
        text.push('\n');
    }
    text
}

fn about(command: &clap::Command, name: &str) -> Option<String> {
    Some(command.find_subcommand(name)?.get_about()?.to_string())
}

#[cfg(test)]
mod tests {
    use super::GROUPS;
    use crate::args;

    #[test]
    fn each_command_stands_in_one_group() {
        let command = args::command();
        let mut names: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        let known = |name: &&str| command.find_subcommand(*name).is_some();
        let mut grouped: Vec<&str> =
            GROUPS.iter().flat_map(|(_, names)| *names).copied().filter(known).collect();
        names.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, names);
    }
}
