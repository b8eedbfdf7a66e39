//! Reads which file of the workspace imports which, from the `use` lines and the paths in the code.
//!
//! A name that a module passes on (`pub use`) counts as an import from the file that defines it, so a module's face hides
//! no circle. Test modules are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use syn::buffer::{Cursor, TokenBuffer};
use syn::visit::{self, Visit};

use crate::signatures::tuple_parameters;

/// One file's import of a name that another file defines.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Edge {
    from: String,
    to: String,
    name: String,
}

/// Files, or files and folders, that import each other, directly or through others.
#[derive(Debug)]
pub(crate) struct Circle {
    pub(crate) files: Vec<String>,
    /// One line for each import that ties them.
    pub(crate) ties: Vec<String>,
}

/// The modules of the workspace's crates.
///
/// Parsing all of them takes seconds in a debug build, so whatever is asked of the code by its syntax is asked of one reading.
pub(crate) struct House {
    root: PathBuf,
    modules: Vec<Module>,
    by_path: BTreeMap<Vec<String>, usize>,
    /// Parameters of shipped functions that are tuples, as `file: function: parameter`.
    tuple_parameters: Vec<String>,
}

/// One module: what it defines, imports and names.
struct Module {
    /// The crate's name first.
    path: Vec<String>,
    file: String,
    items: BTreeSet<String>,
    imports: Vec<Import>,
    /// Paths in the code, as they are written.
    named: Vec<Vec<String>>,
}

struct Import {
    path: Vec<String>,
    /// The name it has here; `*` for all.
    alias: String,
    passed_on: bool,
}

/// Where a path leads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Target {
    Module(usize),
    ItemOf(usize),
}

impl House {
    /// Reads every crate below `crates/`.
    pub(crate) fn read(root: &Path) -> Self {
        let mut house = Self {
            root: root.to_owned(),
            modules: Vec::new(),
            by_path: BTreeMap::new(),
            tuple_parameters: Vec::new(),
        };
        for entry in fs::read_dir(root.join("crates")).expect("crates").flatten() {
            let source = entry.path().join("src");
            let name = format!("apprentice_{}", entry.file_name().to_string_lossy().replace('-', "_"));
            let top = ["lib.rs", "main.rs"].map(|file| source.join(file));
            for file in top.iter().filter(|file| file.is_file()) {
                house.file(file, &source, vec![name.clone()]);
            }
        }
        house
    }

    fn file(&mut self, file: &Path, below: &Path, path: Vec<String>) {
        let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let code = shipped_code(&text);
        let parsed = syn::parse_file(&code).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let name = file.strip_prefix(&self.root).expect("inside").to_string_lossy().into_owned();
        let tuples = tuple_parameters(&parsed).into_iter().map(|parameter| format!("{name}: {parameter}"));
        self.tuple_parameters.extend(tuples);
        self.module(&name, below, path, &parsed.items);
    }

    fn module(&mut self, file: &str, below: &Path, path: Vec<String>, items: &[syn::Item]) {
        let mut module = Module {
            path: path.clone(),
            file: file.to_owned(),
            items: BTreeSet::new(),
            imports: Vec::new(),
            named: Vec::new(),
        };
        for item in items.iter().filter(|item| !is_test(attributes(item))) {
            if let syn::Item::Mod(child) = item {
                let inner = [path.clone(), vec![child.ident.to_string()]].concat();
                let folder = below.join(child.ident.to_string());
                match &child.content {
                    Some((_, items)) => self.module(file, &folder, inner, items),
                    None => {
                        let found = [folder.with_extension("rs"), folder.join("mod.rs")];
                        let place = found.iter().find(|file| file.is_file());
                        self.file(place.unwrap_or_else(|| panic!("{inner:?}")), &folder, inner);
                    }
                }
                continue;
            }
            if let Some(name) = defined(item) {
                module.items.insert(name);
            }
            if let syn::Item::Use(line) = item {
                let passed_on = !matches!(line.vis, syn::Visibility::Inherited);
                flatten(&line.tree, &mut Vec::new(), passed_on, &mut module.imports);
            } else {
                Named(&mut module.named).visit_item(item);
            }
        }
        self.by_path.insert(path, self.modules.len());
        self.modules.push(module);
    }

