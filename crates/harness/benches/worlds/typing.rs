//! Typing into a page, key by key, until the page has it all.

use apprentice_protocol::{Action, Clock as _, EnvironmentKind, Want};

use crate::{Bench, PAGE, Plan, WHOLE, act, click, close, print, see};

/// A field that counts the keys that it got.
const FIELD: &str = "<!doctype html><title>field</title><p id=count>0 keys</p><textarea style='position:fixed;top:100px;left:100px;width:600px;height:300px' \
                     onkeydown='count.textContent = `${++n} keys`' oninput='length.textContent = `${value.length} characters`'></textarea>\
                     <p id=length>0 characters</p><script>let n = 0, length = document.getElementById('length')</script>";
const CHARACTERS: usize = 400;

/// The time of a text of so many characters, settled. The page has counted each key.
pub(crate) async fn into_page(bench: &Bench, plan: &Plan) {
    let mut world = bench.sources.open(EnvironmentKind::Browser, PAGE).await.expect("a browser");
    world.machine.write("/home/user/field.html", FIELD.as_bytes()).await.expect("written");
    act(&mut world, &Action::Navigate { url: "file:///home/user/field.html".into() }).await;
    act(&mut world, &click(300, 200)).await;
    let text = "it was a dark night ".repeat(CHARACTERS / 20);
    let mut times = Vec::new();
    // The first round warms up.
    for round in 1..=plan.rounds + 1 {
        let begun = bench.clock().mono();
        act(&mut world, &Action::Type { text: text.clone() }).await;
        times.push((bench.clock().mono() - begun).as_secs_f64() * 1000.0);
        let seen = see(&mut world, Want { screenshot: false, tree: Some(WHOLE) }).await;
        let names: Vec<&str> =
            seen.tree.iter().flat_map(|tree| &tree.nodes).map(|node| node.name.as_str()).collect();
        for told in [format!("{} keys", round * CHARACTERS), format!("{} characters", round * CHARACTERS)] {
            assert!(names.contains(&told.as_str()), "{told}: {names:?}");
        }
    }
    print("type-page", times.split_off(1));
    close(world).await;
}
