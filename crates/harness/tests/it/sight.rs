//! What pictures of a desktop hold: the pointer, and texts that are read from them.

use apprentice_harness::env::desktop::Sight;
use apprentice_pixels::{Frame, decode_png, diff};
use apprentice_protocol::{Action, Command, Observation, ScreenPoint, Target, TreeBudget, Want, World};

use crate::cell::state;
use crate::desktop::{click, close, deliver, open_seeing, until_within};
use crate::trees::is_installed;

async fn picture(world: &mut World) -> Frame {
    let seen =
        world.environment.observe(Want { screenshot: true, tree: None }).await.expect("the world stands");
    decode_png(&seen.screenshot.expect("a picture").bytes.0).expect("a PNG")
}

async fn move_to(world: &mut World, x: i32, y: i32) -> Frame {
    deliver(world, Action::Move { to: Target::Point(ScreenPoint::new(x, y)) }).await;
    picture(world).await
}

#[tokio::test]
async fn the_pointer_is_in_the_picture_where_it_is_and_nowhere_else() {
    let state = state();
    let mut world = open_seeing(state.path(), Sight { pointer: true, ocr: false }).await;
    let (here, there) = (move_to(&mut world, 300, 200).await, move_to(&mut world, 700, 500).await);
    let area = diff(&here, &there).expect("two places differ");
    assert!(area.x <= 300 && area.y <= 200, "{area:?}");
    assert!(area.x + area.width > 700 && area.y + area.height > 500, "{area:?}");
    assert!(area.width < 480 && area.height < 380, "the pointer is small: {area:?}");
    close(world).await;
    let mut world = open_seeing(state.path(), Sight::default()).await;
    let (here, there) = (move_to(&mut world, 300, 200).await, move_to(&mut world, 700, 500).await);
    assert_eq!(diff(&here, &there), None, "it is left out");
    close(world).await;
}

#[tokio::test]
async fn a_window_without_elements_is_read_from_its_picture_and_can_be_clicked() {
    if !is_installed("tesseract") || !is_installed("xmessage") {
        println!("skipped: tesseract or xmessage is not installed");
        return;
    }
    let state = state();
    let mut world = open_seeing(state.path(), Sight { pointer: true, ocr: true }).await;
    let shown = [
        "xmessage",
        "-fn",
        "-*-helvetica-bold-r-*-*-24-*-*-*-*-*-*-*",
        // Tesseract does not read a word within a frame or an oval.
        "-xrm",
        "*Command.shapeStyle: Rectangle",
        "-xrm",
        "*Command.borderWidth: 0",
        "-buttons",
        "Agree:7",
        "Welcome to the archive",
    ];
    world.machine.launch(&Command::new(shown)).await.expect("launched");
    let read = |seen: &Observation, text: &str| {
        let mut nodes = seen.tree.iter().flat_map(|tree| &tree.nodes);
        nodes.find(|node| node.role.as_str() == "~text" && node.name.contains(text)).cloned()
    };
    let seen = until_within(&mut world, TreeBudget::default(), "what was read", |seen| {
        read(seen, "Welcome").is_some()
    })
    .await;
    assert!(seen.remarks.iter().any(|remark| remark.contains("~text")), "{:?}", seen.remarks);
    let button = read(&seen, "Agree").expect("the button");
    deliver(&mut world, click(Target::Ref(button.id))).await;
    let is_closed = |seen: &Observation| !seen.windows.iter().any(|window| window.class == "Xmessage");
    until_within(&mut world, TreeBudget::default(), "the end of the window", is_closed).await;
    close(world).await;
}

/// A window with two pictures of texts around a field.
const TWO_PICTURES: &str = r#"
import gi
gi.require_version("Gtk", "3.0")
from gi.repository import GdkPixbuf, Gtk

def picture(text):
    with open("picture.svg", "w") as file:
        file.write('<svg xmlns="http://www.w3.org/2000/svg" width="360" height="80"><rect width="360" height="80" fill="white"/>'
            f'<text x="20" y="50" font-size="26" font-family="DejaVu Sans">{text}</text></svg>')
    return Gtk.Image.new_from_pixbuf(GdkPixbuf.Pixbuf.new_from_file("picture.svg"))

window = Gtk.Window(title="Two pictures")
box = Gtk.Box(orientation=Gtk.Orientation.VERTICAL, spacing=40)
for part in (picture("Harbour map"), Gtk.Entry(text="a field"), picture("Garden plan")):
    box.add(part)
window.add(box)
window.show_all()
Gtk.main()
"#;

#[tokio::test]
async fn each_part_that_draws_and_lists_nothing_is_read() {
    let state = state();
    let mut world = open_seeing(state.path(), Sight { pointer: true, ocr: true }).await;
    let check = "import gi; gi.require_version('Gtk', '3.0'); from gi.repository import Gtk";
    let has_gtk = world.machine.run(&Command::new(["python3", "-c", check])).await.expect("it ran");
    if !is_installed("tesseract") || has_gtk.code != 0 {
        println!("skipped: tesseract or GTK for Python is not installed");
        return close(world).await;
    }
    world.machine.write("two.py", TWO_PICTURES.as_bytes()).await.expect("written");
    world.machine.launch(&Command::new(["python3", "two.py"])).await.expect("launched");
    let below = |seen: &Observation, text: &str| {
        let tree = seen.tree.as_ref()?;
        let line =
            tree.nodes.iter().find(|node| node.role.as_str() == "~text" && node.name.contains(text))?;
        let holder = tree.nodes.get(usize::try_from(line.parent?).ok()?)?;
        (holder.role.as_str() == "canvas").then(|| holder.id.clone())
    };
    let both = |seen: &Observation| below(seen, "Harbour").is_some() && below(seen, "Garden").is_some();
    let seen = until_within(&mut world, TreeBudget::default(), "both texts", both).await;
    assert_ne!(below(&seen, "Harbour"), below(&seen, "Garden"), "each below its own part");
    close(world).await;
}
