//! Cells for the tests of worlds.

use std::path::{Path, PathBuf};

use apprentice_protocol::{Command, Machine};
use apprentice_sandbox::{CellIsolation, CellLimits, CellSpec};

/// The program that is started again as a cell's supervisor.
pub(crate) fn owner() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_apprentice-world"))
}

/// A cell's definition, with its state below a folder.
pub(crate) fn spec(state: &Path) -> CellSpec {
    CellSpec {
        network: Vec::new(),
        folders: Vec::new(),
        screen: None,
        bare: false,
        isolation: CellIsolation::Bubblewrap,
        program: owner(),
        argument: "cell-supervisor".into(),
        state: state.to_owned(),
        golden: None,
        limits: CellLimits::default(),
    }
}

/// A state folder that a cell's user can reach.
pub(crate) fn state() -> tempfile::TempDir {
    use std::os::unix::fs::PermissionsExt;
    let state = tempfile::tempdir().expect("a folder");
    std::fs::set_permissions(state.path(), std::fs::Permissions::from_mode(0o755)).expect("open");
    state
}

/// Runs a shell line that must succeed and gives its output.
pub(crate) async fn shell(machine: &dyn Machine, line: &str) -> String {
    let output = machine.run(&Command::shell(line)).await.expect("runs");
    assert_eq!(output.code, 0, "{line}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout_text().trim_end().to_owned()
}
