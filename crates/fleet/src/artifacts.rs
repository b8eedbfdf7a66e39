//! Artifacts: files by the hash of their content in an object store, and lists of files, which are artifacts, too.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use apprentice_trace::hex;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use object_store::path::Path as Place;
use object_store::{ObjectStore, ObjectStoreExt as _, PutPayload, WriteMultipart};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tokio::io::AsyncReadExt as _;

use crate::stores::{self, StoreAddressError, StoreSettings};

/// The schema name of a list of files.
const LIST_SCHEMA: &str = "apprentice.artifact-list/1";
/// Files that are transferred at a time.
const AT_ONCE: usize = 8;
/// A file of more bytes is sent in parts, and is never in memory as a whole.
const LARGE: u64 = 16 << 20;
/// The bytes of a part. Amazon's store takes no smaller ones than 5 MiB, and at most 10,000.
const PART: usize = 8 << 20;
/// Parts of a file that are sent at a time.
const PARTS_AT_ONCE: usize = 3;

/// An object store that holds artifacts.
#[derive(Clone, Debug)]
pub struct Artifacts {
    address: String,
    store: Arc<dyn ObjectStore>,
}

/// The files of an attempt, a suite or a skillbook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileList {
    schema: String,
    /// SHA-256 by path, relative and with `/`.
    pub files: BTreeMap<String, String>,
}

/// The reason an artifact cannot be stored or read.
#[derive(Debug, thiserror::Error)]
pub enum ArtifactError {
    /// The address cannot be used.
    #[error(transparent)]
    Address(#[from] StoreAddressError),
    /// The store fails.
    #[error("the artifacts at {address} cannot be used")]
    Store {
        /// The address.
        address: String,
        /// The cause.
        #[source]
        source: object_store::Error,
    },
    /// A file of this machine cannot be read or written.
    #[error("{}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// An artifact's content is not what its name says.
    #[error(
        "the artifact {hash} at {address} has other content: it was changed or damaged; restore it, or run its trial again"
    )]
    Foreign {
        /// The expected hash.
        hash: String,
        /// The address.
        address: String,
    },
    /// A file changed while it was being stored.
    #[error("{} was changed while it was being stored; store it again", .0.display())]
    Changed(PathBuf),
    /// The store does not give back what it got.
    #[error(
        "{address} gives back other content of {name} than it just got: another worker has this name, or the store is no object store"
    )]
    Unsteady {
        /// The object.
        name: String,
        /// The address.
        address: String,
    },
    /// A list of files is invalid.
    #[error("the list of files {hash} at {address} is invalid: {why}")]
    List {
        /// The list's hash.
        hash: String,
        /// The address.
        address: String,
        /// The problem.
        why: String,
    },
}

fn failed(path: &Path) -> impl Fn(io::Error) -> ArtifactError + '_ {
    move |source| ArtifactError::Io { path: path.to_owned(), source }
}

impl FileList {
    /// A list of these files, by path, with the hash of each.
    pub fn new(files: BTreeMap<String, String>) -> Self {
        Self { schema: LIST_SCHEMA.to_owned(), files }
    }
}

impl Artifacts {
    /// Opens the store at an address: `s3://BUCKET/PREFIX`, `gs://…`, `az://…`, or `file:///FOLDER`, which all workers must
    /// see.
    ///
    /// # Errors
    ///
    /// Fails if the address has no known form, or if the store's settings are missing or wrong.
    pub fn open(address: &str, settings: &StoreSettings) -> Result<Self, ArtifactError> {
        Ok(Self { address: address.to_owned(), store: stores::open(address, settings)? })
    }

    /// Writes a small object of this name and reads it: whether what an attempt makes can be stored, asked before it begins.
    ///
    /// # Errors
    ///
    /// Fails if the store does not answer, refuses to be written, or returns other bytes than were written.
    pub async fn check(&self, name: &str) -> Result<(), ArtifactError> {
        let failed = |source| ArtifactError::Store { address: self.address.clone(), source };
        let place = Place::from(format!("checks/{name}"));
        let content = name.as_bytes().to_vec();
        self.store.put(&place, PutPayload::from(content)).await.map_err(failed)?;
        let found = self.store.get(&place).await.map_err(failed)?.bytes().await.map_err(failed)?;
        if found == name.as_bytes() {
            Ok(())
        } else {
            Err(ArtifactError::Unsteady { name: place.to_string(), address: self.address.clone() })
        }
    }

