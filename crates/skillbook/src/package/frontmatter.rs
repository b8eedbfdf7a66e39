//! The frontmatter of a `SKILL.md`: the subset of YAML that every reader of the format understands. Syntax that only
//! some readers accept is parsed and reported as a finding.

use std::collections::BTreeSet;

use saphyr_parser::{Event, Parser, ScalarStyle, Span};

use super::PackageFinding;

const FENCE: &str = "---";
/// Largest number of YAML events in a frontmatter.
const MAX_EVENTS: usize = 5000;

/// A value. Scalars are always texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Field {
    /// A scalar.
    Text(String),
    /// A sequence. Deeper values are flattened to one line of text.
    List(Vec<String>),
    /// A mapping. Deeper values are flattened to one line of text.
    Map(Vec<(String, String)>),
}

/// The frontmatter and body of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frontmatter {
    /// Top-level fields, in order, without duplicate keys.
    pub fields: Vec<(String, Field)>,
    /// The text after the frontmatter.
    pub body: String,
    /// Syntax that strict readers reject.
    pub findings: Vec<PackageFinding>,
}

impl Frontmatter {
    /// Parses a file. If it cannot be parsed at all, the error is the single finding.
    ///
    /// # Errors
    ///
    /// The file is no UTF-8 text, or its frontmatter cannot be parsed at all: the finding says where.
    pub fn read(bytes: &[u8]) -> Result<Self, PackageFinding> {
        let text = std::str::from_utf8(bytes)
            .map_err(|error| PackageFinding::error("not_text", format!("not UTF-8: {error}")))?;
        let mut findings = Vec::new();
        let text = skip_bom(text, &mut findings);
        let Some(rest) = text.strip_prefix(FENCE) else {
            let why = "the file must start with a line \"---\" and its fields";
            return Err(PackageFinding::error("no_frontmatter", why));
        };
        let (head, body) = split(rest, &mut findings)?;
        let head = head.replace("\r\n", "\n");
        let mut reader = Reader { parser: Parser::new_from_str(&head), findings, events: 0 };
        let fields = reader.document().map_err(|(line, why)| {
            PackageFinding::error("bad_yaml", format!("the head is no YAML: {why}")).at(line)
        })?;
        let body = body.replace("\r\n", "\n").trim().to_owned();
        Ok(Self { fields, body, findings: reader.findings })
    }

    /// Returns a field.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|(key, _)| key == name).map(|(_, field)| field)
    }

    /// Returns a field that is a text.
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.field(name)? {
            Field::Text(text) => Some(text.trim()),
            Field::List(_) | Field::Map(_) => None,
        }
    }

    /// Returns an entry of the `metadata` map.
    pub fn metadata(&self, name: &str) -> Option<&str> {
        match self.field("metadata")? {
            Field::Map(entries) => {
                entries.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
            }
            Field::Text(_) | Field::List(_) => None,
        }
    }
}

/// Skips characters that editors put before the first line.
fn skip_bom<'a>(text: &'a str, findings: &mut Vec<PackageFinding>) -> &'a str {
    let stripped = text.trim_start_matches('\u{feff}');
    if stripped.len() != text.len() {
        findings.push(PackageFinding::error(
            "byte_order_mark",
            "a byte order mark stands before \"---\"; save without it",
        ));
    }
    let trimmed = stripped.trim_start();
    if trimmed.len() != stripped.len() && trimmed.starts_with(FENCE) {
        findings.push(PackageFinding::error("blank_start", "blank lines stand before \"---\"; remove them"));
        return trimmed;
    }
    stripped
}

/// Splits a file into frontmatter and body. Some readers end the frontmatter at the first `---`, wherever it is.
fn split<'a>(
    rest: &'a str,
    findings: &mut Vec<PackageFinding>,
) -> Result<(&'a str, &'a str), PackageFinding> {
    let unclosed = || PackageFinding::error("not_closed", "the head is not closed by a line \"---\"");
    let anywhere = rest.find(FENCE).ok_or_else(unclosed)?;
    let mut at = 0;
    let mut closing = None;
    for line in rest.split_inclusive('\n') {
        if at > 0 && line.trim_end() == FENCE {
            closing = Some(at);
            break;
        }
        at += line.len();
    }
    let end = closing.unwrap_or(anywhere);
    if anywhere != end || closing.is_none() {
        let line = rest[..anywhere].matches('\n').count() + 1;
        let what = "\"---\" stands inside the head; some readers cut the head there";
        findings.push(PackageFinding::error("dashes_in_head", what).at(line));
    }
    Ok((&rest[..end], &rest[end + FENCE.len()..]))
}

type Fault = (usize, String);

