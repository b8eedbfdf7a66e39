//! A worker as the leader of experiments: it takes one that nobody leads, restores its folder, goes on with it, and steps down
//! when it is to end.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use apprentice_evaluator::run::RunControl;
use apprentice_protocol::{BoxFuture, Why};
use tokio_util::sync::CancellationToken;

use crate::artifacts::ArtifactError;
use crate::database::DatabaseError;
use crate::error_chain::error_chain;
use crate::queue::{Claimant, ExperimentRecord, Leadership, Leaving, Queue};

/// The longest wait for news of the queue.
const POLL: Duration = Duration::from_secs(5);

/// Carries out an experiment as its leader.
pub trait LeadExperiment: Send + Sync {
    /// Starts or goes on with an experiment. It ends early when the control of `led` is cancelled.
    fn lead(&self, led: Led) -> BoxFuture<'_, Leaving>;
}

/// An experiment that this worker leads.
pub struct Led {
    /// What was submitted.
    pub record: ExperimentRecord,
    /// The queue.
    pub queue: Arc<Queue>,
    /// The right to lead.
    pub leadership: Arc<Leadership>,
    /// The folder with the files that the experiment names.
    pub inputs: PathBuf,
    /// Its own folder, as the leader before has left it.
    pub folder: PathBuf,
    /// Where its runs report, and what cancels it.
    pub control: RunControl,
}

/// A worker's name, its lease, and its folder.
pub(crate) struct LeaderSettings {
    pub(crate) name: String,
    pub(crate) build: String,
    pub(crate) lease: Duration,
    pub(crate) scratch: PathBuf,
}

/// What leads experiments beside the trials of a worker.
pub(crate) struct Leader {
    pub(crate) queue: Arc<Queue>,
    pub(crate) settings: LeaderSettings,
    pub(crate) port: Box<dyn LeadExperiment>,
    pub(crate) control: RunControl,
}

/// The reason an experiment cannot be restored.
#[derive(Debug, thiserror::Error)]
enum RestoreError {
    #[error(transparent)]
    Database(#[from] DatabaseError),
    #[error(transparent)]
    Artifact(#[from] ArtifactError),
    #[error("the experiment has disappeared from the queue")]
    Gone,
}

impl Leader {
    /// Leads one experiment after the other until `cancel` is cancelled. `unfit` gets those that this worker cannot lead.
    pub(crate) async fn run(
        &self,
        cancel: &CancellationToken,
        unfit: &(dyn Fn(Option<String>) -> Vec<String> + Sync),
    ) {
        let clock = self.queue.database().clock();
        // Those that met trouble here, with the time until which others may try.
        let mut away: BTreeMap<String, Duration> = BTreeMap::new();
        while !cancel.is_cancelled() {
            away.retain(|_, until| *until > clock.mono());
            let mut known = unfit(None);
            known.extend(away.keys().cloned());
            let LeaderSettings { name, build, lease, .. } = &self.settings;
            let by = Claimant { worker: name, build, offers: &[], unfit: &known };
            match self.queue.lead(&by, *lease).await {
                Ok(Some(leadership)) => {
                    let leadership = Arc::new(leadership);
                    let leaving = self.lead(&leadership, cancel).await;
                    if let Leaving::Unable(why) | Leaving::Failed(why) = &leaving {
                        tracing::warn!(experiment = leadership.experiment, why, "an experiment stopped here");
                        unfit(Some(leadership.experiment.clone()));
                    }
                    if let Err(error) = self.queue.leave_experiment(&leadership, &leaving).await {
                        let why = error_chain(&error);
                        tracing::warn!(why, "the lead could not be given back; it ends with its lease");
                    }
                    if let Leaving::Trouble(why) = &leaving {
                        tracing::warn!(experiment = leadership.experiment, why, "an experiment met trouble");
                        away.insert(leadership.experiment.clone(), clock.mono() + *lease);
                    }
                }
                Ok(None) => self.wait(cancel).await,
                Err(error) => {
                    tracing::warn!(why = error_chain(&error), "no experiment could be led");
                    self.wait(cancel).await;
                }
            }
        }
    }

    async fn wait(&self, cancel: &CancellationToken) {
        let database = self.queue.database();
        tokio::select! {
            () = cancel.cancelled() => {}
            () = database.changed() => {}
            () = database.clock().pause(POLL.min(self.settings.lease / 3), Why::PollFloor) => {}
        }
    }

    /// Leads one experiment to its end, or until it is to step down or has lost the lead. What it brought here is removed then.
    async fn lead(&self, leadership: &Arc<Leadership>, cancel: &CancellationToken) -> Leaving {
        let leaving = self.led(leadership, cancel).await;
        let place = self.place(&leadership.experiment);
        if let Err(error) = removed(&place) {
            tracing::warn!(%error, folder = %place.display(), "cannot remove the folder of an experiment");
        }
        leaving
    }

    /// Where the files of an experiment are on this machine.
    fn place(&self, experiment: &str) -> PathBuf {
        self.settings.scratch.join("experiments").join(experiment)
    }

    async fn led(&self, leadership: &Arc<Leadership>, cancel: &CancellationToken) -> Leaving {
        let ended = self.control.cancel.child_token();
        let mut control = self.control.clone();
        control.cancel = ended.clone();
        let led = match self.restored(leadership, control).await {
            Ok(led) => led,
            Err(error) => return Leaving::Trouble(error_chain(&error)),
        };
        let leading = self.port.lead(led);
        let mut leading = std::pin::pin!(leading);
        tokio::select! {
            leaving = &mut leading => return leaving,
            () = cancel.cancelled() => {}
            () = leadership.lost.cancelled() => {}
        }
        // What runs ends, and the last copy is kept if the term still lasts.
        ended.cancel();
        leading.await
    }

    async fn restored(&self, leadership: &Arc<Leadership>, control: RunControl) -> Result<Led, RestoreError> {
        let record = self.queue.experiment(&leadership.experiment).await?.ok_or(RestoreError::Gone)?;
        let artifacts = self.queue.artifacts(&record.artifacts)?;
        let place = self.place(&record.experiment);
        removed(&place).map_err(|source| ArtifactError::Io { path: place.clone(), source })?;
        let (inputs, folder) = (place.join("inputs"), place.join("folder"));
        artifacts.get_files(&record.inputs, &inputs).await?;
        if let Some(list) = &record.copy {
            artifacts.get_files(list, &folder).await?;
        }
        let (queue, leadership) = (Arc::clone(&self.queue), Arc::clone(leadership));
        Ok(Led { record, queue, leadership, inputs, folder, control })
    }
}

/// Removes a folder, if it is there.
fn removed(folder: &Path) -> io::Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
