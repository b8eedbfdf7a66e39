//! Completes URLs as a person types them, and decides which may be opened. Pure.

/// Schemes that may be opened.
const ALLOWED: &[&str] = &["http", "https", "file", "about", "data", "chrome", "blob", "view-source"];
/// The browser's own pages that may be opened: those that a person has in menus, and those that only show something. The
/// others end or hold up the page, its process or the browser (`crash`, `hang`, `quit`, `inducebrowsercrashforrealz`, …), or
/// list those that do; which there are changes with each version.
const OWN_PAGES: &[&str] = &[
    "accessibility",
    "app-settings",
    "apps",
    "bookmarks",
    "certificate-manager",
    "components",
    "credits",
    "dino",
    "downloads",
    "extensions",
    "flags",
    "gpu",
    "help",
    "history",
    "management",
    "media-engagement",
    "net-export",
    "new-tab-page",
    "newtab",
    "password-manager",
    "policy",
    "predictors",
    "print",
    "reading-list",
    "sandbox",
    "settings",
    "site-engagement",
    "system",
    "terms",
    "version",
    "welcome",
];
/// Pages of the scheme `about` that are no pages of the browser's own.
const EMPTY_PAGES: &[&str] = &["blank", "srcdoc"];

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
        Some((scheme, rest)) if ALLOWED.contains(&scheme.as_str()) => {
            may_be_opened(&scheme, rest)?;
            Ok(written.to_owned())
        }
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

/// Whether an address brings its page along, and with it any script that its writer likes.
pub(super) fn brings_page(written: &str) -> bool {
    let written = written.trim().to_ascii_lowercase();
    let inner = written.trim_start_matches("view-source:");
    inner.starts_with("data:")
}

/// Whether a full address is one of the browser's own pages, which show the settings and the profile.
pub(super) fn is_own_page(url: &str) -> bool {
    let url = url.to_ascii_lowercase();
    let inner = url.trim_start_matches("view-source:");
    match inner.split_once(':') {
        Some(("chrome", _)) => true,
        Some(("about", rest)) => {
            let name = rest.trim_start_matches(['/', '\\']).split(['?', '#']).next().unwrap_or_default();
            !EMPTY_PAGES.contains(&name)
        }
        _ => false,
    }
}

/// Refuses what lies within an allowed scheme and is not to be opened.
fn may_be_opened(scheme: &str, rest: &str) -> Result<(), String> {
    match scheme {
        "view-source" => complete(rest).map(drop),
        // The browser takes `about:settings` for `chrome://settings`, with any number of strokes.
        "chrome" | "about" => {
            let name = rest.trim_start_matches(['/', '\\']);
            let name = name.split(['/', '\\', '?', '#']).next().unwrap_or_default().to_ascii_lowercase();
            if OWN_PAGES.contains(&name.as_str()) || scheme == "about" && EMPTY_PAGES.contains(&name.as_str())
            {
                return Ok(());
            }
            Err(format!(
                "{scheme}:{rest} is none of the browser's pages that can be opened; these can: {}",
                OWN_PAGES.join(", ")
            ))
        }
        _ => Ok(()),
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
    fn the_browsers_own_pages_are_opened_by_a_list_however_they_are_written() {
        for written in [
            "chrome://settings",
            "chrome://settings/content/cookies?search=a#b",
            "CHROME://Flags/",
            "chrome:version",
            "about:settings",
            "about:blank",
            "about:blank#1",
            "view-source:https://example.org",
            "view-source:chrome://history",
        ] {
            complete(written).expect(written);
        }
        for written in [
            "chrome://crash",
            "chrome://crash/",
            "Chrome://CRASH",
            "chrome:crash",
            "chrome:///kill",
            "chrome:\\\\hang",
            "about:crash",
            "about://quit",
            "view-source:chrome://crash",
            "View-Source:view-source:about:kill",
            "chrome://cr%61sh",
            "chrome://settings@crash",
            "chrome://settings:80@crash",
            "chrome://inducebrowsercrashforrealz",
            "chrome://gpucrash",
            "chrome://memory-exhaust",
            "chrome://restart",
            "chrome://chrome-urls",
            "chrome://about",
            "chrome://a-page-of-a-later-version",
            "chrome://",
            "about:",
            "chrome-untrusted://crash",
            "devtools://devtools/bundled/inspector.html",
        ] {
            assert!(complete(written).is_err(), "{written}");
        }
    }

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
