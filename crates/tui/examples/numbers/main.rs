//! Measures the UI as a person meets it: the real binary in a pseudo-terminal.
//!
//! `cargo run --profile dist -p attache-tui --example numbers -- target/dist/attache`
//!
//! Words after the program choose what is measured: `first idle tools flood lines result servers`.
//!
//! A frame ends where the terminal is told so (DEC 2026), so the times are those from a key to the
//! last byte of its frame, the way through the pseudo-terminal included. The machine has to be
//! quiet: a busy one shows in the worst times first.

mod table;

use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use attache_testkit::chaos::{Action, Emit, Launch, Script, When};
use attache_testkit::processes::children_of;
use attache_testkit::scratch::Scratch;
use attache_testkit::terminal::{CommandBuilder, ENTER, ESC, Terminal};
use serde_json::{Value, json};

use table::{Limit, milliseconds, row, times};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The title of the menu that goes anywhere.
const MENU: &str = " go to ─";
const F2: &str = "\u{1b}OQ";
/// A usual size, and a large one.
const USUAL: (u16, u16) = (120, 40);
const LARGE: (u16, u16) = (200, 60);
/// Messages of the flood: so many every millisecond, so often.
const FLOOD_AT_ONCE: usize = 11;
const FLOOD_TIMES: u64 = 10_000;
/// Lines that one call of the tool `lines` logs, and how often it is called.
const LINES_AT_ONCE: usize = 25;
const LINES_TIMES: u64 = 8_000;
const LINES_CALLS: usize = 5;

fn main() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let program = words.next().ok_or("name the attache binary")?;
    let program = std::fs::canonicalize(program)?.display().to_string();
    let chosen: Vec<String> = words.collect();
    let wanted = |part: &str| chosen.is_empty() || chosen.iter().any(|word| word == part);
    if wanted("first") {
        first_frame(&program)?;
    }
    if wanted("idle") {
        idle(&program)?;
    }
    if wanted("tools") {
        many_tools(&program)?;
    }
    let loud = loud()?;
    let home = home_of(&[("loud", &loud)])?;
    if wanted("flood") {
        flood(&program, home.path())?;
    }
    if wanted("lines") {
        many_lines(&program, home.path())?;
    }
    if wanted("result") {
        large_result(&program, home.path())?;
    }
    if wanted("servers") {
        many_servers(&program)?;
    }
    Ok(())
}

/// The UI with a folder as its home.
fn open(program: &str, home: &Path, size: (u16, u16)) -> Result<Terminal> {
    let mut command = CommandBuilder::new(program);
    command.arg("ui");
    Ok(Terminal::start(command, home, size)?)
}

/// Goes back so often.
fn back(terminal: &mut Terminal, times: usize) -> Result<()> {
    for _ in 0..times {
        terminal.key(ESC)?;
        // What follows Esc at once would be taken for a part of it.
        terminal.settle(Duration::from_millis(150));
    }
    Ok(())
}

/// Runs the tool that a filter of the list leaves.
fn run(terminal: &mut Terminal, tool: &str) -> Result<()> {
    terminal.key(&format!("/{tool}"))?;
    terminal.see("1 of ")?;
    terminal.key(ENTER)?;
    terminal.key(ENTER)?;
    terminal.see("[ run ]")?;
    terminal.key(F2)?;
    Ok(())
}

fn first_frame(program: &str) -> Result<()> {
    let empty = Scratch::new("ui-empty")?;
    let mut first = Vec::new();
    for _ in 0..20 {
        let mut terminal = open(program, empty.path(), USUAL)?;
        first.push(terminal.frame()?.duration_since(terminal.started()));
        terminal.leave("q")?;
    }
    times("start to first frame", Limit::ms(30.0, 15.0), first)
}

