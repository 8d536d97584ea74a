//! The compact form that the machine runs.
//!
//! Owns the operations and the tables they refer to; knows nothing of how they are made or run.
//! All code of a session lies in one array, so that a place in it is one number.

use crate::error::Position;
use crate::object::Arity;
use crate::value::Value;

/// Where code jumps to.
pub(crate) type Target = u32;

/// One operation. `acc` is the machine's accumulator; slots count from the base of the frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Op {
    /// Ends the evaluation with the value of `acc`.
    Halt,
    Const(u32),
    Int(i32),
    Local(u32),
    LocalCell(u32),
    Captured(u32),
    CapturedCell(u32),
    /// The running closure.
    Itself,
    Global(u32),
    Push,
    PushConst(u32),
    PushInt(i32),
    PushLocal(u32),
    PushCaptured(u32),
    SetLocalCell(u32),
    SetCapturedCell(u32),
    SetGlobal(u32),
    DefineGlobal(u32),
    /// Replaces a slot.
    Store(u32),
    /// Wraps the content of a slot in a cell.
    MakeCell(u32),
    /// Wraps `acc` in a cell.
    WrapCell,
    /// Forgets the topmost slots.
    Drop(u32),
    Jump(Target),
    JumpIfFalse(Target),
    JumpIfTrue(Target),
    Call(u16),
    TailCall(u16),
    CallGlobal(u16, u32),
    TailCallGlobal(u16, u32),
    Return,
    /// Moves the topmost `count` values to `base` and goes round.
    Again {
        count: u8,
        base: u16,
        target: Target,
    },
    MakeClosure(u32),
    /// Fills in a captured variable that did not exist when the closure was made.
    Patch {
        closure: u16,
        index: u16,
        slot: u16,
    },
    /// Calls a primitive with the topmost values.
    Primitive {
        index: u16,
        count: u16,
    },
    Add,
    AddInt(i32),
    AddLocal(u32),
    Sub,
    SubInt(i32),
    SubLocal(u32),
    Mul,
    Cons,
    Car,
    Cdr,
    CarLocal(u32),
    CdrLocal(u32),
    Not,
    Null,
    IsPair,
    Eq,
    VectorRef,
    UnlessNull(Target),
    UnlessPair(Target),
    UnlessEq(Target),
    UnlessEqual(Target),
    UnlessEqualInt(i16, Target),
    UnlessEqualLocal(u16, Target),
    UnlessLess(Target),
    UnlessLessInt(i16, Target),
    UnlessLessLocal(u16, Target),
    UnlessGreater(Target),
    UnlessGreaterInt(i16, Target),
    UnlessGreaterLocal(u16, Target),
    UnlessAtMost(Target),
    UnlessAtMostInt(i16, Target),
    UnlessAtMostLocal(u16, Target),
    UnlessAtLeast(Target),
    UnlessAtLeastInt(i16, Target),
    UnlessAtLeastLocal(u16, Target),
}

impl Op {
    /// The place this operation may jump to.
    pub(crate) fn target_mut(&mut self) -> Option<&mut Target> {
        match self {
            Self::Jump(target)
            | Self::JumpIfFalse(target)
            | Self::JumpIfTrue(target)
            | Self::Again { target, .. }
            | Self::UnlessNull(target)
            | Self::UnlessPair(target)
            | Self::UnlessEq(target)
            | Self::UnlessEqual(target)
            | Self::UnlessEqualInt(_, target)
            | Self::UnlessEqualLocal(_, target)
            | Self::UnlessLess(target)
            | Self::UnlessLessInt(_, target)
            | Self::UnlessLessLocal(_, target)
            | Self::UnlessGreater(target)
            | Self::UnlessGreaterInt(_, target)
            | Self::UnlessGreaterLocal(_, target)
            | Self::UnlessAtMost(target)
            | Self::UnlessAtMostInt(_, target)
            | Self::UnlessAtMostLocal(_, target)
            | Self::UnlessAtLeast(target)
            | Self::UnlessAtLeastInt(_, target)
            | Self::UnlessAtLeastLocal(_, target) => Some(target),
            _ => None,
        }
    }
}

/// Where a new closure finds a variable it captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Capture {
    Slot(u32),
    Captured(u32),
    Itself,
}

/// What a closure is made from.
#[derive(Debug)]
pub(crate) struct Template {
    pub(crate) entry: u32,
    pub(crate) arity: Arity,
    pub(crate) captures: Box<[Capture]>,
}

/// All code of a session.
pub(crate) struct Program {
    pub(crate) ops: Vec<Op>,
    pub(crate) constants: Vec<Value>,
    pub(crate) templates: Vec<Template>,
    /// Sources of operations, in the order of the code.
    pub(crate) positions: Vec<(u32, Position)>,
}

/// How long the tables were at some moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    ops: usize,
    constants: usize,
    templates: usize,
    positions: usize,
}

impl Program {
    pub(crate) fn new() -> Self {
        Self {
            ops: vec![Op::Halt],
            constants: Vec::new(),
            templates: Vec::new(),
            positions: Vec::new(),
        }
    }

    pub(crate) fn extent(&self) -> Extent {
        Extent {
            ops: self.ops.len(),
            constants: self.constants.len(),
            templates: self.templates.len(),
            positions: self.positions.len(),
        }
    }

    /// Bytes of code added since an extent.
    pub(crate) fn bytes_since(&self, extent: Extent) -> usize {
        (self.ops.len() - extent.ops) * 8
            + (self.constants.len() - extent.constants) * 8
            + (self.templates.len() - extent.templates) * 48
            + (self.positions.len() - extent.positions) * 12
    }

    /// Says whether code since an extent can still be reached through a closure.
    pub(crate) fn made_closures_since(&self, extent: Extent) -> bool {
        self.templates.len() > extent.templates
    }

    pub(crate) fn truncate(&mut self, extent: Extent) {
        self.ops.truncate(extent.ops);
        self.constants.truncate(extent.constants);
        self.templates.truncate(extent.templates);
        self.positions.truncate(extent.positions);
    }

    /// The source of an operation, or of the nearest one before it.
    pub(crate) fn position(&self, pc: u32) -> Option<Position> {
        let after = self.positions.partition_point(|&(start, _)| start <= pc);
        after.checked_sub(1).map(|index| self.positions[index].1)
    }
}
