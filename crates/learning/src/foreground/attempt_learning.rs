//! Foreground learning for one attempt: the open package, what was finished and reported, and the consequences. The
//! book stays unchanged until a package is published, which is a single operation.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use apprentice_guidance::{ScriptCheck, SkillScripts};
use apprentice_protocol::{
    BoundedText, ChatModel, Clock, Command, EventKind, Machine, MachineError, SkillEvent, SkillEventKind,
    SkillId, StepId, TextBudget, ToolOutcome,
};
use apprentice_skillbook::package::to_edit;
use apprentice_skillbook::shipped::{ShippedPart, is_shipped};
use apprentice_skillbook::{Actor, At, BookError, Gateway, OpId, Skill, Snapshot, WriteMode, open_unlocked};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::call::{FinishCall, LearnAction, LearnReason, StartCall};
use super::gate::Counters;
use super::journal::{BookSpan, Journal, JournalEntry, JournalLine, TurnPlace, counters};
use super::publish::{Base, Fault, Publication, Published, collect, prepare, publish, unreachable};
use super::receipt::{Language, Receipt, receipt};
use super::signal::{FinalReport, OWN_PREFIX};
use super::timeline::Timeline;

/// Folder for unpublished packages in the environment, below the home folder.
const STAGING: &str = ".claude/skills";
const MAX_MESSAGE_CHARS: TextBudget = TextBudget(300);

/// Settings of an attempt that may learn.
#[derive(Clone)]
pub struct AttemptLearningOptions {
    /// The book's folder.
    pub book: PathBuf,
    /// Source of timestamps.
    pub clock: Arc<dyn Clock>,
    /// Language of the messages to the user.
    pub language: Language,
    /// Name of the run.
    pub run: String,
    /// Folder of the trace, from which a later review reads the turns. `None` where no trace is kept.
    pub trace: Option<PathBuf>,
    /// True if finished skills take effect at once.
    pub mode: WriteMode,
    /// The models that read each package before it enters the book. Without one, rules decide alone.
    pub readers: Vec<Arc<dyn ChatModel>>,
}

/// Foreground learning in one attempt.
pub struct AttemptLearning {
    plan: AttemptLearningOptions,
    pub(super) timeline: Timeline,
    machine: OnceLock<Arc<dyn Machine>>,
    scripts: OnceLock<Arc<SkillScripts>>,
    state: Mutex<AttemptState>,
}

#[derive(Default)]
pub(super) struct AttemptState {
    open: Option<OpenPackage>,
    pub(super) finished: bool,
    pub(super) wrong_reports: u32,
    pub(super) report: Option<(FinalReport, Verdict)>,
    /// Actions and tool calls that earlier turns counted.
    counted: u32,
}

/// A package that is being written.
#[derive(Clone, Debug, PartialEq)]
struct OpenPackage {
    call: StartCall,
    /// Name of the package's folder.
    package: String,
    folder: String,
    base: Option<Base>,
}

/// A package that is to be published, with the calls that opened and finished it.
struct FinishedPackage<'a> {
    publication: Publication,
    open: &'a OpenPackage,
    call: &'a FinishCall,
}

/// The ruling on a report's signals, as a code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Verdict {
    /// `silent`, `valid`, or the code of the rejection.
    pub code: String,
    /// The reason, if the signal was rejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// The final output of an attempt: the report, which is usually empty, and its verdict.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct FinalOutput {
    /// The report as the agent made it.
    pub output: FinalReport,
    /// Whether its signals are accepted.
    pub signal: Verdict,
    /// The sentences for the user.
    pub receipts: Vec<String>,
    /// The counters since the last review.
    pub counters: Counters,
}

impl AttemptLearning {
    /// Prepares learning for one attempt. The environment is connected with [`Self::enter`] once it is open.
    pub fn new(plan: AttemptLearningOptions) -> Arc<Self> {
        let (machine, scripts) = (OnceLock::new(), OnceLock::new());
        Arc::new(Self { plan, timeline: Timeline::default(), machine, scripts, state: Mutex::default() })
    }

