//! Keeps calls within money: the worst price is reserved before a call, the real one is settled after it.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use apprentice_protocol::{
    ChatModel, ChatReply, ChatRequest, Clock, ModelError, ModelFault, ModelProfile, PortFuture, Purpose,
};
use serde::{Deserialize, Serialize};

use crate::model::price::Tariff;

/// Money that one scope may spend: a trial, a run, or a day. Shared by all models of the scope.
#[derive(Debug)]
pub struct Ledger {
    scope: &'static str,
    cap: Option<f64>,
    state: Mutex<Account>,
}

#[derive(Debug, Default)]
struct Account {
    spent: f64,
    reserved: f64,
    daybook: Option<Daybook>,
}

/// What was spent on one day by any process, one line per call.
#[derive(Debug)]
struct Daybook {
    folder: PathBuf,
    day: String,
    reader: File,
    writer: File,
    /// A half-read last line of another process.
    rest: Vec<u8>,
}

/// One line of a daybook.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) at: jiff::Timestamp,
    pub(crate) model: String,
    pub(crate) purpose: Purpose,
    pub(crate) usd: f64,
}

/// Why a ledger cannot be kept.
#[derive(Debug, thiserror::Error)]
#[error("the daybook {} cannot be kept", path.display())]
pub struct LedgerError {
    path: PathBuf,
    #[source]
    source: std::io::Error,
}

impl Ledger {
    /// A ledger of this process: `scope` names it in refusals, without a cap it only counts.
    pub fn new(scope: &'static str, cap: Option<f64>) -> Self {
        Self { scope, cap, state: Mutex::default() }
    }

    /// The ledger of the day, kept in a folder and shared with other processes.
    pub fn of_day(folder: &Path, cap: Option<f64>, now: jiff::Timestamp) -> Result<Self, LedgerError> {
        let daybook = Daybook::open(folder, now)?;
        let mut account = Account { daybook: Some(daybook), ..Account::default() };
        account.catch_up(folder)?;
        Ok(Self { scope: "day", cap, state: Mutex::new(account) })
    }

    /// US dollars spent so far.
    pub fn spent(&self) -> f64 {
        self.lock().spent
    }

    /// The cap, if there is one.
    pub fn cap(&self) -> Option<f64> {
        self.cap
    }

    fn lock(&self) -> MutexGuard<'_, Account> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the worst price aside, or says why it does not fit.
    fn reserve(self: &Arc<Self>, worst: f64, now: jiff::Timestamp) -> Result<Reserved, ModelError> {
        let mut account = self.lock();
        if let Err(error) = account.turn_to(now) {
            // A cap that cannot be watched is no cap.
            return Err(ModelError::never(ModelFault::Budget, format!("{error}: {}", error.source)));
        }
        if let Some(cap) = self.cap
            && account.spent + account.reserved + worst > cap
        {
            let story = format!(
                "this call may cost ${worst:.4}; of the {}'s ${cap:.2} ${:.4} are spent and ${:.4} are reserved",
                self.scope, account.spent, account.reserved
            );
            return Err(ModelError::never(ModelFault::Budget, story));
        }
        account.reserved += worst;
        Ok(Reserved { ledger: Arc::clone(self), worst })
    }
}

impl Account {
    /// Goes on to the next day's book at midnight, and reads what others have spent meanwhile.
    fn turn_to(&mut self, now: jiff::Timestamp) -> Result<(), LedgerError> {
        let Some(daybook) = &self.daybook else { return Ok(()) };
        let folder = daybook.folder.clone();
        if daybook.day != day(now) {
            self.daybook = Some(Daybook::open(&folder, now)?);
            self.spent = 0.0;
        }
        self.catch_up(&folder)
    }

    fn catch_up(&mut self, folder: &Path) -> Result<(), LedgerError> {
        let Some(daybook) = &mut self.daybook else { return Ok(()) };
        let failed = |source| LedgerError { path: folder.to_owned(), source };
        daybook.reader.read_to_end(&mut daybook.rest).map_err(failed)?;
        let whole = daybook.rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        let lines: Vec<u8> = daybook.rest.drain(..whole).collect();
        for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            match serde_json::from_slice::<Entry>(line) {
                Ok(entry) => self.spent += entry.usd,
                Err(error) => tracing::warn!(%error, "a line of the daybook is not one"),
            }
        }
        Ok(())
    }
}

impl Daybook {
    fn open(folder: &Path, now: jiff::Timestamp) -> Result<Self, LedgerError> {
        let day = day(now);
        let path = folder.join(format!("{day}.jsonl"));
        // Two handles: appending would move the place up to which others' lines are read.
        let opened = std::fs::create_dir_all(folder)
            .and_then(|()| OpenOptions::new().append(true).create(true).open(&path))
            .and_then(|writer| Ok((writer, File::open(&path)?)));
        let (writer, reader) = opened.map_err(|source| LedgerError { path, source })?;
        Ok(Self { folder: folder.to_owned(), day, reader, writer, rest: Vec::new() })
    }
}

fn day(now: jiff::Timestamp) -> String {
    now.strftime("%Y-%m-%d").to_string()
}

/// Money set aside for one call; given back when dropped, also when the call is cancelled.
pub(crate) struct Reserved {
    ledger: Arc<Ledger>,
    worst: f64,
}

impl Reserved {
    pub(crate) fn settle(self, entry: &Entry) {
        let mut account = self.ledger.lock();
        match &mut account.daybook {
            // What is written here is read back with everybody else's lines.
            Some(daybook) => {
                let line = serde_json::to_string(entry).map_or_else(|_| String::new(), |line| line + "\n");
                if let Err(error) = daybook.writer.write_all(line.as_bytes()) {
                    tracing::error!(%error, "a call could not be booked");
                }
            }
            None => account.spent += entry.usd,
        }
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        let mut account = self.ledger.lock();
        account.reserved = (account.reserved - self.worst).max(0.0);
    }
}

