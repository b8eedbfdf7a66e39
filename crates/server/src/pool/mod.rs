//! A pool of worlds: sessions over HTTP and over sockets, each with a world, a task and a seed of its own. `docs/serve.md` has the
//! requests.

mod broken;
mod episode;
mod fork;
mod opening;
mod record;
mod refusal;
mod registry;
mod routes;
mod schema;
mod session;
mod step_body;

pub use opening::PoolTasks;
pub use record::{CLIENT_MODEL, EpisodeEnd, EpisodeFolder, EpisodeStart, EpisodeStore};
pub use registry::{Pool, PoolPorts, PoolSettings};
pub use routes::serve_pool;

pub(crate) use episode::{Phase, ServedEpisode, Stepped};
pub(crate) use opening::{Opening, Reward};
pub(crate) use refusal::{Refusal, object};
pub(crate) use routes::MAX_REQUEST_BYTES;
pub(crate) use session::Leaving;
pub(crate) use step_body::SessionStep;

/// Makes an id that nobody can guess: whoever knows a session's can use it.
pub(crate) fn id(kind: &str) -> String {
    format!("{kind}-{:024x}", rand::random::<u128>() >> 32)
}
