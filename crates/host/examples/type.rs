//! Types a line into the window in the middle of the user's own desktop, and saves a screenshot.
//!
//! `cargo run -p apprentice-host --example type -- "some text" picture.png`

use std::sync::Arc;
use std::time::Duration;

use apprentice_host::{HostSource, STOP_KEY};
use apprentice_protocol::{
    Action, BoxFuture, Button, Clock, EnvironmentKind, EnvironmentSource as _, ScreenPoint, Size, Target,
    Want, Why, WorldSpec,
};

/// A clock for the example, which never pauses.
struct NoClock;

impl Clock for NoClock {
    fn now(&self) -> jiff::Timestamp {
        jiff::Timestamp::UNIX_EPOCH
    }

    fn mono(&self) -> Duration {
        Duration::ZERO
    }

    fn pause(&self, _: Duration, _: Why) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

#[tokio::main(flavor = "current_thread")]
#[expect(clippy::print_stdout, reason = "an example is a command line of its own")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (text, path) =
        (arguments.next().unwrap_or_default(), arguments.next().unwrap_or("screen.png".into()));
    println!("hold {STOP_KEY} to stop");
    let source = HostSource::new(Arc::new(NoClock), Arc::new(|| println!("stopped")));
    let spec = WorldSpec::new(EnvironmentKind::Host, Size::new(0, 0));
    let mut world = source.open(&spec).await?;
    let size = world.machine.offers().screen.ok_or("no screen")?;
    let middle = ScreenPoint::new(size.width.cast_signed() / 2, size.height.cast_signed() / 2);
    let click = Action::Click { at: Target::Point(middle), button: Button::Left, count: 1, hold: None };
    for action in [click, Action::Type { text }] {
        println!("{:?}", world.environment.act(&action).await?);
    }
    let seen = world.environment.observe(Want { screenshot: true, tree: None }).await?;
    if let Some(picture) = seen.screenshot {
        std::fs::write(&path, &picture.bytes.0)?;
        println!("{path}: {:?}", picture.size);
    }
    Ok(())
}
