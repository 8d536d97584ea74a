//! `attache web`: who may reach it, the link, and its end.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::harness::{Folder, run, wait_until};

/// S1: nothing but this machine, unless that is said in so many words.
#[test]
fn s1_other_machines_need_the_words_a_token_and_tls() {
    let remote = ["--listen", "0.0.0.0:0"];
    let allowed = ["--allow-remote", "--token-env", "HOME"];
    for (words, said) in [
        (&remote[..], "can be reached from other machines"),
        (&["--allow-remote"], "--listen"),
        (&["--listen", "0.0.0.0:0", "--allow-remote"], "--token-env"),
        (&[&remote[..], &allowed[..2]].concat(), "--token-env"),
        (
            &[&remote[..], &allowed].concat(),
            "every address of this machine",
        ),
        (
            &[&remote[..], &allowed, &["--host", "box"]].concat(),
            "without TLS",
        ),
        (
            &[
                "--listen",
                "127.0.0.1:0",
                "--allow-remote",
                "--token-env",
                "HOME",
            ],
            "--allow-remote is for",
        ),
        (
            &["--listen", "127.0.0.1:0", "--proxy-terminates-tls"],
            "--allow-remote",
        ),
        (
            &["--listen", "127.0.0.1:0", "--tls-cert", "x.pem"],
            "--tls-key",
        ),
        (&["--token-env", "NO_SUCH_VARIABLE"], "holds no token"),
        (&["--listen", "nowhere"], "is not an address"),
    ] {
        let outcome = run(&[&["web"], words].concat()).expect(2);
        assert!(outcome.stderr.contains(said), "{words:?}: {outcome:?}");
        assert_eq!(outcome.stdout, "");
    }
}

/// A console that was started, and the link that it printed.
struct Console {
    process: Child,
    address: String,
    token: String,
}

impl Console {
    fn start(folder: &Folder, words: &[&str]) -> Self {
        let mut command = folder.attache();
        command.args(["web", "--json"]).args(words);
        let mut process = command
            .env("CONSOLE_TOKEN", "a-token-of-the-user")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let stdout = process.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        let url = said["url"]
            .as_str()
            .unwrap()
            .strip_prefix("http://")
            .unwrap();
        let (address, token) = url.split_once("/#token=").unwrap();
        Self {
            address: address.to_owned(),
            token: token.to_owned(),
            process,
        }
    }

    /// The JSON at a path of the API.
    fn get(&self, path: &str) -> Value {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let (address, token) = (&self.address, &self.token);
        write!(
            stream,
            "GET /api/v1{path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
             Connection: close\r\n\r\n"
        )
        .unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let (_, body) = text.split_once("\r\n\r\n").unwrap();
        serde_json::from_str(body).unwrap_or_else(|error| panic!("{error} in {text}"))
    }
}

#[test]
fn the_built_in_servers_are_on_the_page_and_leave_with_it() {
    let folder = Folder::new("web");
    let mut console = Console::start(&folder, &[]);
    assert_eq!(console.token.len(), 64);
    let tools = console.get("/tools");
    assert_eq!(tools["entries"][0]["qualified"], "demo/echo", "{tools}");
    let server = console.get("/servers/demo")["process_id"].as_u64().unwrap();
    let signal = |process: u64| {
        let status = Command::new("kill")
            .args(["-INT", &process.to_string()])
            .status();
        assert!(status.unwrap().success());
    };
    signal(u64::from(console.process.id()));
    assert_eq!(console.process.wait().unwrap().code(), Some(0));
    let folder_of_server = format!("/proc/{server}");
    wait_until("the server to leave", || {
        !cfg!(target_os = "linux") || !std::path::Path::new(&folder_of_server).exists()
    });
}

#[test]
fn a_token_of_the_user_and_an_open_stream_do_not_keep_it() {
    let folder = Folder::new("web-token");
    let mut console = Console::start(&folder, &["--token-env", "CONSOLE_TOKEN"]);
    assert_eq!(console.token, "a-token-of-the-user");
    let mut stream = TcpStream::connect(&console.address).unwrap();
    let (address, token) = (&console.address, &console.token);
    write!(
        stream,
        "GET /api/v1/events HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\r\n"
    )
    .unwrap();
    let mut first = [0; 15];
    stream.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"HTTP/1.1 200 OK");
    let status = Command::new("kill")
        .args(["-TERM", &console.process.id().to_string()])
        .status();
    assert!(status.unwrap().success());
    assert!(console.process.wait().unwrap().code().is_some());
}
