//! Draws a scene: boxes, borders, and letters of three by five dots.

use apprentice_pixels::{Frame, PixelError, encode_png};
use apprentice_protocol::{BlobHash, Image, ImageBytes, MediaType, Rect, Size, State, UiTree};
use apprentice_trace::hex;
use sha2::{Digest as _, Sha256};

const INK: [u8; 3] = [24, 24, 27];
const PAPER: [u8; 3] = [244, 244, 245];
const BORDER: [u8; 3] = [161, 161, 170];
const FIELD: [u8; 3] = [255, 255, 255];
const FACE: [u8; 3] = [228, 228, 231];
const FOCUS: [u8; 3] = [37, 99, 235];
const DOT: i32 = 2;

/// Glyphs as five octal digits, one per row of three dots.
const GLYPHS: &[(char, u16)] = &[
    ('A', 0o25755),
    ('B', 0o65656),
    ('C', 0o34443),
    ('D', 0o65556),
    ('E', 0o74647),
    ('F', 0o74644),
    ('G', 0o34553),
    ('H', 0o55755),
    ('I', 0o72227),
    ('J', 0o11152),
    ('K', 0o55655),
    ('L', 0o44447),
    ('M', 0o57755),
    ('N', 0o65555),
    ('O', 0o25552),
    ('P', 0o65644),
    ('Q', 0o25563),
    ('R', 0o65655),
    ('S', 0o34216),
    ('T', 0o72222),
    ('U', 0o55557),
    ('V', 0o55552),
    ('W', 0o55775),
    ('X', 0o55255),
    ('Y', 0o55222),
    ('Z', 0o71247),
    ('0', 0o75557),
    ('1', 0o26227),
    ('2', 0o71747),
    ('3', 0o71717),
    ('4', 0o55711),
    ('5', 0o74717),
    ('6', 0o74757),
    ('7', 0o71122),
    ('8', 0o75757),
    ('9', 0o75717),
    (' ', 0),
    ('.', 0o00002),
    (',', 0o00024),
    (':', 0o02020),
    ('-', 0o00700),
    ('_', 0o00007),
    ('/', 0o11244),
    ('!', 0o22202),
    ('?', 0o71202),
    ('(', 0o12221),
    (')', 0o42224),
    ('+', 0o02720),
    ('=', 0o07070),
    ('>', 0o42124),
    ('<', 0o12421),
    ('"', 0o55000),
    ('\'', 0o22000),
    ('#', 0o57575),
];
/// The glyph of characters that have none of their own.
const BOX: u16 = 0o75557;

/// Draws an interface tree.
pub(super) fn paint(tree: &UiTree, screen: Size) -> Result<Image, PixelError> {
    let mut canvas = Canvas::new(screen);
    for node in tree.nodes.iter().filter(|node| !node.is(State::Hidden)) {
        let Some(bounds) = node.bounds else { continue };
        let face = match node.role.as_str() {
            "window" | "text" | "link" | "list" => PAPER,
            "textbox" | "combobox" => FIELD,
            _ => FACE,
        };
        canvas.fill(bounds, if node.is(State::Focused) { FOCUS } else { BORDER });
        canvas.fill(inset(bounds), face);
        let mark = match (node.is(State::Checked), node.is(State::Unchecked)) {
            (true, _) => "(X) ",
            (_, true) => "( ) ",
            _ => "",
        };
        let value = node.value.as_ref().map_or(String::new(), |value| format!(": {value}"));
        canvas.write(bounds, &format!("{mark}{}{value}", node.name));
    }
    let png = encode_png(&Frame::from_rgb(screen.width, screen.height, canvas.rgb)?)?;
    let hash = hex(&Sha256::digest(&png));
    let bytes = ImageBytes(png.into());
    Ok(Image { hash: BlobHash::new(hash), size: screen, media: MediaType::Png, bytes })
}

fn inset(bounds: Rect) -> Rect {
    Rect::new(bounds.x + 1, bounds.y + 1, bounds.width - 2, bounds.height - 2)
}

struct Canvas {
    width: i32,
    height: i32,
    rgb: Vec<u8>,
}

impl Canvas {
    fn new(size: Size) -> Self {
        let dots = size.width as usize * size.height as usize;
        Self { width: size.width.cast_signed(), height: size.height.cast_signed(), rgb: PAPER.repeat(dots) }
    }

    fn fill(&mut self, area: Rect, colour: [u8; 3]) {
        let (left, right) = (area.x.clamp(0, self.width), (area.x + area.width).clamp(0, self.width));
        let (top, bottom) = (area.y.clamp(0, self.height), (area.y + area.height).clamp(0, self.height));
        // Row by row: pixel by pixel, most of the time of the tests in this world went here.
        let row = colour.repeat((right - left).max(0).unsigned_abs() as usize);
        for y in top..bottom {
            let start = 3 * (y * self.width + left).unsigned_abs() as usize;
            self.rgb[start..start + row.len()].copy_from_slice(&row);
        }
    }

    fn write(&mut self, bounds: Rect, text: &str) {
        let (mut x, y) = (bounds.x + 6, bounds.y + 7);
        for c in text.chars().flat_map(char::to_uppercase) {
            if x + 4 * DOT > bounds.x + bounds.width {
                return;
            }
            let glyph = GLYPHS.iter().find(|(known, _)| *known == c).map_or(BOX, |(_, glyph)| *glyph);
            for dot in 0..15 {
                if glyph >> (14 - dot) & 1 == 1 {
                    self.fill(Rect::new(x + dot % 3 * DOT, y + dot / 3 * DOT, DOT, DOT), INK);
                }
            }
            x += 4 * DOT;
        }
    }
}
