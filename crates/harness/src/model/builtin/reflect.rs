//! Reviewing an attempt: what each skill was worth, and what the trace shows that nobody would guess.
//!
//! A learning tells the way to a surface in general words; names, texts and values of the task stay out.

use apprentice_protocol::{ChatRequest, StepId, TrajectoryStep};
use serde::Deserialize;
use serde_json::{Value, json};

use super::block::block;
use super::choose::Care;
use super::goal::{Goal, ValueKind};
use super::guidance::{self, Step};
use super::lesson::{Deed, Lesson, Visit, walk};
use super::page::{self, Trail};
use super::wire::Move;
use super::words::{Wanted, content, plain, same_label};

/// Words of the goal that a learning repeats at most: too few to betray a task.
const GOAL_WORDS: usize = 6;
/// Labels of a surface that a learning lists.
const LISTED: usize = 14;

#[derive(Deserialize)]
struct Material {
    goal: String,
    #[serde(default)]
    apps: Vec<String>,
    verdict: String,
    #[serde(default = "three")]
    max_learnings: usize,
    #[serde(default)]
    skills: Vec<Received>,
    #[serde(default)]
    steps: Vec<TrajectoryStep>,
}

#[derive(Deserialize)]
struct Received {
    id: String,
    text: String,
}

const fn three() -> usize {
    3
}

/// Whether a request asks for a review: by its schema or by the block it holds.
pub(super) fn is_asked(request: &ChatRequest) -> bool {
    let by_schema = request.schema.as_ref().is_some_and(|schema| schema.name.contains("reflection"));
    by_schema || request.world.is_none() && block::<Material>(request).is_some()
}

/// The review.
pub(super) fn answer(request: &ChatRequest) -> Move {
    let Some(material) = block::<Material>(request) else {
        return Move::Say(json!({ "skill_reviews": [], "new_learnings": [] }).to_string());
    };
    let goal = Goal::read(&material.goal);
    let asked = |label: &str| goal.wants.iter().any(|want| Care::Exact.accepts(want.wanted.fit(label)));
    let lesson = walk(&material.steps).join(asked);
    let passed = material.verdict == "pass";
    let on_pages = page::is_of_pages(&material.steps);
    let scope = material.apps.first().map_or("general", String::as_str);
    let trail = if passed && on_pages {
        page::lesson(&material.steps, scope, &|label| is_own(&goal, label))
    } else {
        None
    };
    let learnings: Vec<Value> = match (passed, on_pages) {
        (true, true) => trail.iter().filter_map(|trail| page_learning(&material, trail)).collect(),
        (true, false) => learnings(&material, &lesson, &goal),
        (false, _) => Vec::new(),
    };
    let attempt = Attempt { material: &material, lesson, goal, passed, on_pages, trail };
    let reviews: Vec<Value> = material.skills.iter().map(|skill| attempt.review(skill)).collect();
    Move::Say(json!({ "skill_reviews": reviews, "new_learnings": learnings }).to_string())
}

/// Labels that a skill's guidance names, but for those on a condition.
fn named(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for step in guidance::read(text) {
        match step {
            Step::Path(labels) | Step::Labels(labels) => {
                found.extend(labels.into_iter().map(|label| label.text));
            }
            Step::Fill(Some(label)) | Step::Context(Some(label)) => found.push(label),
            Step::Fill(None)
            | Step::Context(None)
            | Step::Keys(_)
            | Step::Pick
            | Step::Cell
            | Step::Maybe(_) => {}
            Step::Visit(address) => found.push(address),
        }
    }
    found
}

/// Where a skill's guidance leads first.
fn destination(text: &str) -> Option<String> {
    let mut steps = guidance::read(text).into_iter();
    let path =
        steps.find_map(|step| if let Step::Path(labels) = step { labels.last().cloned() } else { None });
    path.map(|label| label.text).or_else(|| named(text).pop())
}

/// An attempt as its reviewer sees it.
struct Attempt<'m> {
    material: &'m Material,
    lesson: Lesson,
    goal: Goal,
    passed: bool,
    on_pages: bool,
    trail: Option<Trail>,
}

