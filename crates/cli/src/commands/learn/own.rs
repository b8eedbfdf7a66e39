//! The part of `apprentice learn` for attempts of `apprentice do`, which have no checks: who judges them, and the
//! learning itself.

use std::io::IsTerminal as _;
use std::path::Path;

use apprentice_evaluator::learn::{
    CycleError, JudgedAttempt, LearningRecord, LockedSuites, OwnAttempt, OwnAttemptError, TrajectoryError,
    learn_from_own,
};
use apprentice_evaluator::split::SplitError;
use apprentice_learning::judge::{JudgeError, VIEWS, judge};
use apprentice_learning::{LearnOptions, LearnerModels};
use apprentice_protocol::{ChatModel, JudgedBy, Size, Verdict, counted};
use apprentice_skillbook::{Gateway, Judgement, State};
use clap::{Args, ValueEnum};

use crate::commands::forecast::{Forecast, SmallRequests};
use crate::commands::skills::curate::apply_failure;
use crate::failure::{Failure, Kind, WithKind as _};
use crate::models::Models;
use crate::terminal;

/// Assumed size of a judge's answer, in tokens.
const ANSWER_TOKENS: u32 = 400;
/// Assumed size of a picture for a judge.
const PICTURE: Size = Size { width: 1024, height: 576 };

/// Who judges attempts of `apprentice do`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Judge {
    /// You, by an answer to a question for each attempt, or by `--verdict`.
    Me,
    /// The model named by `--model` gives its opinion. It counts as an opinion: it lifts no suspicion.
    Model,
    /// Nobody. The attempt leaves suspicions only.
    None,
}

impl Judge {
    fn origin(self) -> JudgedBy {
        match self {
            Self::Me => JudgedBy::Person,
            Self::Model => JudgedBy::Model,
            Self::None => JudgedBy::Nobody,
        }
    }
}

/// Options for attempts of `apprentice do`.
#[derive(Debug, Args)]
pub(in crate::commands) struct Judging {
    /// Who judges attempts of `do`, which have no checks.
    #[arg(long, value_enum, value_name = "WHO")]
    judged_by: Option<Judge>,
    /// Your verdict on one attempt, by its folder, instead of the question of `--judged-by me`; may be repeated.
    #[arg(long, value_name = "ATTEMPT=pass|fail", value_parser = named_verdict)]
    verdict: Vec<(String, Verdict)>,
}

fn named_verdict(text: &str) -> Result<(String, Verdict), String> {
    let expected = || format!("expected ATTEMPT=pass or ATTEMPT=fail, found {text:?}");
    let (attempt, word) = text.rsplit_once('=').ok_or_else(expected)?;
    match word {
        "pass" => Ok((attempt.to_owned(), Verdict::Pass)),
        "fail" => Ok((attempt.to_owned(), Verdict::Fail)),
        _ => Err(expected()),
    }
}

/// Returns whether a verdict names this attempt: by its folder as given, or by the folder's name.
fn names(name: &str, folder: &Path) -> bool {
    Path::new(name) == folder || folder.file_name().is_some_and(|last| last.to_string_lossy() == *name)
}

impl Judging {
    /// Checks the options against the attempts, before anything is asked or written.
    pub(in crate::commands) fn check(&self, own: &[&Path]) -> Result<(), Failure> {
        let usage = |message: String| Err(Failure::say(Kind::Usage, message));
        if own.is_empty() && (self.judged_by.is_some() || !self.verdict.is_empty()) {
            return usage(
                "--judged-by and --verdict are for attempts of `apprentice do`; trials are judged by their checks"
                    .into(),
            );
        }
        for (name, _) in &self.verdict {
            let called: Vec<String> = own.iter().map(|folder| folder.display().to_string()).collect();
            match own.iter().filter(|folder| names(name, folder)).count() {
                1 => {}
                0 => {
                    let failure = Failure::say(
                        Kind::Usage,
                        format!("--verdict names {name:?}, which is no attempt of `do` here"),
                    );
                    let all = format!("the attempts are {}", called.join(", "));
                    return Err(failure.hint_nearest_or(name, called.iter().map(String::as_str), &all));
                }
                _ => {
                    return usage(format!(
                        "--verdict names {name:?}, and several attempts are called so; name the folder"
                    ));
                }
            }
        }
        match self.judged_by {
            None if own.is_empty() || !self.verdict.is_empty() => {}
            None => {
                let message =
                    format!("{} of `do` must be judged, and no checks can", counted(own.len(), "attempt"));
                return Err(Failure::say(Kind::Usage, message).hint(
                    "say who judges: `--judged-by me` asks you, `model` asks --model for its opinion, `none` learns \
                     without a verdict",
                ));
            }
            Some(Judge::Model | Judge::None) if !self.verdict.is_empty() => {
                return usage("--verdict is your own verdict; use it with --judged-by me".into());
            }
            Some(Judge::Model | Judge::None | Judge::Me) => {}
        }
        let asked = own.iter().filter(|folder| !self.verdict.iter().any(|(name, _)| names(name, folder)));
        let asked: Vec<String> = asked.map(|folder| folder.display().to_string()).collect();
        if self.origin() == JudgedBy::Person && !asked.is_empty() && !std::io::stdin().is_terminal() {
            let message = format!("nobody can be asked about {} without a terminal", asked.join(", "));
            let hint = format!("give the verdict: --verdict {}=pass (or =fail)", asked[0]);
            return Err(Failure::say(Kind::Usage, message).hint(hint));
        }
        Ok(())
    }

