//! A writer of the JSON that is recorded at each step: the same bytes as
//! `serde_json`'s compact form, in less time.
//!
//! It knows what records are made of. Whatever else it meets, it refuses as
//! [`Refused::Unusual`], and `serde_json` writes the whole value.

use std::fmt::Display;

use serde::{
    Serialize,
    ser::{self, Impossible, Serializer as _},
};

use crate::encode::escape;

/// Writes to the end of a text, which is UTF-8. After an error, it is of no use.
pub(super) struct Plain<'t> {
    pub(super) text: &'t mut Vec<u8>,
    /// How many lists and objects may still be opened around one another.
    pub(super) room: u8,
}

/// Why this writer wrote nothing of use.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refused {
    /// It does not know what it met, or that cannot be written at all.
    #[error("not written here")]
    Unusual,
    /// There are more lists and objects around one another than may be.
    #[error("nested too deep")]
    TooDeep,
}

impl ser::Error for Refused {
    fn custom<T: Display>(_: T) -> Self {
        Self::Unusual
    }
}

type Done = Result<(), Refused>;

/// Types that hold text for `serde_json` alone give themselves such names.
const PRIVATE: &str = "$serde_json::";

impl Plain<'_> {
    fn reborrow(&mut self) -> Plain<'_> {
        Plain {
            text: self.text,
            room: self.room,
        }
    }

    fn signed(self, number: i64) -> Done {
        if number < 0 {
            self.text.push(b'-');
        }
        self.serialize_u64(number.unsigned_abs())
    }

    /// Digits of fractions are not ours to find.
    fn float(self, number: impl Serialize) -> Done {
        serde_json::to_writer(self.text, &number).map_err(|_| Refused::Unusual)
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as for a key")]
    fn variant(&mut self, name: &'static str) -> Done {
        self.enter()?;
        self.text.push(b'{');
        self.key(name);
        Ok(())
    }

    /// Goes one list or object deeper.
    #[inline]
    fn enter(&mut self) -> Done {
        self.room = self.room.checked_sub(1).ok_or(Refused::TooDeep)?;
        Ok(())
    }

    /// A name that the program is written with. Inlined, so that all there is to do
    /// is to copy it: whether it needs an escape is known when it is compiled.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "the name is known to the caller alone"
    )]
    fn key(&mut self, name: &'static str) {
        if escape::is_plain(name.as_bytes()) {
            self.text.push(b'"');
            self.text.extend_from_slice(name.as_bytes());
            self.text.extend_from_slice(b"\":");
        } else {
            escape::quoted(self.text, name);
            self.text.push(b':');
        }
    }
}

/// An open list or object.
pub(super) struct Open<'t> {
    plain: Plain<'t>,
    first: bool,
    close: u8,
    /// Whether there is an object of one field around it.
    is_variant: bool,
}

impl<'t> Open<'t> {
    fn new(mut plain: Plain<'t>, open: u8, close: u8) -> Result<Self, Refused> {
        plain.enter()?;
        plain.text.push(open);
        Ok(Self {
            plain,
            first: true,
            close,
            is_variant: false,
        })
    }

    #[inline]
    fn comma(&mut self) {
        if !std::mem::take(&mut self.first) {
            self.plain.text.push(b',');
        }
    }

    fn item(&mut self, value: &(impl Serialize + ?Sized)) -> Done {
        self.comma();
        value.serialize(self.plain.reborrow())
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as for a key")]
    fn field(&mut self, name: &'static str, value: &(impl Serialize + ?Sized)) -> Done {
        self.comma();
        self.plain.key(name);
        value.serialize(self.plain.reborrow())
    }

    #[inline]
    fn close(self) {
        self.plain.text.push(self.close);
        if self.is_variant {
            self.plain.text.push(b'}');
        }
    }
}

impl<'t> ser::Serializer for Plain<'t> {
    type Ok = ();
    type Error = Refused;
    type SerializeSeq = Open<'t>;
    type SerializeTuple = Open<'t>;
    type SerializeTupleStruct = Impossible<(), Refused>;
    type SerializeTupleVariant = Impossible<(), Refused>;
    type SerializeMap = Open<'t>;
    type SerializeStruct = Open<'t>;
    type SerializeStructVariant = Open<'t>;

