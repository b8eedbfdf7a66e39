//! Success by application and overall for each cap of steps, as OSWorld's table has it: the mean score of the judged
//! trials, in percent.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use apprentice_protocol::{TrialId, Verdict};
use schemars::JsonSchema;
use serde::Serialize;

use crate::stats::mean;
use apprentice_runs::StoredRun;
use apprentice_runs::row::TrialRow;
use apprentice_runs::rows::trials;

/// The schema of [`StepCaps`].
pub const STEP_CAPS_SCHEMA: &str = "apprentice.step-caps/1";

/// OSWorld's applications in the order of its table.
const APPLICATIONS: [&str; 10] = [
    "os",
    "libreoffice_calc",
    "libreoffice_impress",
    "libreoffice_writer",
    "vlc",
    "thunderbird",
    "chrome",
    "vs_code",
    "gimp",
    "multi_apps",
];

/// The groups in which its `show_result.py` joins them.
const GROUPS: [(&str, &[&str]); 3] = [
    ("Office", &["libreoffice_calc", "libreoffice_impress", "libreoffice_writer"]),
    ("Daily", &["vlc", "thunderbird", "chrome"]),
    ("Professional", &["gimp", "vs_code"]),
];

/// Success of several runs by their caps of steps.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StepCaps {
    /// [`STEP_CAPS_SCHEMA`].
    pub schema: String,
    /// One entry per model, arm and cap.
    pub entries: Vec<StepCap>,
}

/// Success of a model under one cap of steps.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StepCap {
    /// The suite.
    pub suite: String,
    /// Its hash: results of different versions are not joined.
    pub suite_hash: String,
    /// The model.
    pub model: String,
    /// The arm.
    pub arm: String,
    /// The cap of world steps; `null` where each task has its own.
    pub steps: Option<u32>,
    /// Success by application; tasks whose application is not known stand under their suite.
    pub applications: BTreeMap<String, SuccessRate>,
    /// Success in OSWorld's groups of applications, where it has such.
    pub groups: BTreeMap<String, SuccessRate>,
    /// Success over all tasks.
    pub overall: SuccessRate,
    /// How many planned trials of these runs have no result yet; they count in no mean.
    pub not_run: u32,
}

/// The success of some tasks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SuccessRate {
    /// How many tasks have a judged trial.
    pub tasks: u32,
    /// The mean score of the judged trials, from 0 to 1; `null` without any.
    pub score: Option<f64>,
    /// How many trials passed whole.
    pub passed: u32,
    /// How many trials were judged.
    pub judged: u32,
    /// How many trials are void; they count in no mean.
    pub void: u32,
}

/// Computes success by application of each model, arm and cap. A trial counts by its last attempt.
pub fn step_caps(runs: &[StoredRun]) -> StepCaps {
    let mut groups: BTreeMap<_, Vec<(String, &TrialRow)>> = BTreeMap::new();
    let mut not_run: BTreeMap<_, u32> = BTreeMap::new();
    for run in runs {
        let steps = run.plan.limits.and_then(|caps| caps.world_steps);
        let of = |model: &str, arm: &str| {
            let (suite, hash) = (run.plan.suite.clone(), run.plan.suite_hash.clone());
            (suite, hash, model.to_owned(), arm.to_owned(), steps)
        };
        for row in trials(&run.rows).into_iter().map(|trial| trial.last) {
            let application = run.plan.programs.get(&row.task).unwrap_or(&row.suite).clone();
            groups.entry(of(&row.model, &row.arm)).or_default().push((application, row));
        }
        let done: BTreeSet<&TrialId> = run.rows.iter().map(|row| &row.trial).collect();
        for planned in run.plan.trials.iter().filter(|planned| !done.contains(&planned.trial)) {
            let key = of(&planned.model, &planned.arm);
            groups.entry(key.clone()).or_default();
            *not_run.entry(key).or_default() += 1;
        }
    }
    let entry = |(key, trials): (_, Vec<(String, &TrialRow)>)| {
        let not_run = not_run.get(&key).copied().unwrap_or_default();
        let (suite, suite_hash, model, arm, steps) = key;
        let names: BTreeSet<&String> = trials.iter().map(|(name, _)| name).collect();
        let of = |wanted: &dyn Fn(&str) -> bool| {
            rate(trials.iter().filter(|(name, _)| wanted(name)).map(|(_, row)| *row))
        };
        let joined =
            GROUPS.iter().filter(|(_, members)| names.iter().any(|name| members.contains(&name.as_str())));
        StepCap {
            applications: names
                .iter()
                .map(|name| ((*name).clone(), of(&|one| one == name.as_str())))
                .collect(),
            groups: joined
                .map(|(group, members)| ((*group).to_owned(), of(&|one| members.contains(&one))))
                .collect(),
            overall: of(&|_| true),
            suite,
            suite_hash,
            model,
            arm,
            steps,
            not_run,
        }
    };
    StepCaps { schema: STEP_CAPS_SCHEMA.into(), entries: groups.into_iter().map(entry).collect() }
}

