//! The interface as one XML document in the format of OSWorld's server, which accessibility-tree checks expect.
//!
//! Unlike the tree for models, this document filters and corrects nothing: it holds every element of every program
//! with all its attributes. The one exception is Chromium's name, which is replaced by the name that tasks use.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::fmt::Write as _;
use std::time::Duration;

use apprentice_protocol::Rect;
use atspi::{Role as BusRole, State as BusState, StateSet};
use futures_util::stream::{FuturesUnordered, StreamExt};

use super::bus::Bus;
use super::cells;
use super::node::{self, ACCESSIBLE, ACTION, Address, COMPONENT, NodeError, OBJECT, VALUE};
use super::peers::Peers;
use super::tree_walk;
use crate::wire::OperationError;

/// Prefixes of attribute names, each with the last part of its namespace.
const SPACES: [(&str, &str); 8] = [
    ("st", "state"),
    ("attr", "attributes"),
    ("cp", "component"),
    ("doc", "document"),
    ("docattr", "document/attributes"),
    ("txt", "text"),
    ("val", "value"),
    ("act", "action"),
];
const SPACE: &str = "https://accessibility.ubuntu.example.org/ns";
/// Limits of depth and of children per element, the same as in OSWorld's server.
const DEPTH: u32 = 50;
const WIDTH: i32 = 1024;
/// Limits of elements, bytes and time for one document. A larger document is refused, because an incomplete one cannot
/// show that an element is absent.
const ELEMENTS: usize = 50_000;
const BYTES: usize = 32 << 20;
const TIME: Duration = Duration::from_secs(60);
/// Elements that are read concurrently.
const IN_FLIGHT: usize = 64;
/// Most actions reported of one element.
const ACTIONS: i32 = 32;

/// An element found by the traversal.
struct FoundElement {
    address: Address,
    depth: u32,
    /// Whether the element lies in a spreadsheet. Of a spreadsheet's cells, only those on the screen are written.
    in_sheet: bool,
    told: Option<ElementProperties>,
    children: Vec<usize>,
}

/// The attributes and text of an element.
struct ElementProperties {
    tag: String,
    /// Attributes by prefixed name.
    attributes: BTreeMap<String, String>,
    text: String,
    is_sheet: bool,
    below: Vec<Address>,
}

impl Bus {
    /// Writes the interfaces of all programs.
    pub(super) async fn document(&self) -> Result<String, OperationError> {
        let bus = self.peers()?;
        let programs = node::children(&bus, &tree_walk::registry()).await;
        let programs = programs
            .map_err(|miss| OperationError::Lost(format!("the accessibility registry is gone: {miss:?}")))?;
        let what = || "the interface's document".to_owned();
        let read = tokio::time::timeout(TIME, read_all(&bus, programs)).await;
        let (found, roots) = read.map_err(|_| OperationError::TimedOut(what()))?.ok_or_else(|| {
            OperationError::refused(what(), &format!("it has more than {ELEMENTS} elements or {BYTES} bytes"))
        })?;
        Ok(to_xml(&found, &roots))
    }
}

/// Reads all elements, siblings in order. `None` when there are too many.
async fn read_all(bus: &Peers, programs: Vec<Address>) -> Option<(Vec<FoundElement>, Vec<usize>)> {
    let (mut found, mut seen, mut waiting) = (Vec::<FoundElement>::new(), HashSet::new(), VecDeque::new());
    let mut bytes = 0;
    let mut add = |found: &mut Vec<FoundElement>, addresses: Vec<Address>, depth, in_sheet| {
        // Some programs have loops in their trees.
        let fresh: Vec<Address> =
            addresses.into_iter().filter(|address| seen.insert(address.clone())).collect();
        let first = found.len();
        found.extend(fresh.into_iter().map(|address| FoundElement {
            address,
            depth,
            in_sheet,
            told: None,
            children: Vec::new(),
        }));
        (first..found.len()).collect::<Vec<usize>>()
    };
    let roots = add(&mut found, programs, 1, false);
    waiting.extend(roots.iter().copied());
    let mut pending = FuturesUnordered::new();
    loop {
        while pending.len() < IN_FLIGHT
            && let Some(index) = waiting.pop_front()
        {
            let Some(one) = found.get(index) else { continue };
            let (address, in_sheet, leaf) = (one.address.clone(), one.in_sheet, one.depth >= DEPTH);
            pending.push(async move { (index, ask(bus, &address, in_sheet, leaf).await) });
        }
        let Some((index, told)) = pending.next().await else { return Some((found, roots)) };
        // An element that has disappeared meanwhile is left out.
        let Ok(mut told) = told else { continue };
        bytes += told.weight();
        let below = std::mem::take(&mut told.below);
        let Some((depth, in_sheet)) = found.get(index).map(|one| (one.depth, one.in_sheet || told.is_sheet))
        else {
            continue;
        };
        let children = add(&mut found, below, depth + 1, in_sheet);
        if found.len() > ELEMENTS || bytes > BYTES {
            return None;
        }
        waiting.extend(children.iter().copied());
        if let Some(one) = found.get_mut(index) {
            (one.told, one.children) = (Some(told), children);
        }
    }
}

