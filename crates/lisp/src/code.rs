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

impl Op {
    /// The same operation in code that moved down.
    fn shifted(mut self, shift: &Shift) -> Self {
        match &mut self {
            Self::Const(index) | Self::PushConst(index) => *index -= shift.constants,
            Self::MakeClosure(index) => *index -= shift.templates,
            _ => {
                if let Some(target) = self.target_mut() {
                    *target -= shift.ops;
                }
            }
        }
        self
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
    /// Where the code of each form starts that may still be reached; what comes before the first
    /// is the standard library's.
    forms: Vec<Extent>,
}

/// How long the tables were at some moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    ops: usize,
    constants: usize,
    templates: usize,
    positions: usize,
}

/// How far the parts of a form moved down.
struct Shift {
    ops: u32,
    constants: u32,
    templates: u32,
}

/// Where code went.
#[derive(Debug, Default)]
pub(crate) struct Moves {
    /// Where each form started, and how far it moved down.
    starts: Vec<(u32, u32)>,
}

impl Moves {
    /// Where a place of code that stayed is now.
    pub(crate) fn place(&self, before: u32) -> u32 {
        let after = self.starts.partition_point(|&(start, _)| start <= before);
        let shift = after.checked_sub(1).map_or(0, |form| self.starts[form].1);
        before - shift
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the heap limit keeps places in u32"
)]
impl Program {
    pub(crate) fn new() -> Self {
        Self {
            ops: vec![Op::Halt],
            constants: Vec::new(),
            templates: Vec::new(),
            positions: Vec::new(),
            forms: Vec::new(),
        }
    }

    /// Declares all code so far to be the standard library's.
    pub(crate) fn seal_library(&mut self) {
        self.positions.clear();
        self.forms.clear();
    }

    /// Notes that code since an extent belongs to one form and stays.
    pub(crate) fn keep(&mut self, extent: Extent) {
        self.forms.push(extent);
    }

    /// How many forms have code.
    pub(crate) fn forms(&self) -> usize {
        self.forms.len()
    }

    /// The form that a place belongs to; none for the standard library.
    pub(crate) fn form_at(&self, place: u32) -> Option<usize> {
        let after = |form: &Extent| form.ops <= place as usize;
        self.forms.partition_point(after).checked_sub(1)
    }

    /// Bytes of the code of all forms.
    pub(crate) fn bytes(&self) -> usize {
        self.forms
            .first()
            .map_or(0, |&first| self.bytes_since(first))
    }

    /// Drops the code of the other forms and moves these together.
    pub(crate) fn keep_only(&mut self, kept: &[bool]) -> Moves {
        let forms = std::mem::take(&mut self.forms);
        let mut moves = Moves::default();
        let Some(&first) = forms.first() else {
            return moves;
        };
        let end = self.extent();
        // The rest is taken off and what stays is put back, form by form.
        let ops = self.ops.split_off(first.ops);
        let constants = self.constants.split_off(first.constants);
        let positions = self.positions.split_off(first.positions);
        let mut templates = self.templates.split_off(first.templates).into_iter();
        let ends = forms.iter().skip(1).chain([&end]);
        for ((from, to), &kept) in forms.iter().zip(ends).zip(kept) {
            let own_templates = templates.by_ref().take(to.templates - from.templates);
            if !kept {
                own_templates.for_each(drop);
                continue;
            }
            let start = self.extent();
            let shift = Shift {
                ops: (from.ops - start.ops) as u32,
                constants: (from.constants - start.constants) as u32,
                templates: (from.templates - start.templates) as u32,
            };
            moves.starts.push((from.ops as u32, shift.ops));
            self.forms.push(start);
            self.templates.extend(own_templates.map(|mut template| {
                template.entry -= shift.ops;
                template
            }));
            let own = &constants[from.constants - first.constants..to.constants - first.constants];
            self.constants.extend_from_slice(own);
            let own = &positions[from.positions - first.positions..to.positions - first.positions];
            let moved = own.iter().map(|&(at, position)| (at - shift.ops, position));
            self.positions.extend(moved);
            let own = &ops[from.ops - first.ops..to.ops - first.ops];
            self.ops.extend(own.iter().map(|op| op.shifted(&shift)));
        }
        moves
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