    fn origin(&self) -> JudgedBy {
        self.judged_by.unwrap_or(Judge::Me).origin()
    }

    /// Adds the requests to a judging model to a forecast.
    pub(in crate::commands) fn add_requests(
        &self,
        forecast: &mut Forecast,
        models: &Models,
        name: &str,
        attempts: usize,
    ) -> Result<(), Failure> {
        if self.judged_by != Some(Judge::Model) || attempts == 0 {
            return Ok(());
        }
        let count = u32::try_from(attempts.saturating_mul(VIEWS)).unwrap_or(u32::MAX);
        let small = SmallRequests { count, output_tokens: ANSWER_TOKENS, picture: Some(PICTURE) };
        forecast.add_requests(models, name, small)
    }
}

/// Refuses to learn without the suite into a book whose held-out tasks are not known.
pub(in crate::commands) fn check_book(state: &State, held_out: &LockedSuites) -> Result<(), Failure> {
    let of_a_suite = |attempt: &&String| !state.judgements.contains_key(*attempt);
    if !held_out.is_empty() || !state.templates.keys().any(|attempt| of_a_suite(&attempt)) {
        return Ok(());
    }
    let message = "the skillbook was learned from attempts of a suite, and does not say which of its tasks are held out";
    Err(Failure::say(Kind::Config, message)
        .hint("name the suite, so that its held-out tasks stay out of the skillbook: --suite PATH"))
}

/// An attempt that was not judged, and why.
#[derive(Debug)]
pub(in crate::commands) struct Unjudged {
    attempt: String,
    why: String,
    kind: Kind,
}

/// Returns the failure of a command that left attempts unjudged.
pub(in crate::commands) fn unjudged(first: &Unjudged, count: usize) -> Failure {
    let attempts = if count == 1 { "attempt was" } else { "attempts were" };
    let message =
        format!("{count} {attempts} not judged and stay unlearned ({}: {})", first.attempt, first.why);
    let hint = "repeat the command, or choose another judge: --judged-by me|model|none";
    Failure::say(first.kind, message).hint(hint)
}

/// A skillbook open for learning, with the models that learn and how they do.
pub(in crate::commands) struct OpenBook<'a> {
    pub(in crate::commands) gateway: &'a mut Gateway,
    pub(in crate::commands) learners: &'a LearnerModels,
    pub(in crate::commands) options: &'a LearnOptions,
}

/// Counts over attempts of `do`.
#[derive(Debug, Default)]
pub(in crate::commands) struct OwnTally {
    pub(in crate::commands) records: Vec<LearningRecord>,
    /// Attempts whose instruction repeats a held-out task.
    pub(in crate::commands) sealed: usize,
    pub(in crate::commands) void: usize,
    pub(in crate::commands) unjudged: Vec<Unjudged>,
}

