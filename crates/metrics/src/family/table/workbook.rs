//! An Excel workbook: its sheets, shared strings and raw cells.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use roxmltree::Node;

use super::style::Styles;
use crate::evidence::FileRef;
use crate::readers::cell_ref::{self, CellRef};
use crate::readers::xml;
use crate::readers::zip_reader::Archive;
use crate::scoring::CompatProbe;

const RELATIONS: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";

/// Maximum number of sheets of a workbook.
const SHEETS: usize = 2_000;
/// Maximum total bytes of parts returned for parsing, repetitions included, and of shared strings copied into cells.
const PARTS: usize = 1 << 30;
const COPIES: usize = 96 << 20;

/// A sheet's entry in the workbook.
#[derive(Clone, Debug)]
pub(super) struct SheetEntry {
    pub(super) name: String,
    /// `sheetId`, from which upstream's own readers build the file name.
    pub(super) id: String,
    /// Path of the sheet's part in the archive.
    pub(super) path: String,
}

/// A cell as stored in the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct RawCell {
    /// Attribute `t`, the cell's type.
    pub(super) kind: Option<String>,
    /// Text of the element `v`, if present.
    pub(super) value: Option<String>,
    /// Concatenated text of the element `is`, if present.
    pub(super) inline: Option<String>,
    /// Plain text inside `is`, and whether it has `xml:space`.
    pub(super) plain: Option<(String, bool)>,
    pub(super) has_formula: bool,
    pub(super) style: usize,
}

/// The stored cells of a sheet.
pub(super) type Cells = BTreeMap<CellRef, RawCell>;

/// An open workbook.
pub(super) struct Workbook<'a> {
    pub(super) file: &'a FileRef,
    /// Handling of upstream's known bugs.
    pub(super) reading: &'a CompatProbe,
    archive: RefCell<Archive<'a>>,
    /// Remaining budgets: bytes of parts that may be returned, and of shared strings that may be copied.
    parts_left: Cell<usize>,
    copies_left: Cell<usize>,
    texts: RefCell<BTreeMap<String, Rc<str>>>,
    cells: RefCell<BTreeMap<String, Rc<Cells>>>,
    /// Worksheets in order, without chart sheets.
    pub(super) sheets: Vec<SheetEntry>,
    pub(super) active: usize,
    pub(super) uses_1904_epoch: bool,
    /// Paths of pivot caches by `cacheId`.
    pub(super) caches: BTreeMap<String, String>,
    /// Shared strings as openpyxl reads them.
    pub(super) shared: Vec<String>,
    /// Shared strings as upstream's own reader has them: none at all if one of them is empty.
    pub(super) raw_shared: Vec<String>,
    pub(super) styles: Styles,
}

impl<'a> Workbook<'a> {
    /// Opens a workbook.
    pub(super) fn open(file: &'a FileRef, reading: &'a CompatProbe) -> Result<Self, String> {
        let failed = |why: String| format!("{}: {why}", file.name);
        let archive = Archive::open(&file.bytes).map_err(failed)?;
        let mut book = Self {
            file,
            reading,
            archive: RefCell::new(archive),
            parts_left: Cell::new(PARTS),
            copies_left: Cell::new(COPIES),
            texts: RefCell::default(),
            cells: RefCell::default(),
            sheets: Vec::new(),
            active: 0,
            uses_1904_epoch: false,
            caches: BTreeMap::new(),
            shared: Vec::new(),
            raw_shared: Vec::new(),
            styles: Styles::default(),
        };
        book.read_workbook().map_err(failed)?;
        book.read_shared().map_err(failed)?;
        if let Some(text) = book.part("xl/styles.xml").map_err(failed)? {
            book.styles = Styles::read(&xml::read(&text).map_err(failed)?);
        }
        Ok(book)
    }

    /// Returns a part's text, if the part exists.
    pub(super) fn part(&self, path: &str) -> Result<Option<Rc<str>>, String> {
        let existing = self.texts.borrow().get(path).map(Rc::clone);
        let text = match existing {
            Some(text) => Some(text),
            None => self.archive.borrow_mut().text(path)?.map(Rc::<str>::from),
        };
        if let Some(text) = &text {
            self.texts.borrow_mut().entry(path.to_owned()).or_insert_with(|| Rc::clone(text));
            spend(&self.parts_left, text.len(), "its parts are read too often")?;
        }
        Ok(text)
    }

    /// Charges a shared string's copy to the budget.
    pub(super) fn copies(&self, text: &str) -> Result<(), String> {
        spend(&self.copies_left, text.len(), "its cells expand to far more text than it contains")
    }

    /// Returns the relationships of a part: id, last segment of the type, and target path.
    pub(super) fn relations(&self, path: &str) -> Result<Vec<(String, String, String)>, String> {
        let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
        let Some(text) = self.part(&format!("{folder}/_rels/{file}.rels"))? else { return Ok(Vec::new()) };
        let document = xml::read(&text)?;
        let relation = |node: Node<'_, '_>| {
            let kind = node.attribute("Type")?.rsplit('/').next()?.to_owned();
            Some((node.attribute("Id")?.to_owned(), kind, resolve(folder, node.attribute("Target")?)))
        };
        Ok(xml::children(document.root_element(), "Relationship").filter_map(relation).collect())
    }