fn rate<'a>(rows: impl Iterator<Item = &'a TrialRow>) -> SuccessRate {
    let rows: Vec<&TrialRow> = rows.collect();
    let judged: Vec<&&TrialRow> = rows.iter().filter(|row| row.verdict != Verdict::Void).collect();
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    SuccessRate {
        tasks: count(judged.iter().map(|row| &row.task).collect::<BTreeSet<_>>().len()),
        score: mean(judged.iter().map(|row| row.score)),
        passed: count(judged.iter().filter(|row| row.verdict == Verdict::Pass).count()),
        judged: count(judged.len()),
        void: count(rows.len() - judged.len()),
    }
}

impl StepCaps {
    /// Writes a Markdown table: a row per model, arm and cap, a column per application.
    pub fn markdown(&self) -> String {
        let known: BTreeSet<&str> =
            self.entries.iter().flat_map(|entry| entry.applications.keys()).map(String::as_str).collect();
        let own = APPLICATIONS.into_iter().filter(|name| known.contains(name));
        let others = known.iter().copied().filter(|name| !APPLICATIONS.contains(name));
        let columns: Vec<&str> = own.chain(others).collect();
        let groups: Vec<&str> = GROUPS
            .iter()
            .map(|(group, _)| *group)
            .filter(|group| self.entries.iter().any(|entry| entry.groups.contains_key(*group)))
            .collect();
        let mut text = String::from("| model | arm | steps |");
        let heads = columns.iter().chain(&groups).chain(&["overall", "judged", "void", "not run"]);
        let heads: Vec<&&str> = heads.collect();
        for head in &heads {
            let _ = write!(text, " {head} |");
        }
        text.push_str("\n|---|---|---|");
        text.push_str(&"--:|".repeat(heads.len()));
        for entry in &self.entries {
            let steps = entry.steps.map_or("own".to_owned(), |steps| steps.to_string());
            let _ = write!(text, "\n| {} | {} | {steps} |", entry.model, entry.arm);
            let of = |all: &BTreeMap<String, SuccessRate>, name: &str| {
                percent(all.get(name).and_then(|one| one.score))
            };
            let cells = columns.iter().map(|name| of(&entry.applications, name));
            for cell in cells.chain(groups.iter().map(|name| of(&entry.groups, name))) {
                let _ = write!(text, " {cell} |");
            }
            let all = &entry.overall;
            let _ =
                write!(text, " {} | {} | {} | {} |", percent(all.score), all.judged, all.void, entry.not_run);
        }
        text.push('\n');
        text
    }
}

/// Writes a score as OSWorld does: in percent with two decimals.
fn percent(score: Option<f64>) -> String {
    score.map_or_else(|| "–".to_owned(), |score| format!("{:.2}", 100.0 * score))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use apprentice_protocol::Verdict;
    use serde_json::json;

    use super::step_caps;
    use crate::sample::row;
    use apprentice_runs::StoredRun;

    /// Opens a run under a cap, with the verdict of each task; a planned task without one has not been run.
    fn run(folder: &std::path::Path, cap: u32, verdicts: &[(&str, Option<Verdict>)]) -> StoredRun {
        fs::create_dir_all(folder).expect("made");
        let mut rows = String::new();
        let mut trials = Vec::new();
        for (at, (task, verdict)) in verdicts.iter().enumerate() {
            let mut row = row("none", "t", task, 0, verdict.unwrap_or(Verdict::Void));
            row.order = u32::try_from(at).expect("few");
            trials.push(json!({"trial": row.trial, "model": row.model, "arm": row.arm}));
            if verdict.is_some() {
                rows.push_str(&serde_json::to_string(&row).expect("writes"));
                rows.push('\n');
            }
        }
        let programs = json!({"a": "vlc", "b": "chrome", "c": "gimp", "d": "own"});
        let plan = json!({
            "run": "20261126T000000Z-aaaa", "suite": "osworld", "suite_hash": "h", "programs": programs, "trials": trials,
            "limits": {"world_steps": cap},
        });
        fs::write(folder.join("run.json"), plan.to_string()).expect("written");
        fs::write(folder.join("trials.jsonl"), rows).expect("written");
        StoredRun::open(folder).expect("opens")
    }

    #[test]
    fn success_is_told_by_application_for_each_cap() {
        let place = tempfile::tempdir().expect("a folder");
        let (pass, fail, void) = (Some(Verdict::Pass), Some(Verdict::Fail), Some(Verdict::Void));
        let few = run(&place.path().join("few"), 15, &[("a", pass), ("b", fail), ("c", void), ("d", None)]);
        let many =
            run(&place.path().join("many"), 100, &[("a", pass), ("b", pass), ("c", fail), ("d", fail)]);
        insta::assert_snapshot!(step_caps(&[many, few]).markdown());
    }
}
