//! The elements that a model was last shown, to which the next view may refer.

use super::element_list::ElementList;

/// The elements that a model was last shown.
#[derive(Debug)]
pub(crate) enum LastView {
    /// These elements.
    List(ElementList),
    /// None that changes could refer to: the next view lists all elements.
    Unlisted(WholeListReason),
}

/// The reason for which a view lists all elements instead of changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum WholeListReason {
    /// The model was shown nothing so far.
    #[default]
    First,
    /// The model asks for the whole list.
    Asked,
    /// Earlier lists were left out of the conversation.
    LeftOut,
    /// A person used the screen, which a notice says.
    Person,
}

impl Default for LastView {
    fn default() -> Self {
        Self::Unlisted(WholeListReason::default())
    }
}

impl LastView {
    pub(crate) fn list(&self) -> Option<&ElementList> {
        match self {
            Self::List(list) => Some(list),
            Self::Unlisted(_) => None,
        }
    }

    /// Returns the line above a whole list, which says why it comes.
    pub(crate) fn why_whole(&self) -> &'static str {
        match self {
            Self::List(_) => "The whole list, because more than half of it is new.\n",
            Self::Unlisted(WholeListReason::Asked) => "The whole list, as you asked.\n",
            Self::Unlisted(WholeListReason::LeftOut) => {
                "The whole list, because earlier ones were left out of this conversation.\n"
            }
            Self::Unlisted(WholeListReason::First | WholeListReason::Person) => "",
        }
    }
}
