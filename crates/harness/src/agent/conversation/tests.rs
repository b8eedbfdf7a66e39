//! Trimming a full conversation: the order in which parts are left out, and the parts that stay.

use apprentice_protocol::{
    BlobHash, CallId, CallResult, Content, ContextRule, CoordinateSpace, EventKind, HistoryRule, Image,
    ImageBytes, ImageRule, MediaType, Message, ModelProfile, RawContent, Size, SkillEvent, SkillEventKind,
    SkillId, ToolRule, Usage, WorldTool,
};
use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

use super::super::context::TokenMeter;
use super::{
    ContextFit, Conversation, PICTURE_LEFT_OUT, PartKind, SKILL_LEFT_OUT, TEXT_LEFT_OUT, contents_of, weight,
};

fn talk(tokens: u64, images: u32) -> Conversation {
    let profile = ModelProfile {
        name: "compat/small".into(),
        consumer: "small".into(),
        space: CoordinateSpace::ImagePixels,
        images: ImageRule::AsIs,
        outline: true,
        history: HistoryRule::Window { images, context: Some(ContextRule { tokens, patch: 28 }) },
        tools: ToolRule::Fixed,
        max_output_tokens: 1000,
    };
    let world = WorldTool { browser: false, display: Size::new(1280, 720) };
    Conversation::new(&profile, world, std::iter::empty(), None)
}

/// 46 by 26 patches are 1,196 tokens.
fn picture() -> Content {
    let (hash, size) = (BlobHash::new("0"), Size::new(1280, 720));
    Content::Image { image: Image { hash, size, media: MediaType::Png, bytes: ImageBytes::default() } }
}

fn view(chars: usize) -> Vec<Content> {
    vec![Content::text("v".repeat(chars)), picture()]
}

fn turn(talk: &mut Conversation, chars: usize) {
    let answers = answers(talk, view(chars));
    talk.push_view(answers);
}

/// Adds the reply of a turn and returns its results.
fn answers(talk: &mut Conversation, content: Vec<Content>) -> Message {
    let raw = RawContent { blocks: vec!["\"a reply\"".into()] };
    talk.push(Message::Assistant { raw, say: Vec::new(), calls: Vec::new() });
    let result = CallResult { id: CallId::new("c"), per_action: Vec::new(), content, is_error: false };
    Message::Results { results: vec![result], notices: Vec::new() }
}

/// Adds a turn in which a tool reports skill events.
fn told(talk: &mut Conversation, name: &str, happenings: &[SkillEventKind], text: &str) {
    let event = |happening: &SkillEventKind| {
        EventKind::Skill(SkillEvent {
            happening: *happening,
            skill: SkillId::parse(name).ok(),
            version: Some(1),
            rank: None,
            detail: None,
            text: None,
            delivered_chars: 0,
        })
    };
    talk.note(&CallId::new("c"), &happenings.iter().map(event).collect::<Vec<_>>());
    let answers = answers(talk, vec![Content::text(text)]);
    talk.push(answers);
}

fn activated(talk: &mut Conversation, name: &str, chars: usize) {
    let guide = name.repeat(chars / name.len());
    told(talk, name, &[SkillEventKind::Viewed, SkillEventKind::Activated], &guide);
}

fn put_away(talk: &mut Conversation, name: &str) {
    told(talk, name, &[SkillEventKind::Offloaded], "closed");
}

fn holds(talk: &Conversation, name: &str) -> bool {
    let mut parts = talk.request().messages.iter().flat_map(contents_of).filter_map(Content::as_text);
    parts.any(|text| text.starts_with(name))
}

fn count(talk: &Conversation, mark: &str) -> usize {
    let parts = talk.request().messages.iter().flat_map(contents_of);
    parts.filter(|part| part.as_text() == Some(mark)).count()
}

