//! Reconstructs an attempt from its own conversation when the review question follows it.

use std::collections::BTreeMap;

use apprentice_protocol::{
    Action, ActionOutcome, Call, CallBody, CallId, CallResult, ChatRequest, Content, ImagePoint, JudgedBy,
    Message, Outline, OutlineNode, Seen, SkillId, State, StepAction, StepId, Target, TrajectoryStep, Verdict,
    changes,
};
use serde::Deserialize;

use super::json_block::fenced;
use super::review_material::{ReceivedSkill, ReviewMaterial, default_max_learnings};
use super::transcript::Transcript;

/// The schema name in the block of the review question.
const SCHEMA: &str = "reflect.outcome.v1";
/// The prefix of the line with the front window's title.
const FRONT: &str = "Front: ";

#[derive(Deserialize)]
struct ReviewQuestion {
    schema: String,
    #[serde(default)]
    apps: Vec<String>,
    verdict: Option<Verdict>,
    #[serde(default)]
    judged_by: JudgedBy,
    #[serde(default = "default_max_learnings")]
    max_learnings: usize,
    #[serde(default)]
    skills: Vec<SkillEntry>,
}

#[derive(Deserialize)]
struct SkillEntry {
    id: SkillId,
}

/// Returns the attempt if the conversation ends with a review question.
pub(super) fn material(request: &ChatRequest) -> Option<ReviewMaterial> {
    let (asked, outcome) = question(request)?;
    let before = ChatRequest { messages: request.messages[..asked].to_vec(), ..request.clone() };
    let texts: Vec<&str> = before.messages.iter().flat_map(words).collect();
    let skills = outcome.skills.iter().filter_map(|skill| {
        let text = texts.iter().find_map(|text| note(text, skill.id.as_str()))?;
        Some(ReceivedSkill { id: skill.id.to_string(), text })
    });
    Some(ReviewMaterial {
        goal: Transcript::read(&before).instruction,
        apps: outcome.apps,
        verdict: outcome.verdict,
        judged_by: outcome.judged_by,
        max_learnings: outcome.max_learnings,
        skills: skills.collect(),
        steps: steps(&request.messages),
    })
}

/// Returns the review question and the index of its message. Only user content and notices count: screens and tool
/// results do not, and neither does the first message, which contains the first screen.
fn question(request: &ChatRequest) -> Option<(usize, ReviewQuestion)> {
    request.messages.iter().enumerate().skip(1).rev().find_map(|(place, message)| {
        let said = match message {
            Message::User { content } => content,
            Message::Results { notices, .. } => notices,
            Message::Assistant { .. } => return None,
        };
        let outcome = said.iter().filter_map(Content::as_text).find_map(fenced::<ReviewQuestion>)?;
        (outcome.schema == SCHEMA).then_some((place, outcome))
    })
}

/// Returns the texts that the model received in a message.
fn words(message: &Message) -> Vec<&str> {
    let (content, results) = match message {
        Message::User { content } => (content.as_slice(), [].as_slice()),
        Message::Results { results, notices } => (notices.as_slice(), results.as_slice()),
        Message::Assistant { .. } => Default::default(),
    };
    let answers = results.iter().flat_map(|result| &result.content);
    answers.chain(content).filter_map(Content::as_text).collect()
}

/// Returns a skill as it was delivered: from its title line to the next title or the end of the block.
fn note(text: &str, id: &str) -> Option<String> {
    let mut lines = text.lines().skip_while(|line| line.strip_prefix("# ") != Some(id));
    let title = lines.next()?;
    let rest = lines.take_while(|line| !line.starts_with("# ") && !line.starts_with("</"));
    Some(std::iter::once(title).chain(rest).collect::<Vec<_>>().join("\n"))
}

/// Returns one step per reply, in order: the observation, the actions, and the target elements.
fn steps(messages: &[Message]) -> Vec<TrajectoryStep> {
    let mut steps: Vec<TrajectoryStep> = Vec::new();
    let (mut view, mut answered) = (LatestObservation::default(), None);
    let mut open: &[Call] = &[];
    for message in messages {
        match message {
            Message::User { content } => view.look(content),
            Message::Assistant { say, calls, .. } => {
                let Some(id) = u32::try_from(steps.len() + 1).ok().map(StepId) else { break };
                let lines = view.outline.describe();
                let touched = steps.last().map(TrajectoryStep::touched).unwrap_or_default();
                let changed = changes(answered.as_deref(), &lines, &touched);
                answered = Some(lines);
                let seen = Seen { title: view.title.clone(), focused: None, changed };
                steps.push(TrajectoryStep { say: say.clone(), ..TrajectoryStep::new(id, seen) });
                open = calls;
            }
            Message::Results { results, .. } => {
                if let Some(step) = steps.last_mut() {
                    step.actions = done(open, results, &view.outline);
                }
                let is_answer = |id: &CallId| open.iter().any(|call| call.id == *id && is_function(call));
                let views = results.iter().filter(|result| !is_answer(&result.id));
                views.for_each(|result| view.look(&result.content));
            }
        }
    }
    steps
}

