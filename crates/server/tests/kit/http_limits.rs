//! What an attacker can hold over HTTP (fault 70, S24): heads, bodies, connections, descriptors,
//! sessions and kept events, each at its limit, with a healthy client beside.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::time::Duration;

use attache_server::http::HttpSettings;
use attache_server::{Context, NoArguments, Principal, Tool};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::http_client::{Answered, Post, start};
use crate::support::{call, example, hello, initialize, modern};

/// Longer than anything here takes; running out of it is a failure.
const PATIENCE: Duration = Duration::from_secs(15);

fn healthy() -> Post {
    Post::modern(&modern(
        1,
        "tools/call",
        json!({"name": "hello", "arguments": {}}),
    ))
}

/// Sends the beginning of something.
async fn begin(address: SocketAddr, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    stream
}

/// A POST whose body is announced, and how much of it comes at once.
fn partial(address: SocketAddr, length: usize, sent: usize) -> String {
    format!(
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\n\r\n{}",
        " ".repeat(sent)
    )
}

/// Waits until the server closes the connection.
async fn closed(mut stream: TcpStream) {
    let mut rest = Vec::new();
    // A connection may also be reset.
    let _ = timeout(PATIENCE, stream.read_to_end(&mut rest))
        .await
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&rest), "");
}

async fn status(stream: TcpStream) -> u16 {
    let answered = timeout(PATIENCE, Answered::read(stream)).await;
    answered.unwrap().status
}

