//! Which call a piece belongs to, however little the piece says about it.

use rustagents_core::model::ModelDelta;

use super::failure::Failure;

/// The most calls of one answer.
const MAX_CALLS: usize = 1024;

/// The longest id, and as much of a name as is compared, in bytes.
const MAX_NAME_BYTES: usize = 256;

/// A piece of a call. What it does not say is empty.
#[derive(Debug, Default)]
pub(super) struct Piece {
    pub(super) index: Option<u64>,
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: String,
}

/// The calls of one answer so far.
#[derive(Debug, Default)]
pub(super) struct Calls {
    all: Vec<Call>,
    /// How many of them were told of.
    told: usize,
    /// The number of the current list of pieces, from 1.
    list: u64,
}

#[derive(Debug, Default)]
struct Call {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: Extent,
    /// The list in which it came up.
    born: u64,
    /// The list of its last piece.
    touched: u64,
    /// Its place among those that were told of.
    place: Option<usize>,
    id_told: bool,
}

impl Calls {
    /// Whether there are any.
    pub(super) fn any(&self) -> bool {
        self.told > 0
    }

    /// Takes in the pieces of one event, in their order.
    pub(super) fn take(
        &mut self,
        pieces: impl IntoIterator<Item = Piece>,
        mut tell: impl FnMut(ModelDelta),
    ) -> Result<(), Failure> {
        self.list += 1;
        for (position, piece) in pieces.into_iter().enumerate() {
            if let Some(delta) = self.take_one(position, piece)? {
                tell(delta);
            }
        }
        Ok(())
    }

    fn take_one(
        &mut self,
        position: usize,
        mut piece: Piece,
    ) -> Result<Option<ModelDelta>, Failure> {
        if piece.id.len() > MAX_NAME_BYTES {
            piece.id.clear();
        }
        if piece.index.is_none() && piece.is_blank() {
            return Ok(None);
        }
        let at = match self.find(position, &piece) {
            Some(at) => at,
            None => self.open()?,
        };
        let Some(call) = self.all.get_mut(at) else {
            return Ok(None);
        };
        call.touched = self.list;
        Ok(call.take(piece, &mut self.told))
    }

    /// Where a new call stands.
    fn open(&mut self) -> Result<usize, Failure> {
        if self.all.len() == MAX_CALLS {
            return Err(Failure::TooManyCalls { limit: MAX_CALLS });
        }
        self.all.push(Call {
            born: self.list,
            ..Call::default()
        });
        Ok(self.all.len() - 1)
    }

    /// The call that `piece` belongs to; `None` for a new one.
    fn find(&self, position: usize, piece: &Piece) -> Option<usize> {
        let last = |belongs: &dyn Fn(&Call) -> bool| self.all.iter().rposition(belongs);
        let same_id = |call: &Call| {
            let other_index =
                call.index.is_some() && piece.index.is_some() && call.index != piece.index;
            !piece.id.is_empty() && call.id == piece.id && !other_index
        };
        let at = match (last(&same_id), piece.index) {
            (Some(at), _) => at,
            (None, Some(_)) => last(&|call| call.index == piece.index)?,
            (None, None) if piece.name.is_empty() => return self.by_position(position),
            (None, None) => self.all.len().checked_sub(1)?,
        };
        let call = self.all.get(at)?;
        (!self.starts_another(call, piece)).then_some(at)
    }

    /// Whether `piece` cannot be more of `call`, which is the nearest to it.
    fn starts_another(&self, call: &Call, piece: &Piece) -> bool {
        if piece.name.is_empty() {
            return false;
        }
        let other_name = !call.name.is_empty() && call.name != piece.name;
        let same_id = !piece.id.is_empty() && call.id == piece.id;
        let other_id = !piece.id.is_empty() && !call.id.is_empty() && !same_id;
        let full = call.arguments.closed;
        // Pieces of one list that do not share an id are of different calls.
        let beside = call.touched == self.list;
        match piece.index {
            None if !same_id => other_id || other_name || full || beside,
            Some(_) if other_id => other_name || full || beside,
            _ => other_name && full,
        }
    }

    /// The call of a piece that says no more than its position in the list.
    fn by_position(&self, position: usize) -> Option<usize> {
        let calls = || self.all.iter().enumerate();
        let mut open =
            calls().filter(|(_, call)| !call.arguments.closed && call.touched != self.list);
        if let (Some((at, _)), None) = (open.next(), open.next()) {
            return Some(at);
        }
        let born = self.all.last()?.born;
        let mut together = calls().filter(|(_, call)| call.born == born);
        let at = together.nth(position).map(|(at, _)| at);
        at.or(self.all.len().checked_sub(1))
    }
}

impl Call {
    /// Takes in a piece of this call, and says what is new. Nothing is told of a
    /// call that has neither a name nor arguments yet: it may never be one.
    fn take(&mut self, piece: Piece, told: &mut usize) -> Option<ModelDelta> {
        self.index = self.index.or(piece.index);
        if self.id.is_empty() {
            self.id = piece.id;
        }
        self.arguments.read(&piece.arguments);
        let name = (!piece.name.is_empty() && piece.name != self.name).then_some(piece.name);
        if let Some(name) = &name {
            let room = MAX_NAME_BYTES.saturating_sub(self.name.len());
            let fits = name.floor_char_boundary(room);
            self.name.push_str(name.get(..fits).unwrap_or_default());
        }
        let new = name.is_some() || !piece.arguments.is_empty();
        if self.place.is_none() && !new {
            return None;
        }
        let place = *self.place.get_or_insert_with(|| {
            *told += 1;
            *told - 1
        });
        let wire_id = (!self.id_told && !self.id.is_empty()).then(|| self.id.clone());
        self.id_told |= wire_id.is_some();
        (new || wire_id.is_some()).then_some(ModelDelta::Call {
            index: place,
            wire_id,
            name,
            arguments: piece.arguments,
        })
    }
}

impl Piece {
    fn is_blank(&self) -> bool {
        self.id.is_empty() && self.name.is_empty() && self.arguments.is_empty()
    }
}

/// Follows JSON text to the end of its first object, without keeping the text.
#[derive(Debug, Default)]
struct Extent {
    depth: u64,
    in_string: bool,
    escaped: bool,
    /// The object is whole.
    closed: bool,
}

impl Extent {
    fn read(&mut self, text: &str) {
        for byte in text.bytes() {
            if self.in_string {
                self.in_string = self.escaped || byte != b'"';
                self.escaped = !self.escaped && byte == b'\\';
                continue;
            }
            match byte {
                b'"' => self.in_string = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    self.closed |= self.depth == 0;
                }
                _ => {}
            }
        }
    }
}
