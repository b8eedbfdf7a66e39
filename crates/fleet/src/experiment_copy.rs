//! Brings the copy of an experiment's folder that its leader has left, and never over what was done here meanwhile.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use apprentice_results::report::REPORT_FILES;
use apprentice_runs::layout::{BLOBS_FOLDER, DEV_FOLDER, LEARNING_FOLDER, MEASURE_FOLDER, TRIALS_FOLDER};

use crate::artifacts::{ArtifactError, Artifacts, FileList, hash_of};

/// The file with the lists that were brought into a folder, one a line. A fetch that was killed leaves its own beside the one before.
const BROUGHT: &str = ".fetched";
/// Folders of an experiment whose folders are runs.
const RUNS: [&str; 3] = [LEARNING_FOLDER, DEV_FOLDER, MEASURE_FOLDER];

/// The reason a copy cannot be brought.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CopyError {
    /// A file here is neither that of the copy nor one that was brought before.
    #[error("{} was changed on this machine", .0.display())]
    Changed(PathBuf),
    /// An artifact cannot be used.
    #[error(transparent)]
    Artifact(#[from] ArtifactError),
    /// A file cannot be written.
    #[error("{}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
}

/// Makes the wanted files below a folder those of a list. Files that differ are replaced, unless they were changed here. Returns
/// how many were brought.
pub(crate) async fn restore(
    artifacts: &Artifacts,
    hash: &str,
    folder: &Path,
    wanted: impl Fn(&str) -> bool,
) -> Result<usize, CopyError> {
    let mut files = artifacts.list(hash).await?.files;
    files.retain(|path, _| wanted(path));
    let brought = brought(artifacts, folder).await?;
    let (mut stale, mut missing) = (Vec::new(), BTreeMap::new());
    for (path, hash) in files {
        let file = folder.join(&path);
        let here = hash_of(&file)?;
        if here.as_ref() == Some(&hash) {
            continue;
        }
        if let Some(here) = here {
            if !may_be_replaced(&path, &here, &brought.files) {
                return Err(CopyError::Changed(file));
            }
            stale.push(file);
        }
        missing.insert(path, hash);
    }
    let lists = brought.lists.iter().map(String::as_str);
    keep_lists(folder, lists.chain([hash]))?;
    for file in stale {
        fs::remove_file(&file).map_err(|source| CopyError::Io { path: file.clone(), source })?;
    }
    let added = missing.len();
    artifacts.get_listed(&FileList::new(missing), folder).await?;
    keep_lists(folder, [hash])?;
    Ok(added)
}

/// Returns whether a file belongs to the traces or the pictures of a run.
pub(crate) fn is_of_a_trial(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    parts.windows(3).any(|part| RUNS.contains(&part[0]) && matches!(part[2], TRIALS_FOLDER | BLOBS_FOLDER))
}

/// Returns whether a file with this content may be replaced: it was brought as it is, or is made of others at any time, as reports and the
/// cache of a skillbook are.
fn may_be_replaced(path: &str, here: &str, brought: &BTreeSet<(String, String)>) -> bool {
    REPORT_FILES.contains(&path)
        || path.contains("/.meta/cache/")
        || brought.contains(&(path.to_owned(), here.to_owned()))
}

/// What was brought into a folder before.
struct Brought {
    lists: Vec<String>,
    /// Paths and the hashes of their content.
    files: BTreeSet<(String, String)>,
}

async fn brought(artifacts: &Artifacts, folder: &Path) -> Result<Brought, CopyError> {
    let file = folder.join(BROUGHT);
    let text = match fs::read_to_string(&file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        read => read.map_err(|source| CopyError::Io { path: file.clone(), source })?,
    };
    let mut brought = Brought { lists: text.lines().map(str::to_owned).collect(), files: BTreeSet::new() };
    for list in &brought.lists {
        brought.files.extend(artifacts.list(list).await?.files);
    }
    Ok(brought)
}

