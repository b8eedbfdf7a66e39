//! Completes URLs as a person types them, and decides which may be opened. Pure.

const ALLOWED: &[&str] = &["http", "https", "file", "about", "data", "chrome", "blob", "view-source"];

/// Returns the full URL for what was typed, or the reason why it is not one.
pub(super) fn complete(written: &str) -> Result<String, String> {
    let written = written.trim();
    if written.is_empty() {
        return Err("the address is empty".to_owned());
    }
    if written.starts_with('/') {
        return Err(format!("{written:?} is a path: write file://{written} for a file, or a whole address"));
    }
    if written.chars().any(char::is_whitespace) && !written.starts_with("data:") {
        return Err(format!("{written:?} is no address: it has spaces in it"));
    }
    let scheme = written.split_once(':').map(|(scheme, rest)| (scheme.to_ascii_lowercase(), rest));
    match scheme {
        Some((scheme, _)) if ALLOWED.contains(&scheme.as_str()) => Ok(written.to_owned()),
        // `localhost:8000/x` has a port, not a scheme.
        Some((_, rest)) if rest.starts_with(|first: char| first.is_ascii_digit()) => Ok(with_scheme(written)),
        Some((scheme, _)) => Err(format!(
            "addresses of the kind {scheme:?} cannot be opened; these can: {}",
            ALLOWED.join(", ")
        )),
        None if written.contains('.') || written == "localhost" => Ok(with_scheme(written)),
        None => Err(format!("{written:?} is no address")),
    }
}

fn with_scheme(host: &str) -> String {
    let name = host.split(['/', ':', '?']).next().unwrap_or_default();
    let local = name == "localhost" || name.split('.').all(|part| part.parse::<u8>().is_ok());
    format!("{}://{host}", if local { "http" } else { "https" })
}

#[cfg(test)]
mod tests {
    use super::complete;

    #[test]
    fn what_a_person_writes_becomes_an_address_or_a_reason() {
        let check = |written: &str, expected: Option<&str>| {
            assert_eq!(complete(written).ok().as_deref(), expected, "{written:?}");
        };
        check("https://example.org/a b", None);
        check(" https://example.org/a ", Some("https://example.org/a"));
        check("example.org/a", Some("https://example.org/a"));
        check("localhost:8000/x", Some("http://localhost:8000/x"));
        check("127.0.0.1/x", Some("http://127.0.0.1/x"));
        check("about:blank", Some("about:blank"));
        check("chrome://settings", Some("chrome://settings"));
        check("FILE:///tmp/a.html", Some("FILE:///tmp/a.html"));
        check("data:text/html,a b", Some("data:text/html,a b"));
        check("javascript:alert(1)", None);
        check("ftp://example.org", None);
        check("/home/user/a.html", None);
        check("word", None);
        check("", None);
    }
}
