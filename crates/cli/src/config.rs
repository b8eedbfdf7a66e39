//! Settings: embedded defaults, user file, project file, environment, flags; read once, typed from there on.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use toml::de::DeTable;

use crate::failure::{Failure, Kind, Kinded as _};
use crate::surroundings;

const DEFAULTS: &str = include_str!("defaults.toml");
const PREFIX: &str = "APPRENTICE_";

/// How worlds are kept apart, as a user names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum IsolationChoice {
    /// Own namespaces.
    Cell,
    /// Own process group and home, no namespaces.
    Plain,
}

/// Whether the browser of a browser world keeps its own sandbox, as a user names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SandboxChoice {
    /// It does.
    On,
    /// It does not.
    Off,
}

/// The settings in force.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    /// Folder of runs.
    pub(crate) runs: PathBuf,
    /// Folder of the skillbook.
    pub(crate) skillbook: PathBuf,
    /// Run-time folder of worlds.
    pub(crate) state: PathBuf,
    /// Worlds active at once.
    pub(crate) jobs: usize,
    /// How worlds are kept apart.
    pub(crate) isolation: IsolationChoice,
    /// Whether browsers keep their sandbox.
    pub(crate) browser_sandbox: SandboxChoice,
    /// Tries at one trial.
    pub(crate) attempts: u32,
    /// Rounds over the training tasks.
    pub(crate) epochs: u32,
    /// Trajectories between two cleanups.
    pub(crate) cleanup_every: u32,
}

/// Settings with the place each came from.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    values: toml::Table,
    origins: BTreeMap<String, String>,
}

/// Everything outside the process that settings depend on, so that reading them is a pure function.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    /// Files in rising order of weight, with their text.
    pub(crate) files: Vec<(PathBuf, String)>,
    /// Environment variables of ours, in any order.
    pub(crate) environment: Vec<(String, String)>,
}

impl Sources {
    /// Reads the user's and the project's file and the environment.
    pub(crate) fn read() -> Result<Self, Failure> {
        let home = surroundings::variable("HOME").map(PathBuf::from);
        let user = surroundings::variable("XDG_CONFIG_HOME")
            .map(PathBuf::from)
            .or(home.map(|home| home.join(".config")));
        let places = user.map(|folder| folder.join("apprentice/config.toml")).into_iter();
        let mut files = Vec::new();
        for path in places.chain([PathBuf::from("apprentice.toml")]) {
            match std::fs::read_to_string(&path) {
                Ok(text) => files.push((path, text)),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(Failure::say(Kind::Config, format!("{}: {error}", path.display()))),
            }
        }
        let environment = surroundings::variables(PREFIX);
        Ok(Self { files, environment })
    }
}

impl Settings {
    /// Lays the sources over the defaults.
    pub(crate) fn layer(sources: &Sources) -> Result<Self, Failure> {
        let values: toml::Table = DEFAULTS.parse().kind(Kind::Bug)?;
        let origins = values.keys().map(|key| (key.clone(), "default".to_owned())).collect();
        let mut settings = Self { values, origins };
        for (path, text) in &sources.files {
            settings.lay_file(path, text)?;
        }
        for (name, value) in &sources.environment {
            let key = name.trim_start_matches(PREFIX).to_lowercase();
            // Other variables with our prefix belong to commands, not to settings.
            if settings.values.contains_key(&key) {
                settings.set(&key, value, &format!("environment variable {name}"))?;
            }
        }
        Ok(settings)
    }

    fn lay_file(&mut self, path: &Path, text: &str) -> Result<(), Failure> {
        let at = |offset: usize| {
            let before = &text[..offset.min(text.len())];
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().map_or(0, str::len) + 1;
            format!("{}:{line}:{column}", path.display())
        };
        let keys = DeTable::parse(text)
            .map_err(|error| {
                let place = at(error.span().map_or(0, |span| span.start));
                Failure::say(Kind::Config, format!("{place}: {}", error.message()))
            })?
            .into_inner();
        let values: toml::Table = text.parse().kind(Kind::Config)?;
        for key in keys.keys() {
            let name = key.get_ref().as_ref();
            if !self.values.contains_key(name) {
                return Err(unknown(&at(key.span().start), name, self.values.keys()));
            }
        }
        for (key, value) in values {
            self.values.insert(key.clone(), value);
            self.origins.insert(key, path.display().to_string());
        }
        self.config().map(drop).map_err(|failure| failure.hint(format!("in {}", path.display())))
    }

