//! Starts Chromium in a cell and waits until it is ready.

use std::time::Duration;

use apprentice_cdp::parse_endpoint;
use apprentice_protocol::{ChildProcess, Command, MachineError, Size, WorldError, WorldErrorKind};
use apprentice_sandbox::{Cell, PROXY};
use tokio::net::UnixStream;
use tokio::task::JoinHandle;

/// How long Chromium may take to announce its port.
const START: Duration = Duration::from_secs(40);
/// Bytes of Chromium's output that are kept for the error message of a failed start.
const OUTPUT_LIMIT: usize = 2000;

/// The DevTools port inside the cell, for OSWorld's getters and for a person who debugs a page.
const PORT: u16 = 9222;

/// Whether Chromium's own sandbox is on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BrowserSandbox {
    /// The sandbox is on.
    #[default]
    On,
    /// The sandbox is off. Chosen by explicit configuration only, and recorded, because a malicious page may then reach
    /// everything in the cell.
    Off,
}

/// Where pictures of pages come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PagePictures {
    /// From a screen of the cell that Chromium fills, as its X server tells them. While something lies over the page, over the
    /// protocol.
    #[default]
    Screen,
    /// From Chromium over the protocol, which takes longer. The only way where Chromium draws on no screen.
    Protocol,
}

/// How Chromium is started.
pub(super) struct LaunchOptions {
    /// Size of the window in pixels.
    pub(super) size: Size,
    pub(super) sandbox: BrowserSandbox,
    pub(super) pictures: PagePictures,
    /// Whether pages reach hosts through the cell's proxy.
    pub(super) proxied: bool,
}

/// A running Chromium. Dropping it kills it.
#[derive(Debug)]
pub(super) struct Chromium {
    /// Task that owns the process and reads its output, so that a full pipe never blocks it.
    output: JoinHandle<()>,
}

impl Drop for Chromium {
    fn drop(&mut self) {
        self.output.abort();
    }
}

/// What the page is drawn on. Without a window manager nobody moves a window, and a kiosk's shows the page alone. Without a screen
/// Chromium denies what it would ask the user for, and with one it is told to do the same.
fn surface(pictures: PagePictures) -> &'static [&'static str] {
    match pictures {
        PagePictures::Screen => {
            &["--kiosk", "--ozone-platform=x11", "--window-position=0,0", "--deny-permission-prompts"]
        }
        PagePictures::Protocol => &["--headless=new"],
    }
}

