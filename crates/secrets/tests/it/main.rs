//! What is a secret, however it is spelt, and what is none.

mod vendors;

use apprentice_secrets::{REDACTED, Redactor, contains_secret, find};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

/// Names and sentences of six languages, by `scripts/conformance/ordinary_texts.py`.
const ORDINARY: &str = include_str!("ordinary.txt");

/// Invented secrets of each kind, as text before, and a part that is repeated. They are put together here, so that this file
/// holds none.
fn secrets() -> Vec<String> {
    let forms = [
        ("sk-", "ant-api03-Zq7", 8),
        ("sk-", "proj-a8Bd_3kQ", 6),
        ("AKI", "AQ7X2M4K9P3L8R5TW", 1),
        ("aws_secret_access_key = ", "wJ7rXUt4FEMI/K7MDENG+bPxRfiCYe2Qz9LkVb8s", 1),
        ("gh", "p_aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vWxYz0bC", 1),
        ("github_", "pat_11ABCDEFG0aB3dE5fG7hJ9_kL1mN3pQ5rS7tU9vW", 1),
        ("gl", "pat-x7Kd93mQzB4vN8sLwP2r", 1),
        ("xox", "b-2147483-9KdL3mQzB4vN", 2),
        ("AI", "zaSyD3k9QmXvB7nL2pR8tW4yU6iO1aS5dF0gH", 1),
        ("GO", "CSPX-d3K9mQzB4vN8sLwP2rT7y", 1),
        ("ya", "29.a0AfH6SMBx7Kd93mQzB4vN8sLwP2rT7y", 1),
        ("gsk", "_x7Kd93mQzB4vN8sLwP2rT7yU6iO1aS5d", 1),
        ("h", "f_aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vWxYz", 1),
        ("ey", "JhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dBjftJeZ4CVPmB92K27uhbUJU1p1r", 1),
        ("npm", "_aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vWxYz0bC2", 1),
        ("pypi", "-AgEIcHlwaS5vcmcCJGEzYjVjN2Q5", 3),
        ("sk_", "live_4eC39HqLyjWDarjtT1zdp7dc", 1),
        ("S", "G.aB3dE5fG7hJ9kL1mN3pQ5r.S7tU9vWxYz0bC2dE4fG6hI8", 1),
        ("xai", "-x7Kd93mQzB4vN8sLwP2rT7yU6iO1aS5d", 2),
        ("pplx", "-x7Kd93mQzB4vN8sLwP2rT7yU6iO1aS5d", 2),
        ("dckr", "_pat_x7Kd93mQzB4vN8sLwP2rT7yU6i", 1),
        ("12345678", "90:AAx7Kd93mQzB4vN8sLwP2rT7yU6iO1aS5d0", 1),
        ("dop", "_v1_a3b5c7d9e1f2a4b6c8d0e2f4a6b8c0d2", 1),
        ("shp", "at_a3b5c7d9e1f2a4b6c8d0e2f4a6b8c0d2", 1),
        ("AGE-", "SECRET-KEY-1QX7KD93MQZB4VN8SLWP2RT7YU6IO1AS5DQX7KD93MQZB4VN8SLWP", 1),
        ("Acc", "ountKey=x7Kd93mQzB4vN8sLwP2rT7yU6iO1aS5dFgHjKlZxCvBnM9qW==", 1),
        ("abc8", "Q~x7Kd93mQzB4vN8sLwP2rT7yU6iO1aS5dFg", 1),
        ("postgres://app:", "s3cr3tPa55@db.internal:5432/app", 1),
        ("Authorization: Bea", "rer x7Kd93mQzB4vN8sLwP2rT7yU6i", 1),
        ("The password is ", "Tr0ub4dor&3xyz", 1),
        ("https://hooks.sla", "ck.com/services/T00000000/B00000000/x7Kd93mQzB4vN8sLwP2rT7yU", 1),
        ("hv", "s.CAESIx7Kd93mQzB4vN8sLwP2rT7yU6iO1aS5d", 1),
        ("wh", "sec_x7Kd93mQzB4vN8sLwP2rT7yU6iO1aS5d", 1),
        (
            "-----BEGIN RSA PRI",
            "VATE KEY-----\nMIIEowIBAAKCAQEAx7Kd93mQzB4vN8s\nLwP2rT7yU6iO1aS5d==\n-----END RSA PRIVATE KEY-----",
            1,
        ),
    ];
    let whole = |(before, part, count): &(&str, &str, usize)| {
        let text = format!("{before}{}", part.repeat(*count));
        // DigitalOcean's have 64 digits.
        text.replace("c0d2\u{0}", "")
    };
    let mut secrets: Vec<String> = forms.iter().map(whole).collect();
    for secret in &mut secrets {
        if secret.starts_with("dop") {
            secret.push_str("a3b5c7d9e1f2a4b6c8d0e2f4a6b8c0d2");
        }
    }
    secrets
}

/// The part of a secret that must be nowhere.
fn core(secret: &str) -> &str {
    let end = secret.trim_end_matches(|letter: char| !letter.is_ascii_alphanumeric());
    let end = end.split("\n-----END").next().unwrap_or_default();
    let tail: Vec<(usize, char)> = end.char_indices().collect();
    &end[tail[tail.len() - 9].0..tail[tail.len() - 1].0]
}

