//! Packages of office documents: their parts with content types and relationships, found as upstream's readers find
//! them, and read within the limits of zip archives.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use super::xml;
use super::zip_reader::Archive;

const CONTENT_TYPES: &str = "http://schemas.openxmlformats.org/package/2006/content-types";
const RELATIONS: &str = "http://schemas.openxmlformats.org/package/2006/relationships";
const OFFICE: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/";

/// What a relationship to a part that the archive lacks means.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum MissingPart {
    /// The package is broken, as python-docx has it.
    Broken,
    /// The relationship does not count, as python-pptx has it.
    Ignored,
}

/// An open package. A part is read when asked for.
pub(crate) struct Package<'a> {
    archive: RefCell<Archive<'a>>,
    parts: BTreeMap<String, Part>,
    roots: Vec<Relationship>,
}

/// A part that the package's relationships reach.
struct Part {
    content_type: String,
    relationships: Vec<Relationship>,
}

/// A relationship from the package or from a part.
#[derive(Clone, Debug)]
pub(crate) struct Relationship {
    pub(crate) id: String,
    pub(crate) kind: String,
    /// The name of the target part, or an address outside the package.
    pub(crate) target: String,
    pub(crate) is_external: bool,
}

impl<'a> Package<'a> {
    /// Opens a package and finds its parts.
    pub(crate) fn open(bytes: &'a [u8], missing: MissingPart) -> Result<Self, String> {
        let mut archive = Archive::open(bytes)?;
        let names = archive.names();
        let types = ContentTypes::read(&mut archive)?;
        let roots = relationships(&mut archive, "/")?;
        let mut parts = BTreeMap::new();
        let mut waiting: Vec<String> = targets(&roots);
        let mut seen = BTreeSet::new();
        while let Some(name) = waiting.pop() {
            if !seen.insert(name.clone()) {
                continue;
            }
            let below = relationships(&mut archive, &name)?;
            waiting.extend(targets(&below));
            if !names.contains(name.trim_start_matches('/')) {
                match missing {
                    MissingPart::Broken => return Err(format!("the part {name} is missing")),
                    MissingPart::Ignored => continue,
                }
            }
            let content_type = types.of(&name)?;
            parts.insert(name, Part { content_type, relationships: below });
        }
        Ok(Self { archive: RefCell::new(archive), parts, roots })
    }

    /// Returns the name of the main part, of which there must be exactly one.
    pub(crate) fn main_part(&self) -> Result<String, String> {
        self.of_kind(&self.roots, "officeDocument")?
            .ok_or_else(|| "the package names no main document".to_owned())
    }

    /// Returns the part to which a part has a relationship of this kind; an error if there are several.
    pub(crate) fn related(&self, part: &str, kind: &str) -> Result<Option<String>, String> {
        self.of_kind(self.relationships(part), kind)
    }

    fn of_kind(&self, relationships: &[Relationship], kind: &str) -> Result<Option<String>, String> {
        let kind = format!("{OFFICE}{kind}");
        let mut found = relationships.iter().filter(|one| one.kind == kind && self.counts(one));
        match (found.next(), found.next()) {
            (None, _) => Ok(None),
            (Some(one), None) if one.is_external => Err(format!("{} lies outside the package", one.target)),
            (Some(one), None) => Ok(Some(one.target.clone())),
            (Some(_), Some(_)) => Err(format!("several relationships of the kind {kind}")),
        }
    }

    fn counts(&self, relationship: &Relationship) -> bool {
        relationship.is_external || self.parts.contains_key(&relationship.target)
    }

    /// Returns the relationships of a part, in order.
    pub(crate) fn relationships(&self, part: &str) -> &[Relationship] {
        self.parts.get(part).map(|part| part.relationships.as_slice()).unwrap_or_default()
    }

    /// Returns the part that a relationship of a part leads to, by the relationship's name.
    pub(crate) fn target(&self, part: &str, id: &str) -> Option<String> {
        let found = self.relationships(part).iter().find(|one| one.id == id)?;
        (!found.is_external && self.counts(found)).then(|| found.target.clone())
    }

    /// Returns the names and content types of all parts.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.parts.iter().map(|(name, part)| (name.as_str(), part.content_type.as_str()))
    }

    /// Returns the content type of a part.
    pub(crate) fn content_type(&self, part: &str) -> Option<&str> {
        self.parts.get(part).map(|part| part.content_type.as_str())
    }

    /// Returns the bytes of a part.
    pub(crate) fn bytes(&self, part: &str) -> Result<Vec<u8>, String> {
        let found = self.archive.borrow_mut().read(part.trim_start_matches('/'))?;
        found.ok_or_else(|| format!("the part {part} is missing"))
    }

    /// Returns the XML text of a part.
    pub(crate) fn text(&self, part: &str) -> Result<String, String> {
        xml::decode(&self.bytes(part)?).map_err(|why| format!("{part}: {why}"))
    }
}

