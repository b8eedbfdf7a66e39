//! A student's input and output formats as data: coordinate space, picture sizes, action format, and what its server
//! can enforce.

use std::path::Path;

use apprentice_protocol::{
    ContextRule, CoordinateSpace, HistoryRule, ImageRule, ModelProfile, Size, ToolRule, ViewRule,
};
use serde::Deserialize;
use toml::Spanned;

/// The profiles in the binary, most specific first.
const SHIPPED: &[(&str, &str)] = &[
    ("qwen2.5-vl", include_str!("profiles/qwen2.5-vl.toml")),
    ("qwen3-vl", include_str!("profiles/qwen3-vl.toml")),
    ("ui-tars-1.5", include_str!("profiles/ui-tars-1.5.toml")),
    ("opencua", include_str!("profiles/opencua.toml")),
    ("holo1.5", include_str!("profiles/holo1.5.toml")),
    ("holo", include_str!("profiles/holo.toml")),
    ("small", include_str!("profiles/small.toml")),
    ("text", include_str!("profiles/text.toml")),
    ("generic", include_str!("profiles/generic.toml")),
];
const FALLBACK: &str = "generic";
/// Pictures that come between two blocks that are left out: with fewer, the cache is lost too often, with more, a
/// context of 32,768 tokens is full before.
const BLOCK: u32 = 12;
/// Side, in pixels, of the square that counts as one token, when the picture rule names none.
const PATCH: u32 = 28;

/// The action format of a student.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActionFormat {
    /// Function calls, parsed by the server.
    Tools,
    /// `<tool_call>{"name":"computer_use",…}</tool_call>` in the text.
    Qwen,
    /// `Thought: … Action: click(start_box='(x,y)')`.
    Boxes,
    /// `pyautogui` code in a fenced block.
    Pyautogui,
    /// One JSON object that a schema can enforce.
    Json,
    /// OSWorld's `computer_13` objects.
    #[serde(rename = "computer_13")]
    Computer13,
    /// One JSON object of one act that names an element as the list does.
    Named,
}

/// The coordinate space of a student's points, as a profile names it.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Space {
    /// Pixels of the picture as it was sent.
    Pixels,
    /// From 0 to this number on both axes.
    Grid(u32),
    /// From 0 to 1.
    Unit,
}

/// The picture sizes that a student takes unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Pictures {
    None,
    AsIs,
    Within { width: u32, height: u32 },
    Factor { factor: u32, min_pixels: u64, max_pixels: u64 },
}

/// What the server can enforce on an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Structured {
    /// A JSON schema, with bounds and optional properties.
    #[default]
    JsonSchema,
    /// The part of JSON Schema that OpenAI's models accept: every property is required, and bounds are words.
    OpenaiSchema,
    /// Any JSON object.
    JsonObject,
    /// No enforcement: the prompt asks for the schema in words.
    Words,
}

/// A student's input and output formats.
#[derive(Clone, Debug, PartialEq)]
pub struct StudentProfile {
    /// The profile's name.
    pub name: String,
    /// The consumer class under which skill counters are kept.
    pub consumer: String,
    /// The action format.
    pub dialect: ActionFormat,
    /// The coordinate space of its points.
    pub space: CoordinateSpace,
    /// The picture sizes it takes.
    pub images: ImageRule,
    /// The number of latest pictures that remain when older ones are left out.
    pub history_images: u32,
    /// What is left out of a conversation, and when.
    pub history: History,
    /// Context length in tokens, request and answer together; `None` when only the server knows it.
    pub context_tokens: Option<u64>,
    /// Whether observations include the interface tree.
    pub outline: bool,
    /// How the interface tree is written.
    pub views: ViewRule,
    /// How it takes a skill.
    pub skills: SkillReading,
    /// Stop sequences.
    pub stop: Vec<String>,
    /// Limit on output tokens.
    pub max_output_tokens: u32,
    /// What the server can enforce on an answer.
    pub structured: Structured,
    /// The name of the request field that limits the output.
    pub token_field: TokenField,
    /// Sampling temperature; `None` leaves the server's default.
    pub temperature: Option<f64>,
    /// Whether a seed is sent.
    pub seed: bool,
}

