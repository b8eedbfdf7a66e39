//! The monitors of a screen: side by side, left to right, aligned at the top.

use std::borrow::Cow;
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Rect, ScreenPoint, Size};

/// Most monitors of a screen: the display server has as many outputs.
const MOST: usize = 16;
/// Widest screen, in pixels. Displays use 16-bit coordinates, and bounds beyond this are taken for nonsense.
const WIDEST: u32 = 30_000;
/// Pixels of one side of a single monitor.
const SIDE: RangeInclusive<u32> = 64..=16_384;
/// Pixels of one side of one of several monitors. Their display server shows no less.
const SIDE_OF_SEVERAL: RangeInclusive<u32> = 128..=16_384;

/// The screen of a world for which none is given.
pub const DEFAULT_SCREEN: Size = Size::new(1920, 1080);

/// The one or more monitors that make up a screen. They stand side by side from left to right, aligned at the top.
/// Coordinates are those of the whole screen.
///
/// Written as `1920x1080+1280x1024`. In JSON a single monitor is `{"width": …, "height": …}`; several have the width and
/// height of the whole screen, and their places in `monitors`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Monitors {
    /// Never empty.
    sizes: Vec<Size>,
}

/// Why monitors do not make up a screen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MonitorsError {
    /// The only monitor has no valid size.
    #[error("expected WIDTHxHEIGHT, from 64 to 16384 pixels, for example 1280x800")]
    Size,
    /// One of several monitors has no valid size.
    #[error(
        "monitor {number} is {text:?}: expected WIDTHxHEIGHT, from 128 to 16384 pixels, and + between monitors, for example \
         1920x1080+1280x1024"
    )]
    SizeOf {
        /// Its number, from 1.
        number: usize,
        /// How it was written.
        text: String,
    },
    /// There are too many.
    #[error("{0} monitors are too many: a screen has at most {MOST}, leave some out")]
    Many(usize),
    /// Together they are too wide.
    #[error(
        "the monitors are {0} pixels wide together: a screen is at most {WIDEST} wide, make them narrower or leave some out"
    )]
    Wide(u64),
    /// Recorded places of monitors are not side by side, or make up another screen.
    #[error(
        "the monitors stand side by side from left to right, aligned at the top, and make up the whole width and height: \
         expected {0}"
    )]
    Placed(String),
}

impl Default for Monitors {
    /// Returns a single monitor of the size [`DEFAULT_SCREEN`].
    fn default() -> Self {
        DEFAULT_SCREEN.into()
    }
}

impl From<Size> for Monitors {
    fn from(size: Size) -> Self {
        Self { sizes: vec![size] }
    }
}

impl Monitors {
    fn side_by_side(sizes: Vec<Size>) -> Result<Self, MonitorsError> {
        let width = sizes.iter().map(|size| u64::from(size.width)).sum();
        if sizes.len() > MOST {
            Err(MonitorsError::Many(sizes.len()))
        } else if width > u64::from(WIDEST) {
            Err(MonitorsError::Wide(width))
        } else {
            Ok(Self { sizes })
        }
    }

    /// Returns the size of the whole screen: all widths together, and the largest height.
    pub fn screen(&self) -> Size {
        let width = self.sizes.iter().map(|size| size.width).sum();
        Size::new(width, self.sizes.iter().map(|size| size.height).max().unwrap_or(0))
    }

    /// Returns the place of each monitor on the screen.
    pub fn areas(&self) -> Vec<Rect> {
        let mut left = 0;
        let area = |size: &Size| {
            let area = Rect::new(left, 0, size.width.cast_signed(), size.height.cast_signed());
            left += area.width;
            area
        };
        self.sizes.iter().map(area).collect()
    }

    /// Returns the places of several monitors, and none of a single one, of which nothing need be told.
    pub fn several(&self) -> Vec<Rect> {
        if self.sizes.len() > 1 { self.areas() } else { Vec::new() }
    }

    /// Returns whether a point lies on a monitor. Below a monitor that is shorter than another, there is nothing.
    pub fn show(&self, point: ScreenPoint) -> bool {
        self.areas().iter().any(|area| area.contains(point))
    }
}