impl OwnTally {
    /// Has one attempt judged and learns from it. Returns the record, if it was learned from.
    pub(in crate::commands) async fn learn(
        &mut self,
        book: &mut OpenBook<'_>,
        held_out: &LockedSuites,
        judging: &Judging,
        folder: &Path,
    ) -> Result<Option<LearningRecord>, Failure> {
        let attempt = match OwnAttempt::read(folder) {
            Ok(attempt) => attempt,
            Err(OwnAttemptError::Trajectory(TrajectoryError::NotEnded(_))) => {
                self.void += 1;
                return Ok(None);
            }
            Err(error @ OwnAttemptError::Session { .. }) => {
                terminal::note(format_args!("  own attempt, not learned from: {error}"));
                return Ok(None);
            }
            Err(error) => return Err(Failure::new(Kind::Config, error)),
        };
        let wanted = judging.origin();
        let known = book.gateway.state().judgements.get(attempt.id()).filter(|known| known.by >= wanted);
        let judgement = match known.cloned() {
            Some(known) => known,
            None => match judge_attempt(judging, &attempt, book.learners.reflector.as_ref()).await? {
                Ok(judgement) => judgement,
                Err((why, kind)) => {
                    let attempt = folder.display().to_string();
                    terminal::note(format_args!("  own attempt, {attempt}: not judged; {why}"));
                    self.unjudged.push(Unjudged { attempt, why, kind });
                    return Ok(None);
                }
            },
        };
        if judgement.by == JudgedBy::Model {
            let verdict =
                judgement.verdict.map_or("cannot tell".to_owned(), |told| format!("{told:?}").to_lowercase());
            terminal::note(format_args!(
                "  {}: a model's opinion: {verdict}. {}",
                folder.display(),
                judgement.why
            ));
        }
        let judged = JudgedAttempt { attempt: &attempt, judgement: &judgement };
        let learned = learn_from_own(book.gateway, held_out, book.learners, judged, book.options).await;
        match learned {
            Ok(record) => {
                self.records.push(record.clone());
                Ok(Some(record))
            }
            Err(CycleError::Split(held_out @ SplitError::HeldOutWords { .. })) => {
                terminal::note(format_args!("  own attempt, {}: skipped; {held_out}", folder.display()));
                self.sealed += 1;
                Ok(None)
            }
            Err(CycleError::Learn(error)) => Err(apply_failure(error)),
            Err(other) => Err(Failure::new(Kind::Config, other)),
        }
    }
}

/// Judges one attempt. Returns why it could not be judged.
async fn judge_attempt(
    judging: &Judging,
    attempt: &OwnAttempt,
    model: &dyn ChatModel,
) -> Result<Result<Judgement, (String, Kind)>, Failure> {
    let by_person = |verdict| Judgement { by: JudgedBy::Person, verdict: Some(verdict), why: String::new() };
    if let Some((_, verdict)) = judging.verdict.iter().find(|(name, _)| names(name, attempt.folder())) {
        return Ok(Ok(by_person(*verdict)));
    }
    match judging.judged_by.unwrap_or(Judge::Me) {
        Judge::None => Ok(Ok(Judgement { by: JudgedBy::Nobody, verdict: None, why: String::new() })),
        Judge::Me => Ok(ask(attempt)
            .map(by_person)
            .ok_or_else(|| ("you gave no verdict".to_owned(), Kind::NothingMatched))),
        Judge::Model => {
            let pictures = attempt.last_pictures().kind(Kind::Config)?;
            match judge(model, &attempt.material(), &pictures).await {
                Ok(judgement) => Ok(Ok(judgement)),
                Err(error @ JudgeError::Unusable(_)) => Ok(Err((error.to_string(), Kind::Model))),
                Err(error) => Err(Failure::new(Kind::Model, error)),
            }
        }
    }
}

/// Asks the person at the terminal whether an attempt did what it was asked.
fn ask(attempt: &OwnAttempt) -> Option<Verdict> {
    let seen = attempt.recorded();
    terminal::note(format_args!("{}\n  asked: {}", attempt.folder().display(), seen.goal));
    let finish = seen.steps.iter().rev().find_map(|step| step.finish.as_deref());
    let ended = finish.map_or_else(|| format!("{:?}", seen.stop), str::to_owned);
    terminal::note(format_args!("  ended after {}: {ended}", counted(seen.steps.len(), "turn")));
    terminal::note(format_args!(
        "  did it do what was asked? Type yes or no and press Enter; anything else leaves it unlearned"
    ));
    match terminal::answer()?.trim() {
        "yes" => Some(Verdict::Pass),
        "no" => Some(Verdict::Fail),
        _ => None,
    }
}
