//! Recorded calls in another world and another coordinate space.

use std::collections::BTreeMap;
use std::sync::Arc;

use apprentice_protocol::{
    Action, Button, Call, CallBody, CallId, Chord, CoordinateSpace, HistoryRule, ImagePoint, ImageRule,
    ModelProfile, NodeRef, Outline, RawContent, Size, StepId, Target, ToolRule, View, ViewRule,
};

use super::{ReplayError, present_calls, with_live_points};
use crate::fork::{RecordedScreen, RecordedTurn};

fn profile(space: CoordinateSpace, images: ImageRule) -> ModelProfile {
    ModelProfile {
        name: "test/live".into(),
        consumer: "test".into(),
        space,
        images,
        outline: true,
        views: ViewRule::Whole,
        history: HistoryRule::AppendOnly { max_request_bytes: 1 << 20, uploads: false, context: None },
        tools: ToolRule::Fixed,
        max_output_tokens: 100,
    }
}

fn click(at: Target<ImagePoint>) -> Action<ImagePoint> {
    Action::Click { at, button: Button::Left, count: 1, hold: None }
}

fn turn(outline: &str, action: Action<ImagePoint>) -> RecordedTurn {
    let view = View::whole(Size::new(1000, 500));
    let screen = RecordedScreen { title: String::new(), outline: Some(outline.into()), picture: None, view };
    RecordedTurn {
        step: StepId(2),
        screen: Arc::new(screen),
        raw: RawContent::default(),
        say: Vec::new(),
        calls: vec![Call { id: CallId::new("c"), body: CallBody::World { actions: vec![action] } }],
        targets: BTreeMap::from([(NodeRef("n9".into()), ("button".into(), "Later".into()))]),
    }
}

fn only(calls: &[Call]) -> &Action<ImagePoint> {
    match &calls[0].body {
        CallBody::World { actions } => &actions[0],
        _ => panic!("{calls:?}"),
    }
}

#[test]
fn points_move_into_the_space_of_the_live_model() {
    let at = |x, y| turn("", click(Target::Point(ImagePoint::new(x, y))));
    let moved = |point: RecordedTurn, profile: &ModelProfile| {
        with_live_points(point, profile).map(|turn| only(&turn.calls).clone())
    };
    let pixels = profile(CoordinateSpace::ImagePixels, ImageRule::AsIs);
    assert_eq!(moved(at(500.0, 100.0), &pixels), Ok(click(Target::Point(ImagePoint::new(500.0, 100.0)))));
    let grid = profile(CoordinateSpace::Grid { max: 1000 }, ImageRule::AsIs);
    assert_eq!(moved(at(500.0, 100.0), &grid), Ok(click(Target::Point(ImagePoint::new(500.0, 201.0)))));
    let half = profile(CoordinateSpace::ImagePixels, ImageRule::Within { size: Size::new(500, 500) });
    assert_eq!(moved(at(500.0, 100.0), &half), Ok(click(Target::Point(ImagePoint::new(250.0, 50.0)))));
    // The recorded model missed the picture. The same space repeats that; another one has no such point.
    assert!(moved(at(5000.0, 1.0), &pixels).is_ok());
    let error = moved(at(5000.0, 1.0), &grid).expect_err("has no place");
    assert!(error.to_string().starts_with("step s2 cannot be replayed: its point (5000, 1)"), "{error}");
}

#[test]
fn references_become_those_of_the_present_outline() {
    let recorded = "button \"+\" @10,10 #n1\nbutton \"+\" @20,20 #n2\nlink \"Home\" @30,30 #n3";
    let present =
        Outline::parse("link \"Home\" #m1\nbutton \"+\" #m2\nbutton \"+\" #m3\nbutton \"Later\" #m4");
    let live = profile(CoordinateSpace::Grid { max: 1000 }, ImageRule::AsIs);
    let replayed = |node: &str, present: Option<&Outline>| {
        let turn = turn(recorded, click(Target::Ref(NodeRef(node.into()))));
        present_calls(&turn, present, &live).map(|calls| only(&calls).clone())
    };
    let to = |node: &str| Ok(click(Target::Ref(NodeRef(node.into()))));
    assert_eq!(replayed("n1", Some(&present)), to("m2"));
    assert_eq!(replayed("n2", Some(&present)), to("m3"), "the second of two equal ones");
    assert_eq!(replayed("n3", Some(&present)), to("m1"));
    assert_eq!(replayed("n9", Some(&present)), to("m4"), "known from the record of the action");
    assert_eq!(replayed("n77", Some(&present)), to("n77"), "nothing is known of it");
    let gone = replayed("n3", Some(&Outline::parse("button \"+\" #m2"))).expect_err("is gone");
    assert_eq!(gone, ReplayError::Element { step: "s2".into(), role: "link".into(), name: "Home".into() });
    let keys = Chord::parse("ctrl").expect("a chord");
    let held = |ids: [&str; 2]| Action::Hold {
        keys: keys.clone(),
        actions: ids.map(|id| click(Target::Ref(NodeRef(id.into())))).to_vec(),
    };
    let both = present_calls(&turn(recorded, held(["n1", "n3"])), Some(&present), &live);
    assert_eq!(
        both.map(|calls| only(&calls).clone()),
        Ok(held(["m2", "m1"])),
        "each element under held keys"
    );
    // A model without an outline points.
    assert_eq!(replayed("n3", None), Ok(click(Target::Point(ImagePoint::new(30.0, 61.0)))));
}
