//! Reads settings from the defaults, files, the environment and flags; later sources override earlier ones. Each value
//! keeps its origin.

pub(crate) mod call_checks;
pub(crate) mod call_settings;
pub(crate) mod config;
pub(crate) mod embeddings;
pub(crate) mod key;
pub(crate) mod overrides;
pub(crate) mod project_file;
pub(crate) mod prompts;
pub(crate) mod provider;
pub(crate) mod role;
pub(crate) mod value_type;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use toml::de::{DeTable, DeValue};

use crate::failure::{Failure, Kind, WithKind as _};
use crate::process_env;
use crate::settings::call_checks::check_providers;
use crate::settings::config::Config;
use crate::settings::project_file::SettingsFile;
use crate::settings::provider::{PROVIDERS, ProviderEntry};
use crate::settings::role::ROLE_NAMES;
use crate::settings::value_type::ValueType;

const DEFAULTS: &str = include_str!("defaults.toml");
const PREFIX: &str = "APPRENTICE_";
/// Letters by which a variable of so many letters, or more, may differ from a setting's and is meant to be it.
const MISSPELT: [(usize, usize); 2] = [(9, 2), (3, 1)];
/// Variables that commands read themselves.
const OF_COMMANDS: [&str; 4] = ["log", "queue", "token", "vm_url"];

/// Settings without a default, with their types.
const OPTIONAL: &[(&str, ValueType)] = &[
    ("prices", ValueType::Text),
    ("record", ValueType::Text),
    ("prompts", ValueType::Text),
    ("cap.trial_usd", ValueType::Number),
    ("cap.run_usd", ValueType::Number),
    ("cap.day_usd", ValueType::Number),
    ("confirm_above", ValueType::Number),
];

/// Untyped settings with their origins.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// Values by key; nested keys are joined with dots.
    values: BTreeMap<String, toml::Value>,
    /// All valid keys with their types.
    known: BTreeMap<String, ValueType>,
    origins: BTreeMap<String, String>,
}

/// The external inputs of settings, so that [`Settings::layer`] is a pure function.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    /// The files, in rising order of priority.
    pub(crate) files: Vec<SettingsFile>,
    /// Environment variables with the prefix `APPRENTICE_`, in any order.
    pub(crate) environment: Vec<(String, String)>,
}

impl Sources {
    /// Reads the user's file, the project's file and the environment.
    pub(crate) fn read() -> Result<Self, Failure> {
        let home = process_env::variable("HOME").map(PathBuf::from);
        let user = process_env::variable("XDG_CONFIG_HOME")
            .map(PathBuf::from)
            .or(home.map(|home| home.join(".config")));
        let own = user.map(|folder| SettingsFile::read(folder.join("apprentice/config.toml")));
        let own = own.transpose()?.flatten();
        let project = project_file::find(&process_env::current_folder().kind(Kind::Environment)?)?;
        let environment = process_env::variables(PREFIX);
        Ok(Self { files: own.into_iter().chain(project).collect(), environment })
    }

    /// Returns the path of the project's file, if it stands above the current folder.
    pub(crate) fn above(&self) -> Option<&Path> {
        let above = |file: &&SettingsFile| file.folder.is_some();
        self.files.iter().find(above).map(|file| file.path.as_path())
    }
}

impl Settings {
    /// Merges the sources over the defaults.
    pub(crate) fn layer(sources: &Sources) -> Result<Self, Failure> {
        let defaults: toml::Table = DEFAULTS.parse().kind(Kind::Bug)?;
        let values = flatten(defaults);
        let origins = values.keys().map(|key| (key.clone(), "default".to_owned())).collect();
        let mut known: BTreeMap<String, ValueType> =
            values.iter().map(|(key, value)| (key.clone(), ValueType::of(value))).collect();
        known.extend(OPTIONAL.iter().map(|(key, form)| ((*key).to_owned(), *form)));
        for ProviderEntry { name, .. } in PROVIDERS {
            let own = provider::OPTIONAL.iter().chain(call_settings::OPTIONAL);
            known.extend(own.map(|(key, form)| (format!("provider.{name}.{key}"), *form)));
        }
        let own = provider::OWN.iter();
        known.extend(own.map(|(name, key, form)| (format!("provider.{name}.{key}"), *form)));
        let of_embeddings = embeddings::OPTIONAL.iter();
        known.extend(of_embeddings.map(|(key, form)| (format!("embeddings.{key}"), *form)));
        for part in ROLE_NAMES {
            known.insert(format!("role.{part}"), ValueType::Text);
            let own = role::OPTIONAL.iter().chain(call_settings::OPTIONAL);
            known.extend(own.map(|(key, form)| (format!("role.{part}.{key}"), *form)));
        }
        let mut settings = Self { values, known, origins };
        for file in &sources.files {
            settings.merge_file(file)?;
        }
        for (name, value) in &sources.environment {
            let spelled = name.trim_start_matches(PREFIX).to_lowercase();
            // Other variables with this prefix belong to commands.
            let key = settings.known.keys().find(|key| key.replace('.', "_") == spelled).cloned();
            match key {
                Some(key) => settings.set(&key, value, &format!("environment variable {name}"))?,
                None => settings.check_variable(name, &spelled)?,
            }
        }
        Ok(settings)
    }

