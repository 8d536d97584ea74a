//! Measures the server of notes on a large folder, through MCP and from outside of its process.
//!
//! `cargo run --release -p attache-notes --example measure-notes -- 100000` makes that many notes in
//! a temporary folder with a git history, starts this program again as their server, and prints a
//! table. Linux only: memory and wake-ups come from `/proc`.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a measurement that cannot be taken has failed"
)]

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use attache_notes::{NotesServer, NotesSettings, Vault, VaultSettings};
use serde_json::{Value, json};

const SEARCHES: usize = 2000;
const IDLE: Duration = Duration::from_secs(10);

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.as_slice() {
        [serve, folder, cache] if serve == "serve" => self::serve(folder, cache),
        [count] => measure(count.parse().unwrap()),
        _ => measure(100_000),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn serve(folder: &str, cache: &str) {
    let settings = VaultSettings {
        cache: Some(cache.into()),
        ..VaultSettings::default()
    };
    let vault = Vault::open(Path::new(folder), settings).unwrap();
    let server = NotesServer::new(vault, NotesSettings::default());
    server.build().unwrap().serve_stdio().await.unwrap();
}

fn measure(count: usize) {
    let place = std::env::temp_dir().join(format!("measure-notes-{}", std::process::id()));
    let folder = place.join("notes");
    make_notes(&folder, count);
    println!("notes                          {count}");

    let begun = Instant::now();
    let mut server = Server::start(&place);
    println!(
        "first initialize               {:.1} ms",
        ms(server.initialize())
    );
    let listed = Instant::now();
    server.ask("resources/list", json!({}));
    println!(
        "first page of the list         {:.1} ms",
        ms(listed.elapsed())
    );
    let mut highest = 0;
    while server.pending() > 0 {
        highest = highest.max(server.memory("VmRSS"));
        std::thread::sleep(Duration::from_millis(50));
    }
    println!(
        "first index                    {:.1} s",
        begun.elapsed().as_secs_f64()
    );
    println!("memory meanwhile               {} MB", highest / 1024);
    server.stop();

    let mut server = Server::start(&place);
    println!(
        "later initialize               {:.1} ms",
        ms(server.initialize())
    );
    let begun = Instant::now();
    while server.pending() > 0 {}
    println!(
        "ready again                    {:.1} ms",
        ms(begun.elapsed())
    );
    println!(
        "memory after start             {} MB ({} MB of it not files)",
        server.memory("VmRSS") / 1024,
        server.memory("RssAnon") / 1024
    );
    searches(&mut server);
    saved(&mut server, &folder);
    synced(&mut server, &place);
    println!(
        "memory in the end              {} MB",
        server.memory("VmRSS") / 1024
    );
    std::thread::sleep(Duration::from_secs(2));
    let before = server.wakeups();
    std::thread::sleep(IDLE);
    println!(
        "wake-ups in {} s of idling     {}",
        IDLE.as_secs(),
        server.wakeups() - before
    );
    server.stop();
    ripgrep(&folder);
    fs::remove_dir_all(place).unwrap();
}

fn searches(server: &mut Server) {
    let mut random = fastrand::Rng::with_seed(1);
    let kinds = [
        "one word",
        "two words",
        "a phrase",
        "word and tag",
        "a name",
    ];
    let mut by_kind = kinds.map(|_| Vec::with_capacity(SEARCHES / kinds.len()));
    for number in 0..SEARCHES {
        let kind = number % kinds.len();
        let query = match kind {
            0 => word(&mut random),
            1 => format!("{} {}", word(&mut random), word(&mut random)),
            2 => format!("\"{} {}\"", word(&mut random), word(&mut random)),
            3 => format!("{} tag:tag{}", word(&mut random), random.usize(..20)),
            _ => format!("note{:06}", random.usize(..1000)),
        };
        let begun = Instant::now();
        server.call("search_notes", json!({"query": query, "limit": 10}));
        by_kind[kind].push(begun.elapsed());
    }
    tell("search", by_kind.concat());
    for (kind, times) in kinds.into_iter().zip(by_kind) {
        tell(&format!("  {kind}"), times);
    }
}

fn tell(what: &str, mut times: Vec<Duration>) {
    times.sort();
    let at = |share: f64| ms(times[((times.len() - 1) as f64 * share) as usize]);
    println!(
        "{:<30} {:.2} ms, p99 {:.2} ms, longest {:.2} ms",
        format!("{what}, p50"),
        at(0.5),
        at(0.99),
        at(1.0)
    );
}

fn saved(server: &mut Server, folder: &Path) {
    let mut times = Vec::new();
    for number in 0..20 {
        let word = format!("savedjustnow{number}");
        fs::write(folder.join("000/note000000.md"), format!("# Saved\n{word}")).unwrap();
        let begun = Instant::now();
        while server.total(&word) == 0 {}
        times.push(begun.elapsed());
    }
    times.sort();
    println!(
        "a saved note is found after    {:.0} ms, at most {:.0} ms",
        ms(times[10]),
        ms(times[19])
    );
}

fn synced(server: &mut Server, place: &Path) {
    git(&place.join("notes"), &["checkout", "-q", "--", "."]);
    let clone = place.join("clone");
    git(place, &["clone", "-q", "--shared", "notes", "clone"]);
    git(
        &place.join("notes"),
        &["config", "receive.denyCurrentBranch", "ignore"],
    );
    for number in 0..10 {
        fs::write(clone.join(format!("001/new{number}.md")), "freshlysynced").unwrap();
    }
    git(&clone, &["add", "-A"]);
    git(&clone, &["commit", "-q", "-m", "ten"]);
    git(
        &place.join("notes"),
        &["remote", "add", "origin", "../clone"],
    );
    while server.pending() > 0 {}
    let begun = Instant::now();
    let answer = server.call("sync_repository", json!({}));
    let took = ms(begun.elapsed());
    assert_eq!(server.total("freshlysynced"), 10, "{answer}");
    println!("ten notes synced               {took:.0} ms");
}

fn ripgrep(folder: &Path) {
    let begun = Instant::now();
    match Command::new("rg")
        .args(["-l", "-w", "word17"])
        .arg(folder)
        .output()
    {
        Ok(_) => println!(
            "ripgrep, one word              {:.0} ms",
            ms(begun.elapsed())
        ),
        Err(_) => println!("ripgrep                        not installed"),
    }
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// Common words are common.
fn word(random: &mut fastrand::Rng) -> String {
    let share = random.f64();
    format!("word{}", (share * share * share * 5000.0) as usize)
}

fn make_notes(folder: &Path, count: usize) {
    let mut random = fastrand::Rng::with_seed(2);
    for number in 0..count {
        let sub = folder.join(format!("{:03}", number % 500));
        if number < 500 {
            fs::create_dir_all(&sub).unwrap();
        }
        let words: Vec<String> = (0..random.usize(50..350))
            .map(|_| word(&mut random))
            .collect();
        let text = format!(
            "---\ntitle: Note {number}\ntags: [tag{}]\n---\n# Note {number}\n\n{}\n",
            random.usize(..20),
            words.join(" ")
        );
        fs::write(sub.join(format!("note{number:06}.md")), text).unwrap();
    }
    git(folder, &["init", "-q", "-b", "main"]);
    git(folder, &["add", "-A"]);
    git(folder, &["commit", "-q", "-m", "notes"]);
}

fn git(folder: &Path, words: &[&str]) {
    let done = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args([
            "-c",
            "user.name=x",
            "-c",
            "user.email=x@example.invalid",
            "-c",
            "gc.auto=0",
        ])
        .args(words)
        .status();
    assert!(done.unwrap().success(), "git {words:?}");
}

struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    started: Instant,
    next: u64,
}

impl Server {
    fn start(place: &Path) -> Self {
        let started = Instant::now();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .arg("serve")
            .args([place.join("notes"), place.join("cache")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            input: child.stdin.take().unwrap(),
            output: BufReader::new(child.stdout.take().unwrap()),
            child,
            started,
            next: 1,
        }
    }

    /// How long it takes from the start of the process to the answer.
    fn initialize(&mut self) -> Duration {
        let params = json!({"protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "measure", "version": "1"}});
        self.ask("initialize", params);
        self.started.elapsed()
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.next;
        self.next += 1;
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        writeln!(self.input, "{message}").unwrap();
        loop {
            let mut line = String::new();
            self.output.read_line(&mut line).unwrap();
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == id {
                return message["result"].clone();
            }
        }
    }

    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    fn pending(&mut self) -> u64 {
        let found = self.call("search_notes", json!({"query": "word1", "limit": 1}));
        found["structuredContent"]["index"]["pending"]
            .as_u64()
            .unwrap()
    }

    fn total(&mut self, query: &str) -> u64 {
        let found = self.call("search_notes", json!({"query": query, "limit": 1}));
        found["structuredContent"]["total"].as_u64().unwrap()
    }

    fn process(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}", self.child.id()))
    }

    /// A line of the process's status, in kB.
    fn memory(&self, name: &str) -> u64 {
        let status = fs::read_to_string(self.process().join("status")).unwrap();
        number_of(&status, name)
    }

    /// How often all its threads have gone to sleep so far.
    fn wakeups(&self) -> u64 {
        let threads = fs::read_dir(self.process().join("task")).unwrap();
        let statuses = threads.map(|it| fs::read_to_string(it.unwrap().path().join("status")));
        statuses
            .map(|it| number_of(&it.unwrap_or_default(), "voluntary_ctxt_switches"))
            .sum()
    }

    fn stop(mut self) {
        drop(self.input);
        self.child.wait().unwrap();
    }
}

fn number_of(status: &str, name: &str) -> u64 {
    let line = status.lines().find(|it| it.starts_with(name));
    let number = line.and_then(|it| it.split_whitespace().nth(1));
    number.map_or(0, |it| it.parse().unwrap())
}
