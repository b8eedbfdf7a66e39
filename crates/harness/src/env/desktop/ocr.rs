//! Reads the picture of a window that does not list its elements, and of parts that draw and list nothing, by tesseract, which runs in
//! the cell. What it reads goes into the tree as elements of the role `~text`: the mark says that it was read from a picture, so letters may
//! be wrong.

use std::collections::BTreeMap;
use std::time::Duration;

use apprentice_pixels::{Area, Frame, crop, encode_png, resize};
use apprentice_protocol::{Command, Machine, NodeRef, Rect, ScreenPoint, UiNode, UiTree};

use super::silent_areas::insert_below;

/// The role of what was read from a picture.
pub(super) const READ_TEXT: &str = "~text";
/// Longest time that reading may take.
const DEADLINE: Duration = Duration::from_secs(8);
/// Most lines that are kept.
const LINES: usize = 150;
/// Words of which tesseract is less sure are left out, in percent.
const SURE: f32 = 40.0;
/// Tesseract is made for letters of about 30 pixels, and those of windows have about ten: a picture is enlarged so many times, and a
/// large one less.
const ENLARGED: u32 = 3;
const LARGE: u32 = 3000;
/// Words further apart than this many times their height stand in different lines: menus, columns.
const APART: i32 = 2;

/// A line that was read, and where it stands on the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ReadLine {
    text: String,
    bounds: Rect,
}

/// A part of the screen that was read, and what it held.
type ReadPart = (Frame, Result<Vec<ReadLine>, String>);

/// Reads parts of the screen, and remembers what it read last: a picture that has not changed is not read again.
#[derive(Default)]
pub(super) struct WindowReader {
    last: Vec<ReadPart>,
    /// Where the lines of the last view stand, by their references.
    places: BTreeMap<NodeRef, Rect>,
}

impl WindowReader {
    /// Adds what parts of the screen show to the tree, below the element that each of them belongs to. Returns a sentence where one
    /// could not be read.
    pub(super) async fn add_to(
        &mut self,
        tree: &mut UiTree,
        screen: &Frame,
        parts: &[(Option<NodeRef>, Rect)],
        machine: &dyn Machine,
    ) -> Option<String> {
        let known = std::mem::take(&mut self.last);
        let shown = parts.iter().filter_map(|(holder, part)| {
            let area = visible_area(screen, *part)?;
            Some((holder.as_ref(), area, crop(screen, area).map_err(|error| error.to_string())))
        });
        let shown: Vec<_> = shown.collect();
        let reads = shown.iter().map(|(_, _, picture)| {
            let known =
                picture.as_ref().ok().and_then(|picture| known.iter().find(|part| part.0 == *picture));
            async move {
                match (picture, known) {
                    (_, Some((_, read))) => read.clone(),
                    (Ok(picture), None) => read(picture, machine).await,
                    (Err(why), None) => Err(why.clone()),
                }
            }
        });
        let reads = futures_util::future::join_all(reads).await;
        let (mut problem, mut count) = (None, 0);
        for ((holder, area, picture), read) in shown.into_iter().zip(reads) {
            match &read {
                Ok(lines) => {
                    let room = LINES.saturating_sub(count);
                    let kept = lines.get(..room).unwrap_or(lines);
                    self.places.extend(append(tree, kept, Part { holder, area, count }));
                    count += kept.len();
                }
                Err(why) => problem = Some(unread(why)),
            }
            self.last.extend(picture.ok().map(|picture| (picture, read)));
        }
        problem
    }

    /// Forgets the lines of the last view: the next one lists its elements.
    pub(super) fn forget_places(&mut self) {
        self.places.clear();
    }

    /// Remembers where something else lies that its program does not list.
    pub(super) fn add_places(&mut self, places: Vec<(NodeRef, Rect)>) {
        self.places.extend(places);
    }

    /// The middle of a line of the last view.
    pub(super) fn point(&self, node: &NodeRef) -> Option<ScreenPoint> {
        self.places.get(node)?.centre()
    }
}

fn unread(why: &str) -> String {
    format!("The picture of the window could not be read as text: {why}.")
}

