//! The display as its thread sees it: screenshots through shared memory, and the list of windows.

use std::sync::Arc;

use apprentice_pixels::{Frame, Segment, encode_png};
use apprentice_protocol::{BlobHash, Clock, Image, ImageBytes, MediaType, Rect, Size, Window};
use sha2::{Digest, Sha256};
use x11rb::connection::Connection;
use x11rb::protocol::damage::{self, ConnectionExt as _};
use x11rb::protocol::shm::{self, ConnectionExt as _};
use x11rb::protocol::xfixes::ConnectionExt as _;
use x11rb::protocol::xproto::{
    AtomEnum, ChangeWindowAttributesAux, ConnectionExt, EventMask, ImageFormat, InputFocus, Keycode,
};
use x11rb::rust_connection::RustConnection;

use super::drawn_areas::{DrawnAreas, Pixels};
use super::keyboard_map::Keyboard;
use super::last_click::LastClick;
use super::programs::Programs;
use super::screen_activity::ScreenActivity;
use super::{Beats, DisplayError};

x11rb::atom_manager! {
    /// Atoms of the X properties that are read.
    pub(super) Atoms: AtomsCookie {
        _NET_ACTIVE_WINDOW,
        _NET_CLIENT_LIST,
        _NET_CLIENT_LIST_STACKING,
        _NET_WM_NAME,
        _NET_WM_PID,
        _NET_WM_STATE,
        _NET_WM_STATE_MODAL,
        _NET_WM_WINDOW_TYPE,
        _NET_WM_WINDOW_TYPE_DND,
        _NET_WM_WINDOW_TYPE_NOTIFICATION,
        _NET_WM_WINDOW_TYPE_SPLASH,
        _NET_WM_WINDOW_TYPE_TOOLTIP,
        UTF8_STRING,
    }
}

/// Where keys go.
pub(super) struct Focus {
    /// The window that the window manager calls active.
    pub(super) active: Option<u32>,
    /// The windows that it lists.
    pub(super) listed: Vec<u32>,
    /// Whether the display sends keys to the active window, or to a part of it. After a window has closed, it sends them to the
    /// frame around it, and then to nobody, until the window manager hands the focus on.
    pub(super) in_active: bool,
}

/// The display, owned by one thread.
pub struct Screen {
    pub(super) connection: RustConnection,
    pub(super) root: u32,
    pub(super) atoms: Atoms,
    pub(super) keyboard: Keyboard,
    pub(super) held_keys: Vec<Keycode>,
    pub(super) held_buttons: Vec<u8>,
    pub(super) last_click: Option<LastClick>,
    pub(super) caps_lock: bool,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) damage: damage::Damage,
    pub(super) unrest: ScreenActivity,
    pub(super) drawn: DrawnAreas,
    pub(super) beats: Beats,
    /// The cell's programs; `None` where they cannot be watched.
    pub(super) programs: Option<Programs>,
    size: Size,
    segment: Segment,
    segment_id: shm::Seg,
}

