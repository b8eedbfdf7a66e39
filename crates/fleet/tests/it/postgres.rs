//! A PostgreSQL of the test's own: in a temporary folder, by an ordinary user, reached over a socket in that folder.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use apprentice_fleet::{Address, Database, Patience, Queue, SchemaError};
use apprentice_sandbox::SystemClock;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// A running server. It ends with this value.
pub(crate) struct Server {
    folder: TempDir,
    programs: PathBuf,
    user: Option<(u32, u32)>,
    process: Option<Child>,
    /// More settings.
    settings: Vec<String>,
}

/// The folder of the newest installed server.
fn programs() -> PathBuf {
    let versions =
        fs::read_dir("/usr/lib/postgresql").expect("PostgreSQL: scripts/setup --tests installs it");
    let mut found: Vec<PathBuf> = versions.filter_map(|one| Some(one.ok()?.path().join("bin"))).collect();
    found.retain(|folder| folder.join("initdb").is_file());
    found.sort();
    found.pop().expect("PostgreSQL: scripts/setup --tests installs it")
}

/// User and group of `postgres`, as its server refuses to run as root; `None` for an ordinary user.
fn ordinary_user() -> Option<(u32, u32)> {
    if !rustix::process::getuid().is_root() {
        return None;
    }
    let accounts = fs::read_to_string("/etc/passwd").expect("accounts");
    let line = accounts.lines().find(|line| line.starts_with("postgres:")).expect("the package's user");
    let mut fields = line.split(':').skip(2).map(|field| field.parse().expect("a number"));
    Some((fields.next().expect("a user"), fields.next().expect("a group")))
}