struct Reader<'a> {
    parser: Parser<'a, saphyr_parser::StrInput<'a>>,
    findings: Vec<PackageFinding>,
    events: usize,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<(Event<'a>, Span), Fault> {
        self.events += 1;
        if self.events > MAX_EVENTS {
            return Err((1, "it is too long".to_owned()));
        }
        match self.parser.next_event() {
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => Err((error.marker().line(), error.info().to_owned())),
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    fn strict(&mut self, code: &'static str, what: &str, span: Span) {
        self.findings.push(PackageFinding::error(code, what).at(span.start.line()));
    }

    fn document(&mut self) -> Result<Vec<(String, Field)>, Fault> {
        loop {
            match self.next()? {
                (Event::StreamStart | Event::DocumentStart(_) | Event::Nothing, _) => {}
                (Event::MappingStart(anchor, ref tag), span) => {
                    self.plain(anchor, tag.is_some(), span);
                    self.block(span);
                    return self.fields();
                }
                (_, span) => return Err((span.start.line(), "it must hold `key: value` lines".to_owned())),
            }
        }
    }

    /// Reports anchors and tags, which strict readers reject.
    fn plain(&mut self, anchor: usize, tagged: bool, span: Span) {
        if anchor > 0 || tagged {
            self.strict("anchor_or_tag", "anchors and tags are not allowed here", span);
        }
    }

    fn fields(&mut self) -> Result<Vec<(String, Field)>, Fault> {
        let mut fields: Vec<(String, Field)> = Vec::new();
        let mut seen = BTreeSet::new();
        loop {
            let (event, at) = self.next()?;
            if event == Event::MappingEnd {
                return Ok(fields);
            }
            let key = self.key(event, at)?;
            let value = self.value()?;
            if seen.insert(key.clone()) {
                fields.push((key, value));
            } else {
                self.strict("duplicate_key", &format!("the key {key:?} stands twice"), at);
            }
        }
    }

    /// Reports flow style. The start of a block collection has no width; a flow collection starts with a bracket.
    fn block(&mut self, span: Span) {
        if span.end.index() > span.start.index() {
            self.strict("flow_style", "values in braces or brackets are not allowed here", span);
        }
    }

    fn key(&mut self, event: Event<'a>, at: Span) -> Result<String, Fault> {
        match event {
            Event::Scalar(text, _, anchor, tag) => {
                self.plain(anchor, tag.is_some(), at);
                if text == "<<" {
                    self.strict("merge_key", "the key << stands for a merge, which is not allowed here", at);
                }
                Ok(text.into_owned())
            }
            _ => Err((at.start.line(), "a key must be a word".to_owned())),
        }
    }

    fn value(&mut self) -> Result<Field, Fault> {
        let (event, span) = self.next()?;
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.plain(anchor, tag.is_some(), span);
                Ok(Field::Text(scalar(&text, style)))
            }
            Event::SequenceStart(anchor, tag) => {
                self.plain(anchor, tag.is_some(), span);
                self.block(span);
                Ok(Field::List(self.items()?))
            }
            Event::MappingStart(anchor, tag) => {
                self.plain(anchor, tag.is_some(), span);
                self.block(span);
                let entries = self.fields()?;
                Ok(Field::Map(entries.into_iter().map(|(key, value)| (key, line_of(&value))).collect()))
            }
            Event::Alias(_) => {
                self.strict("anchor_or_tag", "references to anchors are not allowed here", span);
                Ok(Field::Text(String::new()))
            }
            _ => Err((span.start.line(), "a value is missing".to_owned())),
        }
    }

    fn items(&mut self) -> Result<Vec<String>, Fault> {
        let mut items = Vec::new();
        while !matches!(self.parser.peek(), Some(Ok((Event::SequenceEnd, _)))) {
            items.push(line_of(&self.value()?));
        }
        self.next()?;
        Ok(items)
    }
}

/// Returns a scalar as text. A missing value is an empty text.
fn scalar(text: &str, style: ScalarStyle) -> String {
    if style == ScalarStyle::Plain && text == "~" { String::new() } else { text.to_owned() }
}

fn line_of(field: &Field) -> String {
    match field {
        Field::Text(text) => text.clone(),
        Field::List(items) => items.join(", "),
        Field::Map(entries) => {
            entries.iter().map(|(key, value)| format!("{key}: {value}")).collect::<Vec<_>>().join(", ")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Frontmatter;

    #[test]
    fn a_head_is_read_up_to_5000_parts() {
        let read = |items: usize| {
            let text = format!("---\nname: n\nmetadata:\n{}---\n\nText.\n", "  - one\n".repeat(items));
            Frontmatter::read(text.as_bytes()).map_err(|finding| finding.code)
        };
        assert!(read(4900).is_ok());
        assert_eq!(read(5000).map(|head| head.fields.len()), Err("bad_yaml"));
    }
}
