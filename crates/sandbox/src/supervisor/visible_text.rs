//! Finds which part of a long text is on the screen, by asking its program where characters lie.

use apprentice_protocol::{Rect, VisibleText};

use super::node::{self, Address, TEXT};
use super::peers::Peers;

/// A text of fewer characters is told whole.
const SHORT: usize = 400;
/// Most characters of a text whose visible part is looked for.
const LONGEST: i32 = 200_000;
/// Distance of the asked points from the corners of the area, in pixels.
const INSIDE: i32 = 5;

/// The upper and lower edge of a character on the screen.
#[derive(Clone, Copy)]
struct CharacterPlace {
    top: i32,
    bottom: i32,
}

impl CharacterPlace {
    fn middle(self) -> i32 {
        self.top.midpoint(self.bottom)
    }
}

/// A text on the bus, and the area that shows it.
struct ShownText<'a> {
    bus: &'a Peers,
    at: &'a Address,
    area: Rect,
    count: i32,
}

/// The visible part of a text whose first characters are `beginning`. `None` where the text is short, or its program does not
/// say where its characters lie.
pub(super) async fn visible_text(
    bus: &Peers,
    at: &Address,
    area: Rect,
    beginning: &str,
) -> Option<VisibleText> {
    let read = beginning.chars().count();
    if read <= SHORT {
        return None;
    }
    let is_whole = i32::try_from(read).is_ok_and(|read| read < node::TEXT_LIMIT);
    let whole = if is_whole { beginning.to_owned() } else { node::text(bus, at, LONGEST).await? };
    let count = i32::try_from(whole.chars().count()).ok()?;
    // The end of a longer one is not known, nor which part of it shows.
    if count >= LONGEST {
        return None;
    }
    let (start, end) = ShownText { bus, at, area, count }.range().await?;
    Some(VisibleText::between(&whole, usize::try_from(start).ok()?, usize::try_from(end).ok()?))
}

impl ShownText<'_> {
    /// The offsets of the first visible character and of the one after the last.
    async fn range(&self) -> Option<(i32, i32)> {
        let (first, last) = tokio::join!(self.place(0), self.place(self.count - 1));
        let (first, last) = (first?, last?);
        let bottom = self.area.y.saturating_add(self.area.height);
        if first.middle() >= self.area.y && last.middle() <= bottom {
            return Some((0, self.count));
        }
        if let Some(range) = self.range_at_corners(bottom).await {
            return Some(range);
        }
        tokio::try_join!(self.first_below(self.area.y), self.first_below(bottom)).ok()
    }

    /// The range between two corners of the area, as the program says. Some answer 0 whatever they are asked, so the places of
    /// the characters are compared with the corners.
    async fn range_at_corners(&self, bottom: i32) -> Option<(i32, i32)> {
        let right = self.area.x.saturating_add(self.area.width) - INSIDE;
        let corners = tokio::join!(
            self.offset_at(self.area.x + INSIDE, self.area.y + INSIDE),
            self.offset_at(right, bottom - INSIDE),
        );
        let (start, end) = (corners.0?, corners.1?);
        let (first, last) = tokio::join!(self.place(start), self.place(end));
        let (first, last) = (first?, last?);
        let height = first.bottom - first.top;
        let is_first = first.bottom > self.area.y && first.top <= self.area.y + height;
        let is_last = last.top < bottom && last.bottom >= bottom - height;
        (start < end && is_first && is_last).then_some((start, end.saturating_add(1)))
    }

    /// The first character whose middle lies below an edge: lines follow on each other from top to bottom.
    async fn first_below(&self, edge: i32) -> Result<i32, ()> {
        let (mut above, mut below) = (-1, self.count);
        while below - above > 1 {
            let middle = above.midpoint(below);
            if self.place(middle).await.ok_or(())?.middle() < edge { above = middle } else { below = middle }
        }
        Ok(below)
    }

    async fn place(&self, offset: i32) -> Option<CharacterPlace> {
        let asked = (offset, 0u32);
        let (_, top, _, height): (i32, i32, i32, i32) =
            node::call(self.bus, self.at, TEXT, "GetCharacterExtents", &asked).await.ok()?;
        (height > 0).then(|| CharacterPlace { top, bottom: top.saturating_add(height) })
    }

    async fn offset_at(&self, x: i32, y: i32) -> Option<i32> {
        let found: Result<i32, _> =
            node::call(self.bus, self.at, TEXT, "GetOffsetAtPoint", &(x, y, 0u32)).await;
        found.ok().filter(|offset| (0..self.count).contains(offset))
    }
}