#[test]
fn old_pictures_go_before_old_texts_and_the_latest_view_stays() {
    // Room for 11,000 tokens: three views of 1,000 + 1,196 fit beside prompt and tools, five do not.
    let mut talk = talk(12_000, 9);
    talk.open(vec![Content::text("the task ".repeat(99))], view(3000), None);
    assert_eq!(talk.make_room(), ContextFit::Fits);
    let mut made = Vec::new();
    for _ in 0..12 {
        turn(&mut talk, 3000);
        if let ContextFit::AfterTrimming(trimmed) = talk.make_room() {
            assert!(trimmed.before > trimmed.limit && trimmed.after <= trimmed.limit, "{trimmed:?}");
            made.push((trimmed.pictures, trimmed.texts));
        }
    }
    assert!(made[0].0 > 0 && made[0].1 == 0, "texts are left out last: {made:?}");
    assert!(made.iter().any(|(_, texts)| *texts > 0), "{made:?}");
    let first = contents_of(&talk.request().messages[0]).next().and_then(Content::as_text);
    assert!(first.is_some_and(|text| text.starts_with("the task")), "the task stays");
    let last: Vec<_> = talk.request().messages.last().into_iter().flat_map(contents_of).collect();
    assert!(last[0].as_text().is_some_and(|text| text.starts_with("vvv")) && *last[1] == picture());
}

#[test]
fn the_view_to_act_on_stays_however_much_is_asked_of_tools_after_it() {
    let mut talk = talk(8_000, 9);
    talk.open(vec![Content::text("the task")], view(300), None);
    turn(&mut talk, 300);
    for _ in 0..9 {
        told(&mut talk, "notes/one", &[SkillEventKind::Viewed], &"notes/one".repeat(300));
        assert!(!matches!(talk.make_room(), ContextFit::None { .. }));
    }
    assert!(count(&talk, TEXT_LEFT_OUT) > 0 && count(&talk, PICTURE_LEFT_OUT) == 1);
    let message = &talk.request().messages[2];
    assert_eq!(contents_of(message).cloned().collect::<Vec<_>>(), view(300));
    let last = talk.request().messages.last().into_iter().flat_map(contents_of).next();
    assert!(last.and_then(Content::as_text).is_some_and(|text| text.starts_with("notes/one")));
}

#[test]
fn what_cannot_fit_even_so_is_said() {
    let mut talk = talk(4_000, 9);
    talk.open(vec![Content::text("the task")], view(30_000), None);
    let ContextFit::None { unit: "tokens", needed, limit: 3_000, held: 0 } = talk.make_room() else {
        panic!("{:?}", talk.make_room());
    };
    assert!(needed > 11_000, "{needed}");
    assert_eq!((count(&talk, PICTURE_LEFT_OUT), count(&talk, TEXT_LEFT_OUT)), (0, 0));
}

#[test]
fn the_servers_count_decides_when_it_is_full() {
    let mut talk = talk(12_000, 9);
    talk.open(vec![Content::text("the task")], view(300), None);
    assert_eq!(talk.make_room(), ContextFit::Fits);
    talk.learn(Usage { input: 8_000, ..Usage::default() });
    turn(&mut talk, 6_000);
    let ContextFit::AfterTrimming(trimmed) = talk.make_room() else {
        panic!("8,000 and 3,200 more are too many")
    };
    assert_eq!((trimmed.pictures, trimmed.texts), (1, 1));
}

#[test]
fn the_text_of_a_skill_that_was_put_away_goes_first_and_that_of_an_active_one_never() {
    let mut talk = talk(12_000, 9);
    talk.open(vec![Content::text("the task")], view(300), None);
    activated(&mut talk, "notes/one", 12_000);
    activated(&mut talk, "notes/two", 1_500);
    turn(&mut talk, 300);
    put_away(&mut talk, "notes/one");
    assert_eq!(talk.make_room(), ContextFit::Fits);
    let sent = talk.request().clone();
    turn(&mut talk, 300);
    assert_eq!(talk.make_room(), ContextFit::Fits);
    assert_eq!(talk.request().messages[..sent.messages.len()], sent.messages[..], "what fits is not edited");
    turn(&mut talk, 300);
    let ContextFit::AfterTrimming(trimmed) = talk.make_room() else { panic!("{:?}", talk.make_room()) };
    assert_eq!((trimmed.pictures, trimmed.texts), (0, 1), "{trimmed:?}");
    assert!(!holds(&talk, "notes/one") && holds(&talk, "notes/two"));
    assert_eq!((count(&talk, SKILL_LEFT_OUT), count(&talk, TEXT_LEFT_OUT)), (1, 0));
    for _ in 0..12 {
        turn(&mut talk, 3_000);
        assert!(!matches!(talk.make_room(), ContextFit::None { .. }));
    }
    assert!(holds(&talk, "notes/two") && count(&talk, TEXT_LEFT_OUT) > 1);
    put_away(&mut talk, "notes/two");
    while talk.make_room() == ContextFit::Fits {
        turn(&mut talk, 3_000);
    }
    assert_eq!((holds(&talk, "notes/two"), count(&talk, SKILL_LEFT_OUT)), (false, 2));
}