/// The latest observation.
#[derive(Default)]
struct LatestObservation {
    title: String,
    outline: Outline,
}

impl LatestObservation {
    /// Replaces the observation with the text that contains the most elements, if there is one.
    fn look(&mut self, content: &[Content]) {
        let texts = content.iter().filter_map(Content::as_text);
        let views = texts.map(|text| (text, Outline::parse(text)));
        let Some((text, outline)) = views.max_by_key(|(_, outline)| outline.nodes.len()) else { return };
        if outline.nodes.is_empty() {
            return;
        }
        let front = text.lines().find_map(|line| line.strip_prefix(FRONT)).unwrap_or_default();
        self.title = serde_json::from_str(front).unwrap_or_else(|_| front.trim_matches('"').to_owned());
        self.outline = outline;
    }
}

fn is_function(call: &Call) -> bool {
    matches!(call.body, CallBody::Tool { .. })
}

/// Returns the actions of a turn with their outcomes. The first key or text input of a turn targets the focused
/// element.
fn done(calls: &[Call], results: &[CallResult], outline: &Outline) -> Vec<StepAction> {
    let outcomes: BTreeMap<_, &[ActionOutcome]> =
        results.iter().map(|result| (&result.id, result.per_action.as_slice())).collect();
    let mut told = Vec::new();
    for call in calls {
        let CallBody::World { actions } = &call.body else { continue };
        let outcomes = outcomes.get(&call.id).copied().unwrap_or_default();
        for (action, outcome) in actions.iter().zip(outcomes) {
            let target = target(action, outline, told.is_empty());
            let mut one = StepAction::of(action, outcome);
            one.role = target.map(|node| node.role.clone());
            one.name = target.map(|node| node.name.split_whitespace().collect::<Vec<_>>().join(" "));
            told.push(one);
        }
    }
    told
}

