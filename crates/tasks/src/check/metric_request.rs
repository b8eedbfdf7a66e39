//! Evaluates one metric outside a run: for suite authors, and for comparison with OSWorld's Python functions of the
//! same names.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use apprentice_metrics::{
    AnswerJudgement, ArgumentKind, Compat, CompatProbe, EvidenceValue, FileRef, METRICS, Metric, MetricInput,
    Reading, compute, files_to_read, named,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::judge::record;
use super::reading::{self, ProgramError};
use apprentice_protocol::did_you_mean;

/// Maximum size of an evaluated file in bytes. Larger files are rejected unread.
const FILE_LIMIT: u64 = 64 << 20;

/// A request: a metric's name and its arguments in the form of the Python function.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct MetricRequest {
    /// The metric's name.
    pub func: String,
    /// A path, a list of paths, or a value, depending on what the metric takes.
    #[serde(default)]
    pub result: Value,
    /// The expected side, in the same form; absent for metrics with one argument.
    #[serde(default)]
    pub expected: Option<Value>,
    /// What a model said of answers, as evidence keeps it.
    #[serde(default)]
    pub judgements: Vec<AnswerJudgement>,
    /// Keyword arguments of the metric.
    #[serde(default)]
    pub options: Map<String, Value>,
    /// An opaque value that is copied into the response.
    #[serde(default)]
    pub id: Value,
}

/// A response: a score with its explanation, or an error.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MetricResponse {
    /// The metric's name.
    pub func: String,
    /// The request's `id`.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub id: Value,
    /// The score, from 0 to 1; absent on errors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// The score in the other compatibility mode, where it differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_reading: Option<f64>,
    /// The reason for a missing score.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The differences found, or a note that there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explanation: Option<String>,
}

/// A request that cannot be passed to a metric.
#[derive(Debug, thiserror::Error)]
pub enum MetricRequestError {
    /// No metric has this name.
    #[error("unknown metric {name:?}{hint}")]
    Unknown {
        /// The requested name.
        name: String,
        /// A suggestion of the nearest known name, or an empty text.
        hint: String,
    },
    /// An argument has the wrong form for the metric.
    #[error("{side} of {metric} must be {form}")]
    Form {
        /// The metric's name.
        metric: String,
        /// `result` or `expected`.
        side: &'static str,
        /// The accepted form.
        form: &'static str,
    },
    /// A file cannot be read by the program for it.
    #[error("{metric}: {source}")]
    Reading {
        /// The metric's name.
        metric: String,
        /// The program's error.
        source: ProgramError,
    },
    /// A file cannot be read.
    #[error("{}", path.display())]
    Read {
        /// The file's path.
        path: PathBuf,
        /// The underlying error.
        #[source]
        source: std::io::Error,
    },
}

/// Evaluates one request. A file that does not exist counts as absent evidence, as in a check.
pub fn answer(question: &MetricRequest, compat: Compat) -> MetricResponse {
    let mut answer = MetricResponse {
        func: question.func.clone(),
        id: question.id.clone(),
        score: None,
        other_reading: None,
        error: None,
        explanation: None,
    };
    match evaluate(question, compat) {
        Ok(record) => {
            answer.score = record.score;
            answer.other_reading = record.other_reading;
            match record.score {
                Some(_) => answer.explanation = Some(record.explanation),
                None => answer.error = Some(record.explanation),
            }
        }
        Err(error) => {
            let cause =
                std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
            answer.error = Some(format!("{error}{cause}"));
        }
    }
    answer
}

fn evaluate(
    question: &MetricRequest,
    compat: Compat,
) -> Result<apprentice_protocol::CheckRecord, MetricRequestError> {
    let name = question.func.as_str();
    let unknown = || MetricRequestError::Unknown {
        name: name.to_owned(),
        hint: did_you_mean(name, METRICS.iter().map(|metric| metric.name)),
    };
    let existing = named(name).ok_or_else(unknown)?;
    let mut beside = Vec::new();
    let result =
        side(&question.result, existing.result, &mut beside).map_err(|fault| fault.of(name, "result"))?;
    let expected = match &question.expected {
        None | Some(Value::Null) if existing.expected == ArgumentKind::File => None,
        None => None,
        Some(value) => {
            Some(side(value, existing.expected, &mut beside).map_err(|fault| fault.of(name, "expected"))?)
        }
    };
    let readings = readings(existing, [Some(&result), expected.as_ref()], &question.options)?;
    let beside: Vec<&FileRef> = beside.iter().collect();
    let mark = |reading: &CompatProbe| {
        let case = MetricInput {
            result: &result,
            expected: expected.as_ref(),
            options: &question.options,
            reading,
            beside: &beside,
            readings: &readings,
            judgements: &question.judgements,
        };
        compute(name, &case)
    };
    Ok(record(name, mark, compat))
}

