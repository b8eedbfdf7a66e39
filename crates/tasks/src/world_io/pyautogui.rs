//! A stand-in for the package `pyautogui`, which third-party tasks expect in a world.

use apprentice_protocol::{Command, Machine, MachineError};

const MODULE: &str = include_str!("pyautogui.py");
/// The folder of the stand-in module, on the search path only when the world has no real package.
const FOLDER: &str = ".local/share/apprentice/python";

/// Builds a command from its words. Installs the `pyautogui` stand-in when the command mentions it and the world does not have the
/// package.
///
/// # Errors
///
/// Fails if the machine cannot run programs or take files, or is lost.
pub async fn with_pyautogui(machine: &dyn Machine, words: Vec<String>) -> Result<Command, MachineError> {
    let wants_module = words.iter().any(|word| word.contains("pyautogui"));
    let mut command = Command::new(words);
    if !wants_module {
        return Ok(command);
    }
    let folder = format!("{}/{FOLDER}", machine.offers().home);
    let known = machine.run(&Command::new(["python3", "-c", "import pyautogui"])).await;
    if known.is_ok_and(|output| output.code == 0) {
        return Ok(command);
    }
    let place = format!("{folder}/pyautogui.py");
    if !matches!(machine.read(&place).await, Ok(bytes) if bytes == MODULE.as_bytes()) {
        machine.write(&place, MODULE.as_bytes()).await?;
    }
    command.env.push(("PYTHONPATH".into(), folder));
    Ok(command)
}
