//! The outcome of a task's test suite over files of the attempt. It runs in the attempt's world, never on this machine:
//! the tests call what the model wrote.

use std::time::Duration;

use apprentice_metrics::{FileRef, Reading, ReadingContent, ReadingKind, test_function, test_subject};
use apprentice_protocol::{Command, Machine, MachineError};
use serde_json::{Map, Value};

/// Where the files lie in the world while the tests run.
const FOLDER: &str = "/tmp/apprentice-test-suite";
const DEADLINE: Duration = Duration::from_secs(120);
/// Runs the suite and prints its score behind a mark.
const RUNNER: &str = include_str!("test_suite.py");

/// Runs the suite in the world.
pub(crate) async fn run(
    machine: &dyn Machine,
    files: &[&FileRef],
    suite: &FileRef,
    options: &Map<String, Value>,
) -> Result<Reading, MachineError> {
    let of = test_subject(files, suite, options);
    let all: Vec<&FileRef> = files.iter().copied().chain([suite]).collect();
    for file in all {
        machine.write(&format!("{FOLDER}/{}", base_name(&file.name)), &file.bytes).await?;
    }
    let mark = format!("outcome of {of}");
    let name = base_name(&suite.name).to_owned();
    let arguments = ["python3", "-c", RUNNER, &name, test_function(options), &mark];
    let command = Command { cwd: Some(FOLDER.into()), ..Command::new(arguments).apart().within(DEADLINE) };
    let output = machine.run(&command).await;
    machine.remove(FOLDER).await?;
    let output = output?;
    let text = output.stdout_text();
    let told = text.lines().rev().find_map(|line| line.strip_prefix(&mark));
    let content = match told.and_then(outcome) {
        Some(content) => content,
        None => {
            let said = if output.timed_out {
                "the tests did not end in time"
            } else {
                "the tests ended the program"
            };
            ReadingContent::TestSuite { score: 0.0, said: said.into() }
        }
    };
    Ok(Reading::new(ReadingKind::TestSuite, of, &content))
}

fn outcome(told: &str) -> Option<ReadingContent> {
    let (score, said) = told.trim_start_matches(':').split_once(' ')?;
    let score: f64 = score.parse().ok()?;
    (0.0..=1.0).contains(&score).then(|| ReadingContent::TestSuite { score, said: said.to_owned() })
}

fn base_name(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use apprentice_metrics::ReadingContent;

    use super::outcome;

    #[test]
    fn only_a_score_between_0_and_1_is_one() {
        let wanted = ReadingContent::TestSuite { score: 0.5, said: "0.5 returned".into() };
        assert_eq!(outcome(":0.5 0.5 returned"), Some(wanted));
        for wrong in [":7 x", ":-1 x", ":nan x", ":x", ""] {
            assert_eq!(outcome(wrong), None, "{wrong}");
        }
    }
}
