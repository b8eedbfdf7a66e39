//! Trimming a full conversation: the order in which parts are left out, and the parts that stay.

use apprentice_protocol::{
    BlobHash, CallId, CallResult, Content, ContextRule, CoordinateSpace, HistoryRule, Image, ImageBytes,
    ImageRule, MediaType, Message, ModelProfile, RawContent, Size, TextMark, ToolRule, Usage, ViewRule,
    WorldTool,
};
use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

use super::context::TokenMeter;
use super::{ContextFit, Conversation, PICTURE_LEFT_OUT, PartKind, TEXT_LEFT_OUT, contents_of, weight};

fn talk(tokens: u64, images: u32) -> Conversation {
    let profile = ModelProfile {
        name: "compat/small".into(),
        consumer: "small".into(),
        space: CoordinateSpace::ImagePixels,
        images: ImageRule::AsIs,
        outline: true,
        views: ViewRule::Whole,
        history: HistoryRule::Window {
            images,
            at_most: None,
            context: Some(ContextRule { tokens, patch: 28 }),
        },
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

/// A view whose text counts as a third of `size` in tokens.
fn view(size: usize) -> Vec<Content> {
    vec![Content::text("v".repeat(size * 100 / 81)), picture()]
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

/// Replaces the released texts of these tests.
const GUIDE_LEFT_OUT: &str = "[a guide, left out]";

/// Adds a turn in which a tool sets marks on its texts.
fn marked(talk: &mut Conversation, marks: Vec<TextMark>, text: &str) {
    talk.note(&CallId::new("c"), marks);
    let answers = answers(talk, vec![Content::text(text)]);
    talk.push(answers);
}

/// Adds a turn in which a tool gives a text of this many repetitions of its key.
fn given(talk: &mut Conversation, key: &str, repetitions: usize) {
    marked(talk, vec![TextMark::Holds(key.into())], &key.repeat(repetitions));
}

fn pinned(talk: &mut Conversation, key: &str, chars: usize) {
    let marks = vec![TextMark::Holds(key.into()), TextMark::Pins(key.into())];
    marked(talk, marks, &key.repeat(chars / key.len()));
}

fn released(talk: &mut Conversation, key: &str) {
    marked(talk, vec![TextMark::Releases { key: key.into(), left_out: GUIDE_LEFT_OUT }], "closed");
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
        given(&mut talk, "notes/one", 300);
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
    let ContextFit::None { unit: "tokens", needed, limit: 3_000, held: 0, .. } = talk.make_room() else {
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
    let counted = talk.sent * 5 / 2;
    talk.learn(Usage { input: counted, ..Usage::default() });
    turn(&mut talk, 14_000);
    let ContextFit::AfterTrimming(trimmed) = talk.make_room() else {
        panic!("{counted} and 5,900 more are too many")
    };
    assert_eq!((trimmed.pictures, trimmed.texts), (1, 1));
}

#[test]
fn a_released_text_goes_first_and_a_pinned_one_never() {
    let mut talk = talk(12_000, 9);
    talk.open(vec![Content::text("the task")], view(300), None);
    pinned(&mut talk, "notes/one", 12_000);
    pinned(&mut talk, "notes/two", 1_500);
    turn(&mut talk, 300);
    released(&mut talk, "notes/one");
    assert_eq!(talk.make_room(), ContextFit::Fits);
    let sent = talk.request().clone();
    turn(&mut talk, 300);
    assert_eq!(talk.make_room(), ContextFit::Fits);
    assert_eq!(talk.request().messages[..sent.messages.len()], sent.messages[..], "what fits is not edited");
    turn(&mut talk, 300);
    let ContextFit::AfterTrimming(trimmed) = talk.make_room() else { panic!("{:?}", talk.make_room()) };
    assert_eq!((trimmed.pictures, trimmed.texts), (0, 1), "{trimmed:?}");
    assert!(!holds(&talk, "notes/one") && holds(&talk, "notes/two"));
    assert_eq!((count(&talk, GUIDE_LEFT_OUT), count(&talk, TEXT_LEFT_OUT)), (1, 0));
    for _ in 0..12 {
        turn(&mut talk, 3_000);
        assert!(!matches!(talk.make_room(), ContextFit::None { .. }));
    }
    assert!(holds(&talk, "notes/two") && count(&talk, TEXT_LEFT_OUT) > 1);
    released(&mut talk, "notes/two");
    while talk.make_room() == ContextFit::Fits {
        turn(&mut talk, 3_000);
    }
    assert_eq!((holds(&talk, "notes/two"), count(&talk, GUIDE_LEFT_OUT)), (false, 2));
}

#[test]
fn a_released_text_that_is_given_again_stays_as_any_other_text_does() {
    let mut talk = talk(12_000, 9);
    talk.open(vec![Content::text("the task")], view(300), None);
    pinned(&mut talk, "notes/one", 3_000);
    released(&mut talk, "notes/one");
    given(&mut talk, "notes/one", 400);
    for _ in 0..3 {
        turn(&mut talk, 3_000);
        talk.make_room();
    }
    assert!(holds(&talk, "notes/one") && count(&talk, PICTURE_LEFT_OUT) > 0);
    pinned(&mut talk, "notes/one", 3_000);
    for _ in 0..12 {
        turn(&mut talk, 3_000);
        talk.make_room();
    }
    assert!(holds(&talk, "notes/one"), "both texts stay while they are pinned");
    assert_eq!(count(&talk, GUIDE_LEFT_OUT), 0);
}

#[test]
fn pinned_texts_that_leave_no_room_are_counted() {
    let mut talk = talk(6_000, 9);
    talk.open(vec![Content::text("the task")], view(300), None);
    pinned(&mut talk, "notes/one", 12_000);
    turn(&mut talk, 300);
    let ContextFit::None { held: 4_413, limit: 5_000, .. } = talk.make_room() else {
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
        let mut is_pinned = false;
        for (chars, share, deed) in turns {
            match deed {
                0 => pinned(&mut talk, "notes/one", 900),
                1 => released(&mut talk, "notes/one"),
                _ => turn(&mut talk, chars),
            }
            is_pinned = deed == 0 || is_pinned && deed != 1;
            let guides = |talk: &Conversation| {
                let parts = talk.request.messages.iter().flat_map(contents_of).filter_map(Content::as_text);
                parts.filter(|text| text.starts_with("notes/one")).count()
            };
            let before = guides(&talk);
            match talk.make_room() {
                ContextFit::WithoutPictures(out) => prop_assert!(false, "{:?}", out),
                ContextFit::Fits | ContextFit::AfterTrimming(_) => {
                    prop_assert!(talk.tokens() <= tokens - (tokens / 4).min(1000));
                }
                ContextFit::None { needed, limit, .. } => {
                    prop_assert!(needed > limit);
                    for kind in [PartKind::Released, PartKind::Picture, PartKind::Text] {
                        prop_assert_eq!(talk.oldest(kind), None);
                    }
                }
            }
            prop_assert!(!is_pinned || guides(&talk) == before, "a pinned text stays");
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

/// A conversation that loses pictures in blocks.
fn blocks(keep: u32, at_most: u32, max_request_bytes: u64) -> Conversation {
    let mut talk = talk(1_000_000, 1);
    (talk.rule, talk.meter) = (HistoryRule::Blocks { keep, at_most, max_request_bytes }, None);
    talk
}

/// Adds a turn with a view whose picture has this many bytes.
fn heavy_turn(talk: &mut Conversation, bytes: usize) {
    let Content::Image { mut image } = picture() else { panic!("a picture") };
    image.bytes = ImageBytes(vec![0; bytes].into());
    let answers = answers(talk, vec![Content::text("v"), Content::Image { image }]);
    talk.push_view(answers);
}

#[test]
fn old_pictures_go_in_blocks_by_their_number() {
    let mut talk = blocks(2, 5, 1_000_000);
    let mut left = Vec::new();
    for at in 0..12 {
        heavy_turn(&mut talk, 30);
        if let ContextFit::WithoutPictures(out) = talk.make_room() {
            left.push((at, out.left_out, out.kept));
            assert_eq!(talk.request().edited_before, talk.request().messages.len());
        }
        assert!(talk.pictures.len() <= 5);
    }
    assert_eq!(left, [(5, 4, 2), (9, 4, 2)]);
    assert_eq!(count(&talk, PICTURE_LEFT_OUT), 8);
}

#[test]
fn between_two_blocks_a_students_request_begins_with_the_one_before() {
    for (at_most, edits) in [(Some(5), 2), (Some(u32::MAX), 0), (None, 10)] {
        let mut talk = talk(1_000_000, 2);
        if let HistoryRule::Window { at_most: most, .. } = &mut talk.rule {
            *most = at_most;
        }
        let mut sent: Vec<Message> = Vec::new();
        let mut edited = 0;
        for _ in 0..12 {
            turn(&mut talk, 300);
            talk.make_room();
            let now = &talk.request().messages;
            edited += usize::from(!now.starts_with(&sent));
            sent.clone_from(now);
            assert!(talk.pictures.len() <= at_most.unwrap_or(2) as usize);
        }
        assert_eq!(edited, edits, "{at_most:?}");
    }
}

#[test]
fn old_pictures_go_in_blocks_by_their_bytes_and_are_never_the_models_failure() {
    let mut talk = blocks(20, 40, 20_000);
    for _ in 0..30 {
        heavy_turn(&mut talk, 3000);
        assert!(!matches!(talk.make_room(), ContextFit::None { .. }));
        assert!(talk.text_bytes + talk.picture_bytes() <= 20_000);
    }
    heavy_turn(&mut talk, 30_000);
    assert!(matches!(talk.make_room(), ContextFit::None { by_pictures: true, .. }), "the last one stays");
    let mut talk = blocks(20, 40, 20_000);
    turn(&mut talk, 30_000);
    assert!(matches!(talk.make_room(), ContextFit::None { by_pictures: false, .. }));
}

#[test]
fn a_request_that_a_provider_finds_too_long_loses_half_of_its_pictures() {
    let mut talk = blocks(20, 40, 1_000_000);
    (0..5).for_each(|_| heavy_turn(&mut talk, 30));
    let left = std::iter::from_fn(|| talk.leave_out_half()).map(|out| (out.left_out, out.kept));
    assert_eq!(left.collect::<Vec<_>>(), [(2, 3), (1, 2), (1, 1)]);
}
