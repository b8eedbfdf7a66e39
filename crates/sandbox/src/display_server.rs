//! The X server that shows a cell's screen.
//!
//! Xvfb shows a single monitor. It has one output, and programs look for each monitor's output (GTK passes over monitors of
//! RandR 1.5 that have none). So several monitors are shown by Xorg with its dummy driver, which has sixteen outputs.

use std::fmt::Write as _;
use std::io;
use std::ops::RangeInclusive;
use std::path::Path;

use apprentice_protocol::{Monitors, Size};

/// Where distributions keep Xorg itself. The `Xorg` of the search path may be a wrapper that only serves the console's user.
const XORG: [&str; 3] = ["/usr/lib/xorg/Xorg", "/usr/libexec/Xorg", "/usr/lib/Xorg"];
/// Where they keep its driver.
const DUMMY: [&str; 2] =
    ["/usr/lib/xorg/modules/drivers/dummy_drv.so", "/usr/lib64/xorg/modules/drivers/dummy_drv.so"];
/// Name of Xorg's configuration in the session's folder.
const CONFIGURATION: &str = "xorg.conf";
/// Pixels and lines of a mode beside those that are shown. Nothing is sent to a screen, so that any will do.
const BLANK: Size = Size::new(160, 30);
/// Frames per second of a mode. Programs draw at this rate.
const REFRESH: f64 = 60.0;
/// Clocks of modes that the driver takes, in MHz.
const CLOCK: RangeInclusive<f64> = 12.0..=300.0;
/// No devices of the machine are used, and the screen stays on.
const FLAGS: &str = r#"Section "ServerFlags"
  Option "AutoAddDevices" "false"
  Option "AutoEnableDevices" "false"
  Option "AutoAddGPU" "false"
  Option "AutoBindGPU" "false"
  Option "BlankTime" "0"
  Option "StandbyTime" "0"
  Option "SuspendTime" "0"
  Option "OffTime" "0"
EndSection
"#;

/// What must be installed: one of some files, by the packages to install otherwise.
pub(super) struct Requirement {
    /// What it is called.
    pub(super) name: &'static str,
    /// Names of programs, or paths.
    pub(super) any_of: &'static [&'static str],
    pub(super) package: &'static str,
}

/// The program that shows a screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DisplayServer {
    /// For a single monitor.
    Xvfb,
    /// For several monitors.
    Xorg,
}

impl DisplayServer {
    /// Returns the server for a screen.
    pub(super) fn of(screen: &Monitors) -> Self {
        if screen.several().is_empty() { Self::Xvfb } else { Self::Xorg }
    }

    /// Its name in messages.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Xvfb => "the display (Xvfb)",
            Self::Xorg => "the display (Xorg)",
        }
    }

    /// What must be installed for it.
    pub(super) fn requirements(self) -> &'static [Requirement] {
        match self {
            Self::Xvfb => &[Requirement { name: "program Xvfb", any_of: &["Xvfb"], package: "xvfb" }],
            Self::Xorg => &[
                Requirement {
                    name: "program Xorg (needed for several monitors)",
                    any_of: &XORG,
                    package: "xserver-xorg-core",
                },
                Requirement {
                    name: "the dummy driver of Xorg (needed for several monitors)",
                    any_of: &DUMMY,
                    package: "xserver-xorg-video-dummy",
                },
            ],
        }
    }

    /// Returns the command that starts it, without the display's number. Its configuration is written to the folder.
    pub(super) fn command(self, screen: &Monitors, folder: &Path) -> io::Result<Vec<String>> {
        match self {
            Self::Xvfb => {
                let Size { width, height } = screen.screen();
                Ok(["Xvfb", "-screen", "0", &format!("{width}x{height}x24")].map(String::from).to_vec())
            }
            Self::Xorg => {
                let path = folder.join(CONFIGURATION);
                std::fs::write(&path, configuration(screen))?;
                let server = XORG.into_iter().find(|path| Path::new(path).is_file()).unwrap_or("Xorg");
                let path = path.to_string_lossy();
                // Its log would go to the user's home.
                Ok([server, "-config", &path, "-logfile", "/dev/null", "-verbose", "0"]
                    .map(String::from)
                    .to_vec())
            }
        }
    }
}

