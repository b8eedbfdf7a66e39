//! Metrics of word-processor documents.

mod color;
mod comparison;
mod formatting;
mod layout;
mod open_text;
mod pair;
mod records;
mod word;
mod word_table;

pub(super) use comparison::{
    compare, compare_without_empty_lines, highlighted_text, images, init_lines, lines, references,
    similarity, tables,
};
pub(super) use formatting::{
    colored_words, converted_to_lower, equation, font_names, has_images, highlighted_words, italic_size,
    strike_through, subscript,
};
pub(super) use layout::{
    alignment, first_line_centered, footers, line_spacing, page_breaks, spacing, tab_stops,
};
pub(super) use records::{no_duplicates, place_answers, unique_records};
