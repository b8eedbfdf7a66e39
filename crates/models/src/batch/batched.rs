//! A model whose reviews are asked for in batches. Requests that are made at about the same time share a batch.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use apprentice_protocol::{
    BoxFuture, ChatModel, ChatReply, ChatRequest, Clock, ModelError, ModelErrorKind, ModelProfile, Purpose,
    Why,
};
use apprentice_trace::hex;
use jiff::Timestamp;
use sha2::{Digest as _, Sha256};
use tokio::sync::Notify;

use super::journal::{BatchJournal, JournalError};
use super::service::{
    BatchAnswers, BatchEntry, BatchService, BatchState, UnconfirmedBatch, interval, never, unanswered,
};
use crate::middleware::{RetryPolicy, with_retries};

/// How long the first request of a batch waits for others.
const GATHER: Duration = Duration::from_secs(2);
/// Caps of one batch, far below the providers' (100,000 requests and 256 MB; 50,000 and 200 MB): its answers are read
/// in one piece.
const MOST_REQUESTS: usize = 500;
const MOST_BYTES: usize = 32 << 20;
/// The length of a key, in hexadecimal digits.
const KEY_DIGITS: usize = 32;

/// How batches are sent and waited for.
#[derive(Clone, Copy, Debug)]
pub struct BatchOptions {
    /// Retries of each exchange with the provider.
    pub retry: RetryPolicy,
    /// How long a batch may take. Providers end theirs after a day.
    pub deadline: Duration,
}

/// A model whose reviews go in batches. Its other requests are asked for at once; acting is refused.
pub struct Batched {
    core: Arc<Core>,
    direct: Arc<dyn ChatModel>,
}

/// What the requests of a model share.
struct Core {
    service: Arc<dyn BatchService>,
    clock: Arc<dyn Clock>,
    options: BatchOptions,
    draws: AtomicU64,
    journal: Mutex<BatchJournal>,
    state: Mutex<State>,
    changed: Notify,
}

type Answer = Result<Arc<[u8]>, ModelError>;

#[derive(Default)]
struct State {
    /// Requests for the next batch.
    waiting: Vec<BatchEntry>,
    /// Keys of requests that wait, or are in a batch that is being followed.
    asked: BTreeSet<String>,
    /// Batches that are being followed.
    followed: BTreeSet<String>,
    answers: BTreeMap<String, Answer>,
    /// Keys whose answers were handed to a caller.
    used: BTreeSet<String>,
}

impl Batched {
    /// Creates a model that sends reviews through `service`, and everything else through `direct`.
    pub fn new(
        service: Arc<dyn BatchService>,
        direct: Arc<dyn ChatModel>,
        journal: BatchJournal,
        clock: Arc<dyn Clock>,
        options: BatchOptions,
    ) -> Self {
        let core = Core {
            service,
            clock,
            options,
            draws: AtomicU64::new(0),
            journal: Mutex::new(journal),
            state: Mutex::default(),
            changed: Notify::new(),
        };
        Self { core: Arc::new(core), direct }
    }

    /// Forgets the answers that this process used: a later command that makes the same requests asks anew. Without this call the
    /// next command takes them up.
    pub fn close(&self) -> Result<(), JournalError> {
        let used = std::mem::take(&mut self.core.state().used);
        self.core.journal().close(used.into_iter().collect())
    }

    async fn ask(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        match request.purpose {
            Purpose::Reflect => review(&self.core, request).await,
            Purpose::Act | Purpose::Calibrate => Err(ModelError::never(
                ModelErrorKind::Request,
                "a model that acts cannot wait for a batch: remove service_tier = \"batch\"",
            )),
            Purpose::Manage | Purpose::Check | Purpose::Judge | Purpose::Embed => {
                self.direct.reply(request).await
            }
        }
    }
}

impl ChatModel for Batched {
    fn profile(&self) -> &ModelProfile {
        self.direct.profile()
    }

    fn reply<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        Box::pin(self.ask(request))
    }
}