/// The content types of a package, by part and by file name extension, without regard to letter case.
struct ContentTypes {
    overrides: BTreeMap<String, String>,
    defaults: BTreeMap<String, String>,
}

impl ContentTypes {
    fn read(archive: &mut Archive<'_>) -> Result<Self, String> {
        let text = archive.text("[Content_Types].xml")?;
        let text = text.ok_or("no office document: it has no list of content types")?;
        let tree = xml::read(&text)?;
        let mut types = Self { overrides: BTreeMap::new(), defaults: BTreeMap::new() };
        for node in tree.root_element().children().filter(|node| node.is_element()) {
            if node.tag_name().namespace() != Some(CONTENT_TYPES) {
                continue;
            }
            let (map, key) = match node.tag_name().name() {
                "Override" => (&mut types.overrides, "PartName"),
                "Default" => (&mut types.defaults, "Extension"),
                _ => continue,
            };
            let bad = || format!("a content type lacks its {key} or its type");
            let key = node.attribute(key).ok_or_else(bad)?;
            let kind = node.attribute("ContentType").ok_or_else(bad)?;
            map.insert(key.to_lowercase(), kind.to_owned());
        }
        Ok(types)
    }

    fn of(&self, part: &str) -> Result<String, String> {
        let part = part.to_lowercase();
        let file = part.rsplit('/').next().unwrap_or_default();
        // A leading dot starts no extension.
        let extension = file.trim_start_matches('.').rsplit_once('.').map_or("", |(_, extension)| extension);
        let found = self.overrides.get(&part).or_else(|| self.defaults.get(extension));
        found.cloned().ok_or_else(|| format!("the part {part} has no content type"))
    }
}

fn targets(relationships: &[Relationship]) -> Vec<String> {
    relationships.iter().filter(|one| !one.is_external).map(|one| one.target.clone()).collect()
}

/// Reads the relationships of a part, or of the package for "/". A repeated name replaces the earlier relationship.
fn relationships(archive: &mut Archive<'_>, part: &str) -> Result<Vec<Relationship>, String> {
    let (folder, file) = part.rsplit_once('/').unwrap_or(("", part));
    let text = archive.text(format!("{folder}/_rels/{file}.rels").trim_start_matches('/'))?;
    let Some(text) = text else { return Ok(Vec::new()) };
    let tree = xml::read(&text)?;
    let mut found: Vec<Relationship> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for node in tree.root_element().children() {
        if !node.has_tag_name((RELATIONS, "Relationship")) {
            continue;
        }
        let lacks = |name: &str| format!("a relationship of {part} has no {name}");
        let attribute = |name: &str| node.attribute(name).ok_or_else(|| lacks(name));
        let is_external = node.attribute("TargetMode") == Some("External");
        let target = attribute("Target")?;
        let one = Relationship {
            id: attribute("Id")?.to_owned(),
            kind: attribute("Type")?.to_owned(),
            target: if is_external { target.to_owned() } else { resolve(folder, target) },
            is_external,
        };
        match places.get(&one.id) {
            Some(at) => found[*at] = one,
            None => {
                places.insert(one.id.clone(), found.len());
                found.push(one);
            }
        }
    }
    Ok(found)
}

/// Resolves a target relative to a folder.
fn resolve(folder: &str, target: &str) -> String {
    let whole = if target.starts_with('/') { target.to_owned() } else { format!("{folder}/{target}") };
    let mut steps: Vec<&str> = Vec::new();
    for step in whole.split('/') {
        match step {
            "" | "." => {}
            ".." => {
                steps.pop();
            }
            step => steps.push(step),
        }
    }
    format!("/{}", steps.join("/"))
}

#[cfg(test)]
mod tests {
    use super::resolve;

    #[test]
    fn targets_are_relative_to_the_folder_of_their_part() {
        assert_eq!(resolve("/ppt/slides", "../media/./a.png"), "/ppt/media/a.png");
        assert_eq!(resolve("/word", "/custom/b.xml"), "/custom/b.xml");
        assert_eq!(resolve("", "../../word/document.xml"), "/word/document.xml");
    }
}
