//! A run for the tests of exports: written by the recorder that writes real ones, with pictures, guidance, a hostile page, a
//! void attempt, an attempt of an earlier version, a repeated one, and one whose picture is lost.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use apprentice_protocol::{
    Action, ActionOutcome, ActionRecord, BlobHash, Button, Call, CallBody, CallId, CallResult, ChatRequest,
    Content, CoordinateSpace, EventKind, EventSink, Finish, Header, HistoryRule, Image, ImageBytes,
    ImagePoint, ImageRule, Judged, Limits, MediaType, Message, ModelProfile, NodeRef, Purpose, Rect,
    ResourceUsage, ScreenPoint, Size, SkillEvent, SkillEventKind, SkillId, StepId, StopReason, Target,
    TaskBrief, TaskId, Timing, ToolRule, ToolSpec, Usage, Verdict, View, ViewRule, VirtualClock, VoidCause,
    WorldSpec, WorldTool,
};
use apprentice_trace::{Recorder, Redactor, blob_path};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Three pictures of 64 x 40 pixels in one colour each.
const PICTURES: [&str; 3] = [
    "iVBORw0KGgoAAAANSUhEUgAAAEAAAAAoCAIAAADBrGu+AAAAPUlEQVR42u3PQQkAAAgEsEty/aMYyww+hcEKLNO+FgEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQGBiwXcFiiXFdzp9gAAAABJRU5ErkJggg==",
    "iVBORw0KGgoAAAANSUhEUgAAAEAAAAAoCAIAAADBrGu+AAAAPUlEQVR42u3PQQkAAAgEsEty/aMYyww+hcEKLJ2+FgEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQGBiwU3vCiXV6TKVgAAAABJRU5ErkJggg==",
    "iVBORw0KGgoAAAANSUhEUgAAAEAAAAAoCAIAAADBrGu+AAAAPUlEQVR42u3PQQkAAAgEsEty/aMYyww+hcEKLO28FgEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQGBiwWTUyiXU3wvZwAAAABJRU5ErkJggg==",
];
/// What a hostile page and its task say.
pub(crate) const HOSTILE: &str =
    "=HYPERLINK(\"http://x\") <image> </script><script>alert(1)</script> `a` [b](http://c)";
/// A key that the exporting program knows, and the recording one did not.
pub(crate) const SECRET: &str = "a-key-that-only-the-exporter-knows";
/// What a skill says.
pub(crate) const ADVICE: &str = "<advice>\nMenus are under File.\n</advice>";

/// A run's folder.
pub(crate) struct Sample(pub(crate) TempDir);

/// One attempt of the sample.
#[derive(Clone, Copy)]
pub(crate) struct Attempt<'a> {
    pub(crate) trial: &'a str,
    pub(crate) task: &'a str,
    pub(crate) template: &'a str,
    pub(crate) split: Option<&'a str>,
    pub(crate) arm: &'a str,
    pub(crate) seed: u32,
    pub(crate) verdict: Verdict,
    /// What the page says and the model repeats.
    pub(crate) words: &'a str,
    /// What a clock on the screen shows.
    pub(crate) clock: &'a str,
    /// Whether the trace holds the messages, as since this version.
    pub(crate) messages: bool,
    /// The places of secrets on the screen.
    pub(crate) secrets: Option<&'a [Rect]>,
}

impl Default for Attempt<'_> {
    fn default() -> Self {
        Self {
            trial: "t-one",
            task: "shop-buy",
            template: "shop",
            split: Some("train"),
            arm: "none",
            seed: 0,
            verdict: Verdict::Pass,
            words: "Shop",
            clock: "10:01",
            messages: true,
            secrets: Some(&[]),
        }
    }
}

