//! The reflector: its requests, the answers it accepts, and the problems it returns to the model.

use std::sync::Arc;

use apprentice_learning::reflect::{
    EvidenceRule, Material, MaterialBudget, Moment, ReflectError, ReflectOptions, StepPicture, check,
    material, reflect, reflection_request, reflection_schema,
};
use apprentice_learning::{LearnOptions, LearnerModels, LearningInput, learn_trajectory};
use apprentice_protocol::{
    BlobHash, ChatModel, ChatReply, Content, Image, ImageBytes, MediaType, Message, ReplyStop, ScreenPoint,
    Size, StepId, ToolAnswer, Trajectory, Verdict, estimated_tokens,
};
use apprentice_skillbook::review::{Confidence, Dropped, TrajectoryReflection};
use apprentice_skillbook::{Actor, Change, Origin, SkillText, WriteRequest};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::clerk::{Written, attempt, reply, run};
use crate::shelf::{Shelf, id};

fn learning(confidence: &str, evidence: &[&str], wasted: u32) -> Value {
    json!({"type": "friction", "scope": "gimp", "situation": "s", "guidance": "g", "confidence": confidence,
           "steps_wasted": wasted, "evidence": evidence})
}

#[test]
fn the_request_is_prose_and_one_block() {
    let mut trajectory = attempt("t", "Make the sky transparent", Verdict::Pass, &[("gimp/a", 1)]);
    trajectory.score = 0.5;
    let request = reflection_request(&trajectory, &ReflectOptions::default()).expect("a request");
    let Message::User { content } = &request.messages[0] else { panic!("{:?}", request.messages) };
    insta::assert_snapshot!("reflect_system", request.system);
    insta::assert_snapshot!("reflect_user", content[0].as_text().expect("text"));
    insta::assert_json_snapshot!("reflect_schema", reflection_schema());
}

/// An attempt of many steps on a screen that changes much.
fn long_attempt(steps: u32) -> Trajectory {
    let mut trajectory = attempt("t", "goal", Verdict::Fail, &[]);
    let step = trajectory.steps[0].clone();
    trajectory.steps = (1..=steps)
        .map(|number| {
            let mut step = step.clone();
            step.id = StepId(number);
            step.seen.changed = vec!["+ text \"x\"".repeat(100); 50];
            step.say = vec!["I look for the entry. ".repeat(400)];
            if number == 250 {
                step.actions[0].outcome = "failed: no such element".into();
            }
            step
        })
        .collect();
    trajectory
}

#[test]
fn a_long_attempt_is_bounded_and_its_gaps_are_counted() {
    let trajectory = long_attempt(500);
    let shown = material(&trajectory, &ReflectOptions::default());
    let ids: Vec<u32> = shown.steps.iter().map(|step| step.id.0).collect();
    assert!([1, 2, 250, 495, 500].iter().all(|id| ids.contains(id)), "{ids:?}");
    let left_out = shown.left_out.iter().map(|gap| gap.steps).sum::<usize>();
    assert_eq!(left_out + ids.len(), 500);
    let tokens = estimated_tokens(&serde_json::to_string_pretty(&shown.steps).expect("writes"));
    assert!((36_000..44_000).contains(&tokens), "{tokens}");
}

#[test]
fn a_long_attempt_is_reviewed_in_parts_and_what_was_found_goes_along() {
    let found = |evidence: &str| json!({"new_learnings": [learning("high", &[evidence], 1)]}).to_string();
    let answers: Vec<String> = (1..=6).map(|part| found(&format!("s{part}"))).collect();
    let model = Written::words(&answers.iter().map(String::as_str).collect::<Vec<_>>());
    let trajectory = long_attempt(500);
    let reflected = run(reflect(&model, &trajectory, &[], &ReflectOptions::default())).expect("reflects");
    assert_eq!((reflected.tries, reflected.reflection.new_learnings.len()), (6, 6));
    let requests = model.requests.lock().expect("unpoisoned");
    let (mut steps, mut left_out) = (Vec::new(), 0);
    for (place, request) in requests.iter().enumerate() {
        let Message::User { content } = &request.messages[0] else { panic!("{request:?}") };
        let text = content[0].as_text().expect("text");
        assert!(estimated_tokens(text) < 50_000, "{}", estimated_tokens(text));
        let block = text.split("```").nth(1).and_then(|block| block.strip_prefix("json")).expect("a block");
        let block: Value = serde_json::from_str(block).expect("JSON");
        assert_eq!((&block["part"]["number"], &block["part"]["of"]), (&json!(place + 1), &json!(6)));
        let earlier = block["part"]["earlier"]["new_learnings"].as_array().expect("a list");
        assert_eq!(earlier.len(), place, "what the earlier parts found");
        steps.extend(block["steps"].as_array().expect("steps").iter().map(|step| step["id"].clone()));
        let gaps = block["left_out"].as_array().map(Vec::as_slice).unwrap_or_default();
        left_out += gaps.iter().filter_map(|gap| gap["steps"].as_u64()).sum::<u64>();
    }
    assert_eq!(left_out + u64::try_from(steps.len()).expect("fits"), 500);
    assert!(steps.contains(&json!("s250")) && steps.contains(&json!("s500")));
}

