//! A text document of the OpenDocument format (odt), read as odfpy reads it.

use std::collections::BTreeMap;

use roxmltree::{Document, Node};

use crate::evidence::FileRef;
use crate::readers::xml;
use crate::readers::zip_reader::Archive;

const OFFICE: &str = "urn:oasis:names:tc:opendocument:xmlns:office:1.0";
const TEXT: &str = "urn:oasis:names:tc:opendocument:xmlns:text:1.0";
const STYLE: &str = "urn:oasis:names:tc:opendocument:xmlns:style:1.0";
const FO: &str = "urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0";
const MANIFEST: &str = "urn:oasis:names:tc:opendocument:xmlns:manifest:1.0";
/// Parts that odfpy reads; everything outside these elements of them is ignored.
const SECTIONS: [&str; 8] =
    ["automatic-styles", "body", "font-face-decls", "master-styles", "meta", "scripts", "settings", "styles"];

/// The parts of a text document that hold text and styles.
pub(super) struct OpenText {
    parts: Vec<String>,
}

impl OpenText {
    /// Opens a document: the manifest decides which of its parts are read.
    pub(super) fn open(file: &FileRef) -> Result<Self, String> {
        let failed = |why: String| format!("{}: {why}", file.name);
        let mut archive = Archive::open(&file.bytes).map_err(failed)?;
        let manifest = archive.text("META-INF/manifest.xml").map_err(failed)?;
        let manifest = manifest.ok_or_else(|| failed("it has no manifest".into()))?;
        let listed = entries(&manifest).map_err(failed)?;
        let names = archive.names();
        for name in listed.iter().filter(|name| !name.ends_with('/') && !name.starts_with("Object ")) {
            let is_text = matches!(name.as_str(), "settings.xml" | "meta.xml" | "content.xml" | "styles.xml");
            if !is_text && !names.contains(name) {
                return Err(failed(format!("{name} is missing")));
            }
        }
        let mut parts = Vec::new();
        for name in ["content.xml", "styles.xml"] {
            if !listed.iter().any(|listed| listed == name) {
                continue;
            }
            let Some(text) = archive.text(name).map_err(failed)? else { continue };
            xml::read(&text).map_err(|why| failed(format!("{name}: {why}")))?;
            parts.push(text);
        }
        Ok(Self { parts })
    }

    fn trees(&self) -> impl Iterator<Item = Result<Document<'_>, String>> {
        self.parts.iter().map(|text| xml::read(text))
    }

    /// Returns the texts of all paragraphs: their own and that of their spans.
    pub(super) fn texts(&self) -> Result<Vec<String>, String> {
        let mut texts = Vec::new();
        for tree in self.trees() {
            let tree = tree?;
            let paragraphs = sections(&tree).flat_map(|node| node.descendants());
            texts.extend(paragraphs.filter(|node| node.has_tag_name((TEXT, "p"))).map(paragraph_text));
        }
        Ok(texts)
    }

    /// Returns whether the automatic style of any span has this background colour.
    pub(super) fn has_span_background(&self, color: &str) -> Result<bool, String> {
        let mut backgrounds: BTreeMap<String, bool> = BTreeMap::new();
        let mut spans: Vec<String> = Vec::new();
        for tree in self.trees() {
            let tree = tree?;
            for section in sections(&tree) {
                if section.has_tag_name((OFFICE, "automatic-styles")) {
                    for style in section.children().filter(Node::is_element) {
                        let Some(name) = style.attribute((STYLE, "name")) else { continue };
                        let has =
                            |node: Node<'_, '_>| node.attribute((FO, "background-color")) == Some(color);
                        let found = style.children().any(has);
                        *backgrounds.entry(name.to_owned()).or_default() |= found;
                    }
                }
                let inner = section.descendants().filter(|node| node.has_tag_name((TEXT, "span")));
                spans
                    .extend(inner.filter_map(|node| node.attribute((TEXT, "style-name"))).map(str::to_owned));
            }
        }
        Ok(spans.iter().any(|name| backgrounds.get(name).copied().unwrap_or_default()))
    }
}

fn entries(manifest: &str) -> Result<Vec<String>, String> {
    let tree = xml::read(manifest)?;
    let entries = tree.descendants().filter(|node| node.has_tag_name((MANIFEST, "file-entry")));
    Ok(entries.filter_map(|node| node.attribute((MANIFEST, "full-path"))).map(str::to_owned).collect())
}

fn sections<'d, 'i>(tree: &'d Document<'i>) -> impl Iterator<Item = Node<'d, 'i>> {
    let is_section = |node: &Node<'_, '_>| {
        node.tag_name().namespace() == Some(OFFICE) && SECTIONS.contains(&node.tag_name().name())
    };
    tree.root_element().children().filter(is_section)
}

fn paragraph_text(paragraph: Node<'_, '_>) -> String {
    let mut text = String::new();
    for node in paragraph.children() {
        if node.is_text() {
            text.push_str(node.text().unwrap_or_default());
        } else if node.has_tag_name((TEXT, "span")) {
            text.extend(node.children().filter(Node::is_text).filter_map(|inner| inner.text()));
        }
    }
    text
}
