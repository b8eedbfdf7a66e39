//! What a model knows of the screen, to which the next view may refer.

use super::element_list::ElementList;

/// What a model knows of the elements on the screen.
#[derive(Debug)]
pub(super) enum Known {
    /// The elements that it was told of.
    List(ElementList),
    /// Nothing that changes could refer to.
    Nothing(Unknown),
}

/// Why a model knows nothing of the elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Unknown {
    /// It was told nothing so far.
    #[default]
    First,
    /// It asks for the whole list.
    Asked,
    /// Earlier lists were left out of the conversation.
    LeftOut,
    /// A person used the screen, which it is told.
    Person,
}

impl Default for Known {
    fn default() -> Self {
        Self::Nothing(Unknown::default())
    }
}

impl Known {
    pub(super) fn list(&self) -> Option<&ElementList> {
        match self {
            Self::List(list) => Some(list),
            Self::Nothing(_) => None,
        }
    }

    /// Why the whole list comes, in words.
    pub(super) fn why_whole(&self) -> &'static str {
        match self {
            Self::List(_) => "The whole list, because more than half of it is new.\n",
            Self::Nothing(Unknown::Asked) => "The whole list, as you asked.\n",
            Self::Nothing(Unknown::LeftOut) => {
                "The whole list, because earlier ones were left out of this conversation.\n"
            }
            Self::Nothing(Unknown::First | Unknown::Person) => "",
        }
    }
}
