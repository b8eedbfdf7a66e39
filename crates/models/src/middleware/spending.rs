//! Enforces spending limits: the worst-case price is reserved before a call, and the real price is booked after it.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use apprentice_protocol::{
    BoxFuture, ChatModel, ChatReply, ChatRequest, Clock, ModelError, ModelErrorKind, ModelProfile, Purpose,
    Usage, estimated_tokens,
};
use serde::{Deserialize, Serialize};

use crate::price::{Tariff, estimate};

/// The spending of one scope (a trial, a run, or a day), shared by all models in that scope.
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
    daybook: Option<DailyLedger>,
}

/// The spending of one day across all processes: a file with one line per call.
#[derive(Debug)]
struct DailyLedger {
    folder: PathBuf,
    day: String,
    reader: File,
    writer: File,
    /// An incomplete last line that another process is still writing.
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

/// A daybook that cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[error("cannot use the daybook {}", path.display())]
pub struct LedgerError {
    path: PathBuf,
    #[source]
    source: std::io::Error,
}

impl Ledger {
    /// Creates a ledger in memory. `scope` names it in errors; without a cap it only counts.
    pub fn new(scope: &'static str, cap: Option<f64>) -> Self {
        Self { scope, cap, state: Mutex::default() }
    }

    /// Opens the ledger of the day, a file in `folder` that other processes share.
    pub fn daily(folder: &Path, cap: Option<f64>, now: jiff::Timestamp) -> Result<Self, LedgerError> {
        let daybook = DailyLedger::open(folder, now)?;
        let mut account = Account { daybook: Some(daybook), ..Account::default() };
        account.catch_up(folder)?;
        Ok(Self { scope: "day", cap, state: Mutex::new(account) })
    }

    /// Returns the US dollars spent so far.
    pub fn spent(&self) -> f64 {
        self.lock().spent
    }

    /// Returns the cap in US dollars, if there is one.
    pub fn cap(&self) -> Option<f64> {
        self.cap
    }

    fn lock(&self) -> MutexGuard<'_, Account> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reserves the worst-case price, or returns an error that explains why it does not fit.
    fn reserve(self: &Arc<Self>, worst: f64, now: jiff::Timestamp) -> Result<Reservation, ModelError> {
        let mut account = self.lock();
        if let Err(error) = account.roll_over(now) {
            // A cap must not be ignored because its daybook cannot be read.
            return Err(ModelError::never(ModelErrorKind::Budget, format!("{error}: {}", error.source)));
        }
        if let Some(cap) = self.cap
            && account.spent + account.reserved + worst > cap
        {
            let story = format!(
                "this call may cost ${worst:.4}; of the {}'s ${cap:.2} cap, ${:.4} is spent and ${:.4} reserved",
                self.scope, account.spent, account.reserved
            );
            return Err(ModelError::never(ModelErrorKind::Budget, story));
        }
        account.reserved += worst;
        Ok(Reservation { ledger: Arc::clone(self), worst })
    }
}

impl Account {
    /// Switches to the next day's daybook at midnight, and reads what other processes have spent.
    fn roll_over(&mut self, now: jiff::Timestamp) -> Result<(), LedgerError> {
        let Some(daybook) = &self.daybook else { return Ok(()) };
        let folder = daybook.folder.clone();
        if daybook.day != day(now) {
            self.daybook = Some(DailyLedger::open(&folder, now)?);
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
                Err(error) => tracing::warn!(%error, "skipped an unreadable line of the day's ledger"),
            }
        }
        Ok(())
    }
}