    /// Refuses a variable that is a letter or two away from a setting's.
    fn check_variable(&self, name: &str, spelled: &str) -> Result<(), Failure> {
        let known: Vec<String> = self.known.keys().map(|key| key.replace('.', "_")).collect();
        let allowed =
            MISSPELT.iter().find(|(letters, _)| spelled.len() >= *letters).map_or(0, |(_, allowed)| *allowed);
        let near = known.iter().find(|known| strsim::damerau_levenshtein(known, spelled) <= allowed);
        match near.filter(|_| !OF_COMMANDS.contains(&spelled)) {
            Some(near) => {
                let failure = format!("environment variable {name}: there is no such setting");
                Err(Failure::say(Kind::Config, failure)
                    .hint(format!("did you mean {PREFIX}{}?", near.to_uppercase())))
            }
            None => Ok(()),
        }
    }

    fn merge_file(&mut self, file: &SettingsFile) -> Result<(), Failure> {
        let SettingsFile { path, text, .. } = file;
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
        self.check_keys(&keys, "", &at)?;
        for (key, value) in flatten(text.parse().kind(Kind::Config)?) {
            if let Some(form) = self.known.get(&key).filter(|form| !form.holds(&value)) {
                let place = at(source_pos(&keys, &key).unwrap_or(0));
                let message = format!("{place}: {key} must be {}, found {value}", form.as_str());
                return Err(Failure::say(Kind::Config, message));
            }
            let value = match (self.known.get(&key), value) {
                // An integer is a valid value for a float setting.
                (Some(ValueType::Number), toml::Value::Integer(whole)) => toml::Value::Float(to_f64(whole)),
                (_, value) => value,
            };
            let key = expand_role_key(&key);
            self.values.insert(key.clone(), file.placed(&key, value));
            self.origins.insert(key, path.display().to_string());
        }
        self.config().map(drop).map_err(|failure| failure.hint(format!("in {}", path.display())))
    }

    fn check_keys(
        &self,
        keys: &DeTable<'_>,
        above: &str,
        at: &dyn Fn(usize) -> String,
    ) -> Result<(), Failure> {
        for (key, value) in keys {
            let name = format!("{above}{}", key.get_ref());
            let below = format!("{name}.");
            match value.get_ref() {
                DeValue::Table(inner) if self.known.keys().any(|known| known.starts_with(&below)) => {
                    self.check_keys(inner, &below, at)?;
                }
                _ if self.known.contains_key(&name) => {}
                _ => return Err(unknown(&at(key.span().start), &name, self.known.keys())),
            }
        }
        Ok(())
    }

    /// Sets one key from a string, for the environment and flags.
    pub(crate) fn set(&mut self, key: &str, text: &str, origin: &str) -> Result<(), Failure> {
        let form = self.known.get(key).ok_or_else(|| unknown(origin, key, self.known.keys()))?;
        let value = form.read(text).ok_or_else(|| {
            let message = format!("{origin}: {key} must be {}, found {text:?}", form.as_str());
            Failure::say(Kind::Config, message)
        })?;
        let key = expand_role_key(key);
        self.values.insert(key.clone(), value);
        self.origins.insert(key, origin.to_owned());
        self.config().map(drop).map_err(|failure| failure.hint(format!("from {origin}")))
    }

    /// Sets a key in all roles that have it, so that a flag overrides the roles' own settings.
    pub(crate) fn set_in_roles(&mut self, name: &str, text: &str, origin: &str) -> Result<(), Failure> {
        let of_parts = ROLE_NAMES.map(|part| format!("role.{part}.{name}"));
        of_parts
            .iter()
            .filter(|key| self.values.contains_key(*key))
            .cloned()
            .collect::<Vec<_>>()
            .iter()
            .try_for_each(|key| self.set(key, text, origin))
    }

