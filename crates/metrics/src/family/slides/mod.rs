//! Metrics of presentations.

mod comparison;
mod element;
mod medium;
mod part;
mod presentation;
mod shape;
mod text;

pub(super) use comparison::compare;
pub use medium::{MediumLocation, SlideMedium, medium_in_slide};
pub(super) use part::{
    fill_distance, is_portrait, page_number_color, stretched_image, strike_through, transition,
};
