//! What the program says to models, listed, written out, changed, and taken at its word.

use crate::models::apprentice;

#[test]
fn prompts_are_written_out_changed_and_compared() {
    let home = tempfile::tempdir().expect("a home");
    let run = |arguments: &[&str]| apprentice(home.path(), arguments, &[]);
    let (code, listed, told) = run(&["prompts", "list"]);
    assert_eq!(code, 0, "{told}");
    for line in ["agent/system", "agent/task           {instruction}", "skills/reflect", "student/qwen"] {
        assert!(listed.contains(line), "{listed}");
    }
    let (code, written, _) = run(&["prompts", "export", "mine"]);
    assert_eq!((code, written.lines().count()), (0, listed.lines().count()));
    let (code, same, _) = run(&["prompts", "diff", "mine"]);
    assert_eq!((code, same.as_str()), (0, ""), "what was written out changes nothing");

    let system = home.path().join("mine/agent/system.md");
    let text = std::fs::read_to_string(&system).expect("a text");
    std::fs::write(&system, text.replacen("one task", "one errand", 1)).expect("writes");
    let (_, changed, _) = run(&["prompts", "diff", "mine"]);
    assert!(
        changed.contains("--- agent/system")
            && changed.contains("+You operate")
            && changed.contains("errand"),
        "{changed}"
    );
    let (_, listed, _) = run(&["prompts", "list", "--prompts", "mine"]);
    assert!(
        listed.lines().any(|line| line.starts_with("agent/system") && line.ends_with("(replaced)")),
        "{listed}"
    );
    let (_, again, told) = run(&["prompts", "export", "mine"]);
    assert_eq!(again, "", "what a person edited is left alone");
    assert!(told.contains("is kept"), "{told}");
}

#[test]
fn a_text_that_leaves_out_or_makes_up_is_refused() {
    let home = tempfile::tempdir().expect("a home");
    let folder = home.path().join("mine/agent");
    std::fs::create_dir_all(&folder).expect("a folder");
    for (file, text, words) in [
        (
            "task.md",
            "Do {instruction} for {person}.",
            "line 1: nothing fills in {person}; there is {instruction}",
        ),
        ("task.md", "Do it.", "{instruction} is missing"),
        ("system.md", "\n", "the text is empty"),
        ("sytem.md", "x", "did you mean \"agent/system\"?"),
    ] {
        let path = folder.join(file);
        std::fs::write(&path, text).expect("writes");
        let asked = ["models", "check", "builtin/novice", "--prompts", "mine"];
        let (code, _, told) = apprentice(home.path(), &asked, &[]);
        assert_eq!(code, 3, "{told}");
        assert!(told.contains(words), "{told}");
        std::fs::remove_file(&path).expect("removes");
    }
}
