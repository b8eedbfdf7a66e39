//! Worlds that were started ahead of time. Each is handed out once, and a world that was used is never kept.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use apprentice_protocol::{
    BoxFuture, Delivery, EnvironmentSource, Want, World, WorldError, WorldErrorKind, WorldSpec,
};

/// How long a waiting world may take to show that it still works.
const CHECK: Duration = Duration::from_secs(5);
/// Deadline for closing a world that nobody gets.
const CLOSE: Duration = Duration::from_secs(10);

/// Says whether a world may be started that nobody has asked for yet.
pub type Headroom = dyn Fn() -> bool + Send + Sync;

/// Opens worlds through another source. Whenever a world is opened, one more of its kind is started for whoever asks next.
///
/// Worlds are of one kind when they differ in their first page alone, which is opened when a world is handed out.
pub struct WarmPool {
    shared: Arc<Shared>,
}

struct Shared {
    source: Arc<dyn EnvironmentSource>,
    /// Most worlds that wait.
    most: usize,
    headroom: Box<Headroom>,
    waiting: Mutex<Waiting>,
}

/// The worlds that wait, oldest first, and the number of those that are being started.
#[derive(Default)]
struct Waiting {
    ready: Vec<ReadyWorld>,
    starting: usize,
}

struct ReadyWorld {
    kind: WorldSpec,
    world: World,
}

impl WarmPool {
    /// Creates a pool of at most `most` waiting worlds, which are started while there is headroom.
    pub fn new(source: Arc<dyn EnvironmentSource>, most: usize, headroom: Box<Headroom>) -> Self {
        Self { shared: Arc::new(Shared { source, most, headroom, waiting: Mutex::default() }) }
    }
}

impl EnvironmentSource for WarmPool {
    fn open<'a>(&'a self, spec: &'a WorldSpec) -> BoxFuture<'a, Result<World, WorldError>> {
        Box::pin(async move {
            let kind = WorldSpec { url: None, ..spec.clone() };
            let opened = match self.shared.take_working(&kind).await {
                Some(world) => open_page(world, spec).await,
                None => self.shared.source.open(spec).await,
            };
            if opened.is_ok() {
                tokio::spawn(start_next(Arc::downgrade(&self.shared), kind));
            }
            opened
        })
    }

    fn concessions(&self) -> Vec<String> {
        self.shared.source.concessions()
    }
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a waiting world that still works, and closes those that broke.
    async fn take_working(&self, kind: &WorldSpec) -> Option<World> {
        loop {
            let mut world = self.waiting().take(kind)?;
            let seen = world.environment.observe(Want { screenshot: false, tree: None });
            if matches!(tokio::time::timeout(CHECK, seen).await, Ok(Ok(_))) {
                return Some(world);
            }
            tracing::debug!("a world that waited has broken");
            close(world).await;
        }
    }
}

/// Whether a world may be started, and at the cost of which other.
enum Place {
    None,
    Free,
    Of(World),
}

impl Waiting {
    fn take(&mut self, kind: &WorldSpec) -> Option<World> {
        let at = self.ready.iter().position(|ready| ready.kind == *kind)?;
        Some(self.ready.remove(at).world)
    }

    /// Reserves a place. Where all are taken, a kind of which none waits gets the place of the oldest world.
    fn reserve(&mut self, kind: &WorldSpec, most: usize) -> Place {
        let place = if self.ready.len() + self.starting < most {
            Place::Free
        } else if self.ready.is_empty() || self.ready.iter().any(|ready| ready.kind == *kind) {
            Place::None
        } else {
            Place::Of(self.ready.remove(0).world)
        };
        self.starting += usize::from(!matches!(place, Place::None));
        place
    }
}

/// Starts one world of a kind. If it does not start, whoever asks for one sees the error.
async fn start_next(pool: Weak<Shared>, kind: WorldSpec) {
    let Some(shared) = pool.upgrade() else { return };
    if !(shared.headroom)() {
        return;
    }
    let place = shared.waiting().reserve(&kind, shared.most);
    match place {
        Place::None => return,
        Place::Free => {}
        Place::Of(world) => close(world).await,
    }
    let opened = shared.source.open(&kind).await;
    let mut waiting = shared.waiting();
    waiting.starting -= 1;
    match opened {
        Ok(world) => waiting.ready.push(ReadyWorld { kind, world }),
        Err(error) => tracing::debug!(%error, "a world could not be started ahead of time"),
    }
}

/// Opens the first page of a world that was started without one.
async fn open_page(mut world: World, spec: &WorldSpec) -> Result<World, WorldError> {
    let Some(url) = &spec.url else { return Ok(world) };
    let opened = world.environment.open_page(url).await;
    let error = match opened.map(|report| report.delivery) {
        Ok(Delivery::Delivered) => return Ok(world),
        Ok(Delivery::Refused { problem }) => WorldError::new(WorldErrorKind::Start, problem),
        Err(error) => error,
    };
    close(world).await;
    Err(error)
}

async fn close(world: World) {
    if let Err(error) = world.environment.close(CLOSE).await {
        tracing::debug!(%error, "a world of the pool could not be closed");
    }
}
