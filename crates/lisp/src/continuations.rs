//! Continuations of the running machine.
//!
//! Owns moving the stack into segments of the heap and back; calls are in `control`.

use crate::error::{ErrorKind, Fallible, Fault};
use crate::heap::OBJECT_BYTES;
use crate::machine::{Machine, Place};
use crate::object::{Continuation, DynamicState, Frame, Object, Segment};
use crate::storage::Storage;
use crate::value::Value;

/// Frames brought back by the first return into a segment; every further one brings back twice as
/// many. A program that captures again soon has little to move, and one that only returns does so
/// in few steps.
const FIRST_REINSTATED: usize = 2;
/// Frames brought back to the stack at once, at most.
const MOST_REINSTATED: usize = 64;

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
        // All objects are sure to fit before anything changes.
        self.world
            .heap
            .reserve(512 + Storage::bytes_of(kept, frames))?;
        self.leave_call(from, place)?;
        self.captured = true;
        let mut segment = self.beneath;
        if !self.frames.is_empty() {
            let depth = self.depth_beneath + self.frames.len();
            let storage = Storage::new(&self.stack, &self.frames, self.depth_beneath);
            let storage = self.world.heap.object(Object::Storage(storage))?;
            segment = self.world.heap.object(Object::Segment(Segment {
                storage,
                parent: self.beneath,
                values: small(self.stack.len()),
                frames: small(self.frames.len()),
            }))?;
            self.set_beneath(segment, depth);
        }
        let state = self.dynamic_state()?;
        let continuation = self
            .world
            .heap
            .object(Object::Continuation(Continuation { segment, state }))?;
        self.stack.clear();
        self.frames.clear();
        self.reinstated = FIRST_REINSTATED;
        self.stack.push(continuation);
        Ok(receiver)
    }

    /// The present dynamic state as an object.
    fn dynamic_state(&mut self) -> Fallible<Value> {
        let present = DynamicState {
            winds: self.world.winds,
            handlers: self.world.handlers,
            form: self.form,
        };
        let heap = &mut self.world.heap;
        match heap.get(self.state) {
            Some(Object::DynamicState(last)) if **last == present => {}
            _ => self.state = heap.object(Object::DynamicState(Box::new(present)))?,
        }
        Ok(self.state)
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
        let heap = &self.world.heap;
        let Some(Object::Continuation(target)) = heap.get(continuation) else {
            return Err(Fault::error(ErrorKind::Internal, "not a continuation"));
        };
        let Some(state) = heap.dynamic_state(*target) else {
            return Err(Fault::error(ErrorKind::Internal, "not a dynamic state"));
        };
        let segment = target.segment;
        let depth = match heap.get(segment) {
            Some(Object::Segment(segment)) => {
                let beneath = heap.storage(*segment).map_or(0, Storage::depth_beneath);
                beneath + segment.frames as usize
            }
            _ => 0,
        };
        (self.world.winds, self.world.handlers) = (state.winds, state.handlers);
        if state.form.0 == self.form.0 {
            self.form = state.form;
        }
        self.stack.clear();
        self.frames.clear();
        self.reinstated = FIRST_REINSTATED;
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
        let heap = &self.world.heap;
        // The new segment is sure to fit before anything changes.
        heap.reserve(OBJECT_BYTES)?;
        let segment = match heap.get(self.beneath) {
            Some(&Object::Segment(segment)) => segment,
            _ => {
                self.stack.clear();
                self.base = 0;
                self.pc = 0;
                return Ok(());
            }
        };
        let Some(storage) = heap.storage(segment) else {
            return Err(Fault::error(ErrorKind::Internal, "a segment is empty"));
        };
        let frames = segment.frames as usize;
        let split = frames.saturating_sub(self.reinstated);
        let offset = match storage.frames(split..frames).next() {
            Some(lowest) if split > 0 => lowest.base,
            _ => 0,
        };
        self.stack.clear();
        self.stack
            .extend_from_slice(&storage.values()[offset as usize..segment.values as usize]);
        self.frames.clear();
        for frame in storage.frames(split..frames) {
            self.frames.push(Frame {
                base: frame.base - offset,
                ..frame
            });
        }
        let depth = storage.depth_beneath() + split;
        let below = if split > 0 {
            self.world.heap.object(Object::Segment(Segment {
                values: offset,
                frames: small(split),
                ..segment
            }))?
        } else {
            segment.parent
        };
        self.set_beneath(below, depth);
        self.reinstated = (self.reinstated * 2).min(MOST_REINSTATED);
        if let Some(frame) = self.frames.pop() {
            self.restore(frame);
        }
        Ok(())
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the stack limit keeps counts in u32"
)]
fn small(count: usize) -> u32 {
    count as u32
}