fn idle(program: &str) -> Result<()> {
    const WATCHED: Duration = Duration::from_secs(10);
    let empty = Scratch::new("ui-empty")?;
    let mut terminal = open(program, empty.path(), USUAL)?;
    terminal.see("echo")?;
    terminal.settle(Duration::from_secs(3));
    let process = terminal.process();
    let (switches, ticks) = (switches(process)?, ticks(process)?);
    std::thread::sleep(WATCHED);
    // A thread that ended in between takes its count with it.
    let woken = crate::switches(process)?.saturating_sub(switches);
    let worked = crate::ticks(process)? - ticks;
    let rate = f64::from(u32::try_from(woken)?) / WATCHED.as_secs_f64();
    let wakeups = Limit {
        unit: "/s",
        must: 0.0,
        aim: 0.0,
    };
    let more = format!("{woken} context switches in 10 s, {worked} ticks of CPU time");
    row("idle: wake-ups", wakeups, rate, &more)?;
    let limit = Limit::mb(20.0, 12.0);
    row("memory idle", limit, resident(process)?, &memory(process)?)?;
    terminal.leave("q")?;
    Ok(())
}

fn many_tools(program: &str) -> Result<()> {
    let tools = (0..10_000).map(|number| {
        json!({"name": format!("tool_{number:05}_of_many"), "description": "One of many.",
               "inputSchema": {"type": "object", "properties": {"x": {"type": "string"}}}})
    });
    let launch = Script::legacy("2025-11-25").tools(tools).launch()?;
    let home = home_of(&[("many", &launch)])?;
    let mut terminal = open(program, home.path(), USUAL)?;
    terminal.see("10000 tools")?;
    terminal.settle(Duration::from_secs(2));
    let process = terminal.process();
    let limit = Limit::mb(100.0, 60.0);
    row(
        "memory with 10,000 tools",
        limit,
        resident(process)?,
        &memory(process)?,
    )?;
    terminal.key_to_frame("/")?;
    let mut typed = Vec::new();
    for _ in 0..40 {
        for letter in ["t", "o", "9", "_", "m"] {
            typed.push(terminal.key_to_frame(letter)?);
        }
        for _ in 0..5 {
            typed.push(terminal.key_to_frame("\u{7f}")?);
        }
    }
    let limit = Limit::ms(10.0, 4.0);
    times("key to frame, 10,000 tools, filter", limit, typed)?;
    terminal.key("\r")?;
    terminal.settle(Duration::from_millis(300));
    terminal.leave("q")?;

    let mut terminal = open(program, home.path(), LARGE)?;
    terminal.see("10000 tools")?;
    terminal.settle(Duration::from_secs(2));
    let mut frames = Vec::new();
    for _ in 0..150 {
        frames.push(terminal.key_to_frame("\u{4}")?);
        frames.push(terminal.key_to_frame("\u{15}")?);
    }
    let limit = Limit::ms(4.0, 1.5);
    times("key to frame at 200x60, half a page", limit, frames)?;
    terminal.leave("q")?;
    Ok(())
}

/// A server that can say much.
fn loud() -> Result<Launch> {
    let tool = |name| json!({"name": name, "inputSchema": {"type": "object"}});
    let filler = "that is about as long as lines are, with an identifier 0123456789";
    let flood = log(&format!("flooded {filler}")).repeat(FLOOD_AT_ONCE);
    let lines = log(&format!("hay {filler}")).repeat(LINES_AT_ONCE);
    let large: String = (0..10_000_000 / 80)
        .map(|number| format!("line {number:>7} {filler}\n"))
        .collect();
    let every = Duration::from_millis(1);
    Ok(Script::legacy("2025-11-25")
        .tools(["flood", "lines", "large"].map(tool))
        .on(
            When::tool("flood"),
            [
                Emit::text(flood).times(FLOOD_TIMES).every(every).into(),
                Action::text("the flood is over"),
            ],
        )
        .on(
            When::tool("lines"),
            [
                Emit::text(log("a needle in the haystack")).into(),
                Emit::text(lines).times(LINES_TIMES).every(every).into(),
                Action::text("all lines are said"),
            ],
        )
        .on(When::tool("large"), [Action::text(large)])
        .launch()?)
}

/// A log message on a line of its own.
fn log(text: &str) -> String {
    let params = json!({"level": "info", "data": text});
    let message: Value =
        json!({"jsonrpc": "2.0", "method": "notifications/message", "params": params});
    format!("{message}\n")
}