/// Xorg's configuration: an output for each monitor, and no devices of the machine.
fn configuration(screen: &Monitors) -> String {
    let mut text = String::from(FLAGS);
    let whole = screen.screen();
    // In KiB. The driver wants a little more than the picture.
    let memory = u64::from(whole.width) * u64::from(whole.height) * 4 / 1024 + 1024;
    let _ = write!(
        text,
        "Section \"Device\"\n  Identifier \"device\"\n  Driver \"dummy\"\n  VideoRam {memory}\n"
    );
    let areas = screen.areas();
    for index in 0..areas.len() {
        let _ = writeln!(text, "  Option \"Monitor-DUMMY{index}\" \"monitor {}\"", index + 1);
    }
    text.push_str("EndSection\n");
    for (index, area) in areas.iter().enumerate() {
        let size = Size::new(area.width.cast_unsigned(), area.height.cast_unsigned());
        let place =
            format!("  Option \"Position\" \"{} {}\"\n  Option \"Enable\" \"true\"\n", area.x, area.y);
        text.push_str(&monitor(&format!("monitor {}", index + 1), size, &place));
    }
    // The driver refuses to start without a mode for the whole screen, which no output uses.
    text.push_str(&monitor("whole", whole, ""));
    let Size { width, height } = whole;
    let _ = write!(
        text,
        "Section \"Screen\"\n\
         \x20 Identifier \"screen\"\n\
         \x20 Device \"device\"\n\
         \x20 Monitor \"whole\"\n\
         \x20 DefaultDepth 24\n\
         \x20 SubSection \"Display\"\n\
         \x20   Depth 24\n\
         \x20   Virtual {width} {height}\n\
         \x20 EndSubSection\n\
         EndSection\n"
    );
    text
}

fn monitor(name: &str, size: Size, more: &str) -> String {
    let Size { width, height } = size;
    format!(
        "Section \"Monitor\"\n\
         \x20 Identifier \"{name}\"\n\
         \x20 HorizSync 0.1-100000\n\
         \x20 VertRefresh 0.1-10000\n\
         \x20 Modeline {}\n\
         \x20 Option \"PreferredMode\" \"{width}x{height}\"\n\
         {more}EndSection\n",
        mode(size),
    )
}

/// A mode: its name, its clock in MHz, and where the parts of a line and of a frame end.
fn mode(size: Size) -> String {
    let Size { width, height } = size;
    let (line, frame) = (width + BLANK.width, height + BLANK.height);
    let clock = (f64::from(line) * f64::from(frame) * REFRESH / 1e6).clamp(*CLOCK.start(), *CLOCK.end());
    format!(
        "\"{width}x{height}\" {clock:.2} {width} {} {} {line} {height} {} {} {frame}",
        width + 40,
        width + 80,
        height + 3,
        height + 8,
    )
}

#[cfg(test)]
mod tests {
    use super::{DisplayServer, configuration};

    #[test]
    fn several_monitors_are_outputs_of_xorg() {
        let screen = "800x600+640x480".parse().expect("monitors");
        assert_eq!(DisplayServer::of(&screen), DisplayServer::Xorg);
        insta::assert_snapshot!(configuration(&screen));
    }

    #[test]
    fn one_monitor_is_shown_by_xvfb() {
        let screen = "800x600".parse().expect("a monitor");
        let server = DisplayServer::of(&screen);
        let command = server.command(&screen, std::path::Path::new("/nowhere")).expect("no file is written");
        assert_eq!(command.join(" "), "Xvfb -screen 0 800x600x24");
    }
}
