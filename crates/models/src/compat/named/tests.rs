//! What a model that names elements is shown, may write, and has done by it.

use apprentice_protocol::{
    Action, CallBody, CallId, CallResult, ChatRequest, Content, Finish, Message, RawContent, Size, Target,
    ToolSpec, WorldTool,
};
use serde_json::{Value, json};

use super::{Screen, as_shown, examples, object_in};

const LIST: &str = "Screen now.\nElements:\n#n2 File (menuitem)\n#n4 Title (textbox) = \"a ) [b\" [focused]\n#n5 Draft \
                    (checkbox) [unchecked]\n#n7 A1 (cell)\n#n8 ( (button)\nTask: Save it.";

fn request(texts: &[&str], browser: bool) -> ChatRequest {
    let content = texts.iter().map(|text| Content::text(*text)).collect();
    ChatRequest {
        world: Some(WorldTool { browser, display: Size::new(1280, 720) }),
        messages: vec![Message::User { content }],
        ..ChatRequest::default()
    }
}

/// Adds an act and the screen after it.
fn acted(mut request: ChatRequest, act: &str, after: &str) -> ChatRequest {
    request.messages.push(Message::Assistant {
        raw: RawContent::default(),
        say: vec![act.to_owned()],
        calls: Vec::new(),
    });
    let content = vec![Content::text(after)];
    let results = vec![CallResult { id: CallId::new("c"), per_action: Vec::new(), content, is_error: false }];
    request.messages.push(Message::Results { results, notices: Vec::new() });
    request
}

