//! Browser worlds: Chromium in a cell, driven over the DevTools protocol.
//!
//! Pictures of pages are those of a screen which Chromium fills, where the cell has one, and otherwise come over the protocol. Each world has its own cell, Chromium and profile,
//! unless [`BrowserReuse`] says otherwise. The browser context is therefore fresh but still the default one, with bookmarks, settings and a profile on disk. The page is as large as the world's screen. There is no window
//! frame, tab strip or address bar: tabs, addresses and history are actions. A reference identifies a node by document
//! and id, so it stays valid across observations until the node is removed. Options of native list boxes are chosen
//! with `select`; file inputs take files of the world's home alone. If a page hangs or its process dies, the attempt is void.

mod address;
mod caret;
mod driver;
mod element;
mod event_watcher;
mod form;
mod frame_reading;
mod input;
mod keyboard;
mod launch;
mod layout;
mod look;
mod machine;
mod node_refs;
mod page_change;
mod page_fault;
mod page_log;
mod page_screen;
mod page_state;
mod page_text;
mod picture;
mod point;
mod request_log;
mod reuse;
mod script;
mod snapshot;
mod source;
mod tabs;
mod teardown;
mod typing;
mod upload;
mod visible_text;
mod world;

pub use launch::{BrowserSandbox, PagePictures};
pub use reuse::BrowserReuse;
pub use script::PageScripts;
pub use source::BrowserSource;