    fn serialize_bool(self, value: bool) -> Done {
        let text = if value { "true" } else { "false" };
        self.text.extend_from_slice(text.as_bytes());
        Ok(())
    }

    fn serialize_i8(self, value: i8) -> Done {
        self.signed(value.into())
    }

    fn serialize_i16(self, value: i16) -> Done {
        self.signed(value.into())
    }

    fn serialize_i32(self, value: i32) -> Done {
        self.signed(value.into())
    }

    fn serialize_i64(self, value: i64) -> Done {
        self.signed(value)
    }

    fn serialize_u8(self, value: u8) -> Done {
        self.serialize_u64(value.into())
    }

    fn serialize_u16(self, value: u16) -> Done {
        self.serialize_u64(value.into())
    }

    fn serialize_u32(self, value: u32) -> Done {
        self.serialize_u64(value.into())
    }

    fn serialize_u64(self, value: u64) -> Done {
        if let Ok(digit @ 0..=9) = u8::try_from(value) {
            self.text.push(b'0' + digit);
            return Ok(());
        }
        let mut digits = itoa::Buffer::new();
        self.text.extend_from_slice(digits.format(value).as_bytes());
        Ok(())
    }

    fn serialize_f32(self, value: f32) -> Done {
        self.float(value)
    }

    fn serialize_f64(self, value: f64) -> Done {
        self.float(value)
    }

    fn serialize_char(self, value: char) -> Done {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Done {
        escape::quoted(self.text, value);
        Ok(())
    }

    fn serialize_bytes(self, _: &[u8]) -> Done {
        Err(Refused::Unusual)
    }

    fn serialize_none(self) -> Done {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Done {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Done {
        self.text.extend_from_slice(b"null");
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Done {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Done {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Done {
        value.serialize(self)
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as for a key")]
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        mut self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Done {
        self.variant(variant)?;
        value.serialize(self.reborrow())?;
        self.text.push(b'}');
        Ok(())
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Open<'t>, Refused> {
        Open::new(self, b'[', b']')
    }

    fn serialize_tuple(self, _: usize) -> Result<Open<'t>, Refused> {
        Open::new(self, b'[', b']')
    }

    fn serialize_tuple_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<Impossible<(), Refused>, Refused> {
        Err(Refused::Unusual)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Impossible<(), Refused>, Refused> {
        Err(Refused::Unusual)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Open<'t>, Refused> {
        Open::new(self, b'{', b'}')
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Open<'t>, Refused> {
        if name.starts_with(PRIVATE) {
            return Err(Refused::Unusual);
        }
        Open::new(self, b'{', b'}')
    }

    fn serialize_struct_variant(
        mut self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Open<'t>, Refused> {
        self.variant(variant)?;
        Ok(Open {
            is_variant: true,
            ..Open::new(self, b'{', b'}')?
        })
    }
}

impl ser::SerializeSeq for Open<'_> {
    type Ok = ();
    type Error = Refused;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Done {
        self.item(value)
    }

    fn end(self) -> Done {
        self.close();
        Ok(())
    }
}

impl ser::SerializeTuple for Open<'_> {
    type Ok = ();
    type Error = Refused;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Done {
        self.item(value)
    }

    fn end(self) -> Done {
        self.close();
        Ok(())
    }
}

impl ser::SerializeMap for Open<'_> {
    type Ok = ();
    type Error = Refused;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Done {
        self.comma();
        let start = self.plain.text.len();
        key.serialize(self.plain.reborrow())?;
        // Keys that are no strings become some: `serde_json` knows which.
        match self.plain.text.get(start) {
            Some(b'"') => Ok(()),
            _ => Err(Refused::Unusual),
        }
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Done {
        self.plain.text.push(b':');
        value.serialize(self.plain.reborrow())
    }

    fn end(self) -> Done {
        self.close();
        Ok(())
    }
}

impl ser::SerializeStruct for Open<'_> {
    type Ok = ();
    type Error = Refused;

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as for a key")]
    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Done {
        self.field(name, value)
    }

    fn end(self) -> Done {
        self.close();
        Ok(())
    }
}

impl ser::SerializeStructVariant for Open<'_> {
    type Ok = ();
    type Error = Refused;

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as for a key")]
    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Done {
        self.field(name, value)
    }

    fn end(self) -> Done {
        self.close();
        Ok(())
    }
}
