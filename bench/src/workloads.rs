//! The works of the table: what is run, how often, and which number comes out.
//!
//! Owns the order of rounds: every client does one round before any does the
//! next, and each round begins with another client. Refuses to know how a
//! client works and how a table looks.

use std::collections::BTreeMap;

use crate::Result;
use crate::clients::ClientKind;
use crate::clients::external::Peers;
use crate::control::{Command, ServerCommand, Worker};
use crate::http_server::HttpServer;
use crate::measure::{self, quantile};

const MEGABYTE: usize = 1_000_000;
const IN_FLIGHT: usize = 64;
const LONG_LIST: usize = 1000;
/// Connections that are held to see what one costs.
const IDLE_CONNECTIONS: usize = 50;
/// What a client may have allocated before the large result comes.
const SMALL_RESULT: usize = 1000;

/// The raw pipe takes every line for an answer, so it cannot speak to a server
/// that sends notifications.
const REAL_CLIENTS: [ClientKind; 6] = [
    ClientKind::Blocking,
    ClientKind::Rmcp,
    ClientKind::TypeScript,
    ClientKind::Python,
    ClientKind::AttacheRaw,
    ClientKind::AttacheTyped,
];

/// Those that speak HTTP here.
const HTTP_CLIENTS: [ClientKind; 3] = [
    ClientKind::Rmcp,
    ClientKind::AttacheRaw,
    ClientKind::AttacheTyped,
];

/// How much of everything is done.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Extent {
    Full,
    Quick,
}

impl Extent {
    fn of(self, full: usize, quick: usize) -> usize {
        match self {
            Self::Full => full,
            Self::Quick => quick,
        }
    }
}

/// One work, named as `--only` takes it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Work {
    Sequential,
    InFlight,
    LargeResult,
    PeakMemory,
    LongList,
    IdleMemory,
    RealServer,
    Http,
}

impl Work {
    pub(crate) const ALL: [Self; 8] = [
        Self::Sequential,
        Self::InFlight,
        Self::LargeResult,
        Self::PeakMemory,
        Self::LongList,
        Self::IdleMemory,
        Self::RealServer,
        Self::Http,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
            Self::InFlight => "in-flight",
            Self::LargeResult => "large-result",
            Self::PeakMemory => "peak-memory",
            Self::LongList => "long-list",
            Self::IdleMemory => "idle-memory",
            Self::RealServer => "real-server",
            Self::Http => "http",
        }
    }
}

/// What one client did in one round.
#[derive(Clone, Debug, Default)]
pub(crate) struct Round {
    /// Nanoseconds, or bytes for the works about memory.
    pub(crate) values: Vec<f64>,
    /// How many calls, tools or bytes of text each value covers.
    pub(crate) amount: f64,
    /// The processor time the client spent, in nanoseconds, where it is known.
    pub(crate) processor_time: Option<f64>,
}

impl Round {
    /// The value that this share of the round's values does not exceed.
    pub(crate) fn quantile(&self, share: f64) -> Option<f64> {
        quantile(&self.values, share)
    }
}

/// All rounds of one work, and why a client has none.
#[derive(Debug, Default)]
pub(crate) struct Measurement {
    pub(crate) rounds: BTreeMap<ClientKind, Vec<Round>>,
    pub(crate) failures: BTreeMap<ClientKind, String>,
}

/// Where everything is that a run needs.
#[derive(Debug)]
pub(crate) struct Bench {
    pub(crate) peers: Peers,
    pub(crate) bench_server: String,
    pub(crate) extent: Extent,
}

impl Bench {
    /// Runs one work through all clients. The works behind the real server and over HTTP give
    /// two measurements, any other one.
    pub(crate) fn run(&self, work: Work) -> Result<Vec<Measurement>> {
        let extent = self.extent;
        let measurement = match work {
            Work::Sequential => self.steady(
                &ClientKind::ALL,
                &self.server(2),
                extent.of(15, 5),
                &Command::Sequential {
                    calls: extent.of(1000, 400),
                },
            ),
            Work::InFlight => self.steady(
                &ClientKind::ALL,
                &self.server(2),
                extent.of(15, 5),
                &Command::InFlight {
                    calls: IN_FLIGHT * extent.of(50, 20),
                    width: IN_FLIGHT,
                },
            ),
            Work::LargeResult => self.steady(
                &ClientKind::ALL,
                &self.server(2),
                extent.of(15, 5),
                &Command::Text {
                    bytes: MEGABYTE,
                    results: extent.of(20, 8),
                },
            ),
            Work::LongList => self.steady(
                &ClientKind::ALL,
                &self.server(LONG_LIST),
                extent.of(15, 5),
                &Command::List {
                    tools: LONG_LIST,
                    lists: extent.of(10, 4),
                },
            ),
            Work::PeakMemory => self.fresh(extent.of(5, 3), |worker| self.peak_memory(worker)),
            Work::IdleMemory => self.fresh(extent.of(5, 2), |worker| self.idle_memory(worker)),
            Work::RealServer => {
                let server = self.real_server()?;
                let sequential = Command::Sequential {
                    calls: extent.of(300, 100),
                };
                let in_flight = Command::InFlight {
                    calls: IN_FLIGHT * extent.of(10, 3),
                    width: IN_FLIGHT,
                };
                return Ok(vec![
                    self.steady(&REAL_CLIENTS, &server, extent.of(9, 3), &sequential),
                    self.steady(&REAL_CLIENTS, &server, extent.of(9, 3), &in_flight),
                ]);
            }
            Work::Http => {
                let running = HttpServer::start(&self.bench_server)?;
                let server = running.command();
                let sequential = Command::Sequential {
                    calls: extent.of(1000, 400),
                };
                let in_flight = Command::InFlight {
                    calls: IN_FLIGHT * extent.of(30, 10),
                    width: IN_FLIGHT,
                };
                return Ok(vec![
                    self.steady(&HTTP_CLIENTS, &server, extent.of(15, 5), &sequential),
                    self.steady(&HTTP_CLIENTS, &server, extent.of(15, 5), &in_flight),
                ]);
            }
        };
        Ok(vec![measurement])
    }

