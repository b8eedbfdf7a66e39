//! Reads the blobs of a run. Each is compared with its name, so that a foreign file is never taken for a recorded one.

use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::file_source::FileSource;
use crate::recorder::{blob_path, hex};
use apprentice_protocol::{BlobHash, ChatRequest, Image, MediaType, Message};
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};

/// The blobs of a run, in the folder of the run.
pub const BLOBS_FOLDER: &str = "blobs";
/// Maximum size of a blob in bytes. A screenshot of three 4K displays takes less.
const BLOB_LIMIT: u64 = 64 << 20;
/// Characters of a hash in the name of a blob.
const HASH_LENGTH: usize = 64;

/// The reason a blob cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BlobError {
    /// It is not there.
    #[error("the blob {0} is missing")]
    Missing(String),
    /// Its content is not what was recorded.
    #[error("the blob {0} is not the recorded one: its content has another hash")]
    Foreign(String),
    /// It exceeds the limit.
    #[error("the blob {0} is larger than {BLOB_LIMIT} bytes")]
    TooLarge(String),
    /// It cannot be read.
    #[error("the blob {name} cannot be read: {source}")]
    Read {
        /// The file's name.
        name: String,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// It does not hold what its event says.
    #[error("the blob {name} cannot be parsed: {source}")]
    Parse {
        /// The file's name.
        name: String,
        /// The cause.
        #[source]
        source: serde_json::Error,
    },
}

/// The blobs of one run.
#[derive(Clone, Debug)]
pub struct Blobs {
    folder: PathBuf,
    source: Option<Arc<dyn FileSource>>,
}

impl Blobs {
    /// The blobs of a run's folder.
    pub fn of(run: &Path) -> Self {
        Self::from(run, None)
    }

    /// The blobs of a run's folder, which may lie elsewhere.
    pub fn from(run: &Path, source: Option<Arc<dyn FileSource>>) -> Self {
        Self { folder: run.join(BLOBS_FOLDER), source }
    }

    /// Reads a blob. A hash in a trace may be anything: only a real one becomes a file's name.
    ///
    /// # Errors
    ///
    /// Fails if the hash is not one, or if the blob is missing, too large, or not what its name says.
    pub fn read(&self, hash: &BlobHash, extension: &str) -> Result<Vec<u8>, BlobError> {
        let digits = hash.as_str();
        if digits.len() != HASH_LENGTH || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(BlobError::Missing(digits.chars().take(HASH_LENGTH).collect()));
        }
        let name = format!("{digits}.{extension}");
        let failed = |source: std::io::Error| match source.kind() {
            ErrorKind::NotFound => BlobError::Missing(name.clone()),
            _ => BlobError::Read { name: name.clone(), source },
        };
        let path = blob_path(&self.folder, hash, extension);
        if let Some(source) = &self.source {
            source.bring(&path).map_err(failed)?;
        }
        let file = apprentice_files::open(path).map_err(failed)?;
        let mut bytes = Vec::new();
        file.take(BLOB_LIMIT + 1).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > BLOB_LIMIT {
            return Err(BlobError::TooLarge(name));
        }
        if hex(&Sha256::digest(&bytes)) == digits { Ok(bytes) } else { Err(BlobError::Foreign(name)) }
    }

    /// Reads a text; what is no UTF-8 is replaced.
    ///
    /// # Errors
    ///
    /// Fails as [`read`](Self::read) does.
    pub fn text(&self, hash: &BlobHash) -> Result<String, BlobError> {
        Ok(String::from_utf8_lossy(&self.read(hash, "txt")?).into_owned())
    }

    /// Reads a message that the model was sent.
    ///
    /// # Errors
    ///
    /// Fails as [`read`](Self::read) does, and if the blob is no message.
    pub fn message(&self, hash: &BlobHash) -> Result<Message, BlobError> {
        self.json(hash)
    }

    /// Reads a request without its messages.
    ///
    /// # Errors
    ///
    /// Fails as [`read`](Self::read) does, and if the blob is no request.
    pub fn request(&self, hash: &BlobHash) -> Result<ChatRequest, BlobError> {
        self.json(hash)
    }

    fn json<T: DeserializeOwned>(&self, hash: &BlobHash) -> Result<T, BlobError> {
        let bytes = self.read(hash, "json")?;
        serde_json::from_slice(&bytes)
            .map_err(|source| BlobError::Parse { name: format!("{hash}.json"), source })
    }
}

/// A picture of a trace: its blob and its encoding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PictureRef {
    /// The blob.
    pub hash: BlobHash,
    /// Its encoding.
    pub media: MediaType,
}

impl PictureRef {
    /// A screenshot of an observation, which is always a PNG.
    pub fn screenshot(hash: &BlobHash) -> Self {
        Self { hash: hash.clone(), media: MediaType::Png }
    }

    /// The picture that a message names.
    pub fn of(image: &Image) -> Self {
        Self { hash: image.hash.clone(), media: image.media }
    }

    /// The extension of the blob's file.
    pub fn extension(&self) -> &'static str {
        match self.media {
            MediaType::Png => "png",
            MediaType::Jpeg => "jpg",
            MediaType::Webp => "webp",
        }
    }

    /// The media type, as HTTP names it.
    pub fn media_type(&self) -> &'static str {
        match self.media {
            MediaType::Png => "image/png",
            MediaType::Jpeg => "image/jpeg",
            MediaType::Webp => "image/webp",
        }
    }
}
