//! Estimates the cost of parsing a document's attributes before it is parsed. Parsers compare every attribute with the
//! earlier ones of its tag, and inherit namespace prefixes from tag to tag.

use std::collections::HashSet;

/// Maximum number of attribute pairs within tags, summed over all tags.
const PAIR_LIMIT: u64 = 50_000_000;
/// Maximum of the number of tags that declare prefixes times the number of distinct prefixes.
const DECLARATIONS: usize = 20_000_000;
/// Maximum number of bytes scanned. Every possible start of a tag is scanned to the end of that tag, and such ranges
/// overlap.
const SCAN_LIMIT: usize = 400_000_000;

/// State of the scanner within a tag.
#[derive(Clone, Copy, PartialEq)]
enum ScanState {
    TagName,
    Name,
    InName,
    Equals,
    Value,
    Bare,
    Quoted(u8),
}

/// Rejects a document whose tags have too many attributes. The scan starts at every `<`, including those in text and
/// values, so that no tag can be hidden. Few real documents come near the limits.
pub(crate) fn bounded(bytes: &[u8]) -> Result<(), String> {
    bounded_within(bytes, SCAN_LIMIT)
}

fn bounded_within(bytes: &[u8], scan_limit: usize) -> Result<(), String> {
    let (mut pairs, mut looks, mut declaring) = (0_u64, 0_usize, 0_usize);
    let mut prefixes: HashSet<&[u8]> = HashSet::new();
    for (at, _) in bytes.iter().enumerate().filter(|(_, byte)| **byte == b'<') {
        let tag = bytes.get(at + 1..).unwrap_or_default();
        if tag.first().is_none_or(|byte| matches!(byte, b'/' | b'!' | b'?' | b'<')) {
            continue;
        }
        let (mut count, mut declares) = (0_u64, false);
        looks += scan_tag(tag, |name| {
            pairs += count;
            count += 1;
            if name.starts_with(b"xmlns") {
                prefixes.insert(name);
                declares = true;
            }
            pairs <= PAIR_LIMIT
        });
        declaring += usize::from(declares);
        if pairs > PAIR_LIMIT || looks > scan_limit || declaring.saturating_mul(prefixes.len()) > DECLARATIONS
        {
            return Err("its tags exceed the attribute limit".into());
        }
    }
    Ok(())
}

/// Calls `tell` with the name of each attribute of a tag until it returns false. Returns the number of scanned bytes.
fn scan_tag<'b>(tag: &'b [u8], mut tell: impl FnMut(&'b [u8]) -> bool) -> usize {
    let (mut expect, mut began) = (ScanState::TagName, 0);
    for (at, byte) in tag.iter().enumerate() {
        let blank = byte.is_ascii_whitespace();
        let next = match (expect, byte) {
            (ScanState::Quoted(mark), byte) if *byte == mark => ScanState::Name,
            (ScanState::Quoted(_), _) => expect,
            (ScanState::Value, b'"' | b'\'') => ScanState::Quoted(*byte),
            (ScanState::InName, _) if blank || matches!(byte, b'=' | b'/' | b'>') => {
                if !tell(tag.get(began..at).unwrap_or_default()) {
                    return at;
                }
                match byte {
                    b'=' => ScanState::Value,
                    b'>' => return at,
                    b'/' => ScanState::Name,
                    _ => ScanState::Equals,
                }
            }
            (_, b'>') => return at,
            (ScanState::Equals, b'=') => ScanState::Value,
            (ScanState::TagName | ScanState::Bare, _) if blank => ScanState::Name,
            (ScanState::TagName | ScanState::Name | ScanState::Equals, b'/') => ScanState::Name,
            (ScanState::Name | ScanState::Equals | ScanState::Value, _) if blank => expect,
            (ScanState::Name | ScanState::Equals, _) => {
                began = at;
                ScanState::InName
            }
            (ScanState::Value, _) => ScanState::Bare,
            (ScanState::TagName | ScanState::InName | ScanState::Bare, _) => expect,
        };
        expect = next;
    }
    tag.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{bounded, bounded_within, scan_tag};

    fn names(tag: &str) -> Vec<String> {
        let mut found = Vec::new();
        scan_tag(tag.as_bytes(), |name| {
            found.push(String::from_utf8_lossy(name).into_owned());
            true
        });
        found
    }

    #[test]
    fn attributes_are_found_as_readers_find_them() {
        assert_eq!(names("a b c='>' d = \"e f\"/g=h i>j k"), ["b", "c", "d", "g", "i"]);
        assert_eq!(names("a>"), [""; 0]);
        assert_eq!(names("a/b/c/>"), ["b", "c"]);
    }

    #[test]
    fn many_attributes_are_refused_wherever_they_hide() {
        let many: String = (0..30_000).map(|at| format!(" x{at}='>'")).collect();
        for text in
            [format!("<a{many}>"), format!("<!-- <a x=\" --><a{many}>"), format!("<a x='<b y=\"'{many}>")]
        {
            assert!(bounded(text.as_bytes()).is_err(), "{text:.40}");
        }
        let declared: String = (0..3000).map(|at| format!(" xmlns:x{at}='u'")).collect();
        let inner = "<b xmlns:y='u'/>".repeat(10_000);
        assert!(bounded(format!("<a{declared}>{inner}</a>").as_bytes()).is_err());
        assert!(bounded(format!("<a>{inner}</a>").as_bytes()).is_ok());
        assert!(bounded("<p>a < b</p>".repeat(100_000).as_bytes()).is_ok());
    }

    /// Each `<` could open a tag that goes on to the end: 1 + 3 + 5 + … bytes, the square of their number.
    #[test]
    fn what_is_scanned_again_and_again_is_refused() {
        let starts = "<b".repeat(1000);
        assert!(bounded_within(starts.as_bytes(), 1_000_000).is_ok());
        assert!(bounded_within(starts.as_bytes(), 999_999).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 4))]

        /// The scan never finds fewer attributes than the parser.
        #[test]
        fn no_attribute_of_a_page_is_missed(parts in proptest::collection::vec("(<[ab!]|--|>|/|=|'|\"| |x|y=z|<script>|</script>)", 0..60)) {
            let text = parts.concat();
            let page = scraper::Html::parse_document(&text);
            let most = page.tree.nodes().filter_map(|node| node.value().as_element()).map(|one| one.attrs().count()).max();
            let starts = text.match_indices('<').map(|(at, _)| names(&text[at + 1..]));
            let reckoned = starts.map(|names| names.len()).max();
            prop_assert!(reckoned.unwrap_or(0) >= most.unwrap_or(0), "{text:?}");
        }
    }
}
