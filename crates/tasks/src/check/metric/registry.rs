//! The table of all metrics that OSWorld's evaluators export, with their arguments and implementation status.

use super::{
    Case, Fault, Mark, app_settings, archive, browser, epub, html, image, list, sqlite_and_id3, structure,
    table, text, thunderbird, tree, vlc,
};

/// The kind of data that a metric evaluates. Agreement with upstream is reported per family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    /// Text, lists and scalar values.
    Text,
    /// JSON and YAML.
    Structure,
    /// CSV and spreadsheets.
    Table,
    /// URLs, tabs and browser profiles.
    Browser,
    /// Settings of other applications.
    Profile,
    /// Accessibility trees.
    Tree,
    /// Archives, e-books and web pages.
    Archive,
    /// Word-processor documents.
    Document,
    /// Presentations.
    Slides,
    /// Images.
    Image,
    /// PDF documents.
    Pdf,
    /// Audio, video, and content that only a model can read.
    Media,
    /// Programs that the metric executes.
    Code,
}

/// The type of one argument of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// The metric lacks this argument.
    Nothing,
    /// A JSON value.
    Value,
    /// A file or a list of files.
    File,
}

type Run = fn(&Case<'_>) -> Result<Mark, Fault>;

/// An entry of the metric table.
#[derive(Clone, Copy)]
pub struct Metric {
    /// OSWorld's name of the metric.
    pub name: &'static str,
    /// The kind of data that it evaluates.
    pub family: Family,
    /// The type of its result argument.
    pub result: Takes,
    /// The type of its expected argument.
    pub expected: Takes,
    run: Option<Run>,
}

impl Metric {
    /// Returns whether the metric is implemented here.
    pub fn is_built(&self) -> bool {
        self.run.is_some()
    }

    /// Returns the options that the metric reads, or `None` if upstream's function takes none and raises for any.
    /// Other metrics ignore options that they do not read.
    pub fn options(&self) -> Option<&'static [&'static str]> {
        OPTIONS.iter().find(|(name, _)| *name == self.name).map(|(_, options)| *options)
    }

    pub(super) fn run(&self, case: &Case<'_>) -> Result<Mark, Fault> {
        match self.run {
            Some(_) if self.options().is_none() && !case.options.is_empty() => {
                let given: Vec<&str> = case.options.keys().map(String::as_str).collect();
                Err(Fault::Task(format!("{} takes no options, but got {}", self.name, given.join(", "))))
            }
            Some(run) => run(case),
            None => Err(Fault::Task(format!("metric {:?} is not implemented yet", self.name))),
        }
    }
}

/// Returns the metric of this name.
pub fn named(name: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|metric| metric.name == name)
}

const fn built(name: &'static str, family: Family, result: Takes, expected: Takes, run: Run) -> Metric {
    Metric { name, family, result, expected, run: Some(run) }
}

const fn later(name: &'static str, family: Family) -> Metric {
    Metric { name, family, result: Takes::File, expected: Takes::File, run: None }
}

/// Options of the implemented metrics that accept any.
const OPTIONS: &[(&str, &[&str])] = &[
    ("literal_match", &["type", "ignore_case"]),
    ("compare_text_file", &["ignore_blanks", "ignore_case"]),
    ("check_json", &["is_yaml"]),
    ("compare_config", &["containment_ok"]),
    ("compare_csv", &["strict", "ignore_case"]),
    ("compare_table", &["rules"]),
    ("check_thunderbird_folder", &["ignore_status", "ignore_keys", "remove_deleted", "remove_duplicate"]),
    ("check_accessibility_tree", &["osname"]),
    ("compare_htmls", &["ignore_sdnum"]),
    // Options that it does not read itself are passed to the metric that compares the members.
    ("compare_archive", &["file_path", "file_type", "ignore_blanks", "ignore_case", "rules"]),
    // These accept any option and read none.
    ("compare_answer", &[]),
    ("is_extension_installed", &[]),
    ("check_json_settings", &[]),
    ("check_json_keybindings", &[]),
    ("compare_zip_files", &[]),
];

use Family::{
    Archive, Browser, Code, Document, Image, Media, Pdf, Profile, Slides, Structure, Table, Text, Tree,
};
use Takes::{File, Nothing, Value};

