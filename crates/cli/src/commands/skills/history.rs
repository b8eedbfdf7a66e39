//! The history of a skillbook: operations, diffs, earlier states, blame and revert.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use apprentice_evaluator::learn::screenshot;
use apprentice_protocol::{Clock as _, SkillId};
use apprentice_sandbox::SystemClock;
use apprentice_skillbook::{
    Actor, Applied, At, BlameLine, Change, Citation, CitedReport, Entry, OpId, SentenceOrigin,
    SkillDifference, Snapshot, WriteRefusal, WriteRequest,
};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use super::{id, open, operation, show, unknown, write};
use crate::failure::{Failure, Kind, WithKind as _};
use crate::terminal;

/// Returns the skillbook as of an operation, which must exist, or as of a time.
fn snapshot_at(folder: &Path, name: &str) -> Result<Snapshot, Failure> {
    if let Some(time) = end_of(name) {
        let earlier = open(folder)?.operations().into_iter().filter(|operation| operation.time <= time);
        let last = earlier.map(|operation| operation.id).max().unwrap_or(OpId(0));
        return Snapshot::open(folder, At::Operation(last)).kind(Kind::Config);
    }
    let moment = operation(name)?;
    let book = Snapshot::open(folder, At::Operation(moment)).kind(Kind::Config)?;
    if book.last() == moment || moment == OpId(0) {
        return Ok(book);
    }
    let failure = Failure::say(Kind::NothingMatched, format!("the skillbook has no operation {moment}"));
    Err(failure.hint(match book.last() {
        OpId(0) => "it has no operations yet".to_owned(),
        last => format!("the last operation before it is {last}"),
    }))
}

/// Reads a time (RFC 3339), or a date, which stands for the end of that day (UTC).
fn end_of(name: &str) -> Option<Timestamp> {
    if let Ok(time) = name.parse() {
        return Some(time);
    }
    let next = name.parse::<Date>().ok()?.tomorrow().ok()?;
    let midnight = next.to_zoned(TimeZone::UTC).ok()?.timestamp();
    midnight.checked_sub(SignedDuration::from_nanos(1)).ok()
}

/// The output of `skills history --json`.
#[derive(Serialize, JsonSchema)]
pub(in super::super) struct History {
    schema: &'static str,
    /// The skill that was asked for; null for the whole skillbook.
    skill: Option<SkillId>,
    operations: Vec<Entry>,
}

pub(super) fn history(folder: &Path, skill: Option<&str>, as_json: bool) -> Result<(), Failure> {
    let book = open(folder)?;
    let skill = skill.map(id).transpose()?;
    let entries = apprentice_skillbook::history(&book.operations(), skill.as_ref());
    if let Some(skill) = skill.as_ref().filter(|_| entries.is_empty()) {
        return Err(unknown(&book, skill.as_str()));
    }
    if as_json {
        let schema = "apprentice.skills.history/1";
        return terminal::json(&History { schema, skill, operations: entries });
    }
    if entries.is_empty() {
        terminal::line(format_args!("the skillbook has no operations yet"));
    }
    for one in entries {
        let about = one.skills.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        let actor = terminal::words(&one.actor);
        let accepted = one.accepts.map(|proposal| format!(" (accepted {proposal})")).unwrap_or_default();
        let cited = citation(&one.citation);
        terminal::line(format_args!(
            "{} {} {actor} {} {about} {}{accepted}{cited}",
            one.id, one.time, one.op, one.summary
        ));
    }
    Ok(())
}

/// Says what an operation cites.
fn citation(cited: &Citation) -> String {
    fn list<T: ToString>(items: &[T]) -> String {
        items.iter().map(T::to_string).collect::<Vec<_>>().join(" ")
    }
    let parts = [
        ("agrees with", list(&cited.agrees_with)),
        ("conflicts with", list(&cited.conflicts_with)),
        ("proved by", list(&cited.proved_by)),
    ];
    let said = parts.iter().filter(|(_, ids)| !ids.is_empty()).map(|(what, ids)| format!(" ({what} {ids})"));
    said.chain(sources(&cited.origins)).collect()
}

/// Says where the sentences of an operation come from: how many of each source.
fn sources(origins: &[SentenceOrigin]) -> Option<String> {
    let mut counts = BTreeMap::new();
    for one in origins {
        *counts.entry(one.source).or_insert(0) += 1;
    }
    let said: Vec<String> =
        counts.iter().map(|(source, count)| format!("{count} {}", source.word())).collect();
    (!said.is_empty()).then(|| format!(" (sentences: {})", said.join(", ")))
}

