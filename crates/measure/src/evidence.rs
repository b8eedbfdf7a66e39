//! What attempts left: which checks held, by who decides them; whether the skill was followed; the versions of programs.

use std::collections::{BTreeMap, BTreeSet};

use apprentice_learning::adherence::{Anchor, anchors};
use apprentice_protocol::{EventKind, StepId, Trajectory, Verdict};
use apprentice_runs::layout::EVIDENCE_FOLDER;
use apprentice_runs::row::TrialRow;
use apprentice_runs::{RunError, StoredRun};
use apprentice_tasks::check::{Evidence, EvidenceError, JudgeInput, judge_with_compat};

use apprentice_evaluator::learn::trajectory;

/// The metric of statements that a model judges.
const STATEMENTS: &str = "skill_statements";

/// Who decides a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DecidedBy {
    /// The state of the world, or the answer to the letter.
    State,
    /// A model.
    Judge,
}

/// The rows whose attempts have checks of this kind, with the verdict of these checks alone. A row without a result stays one.
pub(super) fn rows_by(run: &StoredRun, rows: &[TrialRow], by: DecidedBy) -> Result<Vec<TrialRow>, PartError> {
    let mut found = Vec::new();
    for row in rows {
        if row.verdict == Verdict::Void {
            found.push(row.clone());
            continue;
        }
        let folder = run.inside(&row.trace)?.join(EVIDENCE_FOLDER);
        let (asked, evidence) = (JudgeInput::load(&folder)?, Evidence::load(&folder)?);
        let is_ours = |name: &str| (name == STATEMENTS) == (by == DecidedBy::Judge);
        if !asked.spec.func.iter().any(|name| is_ours(name)) {
            continue;
        }
        let judged = judge_with_compat(&asked.spec, &evidence, &asked.ending, asked.compat);
        let mut own = judged.checks.iter().filter(|check| is_ours(&check.metric)).peekable();
        // An attempt that is not graded check by check, such as one that gave up, fails as a whole.
        let held =
            own.peek().is_some() && own.all(|check| check.score.is_some_and(|score| score >= 1.0 - 1e-9));
        let (verdict, score) = if held { (Verdict::Pass, 1.0) } else { (Verdict::Fail, 0.0) };
        found.push(TrialRow { verdict, score, ..row.clone() });
    }
    // Without one that was graded so, what is void says nothing about this kind.
    let any = found.iter().any(|row| row.verdict != Verdict::Void);
    Ok(if any { found } else { Vec::new() })
}

/// The reason why an attempt's checks cannot be told apart.
#[derive(Debug, thiserror::Error)]
pub(super) enum PartError {
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Evidence(#[from] EvidenceError),
}

/// What the traces of a run say, row by row.
#[derive(Default)]
pub(super) struct TraceFacts {
    /// The versions of programs, by domain.
    pub(super) programs: BTreeMap<String, BTreeSet<String>>,
    /// Whether the attempt of a row did what the skill says; absent where nobody can tell.
    pub(super) followed: BTreeMap<String, bool>,
}

/// Reads the traces of rows.
pub(super) fn traces(run: &StoredRun, rows: &[TrialRow]) -> Result<TraceFacts, RunError> {
    let mut facts = TraceFacts::default();
    for row in rows.iter().filter(|row| row.verdict != Verdict::Void) {
        let trace = run.trace(row)?;
        for event in &trace.events {
            let EventKind::VersionsSeen { versions } = &event.kind else { continue };
            for (program, version) in versions.iter().filter_map(|(name, seen)| Some((name, seen.as_ref()?)))
            {
                facts.programs.entry(program.clone()).or_default().insert(version.clone());
            }
        }
        if row.skills_viewed.is_empty() {
            continue;
        }
        if let Ok((seen, _)) = trajectory(&trace, row, Vec::new(), &|_| None)
            && let Some(followed) = did_what_it_says(&seen)
        {
            facts.followed.insert(row.trace.clone(), followed);
        }
    }
    Ok(facts)
}

/// Whether an attempt did at least half of what the texts that it read name; `None` where they name nothing that an action shows.
/// Beside what a screen shows, typed texts count: a command in a code block is followed where it is typed.
fn did_what_it_says(seen: &Trajectory) -> Option<bool> {
    let (mut done, mut named) = (0_usize, 0_usize);
    for received in &seen.skills {
        let acts = actions_since(seen, received.step);
        let typed: String =
            acts.iter().filter(|(act, _)| act.starts_with("type ")).map(|(act, _)| act.as_str()).collect();
        let held = apprentice_learning::adherence::adherence(&received.text, &seen.steps, received.step);
        named += held.done.len();
        done += held.done.len();
        for anchor in &held.missing {
            named += 1;
            done += usize::from(matches!(anchor, Anchor::Label { name } if typed.contains(name.as_str())));
        }
        for line in code_lines(&received.text) {
            named += 1;
            done += usize::from(typed.contains(&line));
        }
    }
    (named > 0).then(|| done * 2 >= named)
}

fn actions_since(seen: &Trajectory, since: StepId) -> Vec<(String, String)> {
    let steps = seen.steps.iter().filter(|step| step.id >= since);
    let done = steps.flat_map(|step| &step.actions).filter(|action| action.outcome == "done");
    done.map(|action| (action.action.to_lowercase(), action.name.clone().unwrap_or_default())).collect()
}

/// The first words of the lines in code blocks: a command with other arguments is the command all the same.
fn code_lines(text: &str) -> BTreeSet<String> {
    let mut inside = false;
    let mut found = BTreeSet::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            inside = !inside;
            continue;
        }
        let words: Vec<&str> = line.trim().trim_start_matches("$ ").split_whitespace().take(2).collect();
        let line = words.join(" ").to_lowercase();
        let is_comment = line.starts_with('#') || line.starts_with("//");
        if inside && line.chars().count() > 3 && !is_comment && anchors(&line).is_empty() {
            found.insert(line);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::code_lines;

    #[test]
    fn commands_stand_in_code_blocks() {
        let text = "Run `x`:\n```sh\n# a remark\n$ sort -n a.csv > b.csv\nls\n```\nsort the rest\n";
        assert_eq!(code_lines(text).into_iter().collect::<Vec<_>>(), ["sort -n"]);
    }
}
