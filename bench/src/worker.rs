//! A worker: holds the connections of one client and fulfils commands, timing
//! each piece of work as close to the client as possible.
//!
//! Owns the clock and the runtime. Refuses to know what the times are for.

use std::io::{self, BufRead, Write};
use std::time::Instant;

use futures::future::join_all;
use tokio::runtime::Runtime;

use crate::Result;
use crate::clients::attache::{AttacheObserved, AttacheRaw, AttacheTyped};
use crate::clients::blocking::Blocking;
use crate::clients::raw_pipe::RawPipe;
use crate::clients::rmcp::Rmcp;
use crate::clients::{AsyncConnection, BlockingConnection, ClientKind};
use crate::control::{Command, Reply};

/// Fulfils commands from standard input until it ends.
pub(crate) fn run(kind: ClientKind) -> Result<()> {
    match kind {
        ClientKind::RawPipe => serve(OnThread::<RawPipe>::default()),
        ClientKind::Blocking => serve(OnThread::<Blocking>::default()),
        ClientKind::Rmcp => serve(OnRuntime::<Rmcp>::new()?),
        ClientKind::AttacheRaw => serve(OnRuntime::<AttacheRaw>::new()?),
        ClientKind::AttacheTyped => serve(OnRuntime::<AttacheTyped>::new()?),
        ClientKind::AttacheObserved => serve(OnRuntime::<AttacheObserved>::new()?),
        ClientKind::TypeScript | ClientKind::Python => {
            Err(format!("{} has a worker of its own", kind.name()).into())
        }
    }
}

/// Connections that fulfil commands.
trait Subject {
    fn perform(&mut self, command: Command) -> Result<Vec<u64>>;
    fn close(self) -> Result<()>;
}

fn serve(mut subject: impl Subject) -> Result<()> {
    let mut output = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let reply = match subject.perform(serde_json::from_str(&line?)?) {
            Ok(nanoseconds) => Reply {
                nanoseconds,
                error: None,
            },
            Err(cause) => Reply {
                nanoseconds: Vec::new(),
                error: Some(cause.to_string()),
            },
        };
        serde_json::to_writer(&mut output, &reply)?;
        output.write_all(b"\n")?;
        output.flush()?;
    }
    subject.close()
}

/// Blocking connections on the worker's only thread.
struct OnThread<C> {
    connections: Vec<C>,
}

impl<C> Default for OnThread<C> {
    fn default() -> Self {
        Self {
            connections: Vec::new(),
        }
    }
}

impl<C: BlockingConnection> Subject for OnThread<C> {
    fn perform(&mut self, command: Command) -> Result<Vec<u64>> {
        if let Command::Open {
            server,
            connections,
        } = &command
        {
            for _ in 0..*connections {
                let mut connection = C::open(server)?;
                connection.echo()?;
                self.connections.push(connection);
            }
            return Ok(Vec::new());
        }
        let connection = self.connections.first_mut().ok_or("no connection")?;
        match command {
            Command::Open { .. } => Ok(Vec::new()),
            Command::Sequential { calls } => each(calls, || connection.echo()),
            Command::InFlight { calls, width } => each(1, || {
                for _ in 0..calls / width {
                    connection.echo_together(width)?;
                }
                Ok(())
            }),
            Command::Text { bytes, results } => each(results, || connection.text(bytes)),
            Command::List { tools, lists } => each(lists, || connection.list(tools)),
        }
    }

    fn close(self) -> Result<()> {
        self.connections.into_iter().try_for_each(C::close)
    }
}

fn each(times: usize, mut work: impl FnMut() -> Result<()>) -> Result<Vec<u64>> {
    let mut nanoseconds = Vec::with_capacity(times);
    for _ in 0..times {
        let start = Instant::now();
        work()?;
        nanoseconds.push(elapsed(start));
    }
    Ok(nanoseconds)
}

fn elapsed(start: Instant) -> u64 {
    u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// Asynchronous connections on tokio's multi-thread runtime with its defaults.
struct OnRuntime<C> {
    runtime: Runtime,
    connections: Vec<C>,
}

impl<C> OnRuntime<C> {
    fn new() -> Result<Self> {
        Ok(Self {
            runtime: tokio::runtime::Builder::new_multi_thread()
                .enable_all()
                .build()?,
            connections: Vec::new(),
        })
    }
}

impl<C: AsyncConnection> Subject for OnRuntime<C> {
    fn perform(&mut self, command: Command) -> Result<Vec<u64>> {
        if let Command::Open {
            server,
            connections,
        } = &command
        {
            for _ in 0..*connections {
                let connection = self.runtime.block_on(async {
                    let connection = C::open(server).await?;
                    connection.echo().await?;
                    Result::Ok(connection)
                })?;
                self.connections.push(connection);
            }
            return Ok(Vec::new());
        }
        let connection = self.connections.first().ok_or("no connection")?.clone();
        // The work is a task of its own, as in a program that serves something.
        let work = self.runtime.spawn(perform(connection, command));
        self.runtime.block_on(work)?
    }

    fn close(self) -> Result<()> {
        self.runtime.block_on(async {
            for connection in self.connections {
                connection.close().await?;
            }
            Ok(())
        })
    }
}

async fn perform<C: AsyncConnection>(connection: C, command: Command) -> Result<Vec<u64>> {
    match command {
        Command::Open { .. } => Ok(Vec::new()),
        Command::Sequential { calls } => each_async(calls, || connection.echo()).await,
        Command::InFlight { calls, width } => {
            let start = Instant::now();
            for _ in 0..calls / width {
                let together = (0..width).map(|_| connection.echo());
                for outcome in join_all(together).await {
                    outcome?;
                }
            }
            Ok(vec![elapsed(start)])
        }
        Command::Text { bytes, results } => each_async(results, || connection.text(bytes)).await,
        Command::List { tools, lists } => each_async(lists, || connection.list(tools)).await,
    }
}

async fn each_async<F: Future<Output = Result<()>>>(
    times: usize,
    mut work: impl FnMut() -> F,
) -> Result<Vec<u64>> {
    let mut nanoseconds = Vec::with_capacity(times);
    for _ in 0..times {
        let start = Instant::now();
        work().await?;
        nanoseconds.push(elapsed(start));
    }
    Ok(nanoseconds)
}
