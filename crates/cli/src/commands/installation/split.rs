//! `apprentice split`: draws, shows and locks the split of a suite into training, development and test tasks.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use apprentice_evaluator::split::{
    DRAFT_FILE, DraftError, KnowledgeParts, Overlap, SharedBy, Shares, SplitDraft, SplitLock, overlaps,
};
use apprentice_protocol::{TaskId, counted};
use apprentice_results::stats::MIN_TEMPLATES;
use apprentice_runs::row::Split;
use apprentice_tasks::suite::{SPLIT_FILE, Suite};
use clap::{Args, Subcommand};
use schemars::JsonSchema;
use serde::Serialize;

use crate::failure::{Failure, Kind, WithKind as _};
use crate::terminal;

/// Draws, shows and locks the split of a suite into training, development and test tasks.
///
/// `draw` writes `split.toml` beside the suite, which a person may edit. `lock` checks it and writes `split.json`,
/// which `learn`, `bench` and `distill` read.
#[derive(Debug, Args)]
pub(crate) struct SplitCommand {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Draw(Draw),
    Show(Show),
    Lock(Lock),
}

/// Deals the templates into parts by chance, with a seed. Tasks without a template are grouped by program, start file
/// and wording; what is asked in nearly the same words stands in one part. Knowledge that several templates carry comes into
/// train and into test.
#[derive(Debug, Args)]
struct Draw {
    /// The suite's folder or its suite file.
    suite: PathBuf,
    /// The seed of the draw: a number or a word.
    #[arg(long, default_value = "0")]
    seed: String,
    /// Relative shares of train, dev and test.
    #[arg(long, value_name = "TRAIN/DEV/TEST", default_value = "50/10/40", value_parser = shares)]
    shares: Shares,
    /// Replace a draft that is there.
    #[arg(long)]
    replace: bool,
    /// Print one JSON object (`apprentice.split-show/1`).
    #[arg(long)]
    json: bool,
}

/// Shows the parts of the draft, or of the locked split without one: counts, templates, and what spans parts.
#[derive(Debug, Args)]
struct Show {
    /// The suite's folder or its suite file.
    suite: PathBuf,
    /// Print one JSON object (`apprentice.split-show/1`).
    #[arg(long)]
    json: bool,
}

/// Checks the draft and writes the lock. The lock covers templates, instructions and the seed; solutions, checks and
/// files may change later.
///
/// Refused are tasks in no part or in two, and tasks of train and test that ask for the same in nearly the same words.
/// Without a draft, an existing lock is checked against the suite and renewed.
#[derive(Debug, Args)]
struct Lock {
    /// The suite's folder or its suite file.
    suite: PathBuf,
    /// Print one JSON object (`apprentice.split-show/1`).
    #[arg(long)]
    json: bool,
}

/// The output of each command.
#[derive(Serialize, JsonSchema)]
pub(in crate::commands) struct Shown<'a> {
    schema: &'static str,
    suite: &'a str,
    /// The file that was shown or written.
    file: PathBuf,
    locked: bool,
    parts: BTreeMap<&'static str, &'a BTreeMap<String, Vec<TaskId>>>,
    /// Tasks of different parts that share a start file or nearly all words.
    overlaps: &'a [Overlap],
    /// The tasks' knowledge labels by the parts that ask for them.
    knowledge: KnowledgeParts,
    test_templates: usize,
    /// Test templates without which no verdict is possible.
    verdict_needs: usize,
}