    /// Returns the typed settings.
    pub(crate) fn config(&self) -> Result<Config, Failure> {
        let mut table = toml::Table::new();
        for (key, value) in &self.values {
            insert_nested(&mut table, key, value.clone());
        }
        let config: Config = table.try_into().map_err(|error: toml::de::Error| {
            Failure::say(Kind::Config, format!("a setting has the wrong type: {}", error.message()))
        })?;
        check_providers(&config.provider)?;
        Ok(config)
    }

    /// Iterates over key, value and origin of each setting.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&str, String, &str)> {
        self.values.iter().map(|(key, value)| {
            (key.as_str(), value.to_string(), self.origins.get(key).map_or("default", String::as_str))
        })
    }
}

/// Returns the byte offset of a key in its file.
fn source_pos(keys: &DeTable<'_>, name: &str) -> Option<usize> {
    let (head, rest) = name.split_once('.').map_or((name, None), |(head, rest)| (head, Some(rest)));
    let (key, value) = keys.iter().find(|(key, _)| key.get_ref() == head)?;
    match (rest, value.get_ref()) {
        (Some(rest), DeValue::Table(inner)) => source_pos(inner, rest),
        (_, _) => Some(key.span().start),
    }
}

/// Expands `role.NAME` to `role.NAME.model`.
fn expand_role_key(key: &str) -> String {
    match key.strip_prefix("role.") {
        Some(part) if ROLE_NAMES.contains(&part) => format!("{key}.model"),
        Some(_) | None => key.to_owned(),
    }
}

/// Flattens a table: each leaf under its full dotted key.
fn flatten(table: toml::Table) -> BTreeMap<String, toml::Value> {
    let mut leaves = BTreeMap::new();
    for (key, value) in table {
        match value {
            toml::Value::Table(inner) => {
                leaves.extend(
                    flatten(inner).into_iter().map(|(below, value)| (format!("{key}.{below}"), value)),
                );
            }
            leaf => drop(leaves.insert(key, leaf)),
        }
    }
    leaves
}