    /// Parameters of shipped functions that are tuples, as `file: function: parameter`.
    pub(crate) fn tuple_parameters(&self) -> &[String] {
        &self.tuple_parameters
    }

    /// Every import of one file from another, each once.
    pub(crate) fn edges(&self) -> Vec<Edge> {
        let mut edges = BTreeSet::new();
        for (index, module) in self.modules.iter().enumerate() {
            let imported =
                module.imports.iter().filter(|import| !import.passed_on).map(|import| &import.path);
            for path in imported.chain(&module.named) {
                let Some(Target::ItemOf(target)) = self.resolve(index, path, 0) else { continue };
                let name = path.last();
                let to = &self.modules[target].file;
                if *to != module.file {
                    let name = name.cloned().unwrap_or_default();
                    edges.insert(Edge { from: module.file.clone(), to: to.clone(), name });
                }
            }
        }
        edges.into_iter().collect()
    }

    fn resolve(&self, at: usize, path: &[String], depth: usize) -> Option<Target> {
        if depth > 12 {
            return None;
        }
        let own = &self.modules[at].path;
        let (first, rest) = path.split_first()?;
        let start = match first.as_str() {
            "crate" => vec![own[0].clone()],
            "self" => own.clone(),
            "super" => {
                let ups = path.iter().take_while(|part| *part == "super").count();
                let above = own.get(..own.len().checked_sub(ups)?)?.to_vec();
                return self.walk(*self.by_path.get(&above)?, &path[ups..], depth);
            }
            name if name.starts_with("apprentice_") => vec![name.to_owned()],
            _ => return self.walk_local(at, path, depth),
        };
        self.walk(*self.by_path.get(&start)?, rest, depth)
    }

    /// A path that begins with a name of this module: only of interest where the name is a child or was imported.
    fn walk_local(&self, at: usize, path: &[String], depth: usize) -> Option<Target> {
        if path.len() < 2 {
            return None;
        }
        self.walk(at, path, depth)
    }

    fn walk(&self, at: usize, path: &[String], depth: usize) -> Option<Target> {
        let Some((first, rest)) = path.split_first() else { return Some(Target::Module(at)) };
        let module = &self.modules[at];
        let child = [module.path.clone(), vec![first.clone()]].concat();
        if let Some(child) = self.by_path.get(&child) {
            return self.walk(*child, rest, depth);
        }
        if module.items.contains(first) {
            return Some(Target::ItemOf(at));
        }
        for import in module.imports.iter().filter(|import| import.alias == *first) {
            match self.resolve(at, &import.path, depth + 1) {
                Some(Target::Module(found)) => return self.walk(found, rest, depth + 1),
                Some(found) => return Some(found),
                None => {}
            }
        }
        for import in module.imports.iter().filter(|import| import.alias == "*") {
            if let Some(Target::Module(found)) = self.resolve(at, &import.path, depth + 1)
                && let Some(found) = self.walk(found, path, depth + 1)
            {
                return Some(found);
            }
        }
        None
    }

    /// Groups of files that import each other. What a file takes from a module that holds it is no tie.
    pub(crate) fn circles(&self) -> Vec<Circle> {
        let above = self.above();
        let is_tie = |edge: &Edge| !above.get(&edge.from).is_some_and(|above| above.contains(&edge.to));
        circles_of(self.edges().into_iter().filter(is_tie).map(|edge| Tie {
            from: edge.from.clone(),
            to: edge.to.clone(),
            edge,
        }))
    }

    /// Groups of files and folders of one folder that import each other, whatever is below the folders.
    pub(crate) fn folder_circles(&self) -> Vec<Circle> {
        circles_of(self.edges().into_iter().filter_map(|edge| {
            let (from, to) = neighbours(&edge.from, &edge.to)?;
            Some(Tie { from, to, edge })
        }))
    }

    /// What a module takes from the file that opens its crate.
    pub(crate) fn taken_from_roots(&self) -> Vec<String> {
        let crate_of = |file: &str| file.split("/src/").next().unwrap_or_default().to_owned();
        let is_root = |file: &str| file.ends_with("/src/lib.rs") || file.ends_with("/src/main.rs");
        let edges = self.edges().into_iter();
        edges
            .filter(|edge| is_root(&edge.to) && crate_of(&edge.from) == crate_of(&edge.to))
            .map(|edge| format!("{} takes {} from {}", edge.from, edge.name, edge.to))
            .collect()
    }