/// The part of a window that is on the screen.
fn visible_area(screen: &Frame, window: Rect) -> Option<Area> {
    let edge = |at: i32, most: u32| u32::try_from(at.max(0)).unwrap_or(0).min(most);
    let (x, y) = (edge(window.x, screen.width()), edge(window.y, screen.height()));
    let right = edge(window.x.saturating_add(window.width), screen.width());
    let bottom = edge(window.y.saturating_add(window.height), screen.height());
    (right > x && bottom > y).then(|| Area { x, y, width: right - x, height: bottom - y })
}

/// Reads a picture. The lines are placed in it.
async fn read(picture: &Frame, machine: &dyn Machine) -> Result<Vec<ReadLine>, String> {
    let times = ENLARGED.min((LARGE / picture.width().max(picture.height()).max(1)).max(1));
    let large = resize(picture, picture.width() * times, picture.height() * times);
    let bytes = large.and_then(|large| encode_png(&large)).map_err(|error| error.to_string())?;
    let command = Command {
        stdin: bytes,
        env: vec![("OMP_THREAD_LIMIT".to_owned(), "1".to_owned())],
        timeout_ms: u64::try_from(DEADLINE.as_millis()).unwrap_or(u64::MAX),
        ..Command::new(["tesseract", "-", "-", "--psm", "6", "tsv"])
    };
    let output = machine.run(&command).await.map_err(|error| format!("tesseract: {error}"))?;
    if output.timed_out {
        return Err(format!("tesseract was not done within {DEADLINE:?}"));
    }
    match output.code {
        0 => Ok(lines(&output.stdout_text(), times.cast_signed())),
        127 => Err("tesseract is not installed (package tesseract-ocr)".to_owned()),
        code => Err(format!("tesseract ended with exit code {code}")),
    }
}

/// The lines of a table that tesseract wrote of an enlarged picture: one word a line, with the number of its block, paragraph and
/// line.
fn lines(table: &str, times: i32) -> Vec<ReadLine> {
    let mut found: Vec<(String, ReadLine)> = Vec::new();
    for row in table.lines().skip(1) {
        let fields: Vec<&str> = row.split('\t').collect();
        let [level, page, block, paragraph, line, _, left, top, width, height, sure, text] =
            fields.as_slice()
        else {
            continue;
        };
        let number = |field: &str| field.parse::<i32>().ok().map(|number| number / times);
        let (Some(x), Some(y), Some(width), Some(height)) =
            (number(left), number(top), number(width), number(height))
        else {
            continue;
        };
        let is_sure = sure.parse::<f32>().is_ok_and(|sure| sure >= SURE);
        if *level != "5" || !is_sure || text.trim().is_empty() {
            continue;
        }
        let key = [page, block, paragraph, line].map(|part| (*part).to_owned()).join(".");
        let word = Rect::new(x, y, width, height);
        match found.last_mut() {
            Some((last, line)) if *last == key && is_next(line.bounds, word) => {
                line.text = format!("{} {}", line.text, text.trim());
                line.bounds = around(line.bounds, word);
            }
            _ => found.push((key, ReadLine { text: text.trim().to_owned(), bounds: word })),
        }
    }
    found.into_iter().map(|(_, line)| line).take(LINES).collect()
}

/// Whether a word follows on what was read of its line.
fn is_next(line: Rect, word: Rect) -> bool {
    word.x - line.x - line.width <= APART * line.height.max(word.height)
}

fn around(one: Rect, other: Rect) -> Rect {
    let (x, y) = (one.x.min(other.x), one.y.min(other.y));
    let right = (one.x + one.width).max(other.x + other.width);
    let bottom = (one.y + one.height).max(other.y + other.height);
    Rect::new(x, y, right - x, bottom - y)
}

/// A part of the screen whose lines go into a tree.
#[derive(Clone, Copy)]
struct Part<'a> {
    /// The element that they belong to.
    holder: Option<&'a NodeRef>,
    area: Area,
    /// How many lines of other parts were added before.
    count: usize,
}

