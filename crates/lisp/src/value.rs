//! The word that stands for every Scheme value.
//!
//! Owns the tagging; knows nothing of what the indices point at. A value is eight bytes, freely
//! copied, and holds either itself (small integers, characters, constants) or an index into one
//! of the heap's arenas.

/// Small integers have 61 bits.
pub(crate) const FIXNUM_MAX: i64 = (1 << 60) - 1;
pub(crate) const FIXNUM_MIN: i64 = -(1 << 60);

const TAG_BITS: u32 = 3;
const TAG_MASK: u64 = 7;
const PAIR: u64 = 1;
const OBJECT: u64 = 2;
const IMMEDIATE: u64 = 3;
const SYMBOL: u64 = 4;
const FLONUM: u64 = 5;
const CELL: u64 = 6;
const PRIMITIVE: u64 = 7;
/// Immediates above this payload bit are characters.
const CHAR_BIT: u64 = 1 << 32;

/// One Scheme value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct Value(u64);

/// A value taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Fixnum(i64),
    Pair(u32),
    Object(u32),
    Char(char),
    Constant,
    Symbol(u32),
    Flonum(u32),
    Cell(u32),
    Primitive(u32),
}

const fn constant(number: u64) -> Value {
    Value((number << TAG_BITS) | IMMEDIATE)
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the payload of an index tag is a u32"
)]
impl Value {
    pub(crate) const FALSE: Self = constant(0);
    pub(crate) const TRUE: Self = constant(1);
    pub(crate) const NIL: Self = constant(2);
    pub(crate) const UNSPECIFIED: Self = constant(3);
    pub(crate) const EOF: Self = constant(4);
    /// The content of a variable before its definition.
    pub(crate) const UNDEFINED: Self = constant(5);
    /// The port whose text is the evaluation's output.
    pub(crate) const CONSOLE: Self = constant(6);
    /// The one environment that `eval` accepts.
    pub(crate) const ENVIRONMENT: Self = constant(7);

    #[inline(always)]
    pub(crate) const fn fixnum(number: i64) -> Self {
        Self((number << TAG_BITS).cast_unsigned())
    }

    pub(crate) const fn fits_fixnum(number: i64) -> bool {
        number >= FIXNUM_MIN && number <= FIXNUM_MAX
    }

    #[inline(always)]
    pub(crate) const fn boolean(truth: bool) -> Self {
        if truth { Self::TRUE } else { Self::FALSE }
    }

    pub(crate) const fn char(c: char) -> Self {
        constant(CHAR_BIT | c as u64)
    }

    #[inline(always)]
    const fn indexed(index: u32, tag: u64) -> Self {
        Self(((index as u64) << TAG_BITS) | tag)
    }

    #[inline(always)]
    pub(crate) const fn pair(index: u32) -> Self {
        Self::indexed(index, PAIR)
    }

    #[inline(always)]
    pub(crate) const fn object(index: u32) -> Self {
        Self::indexed(index, OBJECT)
    }

    pub(crate) const fn symbol(index: u32) -> Self {
        Self::indexed(index, SYMBOL)
    }

    pub(crate) const fn flonum(index: u32) -> Self {
        Self::indexed(index, FLONUM)
    }

    pub(crate) const fn cell(index: u32) -> Self {
        Self::indexed(index, CELL)
    }

    pub(crate) const fn primitive(index: u32) -> Self {
        Self::indexed(index, PRIMITIVE)
    }

    #[inline(always)]
    const fn index_if(self, tag: u64) -> Option<u32> {
        if self.0 & TAG_MASK == tag {
            Some((self.0 >> TAG_BITS) as u32)
        } else {
            None
        }
    }

    #[inline(always)]
    pub(crate) const fn as_fixnum(self) -> Option<i64> {
        if self.0 & TAG_MASK == 0 {
            Some(self.0.cast_signed() >> TAG_BITS)
        } else {
            None
        }
    }

    #[inline(always)]
    pub(crate) const fn as_pair(self) -> Option<u32> {
        self.index_if(PAIR)
    }

    #[inline(always)]
    pub(crate) const fn as_object(self) -> Option<u32> {
        self.index_if(OBJECT)
    }

    pub(crate) const fn as_symbol(self) -> Option<u32> {
        self.index_if(SYMBOL)
    }

    pub(crate) const fn as_primitive(self) -> Option<u32> {
        self.index_if(PRIMITIVE)
    }

    #[inline(always)]
    pub(crate) const fn as_cell(self) -> Option<u32> {
        self.index_if(CELL)
    }

    pub(crate) fn as_char(self) -> Option<char> {
        let payload = self.0 >> TAG_BITS;
        if self.0 & TAG_MASK == IMMEDIATE && payload & CHAR_BIT != 0 {
            char::from_u32(payload as u32)
        } else {
            None
        }
    }

    pub(crate) fn kind(self) -> Kind {
        let index = (self.0 >> TAG_BITS) as u32;
        match self.0 & TAG_MASK {
            0 => Kind::Fixnum(self.0.cast_signed() >> TAG_BITS),
            PAIR => Kind::Pair(index),
            OBJECT => Kind::Object(index),
            SYMBOL => Kind::Symbol(index),
            FLONUM => Kind::Flonum(index),
            CELL => Kind::Cell(index),
            PRIMITIVE => Kind::Primitive(index),
            _ => self.as_char().map_or(Kind::Constant, Kind::Char),
        }
    }

    #[inline(always)]
    pub(crate) const fn is_true(self) -> bool {
        self.0 != Self::FALSE.0
    }

    /// Adds two small integers when both are small and so is the sum.
    #[inline(always)]
    pub(crate) const fn add_small(self, other: Self) -> Option<Self> {
        if (self.0 | other.0) & TAG_MASK != 0 {
            return None;
        }
        match self.0.cast_signed().checked_add(other.0.cast_signed()) {
            Some(sum) => Some(Self(sum.cast_unsigned())),
            None => None,
        }
    }

    #[inline(always)]
    pub(crate) const fn sub_small(self, other: Self) -> Option<Self> {
        if (self.0 | other.0) & TAG_MASK != 0 {
            return None;
        }
        match self.0.cast_signed().checked_sub(other.0.cast_signed()) {
            Some(difference) => Some(Self(difference.cast_unsigned())),
            None => None,
        }
    }

    #[inline(always)]
    pub(crate) const fn mul_small(self, other: Self) -> Option<Self> {
        if (self.0 | other.0) & TAG_MASK != 0 {
            return None;
        }
        match (self.0.cast_signed() >> TAG_BITS).checked_mul(other.0.cast_signed()) {
            Some(product) => Some(Self(product.cast_unsigned())),
            None => None,
        }
    }

    /// Orders two small integers without unpacking them.
    #[inline(always)]
    pub(crate) const fn both_small(self, other: Self) -> Option<(i64, i64)> {
        if (self.0 | other.0) & TAG_MASK != 0 {
            return None;
        }
        Some((self.0.cast_signed(), other.0.cast_signed()))
    }
}
