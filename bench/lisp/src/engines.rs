//! The evaluators: how each is started with a program, and the two that are libraries.
//!
//! Owns the command lines. Every engine runs a program in a process of its own, so that all are
//! measured alike.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use attache_lisp::{Limits, Session, Uninterrupted};
use nix::sys::resource::UsageWho;

use crate::Result;
use crate::measure::cpu_ms;

/// The first argument that makes this executable an engine.
pub(crate) const EVALUATE: &str = "evaluate";

/// Who runs a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Engine {
    Attache,
    Gambit,
    Steel,
    Chicken,
    Guile,
    GuileCompiled,
}

impl Engine {
    pub(crate) const ALL: [Self; 6] = [
        Self::Attache,
        Self::Gambit,
        Self::Steel,
        Self::Chicken,
        Self::Guile,
        Self::GuileCompiled,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Attache => "attache",
            Self::Gambit => "gambit",
            Self::Steel => "steel",
            Self::Chicken => "chicken",
            Self::Guile => "guile",
            Self::GuileCompiled => "guile -O",
        }
    }

    /// The package that brings it, for whoever misses it.
    fn package(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Attache | Self::Steel => None,
            Self::Gambit => Some(("gsi", "gambc")),
            Self::Chicken => Some(("csi", "chicken-bin")),
            Self::Guile | Self::GuileCompiled => Some(("guile", "guile-3.0")),
        }
    }

    /// Says why the engine cannot take part, if it cannot.
    pub(crate) fn absence(self) -> Option<String> {
        let (program, package) = self.package()?;
        let answers = Command::new(program)
            .arg(if self == Self::Gambit {
                "-v"
            } else {
                "--version"
            })
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        // Some engines do not know how to say their version; being there is enough.
        answers
            .is_err()
            .then(|| format!("{program} is not installed (Debian package {package})"))
    }

    /// Does what is done once per program, and answers what to run.
    pub(crate) fn prepare(self, program: &Path, scratch: &Path) -> Result<Command> {
        let own = || -> Result<Command> {
            let mut command = Command::new(std::env::current_exe()?);
            command.args([EVALUATE, self.name()]).arg(program);
            Ok(command)
        };
        Ok(match self {
            Self::Attache | Self::Steel => own()?,
            Self::Gambit => command("gsi", &[], program),
            Self::Chicken => command("csi", &["-s"], program),
            Self::Guile => command("guile", &["--no-auto-compile", "-s"], program),
            Self::GuileCompiled => {
                let name = program.file_stem().unwrap_or_default();
                let compiled = scratch.join(name).with_extension("go");
                let compile = format!(
                    "(use-modules (system base compile)) (compile-file {:?} #:output-file {:?})",
                    program.display().to_string(),
                    compiled.display().to_string(),
                );
                let status = Command::new("guile")
                    .args(["--no-auto-compile", "-c", &compile])
                    .stdout(Stdio::null())
                    .stderr(Stdio::null())
                    .status()?;
                if !status.success() {
                    return Err(format!("guile cannot compile {}", program.display()).into());
                }
                let load = format!("(load-compiled \"{}\")", compiled.display());
                let mut command = Command::new("guile");
                command.args(["--no-auto-compile", "-c", &load]);
                command
            }
        })
    }
}

fn command(program: &str, arguments: &[&str], file: &Path) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).arg(file);
    command
}

/// What a process that is an engine writes to standard error before its own time.
pub(crate) const OWN_TIME: &str = "bench-lisp-ms ";

/// Runs a program in this very process, as one of the engines that are libraries, and tells the
/// time without the making of the engine: one of them takes far longer for that than for most
/// programs, and a difference of two such times would be noise.
pub(crate) fn evaluate(engine: &str, program: &str) -> Result<()> {
    let source = std::fs::read_to_string(program)?;
    let took = if engine == Engine::Attache.name() {
        // The limits are those of the server.
        let mut session = Session::new(Limits::default());
        let before = cpu_ms(UsageWho::RUSAGE_SELF)?;
        let outcome = session.evaluate(&source, None, &Uninterrupted)?;
        std::io::stdout().write_all(outcome.output.as_bytes())?;
        cpu_ms(UsageWho::RUSAGE_SELF)? - before
    } else {
        let mut engine = steel::steel_vm::engine::Engine::new();
        let before = cpu_ms(UsageWho::RUSAGE_SELF)?;
        let ran = engine.compile_and_run_raw_program(source);
        ran.map_err(|error| error.to_string())?;
        cpu_ms(UsageWho::RUSAGE_SELF)? - before
    };
    Ok(writeln!(std::io::stderr(), "{OWN_TIME}{took}")?)
}
