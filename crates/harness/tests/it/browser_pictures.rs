//! Pictures of pages, from the screen and over the protocol.

use std::time::Duration;

use apprentice_harness::env::browser::{PagePictures, PageScripts};
use apprentice_pixels::{Frame, decode_png, diff};
use apprentice_protocol::{Action, Button, Observation, ScreenPoint, TabAction, Target, Want};
use apprentice_sandbox::NetworkPolicy;

use crate::desk::{Act, Desk};

/// How long something may take until it lies over a page.
const COVERED: Duration = Duration::from_secs(20);
const PICTURE: Want = Want { screenshot: true, tree: None };
/// Text in several sizes, a form, a gradient to the last pixel, and more of the page than the screen shows.
const MIXED: &str = "<style>body{margin:0;height:3000px;background:linear-gradient(45deg,#123,#fed)}</style><h1>Twelve cups</h1>\
    <p>Words and <a href=x>a link</a> <button>Add</button> <input value=text> <select><option>one<option>two</select>\
    <input type=checkbox checked><div style='position:fixed;right:0;bottom:0;width:9px;height:9px;background:lime'></div>";

async fn desk(pictures: PagePictures) -> Desk {
    let opened = Desk::open_pictured(pictures, "chromium", PageScripts::Off, NetworkPolicy::None, Vec::new());
    opened.await.expect("a browser")
}

fn at(x: i32, y: i32) -> Act {
    let at = Target::Point(ScreenPoint::new(x, y));
    Action::Click { at, button: Button::Left, count: 1, hold: None }
}

async fn look(desk: &mut Desk) -> Observation {
    desk.environment.observe(PICTURE).await.expect("the world holds")
}

/// The picture, and whether it is the screen's: Chromium writes the pixels of its own pictures in many chunks.
async fn picture(desk: &mut Desk) -> (Frame, bool) {
    let seen = look(desk).await.screenshot.expect("a picture");
    (decode_png(&seen.bytes.0).expect("decodes"), chunks_of_pixels(&seen.bytes.0) == 1)
}

/// The number of chunks that hold the pixels of a PNG.
fn chunks_of_pixels(png: &[u8]) -> usize {
    // A signature, then chunks: length, name, content, checksum.
    let (mut rest, mut found) = (&png[8..], 0);
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        found += usize::from(after.starts_with(b"IDAT"));
        rest = &after[u32::from_be_bytes(*length) as usize + 8..];
    }
    found
}

/// The first picture that is not the screen's: what lies over a page opens a moment after the act.
async fn until_covered(desk: &mut Desk) -> Frame {
    let covered = async {
        loop {
            desk.delivered(Action::Wait { ms: 100 }).await;
            let (seen, of_screen) = picture(desk).await;
            if !of_screen {
                break seen;
            }
        }
    };
    tokio::time::timeout(COVERED, covered).await.expect("it is noticed")
}

#[tokio::test]
async fn a_page_looks_the_same_from_the_screen_and_over_the_protocol() {
    let mut found = Vec::new();
    for pictures in [PagePictures::Screen, PagePictures::Protocol] {
        let mut desk = desk(pictures).await;
        desk.show("mixed", MIXED).await;
        let (page, of_screen) = picture(&mut desk).await;
        assert_eq!(of_screen, pictures == PagePictures::Screen);
        desk.delivered(Action::Scroll { at: None, dx: 0, dy: 3 }).await;
        found.push([page, picture(&mut desk).await.0]);
        desk.close().await;
    }
    let [screen, protocol] = found.try_into().expect("two ways");
    assert_eq!(diff(&screen[0], &protocol[0]), None, "of the page");
    assert_eq!(diff(&screen[1], &protocol[1]), None, "of the page further down");
    assert_ne!(diff(&screen[0], &screen[1]), None, "scrolling changes it");
}