/// Returns the name of a request: equal requests to a model have equal names, also in another process.
fn key(request: &ChatRequest) -> Result<String, ModelError> {
    let text = serde_json::to_vec(request).map_err(|error| {
        ModelError::never(ModelErrorKind::Request, format!("cannot encode the request: {error}"))
    })?;
    let mut key = hex(&Sha256::digest(text));
    key.truncate(KEY_DIGITS);
    Ok(key)
}

async fn review(core: &Arc<Core>, request: &ChatRequest) -> Result<ChatReply, ModelError> {
    let (key, begun) = (key(request)?, core.clock.mono());
    ask_once(core, &key, request)?;
    let body = core.answer(&key).await?;
    core.state().used.insert(key.clone());
    let mut reply = match core.service.read(&body, request).await {
        Ok(reply) => reply,
        Err(error) => {
            // It will not be read better by the next command.
            core.journal().close(vec![key]).map_err(|error| unkept(&error))?;
            return Err(never(error));
        }
    };
    // The same answer may be read twice, by this process or by one that took it up; it was paid once.
    if core.journal().book(&key).map_err(|error| unkept(&error))? {
        reply.cost_usd = reply.cost_usd.map(|_| 0.0);
    }
    let waited = core.clock.mono().saturating_sub(begun);
    reply.timing.working_ms = 0;
    reply.timing.waiting_ms = u64::try_from(waited.as_millis()).unwrap_or(u64::MAX);
    Ok(reply)
}

/// Has a request answered, unless it is already: by the batch that holds it, else by the next one.
fn ask_once(core: &Arc<Core>, key: &str, request: &ChatRequest) -> Result<(), ModelError> {
    let is_open = core.journal().get(key).is_some();
    let mut state = core.state();
    if state.answers.contains_key(key) || state.asked.contains(key) {
        return Ok(());
    }
    if is_open {
        drop(state);
        follow_open(core, key);
        return Ok(());
    }
    let body = core.service.entry_body(request)?;
    let is_first = state.waiting.is_empty();
    state.waiting.push(BatchEntry { key: key.to_owned(), body });
    state.asked.insert(key.to_owned());
    if is_first {
        tokio::spawn(gather(Arc::clone(core)));
    }
    Ok(())
}

impl Core {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn journal(&self) -> MutexGuard<'_, BatchJournal> {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a request is answered. Whoever follows its batch has a deadline, and answers in any case.
    async fn answer(&self, key: &str) -> Answer {
        loop {
            let mut changed = pin!(self.changed.notified());
            changed.as_mut().enable();
            if let Some(answer) = self.state().answers.get(key) {
                return answer.clone();
            }
            changed.await;
        }
    }

    async fn exchange<T, F: Future<Output = Result<T, ModelError>>>(
        &self,
        exchange: impl Fn() -> F,
    ) -> Result<T, ModelError> {
        let asked = with_retries(self.clock.as_ref(), self.options.retry, &self.draws, exchange);
        asked.await.map(|(answer, _)| answer)
    }
}

/// Requests of one batch. Those without an answer get one when nobody follows their batch any more.
struct Following {
    core: Arc<Core>,
    keys: Vec<String>,
}

impl Following {
    fn new(core: &Arc<Core>, keys: Vec<String>) -> Self {
        Self { core: Arc::clone(core), keys }
    }

    fn answer(&self, mut answer: impl FnMut(&str) -> Answer) {
        let mut state = self.core.state();
        for key in &self.keys {
            state.asked.remove(key);
            state.answers.entry(key.clone()).or_insert_with(|| answer(key));
        }
        drop(state);
        self.core.changed.notify_waiters();
    }

    /// Leaves the requests to others.
    fn release(mut self) {
        self.keys.clear();
    }

    fn fail(&self, error: &ModelError) {
        self.answer(|_| Err(never(error.clone())));
    }

    /// Forgets requests that their batch will never answer, so that the next command sends them anew.
    fn forget(&self, keys: Vec<String>) {
        if let Err(error) = self.core.journal().close(keys) {
            tracing::error!(%error, "a batch without answers stays in the journal");
        }
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        self.answer(|_| Err(unanswered("the batch was no longer waited for".to_owned())));
    }
}