    /// For each file the files of the modules that hold it.
    fn above(&self) -> BTreeMap<String, BTreeSet<String>> {
        let mut above: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for module in &self.modules {
            for length in 1..module.path.len() {
                if let Some(index) = self.by_path.get(&module.path[..length]) {
                    above.entry(module.file.clone()).or_default().insert(self.modules[*index].file.clone());
                }
            }
        }
        above
    }
}

/// Returns a file's text without its test module and its comments, which take the parser as long as code does.
fn shipped_code(text: &str) -> String {
    let shipped = text.find("#[cfg(test)]\nmod tests {").map_or(text, |at| &text[..at]);
    shipped.lines().filter(|line| !line.trim_start().starts_with("//")).fold(
        String::with_capacity(shipped.len()),
        |mut code, line| {
            code.push_str(line);
            code.push('\n');
            code
        },
    )
}

/// An import, and the two units of the house that it ties.
struct Tie {
    from: String,
    to: String,
    edge: Edge,
}

/// Returns the nearest folders or files of one folder that hold these two files: `None` where one holds the other, or they are
/// of two crates. A module's face (`mod.rs`, or `name.rs` beside the folder `name`) is its folder.
fn neighbours(from: &str, to: &str) -> Option<(String, String)> {
    let [from, to] = [from, to].map(unit_path);
    let shared = from.iter().zip(&to).take_while(|(one, other)| one == other).count();
    // The first three parts are `crates`, the crate's name and `src`.
    if shared < 3 || shared == from.len() || shared == to.len() {
        return None;
    }
    Some((from[..=shared].join("/"), to[..=shared].join("/")))
}

fn unit_path(file: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = file.split('/').collect();
    let last = parts.pop().unwrap_or_default();
    if !["mod.rs", "lib.rs", "main.rs"].contains(&last) {
        parts.push(last.trim_end_matches(".rs"));
    }
    parts
}

fn circles_of(ties: impl Iterator<Item = Tie>) -> Vec<Circle> {
    let ties: Vec<Tie> = ties.collect();
    let mut next: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for tie in &ties {
        next.entry(&tie.from).or_default().insert(&tie.to);
    }
    let reach: BTreeMap<&str, BTreeSet<&str>> =
        next.keys().map(|from| (*from, reachable(from, &next))).collect();
    let mut circles = Vec::new();
    let mut seen = BTreeSet::new();
    for unit in reach.keys().filter(|unit| reach[**unit].contains(**unit)) {
        if seen.contains(unit) {
            continue;
        }
        let units: Vec<&str> = reach[unit]
            .iter()
            .copied()
            .filter(|other| reach.get(other).is_some_and(|back| back.contains(unit)))
            .collect();
        seen.extend(units.iter().copied());
        let is_inside = |tie: &&Tie| units.contains(&&*tie.from) && units.contains(&&*tie.to);
        let line = |tie: &Tie| format!("{} -> {}: {}", tie.edge.from, tie.edge.to, tie.edge.name);
        circles.push(Circle {
            ties: ties.iter().filter(is_inside).map(line).collect(),
            files: units.iter().map(|unit| (*unit).to_owned()).collect(),
        });
    }
    circles
}

fn reachable<'a>(from: &str, next: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut open: Vec<&'a str> = next.get(from).into_iter().flatten().copied().collect();
    while let Some(file) = open.pop() {
        if found.insert(file) {
            open.extend(next.get(file).into_iter().flatten().copied());
        }
    }
    found
}

