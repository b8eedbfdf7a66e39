//! What programs tell of their elements, in the words of views: of the programs in a cell, and of those on a machine whose server
//! lists them. Pure.

mod aria;
mod labels;
mod nested_bars;
mod popover;
mod root_panes;

use apprentice_protocol::UiNode;

pub use aria::by_names;
pub(crate) use aria::{role, states};
pub use root_panes::lower_root_panes;
pub(crate) use root_panes::{Part, drops};

/// Names what has no name by what stands beside it, and takes out what programs say wrongly.
pub fn correct(nodes: &mut [UiNode]) {
    nested_bars::name_menus(nodes);
    labels::without_memory_use(nodes);
    labels::name_nameless(nodes);
    popover::forget_unknown_states(nodes);
}
