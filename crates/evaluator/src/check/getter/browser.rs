//! Getters of Chromium's profile files and open tabs.

use apprentice_protocol::MachineError;
use serde_json::{Value, json};

use super::http::{Ask, ask};
use super::{CollectContext, CollectError, Look, refused};
use crate::check::metric::read_json;
use crate::setup::at_home;

/// Profile folders, Google's own build first, as upstream looks.
const PROFILES: &[&str] = &["~/.config/google-chrome/Default", "~/.config/chromium/Default"];
pub(super) const DEBUG_PORTS: &[u16] = &[9222, 1337];

/// A value derived from the file `Preferences`.
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

    fn of(self, file: &Value) -> Option<Value> {
        let at = |pointer: &str| file.pointer(pointer);
        let on = |pointer: &str| at(pointer).and_then(Value::as_bool).unwrap_or(false);
        let word = |flag: bool| Value::from(if flag { "true" } else { "false" });
        Some(match self {
            Self::SearchEngine => at("/default_search_provider_data/template_url_data/short_name")
                .cloned()
                .unwrap_or_else(|| "Google".into()),
            Self::ProfileName => return at("/profile/name").cloned(),
            Self::FontSize => at("/webkit/webprefs").cloned().unwrap_or_else(
                || json!({"default_fixed_font_size": 13, "default_font_size": 16, "minimum_font_size": 13}),
            ),
            Self::DoNotTrack => word(on("/enable_do_not_track")),
            Self::SafeBrowsing => word(on("/safebrowsing/enhanced") || on("/safebrowsing/enabled")),
            Self::EnhancedSafety => word(on("/safebrowsing/enhanced")),
            Self::NewStartupPage => {
                let restore = at("/session/restore_on_startup").and_then(Value::as_i64);
                word(at("/session").is_none() || restore == Some(5))
            }
            Self::DeleteAutomatically => word(at("/profile/default_content_setting_values").is_some()),
            Self::ExtensionPaths => extensions(file, "/path"),
            Self::ExtensionNames => extensions(file, "/manifest/name"),
        })
    }
}

fn extensions(file: &Value, pointer: &str) -> Value {
    let settings = file.pointer("/extensions/settings").and_then(Value::as_object);
    settings
        .into_iter()
        .flat_map(serde_json::Map::values)
        .filter_map(|one| one.pointer(pointer))
        .cloned()
        .collect()
}

pub(super) async fn preference(
    preference: Preference,
    context: &CollectContext<'_>,
) -> Result<Look, CollectError> {
    Ok(match profile_file("Preferences", context).await? {
        Ok((path, file)) => match preference.of(&file) {
            Some(value) => Look::value(value).of(path),
            None => Look::absent("the preferences hold no such value").of(path),
        },
        Err(why) => Look::absent(why),
    })
}

pub(super) async fn bookmarks(context: &CollectContext<'_>) -> Result<Look, CollectError> {
    Ok(match profile_file("Bookmarks", context).await? {
        Ok((path, file)) => Look::value(file.get("roots").cloned().unwrap_or_default()).of(path),
        // A profile that never had a bookmark has no such file.
        Err(_) => Look::value(json!({})),
    })
}

/// A value of the browser's own state, beside its profiles.
pub(super) async fn local_state(
    pointer: &str,
    default: Value,
    context: &CollectContext<'_>,
) -> Result<Look, CollectError> {
    Ok(match profile_file("../Local State", context).await? {
        Ok((path, file)) => Look::value(file.pointer(pointer).cloned().unwrap_or(default)).of(path),
        Err(_) => Look::value(default),
    })
}

/// The first profile's file as JSON with its path, or why there is none.
async fn profile_file(
    name: &str,
    context: &CollectContext<'_>,
) -> Result<Result<(String, Value), String>, CollectError> {
    Ok(profile_bytes(name, context).await?.and_then(|(path, bytes)| {
        let read = read_json(&bytes).map_err(|error| format!("{name} is not JSON: {error}"));
        read.map(|file| (path, file))
    }))
}

/// The first profile's file with its path, or why there is none.
pub(super) async fn profile_bytes(
    name: &str,
    context: &CollectContext<'_>,
) -> Result<Result<(String, Vec<u8>), String>, CollectError> {
    for profile in PROFILES {
        let path = match name.strip_prefix("../") {
            Some(above) => format!("{}/{above}", profile.trim_end_matches("/Default")),
            None => format!("{profile}/{name}"),
        };
        let path = at_home(context.machine, &path);
        match context.machine.read(&path).await {
            Ok(bytes) => return Ok(Ok((path, bytes))),
            Err(MachineError::NotFound(_)) => {}
            Err(source) => return Err(CollectError::Machine { getter: name.to_owned(), source }),
        }
    }
    Ok(Err(format!("no browser profile holds {name}")))
}

/// Title and address of every open page.
pub(super) async fn open_tabs(context: &CollectContext<'_>) -> Result<Look, CollectError> {
    let mut last = None;
    for port in DEBUG_PORTS {
        let way = context.machine.dial(*port).await.map_err(refused("open_tabs_info"))?;
        match ask(way.address, Ask::get("/json/list")).await {
            Ok(body) => return Ok(Look::value(pages(&serde_json::from_slice(&body).unwrap_or_default()))),
            Err(why) => last = Some(why),
        }
    }
    // Setup had it open: whoever closed it closed its tabs.
    Ok(Look::absent(format!("no browser answers on its debugging port: {}", last.unwrap_or_default())))
}

fn pages(targets: &Value) -> Value {
    let page = |target: &&Value| target.get("type").and_then(Value::as_str) == Some("page");
    let short = |target: &Value| json!({"title": target["title"], "url": target["url"]});
    targets.as_array().into_iter().flatten().filter(page).map(short).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Preference, pages};

    #[expect(clippy::needless_pass_by_value, reason = "tables of literals read better so")]
    fn check(getter: &str, file: Value, expected: Option<Value>) {
        let preference = Preference::named(getter).expect("a preference");
        assert_eq!(preference.of(&file), expected, "{getter} of {file}");
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
        check("profile_name", json!({}), None);
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
        check("find_installed_extension_name", two, Some(json!(["B"])));
    }

    #[test]
    fn only_pages_are_tabs() {
        let targets = json!([{"type": "page", "title": "T", "url": "u", "id": "1"}, {"type": "worker"}]);
        assert_eq!(pages(&targets), json!([{"title": "T", "url": "u"}]));
    }
}
