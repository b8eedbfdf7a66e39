//! Setup steps that wait for windows, activate them and close them.

use std::time::Duration;

use apprentice_protocol::{Clock, Command, Machine, MachineError, Why, Window};

use super::context::{SetupContext, SetupPhase};
use super::error::StepError;
use super::step::{AwaitedWindow, WindowChoice};

pub(super) const POLL_FLOOR: Duration = Duration::from_millis(50);
/// The maximum time to wait for a program to end.
pub(super) const CLOSE_DEADLINE: Duration = Duration::from_secs(10);
pub(super) const WINDOW_DEADLINE: Duration = Duration::from_secs(120);
/// How long a program that is started alone may take to open its first window.
const ANY_WINDOW_DEADLINE: Duration = Duration::from_secs(30);
/// If the set of windows does not change for this long, a window that a step only activates is considered absent. A
/// window that a step has just requested gets the full deadline: programs start slowly on a busy machine.
const NO_CHANGE_TIMEOUT: Duration = Duration::from_secs(45);
/// Most names of an awaited window that an error names.
const SAID: usize = 3;
/// The deadline after an attempt, when the model may have closed the window.
const LATE_WINDOW_DEADLINE: Duration = Duration::from_secs(3);

pub(super) async fn activate(context: &SetupContext<'_>, choice: &WindowChoice) -> Result<(), StepError> {
    let wanted = |window: &Window| matches(window, choice);
    let within = match context.phase {
        SetupPhase::Start => WINDOW_DEADLINE,
        SetupPhase::Grade => LATE_WINDOW_DEADLINE,
    };
    match (await_window(context, wanted, &choice.window_name, within, NO_CHANGE_TIMEOUT).await, context.phase)
    {
        (Ok(window), _) => run_wmctrl(context, "-a", &window).await,
        (Err(StepError::NoWindow(..)), SetupPhase::Grade) => Ok(()),
        (Err(error), _) => Err(error),
    }
}

/// Waits until a window is open that is more than a splash screen.
pub(super) async fn await_one_of(
    context: &SetupContext<'_>,
    awaited: &AwaitedWindow,
) -> Result<(), StepError> {
    let name = awaited.names.iter().take(SAID).cloned().collect::<Vec<_>>().join(" or ");
    let fits = |window: &Window| fits(window, awaited);
    await_window(context, fits, &name, WINDOW_DEADLINE, WINDOW_DEADLINE).await.map(|_| ())
}

fn fits(window: &Window, awaited: &AwaitedWindow) -> bool {
    let text = format!("{}\n{}", window.title, window.class).to_lowercase();
    let is_named =
        awaited.names.is_empty() || awaited.names.iter().any(|name| text.contains(&name.to_lowercase()));
    let (width, height) = awaited.size;
    is_named && window.bounds.width >= width && window.bounds.height >= height && !is_splash(window)
}

/// Returns whether a window is only a splash screen.
pub(super) fn is_splash(window: &Window) -> bool {
    window.title.is_empty() || window.title == "GIMP Startup"
}

/// Closes a window and waits until it and, if it was the program's last window, the program are gone: programs
/// write their settings on exit.
pub(super) async fn close(context: &SetupContext<'_>, choice: &WindowChoice) -> Result<(), StepError> {
    let windows = context.machine.windows().await?;
    let Some(window) = windows.into_iter().find(|window| matches(window, choice)) else { return Ok(()) };
    run_wmctrl(context, "-c", &window).await?;
    let deadline = context.clock.mono() + CLOSE_DEADLINE;
    while context.clock.mono() < deadline {
        let still = context.machine.windows().await?.iter().any(|open| open.id == window.id);
        if !still && !process_outlives_windows(context.machine, &window).await? {
            break;
        }
        context.clock.pause(POLL_FLOOR, Why::PollFloor).await;
    }
    Ok(())
}

async fn process_outlives_windows(machine: &dyn Machine, window: &Window) -> Result<bool, MachineError> {
    let Some(pid) = window.pid else { return Ok(false) };
    if machine.windows().await?.iter().any(|open| open.pid == Some(pid)) {
        return Ok(false);
    }
    let output = machine.run(&Command::new(["test", "-d", &format!("/proc/{pid}")])).await?;
    Ok(output.code == 0)
}

/// Waits for a window, at most `within`; gives up earlier when the windows have not changed for `unchanged`.
pub(super) async fn await_window(
    context: &SetupContext<'_>,
    wanted: impl Fn(&Window) -> bool,
    name: &str,
    within: Duration,
    unchanged: Duration,
) -> Result<Window, StepError> {
    let begun = context.clock.mono();
    let (mut before, mut changed) = (Vec::new(), begun);
    loop {
        let windows = context.machine.windows().await?;
        let titles: Vec<String> = windows.iter().map(|window| format!("{:?}", window.title)).collect();
        if let Some(window) = windows.into_iter().find(|window| wanted(window)) {
            return Ok(window);
        }
        let now = context.clock.mono();
        if titles != before {
            (before, changed) = (titles, now);
        }
        if now - begun >= within || now - changed >= unchanged {
            return Err(StepError::NoWindow(name.to_owned(), before.join(", ")));
        }
        context.clock.pause(POLL_FLOOR, Why::PollFloor).await;
    }
}

/// Waits until any window is open, at most 30 s; returns whether one is.
///
/// # Errors
///
/// Fails if the machine lists no windows, or is lost.
pub async fn await_any_window(machine: &dyn Machine, clock: &dyn Clock) -> Result<bool, MachineError> {
    let deadline = clock.mono() + ANY_WINDOW_DEADLINE;
    while clock.mono() < deadline {
        if !machine.windows().await?.is_empty() {
            return Ok(true);
        }
        clock.pause(POLL_FLOOR, Why::PollFloor).await;
    }
    Ok(false)
}

