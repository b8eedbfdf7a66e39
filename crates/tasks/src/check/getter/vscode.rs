//! The getter for Visual Studio Code's state, which an extension on OSWorld's machines writes to a file on command.

use std::time::Duration;

use apprentice_protocol::{MachineError, Why};
use serde_json::Value;

use super::machine;
use super::output::{GetterOutput, machine_error, required_str};
use crate::check::collect_context::{CollectContext, CollectError};
use crate::world_io::{at_home, with_pyautogui};

const GETTER: &str = "vscode_config";
/// Time limit for the extension's write.
const WRITE_DEADLINE: Duration = Duration::from_secs(5);
const POLL_FLOOR: Duration = Duration::from_millis(100);

/// Types the extension's command into the command palette, as upstream does, and reads the file that it writes.
pub(super) async fn config(spec: &Value, context: &CollectContext<'_>) -> Result<GetterOutput, CollectError> {
    let (command, path) =
        (required_str(spec, GETTER, "vscode_extension_command")?, required_str(spec, GETTER, "path")?);
    let path = at_home(context.machine, path);
    let before = content(&path, context).await?;
    let script = format!(
        "import pyautogui; import time; pyautogui.FAILSAFE = False; pyautogui.hotkey('ctrl', 'shift', 'p'); \
         time.sleep(0.5); pyautogui.typewrite({command:?}); time.sleep(0.5); pyautogui.press('enter')"
    );
    let words = ["python", "-c", &script].map(str::to_owned).to_vec();
    let asked = with_pyautogui(context.machine, words).await.map_err(machine_error(GETTER))?;
    let done = context.machine.run(&asked).await.map_err(machine_error(GETTER))?;
    if done.code != 0 {
        let output_text = String::from_utf8_lossy(&done.stderr);
        let what =
            format!("keyboard input, which failed: {}", output_text.lines().last().unwrap_or_default());
        return Err(CollectError::Missing { getter: GETTER.into(), what });
    }
    let deadline = context.clock.mono() + WRITE_DEADLINE;
    // A rewrite with identical content cannot be distinguished from no write, hence the deadline.
    while context.clock.mono() < deadline && content(&path, context).await? == before {
        context.clock.pause(POLL_FLOOR, Why::PollFloor).await;
    }
    machine::vm_file(spec, context).await
}

async fn content(path: &str, context: &CollectContext<'_>) -> Result<Option<Vec<u8>>, CollectError> {
    match context.machine.read(path).await {
        Ok(bytes) => Ok(Some(bytes)),
        // A rejected read is reported when the file is collected as evidence.
        Err(MachineError::NotFound(_) | MachineError::Refused { .. }) => Ok(None),
        Err(source) => Err(machine_error(GETTER)(source)),
    }
}
