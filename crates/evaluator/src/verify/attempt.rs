//! Compares a row with the trace of its attempt: who acted, what it took, how it ended, and how it was judged.

use std::path::Path;
use std::time::Duration;

use apprentice_protocol::{
    Action, EventKind, Isolation, Judged, PersonEvent, SkillEventKind, StopReason, Verdict, VoidCause,
};
use apprentice_runs::layout::{EVENTS_FILE, EVIDENCE_FOLDER};
use apprentice_runs::row::TrialRow;
use apprentice_tasks::variation::variation_seed;
use apprentice_trace::Trace;

use super::finding::{Claim, Findings};
use super::plan::differences;
use crate::run::{RunPlan, TrialSpec};

/// Fields of a row that the events of its attempt repeat.
const RECORDED: [&str; 10] = [
    "world_steps",
    "turns",
    "tokens",
    "cost_usd",
    "person_acts",
    "skills_viewed",
    "provider_model",
    "isolation",
    "verdict",
    "score",
];
/// Those of them that judging decides.
const JUDGED: [&str; 2] = ["verdict", "score"];
/// Models whose trace names another model than the plan: what is replayed, and the baselines.
const STAND_INS: [&str; 3] = ["baseline/", "cassette:", "scripted:"];
/// Events of an agent that was shown something of a book.
const SEEN: [SkillEventKind; 6] = [
    SkillEventKind::Indexed,
    SkillEventKind::Searched,
    SkillEventKind::Viewed,
    SkillEventKind::FileViewed,
    SkillEventKind::ScriptRun,
    SkillEventKind::Activated,
];
/// Seconds that are lost where milliseconds become seconds.
const MODEL_SLACK_S: f64 = 0.001;
/// Seconds by which the clock of a machine may be set while an attempt begins.
const CLOCK_SLACK_S: f64 = 2.0;

/// One attempt of a run.
pub(super) struct Attempt<'a> {
    /// The attempt in words.
    pub(super) place: &'a str,
    pub(super) run: &'a Path,
    pub(super) plan: &'a RunPlan,
    pub(super) row: &'a TrialRow,
    /// Whether it is the last attempt of its trial, whose verdict counts.
    pub(super) is_last: bool,
}

/// How a trace ends.
struct Ending {
    reason: Option<StopReason>,
    void: Option<VoidCause>,
}

