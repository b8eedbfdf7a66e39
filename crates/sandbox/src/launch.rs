//! The sandbox of a cell: its folder on the host, its user, its `/etc`, its environment, and the command that
//! starts it.

use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use apprentice_protocol::{Monitors, RootFolder, WorldError, WorldErrorKind};
use tempfile::TempDir;
use tokio::process::Command;

use super::cell_spec::{CellIsolation, CellSpec};
use super::control_group::{self, CellGroup};
use super::display_server::DisplayServer;
use super::language::language;
use super::limits::CellLimits;
use super::mounts::{HOME, PROGRAMS, RUNTIME, USER};
use super::program_search::{find, search_path};
use super::state::{self, LOCK, map_contains};
use super::supervisor::{self, Home, SandboxPlan};
use super::wire::SessionConfig;
use super::{home, mounts, network};

/// The path of our own program inside.
const PROGRAM: &str = "/run/supervisor";
/// User ids of the host. When root starts a cell, the cell runs as a free one of these; no account is created.
const SPARE_USERS: std::ops::Range<u32> = 61_500..61_600;

/// A prepared cell, ready to start.
pub(super) struct Sandbox {
    /// The cell's folder on the host, removed when this value is dropped.
    pub(super) folder: TempDir,
    /// Locked for as long as the cell lives. Another process that obtains the lock knows that the owner is dead.
    _lock: File,
    program: PathBuf,
    argument: String,
    pub(super) isolation: CellIsolation,
    golden: Option<PathBuf>,
    limits: CellLimits,
    /// The cell's control group, where one can be made.
    pub(super) group: Option<CellGroup>,
    /// Whether programs reach hosts through a proxy.
    proxied: bool,
    /// Folders below the root that programs can write to.
    folders: Vec<RootFolder>,
    /// The host user id that the cell runs as, when it is not our own.
    user: Option<u32>,
    /// The desktop configuration for the supervisor's first request.
    pub(super) session: Option<SessionConfig>,
}

/// Prefix of the names of cell folders.
pub(super) const PREFIX: &str = "cell-";

fn failed(what: impl std::fmt::Display, error: &io::Error) -> WorldError {
    let fault = if error.kind() == io::ErrorKind::StorageFull {
        WorldErrorKind::DiskFull
    } else {
        WorldErrorKind::Start
    };
    WorldError::new(fault, format!("{what}: {error}"))
}

fn need(name: &str, package: &str) -> Result<PathBuf, WorldError> {
    find(name).ok_or_else(|| missing(&format!("program {name}"), package))
}

fn missing(what: &str, package: &str) -> WorldError {
    let story = format!("{what} is not installed; run: apt-get install -y {package}");
    WorldError::new(WorldErrorKind::MissingProgram, story)
}

/// Checks that this machine has what shows a screen in a cell, and what runs on it.
///
/// # Errors
///
/// Fails with the first program that is missing and the package that brings it.
pub fn need_display(screen: &Monitors) -> Result<(), WorldError> {
    need_bare_display(screen)?;
    need("openbox", "openbox")?;
    need("at-spi-bus-launcher", "at-spi2-core")?;
    Ok(())
}

/// Checks that this machine has what shows a screen in a cell, without a window manager.
///
/// # Errors
///
/// Fails with the first program that is missing and the package that brings it.
pub fn need_bare_display(screen: &Monitors) -> Result<(), WorldError> {
    let wanted = DisplayServer::of(screen).requirements();
    if let Some(lacking) = wanted.iter().find(|wanted| wanted.any_of.iter().all(|name| find(name).is_none()))
    {
        return Err(missing(lacking.name, lacking.package));
    }
    Ok(())
}

/// Makes the control group of a cell, named as its folder. Without one, the supervisor alone holds the cell to its limits.
fn group(folder: &Path, limits: CellLimits) -> Option<CellGroup> {
    let name = folder.file_name()?.to_string_lossy().into_owned();
    let made = control_group::of_this_process().ok()?.make(&name, limits);
    made.inspect_err(|error| tracing::warn!(%error, "a cell gets no control group")).ok()
}