impl fmt::Display for Monitors {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, Size { width, height }) in self.sizes.iter().enumerate() {
            let joint = if index > 0 { "+" } else { "" };
            write!(formatter, "{joint}{width}x{height}")?;
        }
        Ok(())
    }
}

impl FromStr for Monitors {
    type Err = MonitorsError;

    fn from_str(text: &str) -> Result<Self, MonitorsError> {
        let parts: Vec<&str> = text.split('+').collect();
        if let [one] = parts.as_slice() {
            return size(one, SIDE).map(Self::from).ok_or(MonitorsError::Size);
        }
        let sizes = parts.iter().enumerate().map(|(index, part)| {
            let wrong = || MonitorsError::SizeOf { number: index + 1, text: (*part).to_owned() };
            size(part, SIDE_OF_SEVERAL).ok_or_else(wrong)
        });
        Self::side_by_side(sizes.collect::<Result<_, _>>()?)
    }
}

fn size(text: &str, side: RangeInclusive<u32>) -> Option<Size> {
    let (width, height) = text.split_once('x')?;
    let pixels = |text: &str| text.parse::<u32>().ok().filter(|pixels| side.contains(pixels));
    Some(Size::new(pixels(width)?, pixels(height)?))
}

/// A screen as it is recorded.
#[derive(Serialize, Deserialize, JsonSchema)]
struct RecordedScreen {
    /// Pixels across.
    width: u32,
    /// Pixels down.
    height: u32,
    /// The places of several monitors, side by side from left to right.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    monitors: Vec<Rect>,
}

impl TryFrom<RecordedScreen> for Monitors {
    type Error = MonitorsError;

    fn try_from(recorded: RecordedScreen) -> Result<Self, MonitorsError> {
        let screen = Size::new(recorded.width, recorded.height);
        if recorded.monitors.is_empty() {
            return Ok(screen.into());
        }
        let written = |area: &Rect| format!("{}x{}", area.width, area.height);
        let text: Vec<String> = recorded.monitors.iter().map(written).collect();
        let monitors: Self = text.join("+").parse()?;
        if monitors.areas() == recorded.monitors && monitors.screen() == screen {
            Ok(monitors)
        } else {
            let recorded = serde_json::to_string(&monitors.recorded());
            Err(MonitorsError::Placed(recorded.unwrap_or_default()))
        }
    }
}

impl Monitors {
    fn recorded(&self) -> RecordedScreen {
        let Size { width, height } = self.screen();
        RecordedScreen { width, height, monitors: self.several() }
    }
}

impl Serialize for Monitors {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.recorded().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Monitors {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;
        impl<'de> Visitor<'de> for Written {
            type Value = Monitors;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a width and a height, or monitors as in \"1920x1080+1280x1024\"")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Monitors, E> {
                text.parse().map_err(E::custom)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Monitors, A::Error> {
                let recorded = RecordedScreen::deserialize(MapAccessDeserializer::new(map))?;
                recorded.try_into().map_err(A::Error::custom)
            }
        }
        deserializer.deserialize_any(Written)
    }
}

