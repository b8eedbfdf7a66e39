//! Worlds that were started ahead of time: handed out once, working, and never used before.

use std::sync::Arc;
use std::time::Duration;

use apprentice_harness::env::browser::{
    BrowserReuse, BrowserSandbox, BrowserSource, PagePictures, PageScripts,
};
use apprentice_harness::env::scene::SceneSource;
use apprentice_harness::env::warm_pool::WarmPool;
use apprentice_protocol::{
    BoxFuture, EnvironmentKind, EnvironmentSource, Size, Want, World, WorldError, WorldSpec,
};
use apprentice_sandbox::{NetworkPolicy, SystemClock};
use serde_json::json;
use tokio::sync::watch;

use crate::bench::editor;
use crate::cell;
use crate::desk::{HOME, SCREEN};

/// A source that counts the worlds of another one.
struct Counted<S> {
    source: S,
    opened: watch::Sender<usize>,
}

impl<S: EnvironmentSource> EnvironmentSource for Counted<S> {
    fn open<'a>(&'a self, spec: &'a WorldSpec) -> BoxFuture<'a, Result<World, WorldError>> {
        Box::pin(async move {
            let opened = self.source.open(spec).await;
            self.opened.send_modify(|count| *count += 1);
            opened
        })
    }
}

/// A pool, and the number of worlds that its source has opened.
struct Pool {
    pool: WarmPool,
    opened: watch::Receiver<usize>,
}

impl Pool {
    fn over(source: impl EnvironmentSource + 'static, most: usize, headroom: bool) -> Self {
        let (sender, opened) = watch::channel(0);
        let source = Arc::new(Counted { source, opened: sender });
        Self { pool: WarmPool::new(source, most, Box::new(move || headroom)), opened }
    }

    async fn open(&self, spec: &WorldSpec) -> World {
        self.pool.open(spec).await.expect("a world")
    }

    /// Waits until the source has opened this many worlds, and lets the pool take the last of them.
    async fn has_opened(&mut self, count: usize) {
        let opened =
            tokio::time::timeout(Duration::from_secs(60), self.opened.wait_for(|seen| *seen >= count));
        assert_eq!(*opened.await.expect("in time").expect("the source lives"), count);
        tokio::task::yield_now().await;
    }
}

fn scene(width: u32, faults: &serde_json::Value) -> WorldSpec {
    let mut scene = editor();
    scene["faults"] = faults.clone();
    WorldSpec { scene: Some(scene), ..WorldSpec::new(EnvironmentKind::Scene, Size::new(width, 400)) }
}

#[tokio::test]
async fn one_more_world_is_started_for_whoever_asks_next_and_each_is_handed_out_once() {
    let mut pool = Pool::over(SceneSource::default(), 1, true);
    let spec = scene(640, &json!([]));
    let first = pool.open(&spec).await;
    pool.has_opened(2).await;
    first.machine.write("/home/user/mine.txt", b"first").await.expect("written");
    let second = pool.open(&spec).await;
    pool.has_opened(3).await;
    second.machine.read("/home/user/mine.txt").await.expect_err("nothing of the first is there");
    second.machine.write("/home/user/mine.txt", b"second").await.expect("written");
    let third = pool.open(&spec).await;
    third.machine.read("/home/user/mine.txt").await.expect_err("nothing of the second is there");
    pool.has_opened(4).await;
}

#[tokio::test]
async fn another_kind_of_world_takes_the_place_of_the_oldest() {
    let mut pool = Pool::over(SceneSource::default(), 1, true);
    let (small, wide) = (scene(640, &json!([])), scene(800, &json!([])));
    pool.open(&small).await;
    pool.has_opened(2).await;
    pool.open(&wide).await;
    pool.has_opened(4).await;
    pool.open(&wide).await;
    pool.has_opened(5).await;
    pool.open(&small).await;
    pool.has_opened(7).await;
}

#[tokio::test]
async fn without_headroom_no_world_is_started_ahead() {
    let mut pool = Pool::over(SceneSource::default(), 4, false);
    let spec = scene(640, &json!([]));
    pool.open(&spec).await;
    pool.open(&spec).await;
    pool.has_opened(2).await;
}

#[tokio::test]
async fn a_world_that_broke_while_it_waited_is_never_handed_out() {
    let mut pool = Pool::over(SceneSource::default(), 1, true);
    let spec = scene(640, &json!([{ "at": "observe", "after": 0, "fault": "lost" }]));
    pool.open(&spec).await;
    pool.has_opened(2).await;
    pool.open(&spec).await;
    pool.has_opened(4).await;
}

#[tokio::test]
async fn a_browser_that_waited_opens_the_page_that_is_asked_for() {
    let state = cell::state();
    let source = BrowserSource {
        network: NetworkPolicy::None,
        cell: cell::spec(state.path()),
        program: "chromium".into(),
        sandbox: BrowserSandbox::On,
        pictures: PagePictures::Screen,
        reuse: BrowserReuse::off(),
        scripts: PageScripts::Off,
        clock: Arc::new(SystemClock::new()),
    };
    let mut pool = Pool::over(source, 1, true);
    let page = |title: &str| WorldSpec {
        url: Some(format!("data:text/html,<title>{title}</title>")),
        ..WorldSpec::new(EnvironmentKind::Browser, SCREEN)
    };
    let first = pool.open(&page("one")).await;
    pool.has_opened(2).await;
    first.machine.write(&format!("{HOME}/mine.txt"), b"first").await.expect("written");
    let mut second = pool.open(&page("two")).await;
    let seen = second.environment.observe(Want { screenshot: false, tree: None }).await.expect("seen");
    assert_eq!(seen.title(), "two");
    second.machine.read(&format!("{HOME}/mine.txt")).await.expect_err("a home of its own");
    pool.has_opened(3).await;
    let refused = pool.pool.open(&WorldSpec { url: Some("http://127.0.0.1:1/".into()), ..page("x") }).await;
    assert!(refused.is_err(), "a page that does not open is no world");
}
