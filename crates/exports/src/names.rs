//! Names of files and folders that are made of other people's words.

use apprentice_trace::hex;
use sha2::{Digest as _, Sha256};

/// Maximum number of characters of a name.
const NAME_LIMIT: usize = 80;

/// Returns a name that is one plain component of a path on every system. A name that had to be changed ends with a part
/// of its hash, so that different names stay different.
pub(crate) fn file_name(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let kept: String = text.chars().map(|c| if plain(c) { c } else { '-' }).take(NAME_LIMIT).collect();
    let kept = kept.trim_start_matches(['.', '-']).trim_end_matches('.');
    if kept == text && !text.is_empty() {
        return text.to_owned();
    }
    let hash = hex(&Sha256::digest(text));
    match kept {
        "" => format!("name-{}", &hash[..8]),
        kept => format!("{kept}-{}", &hash[..8]),
    }
}

/// Returns a text as one span of code in Markdown: nothing in it is markup.
pub(crate) fn code_span(text: &str) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() || c == '`' { ' ' } else { c }).collect();
    format!("`{}`", plain.trim())
}

#[cfg(test)]
mod tests {
    use super::{code_span, file_name};

    #[test]
    fn a_name_never_leads_out_of_its_folder() {
        for hostile in
            ["../../etc/passwd", "..", ".", "", "/root", "a/b", "C:\\x", "~", "CON ", "a\nb", "\u{202e}txt"]
        {
            let name = file_name(hostile);
            assert!(
                !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', ':']),
                "{hostile:?}: {name}"
            );
        }
        assert_eq!(file_name("mousepad-total"), "mousepad-total");
        assert_ne!(file_name("a/b"), file_name("a:b"), "different names stay different");
        assert!(file_name(&"x".repeat(500)).len() < 100);
    }

    #[test]
    fn a_span_of_code_ends_where_it_should() {
        assert_eq!(code_span("a`](http://x)`<script>\n# b"), "`a ](http://x) <script> # b`");
    }
}
