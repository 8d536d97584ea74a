//! What primitives work on: the heap, the globals, the output and the budget.
//!
//! Owns the account of steps and output; knows nothing of code, stacks or syntax.

use std::collections::HashMap;

use crate::error::{ErrorKind, Fallible, Fault};
use crate::heap::Heap;
use crate::limits::Limits;
use crate::object::{Object, OutPort, PortSink};
use crate::print::{self, Style};
use crate::value::Value;

/// Steps between two looks at the clock, the limits and the collector.
pub(crate) const SLICE: u64 = 1024;
/// Characters of a value shown in an error message.
const SHOWN: usize = 120;

/// A top-level variable.
pub(crate) struct Global {
    pub(crate) name: Value,
    pub(crate) value: Value,
}

/// Everything a primitive may touch.
pub(crate) struct World {
    pub(crate) heap: Heap,
    pub(crate) limits: Limits,
    /// Steps left in this slice.
    pub(crate) fuel: i64,
    /// Steps left after this slice.
    pub(crate) reserve: u64,
    /// Steps that primitives charged for their work.
    pub(crate) charged: u64,
    pub(crate) output: String,
    /// The parameter `current-output-port`.
    pub(crate) output_parameter: Value,
    /// The parameter `current-input-port`.
    pub(crate) input_parameter: Value,
    /// Parameters that `parameterize` changed in this evaluation, and their values before.
    pub(crate) changed_parameters: HashMap<Value, Value>,
    /// Exception handlers, innermost first.
    pub(crate) handlers: Value,
    /// Entered `dynamic-wind`s, innermost first.
    pub(crate) winds: Value,
    pub(crate) globals: Vec<Global>,
}

impl World {
    pub(crate) fn new() -> Self {
        Self {
            heap: Heap::new(),
            limits: Limits::default(),
            fuel: 0,
            reserve: u64::MAX / 4,
            charged: 0,
            output: String::new(),
            output_parameter: Value::FALSE,
            input_parameter: Value::FALSE,
            changed_parameters: HashMap::new(),
            handlers: Value::NIL,
            winds: Value::NIL,
            globals: Vec::new(),
        }
    }

    /// Sets the budget of an evaluation.
    pub(crate) fn begin(&mut self, limits: &Limits) {
        self.limits = limits.clone();
        self.heap.limit = limits.heap;
        self.heap.peak = self.heap.used;
        self.fuel = 0;
        self.reserve = limits.steps;
        self.charged = 0;
        self.output.clear();
        self.handlers = Value::NIL;
        self.winds = Value::NIL;
    }

    /// Ends an evaluation: the dynamic state is again that of the top level.
    ///
    /// A limit runs no `after` thunk, so parameters may still hold what `parameterize` gave them.
    pub(crate) fn end(&mut self) {
        for (parameter, original) in std::mem::take(&mut self.changed_parameters) {
            if let Some(Object::Parameter { value, .. }) = self.heap.get_mut(parameter) {
                *value = original;
            }
        }
        self.handlers = Value::NIL;
        self.winds = Value::NIL;
    }

    /// Gives a parameter another value until the end of the evaluation at most.
    pub(crate) fn set_parameter(&mut self, parameter: Value, to: Value) -> Fallible<()> {
        if !self.changed_parameters.contains_key(&parameter) {
            self.heap.charge(48)?;
        }
        if let Some(Object::Parameter { value, .. }) = self.heap.get_mut(parameter) {
            let before = std::mem::replace(value, to);
            self.changed_parameters.entry(parameter).or_insert(before);
        }
        Ok(())
    }

    /// Steps used since the evaluation began.
    pub(crate) fn steps(&self) -> u64 {
        let left = self.reserve.saturating_add_signed(self.fuel);
        self.limits.steps.saturating_sub(left)
    }

    /// Charges steps for work about to be done inside a primitive.
    #[inline]
    pub(crate) fn charge(&mut self, steps: usize) -> Fallible<()> {
        let steps = i64::try_from(steps).unwrap_or(i64::MAX / 2);
        self.charged = self.charged.saturating_add(steps.unsigned_abs());
        self.fuel = self.fuel.saturating_sub(steps);
        if self.fuel < 0 {
            let owed = self.fuel.unsigned_abs();
            if owed > self.reserve {
                return Err(self.out_of_steps());
            }
            self.reserve -= owed;
            self.fuel = 0;
        }
        Ok(())
    }

    #[cold]
    pub(crate) fn out_of_steps(&mut self) -> Fault {
        self.reserve = 0;
        self.fuel = 0;
        Fault::limit(
            ErrorKind::Steps,
            format!("more than {} steps", self.limits.steps),
        )
    }

    /// Refuses an integer of too many bits before it is computed.
    pub(crate) fn check_bits(&self, bits: u64) -> Fallible<()> {
        if bits > self.limits.integer_bits {
            return Err(Fault::limit(
                ErrorKind::Memory,
                format!("an integer of more than {} bits", self.limits.integer_bits),
            ));
        }
        // Every integer is charged to the heap as well; its computation needs about twice that.
        self.heap
            .reserve(usize::try_from(bits / 4).unwrap_or(usize::MAX))
    }

    /// Appends to the captured output.
    pub(crate) fn print(&mut self, text: &str) -> Fallible<()> {
        if self.output.len() + text.len() > self.limits.output {
            return Err(self.out_of_output());
        }
        self.output.push_str(text);
        Ok(())
    }

    #[cold]
    pub(crate) fn out_of_output(&self) -> Fault {
        Fault::limit(
            ErrorKind::Output,
            format!("more than {} bytes of output", self.limits.output),
        )
    }

    /// Writes text to an output port.
    pub(crate) fn write_to(&mut self, port: Value, text: &str) -> Fallible<()> {
        if port == Value::CONSOLE {
            return self.print(text);
        }
        match self.heap.as_out_port(port) {
            Some(OutPort { open: false, .. }) => {
                return Err(Fault::error(ErrorKind::Type, "the port is closed"));
            }
            Some(OutPort {
                sink: PortSink::Text(_),
                ..
            }) => {}
            _ => return Err(self.wrong_type("write", "a textual output port", port)),
        }
        // A growing buffer may double, so twice the text is charged.
        self.heap.charge(text.len() * 2)?;
        if let Some(PortSink::Text(buffer)) = self.heap.sink(port) {
            buffer.push_str(text);
        }
        Ok(())
    }

    /// A short written form for messages.
    pub(crate) fn describe(&self, value: Value) -> String {
        print::excerpt(&self.heap, value, Style::Write, SHOWN)
    }

    #[cold]
    pub(crate) fn wrong_type(&self, procedure: &str, expected: &str, got: Value) -> Fault {
        let got = self.describe(got);
        Fault::error(
            ErrorKind::Type,
            format!("{procedure}: expected {expected}, got {got}"),
        )
    }

    #[cold]
    pub(crate) fn out_of_range(&self, procedure: &str, got: Value) -> Fault {
        let got = self.describe(got);
        Fault::error(
            ErrorKind::Range,
            format!("{procedure}: {got} is out of range"),
        )
    }
}
