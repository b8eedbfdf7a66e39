//! What a reader of short views gets: the short steps of the function that its instruction asks for, or nothing.

use apprentice_guidance::{ArmPolicy, SKILL_VIEW, TaskView, build_guidance};
use apprentice_protocol::{
    ChatReply, ChatRequest, EventKind, Guidance, Message, Observation, RawContent, Rect, ReplyStop,
    SkillEventKind, SkillId, StepId, StepRef, Tab, Timing, ToolOutcome, UiNode, UiTree, Usage, Window,
};
use apprentice_skillbook::{Change, Snapshot, candidates};
use serde_json::json;

use crate::shelf::{Shelf, creation, write};

const PAGES: [(&str, &str); 3] = [
    (
        "gimp/color-to-alpha",
        "For: make a colour transparent\nAlso: see through the background of a picture; a white background that vanishes\n1. \
         click \"Colors\"\n2. click \"Color to Alpha...\"\n3. click \"OK\"",
    ),
    (
        "gimp/layers",
        "For: raise a layer\nAlso: bring one layer above another; the order of layers\n1. click \"Layer\"\n2. click \"Stack\"",
    ),
    (
        "thunar/rename",
        "For: rename many files in bulk\nAlso: other names for a series of photos\n1. key ctrl+a\n2. key F2",
    ),
];

fn book() -> Snapshot {
    let shelf = Shelf::new();
    let (mut gateway, _) = shelf.open();
    let mut prose = creation("gimp/prose", "a matter of words");
    if let Change::SkillCreated { text, .. } = &mut prose {
        text.guidance = "1. Open a menu, or another.".to_owned();
    }
    for (id, steps) in PAGES {
        let mut change = creation(id, "a matter of pictures");
        if let Change::SkillCreated { text, domain, .. } = &mut change {
            text.guidance = format!("1. Open a menu of {id}, or another.\n\n## Short steps\n\n{steps}");
            if id == "gimp/layers" {
                *domain = None;
            }
        }
        write(&mut gateway, change).expect("written");
    }
    if let Change::SkillCreated { domain, .. } = &mut prose {
        *domain = None;
    }
    write(&mut gateway, prose).expect("written");
    gateway.snapshot()
}

fn task(instruction: &str) -> TaskView {
    TaskView { instruction: instruction.to_owned(), apps: vec!["gimp".to_owned()], ..TaskView::default() }
}

const TRANSPARENT: &str = "Make the white colour of logo.png transparent";

fn window(class: &str) -> Observation {
    let bounds = Rect::new(0, 0, 800, 600);
    let (title, class) = ("logo.png".to_owned(), class.to_owned());
    let window = Window { id: "0x1".into(), title, class, bounds, active: true, pid: None };
    Observation { windows: vec![window], ..Observation::default() }
}

/// The function that a request asks about.
fn asked_about(request: &ChatRequest) -> String {
    let [Message::User { content }] = request.messages.as_slice() else { panic!("one question") };
    let text = content[0].as_text().expect("a text");
    text.split_once("\nFunction: ").expect("a function").1.to_owned()
}

/// What is added at a view for a model that says yes to these functions, after it was asked.
fn briefly_for(guidance: &Guidance, seen: &Observation, fits: &[&str]) -> Option<(String, Vec<EventKind>)> {
    let refresh = guidance.refresh.as_ref().expect("follows the screen");
    while let Some(request) = refresh.question(seen) {
        let says = if fits.contains(&asked_about(&request).as_str()) { "\"yes\"" } else { "\"no\"" };
        refresh.answer(&reply(says)).expect("an answer");
    }
    let added = refresh.refresh_briefly(StepRef { step: StepId(1) }, seen);
    added.map(|(text, events)| (text.as_str().to_owned(), events))
}

fn briefly(guidance: &Guidance, seen: &Observation) -> Option<(String, Vec<EventKind>)> {
    briefly_for(guidance, seen, &["make a colour transparent"])
}

fn reply(says: &str) -> ChatReply {
    ChatReply {
        raw: RawContent::default(),
        say: vec![says.to_owned()],
        thoughts: Vec::new(),
        calls: Vec::new(),
        adapted: Vec::new(),
        stop: ReplyStop::EndTurn,
        usage: Usage::default(),
        timing: Timing::default(),
        cost_usd: None,
        provider_model: None,
        estimated: false,
    }
}

fn view(guidance: &Guidance, skill: &str) -> String {
    let tool = guidance.tools.iter().find(|tool| tool.spec().name == SKILL_VIEW).expect("the tool");
    let arguments = json!({ "skill": skill });
    let mut future = tool.call(&arguments, StepRef { step: StepId(1) });
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let std::task::Poll::Ready(ToolOutcome { content, .. }) = future.as_mut().poll(&mut context) else {
        panic!("a lent tool never waits")
    };
    content[0].as_text().expect("text").to_owned()
}

