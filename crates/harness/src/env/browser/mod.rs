//! Browser worlds: Chromium in a cell without a display, driven over its own protocol.
//!
//! Every world has a cell, a Chromium and a profile of its own, so that its context is fresh and still
//! the ordinary one, with bookmarks, settings and a profile on disk. The page is as large as the world's
//! screen; there is no window frame around it, no tab strip and no address bar: tabs, addresses and
//! history are actions. References name nodes by document and number, so they survive every new look and
//! die with their node. Native list boxes are chosen from with `select`; file inputs are answered by
//! typing a path. A page that hangs or whose process dies makes the attempt void.

mod address;
mod driver;
mod element;
mod hands;
mod keyboard;
mod launch;
mod machine;
mod pages;
mod picture;
mod snapshot;
mod source;
mod tabs;
mod watch;
mod world;

pub use launch::BrowserSandbox;
pub use source::BrowserSource;