/// Has the files read by the program that the metric needs, one after the other.
fn readings(
    metric: &Metric,
    sides: [Option<&EvidenceValue>; 2],
    options: &Map<String, Value>,
) -> Result<Vec<Reading>, MetricRequestError> {
    let wanted = files_to_read(metric, sides, Some(options));
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let failed = |source| MetricRequestError::Reading { metric: metric.name.to_owned(), source };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| failed(ProgramError::Start(error.to_string())))?;
    wanted.iter().map(|(kind, file)| runtime.block_on(reading::take(*kind, file)).map_err(failed)).collect()
}

enum ArgumentError {
    Form,
    Read(PathBuf, std::io::Error),
}

impl ArgumentError {
    fn of(self, metric: &str, side: &'static str) -> MetricRequestError {
        match self {
            Self::Form => MetricRequestError::Form {
                metric: metric.to_owned(),
                side,
                form: "a path or a list of paths",
            },
            Self::Read(path, source) => MetricRequestError::Read { path, source },
        }
    }
}

fn side(
    value: &Value,
    takes: ArgumentKind,
    beside: &mut Vec<FileRef>,
) -> Result<EvidenceValue, ArgumentError> {
    if takes != ArgumentKind::File {
        return Ok(EvidenceValue::Value { value: value.clone() });
    }
    match value {
        Value::Null => Ok(EvidenceValue::Absent { why: "there is no file".into() }),
        Value::String(path) => match read(Path::new(path), beside)? {
            Some(file) => Ok(EvidenceValue::files_of(vec![Some(file)])),
            None => Ok(EvidenceValue::Absent { why: format!("{path} does not exist") }),
        },
        Value::Array(list) => {
            let mut files = Vec::new();
            for one in list {
                files.push(match one {
                    Value::Null => None,
                    Value::String(path) => read(Path::new(path), beside)?,
                    Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                        return Err(ArgumentError::Form);
                    }
                });
            }
            Ok(EvidenceValue::files_of(files))
        }
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => Err(ArgumentError::Form),
    }
}

/// Reads a file up to the size limit, which also holds if the file grows while it is read.
fn read_limited(path: &Path, size: u64) -> std::io::Result<Vec<u8>> {
    let too_large = |size: u64| {
        let why = format!("{size} bytes exceed the limit of {FILE_LIMIT}");
        std::io::Error::new(std::io::ErrorKind::FileTooLarge, why)
    };
    if size > FILE_LIMIT {
        return Err(too_large(size));
    }
    // A file of the limit's size would be copied with each growth of the buffer.
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default().saturating_add(1));
    apprentice_files::open(path)?.take(FILE_LIMIT + 1).read_to_end(&mut bytes)?;
    let read = bytes.len() as u64;
    if read > FILE_LIMIT { Err(too_large(read)) } else { Ok(bytes) }
}

/// Reads a file and, for a workbook, the CSV exports of its sheets that lie next to it.
fn read(path: &Path, beside: &mut Vec<FileRef>) -> Result<Option<FileRef>, ArgumentError> {
    let failed = |source| ArgumentError::Read(path.to_owned(), source);
    let about = match std::fs::metadata(path) {
        Ok(about) => about,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    // A pipe could block the read, and a device may never end.
    if !about.is_file() {
        return Err(failed(std::io::Error::other("not a regular file")));
    }
    let bytes = read_limited(path, about.len()).map_err(failed)?;
    if path.extension().is_some_and(|extension| extension == "xlsx") {
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        for entry in std::fs::read_dir(folder).map_err(failed)?.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            // The name is tested first, because the folder may hold thousands of other files.
            let sheet = name.strip_prefix(&*stem).is_some_and(|rest| rest.starts_with('-'));
            let small = |about: std::fs::Metadata| about.is_file() && about.len() <= FILE_LIMIT;
            if sheet && name.ends_with(".csv") && entry.metadata().is_ok_and(small) {
                let bytes = read_limited(&entry.path(), 0).map_err(failed)?;
                beside.push(FileRef::new(name, bytes));
            }
        }
    }
    Ok(Some(FileRef::new(path.to_string_lossy(), bytes)))
}