/// Reads all attributes of an element.
async fn ask(bus: &Peers, at: &Address, in_sheet: bool, leaf: bool) -> Result<ElementProperties, NodeError> {
    let name = node::property::<String>(bus, at, ACCESSIBLE, "Name");
    let (name, role, states) = tokio::try_join!(name, node::bus_role(bus, at), node::bus_states(bus, at))?;
    let (own, offered) = tokio::join!(
        node::call::<HashMap<String, String>, _>(bus, at, ACCESSIBLE, "GetAttributes", &()),
        node::call::<Vec<String>, _>(bus, at, ACCESSIBLE, "GetInterfaces", &()),
    );
    let offered = offered.unwrap_or_default();
    let has = |kind: &str| offered.iter().any(|one| one.rsplit('.').next() == Some(kind));
    let mut attributes = BTreeMap::from([("name".to_owned(), display_name(role, &name))]);
    for state in states {
        attributes.insert(format!("st:{}", state.to_static_str().replace('-', "_")), "true".into());
    }
    let own = own.unwrap_or_default().into_iter().filter(|(key, _)| is_name(key));
    attributes.extend(own.map(|(key, value)| (format!("attr:{key}"), value)));
    let on_screen = states.contains(BusState::Visible) && states.contains(BusState::Showing);
    let place = async { if on_screen && has("Component") { extents(bus, at).await } else { None } };
    let text = async { if has("Text") { node::text(bus, at, -1).await } else { None } };
    let numbers = async { if has("Value") { numbers(bus, at).await } else { Vec::new() } };
    let actions = async { if has("Action") { actions(bus, at).await } else { Vec::new() } };
    let below = async {
        if leaf { Vec::new() } else { below(bus, at, states, in_sheet && role == BusRole::Table).await }
    };
    let (place, text, numbers, actions, below) = tokio::join!(place, text, numbers, actions, below);
    if let Some(Rect { x, y, width, height }) = place {
        attributes.insert("cp:screencoord".into(), format!("({x}, {y})"));
        attributes.insert("cp:size".into(), format!("({width}, {height})"));
    }
    for (word, _) in [("image", "Image"), ("selection", "Selection")].iter().filter(|(_, kind)| has(kind)) {
        attributes.insert((*word).into(), "true".into());
    }
    attributes.extend(numbers.into_iter().chain(actions));
    Ok(ElementProperties {
        tag: tag(role),
        attributes,
        text: text.unwrap_or_default().replace([OBJECT, '\u{fffd}'], ""),
        is_sheet: role == BusRole::DocumentSpreadsheet,
        below,
    })
}

/// The element's extents, exactly as reported.
async fn extents(bus: &Peers, at: &Address) -> Option<Rect> {
    let (x, y, width, height) = node::call(bus, at, COMPONENT, "GetExtents", &(0u32,)).await.ok()?;
    Some(Rect::new(x, y, width, height))
}