/// A server that logs ten thousand lines a second, while keys are pressed.
fn flood(program: &str, home: &Path) -> Result<()> {
    let mut terminal = open(program, home, USUAL)?;
    terminal.see("3 tools")?;
    run(&mut terminal, "flood")?;
    terminal.see("Running 1")?;
    let began = Instant::now();
    let mut typed = Vec::new();
    // The last keys come when the flood is certainly not over yet.
    while began.elapsed() < Duration::from_secs(9) {
        let pressed = terminal.key(":")?;
        typed.push(terminal.see(MENU)?.duration_since(pressed));
        terminal.key(ESC)?;
        terminal.until("the end of the menu", |rows| !rows.contains(MENU))?;
        terminal.settle(Duration::from_millis(20));
    }
    terminal.see("the flood is over")?;
    let sent = FLOOD_TIMES * FLOOD_AT_ONCE as u64;
    let rate = f64::from(u32::try_from(sent)?) / began.elapsed().as_secs_f64();
    let limit = Limit::ms(33.0, 16.0);
    times("key to frame in a flood", limit, typed)?;
    let shown = lines_with(&mut terminal, "flooded")?;
    let missed = number_before(&terminal.rows(), "events missed").unwrap_or(0);
    let lost = Limit {
        unit: "lost",
        must: 0.0,
        aim: 0.0,
    };
    let silently = sent.saturating_sub(shown + missed);
    let more = format!("{sent} sent at {rate:.0}/s, {shown} shown, {missed} told as missed");
    let silently = f64::from(u32::try_from(silently)?);
    row("lost silently in a flood", lost, silently, &more)?;
    back(&mut terminal, 2)?;
    terminal.leave("q")?;
    Ok(())
}

/// How many lines of the log have a text.
fn lines_with(terminal: &mut Terminal, text: &str) -> Result<u64> {
    search(terminal, text)?;
    terminal.settle(Duration::from_secs(1));
    Ok(number_before(&terminal.rows(), "lines").unwrap_or(0))
}

/// Looks for a text in the log; when that began.
fn search(terminal: &mut Terminal, text: &str) -> Result<Instant> {
    terminal.key("6")?;
    terminal.see("following")?;
    terminal.key("/")?;
    terminal.settle(Duration::from_millis(200));
    // Pasted, so that there is one search and not one for each letter.
    Ok(terminal.key(&format!("\u{1b}[200~{text}\u{1b}[201~"))?)
}

/// The number that stands before a word on the screen.
fn number_before(rows: &str, word: &str) -> Option<u64> {
    let (before, _) = rows.split_once(&format!(" {word}"))?;
    let number = before.rsplit(|found: char| !found.is_ascii_digit()).next();
    number?.parse().ok()
}

/// A million lines of log.
fn many_lines(program: &str, home: &Path) -> Result<()> {
    let mut terminal = open(program, home, USUAL)?;
    terminal.see("3 tools")?;
    for _ in 0..LINES_CALLS {
        run(&mut terminal, "lines")?;
        terminal.see("all lines are said")?;
        // Out of the answer, the form and the filter.
        back(&mut terminal, 3)?;
    }
    let process = terminal.process();
    let (limit, value) = (Limit::mb(140.0, 110.0), resident(process)?);
    let more = memory(process)?;
    let pasted = search(&mut terminal, "needle in")?;
    let first = terminal.see("needle in the haystack")?;
    let count = format!("{LINES_CALLS} lines");
    let all = terminal.see(&count)?;
    terminal.key("\u{15}")?;
    terminal.settle(Duration::from_secs(1));
    terminal.key("hay")?;
    terminal.settle(Duration::from_secs(3));
    let lines = number_before(&terminal.rows(), "lines").unwrap_or(0);
    let missed = number_before(&terminal.rows(), "events missed").unwrap_or(0);
    let more = format!("{lines} lines, {missed} told as missed; {more}");
    row("memory with a million lines of log", limit, value, &more)?;
    let took = |until: Instant| milliseconds(until.duration_since(pasted));
    let limit = Limit::ms(30.0, 30.0);
    row("search in them: first hit", limit, took(first), "")?;
    row("search in them: all", Limit::ms(150.0, 60.0), took(all), "")?;
    back(&mut terminal, 2)?;
    terminal.leave("q")?;
    Ok(())
}

