//! Pages of hosts in a browser world: what the policy allows, and what is on record.

use apprentice_harness::env::browser::PageScripts;
use apprentice_protocol::{Action, AllowedHost, ConnectionOutcome, WorldErrorKind};
use apprentice_sandbox::NetworkPolicy;

use crate::desk::Desk;
use crate::file_server::FileServer;

fn as_host(server: &FileServer, name: &str) -> AllowedHost {
    format!("{name}=127.0.0.1:{}", server.port).parse().expect("a host")
}

#[tokio::test]
async fn a_page_of_an_allowed_host_opens_and_what_it_asks_of_others_is_refused() {
    let site = FileServer::start(
        "index.html",
        "<!doctype html><title>Shop</title><h1>Open until nine</h1><img src=http://tracker.example/dot.png>",
    );
    let needed = vec![as_host(&site, "shop.example")];
    let desk = Desk::open_in(PageScripts::Off, NetworkPolicy::Task, needed).await;
    let mut desk = desk.expect("a browser");
    desk.delivered(Action::Navigate { url: "http://shop.example/".into() }).await;
    let seen = desk.look().await;
    let text: Vec<&str> =
        seen.tree.iter().flat_map(|tree| &tree.nodes).map(|node| node.name.as_str()).collect();
    assert!(text.contains(&"Open until nine"), "{text:?}");
    let report = desk.environment.take_connections();
    let outcome =
        |host: &str| report.connections.iter().find(|asked| asked.host == host).map(|asked| &asked.outcome);
    assert!(matches!(outcome("shop.example"), Some(ConnectionOutcome::Connected { .. })), "{report:?}");
    assert!(matches!(outcome("tracker.example"), Some(ConnectionOutcome::Refused { .. })), "{report:?}");
    assert!(report.received > 90, "{report:?}");
}

#[tokio::test]
async fn a_world_whose_task_needs_a_host_does_not_open_where_none_is_allowed() {
    let needed: Vec<AllowedHost> = vec!["shop.example".parse().expect("a host")];
    let opened = Desk::open_in(PageScripts::Off, NetworkPolicy::None, needed).await;
    let error = opened.err().expect("no world");
    assert_eq!(error.fault, WorldErrorKind::NetworkNotAllowed);
    assert!(error.message.contains("shop.example"), "{error}");
}
