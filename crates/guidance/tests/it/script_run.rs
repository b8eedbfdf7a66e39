//! Scripts that skills bring, run in a world that only keeps what it is asked: the limits of a call, at their edges.

use std::sync::{Arc, Mutex};

use apprentice_guidance::{SKILL_RUN, SkillScripts};
use apprentice_protocol::{
    BoxFuture, Capability, ChildProcess, Command, DirEntry, Guidance, Image, Machine, MachineError,
    MachineInfo, Output, PortForward, StepId, StepRef, ToolOutcome, TreeBudget, UiTree, Window,
};
use apprentice_skillbook::package::{ImportOptions, Package, SKILL_FILE, import};
use jiff::Timestamp;
use serde_json::json;

use crate::clerk::run;
use crate::shelf::{Shelf, id};

/// Answers every command of a script with the same output.
struct World {
    info: MachineInfo,
    says: Vec<u8>,
    ran: Mutex<Vec<Command>>,
}

fn ready<'a, T: Send + 'a>(answer: T) -> BoxFuture<'a, T> {
    Box::pin(std::future::ready(answer))
}

fn lacks<'a, T: Send + 'a>() -> BoxFuture<'a, Result<T, MachineError>> {
    ready(Err(MachineError::Unsupported(Capability::Processes)))
}

impl Machine for World {
    fn offers(&self) -> &MachineInfo {
        &self.info
    }

    fn read<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Vec<u8>, MachineError>> {
        lacks()
    }

    fn write<'a>(&'a self, _: &'a str, _: &'a [u8]) -> BoxFuture<'a, Result<(), MachineError>> {
        ready(Ok(()))
    }

    fn list<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Vec<DirEntry>, MachineError>> {
        lacks()
    }

    fn remove<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<(), MachineError>> {
        lacks()
    }

    fn run<'a>(&'a self, command: &'a Command) -> BoxFuture<'a, Result<Output, MachineError>> {
        self.ran.lock().expect("unpoisoned").push(command.clone());
        ready(Ok(Output { stdout: self.says.clone(), ..Output::default() }))
    }

    fn spawn<'a>(&'a self, _: &'a Command) -> BoxFuture<'a, Result<Box<dyn ChildProcess>, MachineError>> {
        lacks()
    }

    fn launch<'a>(&'a self, _: &'a Command) -> BoxFuture<'a, Result<(), MachineError>> {
        lacks()
    }

    fn tree<'a>(&'a self, _: &'a TreeBudget) -> BoxFuture<'a, Result<UiTree, MachineError>> {
        lacks()
    }

    fn screenshot(&self) -> BoxFuture<'_, Result<Image, MachineError>> {
        lacks()
    }

    fn windows(&self) -> BoxFuture<'_, Result<Vec<Window>, MachineError>> {
        lacks()
    }

    fn dial(&self, _: u16) -> BoxFuture<'_, Result<PortForward, MachineError>> {
        lacks()
    }
}

/// The scripts of a book with one package, in a world that says `output` characters. The shelf keeps its files.
fn scripts(output: usize) -> (Shelf, Arc<SkillScripts>, Arc<World>) {
    let shelf = Shelf::new();
    let (mut gateway, _) = shelf.open();
    let page = "---\nname: batch\ndescription: Converting many pictures.\n---\n\n1. See the files.\n";
    let script = "echo done\n";
    let files = [(SKILL_FILE, page), ("scripts/convert.sh", script), ("scripts/check.sh", script)];
    let files = files.map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec()));
    let options = ImportOptions { time: Timestamp::UNIX_EPOCH, domain: "gimp".into(), accept_effects: true };
    let package = Package { name: "batch".into(), files: files.into() };
    assert_eq!(import(&mut gateway, &package, &options).expect("imports").refused, None);
    let scripts = SkillScripts::of(&gateway.snapshot()).expect("it brings scripts");
    let info = MachineInfo { home: "/home/user".into(), ..MachineInfo::default() };
    let world = Arc::new(World { info, says: vec![b'o'; output], ran: Mutex::default() });
    scripts.enter(world.clone());
    (shelf, scripts, world)
}

fn call(scripts: &Arc<SkillScripts>, arguments: &[String]) -> ToolOutcome {
    let guidance = scripts.extend_guidance(Guidance::default());
    assert_eq!(guidance.tools[0].spec().name, SKILL_RUN);
    let asked = json!({ "skill": "gimp/batch", "path": "scripts/convert.sh", "arguments": arguments });
    run(guidance.tools[0].call(&asked, StepRef { step: StepId(1) }))
}

#[test]
fn a_script_gets_up_to_32_arguments_of_8000_characters_together() {
    let (_shelf, scripts, world) = scripts(1);
    for (arguments, taken) in [
        (vec!["a".to_owned(); 32], true),
        (vec!["a".to_owned(); 33], false),
        (vec!["a".repeat(4000), "b".repeat(4000)], true),
        (vec!["a".repeat(4000), "b".repeat(4001)], false),
    ] {
        world.ran.lock().expect("unpoisoned").clear();
        let outcome = call(&scripts, &arguments);
        assert_eq!(outcome.is_error, !taken);
        let ran = world.ran.lock().expect("unpoisoned");
        let Some(command) = ran.last() else {
            assert!(!taken, "what is refused runs nothing");
            continue;
        };
        assert!(command.argv.ends_with(&arguments) && command.argv[0] == "sh", "{:?}", command.argv);
    }
}

#[test]
fn a_script_runs_two_minutes_and_says_64_kib_to_each_stream() {
    let (_shelf, scripts, world) = scripts(1);
    call(&scripts, &[]);
    let ran = world.ran.lock().expect("unpoisoned");
    let command = ran.last().expect("it ran");
    assert_eq!((command.timeout_ms, command.output_limit), (120_000, 65_536));
}

#[test]
fn an_answer_has_12_000_characters_and_the_result_of_a_check_1500() {
    let said = |outcome: &ToolOutcome| outcome.content[0].as_text().expect("text").to_owned();
    let around = said(&call(&scripts(1).1, &[])).chars().count() - 1;
    for (over, cut) in [(0, false), (1, true)] {
        let (_shelf, scripts, _) = scripts(12_000 - around + over);
        let answer = said(&call(&scripts, &[]));
        assert_eq!(answer.contains("more characters]"), cut, "{answer}");
        assert!(answer.chars().count() <= 12_000);
    }
    for (over, cut) in [(0, false), (1, true)] {
        let (_shelf, scripts, _) = scripts(1500 - around + over);
        let check = run(scripts.check(&id("gimp/batch"))).expect("it brings a check");
        assert!(check.passed && check.output.chars().count() <= 1500);
        assert_eq!(check.output.contains("more characters]"), cut, "{}", check.output);
    }
}