fn shares(text: &str) -> Result<Shares, String> {
    let wrong = || format!("{text:?} is not three numbers such as 50/10/40");
    let parts: Vec<u32> =
        text.split('/').map(|part| part.trim().parse().map_err(|_| wrong())).collect::<Result<_, _>>()?;
    match parts[..] {
        [train, dev, test] if train > 0 && test > 0 => Ok(Shares { train, dev, test }),
        [_, _, _] => Err("train and test need a share above 0".into()),
        _ => Err(wrong()),
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &SplitCommand) -> Result<(), Failure> {
    match &arguments.what {
        What::Draw(draw) => drawn(draw),
        What::Show(show) => shown(show),
        What::Lock(lock) => locked(lock),
    }
}

fn drawn(arguments: &Draw) -> Result<(), Failure> {
    let suite = crate::suite::load(&arguments.suite)?;
    let path = suite.root.join(DRAFT_FILE);
    if path.exists() && !arguments.replace {
        let failure = Failure::say(Kind::Usage, format!("{} is already there", path.display()));
        return Err(failure.hint("--replace draws anew; `apprentice split lock` locks it as it is"));
    }
    let draft = SplitDraft::draw(&suite, arguments.shares, &arguments.seed).kind(Kind::Usage)?;
    draft.write(&path).kind(Kind::Environment)?;
    print_split(&suite, &draft, &path, false, arguments.json)?;
    if !arguments.json {
        terminal::line(format_args!("written: {}", path.display()));
        let place = arguments.suite.display();
        terminal::line(format_args!("edit it if you like, then: apprentice split lock {place}"));
    }
    Ok(())
}

/// Reads the draft, or the lock if there is no draft.
fn current(suite: &Suite, named: &Path) -> Result<(SplitDraft, PathBuf, bool), Failure> {
    let (draft, lock) = (suite.root.join(DRAFT_FILE), suite.root.join(SPLIT_FILE));
    if draft.is_file() {
        return Ok((SplitDraft::read(&draft).kind(Kind::Config)?, draft, false));
    }
    if lock.is_file() {
        let read = SplitLock::read(&lock).kind(Kind::Config)?;
        return Ok((SplitDraft::of_lock(suite, &read), lock, true));
    }
    Err(unlocked(suite, named))
}

/// The failure of a command that needs a split where there is none.
pub(crate) fn unlocked(suite: &Suite, named: &Path) -> Failure {
    let root = suite.root.display();
    Failure::say(Kind::Config, format!("{root} has no locked split: no {SPLIT_FILE} stands beside the suite"))
        .hint(format!("`apprentice split draw {0}`, then `apprentice split lock {0}`", named.display()))
}

fn shown(arguments: &Show) -> Result<(), Failure> {
    let suite = crate::suite::load(&arguments.suite)?;
    let (draft, path, locked) = current(&suite, &arguments.suite)?;
    print_split(&suite, &draft, &path, locked, arguments.json)
}

fn locked(arguments: &Lock) -> Result<(), Failure> {
    let suite = crate::suite::load(&arguments.suite)?;
    let (draft, _, _) = current(&suite, &arguments.suite)?;
    let lock = draft.lock(&suite).map_err(|error| match error {
        error @ DraftError::Faults(_) => {
            Failure::new(Kind::Config, error).hint(format!("edit {}", suite.root.join(DRAFT_FILE).display()))
        }
        error => Failure::new(Kind::Config, error),
    })?;
    let path = suite.root.join(SPLIT_FILE);
    lock.write(&path).kind(Kind::Environment)?;
    print_split(&suite, &draft, &path, true, arguments.json)?;
    if !arguments.json {
        terminal::line(format_args!("locked: {}", path.display()));
    }
    Ok(())
}

fn print_split(
    suite: &Suite,
    draft: &SplitDraft,
    path: &Path,
    locked: bool,
    json: bool,
) -> Result<(), Failure> {
    let found = overlaps(suite, &|task| draft.split_of_task(task));
    let parts = [Split::Train, Split::Dev, Split::Test];
    let test_templates = draft.part(Split::Test).len();
    if json {
        return terminal::json(&Shown {
            schema: "apprentice.split-show/1",
            suite: &suite.name,
            file: path.to_owned(),
            locked,
            parts: parts.map(|split| (split.as_str(), draft.part(split))).into(),
            overlaps: &found,
            knowledge: draft.knowledge(suite),
            test_templates,
            verdict_needs: MIN_TEMPLATES,
        });
    }
    for split in parts {
        let part = draft.part(split);
        let tasks: usize = part.values().map(Vec::len).sum();
        terminal::line(format_args!("{}: {} templates, {tasks} tasks", split.as_str(), part.len()));
        for (template, tasks) in part {
            let tasks: Vec<&str> = tasks.iter().map(TaskId::as_str).collect();
            let tasks =
                if tasks == [template.as_str()] { String::new() } else { format!(": {}", tasks.join(", ")) };
            terminal::line(format_args!("  {template}{tasks}"));
        }
    }
    show_overlaps(&found);
    show_knowledge(&draft.knowledge(suite));
    if test_templates < MIN_TEMPLATES {
        terminal::line(format_args!(
            "a verdict needs {MIN_TEMPLATES} test templates or more; with {test_templates} a run shows how it works and \
             decides nothing"
        ));
    }
    Ok(())
}

/// Prints how many knowledge labels are taught and measured, and names those that stand on one side alone.
fn show_knowledge(parts: &KnowledgeParts) {
    let KnowledgeParts { both, train_only, test_only } = parts;
    if both.is_empty() && train_only.is_empty() && test_only.is_empty() {
        return;
    }
    terminal::line(format_args!("knowledge: {} in train and in test", counted(both.len(), "label")));
    for (labels, what) in [
        (train_only, "in train alone, so that it is not measured"),
        (test_only, "in test alone, where no gain is expected"),
    ] {
        if !labels.is_empty() {
            let names: Vec<&str> = labels.iter().map(String::as_str).collect();
            terminal::line(format_args!("  {what}: {}", names.join(", ")));
        }
    }
}

/// Prints pairs of tasks with nearly the same words, and each start file with the tasks that it joins.
fn show_overlaps(found: &[Overlap]) {
    let mut files: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for one in found {
        let told = |task: &TaskId, split: Split| format!("{task} ({})", split.as_str());
        let (first, second) = (told(&one.one, one.one_in), told(&one.other, one.other_in));
        match &one.shared {
            SharedBy::Wording => {
                let word = if one.is_leak() { "leak" } else { "spans parts" };
                terminal::line(format_args!("{word}: {first} and {second} ask in nearly the same words"));
            }
            SharedBy::StartFile(file) => files.entry(file).or_default().extend([first, second]),
        }
    }
    for (file, tasks) in files {
        let tasks: Vec<String> = tasks.into_iter().collect();
        terminal::line(format_args!("spans parts: the start file {file}: {}", tasks.join(", ")));
    }
}
