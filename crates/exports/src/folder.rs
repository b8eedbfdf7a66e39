//! The output folder. It is written beside its place under another name and renamed at the end, so that it is there whole
//! or not at all; a failed export removes what it has written.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use apprentice_pixels::PixelError;
use apprentice_protocol::BlobHash;
use apprentice_trace::{REDACTED, Redactor};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use tempfile::TempDir;

use crate::cover::Cover;
use crate::formats::PictureForm;
use apprentice_trace::{BlobError, Blobs, PictureRef};

/// The folder of pictures in an export.
const PICTURES: &str = "images";

/// The reason an output folder cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// There is something at its place.
    #[error("{} exists and is not an empty folder; give another --out, or remove it", .0.display())]
    Exists(PathBuf),
    /// The disk is full.
    #[error("the disk is full; {} was removed again: free some space, or give an --out on another disk", .0.display())]
    DiskFull(PathBuf),
    /// A file cannot be written.
    #[error("{} cannot be written", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
}

impl FolderError {
    /// A file whose content is not what it must be.
    pub(crate) fn invalid(path: &str, error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Io { path: PathBuf::from(path), source: io::Error::other(error) }
    }
}

/// A folder under way.
pub(crate) struct OutFolder {
    draft: TempDir,
    place: PathBuf,
    /// Begins the reference to a picture in JSON, until the text around it has been searched for secrets. Nobody who wrote
    /// a text of the run can know it.
    mark: String,
    redactor: Arc<Redactor>,
    /// Secrets that were replaced in what was written, while recording or now.
    redacted: AtomicUsize,
    pub(crate) form: PictureForm,
    copied: BTreeSet<String>,
    pub(crate) picture_bytes: u64,
    /// Pictures in the export, in whatever form.
    picture_count: usize,
    /// What is painted over in them.
    pub(crate) cover: Cover,
}

/// A text file under way. Everything that is written is searched for secrets first.
pub(crate) struct OutFile {
    path: PathBuf,
    file: BufWriter<File>,
}

/// The elements of a list, separated by commas, in a file of the same folder.
pub(crate) struct ListFile<'a> {
    /// The name of the list's field.
    pub(crate) field: &'a str,
    pub(crate) path: &'a str,
}

impl OutFolder {
    /// Starts a folder at `place`.
    pub(crate) fn begin(
        place: &Path,
        redactor: Arc<Redactor>,
        form: PictureForm,
    ) -> Result<Self, FolderError> {
        let taken = match fs::read_dir(place) {
            Ok(mut entries) => entries.next().is_some(),
            Err(error) => error.kind() != ErrorKind::NotFound,
        };
        if taken {
            return Err(FolderError::Exists(place.to_owned()));
        }
        let parent = place.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs::create_dir_all(parent).map_err(failed(parent))?;
        let name = place.file_name().unwrap_or("export".as_ref()).to_string_lossy();
        let draft = tempfile::Builder::new()
            .prefix(&format!(".{name}.unfinished-"))
            .tempdir_in(parent)
            .map_err(failed(parent))?;
        let (copied, picture_bytes, picture_count) = (BTreeSet::new(), 0, 0);
        let random =
            draft.path().file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let mark = format!("picture-{}:", random.rsplit('-').next().unwrap_or_default());
        let redacted = AtomicUsize::new(0);
        Ok(Self {
            mark,
            draft,
            place: place.to_owned(),
            redactor,
            redacted,
            form,
            copied,
            picture_bytes,
            picture_count,
            cover: Cover::default(),
        })
    }

    /// How many secrets were replaced so far.
    pub(crate) fn redacted_count(&self) -> usize {
        self.redacted.load(Ordering::Relaxed)
    }

