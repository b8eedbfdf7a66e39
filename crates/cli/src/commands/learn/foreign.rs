//! The part of `apprentice learn` for traces of other programs: which paths hold some, and the learning itself.

use std::path::{Path, PathBuf};

use apprentice_evaluator::learn::{
    CycleError, ForeignTrace, LearningRecord, LockedSuites, NotLearned, OwnAttempt, foreign_trace,
    learn_from_foreign,
};
use apprentice_evaluator::split::SplitError;
use apprentice_protocol::Clock as _;
use apprentice_runs::{Place, Wanted, check};
use apprentice_sandbox::SystemClock;
use apprentice_trace::Redactor;
use apprentice_transcripts::{Found, ReadError, find, read_each};

use crate::commands::learn::own::OpenBook;
use crate::commands::skills::curate::apply_failure;
use crate::failure::{Failure, Kind, WithKind as _};
use crate::{process_env, terminal};

/// Maximum number of traces of one command: each is reviewed by a model.
const MAX_TRACES: usize = 1000;

/// What the paths of `learn` hold.
#[derive(Default)]
pub(in crate::commands) struct Inputs<'a> {
    /// Attempts of `apprentice do`.
    pub(in crate::commands) own: Vec<&'a Path>,
    /// Runs.
    pub(in crate::commands) runs: Vec<&'a Path>,
    /// Traces of other programs.
    pub(in crate::commands) traces: Traces,
}

/// Traces of other programs.
#[derive(Default)]
pub(in crate::commands) struct Traces {
    logs: Vec<Found>,
    /// Replies of each conversation that can be learned from.
    pub(in crate::commands) turns: Vec<u32>,
}

impl<'a> Inputs<'a> {
    /// Sorts paths by what they hold. Traces are read to their ends, so that nothing is written where one is damaged.
    pub(in crate::commands) fn of(paths: &'a [PathBuf]) -> Result<Self, Failure> {
        let mut inputs = Self::default();
        for path in paths {
            match check(path, Wanted::Attempts) {
                Ok(_) if OwnAttempt::is_at(path) => inputs.own.push(path),
                Ok(_) => inputs.runs.push(path),
                Err(wrong) if matches!(wrong.found, Place::File | Place::Folder) => match find(path) {
                    Ok(found) => inputs.traces.logs.extend(found),
                    Err(ReadError::Other { seems, .. }) => {
                        let hint = format!("it {seems}, and no trace of another program, either");
                        return Err(Failure::new(Kind::Config, wrong).hint(hint));
                    }
                    Err(error) => return Err(Failure::new(Kind::Config, error)),
                },
                Err(wrong) => return Err(Failure::new(Kind::Config, wrong)),
            }
        }
        inputs.traces.count()?;
        Ok(inputs)
    }
}

impl Traces {
    pub(in crate::commands) fn is_empty(&self) -> bool {
        self.logs.is_empty()
    }

    fn count(&mut self) -> Result<(), Failure> {
        let redactor = redactor()?;
        for log in &self.logs {
            // A file may hold very many, of which only the number matters here.
            each_conversation(log, &redactor, |told| {
                self.turns.extend(told.map(|told| told.trajectory().spent.turns));
            })?;
            if self.turns.len().max(self.logs.len()) > MAX_TRACES {
                let message =
                    format!("there are more than the {MAX_TRACES} traces that one command learns from");
                let hint = "name fewer: a model reviews each; `apprentice trace read PATH` lists them";
                return Err(Failure::say(Kind::Config, message).hint(hint));
            }
        }
        Ok(())
    }
}

fn redactor() -> Result<Redactor, Failure> {
    let secrets = process_env::secrets();
    Redactor::new(secrets.iter().map(String::as_str)).kind(Kind::Config)
}

/// Reads the conversations of one log, and hands each out.
fn each_conversation(
    found: &Found,
    redactor: &Redactor,
    mut take: impl FnMut(Result<ForeignTrace, NotLearned>),
) -> Result<(), Failure> {
    let now = SystemClock::default().now();
    read_each(found, &mut |log, told| take(foreign_trace(log, &told, redactor, now))).kind(Kind::Config)?;
    Ok(())
}

/// Counts over traces of other programs.
#[derive(Default)]
pub(in crate::commands) struct ForeignTally {
    pub(in crate::commands) records: Vec<LearningRecord>,
    /// Traces whose instruction repeats a held-out task.
    pub(in crate::commands) sealed: usize,
    /// Traces without an end or an instruction.
    pub(in crate::commands) void: usize,
}

impl ForeignTally {
    /// Learns from traces, in their order.
    pub(in crate::commands) async fn learn(
        &mut self,
        book: &mut OpenBook<'_>,
        held_out: &LockedSuites,
        traces: &Traces,
        shown: fn(&LearningRecord),
    ) -> Result<(), Failure> {
        let redactor = redactor()?;
        for log in &traces.logs {
            let mut conversations = Vec::new();
            each_conversation(log, &redactor, |told| conversations.push(told))?;
            for told in conversations {
                match told {
                    Ok(trace) => self.learn_one(book, held_out, &trace, shown).await?,
                    Err(not) => {
                        terminal::note(format_args!("  {not}"));
                        self.void += 1;
                    }
                }
            }
        }
        Ok(())
    }

    async fn learn_one(
        &mut self,
        book: &mut OpenBook<'_>,
        held_out: &LockedSuites,
        trace: &ForeignTrace,
        shown: fn(&LearningRecord),
    ) -> Result<(), Failure> {
        match learn_from_foreign(book.gateway, held_out, book.learners, trace, book.options).await {
            Ok(record) => {
                shown(&record);
                self.records.push(record);
                Ok(())
            }
            Err(CycleError::Split(held_out @ SplitError::HeldOutWords { .. })) => {
                terminal::note(format_args!("  trace {}: skipped; {held_out}", trace.trajectory().id));
                self.sealed += 1;
                Ok(())
            }
            Err(CycleError::Learn(error)) => Err(apply_failure(error)),
            Err(other) => Err(Failure::new(Kind::Config, other)),
        }
    }
}
