//! The report on skills that an agent makes at the end: parsed, judged, and noted beside the book.

use std::collections::BTreeMap;

use apprentice_guidance::ScriptCheck;
use apprentice_protocol::{EventKind, SkillEvent, SkillEventKind, SkillId, StepId, ToolOutcome};
use apprentice_skillbook::shipped::is_shipped;
use apprentice_skillbook::{Actor, Change, Snapshot, WriteRefusal, WriteRequest};
use serde_json::{Value, json};

use super::attempt_learning::{AttemptLearning, Verdict, bounded, happened, named};
use super::journal::{BookSpan, JournalLine};
use super::publish::Fault;
use super::receipt::Receipt;
use super::signal::{AcceptedSignal, FinalReport, Invocation, Issue, IssueSignal, Ruling, SkillKind, judge};

/// Malformed reports that are allowed before the attempt continues without one.
const REPORT_TRIES: u32 = 3;

impl AttemptLearning {
    pub(super) async fn report(&self, arguments: &Value, step: StepId) -> Result<ToolOutcome, Fault> {
        {
            let state = self.state();
            if state.report.is_some() {
                return Err(("already_reported", "a report is there; call finish".to_owned()));
            }
            if state.wrong_reports >= REPORT_TRIES {
                return Err(("report_left_out", "the attempt goes without a report; call finish".to_owned()));
            }
        }
        let book = self.read_book()?;
        let report = read_report(arguments, &book).map_err(|why| self.malformed(&why))?;
        let ruling = judge(&report, &self.turn(&book));
        let (verdict, happening) = match &ruling {
            Ruling::Silent => (Verdict { code: "silent".to_owned(), why: None }, None),
            Ruling::AcceptedSignal(_) => {
                (Verdict { code: "valid".to_owned(), why: None }, Some(SkillEventKind::LearningSignal))
            }
            Ruling::Rejected { code, why } => (
                Verdict { code: (*code).to_owned(), why: Some(why.clone()) },
                Some(SkillEventKind::LearningSignalRejected),
            ),
        };
        let at = BookSpan::unchanged(book.last());
        let (mut lines, mut events) = self.declared(&report, &book, step, at);
        if let Some(happening) = happening {
            let mut data = match (&report.learning_signal, &report.skill_issue_signal) {
                (Some(signal), None) => json!(signal),
                (None, Some(signal)) => json!(signal),
                (one, other) => json!({ "learning_signal": one, "skill_issue_signal": other }),
            };
            data["code"] = json!(verdict.code);
            let mut detail =
                verdict.why.as_ref().map_or(verdict.code.clone(), |why| format!("{}: {why}", verdict.code));
            let about = about(&ruling, &book);
            if let Some(check) = self.check_of(&ruling, about.as_ref()).await {
                let result = if check.passed { "passes" } else { "fails" };
                detail = format!("{detail}; {} {result}", check.path);
                data["check"] = json!(check);
            }
            events.push(EventKind::Skill(SkillEvent { detail: Some(detail), ..happened(happening) }));
            lines.push(JournalLine { skill: about, data, ..self.line(step, happening, at) });
        }
        self.journal(lines)?;
        if let Ruling::AcceptedSignal(AcceptedSignal::Update(signal)) = &ruling
            && signal.issue == Issue::UnsafeInstruction
        {
            events.extend(self.suspend(signal).await?);
        }
        let answer = match &verdict.why {
            None => "Noted.".to_owned(),
            Some(why) => format!("Noted without the signal, {}: {why}.", verdict.code),
        };
        self.state().report = Some((report, verdict));
        Ok(ToolOutcome { events, ..ToolOutcome::text(answer) })
    }

    /// Runs the check of a script that is reported as broken: whoever decides later knows more than the report.
    async fn check_of(&self, ruling: &Ruling, about: Option<&SkillId>) -> Option<ScriptCheck> {
        match ruling {
            Ruling::AcceptedSignal(AcceptedSignal::Update(signal)) if signal.issue == Issue::BrokenScript => {
                self.check_scripts(about?).await
            }
            _ => None,
        }
    }

