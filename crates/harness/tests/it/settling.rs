//! A view comes after the answers of a program, whatever its own clock does: a program whose timers end without effect after each
//! click, and some after which it answers.

use std::time::Duration;

use apprentice_protocol::{Clock as _, Command, ScreenPoint, Target, TreeBudget, Want, Why, World};
use apprentice_sandbox::SystemClock;

use crate::cell::state;
use crate::desktop::{click, close, deliver, key, launch, open};

/// A window of four places to click at, each of which sets timers: `idle` does nothing after 60 ms, and the others answer after a time
/// of their own. Each answer counts. A key is answered after 60 ms.
const PROGRAM: &str = r#"
import gi
gi.require_version('Gtk', '3.0')
from gi.repository import GLib, Gtk
window = Gtk.Window(title='clocks')
window.set_default_size(640, 480)
rows, told, count = Gtk.Box(orientation=Gtk.Orientation.VERTICAL), Gtk.Label(label='0 answers'), 0
def answer():
    global count
    count += 1
    told.set_text(f'{count} answers')
def later(ms, act):
    GLib.timeout_add(ms, lambda: act() and False)
for name, ms in (('idle', 60), ('soon', 60), ('later', 200), ('last', 320)):
    place = Gtk.EventBox()
    place.add(Gtk.Label(label=name))
    act = (lambda: None) if name == 'idle' else answer
    place.connect('button-press-event', lambda *_, ms=ms, act=act: later(ms, act))
    rows.pack_start(place, True, True, 0)
rows.pack_start(told, True, True, 0)
window.add(rows)
window.connect('key-press-event', lambda *_: later(60, answer))
window.show_all()
Gtk.main()
"#;

/// The answers that the first view after an act shows.
async fn answers(world: &mut World) -> String {
    let want = Want { screenshot: false, tree: Some(TreeBudget::default()) };
    let seen = world.environment.observe(want).await.expect("the world stands");
    let nodes = seen.tree.map(|tree| tree.nodes).unwrap_or_default();
    let told = nodes.into_iter().find(|node| node.name.ends_with(" answers"));
    told.map(|node| node.name).unwrap_or_default()
}

#[tokio::test]
async fn no_answer_is_taken_for_a_clock_that_is_known() {
    let state = state();
    let mut world = open(state.path()).await;
    world.machine.write("clocks.py", PROGRAM.as_bytes()).await.expect("written");
    let python =
        world.machine.run(&Command::new(["/usr/bin/python3", "-c", "import gi"])).await.expect("ran");
    if python.code != 0 {
        println!("skipped: Python cannot use GTK 3");
        return close(world).await;
    }
    let seen = launch(&mut world, &["/usr/bin/python3", "clocks.py"], "clocks").await;
    let at = |name: &str| -> ScreenPoint {
        let nodes = seen.tree.iter().flat_map(|tree| &tree.nodes);
        let place = nodes.into_iter().find(|node| node.name == name).and_then(|node| node.bounds);
        place.and_then(|place| place.centre()).expect("a place")
    };
    let mut expected = 0;
    for round in 0..4 {
        for _ in 0..3 {
            deliver(&mut world, click(Target::Point(at("idle")))).await;
            assert_eq!(
                answers(&mut world).await,
                format!("{expected} answers"),
                "round {round}: nothing answers"
            );
        }
        for name in ["soon", "later", "last"] {
            deliver(&mut world, click(Target::Point(at(name)))).await;
            expected += 1;
            assert_eq!(answers(&mut world).await, format!("{expected} answers"), "round {round}: {name}");
        }
        deliver(&mut world, key("x")).await;
        expected += 1;
        assert_eq!(answers(&mut world).await, format!("{expected} answers"), "round {round}: a key");
    }
    close(world).await;
}

/// A window of one colour whose program works for as many seconds as it is told, and then draws; with no number, it draws when it is clicked.
const LOADING: &str = r#"
import gi, sys, time
gi.require_version('Gtk', '3.0')
from gi.repository import GLib, Gtk
window = Gtk.Window(title='loading')
window.set_default_size(640, 480)
window.show_all()
def draw(*_):
    window.add(Gtk.Label(label='loaded'))
    window.show_all()
def load():
    end = time.monotonic() + float(sys.argv[1])
    while time.monotonic() < end:
        pass
    draw()
if len(sys.argv) > 1:
    GLib.timeout_add(300, load)
else:
    window.add_events(1 << 8)
    window.connect('button-press-event', draw)
Gtk.main()
"#;

/// Longer than any wait for a screen that does not rest.
const LOADS_S: &str = "6";

/// What the next view says of a window of one colour, and whether it shows what is drawn in the end.
async fn look(world: &mut World) -> (Option<String>, bool) {
    let want = Want { screenshot: false, tree: Some(TreeBudget::default()) };
    let seen = world.environment.observe(want).await.expect("the world stands");
    let is_drawn = seen.tree.iter().flat_map(|tree| &tree.nodes).any(|node| node.name == "loaded");
    (seen.remarks.into_iter().find(|remark| remark.contains("of one colour")), is_drawn)
}

#[tokio::test]
async fn the_first_view_waits_for_a_window_of_one_colour_and_says_so_when_it_stays() {
    let state = state();
    for given in [&[LOADS_S][..], &[]] {
        let mut world = open(state.path()).await;
        let gtk =
            world.machine.run(&Command::new(["/usr/bin/python3", "-c", "import gi"])).await.expect("ran");
        if gtk.code != 0 {
            println!("skipped: Python cannot use GTK 3");
            return close(world).await;
        }
        world.machine.write("loading.py", LOADING.as_bytes()).await.expect("written");
        let words = ["/usr/bin/python3", "loading.py"].into_iter().chain(given.iter().copied());
        world.machine.launch(&Command::new(words)).await.expect("launched");
        let clock = SystemClock::new();
        while world.machine.windows().await.expect("listed").is_empty() {
            clock.pause(Duration::from_millis(20), Why::PollFloor).await;
        }
        let first = look(&mut world).await;
        if given.is_empty() {
            assert!(
                first.0.is_some_and(|said| said.contains("\"loading\"")) && !first.1,
                "it has drawn nothing"
            );
            deliver(&mut world, click(Target::Point(ScreenPoint::new(640, 400)))).await;
            assert_eq!(look(&mut world).await, (None, true), "it was clicked");
        } else {
            assert_eq!(first, (None, true), "it draws when it has loaded");
        }
        close(world).await;
    }
}