/// The choices of a turn for one act; none where it is not offered.
fn choices(request: &ChatRequest, act: &str) -> Vec<String> {
    let schema = Screen::of(request).schema(request).schema;
    let forms = schema["anyOf"].as_array().expect("forms");
    let of = forms.iter().find(|form| form["required"][0] == act);
    let listed = of.and_then(|form| form["properties"][act]["enum"].as_array().cloned()).unwrap_or_default();
    listed.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn offers(request: &ChatRequest, act: &str) -> bool {
    let schema = Screen::of(request).schema(request).schema;
    schema["anyOf"].as_array().expect("forms").iter().any(|form| form["required"][0] == act)
}

#[test]
fn references_are_not_shown_and_labels_lead_to_them() {
    let request = request(&[LIST], false);
    let Message::User { content } = &as_shown(&request.messages)[0] else { panic!("a message of the user") };
    let text = content[0].as_text().expect("a text");
    assert!(!text.contains('#') && text.contains("\nFile (menuitem)\nTitle (textbox) = "), "{text}");
    assert_eq!(
        choices(&request, "click"),
        ["File (menuitem)", "Title (textbox)", "Draft (checkbox)", "A1 (cell)", "( (button)"]
    );
    assert_eq!(choices(&request, "type_into"), ["Title (textbox)"], "a cell is no field");
    assert_eq!(choices(&request, "double_click"), ["A1 (cell)"]);
    let read = Screen::of(&request).read("{\"click\": \"( (button)\"}", &request);
    let Some(CallBody::World { actions }) = read else { panic!("{read:?}") };
    let [Action::Click { at: Target::Ref(node), count: 1, .. }] = actions.as_slice() else {
        panic!("{actions:?}")
    };
    assert_eq!(node.0, "n8");
}

#[test]
fn what_was_done_on_this_screen_is_no_choice_and_the_first_act_is_no_end() {
    let first = request(&[LIST], false);
    assert!(!offers(&first, "finish") && offers(&first, "answer") && offers(&first, "type"));
    let same = acted(first.clone(), "{\"click\": \"File (menuitem)\"}", LIST);
    assert_eq!(choices(&same, "click").len(), 4, "the click changed nothing");
    assert!(offers(&same, "finish"));
    let other = acted(first, "{\"click\": \"Draft (checkbox)\"}", &LIST.replace("unchecked", "checked"));
    assert_eq!(choices(&other, "click").len(), 5);
    let back = acted(other, "{\"click\": \"Draft (checkbox)\"}", LIST);
    assert_eq!(choices(&back, "click").len(), 4, "it is not switched on again and again");
}

#[test]
fn a_note_that_was_read_is_no_list_and_stays_as_it_is() {
    let note = "# gimp/export\nFor the next file.\n1. click \"File\"";
    let read = acted(request(&[LIST], false), "{\"skill_view\": {\"skill\": \"gimp/export\"}}", note);
    assert_eq!(choices(&read, "click").len(), 5, "the list of the screen still holds");
    let Message::Results { results, .. } = &as_shown(&read.messages)[2] else { panic!("results") };
    assert_eq!(results[0].content[0].as_text(), Some(note));
}

#[test]
fn writing_depends_on_what_is_written_into() {
    let act = |text: &str, browser| {
        let request = request(&[LIST], browser);
        match Screen::of(&request).read(text, &request) {
            Some(CallBody::World { actions }) => serde_json::to_value(actions).expect("JSON"),
            other => panic!("{other:?}"),
        }
    };
    let field = "{\"type_into\": \"Title (textbox)\", \"text\": \"b\"}";
    assert_eq!(act(field, true)[0]["do"], "fill");
    let typed = act(field, false);
    let steps: Vec<&Value> = typed.as_array().expect("steps").iter().map(|step| &step["do"]).collect();
    assert_eq!(steps, ["click", "key", "type"]);
    assert_eq!(act("{\"scroll\": \"up\"}", false)[0]["dy"], -5);
}

#[test]
fn a_list_box_is_chosen_from_by_its_options() {
    let boxes = "Elements:\n#n2 Paper (combobox) = \"sheet\" [options: sheet | A6 [sticker]] [focused]\n#n3 Day (combobox) \
                 = \"1\" [31 options, from \"1\" to \"31\": choose one by its text]\n#n4 Size (combobox) = \"\"";
    let page = request(&[boxes], true);
    let options = |request: &ChatRequest, label: &str| {
        let schema = Screen::of(request).schema(request).schema;
        let forms = schema["anyOf"].as_array().expect("forms").clone();
        let of = forms.into_iter().find(|form| form["properties"]["select"]["enum"][0] == label);
        of.map(|form| form["properties"]["option"].clone())
    };
    let paper = options(&page, "Paper (combobox)").expect("is offered");
    assert_eq!(paper["enum"], json!(["A6 [sticker]"]), "the present one is no choice");
    assert!(options(&page, "Day (combobox)").expect("is offered")["maxLength"].is_u64(), "too many to list");
    assert_eq!(choices(&page, "type_into"), ["Size (combobox)"]);
    assert_eq!(choices(&page, "click"), ["Size (combobox)"], "a click would open what cannot be seen");
    let act = "{\"select\": \"Paper (combobox)\", \"option\": \"sheet\"}";
    let Some(CallBody::World { actions }) = Screen::of(&page).read(act, &page) else { panic!("an act") };
    assert_eq!(serde_json::to_value(&actions).expect("JSON")[0]["value"], json!("sheet"));
    let again = acted(page, act, boxes);
    assert_eq!(options(&again, "Paper (combobox)").expect("is offered")["enum"], json!(["A6 [sticker]"]));
    let other = "{\"select\": \"Paper (combobox)\", \"option\": \"A6 [sticker]\"}";
    assert_eq!(options(&acted(again, other, boxes), "Paper (combobox)"), None, "nothing is left");
    let radios =
        request(&["Elements:\n#n5 Off (radio) [checked]\n#n6 On (radio) [focused, unchecked]"], true);
    assert_eq!(choices(&radios, "click"), ["On (radio)"]);
    let desktop = request(&[boxes], false);
    assert_eq!((choices(&desktop, "click").len(), choices(&desktop, "type_into").len()), (3, 3));
    assert_eq!(options(&desktop, "Paper (combobox)"), None);
}

#[test]
fn other_ends_lent_tools_and_what_cannot_be_done() {
    let tool = ToolSpec {
        name: "skill_view".into(),
        description: "Shows.".into(),
        schema: json!({ "type": "object" }),
    };
    let request =
        ChatRequest { tools: vec![tool], ..request(&[LIST, "key ctrl+shift+e, then a+b or C++"], false) };
    let read = |text: &str| Screen::of(&request).read(text, &request);
    assert_eq!(read("{\"finish\": \"done\"}"), Some(CallBody::Finish(Finish::Done)));
    assert_eq!(read("{\"answer\": \"7\"}"), Some(CallBody::Finish(Finish::Answer { text: "7".into() })));
    let Some(CallBody::Tool { name, arguments }) = read("{\"skill_view\": {\"skill\": \"a/b\"}}") else {
        panic!("a call of the tool")
    };
    assert_eq!((name.as_str(), &arguments["skill"]), ("skill_view", &json!("a/b")));
    assert!(offers(&request, "skill_view"));
    let problem = |text: &str| match read(text) {
        Some(CallBody::Unusable { problem }) => problem,
        other => panic!("{other:?}"),
    };
    assert!(problem("{\"click\": \"Save (button)\"}").contains("no element \"Save (button)\""));
    assert!(problem("{\"type_into\": \"Title (textbox)\"}").contains("needs \"text\""));
    assert!(problem("{\"jump\": \"high\"}").contains("no act \"jump\""));
    assert_eq!(read("I think so."), None);
    let keys = choices(&request, "key");
    assert!(keys.contains(&"ctrl+shift+e".to_owned()), "the advice names it: {keys:?}");
    assert!(!keys.iter().any(|key| key.contains("C+")), "{keys:?}");
}

#[test]
fn each_prompt_begins_with_the_one_before() {
    let advice = "<advice>\n1. click \"File\"\n2. key ctrl+s\n</advice>";
    let first = request(&[LIST, advice], false);
    let second = acted(first.clone(), "{\"click\": \"File (menuitem)\"}", LIST);
    let (before, now) = (as_shown(&first.messages), as_shown(&second.messages));
    assert_eq!(before[..], now[..1]);
    let end = |messages: &[Message]| match messages.last() {
        Some(Message::User { content }) => content.last().and_then(Content::as_text).map(str::to_owned),
        Some(Message::Results { results, .. }) => results[0].content[0].as_text().map(str::to_owned),
        _ => None,
    };
    assert!(end(&before).expect("a text").ends_with("Next step of the advice: click \"File\""));
    assert!(end(&now).expect("a text").ends_with("Next step of the advice: key ctrl+s"));
}

#[test]
fn the_example_turns_are_in_the_form_that_is_asked_for() {
    let messages = serde_json::to_value(examples()).expect("JSON");
    let messages = messages.as_array().expect("messages");
    assert!(messages.len() >= 8 && messages.len().is_multiple_of(2));
    for pair in messages.chunks(2) {
        let (told, reply) =
            (pair[0]["content"].as_str().expect("text"), pair[1]["content"].as_str().expect("text"));
        let act = object_in(reply).expect("one object");
        let label = act.get("click").or_else(|| act.get("type_into")).and_then(Value::as_str);
        if let Some(label) = label {
            assert!(told.lines().any(|line| line.starts_with(label)), "{label} in {told}");
        }
    }
}

#[test]
fn the_next_step_names_what_the_task_names_of_the_newest_list() {
    let advice = "<advice>\nfree a card.\n1. click <reader>\n2. click \"Actions\" in row <day>\n</advice>";
    let list = |names: [&str; 2]| {
        let lines = names.map(|name| format!("#n{} {name}", name.len()));
        format!("Elements:\n{}\nTask: Free Ada Holm's card on Friday.", lines.join("\n"))
    };
    let first = list(["Ada Holm (link)", "Benedict Ost (link)"]);
    let second = list(["Actions (button, row Monday Ost)", "Actions (button, row Friday Holm 4)"]);
    let request = acted(request(&[&first, advice], true), "{\"click\": \"Ada Holm (link)\"}", &second);
    let shown: Vec<String> = as_shown(&request.messages)
        .iter()
        .map(|message| serde_json::to_value(message).expect("writes").to_string())
        .collect();
    assert!(shown[0].contains("Next step of the advice: click \\\"Ada Holm\\\"\""), "{}", shown[0]);
    let row = "click \\\"Actions\\\" in row \\\"Friday Holm 4\\\"\"";
    assert!(shown[2].contains(row), "{}", shown[2]);
}
