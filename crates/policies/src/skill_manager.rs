//! Maintains a skillbook: handles one work item at a time through the tools only.
//!
//! It looks up similar skills first. It creates new skills, annotates doubtful ones, and leaves the rest unchanged. It
//! does not understand what texts mean. So it says of two texts that they agree only where they are the same text, and
//! then cites them; spacing may differ, case may not, since `g` and `G` may be two commands. Whatever else looks alike is
//! not known to agree, and is noted or left.

use apprentice_protocol::{CallBody, ChatRequest, Content, Message};
use serde::Deserialize;
use serde_json::{Value, json};

use super::guidance::{self, Step};
use super::policy::Move;
use super::transcript::block;
use super::words::{plain, same_label};

/// The tool whose presence identifies a maintenance request.
pub(super) const READING_TOOL: &str = "fetch_similar_skills";
/// The largest length, in characters, of a description in the index.
const MAX_DESCRIPTION: usize = 150;

#[derive(Deserialize)]
struct WorkItem {
    input_type: String,
    #[serde(default)]
    writes_allowed: Vec<String>,
    #[serde(default)]
    writes_with_citations: Vec<String>,
    #[serde(default)]
    adding_allowed: bool,
    #[serde(default)]
    earlier_reports: Vec<Report>,
    /// Reports of which it sees only the beginning.
    #[serde(default)]
    farther_reports: Vec<Value>,
    payload: Value,
}

/// What another attempt reported.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Report {
    id: String,
    kind: String,
    attempt: Option<String>,
    situation: Option<String>,
    proposes: Option<String>,
    /// Why its words wait for a person. Such a report is cited on neither side.
    held_back: Vec<String>,
}

/// A tool call made earlier, with its result.
struct ToolCallRecord {
    tool: String,
    answer: Value,
    refused: bool,
}

/// A skill as a tool returned it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct SkillView {
    skill_id: String,
    description: String,
    situation: String,
    guidance: String,
    similarity: f64,
}

/// Returns the manager's next call, or its closing message.
pub(super) fn answer(request: &ChatRequest) -> Move {
    let Some(item) = block::<WorkItem>(request) else { return nothing("There is no item.") };
    let made = made(request);
    match item.input_type.as_str() {
        "learning" => learning(&item, &made),
        "skill_negative" => correct(&item, &made, "corrected_guidance", "what_went_wrong"),
        "skill_neutral" => correct(&item, &made, "suggested_improvement", "suggested_improvement"),
        "skill_not_followed" => correct(&item, &made, "alternative_used", "explanation"),
        "cleanup_task" => clean(&item, &made),
        _ => nothing("This kind of item is unknown."),
    }
}

fn nothing(why: &str) -> Move {
    Move::Say(why.to_owned())
}

fn leave(reason: &str, why: &str) -> Move {
    ask("leave_item", json!({ "reason": reason, "why": why }))
}

/// Returns whether two texts are the same text. Only spacing may differ.
fn same_text(one: &str, other: &str) -> bool {
    one.split_whitespace().eq(other.split_whitespace())
}

fn ask(tool: &str, arguments: Value) -> Move {
    Move::Ask { say: String::new(), tool: tool.to_owned(), arguments }
}

/// Returns the calls made so far with their results.
fn made(request: &ChatRequest) -> Vec<ToolCallRecord> {
    let mut found = Vec::new();
    let mut asked: &[apprentice_protocol::Call] = &[];
    for message in &request.messages {
        match message {
            Message::User { .. } => {}
            Message::Assistant { calls, .. } => asked = calls,
            Message::Results { results, .. } => {
                for result in results {
                    let call = asked.iter().find(|call| call.id == result.id).map(|call| &call.body);
                    let Some(CallBody::Tool { name, .. }) = call else { continue };
                    let text: String = result.content.iter().filter_map(Content::as_text).collect();
                    found.push(ToolCallRecord {
                        tool: name.clone(),
                        answer: serde_json::from_str(&text).unwrap_or(Value::Null),
                        refused: result.is_error,
                    });
                }
            }
        }
    }
    found
}

impl WorkItem {
    fn allows(&self, tool: &str) -> bool {
        self.writes_allowed.iter().any(|allowed| allowed == tool)
    }

    fn allows_with_citations(&self, tool: &str) -> bool {
        self.writes_with_citations.iter().any(|allowed| allowed == tool)
    }

