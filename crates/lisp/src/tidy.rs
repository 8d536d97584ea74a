//! What a session drops between its evaluations.
//!
//! Owns the search for code that no closure and no continuation can reach, and the moves of the
//! rest. It runs when nothing is being evaluated, so that the heap alone refers to code.

use crate::code::Moves;
use crate::machine::Machine;
use crate::object::Object;

/// Dropping is not worth it below this many new bytes of code and macros.
const TIDY_BYTES: usize = 1 << 20;
/// Dropping is not worth it below this many new scopes, which no heap counts.
const TIDY_SCOPES: usize = 20_000;

/// When to look again.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Schedule {
    bytes: usize,
    scopes: usize,
}

impl Machine {
    /// Looks again after as much as there is now was added.
    pub(crate) fn schedule_tidying(&mut self) {
        let (bytes, scopes) = (self.world.heap.permanent, self.expander.scopes.len());
        self.tidying = Schedule {
            bytes: bytes + bytes.max(TIDY_BYTES),
            scopes: scopes + scopes.max(TIDY_SCOPES),
        };
    }

    pub(crate) fn is_untidy(&self) -> bool {
        self.world.heap.permanent > self.tidying.bytes
            || self.expander.scopes.len() > self.tidying.scopes
    }

    /// Drops code, macros and scopes that nothing can reach. The machine must be clear.
    pub(crate) fn tidy(&mut self) {
        // Only what is alive is in the heap from here on.
        self.collect();
        let mut freed = self.drop_code();
        let heap = &mut self.world.heap;
        freed += self.expander.drop_unreachable(heap);
        heap.release_permanent(freed);
        // What only the dropped constants and macros held goes too.
        self.collect();
        self.schedule_tidying();
    }

    fn drop_code(&mut self) -> usize {
        let program = &mut self.program;
        let mut reached = vec![false; program.forms()];
        let mut reach = |place: u32| {
            if let Some(form) = program.form_at(place) {
                reached[form] = true;
            }
        };
        for object in &self.world.heap.objects {
            match object {
                Object::Closure(closure) => reach(closure.entry),
                Object::Segment(segment) => {
                    if let Some(storage) = self.world.heap.storage(*segment) {
                        let frames = storage.frames(0..segment.frames as usize);
                        frames.for_each(|frame| reach(frame.pc));
                    }
                }
                _ => {}
            }
        }
        if reached.iter().all(|&reached| reached) {
            return 0;
        }
        let before = program.bytes();
        let moves = program.keep_only(&reached);
        let freed = before - program.bytes();
        self.follow(&moves);
        freed
    }

    /// Lets everything in the heap point to where its code is now.
    fn follow(&mut self, moves: &Moves) {
        for object in &mut self.world.heap.objects {
            match object {
                Object::Closure(closure) => closure.entry = moves.place(closure.entry),
                Object::Storage(storage) => storage.move_code(|place| moves.place(place)),
                _ => {}
            }
        }
    }
}