impl Sandbox {
    /// Checks the prerequisites and creates the cell's folder.
    pub(super) fn prepare(spec: &CellSpec) -> Result<Self, WorldError> {
        if spec.isolation.has_namespaces() {
            need("bwrap", "bubblewrap")?;
            need("unshare", "util-linux")?;
        }
        need("dbus-daemon", "dbus")?;
        if !spec.isolation.has_namespaces() && !spec.network.is_empty() {
            let story = "without namespaces nothing can hold programs to a list of hosts: they share this machine's network; \
                         leave the setting `network` at \"none\", or isolate worlds as cells";
            return Err(WorldError::new(WorldErrorKind::Start, story));
        }
        if let Some(screen) = &spec.screen {
            if spec.bare { need_bare_display(screen) } else { need_display(screen) }?;
        }
        let root = rustix::process::geteuid().is_root();
        let drops = root && spec.isolation.has_namespaces();
        let place =
            |error: io::Error| failed(format_args!("the state folder {}", spec.state.display()), &error);
        let state_lock = state::lock(&spec.state).map_err(place)?;
        let state = spec.state.canonicalize().map_err(place)?;
        let user = if drops { spare_user(&users_of_cells(&state).map_err(place)?)? } else { None };
        let prefix = user.map_or(PREFIX.to_owned(), |user| format!("{PREFIX}{user}-"));
        let folder = tempfile::Builder::new().prefix(&prefix).tempdir_in(&state).map_err(place)?;
        let lock = File::create_new(folder.path().join(LOCK)).map_err(place)?;
        lock.lock().map_err(place)?;
        drop(state_lock);
        let mut program = spec.program.canonicalize().map_err(|error| failed("our own program", &error))?;
        if user.is_some() {
            if !reachable(&state, 0o001) {
                let story = "the state folder cannot be reached by other users, as cells started by root need; \
                             choose one below /run or /tmp";
                return Err(WorldError::new(WorldErrorKind::Start, format!("{}: {story}", state.display())));
            }
            if !reachable(&program, 0o005) {
                program =
                    copy_program(&program, &state).map_err(|error| failed("our own program", &error))?;
            }
        }
        let plain = |name: &str| folder.path().join(name);
        let (display, home, runtime) = match spec.isolation {
            CellIsolation::Bubblewrap => (Some(0), PathBuf::from(HOME), PathBuf::from(RUNTIME)),
            CellIsolation::Container | CellIsolation::Plain => (None, plain("home"), plain("run")),
        };
        let (screen, bare, limits) = (spec.screen.clone(), spec.bare, spec.limits);
        let session = Some(SessionConfig { screen, bare, display, home, runtime, limits });
        let (argument, golden) = (spec.argument.clone(), spec.golden.clone());
        Ok(Self {
            group: group(folder.path(), spec.limits),
            folder,
            _lock: lock,
            program,
            argument,
            isolation: spec.isolation,
            golden,
            user,
            session,
            limits: spec.limits,
            proxied: !spec.network.is_empty(),
            folders: spec.folders.clone(),
        })
    }

    /// Returns the command that starts the cell, with one end of the socket as its standard input.
    pub(super) fn command(&self, socket: OwnedFd) -> Result<Command, WorldError> {
        let mut command = match self.isolation {
            CellIsolation::Bubblewrap => self.bubblewrap()?,
            CellIsolation::Container | CellIsolation::Plain => {
                self.plain().map_err(|error| failed("the cell's home", &error))?
            }
        };
        command.stdin(Stdio::from(socket)).stdout(Stdio::null()).stderr(Stdio::piped());
        command.process_group(0).kill_on_drop(true);
        Ok(command)
    }

    fn bubblewrap(&self) -> Result<Command, WorldError> {
        let entrance = SandboxPlan {
            folder: self.folder.path().to_owned(),
            files: self.limits.files,
            home: self.golden.clone().map_or(Home::Seeds, Home::Golden),
            etc: mounts::etc(),
            folders: self.folders.iter().map(|folder| folder.name().to_owned()).collect(),
            argv: self.argv()?,
        };
        let entrance = serde_json::to_string(&entrance).map_err(|error| {
            WorldError::new(
                WorldErrorKind::Start,
                format!("the instructions for the cell could not be written: {error}"),
            )
        })?;
        let mut command = Command::new(need("unshare", "util-linux")?);
        command.args(["--user", "--map-root-user", "--mount", "--propagation", "private", "--"]);
        command.arg(&self.program).arg(&self.argument).arg("enter").arg(entrance);
        command.env_clear().current_dir("/");
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        Ok(command)
    }

