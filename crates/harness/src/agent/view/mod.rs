//! What the model is shown of the screen: a picture, and its elements as a list or as what changed in it.

pub(super) mod delta_view;
mod element_changes;
mod element_list;
pub(super) mod last_view;
pub(super) mod model_view;
pub(super) mod picture;
pub(super) mod roles;
pub(super) mod short_view;
mod text_changes;
