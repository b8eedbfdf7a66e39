//! Where a run is that a command reads: a folder, or in builds with fleets `queue:RUN`, of which only what is read is brought, or
//! all of it for a command that needs each file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use apprentice_protocol::{Event, EventKind};
use apprentice_runs::layout::BLOBS_FOLDER;
use apprentice_runs::row::TrialRow;
use apprentice_runs::{Opened, Wanted, check, open, read_rows};
use apprentice_trace::{FileSource, blob_path};

use crate::failure::{Failure, Kind, WithKind as _};

/// The folder of a run or an experiment, open for reading.
pub(crate) struct RunPlace {
    folder: PathBuf,
    source: Option<Arc<dyn FileSource>>,
    /// A bundle unpacked for as long as it is read.
    _opened: Option<Opened>,
    #[cfg(feature = "fleet")]
    _scratch: Option<crate::runs::queue_access::Scratch>,
}

impl RunPlace {
    /// Opens what a command line names: what the command reads, or a bundle of it.
    pub(crate) fn of(path: &Path, wanted: Wanted) -> Result<Self, Failure> {
        #[cfg(feature = "fleet")]
        if let Some(run) = path.to_str().and_then(|path| path.strip_prefix("queue:")) {
            let (run, scratch) = crate::runs::queue_access::opened(run)?;
            let folder = run.folder().to_owned();
            return Ok(Self { folder, source: Some(run), _opened: None, _scratch: Some(scratch) });
        }
        let opened = open(path, wanted).kind(Kind::Config)?;
        Ok(Self {
            folder: opened.folder().to_owned(),
            source: None,
            _opened: Some(opened),
            #[cfg(feature = "fleet")]
            _scratch: None,
        })
    }

    /// An attempt's folder, which is read as it is.
    pub(crate) fn of_attempt(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            source: None,
            _opened: None,
            #[cfg(feature = "fleet")]
            _scratch: None,
        }
    }

    /// The folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether it lies elsewhere: in a queue, or in a bundle. What is written into its folder is gone with the command.
    pub(crate) fn is_elsewhere(&self, named: &Path) -> bool {
        self.source.is_some() || self.folder != named
    }

    /// Whether it is a bundle that was unpacked for as long as it is read.
    pub(crate) fn is_bundle(&self, named: &Path) -> bool {
        self.source.is_none() && self.folder != named
    }

    /// What brings its files.
    pub(crate) fn source(&self) -> Option<Arc<dyn FileSource>> {
        self.source.clone()
    }

    /// Brings traces and evidence, without pictures, of the attempts that are wanted.
    pub(crate) fn bring(&self, wanted: impl Fn(&TrialRow) -> bool) -> Result<(), Failure> {
        let Some(source) = &self.source else { return Ok(()) };
        for row in read_rows(&self.folder).kind(Kind::Config)?.rows.iter().filter(|row| wanted(row)) {
            source.bring(&self.folder.join(&row.trace)).kind(Kind::Environment)?;
        }
        Ok(())
    }

    /// Brings what a model saw: the pictures and outlines that events name.
    pub(crate) fn bring_screens(&self, events: &[Event]) -> Result<(), Failure> {
        let Some(source) = &self.source else { return Ok(()) };
        let blobs = self.folder.join(BLOBS_FOLDER);
        for event in events {
            let EventKind::Observed { screenshot, outline, .. } = &event.kind else { continue };
            for (hash, extension) in [(screenshot, "png"), (outline, "txt")] {
                let path = hash.as_ref().map(|hash| blob_path(&blobs, hash, extension));
                path.map_or(Ok(()), |path| source.bring(&path)).kind(Kind::Environment)?;
            }
        }
        Ok(())
    }
}

/// A run or an experiment of which each file is here.
pub(crate) struct WholePlace {
    folder: PathBuf,
    /// What is made of it is put beside this.
    beside: PathBuf,
    _scratch: Option<tempfile::TempDir>,
}

impl WholePlace {
    /// Finds what a command line names. In builds with fleets, what is in a queue is brought into a folder below `near`, which goes
    /// with this value.
    pub(crate) fn of(path: &Path, near: &Path) -> Result<Self, Failure> {
        #[cfg(feature = "fleet")]
        if let Some(run) = path.to_str().and_then(|path| path.strip_prefix("queue:")) {
            let (folder, scratch) = crate::runs::queue_access::whole(run, near)?;
            let beside = near.join(folder.file_name().unwrap_or_default());
            return Ok(Self { folder, beside, _scratch: Some(scratch) });
        }
        #[cfg(not(feature = "fleet"))]
        let _ = near;
        check(path, Wanted::RunOrExperiment).kind(Kind::Config)?;
        let folder = path.canonicalize().kind(Kind::Config)?;
        Ok(Self { beside: folder.clone(), folder, _scratch: None })
    }

    /// The folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The path beside which a file made of it is put.
    pub(crate) fn beside(&self) -> &Path {
        &self.beside
    }
}