    /// Returns reports that meet a condition, one for each attempt.
    fn citable(&self, fits: impl Fn(&Report) -> bool) -> Vec<String> {
        let mut attempts: Vec<&str> = Vec::new();
        let mut ids = Vec::new();
        for report in self.earlier_reports.iter().filter(|report| report.held_back.is_empty() && fits(report))
        {
            let Some(attempt) = report.attempt.as_deref() else { continue };
            if !attempts.contains(&attempt) {
                attempts.push(attempt);
                ids.push(report.id.clone());
            }
        }
        ids
    }

    fn text(&self, field: &str) -> String {
        self.payload.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
    }
}

fn last<'m>(made: &'m [ToolCallRecord], tool: &str) -> Option<&'m ToolCallRecord> {
    made.iter().rev().find(|call| call.tool == tool)
}

fn skills_of(call: &ToolCallRecord) -> Vec<SkillView> {
    call.answer
        .get("skills")
        .cloned()
        .and_then(|skills| serde_json::from_value(skills).ok())
        .unwrap_or_default()
}

/// Returns the labels, addresses and keys that a guidance names, in order.
fn way(guidance: &str) -> Vec<String> {
    let name = |line: guidance::Line| match line.step {
        Step::Press(label) | Step::Visit(label) | Step::Keys(label) => Some(label),
        Step::Cell => Some("cell".to_owned()),
        Step::Fill(_) | Step::Pick | Step::Context => None,
    };
    guidance::read(guidance).into_iter().filter_map(name).collect()
}

fn same_way(one: &str, other: &str) -> bool {
    let (one, other) = (way(one), way(other));
    !one.is_empty()
        && one.len() == other.len()
        && one.iter().zip(&other).all(|(one, other)| same_label(one, other))
}

fn learning(item: &WorkItem, made: &[ToolCallRecord]) -> Move {
    let situation = item.text("situation");
    let guidance = item.text("guidance");
    let same =
        |text: &Option<String>, wanted: &str| text.as_deref().is_some_and(|text| same_text(text, wanted));
    let agree = item.citable(|report| {
        report.kind == "learning" && same(&report.situation, &situation) && same(&report.proposes, &guidance)
    });
    let lifts = !agree.is_empty() && item.allows_with_citations("create_skill");
    let left = last(made, "leave_item").is_some();
    if left || !(item.allows("create_skill") || lifts) {
        return leave("unsupported", "One suspicion is not enough for a skill.");
    }
    let Some(looked) = last(made, READING_TOOL) else {
        return ask(READING_TOOL, json!({ "situation": situation }));
    };
    let domain = domain(item);
    let near: Vec<SkillView> = skills_of(looked)
        .into_iter()
        .filter(|skill| skill.skill_id.starts_with(&format!("{domain}/")))
        .collect();
    if let Some(read) = last(made, "read_skills") {
        let twin = skills_of(read).into_iter().find(|skill| same_way(&skill.guidance, &guidance));
        if let Some(twin) = twin {
            return complete(item, made, &twin, &situation, &guidance);
        }
    } else if !near.is_empty() {
        let ids: Vec<&str> = near.iter().take(4).map(|skill| skill.skill_id.as_str()).collect();
        return ask("read_skills", json!({ "skill_ids": ids }));
    }
    let proposed =
        NewSkill { domain: &domain, situation: &situation, guidance: &guidance, agrees_with: &agree };
    create(made, &proposed)
}

/// Adds a situation to a skill that has the same guidance, word for word. A skill with the same route and other words
/// stays: whether both say the same is not known.
fn complete(
    item: &WorkItem,
    made: &[ToolCallRecord],
    twin: &SkillView,
    situation: &str,
    guidance: &str,
) -> Move {
    if !same_text(&twin.guidance, guidance) {
        return leave("unsupported", "A skill describes the same route in other words.");
    }
    let known = plain(&twin.situation);
    let new = plain(situation).iter().any(|word| !known.contains(word));
    if !new || !item.adding_allowed || last(made, "update_skill").is_some() {
        return leave("already_known", "The skill says it already.");
    }
    let both = format!("{}\n{situation}", twin.situation);
    ask("update_skill", json!({ "skill_id": twin.skill_id, "situation": both }))
}