/// Returns the blocks of the first messages that a model got.
fn blocks(model: &Written) -> Vec<Material> {
    let requests = model.requests.lock().expect("unpoisoned");
    let block = |message: &Message| {
        let Message::User { content } = message else { panic!("{message:?}") };
        let text = content[0].as_text().expect("text");
        let block = text.split("```json").nth(1).and_then(|rest| rest.split("```").next()).expect("a block");
        serde_json::from_str(block).expect("the material")
    };
    requests.iter().map(|request| block(&request.messages[0])).collect()
}

#[test]
fn a_part_shows_the_skills_that_arrived_up_to_its_end_and_the_last_part_all() {
    let mut trajectory = long_attempt(40);
    let skills: Vec<(String, u32)> = (1..=40).map(|step| (format!("gimp/s{step}"), step)).collect();
    let named: Vec<(&str, u32)> = skills.iter().map(|(name, _)| (name.as_str(), 1)).collect();
    trajectory.skills = attempt("t", "goal", Verdict::Fail, &named).skills;
    for (skill, (_, step)) in trajectory.skills.iter_mut().zip(&skills) {
        skill.step = StepId(*step);
    }
    // This one arrived after the last step.
    trajectory.skills[39].step = StepId(41);
    let model = Written::words(&["{}"; 6]);
    let budget = MaterialBudget { skills: 40, ..MaterialBudget::default() };
    let options = ReflectOptions { budget, ..ReflectOptions::default() };
    run(reflect(&model, &trajectory, &[], &options)).expect("reflects");
    let parts = blocks(&model);
    let steps = |part: &Material| part.skills.iter().map(|skill| skill.step.0).collect::<Vec<_>>();
    assert!(parts.len() > 1, "a long attempt");
    for (part, next) in parts.iter().zip(&parts[1..]) {
        assert_eq!(
            steps(part),
            (1..next.steps[0].id.0).collect::<Vec<_>>(),
            "what the next part begins with"
        );
    }
    assert_eq!(steps(&parts[parts.len() - 1]), (1..=39).chain([41]).collect::<Vec<_>>());
}

#[test]
fn an_attempt_is_spread_over_no_more_requests_than_a_forecast_counts() {
    let options = ReflectOptions::default();
    for steps in [1, 8, 9, 16, 33, 40] {
        let mut trajectory = long_attempt(steps);
        for step in &mut trajectory.steps {
            step.say = vec!["word ".repeat(20_000)];
            step.seen.changed = vec!["+ button \"OK\"".to_owned(); 2_000];
            step.finish = Some("done ".repeat(20_000));
            step.actions = vec![step.actions[0].clone(); 20];
        }
        let model = Written::words(&["{}"; 6]);
        let reflected = run(reflect(&model, &trajectory, &[], &options)).expect("reflects");
        let most = options.budget.most_parts(usize::try_from(steps).expect("few"));
        let requests = usize::try_from(reflected.tries).expect("few");
        assert!(requests <= most, "{steps} steps: {requests} requests, at most {most} counted");
        assert!(
            ![1, 8, 16].contains(&steps) || requests == most,
            "{steps} full steps: {requests}, not {most}"
        );
        assert!(steps < 33 || requests > 1, "{steps} steps are long enough for several requests");
    }
}

#[test]
fn a_small_context_gets_less_and_one_without_room_is_not_asked() {
    let trajectory = long_attempt(40);
    let asked = |tokens| {
        let model = Written::with_context(tokens, &["{}"; 6]);
        let reflected = run(reflect(&model, &trajectory, &[], &ReflectOptions::default()));
        let requests = model.requests.lock().expect("unpoisoned");
        let most = requests.iter().map(|request| {
            let Message::User { content } = &request.messages[0] else { panic!("{request:?}") };
            estimated_tokens(content[0].as_text().expect("text")) + u64::from(request.max_output_tokens)
        });
        (reflected.map(|reflected| reflected.tries).map_err(|error| error.to_string()), most.max())
    };
    let (tries, most) = asked(16_000);
    assert!(tries.as_ref().is_ok_and(|tries| *tries > 1), "{tries:?}");
    assert!(most.expect("a request") < 16_000, "{most:?}");
    let full = "the conversation with the reflector does not fit its context".to_owned();
    assert_eq!(asked(2_000), (Err(full), None));
}