    /// The store's address.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Stores the files below a folder that have these relative paths. Returns the hash of their list.
    ///
    /// # Errors
    ///
    /// Fails if a file cannot be read or changes meanwhile, or if the store fails.
    pub async fn put_files(&self, folder: &Path, paths: &[String]) -> Result<String, ArtifactError> {
        let put = |path: String| async move {
            let hash = self.put_file(&folder.join(&path)).await?;
            Ok::<_, ArtifactError>((path, hash))
        };
        let files = stream::iter(paths.to_vec()).map(put).buffer_unordered(AT_ONCE).try_collect().await?;
        self.put_list(files).await
    }

    /// Stores bytes under their hash, unless they are there already.
    ///
    /// # Errors
    ///
    /// Fails if the store does not answer or refuses to be written.
    pub async fn put(&self, bytes: Vec<u8>) -> Result<String, ArtifactError> {
        let hash = hex(&Sha256::digest(&bytes));
        if !self.has(&hash, bytes.len() as u64).await? {
            self.store.put(&place(&hash), PutPayload::from(bytes)).await.map_err(self.broken())?;
        }
        Ok(hash)
    }

    /// Stores a file under the hash of its content, unless it is there already. A large one is read twice.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read or changes meanwhile, or if the store fails.
    pub async fn put_file(&self, file: &Path) -> Result<String, ArtifactError> {
        let size = tokio::fs::metadata(file).await.map_err(failed(file))?.len();
        if size <= LARGE {
            return self.put(tokio::fs::read(file).await.map_err(failed(file))?).await;
        }
        let mut parts = Parts::of(file).await?;
        while !parts.next().await?.is_empty() {}
        let hash = parts.hash();
        if !self.has(&hash, size).await? {
            self.put_parts(file, &hash).await?;
        }
        Ok(hash)
    }

    /// Returns whether the store has an artifact whole. One that was cut off is written again.
    async fn has(&self, hash: &str, size: u64) -> Result<bool, ArtifactError> {
        match self.store.head(&place(hash)).await {
            Ok(known) => Ok(known.size == size),
            Err(object_store::Error::NotFound { .. }) => Ok(false),
            Err(source) => Err(self.broken()(source)),
        }
    }

    /// Sends a file in parts. What was sent of one that fails is taken back; the store has it whole or not at all.
    async fn put_parts(&self, file: &Path, hash: &str) -> Result<(), ArtifactError> {
        let upload = self.store.put_multipart(&place(hash)).await.map_err(self.broken())?;
        let mut writing = WriteMultipart::new_with_chunk_size(upload, PART);
        let problem = match self.send(file, &mut writing).await {
            Ok(sent) if sent == hash => {
                return writing.finish().await.map(drop).map_err(self.broken());
            }
            Ok(_) => ArtifactError::Changed(file.to_owned()),
            Err(error) => error,
        };
        if let Err(error) = writing.abort().await {
            tracing::warn!(%error, hash, "the parts of a file that were sent stay in the store");
        }
        Err(problem)
    }

    /// Sends the parts of a file. Returns the hash of what was sent.
    async fn send(&self, file: &Path, writing: &mut WriteMultipart) -> Result<String, ArtifactError> {
        let mut parts = Parts::of(file).await?;
        loop {
            let part = parts.next().await?;
            if part.is_empty() {
                return Ok(parts.hash());
            }
            writing.wait_for_capacity(PARTS_AT_ONCE).await.map_err(self.broken())?;
            writing.write(part);
        }
    }