#[tokio::test]
async fn each_picture_shows_what_the_act_before_it_did() {
    const COLOURS: [[u8; 3]; 3] = [[200, 30, 40], [20, 160, 60], [30, 40, 220]];
    let mut desk = desk(PagePictures::Screen).await;
    let colours = COLOURS.map(|[red, green, blue]| format!("'rgb({red},{green},{blue})'")).join(",");
    let page = format!(
        "<body style='margin:0'><script>let n = 0; const all = [{colours}];\
         onclick = () => document.body.style.background = all[n++ % 3]</script>"
    );
    desk.show("colours", &page).await;
    for round in 0..60 {
        desk.delivered(at(600, 300)).await;
        let (seen, of_screen) = picture(&mut desk).await;
        assert!(of_screen, "round {round}");
        let corners = [(0, 0), (seen.width() - 1, seen.height() - 1), (seen.width() / 2, 200)];
        for (x, y) in corners {
            assert_eq!(seen.pixel(x, y), Some(COLOURS[round % 3]), "round {round} at {x}, {y}");
        }
    }
    desk.close().await;
}

#[tokio::test]
async fn an_open_list_is_in_the_picture_and_of_two_tabs_the_one_in_front_is() {
    let mut desk = desk(PagePictures::Screen).await;
    let form = "<body style='margin:0;background:rgb(9,9,9)'><select style='position:absolute;left:100px;top:100px'>\
        <option>one<option>two<option>three</select>\
        <button style='position:absolute;left:700px;top:0;width:90px;height:40px' onclick='print(); document.title = `printed`'>\
        print</button>";
    desk.show("form", form).await;
    let (plain, of_screen) = picture(&mut desk).await;
    assert!(of_screen);
    // A list box that is open is a window of its own. Chromium tells how it lies over the page.
    desk.delivered(at(110, 108)).await;
    let open = until_covered(&mut desk).await;
    assert_ne!(open.pixel(120, 150), plain.pixel(120, 150), "the list is in the picture");
    desk.key("Escape").await;
    assert!(picture(&mut desk).await.1, "the list is closed");
    // A dialog for printing would stop the page.
    desk.delivered(at(720, 20)).await;
    assert_eq!(desk.title().await, "printed");
    assert!(picture(&mut desk).await.1);
    // Of two tabs the one in front is seen.
    let open = TabAction::Open { url: Some("about:blank".into()) };
    desk.delivered(Act::Tab { tab: open }).await;
    assert_eq!(picture(&mut desk).await.0.pixel(600, 300), Some([255, 255, 255]));
    desk.delivered(Act::Tab { tab: TabAction::Switch { id: "t1".into() } }).await;
    assert_eq!(picture(&mut desk).await.0.pixel(600, 300), Some([9, 9, 9]));
    desk.close().await;
}

/// Chromium asks within its window, over the page, without any other window.
#[tokio::test]
async fn a_question_of_the_browser_is_not_in_the_picture_of_the_page() {
    let mut desk = desk(PagePictures::Screen).await;
    let ask = "<body style='margin:0;background:rgb(9,9,9);height:600px' onclick='navigator.mediaDevices.getDisplayMedia()'>";
    desk.show("ask", ask).await;
    assert!(picture(&mut desk).await.1);
    desk.delivered(at(600, 500)).await;
    let seen = until_covered(&mut desk).await;
    let other = (0..seen.width()).find(|x| seen.pixel(*x, 300) != Some([9, 9, 9]));
    assert_eq!(other, None, "the page alone is in the picture");
    desk.close().await;
}

/// By tasks, frames and a short timer, which lead to other tasks and frames, beside a clock that changes the page all the time.
#[tokio::test]
async fn what_an_act_leads_to_is_in_the_view_after_it() {
    let mut desk = desk(PagePictures::Screen).await;
    let page = "<p id=clock></p><button>go</button><script>\
        (function tick() { clock.textContent = performance.now(); setTimeout(tick, 10); })();\
        const ways = [(then) => then(), (then) => setTimeout(then), (then) => requestAnimationFrame(then),\
          (then) => requestAnimationFrame(() => requestAnimationFrame(then)),\
          (then) => { const way = new MessageChannel(); way.port1.onmessage = then; way.port2.postMessage(0); },\
          (then) => setTimeout(then, 120)];\
        let n = 0; document.querySelector('button').onclick = () => {\
          const own = ++n; ways[own % 6](() => ways[own % 5](() => { document.title = `done ${own}`; })); };</script>";
    desk.show("ways", page).await;
    for round in 1..=12 {
        desk.click("button", "go").await;
        assert_eq!(desk.title().await, format!("done {round}"));
    }
    desk.close().await;
}
