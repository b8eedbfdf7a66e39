//! A cache of embeddings on disk: one file per embedder, keyed by the hash of side and text.
//!
//! A file is one line of JSON, then records of fixed size: a SHA-256, and the numbers, little endian. The file is
//! derived data: one with another format is recreated, and a truncated record is overwritten.

use std::collections::{HashMap, HashSet};
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use apprentice_protocol::{BoxFuture, EmbedError, Embedder, Side};
use apprentice_trace::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

const VERSION: u32 = 1;
const KEY: usize = 32;
const NUMBER: usize = 4;

/// A vector cache that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot use the vector cache {}", path.display())]
pub struct StoreError {
    path: PathBuf,
    #[source]
    source: std::io::Error,
}

type Key = [u8; KEY];

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Head {
    version: u32,
    embedder: String,
    dimensions: usize,
}

/// An embedder that asks its server only once for each text.
pub struct Cached<E> {
    inner: E,
    path: PathBuf,
    known: Mutex<HashMap<Key, Vec<f32>>>,
}

impl<E: Embedder> Cached<E> {
    /// Caches the vectors of `inner` in `folder`. `place` is the server's address, since two servers may serve
    /// different models under one name.
    pub fn new(inner: E, folder: &Path, place: &str) -> Result<Self, StoreError> {
        let digest = Sha256::digest(format!("{}\0{place}", inner.name()));
        let name = hex(&digest[..8]);
        let path = folder.join(format!("{name}.vectors"));
        let failed = |source| StoreError { path: path.clone(), source };
        std::fs::create_dir_all(folder).map_err(failed)?;
        let known = match apprentice_files::read(&path) {
            Ok(bytes) => read(&bytes, inner.name()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => HashMap::new(),
            Err(error) => return Err(failed(error)),
        };
        Ok(Self { inner, path, known: Mutex::new(known) })
    }

    fn known(&self) -> MutexGuard<'_, HashMap<Key, Vec<f32>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn ask(&self, side: Side, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let keys: Vec<Key> = texts.iter().map(|text| key(side, text)).collect();
        let mut missing: Vec<(Key, String)> = Vec::new();
        {
            let known = self.known();
            let mut seen = HashSet::new();
            let unknown = keys.iter().zip(texts).filter(|(key, _)| !known.contains_key(*key));
            missing.extend(
                unknown.filter(|(key, _)| seen.insert(**key)).map(|(key, text)| (*key, text.clone())),
            );
        }
        if !missing.is_empty() {
            let texts: Vec<String> = missing.iter().map(|(_, text)| text.clone()).collect();
            let answer = self.inner.embed(side, &texts).await?;
            let news: Vec<(Key, Vec<f32>)> = missing.into_iter().map(|(key, _)| key).zip(answer).collect();
            if let Err(error) = self.keep(&news) {
                tracing::warn!(%error, path = %self.path.display(), "could not store vectors");
            }
            self.known().extend(news);
        }
        let known = self.known();
        let found: Option<Vec<_>> = keys.iter().map(|key| known.get(key).cloned()).collect();
        found.ok_or_else(|| EmbedError("the embedder answered with too few vectors".to_owned()))
    }

    /// Appends after the last whole record, whichever process wrote it. A lock admits one process at a time.
    fn keep(&self, news: &[(Key, Vec<f32>)]) -> std::io::Result<()> {
        let dimensions = news.first().map_or(0, |(_, vector)| vector.len());
        let embedder = self.inner.name().to_owned();
        let head = serde_json::to_string(&Head { version: VERSION, embedder, dimensions })? + "\n";
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&self.path)?;
        file.lock()?;
        let end = match fits(&mut file, &head)? {
            true => whole(file.metadata()?.len(), head.len(), dimensions),
            false => 0,
        };
        file.set_len(end)?;
        file.seek(SeekFrom::End(0))?;
        let mut bytes = if end == 0 { head.into_bytes() } else { Vec::new() };
        for (key, vector) in news {
            bytes.extend(key);
            bytes.extend(vector.iter().flat_map(|number| number.to_le_bytes()));
        }
        file.write_all(&bytes)
    }
}

fn fits(file: &mut File, head: &str) -> std::io::Result<bool> {
    let mut there = vec![0; head.len()];
    match file.read_exact(&mut there) {
        Ok(()) => Ok(there == head.as_bytes()),
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

/// Returns the bytes up to the end of the last whole record.
fn whole(length: u64, head: usize, dimensions: usize) -> u64 {
    let head = u64::try_from(head).unwrap_or(u64::MAX);
    let record = u64::try_from(KEY + NUMBER * dimensions).unwrap_or(u64::MAX);
    head + length.saturating_sub(head) / record * record
}

fn read(bytes: &[u8], embedder: &str) -> HashMap<Key, Vec<f32>> {
    let (head, records) = match bytes.iter().position(|byte| *byte == b'\n') {
        Some(end) => (&bytes[..end], &bytes[end + 1..]),
        None => return HashMap::new(),
    };
    let Ok(head) = serde_json::from_slice::<Head>(head) else { return HashMap::new() };
    if head.version != VERSION || head.embedder != embedder || head.dimensions == 0 {
        return HashMap::new();
    }
    let record = |record: &[u8]| {
        let (key, numbers) = record.split_first_chunk::<KEY>()?;
        let (numbers, _) = numbers.as_chunks::<NUMBER>();
        Some((*key, numbers.iter().map(|number| f32::from_le_bytes(*number)).collect()))
    };
    records.chunks_exact(KEY + NUMBER * head.dimensions).filter_map(record).collect()
}

fn key(side: Side, text: &str) -> Key {
    let side: &[u8] = match side {
        Side::Query => b"query\0",
        Side::Passage => b"passage\0",
    };
    Sha256::new().chain_update(side).chain_update(text).finalize().into()
}

impl<E: Embedder> Embedder for Cached<E> {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn embed<'a>(
        &'a self,
        side: Side,
        texts: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<Vec<f32>>, EmbedError>> {
        Box::pin(self.ask(side, texts))
    }
}
