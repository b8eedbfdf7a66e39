//! The source of files that tasks download: a local folder, a mirror server, or the original address.

use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use percent_encoding::percent_decode_str;
use sha2::{Digest, Sha256};
use tokio::process::Command;

use apprentice_trace::hex;

const TRIES: u32 = 3;
const DEADLINE: Duration = Duration::from_secs(300);
/// The maximum size of one file, in bytes.
const LIMIT: u64 = 1 << 30;
/// A checksum list at the folder's root, with lines `<sha-256>  <path>` as written by `sha256sum`.
const SUMS: &str = "SHA256SUMS";

/// A source of downloaded files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mirror {
    /// A local folder.
    Folder(PathBuf),
    /// A base address that is prepended to paths.
    Address(String),
    /// The original addresses.
    Origin,
}

/// The reason a file is unavailable.
#[derive(Debug, thiserror::Error)]
pub enum MirrorError {
    /// The folder has the file under none of its possible paths.
    #[error("{url} is not in the mirror {}: looked for {looked}", folder.display())]
    Missing {
        /// The requested address.
        url: String,
        /// The mirror's folder.
        folder: PathBuf,
        /// The paths that were tried.
        looked: String,
    },
    /// The address does not map to a safe path inside the mirror.
    #[error("{0} does not map to a path inside the mirror")]
    Outside(String),
    /// The file's checksum differs from the mirror's list.
    #[error("{} does not match its checksum in {SUMS}", .0.display())]
    ChecksumMismatch(PathBuf),
    /// The file cannot be read.
    #[error("{}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// The download failed.
    #[error("{url} could not be fetched in {TRIES} tries: {why}")]
    Fetch {
        /// The address.
        url: String,
        /// The cause.
        why: String,
    },
}

impl Mirror {
    /// Parses a mirror: `origin`, an address, or a folder.
    pub fn at(place: &str) -> Self {
        if place == "origin" {
            Self::Origin
        } else if place.contains("://") {
            Self::Address(place.trim_end_matches('/').to_owned())
        } else {
            Self::Folder(PathBuf::from(place))
        }
    }

    /// Returns whether the mirror may have an address; definite only for folders.
    pub fn may_have(&self, url: &str) -> bool {
        match self {
            Self::Folder(folder) => {
                paths(url).is_ok_and(|paths| paths.iter().any(|path| folder.join(path).is_file()))
            }
            Self::Address(_) | Self::Origin => true,
        }
    }

    /// Returns the file at an address.
    ///
    /// # Errors
    ///
    /// Fails if the file is not in the mirror and cannot be fetched, if its address leads out of the mirror, or if it does not match
    /// its checksum.
    pub async fn fetch(&self, url: &str) -> Result<Vec<u8>, MirrorError> {
        match self {
            Self::Folder(folder) => read(folder, url).await,
            Self::Address(base) => {
                let path = paths(url)?.into_iter().next().unwrap_or_default();
                fetch(&format!("{base}/{path}")).await
            }
            Self::Origin => fetch(url).await,
        }
    }
}

/// The possible paths of an address's file: below the data set's root, and below the host's name.
fn paths(url: &str) -> Result<Vec<String>, MirrorError> {
    let outside = || MirrorError::Outside(url.to_owned());
    let (_, rest) = url.split_once("://").ok_or_else(outside)?;
    let rest = rest.split(['?', '#']).next().unwrap_or(rest);
    let below = rest.split_once("/resolve/").and_then(|(_, rest)| rest.split_once('/')).map(|(_, path)| path);
    let mut found = Vec::new();
    for path in below.into_iter().chain([rest]) {
        for path in [path.to_owned(), percent_decode_str(path).decode_utf8_lossy().into_owned()] {
            let plain = |part: Component<'_>| matches!(part, Component::Normal(_));
            if path.is_empty() || path.contains('\\') || !Path::new(&path).components().all(plain) {
                return Err(outside());
            }
            if !found.contains(&path) {
                found.push(path);
            }
        }
    }
    Ok(found)
}

async fn read(folder: &Path, url: &str) -> Result<Vec<u8>, MirrorError> {
    let paths = paths(url)?;
    for name in &paths {
        let path = folder.join(name);
        let bytes = match tokio::fs::read(&path).await {
            Ok(bytes) => bytes,
            Err(error)
                if matches!(
                    error.kind(),
                    std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
                ) =>
            {
                continue;
            }
            Err(source) => return Err(MirrorError::Read { path, source }),
        };
        let sums = tokio::fs::read_to_string(folder.join(SUMS)).await.unwrap_or_default();
        let listed = sums.lines().filter_map(|line| line.split_once("  "));
        let mut wanted =
            listed.filter(|(_, path)| path.trim_start_matches(['*', '.', '/']) == name).map(|(sum, _)| sum);
        if let Some(wanted) = wanted.next_back()
            && !wanted.eq_ignore_ascii_case(&hex(&Sha256::digest(&bytes)))
        {
            return Err(MirrorError::ChecksumMismatch(path));
        }
        return Ok(bytes);
    }
    Err(MirrorError::Missing { url: url.to_owned(), folder: folder.to_owned(), looked: paths.join(", ") })
}

/// Downloads with curl, which uses the system's proxies and certificates.
async fn fetch(url: &str) -> Result<Vec<u8>, MirrorError> {
    let failed = |why: String| MirrorError::Fetch { url: url.to_owned(), why };
    if !(url.starts_with("http://") || url.starts_with("https://")) {
        return Err(failed("only http and https addresses are fetched".into()));
    }
    let seconds = DEADLINE.as_secs().to_string();
    let (tries, limit) = ((TRIES - 1).to_string(), LIMIT.to_string());
    let output = Command::new("curl")
        .args(["--silent", "--show-error", "--fail", "--location", "--proto-redir", "=http,https"])
        .args([
            "--retry",
            &tries,
            "--retry-all-errors",
            "--max-time",
            &seconds,
            "--max-filesize",
            &limit,
            "--",
        ])
        .arg(url)
        .kill_on_drop(true)
        .output()
        .await
        .map_err(|error| failed(format!("curl could not be started: {error}")))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::{Mirror, MirrorError, paths};

    const URL: &str = "https://host.org/data/set/resolve/main/app/a%20b.xlsx?download=true";

    #[test]
    fn an_address_has_paths_and_none_leads_out() {
        let found = paths(URL).expect("paths");
        assert_eq!(&found[..2], ["app/a%20b.xlsx", "app/a b.xlsx"]);
        for wrong in
            ["x", "https://h/../../etc/passwd", "https://h/%2e%2e/%2e%2e/x", "https://h/..%2fx", "file:///x"]
        {
            assert!(matches!(paths(wrong), Err(MirrorError::Outside(_))), "{wrong}");
        }
    }

    #[tokio::test]
    async fn a_folder_answers_and_is_held_to_its_list() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("app")).expect("makes");
        std::fs::write(folder.path().join("app/a b.xlsx"), "x").expect("writes");
        let mirror = Mirror::at(&folder.path().to_string_lossy());
        assert!(mirror.may_have(URL) && !mirror.may_have("https://host.org/other"));
        assert_eq!(mirror.fetch(URL).await.expect("is there"), b"x");
        assert!(matches!(mirror.fetch("https://host.org/other").await, Err(MirrorError::Missing { .. })));
        let sums = format!("{}  app/a b.xlsx\n", "0".repeat(64));
        std::fs::write(folder.path().join("SHA256SUMS"), sums).expect("writes");
        assert!(matches!(mirror.fetch(URL).await, Err(MirrorError::ChecksumMismatch(_))));
    }
}