fn flatten(tree: &syn::UseTree, before: &mut Vec<String>, passed_on: bool, into: &mut Vec<Import>) {
    match tree {
        syn::UseTree::Path(path) => {
            before.push(path.ident.to_string());
            flatten(&path.tree, before, passed_on, into);
            before.pop();
        }
        syn::UseTree::Group(group) => {
            for tree in &group.items {
                flatten(tree, before, passed_on, into);
            }
        }
        syn::UseTree::Name(name) if name.ident == "self" => {
            let alias = before.last().cloned().unwrap_or_default();
            into.push(Import { path: before.clone(), alias, passed_on });
        }
        syn::UseTree::Name(name) => {
            let alias = name.ident.to_string();
            into.push(Import { path: [before.clone(), vec![alias.clone()]].concat(), alias, passed_on });
        }
        syn::UseTree::Rename(rename) => {
            let mut path = before.clone();
            if rename.ident != "self" {
                path.push(rename.ident.to_string());
            }
            into.push(Import { path, alias: rename.rename.to_string(), passed_on });
        }
        syn::UseTree::Glob(_) => into.push(Import { path: before.clone(), alias: "*".to_owned(), passed_on }),
    }
}

/// Gathers paths of two names and more.
struct Named<'a>(&'a mut Vec<Vec<String>>);

impl<'ast> Visit<'ast> for Named<'_> {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        let parts: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if parts.len() > 1 && path.leading_colon.is_none() {
            self.0.push(parts);
        }
        visit::visit_path(self, path);
    }

    fn visit_item_use(&mut self, line: &'ast syn::ItemUse) {
        let mut imports = Vec::new();
        flatten(&line.tree, &mut Vec::new(), false, &mut imports);
        self.0.extend(imports.into_iter().map(|import| import.path));
    }

    /// What a macro is given is tokens to the parser: each run of names joined by `::` is taken for a path.
    fn visit_macro(&mut self, mac: &'ast syn::Macro) {
        paths_in(TokenBuffer::new2(mac.tokens.clone()).begin(), self.0);
        visit::visit_macro(self, mac);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !is_test(&item.attrs) {
            visit::visit_impl_item_fn(self, item);
        }
    }
}

/// Gathers the paths of two names and more among tokens, those in brackets included.
fn paths_in(mut cursor: Cursor<'_>, into: &mut Vec<Vec<String>>) {
    let mut path: Vec<String> = Vec::new();
    let mut keep = |path: &mut Vec<String>| {
        let path = std::mem::take(path);
        if path.len() > 1 {
            into.push(path);
        }
    };
    while !cursor.eof() {
        if let Some((name, after)) = cursor.ident() {
            path.push(name.to_string());
            match joint(after) {
                Some(after) => cursor = after,
                None => {
                    keep(&mut path);
                    cursor = after;
                }
            }
            continue;
        }
        keep(&mut path);
        if let Some((inner, _, _, after)) = cursor.any_group() {
            let mut nested = Vec::new();
            paths_in(inner, &mut nested);
            nested.iter_mut().for_each(&mut keep);
            cursor = after;
        } else if let Some((_, after)) = cursor.token_tree() {
            cursor = after;
        }
    }
    keep(&mut path);
}

/// Returns what follows `::`, if that comes next.
fn joint(cursor: Cursor<'_>) -> Option<Cursor<'_>> {
    let (first, after) = cursor.punct()?;
    let (second, after) = after.punct()?;
    (first.as_char() == ':' && second.as_char() == ':').then_some(after)
}

/// Returns whether an item is compiled for tests only.
pub(crate) fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let mut found = false;
        if attribute.path().is_ident("cfg") {
            let _ = attribute.parse_nested_meta(|meta| {
                found |= meta.path.is_ident("test");
                Ok(())
            });
        }
        found
    })
}

fn attributes(item: &syn::Item) -> &[syn::Attribute] {
    match item {
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        syn::Item::Const(item) => &item.attrs,
        _ => &[],
    }
}