    fn clean<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.counted(self.redactor.apply(text))
    }

    fn clean_json<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.counted(self.redactor.apply_to_json(text))
    }

    fn counted<'t>(&self, text: Cow<'t, str>) -> Cow<'t, str> {
        self.redacted.fetch_add(text.matches(REDACTED).count(), Ordering::Relaxed);
        text
    }

    /// Creates a text file at a path that this program made: each part a plain name.
    pub(crate) fn create(&self, path: &str) -> Result<OutFile, FolderError> {
        let path = self.at(path)?;
        let file = File::create(&path).map_err(failed(&path))?;
        Ok(OutFile { path, file: BufWriter::new(file) })
    }

    /// Writes a whole text file.
    pub(crate) fn write(&self, path: &str, text: &str) -> Result<(), FolderError> {
        let mut file = self.create(path)?;
        file.raw(&self.clean(text))?;
        file.end()
    }

    /// Writes a whole JSON document.
    pub(crate) fn write_json(&self, path: &str, value: &Value) -> Result<(), FolderError> {
        let text = format!("{value:#}\n");
        let mut file = self.create(path)?;
        file.raw(&self.clean_json(&text))?;
        file.end()
    }

    /// Writes a JSON object with one more field at its end: a list whose elements were written to a file of this folder,
    /// which is removed.
    pub(crate) fn json_with_list(
        &self,
        path: &str,
        head: &Value,
        list: &ListFile<'_>,
    ) -> Result<(), FolderError> {
        let text = head.to_string();
        let open = self.clean_json(&text);
        let open = open.strip_suffix('}').unwrap_or(&open);
        let mut file = self.create(path)?;
        file.raw(&format!("{open},\"{}\":[\n", list.field))?;
        let elements = self.at(list.path)?;
        let mut source = apprentice_files::open(&elements).map_err(failed(&elements))?;
        io::copy(&mut source, &mut file.file).map_err(failed(&file.path))?;
        file.raw("\n]}\n")?;
        fs::remove_file(&elements).map_err(failed(&elements))?;
        file.end()
    }

    /// Writes a whole file as it is.
    pub(crate) fn write_bytes(&self, path: &str, bytes: &[u8]) -> Result<(), FolderError> {
        let path = self.at(path)?;
        fs::write(&path, bytes).map_err(failed(&path))
    }

    fn at(&self, path: &str) -> Result<PathBuf, FolderError> {
        let path = self.draft.path().join(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(failed(folder))?;
        }
        Ok(path)
    }

    /// Adds a line of JSON to a file.
    pub(crate) fn line(&self, file: &mut OutFile, value: &Value) -> Result<(), FolderError> {
        file.raw(&self.clean_json(&value.to_string()))?;
        file.raw("\n")
    }

    /// Returns a text without secrets.
    pub(crate) fn redacted(&self, text: &str) -> String {
        self.clean(text).into_owned()
    }

    /// Returns a value whose texts have no secrets.
    pub(crate) fn redacted_value(&self, value: &Value) -> Result<Value, serde_json::Error> {
        serde_json::from_str(&self.clean_json(&value.to_string()))
    }

    /// Adds a value to a file as JSON in one line, without secrets and with its pictures in the form of this export. One
    /// picture at a time is in memory.
    pub(crate) fn put(&self, file: &mut OutFile, value: &Value, blobs: &Blobs) -> Result<(), FolderError> {
        let text = value.to_string();
        let text = self.clean_json(&text);
        match self.form {
            PictureForm::Inline => file.put_inlined(&text, &self.mark, blobs, &self.cover),
            PictureForm::Files | PictureForm::None => file.raw(&text),
        }
    }

    /// Returns the bytes of a picture, painted over where it shows a secret.
    pub(crate) fn bytes_of(&self, picture: &PictureRef, blobs: &Blobs) -> Result<Vec<u8>, PictureError> {
        let bytes = blobs.read(&picture.hash, picture.extension())?;
        self.cover.over(&picture.hash, bytes).map_err(PictureError::Cover)
    }

    /// Adds a picture, and returns its reference: a path relative to the export, or a mark that [`Self::put`]
    /// replaces. `None` where an export has no pictures.
    pub(crate) fn picture(
        &mut self,
        picture: &PictureRef,
        blobs: &Blobs,
    ) -> Result<Option<String>, PictureError> {
        match self.form {
            PictureForm::None => Ok(None),
            PictureForm::Inline => {
                // Read here, so that a missing one is noticed before the line is written.
                let bytes = self.bytes_of(picture, blobs)?;
                self.add_picture(bytes.len());
                Ok(Some(format!("{}{}.{}", self.mark, picture.hash, picture.extension())))
            }
            PictureForm::Files => {
                let name = format!("{PICTURES}/{}.{}", picture.hash, picture.extension());
                let is_new = !self.copied.contains(&name);
                // An earlier attempt saw the same picture without the place of what it shows.
                if is_new || self.cover.is_due(&picture.hash) {
                    let bytes = self.bytes_of(picture, blobs)?;
                    self.write_bytes(&name, &bytes)?;
                    if is_new {
                        self.add_picture(bytes.len());
                        self.copied.insert(name.clone());
                    }
                }
                Ok(Some(name))
            }
        }
    }

    /// Counts a picture of this export.
    pub(crate) fn add_picture(&mut self, bytes: usize) {
        self.picture_count += 1;
        self.picture_bytes += bytes as u64;
    }

    /// The number of pictures.
    pub(crate) fn pictures(&self) -> usize {
        self.picture_count
    }

    /// Puts the folder in its place.
    pub(crate) fn finish(self) -> Result<(), FolderError> {
        use std::os::unix::fs::PermissionsExt as _;
        let open = fs::Permissions::from_mode(0o755);
        fs::set_permissions(self.draft.path(), open).map_err(failed(self.draft.path()))?;
        fs::rename(self.draft.path(), &self.place).map_err(failed(&self.place))?;
        // The folder has another name now, so there is nothing left to remove.
        let _ = self.draft.keep();
        Ok(())
    }
}

