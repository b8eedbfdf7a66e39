//! The network of a cell: allowed hosts through the proxy, and no other way out.

use std::sync::Arc;
use std::time::Duration;

use apprentice_protocol::{ConnectionOutcome, ConnectionReport};
use apprentice_sandbox::{Cell, CellIsolation, CellSpec, SystemClock};

use crate::cell::{shell, spec, state};
use crate::file_server::FileServer;

fn host() -> FileServer {
    FileServer::start("page.txt", "a page of the host\n")
}

async fn cell_with(state: &std::path::Path, hosts: &[String]) -> Cell {
    let network = hosts.iter().map(|host| host.parse().expect("a host")).collect();
    let spec = CellSpec { network, ..spec(state) };
    Cell::start(&spec, Arc::new(SystemClock::new())).await.expect("a cell")
}

/// The output and the HTTP status of curl inside the cell.
async fn curl(cell: &Cell, arguments: &str) -> String {
    let line = format!(
        "curl --silent --show-error --max-time 20 --write-out '[%{{http_code}}]' {arguments} 2>&1 || true"
    );
    shell(&*cell.machine(), &line).await
}

fn told(report: &ConnectionReport) -> Vec<String> {
    let of = |record: &apprentice_protocol::ConnectionRecord| {
        let what = match &record.outcome {
            ConnectionOutcome::Connected { address } => format!("connected {}", address.is_some()),
            ConnectionOutcome::Refused { .. } => "refused".to_owned(),
            ConnectionOutcome::Failed { .. } => "failed".to_owned(),
        };
        format!("{} tunnel={} {what}", record.host, record.tunnel)
    };
    report.connections.iter().map(of).collect()
}

#[tokio::test]
async fn an_allowed_host_is_reached_by_page_and_by_tunnel_and_each_connection_is_recorded() {
    let (server, state) = (host(), state());
    let port = server.port;
    let cell =
        cell_with(state.path(), &[format!("127.0.0.1:{port}"), format!("shop.example=127.0.0.1:{port}")])
            .await;
    // Curl goes to its own machine without the proxy, unless it is told otherwise.
    let page = curl(&cell, &format!("--noproxy '' http://127.0.0.1:{port}/page.txt")).await;
    assert_eq!(page, "a page of the host\n[200]");
    let tunnel = curl(&cell, &format!("--noproxy '' --proxytunnel http://127.0.0.1:{port}/page.txt")).await;
    assert_eq!(tunnel, "a page of the host\n[200]");
    assert_eq!(curl(&cell, "http://shop.example/page.txt").await, "a page of the host\n[200]");
    let report = cell.take_connections();
    insta::assert_snapshot!(told(&report).join("\n"), @"
    127.0.0.1 tunnel=false connected true
    127.0.0.1 tunnel=true connected true
    shop.example tunnel=false connected true
    ");
    assert!(report.received > 3 * 19 && report.sent > 0, "{report:?}");
    assert!(cell.take_connections().is_empty());
    cell.close(Duration::from_secs(5)).await.expect("closes");
}

#[tokio::test]
async fn whatever_is_not_allowed_is_refused_with_the_reason() {
    let (server, other, state) = (host(), host(), state());
    let (port, closed) = (server.port, other.port);
    let cell = cell_with(state.path(), &[format!("127.0.0.1:{port}"), format!("localhost:{port}")]).await;
    for (arguments, why) in [
        (format!("http://127.0.0.1:{closed}/page.txt"), "not among the hosts"),
        ("http://example.org/".to_owned(), "not among the hosts"),
        ("http://169.254.169.254/latest/meta-data/".to_owned(), "not among the hosts"),
        // The name is allowed, and leads into this machine.
        (format!("http://localhost:{port}/page.txt"), "no address of the internet"),
        (format!("--proxy-header 'X: y' ftp://127.0.0.1:{port}/page.txt"), "http:// alone"),
    ] {
        let answer = curl(&cell, &format!("--noproxy '' --proxy http://127.0.0.1:3128 {arguments}")).await;
        assert!(answer.contains(why) && answer.ends_with("[403]"), "{arguments}: {answer}");
    }
    let refused = told(&cell.take_connections());
    assert!(refused.len() == 5 && refused.iter().all(|one| one.ends_with("refused")), "{refused:?}");
}

#[tokio::test]
async fn there_is_no_way_around_the_proxy() {
    let (server, state) = (host(), state());
    let port = server.port;
    let cell = cell_with(state.path(), &[format!("127.0.0.1:{port}")]).await;
    let direct = curl(&cell, &format!("--noproxy '*' http://127.0.0.1:{port}/page.txt")).await;
    assert!(direct.contains("[000]"), "its own loopback has no such server: {direct}");
    let routes = shell(&*cell.machine(), "cat /proc/net/route | tail -n +2; cat /etc/resolv.conf").await;
    assert_eq!(routes, "");
    assert!(cell.take_connections().is_empty());
    let without = cell_with(state.path(), &[]).await;
    let none = curl(&without, "--noproxy '' --proxy http://127.0.0.1:3128 http://example.org/").await;
    assert!(none.contains("[000]"), "{none}");
}

#[tokio::test]
async fn the_proxy_ends_with_its_cell() {
    let (server, state) = (host(), state());
    let port = server.port;
    let cell = cell_with(state.path(), &[format!("127.0.0.1:{port}")]).await;
    let line = format!(
        "exec 3<>/dev/tcp/127.0.0.1/3128; printf 'CONNECT 127.0.0.1:{port} HTTP/1.1\\r\\n\\r\\n' >&3; read -r first <&3; echo \"$first\""
    );
    let opened = shell(&*cell.machine(), &format!("bash -c '{}'", line.replace('\'', "'\\''"))).await;
    assert!(opened.starts_with("HTTP/1.1 200"), "{opened}");
    cell.close(Duration::from_secs(5)).await.expect("closes while a tunnel was open");
}

#[tokio::test]
async fn without_namespaces_a_list_of_hosts_is_refused() {
    let state = state();
    let spec = CellSpec {
        network: vec!["example.org".parse().expect("a host")],
        isolation: CellIsolation::Plain,
        ..spec(state.path())
    };
    let refused = Cell::start(&spec, Arc::new(SystemClock::new())).await.err().expect("no cell").to_string();
    assert!(refused.contains("share this machine's network"), "{refused}");
}