/// All metrics, grouped by family.
pub const METRICS: &[Metric] = &[
    built("infeasible", Text, Nothing, Nothing, |_| {
        Err(Fault::Task("infeasible is graded by the attempt's ending, not by evidence".into()))
    }),
    built("exact_match", Text, Value, Value, text::exact_match),
    built("literal_match", Text, Value, Value, text::literal_match),
    built("match_in_list", Text, Value, Value, text::match_in_list),
    built("is_in_list", Text, Value, Value, text::is_in_list),
    built("fuzzy_match", Text, Value, Value, text::fuzzy_match),
    built("check_include_exclude", Text, Value, Value, text::include_exclude),
    built("compare_answer", Text, Value, Value, text::compare_answer),
    built("compare_text_file", Text, File, File, text::compare_text_file),
    built("compare_terminal_and_txt", Text, File, Value, text::terminal_and_file),
    built("compare_python_pure_text", Text, File, File, text::pure_python),
    built("compare_result_files", Text, File, File, text::result_files),
    built("diff_text_file", Text, File, File, text::diff_text_file),
    built("file_contains", Text, File, Value, text::file_contains),
    built("check_line_number", Text, File, Value, text::line_number),
    built("is_extension_installed", Text, Value, Value, text::is_extension_installed),
    built("is_in_vm_clickboard", Text, Value, Value, text::is_in_clipboard),
    built("is_utc_0", Text, Value, Nothing, text::is_utc_0),
    built("check_text_enlarged", Text, Value, Nothing, text::is_enlarged),
    built("check_gnome_favorite_apps", Text, Value, Value, list::favourites),
    built("check_moved_jpgs", Text, Value, Value, list::moved_files),
    built("check_list", Text, File, Value, list::check_list),
    built("check_direct_json_object", Structure, Value, Value, structure::direct_json_object),
    built("check_json", Structure, File, Value, structure::check_json),
    built("check_json_settings", Structure, File, Value, structure::json_settings),
    built("check_json_keybindings", Structure, File, Value, structure::json_keybindings),
    built("is_included_all_json_objects", Structure, File, File, structure::includes_all),
    built("compare_config", Structure, File, Value, structure::compare_config),
    built("check_csv", Table, File, Value, list::check_csv),
    built("compare_csv", Table, File, File, list::compare_csv),
    built("compare_table", Table, File, File, table::compare_table),
    built("compare_conference_city_in_order", Table, File, Value, table::cities_in_order),
    built("is_expected_active_tab", Browser, Value, Value, browser::active_tab),
    built("is_expected_active_tab_approximate", Browser, Value, Value, browser::active_tab_without_query),
    built("is_expected_url_pattern_match", Browser, Value, Value, browser::url_pattern),
    built("is_expected_tabs", Browser, Value, Value, browser::tabs),
    built("is_expected_bookmarks", Browser, Value, Value, browser::bookmarks),
    built("is_expected_search_query", Browser, Value, Value, browser::search_query),
    built("is_expected_installed_extensions", Browser, Value, Value, browser::extensions),
    built("is_cookie_deleted", Browser, Value, Value, browser::cookies_deleted),
    built("check_history_deleted", Browser, Value, Value, browser::history_deleted),
    built("check_enabled_experiments", Browser, Value, Value, browser::experiments),
    built("check_font_size", Browser, Value, Value, browser::font_size),
    built("is_shortcut_on_desktop", Browser, Value, Value, browser::shortcut),
    built("is_added_to_steam_cart", Browser, Value, Value, browser::in_cart),
    built("check_html_background_image", Browser, File, Value, html::background_image),
    built("check_config_status", Profile, File, Value, app_settings::gimp_status),
    built("find_default_font", Profile, File, Value, app_settings::default_font),
    built("check_presenter_console_disable", Profile, File, Nothing, app_settings::presenter_console),
    built("check_auto_saving_time", Profile, File, Value, app_settings::saving_time),
    built("check_libre_locale", Profile, File, Value, app_settings::locale),
    built("check_thunderbird_prefs", Profile, File, Value, thunderbird::preferences),
    built("check_thunderbird_filter", Profile, File, Value, thunderbird::filters),
    built("check_thunderbird_folder", Profile, File, File, thunderbird::folder),
    built("is_vlc_playing", Profile, File, Value, vlc::playing),
    built("is_vlc_recordings_folder", Profile, File, Value, vlc::recordings_folder),
    built("is_vlc_fullscreen", Profile, Value, Value, vlc::fullscreen),
    built("check_qt_bgcone", Profile, File, Value, vlc::background_cone),
    built("check_qt_max_volume", Profile, File, Value, vlc::max_volume),
    built("check_qt_minimal_view", Profile, File, Value, vlc::minimal_view),
    built("check_qt_slider_colours", Profile, File, Value, vlc::slider_colours),
    built("check_global_key_play_pause", Profile, File, Value, vlc::global_key),
    built("check_one_instance_when_started_from_file", Profile, File, Value, vlc::one_instance),
    built("check_play_and_exit", Profile, File, Value, vlc::play_and_exit),
    built("run_sqlite3", Profile, File, Value, sqlite_and_id3::run_sqlite),
    built("check_mp3_meta", Profile, File, Value, sqlite_and_id3::mp3_meta),
    built("check_accessibility_tree", Tree, Value, Value, tree::accessibility_tree),
    built("check_left_panel", Tree, Value, Nothing, tree::left_panel),
    built("compare_htmls", Archive, File, File, html::compare),
    built("compare_archive", Archive, File, File, archive::compare),
    built("compare_zip_files", Archive, File, File, archive::compare_zip),
    built("compare_epub", Archive, File, File, epub::compare),
    built("check_image_size", Image, File, Value, image::size),
    built("check_image_file_size", Image, File, Value, image::file_size),
    later("compare_docx_files", Document),
    later("compare_docx_files_and_ignore_new_lines", Document),
    later("compare_docx_tables", Document),
    later("compare_docx_images", Document),
    later("compare_docx_lines", Document),
    later("compare_init_lines", Document),
    later("compare_insert_equation", Document),
    later("compare_highlighted_text", Document),
    later("compare_contains_image", Document),
    later("compare_line_spacing", Document),
    later("compare_font_names", Document),
    later("compare_subscript_contains", Document),
    later("compare_references", Document),
    later("compare_unique_train_records", Document),
    later("get_unique_train_ids", Document),
    later("check_no_duplicates", Document),
    later("check_tabstops", Document),
    later("check_highlighted_words", Document),
    later("check_italic_font_size_14", Document),
    later("check_file_exists", Document),
    later("contains_page_break", Document),
    later("evaluate_alignment", Document),
    later("evaluate_colored_words_in_tables", Document),
    later("evaluate_conversion", Document),
    later("evaluate_spacing", Document),
    later("evaluate_strike_through_last_paragraph", Document),
    later("fuzzy_place_math", Document),
    later("has_page_numbers_in_footers", Document),
    later("is_first_line_centered", Document),
    later("compare_pptx_files", Slides),
    later("check_image_stretch_and_center", Slides),
    later("check_page_number_colors", Slides),
    later("check_slide_numbers_color", Slides),
    later("check_slide_orientation_Portrait", Slides),
    later("check_strikethrough", Slides),
    later("check_transition", Slides),
    later("evaluate_presentation_fill_to_rgb_distance", Slides),
    later("check_brightness_decrease_and_structure_sim", Image),
    later("check_contrast_increase_and_structure_sim", Image),
    later("check_file_exists_and_structure_sim", Image),
    later("check_green_background", Image),
    later("check_image_mirror", Image),
    later("check_palette_and_structure_sim", Image),
    later("check_saturation_increase_and_structure_sim", Image),
    later("check_sharper", Image),
    later("check_structure_sim", Image),
    later("check_structure_sim_resized", Image),
    later("check_structure_sim_with_threshold", Image),
    later("check_textbox_on_leftside", Image),
    later("check_triangle_position", Image),
    later("compare_image_list", Image),
    later("compare_images", Image),
    later("compare_triangle_positions", Image),
    later("decrease_brightness", Image),
    later("increase_saturation", Image),
    later("check_pdf_pages", Pdf),
    later("compare_pdf_images", Pdf),
    later("compare_pdfs", Pdf),
    later("is_gold_text_included_in_pdf", Pdf),
    later("compare_audios", Media),
    later("compare_image_text", Media),
    later("compare_videos", Media),
    later("compare_time_in_speedtest_results", Media),
    later("check_python_file_by_gold_file", Code),
    later("check_python_file_by_test_suite", Code),
];