#[test]
fn a_request_that_a_server_finds_too_long_is_asked_again_with_less_material() {
    let full = || ChatReply { stop: ReplyStop::ContextFull, ..reply("", Vec::new()) };
    let trajectory = long_attempt(10);
    let good = || reply("{}", Vec::new());
    let model = Written::of([full(), full(), good(), good(), good(), good(), good(), good()].into());
    let model = model.seeing_up_to(100);
    let pictures: Vec<StepPicture> = (0..30).map(|_| picture(1, Moment::Before)).collect();
    run(reflect(&model, &trajectory, &pictures, &ReflectOptions::default())).expect("reflects");
    let requests = model.requests.lock().expect("unpoisoned");
    let size = |place: usize| {
        let Message::User { content } = &requests[place].messages[0] else { panic!("{requests:?}") };
        content[0].as_text().expect("text").len()
    };
    assert!(size(1) < size(0) && size(2) < size(1), "{} {} {}", size(0), size(1), size(2));
    let images = |place: usize| {
        let Message::User { content } = &requests[place].messages[0] else { panic!("{requests:?}") };
        content.iter().filter(|part| matches!(part, Content::Image { .. })).count()
    };
    assert_eq!([images(0), images(1), images(2)], [24, 12, 6], "half as much each time");
    drop(requests);
    let model = Written::of([full(), full(), full(), good()].into());
    let error = run(reflect(&model, &trajectory, &[], &ReflectOptions::default())).expect_err("full");
    assert!(matches!(error, ReflectError::Full), "{error}");
    assert_eq!(model.requests.lock().expect("unpoisoned").len(), 3);
}

#[test]
fn an_attempt_that_fits_is_one_request_that_names_no_part() {
    let cost = |steps: u32| {
        let shown = material(&long_attempt(steps), &ReflectOptions::default());
        shown
            .steps
            .iter()
            .map(|step| estimated_tokens(&serde_json::to_string_pretty(step).expect("writes")))
            .sum()
    };
    let asked = |tokens| {
        let budget = MaterialBudget { tokens, ..MaterialBudget::default() };
        let shown = material(&long_attempt(4), &ReflectOptions { budget, ..ReflectOptions::default() });
        (shown.steps.len(), shown.part)
    };
    assert_eq!(asked(40_000), (4, None));
    let whole: u64 = cost(4);
    assert!(whole < 40_000, "{whole}");
}

#[test]
fn words_answers_and_places_reach_the_reviewer_within_the_share_of_a_step() {
    let mut trajectory = attempt("t", "goal", Verdict::Pass, &[]);
    trajectory.apps = vec!["gimp".into(), "Gimp".into(), "os".into()];
    let step = &mut trajectory.steps[0];
    step.say = vec!["w".repeat(1250 * 3), "never".into()];
    step.tools =
        vec![ToolAnswer { tool: "skill_search".into(), answer: "a".repeat(312 * 3), is_error: false }];
    step.finish = Some("done".into());
    step.actions[0].name = None;
    step.actions[0].at = Some(ScreenPoint::new(612, 88));
    step.actions[0].near = Some("toolbar \"Formula Tool Bar\"".into());
    let step = trajectory.steps[0].clone();
    let shown = material(&trajectory, &ReflectOptions::default());
    assert_eq!(shown.account.apps, ["gimp", "os"], "a program is named once");
    assert_eq!(shown.steps[0].say, [step.say[0].clone()]);
    assert_eq!(shown.steps[0].tools, step.tools);
    assert_eq!((&shown.steps[0].actions, &shown.steps[0].finish), (&step.actions, &step.finish));
    let step = &mut trajectory.steps[0];
    step.say[0].push_str("wwww");
    step.tools[0].answer.push_str("aaaa");
    let shown = material(&trajectory, &ReflectOptions::default());
    assert!(shown.steps[0].say[0].ends_with("more characters]") && shown.steps[0].say.len() == 1);
    assert!(shown.steps[0].tools[0].answer.ends_with("more characters]"));
}

#[test]
fn lines_and_actions_are_cut_at_their_limits() {
    let mut trajectory = attempt("t", "goal", Verdict::Pass, &[]);
    let step = &mut trajectory.steps[0];
    let value = |length: usize| format!("+ a = {}", "v".repeat(length - 6));
    let plain = |length: usize| format!("+ {}", "p".repeat(length - 2));
    step.seen.changed = vec![value(160), value(161), plain(80), plain(81)];
    step.actions = vec![step.actions[0].clone(); 400];
    let shown = material(&trajectory, &ReflectOptions::default());
    let is_cut: Vec<bool> =
        shown.steps[0].seen.changed.iter().map(|line| line.contains("more char")).collect();
    assert_eq!(is_cut, [false, true, false, true]);
    // An action is a click on a menu item with a name: 2 + 3 + 3 tokens of 312.
    assert_eq!(shown.steps[0].actions.len(), 40);
    assert_eq!(shown.steps[0].actions[39].action, "[361 more actions]");
}

