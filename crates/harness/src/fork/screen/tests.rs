//! What counts as the same screen, at the edges of every tolerance.

use apprentice_pixels::{Frame, encode_png};
use apprentice_protocol::{
    BlobHash, ChatRequest, Content, Image, ImageBytes, MediaType, Message, RawContent, Size, View,
};

use super::{
    COLOUR_TOLERANCE, ELEMENTS_PER_STRAY, PIXELS_PER_STRAY, picture_difference, shown, text_difference,
};
use crate::fork::RecordedScreen;

fn recorded(title: &str, outline: &str) -> RecordedScreen {
    let view = View::whole(Size::new(640, 400));
    RecordedScreen { title: title.into(), outline: Some(outline.into()), picture: None, view }
}

fn request(parts: Vec<Content>) -> ChatRequest {
    ChatRequest { messages: vec![Message::User { content: parts }], ..ChatRequest::default() }
}

/// The difference between a recorded screen and one that a request shows.
fn differs(before: &RecordedScreen, title: &str, outline: &str) -> Option<String> {
    let text = format!("Screen now.\nFront: {title:?}\nElements:\n{outline}");
    let asked = request(vec![Content::text("The task."), Content::text(text.trim_end())]);
    text_difference(before, &shown(&asked).expect("a screen"))
}

fn buttons(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("button \"b{number}\" @1,1 #n{number}")).collect()
}

#[test]
fn references_places_and_times_may_differ_and_conditions_may_not() {
    let before = recorded(
        "Report 2026-11-21",
        "clock \"9:59\" @1,1 #n1\ncheckbox \"Wrap\" [checked] @2,2 #n2\ntextbox \"Name\" = \"at 10:15:30\" #n3",
    );
    let same = "clock \"10:02\" @7,1 #m4\ncheckbox \"Wrap\" [checked] @9,9 #m5\ntextbox \"Name\" = \"at 11:00:01\" #m6";
    assert_eq!(differs(&before, "Report 2026-11-22", same), None);
    let unchecked = same.replace("[checked]", "[unchecked]");
    assert_eq!(
        differs(&before, "Report 2026-11-22", &unchecked).expect("differs"),
        "checkbox \"Wrap\" was [checked] and is [unchecked]"
    );
    let value = same.replace("at 11:00:01", "at 11:001");
    assert!(differs(&before, "Report 2026-11-22", &value).is_some());
    assert_eq!(
        differs(&before, "Letter", same).expect("differs"),
        "in front was \"Report 2026-11-21\" and is \"Letter\""
    );
}

#[test]
fn a_focus_that_the_record_knows_must_be_the_same_and_one_that_came_later_may_be_there() {
    let without = "window \"Open\" #n1\ncheckbox \"Wrap\" [checked] #n2\ntextbox \"Name\" #n3";
    let on_box = without.replace("[checked]", "[focused, checked]");
    let on_text = without.replace("\"Name\"", "\"Name\" [focused]");
    assert!(differs(&recorded("Open", &on_box), "Open", &on_text).is_some(), "keys would go elsewhere");
    assert!(differs(&recorded("Open", &on_box), "Open", without).is_some(), "keys would go nowhere");
    assert_eq!(differs(&recorded("Open", without), "Open", &on_box), None);
    let active = without.replace("\"Open\"", "\"Open\" [active]");
    assert_eq!(differs(&recorded("Open", without), "Open", &active), None);
    assert!(differs(&recorded("Open", &active), "Open", without).is_some());
    // One of the two being unknown says nothing about the other.
    let both = active.replace("[checked]", "[focused, checked]");
    assert!(differs(&recorded("Open", &active), "Open", &both.replace(" [active]", "")).is_some());
    assert_eq!(differs(&recorded("Open", &active), "Open", &both), None);
}

#[test]
fn one_element_in_fifty_may_come_or_go() {
    assert_eq!(ELEMENTS_PER_STRAY, 50);
    for (recorded_count, shown_count, same) in [
        (50, 49, true),
        (50, 51, true),
        (50, 48, false),
        (50, 52, false),
        (49, 48, false),
        (49, 50, false),
        (100, 98, true),
    ] {
        let before = recorded("App", &buttons(recorded_count).join("\n"));
        let found = differs(&before, "App", &buttons(shown_count).join("\n"));
        assert_eq!(found.is_none(), same, "{recorded_count} became {shown_count}: {found:?}");
    }
    let before = recorded("App", &buttons(3).join("\n"));
    let other = buttons(3).join("\n").replace("b1", "c1").replace("b2", "c2");
    assert_eq!(
        differs(&before, "App", &other).expect("differs"),
        "of 3 elements: button \"b1\" and 1 more missing, button \"c1\" and 1 more new"
    );
    // Equal elements count one by one.
    let twice = recorded("App", "button \"+\" #n1\nbutton \"+\" #n2");
    assert_eq!(differs(&twice, "App", "button \"+\" #n1\nbutton \"+\" #n2"), None);
    assert!(differs(&twice, "App", "button \"+\" #n1").is_some());
}

fn picture(width: u32, height: u32, changed: usize, by: u8) -> Vec<u8> {
    let mut rgb = vec![100u8; (width * height * 3) as usize];
    for pixel in rgb.chunks_exact_mut(3).take(changed) {
        pixel[1] += by;
    }
    encode_png(&Frame::from_rgb(width, height, rgb).expect("a frame")).expect("encodes")
}

#[test]
fn a_hundredth_of_the_pixels_may_differ_and_a_slight_shade_is_no_difference() {
    assert_eq!((COLOUR_TOLERANCE, PIXELS_PER_STRAY), (48, 100));
    let plain = picture(100, 100, 0, 0);
    let found = |changed, by| picture_difference(&plain, &picture(100, 100, changed, by)).expect("compares");
    assert_eq!(found(100, 49), None);
    assert_eq!(found(101, 49).expect("differs"), "1.1 % of the picture differs");
    assert_eq!(found(10_000, 48), None);
    assert!(found(10_000, 49).is_some());
    assert!(picture_difference(&plain, b"no picture").is_err());
}

#[test]
fn pictures_of_two_sizes_are_compared_by_what_they_show() {
    let large = picture(200, 200, 0, 0);
    assert_eq!(picture_difference(&large, &picture(100, 100, 0, 0)).expect("compares"), None);
    assert!(picture_difference(&large, &picture(100, 100, 1000, 100)).expect("compares").is_some());
}

#[test]
fn the_latest_screen_of_a_request_is_the_one_that_counts() {
    let image = |name: &str| Content::Image {
        image: Image {
            hash: BlobHash::new(name),
            size: Size::new(1, 1),
            media: MediaType::Png,
            bytes: ImageBytes::default(),
        },
    };
    let screen = |name: &str| Content::text(format!("Screen now.\nElements:\nbutton {name:?} #n1"));
    let mut asked = request(vec![Content::text("The task."), screen("first"), image("one")]);
    asked.messages.push(Message::Assistant {
        raw: RawContent::default(),
        say: Vec::new(),
        calls: Vec::new(),
    });
    asked
        .messages
        .push(Message::User { content: vec![screen("second"), image("two"), Content::text("advice")] });
    let found = shown(&asked).expect("a screen");
    assert_eq!(found.outline().expect("an outline").nodes[0].name, "second");
    assert_eq!(found.picture.expect("a picture").hash.as_str(), "two");
    assert!(shown(&request(vec![Content::text("The task.")])).is_none());
}