    fn broken(&self) -> impl Fn(object_store::Error) -> ArtifactError + '_ {
        |source| ArtifactError::Store { address: self.address.clone(), source }
    }

    /// Reads an artifact, and compares its content with its name.
    ///
    /// # Errors
    ///
    /// Fails if the store has no such artifact or does not answer, or if the content does not match its name.
    pub async fn get(&self, hash: &str) -> Result<Vec<u8>, ArtifactError> {
        let failed = |source| ArtifactError::Store { address: self.address.clone(), source };
        let found = self.store.get(&place(hash)).await.map_err(failed)?;
        let bytes = found.bytes().await.map_err(failed)?;
        if hex(&Sha256::digest(&bytes)) == hash {
            Ok(bytes.into())
        } else {
            Err(ArtifactError::Foreign { hash: hash.to_owned(), address: self.address.clone() })
        }
    }

    /// Reads a list of files.
    ///
    /// # Errors
    ///
    /// Fails as [`get`](Self::get) does, and if the artifact is no list of files, or one with paths that lead out of a folder.
    pub async fn list(&self, hash: &str) -> Result<FileList, ArtifactError> {
        let wrong =
            |why: String| ArtifactError::List { hash: hash.to_owned(), address: self.address.clone(), why };
        let list: FileList =
            serde_json::from_slice(&self.get(hash).await?).map_err(|error| wrong(error.to_string()))?;
        match list.files.keys().find(|path| !stays_inside(path)) {
            Some(path) => Err(wrong(format!("the path {path:?} leaves its folder"))),
            None => Ok(list),
        }
    }

    /// Stores files under other paths than they have here. Returns the hash of their list.
    ///
    /// # Errors
    ///
    /// Fails if a file cannot be read or changes meanwhile, or if the store fails.
    pub async fn put_named(&self, files: &BTreeMap<String, PathBuf>) -> Result<String, ArtifactError> {
        let put = |(path, file): (String, PathBuf)| async move {
            let hash = self.put_file(&file).await?;
            Ok::<_, ArtifactError>((path, hash))
        };
        let files = stream::iter(files.clone()).map(put).buffer_unordered(AT_ONCE).try_collect().await?;
        self.put_list(files).await
    }

    /// Stores a list of files, which are stored already. Returns its hash.
    pub(crate) async fn put_list(&self, files: BTreeMap<String, String>) -> Result<String, ArtifactError> {
        let list = serde_json::to_vec(&FileList::new(files));
        self.put(list.map_err(|error| failed(Path::new("a list of files"))(error.into()))?).await
    }

    /// Writes the files of a list below a folder. Files that are there already are not read again.
    ///
    /// # Errors
    ///
    /// Fails if the list or a file of it cannot be read from the store, or if a file cannot be written.
    pub async fn get_files(&self, hash: &str, folder: &Path) -> Result<FileList, ArtifactError> {
        let list = self.list(hash).await?;
        self.get_listed(&list, folder).await?;
        Ok(list)
    }

    /// Writes these files below a folder. Files that are there already are not read again.
    pub(crate) async fn get_listed(&self, list: &FileList, folder: &Path) -> Result<(), ArtifactError> {
        let get = |(path, hash): (String, String)| async move {
            let file = folder.join(&path);
            if file.exists() {
                return Ok(());
            }
            let bytes = self.get(&hash).await?;
            let parent = file.parent().unwrap_or(folder);
            fs::create_dir_all(parent).map_err(failed(parent))?;
            // Under another name first: a file that is there is whole.
            let draft = parent.join(format!(".{hash}.draft"));
            fs::write(&draft, bytes).and_then(|()| fs::rename(&draft, &file)).map_err(failed(&file))
        };
        stream::iter(list.files.clone()).map(get).buffer_unordered(AT_ONCE).try_collect::<()>().await
    }
}

/// A file that is read in parts.
struct Parts<'a> {
    file: &'a Path,
    reading: tokio::fs::File,
    part: Vec<u8>,
    digest: Sha256,
}

impl<'a> Parts<'a> {
    async fn of(file: &'a Path) -> Result<Self, ArtifactError> {
        let reading = tokio::fs::File::open(file).await.map_err(failed(file))?;
        Ok(Self { file, reading, part: Vec::with_capacity(PART), digest: Sha256::new() })
    }

    /// The next part; empty at the end.
    async fn next(&mut self) -> Result<&[u8], ArtifactError> {
        self.part.clear();
        let mut reading = (&mut self.reading).take(PART as u64);
        reading.read_to_end(&mut self.part).await.map_err(failed(self.file))?;
        self.digest.update(&self.part);
        Ok(&self.part)
    }

    /// The hash of the parts that were read.
    fn hash(self) -> String {
        hex(&self.digest.finalize())
    }
}

/// Returns the hash of a file's content; `None` for a file that is not there.
pub(crate) fn hash_of(file: &Path) -> Result<Option<String>, ArtifactError> {
    match fs::read(file) {
        Ok(bytes) => Ok(Some(hex(&Sha256::digest(&bytes)))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(file)(error)),
    }
}