impl Attempt<'_> {
    /// What one skill was worth.
    fn review(&self, skill: &Received) -> Value {
        let labels = named(&skill.text);
        let done = labels.iter().filter(|label| self.lesson.has_pressed(label)).count();
        let vain = |label: &String| self.lesson.in_vain.iter().any(|vain| same_label(vain, label));
        let astray = labels.iter().any(vain);
        let (id, whole) = (&skill.id, done == labels.len());
        let how = if whole { "yes" } else { "partially" };
        if done == 0 || done * 2 < labels.len() {
            return self.left(skill);
        }
        let led = self.on_pages || destination(&skill.text).is_some_and(|place| self.went_through(&place));
        if self.passed && led && (whole || !astray) {
            let mended = self.trail.as_ref().and_then(|trail| mend(&skill.text, &trail.guidance));
            return match mended {
                Some(better) => json!({ "skill_id": id, "followed": "partially", "impact": "neutral",
                    "reason": "marginal", "suggested_improvement": better }),
                None => json!({ "skill_id": id, "followed": how, "impact": "positive",
                    "what_helped": "It named where to go, so that nothing had to be searched." }),
            };
        }
        // Only what is right in part can be put right: a place that is where it should be and did not lead to
        // the goal was another place than the task's.
        if self.passed && astray && led && !whole && self.lesson.visits.len() == 1 {
            return json!({ "skill_id": id, "followed": how, "impact": "negative", "issue_type": "incorrect",
                "what_went_wrong": "Not everything that it names is where it says.",
                "corrected_guidance": format!("1. Choose {}.", self.way()) });
        }
        if astray && !led {
            return json!({ "skill_id": id, "followed": how, "impact": "negative", "issue_type": "unclear",
                "what_went_wrong": "Its situation seemed to be the task's, and its way was gone and left again." });
        }
        let reason = if self.passed { "not_needed" } else { "marginal" };
        json!({ "skill_id": id, "followed": how, "impact": "neutral", "reason": reason })
    }

    /// A skill that was read and left.
    fn left(&self, skill: &Received) -> Value {
        let (id, way) = (&skill.id, self.way());
        let situation = skill.text.lines().take(3).collect::<Vec<_>>().join(" ");
        let concerns = self.goal.words.fit(&situation).matched > 0.0;
        if concerns && self.passed && !way.is_empty() && !self.is_told_besides(id) {
            return json!({ "skill_id": id, "followed": "no", "reason": "chose_alternative",
                "explanation": "Another way led to the goal.", "alternative_used": way });
        }
        if concerns && !self.passed {
            return json!({ "skill_id": id, "followed": "no", "reason": "seemed_wrong",
                "explanation": "It speaks of what the task asks, and what it names was not there to be done." });
        }
        json!({ "skill_id": id, "followed": "no", "reason": "irrelevant",
            "explanation": "It speaks of something else than the task." })
    }

    /// The way that led to the goal, in words.
    fn way(&self) -> String {
        self.lesson.visits.iter().map(route).collect::<Vec<_>>().join("; then ")
    }

    /// Whether a label stands on a way that led somewhere, or was done there.
    fn went_through(&self, label: &str) -> bool {
        let stands = |visit: &Visit| {
            let before = visit
                .first
                .iter()
                .flat_map(|(way, deed)| way.iter().map(String::as_str).chain([deed.label()]));
            let own = visit.way.iter().map(String::as_str).chain(visit.deeds.iter().map(Deed::label));
            before.chain(own).any(|leg| same_label(leg, label))
        };
        self.lesson.visits.iter().any(stands)
    }

    /// Whether another skill that was read tells the way that was gone.
    fn is_told_besides(&self, id: &str) -> bool {
        let others = self.material.skills.iter().filter(|other| other.id != id);
        others.map(|other| named(&other.text)).any(|labels| {
            let told = |leg: &String| labels.iter().any(|label| same_label(label, leg));
            self.lesson.visits.iter().all(|visit| visit.way.iter().all(told))
        })
    }
}