/// Merges two situations of one surface: the union of their labels and of their goal words.
fn join(known: &str, new: &str) -> String {
    let split = |text: &str| -> (String, String, String) {
        let (body, asked) = text.split_once(" (asked for as: ").unwrap_or((text, ""));
        let (place, labels) = body.split_once(": ").unwrap_or((body, ""));
        (place.to_owned(), labels.to_owned(), asked.trim_end_matches(')').to_owned())
    };
    let merge = |one: &str, other: &str| {
        let mut found: Vec<&str> = Vec::new();
        for part in one.split(", ").chain(other.split(", ")).filter(|part| !part.is_empty()) {
            if !found.contains(&part) {
                found.push(part);
            }
        }
        found.into_iter().take(20).collect::<Vec<_>>().join(", ")
    };
    let ((place, labels, asked), (_, more_labels, more_asked)) = (split(known), split(new));
    let (labels, asked) = (merge(&labels, &more_labels), merge(&asked, &more_asked));
    let labels = if labels.is_empty() { String::new() } else { format!(": {labels}") };
    let asked = if asked.is_empty() { String::new() } else { format!(" (asked for as: {asked})") };
    format!("{place}{labels}{asked}")
}

/// Shortens a situation to one index line, at a word boundary.
fn line(situation: &str) -> String {
    let words: Vec<&str> = situation.split_whitespace().collect();
    let mut length = 0;
    let fits = |word: &&&str| {
        length += word.chars().count() + 1;
        length <= MAX_DESCRIPTION + 1
    };
    let kept = words.iter().take_while(fits).count();
    words[..kept].join(" ") + if kept < words.len() { " …" } else { "" }
}

fn slug(text: &str) -> String {
    let words: Vec<String> = plain(text)
        .into_iter()
        .map(|word| word.chars().filter(char::is_ascii_alphanumeric).collect::<String>())
        .filter(|word| !word.is_empty())
        .collect();
    let slug = words.into_iter().take(6).collect::<Vec<_>>().join("-");
    let slug: String = slug.chars().take(48).collect();
    slug.trim_matches('-').to_owned()
}

fn domain(item: &WorkItem) -> String {
    let given = item.text("domain");
    let name =
        slug(if given.is_empty() { item.payload["scope"].as_str().unwrap_or("general") } else { &given });
    if name.is_empty() { "general".into() } else { name }
}

/// A skill to create.
struct NewSkill<'a> {
    domain: &'a str,
    situation: &'a str,
    guidance: &'a str,
    /// Ids of the reports that say the same.
    agrees_with: &'a [String],
}

fn create(made: &[ToolCallRecord], proposed: &NewSkill<'_>) -> Move {
    let NewSkill { domain, situation, guidance, agrees_with } = proposed;
    let name = {
        let name = slug(&way(guidance).into_iter().take(5).collect::<Vec<_>>().join(" "));
        if name.is_empty() { slug(situation) } else { name }
    };
    let tries = made.iter().filter(|call| call.tool == "create_skill").count();
    let skill_name = if tries < 2 { name } else { format!("{name}-{tries}") };
    let opened = made.iter().any(|call| call.tool == "create_domain" && !call.refused);
    let skill = json!({
        "domain": domain, "skill_name": skill_name, "description": line(situation),
        "situation": situation, "guidance": guidance, "agrees_with": agrees_with,
    });
    match made.iter().rev().find(|call| call.tool.starts_with("create_")) {
        None => {
            ask("create_domain", json!({ "domain": domain, "description": format!("Working in {domain}") }))
        }
        Some(call) if call.tool == "create_domain" => ask("create_skill", skill),
        Some(call) if call.refused && tries < 2 && call.answer["error"] != "duplicate" => {
            let unknown_domain = !opened && call.answer.to_string().contains("domain");
            if unknown_domain { nothing("It cannot be created.") } else { ask("create_skill", skill) }
        }
        Some(_) => nothing("It cannot be created."),
    }
}

/// Handles a report on a skill: updates the skill if all other reports on it propose the same text, else annotates it.
fn correct(item: &WorkItem, made: &[ToolCallRecord], better: &str, worse: &str) -> Move {
    let skill = item.text("skill_id");
    let proposal = item.text(better);
    if made.iter().any(|call| call.tool == "annotate_skill") {
        return nothing("It is left as it is.");
    }
    let same = |report: &Report| report.proposes.as_deref().is_some_and(|text| same_text(text, &proposal));
    // Whether another proposal, or praise, contradicts this one is not known.
    let undisputed = item.farther_reports.is_empty() && item.earlier_reports.iter().all(same);
    let agree = if undisputed { item.citable(same) } else { Vec::new() };
    let tried = made.iter().any(|call| call.tool == "update_skill");
    if item.allows_with_citations("update_skill") && !proposal.is_empty() && !agree.is_empty() && !tried {
        if last(made, "read_skills").is_none() {
            return ask("read_skills", json!({ "skill_ids": [skill] }));
        }
        let text = if proposal.starts_with("1.") { proposal } else { format!("1. Choose {proposal}.") };
        return ask("update_skill", json!({ "skill_id": skill, "guidance": text, "agrees_with": agree }));
    }
    let note = item.text(worse);
    if item.allows("annotate_skill") && !note.is_empty() {
        let tail = if proposal.is_empty() || better == worse {
            String::new()
        } else {
            format!(" Worked instead: {proposal}")
        };
        return ask("annotate_skill", json!({ "skill_id": skill, "annotation": format!("{note}{tail}") }));
    }
    leave("unsupported", "There is nothing to mend.")
}