#[test]
fn push_lends_the_steps_of_the_function_once_when_its_program_is_in_front() {
    let guidance = build_guidance(&book(), &ArmPolicy::Push { count: 3 }, &task(TRANSPARENT)).expect("lends");
    assert_eq!(briefly(&guidance, &window("Thunar")), None, "its program is not in front");
    let (text, events) = briefly(&guidance, &window("Gimp-2.10")).expect("lends");
    assert!(text.contains(">\nmake a colour transparent.\n1. click \"Colors\"\n2. click"), "{text}");
    assert!(!text.contains("Open a menu") && !text.contains("Also:"), "no prose, no other words: {text}");
    let [EventKind::Skill(event)] = events.as_slice() else { panic!("{events:?}") };
    assert!(event.happening == SkillEventKind::Viewed && event.text.as_deref() == Some(text.as_str()));
    assert_eq!(briefly(&guidance, &window("Gimp-2.10")), None, "it has them");
}

#[test]
fn a_function_that_the_model_does_not_take_for_its_task_is_not_lent() {
    let guidance = build_guidance(&book(), &ArmPolicy::Push { count: 3 }, &task(TRANSPARENT)).expect("lends");
    let refresh = guidance.refresh.as_ref().expect("follows the screen");
    assert!(refresh.question(&window("Thunar")).is_none(), "no function of it shares a word");
    let request = refresh.question(&window("Gimp-2.10")).expect("a question");
    assert_eq!(asked_about(&request), "make a colour transparent");
    let allowed = json!({ "type": "string", "enum": ["yes", "no"], "x-likelihoods": true });
    assert!(request.schema.is_some_and(|schema| schema.schema == allowed) && request.max_output_tokens <= 8);
    let unreadable = refresh.answer(&reply("Certainly! Open")).expect_err("no answer");
    assert!(unreadable.contains("Certainly! Open"), "{unreadable}");
    assert_eq!(briefly_for(&guidance, &window("Gimp-2.10"), &[]), None, "it was asked");
    assert!(refresh.question(&window("Thunar")).is_none());
    assert!(refresh.question(&window("Gimp-2.10")).is_none(), "it is not asked again");
}

#[test]
fn forced_steps_stand_in_the_prompt_and_of_a_skill_without_any_its_text() {
    let named = |id: &str| SkillId::parse(id).expect("an id");
    let given = |skill: &str| {
        let policy = ArmPolicy::Forced { skills: vec![named(skill)] };
        let guidance = build_guidance(&book(), &policy, &task(TRANSPARENT)).expect("lends");
        assert!(guidance.opening.as_str().contains("Open a menu"), "others get the prose");
        guidance.opening_briefly.expect("something else for short views")
    };
    let (text, events) = given("gimp/color-to-alpha");
    assert!(
        text.as_str().contains("1. click \"Colors\"") && !text.as_str().contains("Open a menu"),
        "{text:?}"
    );
    assert_eq!(events.len(), 1);
    let (text, events) = given("gimp/prose");
    let [EventKind::Skill(event)] = events.as_slice() else { panic!("{events:?}") };
    assert!(text.as_str().contains("Open a menu"), "{text:?}");
    assert_eq!(event.happening, SkillEventKind::Viewed);
    assert!(event.text.as_deref().is_some_and(|own| text.as_str().contains(own)), "{event:?}");
}

#[test]
fn a_function_whose_words_no_page_has_is_not_asked_about() {
    let book = book();
    assert!(candidates(&book, "Zzyzx", Some("gimp"), 2).is_empty());
    let found = candidates(&book, "Bring the layer Sky above the other layers", Some("gimp"), 2);
    assert_eq!(found[0].skill.id.as_str(), "gimp/layers");
}

#[test]
fn pull_names_the_one_note_and_shows_its_steps_to_such_a_reader_and_its_prose_to_others() {
    let pull =
        || build_guidance(&book(), &ArmPolicy::Pull { figures: false }, &task(TRANSPARENT)).expect("lends");
    let guidance = pull();
    let whole = view(&guidance, "gimp/color-to-alpha");
    assert!(whole.contains("1. Open a menu") && !whole.contains("Short steps"), "{whole}");
    let (text, _) = briefly(&guidance, &window("Gimp-2.10")).expect("names it");
    assert!(text.ends_with("\n- gimp/color-to-alpha: make a colour transparent\n"), "{text}");
    let short = view(&guidance, "gimp/color-to-alpha");
    assert!(short.contains("3. click \"OK\"") && !short.contains("Open a menu"), "{short}");
}