// S24.
#[tokio::test]
async fn fault_70_a_head_that_does_not_end_is_given_up() {
    let mut settings = HttpSettings::default();
    settings.header_timeout = Duration::from_millis(200);
    let address = start(&hello().build().unwrap(), settings).await;
    let silent = begin(address, "").await;
    let half = begin(address, "POST /mcp HTTP/1.1\r\nhost: loc").await;
    // One byte at a time does not put the deadline off.
    let (read, mut write) = begin(address, "POST /mcp HTTP/1.1\r\nx: ")
        .await
        .into_split();
    let trickling = tokio::spawn(async move {
        while write.write_all(b"x").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    closed(silent).await;
    closed(half).await;
    timeout(PATIENCE, trickling).await.unwrap().unwrap();
    drop(read);
    assert_eq!(healthy().send(address).await.status, 200);
}

// S24.
#[tokio::test]
async fn fault_70_a_body_that_does_not_end_is_given_up() {
    let mut settings = HttpSettings::default();
    settings.body_timeout = Duration::from_millis(200);
    let address = start(&hello().build().unwrap(), settings).await;
    for sent in [0, 10] {
        let half = begin(address, &partial(address, 100, sent)).await;
        assert_eq!(status(half).await, 408);
    }
    assert_eq!(healthy().send(address).await.status, 200);
}

#[tokio::test]
async fn fault_70_unfinished_bodies_hold_so_much_together() {
    const SENT: usize = 40_000;
    let mut settings = HttpSettings::default();
    // Two fit, also when the last byte of one comes.
    settings.max_unfinished_bytes = 2 * SENT + 1;
    let address = start(&hello().build().unwrap(), settings).await;
    for (bodies, refused) in [(2, 0), (3, 1)] {
        let mut begun = Vec::new();
        for _ in 0..bodies {
            begun.push(begin(address, &partial(address, SENT + 1, SENT)).await);
        }
        // What comes in one piece passes by all of them.
        assert_eq!(healthy().send(address).await.status, 200);
        let mut statuses = Vec::new();
        for mut stream in begun {
            // The one that began first is refused already, and may not take more.
            let _ = stream.write_all(b" ").await;
            statuses.push(status(stream).await);
        }
        statuses.sort_unstable();
        // Blanks are no message, which is the answer to a body that was read.
        let expected = [vec![400; bodies - refused], vec![503; refused]].concat();
        assert_eq!(statuses, expected);
    }
}

#[tokio::test]
async fn fault_70_so_many_connections_are_open_and_those_that_wait_make_room() {
    let mut settings = HttpSettings::default();
    settings.max_connections = 3;
    let server = hello().list_changes().build().unwrap();
    let address = start(&server, settings).await;
    let opened = Post::legacy(&initialize("2025-11-25", json!({})))
        .send(address)
        .await;
    let session = opened.header("mcp-session-id").unwrap().to_owned();
    let mut stream = Post::method("GET")
        .header("accept", "text/event-stream")
        .header("mcp-session-id", &session)
        .send(address)
        .await;
    drop(opened);
    let half = partial(address, 1, 0);
    let first = begin(address, &half).await;
    let mut second = begin(address, &half).await;
    // There is room for three: the stream, which is served, and two that wait.
    let mut third = begin(address, &half).await;
    closed(first).await;
    for waiting in [&mut second, &mut third] {
        waiting.write_all(b" ").await.unwrap();
    }
    assert_eq!((status(second).await, status(third).await), (400, 400));
    // However many come, a client that asks something is served, and the stream stays open.
    let mut flood = Vec::new();
    for _ in 0..20 {
        flood.push(begin(address, &half).await);
        assert_eq!(healthy().send(address).await.status, 200);
    }
    server.changes().tools_changed();
    let news = timeout(PATIENCE, stream.message()).await.unwrap().unwrap();
    assert_eq!(news.1["method"], "notifications/tools/list_changed");
}

#[cfg(unix)]
#[tokio::test]
async fn fault_70_a_server_with_few_descriptors_does_not_go_deaf() {
    // With 256, connections stay below the system's limit; with 24, what the process itself has
    // open does not leave room for as many as that, and accepting fails.
    for descriptors in [256, 24] {
        let mut process = Command::new("sh")
            .args(["-c", &format!("ulimit -n {descriptors}; exec \"$0\"")])
            .arg(example("conformance-server"))
            .env("PORT", "0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        output.read_line(&mut line).unwrap();
        let address = line
            .trim()
            .trim_start_matches("http://")
            .trim_end_matches("/mcp");
        let address: SocketAddr = address.parse().unwrap();
        let mut flood = Vec::new();
        let mut statuses = Vec::new();
        let list = modern(1, "tools/list", json!({}));
        for _ in 0..4 {
            for _ in 0..100 {
                flood.push(begin(address, "POST /mcp HTTP/1.1\r\nx: ").await);
            }
            let answered = timeout(PATIENCE, Post::modern(&list).send(address)).await;
            statuses.push(answered.ok().map(|it| it.status));
        }
        // A test that failed leaves no process behind.
        process.kill().unwrap();
        process.wait().unwrap();
        assert_eq!(statuses, [Some(200); 4], "{descriptors} descriptors");
    }
}

/// Opens a session of a principal and gives its id.
async fn open(address: SocketAddr, who: &str) -> String {
    let opened = Post::legacy(&initialize("2025-11-25", json!({})))
        .header("authorization", &format!("Bearer {who}"))
        .send(address)
        .await;
    assert_eq!(opened.status, 200);
    opened.header("mcp-session-id").unwrap().to_owned()
}

/// Uses a session: 200 while there is one, 404 otherwise.
async fn use_of(address: SocketAddr, who: &str, session: &str) -> u16 {
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let used = Post::legacy(&list)
        .header("authorization", &format!("Bearer {who}"))
        .header("mcp-session-id", session)
        .send(address)
        .await;
    used.status
}

// S24.
#[tokio::test]
async fn fault_70_the_idlest_session_of_a_principal_makes_room() {
    let mut settings = HttpSettings::default();
    (settings.max_sessions, settings.max_sessions_per_principal) = (4, 3);
    let settings = settings.authenticate(|token| Some(Principal::named(token)));
    let address = start(&hello().build().unwrap(), settings).await;
    let (used, unused) = (open(address, "ada").await, open(address, "ada").await);
    assert_eq!(use_of(address, "ada", &used).await, 200);
    // Three fit; of the four then the one goes that was never used, however young it is.
    let third = open(address, "ada").await;
    assert_eq!(use_of(address, "ada", &third).await, 200);
    let fourth = open(address, "ada").await;
    let mut found = Vec::new();
    for session in [&used, &unused, &third, &fourth] {
        found.push(use_of(address, "ada", session).await);
    }
    assert_eq!(found, [200, 404, 200, 200]);
    // Bob takes the last place there is, then one of Ada's, who has more than he.
    let bob = (open(address, "bob").await, open(address, "bob").await);
    let mut found = Vec::new();
    for session in [&used, &third, &fourth] {
        found.push(use_of(address, "ada", session).await);
    }
    assert_eq!(found, [404, 200, 200]);
    for session in [&bob.0, &bob.1] {
        assert_eq!(use_of(address, "bob", session).await, 200);
    }
}

/// Calls a tool that tells its progress a hundred times; gives the id of the first event, and how
/// many bytes all events hold.
async fn chat(address: SocketAddr, session: &str, id: u64) -> (String, usize) {
    let mut request = call(id, "chatty", json!({}));
    request["params"]["_meta"]["progressToken"] = json!("t");
    let mut stream = Post::legacy(&request)
        .header("mcp-session-id", session)
        .send(address)
        .await;
    let (mut first, mut bytes) = (None, 0);
    while let Some(event) = stream.event().await {
        let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name));
        let data = field("data: ").unwrap_or_default();
        if !data.is_empty() {
            bytes += data.len();
            first = first.or(field("id: ").map(str::to_owned));
        }
    }
    (first.unwrap(), bytes)
}

/// Asks for what came behind an event.
async fn come_back(address: SocketAddr, session: &str, first: &str) -> u16 {
    let get = Post::method("GET")
        .header("accept", "text/event-stream")
        .header("mcp-session-id", session)
        .header("last-event-id", first);
    get.send(address).await.status
}

// S24.
#[tokio::test]
async fn fault_70_kept_events_of_all_sessions_share_one_budget() {
    let chatty = Tool::new(
        "chatty",
        "Talks.",
        |context: Context, _: NoArguments| async move {
            for progress in 101..=200_u32 {
                context.progress_with(progress.into(), None, &"x".repeat(100));
            }
            Ok("done")
        },
    );
    let server = hello().tool(chatty).build().unwrap();
    let address = start(&server, HttpSettings::default()).await;
    let session = open(address, "local").await;
    let (_, bytes) = chat(address, &session, 1).await;
    // Three streams fit. The first event of the fourth finds no room, and the oldest stream goes,
    // whosever it is.
    let mut settings = HttpSettings::default();
    settings.max_kept_bytes = 3 * bytes;
    let address = start(&server, settings).await;
    let sessions = [open(address, "local").await, open(address, "local").await];
    let mut firsts = Vec::new();
    for (id, session) in (1..).zip(sessions.iter().cycle()).take(4) {
        let (first, _) = chat(address, session, id).await;
        firsts.push((session, first));
        let mut statuses = Vec::new();
        for (session, first) in &firsts {
            statuses.push(come_back(address, session, first).await);
        }
        let expected: &[u16] = match id {
            4 => &[400, 200, 200, 200],
            _ => &[200, 200, 200, 200],
        };
        assert_eq!(statuses, expected[..firsts.len()], "after stream {id}");
    }
    // With nothing left, a stream still has a little room, and its answer always has.
    let mut settings = HttpSettings::default();
    settings.max_kept_bytes = 1;
    let address = start(&server, settings).await;
    let session = open(address, "local").await;
    let (_, told) = chat(address, &session, 1).await;
    assert!((16 * 1024..bytes).contains(&told), "{told} of {bytes}");
}