fn insert_nested(table: &mut toml::Table, key: &str, value: toml::Value) {
    match key.split_once('.') {
        None => drop(table.insert(key.to_owned(), value)),
        Some((first, rest)) => {
            let inner = table.entry(first).or_insert_with(|| toml::Value::Table(toml::Table::new()));
            if let toml::Value::Table(inner) = inner {
                insert_nested(inner, rest, value);
            }
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a sum of money")]
fn to_f64(whole: i64) -> f64 {
    whole as f64
}

fn unknown<'a>(place: &str, name: &str, known: impl Iterator<Item = &'a String>) -> Failure {
    let failure = Failure::say(Kind::Config, format!("{place}: unknown setting {name:?}"));
    failure.hint_nearest_or(name, known.map(String::as_str), "`apprentice config show` lists all settings")
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::{Settings, SettingsFile, Sources};

    fn layer(files: &[(&str, &str)], environment: &[(&str, &str)]) -> Result<Settings, String> {
        let sources = Sources {
            files: files
                .iter()
                .map(|(path, text)| SettingsFile {
                    path: PathBuf::from(path),
                    text: (*text).to_owned(),
                    folder: None,
                })
                .collect(),
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
    fn tables_are_settings_too() {
        let settings = layer(
            &[("apprentice.toml", "[cap]\nrun_usd = 2\n[provider.compat]\nbase_url = \"http://x/v1\"\n[role]\nstudent = \"compat/m\"\n")],
            &[("APPRENTICE_CAP_DAY_USD", "7.5"), ("APPRENTICE_PROVIDER_ANTHROPIC_MAX_IN_FLIGHT", "9")],
        )
        .expect("settings");
        let config = settings.config().expect("typed");
        assert_eq!(
            (config.cap.run_usd, config.cap.day_usd, config.cap.trial_usd),
            (Some(2.0), Some(7.5), None)
        );
        assert_eq!(config.provider.compat.base_url, "http://x/v1");
        assert_eq!(config.provider.anthropic.max_in_flight, 9);
        assert_eq!(config.role.of("student"), Some(Some("compat/m")));
        let found = layer(&[("a.toml", "[provider.compat]\nbase_ur = \"x\"\n")], &[]).expect_err("a mistake");
        assert_eq!(
            found,
            "error: a.toml:2:1: unknown setting \"provider.compat.base_ur\"\nhint: did you mean \"provider.compat.base_url\"?"
        );
        let found =
            layer(&[("a.toml", "[provider.compatt]\nbase_url = \"x\"\n")], &[]).expect_err("a mistake");
        assert!(found.starts_with("error: a.toml:1:11: unknown setting \"provider.compatt\""), "{found}");
    }

    #[test]
    fn parts_have_settings_of_their_own() {
        let text = "[role]\nteacher = \"anthropic/a\"\n[role.student]\nmodel = \"compat/m\"\nbase_url = \"http://s/v1\"\n\
                    key_file = \"k\"\nmax_in_flight = 2\nusd_per_hour = 1\n";
        let settings =
            layer(&[("a.toml", text)], &[("APPRENTICE_ROLE_TEACHER", "openai/o")]).expect("settings");
        let config = settings.config().expect("typed");
        assert_eq!(config.role.of("teacher"), Some(Some("openai/o")));
        assert_eq!((config.role.of("grounder"), config.role.of("passer-by")), (Some(None), None));
        let part = config.role.settings_of_model("compat/m").expect("one part").expect("the student");
        let own = config.provider.compat.with_role_settings(part);
        assert_eq!(
            (own.base_url.as_str(), own.max_in_flight, own.usd_per_hour),
            ("http://s/v1", 2, Some(1.0))
        );
        assert_eq!((own.key_env.as_str(), own.key_file), ("", Some(PathBuf::from("k"))));
        assert!(config.role.settings_of_model("compat/other").expect("none").is_none());

        let twice = format!("{text}[role.manager]\nmodel = \"compat/m\"\n");
        let config = layer(&[("a.toml", &twice)], &[]).expect("settings").config().expect("typed");
        let told = config.role.settings_of_model("compat/m").expect_err("which of them?").to_string();
        assert!(told.contains("role.student and role.manager are both compat/m"), "{told}");
        let found = layer(&[("a.toml", "[role.student]\nmodl = \"x\"\n")], &[]).expect_err("a mistake");
        assert!(
            found.contains("unknown setting \"role.student.modl\"") && found.contains("role.student.model"),
            "{found}"
        );
    }

    #[test]
    fn settings_of_calls_are_checked_where_they_stand() {
        for (text, expected) in [
            (
                "[provider.openai]\ncache_tl = \"1h\"\n",
                "a.toml:2:1: unknown setting \"provider.openai.cache_tl\"",
            ),
            (
                "[provider.openai]\nversion = \"x\"\n",
                "a.toml:2:1: unknown setting \"provider.openai.version\"",
            ),
            (
                "[provider.gemini]\nprofile = \"x\"\n",
                "a.toml:2:1: unknown setting \"provider.gemini.profile\"",
            ),
            ("[role.student]\nheader = []\n", "a.toml:2:1: unknown setting \"role.student.header\""),
            (
                "[provider.openai]\ncache_ttl = \"1h\"\n",
                "provider.openai.cache_ttl: this provider takes no lifetime",
            ),
            ("[provider.gemini]\neffort = \"max\"\n", "provider.gemini.effort: there is no \"max\" here"),
            (
                "[provider.compat]\nstream = 1\n",
                "a.toml:2:1: provider.compat.stream must be true or false, found 1",
            ),
            (
                "[provider.compat]\nheaders = [1]\n",
                "a.toml:2:1: provider.compat.headers must be a list of strings",
            ),
        ] {
            let found = layer(&[("a.toml", text)], &[]).expect_err("is refused");
            assert!(found.contains(expected), "{text}: {found}");
        }
        let variables = [
            ("APPRENTICE_ROLE_STUDENT_STREAM", "true"),
            ("APPRENTICE_PROVIDER_COMPAT_HEADERS", "a: b\n c: d "),
            ("APPRENTICE_PROVIDER_COMPAT_IDLE_TIMEOUT_S", "7"),
        ];
        let config = layer(&[], &variables).expect("settings").config().expect("typed");
        let calls = &config.provider.compat.calls;
        assert_eq!(config.role.student.calls.stream, Some(true));
        assert_eq!(calls.headers.as_deref(), Some(&["a: b".to_owned(), "c: d".to_owned()][..]));
        assert_eq!((calls.idle_timeout_s, calls.total_timeout_s), (Some(7.0), Some(600.0)));
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
        for (text, expected) in [
            ("confirm_above = \"x\"\n", "error: a.toml:1:1: confirm_above must be a number, found \"x\""),
            (
                "[role.student]\nmodel = \"compat/m\"\ncontext_tokens = -5\n",
                "error: a.toml:3:1: role.student.context_tokens must be a whole number, found -5",
            ),
            ("runs = 7\n", "error: a.toml:1:1: runs must be a string, found 7"),
        ] {
            let found = layer(&[("a.toml", text)], &[]).expect_err("is refused");
            assert!(found.starts_with(expected), "{found}");
        }
        let found = layer(&[("apprentice.toml", "isolation = \"none\"\n")], &[]).expect_err("a mistake");
        assert!(found.contains("isolation") || found.contains("variant"), "{found}");
    }
}
