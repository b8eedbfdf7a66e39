//! Pictures inside a log, each counted once: the same one often stands there as a file, as base64 and in a data URL.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

/// A picture, by the hash of its bytes.
pub(crate) type Picture = [u8; 32];

/// Different pictures and paths of pictures.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pictures {
    inside: BTreeSet<Picture>,
    paths: BTreeSet<String>,
}

impl Pictures {
    pub(crate) fn add(&mut self, picture: Picture) {
        self.inside.insert(picture);
    }

    pub(crate) fn add_path(&mut self, path: &str) {
        self.paths.insert(path.to_owned());
    }

    /// Adds what a URL names: a picture in itself, or one elsewhere.
    pub(crate) fn add_url(&mut self, url: &str) {
        match of_data_url(url) {
            Some(picture) => self.add(picture),
            None if url.is_empty() || url.starts_with('[') => {}
            None => self.add_path(url),
        }
    }

    /// Adds those of another file.
    pub(crate) fn join(&mut self, other: Self) {
        self.inside.extend(other.inside);
        self.paths.extend(other.paths);
    }

    pub(crate) fn inside(&self) -> usize {
        self.inside.len()
    }

    pub(crate) fn paths(&self) -> usize {
        self.paths.len()
    }
}

/// The picture in a data URL.
pub(crate) fn of_data_url(url: &str) -> Option<Picture> {
    let (head, data) = url.strip_prefix("data:")?.split_once(',')?;
    head.starts_with("image/").then(|| of_base64(data))
}

/// The picture whose bytes are packed as base64. What is no base64 counts as what it is.
pub(crate) fn of_base64(data: &str) -> Picture {
    match STANDARD.decode(data.trim()) {
        Ok(bytes) => of_bytes(&bytes),
        Err(_) => of_bytes(data.as_bytes()),
    }
}

/// The picture of these bytes.
pub(crate) fn of_bytes(bytes: &[u8]) -> Picture {
    Sha256::digest(bytes).into()
}