fn target<'o>(action: &Action<ImagePoint>, outline: &'o Outline, first: bool) -> Option<&'o OutlineNode> {
    match action {
        Action::Type { .. } | Action::Key { .. } if first => {
            outline.nodes.iter().rfind(|node| node.states.contains(&State::Focused))
        }
        Action::Hold { actions, .. } => actions.iter().find_map(|action| target(action, outline, first)),
        _ => match action.target()? {
            Target::Ref(id) => outline.nodes.iter().find(|node| node.id == *id),
            // An outline gives centers, not sizes.
            Target::Point(point) => outline.nodes.iter().rfind(|node| node.at == Some(*point)),
        },
    }
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::{
        Action, ActionOutcome, Button, Call, CallBody, CallId, CallResult, ChatRequest, Chord, Content,
        Message, NodeRef, RawContent, Size, Target, Verdict, WorldTool,
    };
    use serde_json::json;

    use super::{ReviewMaterial, material};

    const MENUS: &str = "Screen now.\nFront: \"Kitchen\"\nElements:\nwindow \"Kitchen\" #w1\n  menu \"Bake\" @40,10 #m1\n  textbox \"Recipe\" [focused] @40,60 #t1";
    const OPENED: &str = "Screen now.\nFront: \"Kitchen\"\nElements:\nwindow \"Kitchen\" #w1\n  menu \"Bake\" [expanded] @40,10 #m1\n    menuitem \"Knead\" @40,30 #m2\n  textbox \"Recipe\" [focused] @40,60 #t1";

    fn said(calls: Vec<CallBody>) -> Message {
        let calls = (0..).zip(calls).map(|(place, body)| Call { id: CallId::new(format!("c{place}")), body });
        Message::Assistant { raw: RawContent::default(), say: Vec::new(), calls: calls.collect() }
    }

    fn answered(answers: &[(usize, &str)], notices: &[&str]) -> Message {
        let result = |(place, (actions, text)): (usize, &(usize, &str))| CallResult {
            id: CallId::new(format!("c{place}")),
            per_action: vec![ActionOutcome::Done { text: None }; *actions],
            content: vec![Content::text(*text)],
            is_error: false,
        };
        Message::Results {
            results: answers.iter().enumerate().map(result).collect(),
            notices: notices.iter().map(|text| Content::text(*text)).collect(),
        }
    }

    fn question() -> String {
        let outcome = json!({ "schema": "reflect.outcome.v1", "apps": ["kitchen"], "verdict": "pass",
            "max_learnings": 2, "skills": [{ "id": "kitchen/bread", "step": "s1" }, { "id": "kitchen/lost", "step": "s1" }] });
        format!("Look back.\n\n```json\n{outcome}\n```\n\nAnswer with `{{}}`.")
    }

    fn read(first: &str, turns: Vec<Message>) -> Option<ReviewMaterial> {
        let opening = vec![Content::text("<task>\nKnead it.\n</task>"), Content::text(first)];
        let messages = std::iter::once(Message::User { content: opening }).chain(turns).collect();
        let world = Some(WorldTool { browser: false, display: Size::new(800, 600) });
        material(&ChatRequest { messages, world, ..ChatRequest::default() })
    }

    fn click(at: Target<apprentice_protocol::ImagePoint>) -> Action<apprentice_protocol::ImagePoint> {
        Action::Click { at, button: Button::Left, count: 1, hold: None }
    }

    #[test]
    fn an_attempt_is_read_back_with_its_steps_targets_and_notes() {
        let view =
            CallBody::Tool { name: "skill_view".into(), arguments: json!({ "skill": "kitchen/bread" }) };
        let open = CallBody::World { actions: vec![click(Target::Ref(NodeRef("m1".into())))] };
        let point = serde_json::from_value(json!({ "x": 40.0, "y": 30.0 })).expect("a point");
        let escape = Action::Key { chord: Chord::parse("escape").expect("a chord"), hold_ms: None };
        let pick = CallBody::World { actions: vec![click(Target::Point(point)), escape] };
        let note = "# kitchen/bread\n\nsee #3\n\n## Guidance\n\n1. Knead.\n# kitchen/cake\n\nAnother.";
        let question = question();
        let told = read(
            MENUS,
            vec![
                said(vec![view, open]),
                answered(&[(0, note), (1, OPENED)], &[]),
                said(vec![pick]),
                answered(&[(2, MENUS)], &["You repeat yourself.", &question]),
            ],
        )
        .expect("a question stands there");
        assert_eq!(
            (told.goal.as_str(), told.verdict, told.max_learnings),
            ("Knead it.", Some(Verdict::Pass), 2)
        );
        let notes: Vec<_> =
            told.skills.iter().map(|skill| (skill.id.as_str(), skill.text.as_str())).collect();
        assert_eq!(
            notes,
            [("kitchen/bread", "# kitchen/bread\n\nsee #3\n\n## Guidance\n\n1. Knead.")],
            "what cannot be found is not reviewed"
        );
        let told: Vec<String> =
            told.steps.iter().map(|step| serde_json::to_string(step).expect("writes")).collect();
        insta::assert_snapshot!(told.join("\n"), @r#"
        {"id":"s1","seen":{"title":"Kitchen","changed":["+ window \"Kitchen\"","+ menu \"Bake\"","+ textbox \"Recipe\""]},"actions":[{"action":"click","role":"menu","name":"Bake","outcome":"done"}]}
        {"id":"s2","seen":{"title":"Kitchen","changed":["+ menu \"Bake\" [expanded]","+ menuitem \"Knead\"","- menu \"Bake\""]},"actions":[{"action":"click","role":"menuitem","name":"Knead","outcome":"done"},{"action":"key escape","outcome":"done"}]}
        "#);
    }

    #[test]
    fn only_the_user_asks_and_only_below_the_conversation() {
        let question = question();
        let open = || said(vec![CallBody::World { actions: Vec::new() }]);
        assert!(read(&format!("{MENUS}\n{question}"), Vec::new()).is_none(), "a screen asks nothing");
        assert!(read(MENUS, vec![open(), answered(&[(0, &question)], &[])]).is_none(), "nor an answer");
        let asked = |words: &str| {
            let content = vec![Content::text(words)];
            read(
                MENUS,
                vec![open(), answered(&[(0, MENUS)], &[]), said(Vec::new()), Message::User { content }],
            )
        };
        assert!(asked(&question).is_some());
        assert!(asked(&question.replace("outcome.v1", "outcome.v9")).is_none());
        assert!(asked("Go on.").is_none());
        let again = vec![
            open(),
            answered(&[(0, MENUS)], &[&question]),
            said(Vec::new()),
            Message::User { content: vec![Content::text("This answer cannot be used: it is empty.")] },
        ];
        assert!(read(MENUS, again).is_some(), "asked again, it answers again");
    }
}