impl Server {
    /// Starts a server with an empty database.
    pub(crate) fn start() -> Self {
        let folder = tempfile::Builder::new().prefix("apprentice-pg.").tempdir().expect("a folder");
        let user = ordinary_user();
        if let Some((uid, gid)) = user {
            chown(folder.path(), Some(uid), Some(gid)).expect("gives the folder away");
        }
        let mut server = Self { folder, programs: programs(), user, process: None, settings: Vec::new() };
        let data = server.data();
        let made = server
            .command("initdb")
            .args([
                "--username=postgres",
                "--auth=trust",
                "--no-sync",
                "--encoding=UTF8",
                "--locale=C",
                "--pgdata",
            ])
            .arg(&data)
            .output()
            .expect("initdb runs");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        server.launch();
        server
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.programs.join(program));
        command.current_dir(self.folder.path()).env_clear().env("LC_ALL", "C").stdin(Stdio::null());
        if let Some((uid, gid)) = self.user {
            command.gid(gid).uid(uid);
        }
        command
    }

    /// Starts the server process. It takes connections a moment later; clients try again until then.
    pub(crate) fn launch(&mut self) {
        let log = fs::File::create(self.folder.path().join("log")).expect("a log");
        let folder = self.folder.path().display();
        let started = self
            .command("postgres")
            .arg("-D")
            .arg(self.data())
            .args(["-c", "listen_addresses=", "-c", "max_connections=400", "-c", "shared_buffers=64MB"])
            .args(["-c", &format!("unix_socket_directories={folder}")])
            .args(self.settings.iter().flat_map(|setting| ["-c", setting.as_str()]))
            .stdout(Stdio::null())
            .stderr(log)
            .spawn();
        self.process = Some(started.expect("postgres starts"));
    }

    /// Stops the server: `QUIT` at once, as in a crash, `INT` with its connections ended.
    pub(crate) fn stop(&mut self, signal: Signal) {
        let Some(mut process) = self.process.take() else { return };
        let id = Pid::from_child(&process);
        kill_process(id, signal).expect("signals the server");
        process.wait().expect("the server ends");
    }

    /// Has the server listen on a port of this machine, too, for encrypted connections only. Returns the port.
    pub(crate) fn listen_encrypted(&mut self, certificates: &Path) -> u16 {
        let port =
            std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("a port").port();
        for name in ["server.crt", "server.key"] {
            let to = self.data().join(name);
            fs::copy(certificates.join(name), &to).expect("copies");
            fs::set_permissions(&to, fs::Permissions::from_mode(0o600)).expect("is private");
            if let Some((uid, gid)) = self.user {
                chown(&to, Some(uid), Some(gid)).expect("gives the file away");
            }
        }
        let rules = "local all all trust\nhostssl all all 127.0.0.1/32 trust\nhostnossl all all 127.0.0.1/32 reject\n";
        fs::write(self.data().join("pg_hba.conf"), rules).expect("writes");
        self.stop(Signal::INT);
        self.settings = vec!["listen_addresses=127.0.0.1".into(), format!("port={port}"), "ssl=on".into()];
        self.launch();
        port
    }

    /// Turns encryption off, and takes plain connections.
    pub(crate) fn stop_encryption(&mut self) {
        let rules = "local all all trust\nhost all all 127.0.0.1/32 trust\n";
        fs::write(self.data().join("pg_hba.conf"), rules).expect("writes");
        self.stop(Signal::INT);
        self.settings.pop();
        self.launch();
    }

    /// The port of its socket.
    fn port(&self) -> &str {
        self.settings.iter().find_map(|setting| setting.strip_prefix("port=")).unwrap_or("5432")
    }

    /// The address of a database of the server.
    pub(crate) fn address(&self, user: &str, database: &str) -> String {
        format!("postgres://{user}@/{database}?host={}", self.folder.path().display())
    }

    /// The address of its first database, as its owner.
    pub(crate) fn owner(&self) -> String {
        self.address("postgres", "postgres")
    }

    /// Opens the queue in the first database, made where needed.
    pub(crate) async fn queue(&self) -> Queue {
        Queue::open_and_migrate(database(&self.owner())).await.expect("a queue")
    }

    /// Waits until the server takes connections.
    pub(crate) async fn ready(self) -> Self {
        let opened = Queue::open(database(&self.owner())).await.map(drop);
        assert!(matches!(opened, Err(SchemaError::Missing(_))), "{opened:?}");
        self
    }

    /// Runs the server's own load generator: each client carries out the script this often. Returns what it prints.
    pub(crate) fn pgbench(&self, script: &Path, clients: usize, each: usize, row: &str) -> String {
        let readable = self.folder.path().join("script.sql");
        let text = fs::read_to_string(script).expect("a script").replace(":row", &format!("'{row}'"));
        fs::write(&readable, text).expect("writes");
        let output = self
            .command("pgbench")
            .env("PGOPTIONS", "-c search_path=apprentice_queue -c synchronous_commit=off -c plan_cache_mode=force_generic_plan -c jit=off -c enable_seqscan=off")
            .args(["--no-vacuum", "--protocol=prepared", "--jobs=2", "--username=postgres"])
            .args(["--client", &clients.to_string(), "--transactions", &each.to_string()])
            .arg("--file")
            .arg(&readable)
            .arg("--host")
            .arg(self.folder.path())
            .arg("postgres")
            .output()
            .expect("pgbench runs");
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && !told.contains("aborted"), "{told}");
        String::from_utf8(output.stdout).expect("text")
    }

    /// Runs statements by the server's own client; returns what it prints.
    pub(crate) fn psql(&self, sql: &str) -> String {
        let output = self
            .command("psql")
            .args([
                "--no-psqlrc",
                "--quiet",
                "--tuples-only",
                "--no-align",
                "--set=ON_ERROR_STOP=1",
                "--username=postgres",
            ])
            .args(["--port", self.port()])
            .arg("--host")
            .arg(self.folder.path())
            .args(["--dbname=postgres", "--command", sql])
            .output()
            .expect("psql runs");
        assert!(output.status.success(), "{sql}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text").trim().to_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop(Signal::QUIT);
    }
}

/// A database that is tried for up to a minute.
pub(crate) fn database(address: &str) -> Database {
    impatient(address, Duration::from_secs(60))
}

/// A database that is tried for this long.
pub(crate) fn impatient(address: &str, patience: Duration) -> Database {
    let address: Address = address.parse().expect("an address");
    Database::new(address, Patience(patience), Arc::new(SystemClock::default()))
}

/// The address of artifacts in a folder.
pub(crate) fn artifacts_in(folder: &Path) -> String {
    format!("file://{}", folder.display())
}