/// Adds the lines of a part of the screen to a tree, and returns where they stand on the screen.
fn append(tree: &mut UiTree, lines: &[ReadLine], part: Part<'_>) -> BTreeMap<NodeRef, Rect> {
    let mut places = BTreeMap::new();
    let (left, top) = (part.area.x.cast_signed(), part.area.y.cast_signed());
    let holder = part.holder.and_then(|holder| tree.nodes.iter().position(|node| node.id == *holder));
    let holder = holder.and_then(|holder| u32::try_from(holder).ok());
    for (number, line) in (part.count + 1..).zip(lines) {
        let id = NodeRef(format!("o{number}"));
        let bounds = Rect { x: line.bounds.x + left, y: line.bounds.y + top, ..line.bounds };
        places.insert(id.clone(), bounds);
        let node = UiNode { bounds: Some(bounds), ..UiNode::new(id.0, holder, READ_TEXT, line.text.clone()) };
        match holder {
            Some(holder) => insert_below(tree, holder, node),
            None => tree.nodes.push(node),
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use apprentice_pixels::{Area, Frame};
    use apprentice_protocol::{NodeRef, Rect, UiNode, UiTree};

    use super::{Part, append, lines, visible_area};

    const TABLE: &str =
        "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext
1\t1\t0\t0\t0\t0\t0\t0\t800\t600\t-1\t
5\t1\t1\t1\t1\t1\t10\t20\t40\t12\t96.1\tOpen
5\t1\t1\t1\t1\t2\t55\t20\t40\t12\t95.0\tfile
5\t1\t1\t1\t1\t3\t300\t20\t40\t12\t95.0\tHelp
5\t1\t1\t1\t2\t1\t10\t40\t40\t12\t12.0\tn0ise
5\t1\t2\t1\t1\t1\t10\t500\t40\t12\t88.0\tReady
5\t1\t2\t1\t1\t2\tx\t500\t40\t12\t88.0\tbroken";

    #[test]
    fn words_of_a_line_that_stand_together_are_one_element() {
        let found = lines(TABLE, 1);
        let texts: Vec<&str> = found.iter().map(|line| line.text.as_str()).collect();
        assert_eq!(texts, ["Open file", "Help", "Ready"]);
        assert_eq!(found[0].bounds, Rect::new(10, 20, 85, 12));
        assert_eq!(lines(TABLE, 2)[0].bounds, Rect::new(5, 10, 42, 6), "the picture was enlarged");
        let mut tree = UiTree::default();
        let area = Area { x: 100, y: 50, width: 400, height: 600 };
        let places = append(&mut tree, &found, Part { holder: None, area, count: 0 });
        assert_eq!((tree.nodes.len(), places.len()), (3, 3));
        assert_eq!((tree.nodes[1].role.as_str(), tree.nodes[1].id.0.as_str()), ("~text", "o2"));
        assert_eq!(tree.nodes[1].bounds, Some(Rect::new(400, 70, 40, 12)), "on the screen");
        let (holder, other) = (NodeRef("d1".into()), UiNode::new("n1", None, "window", "Other"));
        let mut tree = UiTree { nodes: vec![UiNode::new("d1", None, "canvas", ""), other], truncated: None };
        append(&mut tree, &found[..2], Part { holder: Some(&holder), area, count: 3 });
        let ids: Vec<(&str, Option<u32>)> =
            tree.nodes.iter().map(|node| (node.id.0.as_str(), node.parent)).collect();
        assert_eq!(ids, [("d1", None), ("o4", Some(0)), ("o5", Some(0)), ("n1", None)]);
    }

    #[test]
    fn what_hangs_over_an_edge_of_the_screen_is_not_read() {
        let screen = Frame::from_rgb(80, 60, vec![0; 80 * 60 * 3]).expect("a frame");
        let area = visible_area(&screen, Rect::new(-10, 50, 50, 50));
        assert_eq!(area, Some(Area { x: 0, y: 50, width: 40, height: 10 }));
        assert_eq!(visible_area(&screen, Rect::new(90, 0, 10, 10)), None);
    }
}
