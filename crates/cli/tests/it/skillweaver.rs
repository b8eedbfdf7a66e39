//! A library of Python functions over Playwright, imported as functions of skills.

use std::fs;

use serde_json::Value;

use crate::place::Place;

const LIBRARY: &str = r#"
async def open_section(page, title: str):
    """
    Opens a section of the admin pages.

    Args:
        page: The page.
        title (str): The section's name.
    """
    await page.goto("/admin/")
    await page.get_by_role("menubar").get_by_role("link", name=title).click()


async def read_rows(page):
    """Reads the rows of the table."""
    rows = await page.query_selector_all("table tr")
    return [await row.inner_text() for row in rows]
"#;
const LICENCE: &str =
    "MIT License\n\nCopyright (c) 2025 Somebody\n\nPermission is hereby granted, free of charge.\n";

struct Shelf(Place);

impl Shelf {
    fn skills(&self, arguments: &[&str]) -> (Option<i32>, Value) {
        let book = self.0.path("book").to_string_lossy().into_owned();
        let output = self.0.output(&[&["skills", "--json", "--skillbook", &book], arguments].concat());
        (output.status.code(), serde_json::from_slice(&output.stdout).unwrap_or(Value::Null))
    }

    /// The number of functions in the book. None of them is verified.
    fn functions(&self) -> usize {
        let book = self.0.path("book").to_string_lossy().into_owned();
        let output = self.0.output(&["functions", "--json", "--skillbook", &book, "list"]);
        let listed: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let functions = listed["functions"].as_array().expect("a list");
        assert!(functions.iter().all(|one| one["missing"].is_string()), "{listed}");
        functions.len()
    }

    fn import(&self, more: &[&str]) -> (Option<i32>, Value) {
        let library = self.0.path("library").to_string_lossy().into_owned();
        self.skills(&[&["import", "--from", "skillweaver", &library], more].concat())
    }
}

#[test]
fn a_library_becomes_unverified_functions_with_origin_and_licence() {
    let shelf = Shelf(Place::new());
    let sites = shelf.0.path("library/sites");
    fs::create_dir_all(&sites).expect("a folder");
    fs::write(shelf.0.path("library/LICENSE"), LICENCE).expect("written");
    fs::write(sites.join("cms_kb_post_code.py"), LIBRARY).expect("written");

    let (code, told) = shelf.import(&[]);
    assert_eq!(code, Some(3), "no address of the site: {told}");
    let refused = |told: &Value, name: &str| {
        let all = told["packages"].as_array().expect("a list").clone();
        let one = all.into_iter().find(|one| one["package"] == name).expect("a package");
        one["refused"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(
        refused(&told, "cms-open-section"),
        "untranslated: cms_kb_post_code.py: line 10: an address without its site; name the site with --base"
    );

    let (code, told) = shelf.import(&["--base", "http://shop.example"]);
    assert_eq!(code, Some(0), "{told}");
    assert_eq!(refused(&told, "cms-open-section"), "");
    let rows = refused(&told, "cms-read-rows");
    assert!(rows.starts_with("untranslated: cms_kb_post_code.py: line 16: `query_selector_all`"), "{rows}");

    let out = shelf.0.path("out").to_string_lossy().into_owned();
    assert_eq!(shelf.skills(&["export", &out]).0, Some(0));
    let read =
        |name: &str| fs::read_to_string(shelf.0.path("out/cms-open-section").join(name)).expect("a file");
    assert_eq!(read("LICENSE"), LICENCE);
    let page = read("SKILL.md");
    assert!(page.contains("MIT License, whole in LICENSE"), "{page}");
    assert!(page.contains("SkillWeaver, cms_kb_post_code.py, open_section"), "{page}");
    assert!(read("functions/open_section.fn").contains("page.goto(\"http://shop.example\" + \"/admin/\");"));

    assert_eq!(shelf.functions(), 1);
}

#[test]
fn what_is_not_python_is_listed_with_its_line_and_the_rest_is_imported() {
    let shelf = Shelf(Place::new());
    fs::create_dir_all(shelf.0.path("library")).expect("a folder");
    let write =
        |name: &str, text: &str| fs::write(shelf.0.path("library").join(name), text).expect("written");
    write("map_code.py", &format!("{LIBRARY}\n\nasync def broken(page:\n    return 1\n"));
    write("shop_code.py", "x = = 1\n\nasync def open(page):\n    pass\n");
    let (code, told) = shelf.import(&["--base", "http://shop.example"]);
    assert_eq!(code, Some(0), "{told}");
    let all: Vec<String> = told["packages"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| {
            format!(
                "{}: {}",
                one["package"].as_str().expect("a name"),
                one["refused"].as_str().unwrap_or("in")
            )
        })
        .collect();
    assert_eq!(all.len(), 4, "{all:#?}");
    assert!(all[0].starts_with("map-read-rows: untranslated: map_code.py: line 16: "), "{all:#?}");
    assert_eq!(all[1], "map-broken: untranslated: map_code.py: line 20: not Python: '(' was never closed");
    assert!(all[2].starts_with("shop: untranslated: shop_code.py: line 1: not Python: "), "{all:#?}");
    assert_eq!((all[3].as_str(), shelf.functions()), ("map-open-section: in", 1));
}
