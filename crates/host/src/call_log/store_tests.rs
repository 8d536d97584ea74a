use attache_testkit::scratch::Scratch;

use super::super::record::Began;
use super::super::{Filter, history};
use super::*;

fn line(number: u64, name: &str) -> Line {
    Line {
        n: number,
        began: Some(Began {
            name: name.to_owned(),
            at_ms: number,
            ..Began::default()
        }),
        ..Line::default()
    }
}

/// Writes one line by itself.
fn write(
    store: &Store,
    number: Number,
    line: impl FnOnce(u64, &Aside<'_>) -> io::Result<Line>,
) -> io::Result<u64> {
    let mut lines = store.open()?;
    let number = lines.add(number, line)?;
    lines.finish()?;
    Ok(number)
}

fn append(store: &Store, name: &str) -> u64 {
    let written = write(store, Number::Next, |number, _| Ok(line(number, name)));
    written.unwrap()
}

fn numbers(folder: &Path) -> Vec<u64> {
    let all = Filter {
        most: usize::MAX,
        ..Filter::default()
    };
    let calls = history(folder, &all).unwrap().calls;
    calls.iter().map(|call| call.number).collect()
}

#[test]
fn numbers_go_on_across_processes_and_files_and_nobody_else_can_read_them() {
    let scratch = Scratch::new("calls").unwrap();
    let folder = scratch.path().join("calls");
    let limits = Limits {
        file_bytes: 150,
        ..Limits::default()
    };
    let one = Store::new(folder.clone(), limits);
    let other = Store::new(folder.clone(), limits);
    for number in 1..=9 {
        let store = if number % 2 == 0 { &one } else { &other };
        assert_eq!(append(store, "echo"), number);
    }
    assert_eq!(numbers(&folder), (1..=9).collect::<Vec<_>>());
    assert!(files(&folder).unwrap().len() > 2);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&folder), 0o700);
        for entry in fs::read_dir(&folder).unwrap() {
            assert_eq!(mode(&entry.unwrap().path()), 0o600);
        }
    }
}

#[test]
fn lines_that_are_written_together_fill_as_many_files_as_they_need() {
    let scratch = Scratch::new("calls").unwrap();
    let limits = Limits {
        file_bytes: 150,
        ..Limits::default()
    };
    let store = Store::new(scratch.path().to_owned(), limits);
    append(&store, "before");
    let mut lines = store.open().unwrap();
    for number in 2..=9 {
        let added = lines.add(Number::Next, |number, _| Ok(line(number, "echo")));
        assert_eq!(added.unwrap(), number);
    }
    lines.finish().unwrap();
    assert_eq!(numbers(scratch.path()), (1..=9).collect::<Vec<_>>());
    for first in files(scratch.path()).unwrap() {
        assert!(fs::metadata(path(scratch.path(), first)).unwrap().len() <= 150);
    }
    assert_eq!(append(&store, "after"), 10);
}

#[test]
fn old_files_and_their_results_go() {
    let scratch = Scratch::new("calls").unwrap();
    let limits = Limits {
        file_bytes: 1,
        files: 3,
        ..Limits::default()
    };
    let store = Store::new(scratch.path().to_owned(), limits);
    for _ in 0..6 {
        let written = write(&store, Number::Next, |number, aside| {
            aside.put("result", "{}")?;
            Ok(line(number, "echo"))
        });
        written.unwrap();
    }
    assert_eq!(numbers(scratch.path()), [4, 5, 6]);
    assert!(!scratch.path().join("result-0000000003.json").exists());
    assert!(scratch.path().join("result-0000000004.json").exists());
}

#[test]
fn a_file_that_is_old_is_followed_by_another() {
    let scratch = Scratch::new("calls").unwrap();
    let store = Store::new(scratch.path().to_owned(), Limits::default());
    append(&store, "echo");
    append(&store, "echo");
    assert_eq!(files(scratch.path()).unwrap(), [1]);
    let long_ago = r#"{"last":2,"file":1,"since_ms":1}"#;
    fs::write(scratch.path().join(LOCK), long_ago).unwrap();
    append(&store, "echo");
    assert_eq!(files(scratch.path()).unwrap(), [1, 3]);
}

