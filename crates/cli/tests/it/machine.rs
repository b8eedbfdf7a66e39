//! The nearest thing to a machine of OSWorld's makers: their own server program on a whole Xfce desktop, in a cell. It is
//! there where `APPRENTICE_OSWORLD_SERVER` names the folder `desktop_env/server` of their repository.
#![expect(clippy::print_stdout, reason = "what is skipped is said")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::Arc;
use std::time::Duration;

use apprentice_protocol::{Clock as _, Command, PortForward, Why};
use apprentice_sandbox::{Cell, CellIsolation, CellLimits, CellSpec, SystemClock};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::place::{PROGRAM, Place};
use crate::starter::is_installed;

const DESKTOP: &str = include_str!("../machine/desktop.sh");
const SETTINGS: &str = include_str!("../machine/xsettings.xml");
/// Where the image's settings lie that Xfce reads.
const SETTINGS_PLACE: &str = "/home/user/.config/xfce4/xfconf/xfce-perchannel-xml/xsettings.xml";
/// What the desktop and the server need.
const NEEDED: [&str; 6] = ["xfce4-session", "xfwm4", "xfdesktop", "xfce4-panel", "Xvfb", "dbus-run-session"];
/// The server's, the browser's and the player's.
const PORTS: [u16; 3] = [5000, 9222, 8080];
const SOON: Duration = Duration::from_secs(60);
const FLOOR: Duration = Duration::from_millis(100);
/// Whether the desktop stands and the server tells its elements.
const READY: &str = "import json, urllib.request as r
tree = json.load(r.urlopen('http://127.0.0.1:5000/accessibility', timeout=20))['AT']
raise SystemExit(not all(name in tree for name in ('xfce4-panel', 'xfdesktop')))";

/// The folders of OSWorld's server and of the Python packages that it needs, or `None` with the reason printed.
pub(crate) fn server() -> Option<[PathBuf; 2]> {
    #[expect(clippy::disallowed_methods, reason = "the server's place is given by the environment")]
    let Some(server) = std::env::var_os("APPRENTICE_OSWORLD_SERVER").map(PathBuf::from) else {
        println!("skipped: APPRENTICE_OSWORLD_SERVER is not set");
        return None;
    };
    let packages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/machine/lib");
    let missing: Vec<&str> = NEEDED.into_iter().filter(|program| !is_installed(program)).collect();
    if !missing.is_empty() || !packages.exists() {
        println!("skipped: run scripts/osworld/machine, which installs what is missing: {missing:?}");
        return None;
    }
    Some([server, packages])
}

/// A machine in its first state.
struct Machine {
    cell: Cell,
    ways: Vec<PortForward>,
}

impl Machine {
    async fn start(state: PathBuf, packed: Arc<[Vec<u8>; 2]>) -> Self {
        let spec = CellSpec {
            network: Vec::new(),
            folders: Vec::new(),
            screen: None,
            bare: false,
            isolation: CellIsolation::Bubblewrap,
            program: PROGRAM.into(),
            argument: "cell-supervisor".into(),
            state,
            golden: None,
            limits: CellLimits::default(),
        };
        let cell = Cell::start(&spec, Arc::new(SystemClock::new())).await.expect("a cell");
        let machine = cell.machine();
        let write = async |path: &str, bytes: &[u8]| machine.write(path, bytes).await.expect("writes");
        write("/home/user/server.tar", &packed[0]).await;
        write("/home/user/lib.tar", &packed[1]).await;
        write("/home/user/server/desktop.sh", DESKTOP.as_bytes()).await;
        write(SETTINGS_PLACE, SETTINGS.as_bytes()).await;
        let unpack =
            "mkdir -p server/lib && tar xf server.tar -C server && tar xf lib.tar -C server/lib && rm *.tar";
        let output = machine.run(&Command::shell(unpack)).await.expect("runs");
        assert_eq!(output.code, 0, "{}", String::from_utf8_lossy(&output.stderr));
        let desktop = Command::shell("exec sh server/desktop.sh >server/log 2>&1");
        machine.launch(&desktop).await.expect("launches");
        let clock = SystemClock::new();
        while machine.run(&Command::new(["python3", "-c", READY])).await.expect("runs").code != 0 {
            if clock.mono() > SOON {
                let log = machine.read("/home/user/server/log").await.unwrap_or_default();
                panic!("the server does not answer: {}", String::from_utf8_lossy(&log));
            }
            clock.pause(FLOOR, Why::PollFloor).await;
        }
        let mut ways = Vec::new();
        for port in PORTS {
            ways.push(machine.dial(port).await.expect("a way"));
        }
        Self { cell, ways }
    }

    /// Its address in the form of OSWorld's own tools, without a remote screen.
    fn address(&self) -> String {
        let port = |index: usize| self.ways[index].address.port();
        format!("127.0.0.1:{}:{}:0:{}", port(0), port(1), port(2))
    }
}

/// Gives a fresh machine to each request, which a reset command makes, and ends the one that its slot had before.
pub(crate) struct Machines {
    listener: TcpListener,
    state: PathBuf,
    packed: Arc<[Vec<u8>; 2]>,
}

impl Machines {
    pub(crate) async fn new(place: &Place, folders: &[PathBuf; 2]) -> Self {
        let packed = folders.each_ref().map(|folder| {
            let output = std::process::Command::new("tar").args(["c", "-C"]).arg(folder).arg(".").output();
            let Output { status, stdout, stderr } = output.expect("it starts");
            assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
            stdout
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        Self { listener, state: place.path("machine"), packed: Arc::new(packed) }
    }

    /// The command that resets the machine of a slot.
    pub(crate) fn reset(&self) -> String {
        let address = self.listener.local_addr().expect("an address");
        format!("exec curl --silent --show-error --fail --max-time 300 http://{address}/$APPRENTICE_VM_SLOT")
    }

    /// Serves until it is dropped; the last machines end with it. While one works the next one starts.
    pub(crate) async fn serve(&self) {
        let next = || tokio::spawn(Machine::start(self.state.clone(), Arc::clone(&self.packed)));
        let (mut working, mut coming): (BTreeMap<String, Machine>, _) = (BTreeMap::new(), next());
        loop {
            let (mut stream, _) = self.listener.accept().await.expect("a request");
            let mut head = [0; 1024];
            let length = stream.read(&mut head).await.expect("a request");
            let asked = String::from_utf8_lossy(&head[..length]);
            let slot = asked.split_whitespace().nth(1).expect("a path").to_owned();
            if let Some(machine) = working.remove(&slot) {
                machine.cell.close(SOON).await.expect("ends");
            }
            let machine = std::mem::replace(&mut coming, next()).await.expect("a machine");
            let address = machine.address();
            let length = address.len();
            let answer =
                format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{address}");
            stream.write_all(answer.as_bytes()).await.expect("answered");
            working.insert(slot, machine);
        }
    }
}
