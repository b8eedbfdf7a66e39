//! The getter of tasks that their own script grades: runs it in the world and reads the reward that it wrote.

use std::time::Duration;

use apprentice_protocol::{Command, MachineError};
use serde_json::{Map, Value, json};

use super::output::{GetterOutput, machine_error};
use crate::check::collect_context::{CollectContext, CollectError};

const GETTER: &str = "harbor_reward";
/// Harbor's own time limit of a script that names none.
const DEADLINE: f64 = 600.0;
/// How much of the script's output is kept as evidence, in bytes.
const KEPT: u64 = 64 << 10;
/// Where the script writes its reward, in the order in which Harbor looks.
const REWARDS: [(&str, &str); 2] =
    [("json", "/logs/verifier/reward.json"), ("text", "/logs/verifier/reward.txt")];

/// Runs the script, whatever it answers, and returns its rewards, code and output.
pub(super) async fn harbor(spec: &Value, context: &CollectContext<'_>) -> Result<GetterOutput, CollectError> {
    let text = |name: &str, default: &str| spec[name].as_str().unwrap_or(default).to_owned();
    let (script, folder) = (text("script", "/tests/test.sh"), text("workdir", "/"));
    let seconds = spec["timeout_sec"].as_f64().filter(|seconds| *seconds > 0.0).unwrap_or(DEADLINE);
    let limit = Duration::try_from_secs_f64(seconds).map_err(|error| CollectError::Parameters {
        getter: GETTER.into(),
        problem: format!("\"timeout_sec\": {error}"),
    })?;
    let variables = spec["env"].as_object().cloned().unwrap_or_default();
    // Harbor has bash start the script by its path, so that its first line chooses the program, and bash where there is none.
    let start = "chmod +x \"$0\" && \"$0\"";
    let mut command = Command::new(["bash", "-c", start, script.as_str()]).within(limit).apart();
    command.cwd = Some(folder);
    command.output_limit = KEPT;
    command.env = variables
        .iter()
        .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
        .collect();
    for (_, place) in REWARDS {
        // What the attempt wrote there is no reward.
        match context.machine.remove(place).await {
            Ok(()) | Err(MachineError::NotFound(_)) => {}
            Err(error) => return Err(machine_error(GETTER)(error)),
        }
    }
    let output = context.machine.run(&command).await.map_err(machine_error(GETTER))?;
    if output.timed_out {
        let what = format!("{script} to end within {seconds} s");
        return Err(CollectError::Missing { getter: GETTER.into(), what });
    }
    let mut found = Map::new();
    for (kind, place) in REWARDS {
        match context.machine.read(place).await {
            Ok(bytes) => found.insert(kind.to_owned(), String::from_utf8_lossy(&bytes).into()),
            Err(MachineError::NotFound(_)) => None,
            Err(error) => return Err(machine_error(GETTER)(error)),
        };
    }
    let output_text = format!("{}{}", output.stdout_text(), String::from_utf8_lossy(&output.stderr));
    let mut look = GetterOutput::value(json!({"rewards": found, "output": output_text})).of(script);
    look.code = Some(output.code);
    Ok(look)
}