/// Lists the regular files below a folder, in order, as relative paths with `/`.
///
/// # Errors
///
/// Fails if a folder cannot be read, or if a name is not Unicode.
pub fn files_below(folder: &Path) -> Result<Vec<String>, ArtifactError> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).map_err(failed(&next))? {
            let entry = entry.map_err(failed(&next))?;
            let (path, kind) = (entry.path(), entry.file_type().map_err(failed(&next))?);
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file()
                && let Ok(relative) = path.strip_prefix(folder)
            {
                let relative = relative.to_str();
                let relative =
                    relative.ok_or_else(|| failed(&path)(io::ErrorKind::InvalidFilename.into()))?;
                found.push(relative.to_owned());
            }
        }
    }
    found.sort();
    Ok(found)
}

fn stays_inside(path: &str) -> bool {
    !path.is_empty() && Path::new(path).components().all(|part| matches!(part, Component::Normal(_)))
}

/// Spreads the artifacts over 256 folders.
fn place(hash: &str) -> Place {
    Place::from(format!("objects/{}/{hash}", hash.get(..2).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{ArtifactError, Artifacts, FileList, files_below};
    use crate::stores::StoreSettings;

    #[tokio::test]
    async fn files_come_back_as_they_were_and_damaged_ones_are_told() {
        let (from, to, store) = (folder(), folder(), folder());
        fs::create_dir_all(from.path().join("a/b")).expect("a folder");
        fs::write(from.path().join("a/b/one"), "1").expect("writes");
        fs::write(from.path().join("two"), "2").expect("writes");
        let artifacts = opened(store.path()).expect("opens");
        let paths = files_below(from.path()).expect("lists");
        assert_eq!(paths, ["a/b/one", "two"]);
        let list = artifacts.put_files(from.path(), &paths).await.expect("stores");
        assert_eq!(
            list,
            artifacts.put_files(from.path(), &paths).await.expect("stores again"),
            "the same list"
        );
        artifacts.get_files(&list, to.path()).await.expect("reads");
        assert_eq!(fs::read_to_string(to.path().join("a/b/one")).expect("a file"), "1");
        assert_eq!(files_below(to.path()).expect("lists"), paths);

        let one = artifacts.list(&list).await.expect("a list").files["two"].clone();
        fs::write(store.path().join("objects").join(&one[..2]).join(&one), "changed").expect("writes");
        assert!(matches!(artifacts.get(&one).await, Err(ArtifactError::Foreign { hash, .. }) if hash == one));
    }

    #[tokio::test]
    async fn a_list_cannot_write_outside_its_folder() {
        let store = folder();
        let artifacts = opened(store.path()).expect("opens");
        for path in ["../up", "/etc/passwd", "a/../../up", ""] {
            let list = FileList::new([(path.to_owned(), "00".to_owned())].into_iter().collect());
            let hash = artifacts.put(serde_json::to_vec(&list).expect("text")).await.expect("stores");
            let error = artifacts.get_files(&hash, store.path()).await.expect_err(path);
            assert!(matches!(error, ArtifactError::List { .. }), "{path}: {error}");
        }
    }

    #[test]
    fn an_address_of_no_known_kind_is_told_with_its_remedy() {
        for address in ["relative/folder", "ftp://bucket", "s3://", "file://relative"] {
            let error = Artifacts::open(address, &StoreSettings::default()).expect_err(address).to_string();
            assert!(error.contains(address) && error.contains("file:///FOLDER"), "{error}");
        }
    }

    #[test]
    fn an_address_with_keys_is_refused_without_them() {
        for address in [
            "s3://KEY:SECRET@bucket/place",
            "s3://KEY:SEC/RET@bucket/place",
            "https://KEY:SECRET@bucket/place",
            "KEY:SECRET@bucket/place",
        ] {
            let error = Artifacts::open(address, &StoreSettings::default()).expect_err(address).to_string();
            assert!(
                !error.contains("KEY") && !error.contains("RET") && error.contains("@bucket/place"),
                "{error}"
            );
        }
        let error =
            Artifacts::open("s3://KEY:SECRET@bucket", &StoreSettings::default()).expect_err("has keys");
        assert!(error.to_string().contains("environment"), "{error}");
    }

    fn opened(folder: &std::path::Path) -> Result<Artifacts, ArtifactError> {
        Artifacts::open(&format!("file://{}", folder.display()), &StoreSettings::default())
    }

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().expect("a folder")
    }
}
