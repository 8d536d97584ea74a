//! Whether the terminal's background is light: the UI asks, and whatever the terminal answers is no
//! key.

use crate::harness::{Folder, builtin, toml_server, wait_until};
use crate::screen::Screen;

const QUESTION: &str = "\u{1b}]11;?\u{1b}\\";
/// The colour of faint text on a light background.
const GREY: vt100::Color = vt100::Color::Idx(8);

/// The UI with its tools, and the variables and settings given.
fn open(name: &str, variables: &[(&str, &str)], settings: &str) -> (Folder, Screen) {
    let home = Folder::new(name);
    std::fs::create_dir_all(home.path().join(".config/attache")).unwrap();
    let server = toml_server("demo", &builtin());
    home.write(
        ".config/attache/attache.toml",
        &format!("{settings}\n{server}"),
    );
    let screen = Screen::start_with(home.path(), &["ui"], variables, 100, 24);
    screen.wait_for("the tools", |rows| rows.contains("echo"));
    (home, screen)
}

fn is_asked(screen: &Screen) -> bool {
    let bytes = screen.bytes();
    let question = QUESTION.as_bytes();
    bytes.windows(question.len()).any(|part| part == question)
}

/// The colour of the border of a pane without the focus.
fn color_of_border(screen: &Screen) -> vt100::Color {
    screen.foreground(0, 0)
}

fn leave(mut screen: Screen) {
    screen.type_in("q");
    let (code, rows) = screen.finish();
    assert_eq!(code, 0, "{rows}");
}

/// Letters typed into the filter before, in between and after show every key that an answer became,
/// and every one that was lost.
#[test]
fn an_answer_changes_the_looks_and_is_never_a_key() {
    let white = "\u{1b}]11;rgb:ffff/ffff/ffff\u{1b}\\";
    for (name, parts, is_light) in [
        ("light", &[white][..], true),
        ("light-bell", &["\u{1b}]11;rgb:fd/f6/e3\u{7}"], true),
        ("dark", &["\u{1b}]11;rgb:0000/2b2b/3636\u{1b}\\"], false),
        (
            "two-parts",
            &["\u{1b}]11;rgb:ff", "ff/ffff/ffff\u{1b}\\"],
            true,
        ),
        ("cut-end", &["\u{1b}]11;rgb:ff/ff/ff\u{1b}", "\\"], true),
        ("never", &[], false),
        (
            "garbage",
            &["\u{1b}]11;quit\r\u{4}q\u{7}\u{1b}]11;rgb:zz/1/2\u{1b}\\"],
            false,
        ),
        ("after-garbage", &["\u{1b}]11;?\u{7}", white], true),
    ] {
        let (_home, mut screen) = open(&format!("ui-colours-{name}"), &[], "");
        wait_until("the question", || is_asked(&screen));
        screen.type_in("/ec");
        screen.wait_for("the filter", |rows| rows.contains("/ ec "));
        for part in parts {
            screen.type_in(part);
            screen.wait_until_read();
        }
        screen.type_in("ho");
        screen.wait_for("the filter", |rows| rows.contains("/ echo "));
        wait_until(name, || (color_of_border(&screen) == GREY) == is_light);
        screen.type_in("\u{1b}");
        screen.wait_for("the whole list", |rows| !rows.contains("/ echo "));
        leave(screen);
    }
}

#[test]
fn it_is_asked_only_where_the_answer_matters() {
    for (name, variables, settings, is_light) in [
        ("set-light", &[][..], "[ui]\ntheme = \"light\"", true),
        (
            "set-dark",
            &[("COLORFGBG", "0;15")],
            "[ui]\ntheme = \"dark\"",
            false,
        ),
        ("no-colour", &[("NO_COLOR", "1")], "", false),
        ("console", &[("TERM", "linux")], "", false),
        (
            "hinted",
            &[("TERM", "linux"), ("COLORFGBG", "0;15")],
            "",
            true,
        ),
    ] {
        let (_home, screen) = open(&format!("ui-colours-{name}"), variables, settings);
        assert!(!is_asked(&screen), "{name}");
        wait_until(name, || (color_of_border(&screen) == GREY) == is_light);
        leave(screen);
    }
    // The terminal knows better than a variable.
    let (_home, mut screen) = open("ui-colours-hint", &[("COLORFGBG", "0;15")], "");
    wait_until("the hint", || color_of_border(&screen) == GREY);
    screen.type_in("\u{1b}]11;rgb:1/1/1\u{7}");
    wait_until("the answer", || color_of_border(&screen) != GREY);
    leave(screen);
}