/// Guidance for pages brought together with what an attempt showed to be enough: what it did without is said on
/// a condition. None if the guidance says it already.
fn mend(skill: &str, shown: &str) -> Option<String> {
    let told = guidance::lines(skill);
    let is_bound = |line: &str| guidance::read(line).iter().all(|step| matches!(step, Step::Maybe(_)));
    let known = guidance::read_all(skill);
    let mut lines: Vec<(String, bool)> = Vec::new();
    let mut at = 0;
    for line in guidance::lines(shown) {
        let steps = guidance::read(&line);
        match told[at..].iter().position(|other| guidance::read(other) == steps) {
            Some(further) => {
                lines.extend(told[at..at + further].iter().map(|line| (line.clone(), !is_bound(line))));
                lines.push((told[at + further].clone(), false));
                at += further + 1;
            }
            None if steps.iter().all(|step| known.contains(step)) => {}
            None => lines.push((line.clone(), !is_bound(&line))),
        }
    }
    let shared = lines.iter().any(|(line, loose)| !loose && !is_bound(line));
    lines.extend(told[at..].iter().map(|line| (line.clone(), !is_bound(line))));
    if !shared || lines.iter().all(|(_, loose)| !loose) {
        return None;
    }
    let mut mended: Vec<String> = Vec::new();
    for group in lines.chunk_by(|(_, one), (_, other)| *one && *other) {
        match group {
            [(line, false)] => mended.push(line.clone()),
            loose => {
                let deeds: Vec<String> = loose.iter().map(|(line, _)| lowered(line)).collect();
                mended.push(format!("If it is there, {}.", deeds.join(", then ")));
            }
        }
    }
    Some(
        mended
            .iter()
            .enumerate()
            .map(|(at, line)| format!("{}. {line}", at + 1))
            .collect::<Vec<_>>()
            .join("\n"),
    )
}

/// A sentence as a part of another.
fn lowered(sentence: &str) -> String {
    let mut letters = sentence.trim_end_matches('.').chars();
    letters.next().into_iter().flat_map(char::to_lowercase).chain(letters).collect()
}

fn route(visit: &Visit) -> String {
    let mut legs: Vec<String> = visit.way.iter().map(|leg| bare(leg)).collect();
    legs.extend(
        visit.deeds.iter().filter(|deed| matches!(deed, Deed::Choose(_))).map(|deed| deed.label().to_owned()),
    );
    legs.join(" > ")
}

fn learnings(material: &Material, lesson: &Lesson, goal: &Goal) -> Vec<Value> {
    let scope = material.apps.first().map_or("general", String::as_str);
    let known: Vec<Vec<String>> = material.skills.iter().map(|skill| named(&skill.text)).collect();
    let mut found: Vec<(u32, Value)> = Vec::new();
    for visit in &lesson.visits {
        let told = |labels: &[String], leg: &str| labels.iter().any(|label| same_label(label, leg));
        let covered = known.iter().any(|labels| {
            let first = visit.first.iter().all(|(_, deed)| told(labels, deed.label()));
            first && visit.way.iter().all(|leg| told(labels, leg) || visit.barred.contains(leg))
        });
        if covered || !is_hidden(visit) {
            continue;
        }
        found.push((visit.wasted, learning(scope, visit, goal, &material.steps)));
    }
    found.sort_by_key(|(wasted, _)| std::cmp::Reverse(*wasted));
    found.into_iter().take(material.max_learnings).map(|(_, learning)| learning).collect()
}

/// What an attempt on pages teaches, unless a skill that was read says it.
fn page_learning(material: &Material, trail: &Trail) -> Option<Value> {
    let scope = material.apps.first().map_or("general", String::as_str);
    let Trail { situation, guidance, evidence, wasted, labels } = trail;
    let says = |skill: &Received| {
        let known = named(&skill.text);
        !labels.is_empty() && labels.iter().all(|label| known.iter().any(|known| same_label(known, label)))
    };
    if material.skills.iter().any(says) {
        return None;
    }
    let most = u32::try_from(material.steps.len()).unwrap_or(u32::MAX).max(1);
    let (kind, confidence) = if *wasted > 0 { ("friction", "high") } else { ("discovered", "medium") };
    let mut learning = json!({ "type": kind, "scope": scope, "situation": situation, "guidance": guidance,
        "confidence": confidence, "evidence": evidence });
    if *wasted > 0 {
        learning["steps_wasted"] = json!((*wasted).min(most));
    }
    Some(learning)
}

/// Whether a way is worth telling: it was searched for, it is long, or something had to come first.
fn is_hidden(visit: &Visit) -> bool {
    let legs = visit.way.len() + usize::from(visit.by_context);
    legs >= 1 && (visit.wasted > 0 || !visit.first.is_empty() || legs >= 2 || visit.deeds.len() >= 2)
}

