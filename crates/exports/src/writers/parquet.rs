//! Conversations with their pictures in Parquet files, one row per attempt: `messages` in the form that trainers for vision
//! models take (`{"type": "image"}` stands for the next of the `images`), and `images` as Hugging Face's `datasets` has them.

use std::collections::BTreeMap;

use apprentice_runs::row::Split;
use apprentice_trace::{Blobs, PictureRef};
use serde_json::{Value, json};

use super::parts::write_action_schema;
use super::{EpisodeError, openai, sent};
use crate::card::part_file;
use crate::episode::Episode;
use crate::folder::{FolderError, OutFile, OutFolder};
use crate::formats::PictureForm;
use crate::parquet::{Field, Kind, ParquetFile, Record, RecordError, Shape};
use crate::request::ExportRequest;

/// The most bytes of pictures of one attempt. Readers hold a row in memory, and address at most 2 GB of one column.
const PICTURE_BYTES: usize = 1 << 30;

const TEXT: Shape = Shape::Leaf(Kind::Text);
/// What chat templates want as objects, and what has another form in each row: `datasets` and DuckDB hand out what it says.
const JSON: Shape = Shape::Leaf(Kind::Json);
const PART: Field =
    Field::required("element", Shape::Group(&[Field::required("type", TEXT), Field::optional("text", TEXT)]));
const CALL: Field = Field::required(
    "element",
    Shape::Group(&[
        Field::required("id", TEXT),
        Field::required("type", TEXT),
        Field::required(
            "function",
            Shape::Group(&[Field::required("name", TEXT), Field::required("arguments", JSON)]),
        ),
    ]),
);
const MESSAGE: Field = Field::required(
    "element",
    Shape::Group(&[
        Field::required("role", TEXT),
        Field::required("content", Shape::List(&PART)),
        Field::optional("tool_calls", Shape::List(&CALL)),
        Field::optional("tool_call_id", TEXT),
    ]),
);
const IMAGE: Field = Field::required(
    "element",
    Shape::Group(&[Field::required("bytes", Shape::Leaf(Kind::Bytes)), Field::required("path", TEXT)]),
);
static FIELDS: [Field; 14] = [
    Field::required("trial", TEXT),
    Field::required("attempt", Shape::Leaf(Kind::Integer)),
    Field::required("task", TEXT),
    Field::required("template", TEXT),
    Field::required("role", TEXT),
    Field::required("arm", TEXT),
    Field::required("seed", Shape::Leaf(Kind::Integer)),
    Field::required("model", TEXT),
    Field::required("verdict", TEXT),
    Field::optional("reward", Shape::Leaf(Kind::Number)),
    Field::required("steps", Shape::Leaf(Kind::Integer)),
    Field::required("messages", Shape::List(&MESSAGE)),
    Field::required("tools", JSON),
    Field::required("images", Shape::List(&IMAGE)),
];

/// The files of the parts of the split that have an attempt.
pub(crate) struct ConversationTable<'a> {
    files: BTreeMap<&'static str, ParquetFile>,
    request: &'a ExportRequest,
}

/// The row of an attempt.
struct Row {
    value: Value,
    pictures: Vec<Vec<u8>>,
}

impl<'a> ConversationTable<'a> {
    pub(super) fn begin(out: &OutFolder, request: &'a ExportRequest) -> Result<Self, FolderError> {
        write_action_schema(out)?;
        Ok(Self { files: BTreeMap::new(), request })
    }

    pub(super) fn add(
        &mut self,
        episode: &Episode<'_>,
        out: &mut OutFolder,
        blobs: &Blobs,
    ) -> Result<String, EpisodeError> {
        let row = self.row(episode, out, blobs)?;
        let part = part_file(episode.row.split.map_or("none", Split::as_str));
        let name = format!("{part}.parquet");
        if !self.files.contains_key(part) {
            self.files.insert(part, self.begin_file(out.create(&name)?)?);
        }
        if let Some(file) = self.files.get_mut(part) {
            let record = Record { value: &row.value, bytes: &row.pictures };
            // The row was made here, for this schema: what does not fit it is a fault of this program.
            file.add(&record).map_err(|error: RecordError| FolderError::invalid(&name, error))?;
            file.settle()?;
        }
        Ok(name)
    }

