//! The text of a PDF document, page by page, by MuPDF: the library that upstream reads documents with. The crates
//! weighed (`pdf-extract`, `lopdf`, `hayro`) order and space the words of a page otherwise.

use apprentice_metrics::{DOCUMENT_READER, ReadingContent};

use super::program::{INPUT, ProgramError, ProgramRun, output};

/// Bytes of text that a document may hold.
const LIMIT: u64 = 32 << 20;
/// Bytes within which a document names its format.
const HEADER: usize = 1024;
/// What the program prints behind each page.
const PAGE_END: &str = "\x0c\n";

pub(super) async fn read(bytes: &[u8]) -> Result<ReadingContent, ProgramError> {
    let header = &bytes[..bytes.len().min(HEADER)];
    if !header.windows(5).any(|word| word == b"%PDF-") {
        // The program would try other formats.
        return Err(ProgramError::Refused("it is no PDF document".into()));
    }
    let options = "preserve-ligatures,preserve-whitespace";
    let arguments = ["draw", "-q", "-F", "text", "-O", options, INPUT];
    let run =
        ProgramRun { program: DOCUMENT_READER, arguments: &arguments, input: bytes, output_limit: LIMIT };
    let printed = output(&run).await?;
    Ok(ReadingContent::Pages { pages: pages(&String::from_utf8_lossy(&printed)) })
}

/// Returns the text of each page, without the empty lines that the program puts between blocks.
fn pages(printed: &str) -> Vec<String> {
    let mut pages: Vec<&str> = printed.split(PAGE_END).collect();
    pages.pop();
    let without_gaps = |page: &str| {
        page.split_terminator('\n').filter(|line| !line.is_empty()).flat_map(|line| [line, "\n"]).collect()
    };
    pages.into_iter().map(without_gaps).collect()
}

#[cfg(test)]
mod tests {
    use super::pages;

    #[test]
    fn pages_are_told_apart_and_blocks_are_not() {
        assert_eq!(pages("One\n two\n\nThree\n\n\x0c\n\x0c\n"), ["One\n two\nThree\n", ""]);
        assert_eq!(pages(""), Vec::<String>::new());
    }
}