/// How a model takes a skill.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SkillReading {
    /// It asks for the text of one whose description fits.
    #[default]
    Asks,
    /// It asks for none: the text must stand in its prompt.
    Prompt,
}

/// What is left out of a conversation, and when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum History {
    /// Old pictures, some at once, so that in between each request begins with the one before, and the server's cache holds.
    #[default]
    Blocks,
    /// Nothing: each request begins with the one before, and what does not fit the context ends the attempt. An attempt is
    /// then one sequence of tokens, as trainers need it.
    Grow,
    /// One old picture each turn, for a server that takes no more than `history_images`.
    Window,
}

/// The name of the request field that limits the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenField {
    /// The name that open-source servers use.
    #[default]
    MaxTokens,
    /// The name that OpenAI uses.
    MaxCompletionTokens,
}

/// The file format of a profile.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProfileFile {
    consumer: String,
    /// Parts of a model's name, in lower case. The profile matches when the name contains one of them.
    #[serde(default, rename = "match")]
    matches: Vec<String>,
    dialect: ActionFormat,
    space: Spanned<Space>,
    images: Spanned<Pictures>,
    #[serde(default = "three")]
    history_images: u32,
    #[serde(default)]
    history: History,
    #[serde(default)]
    context_tokens: Option<Spanned<u64>>,
    #[serde(default)]
    outline: bool,
    #[serde(default = "changes")]
    views: ViewRule,
    #[serde(default)]
    skills: SkillReading,
    #[serde(default)]
    stop: Vec<String>,
    max_output_tokens: u32,
    #[serde(default)]
    structured: Structured,
    #[serde(default)]
    token_field: TokenField,
    #[serde(default)]
    temperature: Option<f64>,
    #[serde(default = "yes")]
    seed: bool,
}

const fn changes() -> ViewRule {
    ViewRule::Changes
}

fn three() -> u32 {
    3
}

const fn yes() -> bool {
    true
}

/// A profile that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// The file cannot be read.
    #[error("cannot read the profile {path}")]
    Read {
        /// Path of the profile.
        path: String,
        /// The error of the file system.
        #[source]
        source: std::io::Error,
    },
    /// The file is not a profile.
    #[error("{path}:{line}: {problem}")]
    Form {
        /// Path of the profile.
        path: String,
        /// The line number, from 1.
        line: usize,
        /// The problem, with the field's name.
        problem: String,
    },
    /// There is no profile with this name.
    #[error("there is no profile {name:?}; choose one of {known}, or give a file")]
    Unknown {
        /// The unknown name.
        name: String,
        /// The known names, in words.
        known: String,
    },
}