impl Attempt<'_> {
    /// Compares the row with its trace. Returns the trace if it can be read.
    pub(super) fn compare(&self, found: &mut Findings) -> Option<Trace> {
        let file = self.run.join(&self.row.trace).join(EVENTS_FILE);
        if !file.is_file() {
            self.without_trace(found);
            return None;
        }
        found.count(Claim::Traces, 1);
        let trace = match Trace::read(&file) {
            Ok(trace) => trace,
            Err(error) => {
                self.add(found, format!("its trace cannot be read: {error}"));
                return None;
            }
        };
        self.compare_order(&trace, found);
        self.compare_start(&trace, found);
        // Of an attempt that a bug ended, the row says only that.
        let fields =
            if self.row.void_cause == Some(VoidCause::Internal) { &JUDGED[..] } else { &RECORDED[..] };
        let recorded = self.recorded(&trace);
        differences(self.row, &recorded, fields, "trace").into_iter().for_each(|one| self.add(found, one));
        self.compare_end(&trace, found);
        self.compare_times(&trace, found);
        self.compare_help(&trace, found);
        Some(trace)
    }

    fn add(&self, found: &mut Findings, problem: impl Into<String>) {
        found.add(Claim::Traces, self.place, problem);
    }

    /// An attempt that was judged has a trace. A void one may have been lost with its process; it proves nothing as a result.
    fn without_trace(&self, found: &mut Findings) {
        if self.row.verdict != Verdict::Void {
            return self.add(found, "its trace is missing");
        }
        match self.is_last {
            true => self.add(found, "its trace is missing, so that nothing shows why it is void"),
            false => found.leave("void attempts without a trace, which were tried again"),
        }
    }

    /// Events are numbered from 1. One that was taken out leaves a gap.
    fn compare_order(&self, trace: &Trace, found: &mut Findings) {
        let numbers = trace.events.iter().map(|event| event.id.0);
        if let Some((expected, id)) = (1..).zip(numbers).find(|(expected, id)| expected != id) {
            self.add(found, format!("its trace has event e{id} where e{expected} belongs"));
        }
        let times = trace.events.windows(2).find(|pair| pair[1].mono_us < pair[0].mono_us);
        if let Some([_, late]) = times {
            self.add(found, format!("event {} of its trace is earlier than the one before it", late.id));
        }
        let count = |of: fn(&EventKind) -> bool| trace.events.iter().filter(|event| of(&event.kind)).count();
        let started = count(|kind| matches!(kind, EventKind::Started(_)));
        let stopped = count(|kind| matches!(kind, EventKind::Stopped { .. }));
        let judged = count(|kind| matches!(kind, EventKind::Judged(_)));
        if started != 1 {
            self.add(found, format!("its trace has {started} `started` events"));
        }
        // A killed process leaves no end, and its attempt is void.
        let killed = self.row.verdict == Verdict::Void && self.row.void_cause == Some(VoidCause::Interrupted);
        if stopped != 1 && !(stopped == 0 && killed) {
            self.add(found, format!("its trace has {stopped} `stopped` events"));
        }
        if judged > 1 {
            self.add(found, format!("its trace has {judged} `judged` events"));
        }
        if trace.torn.is_some() && !killed {
            self.add(found, "the last line of its trace is cut off");
        }
    }

    fn compare_start(&self, trace: &Trace, found: &mut Findings) {
        let Some(header) = trace.header() else { return };
        let row = self.row;
        let mut say = |field: &str, of_row: &str, of_trace: &str| {
            if of_row != of_trace {
                self.add(found, format!("{field}: the row says {of_row:?}, its trace {of_trace:?}"));
            }
        };
        say("task", row.task.as_str(), header.brief.id.as_str());
        if !STAND_INS.iter().any(|begin| row.model.starts_with(begin)) {
            say("model", &row.model, &header.model.name);
        }
        say("program", &self.plan.program, &header.program);
        // Drift that was accepted when the run was resumed is told in the row.
        if row.admit.is_none() {
            say("prompt_hash", &row.prompt_hash, &header.prompt_hash);
        }
        if let (Some(seed), Some(trial)) = (header.seed, self.trial()) {
            let own = variation_seed(&self.plan.suite, row.task.as_str(), row.seed);
            say("seed of the variation", &self.plan.seed_of(trial, own).to_string(), &seed.to_string());
        }
    }

    fn trial(&self) -> Option<&TrialSpec> {
        self.plan.trials.iter().find(|trial| trial.trial == self.row.trial)
    }

    /// The row as its trace tells it.
    fn recorded(&self, trace: &Trace) -> TrialRow {
        let mut row = TrialRow {
            world_steps: 0,
            turns: 0,
            tokens: apprentice_protocol::Usage::default(),
            cost_usd: None,
            person_acts: 0,
            skills_viewed: Vec::new(),
            provider_model: None,
            isolation: Isolation::None,
            ..self.row.clone()
        };
        // Waits: up to version 0.1.0 they counted as steps.
        let mut may_count = 0;
        for event in &trace.events {
            match &event.kind {
                EventKind::ModelReplied { usage, cost_usd, provider_model, .. } => {
                    row.turns += 1;
                    row.tokens += *usage;
                    row.provider_model.clone_from(provider_model);
                    if let Some(cost) = cost_usd {
                        *row.cost_usd.get_or_insert(0.0) += cost;
                    }
                }
                EventKind::Action(action) => {
                    // A function's act counts whatever it is.
                    let by_function = action.sent.is_some() && action.line.is_some();
                    let waits = matches!(action.sent, Some(Action::Wait { .. })) && !by_function;
                    let looks = action.sent.as_ref().is_none_or(Action::is_observation_only);
                    row.world_steps += u32::from(by_function || !looks && !waits);
                    may_count += u32::from(waits);
                }
                EventKind::Skill(skill) if skill.happening == SkillEventKind::Viewed => {
                    let new = skill.skill.iter().filter(|id| !row.skills_viewed.contains(id)).cloned();
                    row.skills_viewed = row.skills_viewed.iter().cloned().chain(new).collect();
                }
                EventKind::Person(PersonEvent::Acted(_)) => row.person_acts += 1,
                EventKind::WorldOpened { isolation, .. } => row.isolation = *isolation,
                EventKind::Judged(Judged { verdict, score, .. }) => {
                    (row.verdict, row.score) = (*verdict, *score);
                }
                _ => {}
            }
        }
        row.world_steps = self.row.world_steps.clamp(row.world_steps, row.world_steps + may_count);
        if row.verdict == Verdict::Void {
            row.score = 0.0;
        }
        if trace.stopped().is_none() {
            // The row of a killed attempt names the last model that replied with its name.
            row.provider_model.clone_from(&self.row.provider_model);
        }
        row
    }

    fn compare_end(&self, trace: &Trace, found: &mut Findings) {
        let Some((reason, void, spent)) = trace.stopped() else { return };
        let ending = Ending { reason, void };
        match self.row.verdict {
            Verdict::Void => self.compare_void(&ending, found),
            Verdict::Pass | Verdict::Fail => self.compare_result(&ending, trace, found),
        }
        let row = self.row;
        // An agent that never ran has spent nothing; one that ended by a panic could not say what it spent.
        let said = (spent.turns, spent.world_steps, spent.tokens, spent.cost_usd);
        let lost = row.void_cause == Some(VoidCause::Internal);
        if !lost && said != (row.turns, row.world_steps, row.tokens, row.cost_usd) {
            self.add(found, format!("its trace ends with {spent:?}, which is not what the row says"));
        }
        if !lost {
            self.compare_replies(trace, spent.model_ms, found);
        }
    }

    /// An attempt without a book saw no skill: one that did is another arm's.
    fn compare_help(&self, trace: &Trace, found: &mut Findings) {
        let arm = self.plan.arms.iter().find(|one| one.arm == self.row.arm);
        if self.row.skillbook_hash.is_some() || arm.is_none_or(|arm| !arm.aids.is_empty()) {
            return;
        }
        let seen = trace.events.iter().find_map(|event| match &event.kind {
            EventKind::Skill(skill) if SEEN.contains(&skill.happening) => Some(event.id),
            _ => None,
        });
        if let Some(id) = seen {
            let problem = format!(
                "the row of arm {} names no book, and event {id} of its trace shows a skill",
                self.row.arm
            );
            self.add(found, problem);
        }
    }

    /// What the trace's replies say of the costs and the time of the model.
    fn compare_replies(&self, trace: &Trace, model_ms: u64, found: &mut Findings) {
        let row = self.row;
        let estimated = trace
            .events
            .iter()
            .any(|event| matches!(event.kind, EventKind::ModelReplied { estimated: true, .. }));
        // What judged may be an estimate, too.
        if estimated && !row.cost_estimated || row.cost_estimated && !estimated && row.judge.is_none() {
            let problem =
                format!("cost_estimated: the row says {}, its trace {estimated}", row.cost_estimated);
            self.add(found, problem);
        }
        let model_s = Duration::from_millis(model_ms).as_secs_f64();
        if (row.model_s - model_s).abs() > MODEL_SLACK_S {
            self.add(found, format!("model_s: the row says {}, its trace {model_s}", row.model_s));
        }
    }

    fn compare_result(&self, ending: &Ending, trace: &Trace, found: &mut Findings) {
        let row = self.row;
        if ending.reason != row.stop_reason || ending.void.is_some() {
            let problem = format!(
                "stop_reason: the row says {:?}, its trace {:?}{}",
                row.stop_reason,
                ending.reason,
                ending.void.map_or_else(String::new, |cause| format!(" and void ({cause:?})"))
            );
            self.add(found, problem);
        }
        if row.void_cause.is_some() {
            self.add(found, "void_cause: the row has a verdict and a cause of a void");
        }
        if !trace.events.iter().any(|event| matches!(event.kind, EventKind::Judged(_))) {
            self.add(found, "its trace has no `judged` event");
        }
    }

    fn compare_void(&self, ending: &Ending, found: &mut Findings) {
        let row = self.row;
        if row.stop_reason.is_some() || row.void_cause.is_none() {
            self.add(found, "the row is void and has a reason to stop, or no cause");
        }
        match (ending.void, row.void_cause) {
            (Some(trace), Some(said)) if trace != said => {
                // A person who stops a trial stops it as an interrupt does.
                let stopped = (VoidCause::Interrupted, VoidCause::StoppedByPerson);
                if (trace, said) != stopped {
                    self.add(found, format!("void_cause: the row says {said:?}, its trace {trace:?}"));
                }
            }
            (None, Some(VoidCause::EvidenceMissing)) if self.has_evidence() => {
                self.add(found, "the row is void for missing evidence, and the evidence is there");
            }
            // The agent had ended, and what came after it failed.
            _ => {}
        }
    }

    fn has_evidence(&self) -> bool {
        let folder = self.run.join(&self.row.trace).join(EVIDENCE_FOLDER);
        apprentice_tasks::check::Evidence::load(&folder).is_ok()
    }

    /// The times of a row cannot be computed from its trace, but the trace fits into them.
    fn compare_times(&self, trace: &Trace, found: &mut Findings) {
        let (Some(first), Some(last)) = (trace.events.first(), trace.events.last()) else { return };
        #[expect(clippy::cast_precision_loss, reason = "microseconds of one attempt")]
        let lasted = last.mono_us as f64 / 1e6;
        if self.row.wall_s + CLOCK_SLACK_S < lasted {
            let problem =
                format!("wall_s: the row says {:.1}, and its trace lasts {lasted:.1} s", self.row.wall_s);
            self.add(found, problem);
        }
        let began = first.wall.duration_since(self.row.started_at).as_secs_f64();
        if began < -CLOCK_SLACK_S || began > self.row.wall_s + CLOCK_SLACK_S {
            let problem = format!(
                "started_at: the row says {}, its trace begins at {}",
                self.row.started_at, first.wall
            );
            self.add(found, problem);
        }
    }
}