impl JsonSchema for Monitors {
    fn schema_name() -> Cow<'static, str> {
        "Monitors".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let recorded = RecordedScreen::json_schema(generator);
        schemars::json_schema!({
            "description": "The monitors of a screen, side by side from left to right and aligned at the top: a width and a \
                            height, or text as in \"1920x1080+1280x1024\".",
            "anyOf": [{ "type": "string", "pattern": "^[0-9]+x[0-9]+(\\+[0-9]+x[0-9]+)*$" }, recorded],
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert, prop_assert_eq, proptest};
    use serde_json::json;

    use super::{MOST, Monitors, WIDEST};
    use crate::{Rect, ScreenPoint, Size};

    #[test]
    fn monitors_stand_side_by_side() {
        let monitors: Monitors = "1920x1080+1280x1024".parse().expect("monitors");
        assert_eq!(monitors.screen(), Size::new(3200, 1080));
        assert_eq!(monitors.areas(), [Rect::new(0, 0, 1920, 1080), Rect::new(1920, 0, 1280, 1024)]);
        let shown = [(0, 0), (1919, 1079), (1920, 1023), (3199, 0)];
        assert!(shown.iter().all(|(x, y)| monitors.show(ScreenPoint::new(*x, *y))));
        let not_shown = [(1920, 1024), (3199, 1079), (3200, 0), (0, 1080), (-1, 0)];
        assert!(!not_shown.iter().any(|(x, y)| monitors.show(ScreenPoint::new(*x, *y))));
    }

    #[test]
    fn one_monitor_is_written_as_a_size() {
        let one = Monitors::from(Size::new(1280, 800));
        assert_eq!(serde_json::to_value(&one).expect("JSON"), json!({ "width": 1280, "height": 800 }));
        assert_eq!(one.several(), []);
    }

    #[test]
    fn what_is_no_screen_is_refused_with_its_place() {
        let many = vec!["128x128"; MOST + 1].join("+");
        let refused = [
            ("1280", "expected WIDTHxHEIGHT, from 64 to 16384 pixels, for example 1280x800"),
            ("200x200+0x0", "monitor 2 is \"0x0\": expected WIDTHxHEIGHT, from 128"),
            ("1x1+800x600", "monitor 1 is \"1x1\""),
            ("800x600+100x200", "monitor 2 is \"100x200\""),
            ("1920x1080+1920+0", "monitor 2 is \"1920\""),
            ("800x600+", "monitor 2 is \"\""),
            (&many, "17 monitors are too many: a screen has at most 16"),
            ("16384x600+16384x600", "32768 pixels wide together: a screen is at most 30000 wide"),
        ];
        for (text, expected) in refused {
            let error = text.parse::<Monitors>().expect_err(text).to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn recorded_places_must_be_side_by_side() {
        let gap = json!({ "width": 1800, "height": 600, "monitors": [
            { "x": 0, "y": 0, "width": 800, "height": 600 }, { "x": 1000, "y": 0, "width": 800, "height": 600 }] });
        let error = serde_json::from_value::<Monitors>(gap).expect_err("a gap").to_string();
        assert!(error.contains("side by side"), "{error}");
        assert!(error.contains(r#"expected {"width":1600,"height":600,"monitors":[{"x":0,"#), "{error}");
        let error = serde_json::from_value::<Monitors>(json!({ "width": 800 })).expect_err("no height");
        assert!(error.to_string().contains("missing field `height`"), "{error}");
    }

    proptest! {
        #[test]
        fn valid_monitors_survive_text_and_json(
            sides in proptest::collection::vec((128u32..=1_800, 128u32..=16_384), 1..=MOST),
        ) {
            let text: Vec<String> = sides.iter().map(|(width, height)| format!("{width}x{height}")).collect();
            let monitors: Monitors = text.join("+").parse().expect("monitors");
            prop_assert_eq!(monitors.to_string(), text.join("+"));
            let written = serde_json::to_string(&monitors).expect("JSON");
            prop_assert_eq!(&serde_json::from_str::<Monitors>(&written).expect("monitors"), &monitors);
            prop_assert_eq!(&serde_json::from_value::<Monitors>(json!(text.join("+"))).expect("monitors"), &monitors);
            let screen = monitors.screen();
            prop_assert!(screen.width <= WIDEST);
            prop_assert_eq!(screen.width, sides.iter().map(|(width, _)| width).sum::<u32>());
            for (area, (width, height)) in monitors.areas().iter().zip(&sides) {
                prop_assert_eq!((area.width.cast_unsigned(), area.height.cast_unsigned()), (*width, *height));
                prop_assert!(monitors.show(ScreenPoint::new(area.x, area.height - 1)));
                prop_assert!(!monitors.show(ScreenPoint::new(area.x, area.height)));
            }
        }

        #[test]
        fn any_text_is_a_screen_of_sane_size_or_an_error(text in "[0-9x+ a-]{0,40}|\\PC{0,20}") {
            if let Ok(monitors) = text.parse::<Monitors>() {
                let Size { width, height } = monitors.screen();
                prop_assert!((64..=WIDEST).contains(&width) && (64..=16_384).contains(&height));
                prop_assert_eq!(monitors.to_string().parse(), Ok(monitors));
            }
        }
    }
}