fn learning(scope: &str, visit: &Visit, goal: &Goal, steps: &[TrajectoryStep]) -> Value {
    let labels = labels(visit, goal);
    let situation = situation(scope, visit, goal, &labels);
    let guidance = guidance_text(visit, goal, &labels);
    let evidence: Vec<StepId> =
        visit.evidence.iter().copied().filter(|id| steps.iter().any(|step| step.id == *id)).collect();
    let most = u32::try_from(steps.len()).unwrap_or(u32::MAX).max(1);
    if visit.wasted == 0 {
        return json!({ "type": "discovered", "scope": scope, "situation": situation, "guidance": guidance,
            "confidence": "medium", "evidence": evidence });
    }
    json!({ "type": "friction", "scope": scope, "situation": situation, "guidance": guidance,
        "confidence": "high", "steps_wasted": visit.wasted.min(most), "evidence": evidence })
}

/// Whether a label is one of the task's own texts.
fn is_own(goal: &Goal, label: &str) -> bool {
    let values = goal.wants.iter().flat_map(|want| &want.values);
    values.filter(|value| value.kind != ValueKind::Number || plain(label).len() == 1).any(|value| {
        let (value, label) = (plain(&value.text), plain(label));
        !value.is_empty() && label.windows(value.len()).any(|run| run == value)
    })
}

/// What the surface holds, the task's own texts left out: what was used first, then its neighbours.
fn labels(visit: &Visit, goal: &Goal) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let used =
        visit.deeds.iter().filter(|deed| !matches!(deed, Deed::Press(_) | Deed::Key(_))).map(Deed::label);
    for label in used.chain(visit.beside.iter().map(String::as_str)) {
        let known = found.iter().chain(&visit.way).any(|known| same_label(known, label));
        if !known && !label.is_empty() && !is_own(goal, label) && found.len() < LISTED {
            found.push(label.to_owned());
        }
    }
    found
}

fn bare(label: &str) -> String {
    label.trim_end_matches(['…', '.', ':']).trim().to_owned()
}

/// The few words of the goal that this visit answered.
fn goal_words(visit: &Visit, goal: &Goal) -> String {
    let spoken = |label: &str| Wanted::of(label);
    let surface: Vec<String> =
        visit.way.iter().cloned().chain(visit.deeds.iter().map(|deed| deed.label().to_owned())).collect();
    let best = goal.wants.iter().max_by(|one, other| {
        let score = |want: &super::goal::Want| {
            surface.iter().map(|label| want.wanted.fit(label).matched).sum::<f32>()
        };
        score(one).total_cmp(&score(other))
    });
    let Some(want) = best else { return String::new() };
    let mut kept: Vec<String> = Vec::new();
    for word in plain(&want.clause) {
        let own = want.values.iter().any(|value| plain(&value.text).contains(&word));
        let told = !content(&word).is_empty();
        let new = !surface
            .iter()
            .any(|label| spoken(label).stems().iter().any(|stem| content(&word).contains(stem)));
        if !own && told && new && !kept.contains(&word) && kept.len() < GOAL_WORDS {
            kept.push(word);
        }
    }
    kept.join(", ")
}

fn situation(scope: &str, visit: &Visit, goal: &Goal, labels: &[String]) -> String {
    let place = visit.way.last().map_or_else(|| "the context menu".to_owned(), |leg| bare(leg));
    let place = match choices(visit).as_slice() {
        [] => place,
        barred => barred.iter().map(|label| bare(label)).collect::<Vec<_>>().join(", "),
    };
    let listed = labels.iter().map(|label| bare(label)).collect::<Vec<_>>().join(", ");
    let words = goal_words(visit, goal);
    let about = if words.is_empty() { String::new() } else { format!(" (asked for as: {words})") };
    let first: Vec<String> = visit.first.iter().map(|(_, deed)| bare(deed.label())).collect();
    let after = if first.is_empty() { String::new() } else { format!(", after {}", first.join(", ")) };
    if listed.is_empty() {
        format!("{place} in {scope}{after}{about}")
    } else {
        format!("{place} in {scope}{after}: {listed}{about}")
    }
}

/// Commands that took no input at first, when the way leads through one of several.
fn choices(visit: &Visit) -> Vec<String> {
    let through = visit.way.last().is_some_and(|leg| visit.barred.contains(leg));
    if through && visit.barred.len() > 1 { visit.barred.clone() } else { Vec::new() }
}

