//! In-memory worlds of pages and controls, defined in JSON: complete environments for tests, demos and fast learning,
//! without a screen or a browser.

mod definition;
mod layout;
mod machine;
mod paint;
mod scene_state;
mod source;

pub use definition::{Control, Effect, Fault, FaultPlace, Page, Scene};
pub use scene_state::STATE_FILE;
pub use source::SceneSource;