pub(super) fn names(window: &Window, name: &str) -> bool {
    window.title.contains(name) || window.class.to_lowercase().contains(&name.to_lowercase())
}

/// Returns whether a browser shows a new page. Browsers title their windows after the document, not after its file name.
pub(super) fn shows_by_own_title(window: &Window, before: &[Window]) -> bool {
    const BLANK: [&str; 3] = ["", "New Tab", "Untitled"];
    let Some(page) = window.title.strip_suffix(" - Chromium") else { return false };
    !BLANK.contains(&page) && !before.iter().any(|old| old.id == window.id && old.title == window.title)
}

fn matches(window: &Window, choice: &WindowChoice) -> bool {
    let text = if choice.by_class { &window.class } else { &window.title };
    let fits = |name: &str| {
        // Window tools write a class as `instance.class`.
        let behind = choice.by_class && name.strip_suffix(text).is_some_and(|rest| rest.ends_with('.'));
        let whole = text == name || behind;
        whole || !choice.strict && text.to_lowercase().contains(&name.to_lowercase())
    };
    let name = &choice.window_name;
    // A cell's browser is Chromium, which uses its own name in window titles. Debian's Thunderbird appends its
    // default profile's name to its class.
    let mail = choice.by_class && name.ends_with("thunderbird");
    fits(name) || fits(&name.replace("Google Chrome", "Chromium")) || mail && fits(&format!("{name}-default"))
}

pub(super) async fn run_wmctrl(
    context: &SetupContext<'_>,
    how: &str,
    window: &Window,
) -> Result<(), StepError> {
    context.machine.run(&Command::new(["wmctrl", "-i", how, &window.id])).await?;
    Ok(())
}

pub(super) async fn window_ids(machine: &dyn Machine) -> Result<Vec<String>, StepError> {
    match machine.windows().await {
        Ok(windows) => Ok(windows.into_iter().map(|window| window.id).collect()),
        Err(MachineError::Unsupported(_)) => Ok(Vec::new()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::{Rect, Window};

    use super::super::step::{AwaitedWindow, WindowChoice};
    use super::{fits, matches, shows_by_own_title};

    fn check(choice: (&str, bool, bool), expected: bool) {
        check_of("Google-chrome", choice, expected);
    }

    fn check_of(class: &str, choice: (&str, bool, bool), expected: bool) {
        let window = Window {
            id: "0x1".into(),
            title: "New Tab - Chromium".into(),
            class: class.into(),
            bounds: Rect::new(0, 0, 9, 9),
            active: false,
            pid: None,
        };
        let (name, strict, by_class) = choice;
        let choice = WindowChoice { window_name: name.into(), strict, by_class };
        assert_eq!(matches(&window, &choice), expected, "{choice:?}");
    }

    #[test]
    fn a_browser_shows_what_it_did_not_show_before() {
        let window = |id: &str, title: &str| Window {
            id: id.into(),
            title: title.into(),
            class: "Chromium".into(),
            bounds: Rect::new(0, 0, 9, 9),
            active: false,
            pid: None,
        };
        let before = [window("1", "Mail - Chromium"), window("2", "a.txt - Mousepad")];
        for (shown, expected) in [
            (window("1", "Mail - Chromium"), false),
            (window("1", "A Title - Chromium"), true),
            (window("3", "Mail - Chromium"), true),
            (window("3", "New Tab - Chromium"), false),
            (window("3", "Chromium"), false),
            (window("3", "b.txt - Mousepad"), false),
        ] {
            assert_eq!(shows_by_own_title(&shown, &before), expected, "{}", shown.title);
        }
    }

    #[test]
    fn windows_are_named_as_tasks_name_them() {
        check(("new tab", false, false), true);
        check(("new tab", true, false), false);
        check(("Google Chrome", false, false), true);
        check(("New Tab - Google Chrome", true, false), true);
        check(("google-chrome.Google-chrome", true, true), true);
        check(("chrome.chrome", true, true), false);
        check(("chrome", false, true), true);
        check(("Mousepad", false, false), false);
        for class in ["thunderbird", "thunderbird-default"] {
            check_of(class, ("Mail.thunderbird", true, true), true);
            check_of(class, ("Mail.thunderbird", true, false), false);
            check_of(class, ("Mail.thunder", true, true), false);
        }
        check_of("thunderbird-beta", ("Mail.thunderbird", true, true), false);
    }

    #[test]
    fn an_awaited_window_is_named_large_enough_and_no_splash() {
        let window = |title: &str, class: &str, width: i32| Window {
            id: "0x1".into(),
            title: title.into(),
            class: class.into(),
            bounds: Rect::new(0, 0, width, 200),
            active: false,
            pid: None,
        };
        let names = vec!["Free CAD".to_owned(), "freecad".to_owned()];
        let awaited = AwaitedWindow { names, size: (200, 120) };
        for (shown, expected) in [
            (window("part.FCStd", "FreeCAD", 200), true),
            (window("A free cad program", "x", 300), true),
            (window("part.FCStd", "FreeCAD", 199), false),
            (window("", "FreeCAD", 300), false),
            (window("Terminal", "xterm", 300), false),
        ] {
            assert_eq!(fits(&shown, &awaited), expected, "{shown:?}");
        }
        let any = AwaitedWindow { names: Vec::new(), size: (0, 0) };
        assert!(fits(&window("Terminal", "xterm", 1), &any));
    }
}