fn keep_lists<'a>(folder: &Path, lists: impl IntoIterator<Item = &'a str>) -> Result<(), CopyError> {
    let lists: BTreeSet<&str> = lists.into_iter().collect();
    let text: String = lists.into_iter().map(|list| format!("{list}\n")).collect();
    let (file, draft) = (folder.join(BROUGHT), folder.join(format!("{BROUGHT}.draft")));
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(&draft, text))
        .and_then(|()| fs::rename(&draft, &file))
        .map_err(|source| CopyError::Io { path: file.clone(), source })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::Path;

    use super::{CopyError, is_of_a_trial, restore};
    use crate::artifacts::Artifacts;
    use crate::stores::StoreSettings;

    /// Stores files of these contents; returns their list.
    async fn copied(artifacts: &Artifacts, files: &[(&str, &str)]) -> String {
        let mut list = BTreeMap::new();
        for (path, content) in files {
            let hash = artifacts.put(content.as_bytes().to_vec()).await.expect("stores");
            list.insert((*path).to_owned(), hash);
        }
        artifacts.put_list(list).await.expect("stores")
    }

    fn opened(folder: &Path) -> Artifacts {
        Artifacts::open(&format!("file://{}", folder.display()), &StoreSettings::default()).expect("opens")
    }

    #[tokio::test]
    async fn a_newer_copy_replaces_what_was_fetched_and_never_what_was_done_here() {
        let (store, here) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let (artifacts, folder) = (opened(store.path()), here.path().join("e"));
        let rows = "measure/r/trials.jsonl";
        let first = copied(&artifacts, &[(rows, "1\n"), ("report.json", "{}")]).await;
        let second = copied(&artifacts, &[(rows, "1\n2\n"), ("report.json", "{2}")]).await;
        let read = || fs::read_to_string(folder.join(rows)).expect("a file");
        assert_eq!(restore(&artifacts, &first, &folder, |_| true).await.expect("fetches"), 2);
        assert_eq!(restore(&artifacts, &first, &folder, |_| true).await.expect("fetches"), 0);
        // A report that was made here is made of the rest.
        fs::write(folder.join("report.json"), "made here").expect("writes");
        assert_eq!(restore(&artifacts, &second, &folder, |_| true).await.expect("fetches"), 2);
        assert_eq!(read(), "1\n2\n");
        // As `apprentice resume` does.
        fs::write(folder.join(rows), "1\n2\n3\n").expect("writes");
        for list in [&first, &second] {
            let fetched = restore(&artifacts, list, &folder, |_| true).await;
            assert!(matches!(fetched, Err(CopyError::Changed(_))), "{fetched:?}");
        }
        assert_eq!(read(), "1\n2\n3\n");
        // A folder that holds something else of this name.
        fs::remove_file(folder.join(".fetched")).expect("removes");
        let fetched = restore(&artifacts, &first, &folder, |_| true).await;
        assert!(matches!(fetched, Err(CopyError::Changed(_))), "{fetched:?}");
    }

    #[tokio::test]
    async fn a_fetch_that_was_killed_in_the_middle_is_gone_on_with() {
        let (store, here) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let artifacts = opened(store.path());
        let lists = [
            copied(&artifacts, &[("a", "1"), ("b", "1")]).await,
            copied(&artifacts, &[("a", "2"), ("b", "2")]).await,
            copied(&artifacts, &[("a", "3"), ("b", "3")]).await,
        ];
        restore(&artifacts, &lists[0], here.path(), |_| true).await.expect("fetches");
        // One of the second's files is there, and its list stands beside that of the first.
        fs::write(here.path().join("a"), "2").expect("writes");
        fs::write(here.path().join(".fetched"), format!("{}\n{}\n", lists[0], lists[1])).expect("writes");
        restore(&artifacts, &lists[2], here.path(), |_| true).await.expect("fetches");
        for name in ["a", "b"] {
            assert_eq!(fs::read_to_string(here.path().join(name)).expect("a file"), "3");
        }
    }

    #[tokio::test]
    async fn rows_alone_leave_traces_and_pictures_in_the_store() {
        let (store, here) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let artifacts = opened(store.path());
        let files = [
            ("measure/r/trials.jsonl", "rows"),
            ("measure/r/trials/t/events.jsonl", "trace"),
            ("measure/r/blobs/00", "picture"),
            ("replicates/2/learning/r/trials/t/events.jsonl", "trace"),
            ("skillbook/trials/page.md", "a page"),
        ];
        let list = copied(&artifacts, &files).await;
        assert_eq!(
            restore(&artifacts, &list, here.path(), |path| !is_of_a_trial(path)).await.expect("fetches"),
            2
        );
        let there = |path: &str| here.path().join(path).exists();
        assert!(there(files[0].0) && there(files[4].0) && !files[1..4].iter().any(|(path, _)| there(path)));
        assert_eq!(restore(&artifacts, &list, here.path(), |_| true).await.expect("fetches"), 3);
        assert!(files.iter().all(|(path, _)| there(path)));
    }
}
