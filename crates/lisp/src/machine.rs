//! The machine that runs code.
//!
//! Owns the registers, the stack and what is looked after between operations. The loop over the
//! operations is in `dispatch`; calls that need more than entering a closure are in `control`, then
//! `continuations` and `faults`. Its stack is a vector: no Scheme program can use Rust's.

use crate::code::Program;
use crate::error::{ErrorKind, Fallible, Fault};
use crate::limits::{Interrupt, Stop};
use crate::object::Frame;
use crate::prims::{self, Primitive};
use crate::syntax::expand::Expander;
use crate::tidy::Schedule;
use crate::value::Value;
use crate::world::{SLICE, World};

/// Values that an average frame may hold.
const VALUES_PER_FRAME: usize = 32;

/// Why the machine stopped without a fault.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Exit {
    Done(Value),
    /// `eval` wants this datum compiled and entered.
    Compile(Value),
}

/// The state of an evaluation.
pub(crate) struct Machine {
    pub(crate) world: World,
    pub(crate) expander: Expander,
    pub(crate) program: Program,
    pub(crate) primitives: &'static [Primitive],
    pub(crate) stack: Vec<Value>,
    pub(crate) frames: Vec<Frame>,
    /// The segment beneath the stack.
    pub(crate) beneath: Value,
    /// Frames in the segments beneath.
    pub(crate) depth_beneath: usize,
    /// The last captured dynamic state, which the next capture shares if it is still the same.
    pub(crate) state: Value,
    /// How many frames the next return into a segment brings back.
    pub(crate) reinstated: usize,
    /// How many frames and values the stack may hold now.
    pub(crate) room: usize,
    pub(crate) stack_room: usize,
    pub(crate) acc: Value,
    pub(crate) pc: u32,
    pub(crate) base: usize,
    pub(crate) closure: Value,
    /// The operation that was last repeated after a collection, and the calls made until then.
    pub(crate) repeated: Option<(u32, u64)>,
    /// A continuation was captured since the present form started.
    pub(crate) captured: bool,
    /// The present evaluation and its present top-level form.
    pub(crate) form: (u64, usize),
    /// Data that the session still needs.
    pub(crate) kept: Vec<Value>,
    /// Code before this place is the standard library's.
    pub(crate) library_end: u32,
    /// When to drop code and macros again.
    pub(crate) tidying: Schedule,
    /// Standard procedures that the machine itself calls.
    pub(crate) signal: Value,
    pub(crate) rewind: Value,
}

impl Machine {
    pub(crate) fn new(world: World, expander: Expander) -> Self {
        Self {
            world,
            expander,
            program: Program::new(),
            primitives: prims::table(),
            stack: Vec::new(),
            frames: Vec::new(),
            beneath: Value::NIL,
            depth_beneath: 0,
            state: Value::FALSE,
            reinstated: 1,
            room: 0,
            stack_room: 0,
            acc: Value::UNSPECIFIED,
            pc: 0,
            base: 0,
            closure: Value::FALSE,
            repeated: None,
            captured: false,
            form: (0, 0),
            kept: Vec::new(),
            library_end: 0,
            tidying: Schedule::default(),
            signal: Value::FALSE,
            rewind: Value::FALSE,
        }
    }

    /// Prepares to run code with an empty stack.
    pub(crate) fn start(&mut self, entry: u32) {
        self.clear();
        self.captured = false;
        self.pc = entry;
        self.stack_room = self
            .world
            .limits
            .depth
            .saturating_mul(VALUES_PER_FRAME)
            .max(1 << 16);
    }

    /// Forgets everything but definitions.
    pub(crate) fn clear(&mut self) {
        self.stack.clear();
        self.stack.shrink_to(1 << 16);
        self.frames.clear();
        self.frames.shrink_to(1 << 14);
        self.set_beneath(Value::NIL, 0);
        self.acc = Value::UNSPECIFIED;
        self.base = 0;
        self.closure = Value::FALSE;
        self.repeated = None;
    }

    /// Enters code as if it were called where the machine stands.
    pub(crate) fn enter(&mut self, entry: u32) {
        self.base = self.stack.len();
        self.closure = Value::FALSE;
        self.pc = entry;
    }

    pub(crate) fn set_beneath(&mut self, segment: Value, depth: usize) {
        self.beneath = segment;
        self.depth_beneath = depth;
        self.room = self.world.limits.depth.saturating_sub(depth);
    }

    /// Runs until the evaluation ends, wants something compiled, or meets a fault.
    pub(crate) fn run(&mut self, interrupt: &dyn Interrupt) -> Fallible<Exit> {
        // Taken out so that the loop can read code while it changes the rest.
        let ops = std::mem::take(&mut self.program.ops);
        let result = self.dispatch(&ops, interrupt);
        self.program.ops = ops;
        result
    }

    /// A moment between operations: the budget, the clock and the heap are looked after.
    #[cold]
    pub(crate) fn safe_point(&mut self, interrupt: &dyn Interrupt) -> Fallible<()> {
        if self.world.reserve == 0 {
            return Err(self.world.out_of_steps());
        }
        let slice = SLICE.min(self.world.reserve);
        self.world.reserve -= slice;
        self.world.fuel += i64::try_from(slice).unwrap_or(0);
        match interrupt.poll(self.world.steps()) {
            Some(Stop::Deadline) => {
                return Err(Fault::limit(ErrorKind::Time, "the time is used up"));
            }
            Some(Stop::Cancelled) => {
                return Err(Fault::limit(
                    ErrorKind::Time,
                    "the evaluation was cancelled",
                ));
            }
            None => {}
        }
        if self.world.heap.is_due() {
            self.collect();
        }
        Ok(())
    }

    #[cold]
    pub(crate) fn too_deep(&self) -> Fault {
        Fault::limit(
            ErrorKind::Depth,
            format!("more than {} pending calls", self.world.limits.depth),
        )
    }

    pub(crate) fn push_frame(&mut self) -> Fallible<()> {
        if self.frames.len() >= self.room || self.stack.len() >= self.stack_room {
            return Err(self.too_deep());
        }
        self.frames.push(frame(self.pc, self.base, self.closure));
        Ok(())
    }
}

/// Whether a call returns to its caller's caller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    Tail,
    Inside,
}

/// What a call comes back to.
#[inline(always)]
#[expect(
    clippy::cast_possible_truncation,
    reason = "the stack limit keeps bases in u32"
)]
pub(crate) fn frame(pc: u32, base: usize, closure: Value) -> Frame {
    Frame {
        pc,
        base: base as u32,
        closure,
    }
}