#[test]
fn each_kind_is_found_in_each_spelling() {
    let redactor = Redactor::new([]).expect("builds");
    for secret in secrets() {
        let core = if secret.starts_with("postgres") { "s3cr3tPa5" } else { core(&secret) };
        let quoted = serde_json::Value::from(secret.as_str()).to_string();
        let escaped: String = secret.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
        let percent: String = secret.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let texts = [
            format!("before {secret} after"),
            format!("「{secret}」"),
            format!(r#"{{"text":{quoted}}}"#),
            serde_json::json!({ "body": format!(r#"{{"text":{quoted}}}"#) }).to_string(),
            format!(r#"{{"text":"{escaped}"}}"#),
            format!(r#"{{"text":{}}}"#, quoted.replace('/', "\\/")),
            format!("data: {{\"delta\":\"{escaped}\"}}\n\n"),
            format!("https://example.org/?q={percent}&r=1"),
            format!("encoded {} here", STANDARD.encode(format!("a note: {secret}"))),
            format!("encoded {} here", URL_SAFE_NO_PAD.encode(&secret)),
        ];
        for text in texts {
            assert!(contains_secret(&text), "{text}");
            let redacted = redactor.apply_to_json(&text);
            assert!(redacted.contains(REDACTED), "{text}");
            let decoded = redacted.replace("\\/", "/");
            assert!(!decoded.contains(core) && !contains_secret(&redacted), "{text}\n{redacted}");
            if text.starts_with('{') {
                serde_json::from_str::<serde_json::Value>(&redacted).expect("still JSON");
            }
        }
    }
}

#[test]
fn the_owners_own_key_is_found_behind_every_escape() {
    for key in
        ["wJal/XUtn+FEMI/K7", "pass<word>&more12", "pässwörtlich99", "tail\"quote\\94", "plain-word-key"]
    {
        let redactor = Redactor::new([key]).expect("builds");
        let go = |letter: char| match letter {
            '<' | '>' | '&' => format!("\\u{:04x}", u32::from(letter)),
            '"' | '\\' => format!("\\{letter}"),
            other => other.to_string(),
        };
        let python = |letter: char| match letter {
            '"' | '\\' => format!("\\{letter}"),
            letter if letter.is_ascii() => letter.to_string(),
            letter => format!("\\u{:04x}", u32::from(letter)),
        };
        let go: String = key.chars().map(go).collect();
        let python: String = key.chars().map(python).collect();
        let php = python.replace('/', "\\/");
        let all: String = key.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect();
        for spelt in [go, python, php, all] {
            let body = format!(r#"{{"choices":[{{"text":"it is {spelt}."}}]}}"#);
            let nested = serde_json::json!({ "raw": body }).to_string();
            for text in [body, nested] {
                let left = redactor.apply_to_json(&text);
                assert_eq!(left.matches(REDACTED).count(), 1, "{text}\n{left}");
                serde_json::from_str::<serde_json::Value>(&left).expect("still JSON");
                assert_eq!(redactor.apply_known(&text).matches(REDACTED).count(), 1, "{text}");
            }
        }
    }
}

#[test]
fn ordinary_names_and_sentences_are_left_alone() {
    let wrong: Vec<String> = ORDINARY
        .lines()
        .flat_map(|line| find(line).into_iter().map(move |found| format!("{line}: {}", found.form)))
        .collect();
    assert!(ORDINARY.lines().count() > 1900);
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), ORDINARY.lines().count(), wrong.join("\n"));
    // Neither as parts of longer texts.
    assert_eq!(find(&serde_json::Value::from(ORDINARY).to_string()), Vec::new());
}

#[test]
fn what_a_task_says_is_no_secret_and_a_known_key_is_one_all_the_same() {
    let redactor =
        Redactor::new(["hunter22"]).expect("builds").keeping(["The password is S0mmer-2026 or hunter22"]);
    assert_eq!(redactor.apply("The password is S0mmer-2026!"), "The password is S0mmer-2026!");
    assert_eq!(redactor.apply("password: W1nter-2027"), "password: [redacted]");
    assert_eq!(redactor.apply("hunter22"), "[redacted]");
    assert_eq!(redactor.count("password: W1nter-2027 and hunter22"), 2);
}

/// Prints how fast texts are searched; run by name in a release build, with `--ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
#[expect(clippy::disallowed_methods, reason = "a measurement")]
fn how_long_a_search_takes() {
    let line = ORDINARY.lines().take(400).collect::<Vec<_>>().join("\n");
    let line = serde_json::json!({ "text": line, "more": [1, 2, 3] }).to_string();
    let text = format!("{line}\n").repeat((4 << 20) / line.len());
    let redactor = Redactor::new(["an-owners-own-key-1234567890"]).expect("builds");
    let begun = std::time::Instant::now();
    let left = redactor.apply(&text);
    println!("{} MB in {:?}, {}", text.len() >> 20, begun.elapsed(), left.len());
}