/// Builds the command line. The features turned off would contact servers, ask first-run questions, or draw over the
/// page.
fn command(program: &str, home: &str, options: &LaunchOptions) -> Command {
    let mut argv: Vec<String> = [
        // Chromium reads and writes its debugging pipe at the descriptors 3 and 4, which are one socket here. It announces its port
        // on standard error; only standard output is read.
        "sh",
        "-c",
        "exec \"$@\" 3<&0 4>&0 </dev/null 2>&1",
        "sh",
        program,
        "--no-first-run",
        "--no-default-browser-check",
        "--no-pings",
        "--password-store=basic",
        "--disable-background-networking",
        "--disable-background-timer-throttling",
        "--disable-backgrounding-occluded-windows",
        "--disable-breakpad",
        "--disable-component-update",
        "--disable-default-apps",
        "--disable-gpu",
        "--disable-renderer-backgrounding",
        "--disable-search-engine-choice-screen",
        "--disable-smooth-scrolling",
        "--disable-sync",
        // Without the last two, Chromium 156 prepares the suggestions of an address bar that is never shown, which is
        // about half of the processor time of its start.
        "--disable-features=Translate,MediaRouter,OptimizationHints,PaintHolding,WebUIOmniboxPopup,WebUIOmniboxAimPopup",
        "--force-color-profile=srgb",
        "--hide-crash-restore-bubble",
        "--lang=en-US",
        "--mute-audio",
    ]
    .map(str::to_owned)
    .into();
    argv.extend(surface(options.pictures).iter().map(|flag| (*flag).to_owned()));
    argv.push(format!("--remote-debugging-port={PORT}"));
    argv.push("--remote-debugging-pipe=cbor".to_owned());
    // The profile's default place, where setup steps and checks expect bookmarks and preferences.
    argv.push(format!("--user-data-dir={home}/.config/chromium"));
    argv.push(format!("--window-size={},{}", options.size.width, options.size.height));
    if options.proxied {
        argv.push(format!("--proxy-server={PROXY}"));
    }
    if options.sandbox == BrowserSandbox::Off {
        argv.push("--no-sandbox".to_owned());
    }
    argv.push("about:blank".to_owned());
    let mut command = Command::new(argv).within(Duration::MAX);
    // Without a display, no accessibility service is on the buses, and Chromium aborts when a bus disconnects.
    command.env = [("DBUS_SESSION_BUS_ADDRESS", "disabled:"), ("NO_AT_BRIDGE", "1")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
    command
}

/// Starts Chromium and waits for its announcement. Returns the other end of its debugging pipe, too.
pub(super) async fn launch(
    cell: &Cell,
    program: &str,
    options: &LaunchOptions,
) -> Result<(Chromium, UnixStream), WorldError> {
    let command = command(program, &cell.machine().offers().home, options);
    let (mut child, pipe) = cell.spawn_on_socket(&command).await.map_err(|error| match error {
        MachineError::MissingProgram(_) => missing(program),
        other => start(format!("chromium was not started: {other}")),
    })?;
    let announced = tokio::time::timeout(START, await_announcement(child.as_mut())).await;
    match announced {
        Ok(Ok(Ok(()))) => {}
        Ok(Ok(Err(said))) => {
            let code = tokio::time::timeout(Duration::from_secs(5), child.wait()).await;
            let code = code.ok().and_then(Result::ok);
            return Err(if matches!(code, Some(126 | 127)) {
                missing(program)
            } else {
                start(format!("chromium ended before it was ready; it said: {said}{}", remedy(&said)))
            });
        }
        Ok(Err(error)) => return Err(start(format!("chromium's output could not be read: {error}"))),
        Err(_) => return Err(start(format!("chromium was not ready within {START:?}"))),
    }
    let output = tokio::spawn(async move {
        while let Ok(bytes) = child.read().await {
            if bytes.is_empty() {
                break;
            }
            tracing::trace!(output = %String::from_utf8_lossy(&bytes).trim_end(), "chromium");
        }
    });
    Ok((Chromium { output }, pipe))
}

/// Waits for the announcement. Returns the end of Chromium's output if it ended.
async fn await_announcement(child: &mut dyn ChildProcess) -> Result<Result<(), String>, MachineError> {
    let mut said = String::new();
    loop {
        let bytes = child.read().await?;
        if bytes.is_empty() {
            let from = said.len().saturating_sub(OUTPUT_LIMIT);
            let from = (from..said.len()).find(|at| said.is_char_boundary(*at)).unwrap_or(said.len());
            return Ok(Err(said[from..].trim().to_owned()));
        }
        said.push_str(&String::from_utf8_lossy(&bytes));
        // The last line may be incomplete.
        let whole = said.rfind('\n').map_or(0, |end| end + 1);
        if said[..whole].lines().any(|line| parse_endpoint(line).is_some()) {
            return Ok(Ok(()));
        }
    }
}

fn start(story: String) -> WorldError {
    WorldError::new(WorldErrorKind::Start, story)
}

/// Advice for the user when Chromium's own sandbox prevents the start.
fn remedy(said: &str) -> &'static str {
    if !said.contains("sandbox") {
        return "";
    }
    "; where neither root nor this system allows its sandbox, run as another user, allow user namespaces, use \
     isolated worlds, or set browser_sandbox to off knowingly"
}

fn missing(program: &str) -> WorldError {
    let story = format!(
        "{program} is not installed: install the package of this name, or set `browser_program` to a Chromium that is"
    );
    WorldError::new(WorldErrorKind::MissingProgram, story)
}