    /// Returns the timeline to which the owner of the trace forwards each event.
    pub fn timeline(&self) -> Timeline {
        self.timeline.clone()
    }

    /// Sets the environment in which packages are written. Only the first call counts.
    pub fn enter(&self, machine: Arc<dyn Machine>) {
        let _ = self.machine.set(machine);
    }

    /// Sets the scripts of the attempt's skills, so that a script that is reported as broken can be checked in the world.
    pub fn set_scripts(&self, scripts: Arc<SkillScripts>) {
        let _ = self.scripts.set(scripts);
    }

    /// Runs the check of a skill's scripts, if it brings one.
    pub(super) async fn check_scripts(&self, skill: &SkillId) -> Option<ScriptCheck> {
        match self.scripts.get() {
            Some(scripts) => scripts.check(skill).await,
            None => None,
        }
    }

    pub(super) fn shown(&self) -> String {
        self.timeline.shown()
    }

    pub(super) async fn start(&self, call: StartCall, step: StepId) -> Result<ToolOutcome, Fault> {
        if let Some(open) = &self.state().open {
            return Err(("already_started", format!("{} is open; finish it first", open.call.skill_name)));
        }
        self.check_refs(&call.event_refs)?;
        let book = self.read_book()?;
        let open = opened(&call, &book, self.home()?)?;
        self.stage(&open, &book).await?;
        let message = bounded(&call.message);
        let line = self.line(step, SkillEventKind::LearningStarted, BookSpan::unchanged(book.last()));
        self.journal(vec![JournalLine { skill: skill_of(&open), data: json!(call), ..line }])?;
        let answer = format!(
            "Write the package into {} with your own tools: SKILL.md, and scripts/, references/ or assets/ if it needs \
             them. Then call skill_learning_finish.{}",
            open.folder,
            if open.base.is_some() { " The skill as it stands is there to be changed." } else { "" }
        );
        let event = SkillEvent {
            skill: skill_of(&open),
            detail: Some(format!("{} {}: {}", word(&call.action), call.skill_name, word(&call.reason))),
            text: Some(format!("{} ({message})", self.say(Receipt::Writing, &open.package))),
            ..happened(SkillEventKind::LearningStarted)
        };
        self.state().open = Some(open);
        Ok(ToolOutcome { events: vec![EventKind::Skill(event)], ..ToolOutcome::text(answer) })
    }

    /// Creates an empty folder in the environment, or writes the current skill into it.
    async fn stage(&self, open: &OpenPackage, book: &Snapshot) -> Result<(), Fault> {
        let machine = self.world()?;
        match machine.remove(&open.folder).await {
            Ok(()) | Err(MachineError::NotFound(_)) => {}
            Err(error) => return Err(unreachable(&error)),
        }
        let made = machine.run(&Command::new(["mkdir", "-p", open.folder.as_str()])).await;
        made.map_err(|error| unreachable(&error))?;
        let skill = open.base.as_ref().and_then(|base| book.skill(&base.skill));
        for (path, bytes) in skill.map(|skill| to_edit(book, skill).files).unwrap_or_default() {
            let path = format!("{}/{path}", open.folder);
            machine.write(&path, &bytes).await.map_err(|error| unreachable(&error))?;
        }
        Ok(())
    }

    pub(super) async fn finish(&self, call: FinishCall, step: StepId) -> Result<ToolOutcome, Fault> {
        let open = self.state().open.clone();
        let Some(open) = open.filter(|open| same(open, &call)) else {
            let name = &call.skill_name;
            return Err(("not_started", format!("no {} of {name} was started", word(&call.action))));
        };
        if !call.status.fits(call.action) {
            let why = format!("{} does not end as {}", word(&call.action), word(&call.status));
            return Err(("wrong_status", why));
        }
        if !call.status.publishes() {
            return self.leave(&open, &call, step).await;
        }
        let package = collect(self.world()?.as_ref(), &open.folder, &open.package).await?;
        let mut gateway = self.open_book().await?;
        gateway.set_readers(self.plan.readers.clone());
        let publication = prepare(&mut gateway, &package, open.base.as_ref())?;
        gateway.read_change(&publication.change).await;
        let finished = FinishedPackage { publication, open: &open, call: &call };
        let outcome = self.publish(&mut gateway, finished, step)?;
        drop(gateway);
        self.clear(&open).await;
        Ok(outcome)
    }

