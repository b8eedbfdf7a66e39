//! The life of a socket: requests in order, each answered by one frame, and an end that frees the world at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_util::sync::CancellationToken;

use super::frames::{Asked, ErrorFrame, read};
use crate::pool::{Leaving, MAX_REQUEST_BYTES, Opening, Phase, Pool, ServedEpisode, SessionStep, Stepped};

type Socket = WebSocketStream<TokioIo<Upgraded>>;

/// Requests that wait while one is carried out.
const MAX_WAITING: usize = 16;
/// How long a client may take to accept a frame.
const SEND_DEADLINE: Duration = Duration::from_secs(60);
/// How long a client may take for the last frame.
const FAREWELL_DEADLINE: Duration = Duration::from_secs(5);
/// How often a silent client is asked whether it is there.
const PING: Duration = Duration::from_secs(30);

/// What the reading half hears.
enum Heard {
    Text(String),
    Binary,
    TooLarge,
}

/// A socket with its world.
pub(super) struct Conversation {
    pool: Arc<Pool>,
    episode: Option<ServedEpisode>,
    leaving: Leaving,
    /// The task of the last reset.
    task: Option<String>,
}

impl Conversation {
    /// Speaks until either side ends it.
    pub(super) async fn hold(pool: Arc<Pool>, mut socket: Socket) {
        let Some(place) = pool.place_now() else {
            let most = pool.settings.sessions;
            let data = json!({
                "message": format!("all {most} sessions are open"),
                "code": "CAPACITY_REACHED",
                "active_sessions": pool.taken(),
                "max_sessions": most,
            });
            let told = json!({ "type": "error", "data": data }).to_string();
            let telling = async {
                socket.send(Message::text(told)).await?;
                socket.close(Some(farewell(CloseCode::Normal, "capacity"))).await?;
                // What the client has sent is read: otherwise its end would drop what it was told.
                while socket.next().await.transpose()?.is_some_and(|message| !message.is_close()) {}
                Ok::<_, Error>(())
            };
            drop(tokio::time::timeout(FAREWELL_DEADLINE, telling).await);
            return;
        };
        let mut held =
            Self { pool: Arc::clone(&pool), episode: None, leaving: Leaving::default(), task: None };
        let reading = held.talk(socket).await;
        if let Some(mut episode) = held.episode.take() {
            episode.close().await;
        }
        held.leaving.end().await;
        drop(place);
        let ending = reading.abort_handle();
        if tokio::time::timeout(FAREWELL_DEADLINE, reading).await.is_err() {
            ending.abort();
        }
    }

    /// Answers until one side says farewell. The reading half reads on until the client's farewell.
    async fn talk(&mut self, socket: Socket) -> JoinHandle<()> {
        let (mut sink, stream) = socket.split();
        let (sender, mut heard) = mpsc::channel(MAX_WAITING);
        let gone = CancellationToken::new();
        let last = Arc::new(AtomicU64::new(self.seconds()));
        let reader = Reader { pool: Arc::clone(&self.pool), last: Arc::clone(&last), gone: gone.clone() };
        let reading = tokio::spawn(reader.read(stream, sender));
        let close = loop {
            let next = tokio::select! {
                biased;
                () = gone.cancelled() => break None,
                () = self.pool.cancel.cancelled() => break Some(farewell(CloseCode::Away, "the server ends")),
                next = tokio::time::timeout(PING, heard.recv()) => next,
            };
            let heard = match next {
                Ok(Some(heard)) => heard,
                Ok(None) => break None,
                Err(_) => {
                    let silent = self.seconds().saturating_sub(last.load(Ordering::Relaxed));
                    if silent >= self.pool.settings.idle.as_secs().max(2 * PING.as_secs())
                        || send(&mut sink, Message::Ping(Vec::new().into())).await.is_err()
                    {
                        break Some(farewell(CloseCode::Away, "idle"));
                    }
                    continue;
                }
            };
            let answering = self.answer(heard);
            let answered = tokio::select! {
                biased;
                // The client is gone: what it asked for is left, and its world closed.
                () = gone.cancelled() => break None,
                answered = answering => answered,
            };
            match answered {
                Told::Frame(text) => {
                    if send(&mut sink, Message::text(text)).await.is_err() {
                        break None;
                    }
                }
                Told::Close => break Some(farewell(CloseCode::Normal, "")),
            }
        };
        if let Some(close) = close {
            let _ = send(&mut sink, Message::Close(Some(close))).await;
        } else {
            // Answers the client's own farewell, if it said one.
            drop(tokio::time::timeout(FAREWELL_DEADLINE, sink.flush()).await);
        }
        reading
    }

    fn seconds(&self) -> u64 {
        self.pool.now().as_secs()
    }

