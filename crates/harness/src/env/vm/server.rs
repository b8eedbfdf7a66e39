//! Client of the server protocol over HTTP. It retries where a repetition is harmless, and tells a lost machine from a
//! refusal.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use apprentice_protocol::{Clock, Image, MachineError, Why, WorldError, WorldErrorKind};
use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, Method, Url};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::address::MachineAddress;
use super::picture::{self, ScreenScale};

/// Deadline for connecting.
const CONNECT: Duration = Duration::from_secs(10);
/// Deadline for a screenshot.
const PICTURE: Duration = Duration::from_secs(30);
/// Deadline for a file transfer, in either direction.
const FILE: Duration = Duration::from_secs(600);
/// Deadline for the interface tree: some programs have thousands of elements, each read over a bus.
const TREE: Duration = Duration::from_secs(120);
/// Attempts at a request that changes nothing.
const ATTEMPTS: u32 = 4;
/// Pause before another attempt.
const RETRY_PAUSE: Duration = Duration::from_secs(1);
/// Largest answer, in bytes.
const LIMIT: usize = 1 << 30;

/// An HTTP answer of the server.
pub(super) struct ServerReply {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
}

impl ServerReply {
    pub(super) fn is_good(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The error message from the body, with the status.
    pub(super) fn complaint(&self) -> String {
        let said: Value = serde_json::from_slice(&self.body).unwrap_or_default();
        let said = ["message", "error"].iter().find_map(|field| said.get(field)?.as_str().map(str::to_owned));
        let said = said.unwrap_or_else(|| String::from_utf8_lossy(&self.body).chars().take(400).collect());
        format!("it answers {}: {said}", self.status)
    }
}

/// The result of a command, as returned by `/execute`.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Executed {
    #[serde(default)]
    pub(super) output: String,
    #[serde(default)]
    pub(super) error: String,
    #[serde(default)]
    pub(super) returncode: i32,
}