    /// Publishes a package and notes it in the journal. Does not await in between, so that every published package is
    /// also noted.
    fn publish(
        &self,
        gateway: &mut Gateway,
        finished: FinishedPackage<'_>,
        step: StepId,
    ) -> Result<ToolOutcome, Fault> {
        let FinishedPackage { publication, open, call } = finished;
        let before = gateway.state().last;
        let Published { skill, version, proposed, binary_files } =
            publish(gateway, publication, self.plan.clock.now(), &self.timeline.versions())?;
        let span = BookSpan { before, after: gateway.state().last };
        let (kind, message) = match (proposed, &open.base) {
            (Some(_), _) => (SkillEventKind::Proposed, Receipt::Proposed),
            (None, None) => (SkillEventKind::Created, Receipt::Learned),
            (None, Some(_)) => (SkillEventKind::Updated, Receipt::Updated),
        };
        let lines = [kind, SkillEventKind::LearningFinished].map(|happening| JournalLine {
            skill: Some(skill.clone()),
            version: Some(version),
            data: if happening == kind { Value::Null } else { json!(call) },
            ..self.line(step, happening, span)
        });
        let unwritten = self.journal(lines.to_vec()).err();
        {
            let mut state = self.state();
            state.open = None;
            state.finished = true;
        }
        let receipt = self.say(message, &open.package);
        let mut answer = match proposed {
            Some(by) => format!("{receipt}. {skill} waits for the user's word ({by})."),
            None => format!("{receipt}. It is {skill} in the book, version {version}."),
        };
        if !binary_files.is_empty() {
            answer = format!(
                "{answer} No text, so only plain words in it were looked at: {}.",
                binary_files.join(", ")
            );
        }
        if let Some((_, why)) = unwritten {
            answer = format!("{answer} (The journal could not be written: {why}.)");
        }
        let detail = format!("{} {skill}: {}", word(&call.status), bounded(&call.summary));
        let of = |happening, detail, text| {
            let (skill, version) = (Some(skill.clone()), Some(version));
            EventKind::Skill(SkillEvent { skill, version, detail, text, ..happened(happening) })
        };
        let events =
            vec![of(kind, None, None), of(SkillEventKind::LearningFinished, Some(detail), Some(receipt))];
        Ok(ToolOutcome { events, ..ToolOutcome::text(answer) })
    }

    /// Ends the writing without a change.
    async fn leave(&self, open: &OpenPackage, call: &FinishCall, step: StepId) -> Result<ToolOutcome, Fault> {
        let last = self.read_book()?.last();
        let line = self.line(step, SkillEventKind::LearningFinished, BookSpan::unchanged(last));
        self.journal(vec![JournalLine { skill: skill_of(open), data: json!(call), ..line }])?;
        self.state().open = None;
        self.clear(open).await;
        let detail = format!("{} {}: {}", word(&call.status), call.skill_name, bounded(&call.summary));
        let event = SkillEvent { detail: Some(detail), ..happened(SkillEventKind::LearningFinished) };
        let message = "Nothing was published; the book is as it was.";
        Ok(ToolOutcome { events: vec![EventKind::Skill(event)], ..ToolOutcome::text(message) })
    }

    /// Removes the folder from the environment. Leftovers disappear with the environment.
    async fn clear(&self, open: &OpenPackage) {
        if let Some(machine) = self.machine.get() {
            let _ = machine.remove(&open.folder).await;
        }
    }

