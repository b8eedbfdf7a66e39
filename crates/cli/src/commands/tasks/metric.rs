//! `apprentice tasks metric`: computes one metric of a check, or many from standard input.

use std::io::{BufRead as _, BufReader};

use apprentice_tasks::check::{Compat, MetricRequest, MetricResponse, answer};
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::failure::{Failure, Kind, WithKind as _};
use crate::settings::config::Config;
use crate::terminal;

/// Computes one metric of OSWorld's checks; arguments are paths or JSON, as for its Python function.
#[derive(Debug, Args)]
pub(crate) struct Metric {
    /// The metric's name.
    #[arg(required_unless_present = "stdin", conflicts_with = "stdin")]
    name: Option<String>,
    /// The actual result: a path, a list of paths, or a value.
    #[arg(long, value_name = "PATH|JSON", default_value = "null")]
    result: String,
    /// The expected result.
    #[arg(long, value_name = "PATH|JSON")]
    expected: Option<String>,
    /// Keyword arguments, as a JSON object.
    #[arg(long, value_name = "JSON", default_value = "{}")]
    options: String,
    /// Read requests {"func","result","expected","options"} from standard input, one per line, and answer each.
    #[arg(long)]
    stdin: bool,
    /// Print one JSON object (`apprentice.tasks-metric/1`).
    #[arg(long)]
    json: bool,
}

/// The output of `tasks metric --json`.
#[derive(Serialize, JsonSchema)]
pub(in crate::commands) struct MetricOutput<'a> {
    schema: &'static str,
    #[serde(flatten)]
    answer: &'a MetricResponse,
}

/// Runs the command.
pub(crate) fn run(arguments: &Metric, config: &Config) -> Result<(), Failure> {
    if arguments.stdin {
        return answer_lines(config.osworld_compat);
    }
    let options: Value = serde_json::from_str(&arguments.options).kind(Kind::Usage)?;
    let Value::Object(options) = options else {
        return Err(Failure::say(Kind::Usage, "--options must be a JSON object"));
    };
    let question = MetricRequest {
        func: arguments.name.clone().unwrap_or_default(),
        result: value(&arguments.result),
        expected: arguments.expected.as_deref().map(value),
        judgements: Vec::new(),
        options,
        id: Value::Null,
    };
    let answer = answer(&question, config.osworld_compat);
    if arguments.json {
        terminal::json(&MetricOutput { schema: "apprentice.tasks-metric/1", answer: &answer })?;
    } else {
        let explanation = answer.explanation.as_deref().unwrap_or_default();
        match (answer.score, answer.other_reading) {
            (Some(score), Some(other)) => {
                terminal::line(format_args!("{score} ({other} by the other reading): {explanation}"));
            }
            (Some(score), None) => terminal::line(format_args!("{score}: {explanation}")),
            (None, _) => {}
        }
    }
    match answer.error {
        Some(error) => Err(Failure::say(Kind::Config, error)),
        None => Ok(()),
    }
}

/// Parses a value as JSON; anything else is a string, such as a path.
fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

fn answer_lines(compat: Compat) -> Result<(), Failure> {
    let mut input = BufReader::new(std::io::stdin().lock());
    let mut answers = terminal::Lines::new();
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line).kind(Kind::Usage)? > 0 {
        if !line.trim_ascii().is_empty() {
            let text = match serde_json::from_slice::<MetricRequest>(&line) {
                Ok(question) => serde_json::to_string(&answer(&question, compat)),
                Err(error) => serde_json::to_string(&serde_json::json!({"error": error.to_string()})),
            };
            answers.line(format_args!("{}", text.kind(Kind::Bug)?));
        }
        line.clear();
        // A client that sends one request at a time waits for the answer.
        if !input.buffer().contains(&b'\n') {
            answers.flush();
        }
    }
    Ok(())
}
