//! Serves one world over HTTP at a time: OSWorld's server protocol, as its Python clients speak it, and beside it the
//! actions, observations and verdicts of this program's own worlds.
//!
//! [`serve`] answers until it is cancelled. `POST /reset` closes the world and opens a fresh one; the other paths work on
//! the open world. A request that fails changes nothing but what it did before it failed, and is answered with a status of
//! 400 or above and a JSON object with `status: "error"` and `message`.

mod access;
mod checkpoint;
mod command;
mod episode;
mod files;
mod openenv;
mod pool;
mod problem;
mod recording;
mod relay;
mod router;
mod screen;
mod served_world;
mod step;
mod window;

pub use access::{Access, Token};
pub use episode::{Episode, EpisodeError, TaskEpisode};
pub use pool::{
    CLIENT_MODEL, EpisodeEnd, EpisodeFolder, EpisodeStart, EpisodeStore, Pool, PoolPorts, PoolSettings,
    PoolTasks, serve_pool,
};
pub use relay::relay;
pub use router::{ServeError, serve};
pub use served_world::ServedWorld;
pub use step::{MOST_ACTIONS, StepReply, StepRequest, take_step};