    /// Begins a further turn of a session: it may finish skills and make a report of its own.
    pub fn begin_turn(&self) {
        let mut state = self.state();
        (state.finished, state.wrong_reports, state.report) = (false, 0, None);
    }

    /// Ends a turn: an open package stays unpublished, and the turn is counted. `turn` is its number in a session.
    pub fn end_turn(&self, turn: Option<u32>) -> Result<FinalOutput, BookError> {
        let last = Snapshot::open(&self.plan.book, At::Now).map(|book| book.last());
        let last = match last {
            Ok(last) => last,
            Err(BookError::Missing(_)) => OpId(0),
            Err(error) => return Err(error),
        };
        let all = self.timeline.action_count();
        let (report, open, tool_iters) = {
            let mut state = self.state();
            let new = all.saturating_sub(std::mem::replace(&mut state.counted, all));
            (state.report.clone(), state.open.take(), new)
        };
        let entry = JournalEntry::Turn { tool_iters, usd: 0.0 };
        let blank = self.blank(None, entry, BookSpan::unchanged(last));
        let left = open.map(|open| JournalLine {
            entry: JournalEntry::Event { event: SkillEventKind::LearningFinished },
            skill: skill_of(&open),
            data: json!({ "skill_name": open.call.skill_name, "status": "failed", "summary": "the turn ended" }),
            ..blank.clone()
        });
        let place = TurnPlace { trace: self.plan.trace.clone(), turn };
        let counted = JournalLine { data: json!(place), ..blank };
        let journal = Journal::beside(&self.plan.book);
        journal.append(left.into_iter().chain([counted]).collect())?;
        let (output, signal) = report
            .unwrap_or_else(|| (FinalReport::default(), Verdict { code: "silent".to_owned(), why: None }));
        let receipts =
            output.used_skill_receipts.iter().map(|used| self.say(Receipt::Used, &used.skill_name));
        Ok(FinalOutput { receipts: receipts.collect(), signal, counters: counters(&journal.read()?), output })
    }

    fn check_refs(&self, refs: &[String]) -> Result<(), Fault> {
        let events = self.timeline.ids();
        match refs.iter().find(|reference| !events.contains(reference)) {
            Some(unknown) => Err((
                "unknown_event",
                format!("{unknown} is no event of this attempt; skill_timeline names them"),
            )),
            None if refs.is_empty() => {
                Err(("no_events", "event_refs is empty; skill_timeline names what happened".to_owned()))
            }
            None => Ok(()),
        }
    }

    fn home(&self) -> Result<&str, Fault> {
        Ok(self.world()?.offers().home.as_str())
    }

    fn world(&self) -> Result<&Arc<dyn Machine>, Fault> {
        self.machine.get().ok_or_else(|| ("unavailable", "there is no world to write in".to_owned()))
    }

    /// Opens the book for reading, including the shipped skills.
    pub(super) fn read_book(&self) -> Result<Snapshot, Fault> {
        match Snapshot::open(&self.plan.book, At::Now) {
            Ok(book) => Ok(book.with_shipped(ShippedPart::All)),
            Err(BookError::Missing(_)) => Ok(Snapshot::empty().with_shipped(ShippedPart::All)),
            Err(error) => Err(("unavailable", error.to_string())),
        }
    }

    /// Opens the book for writing. Waits for another writer for a while.
    pub(super) async fn open_book(&self) -> Result<Gateway, Fault> {
        let opened = open_unlocked(&self.plan.book, self.plan.clock.as_ref(), self.plan.mode).await;
        opened.map_err(|error| ("unavailable", error.to_string()))
    }

    pub(super) fn now(&self) -> jiff::Timestamp {
        self.plan.clock.now()
    }

    pub(super) fn say(&self, what: Receipt, name: &str) -> String {
        receipt(self.plan.language, what, name)
    }

    pub(super) fn line(&self, step: StepId, event: SkillEventKind, book: BookSpan) -> JournalLine {
        self.blank(Some(step), JournalEntry::Event { event }, book)
    }