    fn plain(&self) -> io::Result<Command> {
        let folder = self.folder.path();
        let (home, runtime) = (folder.join("home"), folder.join("run"));
        for folder in [&home, &runtime] {
            fs::create_dir(folder)?;
            fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
        }
        if let Some(golden) = &self.golden {
            home::copy(golden, &home)?;
        }
        home::seed(&home)?;
        let programs = home.join(home::PROGRAM_FOLDER);
        let mut command = Command::new(&self.program);
        command.arg(&self.argument).args(["serve", supervisor::PLAIN]).env_clear().current_dir(&home);
        command.envs(environment(
            &home.to_string_lossy(),
            &runtime.to_string_lossy(),
            &[&programs.to_string_lossy()],
        ));
        Ok(command)
    }

    /// Builds bubblewrap's command line.
    fn argv(&self) -> Result<Vec<String>, WorldError> {
        let mut argv = vec![need("bwrap", "bubblewrap")?.to_string_lossy().into_owned()];
        let mut add = |words: &[&str]| argv.extend(words.iter().map(|word| (*word).to_owned()));
        let user = USER.to_string();
        add(&[
            "--die-with-parent",
            "--as-pid-1",
            "--new-session",
            "--unshare-user",
            "--cap-add",
            supervisor::MARK_NAME,
            "--uid",
            &user,
            "--gid",
            &user,
        ]);
        add(&["--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--hostname", "cell"]);
        argv.extend(mounts::mounts(self.folder.path(), self.limits.shared_memory, &self.folders));
        let mut add = |words: &[&str]| argv.extend(words.iter().map(|word| (*word).to_owned()));
        add(&["--ro-bind", &self.program.to_string_lossy(), PROGRAM]);
        // Comes last: the mount points of everything above lie there.
        add(&["--remount-ro", "/", "--clearenv"]);
        let own = format!("{HOME}/{}", home::PROGRAM_FOLDER);
        for (name, value) in environment(HOME, RUNTIME, &[PROGRAMS, &own]) {
            add(&["--setenv", name, &value]);
        }
        if self.proxied {
            for (name, value) in network::environment() {
                add(&["--setenv", name, &value]);
            }
        }
        add(&["--chdir", HOME, "--", PROGRAM, &self.argument, "serve", supervisor::CELL]);
        Ok(argv)
    }
}

/// The complete environment inside. No variable is inherited from our own process.
fn environment(home: &str, runtime: &str, programs: &[&str]) -> Vec<(&'static str, String)> {
    let path = search_path(programs);
    let fixed = [
        ("HOME", home),
        ("XDG_RUNTIME_DIR", runtime),
        ("USER", "user"),
        ("LOGNAME", "user"),
        ("SHELL", "/bin/bash"),
        ("PATH", path.as_str()),
        ("LANG", language()),
        ("TZ", "UTC"),
        ("TERM", "xterm-256color"),
        ("XDG_SESSION_TYPE", "x11"),
        ("GDK_BACKEND", "x11"),
        // Turns accessibility on, with each toolkit's own variable.
        ("GTK_MODULES", "gail:atk-bridge"),
        ("QT_ACCESSIBILITY", "1"),
        ("QT_LINUX_ACCESSIBILITY_ALWAYS_ON", "1"),
        ("GNOME_ACCESSIBILITY", "1"),
        ("ACCESSIBILITY_ENABLED", "1"),
        ("SAL_USE_VCLPLUGIN", "gtk3"),
        // Firefox and Thunderbird take a new user namespace for the leave to make all others, and start no process of a page where they
        // get no new one for IPC.
        ("MOZ_ASSUME_USER_NS", "0"),
    ];
    let java =
        [JAVA_BRIDGE, JAVA_LIBRARY].iter().all(|part| part.iter().any(|place| Path::new(place).exists()));
    let java = java.then(|| ("JAVA_TOOL_OPTIONS", java_options()));
    fixed.map(|(name, value)| (name, value.to_owned())).into_iter().chain(java).collect()
}

