//! Mark and sweep.
//!
//! Owns tracing with its own stack, so that no depth of data needs Rust's; knows nothing of where
//! roots come from.

use crate::heap::{CELL_BYTES, Heap, OBJECT_BYTES, PAIR_BYTES};
use crate::object::{Object, Segment};
use crate::value::{Kind, Value};

/// One collection in progress.
pub(crate) struct Collection<'a> {
    heap: &'a mut Heap,
    pending: Vec<Value>,
}

impl<'a> Collection<'a> {
    pub(crate) fn start(heap: &'a mut Heap) -> Self {
        heap.peak = heap.peak.max(heap.used);
        heap.pairs.clear_marks();
        heap.flonums.clear_marks();
        heap.cells.clear_marks();
        heap.object_marks.fill(0);
        heap.symbols.clear_marks();
        Self {
            heap,
            pending: Vec::new(),
        }
    }

    pub(crate) fn root(&mut self, value: Value) {
        self.push(value);
        self.trace();
    }

    pub(crate) fn roots(&mut self, values: impl IntoIterator<Item = Value>) {
        for value in values {
            self.root(value);
        }
    }

    /// Marks one value and queues what it holds.
    #[inline(always)]
    fn push(&mut self, value: Value) {
        let fresh = match value.kind() {
            Kind::Pair(index) => self.heap.pairs.mark(index),
            Kind::Cell(index) => self.heap.cells.mark(index),
            Kind::Object(index) => {
                let bit = 1 << (index % 64);
                let word = &mut self.heap.object_marks[index as usize / 64];
                let fresh = *word & bit == 0;
                *word |= bit;
                fresh
            }
            Kind::Flonum(index) => {
                self.heap.flonums.mark(index);
                false
            }
            Kind::Symbol(index) => {
                self.heap.symbols.mark(index);
                false
            }
            _ => false,
        };
        if fresh {
            self.pending.push(value);
        }
    }

    fn trace(&mut self) {
        while let Some(value) = self.pending.pop() {
            match value.kind() {
                Kind::Pair(index) => {
                    let [car, cdr] = self.heap.pairs.get(index);
                    self.push(cdr);
                    self.push(car);
                }
                Kind::Cell(index) => {
                    let content = self.heap.cells.get(index);
                    self.push(content);
                }
                Kind::Object(index) => self.trace_object(index),
                _ => {}
            }
        }
    }

    fn trace_object(&mut self, index: u32) {
        // The object is taken out while its content is marked, and put back unchanged.
        let object = std::mem::replace(&mut self.heap.objects[index as usize], Object::Free);
        match &object {
            Object::Vector(items) => items.iter().for_each(|&item| self.push(item)),
            Object::Closure(closure) => closure.captured.iter().for_each(|&item| self.push(item)),
            Object::CaseLambda(items) | Object::Values(items) => {
                items.iter().for_each(|&item| self.push(item));
            }
            Object::Promise(cell) => self.push(*cell),
            Object::Record { kind, fields } => {
                self.push(*kind);
                fields.iter().for_each(|&field| self.push(field));
            }
            Object::RecordType(kind) => kind.fields.iter().for_each(|&field| self.push(field)),
            Object::RecordProcedure(procedure) => self.push(procedure.kind),
            Object::Parameter { value, converter } => {
                self.push(*value);
                self.push(*converter);
            }
            Object::Condition(condition) => {
                self.push(condition.message);
                self.push(condition.irritants);
            }
            Object::Segment(segment) => {
                self.push(segment.parent);
                self.trace_segment(*segment);
            }
            Object::Continuation(continuation) => {
                self.push(continuation.segment);
                self.push(continuation.state);
            }
            Object::DynamicState(state) => {
                self.push(state.winds);
                self.push(state.handlers);
            }
            Object::Alias { name, .. } => self.push(*name),
            // A storage is as alive as the segments say that show parts of it.
            Object::Storage(_)
            | Object::Free
            | Object::Text(_)
            | Object::Bytes(_)
            | Object::Big(_)
            | Object::Ratio(_)
            | Object::InPort(_)
            | Object::OutPort(_) => {}
        }
        self.heap.objects[index as usize] = object;
    }

    /// Marks the part of a storage that a segment shows; what is above it may be garbage.
    fn trace_segment(&mut self, segment: Segment) {
        self.push(segment.storage);
        let Kind::Object(index) = segment.storage.kind() else {
            return;
        };
        let place = &mut self.heap.objects[index as usize];
        let object = std::mem::replace(place, Object::Free);
        if let Object::Storage(storage) = &object {
            let values = storage.values()[..segment.values as usize].iter();
            values.for_each(|&value| self.push(value));
            let frames = storage.frames(0..segment.frames as usize);
            frames.for_each(|frame| self.push(frame.closure));
        }
        self.heap.objects[index as usize] = object;
    }

    /// Frees what was not marked and counts the rest.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the heap limit keeps indices in u32"
    )]
    pub(crate) fn finish(self) {
        let heap = self.heap;
        let mut used = heap.permanent + heap.symbols.sweep();
        used += heap.pairs.restart() * PAIR_BYTES;
        used += heap.flonums.restart() * CELL_BYTES;
        used += heap.cells.restart() * CELL_BYTES;
        heap.free_objects.clear();
        for (index, object) in heap.objects.iter_mut().enumerate().rev() {
            if heap.object_marks[index / 64] & (1 << (index % 64)) != 0 {
                used += OBJECT_BYTES + object.extra_bytes();
            } else {
                // Dropping is shallow: objects name each other by index only.
                *object = Object::Free;
                heap.free_objects.push(index as u32);
            }
        }
        heap.used = used;
        heap.schedule();
    }
}