async fn numbers(bus: &Peers, at: &Address) -> Vec<(String, String)> {
    let requests = [
        ("value", "CurrentValue"),
        ("min", "MinimumValue"),
        ("max", "MaximumValue"),
        ("step", "MinimumIncrement"),
    ]
    .map(|(word, property)| async move {
        let number = node::property::<f64>(bus, at, VALUE, property).await.ok()?;
        Some((format!("val:{word}"), python_float(number)))
    });
    futures_util::future::join_all(requests).await.into_iter().flatten().collect()
}

async fn actions(bus: &Peers, at: &Address) -> Vec<(String, String)> {
    let count: i32 = node::property(bus, at, ACTION, "NActions").await.unwrap_or(0);
    let requests = (0..count.min(ACTIONS)).map(|index| async move {
        let index = (index,);
        let (name, description, keys) = tokio::join!(
            node::call::<String, _>(bus, at, ACTION, "GetName", &index),
            node::call::<String, _>(bus, at, ACTION, "GetDescription", &index),
            node::call::<String, _>(bus, at, ACTION, "GetKeyBinding", &index),
        );
        let name = name.ok()?.replace(' ', "-");
        let name = is_name(&name).then_some(name)?;
        let told = [("desc", description), ("kb", keys)];
        Some(told.map(|(word, value)| (format!("act:{name}_{word}"), value.unwrap_or_default())))
    });
    futures_util::future::join_all(requests).await.into_iter().flatten().flatten().collect()
}

async fn below(bus: &Peers, at: &Address, states: StateSet, is_sheet: bool) -> Vec<Address> {
    if is_sheet {
        return match cells::managed_descendants(bus, at, None).await {
            cells::Managed::Few(children) => children,
            cells::Managed::Visible(visible) => visible.found.into_iter().map(|cell| cell.address).collect(),
        };
    }
    let count: i32 = node::property(bus, at, ACCESSIBLE, "ChildCount").await.unwrap_or(0);
    if count > WIDTH || states.contains(BusState::ManagesDescendants) {
        return cells::by_index(bus, at, count.min(WIDTH)).await;
    }
    node::children(bus, at).await.unwrap_or_default()
}

impl ElementProperties {
    fn weight(&self) -> usize {
        let attributes: usize = self.attributes.iter().map(|(key, value)| key.len() + value.len() + 4).sum();
        attributes + 2 * self.tag.len() + self.text.len()
    }
}

/// The element's role name, as the accessibility bus of OSWorld's machines spells it.
fn tag(role: BusRole) -> String {
    match role {
        BusRole::Button => "push-button".into(),
        other => other.name().replace(' ', "-"),
    }
}

/// The element's name. Tasks refer to any Chromium as "Google Chrome", the build on OSWorld's machines.
fn display_name(role: BusRole, name: &str) -> String {
    match (role, name.strip_suffix("Chromium")) {
        (BusRole::Application, Some("")) => "Google Chrome".into(),
        (BusRole::Frame, Some(title)) if title.is_empty() || title.ends_with("- ") => {
            format!("{title}Google Chrome")
        }
        _ => name.to_owned(),
    }
}

/// Returns whether a text can be the name of an XML attribute.
fn is_name(text: &str) -> bool {
    let mut letters = text.chars();
    letters.next().is_some_and(|first| first.is_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_alphanumeric() || matches!(letter, '-' | '_' | '.'))
}

/// Formats a number as Python does.
fn python_float(number: f64) -> String {
    let plain = format!("{number:?}");
    let small = number != 0.0 && number.abs() < 1e-4;
    let plain = if small && !plain.contains('e') { format!("{number:e}") } else { plain };
    match plain.split_once('e') {
        None => plain.replace("NaN", "nan"),
        Some((digits, power)) => {
            let digits = digits.strip_suffix(".0").unwrap_or(digits);
            let (sign, power) = power.strip_prefix('-').map_or(('+', power), |power| ('-', power));
            format!("{digits}e{sign}{power:0>2}")
        }
    }
}

