//! A piece of the stack in the heap.
//!
//! Owns the layout of captured values and frames in one allocation; who captures and brings back
//! is in `continuations`.

use std::ops::Range;

use crate::object::Frame;
use crate::value::Value;

/// Words before the values: how many values there are, and the frames in the segments beneath.
const HEADER: usize = 2;
/// Words of a frame.
const FRAME: usize = 3;

/// The values and frames that a capture took off the stack, one after the other.
pub(crate) struct Storage(Box<[Value]>);

impl Storage {
    pub(crate) fn new(values: &[Value], frames: &[Frame], depth_beneath: usize) -> Self {
        let mut words = Vec::with_capacity(HEADER + values.len() + frames.len() * FRAME);
        words.push(number(values.len()));
        words.push(number(depth_beneath));
        words.extend_from_slice(values);
        for frame in frames {
            words.extend([
                Value::fixnum(i64::from(frame.pc)),
                Value::fixnum(i64::from(frame.base)),
                frame.closure,
            ]);
        }
        Self(words.into_boxed_slice())
    }

    /// What a storage of so many values and frames costs at most.
    pub(crate) fn bytes_of(values: usize, frames: usize) -> usize {
        (HEADER + values + frames * FRAME) * 8
    }

    pub(crate) fn bytes(&self) -> usize {
        self.0.len() * 8
    }

    pub(crate) fn values(&self) -> &[Value] {
        &self.0[HEADER..self.first_frame()]
    }

    /// Frames in the segments beneath this storage.
    pub(crate) fn depth_beneath(&self) -> usize {
        count(self.0[1])
    }

    /// Frames by their numbers, the lowest of all being the first.
    pub(crate) fn frames(&self, which: Range<usize>) -> impl Iterator<Item = Frame> + '_ {
        let first = self.first_frame();
        let words = &self.0[first + which.start * FRAME..first + which.end * FRAME];
        words.chunks_exact(FRAME).map(|words| Frame {
            pc: word(words[0]),
            base: word(words[1]),
            closure: words[2],
        })
    }

    /// Lets every frame return to where its code is now.
    pub(crate) fn move_code(&mut self, place: impl Fn(u32) -> u32) {
        let first = self.first_frame();
        for words in self.0[first..].chunks_exact_mut(FRAME) {
            words[0] = Value::fixnum(i64::from(place(word(words[0]))));
        }
    }

    fn first_frame(&self) -> usize {
        HEADER + count(self.0[0])
    }
}

fn number(count: usize) -> Value {
    Value::fixnum(i64::try_from(count).unwrap_or(0))
}

#[inline(always)]
fn count(number: Value) -> usize {
    word(number) as usize
}

#[inline(always)]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "only counts and places of code were stored"
)]
fn word(number: Value) -> u32 {
    number.as_fixnum().unwrap_or(0) as u32
}
