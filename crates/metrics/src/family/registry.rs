//! The table of all metrics that OSWorld's evaluators export, and of those of other suites, with their arguments and
//! implementation status.

use super::{
    app_settings, archive, browser, document, epub, html, image, list, media, pdf, picture, reward,
    skill_eval, slides, sound, sqlite_and_id3, structure, table, text, thunderbird, tree, vlc, web_arena,
};
use crate::evidence::ReadingKind;
use crate::scoring::{MetricError, MetricInput, Score};

/// The kind of data that a metric evaluates. Agreement with upstream is reported per family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MetricFamily {
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
    /// Evaluators of WebArena.
    WebArena,
    /// Rewards that a task's own script writes.
    Reward,
}

/// The type of one argument of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentKind {
    /// The metric lacks this argument.
    Nothing,
    /// A JSON value.
    Value,
    /// A file or a list of files.
    File,
}

type Implementation = fn(&MetricInput<'_>) -> Result<Score, MetricError>;

/// An entry of the metric table.
#[derive(Clone, Copy)]
pub struct Metric {
    /// The metric's name; OSWorld's for its own.
    pub name: &'static str,
    /// The kind of data that it evaluates.
    pub family: MetricFamily,
    /// The type of its result argument.
    pub result: ArgumentKind,
    /// The type of its expected argument.
    pub expected: ArgumentKind,
    run: Option<Implementation>,
}

impl Metric {
    /// Returns whether the metric is implemented here.
    pub fn is_implemented(&self) -> bool {
        self.run.is_some()
    }

    /// Returns what a program must read from the metric's files before it is computed.
    pub fn reading(&self) -> Option<ReadingKind> {
        READINGS.iter().find(|(name, _)| *name == self.name).map(|(_, kind)| *kind)
    }

    /// Returns whether the metric evaluates the attempt's answer instead of evidence from the world.
    pub fn reads_answer(&self) -> bool {
        ANSWER_METRICS.contains(&self.name)
    }

    /// Returns the options that the metric reads, or `None` if upstream's function takes none and raises for any.
    /// Other metrics ignore options that they do not read.
    pub fn options(&self) -> Option<&'static [&'static str]> {
        OPTIONS.iter().find(|(name, _)| *name == self.name).map(|(_, options)| *options)
    }

    pub(super) fn run(&self, case: &MetricInput<'_>) -> Result<Score, MetricError> {
        match self.run {
            Some(_) if self.options().is_none() && !case.options.is_empty() => {
                let given: Vec<&str> = case.options.keys().map(String::as_str).collect();
                Err(MetricError::Task(format!(
                    "{} takes no options, but got {}",
                    self.name,
                    given.join(", ")
                )))
            }
            Some(run) => run(case),
            None => Err(MetricError::Task(format!("metric {:?} is not implemented yet", self.name))),
        }
    }
}

/// Returns the metric of this name.
pub fn named(name: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|metric| metric.name == name)
}

/// Evaluates the metric of this name.
fn run_named(name: &str, case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let metric = named(name).ok_or_else(|| MetricError::Task(format!("unknown metric {name}")))?;
    metric.run(case)
}

const fn implemented(
    name: &'static str,
    family: MetricFamily,
    result: ArgumentKind,
    expected: ArgumentKind,
    run: Implementation,
) -> Metric {
    Metric { name, family, result, expected, run: Some(run) }
}

const fn unimplemented_metric(name: &'static str, family: MetricFamily) -> Metric {
    Metric { name, family, result: ArgumentKind::File, expected: ArgumentKind::File, run: None }
}

/// The metrics that evaluate the attempt's answer instead of evidence from the world.
const ANSWER_METRIC: &str = "webarena_string_match";
const ANSWER_METRICS: [&str; 3] = [ANSWER_METRIC, skill_eval::ANSWER, skill_eval::STATEMENTS];