fn defined(item: &syn::Item) -> Option<String> {
    Some(
        match item {
            syn::Item::Const(item) => &item.ident,
            syn::Item::Enum(item) => &item.ident,
            syn::Item::Fn(item) => &item.sig.ident,
            syn::Item::Static(item) => &item.ident,
            syn::Item::Struct(item) => &item.ident,
            syn::Item::Trait(item) => &item.ident,
            syn::Item::Type(item) => &item.ident,
            syn::Item::Union(item) => &item.ident,
            syn::Item::Macro(item) => item.ident.as_ref()?,
            _ => return None,
        }
        .to_string(),
    )
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{Circle, House};

    /// Writes a crate of these files.
    fn house(files: &[(&str, &str)]) -> (tempfile::TempDir, House) {
        let root = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            let path = root.path().join("crates/one/src").join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, text).expect("written");
        }
        let house = House::read(root.path());
        (root, house)
    }

    fn names(circles: &[Circle]) -> Vec<Vec<String>> {
        let short = |name: &String| name.replace("crates/one/src/", "");
        circles.iter().map(|circle| circle.files.iter().map(short).collect()).collect()
    }

    fn circles(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        names(&house(files).1.circles())
    }

    #[test]
    fn a_circle_is_found_through_a_face_a_path_and_a_third_file() {
        let lib = ("lib.rs", "mod a; mod b; mod c; pub use b::B;");
        let direct = [
            lib,
            ("a.rs", "use crate::B; pub struct A;"),
            ("b.rs", "pub struct B(super::a::A);"),
            ("c.rs", ""),
        ];
        assert_eq!(circles(&direct), [["a.rs", "b.rs"]]);
        let round = [
            lib,
            ("a.rs", "use super::{b::B, c}; pub struct A; fn f() { c::g() }"),
            ("b.rs", "pub struct B; fn f(_: crate::a::A) {}"),
            ("c.rs", "pub fn g() { let _ = crate::B; }"),
        ];
        assert_eq!(circles(&round), [["a.rs", "b.rs", "c.rs"]]);
    }

    #[test]
    fn a_module_and_its_children_and_tests_are_no_circle() {
        let parent = [
            ("lib.rs", "mod a;"),
            ("a/mod.rs", "mod b; pub struct A; fn f() { b::g() }"),
            ("a/b.rs", "use super::A; pub fn g() { let _ = A; }"),
        ];
        assert!(circles(&parent).is_empty());
        let tested = [
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "pub struct A; #[cfg(test)] mod tests { use crate::b::B; }"),
            ("b.rs", "use crate::a::A; pub struct B(A);"),
        ];
        assert!(circles(&tested).is_empty());
    }

    #[test]
    fn a_path_within_a_macro_is_an_import() {
        for code in [
            "format!(\"{}\", crate::a::f())",
            "json!({\"x\": [super::a::f()]})",
            "select! { x = crate::a::f() => x }",
        ] {
            let text = format!("pub fn g() {{ {code}; }}");
            let files = [
                ("lib.rs", "mod a; mod b;"),
                ("a.rs", "use crate::b::g; pub fn f() { g() }"),
                ("b.rs", text.as_str()),
            ];
            assert_eq!(circles(&files), [["a.rs", "b.rs"]], "{code}");
        }
    }

    #[test]
    fn folders_that_import_each_other_are_found_where_no_files_do() {
        let files = [
            ("lib.rs", "mod one; mod two; mod three;"),
            ("one/mod.rs", "mod a; mod b; pub use b::B;"),
            ("one/a.rs", "use crate::two::C; pub struct A(C);"),
            ("one/b.rs", "pub struct B;"),
            ("two.rs", "mod d; pub struct C;"),
            ("two/d.rs", "pub struct D(crate::one::B);"),
            ("three.rs", "pub struct E(crate::one::B);"),
        ];
        let (_root, house) = house(&files);
        assert!(house.circles().is_empty());
        assert_eq!(names(&house.folder_circles()), [["one", "two"]]);
    }

    #[test]
    fn what_a_folder_holds_may_import_it_and_its_files() {
        let files = [
            ("lib.rs", "mod one; mod two;"),
            ("one/mod.rs", "mod a; mod b; pub struct X; fn f() { b::c::g() }"),
            ("one/a.rs", "pub struct A;"),
            ("one/b/mod.rs", "pub mod c;"),
            ("one/b/c.rs", "use crate::one::{X, a::A}; pub fn g() { let _ = (A, X); }"),
            ("two.rs", "pub fn h() { crate::one::b::c::g() }"),
        ];
        assert!(house(&files).1.folder_circles().is_empty());
    }

    #[test]
    fn what_a_crate_s_root_defines_is_for_others() {
        let files = [
            ("lib.rs", "mod a; mod b; pub use b::B; pub struct X;"),
            ("a.rs", "use crate::{B, X};"),
            ("b.rs", "pub struct B;"),
        ];
        let taken = house(&files).1.taken_from_roots();
        assert_eq!(taken, ["crates/one/src/a.rs takes X from crates/one/src/lib.rs"]);
    }
}
