//! Browser worlds of a Chromium that has no windows of its own.

use apprentice_harness::env::browser::PageScripts;
use apprentice_protocol::{Command, TabAction, WorldError, WorldErrorKind};
use apprentice_sandbox::NetworkPolicy;

use crate::desk::{Act, Desk, HOME, click};
use crate::trees::is_installed;

const SHELL: &str = "chromium-headless-shell";

async fn open(program: &str) -> Result<Desk, WorldError> {
    Desk::open_program(program, PageScripts::Off, NetworkPolicy::None, Vec::new()).await
}

#[tokio::test]
async fn it_shows_pages_tabs_dialogs_and_files_and_no_settings() {
    if !is_installed(SHELL) {
        println!("skipped: {SHELL} is not installed");
        return;
    }
    let mut desk = open(SHELL).await.expect("a browser");
    desk.show(
        "page",
        "<label>Name <input id=n></label> <button onclick='alert(n.value)'>Greet</button>
         <a download=report.txt href='data:text/plain,hello'>Save</a>
         <input type=file aria-label=Upload onchange='document.title=this.files[0].name'>
         <a target=_blank href='about:blank'>Empty</a>",
    )
    .await;
    desk.click("textbox", "Name").await;
    desk.type_text("Zoë 中文").await;
    assert!(desk.click("button", "Greet").await.contains("alert: \"Zoë 中文\""));
    desk.delivered(Act::Dialog { accept: true, text: None }).await;
    let saved = desk.click("link", "Save").await;
    assert!(saved.contains("downloaded \"report.txt\" (5 bytes)"), "{saved}");
    let kept = desk.machine.read(&format!("{HOME}/Downloads/report.txt")).await;
    assert_eq!(kept.expect("kept"), b"hello");
    let tree = desk.look().await.tree.expect("a tree");
    let upload = tree.nodes.iter().find(|node| node.name.contains("Upload")).expect("an input").id.clone();
    desk.delivered(click(&upload)).await;
    desk.type_text(&format!("{HOME}/Downloads/report.txt\n")).await;
    assert_eq!(desk.title().await, "report.txt");
    let opened = desk.click("link", "Empty").await;
    assert!(opened.contains("is in front now"), "{opened}");
    let seen = desk.look().await;
    assert_eq!(seen.tabs.len(), 2);
    let front = seen.tabs.iter().find(|tab| tab.active).expect("a tab").id.clone();
    desk.delivered(Act::Tab { tab: TabAction::Close { id: front } }).await;
    assert_eq!(desk.title().await, "report.txt");
    let button = desk.node("button", "Greet").await.id;
    // What Chromium itself shows needs its windows.
    let why = desk.refused(Act::Navigate { url: "chrome://version".into() }).await;
    assert!(why.contains("chrome://version was not opened"), "{why}");
    // A script starts the browser, so the oldest process of this name is not the browser.
    let kill = Command::shell("pkill -9 -f -- '[-]-remote-debugging-port='");
    desk.machine.run(&kill).await.expect("ran");
    let error = desk.lost(click(&button)).await;
    assert_eq!(error.fault, WorldErrorKind::Lost, "{error}");
    desk.close().await;
}

#[tokio::test]
async fn a_browser_that_is_not_installed_is_named() {
    let error = open("chromium-of-nobody").await.err().expect("no browser");
    assert_eq!(error.fault, WorldErrorKind::MissingProgram);
    assert!(error.message.contains("chromium-of-nobody is not installed"), "{error}");
}