#[test]
fn removed_lines_get_a_quarter_of_the_room_at_least() {
    let mut trajectory = attempt("t", "goal", Verdict::Pass, &[]);
    let line = |sign: char, number: u32| format!("{sign} x{}", number + 1000);
    trajectory.steps[0].seen.changed =
        (0..600).map(|number| line('+', number)).chain((0..600).map(|number| line('-', number))).collect();
    let shown = material(&trajectory, &ReflectOptions::default());
    let count = |sign| shown.steps[0].seen.changed.iter().filter(|line| line.starts_with(sign)).count();
    // A line has 3 tokens; a step has 625 for them.
    assert_eq!((count('+'), count('-')), (156, 52));
    assert_eq!(shown.steps[0].seen.changed.last().expect("a line"), "[992 more lines changed]");
}

#[test]
fn what_tells_most_is_shown_in_the_smallest_room_and_all_that_is_cut_is_counted() {
    let mut trajectory = attempt("t", "goal", Verdict::Pass, &[]);
    let long = |sign: char| format!("{sign} dialog \"{}\"", "d".repeat(60));
    let changed = [&long('+'), "+ cell \"A\"", &long('-'), "- text \"gone\"", "[161 more lines changed]"];
    trajectory.steps[0].seen.changed = changed.map(str::to_owned).to_vec();
    let shown = |tokens: u64| {
        let budget = MaterialBudget { tokens, ..MaterialBudget::default() };
        material(&trajectory, &ReflectOptions { budget, ..ReflectOptions::default() }).steps
    };
    // A step gets a sixteenth, and its changes a quarter of that.
    assert_eq!(shown(640)[0].seen.changed, [&long('+'), &long('-'), "[163 more lines changed]"]);
    assert_eq!(shown(40_000)[0].seen.changed, changed);
}

#[test]
fn instruction_programs_and_skills_are_cut_at_their_limits() {
    let shown = |goal: usize, apps: usize, app: usize, skill: usize, skills: usize| {
        let names: Vec<String> = (0..skills).map(|number| format!("gimp/s{number}")).collect();
        let received: Vec<(&str, u32)> = names.iter().map(|name| (name.as_str(), 1)).collect();
        let mut trajectory = attempt("t", &"g".repeat(goal), Verdict::Pass, &received);
        trajectory.apps = (0..apps).map(|number| format!("{number:0app$}")).collect();
        trajectory.skills[0].text = "s".repeat(skill);
        trajectory.steps[0].finish = Some("f".repeat(goal));
        material(&trajectory, &ReflectOptions::default())
    };
    let is_cut = |text: &str| text.contains("more characters]");
    let fits = shown(2000, 12, 64, 4000, 12);
    assert!(!is_cut(&fits.goal) && !is_cut(&fits.account.apps[0]) && !is_cut(&fits.skills[0].text));
    assert_eq!((fits.account.apps.len(), fits.skills.len()), (12, 12));
    let over = shown(2001, 13, 65, 4001, 13);
    assert!(is_cut(&over.goal) && is_cut(&over.account.apps[0]) && is_cut(&over.skills[0].text));
    assert_eq!((over.account.apps.len(), over.skills.len()), (12, 12));
    let finish = |characters: usize| {
        let shown = shown(characters, 1, 1, 1, 1);
        is_cut(shown.steps[0].finish.as_deref().expect("an end"))
    };
    assert_eq!((finish(312 * 3), finish(312 * 3 + 1)), (false, true));
}

#[test]
fn answers_that_cannot_be_read_are_kept_up_to_their_limit() {
    let kept = |characters: usize| {
        let answer = "n".repeat(characters);
        let model = Written::words(&[&answer, &answer, &answer]);
        let trajectory = attempt("t", "goal", Verdict::Pass, &[]);
        let error = run(reflect(&model, &trajectory, &[], &ReflectOptions::default())).expect_err("none");
        let ReflectError::Unusable { answers, .. } = error else { panic!("{error}") };
        answers[0] == answer
    };
    assert!(kept(20_000) && !kept(20_001));
}