/// A request body: content type and bytes.
type Body = (&'static str, Vec<u8>);

/// Client of one machine's server.
pub(super) struct Server {
    client: Client,
    place: MachineAddress,
    clock: Arc<dyn Clock>,
    /// Held while a screenshot or tree is read: servers keep the screenshot in one file, and two concurrent tree
    /// requests have crashed some.
    looking: Mutex<()>,
    /// Relation of screenshots to the screen, when it is known.
    fit: OnceLock<ScreenScale>,
}

impl Server {
    pub(super) fn new(place: MachineAddress, clock: Arc<dyn Clock>) -> Result<Self, WorldError> {
        // Another part of the process may have installed a provider already; then that one is used.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder()
            .connect_timeout(CONNECT)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .build()
            .map_err(|error| WorldError::new(WorldErrorKind::Start, error.to_string()))?;
        Ok(Self { client, place, clock, looking: Mutex::new(()), fit: OnceLock::new() })
    }

    pub(super) fn place(&self) -> &MachineAddress {
        &self.place
    }

    /// Sets the relation of screenshots to the screen.
    pub(super) fn set_fit(&self, fit: ScreenScale) {
        // Called only when the world opens.
        let _ = self.fit.set(fit);
    }

    fn image(&self, bytes: Vec<u8>) -> Result<Image, String> {
        picture::read(bytes, self.fit.get().copied().unwrap_or_default())
    }

    /// Sends a single request.
    async fn send_request(
        &self,
        method: Method,
        path: &str,
        body: Option<&Body>,
        within: Duration,
    ) -> Result<ServerReply, RequestError> {
        let mut request = self.client.request(method, self.place.at(path)).timeout(within);
        if let Some((kind, bytes)) = body {
            request = request.header(CONTENT_TYPE, *kind).body(bytes.clone());
        }
        let mut response = request.send().await.map_err(RequestError::of)?;
        let (status, mut body) = (response.status().as_u16(), Vec::new());
        while let Some(piece) = response.chunk().await.map_err(RequestError::of)? {
            body.extend_from_slice(&piece);
            if body.len() > LIMIT {
                let why = format!("its answer is larger than {} MB", LIMIT >> 20);
                return Err(RequestError { kind: RequestErrorKind::Broken, why });
            }
        }
        Ok(ServerReply { status, body })
    }

    /// Sends a repeatable request. Server errors and lost connections are retried.
    async fn send_repeatable(
        &self,
        method: Method,
        path: &str,
        body: Option<Body>,
        within: Duration,
    ) -> Result<ServerReply, MachineError> {
        let mut tried = 1;
        loop {
            let answer = self.send_request(method.clone(), path, body.as_ref(), within).await;
            let last = tried >= ATTEMPTS;
            match answer {
                Ok(answer) if answer.status < 500 || last => return Ok(answer),
                Err(trouble) if last || trouble.kind == RequestErrorKind::Late => {
                    return Err(trouble.told(path, &self.place));
                }
                Ok(_) | Err(_) => {}
            }
            tried += 1;
            self.clock.pause(RETRY_PAUSE, Why::Backoff).await;
        }
    }

    /// Sends a request that must not be executed twice. Only a failure to connect is retried.
    async fn send_once(
        &self,
        path: &str,
        body: &Value,
        within: Duration,
    ) -> Result<ServerReply, MachineError> {
        let body = ("application/json", body.to_string().into_bytes());
        let mut tried = 1;
        loop {
            match self.send_request(Method::POST, path, Some(&body), within).await {
                Ok(answer) => return Ok(answer),
                Err(trouble) if trouble.kind == RequestErrorKind::Unreached && tried < ATTEMPTS => {}
                Err(trouble) => return Err(trouble.told(path, &self.place)),
            }
            tried += 1;
            self.clock.pause(RETRY_PAUSE, Why::Backoff).await;
        }
    }

    /// Takes a screenshot (`GET /screenshot`).
    pub(super) async fn screenshot(&self) -> Result<Image, MachineError> {
        let _turn = self.looking.lock().await;
        let mut tried = 1;
        loop {
            let answer = self.send_repeatable(Method::GET, "/screenshot", None, PICTURE).await?;
            let read = if answer.is_good() { self.image(answer.body) } else { Err(answer.complaint()) };
            match read {
                Ok(image) => return Ok(image),
                // A screenshot that is read while the server writes the file is truncated.
                Err(_) if tried < ATTEMPTS => {}
                Err(why) => return Err(MachineError::Lost(format!("its picture of the screen: {why}"))),
            }
            tried += 1;
            self.clock.pause(RETRY_PAUSE, Why::Backoff).await;
        }
    }

    /// Takes a screenshot without retries, to see whether the machine is ready.
    pub(super) async fn is_ready(&self) -> Result<Image, String> {
        let answer = self
            .send_request(Method::GET, "/screenshot", None, PICTURE)
            .await
            .map_err(|trouble| trouble.why)?;
        if answer.is_good() { self.image(answer.body) } else { Err(answer.complaint()) }
    }

    /// Reads the interface tree as XML (`GET /accessibility`).
    pub(super) async fn tree(&self) -> Result<String, MachineError> {
        #[derive(Deserialize)]
        struct Tree {
            #[serde(rename = "AT")]
            xml: String,
        }
        let _turn = self.looking.lock().await;
        let answer = self.send_repeatable(Method::GET, "/accessibility", None, TREE).await?;
        let refused = |why: String| MachineError::Refused { what: "the interface tree".into(), why };
        if !answer.is_good() {
            return Err(refused(answer.complaint()));
        }
        let tree: Tree = serde_json::from_slice(&answer.body).map_err(|error| refused(error.to_string()))?;
        Ok(tree.xml)
    }

    /// Reads a file (`POST /file`).
    pub(super) async fn read(&self, path: &str) -> Result<Vec<u8>, MachineError> {
        let form = ("application/x-www-form-urlencoded", form("file_path", path));
        let answer = self.send_repeatable(Method::POST, "/file", Some(form), FILE).await?;
        match answer.status {
            404 => Err(MachineError::NotFound(path.to_owned())),
            _ if answer.is_good() => Ok(answer.body),
            _ => Err(MachineError::Refused { what: path.to_owned(), why: answer.complaint() }),
        }
    }

    /// Writes a file and creates its parent folders (`POST /setup/upload`).
    pub(super) async fn write(&self, path: &str, bytes: &[u8]) -> Result<(), MachineError> {
        let answer =
            self.send_repeatable(Method::POST, "/setup/upload", Some(upload(path, bytes)), FILE).await?;
        if answer.is_good() {
            return Ok(());
        }
        Err(MachineError::Refused { what: path.to_owned(), why: answer.complaint() })
    }

    /// Lists a folder (`POST /list_directory`). `None` if it is not a folder.
    pub(super) async fn list(&self, path: &str) -> Result<Option<Value>, MachineError> {
        let body = ("application/json", json!({"path": path}).to_string().into_bytes());
        let answer = self.send_repeatable(Method::POST, "/list_directory", Some(body), FILE).await?;
        if answer.is_good() {
            let found: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
            return Ok(found.get("directory_tree").cloned());
        }
        if answer.status < 500 {
            return Ok(None);
        }
        Err(MachineError::Refused { what: path.to_owned(), why: answer.complaint() })
    }

    /// Runs a command to its end (`POST /execute`).
    pub(super) async fn execute(&self, words: &[String], within: Duration) -> Result<Executed, MachineError> {
        let answer = self.send_once("/execute", &json!({"command": words, "shell": false}), within).await?;
        let what = || words.first().cloned().unwrap_or_default();
        if !answer.is_good() {
            return Err(refusal(&answer, &what()));
        }
        serde_json::from_slice(&answer.body)
            .map_err(|error| MachineError::Refused { what: what(), why: format!("its answer: {error}") })
    }

    /// Starts a program that keeps running (`POST /setup/launch`).
    pub(super) async fn launch(&self, words: &[String]) -> Result<(), MachineError> {
        let answer =
            self.send_once("/setup/launch", &json!({"command": words, "shell": false}), FILE).await?;
        if answer.is_good() {
            return Ok(());
        }
        Err(refusal(&answer, &words.first().cloned().unwrap_or_default()))
    }
}

/// Converts the answer to a command that was not run into an error.
fn refusal(answer: &ServerReply, program: &str) -> MachineError {
    let why = answer.complaint();
    if why.contains("No such file or directory") && why.contains(program) {
        return MachineError::MissingProgram(program.to_owned());
    }
    if why.contains("timed out after") {
        return MachineError::TimedOut(program.to_owned());
    }
    MachineError::Refused { what: program.to_owned(), why }
}

/// Why a request got no answer.
struct RequestError {
    kind: RequestErrorKind,
    why: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum RequestErrorKind {
    /// The connection was not established, so the request was not sent.
    Unreached,
    /// The deadline passed.
    Late,
    /// The connection broke, or the answer is invalid.
    Broken,
}

impl RequestError {
    #[expect(clippy::needless_pass_by_value, reason = "the form that `map_err` wants")]
    fn of(error: reqwest::Error) -> Self {
        let kind = match (error.is_connect(), error.is_timeout()) {
            (true, _) => RequestErrorKind::Unreached,
            (false, true) => RequestErrorKind::Late,
            (false, false) => RequestErrorKind::Broken,
        };
        let mut cause: &dyn std::error::Error = &error;
        while let Some(inner) = cause.source() {
            cause = inner;
        }
        Self { kind, why: cause.to_string() }
    }

    fn told(self, path: &str, place: &MachineAddress) -> MachineError {
        match self.kind {
            RequestErrorKind::Late => MachineError::TimedOut(format!("{path} of the machine at {place}")),
            RequestErrorKind::Unreached | RequestErrorKind::Broken => {
                MachineError::Lost(format!("the machine at {place} does not answer {path}: {}", self.why))
            }
        }
    }
}

/// Encodes one field as a form body.
fn form(name: &str, value: &str) -> Vec<u8> {
    let Ok(mut url) = Url::parse("http://form") else { return Vec::new() };
    url.query_pairs_mut().append_pair(name, value);
    url.query().unwrap_or_default().as_bytes().to_vec()
}

/// Encodes a file with its path as a multipart body.
fn upload(path: &str, bytes: &[u8]) -> Body {
    /// Long enough not to occur in a file by chance.
    const BORDER: &str = "----apprentice-5f2c1d0e9b8a4763a1e0c4d2b6f87930";
    const KIND: &str = "multipart/form-data; boundary=----apprentice-5f2c1d0e9b8a4763a1e0c4d2b6f87930";
    let name = path.rsplit('/').next().unwrap_or(path).replace(['"', '\r', '\n'], "_");
    let mut body = format!(
        "--{BORDER}\r\nContent-Disposition: form-data; name=\"file_path\"\r\n\r\n{path}\r\n--{BORDER}\r\n\
         Content-Disposition: form-data; name=\"file_data\"; filename=\"{name}\"\r\n\
         Content-Type: application/octet-stream\r\n\r\n"
    )
    .into_bytes();
    body.extend_from_slice(bytes);
    body.extend_from_slice(format!("\r\n--{BORDER}--\r\n").as_bytes());
    (KIND, body)
}

#[cfg(test)]
mod tests {
    use super::{form, upload};

    #[test]
    fn bodies_are_in_the_forms_that_servers_read() {
        assert_eq!(
            form("file_path", "/home/user/a b&c=ü.txt"),
            b"file_path=%2Fhome%2Fuser%2Fa+b%26c%3D%C3%BC.txt"
        );
        let (kind, body) = upload("/tmp/x \"y\".bin", b"\x00\xff");
        let border = kind.rsplit('=').next().expect("a border");
        let text = String::from_utf8_lossy(&body).into_owned();
        assert!(
            text.starts_with(&format!("--{border}\r\n")) && text.ends_with(&format!("--{border}--\r\n")),
            "{text}"
        );
        assert!(text.contains("name=\"file_path\"\r\n\r\n/tmp/x \"y\".bin\r\n"), "{text}");
        assert!(text.contains("filename=\"x _y_.bin\""), "{text}");
        assert!(body.windows(2).any(|two| two == b"\x00\xff"));
    }
}