    fn read_workbook(&mut self) -> Result<(), String> {
        let text = self.part("xl/workbook.xml")?.ok_or("the archive has no workbook")?;
        let document = xml::read(&text)?;
        let root = document.root_element();
        let relations = self.relations("xl/workbook.xml")?;
        // Among relationships with the same id, the first one counts.
        let by_id: HashMap<&str, (&str, &str)> = relations
            .iter()
            .rev()
            .map(|(id, kind, path)| (id.as_str(), (kind.as_str(), path.as_str())))
            .collect();
        let target = |node: Node<'_, '_>| by_id.get(node.attribute((RELATIONS, "id"))?).copied();
        for sheet in xml::child(root, "sheets").into_iter().flat_map(|list| xml::children(list, "sheet")) {
            let Some((kind, path)) = target(sheet) else { continue };
            if self.sheets.len() >= SHEETS {
                return Err(format!("more than {SHEETS} sheets"));
            }
            if kind == "worksheet" {
                self.sheets.push(SheetEntry {
                    name: sheet.attribute("name").unwrap_or_default().to_owned(),
                    id: sheet.attribute("sheetId").unwrap_or_default().to_owned(),
                    path: path.to_owned(),
                });
            }
        }
        for cache in
            xml::child(root, "pivotCaches").into_iter().flat_map(|list| xml::children(list, "pivotCache"))
        {
            if let (Some(id), Some((_, path))) = (cache.attribute("cacheId"), target(cache)) {
                self.caches.insert(id.to_owned(), path.to_owned());
            }
        }
        let view = xml::child(root, "bookViews").and_then(|views| xml::child(views, "workbookView"));
        self.active = view.and_then(|view| view.attribute("activeTab")?.parse().ok()).unwrap_or(0);
        let properties = xml::child(root, "workbookPr");
        self.uses_1904_epoch = properties.is_some_and(|node| xml::is_on(node.attribute("date1904")));
        Ok(())
    }

    fn read_shared(&mut self) -> Result<(), String> {
        let Some(text) = self.part("xl/sharedStrings.xml")? else { return Ok(()) };
        let document = xml::read(&text)?;
        let mut complete = true;
        for item in xml::children(document.root_element(), "si") {
            self.shared.push(rich_text(item).replace("x005F_", ""));
            let texts: Vec<&str> = item
                .descendants()
                .filter(|node| node.is_element() && node.tag_name().name() == "t")
                .map(xml::text)
                .collect();
            complete &= !texts.iter().any(|text| text.is_empty());
            self.raw_shared.push(texts.concat());
        }
        if !complete {
            self.raw_shared.clear();
        }
        Ok(())
    }

    /// Returns the sheet of this name.
    pub(super) fn sheet(&self, name: &str) -> Option<&SheetEntry> {
        self.sheets.iter().find(|sheet| sheet.name == name)
    }

    /// Returns the names of all worksheets.
    pub(super) fn names(&self) -> Vec<&str> {
        self.sheets.iter().map(|sheet| sheet.name.as_str()).collect()
    }

    /// Returns a sheet's XML. A listed sheet without a part is an error of the workbook.
    pub(super) fn sheet_text(&self, sheet: &SheetEntry) -> Result<Rc<str>, String> {
        self.part(&sheet.path)?.ok_or_else(|| format!("{} has no {}", self.file.name, sheet.path))
    }

    /// Returns the cells of a sheet's part; `None` if the part does not exist.
    pub(super) fn cells(&self, path: &str) -> Result<Option<Rc<Cells>>, String> {
        if let Some(cells) = self.cells.borrow().get(path) {
            return Ok(Some(Rc::clone(cells)));
        }
        let Some(text) = self.part(path)? else { return Ok(None) };
        let cells = Rc::new(read_cells(&xml::read(&text)?));
        self.cells.borrow_mut().insert(path.to_owned(), Rc::clone(&cells));
        Ok(Some(cells))
    }
}

fn read_cells(document: &roxmltree::Document<'_>) -> Cells {
    let mut cells = Cells::new();
    let data = xml::child(document.root_element(), "sheetData");
    let mut row_number = 0_u32;
    for row in data.into_iter().flat_map(|data| xml::children(data, "row")) {
        row_number =
            row.attribute("r").and_then(|row| row.parse().ok()).unwrap_or(row_number.saturating_add(1));
        let mut column = 0;
        for node in xml::children(row, "c") {
            let next = CellRef { row: row_number, column: column + 1 };
            let place = node.attribute("r").and_then(cell_ref::place).unwrap_or(next);
            column = place.column;
            let value = xml::child(node, "v").map(|value| value.text().unwrap_or_default().to_owned());
            let cell = RawCell {
                kind: node.attribute("t").map(str::to_owned),
                value,
                inline: xml::child(node, "is").map(rich_text),
                plain: xml::child(node, "is").and_then(|inline| xml::child(inline, "t")).map(plain_text),
                has_formula: xml::child(node, "f").is_some(),
                style: node.attribute("s").and_then(|style| style.parse().ok()).unwrap_or(0),
            };
            cells.entry(place).or_insert(cell);
        }
    }
    cells
}

/// Subtracts from a budget and fails with `why` once it is exhausted.
fn spend(left: &Cell<usize>, bytes: usize, why: &str) -> Result<(), String> {
    let rest = left.get().checked_sub(bytes).ok_or_else(|| why.to_owned())?;
    left.set(rest);
    Ok(())
}

fn plain_text(node: Node<'_, '_>) -> (String, bool) {
    let marked = node.attributes().any(|one| one.name() == "space");
    (node.text().unwrap_or_default().to_owned(), marked)
}

/// Returns the plain text of a string item followed by the text of its runs.
fn rich_text(item: Node<'_, '_>) -> String {
    let plain = xml::children(item, "t").map(|node| node.text().unwrap_or_default());
    let runs = xml::children(item, "r").flat_map(|run| xml::children(run, "t"));
    plain.chain(runs.map(|node| node.text().unwrap_or_default())).collect()
}

/// Resolves a relationship's target to a path in the archive.
fn resolve(folder: &str, target: &str) -> String {
    if let Some(absolute) = target.strip_prefix('/') {
        return absolute.to_owned();
    }
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}
