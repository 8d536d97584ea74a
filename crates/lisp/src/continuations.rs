//! Continuations of the running machine.
//!
//! Owns moving the stack into segments of the heap and back; calls are in `control`.

use std::sync::Arc;

use crate::error::{ErrorKind, Fallible, Fault};
use crate::machine::{Machine, Place};
use crate::object::{Continuation, Frame, Object, Segment, Storage};
use crate::value::Value;

/// Frames brought back to the stack at once.
const REINSTATED: usize = 32;

impl Machine {
    /// Captures the continuation of a call with one argument, the receiver.
    ///
    /// The stack moves into a segment of the heap; the continuation is left on the empty stack and
    /// the receiver is answered.
    pub(crate) fn capture(&mut self, place: Place) -> Fallible<Value> {
        let from = self.stack.len() - 1;
        let receiver = self.stack[from];
        let kept = if place == Place::Inside {
            from
        } else {
            self.base
        };
        let frames = self.frames.len() + usize::from(place == Place::Inside);
        self.world.charge((kept + frames) / 16)?;
        // Both objects are sure to fit before anything changes.
        self.world.heap.reserve(512 + kept * 8 + frames * 16)?;
        self.leave_call(from, place)?;
        self.captured = true;
        let mut segment = self.beneath;
        if !self.frames.is_empty() {
            let depth = self.depth_beneath + self.frames.len();
            let storage = Storage {
                values: self.stack.clone(),
                frames: self.frames.clone(),
            };
            segment = self.world.heap.object(Object::Segment(Box::new(Segment {
                values: storage.values.len(),
                frames: storage.frames.len(),
                storage: Arc::new(storage),
                parent: self.beneath,
                depth,
            })))?;
            self.set_beneath(segment, depth);
        }
        let continuation =
            self.world
                .heap
                .object(Object::Continuation(Box::new(Continuation {
                    segment,
                    winds: self.world.winds,
                    handlers: self.world.handlers,
                    form: self.form,
                })))?;
        self.stack.clear();
        self.frames.clear();
        self.stack.push(continuation);
        Ok(receiver)
    }

    /// Continues at a continuation with the topmost values.
    pub(crate) fn throw(&mut self, continuation: Value, count: usize) -> Fallible<()> {
        let from = self.stack.len() - count;
        let value = if count == 1 {
            self.stack[from]
        } else {
            self.world
                .heap
                .object(Object::Values(self.stack[from..].into()))?
        };
        // A segment may have to be split on the way back.
        self.world.heap.reserve(1024)?;
        let Some(Object::Continuation(target)) = self.world.heap.get(continuation) else {
            return Err(Fault::error(ErrorKind::Internal, "not a continuation"));
        };
        let (segment, form) = (target.segment, target.form);
        (self.world.winds, self.world.handlers) = (target.winds, target.handlers);
        if form.0 == self.form.0 {
            self.form = form;
        }
        let depth = match self.world.heap.get(segment) {
            Some(Object::Segment(segment)) => segment.depth,
            _ => 0,
        };
        self.stack.clear();
        self.frames.clear();
        self.set_beneath(segment, depth);
        self.acc = value;
        self.underflow()
    }

    /// `(%resume continuation values)`: continues there, all thunks having run.
    pub(crate) fn resume(&mut self) -> Fallible<()> {
        let from = self.stack.len() - 2;
        let (continuation, values) = (self.stack[from], self.stack[from + 1]);
        let values = self.world.heap.list_items(values).unwrap_or_default();
        let count = values.len();
        if self.stack.len() + count > self.stack_room {
            return Err(Fault::limit(ErrorKind::Depth, "too many values"));
        }
        self.stack.extend(values);
        self.with_room(continuation, |machine| machine.throw(continuation, count))
    }

    /// Returns into the segment beneath the stack, or ends when there is none.
    pub(crate) fn underflow(&mut self) -> Fallible<()> {
        let Some(Object::Segment(segment)) = self.world.heap.get(self.beneath) else {
            self.stack.clear();
            self.base = 0;
            self.pc = 0;
            return Ok(());
        };
        let storage = Arc::clone(&segment.storage);
        let (values, frames, parent, depth) = (
            segment.values,
            segment.frames,
            segment.parent,
            segment.depth,
        );
        let split = frames.saturating_sub(REINSTATED);
        let offset = if split > 0 {
            storage.frames[split].base as usize
        } else {
            0
        };
        let (below, depth_below) = if split > 0 {
            let depth = depth - (frames - split);
            let lower = Segment {
                storage: Arc::clone(&storage),
                values: offset,
                frames: split,
                parent,
                depth,
            };
            (
                self.world.heap.object(Object::Segment(Box::new(lower)))?,
                depth,
            )
        } else {
            (parent, depth - frames)
        };
        self.stack.clear();
        self.stack
            .extend_from_slice(&storage.values[offset..values]);
        self.frames
            .extend(storage.frames[split..frames].iter().map(|frame| {
                let base = frame.base - u32::try_from(offset).unwrap_or(0);
                Frame { base, ..*frame }
            }));
        self.set_beneath(below, depth_below);
        if let Some(frame) = self.frames.pop() {
            self.restore(frame);
        }
        Ok(())
    }
}