    fn blank(&self, step: Option<StepId>, entry: JournalEntry, book: BookSpan) -> JournalLine {
        JournalLine {
            v: 0,
            id: String::new(),
            time: self.plan.clock.now(),
            run: self.plan.run.clone(),
            step: step.map(|step| step.to_string()),
            actor: Actor::Agent,
            entry,
            skill: None,
            version: None,
            book_before: book.before,
            book_after: book.after,
            data: Value::Null,
        }
    }

    pub(super) fn journal(&self, lines: Vec<JournalLine>) -> Result<(), Fault> {
        if lines.is_empty() {
            return Ok(());
        }
        let written = Journal::beside(&self.plan.book).append(lines);
        written.map_err(|error| ("unavailable", error.to_string()))
    }

    /// Locks the mutable state. The guard must not be held across an await.
    pub(super) fn state(&self) -> MutexGuard<'_, AttemptState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the package that a start call opens, or a refusal.
fn opened(call: &StartCall, book: &Snapshot, home: &str) -> Result<OpenPackage, Fault> {
    let name = call.skill_name.trim();
    if call.message.trim().is_empty() {
        return Err(("empty_text", "message says nothing to the user".to_owned()));
    }
    let (package, base) = match call.action {
        LearnAction::Create => {
            let own = name.strip_prefix(OWN_PREFIX).is_some_and(SkillId::is_slug) && SkillId::is_slug(name);
            if !own {
                let why = format!(
                    "{name:?} must be {OWN_PREFIX} and lower-case words with hyphens, 64 letters at most"
                );
                return Err(("wrong_prefix", why));
            }
            if let LearnReason::Issue(_) = call.reason {
                return Err(("wrong_reason", "that is a fault of a skill; start an update of it".to_owned()));
            }
            if let Some(skill) = book.skills().find(|skill| skill.id.slug() == name) {
                return Err(("exists", format!("{} is in the book; start an update of it", skill.id)));
            }
            (name.to_owned(), None)
        }
        LearnAction::Update => {
            let Some(skill) = named(book, name) else {
                return Err(("unknown_skill", format!("there is no skill {name:?}")));
            };
            if is_shipped(&skill.id) {
                return Err((
                    "core_skill",
                    format!("{} belongs to the program and is not changed", skill.id),
                ));
            }
            let base = Base { skill: skill.id.clone(), version: skill.version };
            (to_edit(book, skill).name, Some(base))
        }
    };
    let folder = format!("{}/{STAGING}/{package}", home.trim_end_matches('/'));
    Ok(OpenPackage { call: call.clone(), package, folder, base })
}

/// Finds a skill by its id, by its package's name, or by its own name if that is unique.
pub(crate) fn named<'a>(book: &'a Snapshot, name: &str) -> Option<&'a Skill> {
    if let Ok(id) = SkillId::parse(name) {
        return book.skill(&id);
    }
    let is = |skill: &&Skill| {
        skill.id.slug() == name || skill.package.as_ref().is_some_and(|package| package.name == name)
    };
    let mut found = book.skills().filter(is);
    found.next().filter(|_| found.next().is_none())
}

fn same(open: &OpenPackage, call: &FinishCall) -> bool {
    let name = call.skill_name.trim();
    open.call.action == call.action && (open.call.skill_name.trim() == name || open.package == name)
}

fn skill_of(open: &OpenPackage) -> Option<SkillId> {
    open.base.as_ref().map(|base| base.skill.clone())
}

/// Returns the serialized spelling of a code.
fn word(code: &impl Serialize) -> String {
    serde_json::to_value(code).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

pub(super) fn bounded(text: &str) -> String {
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    BoundedText::cut(&flat, MAX_MESSAGE_CHARS).as_str().to_owned()
}

pub(super) fn happened(happening: SkillEventKind) -> SkillEvent {
    SkillEvent {
        happening,
        skill: None,
        version: None,
        rank: None,
        detail: None,
        text: None,
        delivered_chars: 0,
    }
}