impl StudentProfile {
    /// Returns the names of the profiles in the binary.
    pub fn names() -> impl Iterator<Item = &'static str> {
        SHIPPED.iter().map(|(name, _)| *name)
    }

    /// Loads a profile by name, or from a file.
    pub fn load(name: &str) -> Result<Self, ProfileError> {
        if let Some((_, text)) = SHIPPED.iter().find(|(known, _)| *known == name) {
            return Self::parse(name, name, text);
        }
        let path = Path::new(name);
        if path.extension().is_some_and(|extension| extension == "toml") {
            let text = apprentice_files::read_to_string(path)
                .map_err(|source| ProfileError::Read { path: name.to_owned(), source })?;
            let stem = path.file_stem().map_or_else(|| name.into(), |stem| stem.to_string_lossy());
            return Self::parse(&stem, name, &text);
        }
        let known = Self::names().collect::<Vec<_>>().join(", ");
        Err(ProfileError::Unknown { name: name.to_owned(), known })
    }

    /// Returns the profile that matches a model's name, or the one for models of which nothing is known.
    pub fn for_model(model: &str) -> Result<Self, ProfileError> {
        Self::matching(model)?.map_or_else(|| Self::load(FALLBACK), Ok)
    }

    /// Returns the profile that matches a model's name; `None` if no profile does.
    pub fn matching(model: &str) -> Result<Option<Self>, ProfileError> {
        let lower = model.to_lowercase();
        for (name, text) in SHIPPED {
            let written: ProfileFile = read(name, text)?;
            if written.matches.iter().any(|part| lower.contains(part.as_str())) {
                return Self::parse(name, name, text).map(Some);
            }
        }
        Ok(None)
    }

    /// Parses a profile; `path` is used in errors.
    pub fn parse(name: &str, path: &str, text: &str) -> Result<Self, ProfileError> {
        let written: ProfileFile = read(path, text)?;
        let wrong = |spot: std::ops::Range<usize>, problem: &str| ProfileError::Form {
            path: path.to_owned(),
            line: line_of(text, spot.start),
            problem: problem.to_owned(),
        };
        let (space, images) = (written.space.span(), written.images.span());
        let space = match written.space.into_inner() {
            Space::Pixels => CoordinateSpace::ImagePixels,
            Space::Unit => CoordinateSpace::Unit,
            Space::Grid(max) if (2..=100_000).contains(&max) => CoordinateSpace::Grid { max },
            Space::Grid(_) => return Err(wrong(space, "space: a grid has from 2 to 100000 lines")),
        };
        let images = match written.images.into_inner() {
            Pictures::None if !written.outline => {
                return Err(wrong(images, "images: a model without pictures needs outline = true"));
            }
            Pictures::None => ImageRule::None,
            Pictures::AsIs => ImageRule::AsIs,
            Pictures::Within { width, height } if width > 0 && height > 0 => {
                ImageRule::Within { size: Size::new(width, height) }
            }
            Pictures::Within { .. } => return Err(wrong(images, "images: the box has no area")),
            Pictures::Factor { factor, min_pixels, max_pixels } => {
                let one = u64::from(factor) * u64::from(factor);
                if factor == 0 || min_pixels > max_pixels || max_pixels < one {
                    let problem = "images: no picture has sides of this factor within these bounds";
                    return Err(wrong(images, problem));
                }
                ImageRule::Factor { factor, min_pixels, max_pixels }
            }
        };
        let context_tokens = match written.context_tokens {
            Some(tokens) if *tokens.get_ref() <= u64::from(written.max_output_tokens) => {
                let problem = "context_tokens: an answer of max_output_tokens leaves no room for a request";
                return Err(wrong(tokens.span(), problem));
            }
            tokens => tokens.map(Spanned::into_inner),
        };
        Ok(Self {
            name: name.to_owned(),
            consumer: written.consumer,
            dialect: written.dialect,
            space,
            images,
            history_images: written.history_images,
            history: written.history,
            context_tokens,
            outline: written.outline,
            views: written.views,
            skills: written.skills,
            stop: written.stop,
            max_output_tokens: written.max_output_tokens,
            structured: written.structured,
            token_field: written.token_field,
            temperature: written.temperature,
            seed: written.seed,
        })
    }

    /// Builds the profile that the agent loop uses.
    pub fn model_profile(&self, name: &str) -> ModelProfile {
        ModelProfile {
            name: name.to_owned(),
            consumer: self.consumer.clone(),
            space: self.space,
            images: self.images,
            outline: self.outline || self.images == ImageRule::None,
            views: self.views,
            history: self.history_rule(),
            tools: ToolRule::MayChange,
            max_output_tokens: self.max_output_tokens,
        }
    }
}

impl TokenField {
    /// The field's name in a request.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::MaxTokens => "max_tokens",
            Self::MaxCompletionTokens => "max_completion_tokens",
        }
    }
}

impl StudentProfile {
    fn history_rule(&self) -> HistoryRule {
        let (images, context) = (self.history_images.max(1), self.context());
        match self.history {
            History::Window => HistoryRule::Window { images, at_most: None, context },
            History::Blocks => {
                HistoryRule::Window { images, at_most: Some(images.saturating_add(BLOCK)), context }
            }
            // A limit of bytes is the server's to tell.
            History::Grow => HistoryRule::AppendOnly { max_request_bytes: u64::MAX, uploads: false, context },
        }
    }

    fn context(&self) -> Option<ContextRule> {
        let patch = match self.images {
            ImageRule::Factor { factor, .. } => factor,
            ImageRule::None | ImageRule::AsIs | ImageRule::Within { .. } => PATCH,
        };
        self.context_tokens.map(|tokens| ContextRule { tokens, patch })
    }
}