#[test]
fn a_placebo_is_found_alike_has_as_many_steps_and_is_about_something_else() {
    let guidance = build_guidance(&book(), &ArmPolicy::PlaceboInert, &task(TRANSPARENT)).expect("lends");
    let (text, _) = briefly(&guidance, &window("Gimp-2.10")).expect("names one");
    assert!(text.ends_with("\n- gimp/layers: raise a layer\n"), "{text}");
    let short = view(&guidance, "gimp/layers");
    assert!(short.contains("3. click \"Layer\"") && !short.contains("Color"), "{short}");
    let wrong = build_guidance(&book(), &ArmPolicy::PlaceboWrong, &task(TRANSPARENT)).expect("lends");
    let (text, _) = briefly(&wrong, &window("Gimp-2.10")).expect("names one");
    assert!(text.ends_with("\n- gimp/color-to-alpha: rename many files in bulk\n"), "{text}");
}

/// A page of a browser that shows buttons of these names.
fn page(title: &str, buttons: &[&str]) -> Observation {
    let nodes = buttons.iter().map(|name| UiNode::new(format!("n-{name}"), None, "button", *name)).collect();
    let tab = Tab { id: "1".into(), title: title.into(), url: "file:///p.html".into(), active: true };
    let tree = Some(UiTree { nodes, ..UiTree::default() });
    Observation { tabs: vec![tab], tree, ..Observation::default() }
}

fn shop() -> Snapshot {
    let shelf = Shelf::new();
    let (mut gateway, _) = shelf.open();
    for (id, situation, steps) in [
        (
            "chromium/cakes",
            "A cake of the shop is to cost more.",
            "For: set the price of a cake\n1. click \"Cakes\"\n2. click \"Price…\"",
        ),
        (
            "chromium/guests",
            "Guests of the shop.",
            "For: say how many guests fit in\n1. click \"Room\"\n2. select \"Guests\" <number>",
        ),
        (
            "chromium/orders",
            "An order of the shop is to go.",
            "For: send an order\n1. click <order>\n2. click \"Send\"",
        ),
        (
            "chromium/ships",
            "A ship of the harbour is to go.",
            "For: send a ship\n1. click <ship>\n2. click \"Sail\"",
        ),
        (
            "chromium/docks",
            "A dock of the harbour.",
            "For: empty a dock\n1. click \"Dock\"\n2. click \"Empty\"",
        ),
    ] {
        let mut change = creation(id, situation);
        if let Change::SkillCreated { text, domain, .. } = &mut change {
            if id != "chromium/cakes" {
                *domain = None;
            }
            text.guidance = format!("1. Do it: a \"few\" guests are five.\n\n## Short steps\n\n{steps}");
            text.situation = situation.to_owned();
        }
        write(&mut gateway, change).expect("written");
    }
    gateway.snapshot()
}

#[test]
fn functions_that_can_begin_on_the_screen_are_asked_about_whatever_their_words() {
    let task = TaskView {
        instruction: "Let a few more people in.".into(),
        apps: vec!["chromium".into()],
        ..TaskView::default()
    };
    let push = |policy| build_guidance(&shop(), &policy, &task);
    let task_words = push(ArmPolicy::Push { count: 3 });
    let guidance = task_words.expect("lends");
    let refresh = guidance.refresh.as_ref().expect("follows the screen");
    let seen = page("The shop", &["Cakes", "Room", "Help"]);
    let likely = |yes: f64| reply(&json!({ "yes": yes, "no": -0.5 }).to_string());
    let mut asked = Vec::new();
    while let Some(request) = refresh.question(&seen) {
        asked.push(asked_about(&request));
        let of_guests = asked.last().is_some_and(|function| function.contains("guests"));
        refresh.answer(&likely(if of_guests { -0.7 } else { -0.9 })).expect("an answer");
    }
    asked.sort();
    assert_eq!(asked, ["say how many guests fit in", "send an order", "set the price of a cake"]);
    let (text, _) = refresh.refresh_briefly(StepRef { step: StepId(1) }, &seen).expect("lends");
    assert!(
        text.as_str().contains("2. select \"Guests\" <number>\n- Do it: a \"few\" guests are five."),
        "{text:?}"
    );
}

#[test]
fn a_placebo_is_pushed_where_the_function_would_be_and_is_another_one_of_this_screen() {
    let relevant = [SkillId::parse("chromium/guests").expect("an id")].into();
    let task = TaskView {
        instruction: "Let a few more people in.".into(),
        apps: vec!["chromium".into()],
        relevant: Some(relevant),
        ..TaskView::default()
    };
    let seen = page("The shop", &["Cakes", "Room", "Help"]);
    let lent = |policy, says: &str| {
        let guidance = build_guidance(&shop(), &policy, &task).expect("lends");
        briefly_for(&guidance, &seen, &[says])
    };
    let placebo = || ArmPolicy::PlaceboPush { count: 3 };
    let (text, events) = lent(placebo(), "say how many guests fit in").expect("lends");
    let others = ["set the price of a cake.\n1. click \"Cakes\"", "send an order.\n1. click <order>"];
    assert!(others.iter().any(|other| text.contains(other)) && text.contains("\n2. "), "{text}");
    assert_eq!(events.len(), 1);
    assert_eq!(lent(placebo(), "something else"), None, "as push, which lends nothing then");
}
