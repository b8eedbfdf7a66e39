//! Measures at which quality of JPEG small text reads as well as from PNG: a page with text of 11 pixels beside and on a
//! photo, in a real browser, read by tesseract.

use std::process::Command;
use std::sync::Arc;

use apprentice_harness::env::browser::{
    BrowserReuse, BrowserSandbox, BrowserSource, PagePictures, PageScripts,
};
use apprentice_pixels::{Frame, Kind, decode, decode_png, encode_jpeg, encode_png, resize};
use apprentice_protocol::{
    Action, Delivery, EnvironmentKind, EnvironmentSource, Size, Want, World, WorldSpec,
};
use apprentice_sandbox::SystemClock;

use crate::cell;

const SCREEN: Size = Size::new(1280, 720);
/// Tesseract is made for letters of about 30 pixels.
const ENLARGED: u32 = 3;
const WORDS: &str = "Accept Account Administrator Advanced Apply Archive Attachments Automatic Background Bookmark \
    Browse Calendar Cancel Capture Certificate Character Clipboard Colour Column Comment Compression Connection \
    Contents Currency Customize Database Default Delete Delimiter Description Desktop Dictionary Directory Display \
    Document Download Duplicate Encryption Envelope Exchange Extension Favourite Filter Folder Footnote Format \
    Gradient Hardware Heading Hyperlink Identity Import Indent Insert Invoice Keyboard Language Layout Library \
    Manager Margin Message Minimize Monitor Navigate Network Notebook Numbering Orientation Outline Overwrite \
    Paragraph Password Permission Picture Position Preferences Preview Printer Priority Private Profile Property \
    Quality Reading Recipient Recover Reference Register Rename Replace Resolution Restore Scale Schedule Search \
    Security Selection Separator Signature Software Spelling Standard Storage Subject Summary Template Thumbnail \
    Timeline Toolbar Transfer Translate Transparent Underline Update Vertical Volume Warning Website Window";

/// The colours of text and ground; the last ones stand on the photo.
const STYLES: [(&str, &str); 6] = [
    ("#000", "#fff"),
    ("#555", "#eee"),
    ("#fff", "#222"),
    ("#c00", "#fff"),
    ("#04c", "#f4f4f4"),
    ("#000", "rgba(255,255,255,.75)"),
];

/// A photo stands behind everything: soft colours with grain.
fn page() -> String {
    let photo = "<svg width=1280 height=720 style='position:fixed;left:0;top:0;z-index:-1'>\
        <filter id=a><feTurbulence type=fractalNoise baseFrequency=.008 numOctaves=9 seed=7 /></filter>\
        <filter id=b><feTurbulence baseFrequency=.9 numOctaves=2 seed=3 /></filter>\
        <rect width=1280 height=720 filter='url(#a)'/>\
        <rect width=1280 height=720 filter='url(#b)' opacity=.35 /></svg>";
    let panel = |(ink, ground): (&str, &str)| {
        format!(
            "<div style='color:{ink};background:{ground};font:11px/18px DejaVu Sans;padding:6px;margin:6px 20px;\
             width:900px'>{WORDS}</div>"
        )
    };
    format!("<body style='margin:0'>{photo}{}", STYLES.map(panel).concat())
}

async fn shot() -> Frame {
    let state = cell::state();
    let source = BrowserSource {
        network: apprentice_sandbox::NetworkPolicy::None,
        cell: cell::spec(state.path()),
        program: "chromium".into(),
        sandbox: BrowserSandbox::On,
        pictures: PagePictures::Screen,
        reuse: BrowserReuse::off(),
        scripts: PageScripts::Off,
        clock: Arc::new(SystemClock::new()),
    };
    let spec = WorldSpec::new(EnvironmentKind::Browser, SCREEN);
    let World { mut environment, machine, .. } = source.open(&spec).await.expect("a browser");
    let path = "/home/user/text.html";
    machine.write(path, page().as_bytes()).await.expect("written");
    let report = environment.act(&Action::Navigate { url: format!("file://{path}") }).await.expect("acts");
    assert_eq!(report.delivery, Delivery::Delivered);
    let seen = environment.observe(Want { screenshot: true, tree: None }).await.expect("sees");
    decode_png(&seen.screenshot.expect("a picture").bytes.0).expect("decodes")
}

/// The share of words that tesseract reads, over all panels.
fn read(frame: &Frame) -> (usize, usize) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("page.png");
    let large = resize(frame, SCREEN.width * ENLARGED, SCREEN.height * ENLARGED).expect("resizes");
    std::fs::write(&path, encode_png(&large).expect("encodes")).expect("written");
    let output = Command::new("tesseract").arg(&path).args(["-", "--psm", "3"]).output().expect("tesseract");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let words: Vec<&str> = text.split_whitespace().collect();
    let found = WORDS
        .split_whitespace()
        .map(|word| words.iter().filter(|read| **read == word).count().min(STYLES.len()));
    (found.sum(), WORDS.split_whitespace().count() * STYLES.len())
}

#[tokio::test]
#[ignore = "a measurement, which needs tesseract: see docs/design.md"]
async fn small_text_reads_as_well_from_the_jpeg_that_is_sent() {
    let frame = shot().await;
    let png = encode_png(&frame).expect("encodes");
    let (exact, all) = read(&frame);
    println!("png: {} bytes, {exact} of {all} words", png.len());
    for quality in [40, 60, 75, 85, 90, 95] {
        let jpeg = encode_jpeg(&frame, quality).expect("encodes");
        let (back, _) = decode(&jpeg, Kind::Jpeg).expect("decodes");
        let (words, _) = read(&back);
        println!("jpeg {quality}: {} bytes, {words} of {all} words", jpeg.len());
        // Two reads of nearly the same picture differ by a few words.
        assert!(quality < 85 || words + all / 100 >= exact, "{quality}: {words} < {exact}");
    }
}
