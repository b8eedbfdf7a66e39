//! Keeps clicks of two acts apart, which a program would take for a double click.

use std::time::Duration;

use apprentice_protocol::ScreenPoint;

/// Toolkits take two clicks at one place within this time for a double click. GTK's own limit is in `seeds/gtk3.ini`; Qt's is 400 ms
/// without a desktop's settings.
const DOUBLE_CLICK: Duration = Duration::from_millis(450);
/// Two clicks at most so far apart are at one place: 5 pixels in GTK, 10 in Qt 6.
const DOUBLE_CLICK_PIXELS: i32 = 10;

/// A click that may become the first of a double click.
#[derive(Clone, Copy, Debug)]
pub(super) struct LastClick {
    pub(super) at: ScreenPoint,
    pub(super) button: u8,
    pub(super) sent: Duration,
    /// Whether its effect was waited for, so that the next click is an act of its own.
    pub(super) settled: bool,
}

impl LastClick {
    /// How long a click has to wait so that no program takes it for the second of a double click.
    pub(super) fn keeps_apart(&self, at: ScreenPoint, button: u8, now: Duration) -> Option<Duration> {
        let near = (at.x - self.at.x).abs().max((at.y - self.at.y).abs()) <= DOUBLE_CLICK_PIXELS;
        let left = (self.sent + DOUBLE_CLICK).saturating_sub(now);
        (self.settled && near && button == self.button && !left.is_zero()).then_some(left)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use apprentice_protocol::ScreenPoint;

    use super::LastClick;

    #[test]
    fn two_acts_are_no_double_click() {
        let ms = Duration::from_millis;
        let last = LastClick { at: ScreenPoint::new(100, 100), button: 1, sent: ms(1_000), settled: true };
        let again =
            |last: LastClick, x, button, now| last.keeps_apart(ScreenPoint::new(x, 101), button, ms(now));
        assert_eq!(again(last, 103, 1, 1_080), Some(ms(370)));
        for (name, waits) in [
            ("elsewhere", again(last, 140, 1, 1_080)),
            ("another button", again(last, 100, 3, 1_080)),
            ("later", again(last, 100, 1, 1_450)),
            ("a script that has not looked", again(LastClick { settled: false, ..last }, 100, 1, 1_080)),
        ] {
            assert_eq!(waits, None, "{name}");
        }
    }
}