fn large_result(program: &str, home: &Path) -> Result<()> {
    let mut terminal = open(program, home, USUAL)?;
    terminal.see("3 tools")?;
    terminal.settle(Duration::from_secs(2));
    let before = resident(terminal.process())?;
    run(&mut terminal, "large")?;
    let asked = Instant::now();
    let shown = terminal.see("line       1")?.duration_since(asked);
    terminal.settle(Duration::from_secs(2));
    let process = terminal.process();
    let more = format!(
        "shown after {:.0} ms; {}",
        milliseconds(shown),
        memory(process)?
    );
    let more_than_before = resident(process)? - before;
    let limit = Limit::mb(25.0, 21.0);
    row(
        "memory for a result of 10 MB",
        limit,
        more_than_before,
        &more,
    )?;
    terminal.leave("q")?;
    Ok(())
}

fn many_servers(program: &str) -> Result<()> {
    let launches: Vec<Launch> = (0..20)
        .map(|_| Script::legacy("2025-11-25").launch())
        .collect::<std::io::Result<_>>()?;
    let names: Vec<String> = (0..20).map(|number| format!("server-{number}")).collect();
    let servers: Vec<(&str, &Launch)> = names.iter().map(String::as_str).zip(&launches).collect();
    let home = home_of(&servers)?;
    let mut terminal = open(program, home.path(), USUAL)?;
    for launch in &launches {
        launch.wait_received_of("tools/list", 1, Duration::from_secs(60))?;
    }
    terminal.settle(Duration::from_secs(2));
    let children = children_of(terminal.process())?.len();
    let took = terminal.leave("q")?;
    let mut survivors = 0;
    for launch in &launches {
        survivors += launch.tag().survivors()?.len();
    }
    let more = format!("{children} children before, {survivors} processes after");
    let limit = Limit::ms(300.0, 300.0);
    row("quit with 20 servers", limit, milliseconds(took), &more)
}

/// A home whose configuration has these servers.
fn home_of(servers: &[(&str, &Launch)]) -> Result<Scratch> {
    let home = Scratch::new("ui-numbers")?;
    let folder = home.path().join(".config/attache");
    std::fs::create_dir_all(&folder)?;
    let mut file = "[log]\ncalls = 'off'\n".to_owned();
    for (name, launch) in servers {
        let words: Vec<String> = launch.args.iter().map(|word| format!("{word:?}")).collect();
        let env = launch.env.iter().map(|(key, value)| {
            let (key, value) = (key.to_string_lossy(), value.to_string_lossy());
            format!("{key} = {value:?}")
        });
        let env: Vec<String> = env.collect();
        file += &format!(
            "[servers.{name}]\ncommand = {:?}\nargs = [{}]\nenv = {{ {} }}\n",
            launch.program,
            words.join(", "),
            env.join(", ")
        );
    }
    std::fs::write(folder.join("attache.toml"), file)?;
    Ok(home)
}

/// A line of a process's status, as a number.
fn status(process: u32, name: &str) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.trim_start_matches(':').split_whitespace().next());
    Ok(number.unwrap_or("0").parse()?)
}

/// Resident memory in MB.
fn resident(process: u32) -> Result<f64> {
    Ok(status(process, "VmRSS")? / 1024.0)
}

/// What resident memory consists of.
fn memory(process: u32) -> Result<String> {
    let own = status(process, "RssAnon")? / 1024.0;
    let file = status(process, "RssFile")? / 1024.0;
    let peak = status(process, "VmHWM")? / 1024.0;
    Ok(format!(
        "{own:.1} MB of its own, {file:.1} MB of files, {peak:.1} MB at most"
    ))
}

/// How often its threads have gone to sleep or were interrupted.
fn switches(process: u32) -> Result<u64> {
    let mut sum = 0;
    for task in std::fs::read_dir(format!("/proc/{process}/task"))? {
        let status = std::fs::read_to_string(task?.path().join("status"))?;
        for line in status.lines().filter(|line| line.contains("ctxt_switches")) {
            let number = line.split_whitespace().nth(1);
            sum += number.unwrap_or("0").parse::<u64>()?;
        }
    }
    Ok(sum)
}

/// Ticks of the processor that it has used, a hundred to the second.
fn ticks(process: u32) -> Result<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    let (_, rest) = stat.rsplit_once(')').ok_or("no name")?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let number = |at: usize| fields.get(at).copied().unwrap_or("0").parse::<u64>();
    Ok(number(11)? + number(12)?)
}
