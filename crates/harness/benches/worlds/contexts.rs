//! A page in a fresh browser context of a browser that has served an episode, and in a browser of its own, in turns.

use std::path::Path;
use std::sync::Arc;

use apprentice_harness::env::browser::{BrowserReuse, BrowserSource, PagePictures};
use apprentice_protocol::{Clock as _, EnvironmentKind, EnvironmentSource as _, Want, WorldSpec};
use apprentice_sandbox::{CellLimits, SystemClock};

use super::sources::Sources;
use super::{PAGE, Plan, SHELL, WHOLE, cell, close, print, see};

/// A source of browsers whose homes hold the pages from the beginning: what a setup writes would end a browser with its episode.
fn source(state: &Path, plan: &Plan, program: &str, reuse: BrowserReuse) -> BrowserSource {
    let mut source = Sources::new(state, CellLimits::default()).browser;
    source.cell.golden = Some(plan.pages.clone());
    source.reuse = reuse;
    if program == SHELL {
        (source.program, source.pictures) = (program.to_owned(), PagePictures::Protocol);
    }
    source
}

/// The time until a world of this source shows a page, and the time until it is ended.
async fn episode(source: &BrowserSource, clock: &SystemClock) -> (f64, f64) {
    let url = Some("file:///home/user/small.html".to_owned());
    let spec = WorldSpec { url, ..WorldSpec::new(EnvironmentKind::Browser, PAGE) };
    let begun = clock.mono();
    let mut world = source.open(&spec).await.expect("a browser");
    see(&mut world, Want { screenshot: true, tree: Some(WHOLE) }).await;
    let seen = clock.mono();
    close(world).await;
    let ms = |time: std::time::Duration| time.as_secs_f64() * 1000.0;
    (ms(seen - begun), ms(clock.mono() - seen))
}

/// Measures a program.
pub(super) async fn contexts(plan: &Plan, program: &str) {
    let (state, clock) = (cell::state(), SystemClock::new());
    let fresh = source(state.path(), plan, program, BrowserReuse::off());
    let kept = source(state.path(), plan, program, BrowserReuse::contexts());
    episode(&kept, &clock).await;
    let (mut browsers, mut contexts, mut renewals) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..plan.rounds {
        browsers.push(episode(&fresh, &clock).await.0);
        let (seen, renewed) = episode(&kept, &clock).await;
        contexts.push(seen);
        renewals.push(renewed);
    }
    print(&format!("episode-browser-{program}"), browsers);
    print(&format!("episode-context-{program}"), contexts);
    print(&format!("context-renewed-{program}"), renewals);
    // The browsers that wait end with their source, which waits for them.
    tokio::task::spawn_blocking(move || drop((Arc::new(kept), state))).await.expect("ended");
}
