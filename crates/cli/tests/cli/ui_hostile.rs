//! The terminal UI under attack: what comes from the keyboard, and what becomes of it.

use std::time::{Duration, Instant};

use attache_testkit::processes::is_running;

use crate::harness::{Folder, PATIENCE, builtin, hostile, toml_server};
use crate::screen::Screen;

const CTRL_C: &str = "\u{3}";

fn open(name: &str, servers: &str) -> (Folder, Screen) {
    let home = Folder::new(name);
    std::fs::create_dir_all(home.path().join(".config/attache")).unwrap();
    home.write(".config/attache/attache.toml", servers);
    let outside = [("EDITOR", "true"), ("VISUAL", "true"), ("PAGER", "true")];
    let screen = Screen::start_with(home.path(), &["ui"], &outside, 120, 36);
    screen.wait_for("the tools", |rows| rows.contains("echo"));
    (home, screen)
}

/// Sequences that the library of keys cannot read may end the thread that reads, where arithmetic is
/// checked. Then the UI ends with it: one that hears nothing could not be left.
#[test]
fn a_ui_that_hears_nothing_ends() {
    let (_home, mut screen) = open("ui-deaf", &toml_server("demo", &builtin()));
    screen.type_in("\u{1b}[0;0R");
    screen.wait_until_read();
    screen.type_in("q");
    let (_, rows) = screen.finish();
    assert!(!rows.contains("Servers"), "{rows}");
}

/// Twenty thousand keys, clicks, pastes and answers at random, and other sizes among them.
#[test]
fn keys_at_random_do_no_harm() {
    let servers = toml_server("demo", &builtin()) + "\n" + &toml_server("evil", &hostile());
    let (_home, mut screen) = open("ui-random", &servers);
    let mut random = Random(20_261_118);
    for step in 0..5_000 {
        let keys: String = (0..4).map(|_| some_key(&mut random)).collect();
        screen.type_in(&keys);
        if step % 100 == 0 {
            let (columns, rows) = (random.below(200) + 1, random.below(60) + 1);
            screen.resize(columns.try_into().unwrap(), rows.try_into().unwrap());
        }
    }
    screen.resize(120, 36);
    // Each alone, because two in one piece are one key.
    for _ in 0..20 {
        screen.wait_until_read();
        screen.type_in("\u{1b}");
    }
    screen.wait_until_read();
    assert!(screen.is_full_screen());
    // What it was told before may still go on, and take the first ones. One that leaves is not
    // hurried: the terminal would make a signal of it.
    let process = screen.process();
    let runs = || is_running(process).unwrap();
    let deadline = Instant::now() + PATIENCE;
    while runs() && Instant::now() < deadline {
        screen.type_in(CTRL_C);
        screen.type_in(CTRL_C);
        let leaves = Instant::now() + Duration::from_secs(15);
        while runs() && Instant::now() < leaves {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
    let (code, rows) = screen.finish();
    assert_eq!(code, 0, "{rows}");
    assert!(!rows.contains("Servers"), "{rows}");
}

/// Numbers that are the same in every run (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        u32::try_from(self.0 % u64::from(end)).unwrap()
    }

    fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        let at = self.below(choices.len().try_into().unwrap());
        choices[usize::try_from(at).unwrap()]
    }
}

/// A key, a click, a paste or an answer of the terminal; none that leaves, suspends, or reaches the
/// desktop.
fn some_key(random: &mut Random) -> String {
    const NAMED: [&str; 16] = [
        "\u{1b}[A",
        "\u{1b}[B",
        "\u{1b}[C",
        "\u{1b}[D",
        "\u{1b}OP",
        "\u{1b}OQ",
        "\u{1b}[5~",
        "\u{1b}[6~",
        "\u{1b}[H",
        "\u{1b}[F",
        "\u{1b}[3~",
        "\u{1b}[Z",
        "\r",
        "\t",
        "\u{7f}",
        "\u{1b}[200~q\n\u{1b}]0;x\u{7}\u{1b}[201~",
    ];
    let pick = |random: &mut Random, from: u32, below: u32| {
        char::from_u32(from + random.below(below - from))
            .unwrap_or(' ')
            .to_string()
    };
    match random.below(20) {
        0..8 => pick(random, 32, 127).replace(['q', 'o', 'y'], "j"),
        8..13 => random.one_of(&NAMED).to_owned(),
        13..15 => pick(random, 1, 27).replace(['\u{3}', '\u{19}', '\u{1a}'], "\u{1b}"),
        15..17 => {
            let button = random.one_of(&[0, 2, 32, 35, 64, 65]);
            let (column, row) = (random.below(210) + 1, random.below(70) + 1);
            format!("\u{1b}[<{button};{column};{row}M")
        }
        17 => format!("\u{1b}]11;{}\u{7}", pick(random, 32, 127)),
        18 => pick(random, 0xa0, 0x3000),
        _ => pick(random, 0x1f600, 0x1f650),
    }
}