/// Handles a cleanup task: merges duplicates with the same guidance, and deletes or annotates skills with bad statistics.
fn clean(item: &WorkItem, made: &[ToolCallRecord]) -> Move {
    let kind = item.text("cleanup_type");
    let mut ids: Vec<String> = match item.payload.get("skill_ids").and_then(Value::as_array) {
        Some(ids) => ids.iter().filter_map(|id| id.as_str().map(str::to_owned)).collect(),
        None => vec![item.text("skill_id")],
    };
    ids.retain(|id| !id.is_empty());
    let tried = |tool: &str| made.iter().any(|call| call.tool == tool);
    if tried("merge_skills") || tried("annotate_skill") {
        return nothing("That is all.");
    }
    let Some(read) = last(made, "read_skills") else {
        return ask("read_skills", json!({ "skill_ids": ids }));
    };
    let skills = skills_of(read);
    match (kind.as_str(), skills.as_slice()) {
        ("duplicates", [one, other, ..])
            if item.allows_with_citations("merge_skills") && same_text(&one.guidance, &other.guidance) =>
        {
            if last(made, READING_TOOL).is_none() {
                return ask(READING_TOOL, json!({ "situation": one.situation }));
            }
            let situation = join(&one.situation, &other.situation);
            let pages: Vec<&str> = item.earlier_reports.iter().map(|page| page.id.as_str()).collect();
            ask(
                "merge_skills",
                json!({ "source_skill_id": other.skill_id, "target_skill_id": one.skill_id,
                    "description": line(&situation), "situation": situation, "guidance": one.guidance,
                    "agrees_with": pages }),
            )
        }
        ("negative_heavy" | "low_follow_rate", [only, ..]) => {
            // A negative review says by its kind, whatever its words, that the skill caused trouble.
            let hurt = item.citable(|report| report.kind == "skill_negative");
            let praised = item.earlier_reports.iter().any(|report| report.kind == "skill_positive");
            let deletes = kind == "negative_heavy" && item.allows_with_citations("delete_skill");
            if deletes && !praised && !hurt.is_empty() && !tried("delete_skill") {
                return ask("delete_skill", json!({ "skill_id": only.skill_id, "agrees_with": hurt }));
            }
            let note = match kind.as_str() {
                "negative_heavy" => "The counters speak against it; check it before use.",
                _ => "Often read and seldom followed: its situation seems to promise more than it holds.",
            };
            ask("annotate_skill", json!({ "skill_id": only.skill_id, "annotation": note }))
        }
        _ => leave("other", "They are not known to say the same."),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Move, WorkItem, correct};

    /// Returns the tool that a correction leads to first, where one other report proposes the same text.
    fn first_tool(farther: &Value) -> String {
        let item: WorkItem = serde_json::from_value(json!({
            "input_type": "skill_negative",
            "writes_allowed": ["annotate_skill", "leave_item"], "writes_with_citations": ["update_skill"],
            "earlier_reports": [{ "id": "o3", "kind": "skill_negative", "attempt": "run/a/1", "proposes": "1. Press F4." }],
            "farther_reports": farther,
            "payload": { "skill_id": "gimp/a", "corrected_guidance": "1. Press F4.", "what_went_wrong": "F3 does nothing." },
        }))
        .expect("an item");
        let Move::Ask { tool, .. } = correct(&item, &[], "corrected_guidance", "what_went_wrong") else {
            panic!("a tool is called")
        };
        tool
    }

    #[test]
    fn a_text_is_replaced_only_where_every_report_was_seen() {
        assert_eq!(first_tool(&json!([])), "read_skills", "before the update");
        assert_eq!(first_tool(&json!([{ "id": "o2", "begins": "Press" }])), "annotate_skill");
    }
}
