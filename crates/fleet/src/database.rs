//! One connection to the database, opened again when it breaks. Every statement can be repeated without harm.

use std::collections::HashMap;
use std::error::Error as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use apprentice_protocol::{Clock, Why};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Notify;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{AsyncMessage, Client, Connection, NoTls, Row, Socket, Statement};
use tokio_postgres_rustls::MakeRustlsConnect;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::address::{Address, SCHEMA};

/// A statement that takes longer is given up, with its connection, and repeated.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(60);
const FIRST_BACKOFF: Duration = Duration::from_millis(50);
const LONGEST_BACKOFF: Duration = Duration::from_secs(5);
/// The channel on which the database tells that a trial may have become ready.
pub(crate) const CHANNEL: &str = "apprentice_queue";

/// How long a statement may be repeated while the database cannot be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience(pub Duration);

impl Default for Patience {
    /// A restarted database is back within minutes.
    fn default() -> Self {
        Self(Duration::from_secs(600))
    }
}

/// The database of a queue.
pub struct Database {
    address: Address,
    clock: Arc<dyn Clock>,
    patience: Patience,
    session: tokio::sync::Mutex<Option<Arc<Session>>>,
    changed: Arc<Notify>,
}

/// A connection with its prepared statements.
struct Session {
    client: Client,
    statements: Mutex<HashMap<&'static str, Statement>>,
    /// Ends the connection's task.
    _reader: DropGuard,
}

/// The reason the database cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// It could not be reached in time.
    #[error("the database {address} could not be reached for {} s; start it, or check the address", .waited.as_secs())]
    Unreachable {
        /// The address, without password.
        address: String,
        /// How long it was tried.
        waited: Duration,
        /// The last cause.
        #[source]
        source: Option<tokio_postgres::Error>,
    },
    /// The user may not do what the queue needs.
    #[error("the database {address} refuses the user: {message}; {}", .remedy)]
    Denied {
        /// The address, without password.
        address: String,
        /// The database's message.
        message: String,
        /// What to do.
        remedy: &'static str,
    },
    /// It has no room left.
    #[error("the database {address} has no room left: {message}; free some, and the workers go on")]
    Full {
        /// The address, without password.
        address: String,
        /// The database's message.
        message: String,
    },
    /// What is to be stored cannot be written, or what is stored not read.
    #[error("{what} cannot be written or read as JSON")]
    Json {
        /// The trial, the result, or what else it is.
        what: &'static str,
        /// The cause.
        #[source]
        source: serde_json::Error,
    },
    /// It refuses a statement.
    #[error("the database {address} refused a statement: {message}")]
    Refused {
        /// The address, without password.
        address: String,
        /// The database's message.
        message: String,
        /// The cause.
        #[source]
        source: tokio_postgres::Error,
    },
}

