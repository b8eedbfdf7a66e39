//! Getters that read Chromium's profile files and open tabs.

use apprentice_metrics::{Compat, is_truthy, read_json};
use apprentice_protocol::MachineError;
use serde_json::{Value, json};

use super::delayed_write;
use super::output::{GetterOutput, machine_error};
use crate::check::collect_context::{CollectContext, CollectError};
use crate::world_io::{DEBUG_PORTS, HttpRequest, ask, at_home};

/// The UTF-8 byte order mark, which some editors write at the start of a file.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Profile folders in upstream's search order: Google Chrome, then Chromium.
const PROFILES: &[&str] = &["~/.config/google-chrome/Default", "~/.config/chromium/Default"];

/// A value derived from the `Preferences` file.
#[derive(Clone, Copy)]
pub(super) enum Preference {
    SearchEngine,
    ProfileName,
    FontSize,
    DoNotTrack,
    SafeBrowsing,
    EnhancedSafety,
    NewStartupPage,
    DeleteAutomatically,
    ExtensionPaths,
    ExtensionNames,
}

impl Preference {
    pub(super) fn named(getter: &str) -> Option<Self> {
        Some(match getter {
            "default_search_engine" => Self::SearchEngine,
            "profile_name" => Self::ProfileName,
            "chrome_font_size" => Self::FontSize,
            "enable_do_not_track" => Self::DoNotTrack,
            "enable_safe_browsing" => Self::SafeBrowsing,
            "enable_enhanced_safety_browsing" => Self::EnhancedSafety,
            "new_startup_page" => Self::NewStartupPage,
            "data_delete_automacally" => Self::DeleteAutomatically,
            "find_unpacked_extension_path" => Self::ExtensionPaths,
            "find_installed_extension_name" => Self::ExtensionNames,
            _ => return None,
        })
    }

    /// Extracts the value from a file; `None` where upstream raises because the file is malformed.
    fn of(self, file: &Value, compat: Compat) -> Option<Value> {
        let none = json!({});
        let inner = |path: &[&str]| {
            path.iter().try_fold(file, |inside, name| Some(inside.as_object()?.get(*name).unwrap_or(&none)))
        };
        let or = |found: &Value, default: Value| {
            if std::ptr::eq(found, &raw const none) { default } else { found.clone() }
        };
        let on = |path: &[&str]| inner(path).map(is_truthy);
        let word = |flag: bool| Value::from(if flag { "true" } else { "false" });
        Some(match self {
            Self::SearchEngine => {
                let path = ["default_search_provider_data", "template_url_data", "short_name"];
                or(inner(&path)?, "Google".into())
            }
            Self::ProfileName => or(inner(&["profile", "name"])?, Value::Null),
            Self::FontSize => or(inner(&["webkit", "webprefs"])?, font_sizes()),
            Self::DoNotTrack => word(on(&["enable_do_not_track"])?),
            Self::SafeBrowsing => {
                word(on(&["safebrowsing", "enhanced"])? || on(&["safebrowsing", "enabled"])?)
            }
            Self::EnhancedSafety => word(on(&["safebrowsing", "enhanced"])?),
            Self::NewStartupPage if file.as_object()?.contains_key("session") => {
                word(inner(&["session", "restore_on_startup"])?.as_f64() == Some(5.0))
            }
            Self::NewStartupPage => word(true),
            Self::DeleteAutomatically => {
                let state = file.get("profile")?.as_object()?.get("default_content_setting_values");
                word(state.is_some_and(|state| !state.is_null()))
            }
            Self::ExtensionPaths => extensions(inner(&["extensions", "settings"])?, "/path", compat)?,
            Self::ExtensionNames => {
                extensions(inner(&["extensions", "settings"])?, "/manifest/name", compat)?
            }
        })
    }

    /// Returns upstream's default for an unreadable file. A default that makes no sense for the preference is returned
    /// only under [`Compat::Exact`].
    fn fallback(self, compat: Compat) -> Option<Value> {
        match self {
            Self::SearchEngine => Some("Google".into()),
            Self::ProfileName => None,
            Self::FontSize => Some(font_sizes()),
            Self::DoNotTrack | Self::SafeBrowsing => Some("false".into()),
            Self::EnhancedSafety
            | Self::NewStartupPage
            | Self::DeleteAutomatically
            | Self::ExtensionPaths
            | Self::ExtensionNames => (compat == Compat::Exact).then(|| "Google".into()),
        }
    }
}

/// The default font sizes of a profile.
fn font_sizes() -> Value {
    json!({"default_fixed_font_size": 13, "default_font_size": 16, "minimum_font_size": 13})
}

