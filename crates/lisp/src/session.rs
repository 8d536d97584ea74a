//! Sessions: evaluation after evaluation over the same definitions.
//!
//! Owns the way from source text to a written value; knows nothing of who asks or where the answer
//! goes.

use crate::compile::compile;
use crate::error::{ErrorKind, Failure, Fallible, Fault, FaultCause, Position};
use crate::limits::{Interrupt, Limits, Uninterrupted};
use crate::machine::{Exit, Machine};
use crate::print::{self, Style};
use crate::reader::{Positions, Reader};
use crate::stack;
use crate::syntax::expand::{Expander, Head};
use crate::syntax::scopes::{Binding, SYSTEM, ScopeId, Special, USER};
use crate::value::Value;
use crate::world::World;

const PRELUDE: &str = include_str!("prelude.scm");

/// What an evaluation gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The last value as `write` shows it; empty when there is nothing to show.
    pub value: String,
    /// What the program wrote.
    pub output: String,
    /// Steps used.
    pub steps: u64,
    /// The most bytes of heap that were in use.
    pub heap_peak: usize,
}

/// A Scheme with its definitions.
pub struct Session {
    machine: Machine,
    limits: Limits,
    evaluations: u64,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl Session {
    /// Starts a session whose evaluations have these limits unless told otherwise.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        let mut world = World::new();
        let generous = Limits {
            steps: u64::MAX / 8,
            heap: usize::MAX / 8,
            depth: 10_000,
            integer_bits: 4096,
            source: usize::MAX,
            output: 0,
        };
        world.begin(&generous);
        let mut expander = Expander::new();
        let bound = expander.bind_standard(&mut world);
        debug_assert!(bound.is_ok(), "the standard names cannot be bound");
        let mut session = Self {
            machine: Machine::new(world, expander),
            limits,
            evaluations: 0,
        };
        session.load_prelude(&generous);
        session
    }

    fn load_prelude(&mut self, limits: &Limits) {
        let loaded = self.evaluate_in(PRELUDE, limits, &Uninterrupted, SYSTEM);
        debug_assert!(
            loaded.is_ok(),
            "the standard library does not load: {loaded:?}"
        );
        self.machine.signal = self.standard("%signal");
        self.machine.rewind = self.standard("%rewind");
        self.machine.library_end =
            u32::try_from(self.machine.program.ops.len()).unwrap_or(u32::MAX);
        self.machine.program.seal_library();
        // What exists now is the language, not the program's.
        self.machine.tidy();
        let heap = &mut self.machine.world.heap;
        heap.peak = heap.used;
    }

    fn standard(&mut self, name: &str) -> Value {
        let machine = &mut self.machine;
        let Ok(symbol) = machine.world.heap.intern(name) else {
            return Value::FALSE;
        };
        match machine.expander.scopes.own(SYSTEM, symbol) {
            Some(Binding::Global(global)) => machine.world.globals[global as usize].value,
            _ => Value::FALSE,
        }
    }

    /// Evaluates source text: all its forms in order.
    ///
    /// Definitions stay for later evaluations, also those made before a failure.
    ///
    /// # Errors
    /// A [`Failure`] with its kind, a message, and the position when it is known.
    pub fn evaluate(
        &mut self,
        source: &str,
        limits: Option<&Limits>,
        interrupt: &dyn Interrupt,
    ) -> Result<Outcome, Failure> {
        let limits = limits.unwrap_or(&self.limits).clone();
        self.evaluate_in(source, &limits, interrupt, USER)
    }

    fn evaluate_in(
        &mut self,
        source: &str,
        limits: &Limits,
        interrupt: &dyn Interrupt,
        scope: ScopeId,
    ) -> Result<Outcome, Failure> {
        self.machine.world.begin(limits);
        self.evaluations += 1;
        let result = self.forms(source, interrupt, scope);
        let machine = &mut self.machine;
        let steps = machine.world.steps();
        machine.world.heap.peak = machine.world.heap.peak.max(machine.world.heap.used);
        let result = result.and_then(|value| {
            let written = self.written(value)?;
            let world = &mut self.machine.world;
            Ok(Outcome {
                value: written,
                output: std::mem::take(&mut world.output),
                steps,
                heap_peak: world.heap.peak,
            })
        });
        self.machine.clear();
        self.machine.kept.clear();
        self.machine.expander.positions = Positions::new();
        self.machine.world.end();
        let full = matches!(&result, Err(failure) if failure.kind == ErrorKind::Memory);
        if full || self.machine.is_untidy() {
            self.machine.tidy();
        } else if result.is_err() || self.machine.world.heap.is_due() {
            self.machine.collect();
        }
        result.map_err(|failure| *failure)
    }

    fn written(&self, value: Value) -> Result<String, Box<Failure>> {
        if value == Value::UNSPECIFIED {
            return Ok(String::new());
        }
        let world = &self.machine.world;
        print::render(&world.heap, value, Style::Write, world.limits.output).map_err(|_| {
            let message = format!(
                "the written value is longer than {} bytes",
                world.limits.output
            );
            self.machine.failure(ErrorKind::Output, message, None)
        })
    }