    /// The server of the benchmark with a tool list of this length.
    pub(crate) fn server(&self, tools: usize) -> ServerCommand {
        ServerCommand {
            program: self.bench_server.clone(),
            arguments: vec![tools.to_string()],
        }
    }

    /// A server as users have it, so that one sees what is left of a gain.
    fn real_server(&self) -> Result<ServerCommand> {
        let program = self.peers.node("typescript")?;
        let script = self.peers.installed(
            "typescript/node_modules/@modelcontextprotocol/server-everything/dist/index.js",
        )?;
        Ok(ServerCommand {
            program: program.get_program().to_string_lossy().into_owned(),
            arguments: vec![script.to_string_lossy().into_owned(), "stdio".to_owned()],
        })
    }

    /// Keeps one connected worker per client for all rounds. The first round
    /// warms everything up and does not count.
    fn steady(
        &self,
        kinds: &[ClientKind],
        server: &ServerCommand,
        rounds: usize,
        command: &Command,
    ) -> Measurement {
        let mut measurement = Measurement::default();
        let mut workers = Vec::new();
        for &kind in kinds {
            let connected = self.start(kind).and_then(|mut worker| {
                worker.perform(&open(server, 1))?;
                worker.perform(command)?;
                Ok(worker)
            });
            match connected {
                Ok(worker) => workers.push((kind, worker)),
                Err(cause) => drop(measurement.failures.insert(kind, cause.to_string())),
            }
        }
        for _ in 0..rounds {
            for (kind, worker) in &mut workers {
                if measurement.failures.contains_key(kind) {
                    continue;
                }
                match timed_round(worker, command) {
                    Ok(round) => measurement.rounds.entry(*kind).or_default().push(round),
                    Err(cause) => drop(measurement.failures.insert(*kind, cause.to_string())),
                }
            }
            let one_further = workers.len().min(1);
            workers.rotate_left(one_further);
        }
        measurement
    }

    /// Gives every client a process of its own in every round.
    fn fresh(&self, rounds: usize, measure: impl Fn(&mut Worker) -> Result<Round>) -> Measurement {
        let mut measurement = Measurement::default();
        for _ in 0..rounds {
            for kind in ClientKind::ALL {
                if measurement.failures.contains_key(&kind) {
                    continue;
                }
                match self.start(kind).and_then(|mut worker| measure(&mut worker)) {
                    Ok(round) => measurement.rounds.entry(kind).or_default().push(round),
                    Err(cause) => drop(measurement.failures.insert(kind, cause.to_string())),
                }
            }
        }
        measurement
    }

    fn start(&self, kind: ClientKind) -> Result<Worker> {
        Worker::start(self.peers.launch(kind)?)
    }

    /// How far one large result drives the resident size above what it was.
    fn peak_memory(&self, worker: &mut Worker) -> Result<Round> {
        let process = worker.process_id();
        worker.perform(&open(&self.server(2), 1))?;
        worker.perform(&texts(SMALL_RESULT))?;
        measure::reset_peak_memory(process)?;
        let before = measure::peak_memory(process)?;
        worker.perform(&texts(10 * MEGABYTE))?;
        let after = measure::peak_memory(process)?;
        Ok(Round {
            values: vec![after.saturating_sub(before) as f64],
            ..Round::default()
        })
    }

    /// What each further connection adds, in the client and in processes that
    /// it may have started beside the servers. The first connection is not
    /// counted: it pays for what all of them share.
    fn idle_memory(&self, worker: &mut Worker) -> Result<Round> {
        let server = self.server(2);
        let mut readings = Vec::new();
        for connections in [1, IDLE_CONNECTIONS] {
            worker.perform(&open(&server, connections))?;
            readings.push([
                measure::resident_memory(worker.process_id())? as f64,
                measure::memory_of_helpers(worker.process_id(), &self.bench_server)? as f64,
            ]);
        }
        let values = readings[0]
            .iter()
            .zip(&readings[1])
            .map(|(before, after)| (after - before) / IDLE_CONNECTIONS as f64)
            .collect();
        Ok(Round {
            values,
            ..Round::default()
        })
    }
}

fn timed_round(worker: &mut Worker, command: &Command) -> Result<Round> {
    let before = measure::processor_time(worker.process_id()).ok();
    let nanoseconds = worker.perform(command)?;
    let after = measure::processor_time(worker.process_id()).ok();
    Ok(Round {
        values: nanoseconds.into_iter().map(|time| time as f64).collect(),
        amount: command.amount() as f64,
        processor_time: before
            .zip(after)
            .and_then(|(before, after)| after.checked_sub(before))
            .map(|time| time as f64),
    })
}

pub(crate) fn open(server: &ServerCommand, connections: usize) -> Command {
    Command::Open {
        server: server.clone(),
        connections,
    }
}

fn texts(bytes: usize) -> Command {
    Command::Text { bytes, results: 1 }
}