/// Returns one field of every extension. If one extension lacks the field, upstream returns none for all of them.
fn extensions(settings: &Value, pointer: &str, compat: Compat) -> Option<Value> {
    let fields = settings.as_object()?.values().map(|one| one.pointer(pointer).cloned());
    match compat {
        Compat::Fixed => Some(fields.flatten().collect()),
        Compat::Exact => fields.collect(),
    }
}

pub(super) async fn preference(
    preference: Preference,
    context: &CollectContext<'_>,
) -> Result<GetterOutput, CollectError> {
    let file = profile_file("Preferences", context).await?;
    let value = |file: &Value| preference.of(file, context.compat);
    Ok(value_or_fallback(file, value, preference.fallback(context.compat), context.compat))
}

pub(super) async fn bookmarks(context: &CollectContext<'_>) -> Result<GetterOutput, CollectError> {
    let roots = |file: &Value| Some(file.as_object()?.get("roots").cloned().unwrap_or_else(|| json!({})));
    Ok(match profile_file("Bookmarks", context).await? {
        // Upstream lets this error propagate.
        Err(ProfileFileError::Broken(what)) if context.compat == Compat::Exact => {
            return Err(CollectError::Missing { getter: "bookmarks".into(), what });
        }
        // A profile without bookmarks has no such file.
        file => value_or_fallback(file, roots, Some(json!({})), context.compat),
    })
}

/// Returns a value of the browser's `Local State` file, next to its profiles.
pub(super) async fn local_state(
    part: &str,
    name: &str,
    default: Value,
    context: &CollectContext<'_>,
) -> Result<GetterOutput, CollectError> {
    let file = profile_file("../Local State", context).await?;
    let value = |file: &Value| {
        let Some(part) = file.as_object()?.get(part) else { return Some(default.clone()) };
        Some(part.as_object()?.get(name).unwrap_or(&default).clone())
    };
    Ok(value_or_fallback(file, value, Some(default.clone()), context.compat))
}

/// The reason why a profile file cannot be used.
pub(super) enum ProfileFileError {
    /// It was never written, so that the browser uses its known defaults.
    Missing(String),
    /// It exists but cannot be read.
    Refused(String),
    /// It is malformed.
    Broken(String),
}

impl ProfileFileError {
    /// Returns the reason as text.
    pub(super) fn why(self) -> String {
        match self {
            Self::Missing(why) | Self::Refused(why) | Self::Broken(why) => why,
        }
    }
}

/// Returns the value of a profile file, or a fallback. Upstream treats an unreadable file as one that was never
/// written. Since a check could then pass because a file is broken, only [`Compat::Exact`] does so.
fn value_or_fallback(
    file: Result<(String, Value), ProfileFileError>,
    value: impl FnOnce(&Value) -> Option<Value>,
    fallback: Option<Value>,
    compat: Compat,
) -> GetterOutput {
    let lack = match file {
        Ok((path, file)) => match value(&file) {
            Some(Value::Null) => return GetterOutput::absent("the profile has no such value").of(path),
            Some(value) => return GetterOutput::value(value).of(path),
            None => ProfileFileError::Broken(format!("{path} is not a valid profile file")),
        },
        Err(lack) => lack,
    };
    match (fallback, &lack) {
        (Some(value), ProfileFileError::Missing(_)) => GetterOutput::value(value).of(lack.why()),
        (Some(value), _) if compat == Compat::Exact => GetterOutput::value(value).of(lack.why()),
        _ => GetterOutput::absent(lack.why()),
    }
}

/// Reads a file of the first existing profile as JSON and returns it with its path, or the reason for failing.
async fn profile_file(
    name: &str,
    context: &CollectContext<'_>,
) -> Result<Result<(String, Value), ProfileFileError>, CollectError> {
    Ok(profile_bytes(name, context).await?.and_then(|(path, bytes)| {
        let read = read_json(bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&bytes));
        match read {
            Ok(file) => Ok((path, file)),
            Err(error) => Err(ProfileFileError::Broken(format!("{path} is not JSON: {error}"))),
        }
    }))
}