/// The bridge by which programs in Java list their elements, and the library that it loads. With one alone such programs do not start.
const JAVA_BRIDGE: &[&str] = &["/usr/share/java/java-atk-wrapper.jar"];
const JAVA_LIBRARY: &[&str] = &[
    "/usr/lib/x86_64-linux-gnu/jni/libatk-wrapper.so",
    "/usr/lib/aarch64-linux-gnu/jni/libatk-wrapper.so",
    "/usr/lib/jni/libatk-wrapper.so",
];

/// Options by which each program in Java loads the bridge, which is on nobody's class path.
fn java_options() -> String {
    let (bridge, class) = (JAVA_BRIDGE[0], "org.GNOME.Accessibility.AtkWrapper");
    format!("-Xbootclasspath/a:{bridge} -Djavax.accessibility.assistive_technologies={class}")
}

/// The host's user ids that the cells below a state folder run as, by their folders' names.
fn users_of_cells(state: &Path) -> io::Result<Vec<u32>> {
    let names = fs::read_dir(state)?.flatten().map(|entry| entry.file_name());
    Ok(names
        .filter_map(|name| name.to_str()?.strip_prefix(PREFIX)?.split('-').next()?.parse().ok())
        .collect())
}

/// Finds a user id that belongs to no account of the host and, if there are enough, to no other cell: some limits of the
/// kernel hold for all processes of one user. `None` when root is the only mapped user, as in some containers: then the
/// cell cannot switch to another id.
fn spare_user(busy: &[u32]) -> Result<Option<u32>, WorldError> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let accounts = read("/etc/passwd");
    let taken: Vec<u32> = accounts.lines().filter_map(|line| line.split(':').nth(2)?.parse().ok()).collect();
    let mut free = SPARE_USERS.filter(|id| !taken.contains(id));
    let first = free.next();
    let spare = first.into_iter().chain(free).find(|id| !busy.contains(id)).or(first).ok_or_else(|| {
        WorldError::new(
            WorldErrorKind::Start,
            format!("no user id of {SPARE_USERS:?} is free on this machine"),
        )
    })?;
    let exists =
        ["/proc/self/uid_map", "/proc/self/gid_map"].iter().all(|map| map_contains(&read(map), spare));
    Ok(exists.then_some(spare))
}

/// Returns whether any user may traverse all parent folders and has these rights on the path itself.
fn reachable(path: &Path, rights: u32) -> bool {
    let mode = |path: &Path| fs::metadata(path).map_or(0, |metadata| metadata.mode());
    mode(path) & rights == rights && path.ancestors().skip(1).all(|folder| mode(folder) & 0o001 != 0)
}

/// Copies the program to a place that a cell's user can reach, once per build of it.
fn copy_program(program: &Path, state: &Path) -> io::Result<PathBuf> {
    let metadata = fs::metadata(program)?;
    let name = format!("program-{}-{}-{}", metadata.dev(), metadata.ino(), metadata.mtime_nsec());
    let place = state.join(name);
    if !place.exists() {
        let partial = tempfile::NamedTempFile::new_in(state)?;
        fs::copy(program, partial.path())?;
        fs::set_permissions(partial.path(), fs::Permissions::from_mode(0o755))?;
        partial.persist(&place)?;
    }
    Ok(place)
}

#[cfg(test)]
mod tests {
    use super::environment;

    #[test]
    fn the_environment_is_a_written_list() {
        let names: Vec<&str> =
            environment("/home/user", "/run", &["/bin"]).iter().map(|(name, _)| *name).collect();
        let names: Vec<&str> = names.into_iter().filter(|name| *name != "JAVA_TOOL_OPTIONS").collect();
        insta::assert_snapshot!(names.join(" "), @"HOME XDG_RUNTIME_DIR USER LOGNAME SHELL PATH LANG TZ TERM XDG_SESSION_TYPE GDK_BACKEND GTK_MODULES QT_ACCESSIBILITY QT_LINUX_ACCESSIBILITY_ALWAYS_ON GNOME_ACCESSIBILITY ACCESSIBILITY_ENABLED SAL_USE_VCLPLUGIN MOZ_ASSUME_USER_NS");
    }
}