#[test]
fn a_skill_that_is_asked_for_again_stays_as_any_other_text_does() {
    let mut talk = talk(12_000, 9);
    talk.open(vec![Content::text("the task")], view(300), None);
    activated(&mut talk, "notes/one", 3_000);
    put_away(&mut talk, "notes/one");
    told(&mut talk, "notes/one", &[SkillEventKind::Viewed], &"notes/one".repeat(400));
    for _ in 0..3 {
        turn(&mut talk, 3_000);
        talk.make_room();
    }
    assert!(holds(&talk, "notes/one") && count(&talk, PICTURE_LEFT_OUT) > 0);
    activated(&mut talk, "notes/one", 3_000);
    for _ in 0..12 {
        turn(&mut talk, 3_000);
        talk.make_room();
    }
    assert!(holds(&talk, "notes/one"), "both texts stay while it is active");
    assert_eq!(count(&talk, SKILL_LEFT_OUT), 0);
}

#[test]
fn active_skills_that_leave_no_room_are_named() {
    let mut talk = talk(6_000, 9);
    talk.open(vec![Content::text("the task")], view(300), None);
    activated(&mut talk, "notes/one", 12_000);
    turn(&mut talk, 300);
    let ContextFit::None { held: 3_999, limit: 5_000, .. } = talk.make_room() else {
        panic!("{:?}", talk.make_room());
    };
}

proptest! {
    #[test]
    fn a_request_fits_or_nothing_old_is_left(
        tokens in 2_000u64..20_000,
        images in 1u32..6,
        turns in proptest::collection::vec((0usize..9_000, 0u64..3, 0u8..9), 1..20),
    ) {
        let mut talk = talk(tokens, images);
        talk.open(vec![Content::text("the task")], view(900), None);
        let mut active = false;
        for (chars, share, deed) in turns {
            match deed {
                0 => activated(&mut talk, "notes/one", 900),
                1 => put_away(&mut talk, "notes/one"),
                _ => turn(&mut talk, chars),
            }
            active = deed == 0 || active && deed != 1;
            let guides = |talk: &Conversation| {
                let parts = talk.request.messages.iter().flat_map(contents_of).filter_map(Content::as_text);
                parts.filter(|text| text.starts_with("notes/one")).count()
            };
            let before = guides(&talk);
            match talk.make_room() {
                ContextFit::Fits | ContextFit::AfterTrimming(_) => prop_assert!(talk.tokens() <= tokens - 1000),
                ContextFit::None { needed, limit, .. } => {
                    prop_assert!(needed > limit);
                    for kind in [PartKind::PutAway, PartKind::Picture, PartKind::Text] {
                        prop_assert_eq!(talk.oldest(kind), None);
                    }
                }
            }
            prop_assert!(!active || guides(&talk) == before, "what an active skill says stays");
            let sent = talk.sent;
            // The running count equals a fresh count.
            let mut fresh = TokenMeter::new(ContextRule { tokens, patch: 28 });
            fresh.add_text(&talk.request.system);
            talk.request.tools.iter().for_each(|tool| fresh.add_tool(tool));
            for message in &talk.request.messages {
                fresh.add_message();
                contents_of(message).for_each(|part| fresh.add(weight(&fresh.clone(), part)));
                if let Message::Assistant { raw, .. } = message {
                    raw.blocks.iter().for_each(|block| fresh.add_text(block));
                }
            }
            prop_assert_eq!(fresh.estimated(), sent);
            let kept = talk.pictures.len();
            prop_assert!(kept >= 1 && kept <= images as usize);
            talk.learn(Usage { input: sent * (1 + share) / 2, ..Usage::default() });
        }
    }
}