/// Reads a file of the first existing profile and returns it with its path, or the reason for failing. A folder, a
/// pipe, or an oversized or unreadable file is a state of the machine, not an error of it.
pub(super) async fn profile_bytes(
    name: &str,
    context: &CollectContext<'_>,
) -> Result<Result<(String, Vec<u8>), ProfileFileError>, CollectError> {
    for profile in PROFILES {
        let path = match name.strip_prefix("../") {
            Some(above) => format!("{}/{above}", profile.trim_end_matches("/Default")),
            None => format!("{profile}/{name}"),
        };
        let path = at_home(context.machine, &path);
        delayed_write::await_written(&path, context).await?;
        match context.machine.read(&path).await {
            Ok(bytes) => return Ok(Ok((path, bytes))),
            Err(MachineError::NotFound(_)) => {}
            Err(MachineError::Refused { why, .. }) => {
                return Ok(Err(ProfileFileError::Refused(format!("{path} cannot be read: {why}"))));
            }
            Err(source) => return Err(CollectError::Machine { getter: name.to_owned(), source }),
        }
    }
    Ok(Err(ProfileFileError::Missing(format!("no browser profile holds {name}"))))
}

/// Returns title and URL of every open page.
pub(super) async fn open_tabs(context: &CollectContext<'_>) -> Result<GetterOutput, CollectError> {
    let mut last = None;
    for port in DEBUG_PORTS {
        let way = context.machine.dial(*port).await.map_err(machine_error("open_tabs_info"))?;
        match ask(way.address, HttpRequest::get("/json/list")).await {
            Ok(body) => {
                return Ok(GetterOutput::value(pages(&serde_json::from_slice(&body).unwrap_or_default())));
            }
            Err(why) => last = Some(why),
        }
    }
    // Setup opened the browser: closing it also closes its tabs.
    Ok(GetterOutput::absent(format!(
        "no browser responds on its debugging port: {}",
        last.unwrap_or_default()
    )))
}

fn pages(targets: &Value) -> Value {
    let page = |target: &&Value| target.get("type").and_then(Value::as_str) == Some("page");
    let short = |target: &Value| json!({"title": target["title"], "url": target["url"]});
    targets.as_array().into_iter().flatten().filter(page).map(short).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Compat, Preference, pages};

    #[expect(clippy::needless_pass_by_value, reason = "tables of literals read better so")]
    fn check(getter: &str, file: Value, expected: Option<Value>) {
        let preference = Preference::named(getter).expect("a preference");
        assert_eq!(preference.of(&file, Compat::Fixed), expected, "{getter} of {file}");
    }

    #[test]
    fn preferences_follow_upstream() {
        check("enable_do_not_track", json!({"enable_do_not_track": true}), Some("true".into()));
        check("enable_do_not_track", json!({}), Some("false".into()));
        check("default_search_engine", json!({}), Some("Google".into()));
        let bing = json!({"default_search_provider_data": {"template_url_data": {"short_name": "Bing"}}});
        check("default_search_engine", bing, Some("Bing".into()));
        check("new_startup_page", json!({"session": {"restore_on_startup": 5}}), Some("true".into()));
        check("new_startup_page", json!({"session": {"restore_on_startup": 4}}), Some("false".into()));
        check("new_startup_page", json!({}), Some("true".into()));
        check(
            "enable_safe_browsing",
            json!({"safebrowsing": {"enhanced": false, "enabled": true}}),
            Some("true".into()),
        );
        check("enable_safe_browsing", json!({"safebrowsing": {"enabled": false}}), Some("false".into()));
        check("profile_name", json!({"profile": {"name": "Ann"}}), Some("Ann".into()));
        check("profile_name", json!({}), Some(Value::Null));
        check(
            "data_delete_automacally",
            json!({"profile": {"default_content_setting_values": {}}}),
            Some("true".into()),
        );
        check(
            "chrome_font_size",
            json!({"webkit": {"webprefs": {"default_font_size": 20}}}),
            Some(json!({"default_font_size": 20})),
        );
        let two =
            json!({"extensions": {"settings": {"a": {"path": "/x"}, "b": {"manifest": {"name": "B"}}}}});
        check("find_unpacked_extension_path", two.clone(), Some(json!(["/x"])));
        check("find_installed_extension_name", two.clone(), Some(json!(["B"])));
        let paths = Preference::named("find_unpacked_extension_path").expect("a preference");
        assert_eq!(paths.of(&two, Compat::Exact), None, "one has no path");
        for (getter, file) in [
            ("enable_safe_browsing", json!({"safebrowsing": []})),
            ("default_search_engine", json!("text")),
            ("profile_name", json!({"profile": 1})),
            ("data_delete_automacally", json!({})),
        ] {
            check(getter, file, None);
        }
    }

    #[test]
    fn only_pages_are_tabs() {
        let targets = json!([{"type": "page", "title": "T", "url": "u", "id": "1"}, {"type": "worker"}]);
        assert_eq!(pages(&targets), json!([{"title": "T", "url": "u"}]));
    }
}