fn to_xml(found: &[FoundElement], roots: &[usize]) -> String {
    let mut xml = String::from("<desktop-frame");
    for (prefix, part) in SPACES {
        let _ = write!(xml, " xmlns:{prefix}=\"{SPACE}/{part}\"");
    }
    xml.push('>');
    // Elements to open, and open elements, which come up again after their children.
    let mut stack: Vec<(usize, bool)> = roots.iter().rev().map(|root| (*root, false)).collect();
    while let Some((index, opened)) = stack.pop() {
        let Some((one, told)) = found.get(index).and_then(|one| Some((one, one.told.as_ref()?))) else {
            continue;
        };
        if opened {
            let _ = write!(xml, "</{}>", told.tag);
            continue;
        }
        let _ = write!(xml, "<{}", told.tag);
        for (name, value) in &told.attributes {
            let _ = write!(xml, " {name}=\"");
            escape(value, &mut xml);
            xml.push('"');
        }
        xml.push('>');
        escape(&told.text, &mut xml);
        stack.push((index, true));
        stack.extend(one.children.iter().rev().map(|child| (*child, false)));
    }
    xml.push_str("</desktop-frame>");
    xml
}

/// Escapes text for XML and leaves out characters that XML does not allow.
fn escape(text: &str, xml: &mut String) {
    for letter in text.chars() {
        match letter {
            '&' => xml.push_str("&amp;"),
            '<' => xml.push_str("&lt;"),
            '>' => xml.push_str("&gt;"),
            '"' => xml.push_str("&quot;"),
            '\n' | '\t' | '\r' => {
                let _ = write!(xml, "&#{};", u32::from(letter));
            }
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => {}
            plain => xml.push(plain),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use atspi::Role as BusRole;

    use super::{Address, ElementProperties, FoundElement, display_name, is_name, python_float, tag, to_xml};

    #[test]
    fn numbers_are_written_as_python_does() {
        for (number, text) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (50.0, "50.0"),
            (0.1, "0.1"),
            (0.0001, "0.0001"),
            (0.00002, "2e-05"),
            (-1.5e-7, "-1.5e-07"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (f64::MAX, "1.7976931348623157e+308"),
            (f64::INFINITY, "inf"),
            (f64::NAN, "nan"),
        ] {
            assert_eq!(python_float(number), text);
        }
    }

    #[test]
    fn elements_stand_in_their_order_with_what_they_say() {
        let one = |tag: &str, name: &str, text: &str, children| {
            let attributes = BTreeMap::from([("name".to_owned(), name.to_owned())]);
            let told = ElementProperties {
                tag: tag.into(),
                attributes,
                text: text.into(),
                is_sheet: false,
                below: Vec::new(),
            };
            let address = Address { name: ":1.1".into(), path: name.into() };
            FoundElement { address, depth: 1, in_sheet: false, told: Some(told), children }
        };
        let mut gone = one("frame", "", "", Vec::new());
        gone.told = None;
        let found = [
            one("application", "A", "", vec![2, 3, 4]),
            one("application", "B", "", Vec::new()),
            one("entry", "a \"b\"", "1 < 2\n\u{1}", Vec::new()),
            gone,
            one("push-button", "é", "", Vec::new()),
        ];
        let xml = to_xml(&found, &[0, 1]);
        let body = xml.split_once('>').expect("a root").1;
        assert_eq!(
            body,
            "<application name=\"A\"><entry name=\"a &quot;b&quot;\">1 &lt; 2&#10;</entry>\
             <push-button name=\"é\"></push-button></application><application name=\"B\"></application>\
             </desktop-frame>"
        );
    }

    #[test]
    fn names_are_those_of_the_suites_machines() {
        assert_eq!(tag(BusRole::Button), "push-button");
        assert_eq!(tag(BusRole::PageTabList), "page-tab-list");
        for (role, name, expected) in [
            (BusRole::Application, "Chromium", "Google Chrome"),
            (BusRole::Application, "Chromium notes", "Chromium notes"),
            (BusRole::Frame, "News - Chromium", "News - Google Chrome"),
            (BusRole::Frame, "About Chromium", "About Chromium"),
            (BusRole::Link, "Chromium", "Chromium"),
        ] {
            assert_eq!(display_name(role, name), expected);
        }
        assert!(["id", "xml-roles", "_a.b", "größe"].iter().all(|name| is_name(name)));
        assert!(["", "1a", "a b", "a:b", "a=b"].iter().all(|name| !is_name(name)));
    }
}