#[test]
fn long_parts_make_room_for_each_other() {
    let scratch = Scratch::new("calls").unwrap();
    let limits = Limits {
        aside_bytes: 10,
        ..Limits::default()
    };
    let store = Store::new(scratch.path().to_owned(), limits);
    for _ in 0..3 {
        let put = |number, aside: &Aside<'_>| {
            aside.put("result", "12345")?;
            Ok(line(number, "echo"))
        };
        write(&store, Number::Next, put).unwrap();
    }
    let kept: Vec<u64> = store
        .aside_files()
        .iter()
        .map(|(number, ..)| *number)
        .collect();
    assert_eq!(kept, [2, 3]);
    let too_long = write(&store, Number::Next, |number, aside| {
        aside.put("result", "12345678901")?;
        Ok(line(number, "echo"))
    });
    assert_eq!(too_long.unwrap_err().kind(), io::ErrorKind::FileTooLarge);
}

#[test]
fn cut_and_damaged_lines_and_a_lost_counter_harm_no_other() {
    let scratch = Scratch::new("calls").unwrap();
    let store = Store::new(scratch.path().to_owned(), Limits::default());
    append(&store, "one");
    let file = path(scratch.path(), 1);
    let mut text = fs::read_to_string(&file).unwrap();
    text.push_str("{\"n\":2,\"began\":{\"at_ms\"");
    fs::write(&file, &text).unwrap();
    assert_eq!(numbers(scratch.path()), [1]);
    append(&store, "two");
    fs::write(scratch.path().join(LOCK), "not a counter").unwrap();
    assert_eq!(append(&store, "three"), 3);
    fs::remove_file(scratch.path().join(LOCK)).unwrap();
    assert_eq!(append(&store, "four"), 4);
    let all = Filter {
        most: 9,
        ..Filter::default()
    };
    let read = history(scratch.path(), &all).unwrap();
    assert_eq!((read.calls.len(), read.damaged), (4, 1));
}

#[test]
fn a_line_beyond_the_limit_is_passed_over() {
    let scratch = Scratch::new("calls").unwrap();
    let store = Store::new(scratch.path().to_owned(), Limits::default());
    append(&store, "one");
    let file = path(scratch.path(), 1);
    let mut text = fs::read_to_string(&file).unwrap();
    text.push_str(&"x".repeat(usize::try_from(LONGEST_LINE).unwrap() + 10));
    text.push('\n');
    fs::write(&file, &text).unwrap();
    let mut found = (0, 0);
    store.append_text(1, b"{\"n\":9}\n").unwrap();
    read_lines(&file, |line| match line {
        Ok(_) => found.0 += 1,
        Err(Damaged) => found.1 += 1,
    })
    .unwrap();
    assert_eq!(found, (2, 1));
}

#[test]
fn many_writers_lose_nothing_and_share_no_number() {
    let scratch = Scratch::new("calls").unwrap();
    let limits = Limits {
        file_bytes: 500,
        files: 100,
        ..Limits::default()
    };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let store = Store::new(scratch.path().to_owned(), limits);
                for _ in 0..25 {
                    let number = append(&store, "echo");
                    let end = |_, _: &Aside<'_>| {
                        Ok(Line {
                            n: number,
                            lost: 1,
                            ..Line::default()
                        })
                    };
                    write(&store, Number::Of(number), end).unwrap();
                }
            });
        }
    });
    assert_eq!(numbers(scratch.path()), (1..=100).collect::<Vec<_>>());
}

#[cfg(unix)]
#[test]
fn a_folder_that_others_can_write_to_is_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    let scratch = Scratch::new("calls").unwrap();
    fs::set_permissions(scratch.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let store = Store::new(scratch.path().to_owned(), Limits::default());
    let refused = write(&store, Number::Next, |number, _| Ok(line(number, "echo")));
    assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::PermissionDenied);
}