impl Sample {
    /// A run of these attempts.
    pub(crate) fn of(attempts: &[Attempt<'_>]) -> Self {
        let sample = Self(tempfile::tempdir().expect("a folder"));
        sample.write(attempts);
        sample
    }

    pub(crate) fn run(&self) -> PathBuf {
        self.0.path().join("run")
    }

    pub(crate) fn out(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, attempts: &[Attempt<'_>]) {
        let run = self.run();
        fs::create_dir_all(&run).expect("a folder");
        let plan = json!({
            "schema": "apprentice.run/1", "run": "20261120T101500Z-x7k2", "program": "0.0.0", "suite": "corner-shop",
            "suite_hash": "5uite", "prompt_hash": "pr0mpt", "seeds": 2, "models": [], "arms": [],
        });
        fs::write(run.join("run.json"), plan.to_string()).expect("written");
        let rows: Vec<String> = (0..).zip(attempts).map(|(order, attempt)| row(order, attempt)).collect();
        fs::write(run.join("trials.jsonl"), rows.concat()).expect("written");
        attempts.iter().for_each(|attempt| self.trace(attempt));
    }

    fn trace(&self, attempt: &Attempt<'_>) {
        let folder = self.run().join("trials").join(attempt.trial).join("attempt-01");
        let clock = Arc::new(VirtualClock::default());
        let redactor = Arc::new(Redactor::new([]).expect("builds"));
        let recorder =
            Recorder::create(&folder, &self.run().join("blobs"), clock, redactor).expect("records");
        Script { sink: recorder, attempt: *attempt, step: 1 }.play();
    }

    /// Removes the blob of a picture.
    pub(crate) fn lose_picture(&self, number: usize) {
        let hash = hash_of(&picture(number));
        fs::remove_file(blob_path(&self.run().join("blobs"), &hash, "png")).expect("removed");
    }
}

fn row(order: u32, attempt: &Attempt<'_>) -> String {
    let void = attempt.verdict == Verdict::Void;
    let row = json!({
        "schema": "apprentice.trial/1", "run": "20261120T101500Z-x7k2", "trial": attempt.trial,
        "suite": "corner-shop", "role": "solo", "task": attempt.task, "template": attempt.template,
        "suite_hash": "5uite", "split": attempt.split, "arm": attempt.arm, "seed": attempt.seed, "attempt": 1,
        "model": "compat/sample", "verdict": attempt.verdict,
        "score": if attempt.verdict == Verdict::Pass { 1.0 } else { 0.0 },
        "world_steps": 2, "turns": 3, "tokens": { "input": 300, "output": 30, "cached": 0 }, "delivered_tokens": 0,
        "cost_usd": 0.03, "wall_s": 4.5, "working_s": 4.0, "stop_reason": if void { None } else { Some("done") },
        "void_cause": void.then_some("world_lost"), "skills_viewed": [], "order": order,
        "started_at": "1970-01-01T00:00:00Z", "prompt_hash": "pr0mpt", "isolation": "memory",
        "trace": format!("trials/{}/attempt-01", attempt.trial),
    });
    format!("{row}\n")
}

/// The bytes of a picture.
pub(crate) fn picture(number: usize) -> Vec<u8> {
    STANDARD.decode(PICTURES[number]).expect("Base64")
}

fn hash_of(bytes: &[u8]) -> BlobHash {
    use sha2::Digest as _;
    BlobHash::new(apprentice_trace::hex(&sha2::Sha256::digest(bytes)))
}

/// Plays an attempt into a recorder.
struct Script<'a> {
    sink: Recorder,
    attempt: Attempt<'a>,
    step: u32,
}

impl Script<'_> {
    fn emit(&mut self, kind: EventKind) {
        self.sink.emit(Some(StepId(self.step)), kind).expect("records");
    }

    fn keep(&mut self, value: &impl serde::Serialize) -> BlobHash {
        self.sink.keep(&serde_json::to_vec(value).expect("writes"), "json").expect("kept")
    }

    fn play(mut self) {
        self.emit(EventKind::Started(Box::new(header(&self.attempt))));
        let first = self.observe(0);
        self.emit(EventKind::Notice { content: vec![Content::text(ADVICE)] });
        let task = Content::text(format!("Task: {} {SECRET}", self.attempt.words));
        self.ask(&[Message::User { content: [vec![task, Content::text(ADVICE)], first].concat() }]);
        self.reply("c1", CallBody::World { actions: vec![click(), typing()] });
        self.act(0, click(), Some(ScreenPoint::new(60, 20)));
        self.act(1, typing(), None);
        let done = CallResult {
            id: CallId::new("c1"),
            per_action: vec![ActionOutcome::Done { text: None }; 2],
            content: Vec::new(),
            is_error: false,
        };
        self.emit(EventKind::CallAnswered(done.clone()));
        self.step += 1;
        let seen = self.observe(1);
        let results = vec![CallResult { content: seen, ..done }];
        self.ask(&[Message::Results { results, notices: Vec::new() }]);
        self.view_skill();
        self.step += 1;
        let answer = self.skill_answer();
        self.ask(&[Message::Results { results: vec![answer], notices: Vec::new() }]);
        self.reply("c3", CallBody::Finish(Finish::Done));
        self.end();
    }

    fn observe(&mut self, number: usize) -> Vec<Content> {
        let bytes = picture(number);
        let hash = self.sink.keep(&bytes, "png").expect("kept");
        let Attempt { words, clock, .. } = self.attempt;
        let text = format!("Screen now.\nFront: {words:?}, {clock}\nbutton \"Buy\" @60,20 #n7");
        let outline = self.sink.keep(text.as_bytes(), "txt").expect("kept");
        let view = View {
            region: Rect::new(0, 0, 128, 80),
            image: Size::new(64, 40),
            space: CoordinateSpace::ImagePixels,
        };
        self.emit(EventKind::Observed {
            title: self.attempt.words.to_owned(),
            focused: None,
            screenshot: Some(hash.clone()),
            outline: Some(outline),
            shown: None,
            view,
            secrets: self.attempt.secrets.map(<[Rect]>::to_vec),
            took_ms: 1,
        });
        let image =
            Image { hash, size: Size::new(64, 40), media: MediaType::Png, bytes: ImageBytes(bytes.into()) };
        vec![Content::text(text), Content::Image { image }]
    }

