//! Where the queue is. A password comes from the environment or a file: other users of a machine see command lines.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use apprentice_fleet::{
    Address, Database, DatabaseError, Patience, Queue, STORE_SETTINGS, SchemaError, StoreSettings,
};
use apprentice_sandbox::SystemClock;
use clap::Args;

use crate::failure::{Failure, Kind, WithKind as _};
use crate::process_env;

const VARIABLE: &str = "APPRENTICE_QUEUE";
const PASSWORD: &str = "PGPASSWORD";

/// Options that say where the queue is.
#[derive(Clone, Debug, Args)]
pub(crate) struct QueueAddress {
    /// The queue's database, as postgres://USER@HOST:PORT/DATABASE, without a password [default: the environment variable
    /// APPRENTICE_QUEUE].
    #[arg(long, value_name = "ADDRESS", help_heading = "Queue", conflicts_with = "queue_file")]
    queue: Option<String>,
    /// A file that holds this address, which may have a password. Without one, PGPASSWORD is used.
    #[arg(long, value_name = "FILE", help_heading = "Queue")]
    queue_file: Option<PathBuf>,
}

impl QueueAddress {
    fn address(&self) -> Result<Address, Failure> {
        let text = match (&self.queue, &self.queue_file) {
            (Some(address), _) => address.clone(),
            (None, Some(file)) => {
                let read = std::fs::read_to_string(file);
                read.map_err(|error| Failure::say(Kind::Config, format!("{}: {error}", file.display())))?
            }
            (None, None) => {
                let set = process_env::variable(VARIABLE).and_then(|value| value.into_string().ok());
                set.ok_or_else(|| {
                    Failure::say(Kind::Usage, "no queue is named")
                        .hint(format!("set {VARIABLE}, or give --queue postgres://USER@HOST:PORT/DATABASE"))
                })?
            }
        };
        let address: Address = text.parse().kind(Kind::Usage)?;
        if self.queue.is_some() && address.has_password() {
            let failure =
                "the address on the command line holds a password, which other users of this machine can see";
            return Err(Failure::say(Kind::Usage, failure).hint(format!(
                "set {VARIABLE} or {PASSWORD}, or give --queue-file FILE; and change the password"
            )));
        }
        let password = process_env::variable(PASSWORD).and_then(|value| value.into_string().ok());
        Ok(match password {
            Some(password) => address.with_password(&password),
            None => address,
        })
    }

    /// The queue that the environment names.
    pub(crate) fn of_environment() -> Self {
        Self { queue: None, queue_file: None }
    }

    /// The database, which is connected to when first used.
    pub(crate) fn database(&self) -> Result<Database, Failure> {
        self.patient_database(Patience::default())
    }

    fn patient_database(&self, patience: Patience) -> Result<Database, Failure> {
        Ok(Database::new(self.address()?, patience, Arc::new(SystemClock::default())))
    }

    /// Opens the queue for a person who waits for answers no longer than this.
    pub(crate) async fn open_within(&self, patience: Duration) -> Result<Queue, Failure> {
        let opened = Queue::open(self.patient_database(Patience(patience))?).await.map_err(schema_failure)?;
        Ok(opened.with_stores(StoreSettings { patience: Some(patience), ..store_settings() }))
    }

    /// Opens the queue; with `migrate`, makes or changes its tables where needed.
    pub(crate) async fn open(&self, migrate: bool) -> Result<Queue, Failure> {
        let database = self.database()?;
        let opened = match migrate {
            true => Queue::open_and_migrate(database).await,
            false => Queue::open(database).await,
        };
        Ok(opened.map_err(schema_failure)?.with_stores(patient_store_settings()))
    }
}

/// What the environment says about object stores, by the names that their own programs use. A person who submits learns soon
/// that a store does not answer.
pub(crate) fn store_settings() -> StoreSettings {
    let values = STORE_SETTINGS.iter().flat_map(|prefix| process_env::variables(prefix));
    StoreSettings { values: values.collect(), patience: None }
}

/// The same for what works by itself: a store that is away is waited for as long as the database.
pub(crate) fn patient_store_settings() -> StoreSettings {
    StoreSettings { patience: Some(Patience::default().0), ..store_settings() }
}

/// Converts an error of the tables into a failure of the command.
fn schema_failure(error: SchemaError) -> Failure {
    match error {
        SchemaError::Database(error) => database_failure(error),
        other => Failure::new(Kind::Config, other),
    }
}

/// Converts an error of the database into a failure of the command.
pub(crate) fn database_failure(error: DatabaseError) -> Failure {
    Failure::new(Kind::Environment, error)
}