/// Waits for requests that are made at the same time, and sends them.
async fn gather(core: Arc<Core>) {
    core.clock.pause(GATHER, Why::PollFloor).await;
    let waiting = std::mem::take(&mut core.state().waiting);
    // An error leaves the requests without an answer: sent anew, they might be paid twice.
    let keys = waiting.iter().map(|entry| entry.key.clone()).collect();
    let following = Following::new(&core, keys);
    if let Err(error) = confirm(&core, &waiting).await {
        return following.fail(&error);
    }
    following.release();
    let (taken, waiting): (Vec<_>, Vec<_>) =
        waiting.into_iter().partition(|entry| core.journal().get(&entry.key).is_some());
    for entry in taken {
        follow_open(&core, &entry.key);
    }
    for entries in chunks(waiting) {
        let keys = entries.iter().map(|entry| entry.key.clone()).collect();
        tokio::spawn(send(Following::new(&core, keys), entries));
    }
}

/// Asks the provider for batches that may have been sent with some of these requests by a process that ended before it heard
/// of their ids.
async fn confirm(core: &Arc<Core>, waiting: &[BatchEntry]) -> Result<(), ModelError> {
    let keys = waiting.iter().map(|entry| entry.key.as_str()).collect();
    let unconfirmed = core.journal().unconfirmed(&keys);
    for (sent, keys) in unconfirmed {
        let found = core.exchange(|| core.service.find(&sent)).await?;
        let noted = match &found {
            Some(id) => core.journal().sent(id, keys, sent.at),
            None => core.journal().unsent(&sent.mark),
        };
        noted.map_err(|error| unkept(&error))?;
        tracing::info!(batch = ?found, "asked for a batch whose id was not heard");
    }
    Ok(())
}

/// Follows the batch that the journal names for a request, unless it is followed.
fn follow_open(core: &Arc<Core>, key: &str) {
    let Some((batch, at)) = core.journal().get(key).map(|open| (open.batch.clone(), open.at)) else { return };
    let keys = core.journal().keys_of(&batch);
    let mut state = core.state();
    state.asked.extend(keys.iter().cloned());
    if state.followed.insert(batch.clone()) {
        tracing::info!(%batch, "takes up a batch that was sent before");
        tokio::spawn(follow(Following::new(core, keys), batch, at));
    }
}

/// Returns the mark of a batch with these requests.
fn mark(keys: &[String]) -> String {
    let mut mark = hex(&Sha256::digest(keys.join(" ")));
    mark.truncate(KEY_DIGITS);
    mark
}

/// Divides requests into batches within the caps.
fn chunks(waiting: Vec<BatchEntry>) -> Vec<Vec<BatchEntry>> {
    let (mut all, mut bytes) = (Vec::<Vec<BatchEntry>>::new(), 0);
    for entry in waiting {
        let size = entry.body.len();
        match all.last_mut().filter(|last| last.len() < MOST_REQUESTS && bytes + size <= MOST_BYTES) {
            Some(last) => {
                bytes += size;
                last.push(entry);
            }
            None => {
                bytes = size;
                all.push(vec![entry]);
            }
        }
    }
    all
}

/// Sends a batch. An answer that was lost on its way does not say that there is no batch: a retry looks for it first.
async fn submit(
    service: &dyn BatchService,
    entries: &[BatchEntry],
    sent: &UnconfirmedBatch,
    is_repeated: &AtomicBool,
) -> Result<String, ModelError> {
    if is_repeated.swap(true, Ordering::Relaxed)
        && let Some(id) = service.find(sent).await?
    {
        return Ok(id);
    }
    service.submit(entries, &sent.mark).await
}

