//! Makes a proposed task ready for practice: its check is asked in untouched worlds, where it must fail. The proposer sees what a
//! doubtful one found there, and may mend it a few times before anybody is paid to practise.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use apprentice_learning::practice::{CheckDoubt, CheckOutput, CheckToMend, PracticeProposal, PracticeTask};
use apprentice_protocol::{JudgedBy, Verdict};

use super::check_output::{check_outputs, doubt};
use super::episode::{MendedCheck, Outcome, StoredProposal};
use super::error::ExploreError;
use super::folder::write_json;
use super::learning::TryVerdict;
use super::practice_suite::PracticeSuite;
use super::proposing::{PROPOSAL_FILE, Proposing};

/// Most answers about the check of one task.
const MENDS: usize = 2;

/// What came of making a task ready.
pub(super) enum Readiness {
    /// It can be practised.
    Ready { proposed: StoredProposal, practice: Box<PracticeSuite>, seeds: BTreeSet<u32> },
    /// It cannot: the verdict, and what its check found in untouched worlds.
    Unfit { proposed: StoredProposal, verdict: TryVerdict, check_showed: Vec<CheckOutput> },
}

impl Proposing<'_> {
    /// Makes a proposed task ready for its try of this number. A mended check is stored before it is asked.
    pub(super) async fn make_ready(
        &self,
        mut proposed: StoredProposal,
        number: u32,
    ) -> Result<Readiness, ExploreError> {
        loop {
            let folder = self.folder.task(&proposed.task.name);
            let suite = folder.join("suite");
            let start = self.start(proposed.start)?;
            let practice = Box::new(PracticeSuite::of_task(&suite, start, &proposed.task)?);
            let seeds = practice.seeds(number)?;
            let Some(check) = &proposed.task.check else {
                return Ok(Readiness::Ready { proposed, practice, seeds });
            };
            let place = untouched(&folder, number, proposed.mended.len());
            let summary = self.noop(&practice, place, seeds.clone()).await?;
            if let Some(row) = summary.results.iter().find(|row| row.verdict == Verdict::Void) {
                let cause = row.void_cause.map_or_else(|| "unknown".to_owned(), |cause| format!("{cause:?}"));
                let why = format!("the untouched world was void ({cause})");
                let verdict = TryVerdict { outcome: Outcome::Void, judged_by: JudgedBy::Checks, why };
                return Ok(Readiness::Unfit { proposed, verdict, check_showed: Vec::new() });
            }
            let showed = check_outputs(
                &proposed.task,
                &practice,
                &summary.folder,
                summary.results.iter(),
                &self.deps.redactor,
            )?;
            let passes = summary.results.iter().any(|row| row.verdict == Verdict::Pass);
            let Some(why) = doubt(check, passes, &showed) else {
                return Ok(Readiness::Ready { proposed, practice, seeds });
            };
            let mended = match number == 1 && proposed.mended.len() < MENDS && !is_confirmed(&proposed) {
                true => self.mend(&proposed, why, &showed).await?,
                false => None,
            };
            match mended {
                Some(mended) if is_confirmed(&mended) => {
                    write_json(&folder.join(PROPOSAL_FILE), &mended)?;
                    return Ok(Readiness::Ready { proposed: mended, practice, seeds });
                }
                Some(mended) => {
                    // The suite goes first: without it, it is written anew from whichever proposal is stored.
                    PracticeSuite::remove(&suite)?;
                    write_json(&folder.join(PROPOSAL_FILE), &mended)?;
                    proposed = mended;
                }
                None if why == CheckDoubt::CommandFails => {
                    return Ok(Readiness::Ready { proposed, practice, seeds });
                }
                None => {
                    let why = "the check passes in an untouched world, so that it would prove nothing".into();
                    let verdict =
                        TryVerdict { outcome: Outcome::AlreadyTrue, judged_by: JudgedBy::Checks, why };
                    return Ok(Readiness::Unfit { proposed, verdict, check_showed: showed });
                }
            }
        }
    }

    /// Shows the proposer what a doubtful check found. Returns the task with the check that it answers with, or `None` if it
    /// gives none.
    async fn mend(
        &self,
        proposed: &StoredProposal,
        why: CheckDoubt,
        showed: &[CheckOutput],
    ) -> Result<Option<StoredProposal>, ExploreError> {
        let mend = CheckToMend { task: proposed.task.clone(), why, showed: showed.to_vec() };
        let (answer, _) = self.propose(proposed.start, Some(&mend)).await?;
        let PracticeProposal::Task(task, _) = answer else { return Ok(None) };
        let before = MendedCheck { check: proposed.task.check.clone(), why, showed: showed.to_vec() };
        let mut mended = proposed.clone();
        mended.mended.push(before);
        mended.task = PracticeTask { check: task.check, ..mended.task };
        Ok(Some(mended))
    }
}

/// Whether the proposer has seen what this check found, and stands by it.
fn is_confirmed(proposed: &StoredProposal) -> bool {
    proposed.mended.last().is_some_and(|last| last.check == proposed.task.check)
}

/// The folder of the run that does nothing, which each check gets anew.
fn untouched(folder: &Path, number: u32, mends: usize) -> PathBuf {
    match mends {
        0 => folder.join(format!("untouched-{number}")),
        _ => folder.join(format!("untouched-{number}-mended-{mends}")),
    }
}
