//! The benchmark: the same work through this client and its peers, against the
//! same server, in the same run. `bench/run` installs the peers, builds and
//! starts it; `README.md` says how to read what it prints.

mod batch;
mod clients;
mod control;
mod counting;
mod http_server;
mod kept;
mod measure;
mod one_shot;
mod report;
mod rows;
mod worker;
mod workloads;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clients::ClientKind;
use clients::external::Peers;
use report::{Report, progress};
use workloads::{Bench, Extent, Work};

/// Whatever goes wrong here is told to a person, so words are enough.
pub(crate) type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

const ONE_SHOT: &str = "one-shot";
const BATCH: &str = "batch";
const KEPT: &str = "up";

fn main() -> ExitCode {
    // This client is measured as it is meant to run, with its guardian.
    attache::process::guardian::enable();
    match start() {
        Ok(()) => ExitCode::SUCCESS,
        Err(cause) => {
            progress(&cause.to_string());
            ExitCode::FAILURE
        }
    }
}

fn start() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [mode, name] = arguments.as_slice()
        && mode == "worker"
    {
        let kind =
            ClientKind::from_name(name).ok_or_else(|| format!("no client is called {name}"))?;
        return worker::run(kind);
    }
    match Settings::from_arguments(arguments)? {
        Some(settings) => run(&settings),
        None => Ok(writeln!(io::stdout(), "{}", usage())?),
    }
}

/// What the command line asks for.
struct Settings {
    extent: Extent,
    counting: bool,
    /// Names of works; none means all of them.
    only: Vec<String>,
    peers: PathBuf,
    attache: Option<PathBuf>,
    json: Option<PathBuf>,
}

impl Settings {
    /// Nothing when help is asked for.
    fn from_arguments(arguments: Vec<String>) -> Result<Option<Self>> {
        let mut settings = Self {
            extent: Extent::Full,
            counting: false,
            only: Vec::new(),
            peers: PathBuf::from(".peers"),
            attache: None,
            json: None,
        };
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
            match argument.as_str() {
                "--help" => return Ok(None),
                "--quick" => settings.extent = Extent::Quick,
                "--callgrind" => settings.counting = true,
                "--only" => settings.only.push(known_work(value()?)?),
                "--peers" => settings.peers = value()?.into(),
                "--attache" => settings.attache = Some(value()?.into()),
                "--json" => settings.json = Some(value()?.into()),
                _ => return Err(format!("{argument} is no option\n{}", usage()).into()),
            }
        }
        Ok(Some(settings))
    }

    fn wants(&self, work: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| name == work)
    }

    fn mode(&self) -> &'static str {
        match (self.counting, self.extent) {
            (true, _) => "callgrind",
            (false, Extent::Full) => "full",
            (false, Extent::Quick) => "quick",
        }
    }
}

fn work_names() -> Vec<&'static str> {
    Work::ALL
        .map(Work::name)
        .into_iter()
        .chain([ONE_SHOT, BATCH, KEPT])
        .collect()
}

fn known_work(name: String) -> Result<String> {
    if work_names().contains(&name.as_str()) {
        Ok(name)
    } else {
        Err(format!("no work is called {name}\n{}", usage()).into())
    }
}

fn usage() -> String {
    format!(
        "usage: bench/run [--quick] [--callgrind] [--only WORK]...\nworks: {}",
        work_names().join(", ")
    )
}

fn run(settings: &Settings) -> Result<()> {
    let bench = Bench {
        peers: Peers::new(settings.peers.clone()),
        bench_server: std::env::current_exe()?
            .with_file_name(format!("bench-server{}", std::env::consts::EXE_SUFFIX))
            .to_string_lossy()
            .into_owned(),
        extent: settings.extent,
    };
    let report = if settings.counting {
        let (rows, failures) = counting::count(&bench)?;
        let mut report = Report::new(rows);
        for (kind, cause) in failures {
            report.missing(kind.name(), "counting", &cause);
        }
        report
    } else {
        measure_all(settings, &bench)?
    };
    report.print(&mut io::stdout().lock())?;
    if let Some(file) = &settings.json {
        let text = serde_json::to_string_pretty(&report.json(settings.mode()))?;
        std::fs::write(file, text + "\n")?;
        progress(&format!("the same numbers are in {}", file.display()));
    }
    Ok(())
}

fn measure_all(settings: &Settings, bench: &Bench) -> Result<Report> {
    let mut report = Report::default();
    for work in Work::ALL {
        if !settings.wants(work.name()) {
            continue;
        }
        progress(work.name());
        match bench.run(work) {
            Ok(measurements) => {
                for (kind, cause) in measurements.iter().flat_map(|found| &found.failures) {
                    report.missing(kind.name(), work.name(), cause);
                }
                report.rows.extend(rows::rows(work, &measurements));
            }
            Err(cause) => report.missing("all", work.name(), &cause.to_string()),
        }
    }
    if settings.wants(ONE_SHOT) {
        progress(ONE_SHOT);
        let one_shots = one_shot::run(bench, &settings.attache)?;
        for client in &one_shots.clients {
            if let Err(cause) = &client.time {
                report.missing(client.name, ONE_SHOT, cause);
            }
        }
        report.one_shots = Some(one_shots);
    }
    if settings.wants(BATCH) {
        progress(BATCH);
        match batch::run(bench, &settings.attache) {
            Ok(batches) => report.batches = Some(batches),
            Err(cause) => report.missing("attache", BATCH, &cause.to_string()),
        }
    }
    if settings.wants(KEPT) {
        progress(KEPT);
        match kept::run(bench, &settings.attache) {
            Ok(kept) => report.kept = Some(kept),
            Err(cause) => report.missing("attache", KEPT, &cause.to_string()),
        }
    }
    Ok(report)
}