/// A model that keeps to its ledgers.
pub struct Budgeted<M> {
    inner: M,
    ledgers: Vec<Arc<Ledger>>,
    tariff: Option<Tariff>,
    longest_ms: u64,
    clock: Arc<dyn Clock>,
}

impl<M: ChatModel> Budgeted<M> {
    /// Asks `inner` while all ledgers allow it. `longest_ms` is the deadline of one exchange.
    pub fn new(
        inner: M,
        ledgers: Vec<Arc<Ledger>>,
        tariff: Option<Tariff>,
        longest_ms: u64,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { inner, ledgers, tariff, longest_ms, clock }
    }

    async fn ask(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        let worst = self.tariff.as_ref().map(|tariff| tariff.worst(request, self.longest_ms));
        let reserved = set_aside(&self.ledgers, &self.profile().name, worst, self.clock.now())?;
        let reply = self.inner.reply(request).await?;
        let entry = Entry {
            at: self.clock.now(),
            model: self.profile().name.clone(),
            purpose: request.purpose,
            usd: reply.cost_usd.unwrap_or(0.0),
        };
        reserved.into_iter().for_each(|one| one.settle(&entry));
        Ok(reply)
    }
}

/// Sets the worst price of a call aside in all ledgers. What has no price is refused where one of them has a cap.
pub(crate) fn set_aside(
    ledgers: &[Arc<Ledger>],
    model: &str,
    worst: Option<f64>,
    now: jiff::Timestamp,
) -> Result<Vec<Reserved>, ModelError> {
    let capped = ledgers.iter().find(|ledger| ledger.cap.is_some());
    let worst = match (worst, capped) {
        (Some(worst), _) => worst,
        (None, None) => 0.0,
        (None, Some(ledger)) => {
            let story = format!(
                "{model} has no price, and the {} has a cap: name a price in the settings, or lift the cap",
                ledger.scope
            );
            return Err(ModelError::never(ModelFault::Budget, story));
        }
    };
    ledgers.iter().map(|ledger| ledger.reserve(worst, now)).collect()
}

impl<M: ChatModel> ChatModel for Budgeted<M> {
    fn profile(&self) -> &ModelProfile {
        self.inner.profile()
    }

    fn reply<'a>(&'a self, request: &'a ChatRequest) -> PortFuture<'a, Result<ChatReply, ModelError>> {
        Box::pin(self.ask(request))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use apprentice_protocol::{ChatModel, ChatRequest, Clock as _, ModelFault};

    use super::{Budgeted, Ledger};
    use crate::model::price::{Price, Tariff};
    use crate::model::scripted::{Scripted, ScriptedReply};
    use apprentice_protocol::SteppedClock;

    fn tariff() -> Tariff {
        Tariff::Tokens(Price { output: 100.0, ..Price::default() })
    }

    fn model(ledgers: Vec<Arc<Ledger>>, tariff: Option<Tariff>) -> impl ChatModel {
        let reply = ScriptedReply { say: Some("a".into()), cost_usd: Some(0.4), ..ScriptedReply::default() };
        let script = Scripted::new(vec![reply; 9]).expect("a script").in_order();
        Budgeted::new(script, ledgers, tariff, 0, Arc::new(SteppedClock::default()))
    }

    /// At a hundred dollars per million tokens this may cost one dollar.
    fn request() -> ChatRequest {
        ChatRequest { max_output_tokens: 10_000, ..ChatRequest::default() }
    }

    #[tokio::test]
    async fn what_may_pass_the_cap_is_refused_before_the_call() {
        let run = Arc::new(Ledger::new("run", Some(2.0)));
        let model = model(vec![Arc::clone(&run)], Some(tariff()));
        for _ in 0..3 {
            model.reply(&request()).await.expect("fits");
        }
        assert!((run.spent() - 1.2).abs() < 1e-9);
        let error = model.reply(&request()).await.expect_err("does not fit");
        assert_eq!(error.fault, ModelFault::Budget);
        assert_eq!(
            error.message,
            "this call may cost $1.0000; of the run's $2.00 $1.2000 are spent and $0.0000 are reserved"
        );
    }

    #[tokio::test]
    async fn a_model_without_a_price_is_refused_under_a_cap_only() {
        let open = Arc::new(Ledger::new("run", None));
        model(vec![open], None).reply(&request()).await.expect("no cap, no refusal");
        let capped = Arc::new(Ledger::new("run", Some(1.0)));
        let error = model(vec![capped], None).reply(&request()).await.expect_err("cannot be priced");
        assert!(error.message.contains("has no price"), "{error}");
    }

    #[tokio::test]
    async fn the_days_book_is_shared_by_processes_and_survives_them() {
        let folder = tempfile::tempdir().expect("a folder");
        let now = SteppedClock::default().now();
        let day = || Arc::new(Ledger::of_day(folder.path(), Some(2.0), now).expect("a ledger"));
        let (one, two) = (day(), day());
        let first = model(vec![Arc::clone(&one)], Some(tariff()));
        first.reply(&request()).await.expect("fits");
        first.reply(&request()).await.expect("fits");
        let second = model(vec![Arc::clone(&two)], Some(tariff()));
        second.reply(&request()).await.expect("fits");
        second.reply(&request()).await.expect_err("both processes together have spent 1.2");
        assert!((two.spent() - 1.2).abs() < 1e-9 && (day().spent() - 1.2).abs() < 1e-9);
    }
}
