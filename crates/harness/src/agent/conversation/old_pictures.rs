//! Leaves out old pictures in blocks, so that a request keeps to the provider's limits. Between two blocks the
//! conversation only grows, and the provider's cache stays valid.

use apprentice_protocol::{Content, HistoryRule};

use super::{ContextFit, Conversation, KEPT_SHARE, LeftOut, PartKind, contents_of};

impl Conversation {
    /// Keeps the request to a number of pictures and to a number of bytes.
    pub(super) fn leave_out_blocks(&mut self, keep: u32, at_most: u32, max_request_bytes: u64) -> ContextFit {
        if self.pictures.len() > at_most as usize {
            let why = format!("a request holds at most {at_most} pictures");
            let left_out = self.leave_out_pictures(keep.max(1) as usize, why);
            return match self.leave_out_bytes(max_request_bytes) {
                ContextFit::Fits => ContextFit::WithoutPictures(left_out),
                ContextFit::WithoutPictures(more) => ContextFit::WithoutPictures(LeftOut {
                    left_out: left_out.left_out + more.left_out,
                    ..more
                }),
                other => other,
            };
        }
        self.leave_out_bytes(max_request_bytes)
    }

    /// Keeps the request to a number of bytes.
    pub(super) fn leave_out_bytes(&mut self, limit: u64) -> ContextFit {
        let needed = self.text_bytes + self.picture_bytes();
        if needed <= limit {
            return ContextFit::Fits;
        }
        let enough = limit / KEPT_SHARE.1 * KEPT_SHARE.0;
        let (mut kept, mut bytes) = (self.pictures.len(), needed);
        for size in self.picture_sizes() {
            if bytes <= enough || kept <= 1 {
                break;
            }
            (kept, bytes) = (kept - 1, bytes.saturating_sub(size));
        }
        let why = format!("a request holds at most {limit} bytes");
        let left_out = self.leave_out_pictures(kept, why);
        match self.fit_in_bytes(self.text_bytes + self.picture_bytes(), limit) {
            ContextFit::Fits => ContextFit::WithoutPictures(left_out),
            other => other,
        }
    }

    /// Whether nothing may be left out of the conversation.
    pub(in super::super) fn only_grows(&self) -> bool {
        matches!(self.rule, HistoryRule::AppendOnly { .. })
    }

    /// Leaves out half of the pictures of a request that the provider found too long. `None` when only one is left, and of a
    /// conversation that only grows.
    pub(in super::super) fn leave_out_half(&mut self) -> Option<LeftOut> {
        if self.only_grows() {
            return None;
        }
        let kept = self.pictures.len().div_ceil(2);
        let why = "the provider found the request too long".to_owned();
        (kept < self.pictures.len()).then(|| self.leave_out_pictures(kept, why))
    }

    /// Whether a request of this size fits.
    pub(super) fn fit_in_bytes(&self, needed: u64, limit: u64) -> ContextFit {
        // Who keeps all pictures has chosen them.
        let by_pictures = self.text_bytes <= limit && !self.only_grows();
        if needed <= limit {
            ContextFit::Fits
        } else {
            ContextFit::None { unit: "bytes", needed, limit, held: 0, by_pictures }
        }
    }

    fn leave_out_pictures(&mut self, kept: usize, why: String) -> LeftOut {
        let mut left_out = 0;
        while self.pictures.len() > kept {
            self.leave_out(PartKind::Picture);
            left_out += 1;
        }
        if matches!(self.rule, HistoryRule::Blocks { .. }) {
            self.request.edited_before = self.request.messages.len();
        }
        LeftOut { left_out, kept: u32::try_from(kept).unwrap_or(u32::MAX), why }
    }

    /// Bytes of all pictures, encoded as text for the request.
    pub(super) fn picture_bytes(&self) -> u64 {
        self.picture_sizes().iter().sum()
    }

    /// Bytes of each picture, oldest first.
    fn picture_sizes(&self) -> Vec<u64> {
        let contents = self.request.messages.iter().flat_map(contents_of);
        contents
            .filter_map(|content| match content {
                Content::Image { image } => Some((image.bytes.0.len() as u64).div_ceil(3) * 4),
                Content::Text { .. } => None,
            })
            .collect()
    }
}