/// What is sent to the database.
enum Job<'a> {
    Query { sql: &'static str, parameters: &'a [&'a (dyn ToSql + Sync)] },
    Batch(&'a str),
}

/// What to do after a failed statement.
#[derive(Debug, PartialEq, Eq)]
enum Remedy {
    /// Connect again and repeat.
    Reconnect,
    /// Repeat over the same connection.
    Repeat,
    Denied(&'static str),
    Full,
    /// The statement or the tables are wrong.
    None,
}

impl Database {
    /// A database that is connected to when first used.
    pub fn new(address: Address, patience: Patience, clock: Arc<dyn Clock>) -> Self {
        Self { address, clock, patience, session: tokio::sync::Mutex::default(), changed: Arc::default() }
    }

    /// The same database over a connection of its own, on which nothing waits for this one's statements.
    pub(crate) fn beside(&self) -> Self {
        Self::new(self.address.clone(), self.patience, Arc::clone(&self.clock))
    }

    /// The address, which is shown without its password.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// How long a statement may be repeated.
    pub(crate) fn patience(&self) -> Duration {
        self.patience.0
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// Completes when the database tells that a trial may have become ready, or when the connection was lost.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Runs a statement and returns its rows. Repeats it while the database cannot be reached.
    pub(crate) async fn query(
        &self,
        sql: &'static str,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, DatabaseError> {
        self.repeat(&Job::Query { sql, parameters }).await
    }

    /// Runs several statements without parameters, as one transaction.
    pub(crate) async fn batch(&self, sql: &str) -> Result<(), DatabaseError> {
        self.repeat(&Job::Batch(sql)).await.map(drop)
    }

    async fn repeat(&self, job: &Job<'_>) -> Result<Vec<Row>, DatabaseError> {
        let begun = self.clock.mono();
        let mut backoff = FIRST_BACKOFF;
        loop {
            let source = match self.once(job).await {
                Ok(rows) => return Ok(rows),
                Err(source) => source,
            };
            let waited = self.clock.mono().saturating_sub(begun);
            let source = match source {
                Some(error) => Some(self.passing(error)?),
                None => None,
            };
            if waited >= self.patience.0 {
                if let Some(full) = source.as_ref().filter(|error| judged(error) == Remedy::Full) {
                    let (address, message) = (self.address.to_string(), told(full));
                    return Err(DatabaseError::Full { address, message });
                }
                return Err(DatabaseError::Unreachable { address: self.address.to_string(), waited, source });
            }
            tracing::debug!(?source, "the database is tried again");
            self.clock.pause(jittered(backoff), Why::Backoff).await;
            backoff = (backoff * 2).min(LONGEST_BACKOFF);
        }
    }

    /// Returns an error after which the statement is worth repeating; fails with any other.
    fn passing(&self, source: tokio_postgres::Error) -> Result<tokio_postgres::Error, DatabaseError> {
        let (address, message) = (self.address.to_string(), told(&source));
        match judged(&source) {
            Remedy::Full => {
                tracing::warn!(address, message, "the database has no room left; it is tried again");
                Ok(source)
            }
            Remedy::Reconnect | Remedy::Repeat => Ok(source),
            Remedy::Denied(remedy) => Err(DatabaseError::Denied { address, message, remedy }),
            Remedy::None => Err(DatabaseError::Refused { address, message, source }),
        }
    }

    /// Tries once. `None` is a timeout.
    async fn once(&self, job: &Job<'_>) -> Result<Vec<Row>, Option<tokio_postgres::Error>> {
        let session = self.session().await?;
        let done = tokio::time::timeout(STATEMENT_TIMEOUT, session.perform(job)).await;
        let done = done.map_err(|_| None).and_then(|done| done.map_err(Some));
        if let Err(error) = &done
            && error.as_ref().is_none_or(|error| judged(error) == Remedy::Reconnect)
        {
            let mut current = self.session.lock().await;
            if current.as_ref().is_some_and(|current| Arc::ptr_eq(current, &session)) {
                *current = None;
            }
        }
        done
    }

    /// Opens a connection of its own, which is not opened again. `ended` is cancelled when it is lost, and ends it.
    pub(crate) async fn dedicated(&self, ended: &CancellationToken) -> Result<Client, DatabaseError> {
        let opening =
            tokio::time::timeout(STATEMENT_TIMEOUT, connect(&self.address, &Arc::default(), ended)).await;
        let unreachable = |source| DatabaseError::Unreachable {
            address: self.address.to_string(),
            waited: STATEMENT_TIMEOUT,
            source,
        };
        match opening {
            Ok(Ok(client)) => Ok(client),
            Ok(Err(error)) => Err(unreachable(Some(self.passing(error)?))),
            Err(_) => Err(unreachable(None)),
        }
    }

    async fn session(&self) -> Result<Arc<Session>, Option<tokio_postgres::Error>> {
        let mut current = self.session.lock().await;
        if let Some(session) = current.as_ref().filter(|session| !session.client.is_closed()) {
            return Ok(Arc::clone(session));
        }
        let opening =
            tokio::time::timeout(STATEMENT_TIMEOUT, Session::open(&self.address, &self.changed)).await;
        let session = Arc::new(opening.map_err(|_| None)?.map_err(Some)?);
        *current = Some(Arc::clone(&session));
        Ok(session)
    }
}

impl Session {
    async fn open(address: &Address, changed: &Arc<Notify>) -> Result<Self, tokio_postgres::Error> {
        let ended = CancellationToken::new();
        let client = connect(address, changed, &ended).await?;
        Ok(Self { client, statements: Mutex::default(), _reader: ended.drop_guard() })
    }

    async fn perform(&self, job: &Job<'_>) -> Result<Vec<Row>, tokio_postgres::Error> {
        match job {
            Job::Query { sql, parameters } => {
                let statement = self.statement(sql).await?;
                self.client.query(&statement, parameters).await
            }
            Job::Batch(sql) => self.client.batch_execute(sql).await.map(|()| Vec::new()),
        }
    }

    async fn statement(&self, sql: &'static str) -> Result<Statement, tokio_postgres::Error> {
        let existing = self.statements.lock().unwrap_or_else(PoisonError::into_inner).get(sql).cloned();
        if let Some(existing) = existing {
            return Ok(existing);
        }
        let prepared = self.client.prepare(sql).await?;
        self.statements.lock().unwrap_or_else(PoisonError::into_inner).insert(sql, prepared.clone());
        Ok(prepared)
    }
}

/// Opens a connection. Each statement is planned once, by its indexes, as the tables are small when it is planned and large later; and only what must outlive a crash waits for the disk: see `safe` in
/// the statements. `ended` ends the connection, and is cancelled when it ends by itself.
async fn connect(
    address: &Address,
    changed: &Arc<Notify>,
    ended: &CancellationToken,
) -> Result<Client, tokio_postgres::Error> {
    let client = match &address.tls {
        Some(tls) => {
            let (client, connection) = address.config.connect(MakeRustlsConnect::new(tls.clone())).await?;
            tokio::spawn(read(connection, Arc::clone(changed), ended.clone()));
            client
        }
        None => {
            let (client, connection) = address.config.connect(NoTls).await?;
            tokio::spawn(read(connection, Arc::clone(changed), ended.clone()));
            client
        }
    };
    let set = format!(
        "SET search_path TO {SCHEMA}; SET statement_timeout TO {}; SET synchronous_commit TO off;
         SET plan_cache_mode TO force_generic_plan; SET jit TO off; SET enable_seqscan TO off; LISTEN {CHANNEL}",
        STATEMENT_TIMEOUT.as_millis()
    );
    client.batch_execute(&set).await?;
    Ok(client)
}

/// Moves a connection's messages until it ends.
async fn read<T>(mut connection: Connection<Socket, T>, changed: Arc<Notify>, ended: CancellationToken)
where
    T: AsyncRead + AsyncWrite + Unpin + Send,
{
    loop {
        let message = tokio::select! {
            biased;
            () = ended.cancelled() => break,
            message = std::future::poll_fn(|context| connection.poll_message(context)) => message,
        };
        match message {
            Some(Ok(AsyncMessage::Notification(_))) => changed.notify_waiters(),
            Some(Ok(_)) => {}
            Some(Err(error)) => {
                tracing::debug!(%error, "the connection to the database ended");
                break;
            }
            None => break,
        }
    }
    // What was told meanwhile is lost.
    ended.cancel();
    changed.notify_waiters();
}

/// Decides what a failed statement means.
fn judged(error: &tokio_postgres::Error) -> Remedy {
    let Some(state) = error.code() else {
        return encryption_remedy(error).unwrap_or(Remedy::Reconnect);
    };
    let passing = [
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::CANNOT_CONNECT_NOW,
        SqlState::TOO_MANY_CONNECTIONS,
        SqlState::IDLE_SESSION_TIMEOUT,
        SqlState::QUERY_CANCELED,
    ];
    if passing.contains(state) || state.code().starts_with("08") {
        return Remedy::Reconnect;
    }
    if [SqlState::T_R_DEADLOCK_DETECTED, SqlState::T_R_SERIALIZATION_FAILURE].contains(state) {
        return Remedy::Repeat;
    }
    if [SqlState::DISK_FULL, SqlState::OUT_OF_MEMORY].contains(state) {
        return Remedy::Full;
    }
    match *state {
        SqlState::INVALID_PASSWORD | SqlState::INVALID_AUTHORIZATION_SPECIFICATION => {
            Remedy::Denied("check the user and the password")
        }
        SqlState::INVALID_CATALOG_NAME => Remedy::Denied("create the database, or check its name"),
        SqlState::INSUFFICIENT_PRIVILEGE => Remedy::Denied(
            "as its owner: GRANT CREATE ON DATABASE … for the first use, then rights on schema apprentice_queue",
        ),
        _ => Remedy::None,
    }
}

/// What to do about an encrypted connection that can never be made; `None` for any other failure of a connection.
fn encryption_remedy(error: &tokio_postgres::Error) -> Option<Remedy> {
    let source = error.source()?;
    let inner = source.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
    if inner.is_some_and(|inner| inner.is::<rustls::Error>()) {
        return Some(Remedy::Denied(
            "its certificate must name the host of the address, and lead to one of ?sslrootcert=FILE or of the system",
        ));
    }
    (source.to_string() == "server does not support TLS").then_some(Remedy::Denied(
        "turn its TLS on, or write ?sslmode=disable into the address if the network is private",
    ))
}

/// The database's own message, or the error's.
fn told(error: &tokio_postgres::Error) -> String {
    match error.as_db_error() {
        Some(database) => database.message().to_owned(),
        None => error.source().map_or_else(|| error.to_string(), ToString::to_string),
    }
}

/// Between half of a pause and all of it, so that many workers do not come back in the same moment.
fn jittered(pause: Duration) -> Duration {
    pause.mul_f64(rand::random_range(0.5..1.0))
}
