//! Pages that crash, hang, close themselves or say too much: the model is told, and goes on.

use apprentice_protocol::{Command, MachineError, NodeRef, TabAction, Target, TreeBudget, Want};

use crate::desk::{Act, Desk, HOME, click};

/// Shows a page that needs more than the time that is waited for.
async fn shown(desk: &mut Desk, name: &str, body: &str) -> Act {
    let path = format!("{HOME}/{name}.html");
    desk.machine
        .write(&path, format!("<!doctype html><title>{name}</title>{body}").as_bytes())
        .await
        .expect("written");
    Act::Navigate { url: format!("file://{path}") }
}

async fn seen(desk: &mut Desk) -> String {
    let want = Want { screenshot: true, tree: Some(TreeBudget::default()) };
    let seen = desk.environment.observe(want).await.expect("the world holds");
    seen.tree.expect("a tree").nodes.iter().map(|node| node.name.as_str()).collect::<Vec<_>>().join(" | ")
}

#[tokio::test]
async fn a_page_that_crashes_is_told_and_left() {
    let mut desk = Desk::open().await;
    desk.show("doomed", "<button>x</button>").await;
    let button = desk.node("button", "x").await.id;
    // As a fault within the page's process ends it. It is the first process of a namespace, which the other signals do not end.
    desk.machine.run(&Command::shell("kill -ABRT $(pgrep -f -- --type=renderer)")).await.expect("ran");
    let told = loop {
        let told = seen(&mut desk).await;
        if told.starts_with("the page") {
            break told;
        }
    };
    assert!(told.starts_with("the page crashed (") && told.contains("open another address"), "{told}");
    assert!(desk.refused(click(&button)).await.contains("crashed"));
    // What a check asks of it is refused, not lost.
    let tree = desk.machine.tree(&TreeBudget::default()).await;
    assert!(matches!(tree, Err(MachineError::Refused { .. })), "{tree:?}");
    desk.show("next", "<button onclick='document.title=`works`'>y</button>").await;
    desk.click("button", "y").await;
    assert_eq!(desk.title().await, "works");
    desk.close().await;
}

#[tokio::test]
async fn a_page_that_never_answers_is_told_and_left() {
    let mut desk = Desk::open().await;
    let act = shown(&mut desk, "busy", "<p>text</p><script>for(;;){}</script>").await;
    let why = desk.refused(act).await;
    assert!(why.starts_with("the page does not answer"), "{why}");
    assert!(seen(&mut desk).await.contains("the page does not answer"));
    let why = desk.refused(Act::Type { text: "x".into() }).await;
    assert!(why.contains("does not answer"), "{why}");
    let tree = desk.machine.screenshot().await;
    assert!(matches!(tree, Err(MachineError::Refused { .. })));
    desk.show("next", "<button onclick='document.title=`works`'>y</button>").await;
    desk.click("button", "y").await;
    assert_eq!(desk.title().await, "works");
    // One that hangs later, by a click, and a new tab beside it.
    desk.show("later", "<button onclick='for(;;){}'>z</button>").await;
    let button = desk.node("button", "z").await.id;
    assert!(desk.refused(click(&button)).await.contains("does not answer"));
    desk.delivered(Act::Tab { tab: TabAction::Open { url: Some("about:blank".into()) } }).await;
    desk.close().await;
}

/// As an agent does that has a terminal in the same cell: what it broke is judged. Nothing tells it from a page that is busy
/// without end, which a model can open by itself.
#[tokio::test]
async fn a_page_whose_process_is_stopped_within_the_cell_is_told_and_no_lost_world() {
    let mut desk = Desk::open().await;
    desk.show("held", "<button onclick='document.title=`works`'>x</button>").await;
    let button = desk.node("button", "x").await.id;
    let script = "for page in $(pgrep -f -- --type=renderer); do kill -$1 $page; sed -n s/^State://p /proc/$page/status; done";
    let path = format!("{HOME}/hold");
    desk.machine.write(&path, script.as_bytes()).await.expect("written");
    let send = async |signal: &str, desk: &Desk| {
        let ran = desk.machine.run(&Command::shell(format!("sh {path} {signal}"))).await.expect("ran");
        String::from_utf8_lossy(&ran.stdout).into_owned()
    };
    let states = send("STOP", &desk).await;
    assert!(states.contains("T (stopped)"), "{states}");
    let why = desk.refused(click(&button)).await;
    assert!(why.starts_with("the page does not answer"), "{why}");
    assert!(seen(&mut desk).await.contains("the page does not answer"));
    // What a check asks of it is refused, not lost.
    let tree = desk.machine.tree(&TreeBudget::default()).await;
    assert!(matches!(tree, Err(MachineError::Refused { .. })), "{tree:?}");
    send("CONT", &desk).await;
    desk.click("button", "x").await;
    assert_eq!(desk.title().await, "works");
    desk.close().await;
}

