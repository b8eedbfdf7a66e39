//! Getters: the sources from which a check reads evidence, under OSWorld's names.

mod accessibility;
mod browser;
mod delayed_write;
mod devtools_page;
mod external;
mod in_slide;
mod machine;
mod opencomputer;
mod output;
mod page_content;
mod relative_date;
mod reward;
mod tab_url;
mod vscode;

use apprentice_metrics::SlideMedium;
use serde_json::Value;

pub use accessibility::{terminal_text, tree_document};
pub(super) use delayed_write::is_written_late;
pub(crate) use opencomputer::{is_judged_by_model, is_judged_by_pictures};

pub(super) use self::output::GetterOutput;
use super::collect_context::{CollectContext, CollectError};

/// Names of the supported getters.
pub const GETTERS: &[&str] = &[
    "accessibility_tree",
    "active_page_url",
    "active_tab_html_parse",
    "active_tab_info",
    "active_tab_url_parse",
    "active_url_from_accessTree",
    "audio_in_slide",
    "background_image_in_slide",
    "bookmarks",
    "cache_file",
    "chrome_font_size",
    "chrome_language",
    "cloud_file",
    "content_from_vm_file",
    "cookie_data",
    "data_delete_automacally",
    "default_search_engine",
    "default_video_player",
    "enable_do_not_track",
    "enable_enhanced_safety_browsing",
    "enable_safe_browsing",
    "enabled_experiments",
    "find_installed_extension_name",
    "find_unpacked_extension_path",
    "gimp_config_file",
    "harbor_reward",
    "history",
    "list_directory",
    "new_startup_page",
    "open_tabs_info",
    "opencomputer_check",
    "page_contents",
    "page_info",
    "profile_name",
    "rule",
    "rule_relativeTime",
    "shortcuts_on_desktop",
    "time_diff_range",
    "url_dashPart",
    "vlc_config",
    "vlc_playing_info",
    "vm_command_error",
    "vm_command_line",
    "vm_file",
    "vm_screen_size",
    "vm_terminal_output",
    "vm_wallpaper",
    "vm_window_size",
    "vscode_config",
];

/// Names of OSWorld's getters that are not implemented, each with the reason.
pub const UNSUPPORTED_GETTERS: &[(&str, &str)] = &[
    ("googledrive_file", "it needs a Google account"),
    ("info_from_website", "it reads a live site"),
    ("gotoRecreationPage_and_get_html_content", "it reads a live site"),
    ("macys_product_url_parse", "it reads a live site"),
    ("url_path_parse", "it reads a live site"),
    ("pdf_from_url", "it reads a live site"),
    ("number_of_search_results", "it reads a live site"),
    ("replay", "upstream does not perform it either"),
    ("chrome_appearance_mode_ui", "the browser's own pages are not read yet"),
    ("chrome_saved_address", "the browser's own pages are not read yet"),
    ("extensions_installed_from_shop", "the browser's own pages are not read yet"),
    ("conference_city_in_order", "not implemented yet"),
];

/// Settings folders of GIMP below the home folder: the version on OSWorld's machines first, then later ones.
pub(super) const GIMP_FOLDERS: &[&str] = &[".config/GIMP/2.10", ".config/GIMP/3.0", ".config/GIMP/3.2"];

/// Runs the getter of this name.
pub(super) async fn look(
    name: &str,
    spec: &Value,
    context: &CollectContext<'_>,
) -> Result<GetterOutput, CollectError> {
    match name {
        "rule" => Ok(GetterOutput::value(spec.get("rules").cloned().unwrap_or(Value::Null))),
        "vm_file" => machine::vm_file(spec, context).await,
        "cache_file" => machine::cache_file(spec, context).await,
        "vm_command_line" => machine::command(spec, context, machine::Stream::Output).await,
        "vm_command_error" => machine::command(spec, context, machine::Stream::Errors).await,
        "cloud_file" => external::cloud_file(spec, context).await,
        "content_from_vm_file" => external::content(spec, context).await,
        "rule_relativeTime" => external::relative_time(spec, context).await,
        "time_diff_range" => {
            Ok(GetterOutput::value(spec.get("diff_range_in_minutes").cloned().unwrap_or(Value::Null)))
        }
        "cookie_data" => external::profile_rows(name, "Cookies", "SELECT * FROM cookies", context).await,
        "history" => {
            let sql = "SELECT url, title, last_visit_time FROM urls";
            external::profile_rows(name, "History", sql, context).await
        }
        "audio_in_slide" => in_slide::medium(SlideMedium::Sound, spec, context).await,
        "background_image_in_slide" => in_slide::medium(SlideMedium::Background, spec, context).await,
        "vlc_playing_info" => external::vlc_status(spec, context).await,
        "default_video_player" => external::video_player(context).await,
        "vm_wallpaper" => external::wallpaper(spec, context).await,
        "active_tab_html_parse" => devtools_page::parsed(spec, context).await,
        "active_tab_info" => devtools_page::active(spec, context).await,
        "page_info" => devtools_page::named(spec, context).await,
        "active_page_url" => page_content::active_url(context).await,
        "page_contents" => page_content::contents(spec, context).await,
        opencomputer::NAME => opencomputer::check(spec, context).await,
        "harbor_reward" => reward::harbor(spec, context).await,
        "active_tab_url_parse" => tab_url::query_parameters(spec, context).await,
        "url_dashPart" => tab_url::url_part(spec, context).await,
        "list_directory" => machine::list_directory(spec, context).await,
        "vscode_config" => vscode::config(spec, context).await,
        "vm_screen_size" => machine::screen_size(context),
        "vm_window_size" => machine::window_size(spec, context).await,
        "shortcuts_on_desktop" => machine::shortcuts(context).await,
        "gimp_config_file" => machine::config_file(spec, GIMP_FOLDERS, context).await,
        "vlc_config" => machine::config_file(spec, &[".config/vlc/vlcrc"], context).await,
        "accessibility_tree" => accessibility::accessibility_tree(context).await,
        "vm_terminal_output" => accessibility::terminal_output(context).await,
        "active_url_from_accessTree" => accessibility::active_url(spec, context).await,
        "enabled_experiments" => {
            let default = Value::Array(Vec::new());
            browser::local_state("browser", "enabled_labs_experiments", default, context).await
        }
        "chrome_language" => browser::local_state("intl", "app_locale", "en-US".into(), context).await,
        "bookmarks" => browser::bookmarks(context).await,
        "open_tabs_info" => browser::open_tabs(context).await,
        other => match browser::Preference::named(other) {
            Some(preference) => browser::preference(preference, context).await,
            None => Err(CollectError::UnknownGetter(other.to_owned())),
        },
    }
}