/// The output of `skills diff --json`.
#[derive(Serialize, JsonSchema)]
pub(in super::super) struct Difference {
    schema: &'static str,
    /// The last operation of the earlier state.
    from: OpId,
    /// The last operation of the later state.
    to: OpId,
    skills: Vec<SkillDifference>,
}

pub(super) fn diff(
    folder: &Path,
    from: Option<&str>,
    to: Option<&str>,
    as_json: bool,
) -> Result<(), Failure> {
    let after = match to {
        Some(name) => snapshot_at(folder, name)?,
        None => open(folder)?,
    };
    let before = match from {
        Some(name) => snapshot_at(folder, name)?,
        None => Snapshot::open(folder, At::Operation(after.last())).kind(Kind::Config)?,
    };
    let skills = apprentice_skillbook::difference(&before, &after);
    if as_json {
        let (schema, from, to) = ("apprentice.skills.diff/1", before.last(), after.last());
        return terminal::json(&Difference { schema, from, to, skills });
    }
    if skills.is_empty() {
        match from {
            Some(from) => {
                terminal::line(format_args!("no skill differs between {} and {from}", after.last()));
            }
            None => terminal::line(format_args!("no unrecorded changes by hand")),
        }
    }
    for one in skills {
        terminal::verbatim(one.diff.trim_end());
    }
    Ok(())
}

pub(super) fn at(folder: &Path, name: &str, skill: Option<&str>, as_json: bool) -> Result<(), Failure> {
    let book = snapshot_at(folder, name)?;
    match skill {
        Some(skill) => show::show(&book, skill, as_json),
        None => show::list(&book, as_json),
    }
}

/// What a revert undoes.
enum Undo {
    Operations(BTreeSet<OpId>),
    /// Everything since this operation.
    Since(OpId),
}

fn undo(folder: &Path, names: &[String]) -> Result<Undo, Failure> {
    match names {
        [name] if end_of(name).is_some() => Ok(Undo::Since(snapshot_at(folder, name)?.last())),
        names if names.iter().any(|name| end_of(name).is_some()) => {
            let message = "a time undoes everything since then, so it stands alone";
            Err(Failure::say(Kind::Usage, message).hint("name operations only, or one time"))
        }
        names => names.iter().map(|name| operation(name)).collect::<Result<_, _>>().map(Undo::Operations),
    }
}

/// The output of `skills resume --json`.
#[derive(Serialize, JsonSchema)]
pub(in super::super) struct Resumed {
    schema: &'static str,
    skill: SkillId,
    /// The operation that recorded it.
    operation: OpId,
}

/// Gives a suspended skill to agents again.
pub(super) fn resume(folder: &Path, name: &str, as_json: bool) -> Result<(), Failure> {
    let skill = id(name)?;
    let mut gateway = write(folder)?;
    let change = Change::SkillResumed { skill: skill.clone() };
    let request = WriteRequest::of(Actor::Human, SystemClock::default().now(), change);
    let applied = gateway.apply(request).map_err(|refusal| match refusal {
        WriteRefusal::Refused { .. } => Failure::new(Kind::NothingMatched, refusal),
        WriteRefusal::Book(_) => Failure::new(Kind::Config, refusal),
    })?;
    let (Applied::Written(by) | Applied::Proposed(by) | Applied::AlreadyThere(by)) = applied;
    if as_json {
        return terminal::json(&Resumed { schema: "apprentice.skills.resume/1", skill, operation: by });
    }
    terminal::line(format_args!("{skill} is given to agents again ({by})"));
    Ok(())
}

/// The output of `skills revert --json`.
#[derive(Serialize, JsonSchema)]
pub(in super::super) struct RevertOutcome {
    schema: &'static str,
    /// The first of the reverted operations.
    reverted: Option<OpId>,
    /// All reverted operations.
    operations: Vec<OpId>,
    /// The operation that reverted them.
    operation: OpId,
    /// The skillbook's hash afterwards.
    content_hash: String,
}