/// A picture that cannot be added: the run lacks it, or the disk is full.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PictureError {
    #[error(transparent)]
    Blob(#[from] BlobError),
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// It is never exported as it is.
    #[error("it shows a secret and cannot be painted over: {0}")]
    Cover(PixelError),
}

impl Write for OutFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl OutFile {
    /// Where the file is written.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes text that has been searched for secrets.
    pub(crate) fn raw(&mut self, text: &str) -> Result<(), FolderError> {
        self.bytes(text.as_bytes())
    }

    /// Writes bytes, whose texts have been searched for secrets.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Result<(), FolderError> {
        self.file.write_all(bytes).map_err(failed(&self.path))
    }

    /// Ends the file. What a buffer still holds may not fit the disk.
    pub(crate) fn end(mut self) -> Result<(), FolderError> {
        self.file.flush().map_err(failed(&self.path))?;
        self.file.get_ref().sync_data().map_err(failed(&self.path))
    }

    /// Writes JSON with its marks of pictures replaced by data URLs.
    fn put_inlined(
        &mut self,
        text: &str,
        mark: &str,
        blobs: &Blobs,
        cover: &Cover,
    ) -> Result<(), FolderError> {
        let mut rest = text;
        // A quote in another string is escaped, so this stands only where a string begins.
        let opening = format!("\"{mark}");
        while let Some(at) = rest.find(&opening) {
            self.raw(&rest[..=at])?;
            rest = &rest[at + opening.len()..];
            let end = rest.find('"').unwrap_or(rest.len());
            self.data_url(&rest[..end], blobs, cover)?;
            rest = &rest[end..];
        }
        self.raw(rest)
    }

    /// Writes a blob, named `hash.extension`, as a data URL.
    fn data_url(&mut self, name: &str, blobs: &Blobs, cover: &Cover) -> Result<(), FolderError> {
        let (hash, extension) = name.split_once('.').unwrap_or((name, "png"));
        let media = match extension {
            "jpg" => "image/jpeg",
            "webp" => "image/webp",
            _ => "image/png",
        };
        // It was there when its mark was made: whoever changes a run while it is exported gets no export.
        let hash = BlobHash::new(hash);
        let bytes = blobs.read(&hash, extension).map_err(|error| FolderError::invalid(name, error))?;
        let bytes = cover.over(&hash, bytes).map_err(|error| FolderError::invalid(name, error))?;
        self.raw(&format!("data:{media};base64,"))?;
        self.raw(&STANDARD.encode(bytes))
    }
}

fn failed(path: &Path) -> impl Fn(io::Error) -> FolderError + '_ {
    move |source| match source.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            FolderError::DiskFull(path.to_owned())
        }
        _ => FolderError::Io { path: path.to_owned(), source },
    }
}