impl DailyLedger {
    fn open(folder: &Path, now: jiff::Timestamp) -> Result<Self, LedgerError> {
        let day = day(now);
        let path = folder.join(format!("{day}.jsonl"));
        // Two handles: appending would move the position up to which other processes' lines are read.
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

/// Money reserved for one call. It is released on drop, also when the call is cancelled.
pub(crate) struct Reservation {
    ledger: Arc<Ledger>,
    worst: f64,
}

impl Reservation {
    pub(crate) fn settle(self, entry: &Entry) {
        let mut account = self.ledger.lock();
        match &mut account.daybook {
            // This line is counted later, when it is read back together with those of other processes.
            Some(daybook) => {
                let line = serde_json::to_string(entry).map_or_else(|_| String::new(), |line| line + "\n");
                if let Err(error) = daybook.writer.write_all(line.as_bytes()) {
                    tracing::error!(%error, "could not book a call");
                }
            }
            None => account.spent += entry.usd,
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut account = self.ledger.lock();
        account.reserved = (account.reserved - self.worst).max(0.0);
    }
}

/// A model that respects spending limits.
pub struct Budgeted<M> {
    inner: M,
    ledgers: Vec<Arc<Ledger>>,
    tariff: Option<Tariff>,
    longest_ms: u64,
    clock: Arc<dyn Clock>,
}

impl<M: ChatModel> Budgeted<M> {
    /// Wraps `inner` with all ledgers that limit it. `longest_ms` is the deadline of one request.
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
        let worst = self.tariff.as_ref().map(|tariff| tariff.worst_case_cost(request, self.longest_ms));
        let reserved = reserve_all(&self.ledgers, &self.profile().name, worst, self.clock.now())?;
        let mut reply = self.inner.reply(request).await?;
        if reply.estimated {
            // A server that does not say what it used may have used all that was reserved: nothing would pass every cap.
            reply.usage = Usage { input: estimate(request), output: said(&reply), cached: 0 };
            reply.cost_usd = reply.cost_usd.or(worst);
        }
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

/// Estimates the tokens of a reply from what it holds.
fn said(reply: &ChatReply) -> u64 {
    reply.raw.blocks.iter().map(|block| estimated_tokens(block)).sum()
}

/// Reserves the worst-case price of a call in all ledgers. A call without a price is refused when one of them has a
/// cap.
pub(crate) fn reserve_all(
    ledgers: &[Arc<Ledger>],
    model: &str,
    worst: Option<f64>,
    now: jiff::Timestamp,
) -> Result<Vec<Reservation>, ModelError> {
    let capped = ledgers.iter().find(|ledger| ledger.cap.is_some());
    let worst = match (worst, capped) {
        (Some(worst), _) => worst,
        (None, None) => 0.0,
        (None, Some(ledger)) => {
            let story = format!(
                "{model} has no price, but the {} has a cap: set a price in the settings, or remove the cap",
                ledger.scope
            );
            return Err(ModelError::never(ModelErrorKind::Budget, story));
        }
    };
    ledgers.iter().map(|ledger| ledger.reserve(worst, now)).collect()
}

impl<M: ChatModel> ChatModel for Budgeted<M> {
    fn profile(&self) -> &ModelProfile {
        self.inner.profile()
    }

    fn reply<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        Box::pin(self.ask(request))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use apprentice_protocol::{ChatModel, ChatRequest, Clock as _, ModelErrorKind};

    use super::{Budgeted, Ledger};
    use crate::price::{Price, Tariff};
    use crate::scripted::{Scripted, ScriptedReply};
    use apprentice_protocol::VirtualClock;

    fn tariff() -> Tariff {
        Tariff::Tokens(Price { output: 100.0, ..Price::default() })
    }

    fn model(ledgers: Vec<Arc<Ledger>>, tariff: Option<Tariff>) -> impl ChatModel {
        let reply = ScriptedReply { say: Some("a".into()), cost_usd: Some(0.4), ..ScriptedReply::default() };
        let script = Scripted::new(vec![reply; 9]).expect("a script").in_order();
        Budgeted::new(script, ledgers, tariff, 0, Arc::new(VirtualClock::default()))
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
        assert_eq!(error.fault, ModelErrorKind::Budget);
        assert_eq!(
            error.message,
            "this call may cost $1.0000; of the run's $2.00 cap, $1.2000 is spent and $0.0000 reserved"
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
        let now = VirtualClock::default().now();
        let day = || Arc::new(Ledger::daily(folder.path(), Some(2.0), now).expect("a ledger"));
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