pub(super) fn revert(folder: &Path, names: &[String], as_json: bool) -> Result<(), Failure> {
    let undo = undo(folder, names)?;
    let mut gateway = write(folder)?;
    let now = SystemClock::default().now();
    let applied = match &undo {
        Undo::Operations(targets) => gateway.revert_all(targets, now),
        Undo::Since(moment) => gateway.revert_to(*moment, now),
    };
    let applied = applied.map_err(|refusal| match refusal {
        WriteRefusal::Refused { .. } => Failure::new(Kind::NothingMatched, refusal),
        WriteRefusal::Book(_) => Failure::new(Kind::Config, refusal),
    })?;
    let (Applied::Written(by) | Applied::Proposed(by) | Applied::AlreadyThere(by)) = applied;
    let book = gateway.snapshot();
    let written = book.operations().into_iter().find(|operation| operation.id == by);
    let reverted: Vec<OpId> = match written.map(|operation| operation.change) {
        Some(Change::Reverted { operation, also, .. }) => [operation].into_iter().chain(also).collect(),
        _ => Vec::new(),
    };
    if as_json {
        return terminal::json(&RevertOutcome {
            schema: "apprentice.skills.revert/1",
            reverted: reverted.first().copied(),
            operations: reverted,
            operation: by,
            content_hash: book.content_hash(),
        });
    }
    let named: Vec<String> = reverted.iter().map(OpId::to_string).collect();
    let were = if named.len() == 1 { "was" } else { "were" };
    terminal::line(format_args!("{} {were} reverted by {by}", named.join(" ")));
    Ok(())
}

/// The output of `skills blame --json`.
#[derive(Serialize, JsonSchema)]
pub(in super::super) struct Blame {
    schema: &'static str,
    skill: SkillId,
    lines: Vec<BlameRow>,
}

/// A line of a skill with its source.
#[derive(Serialize, JsonSchema)]
struct BlameRow {
    #[serde(flatten)]
    line: BlameLine,
    /// The files of the screenshots of its steps.
    screenshots: Vec<String>,
}

pub(super) fn blame(folder: &Path, name: &str, runs: &Path, as_json: bool) -> Result<(), Failure> {
    let book = open(folder)?;
    let skill = id(name)?;
    let Some(lines) = apprentice_skillbook::blame(&book.operations(), &skill) else {
        return Err(unknown(&book, name));
    };
    let picture = |line: &BlameLine| {
        let trajectory = line.trajectory.as_deref().unwrap_or_default();
        let found = line.steps.iter().filter_map(|step| screenshot(runs, trajectory, *step));
        found.map(|path| path.display().to_string()).collect()
    };
    let lines: Vec<BlameRow> =
        lines.into_iter().map(|line| BlameRow { screenshots: picture(&line), line }).collect();
    if as_json {
        return terminal::json(&Blame { schema: "apprentice.skills.blame/1", skill, lines });
    }
    for BlameRow { line, screenshots } in lines {
        let mut source = format!("{}", line.operation);
        let actor = terminal::words(&line.actor);
        let _ = write!(source, " {actor}");
        if let Some(trajectory) = &line.trajectory {
            let _ = write!(source, " {trajectory}");
        }
        for step in &line.steps {
            let _ = write!(source, " {step}");
        }
        for picture in screenshots {
            let _ = write!(source, " {picture}");
        }
        for (what, reports) in [("agrees with", &line.agrees_with), ("conflicts with", &line.conflicts_with)]
        {
            for CitedReport { id, trajectory } in reports {
                let _ = write!(source, ", {what} {id} {}", trajectory.as_deref().unwrap_or_default());
            }
        }
        if !line.proved_by.is_empty() {
            let steps: Vec<String> = line.proved_by.iter().map(ToString::to_string).collect();
            let _ = write!(source, ", proved by {}", steps.join(" "));
        }
        for SentenceOrigin { source: from, .. } in &line.origins {
            let _ = write!(source, ", {}", from.word());
        }
        terminal::line(format_args!("{}  ({source})", line.text));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::end_of;

    #[test]
    fn a_date_is_its_whole_day_and_an_operation_is_no_time() {
        let told = |name: &str| end_of(name).map(|time| time.to_string());
        assert_eq!(told("2026-05-04").as_deref(), Some("2026-05-04T23:59:59.999999999Z"));
        assert_eq!(told("2026-05-04T12:00:00+02:00").as_deref(), Some("2026-05-04T10:00:00Z"));
        assert_eq!(["o12", "nine", "2026-13-01", ""].map(told), [const { None }; 4]);
    }
}