/// What programs of others read for metrics.
const READINGS: &[(&str, ReadingKind)] = &[
    ("check_pdf_pages", ReadingKind::Pages),
    ("compare_pdfs", ReadingKind::Pages),
    ("compare_audios", ReadingKind::Sound),
    ("compare_videos", ReadingKind::Film),
    ("compare_image_text", ReadingKind::PictureText),
    ("check_python_file_by_test_suite", ReadingKind::TestSuite),
];

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
    (
        "compare_docx_files",
        &[
            "ignore_blanks",
            "ignore_case",
            "ignore_order",
            "content_only",
            "fuzzy_match",
            "delete_empty_lines",
        ],
    ),
    ("compare_docx_files_and_ignore_new_lines", &["ignore_blanks"]),
    ("compare_references", &["reference_indicator", "reference_base_result"]),
    ("check_tabstops", &["word_number_split_by_tabstop", "index"]),
    ("evaluate_colored_words_in_tables", &["threshold"]),
    (
        "compare_pptx_files",
        &[
            "approximately_tolerance",
            "enable_debug",
            "examine_number_of_slides",
            "examine_shape",
            "examine_text",
            "examine_indent",
            "examine_font_name",
            "examine_font_size",
            "examine_font_bold",
            "examine_font_italic",
            "examine_color_rgb",
            "examine_font_underline",
            "examine_strike_through",
            "examine_alignment",
            "examine_title_bottom_position",
            "examine_table_bottom_position",
            "examine_right_position",
            "examine_top_position",
            "examine_shape_for_shift_size",
            "examine_image_size",
            "examine_modify_height",
            "examine_bullets",
            "examine_background_color",
            "examine_note",
        ],
    ),
    ("check_brightness_decrease_and_structure_sim", &["threshold"]),
    ("check_structure_sim_with_threshold", &["ssim_threshold"]),
    ("compare_images", &["reference_base_result"]),
    ("check_python_file_by_test_suite", &["test_function_name"]),
    (skill_eval::ANSWER, skill_eval::ANSWER_OPTIONS),
    (skill_eval::STATEMENTS, skill_eval::STATEMENT_OPTIONS),
    // These accept any option and read none.
    ("compare_unique_train_records", &[]),
    ("compare_answer", &[]),
    ("is_extension_installed", &[]),
    ("check_json_settings", &[]),
    ("check_json_keybindings", &[]),
    ("compare_zip_files", &[]),
];

use ArgumentKind::{File, Nothing, Value};
use MetricFamily::{
    Archive, Browser, Code, Document, Image, Media, Pdf, Profile, Reward, Slides, Structure, Table, Text,
    Tree, WebArena,
};

