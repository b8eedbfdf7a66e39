//! The bundle file: a gzip-compressed tar of regular files that starts with the manifest.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, BufWriter, Read as _, Write as _};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use sha2::{Digest as _, Sha256};

use super::{BUNDLE_SCHEMA, BundleError, Manifest, Pictures, UnpackLimits, failed, stays_inside};
use crate::layout::{BLOBS_FOLDER, BUNDLE_FILE, LOCAL_FILES, LOCAL_FOLDER};
use crate::wanted::{Wanted, check};
use apprentice_trace::hex;

/// Maximum size of the manifest, in bytes.
const MAX_MANIFEST_BYTES: u64 = 256 << 20;
/// The endings of pictures' names.
const PICTURES: [&str; 2] = ["png", "jpg"];

/// Packs the folder of a run or an experiment into one compressed file. The output appears under its name only once it
/// is complete.
///
/// # Errors
/// The folder holds neither, or a file cannot be read or written.
pub fn pack(folder: &Path, out: &Path, program: &str) -> Result<Manifest, BundleError> {
    pack_with(folder, out, program, Pictures::Kept)
}

/// As [`pack`], with or without the pictures of screens.
///
/// # Errors
/// The folder holds neither, or a file cannot be read or written.
pub fn pack_with(
    folder: &Path,
    out: &Path,
    program: &str,
    pictures: Pictures,
) -> Result<Manifest, BundleError> {
    check(folder, Wanted::RunOrExperiment)?;
    let place = out.parent().filter(|place| !place.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut paths = files(folder)?;
    // What an unpacked bundle went without is still named by its traces.
    let mut left_out = manifest(folder)?.map(|before| before.pictures_left_out).unwrap_or_default();
    left_out.retain(|path| !paths.contains(path));
    if pictures == Pictures::LeftOut {
        left_out.extend(paths.extract_if(.., |path| is_picture(path)));
    }
    let mut list = Manifest {
        schema: BUNDLE_SCHEMA.into(),
        program: program.into(),
        files: BTreeMap::new(),
        pictures_left_out: left_out,
    };
    for path in &paths {
        let file = folder.join(path);
        list.files.insert(path.clone(), hash_of(&file).map_err(failed(&file))?);
    }
    let draft = tempfile::NamedTempFile::new_in(place).map_err(failed(out))?;
    write(folder, &list, draft.as_file())?;
    draft.persist(out).map_err(|error| failed(out)(error.error))?;
    Ok(list)
}

/// Whether a file is a picture among the blobs of a run. Figures of a skillbook and evidence are none of these.
fn is_picture(path: &str) -> bool {
    let path = Path::new(path);
    let is_blob = path.parent().is_some_and(|folder| folder.ends_with(BLOBS_FOLDER));
    is_blob && path.extension().is_some_and(|kind| PICTURES.iter().any(|picture| kind == *picture))
}

fn write(folder: &Path, list: &Manifest, file: &File) -> Result<(), BundleError> {
    let mut archive = tar::Builder::new(GzEncoder::new(BufWriter::new(file), Compression::default()));
    let there = |source| failed(folder)(source);
    let text = serde_json::to_vec_pretty(list).map_err(|error| there(error.into()))?;
    append(&mut archive, BUNDLE_FILE, text.len() as u64, text.as_slice())?;
    for path in list.files.keys() {
        let source = folder.join(path);
        let file = apprentice_files::open(&source).map_err(failed(&source))?;
        let size = file.metadata().map_err(failed(&source))?.len();
        append(&mut archive, path, size, file.take(size))?;
    }
    let end = archive.into_inner().and_then(GzEncoder::finish).and_then(|mut end| end.flush());
    end.and_then(|()| file.sync_all()).map_err(there)
}

/// Appends a file under a header without times, owners or extensions, so that the same folder always gives the same
/// bundle.
fn append(
    archive: &mut tar::Builder<impl io::Write>,
    path: &str,
    size: u64,
    from: impl io::Read,
) -> Result<(), BundleError> {
    let mut header = tar::Header::new_ustar();
    let long = |_| BundleError::Name { path: path.into(), why: "its path is too long" };
    header.set_path(path).map_err(long)?;
    header.set_size(size);
    header.set_mode(0o644);
    header.set_mtime(0);
    header.set_cksum();
    archive.append(&header, from).map_err(failed(Path::new(path)))
}

/// Lists the files below a folder that belong into its bundle, in order, as paths with `/`. Symbolic links are skipped, because
/// their targets are not part of the run.
///
/// # Errors
/// A folder cannot be read, or a name is not UTF-8.
pub fn files(root: &Path) -> Result<Vec<String>, BundleError> {
    let mut found = Vec::new();
    walk(root, "", &mut found)?;
    found.sort_unstable();
    Ok(found)
}

fn walk(root: &Path, below: &str, found: &mut Vec<String>) -> Result<(), BundleError> {
    let folder = root.join(below);
    let entries = fs::read_dir(&folder).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    for entry in entries.map_err(failed(&folder))? {
        let name = entry.file_name();
        let Some(name) = name.to_str() else {
            let path = entry.path().to_string_lossy().into_owned();
            return Err(BundleError::Name { path, why: "its name is not UTF-8" });
        };
        let path = if below.is_empty() { name.to_owned() } else { format!("{below}/{name}") };
        let kind = entry.file_type().map_err(failed(&entry.path()))?;
        if kind.is_dir() && !path.ends_with(LOCAL_FOLDER) {
            walk(root, &path, found)?;
        } else if kind.is_file()
            && path != BUNDLE_FILE
            && !LOCAL_FILES.iter().any(|left| path.ends_with(left))
        {
            found.push(path);
        }
    }
    Ok(())
}

/// Returns the SHA-256 of a file.
///
/// # Errors
/// The file cannot be read.
pub fn hash_of(path: &Path) -> io::Result<String> {
    let mut file = BufReader::new(File::open(path)?);
    let mut digest = Sha256::new();
    loop {
        let read = file.fill_buf()?;
        if read.is_empty() {
            return Ok(hex(&digest.finalize()));
        }
        digest.update(read);
        let taken = read.len();
        file.consume(taken);
    }
}

/// Reads the list of files of an unpacked bundle; `None` for a folder that is none.
///
/// # Errors
/// The list cannot be read.
pub fn manifest(folder: &Path) -> Result<Option<Manifest>, BundleError> {
    let path = folder.join(BUNDLE_FILE);
    if !path.is_file() {
        return Ok(None);
    }
    let form = |error: serde_json::Error| BundleError::Form { path: path.clone(), why: error.to_string() };
    let text = apprentice_files::read(&path).map_err(failed(&path))?;
    serde_json::from_slice(&text).map(Some).map_err(form)
}

/// Unpacks regular files below `scratch`. Rejects links, paths that leave the folder, and bundles above the caps.
///
/// # Errors
///
/// Fails if the file is no valid bundle or is above the caps, or if something cannot be written. What was written stays in `scratch`.
pub fn unpack(bundle: &Path, scratch: &Path, caps: UnpackLimits) -> Result<Manifest, BundleError> {
    let form = |why: String| BundleError::Form { path: bundle.to_owned(), why };
    let broken = |error: io::Error| form(error.to_string());
    let too_large = || BundleError::TooLarge { path: bundle.to_owned(), caps };
    let file = apprentice_files::open(bundle).map_err(failed(bundle))?;
    let mut archive = tar::Archive::new(GzDecoder::new(BufReader::new(file)));
    let (mut list, mut bytes, mut files): (Option<Manifest>, u64, usize) = (None, 0, 0);
    // Raw mode: tar extensions, which may have any length, appear as entries of their own and are rejected.
    for entry in archive.entries().map_err(broken)?.raw(true) {
        let entry = entry.map_err(broken)?;
        let path = entry.path().map_err(broken)?.into_owned();
        if is_extension(entry.header().entry_type()) {
            let why = "it has long names or other extensions of tar (pax or GNU), which `apprentice bundle` never writes; \
                       unpack it, and pack the folder with `apprentice bundle`";
            return Err(form(why.to_owned()));
        }
        if !stays_inside(&path) {
            return Err(form(format!("the path {} leaves the bundle", path.display())));
        }
        if entry.header().entry_type() != tar::EntryType::Regular {
            return Err(form(format!("{} is not a regular file", path.display())));
        }
        bytes = bytes.saturating_add(entry.size());
        files += 1;
        if bytes > caps.bytes || files > caps.files {
            return Err(too_large());
        }
        if list.is_some() {
            unpack_one(entry, &path, scratch)?;
            continue;
        }
        if path != Path::new(BUNDLE_FILE) || entry.size() > MAX_MANIFEST_BYTES {
            return Err(form(format!("it does not start with {BUNDLE_FILE}")));
        }
        list = Some(serde_json::from_reader(entry).map_err(|error| form(format!("{BUNDLE_FILE}: {error}")))?);
    }
    list.filter(|list| list.schema == BUNDLE_SCHEMA)
        .ok_or_else(|| form(format!("it has no {BUNDLE_FILE} with schema {BUNDLE_SCHEMA}")))
}

/// Returns whether an entry only says more of the next one.
fn is_extension(kind: tar::EntryType) -> bool {
    kind.is_pax_local_extensions()
        || kind.is_pax_global_extensions()
        || kind.is_gnu_longname()
        || kind.is_gnu_longlink()
        || kind.is_gnu_sparse()
}

fn unpack_one(mut entry: impl io::Read, path: &Path, scratch: &Path) -> Result<(), BundleError> {
    let target: PathBuf = scratch.join(path);
    let folder = target.parent().unwrap_or(scratch);
    fs::create_dir_all(folder).map_err(failed(path))?;
    if target.exists() {
        return Err(BundleError::Name {
            path: path.display().to_string(),
            why: "it stands in the bundle twice",
        });
    }
    let written = File::create_new(&target).and_then(|mut out| io::copy(&mut entry, &mut out));
    written.map(drop).map_err(failed(path))
}