    /// Reads all that the row needs, so that an attempt that cannot be exported leaves nothing behind.
    fn row(&self, episode: &Episode<'_>, out: &mut OutFolder, blobs: &Blobs) -> Result<Row, EpisodeError> {
        let conversation = sent(episode, blobs, &self.request.selection)?;
        let has_pictures = out.form != PictureForm::None;
        let mut references: Vec<PictureRef> = Vec::new();
        let messages = openai::messages(&conversation, &mut |picture| {
            Ok(has_pictures.then(|| {
                references.push(picture.clone());
                String::new()
            }))
        });
        let messages: Vec<Value> = messages?.into_iter().map(in_parts).collect();
        let mut pictures = Vec::new();
        let mut size = 0;
        for picture in &references {
            let bytes = out.bytes_of(picture, blobs)?;
            size += bytes.len();
            if size > PICTURE_BYTES {
                return Err(EpisodeError::Unfit(
                    "its pictures take more than 1 GiB, which is too much for one row: --from-step and --to-step export a part",
                ));
            }
            pictures.push(bytes);
        }
        let paths = references.iter().map(|picture| format!("{}.{}", picture.hash, picture.extension()));
        let images: Vec<Value> =
            paths.enumerate().map(|(place, path)| json!({ "bytes": place, "path": path })).collect();
        let row = episode.row;
        let value = json!({
            "trial": row.trial, "attempt": row.attempt, "task": row.task, "template": row.template,
            "role": row.role, "arm": row.arm, "seed": row.seed, "model": row.model, "verdict": row.verdict,
            "reward": row.score, "steps": row.world_steps, "messages": messages,
            "tools": Value::from(conversation.tools).to_string(), "images": images,
        });
        let value = out.redacted_value(&value).map_err(|error| FolderError::invalid("a row", error))?;
        pictures.iter().for_each(|picture| out.add_picture(picture.len()));
        Ok(Row { value, pictures })
    }

    fn begin_file(&self, file: OutFile) -> Result<ParquetFile, FolderError> {
        let notes = [("huggingface", features().to_string())];
        let program = format!("apprentice version {}", self.request.program);
        ParquetFile::begin(file, &FIELDS, &notes, &program)
    }

    pub(super) fn finish(self) -> Result<(), FolderError> {
        self.files.into_values().try_for_each(ParquetFile::end)
    }
}

/// A message whose content is a list of parts: all rows of a column have one form.
fn in_parts(mut message: Value) -> Value {
    let content = match message["content"].take() {
        Value::String(text) if text.is_empty() => json!([]),
        Value::String(text) => json!([{ "type": "text", "text": text }]),
        Value::Array(parts) => parts.into_iter().map(in_form).collect(),
        other => other,
    };
    message["content"] = content;
    message
}

fn in_form(part: Value) -> Value {
    match part["type"].as_str() {
        Some("image_url") => json!({ "type": "image" }),
        _ => part,
    }
}

/// The types of the columns, as `datasets` keeps them: with them, the pictures are pictures and no bytes.
fn features() -> Value {
    let mut features = serde_json::Map::new();
    for field in &FIELDS {
        features.insert(field.name.to_owned(), feature(field));
    }
    features["images"] = json!({ "feature": { "_type": "Image" }, "_type": "List" });
    json!({ "info": { "features": features } })
}

fn feature(field: &Field) -> Value {
    match field.shape {
        Shape::Leaf(kind) => {
            let value = |kind: &str| json!({ "_type": "Value", "dtype": kind });
            match kind {
                Kind::Integer => value("int64"),
                Kind::Number => value("float64"),
                Kind::Text => value("string"),
                Kind::Bytes => value("binary"),
                Kind::Json => json!({ "_type": "Json" }),
            }
        }
        Shape::Group(fields) => fields
            .iter()
            .map(|field| (field.name.to_owned(), feature(field)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        Shape::List(element) => json!({ "feature": feature(element), "_type": "List" }),
    }
}