#[test]
fn pictures_take_half_of_a_known_context_at_most() {
    let trajectory = attempt("t", "goal", Verdict::Pass, &[]);
    let pictures: Vec<StepPicture> = (0..200).map(|_| picture(1, Moment::Before)).collect();
    let model = Written::with_context(24_000, &["{}"]).seeing_up_to(1000);
    let options = ReflectOptions { pictures: 200, ..ReflectOptions::default() };
    run(reflect(&model, &trajectory, &pictures, &options)).expect("reflects");
    let requests = model.requests.lock().expect("unpoisoned");
    let Message::User { content } = &requests[0].messages[0] else { panic!("{requests:?}") };
    let images = content.iter().filter(|part| matches!(part, Content::Image { .. })).count();
    let bare = {
        let Message::User { content } = &reflection_request(
            &Trajectory { steps: Vec::new(), ..trajectory.clone() },
            &ReflectOptions::default(),
        )
        .expect("a request")
        .messages[0]
            .clone()
        else {
            panic!("a user turn")
        };
        let block = content[0].as_text().expect("text").split("```").nth(1).expect("a block").to_owned();
        let block = block.trim_start_matches("json\n").trim_end().to_owned();
        let schema = reflection_schema().schema.to_string();
        estimated_tokens(&requests[0].system) + estimated_tokens(&block) + estimated_tokens(&schema)
    };
    // A picture has 100 tokens; the answer 6000.
    assert_eq!(u64::try_from(images).expect("fits"), (24_000 - 6000 - bare) / 2 / 100);
}

fn picture(step: u32, moment: Moment) -> StepPicture {
    let image = Image {
        hash: BlobHash::new("00"),
        size: Size::new(280, 280),
        media: MediaType::Png,
        bytes: ImageBytes::default(),
    };
    StepPicture { step: StepId(step), moment, shows: "the whole screen".into(), image }
}

#[test]
fn a_reviewer_that_sees_gets_pictures_in_order_and_another_gets_none() {
    let trajectory = attempt("t", "goal", Verdict::Pass, &[]);
    let pictures = [picture(3, Moment::After), picture(1, Moment::Before), picture(2, Moment::Before)];
    let shown = |model: Written, pictures: &[StepPicture], count: usize| {
        let options = ReflectOptions { pictures: count, ..ReflectOptions::default() };
        run(reflect(&model, &trajectory, pictures, &options)).expect("reflects");
        let requests = model.requests.lock().expect("unpoisoned");
        let Message::User { content } = &requests[0].messages[0] else { panic!("{requests:?}") };
        let images = content.iter().filter(|part| matches!(part, Content::Image { .. })).count();
        let captions: Vec<String> =
            content[1..].iter().filter_map(|part| part.as_text()).map(str::to_owned).collect();
        assert_eq!(captions.len(), images);
        captions
    };
    let answer = "{}";
    let whole = |captions: &[&str]| -> Vec<String> {
        captions.iter().map(|when| format!("Picture {when}: the whole screen")).collect()
    };
    assert_eq!(
        shown(Written::seeing(&[answer]), &pictures, 24),
        whole(&["before s1", "before s2", "after s3"])
    );
    assert_eq!(shown(Written::seeing(&[answer]), &pictures, 2), whole(&["before s1", "after s3"]));
    assert!(shown(Written::seeing(&[answer]), &pictures, 0).is_empty());
    assert!(shown(Written::words(&[answer]), &pictures, 24).is_empty(), "a text-only profile");
}

#[test]
fn a_wrong_answer_is_handed_back_with_its_fault() {
    let good = json!({"skill_reviews": [], "new_learnings": [learning("high", &["s2"], 2)]}).to_string();
    let model = Written::words(&[
        "I would rather talk.",
        r#"{"skill_reviews": [], "learnings": []}"#,
        &format!("Here it is:\n```json\n{good}\n```"),
    ]);
    let trajectory = attempt("t", "goal", Verdict::Pass, &[]);
    let reflected = run(reflect(&model, &trajectory, &[], &ReflectOptions::default())).expect("reflects");
    assert_eq!((reflected.tries, reflected.reflection.new_learnings.len()), (3, 1));
    assert!(
        reflected.problems[0].contains("no JSON object") && reflected.problems[1].contains("`learnings`")
    );
    let requests = model.requests.lock().expect("unpoisoned");
    let Some(Message::User { content }) = requests[2].messages.last() else { panic!("{requests:?}") };
    assert!(content[0].as_text().expect("text").contains("unknown field `learnings`"));
}

#[test]
fn a_fault_is_handed_back_whole_up_to_1000_characters() {
    // The message names the unknown field, so its length is that of the field and what stands around it.
    let told = |field: usize| {
        let wrong = json!({"n".repeat(field): []}).to_string();
        let model = Written::words(&[&wrong, "{}"]);
        let trajectory = attempt("t", "goal", Verdict::Pass, &[]);
        let reflected = run(reflect(&model, &trajectory, &[], &ReflectOptions::default())).expect("reflects");
        let problem = reflected.problems[0].clone();
        let requests = model.requests.lock().expect("unpoisoned");
        let Some(Message::User { content }) = requests[1].messages.last() else { panic!("{requests:?}") };
        let is_whole = content[0].as_text().expect("text").contains(&problem);
        (problem.chars().count(), is_whole)
    };
    let around = told(900).0 - 900;
    assert_eq!(told(1000 - around), (1000, true));
    assert_eq!(told(1001 - around), (1001, false));
}

