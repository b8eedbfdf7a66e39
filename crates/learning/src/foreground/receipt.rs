//! Receipts: the sentences that tell a user that a skill was learned, changed or used.

/// Languages of the message catalogue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// English.
    #[default]
    English,
    /// German.
    German,
}

impl Language {
    /// Returns the language of a tag such as `de` or `de-AT`. Defaults to English.
    pub fn of_tag(tag: &str) -> Self {
        match tag.split(['-', '_']).next() {
            Some("de") => Self::German,
            _ => Self::English,
        }
    }
}

/// The kind of receipt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receipt {
    /// Writing has begun. Background reviews never send it.
    Writing,
    /// A new skill exists.
    Learned,
    /// A skill has a new text.
    Updated,
    /// A skill waits for the user's approval.
    Proposed,
    /// A skill is kept from agents until somebody decides.
    Suspended,
    /// A skill guided the work.
    Used,
}

/// Returns the sentence for a receipt.
pub fn receipt(language: Language, receipt: Receipt, skill: &str) -> String {
    let words = match (language, receipt) {
        (Language::English, Receipt::Writing) => "Writing down what I learned",
        (Language::English, Receipt::Learned) => "Learned skill",
        (Language::English, Receipt::Updated) => "Updated skill",
        (Language::English, Receipt::Proposed) => "Proposed skill, for you to accept or refuse",
        (Language::English, Receipt::Suspended) => "Suspended skill, until you resume or change it",
        (Language::English, Receipt::Used) => "Used learned skill",
        (Language::German, Receipt::Writing) => "Ich schreibe auf, was ich gelernt habe",
        (Language::German, Receipt::Learned) => "Fertigkeit gelernt",
        (Language::German, Receipt::Updated) => "Fertigkeit verbessert",
        (Language::German, Receipt::Proposed) => "Fertigkeit vorgeschlagen, zum Annehmen oder Ablehnen",
        (Language::German, Receipt::Suspended) => "Fertigkeit ausgesetzt, bis du sie freigibst oder änderst",
        (Language::German, Receipt::Used) => "Gelernte Fertigkeit benutzt",
    };
    format!("{words}: {skill}")
}