#[tokio::test]
async fn a_page_that_is_replaced_without_end_and_one_of_60000_buttons_are_no_lost_worlds() {
    let mut desk = Desk::open().await;
    let act = shown(&mut desk, "loop", "<script>setTimeout(() => location.reload(), 0)</script>").await;
    desk.act(act).await;
    seen(&mut desk).await;
    let names = "<script>for (let at = 0; at < 60000; at++) { const one = document.createElement('button'); \
        one.textContent = 'b' + at; document.body.append(one); }</script>";
    let act = shown(&mut desk, "many", &format!("<body>{names}")).await;
    desk.act(act).await;
    seen(&mut desk).await;
    let long = "<script>document.title = 'x'.repeat(8 << 20); for (let at = 0; at < 4; at++) { const one = \
        document.createElement('button'); one.ariaLabel = 'y'.repeat(8 << 20); document.body.append(one); }</script>";
    let act = shown(&mut desk, "long", &format!("<body>{long}")).await;
    desk.act(act).await;
    let want = Want { screenshot: false, tree: Some(TreeBudget::default()) };
    let observed = desk.environment.observe(want).await.expect("the world holds");
    let bytes: usize = observed.tree.iter().flat_map(|tree| &tree.nodes).map(|node| node.name.len()).sum();
    let title: usize = observed.tabs.iter().map(|tab| tab.title.len()).sum();
    assert!(bytes < 1 << 20 && title < 1 << 16, "{bytes} {title}");
    desk.close().await;
}

#[tokio::test]
async fn debug_addresses_and_names_that_are_none_are_refused_and_change_nothing() {
    let mut desk = Desk::open().await;
    desk.show("page", "<input type=file id=f aria-label=File>").await;
    for url in ["chrome://crash", "about:crash", "CHROME://Kill/", "chrome:hang", "view-source:chrome://quit"]
    {
        assert!(desk.refused(Act::Navigate { url: url.into() }).await.contains("can be opened"), "{url}");
        let tab = TabAction::Open { url: Some(url.into()) };
        assert!(desk.refused(Act::Tab { tab }).await.contains("can be opened"), "{url}");
    }
    for url in [
        "data:text/html,<script>document.title='ran'</script>",
        " DATA:text/html,x",
        "view-source:data:text/html,x",
    ] {
        assert!(desk.refused(Act::Navigate { url: url.into() }).await.contains("page_scripts"), "{url}");
        let tab = TabAction::Open { url: Some(url.into()) };
        assert!(desk.refused(Act::Tab { tab }).await.contains("page_scripts"), "{url}");
    }
    desk.refused(Act::Navigate { url: "javascript:document.title=1".into() }).await;
    let input = desk.node("button", "File").await.id;
    let upload =
        |node: &NodeRef, file: String| Act::Upload { at: Target::Ref(node.clone()), files: vec![file] };
    for file in ["a\0b".to_owned(), "a".repeat(200_000), "/".repeat(4097), "\u{fffd}\u{1}\n".to_owned()] {
        desk.refused(upload(&input, file)).await;
    }
    // The browser itself keeps pages from its own.
    let links = "<a href='chrome://crash'>a</a> <a href='about:crash'>b</a> <a href='view-source:chrome://kill'>c</a>";
    for name in ["a", "b", "c"] {
        desk.show("page", links).await;
        desk.click("link", name).await;
        let title = desk.title().await;
        assert!(["page", "about:blank#blocked"].contains(&title.as_str()), "{name}: {title}");
    }
    desk.close().await;
}