#[test]
fn after_three_unreadable_answers_there_is_none_and_they_are_kept() {
    let model = Written::words(&["no", "never", "not at all", "no"]);
    let trajectory = attempt("t", "goal", Verdict::Pass, &[]);
    let error = run(reflect(&model, &trajectory, &[], &ReflectOptions::default())).expect_err("no answer");
    let ReflectError::Unusable { problems, answers } = error else { panic!("{error}") };
    assert_eq!((problems.len(), answers), (3, vec!["no".into(), "never".into(), "not at all".into()]));
}

#[test]
fn a_learning_that_stays_wrong_is_refused_and_the_rest_is_used() {
    let learnings = [
        learning("high", &["s1"], 9),
        learning("high", &[], 1),
        learning("high", &["s9"], 1),
        learning("high", &["s2", "s9"], 1),
        learning("high", &["s3"], 3),
    ];
    let wrong = json!({"new_learnings": learnings}).to_string();
    let model = Written::words(&[&wrong, &wrong, &wrong]);
    let trajectory = attempt("t", "goal", Verdict::Pass, &[]);
    let reflected = run(reflect(&model, &trajectory, &[], &ReflectOptions::default())).expect("reflects");
    assert_eq!((reflected.tries, reflected.problems.len()), (3, 2));
    let problem = &reflected.problems[0];
    for part in [
        "new_learnings[0].steps_wasted is 9; the attempt has 3 steps",
        "new_learnings[1] cites no step; name in `evidence` the steps of this attempt that show it (its steps are s1 to s3)",
        "new_learnings[2] cites s9, which is no step of this attempt",
        "new_learnings[3] cites s9",
    ] {
        assert!(problem.contains(part), "{part}: {problem}");
    }
    assert!(!problem.contains("new_learnings[4]"), "{problem}");
    assert_eq!(reflected.reflection.new_learnings.len(), 2, "one cites a step that exists, one is right");
    let places: Vec<String> = reflected
        .dropped
        .iter()
        .map(|dropped| match dropped {
            Dropped::Refused { place, .. } => place.clone(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(places, ["new_learnings[0]", "new_learnings[1]", "new_learnings[2]"]);
}

#[test]
fn where_the_agent_wandered_after_the_step_that_did_it_is_a_suspicion_only() {
    let settled = |states: [Option<bool>; 3], evidence: &[&str]| {
        let mut trajectory = attempt("t", "goal", Verdict::Pass, &[]);
        for (step, state) in trajectory.steps.iter_mut().zip(states) {
            step.changed_checked_state = state;
        }
        let said = json!({"new_learnings": [learning("high", evidence, 1)]});
        let reflection: TrajectoryReflection = serde_json::from_value(said).expect("reads");
        check(reflection, &trajectory, EvidenceRule::Trace, 3).learnings[0].confidence()
    };
    let (yes, no) = (Some(true), Some(false));
    assert_eq!(settled([no, yes, no], &["s3"]), Confidence::Low, "it changed nothing any more");
    assert_eq!(settled([no, yes, no], &["s2", "s3"]), Confidence::High, "it cites the step that did it");
    assert_eq!(settled([no, yes, no], &["s1"]), Confidence::High, "it led there");
    assert_eq!(settled([no, yes, None], &["s3"]), Confidence::High, "nothing is known about it");
    assert_eq!(settled([no, no, no], &["s3"]), Confidence::High, "what the checks read never changed");
    assert_eq!(settled([yes, no, yes], &["s2"]), Confidence::High, "more followed");
}

#[test]
fn confidence_is_high_only_where_a_cited_step_did_it() {
    let settled = |guidance: &str, confidence: &str, evidence: &[&str]| {
        let mut told = learning(confidence, evidence, 1);
        told["guidance"] = json!(guidance);
        let reflection: TrajectoryReflection =
            serde_json::from_value(json!({"new_learnings": [told]})).expect("reads");
        let mut trajectory = attempt("t", "goal", Verdict::Pass, &[]);
        trajectory.steps[2].actions.clear();
        check(reflection, &trajectory, EvidenceRule::Trace, 3).learnings[0].confidence()
    };
    assert_eq!(settled("Choose File > Entry 1.", "high", &["s1"]), Confidence::High);
    assert_eq!(settled("Choose File > Entry 1.", "high", &["s2"]), Confidence::Medium, "another step did it");
    assert_eq!(settled("Choose File > Entry 1.", "high", &["s1", "s2"]), Confidence::High, "one is enough");
    assert_eq!(settled("Choose File > Entry 1.", "medium", &["s2"]), Confidence::Medium);
    assert_eq!(settled("Choose File > Entry 1.", "low", &["s1"]), Confidence::Low);
    assert_eq!(settled("Choose the first entry.", "high", &["s1"]), Confidence::High, "it names nothing");
    assert_eq!(settled("Choose the first entry.", "high", &["s3"]), Confidence::Medium, "nothing was done");
}

#[test]
fn a_null_in_an_answer_reads_as_absent() {
    let mut told = learning("high", &["s1"], 1);
    told["figures"] = Value::Null;
    let review = json!({"skill_id": "gimp/a", "followed": "yes", "impact": "negative", "issue_type": "unclear",
                        "what_went_wrong": "w", "corrected_guidance": null, "review_type": null});
    let said = json!({"skill_reviews": [review], "new_learnings": [told]}).to_string();
    let model = Written::words(&[&said, &json!({"skill_reviews": null, "new_learnings": null}).to_string()]);
    let trajectory = attempt("t", "goal", Verdict::Pass, &[("gimp/a", 1)]);
    let read = || run(reflect(&model, &trajectory, &[], &ReflectOptions::default())).expect("reflects");
    let reflected = read();
    assert_eq!(
        (reflected.tries, reflected.reflection.new_learnings.len()),
        (1, 1),
        "{:?}",
        reflected.problems
    );
    assert_eq!(reflected.reflection.skill_reviews.len(), 1);
    assert_eq!(read().reflection, TrajectoryReflection::default());
}

#[test]
fn confidence_rests_on_a_verdict_and_on_steps() {
    let settled = |verdict, evidence: &[&str]| {
        let said = json!({"new_learnings": [learning("high", evidence, 1)]});
        let reflection: TrajectoryReflection = serde_json::from_value(said).expect("reads");
        let checked = check(reflection, &attempt("t", "goal", verdict, &[]), EvidenceRule::Trace, 3);
        checked.learnings[0].confidence()
    };
    assert_eq!(settled(Verdict::Pass, &["s1"]), Confidence::High);
    assert_eq!(settled(Verdict::Pass, &[]), Confidence::Low);
    assert_eq!(settled(Verdict::Pass, &["s99"]), Confidence::Low);
    assert_eq!(settled(Verdict::Fail, &["s1"]), Confidence::Low);
}

#[test]
fn learnings_over_the_cap_are_set_aside() {
    let said = json!({"new_learnings": vec![learning("high", &["s1"], 1); 5]});
    let reflection: TrajectoryReflection = serde_json::from_value(said).expect("reads");
    let checked = check(reflection, &attempt("t", "goal", Verdict::Pass, &[]), EvidenceRule::Trace, 3);
    assert_eq!((checked.learnings.len(), checked.overflow.len()), (3, 2));
    assert_eq!(checked.dropped, [Dropped::OverCap { index: 3 }, Dropped::OverCap { index: 4 }]);
}

#[test]
fn learnings_over_the_cap_reach_whoever_sets_them_aside_with_a_word() {
    let said = json!({"new_learnings": vec![learning("high", &["s1"], 1); 5]}).to_string();
    let trajectory = attempt("t", "goal", Verdict::Pass, &[]);
    let options = ReflectOptions { max_learnings: 3, ..ReflectOptions::default() };
    let reflected = run(reflect(&Written::words(&[&said]), &trajectory, &[], &options)).expect("reflects");
    assert_eq!(reflected.reflection.new_learnings.len(), 5, "one request: its answer is kept whole");
}

/// What a reviewer is told beside an attempt of a book with four pages, which have so many characters together.
fn asked_beside_pages(characters: usize) -> String {
    let shelf = Shelf::new();
    let (mut gateway, _) = shelf.open();
    for number in 0..4 {
        let length = if number == 0 { characters - 3 * 4000 } else { 4000 };
        let (description, situation) = (format!("About k{number}k"), "Exporting. ".repeat(60));
        let head = format!("1. Choose File > Export.\n2. Press key k{number}k.\n");
        let rest = length - description.len() - situation.trim_end().len() - head.len() - 2;
        let guidance = format!("{head}{}", "- l\n".repeat(rest).split_at(rest - 1).0) + "x";
        let text = SkillText { description, situation: situation.trim_end().to_owned(), guidance };
        let (skill, annotations, origin) = (id(&format!("os/s{number}")), Vec::new(), Origin::Authored);
        let change = Change::SkillCreated { skill, text, annotations, origin, domain: None };
        gateway.apply(WriteRequest::of(Actor::Human, Timestamp::UNIX_EPOCH, change)).expect("written");
    }
    let reflector = Arc::new(Written::words(&["{\"skill_reviews\": [], \"new_learnings\": []}"]));
    let manager = Arc::new(Written::turns(Vec::new()));
    let models = LearnerModels { reflector: Arc::clone(&reflector) as Arc<dyn ChatModel>, manager };
    let trajectory = Trajectory { apps: vec!["os".into()], ..attempt("t", "Export", Verdict::Pass, &[]) };
    let input = LearningInput::new(&trajectory, Timestamp::UNIX_EPOCH);
    run(learn_trajectory(&mut gateway, &models, &input, &LearnOptions::default())).expect("learns");
    let requests = reflector.requests.lock().expect("unpoisoned");
    format!("{:?}", requests[0].messages)
}

#[test]
fn pages_of_the_book_are_shown_whole_up_to_16_000_characters_and_others_by_their_description() {
    for (characters, expected) in [(16_000, 4), (16_001, 3)] {
        let asked = asked_beside_pages(characters);
        let whole = (0..4).filter(|number| asked.contains(&format!("Press key k{number}k."))).count();
        let described =
            (0..4).filter(|number| asked.contains(&format!("About k{number}k\\\\n[guidance not shown]")));
        assert_eq!((whole, described.count()), (expected, 4 - expected), "{characters}");
        assert!(!asked.contains("more characters]"), "no page is cut");
    }
}

#[test]
fn a_reviewer_sees_the_pages_of_the_attempts_programs_that_the_agent_did_not_receive() {
    let shelf = Shelf::with(&[("gimp/received", "alpha"), ("gimp/other", "beta"), ("inkscape/far", "gamma")]);
    let (mut gateway, _) = shelf.open();
    let mut asked = |name: &str, pages: usize| {
        let mut trajectory = attempt(name, "Do beta", Verdict::Pass, &[("gimp/received", 1)]);
        trajectory.apps = vec!["gimp".to_owned()];
        let reflector = Arc::new(Written::words(&["{\"skill_reviews\": [], \"new_learnings\": []}"]));
        let manager = Arc::new(Written::turns(Vec::new()));
        let models = LearnerModels { reflector: Arc::clone(&reflector) as Arc<dyn ChatModel>, manager };
        let input = LearningInput::new(&trajectory, Timestamp::UNIX_EPOCH);
        let reflect = ReflectOptions { pages, ..ReflectOptions::default() };
        let options = LearnOptions { reflect, ..LearnOptions::default() };
        run(learn_trajectory(&mut gateway, &models, &input, &options)).expect("learns");
        let requests = reflector.requests.lock().expect("unpoisoned");
        let Message::User { content } = &requests[0].messages[0] else { panic!("a question") };
        let text = content[0].as_text().expect("text").to_owned();
        let block = text.split("```json").nth(1).and_then(|rest| rest.split("```").next()).expect("a block");
        let block: Material = serde_json::from_str(block).expect("the material");
        block.book.into_iter().map(|page| (page.id.to_string(), page.text.is_some())).collect::<Vec<_>>()
    };
    assert_eq!(asked("one", 12), [("gimp/other".to_owned(), true)]);
    assert_eq!(asked("two", 0), []);
}

#[test]
fn of_a_large_book_a_reviewer_sees_the_twelve_pages_nearest_to_the_instruction() {
    let names: Vec<String> = (0..14).map(|number| format!("gimp/s{number:02}")).collect();
    // The last pages are the nearest.
    let texts: Vec<String> =
        (0..14).map(|number| if number < 2 { "gamma" } else { "beta" }.to_owned()).collect();
    let skills: Vec<(&str, &str)> =
        names.iter().map(String::as_str).zip(texts.iter().map(String::as_str)).collect();
    let (mut gateway, _) = Shelf::with(&skills).open();
    let reflector = Arc::new(Written::words(&["{}"]));
    let manager = Arc::new(Written::turns(Vec::new()));
    let models = LearnerModels { reflector: Arc::clone(&reflector) as Arc<dyn ChatModel>, manager };
    let trajectory = Trajectory { apps: vec!["gimp".into()], ..attempt("t", "Do beta", Verdict::Pass, &[]) };
    let input = LearningInput::new(&trajectory, Timestamp::UNIX_EPOCH);
    run(learn_trajectory(&mut gateway, &models, &input, &LearnOptions::default())).expect("learns");
    let shown: Vec<String> = blocks(&reflector)[0].book.iter().map(|page| page.id.to_string()).collect();
    assert_eq!(shown, names[2..]);
}

#[test]
fn a_reader_of_a_record_is_offered_no_references() {
    let schema = reflection_schema().schema.to_string();
    assert!(schema.contains("\"element\"") && !schema.contains("\"reference\""), "{schema}");
}