    /// Reads all forms, then expands, compiles and runs them one by one.
    fn forms(
        &mut self,
        source: &str,
        interrupt: &dyn Interrupt,
        scope: ScopeId,
    ) -> Result<Value, Box<Failure>> {
        let machine = &mut self.machine;
        if source.len() > machine.world.limits.source {
            let message = format!("more than {} bytes of source", machine.world.limits.source);
            return Err(machine.failure(ErrorKind::Memory, message, None));
        }
        let text: Vec<char> = source.chars().collect();
        let forms = match read_all(machine, &text) {
            Ok(forms) => forms,
            Err(fault) => return Err(plain_failure(machine, fault)),
        };
        machine.kept = forms.iter().map(|&(form, _)| form).collect();
        if scope == USER {
            shadow_definitions(machine, &forms).map_err(|fault| plain_failure(machine, fault))?;
        }
        machine.form = (self.evaluations, 0);
        let mut value = Value::UNSPECIFIED;
        while let Some(&(form, position)) = forms.get(machine.form.1) {
            value = run_form(machine, form, position, interrupt, scope)?;
            // A continuation may have gone back to an earlier form.
            machine.form.1 += 1;
        }
        Ok(value)
    }
}

fn read_all(machine: &mut Machine, text: &[char]) -> Fallible<Vec<(Value, Position)>> {
    let world = &mut machine.world;
    let mut reader = Reader::new(text);
    let mut forms = Vec::new();
    while let Some(form) = reader.read(world, &mut machine.expander.positions)? {
        forms.push((form, reader.start));
        world
            .heap
            .reserve(forms.len() * 16 + machine.expander.positions.len() * 24)?;
    }
    Ok(forms)
}

/// Gives the program its own variables for the standard names it is about to define, so that
/// forms before a definition already mean the program's.
fn shadow_definitions(machine: &mut Machine, forms: &[(Value, Position)]) -> Fallible<()> {
    let Machine {
        world, expander, ..
    } = machine;
    for &(form, _) in forms {
        let Head::Special(Special::Define) = expander.head(world, form, USER) else {
            continue;
        };
        let mut name = match world
            .heap
            .pair(form)
            .and_then(|[_, rest]| world.heap.pair(rest))
        {
            Some([name, _]) => name,
            None => continue,
        };
        if let Some([signature, _]) = world.heap.pair(name) {
            name = signature;
        }
        if name.as_symbol().is_some()
            && matches!(expander.scopes.own(SYSTEM, name), Some(Binding::Global(_)))
        {
            expander.shadow_standard(world, name, USER)?;
        }
    }
    Ok(())
}

fn run_form(
    machine: &mut Machine,
    form: Value,
    position: Position,
    interrupt: &dyn Interrupt,
    scope: ScopeId,
) -> Result<Value, Box<Failure>> {
    if machine.world.heap.is_due() {
        machine.collect();
    }
    let extent = machine.program.extent();
    machine.expander.here = Some(position);
    let entry = compile_form(machine, form, scope)
        .map_err(|fault| plain_failure(machine, fault.at(Some(position))))?;
    machine.start(entry);
    let result = run_to_end(machine, interrupt, scope);
    if !machine.captured && !machine.program.made_closures_since(extent) {
        // Neither a closure nor a continuation can come back to the code of this form.
        machine
            .world
            .heap
            .release_permanent(machine.program.bytes_since(extent));
        machine.program.truncate(extent);
    } else {
        machine.program.keep(extent);
    }
    result
}

fn compile_form(machine: &mut Machine, form: Value, scope: ScopeId) -> Fallible<u32> {
    let Machine {
        world,
        expander,
        program,
        ..
    } = machine;
    let extent = program.extent();
    let place = expander.here;
    let compiled = expander.top(world, form, scope).and_then(|node| {
        if expander.deep {
            stack::deep(|| compile(&node, &expander.variables, place, program))
        } else {
            compile(&node, &expander.variables, place, program)
        }
    });
    let borrowed = std::mem::take(&mut expander.borrowed);
    world.heap.peak = world.heap.peak.max(world.heap.used);
    world.heap.used = world.heap.used.saturating_sub(borrowed);
    let charged = compiled.and_then(|entry| {
        let bytes = program.bytes_since(extent);
        world.heap.charge_permanent(bytes).map(|()| entry)
    });
    if charged.is_err() {
        program.truncate(extent);
    }
    charged
}

fn run_to_end(
    machine: &mut Machine,
    interrupt: &dyn Interrupt,
    scope: ScopeId,
) -> Result<Value, Box<Failure>> {
    loop {
        match machine.run(interrupt) {
            Ok(Exit::Done(value)) => return Ok(value),
            Ok(Exit::Compile(datum)) => {
                // The datum must survive until it is compiled.
                machine.acc = datum;
                machine.expander.here = machine.program.position(machine.pc.saturating_sub(1));
                let scope = if scope == SYSTEM { SYSTEM } else { USER };
                match compile_form(machine, datum, scope) {
                    Ok(entry) => machine.enter(entry),
                    Err(fault) if fault.is_full() => {
                        return Err(plain_failure(machine, fault));
                    }
                    Err(fault) => machine.recover(fault)?,
                }
            }
            Err(fault) => machine.recover(fault)?,
        }
    }
}

/// The failure of a fault that no Scheme code can see.
fn plain_failure(machine: &Machine, fault: Fault) -> Box<Failure> {
    let position = fault.position;
    match *fault.cause {
        FaultCause::Full => {
            let message = format!("more than {} bytes of heap", machine.world.limits.heap);
            machine.failure(ErrorKind::Memory, message, position)
        }
        FaultCause::Limit(kind, message) | FaultCause::Error(kind, message) => {
            machine.failure(kind, message, position)
        }
        FaultCause::Raise(object) => {
            let message = machine.world.describe(object);
            machine.failure(ErrorKind::Raised, message, position)
        }
    }
}