    /// Sets one key from text, as the environment and flags do.
    pub(crate) fn set(&mut self, key: &str, text: &str, origin: &str) -> Result<(), Failure> {
        let value = match self.values.get(key) {
            Some(toml::Value::Integer(_)) => text.parse().map(toml::Value::Integer).map_err(|_| {
                Failure::say(Kind::Config, format!("{origin}: {key} must be a whole number, found {text:?}"))
            })?,
            Some(_) => toml::Value::String(text.to_owned()),
            None => return Err(unknown(origin, key, self.values.keys())),
        };
        self.values.insert(key.to_owned(), value);
        self.origins.insert(key.to_owned(), origin.to_owned());
        self.config().map(drop).map_err(|failure| failure.hint(format!("from {origin}")))
    }

    /// The typed settings.
    pub(crate) fn config(&self) -> Result<Config, Failure> {
        self.values.clone().try_into().map_err(|error: toml::de::Error| {
            Failure::say(Kind::Config, format!("a setting has the wrong form: {}", error.message()))
        })
    }

    /// Key, value and origin of each setting.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&str, String, &str)> {
        self.values.iter().map(|(key, value)| {
            (key.as_str(), value.to_string(), self.origins.get(key).map_or("default", String::as_str))
        })
    }
}

fn unknown<'a>(place: &str, name: &str, known: impl Iterator<Item = &'a String>) -> Failure {
    let failure = Failure::say(Kind::Config, format!("{place}: unknown setting {name:?}"));
    let nearest = known.map(|key| (strsim::damerau_levenshtein(key, name), key)).min();
    match nearest {
        Some((distance, key)) if distance <= 3 => failure.hint(format!("did you mean {key:?}?")),
        Some(_) | None => failure.hint("`apprentice config show` lists all settings"),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::{Settings, Sources};

    fn layer(files: &[(&str, &str)], environment: &[(&str, &str)]) -> Result<Settings, String> {
        let sources = Sources {
            files: files.iter().map(|(path, text)| (PathBuf::from(path), (*text).to_owned())).collect(),
            environment: environment.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
        };
        Settings::layer(&sources).map_err(|failure| failure.to_string())
    }

    #[test]
    fn a_later_source_wins_and_is_named() {
        let settings = layer(
            &[("user.toml", "jobs = 3\nepochs = 4\n"), ("apprentice.toml", "jobs = 5\n")],
            &[("APPRENTICE_JOBS", "7"), ("APPRENTICE_OSWORLD", "/x")],
        )
        .expect("settings");
        let config = settings.config().expect("typed");
        assert_eq!((config.jobs, config.epochs, config.attempts), (7, 4, 3));
        let origin = |key: &str| settings.rows().find(|row| row.0 == key).map(|row| row.2.to_owned());
        assert_eq!(origin("jobs").as_deref(), Some("environment variable APPRENTICE_JOBS"));
        assert_eq!(origin("epochs").as_deref(), Some("user.toml"));
        assert_eq!(origin("attempts").as_deref(), Some("default"));
    }

    #[test]
    fn mistakes_name_their_place_and_the_nearest_key() {
        let check = |text: &str, expected: &str| {
            let found = layer(&[("apprentice.toml", text)], &[]).expect_err("a mistake");
            assert_eq!(found, expected);
        };
        check(
            "runs = \"r\"\n  isolaton = \"cell\"\n",
            "error: apprentice.toml:2:3: unknown setting \"isolaton\"\nhint: did you mean \"isolation\"?",
        );
        check(
            "jobs = \n",
            "error: apprentice.toml:1:8: string values must be quoted, expected literal string",
        );
        let found = layer(&[], &[("APPRENTICE_JOBS", "many")]).expect_err("a mistake");
        assert!(found.contains("jobs must be a whole number, found \"many\""), "{found}");
        let found = layer(&[("apprentice.toml", "isolation = \"none\"\n")], &[]).expect_err("a mistake");
        assert!(found.contains("isolation") || found.contains("variant"), "{found}");
    }
}