async fn send(following: Following, entries: Vec<BatchEntry>) {
    let core = Arc::clone(&following.core);
    let at = core.clock.now();
    let mark = mark(&following.keys);
    if let Err(error) = core.journal().sending(&mark, following.keys.clone(), at) {
        return following.fail(&unkept(&error));
    }
    let requests = entries.len();
    let sent = UnconfirmedBatch { mark: mark.clone(), requests, at, others: core.journal().batches() };
    let is_repeated = AtomicBool::new(false);
    let submitted = || submit(core.service.as_ref(), &entries, &sent, &is_repeated);
    let id = match core.exchange(submitted).await {
        Ok(id) => id,
        Err(error) => {
            // A refusal says that there is no batch; of any other error nobody knows what the provider has.
            let refused = matches!(
                error.fault,
                ModelErrorKind::Request
                    | ModelErrorKind::Refused
                    | ModelErrorKind::TooLarge
                    | ModelErrorKind::Policy
            );
            if refused && let Err(error) = core.journal().unsent(&mark) {
                return following.fail(&unkept(&error));
            }
            return following.fail(&error);
        }
    };
    drop(entries);
    if let Err(error) = core.journal().sent(&id, following.keys.clone(), at) {
        let error = unkept(&error);
        return following.fail(&ModelError { message: format!("batch {id}: {error}"), ..error });
    }
    tracing::info!(batch = %id, requests = following.keys.len(), "sent a batch");
    core.state().followed.insert(id.clone());
    follow(following, id, at).await;
}

/// Asks for the state of a batch until it ends, and hands its answers out.
async fn follow(following: Following, id: String, sent: Timestamp) {
    let core = Arc::clone(&following.core);
    let mut asked = 0;
    let ended = loop {
        match core.exchange(|| core.service.state(&id)).await {
            Ok(BatchState::Ended(ended)) => break ended,
            Ok(BatchState::Failed(why)) => {
                following.forget(following.keys.clone());
                return following.fail(&unanswered(format!("the provider refused the batch {id}: {why}")));
            }
            Ok(BatchState::Working) => {}
            Err(error) => return following.fail(&named(&core, &id, &error)),
        }
        let took = Duration::try_from(core.clock.now().duration_since(sent)).unwrap_or_default();
        if took >= core.options.deadline {
            let hours = core.options.deadline.as_secs_f64() / 3600.0;
            let story = format!(
                "the batch {id} has not ended within {hours} h; repeat the command to wait for it further"
            );
            return following.fail(&unanswered(story));
        }
        core.clock.pause(interval(asked), Why::PollFloor).await;
        asked = asked.saturating_add(1);
    };
    match core.exchange(|| core.service.answers(&ended)).await {
        Ok(answers) => hand_out(&following, answers, &format!("the batch {id} ended as {}", ended.how)),
        Err(error) => following.fail(&named(&core, &id, &error)),
    }
}

/// Names the batch and the journal in an error, for a batch that is gone for good.
fn named(core: &Core, id: &str, error: &ModelError) -> ModelError {
    let journal = core.journal().path().display().to_string();
    ModelError { message: format!("the batch {id}, which {journal} names: {error}"), ..error.clone() }
}

fn hand_out(following: &Following, mut answers: BatchAnswers, how: &str) {
    let lost: Vec<String> =
        following.keys.iter().filter(|key| !answers.get(*key).is_some_and(Result::is_ok)).cloned().collect();
    following.forget(lost);
    following.answer(|key| match answers.remove(key) {
        Some(Ok(body)) => Ok(body.into()),
        Some(Err(error)) => Err(never(ModelError { message: format!("{how}: {error}"), ..error })),
        None => Err(unanswered(format!("{how} without an answer to this request"))),
    });
}

fn unkept(error: &JournalError) -> ModelError {
    let cause = std::error::Error::source(error).map_or_else(String::new, |cause| format!(": {cause}"));
    ModelError::never(ModelErrorKind::Request, format!("{error}{cause}"))
}

#[cfg(test)]
mod tests {
    use super::{BatchEntry, MOST_BYTES, MOST_REQUESTS, chunks};

    #[test]
    fn a_batch_holds_no_more_than_its_caps() {
        let entry = |size: usize| BatchEntry { key: String::new(), body: vec![0; size] };
        let lengths = |sizes: Vec<usize>| {
            let all = chunks(sizes.into_iter().map(entry).collect());
            all.iter().map(Vec::len).collect::<Vec<_>>()
        };
        assert_eq!(lengths(vec![1; MOST_REQUESTS + 1]), [MOST_REQUESTS, 1]);
        assert_eq!(lengths(vec![MOST_BYTES, 1, MOST_BYTES - 1, 1]), [1, 2, 1]);
        assert_eq!(lengths(vec![MOST_BYTES + 1, 1]), [1, 1], "one request is sent whatever its size");
        assert!(lengths(Vec::new()).is_empty());
    }
}
