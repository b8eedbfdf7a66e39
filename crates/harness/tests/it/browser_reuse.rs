//! Several episodes in one browser, each in a browser context of its own.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use apprentice_harness::env::browser::{
    BrowserReuse, BrowserSandbox, BrowserSource, PagePictures, PageScripts,
};
use apprentice_protocol::{
    Action, Chord, Delivery, EnvironmentKind, EnvironmentSource as _, Isolation, MachineError, ScreenPoint,
    Size, Want, World, WorldErrorKind, WorldSpec,
};
use apprentice_sandbox::{CellSpec, NetworkPolicy, SystemClock};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::cell;
use crate::desk::HOME;

type Act = Action<ScreenPoint>;

const SIZE: Size = Size::new(800, 600);
const CLOSE: Duration = Duration::from_secs(20);
/// Its title is how often this storage has seen it, then what its field holds.
const COUNTING: &str = "<!doctype html><title>0</title><textarea autofocus></textarea><script>\
    const seen = Number(localStorage.seen ?? 0) + 1; localStorage.seen = seen;\
    const field = document.querySelector('textarea'); field.focus();\
    const show = () => document.title = `${seen} ${field.value}`; field.oninput = show; show()</script>";

fn source(state: &Path, home: &Path, pictures: PagePictures, program: &str) -> BrowserSource {
    BrowserSource {
        network: NetworkPolicy::None,
        cell: CellSpec { golden: Some(home.to_owned()), ..cell::spec(state) },
        program: program.to_owned(),
        sandbox: BrowserSandbox::On,
        pictures,
        reuse: BrowserReuse::contexts(),
        scripts: PageScripts::Off,
        clock: Arc::new(SystemClock::new()),
    }
}

async fn open(source: &BrowserSource) -> World {
    let url = Some(format!("file://{HOME}/counting.html"));
    let spec = WorldSpec { url, ..WorldSpec::new(EnvironmentKind::Browser, SIZE) };
    let world = source.open(&spec).await.expect("a world");
    assert_eq!(world.isolation, Isolation::Context);
    world
}

async fn close(world: World) {
    world.environment.close(CLOSE).await.expect("closed");
}

async fn title(world: &mut World) -> String {
    world.environment.observe(Want::default()).await.expect("seen").title().to_owned()
}

async fn done(world: &mut World, action: Act) {
    let report = world.environment.act(&action).await.expect("the world holds");
    assert_eq!(report.delivery, Delivery::Delivered, "{action:?}");
}

fn key(chord: &str) -> Act {
    Action::Key { chord: Chord::parse(chord).expect("a chord"), hold_ms: None }
}

/// What the debugging port answers.
async fn ask(world: &World, request: &str) -> String {
    let way = world.machine.dial(9222).await.expect("a way");
    let mut stream = tokio::net::TcpStream::connect(way.address).await.expect("connected");
    let request = format!("{request} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("asked");
    let mut answer = vec![0; 8192];
    let read = stream.read(&mut answer).await.expect("an answer");
    String::from_utf8_lossy(&answer[..read]).into_owned()
}

/// The name that a browser gives itself, another for each start.
async fn browser_of(world: &World) -> String {
    let told = ask(world, "GET /json/version").await;
    told.split("/devtools/browser/").nth(1).expect("a name").chars().take(36).collect()
}

async fn serves_episodes(pictures: PagePictures, program: &str) {
    let (state, home) = (cell::state(), tempfile::tempdir().expect("a folder"));
    std::fs::write(home.path().join("counting.html"), COUNTING).expect("written");
    let source = source(state.path(), home.path(), pictures, program);
    let mut first = open(&source).await;
    let browser = browser_of(&first).await;
    assert_eq!(title(&mut first).await, "1");
    done(&mut first, Action::Type { text: "secret".to_owned() }).await;
    assert_eq!(title(&mut first).await, "1 secret");
    done(&mut first, key("ctrl+a")).await;
    done(&mut first, key("ctrl+c")).await;
    done(&mut first, key("ctrl+v")).await;
    done(&mut first, key("ctrl+v")).await;
    assert_eq!(title(&mut first).await, "1 secretsecret", "the clipboard works");
    close(first).await;

    let mut second = open(&source).await;
    assert_eq!(browser_of(&second).await, browser, "the same browser");
    assert_eq!(title(&mut second).await, "1", "with a storage of its own");
    done(&mut second, key("ctrl+v")).await;
    assert_eq!(title(&mut second).await, "1", "and an empty clipboard");
    let seen = second.environment.observe(Want { screenshot: true, tree: None }).await.expect("seen");
    assert_eq!(seen.screenshot.expect("a picture").size, SIZE);
    let settings = Action::Navigate { url: "chrome://settings".to_owned() };
    let report = second.environment.act(&settings).await.expect("the world holds");
    assert!(matches!(report.delivery, Delivery::Refused { problem } if problem.contains("browser_reuse")));
    let profile = second.machine.read("~/.config/chromium/Default/Preferences").await;
    assert!(matches!(profile, Err(MachineError::Refused { why, .. }) if why.contains("browser_reuse")));
    second.machine.write(&format!("{HOME}/left.txt"), b"left").await.expect("written");
    close(second).await;

    let mut third = open(&source).await;
    assert_ne!(browser_of(&third).await, browser, "a cell that was written to is not used again");
    ask(&third, "PUT /json/new?about:blank").await;
    let lost = async {
        loop {
            if let Err(error) = third.environment.observe(Want { screenshot: true, tree: None }).await {
                break error;
            }
        }
    };
    let lost = tokio::time::timeout(CLOSE, lost).await.expect("in time");
    assert_eq!(lost.fault, WorldErrorKind::Lost);
    assert!(lost.message.contains("browser_reuse"), "{}", lost.message);
    close(third).await;
}

#[tokio::test]
async fn each_episode_has_a_context_of_its_own_and_what_leaves_traces_a_browser() {
    serves_episodes(PagePictures::Screen, "chromium").await;
}

#[tokio::test]
async fn it_is_the_same_in_a_browser_without_windows() {
    if std::process::Command::new("chromium-headless-shell").arg("--version").output().is_err() {
        return;
    }
    serves_episodes(PagePictures::Protocol, "chromium-headless-shell").await;
}

#[tokio::test]
async fn episodes_at_the_same_time_have_browsers_of_their_own() {
    let (state, home) = (cell::state(), tempfile::tempdir().expect("a folder"));
    std::fs::write(home.path().join("counting.html"), COUNTING).expect("written");
    let source = source(state.path(), home.path(), PagePictures::Screen, "chromium");
    let (one, other) = tokio::join!(open(&source), open(&source));
    let names = [browser_of(&one).await, browser_of(&other).await];
    assert_ne!(names[0], names[1]);
    tokio::join!(close(one), close(other));
    // One that has just ended is waited for.
    let next = open(&source).await;
    assert!(names.contains(&browser_of(&next).await));
    let closing = close(next);
    let (again, ()) = tokio::join!(open(&source), closing);
    assert!(names.contains(&browser_of(&again).await));
    close(again).await;
}
