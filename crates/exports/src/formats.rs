//! The formats of exports, and how each holds pictures.

use schemars::JsonSchema;
use serde::Serialize;

/// A format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExportFormat {
    /// OSWorld's result tree: `traj.jsonl`, screenshots, `result.txt`.
    Osworld,
    /// Two tables: attempts and actions.
    Csv,
    /// Conversations as OpenAI's chat API has them, one per line.
    Openai,
    /// Conversations in ShareGPT's form, one per line.
    Sharegpt,
    /// Conversations with their pictures in Parquet files, as Hugging Face's `datasets` reads them.
    Parquet,
    /// Trajectories in Harbor's interchange format, one file each.
    Atif,
    /// Logs of Inspect, one file per model and arm.
    Inspect,
    /// OpenTelemetry spans by the conventions for generative AI, as OTLP in JSON.
    Otel,
    /// A video of each attempt, with the model's words as subtitles.
    Video,
}

/// How an export holds pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PictureForm {
    /// Files beside the data, referred to by relative paths.
    Files,
    /// Inside the data: as data URLs, or as bytes where the format has those.
    Inline,
    /// None.
    None,
}

impl ExportFormat {
    /// All formats.
    pub const ALL: [Self; 9] = [
        Self::Osworld,
        Self::Csv,
        Self::Openai,
        Self::Sharegpt,
        Self::Parquet,
        Self::Atif,
        Self::Inspect,
        Self::Otel,
        Self::Video,
    ];

    /// The format's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Osworld => "osworld",
            Self::Csv => "csv",
            Self::Openai => "openai",
            Self::Sharegpt => "sharegpt",
            Self::Parquet => "parquet",
            Self::Atif => "atif",
            Self::Inspect => "inspect",
            Self::Otel => "otel",
            Self::Video => "video",
        }
    }

    /// Returns the format of this name, or of the name that one had before.
    pub fn parse(name: &str) -> Option<Self> {
        let name = if name == "film" { "video" } else { name };
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// Returns whether the format is made for training, so that attempts at test tasks stay out.
    pub fn is_training(self) -> bool {
        matches!(self, Self::Openai | Self::Sharegpt | Self::Parquet)
    }

    /// How the format holds pictures unless the user chooses.
    pub(crate) fn pictures(self) -> PictureForm {
        match self {
            // A video holds them as a video.
            Self::Otel | Self::Video => PictureForm::None,
            Self::Inspect | Self::Parquet => PictureForm::Inline,
            Self::Osworld | Self::Csv | Self::Openai | Self::Sharegpt | Self::Atif => PictureForm::Files,
        }
    }

    /// Returns whether the format can hold pictures in this form.
    pub(crate) fn allows(self, form: PictureForm) -> bool {
        match (self, form) {
            (_, PictureForm::None) | (Self::Openai, _) => true,
            (Self::Inspect | Self::Parquet, form) => form == PictureForm::Inline,
            (Self::Otel | Self::Video, _) => false,
            (Self::Osworld | Self::Csv | Self::Sharegpt | Self::Atif, form) => form == PictureForm::Files,
        }
    }
}