/// The way in words. Where one of several commands was made usable, the task says which is meant.
fn way_lines(visit: &Visit) -> Vec<String> {
    let barred = choices(visit);
    let mut way: Vec<String> = visit.way.iter().map(|leg| bare(leg)).collect();
    if !barred.is_empty() {
        way.pop();
    }
    let mut lines = match way.as_slice() {
        [] => Vec::new(),
        [only] => vec![format!("Open \"{only}\".")],
        legs => vec![format!("Open {}.", legs.join(" > "))],
    };
    if !barred.is_empty() {
        lines.push(format!("Choose the entry that the task asks for{}.", among(&barred)));
    }
    lines
}

/// The steps in words.
fn guidance_text(visit: &Visit, goal: &Goal, labels: &[String]) -> String {
    let mut lines: Vec<String> = Vec::new();
    if visit.whole {
        lines.push("Select the whole text with Ctrl+A if the task is about all of it.".into());
    }
    for (way, deed) in &visit.first {
        let mut legs: Vec<String> = way.iter().map(|leg| bare(leg)).collect();
        legs.push(bare(deed.label()));
        lines.push(format!("Choose {} first.", legs.join(" > ")));
    }
    if visit.by_context {
        lines.push("Right-click what the task is about.".into());
    }
    lines.extend(way_lines(visit));
    let many = labels.len() > 1;
    for (index, deed) in visit.deeds.iter().enumerate() {
        let label = bare(deed.label());
        let own = is_own(goal, &label);
        let asked = own || goal.words.fit(&label).matched > 0.0;
        let later_fill = visit.deeds[index + 1..].iter().any(|later| matches!(later, Deed::Fill(_)));
        match deed {
            Deed::Choose(_) if asked && many => {
                lines.push(format!("Choose the entry that the task asks for{}.", among(labels)));
            }
            Deed::Choose(_) if own => lines.push("Choose the entry that the task asks for.".into()),
            Deed::Choose(_) => lines.push(format!("Choose \"{label}\".")),
            Deed::Switch(_) if asked && many && !later_fill => {
                lines.push(format!("Set what the task asks for{}.", among(labels)));
            }
            Deed::Switch(_) if later_fill => lines.push(format!("Tick \"{label}\" first.")),
            Deed::Switch(_) => lines.push(format!("Set \"{label}\" as the task asks.")),
            Deed::Fill(_) if label.is_empty() || own => {
                lines.push("Type the value that the task names into the field.".into());
            }
            Deed::Fill(_) => {
                lines.push(format!("Type the value that the task names into the field \"{label}\"."));
            }
            Deed::Press(_) => lines.push(format!("Press \"{label}\".")),
            Deed::Key(chord) => lines.push(format!("Press {chord}.")),
        }
    }
    lines.dedup();
    lines
        .iter()
        .enumerate()
        .map(|(index, line)| format!("{}. {line}", index + 1))
        .collect::<Vec<_>>()
        .join("\n")
}

