//! The getter of OpenComputer's checks: runs a check's verifier in the world, and compares its answer there, in Python.

use std::time::Duration;

use apprentice_protocol::Command;
use serde_json::{Value, json};

use super::machine;
use super::output::{GetterOutput, machine_error, required_str};
use crate::check::collect_context::{CollectContext, CollectError};

pub(super) const NAME: &str = "opencomputer_check";
/// Runs the verifier, which is in its input: no file of the world that an attempt could have changed is read for it.
const RUNNER: &str = include_str!("opencomputer.py");
/// More than the verifier's own limit of 30 s, which the runner keeps.
const DEADLINE: Duration = Duration::from_secs(90);
/// The runner itself bounds what it prints of an answer.
const KEPT: u64 = 256 << 10;

/// Whether upstream has a model judge this check by pictures of the screen.
pub(crate) fn is_judged_by_model(spec: &Value) -> bool {
    spec["check"]["judge"] == "llm"
}

/// Runs one check, and returns it with the answer and whether it passes.
pub(super) async fn check(spec: &Value, context: &CollectContext<'_>) -> Result<GetterOutput, CollectError> {
    if is_judged_by_model(spec) {
        return Ok(GetterOutput::value(json!({"check": spec["check"]})));
    }
    let missing = |what: String| CollectError::Missing { getter: NAME.into(), what };
    let (verifier, path) = (required_str(spec, NAME, "verifier")?, required_str(spec, NAME, "path")?);
    let line = required_str(&spec["check"], NAME, "command")?;
    let source = machine::local(verifier, context).await?;
    let case = json!({
        "source": String::from_utf8(source).map_err(|_| missing(format!("{verifier} as UTF-8")))?,
        "path": path,
        "command": line,
        "check": spec["check"],
    });
    let mut command = Command::new(["python3", "-c", RUNNER]).within(DEADLINE).apart();
    command.stdin = case.to_string().into_bytes();
    command.output_limit = KEPT;
    let output = context.machine.run(&command).await.map_err(machine_error(NAME))?;
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let broken = |_| missing(format!("what the runner of {line:?} tells; it wrote {:?}", tail(&errors)));
    let mut found: Value = serde_json::from_slice(&output.stdout).map_err(broken)?;
    found["check"] = spec["check"].clone();
    let code = found["code"].as_i64().and_then(|code| i32::try_from(code).ok());
    let mut look = GetterOutput::value(found).of(format!("python3 {path} {line}"));
    look.code = code;
    Ok(look)
}

/// Returns the end of a text.
fn tail(text: &str) -> String {
    let text = text.trim_end();
    text.chars().skip(text.chars().count().saturating_sub(300)).collect()
}