    fn ask(&mut self, messages: &[Message]) {
        if !self.attempt.messages {
            return;
        }
        let request = (self.step == 1).then(|| self.keep(&request()));
        let messages = messages.iter().map(|message| self.keep(message)).collect();
        self.emit(EventKind::ModelAsked { request, messages });
    }

    fn reply(&mut self, id: &str, body: CallBody) {
        self.emit(EventKind::ModelReplied {
            raw: Vec::new(),
            say: vec![format!("I look at {}", self.attempt.words)],
            thoughts: Vec::new(),
            calls: vec![Call { id: CallId::new(id), body }],
            usage: Usage { input: 100, output: 10, cached: 0 },
            timing: Timing { working_ms: 5, waiting_ms: 0 },
            cost_usd: Some(0.01),
            provider_model: Some("sample-1".into()),
            estimated: false,
            request_bytes: 10,
        });
    }

    fn act(&mut self, index: u32, asked: Action<ImagePoint>, point: Option<ScreenPoint>) {
        self.emit(EventKind::Action(Box::new(ActionRecord {
            call: CallId::new("c1"),
            index,
            asked,
            sent: None,
            line: None,
            target_role: Some("button".into()),
            target_name: Some(self.attempt.words.to_owned()),
            point,
            outcome: ActionOutcome::Done { text: None },
        })));
    }

    fn view_skill(&mut self) {
        let arguments = json!({ "skill": "shop/menus" });
        self.reply("c2", CallBody::Tool { name: "skill_view".into(), arguments });
        let (call, name) = (CallId::new("c2"), "skill_view".to_owned());
        self.emit(EventKind::ToolCalled { call, name, is_error: false, took_ms: 1 });
        let skill = SkillEvent {
            happening: SkillEventKind::Viewed,
            skill: SkillId::parse("shop/menus").ok(),
            version: None,
            rank: None,
            detail: None,
            text: None,
            delivered_chars: 10,
        };
        self.emit(EventKind::Skill(skill));
        let answer = self.skill_answer();
        self.emit(EventKind::CallAnswered(answer));
    }

    fn skill_answer(&self) -> CallResult {
        let content = vec![Content::text("Menus: the text of a skill.")];
        CallResult { id: CallId::new("c2"), per_action: Vec::new(), content, is_error: false }
    }

    fn end(mut self) {
        let void = self.attempt.verdict == Verdict::Void;
        self.emit(EventKind::Finished(Finish::Done));
        self.emit(EventKind::Stopped {
            reason: (!void).then_some(StopReason::Done),
            void: void.then_some(VoidCause::WorldLost),
            detail: String::new(),
            spent: ResourceUsage::default(),
        });
        if !void {
            self.emit(EventKind::Judged(Judged {
                verdict: self.attempt.verdict,
                score: if self.attempt.verdict == Verdict::Pass { 1.0 } else { 0.0 },
                explanation: "the order is there".into(),
                checks: Vec::new(),
            }));
        }
        self.sink.sync().expect("syncs");
    }
}

fn click() -> Action<ImagePoint> {
    Action::Click { at: Target::Ref(NodeRef("n7".into())), button: Button::Left, count: 1, hold: None }
}

fn typing() -> Action<ImagePoint> {
    Action::Type { text: "=1+1".into() }
}

fn request() -> ChatRequest {
    let spec = |name: &str| ToolSpec {
        name: name.into(),
        description: "A tool.".into(),
        schema: json!({ "type": "object", "properties": {} }),
    };
    ChatRequest {
        purpose: Purpose::Act,
        system: "You work on a computer.".into(),
        tools: vec![spec("finish"), spec("skill_view")],
        world: Some(WorldTool { browser: true, display: Size::new(64, 40) }),
        max_output_tokens: 100,
        ..ChatRequest::default()
    }
}

fn header(attempt: &Attempt<'_>) -> Header {
    Header {
        version: 1,
        program: "0.0.0".into(),
        brief: TaskBrief {
            id: TaskId::new(attempt.task),
            instruction: attempt.words.to_owned(),
            limits: Limits::default(),
        },
        world: WorldSpec::new(apprentice_protocol::EnvironmentKind::Browser, Size::new(128, 80)),
        model: ModelProfile {
            name: "compat/sample".into(),
            consumer: "small".into(),
            space: CoordinateSpace::ImagePixels,
            images: ImageRule::AsIs,
            outline: true,
            views: ViewRule::default(),
            history: HistoryRule::AppendOnly { max_request_bytes: 1 << 20, uploads: false, context: None },
            tools: ToolRule::Fixed,
            max_output_tokens: 100,
        },
        seed: None,
        prompt_hash: "pr0mpt".into(),
    }
}

/// Every file of an export with its path; what is no text is replaced in it.
pub(crate) fn files(folder: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).expect("inside").to_string_lossy().into_owned();
                let bytes = fs::read(&path).expect("read");
                found.push((name, String::from_utf8_lossy(&bytes).into_owned()));
            }
        }
    }
    found.sort();
    found
}

/// The lines of a file of JSON lines.
pub(crate) fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).expect("read");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}