fn read<T: for<'de> Deserialize<'de>>(path: &str, text: &str) -> Result<T, ProfileError> {
    toml::from_str(text).map_err(|error| ProfileError::Form {
        path: path.to_owned(),
        line: line_of(text, error.span().map_or(0, |span| span.start)),
        problem: error.message().to_owned(),
    })
}

fn line_of(text: &str, offset: usize) -> usize {
    text[..offset.min(text.len())].matches('\n').count() + 1
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::{CoordinateSpace, HistoryRule};

    use super::StudentProfile;

    #[test]
    fn shipped_profiles_are_sound_and_found_by_a_models_name() {
        for name in StudentProfile::names() {
            let profile = StudentProfile::load(name).expect("is sound");
            // The acts of a small model are of one line.
            let least = if name == "small" { 128 } else { 512 };
            assert!(profile.max_output_tokens >= least, "{name}");
        }
        let check = |model: &str, expected: &str| {
            assert_eq!(StudentProfile::for_model(model).expect("a profile").name, expected, "{model}");
        };
        check("Qwen/Qwen2.5-VL-7B-Instruct", "qwen2.5-vl");
        check("qwen3-vl:8b", "qwen3-vl");
        check("ByteDance-Seed/UI-TARS-1.5-7B", "ui-tars-1.5");
        check("xlangai/OpenCUA-32B", "opencua");
        check("Hcompany/Holo1.5-7B", "holo1.5");
        check("Hcompany/Holo3.1-4B", "holo");
        check("some-model", "generic");
        check("Qwen3.8-VL-8B", "qwen3-vl");
        let qwen = StudentProfile::load("qwen3-vl").expect("is sound");
        assert_eq!(qwen.space, CoordinateSpace::Grid { max: 1000 });
    }

    #[test]
    fn pictures_are_left_out_as_a_profile_says() {
        let head = "consumer = \"x\"\ndialect = \"tools\"\nmax_output_tokens = 512\nspace = \"pixels\"\nimages = \"as_is\"\n";
        for (line, expected) in
            [("", Some(15)), ("history = \"blocks\"", Some(15)), ("history = \"window\"", None)]
        {
            let profile =
                StudentProfile::parse("mine", "mine.toml", &format!("{head}{line}\n")).expect("is sound");
            let HistoryRule::Window { images, at_most, .. } = profile.model_profile("compat/m").history
            else {
                panic!("a window")
            };
            assert_eq!((images, at_most), (3, expected), "{line}");
        }
        let text = format!("{head}history = \"grow\"\ncontext_tokens = 8192\n");
        let grows = StudentProfile::parse("mine", "mine.toml", &text).expect("is sound");
        let HistoryRule::AppendOnly { context, .. } = grows.model_profile("compat/m").history else {
            panic!("nothing is left out")
        };
        assert_eq!(context.map(|context| context.tokens), Some(8192));
    }

    #[test]
    fn impossible_spaces_are_refused_with_line_and_field() {
        let check = |text: &str, expected: &str| {
            let error = StudentProfile::parse("mine", "mine.toml", text).expect_err("is wrong");
            let told = error.to_string();
            assert!(told.starts_with(expected), "{told}");
        };
        let head = "consumer = \"x\"\ndialect = \"tools\"\nmax_output_tokens = 512\n";
        check(
            &format!("{head}space = {{ grid = 0 }}\nimages = \"as_is\"\n"),
            "mine.toml:4: space: a grid has",
        );
        check(
            &format!(
                "{head}space = \"pixels\"\nimages = {{ factor = {{ factor = 28, min_pixels = 9, max_pixels = 5 }} }}\n"
            ),
            "mine.toml:5: images: no picture",
        );
        check(
            &format!("{head}space = \"inches\"\nimages = \"as_is\"\n"),
            "mine.toml:4: unknown variant `inches`",
        );
        check(
            &format!("{head}space = \"pixels\"\nimages = \"as_is\"\ncontext_tokens = 512\n"),
            "mine.toml:6: context_tokens: an answer",
        );
        check(&format!("{head}spac = \"pixels\"\n"), "mine.toml:4: unknown field `spac`");
    }
}