impl Screen {
    pub(super) fn open(
        connection: RustConnection,
        programs: Option<Programs>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, DisplayError> {
        let setup = connection.setup().roots.first().ok_or(DisplayError::Late("a screen"))?;
        let (root, size) =
            (setup.root, Size::new(setup.width_in_pixels.into(), setup.height_in_pixels.into()));
        if setup.root_depth != 24 {
            return Err(DisplayError::Picture(format!(
                "a colour depth of {} bits is not supported",
                setup.root_depth
            )));
        }
        let atoms = Atoms::new(&connection)?.reply()?;
        connection.damage_query_version(1, 1)?.reply()?;
        connection.shm_query_version()?.reply()?;
        connection.xfixes_query_version(4, 0)?.reply()?;
        let segment_id = connection.generate_id()?;
        let length = size.width * size.height * 4;
        let passed = connection.shm_create_segment(segment_id, length, false)?.reply()?;
        let segment = Segment::map(&passed.shm_fd, length as usize)
            .map_err(|error| DisplayError::Picture(error.to_string()))?;
        let damage = connection.generate_id()?;
        connection.damage_create(damage, root, damage::ReportLevel::DELTA_RECTANGLES)?.check()?;
        let watch = EventMask::PROPERTY_CHANGE | EventMask::SUBSTRUCTURE_NOTIFY | EventMask::FOCUS_CHANGE;
        let watch = ChangeWindowAttributesAux::new().event_mask(watch);
        connection.change_window_attributes(root, &watch)?.check()?;
        let keyboard = Keyboard::read(&connection)?;
        let unrest = ScreenActivity::new(clock.mono());
        Ok(Self {
            connection,
            root,
            atoms,
            keyboard,
            held_keys: Vec::new(),
            held_buttons: Vec::new(),
            last_click: None,
            caps_lock: false,
            clock,
            damage,
            unrest,
            drawn: DrawnAreas::default(),
            beats: Beats::default(),
            programs,
            size,
            segment,
            segment_id,
        })
    }

    /// What is on the screen, without the pointer.
    ///
    /// # Errors
    ///
    /// Fails if the display's connection is broken, or if its picture cannot be read.
    pub fn frame(&mut self) -> Result<Frame, DisplayError> {
        self.frame_of(self.size)
    }

    /// What is on a part of the screen that begins at its top left corner, without the pointer.
    pub(super) fn frame_of(&mut self, part: Size) -> Result<Frame, DisplayError> {
        let pixels = self.pixels_of(part)?;
        Frame::from_bgrx(part.width, part.height, &pixels.bytes)
            .map_err(|error| DisplayError::Picture(error.to_string()))
    }

    /// The pixels of the screen, without the pointer.
    pub(super) fn pixels(&mut self) -> Result<Pixels, DisplayError> {
        self.pixels_of(self.size)
    }

    fn pixels_of(&mut self, part: Size) -> Result<Pixels, DisplayError> {
        self.beats.note();
        let picture = |error: &dyn std::fmt::Display| DisplayError::Picture(error.to_string());
        let short = |value: u32| u16::try_from(value).map_err(|error| picture(&error));
        let (width, height) = (short(part.width)?, short(part.height)?);
        let (format, segment) = (ImageFormat::Z_PIXMAP.into(), self.segment_id);
        let request =
            self.connection.shm_get_image(self.root, 0, 0, width, height, !0, format, segment, 0)?;
        let length = request.reply()?.size as usize;
        let bytes = self.segment.copy(length).map_err(|error| picture(&error))?;
        Ok(Pixels { width: usize::from(width), bytes })
    }

    /// The screen as an encoded picture, without the pointer.
    ///
    /// # Errors
    ///
    /// Fails if the display's connection is broken, or if its picture cannot be read or encoded.
    pub fn picture(&mut self) -> Result<Image, DisplayError> {
        encoded(&self.frame()?)
    }

    /// Width and height.
    pub(super) fn size(&self) -> (u32, u32) {
        (self.size.width, self.size.height)
    }

    /// Returns whether an area is of one colour, so that nothing is drawn in it. What lies outside of the screen is not.
    ///
    /// # Errors
    ///
    /// Fails if the display's connection is broken.
    pub fn is_plain(&mut self, area: Rect) -> Result<bool, DisplayError> {
        let Some(pixels) = self.area(area)? else { return Ok(false) };
        let mut pixels = pixels.chunks_exact(4).map(|pixel| &pixel[..3]);
        let first = pixels.next();
        Ok(first.is_some() && pixels.all(|pixel| Some(pixel) == first))
    }

    /// The pixels of an area, four bytes each; `None` if it does not lie on the screen.
    pub(super) fn area(&self, area: Rect) -> Result<Option<Vec<u8>>, DisplayError> {
        let (x, y) = (i16::try_from(area.x), i16::try_from(area.y));
        let (width, height) = (u16::try_from(area.width), u16::try_from(area.height));
        let (Ok(x), Ok(y), Ok(width), Ok(height)) = (x, y, width, height) else { return Ok(None) };
        let request = self.connection.get_image(ImageFormat::Z_PIXMAP, self.root, x, y, width, height, !0)?;
        Ok(gone(request.reply())?.map(|image| image.data))
    }

    /// The windows that the window manager lists, front to back.
    ///
    /// # Errors
    ///
    /// Fails if the display's connection is broken. A window that closes meanwhile is left out.
    pub fn windows(&mut self) -> Result<Vec<Window>, DisplayError> {
        let (root, list, active) =
            (self.root, self.atoms._NET_CLIENT_LIST_STACKING, self.atoms._NET_ACTIVE_WINDOW);
        let stacked = self.numbers(root, list, AtomEnum::WINDOW.into())?;
        let active = self.numbers(root, active, AtomEnum::WINDOW.into())?.first().copied();
        let mut windows = Vec::with_capacity(stacked.len());
        for id in stacked.into_iter().rev() {
            self.beats.note();
            // A window that has closed meanwhile is left out.
            if let Some(window) = self.window(id, active == Some(id))? {
                windows.push(window);
            }
        }
        Ok(windows)
    }

    /// Where keys go.
    pub(super) fn focus(&self) -> Result<Focus, DisplayError> {
        let atoms = &self.atoms;
        let active = self.numbers(self.root, atoms._NET_ACTIVE_WINDOW, AtomEnum::WINDOW.into())?;
        let listed = self.numbers(self.root, atoms._NET_CLIENT_LIST, AtomEnum::WINDOW.into())?;
        let active = active.first().copied();
        // Asked last: by then the display knows of a program that had ended before the first question.
        let focus = self.connection.get_input_focus()?.reply()?.focus;
        Ok(Focus { active, listed, in_active: self.is_within(focus, active)? })
    }

    /// Returns whether a window is another one, or a part of it.
    fn is_within(&self, window: u32, outer: Option<u32>) -> Result<bool, DisplayError> {
        let mut at = window;
        // No windows: nobody, and whatever lies under the pointer.
        while ![u32::from(InputFocus::NONE), u32::from(InputFocus::POINTER_ROOT), self.root].contains(&at) {
            if Some(at) == outer {
                return Ok(true);
            }
            let Some(tree) = gone(self.connection.query_tree(at)?.reply())? else { return Ok(false) };
            at = tree.parent;
        }
        Ok(false)
    }

    fn window(&self, id: u32, active: bool) -> Result<Option<Window>, DisplayError> {
        let geometry = self.connection.get_geometry(id)?;
        let place = self.connection.translate_coordinates(id, self.root, 0, 0)?;
        let (Ok(geometry), Ok(place)) = (gone(geometry.reply())?.ok_or(()), gone(place.reply())?.ok_or(()))
        else {
            return Ok(None);
        };
        let title = self.text(id, self.atoms._NET_WM_NAME, self.atoms.UTF8_STRING)?;
        let title = match title {
            title if title.is_empty() => self.text(id, AtomEnum::WM_NAME.into(), AtomEnum::STRING.into())?,
            title => title,
        };
        let class = self.text(id, AtomEnum::WM_CLASS.into(), AtomEnum::STRING.into())?;
        let pid = self.numbers(id, self.atoms._NET_WM_PID, AtomEnum::CARDINAL.into())?;
        Ok(Some(Window {
            id: format!("0x{id:x}"),
            title,
            // `WM_CLASS` holds instance and class, each terminated by a zero byte.
            class: class.split('\0').nth(1).unwrap_or_default().to_owned(),
            bounds: Rect::new(
                place.dst_x.into(),
                place.dst_y.into(),
                geometry.width.into(),
                geometry.height.into(),
            ),
            active,
            pid: pid.first().copied(),
        }))
    }

    pub(super) fn numbers(&self, window: u32, name: u32, kind: u32) -> Result<Vec<u32>, DisplayError> {
        let property = self.connection.get_property(false, window, name, kind, 0, 4096)?;
        let property = gone(property.reply())?;
        Ok(property.and_then(|property| property.value32().map(Iterator::collect)).unwrap_or_default())
    }

    pub(super) fn text(&self, window: u32, name: u32, kind: u32) -> Result<String, DisplayError> {
        let property = self.connection.get_property(false, window, name, kind, 0, 4096)?;
        let bytes = gone(property.reply())?.map(|property| property.value).unwrap_or_default();
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// Encodes a frame as an image with its hash.
pub(super) fn encoded(frame: &Frame) -> Result<Image, DisplayError> {
    let bytes = encode_png(frame).map_err(|error| DisplayError::Picture(error.to_string()))?;
    let hash = hex::encode(Sha256::digest(&bytes));
    Ok(Image {
        hash: BlobHash::new(hash),
        size: Size::new(frame.width(), frame.height()),
        media: MediaType::Png,
        bytes: ImageBytes(bytes.into()),
    })
}

/// Turns a protocol error (the window has closed) into `None`, and keeps a broken connection as an error.
pub(super) fn gone<T>(reply: Result<T, x11rb::errors::ReplyError>) -> Result<Option<T>, DisplayError> {
    match reply {
        Ok(reply) => Ok(Some(reply)),
        Err(x11rb::errors::ReplyError::X11Error(_)) => Ok(None),
        Err(error @ x11rb::errors::ReplyError::ConnectionError(_)) => Err(error.into()),
    }
}
