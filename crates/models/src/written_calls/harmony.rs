//! The channels of OpenAI's harmony format, as they come when a server does not read them.

/// One message of a turn.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum HarmonyMessage {
    /// The channel `analysis`.
    Thought { text: String, open: bool },
    /// A message to a tool.
    Call { name: String, arguments: String },
    /// The channel `commentary` without a tool.
    Remark { text: String },
    /// The channel `final`.
    Answer { text: String },
}

const CHANNEL: &str = "<|channel|>";
const MESSAGE: &str = "<|message|>";
/// Marks that end a message.
const ENDS: [&str; 4] = ["<|end|>", "<|call|>", "<|return|>", "<|start|>"];
/// Servers that leave out special tokens leave these words behind.
const BARE: [(&str, &str); 6] = [
    ("assistantfinal", "<|end|><|start|>assistant<|channel|>final<|message|>"),
    ("assistantanalysis", "<|end|><|start|>assistant<|channel|>analysis<|message|>"),
    ("assistantcommentary to=", "<|end|><|start|>assistant<|channel|>commentary to="),
    ("assistant to=", "<|end|><|start|>assistant to="),
    ("analysis", "<|channel|>analysis<|message|>"),
    ("commentary to=", "<|channel|>commentary to="),
];

/// Returns the messages of a text; `None` when it has no channels.
pub(super) fn messages(text: &str) -> Option<Vec<HarmonyMessage>> {
    let text = match text.contains(CHANNEL) || text.contains(MESSAGE) {
        true => text.to_owned(),
        false => with_marks(text)?,
    };
    let mut messages = Vec::new();
    let mut rest = text.as_str();
    while let Some((header, after)) = rest.split_once(MESSAGE) {
        let end = ENDS.iter().chain(&[CHANNEL]).filter_map(|mark| after.find(mark).map(|at| (at, *mark)));
        let end = end.min_by_key(|(at, _)| *at);
        let (body, next, ended) = match end {
            Some((at, mark)) if ENDS[..3].contains(&mark) => (&after[..at], &after[at + mark.len()..], true),
            Some((at, _)) => (&after[..at], &after[at..], true),
            None => (after, "", false),
        };
        messages.push(message(header, body, ended));
        rest = next;
    }
    // A header without its message: the reply broke off.
    if rest.contains("to=") && rest.contains(CHANNEL) {
        messages.push(HarmonyMessage::Thought { text: rest.to_owned(), open: true });
    }
    (!messages.is_empty()).then_some(messages)
}

fn message(header: &str, body: &str, ended: bool) -> HarmonyMessage {
    let recipient = header.rsplit_once("to=").map(|(_, to)| to);
    let recipient =
        recipient.map(|to| to.split(|c: char| c.is_whitespace() || c == '<').next().unwrap_or(to));
    let channel = header.rsplit_once(CHANNEL).map_or("", |(_, channel)| channel).trim_start();
    let text = body.trim().to_owned();
    match recipient.filter(|to| !to.is_empty() && *to != "assistant" && *to != "user") {
        Some(name) => HarmonyMessage::Call { name: name.to_owned(), arguments: text },
        None if channel.starts_with("analysis") => HarmonyMessage::Thought { text, open: !ended },
        None if channel.starts_with("commentary") => HarmonyMessage::Remark { text },
        None => HarmonyMessage::Answer { text },
    }
}

/// Puts back the marks of a text from which a server has removed them.
fn with_marks(text: &str) -> Option<String> {
    let begins = text.starts_with("analysis") && text.contains("assistant");
    let calls = text.starts_with("commentary to=") || text.contains("assistantcommentary to=");
    if !begins && !calls {
        return None;
    }
    let mut marked = text.to_owned();
    for (bare, mark) in &BARE[..4] {
        marked = marked.replace(bare, mark);
    }
    for (bare, mark) in &BARE[4..] {
        if let Some(rest) = marked.strip_prefix(bare) {
            marked = format!("{mark}{rest}");
        }
    }
    // `to=functions.computer json{…}`
    if let Some((before, call)) = marked.rsplit_once("to=").filter(|(_, to)| calls && !to.contains(MESSAGE)) {
        let object = call.find('{')?;
        marked =
            format!("{before}to={} {MESSAGE}{}", call[..object].split_whitespace().next()?, &call[object..]);
    }
    marked.contains(MESSAGE).then_some(marked)
}
