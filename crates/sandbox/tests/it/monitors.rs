//! Several monitors: what the programs of a cell see of them, with the window manager and an editor as they are.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use apprentice_protocol::{Clock as _, Command, Machine, Monitors, Rect, ScreenPoint, Size, Window};
use apprentice_sandbox::{Cell, CellIsolation, CellSpec, Pointer, SystemClock};

use crate::cell::{shell, spec, state};

/// Longest wait for a window.
const DEADLINE: Duration = Duration::from_secs(30);

/// A cell with a screen.
async fn cell_with(state: &Path, screen: &str) -> Cell {
    let spec = CellSpec { screen: Some(screen.parse().expect("a screen")), ..spec(state) };
    Cell::start(&spec, Arc::new(SystemClock::new())).await.expect("a cell")
}

/// Waits until the one window is as expected.
async fn window(cell: &Cell, what: &str, holds: impl Fn(&Window) -> bool) -> Window {
    let (machine, clock) = (cell.machine(), SystemClock::new());
    let mut last = Vec::new();
    let begun = clock.mono();
    while clock.mono() - begun < DEADLINE {
        cell.on_screen(|screen, stop| screen.settle(stop)).await.expect("it settles");
        last = machine.windows().await.expect("windows");
        if let [window] = last.as_slice()
            && holds(window)
        {
            return window.clone();
        }
    }
    panic!("{what}: {last:?}");
}

async fn launch(machine: &dyn Machine, argv: &[&str]) {
    machine.launch(&Command::new(argv.iter().copied())).await.expect("launched");
}

/// The monitors as a toolkit sees them: GTK asks RandR for outputs.
async fn monitors_of_gtk(machine: &dyn Machine) -> String {
    let script = "import ctypes\n\
        gdk = ctypes.CDLL('libgdk-3.so.0')\n\
        for name in ['gdk_display_get_default', 'gdk_display_get_monitor']: getattr(gdk, name).restype = ctypes.c_void_p\n\
        gdk.gdk_init_check(None, None)\n\
        display = ctypes.c_void_p(gdk.gdk_display_get_default())\n\
        for at in range(gdk.gdk_display_get_n_monitors(display)):\n    \
        place = (ctypes.c_int * 4)()\n    \
        gdk.gdk_monitor_get_geometry(ctypes.c_void_p(gdk.gdk_display_get_monitor(display, at)), place)\n    \
        print(*place)";
    let output = machine.run(&Command::new(["python3", "-c", script])).await.expect("runs");
    output.stdout_text()
}

#[tokio::test]
async fn programs_see_each_monitor_and_the_window_manager_keeps_to_one() {
    let state = state();
    let cell = cell_with(state.path(), "1024x768+800x600").await;
    let machine = cell.machine();
    assert_eq!(machine.offers().screen, Some(Size::new(1824, 768)));
    let picture = machine.screenshot().await.expect("a picture");
    assert_eq!(picture.size, Size::new(1824, 768));
    assert_eq!(monitors_of_gtk(&*machine).await, "0 0 1024 768\n1024 0 800 600\n");
    launch(&*machine, &["mousepad", "--disable-server"]).await;
    let placed = window(&cell, "a window", |_| true).await;
    // Two monitors over, and back: each time it fills the monitor that it is on.
    for (left, monitor) in [(1100, Rect::new(1024, 0, 800, 600)), (50, Rect::new(0, 0, 1024, 768))] {
        shell(&*machine, &format!("wmctrl -r :ACTIVE: -e 0,{left},50,400,300")).await;
        window(&cell, "moved", |window| monitor.contains(window.bounds.centre().expect("a place"))).await;
        shell(&*machine, "wmctrl -r :ACTIVE: -b add,maximized_vert,maximized_horz").await;
        let filled = |window: &Window| {
            let title = monitor.height - window.bounds.height;
            (window.bounds.x, window.bounds.width) == (monitor.x, monitor.width) && (1..60).contains(&title)
        };
        window(&cell, "maximised", filled).await;
        shell(&*machine, "wmctrl -r :ACTIVE: -b remove,maximized_vert,maximized_horz").await;
        window(&cell, "as before", |window| window.bounds.width < monitor.width).await;
        shell(&*machine, "wmctrl -r :ACTIVE: -b add,fullscreen").await;
        window(&cell, "full screen", |window| window.bounds == monitor).await;
        shell(&*machine, "wmctrl -r :ACTIVE: -b remove,fullscreen").await;
        window(&cell, "as before", |window| window.bounds != monitor).await;
    }
    assert_eq!(placed.title, "Untitled 1 - Mousepad");
    cell.close(Duration::from_secs(5)).await.expect("closes");
}

#[tokio::test]
async fn the_pointer_reaches_each_pixel_of_a_monitor_and_none_below() {
    let state = state();
    let text = "640x480+801x333+128x128";
    let (cell, screen) = (cell_with(state.path(), text).await, text.parse::<Monitors>().expect("a screen"));
    let corners = [(639, 479), (640, 0), (1440, 332), (1568, 127)];
    let below = [(1000, 400), (1500, 200), (1568, 479)];
    for (to, is_shown) in corners.map(|to| (to, true)).into_iter().chain(below.map(|to| (to, false))) {
        let to = ScreenPoint::new(to.0, to.1);
        let at = cell.on_screen(move |screen, stop| {
            screen.use_pointer(Some(to), &Pointer::Move, stop)?;
            screen.pointer()
        });
        let at = at.await.expect("moved");
        // The display itself keeps it on a monitor.
        assert!(if is_shown { at == to } else { screen.show(at) }, "{to:?}: {at:?}");
    }
    cell.close(Duration::from_secs(5)).await.expect("closes");
}

#[tokio::test]
async fn one_monitor_is_shown_as_ever_and_sixteen_are_shown() {
    let sixteen = ["131x128"; 16].join("+");
    let several: String = (0..16).map(|number| format!("{} 0 131 128\n", number * 131)).collect();
    for (screen, server, other, monitors) in
        [("800x600", "Xvfb", "Xorg", "0 0 800 600\n"), (&sixteen, "Xorg", "Xvfb", &several)]
    {
        let state = state();
        let cell = cell_with(state.path(), screen).await;
        let machine = cell.machine();
        assert_eq!(
            shell(&*machine, &format!("pgrep -x {server} | wc -l; pgrep -x {other} | wc -l")).await,
            "1\n0"
        );
        assert_eq!(monitors_of_gtk(&*machine).await, monitors);
        cell.close(Duration::from_secs(5)).await.expect("closes");
    }
}

#[tokio::test]
async fn without_namespaces_too_and_no_display_is_left() {
    let state = state();
    let screen = Some("640x480+128x128".parse().expect("a screen"));
    let spec = CellSpec { screen, isolation: CellIsolation::Plain, ..spec(state.path()) };
    let cell = Cell::start(&spec, Arc::new(SystemClock::new())).await.expect("a cell");
    let machine = cell.machine();
    assert_eq!(monitors_of_gtk(&*machine).await, "0 0 640 480\n640 0 128 128\n");
    // Its configuration, which its command line names, lies below the state.
    let mine = format!("Xorg -config {}", state.path().display());
    let count =
        || std::process::Command::new("pgrep").args(["-c", "-f", &mine]).output().expect("counts").stdout;
    assert_eq!(count(), b"1\n");
    cell.close(Duration::from_secs(5)).await.expect("closes");
    assert_eq!(count(), b"0\n");
}
