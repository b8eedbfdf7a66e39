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

/// Returns whether a model has to judge this check.
pub(crate) fn is_judged_by_model(spec: &Value) -> bool {
    spec["check"]["judge"] == "llm"
}

/// Returns whether a model has to judge this check by pictures of the screen alone, which is not done.
pub(crate) fn is_judged_by_pictures(spec: &Value) -> bool {
    is_judged_by_model(spec) && spec["check"]["command"].is_null()
}

/// Runs one check, and returns it with the answer and whether it passes.
pub(super) async fn check(spec: &Value, context: &CollectContext<'_>) -> Result<GetterOutput, CollectError> {
    if is_judged_by_pictures(spec) {
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

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    use serde_json::{Value, json};

    use super::RUNNER;

    /// Runs the runner on this machine; `None` without Python.
    fn run(source: &str, command: &str, check: &Value) -> Option<Value> {
        let mut child = Command::new("python3")
            .args(["-c", RUNNER])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .ok()?;
        let case = json!({"source": source, "path": "/v/x.py", "command": command, "check": check});
        child.stdin.take()?.write_all(case.to_string().as_bytes()).expect("written");
        let output = child.wait_with_output().expect("it ends");
        Some(serde_json::from_slice(&output.stdout).expect("JSON"))
    }

    #[test]
    fn answers_are_told_from_faults() {
        const ANSWER: &str = "import sys, json\nprint(json.dumps({'args': sys.argv, 'n': 1.0, 'bad': float('nan')}))\nsys.exit(1)";
        let key = json!({"key": "n", "expected": true});
        let Some(found) = run(ANSWER, "a 'b c'", &key) else { return };
        assert_eq!((&found["passed"], &found["code"]), (&json!(true), &json!(1)), "{found}");
        assert_eq!(found["result"]["args"], json!(["/v/x.py", "a", "b c"]));
        assert_eq!(found["result"]["bad"], "nan");
        let faulty = |source: &str, command: &str| {
            let found = run(source, command, &key).expect("Python is there");
            assert_eq!(found["passed"], false, "{found}");
            found["fault"].as_str().unwrap_or("none").to_owned()
        };
        assert_eq!(faulty("", "a"), "the verifier prints no JSON: ''");
        assert_eq!(faulty("print([1])", "a"), "the verifier prints no JSON object");
        let lacking = "the Python module nobody_has_it is not installed, which the verifier needs";
        assert_eq!(faulty("import nobody_has_it", "a"), lacking);
        assert_eq!(faulty("import nobody_has_it", "a /none/of/these"), "none");
        let shell = "import subprocess\nsubprocess.run('true && nobody_has_it 1 2>/dev/null', shell=True)\nprint('{\"error\": \"x\"}')";
        assert_eq!(
            faulty(shell, "a"),
            "the program nobody_has_it is not installed, which the verifier needs"
        );
        assert_eq!(faulty("import os\nos.kill(os.getpid(), 9)", "a"), "the verifier was ended by signal 9");
        assert_eq!(faulty("raise ValueError('what the attempt wrote')", "a"), "none");
        // Without an error the answer counts: the verifier has another way.
        let other = "try:\n    import nobody_has_it\nexcept ImportError:\n    print('{\"n\": 2}')";
        assert_eq!(faulty(other, "a"), "none");
    }

    #[test]
    fn conditions_are_python_and_answers_are_bounded() {
        const LONG: &str = "print('{\"text\": \"' + 'x' * 9000 + '\"}')";
        let holds = |condition: &str| run(LONG, "a", &json!({"eval": condition}));
        let Some(found) = holds("len(result['text']) == 9000") else { return };
        assert_eq!((&found["passed"], &found["result"]["bytes"]), (&json!(true), &json!(9012)));
        let list =
            run("print('[1, 2]')", "a", &json!({"eval": "len(result) == 2"})).expect("Python is there");
        assert_eq!(list["passed"], true, "{list}");
        let found = holds("result['none']").expect("Python is there");
        assert_eq!((&found["passed"], &found["fault"]), (&json!(false), &Value::Null));
    }
}
