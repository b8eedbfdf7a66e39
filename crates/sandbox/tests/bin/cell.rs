//! A program for the tests: they start it as a cell's supervisor, and as an owner of a cell that they kill.
#![expect(clippy::expect_used, clippy::print_stdout, reason = "a program of the tests")]

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use apprentice_protocol::{Command, Size, WorldError};
use apprentice_sandbox::{Cell, CellIsolation, CellLimits, CellSpec, SystemClock, supervise};

/// The argument that makes this program a supervisor.
const SUPERVISOR: &str = "cell-supervisor";

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let first = arguments.next().unwrap_or_default();
    if first == SUPERVISOR {
        return ExitCode::from(u8::try_from(supervise(arguments)).unwrap_or(1));
    }
    let words: Vec<String> = arguments.map(|word| word.to_string_lossy().into_owned()).collect();
    let isolation = if first == "plain" { CellIsolation::Plain } else { CellIsolation::Bubblewrap };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    match runtime.block_on(own(isolation, &words)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("{:?}: {error}", error.fault);
            ExitCode::FAILURE
        }
    }
}

/// Starts a cell with the first word as its state folder. Runs the second word inside, or keeps the cell running.
async fn own(isolation: CellIsolation, words: &[String]) -> Result<(), WorldError> {
    let [state, rest @ ..] = words else { return Ok(()) };
    let spec = CellSpec {
        bare: false,
        screen: Some(Size::new(800, 600).into()),
        isolation,
        program: std::env::current_exe().expect("a program"),
        argument: SUPERVISOR.into(),
        state: state.into(),
        golden: None,
        limits: CellLimits::default(),
        network: Vec::new(),
        folders: Vec::new(),
    };
    let cell = Cell::start(&spec, Arc::new(SystemClock::new())).await?;
    match rest {
        [line, ..] => {
            let output = cell.machine().run(&Command::shell(line)).await.expect("runs");
            print!("{}", output.stdout_text());
        }
        [] => {
            cell.machine().launch(&Command::new(["sleep", "infinity"])).await.expect("starts");
            println!("ready");
            std::future::pending::<()>().await;
        }
    }
    cell.close(Duration::from_secs(5)).await
}
