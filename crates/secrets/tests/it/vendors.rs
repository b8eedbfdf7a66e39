//! Keys of vendors, made up while the test runs, and names of files that begin like them.

use apprentice_secrets::{REDACTED, Redactor, find};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

const ANY: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const HEX: &str = "0123456789abcdef";
const CAPITALS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
const SMALL: &str = "abcdefghijklmnopqrstuvwxyz0123456789";

/// What stands before a key, its alphabet and length, and what stands after it.
const KEYS: [(&str, &str, usize, &str); 46] = [
    ("fw_", ANY, 24, ""),
    ("csk-", SMALL, 48, ""),
    ("pa-", ANY, 43, ""),
    ("tvly-dev-", ANY, 32, ""),
    ("fc-", HEX, 32, ""),
    ("lsv2_pt_0123456789abcdef0123456789abcdef_", HEX, 10, ""),
    ("pk-lf-01234567-89ab-cdef-0123-", HEX, 12, ""),
    ("e2b_", HEX, 40, ""),
    ("wandb_v1_", ANY, 77, ""),
    ("v1.0-0123456789abcdef01234567-", HEX, 146, ""),
    ("fm2_", ANY, 80, ""),
    ("napi_", SMALL, 64, ""),
    ("sb_secret_", ANY, 31, ""),
    ("sl.", ANY, 135, ""),
    ("1/1234567890123456:", HEX, 32, ""),
    ("shippo_live_", HEX, 40, ""),
    ("EZAK", ANY, 54, ""),
    ("EAAA", ANY, 60, ""),
    ("access_token$production$0123456789abcdef$", HEX, 32, ""),
    ("EAAC", ANY, 120, ""),
    ("secret_", ANY, 43, ""),
    ("CFPAT-", ANY, 43, ""),
    ("dt0c01.ABCDEFGHIJKLMNOPQRSTUVWX.", CAPITALS, 64, ""),
    ("sgp_", HEX, 40, ""),
    ("AKCp", ANY, 69, ""),
    ("CCIPAT_aB3dE5fG7hJ9kL1mN3pQ5r_", HEX, 40, ""),
    ("bkua_", HEX, 40, ""),
    ("HRKU-AA", ANY, 58, ""),
    ("CLOJARS_", HEX, 60, ""),
    ("pnu_", ANY, 36, ""),
    ("rdme_", HEX, 70, ""),
    ("tfp_", ANY, 59, ""),
    ("xkeysib-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef-", ANY, 16, ""),
    ("aio_", ANY, 28, ""),
    ("duffel_live_", ANY, 43, ""),
    ("SCW", CAPITALS, 17, ""),
    ("sk_", HEX, 48, ""),
    ("tskey-auth-", ANY, 45, ""),
    ("root:$6$saltsaltsalt$", ANY, 86, ":19000:0"),
    ("https://x.example/c?sv=2024&sig=", ANY, 44, "&se=1"),
    ("nsec1", "023456789acdefghjklmnpqrstuvwxyz", 58, ""),
    ("PGPASSWORD=", ANY, 9, "7 psql -h db"),
    ("DB_PASS=\"", ANY, 9, "7\""),
    ("sshpass -p '", ANY, 9, "7' ssh host"),
    ("\"auth\": \"", ANY, 22, "07\""),
    ("re_aB3dE5fG_", ANY, 24, ""),
];

/// Names of files and settings of several words, as people give them.
const NAMES: [&str; 8] = [
    "quarterly-report-draft-final-summary.txt",
    "weather_station_manual_guide_2026",
    "GardenKitchenHolidayPhotosSchedule2026.pdf",
    "meeting-minutes-team-planning-release",
    "budget_invoice_customer_address_list.ods",
    "RiskAssessmentReportWithNotesOfTheTeam.docx",
    "project-settings-of-the-second-floor.json",
    "Übersicht-der-Termine-im-nächsten-Jahr.odt",
];

/// Returns letters that follow each other without a sense, the same for the same number.
fn letters(alphabet: &str, length: usize, mut number: u64) -> String {
    let alphabet: Vec<char> = alphabet.chars().collect();
    let mut next = || {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(number >> 33).unwrap_or_default()
    };
    (0..length).map(|_| alphabet[next() % alphabet.len()]).collect()
}

#[test]
fn other_vendors_keys_are_found_in_each_spelling() {
    let redactor = Redactor::new([]).expect("builds");
    for (number, (before, alphabet, length, after)) in (1..).zip(KEYS) {
        let key = letters(alphabet, length, number);
        let text = format!("{before}{key}{after}");
        let once = STANDARD.encode(format!("a note: {text}"));
        let escaped =
            |text: &str| text.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect::<String>();
        let percent = |text: &str| text.bytes().map(|byte| format!("%{byte:02X}")).collect::<String>();
        for (spelt, kept) in [
            (format!("see {text} here"), key.clone()),
            (serde_json::json!({ "text": text }).to_string(), key.clone()),
            (format!(r#"{{"text":"{}"}}"#, escaped(&text)), escaped(&key)),
            (format!("https://q.example/?q={}", percent(&text)), percent(&key)),
            (format!("see {once} here"), once.clone()),
            (format!("see {} here", STANDARD.encode(&once)), STANDARD.encode(&once)),
        ] {
            let left = redactor.apply(&spelt);
            assert!(left.contains(REDACTED) && !left.contains(&kept), "{before}: {spelt}\n{left}");
        }
    }
}

#[test]
fn names_that_begin_like_a_key_stay_whole() {
    for (before, ..) in
        KEYS.into_iter().filter(|(before, ..)| before.len() < 12 && !before.contains(['=', '"']))
    {
        for name in NAMES {
            let text = format!("{before}{name}");
            assert_eq!(find(&text), Vec::new(), "{text}");
        }
    }
    for text in [
        "DB_PASS_FILE=/run/secrets/db",
        "PGPASSFILE=~/.pgpass",
        "OLDPWD=/home/user",
        "\"auth\": \"basic\"",
        "https://example.org/?key=name&sig=1",
        "$6 a month and $60 a year",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "call_aB3dE5fG7hJ9kL1mN3pQ5rS7",
        "toolu_01aB3dE5fG7hJ9kL1mN3pQ5r",
        "chatcmpl-aB3dE5fG7hJ9kL1mN3pQ5rS7tU9v",
    ] {
        assert_eq!(find(text), Vec::new(), "{text}");
    }
}