/// All metrics, grouped by family.
pub const METRICS: &[Metric] = &[
    implemented("infeasible", Text, Nothing, Nothing, |_| {
        Err(MetricError::Task("infeasible is graded by the attempt's ending, not by evidence".into()))
    }),
    implemented("exact_match", Text, Value, Value, text::exact_match),
    implemented("literal_match", Text, Value, Value, text::literal_match),
    implemented("match_in_list", Text, Value, Value, text::match_in_list),
    implemented("is_in_list", Text, Value, Value, text::is_in_list),
    implemented("fuzzy_match", Text, Value, Value, text::fuzzy_match),
    implemented("check_include_exclude", Text, Value, Value, text::include_exclude),
    implemented("compare_answer", Text, Value, Value, text::compare_answer),
    implemented("compare_text_file", Text, File, File, text::compare_text_file),
    implemented("compare_terminal_and_txt", Text, File, Value, text::terminal_and_file),
    implemented("compare_python_pure_text", Text, File, File, text::pure_python),
    implemented("compare_result_files", Text, File, File, text::result_files),
    implemented("diff_text_file", Text, File, File, text::diff_text_file),
    implemented("file_contains", Text, File, Value, text::file_contains),
    implemented("check_line_number", Text, File, Value, text::line_number),
    implemented("is_extension_installed", Text, Value, Value, text::is_extension_installed),
    implemented("is_in_vm_clickboard", Text, Value, Value, text::is_in_clipboard),
    implemented("is_utc_0", Text, Value, Nothing, text::is_utc_0),
    implemented("check_text_enlarged", Text, Value, Nothing, text::is_enlarged),
    implemented("check_gnome_favorite_apps", Text, Value, Value, list::favourites),
    implemented("check_moved_jpgs", Text, Value, Value, list::moved_files),
    implemented("check_list", Text, File, Value, list::check_list),
    implemented("check_direct_json_object", Structure, Value, Value, structure::direct_json_object),
    implemented("check_json", Structure, File, Value, structure::check_json),
    implemented("check_json_settings", Structure, File, Value, structure::json_settings),
    implemented("check_json_keybindings", Structure, File, Value, structure::json_keybindings),
    implemented("is_included_all_json_objects", Structure, File, File, structure::includes_all),
    implemented("compare_config", Structure, File, Value, structure::compare_config),
    implemented("check_csv", Table, File, Value, list::check_csv),
    implemented("compare_csv", Table, File, File, list::compare_csv),
    implemented("compare_table", Table, File, File, table::compare_table),
    implemented("compare_conference_city_in_order", Table, File, Value, table::cities_in_order),
    implemented("is_expected_active_tab", Browser, Value, Value, browser::active_tab),
    implemented(
        "is_expected_active_tab_approximate",
        Browser,
        Value,
        Value,
        browser::active_tab_without_query,
    ),
    implemented("is_expected_url_pattern_match", Browser, Value, Value, browser::url_pattern),
    implemented("is_expected_tabs", Browser, Value, Value, browser::tabs),
    implemented("is_expected_bookmarks", Browser, Value, Value, browser::bookmarks),
    implemented("is_expected_search_query", Browser, Value, Value, browser::search_query),
    implemented("is_expected_installed_extensions", Browser, Value, Value, browser::extensions),
    implemented("is_cookie_deleted", Browser, Value, Value, browser::cookies_deleted),
    implemented("check_history_deleted", Browser, Value, Value, browser::history_deleted),
    implemented("check_enabled_experiments", Browser, Value, Value, browser::experiments),
    implemented("check_font_size", Browser, Value, Value, browser::font_size),
    implemented("is_shortcut_on_desktop", Browser, Value, Value, browser::shortcut),
    implemented("is_added_to_steam_cart", Browser, Value, Value, browser::in_cart),
    implemented("check_html_background_image", Browser, File, Value, html::background_image),
    implemented("check_config_status", Profile, File, Value, app_settings::gimp_status),
    implemented("find_default_font", Profile, File, Value, app_settings::default_font),
    implemented("check_presenter_console_disable", Profile, File, Nothing, app_settings::presenter_console),
    implemented("check_auto_saving_time", Profile, File, Value, app_settings::saving_time),
    implemented("check_libre_locale", Profile, File, Value, app_settings::locale),
    implemented("check_thunderbird_prefs", Profile, File, Value, thunderbird::preferences),
    implemented("check_thunderbird_filter", Profile, File, Value, thunderbird::filters),
    implemented("check_thunderbird_folder", Profile, File, File, thunderbird::folder),
    implemented("is_vlc_playing", Profile, File, Value, vlc::playing),
    implemented("is_vlc_recordings_folder", Profile, File, Value, vlc::recordings_folder),
    implemented("is_vlc_fullscreen", Profile, Value, Value, vlc::fullscreen),
    implemented("check_qt_bgcone", Profile, File, Value, vlc::background_cone),
    implemented("check_qt_max_volume", Profile, File, Value, vlc::max_volume),
    implemented("check_qt_minimal_view", Profile, File, Value, vlc::minimal_view),
    implemented("check_qt_slider_colours", Profile, File, Value, vlc::slider_colours),
    implemented("check_global_key_play_pause", Profile, File, Value, vlc::global_key),
    implemented("check_one_instance_when_started_from_file", Profile, File, Value, vlc::one_instance),
    implemented("check_play_and_exit", Profile, File, Value, vlc::play_and_exit),
    implemented("run_sqlite3", Profile, File, Value, sqlite_and_id3::run_sqlite),
    implemented("check_mp3_meta", Profile, File, Value, sqlite_and_id3::mp3_meta),
    implemented("check_accessibility_tree", Tree, Value, Value, tree::accessibility_tree),
    implemented("check_left_panel", Tree, Value, Nothing, tree::left_panel),
    implemented("compare_htmls", Archive, File, File, html::compare),
    implemented("compare_archive", Archive, File, File, |case| archive::compare(case, run_named)),
    implemented("compare_zip_files", Archive, File, File, archive::compare_zip),
    implemented("compare_epub", Archive, File, File, epub::compare),
    implemented("check_image_size", Image, File, Value, image::size),
    implemented("check_image_file_size", Image, File, Value, image::file_size),
    implemented("compare_docx_files", Document, File, File, document::compare),
    implemented(
        "compare_docx_files_and_ignore_new_lines",
        Document,
        File,
        File,
        document::compare_without_empty_lines,
    ),
    implemented("compare_docx_tables", Document, File, File, document::tables),
    implemented("compare_docx_images", Document, File, File, document::images),
    implemented("compare_docx_lines", Document, File, File, document::lines),
    implemented("compare_init_lines", Document, File, File, document::init_lines),
    implemented("compare_insert_equation", Document, File, File, document::equation),
    implemented("compare_highlighted_text", Document, File, File, document::highlighted_text),
    implemented("compare_contains_image", Document, File, File, document::has_images),
    implemented("compare_line_spacing", Document, File, File, document::line_spacing),
    implemented("compare_font_names", Document, File, Value, document::font_names),
    implemented("compare_subscript_contains", Document, File, File, document::subscript),
    implemented("compare_references", Document, File, File, document::references),
    implemented("compare_unique_train_records", Document, File, File, document::unique_records),
    unimplemented_metric("get_unique_train_ids", Document),
    implemented("check_no_duplicates", Document, File, File, document::no_duplicates),
    implemented("check_tabstops", Document, File, File, document::tab_stops),
    implemented("check_highlighted_words", Document, File, File, document::highlighted_words),
    implemented("check_italic_font_size_14", Document, File, File, document::italic_size),
    unimplemented_metric("check_file_exists", Document),
    implemented("contains_page_break", Document, File, Value, document::page_breaks),
    implemented("evaluate_alignment", Document, File, Nothing, document::alignment),
    implemented("evaluate_colored_words_in_tables", Document, File, File, document::colored_words),
    implemented("evaluate_conversion", Document, File, Nothing, document::converted_to_lower),
    implemented("evaluate_spacing", Document, File, Nothing, document::spacing),
    implemented("evaluate_strike_through_last_paragraph", Document, File, File, document::strike_through),
    implemented("fuzzy_place_math", Document, File, Value, document::place_answers),
    implemented("has_page_numbers_in_footers", Document, File, Nothing, document::footers),
    implemented("is_first_line_centered", Document, File, Nothing, document::first_line_centered),
    implemented("compare_pptx_files", Slides, File, File, slides::compare),
    implemented("check_image_stretch_and_center", Slides, File, File, slides::stretched_image),
    implemented("check_page_number_colors", Slides, File, Value, slides::page_number_color),
    unimplemented_metric("check_slide_numbers_color", Slides),
    implemented("check_slide_orientation_Portrait", Slides, File, Nothing, slides::is_portrait),
    implemented("check_strikethrough", Slides, File, Value, slides::strike_through),
    implemented("check_transition", Slides, File, Value, slides::transition),
    implemented("evaluate_presentation_fill_to_rgb_distance", Slides, File, Value, slides::fill_distance),
    implemented(
        "check_brightness_decrease_and_structure_sim",
        Image,
        File,
        File,
        picture::brightness_decreased_alike,
    ),
    implemented(
        "check_contrast_increase_and_structure_sim",
        Image,
        File,
        File,
        picture::contrast_increased_alike,
    ),
    implemented("check_file_exists_and_structure_sim", Image, File, File, picture::exported),
    implemented("check_green_background", Image, File, File, picture::green_background),
    implemented("check_image_mirror", Image, File, File, picture::mirrored),
    implemented("check_palette_and_structure_sim", Image, File, File, picture::with_palette),
    implemented(
        "check_saturation_increase_and_structure_sim",
        Image,
        File,
        File,
        picture::saturation_increased_alike,
    ),
    implemented("check_sharper", Image, File, File, picture::sharper),
    implemented("check_structure_sim", Image, File, File, picture::similar),
    implemented("check_structure_sim_resized", Image, File, File, picture::resized),
    implemented("check_structure_sim_with_threshold", Image, File, File, picture::similar_by_threshold),
    implemented("check_textbox_on_leftside", Image, File, Nothing, picture::text_on_the_left),
    implemented("check_triangle_position", Image, File, Nothing, picture::triangle_in_the_middle),
    implemented("compare_image_list", Image, File, File, picture::compare_list),
    implemented("compare_images", Image, File, File, picture::compare_images),
    unimplemented_metric("compare_triangle_positions", Image),
    implemented("decrease_brightness", Image, File, File, picture::brightness_decreased),
    implemented("increase_saturation", Image, File, File, picture::saturation_increased),
    implemented("check_pdf_pages", Pdf, File, Value, pdf::page_count),
    unimplemented_metric("compare_pdf_images", Pdf),
    implemented("compare_pdfs", Pdf, File, File, pdf::compare),
    unimplemented_metric("is_gold_text_included_in_pdf", Pdf),
    implemented("compare_audios", Media, File, File, sound::compare),
    implemented("compare_image_text", Media, File, Value, media::picture_text),
    implemented("compare_videos", Media, File, File, media::films),
    unimplemented_metric("compare_time_in_speedtest_results", Media),
    unimplemented_metric("check_python_file_by_gold_file", Code),
    implemented("check_python_file_by_test_suite", Code, File, File, media::test_suite),
    implemented(ANSWER_METRIC, WebArena, Value, Value, web_arena::string_match),
    implemented("webarena_url_match", WebArena, Value, Value, web_arena::url_match),
    implemented("webarena_program_html", WebArena, Value, Value, web_arena::program_html),
    implemented("harbor_reward", Reward, Value, Nothing, reward::harbor),
    implemented("opencomputer_check", Reward, Value, Nothing, reward::opencomputer),
    implemented(skill_eval::ANSWER, Reward, Value, Nothing, skill_eval::answer),
    implemented(skill_eval::STATEMENTS, Reward, Value, Value, skill_eval::statements),
];
