//! Getters: what a check may look at, under OSWorld's names.

mod browser;
mod tree;
mod world;

use serde_json::Value;

use super::collect::{CollectContext, CollectError};
use super::evidence::Found;

/// Names of the getters that are supported.
pub const GETTERS: &[&str] = &[
    "accessibility_tree",
    "active_url_from_accessTree",
    "bookmarks",
    "cache_file",
    "chrome_font_size",
    "data_delete_automacally",
    "default_search_engine",
    "enable_do_not_track",
    "enable_safe_browsing",
    "find_installed_extension_name",
    "find_unpacked_extension_path",
    "gimp_config_file",
    "list_directory",
    "new_startup_page",
    "open_tabs_info",
    "profile_name",
    "rule",
    "shortcuts_on_desktop",
    "vlc_config",
    "vm_command_error",
    "vm_command_line",
    "vm_file",
    "vm_screen_size",
    "vm_terminal_output",
    "vm_window_size",
];

/// One look at the world.
pub(super) struct Look {
    pub(super) found: Found,
    pub(super) command: Option<String>,
    pub(super) code: Option<i32>,
}

impl Look {
    fn value(value: impl Into<Value>) -> Self {
        Self { found: Found::Value { value: value.into() }, command: None, code: None }
    }

    fn absent(why: impl Into<String>) -> Self {
        Self { found: Found::Absent { why: why.into() }, command: None, code: None }
    }

    fn of(mut self, command: impl Into<String>) -> Self {
        self.command = Some(command.into());
        self
    }
}

/// Looks, by a getter's name.
pub(super) async fn look(
    name: &str,
    spec: &Value,
    context: &CollectContext<'_>,
) -> Result<Look, CollectError> {
    match name {
        "rule" => Ok(Look::value(spec.get("rules").cloned().unwrap_or(Value::Null))),
        "vm_file" => world::vm_file(spec, context).await,
        "cache_file" => world::cache_file(spec, context).await,
        "vm_command_line" => world::command(spec, context, world::Stream::Output).await,
        "vm_command_error" => world::command(spec, context, world::Stream::Errors).await,
        "list_directory" => world::list_directory(spec, context).await,
        "vm_screen_size" => world::screen_size(context),
        "vm_window_size" => world::window_size(spec, context).await,
        "shortcuts_on_desktop" => world::shortcuts(context).await,
        "gimp_config_file" => world::config_file(spec, ".config/GIMP/2.10", context).await,
        "vlc_config" => world::config_file(spec, ".config/vlc/vlcrc", context).await,
        "accessibility_tree" => tree::accessibility_tree(context).await,
        "vm_terminal_output" => tree::terminal_output(context).await,
        "active_url_from_accessTree" => tree::active_url(spec, context).await,
        "bookmarks" => browser::bookmarks(context).await,
        "open_tabs_info" => browser::open_tabs(context).await,
        other => match browser::Preference::named(other) {
            Some(preference) => browser::preference(preference, context).await,
            None => Err(CollectError::UnknownGetter(other.to_owned())),
        },
    }
}

fn need<'a>(spec: &'a Value, getter: &str, field: &str) -> Result<&'a str, CollectError> {
    spec.get(field).and_then(Value::as_str).ok_or_else(|| CollectError::Parameters {
        getter: getter.to_owned(),
        problem: format!("it needs {field:?} as text"),
    })
}

fn refused(getter: &str) -> impl FnOnce(apprentice_protocol::MachineError) -> CollectError {
    let getter = getter.to_owned();
    move |source| CollectError::Machine { getter, source }
}