    /// Keeps a skill that would do harm from agents at once. A person, or a new text, ends that.
    async fn suspend(&self, signal: &IssueSignal) -> Result<Vec<EventKind>, Fault> {
        let skill =
            named(&self.read_book()?, &signal.skill_name).map(|skill| (skill.id.clone(), skill.version));
        let Some((skill, version)) = skill else { return Ok(Vec::new()) };
        let why = format!("reported as unsafe: {}", bounded(&signal.patch_hint));
        let change = Change::SkillSuspended { skill: skill.clone(), why: why.clone() };
        let mut gateway = self.open_book().await?;
        gateway.apply(WriteRequest::of(Actor::Handler, self.now(), change)).map_err(|error| match error {
            WriteRefusal::Refused { code, why } => (code, why),
            WriteRefusal::Book(error) => ("unavailable", error.to_string()),
        })?;
        let text = self.say(Receipt::Suspended, skill.as_str());
        let (version, detail, text) = (Some(version), Some(why), Some(text));
        let event = happened(SkillEventKind::Suspended);
        Ok(vec![EventKind::Skill(SkillEvent { skill: Some(skill), version, detail, text, ..event })])
    }

    /// Compares the skills that the agent says it used with those that it really received.
    fn declared(
        &self,
        report: &FinalReport,
        book: &Snapshot,
        step: StepId,
        at: BookSpan,
    ) -> (Vec<JournalLine>, Vec<EventKind>) {
        let (mut lines, mut events) = (Vec::new(), Vec::new());
        for used in &report.used_skill_receipts {
            let skill = named(book, &used.skill_name);
            let viewed = skill.is_some_and(|skill| self.timeline.has_viewed(&skill.id));
            let skill = skill.map(|skill| (skill.id.clone(), skill.version));
            let (id, version) = (skill.as_ref().map(|found| found.0.clone()), skill.map(|found| found.1));
            let detail = (!viewed).then(|| "its text was not delivered in this attempt".to_owned());
            let event =
                SkillEvent { skill: id.clone(), version, detail, ..happened(SkillEventKind::DeclaredUsed) };
            events.push(EventKind::Skill(SkillEvent { text: Some(bounded(&used.message)), ..event }));
            let line = self.line(step, SkillEventKind::DeclaredUsed, at);
            lines.push(JournalLine { skill: id, version, data: json!({ "viewed": viewed }), ..line });
        }
        (lines, events)
    }

    /// Counts a malformed report and says how many attempts remain.
    fn malformed(&self, why: &str) -> Fault {
        let mut state = self.state();
        state.wrong_reports += 1;
        let left = REPORT_TRIES - state.wrong_reports.min(REPORT_TRIES);
        let then =
            if left == 0 { "the attempt goes without one".to_owned() } else { format!("{left} more tries") };
        ("bad_report", format!("{why}; {then}"))
    }

    fn turn(&self, book: &Snapshot) -> Invocation {
        let mut skills = BTreeMap::new();
        for skill in book.skills() {
            let kind = if is_shipped(&skill.id) { SkillKind::Core } else { SkillKind::Open };
            skills.insert(skill.id.to_string(), kind);
            skills.insert(skill.id.slug().to_owned(), kind);
        }
        Invocation {
            timeline: self.timeline.ids(),
            requests: self.timeline.requests(),
            finished: self.state().finished,
            skills,
            one_off: false,
        }
    }
}

/// Returns the skill that an accepted signal is about.
fn about(ruling: &Ruling, book: &Snapshot) -> Option<SkillId> {
    match ruling {
        Ruling::AcceptedSignal(AcceptedSignal::Update(signal)) => {
            named(book, &signal.skill_name).map(|skill| skill.id.clone())
        }
        _ => None,
    }
}

fn read_report(arguments: &Value, book: &Snapshot) -> Result<FinalReport, String> {
    let report: FinalReport = apprentice_model_json::from_arguments(arguments)
        .map_err(|error| format!("the report does not fit: {error}"))?;
    let unknown = report.used_skill_receipts.iter().find(|used| named(book, &used.skill_name).is_none());
    match unknown {
        Some(used) => Err(format!("there is no skill {:?} that could have been used", used.skill_name)),
        None => Ok(report),
    }
}
