//! Clicks in programs of a desktop until they are settled and seen. Each is proven by what its program says afterwards: where the
//! caret stands, which file is selected, which cell has the focus.

use apprentice_protocol::{Clock as _, DetailKind, Observation, ScreenPoint, State, UiNode, Want, World};

use crate::{Bench, Plan, act, click, close, launch, print, see, spreadsheet};

const TREE: Want = Want { screenshot: false, tree: Some(crate::WHOLE) };
const PICTURE: Want = Want { screenshot: true, tree: None };
/// Lines of the text, files and cells that are clicked in turn.
const PLACES: usize = 10;

/// Clicks into the text of an editor, each on another line than the one before.
pub(crate) async fn into_text(bench: &Bench, world: &mut World, rounds: usize) {
    let text = see(world, TREE).await.tree.and_then(|tree| tree.nodes.into_iter().find(is_text));
    let area = text.and_then(|text| text.bounds).expect("the text has a place");
    let line = |line: i32| ScreenPoint::new(area.x + 60 + 20 * line, area.y + 20 + 30 * line);
    let places: Vec<ScreenPoint> = (0..).map(line).take(PLACES).collect();
    clicks(bench, world, ("click", rounds), &places, |seen| {
        let text = nodes(seen).find(|node| is_text(node))?;
        text.details.iter().find(|detail| detail.kind == DetailKind::Caret).map(|detail| detail.text.clone())
    })
    .await;
}

fn is_text(node: &UiNode) -> bool {
    node.role.as_str() == "textbox" && node.bounds.is_some()
}

/// Clicks at files in a file manager: each selects another one.
pub(crate) async fn at_files(bench: &Bench, plan: &Plan) {
    let mut world = bench.desktop().await;
    for file in 0..PLACES {
        world.machine.write(&format!("/home/user/files/file-{file}"), b"text").await.expect("written");
    }
    launch(bench, &mut world, &["thunar", "/home/user/files"]).await;
    let seen = see(&mut world, TREE).await;
    let places = places(&seen, |node| node.name.starts_with("file-"));
    clicks(bench, &mut world, ("click-thunar", plan.rounds), &places, |seen| {
        let file = nodes(seen).find(|node| node.name.starts_with("file-") && node.is(State::Selected))?;
        Some(file.name.clone())
    })
    .await;
    close(world).await;
}

/// Clicks at cells of a spreadsheet: each gives another one the focus.
pub(crate) async fn at_cells(bench: &Bench, plan: &Plan) {
    let mut world = spreadsheet(bench).await;
    let seen = see(&mut world, TREE).await;
    let cells = ["B2", "D9", "C4", "E7", "B11", "F5", "C8", "D3", "E12", "B6"];
    let places = places(&seen, |node| cells.contains(&node.name.as_str()));
    clicks(bench, &mut world, ("click-calc", plan.rounds), &places, |seen| {
        let cell = nodes(seen).find(|node| node.is(State::Focused) && cells.contains(&node.name.as_str()))?;
        Some(cell.name.clone())
    })
    .await;
    close(world).await;
}

fn nodes(seen: &Observation) -> impl Iterator<Item = &UiNode> {
    seen.tree.iter().flat_map(|tree| &tree.nodes)
}

/// The middles of some elements.
fn places(seen: &Observation, is_wanted: impl Fn(&UiNode) -> bool) -> Vec<ScreenPoint> {
    let wanted = nodes(seen).filter(|node| is_wanted(node));
    let places: Vec<ScreenPoint> =
        wanted.filter_map(|node| node.bounds.and_then(|bounds| bounds.centre())).collect();
    assert!(places.len() >= PLACES, "{} of {PLACES} elements are listed", places.len());
    places
}

/// Times clicks until they are settled and seen. What the program says must change with each of them.
async fn clicks(
    bench: &Bench,
    world: &mut World,
    (row, rounds): (&str, usize),
    places: &[ScreenPoint],
    told: impl Fn(&Observation) -> Option<String>,
) {
    let mut last = told(&see(world, TREE).await);
    let mut times = Vec::new();
    // The first round warms up.
    for at in places.iter().cycle().take(rounds + 1) {
        let begun = bench.clock().mono();
        act(world, &click(at.x, at.y)).await;
        see(world, PICTURE).await;
        times.push((bench.clock().mono() - begun).as_secs_f64() * 1000.0);
        let now = told(&see(world, TREE).await);
        assert!(now.is_some() && now != last, "{row}: the click changed nothing: {last:?}, then {now:?}");
        last = now;
    }
    print(row, times.split_off(1));
}