fn among(labels: &[String]) -> String {
    let listed = labels.iter().map(|label| bare(label)).collect::<Vec<_>>().join(", ");
    format!(" (there are: {listed})")
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::{ChatRequest, Content, Message};
    use serde_json::{Value, json};

    use super::{Move, answer, mend};

    fn step(id: u32, changed: &[&str], action: &str, role: &str, name: &str) -> Value {
        json!({ "id": format!("s{id}"), "seen": { "title": "Kitchen", "changed": changed },
            "actions": [{ "action": action, "role": role, "name": name, "outcome": "done" }] })
    }

    fn reflect(goal: &str, skills: &Value, steps: &[Value]) -> Value {
        let material = json!({ "schema": "reflect.material.v1", "goal": goal, "apps": ["kitchen"],
            "verdict": "pass", "max_learnings": 3, "skills": skills, "steps": steps });
        let text = format!("The attempt:\n\n```json\n{material}\n```\n");
        let content = vec![Content::text(text)];
        let request = ChatRequest { messages: vec![Message::User { content }], ..ChatRequest::default() };
        match answer(&request) {
            Move::Say(text) => serde_json::from_str(&text).expect("JSON"),
            other => panic!("{other:?}"),
        }
    }

    fn searched() -> Vec<Value> {
        vec![
            step(1, &[], "click", "menu", "Shelf"),
            step(2, &["+ menuitem \"New Label...\""], "key escape", "", ""),
            step(3, &[], "click", "menu", "Bake"),
            step(4, &["+ menuitem \"Knead\"", "+ menu \"Sponge\""], "click", "menu", "Sponge"),
            step(
                5,
                &["+ menuitem \"Turn Sideways\"", "+ menuitem \"Turn Over\"", "+ menuitem \"rye.txt\""],
                "click",
                "menuitem",
                "Turn Sideways",
            ),
            step(6, &[], "key ctrl+s", "", ""),
        ]
    }

    #[test]
    fn a_way_found_by_searching_is_told_without_the_task() {
        let said = reflect("Turn the sponge in 'rye.txt' sideways and save it.", &json!([]), &searched());
        insta::assert_json_snapshot!(said, @r#"
        {
          "new_learnings": [
            {
              "confidence": "high",
              "evidence": [
                "s3",
                "s4",
                "s5"
              ],
              "guidance": "1. Open Bake > Sponge.\n2. Choose the entry that the task asks for (there are: Turn Sideways, Turn Over).",
              "scope": "kitchen",
              "situation": "Sponge in kitchen: Turn Sideways, Turn Over",
              "steps_wasted": 2,
              "type": "friction"
            }
          ],
          "skill_reviews": []
        }
        "#);
    }

    #[test]
    fn skills_are_judged_by_what_was_pressed() {
        let skill = |id: &str, guidance: &str| json!({ "id": id, "step": "s1", "text": format!("# {id}\n## Guidance\n{guidance}") });
        let skills = json!([
            skill("kitchen/right", "1. Open Bake > Sponge.\n2. Choose the entry that the task asks for."),
            skill("kitchen/wrong", "1. Choose Shelf > Sponge > Turn Twice."),
            skill("garden/hose", "1. Open Hose > Nozzle."),
            skill("kitchen/elsewhere", "1. Open the Shelf menu."),
        ]);
        let said = reflect("Turn the sponge sideways and save it.", &skills, &searched());
        let kinds: Vec<String> = said["skill_reviews"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|review| format!("{} {} {}", review["skill_id"], review["followed"], review["impact"]))
            .collect();
        assert_eq!(
            kinds,
            [
                "\"kitchen/right\" \"yes\" \"positive\"",
                "\"kitchen/wrong\" \"partially\" \"negative\"",
                "\"garden/hose\" \"no\" null",
                "\"kitchen/elsewhere\" \"yes\" \"negative\""
            ]
        );
        assert_eq!(said["skill_reviews"][3]["issue_type"], "unclear", "it led to another place");
        assert_eq!(said["new_learnings"], json!([]), "a skill says it already");
    }

    #[test]
    fn what_another_note_tells_is_no_alternative() {
        let skill = |id: &str, guidance: &str| json!({ "id": id, "step": "s1", "text": format!("# {id}\nSponges\n## Guidance\n{guidance}") });
        let told = skill("kitchen/right", "1. Open Bake > Sponge.");
        let read = skill("kitchen/other", "1. Open Window > Curtain.");
        let reason = |skills: Value| {
            let said = reflect("Turn the sponge sideways and save it.", &skills, &searched());
            let reviews = said["skill_reviews"].as_array().cloned().unwrap_or_default();
            reviews.last().map(|review| review["reason"].clone())
        };
        assert_eq!(reason(json!([told, read])), Some(json!("irrelevant")));
        assert_eq!(reason(json!([read])), Some(json!("chose_alternative")));
    }

    #[test]
    fn what_an_attempt_did_without_is_said_on_a_condition() {
        let known = "## Situation\nLoaves\n## Guidance\n1. Double-click the cell that the task is about.\n\
                     2. Press Ctrl+A.\n3. Type the value that the task names into the field.\n4. Press Enter.\n\
                     5. Open \"Oven\".\n## Annotations\nNone";
        let shown =
            "1. Type the value that the task names into the field.\n2. Press Enter.\n3. Open \"Oven\".";
        let mended = mend(known, shown).expect("there is more to say");
        insta::assert_snapshot!(mended, @r#"
        1. If it is there, double-click the cell that the task is about, then press Ctrl+A.
        2. Type the value that the task names into the field.
        3. Press Enter.
        4. Open "Oven".
        "#);
        for said in [
            shown,
            "1. Double-click the cell that the task is about.\n2. Press Ctrl+A.\n\
            3. Type the value that the task names into the field.\n4. Press Enter.\n5. Open \"Oven\".",
        ] {
            assert_eq!(mend(&mended, said), None, "it says both now");
        }
        assert_eq!(mend(known, "1. Open \"Larder\"."), None, "nothing is shared");
    }
}
