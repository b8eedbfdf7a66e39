//! What the static checks refuse, with the line and the remedy.

use apprentice_functions::{ParameterKind, Source, SourceConstant, Surface};
use serde_json::json;

use crate::driver::function;

const GOOD: &str = r#"/// Sets the e-mail address of a person in the address book.
/// The list of people must be open.
/// - name (text): the person's full name
/// - email (text): the new address
/// Example: set_email("Ann Lee", "ann@example.org")
fn set_email(page, name, email) {
    page.get_by_role("link", name).click();
    page.get_by_label("E-mail").fill(email);
    page.get_by_role("button", "Save").click();
    expect(page.get_by_text("Saved")).to_be_visible();
}
"#;

fn violations(text: &str) -> Vec<String> {
    match Source::read(text, &[]) {
        Ok(_) => Vec::new(),
        Err(found) => found.iter().map(ToString::to_string).collect(),
    }
}

#[test]
fn a_good_function_has_a_signature_and_a_schema() {
    let source = Source::read(GOOD, &[]).unwrap_or_else(|found| panic!("{found:?}"));
    let signature = source.signature();
    assert_eq!((signature.name.as_str(), signature.surface), ("set_email", Surface::Page));
    assert_eq!(
        signature.about,
        "Sets the e-mail address of a person in the address book. The list of people must be open."
    );
    assert_eq!(signature.parameters[1].kind, ParameterKind::Text);
    assert_eq!(source.example(), json!({ "name": "Ann Lee", "email": "ann@example.org" }));
    let schema = signature.schema();
    assert_eq!(schema["required"], json!(["name", "email"]));
    assert_eq!(schema["properties"]["email"]["description"], "the new address");
    assert!(signature.told().starts_with("set_email(name: text, email: text)\n"), "{}", signature.told());
}

/// Each broken function, and words of the one violation that names it.
#[test]
fn each_broken_rule_is_named_with_its_line_and_a_remedy() {
    let cases = [
        (
            function("", "    page.get_by_role(\"button\", \"A\").clik();"),
            "line 4: there is no method clik; the methods are",
        ),
        (function("", "    page.press(\"enter\")\n    page.press(\"tab\");"), "it cannot be read"),
        (
            function("", "    fetch(\"http://a\"); page.press(\"enter\");"),
            "line 4: there is no function fetch",
        ),
        (function("name", "    page.press(\"enter\");"), "the parameter name is not used"),
        (function("", "    let a = \"x\"; page.press(\"enter\");"), "line 4: a is set and never used"),
        (function("", "    page.press(keys);"), "line 4: it cannot be read: Undefined variable: keys"),
        (function("", "    while true { page.press(\"enter\"); }"), "line 4: it cannot be read"),
        (function("", "    loop { page.press(\"enter\"); }"), "line 4: it cannot be read"),
        (function("", "    try { page.press(\"enter\"); } catch {}"), "line 4: it cannot be read"),
        (function("", "    eval(\"1\"); page.press(\"enter\");"), "line 4: it cannot be read"),
        (function("", "    let f = |x| x; page.press(\"enter\");"), "line 4: it cannot be read"),
        (function("", "    do_it(page); page.press(\"enter\");"), "line 4: the function calls itself"),
        (function("", "    page.press(#{a: 1});"), "line 4: an object literal"),
        (function("", "    let a = page.url; page.press(a);"), "line 4: url is no property"),
        (
            function("", "    page.get_by_role(\"button\", \"A\").is_visible();"),
            "the function does nothing in the world",
        ),
        (
            GOOD.replace("(page, name", "(browser, name").replace("page.", "browser."),
            "neither page nor desktop",
        ),
        (GOOD.replace("/// - email (text): the new address\n", ""), "the comment does not describe email"),
        (
            GOOD.replace("(text): the new", "(string): the new"),
            "\"string\" is no kind; use one of: text, number, yes/no",
        ),
        (
            GOOD.replace("/// Example: set_email(\"Ann Lee\", \"ann@example.org\")\n", ""),
            "no example of a call",
        ),
        (GOOD.replace(", \"ann@example.org\")", ")"), "the example has another number of arguments"),
        (GOOD.replace("\"ann@example.org\"", "7"), "is a text, not 7"),
        (GOOD.replace("fn set_email", "fn setEmail"), "\"setEmail\" is no name for a function"),
        (format!("{GOOD}\nfn other(page) {{ page.press(\"enter\"); }}"), "there are 2 functions"),
        (format!("let a = 1;\n{GOOD}"), "something stands outside the function"),
        ("/".repeat(9000), "more than 8000 characters"),
        (String::new(), "there are 0 functions"),
    ];
    for (text, expected) in cases {
        let found = violations(&text);
        assert!(
            found.iter().any(|one| one.contains(expected)),
            "{text}\nexpected {expected}, found {found:#?}"
        );
        assert!(found.iter().all(|one| one.contains("; ")), "a remedy: {found:?}");
    }
}

#[test]
fn a_value_of_the_source_task_is_refused_wherever_it_stands() {
    let constant = |value: &str| SourceConstant { value: value.into(), from: "the instruction".into() };
    let constants = [constant("Zoe Park"), constant("4711"), constant("an")];
    let refused = |text: &str| match Source::read(text, &constants) {
        Ok(_) => None,
        Err(found) => Some(found.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")),
    };
    assert_eq!(refused(GOOD), None, "a short value stands in many words");
    for text in [
        GOOD.replace("\"Save\"", "\"Save zoe park\""),
        GOOD.replace("Ann Lee", "Zoe Park"),
        GOOD.replace("the new address", "the new address, of Zoe Park for example"),
        GOOD.replace("\"link\", name)", "\"link\", name + `Zoe Park`)"),
    ] {
        let told = refused(&text).unwrap_or_else(|| panic!("{text}"));
        assert!(told.contains("\"Zoe Park\" is a value of the instruction; make it an argument"), "{told}");
    }
    assert!(refused(&GOOD.replace("(email)", "(email + `${4711}`)")).is_some(), "a number");
    assert_eq!(refused(&GOOD.replace("Saved", "Zoe Parkins")), None, "part of another word");
}
