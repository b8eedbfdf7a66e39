//! Opens worlds on machines: takes a free machine, resets it, and waits until it answers.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use apprentice_protocol::{
    BoxFuture, Clock, EnvironmentSource, Image, Isolation, Size, Why, World, WorldError, WorldErrorKind,
    WorldSpec,
};

use super::config::VmConfig;
use super::machine::VmMachine;
use super::picture::ScreenScale;
use super::pool::MachinePool;
use super::server::Server;
use super::tree::ElementRefs;
use super::world::VmEnvironment;

/// Shortest pause between two polls of a machine that is starting.
const POLL_FLOOR: Duration = Duration::from_millis(500);
/// How long the machine's first answers may take once it shows its screen.
const MACHINE_INFO_DEADLINE: Duration = Duration::from_secs(60);
/// The home folder in OSWorld's images, used when a machine does not report its own.
const HOME: &str = "/home/user";

/// Python code that prints the fields of [`MachineInfo`].
const MACHINE_INFO_SCRIPT: &str =
    "import os, pyautogui; print(os.path.expanduser('~')); print(*pyautogui.size())";

/// A machine's home folder and screen size, as the machine reports them.
#[derive(Debug, PartialEq, Eq)]
struct MachineInfo {
    home: String,
    /// The screen that the pointer moves on, if the machine reports it.
    screen: Option<Size>,
}

impl MachineInfo {
    fn read(output: &str) -> Self {
        let mut lines = output.trim().lines();
        let home = lines.next().map(str::trim).filter(|home| home.starts_with('/')).unwrap_or(HOME);
        let numbers = lines.next().and_then(|line| line.trim().split_once(' '));
        let side = |text: &str| text.parse().ok().filter(|side| *side > 0);
        let screen = numbers.and_then(|(width, height)| Some(Size::new(side(width)?, side(height)?)));
        Self { home: home.to_owned(), screen }
    }
}

/// Opens worlds on machines, one at a time on each.
pub struct VmSource {
    config: Arc<VmConfig>,
    clock: Arc<dyn Clock>,
    pool: MachinePool,
}

impl VmSource {
    /// Creates a source of worlds on these machines.
    pub fn new(config: VmConfig, clock: Arc<dyn Clock>) -> Self {
        let config = Arc::new(config);
        Self { pool: MachinePool::new(Arc::clone(&config)), config, clock }
    }

    async fn start(&self) -> Result<World, WorldError> {
        let mut lease = self.pool.lease().await?;
        let place = lease.reset().await?;
        let server = Arc::new(Server::new(place, self.clock.clone())?);
        let shown = self.ready(&server).await?.size;
        let MachineInfo { home, screen } = self.machine_info(&server).await?;
        let screen = screen.unwrap_or(shown);
        server.set_fit(ScreenScale::of(shown, screen).map_err(|why| {
            WorldError::new(WorldErrorKind::Start, format!("the machine at {} {why}", server.place()))
        })?);
        let names = Arc::new(Mutex::new(ElementRefs::default()));
        let machine = Arc::new(VmMachine::new(server.clone(), names.clone(), home, screen));
        let vm = VmEnvironment {
            server,
            machine: machine.clone(),
            names,
            screen,
            clock: self.clock.clone(),
            disturbed: None,
            is_new: true,
            lease,
        };
        Ok(World { environment: Box::new(vm), machine, isolation: Isolation::Machine })
    }

    /// Waits until the machine delivers a screenshot.
    async fn ready(&self, server: &Server) -> Result<Image, WorldError> {
        let deadline = self.clock.mono() + self.config.ready_within;
        loop {
            match server.is_ready().await {
                Ok(image) => return Ok(image),
                Err(why) if self.clock.mono() >= deadline => {
                    let (place, time) = (server.place(), self.config.ready_within.as_secs());
                    let story = format!("the machine at {place} was not ready within {time} s: {why}");
                    return Err(WorldError::new(WorldErrorKind::Start, story));
                }
                Err(_) => self.clock.pause(POLL_FLOOR, Why::PollFloor).await,
            }
        }
    }

    /// Asks for the home folder and the screen. This also verifies that commands run and `pyautogui` works.
    async fn machine_info(&self, server: &Server) -> Result<MachineInfo, WorldError> {
        let failed = |fault, why: String| {
            Err(WorldError::new(fault, format!("the machine at {} {why}", server.place())))
        };
        let words = ["python", "-c", MACHINE_INFO_SCRIPT].map(str::to_owned);
        match server.execute(&words, MACHINE_INFO_DEADLINE).await {
            Ok(done) if done.returncode == 0 => Ok(MachineInfo::read(&done.output)),
            Ok(done) => {
                let last = done.error.trim().lines().last().unwrap_or_default().to_owned();
                failed(WorldErrorKind::MissingProgram, format!("has no python with pyautogui: {last}"))
            }
            Err(error) => failed(WorldErrorKind::Start, format!("runs no commands: {error}")),
        }
    }
}

impl EnvironmentSource for VmSource {
    fn open<'a>(&'a self, _spec: &'a WorldSpec) -> BoxFuture<'a, Result<World, WorldError>> {
        Box::pin(self.start())
    }

    fn concessions(&self) -> Vec<String> {
        let dirty = self.config.reset.is_none();
        dirty
            .then(|| "vm.reset: none, attempts follow each other on one machine".to_owned())
            .into_iter()
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::Size;

    use super::MachineInfo;

    #[test]
    fn a_machine_says_its_home_and_its_screen() {
        let read = |output: &str| MachineInfo::read(output);
        let first = |home: &str, screen| MachineInfo { home: home.into(), screen };
        assert_eq!(read("/home/user\n1920 1080\n"), first("/home/user", Some(Size::new(1920, 1080))));
        assert_eq!(read("C:\\Users\n0 1080\n"), first("/home/user", None));
        assert_eq!(read("/root\n"), first("/root", None));
    }
}
