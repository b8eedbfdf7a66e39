//! Skills that may do harm, by skill and app, from pairs of the same task and seed without and with the book. The agent
//! chooses which skills to read, so the evidence is observational; a skill ablation is stronger evidence.

use std::collections::BTreeMap;

use apprentice_protocol::{SkillId, TaskId, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statrs::distribution::{Binomial, DiscreteCDF};

use crate::arm::Arm;
use crate::stats::ALPHA;
use apprentice_runs::row::{Role, TrialRow};
use apprentice_runs::rows::trials;

/// One skill on the tasks of one app.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HarmCell {
    /// The skill.
    pub skill: String,
    /// The app.
    pub program: String,
    /// Tasks on which the skill was viewed and a trial without a book exists.
    pub tasks: usize,
    /// Tasks with more seeds lost than gained while the skill was viewed.
    pub lost: u64,
    /// Tasks with more seeds gained than lost.
    pub gained: u64,
    /// Probability of at least this many losses among the changed tasks if losses and gains were equally likely;
    /// one-sided, exact.
    pub p: f64,
    /// Whether `p` is at most 5 %, which takes at least five lost tasks. Not corrected for the number of cells.
    pub alarm: bool,
}

/// A task with one student model.
type TaskKey<'a> = (&'a str, &'a TaskId);

/// Returns all cells with a loss, smallest p value first. Tasks of unknown app are skipped.
pub(super) fn cells(rows: &[TrialRow], programs: &BTreeMap<TaskId, String>) -> Vec<HarmCell> {
    let found = trials(rows);
    let judged = || {
        let last = found.iter().map(|trial| trial.last);
        last.filter(|row| row.role == Role::Student && row.verdict != Verdict::Void)
    };
    let of_arm = |arm: Arm| judged().filter(move |row| row.arm == arm.as_str());
    let passed = |row: &TrialRow| i64::from(row.verdict == Verdict::Pass);
    let alone: BTreeMap<(TaskKey<'_>, u32), i64> =
        of_arm(Arm::None).map(|row| (((row.model.as_str(), &row.task), row.seed), passed(row))).collect();
    let mut nets: BTreeMap<(&SkillId, &str), BTreeMap<TaskKey<'_>, i64>> = BTreeMap::new();
    for row in of_arm(Arm::Pull) {
        let place = (row.model.as_str(), &row.task);
        let (Some(before), Some(program)) = (alone.get(&(place, row.seed)), programs.get(&row.task)) else {
            continue;
        };
        let viewed: std::collections::BTreeSet<&SkillId> = row.skills_viewed.iter().collect();
        for skill in viewed {
            *nets.entry((skill, program)).or_default().entry(place).or_default() += passed(row) - before;
        }
    }
    let cell = |((skill, program), tasks): ((&SkillId, &str), BTreeMap<TaskKey<'_>, i64>)| {
        let count = |wanted: fn(i64) -> bool| tasks.values().filter(|net| wanted(**net)).count() as u64;
        let (lost, gained) = (count(|net| net < 0), count(|net| net > 0));
        let p = tail(lost, gained);
        HarmCell {
            skill: skill.to_string(),
            program: program.to_owned(),
            tasks: tasks.len(),
            lost,
            gained,
            p,
            alarm: p <= ALPHA,
        }
    };
    let mut cells: Vec<HarmCell> = nets.into_iter().map(cell).filter(|cell| cell.lost > 0).collect();
    cells.sort_by(|one, other| one.p.total_cmp(&other.p));
    cells
}

/// The probability of at least `lost` losses among the changed tasks if losses and gains were equally likely.
fn tail(lost: u64, gained: u64) -> f64 {
    match Binomial::new(0.5, lost + gained) {
        Ok(binomial) if lost > 0 => binomial.sf(lost - 1),
        Ok(_) | Err(_) => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use apprentice_protocol::{SkillId, TaskId, Verdict};

    use super::{cells, tail};
    use crate::sample::row;
    use apprentice_runs::row::TrialRow;

    #[test]
    fn a_skill_that_helps_in_one_program_and_harms_in_another_is_told_by_program() {
        let skill = SkillId::parse("os/paste").expect("an id");
        let (mut rows, mut programs) = (Vec::<TrialRow>::new(), BTreeMap::new());
        for at in 0..12_u32 {
            let name = format!("task{at}");
            // Six tasks of each app; the skill gains in one app what it loses in the other, so the total is zero.
            let harms = at % 2 == 0;
            programs.insert(TaskId::new(&name), if harms { "thunar" } else { "mousepad" }.to_owned());
            for seed in 0..3 {
                let verdict = |passed: bool| if passed { Verdict::Pass } else { Verdict::Fail };
                rows.push(row("none", &name, &name, seed, verdict(harms)));
                let mut with = row("pull", &name, &name, seed, verdict(!harms || (at == 0 && seed == 0)));
                with.skills_viewed = vec![skill.clone(); 2];
                rows.push(with);
            }
        }
        let found = cells(&rows, &programs);
        let [one] = found.as_slice() else { panic!("{found:#?}") };
        assert_eq!((one.skill.as_str(), one.program.as_str()), ("os/paste", "thunar"));
        // Three seeds of a task count as one task; viewing twice counts once.
        assert_eq!((one.tasks, one.lost, one.gained, one.alarm), (6, 6, 0, true));
        assert!((one.p - 1.0 / 64.0).abs() < 1e-12, "{one:?}");
        let few: Vec<TrialRow> =
            rows.iter().filter(|row| !["task0", "task2"].contains(&row.task.as_str())).cloned().collect();
        assert!(!cells(&few, &programs)[0].alarm, "four of four may be chance: 0.0625");
        assert!(cells(&rows, &BTreeMap::new()).is_empty(), "no program is known");
    }

    /// Expected values from `scipy.stats.binomtest(lost, lost + gained, alternative="greater")`.
    #[test]
    fn the_tail_agrees_with_scipy() {
        for (lost, gained, p) in
            [(0, 0, 1.0), (0, 3, 1.0), (4, 0, 0.0625), (5, 0, 0.03125), (7, 1, 0.035_156_25)]
        {
            assert!((tail(lost, gained) - p).abs() < 1e-12, "{lost} {gained}: {}", tail(lost, gained));
        }
    }
}