    async fn answer(&mut self, heard: Heard) -> Told {
        let asked = match heard {
            Heard::Text(text) => read(&text),
            Heard::Binary => Err(ErrorFrame::validation("a frame is text, and this one is binary")),
            Heard::TooLarge => {
                let message = format!("a frame has at most {MAX_REQUEST_BYTES} bytes");
                Err(ErrorFrame::validation(message))
            }
        };
        let answered = match asked {
            Ok(Asked::Reset(opening)) => self.reset(opening).await,
            Ok(Asked::Step(step)) => self.step(*step).await,
            Ok(Asked::State) => Ok(self.state()),
            Ok(Asked::Close) => return Told::Close,
            Err(wrong) => Err(wrong),
        };
        Told::Frame(match answered {
            Ok(value) => value.to_string(),
            Err(wrong) => wrong.text(),
        })
    }

    async fn reset(&mut self, mut opening: Opening) -> Result<Value, ErrorFrame> {
        opening.task = opening.task.or_else(|| self.task.clone());
        let context = Arc::clone(&self.pool.context);
        // What is refused leaves the episode as it was.
        let plan = context.tasks.plan(&opening).map_err(|refusal| ErrorFrame::of(&refusal))?;
        let before = self.episode.take();
        self.leaving.begin(before).await;
        self.task = Some(plan.task.varied.task.id.as_str().to_owned());
        // A world that is being opened is opened and closed, even if the client goes meanwhile.
        let (sender, receiver) = oneshot::channel();
        self.pool.tasks.spawn(async move {
            let opened = ServedEpisode::open(context, plan).await;
            if let Err(Ok((mut unheard, _))) = sender.send(opened) {
                unheard.close().await;
            }
        });
        let opened = receiver.await.map_err(|_| ErrorFrame::execution("void: opening ended unfinished"))?;
        let (episode, observation) = opened.map_err(|refusal| ErrorFrame::of(&refusal))?;
        let told = observed(&episode, observation, None, Value::Null);
        self.episode = Some(episode);
        Ok(told)
    }

    async fn step(&mut self, step: SessionStep) -> Result<Value, ErrorFrame> {
        let episode = self.episode.as_mut();
        let episode =
            episode.ok_or_else(|| ErrorFrame::execution("no_episode: there is no world yet: reset first"))?;
        let Stepped { observation, reports, reward, .. } =
            episode.step(step).await.map_err(|refusal| ErrorFrame::of(&refusal))?;
        Ok(observed(episode, observation, reward, reports))
    }

    fn state(&self) -> Value {
        let data = match &self.episode {
            Some(episode) => json!({
                "episode_id": episode.name,
                "step_count": episode.step_count,
                "task": episode.plan.task.varied.task.id,
                "seed": episode.plan.seed,
            }),
            None => json!({ "episode_id": null, "step_count": 0, "task": null, "seed": null }),
        };
        json!({ "type": "state", "data": data })
    }
}

/// What a request is answered with.
enum Told {
    Frame(String),
    Close,
}

fn observed(episode: &ServedEpisode, mut observation: Value, reward: Option<f64>, reports: Value) -> Value {
    observation["instruction"] = json!(episode.plan.task.varied.task.instruction);
    if !reports.is_null() {
        observation["reports"] = reports;
    }
    let (terminated, truncated) =
        (matches!(episode.phase, Phase::Terminated), matches!(episode.phase, Phase::Truncated));
    json!({ "type": "observation", "data": {
        "observation": observation,
        "reward": reward,
        "done": terminated || truncated,
        "metadata": { "terminated": terminated, "truncated": truncated, "verdict": episode.verdict },
    } })
}

fn farewell(code: CloseCode, reason: &'static str) -> CloseFrame {
    CloseFrame { code, reason: reason.into() }
}

async fn send(sink: &mut SplitSink<Socket, Message>, message: Message) -> Result<(), ()> {
    match tokio::time::timeout(SEND_DEADLINE, sink.send(message)).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) | Err(_) => Err(()),
    }
}

/// The reading half, which hears at once when the client is gone and answers its pings while a step runs.
struct Reader {
    pool: Arc<Pool>,
    /// When anything was heard last, in seconds of the clock.
    last: Arc<AtomicU64>,
    gone: CancellationToken,
}

impl Reader {
    async fn read(self, mut stream: SplitStream<Socket>, sender: mpsc::Sender<Heard>) {
        // Whatever ends the reading ends the conversation.
        let _gone = self.gone.clone().drop_guard();
        while let Some(message) = stream.next().await {
            self.last.store(self.pool.now().as_secs(), Ordering::Relaxed);
            let heard = match message {
                Ok(Message::Text(text)) if text.len() > MAX_REQUEST_BYTES => Heard::TooLarge,
                Ok(Message::Text(text)) => Heard::Text(text.as_str().to_owned()),
                Ok(Message::Binary(_)) => Heard::Binary,
                Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_)) => continue,
                Ok(Message::Close(_)) | Err(_) => return,
            };
            // After the last answer nobody listens: what comes then is read and dropped.
            let _ = sender.send(heard).await;
        }
    }
}
