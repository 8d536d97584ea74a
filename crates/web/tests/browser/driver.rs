//! A browser for the tests: Chromium, driven over WebDriver.
//!
//! Owns the processes of the driver and the browser and the few commands that the tests need.
//! Refuses to know the page. Both processes end with [`Browser`], and the browser's folder with them.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use attache_testkit::processes::Tag;
use attache_testkit::scratch::Scratch;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

/// Longer than anything here takes on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(20);
/// The name under which WebDriver passes an element.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// A running browser.
pub(crate) struct Browser {
    driver: Child,
    port: u16,
    session: String,
    /// Kept open, because the driver says more.
    _said: BufReader<ChildStdout>,
    tag: Tag,
    _folder: Scratch,
}

/// An element of the page at hand.
#[derive(Clone)]
pub(crate) struct Element(String);

impl Browser {
    /// Starts the driver and a browser without a window.
    pub(crate) fn start() -> Self {
        let (chromium, chromedriver) = installed();
        let folder = Scratch::new("browser").unwrap();
        // The browser makes groups of its own, so that its processes are found again by a mark.
        let tag = Tag::new();
        let (mark, value) = tag.env();
        let mut driver = Command::new(&chromedriver)
            .arg("--port=0")
            .env("TMPDIR", folder.path())
            .env(mark, value)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}", chromedriver.display()));
        let mut said = BufReader::new(driver.stdout.take().unwrap());
        let port = port_of(&mut said);
        let mut browser = Self {
            driver,
            port,
            session: "/session".to_owned(),
            _said: said,
            tag,
            _folder: folder,
        };
        let profile = browser._folder.path().join("profile");
        let arguments = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-dev-shm-usage",
            "--window-size=1280,800",
            // A name that an attacker would own, and that leads here.
            "--host-resolver-rules=MAP rebound.example 127.0.0.1",
        ];
        let mut arguments: Vec<String> = arguments.map(str::to_owned).to_vec();
        arguments.push(format!("--user-data-dir={}", profile.display()));
        let options = json!({"binary": chromium, "args": arguments});
        let wanted = json!({"capabilities": {"alwaysMatch": {
            "browserName": "chrome",
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL"},
        }}});
        let begun = browser
            .call("POST", "", &wanted)
            .unwrap_or_else(|error| panic!("no browser: {error}"));
        let id = begun["sessionId"].as_str().unwrap().to_owned();
        browser.session = format!("{}/{id}", browser.session);
        browser
    }

    fn call(&self, method: &str, path: &str, body: &Value) -> Result<Value, String> {
        let body = if method == "POST" {
            body.to_string()
        } else {
            String::new()
        };
        let text = self.exchange(method, &format!("{}{path}", self.session), &body);
        let text = text.map_err(|error| format!("{path}: {error}"))?;
        let answer: Value =
            serde_json::from_str(&text).map_err(|error| format!("{path}: {error}: {text}"))?;
        let value = answer["value"].clone();
        match value["error"].as_str() {
            Some(kind) => Err(format!(
                "{path}: {kind}: {}",
                value["message"].as_str().unwrap_or_default()
            )),
            None => Ok(value),
        }
    }

    /// One request to the driver, on a connection of its own.
    fn exchange(&self, method: &str, path: &str, body: &str) -> io::Result<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(PATIENCE * 2))?;
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(body.as_bytes())?;
        // The driver may leave the connection open, so that the length tells where the answer ends.
        let mut answer = BufReader::new(stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            answer.read_line(&mut line)?;
            let line = line.trim().to_ascii_lowercase();
            match line.strip_prefix("content-length:") {
                Some(value) => length = value.trim().parse().map_err(io::Error::other)?,
                None if line.is_empty() => break,
                None => {}
            }
        }
        let mut body = vec![0; length];
        answer.read_exact(&mut body)?;
        Ok(String::from_utf8_lossy(&body).into_owned())
    }

    fn post(&self, path: &str, body: Value) -> Value {
        self.call("POST", path, &body)
            .unwrap_or_else(|error| panic!("{error}"))
    }

    /// Goes to an address. A link to the page that is open is loaded anew.
    pub(crate) fn open(&self, address: &str) {
        self.post("/url", json!({"url": "about:blank"}));
        self.post("/url", json!({"url": address}));
    }

    /// Loads the page again.
    pub(crate) fn reload(&self) {
        self.post("/refresh", json!({}));
    }

    /// Runs the body of a function in the page.
    pub(crate) fn run(&self, script: &str, arguments: Value) -> Value {
        self.post(
            "/execute/sync",
            json!({"script": script, "args": arguments}),
        )
    }

    /// Runs the body of an async function in the page and waits for what it returns.
    pub(crate) fn run_async(&self, script: &str, arguments: Value) -> Value {
        let script = format!(
            "const done = arguments[arguments.length - 1]; const given = [...arguments]; \
             (async () => {{ {script} }})().then(done, (error) => done({{failed: String(error)}}));"
        );
        let value = self.post(
            "/execute/async",
            json!({"script": script, "args": arguments}),
        );
        assert!(value["failed"].is_null(), "{value}");
        value
    }

    /// Waits until a condition in the page holds, and gives what held.
    pub(crate) fn wait_for(&self, what: &str, script: &str, arguments: Value) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let value = self.call(
                "POST",
                "/execute/sync",
                &json!({"script": script, "args": arguments}),
            );
            match value {
                Ok(value) if !matches!(value, Value::Null | Value::Bool(false)) => return value,
                _ if Instant::now() < deadline => std::thread::sleep(LOOK),
                other => panic!("{what}: {other:?}; the page says:\n{}", self.text()),
            }
        }
    }

    /// All text that can be seen.
    pub(crate) fn text(&self) -> String {
        let body = self.call(
            "POST",
            "/execute/sync",
            &json!({"script": "return document.body.innerText", "args": []}),
        );
        body.map_or_else(
            |error| error,
            |text| text.as_str().unwrap_or_default().to_owned(),
        )
    }

    /// The first element that can be seen by this selector and, if any, with this text.
    pub(crate) fn find(&self, selector: &str, text: &str) -> Element {
        let script = "return [...document.querySelectorAll(arguments[0])].find((it) => \
            it.checkVisibility() && (!arguments[1] || it.textContent.trim().includes(arguments[1])))";
        let found = self.wait_for(
            &format!("{selector} “{text}”"),
            script,
            json!([selector, text]),
        );
        Element(found[ELEMENT].as_str().unwrap().to_owned())
    }

    /// Waits until no such element can be seen.
    pub(crate) fn wait_gone(&self, selector: &str, text: &str) {
        let script = "return ![...document.querySelectorAll(arguments[0])].some((it) => \
            it.checkVisibility() && (!arguments[1] || it.textContent.includes(arguments[1])))";
        self.wait_for(
            &format!("{selector} “{text}” to go"),
            script,
            json!([selector, text]),
        );
    }

    /// Clicks as a person does: where the element is, if nothing lies above it.
    pub(crate) fn click(&self, selector: &str, text: &str) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            // A page that draws itself anew may take the element away in between.
            let Element(id) = self.find(selector, text);
            // To the middle, as a person scrolls: bars at the edges lie above what is below them.
            let scroll = "arguments[0].scrollIntoView({block: 'center'})";
            let _ = self.call(
                "POST",
                "/execute/sync",
                &json!({"script": scroll, "args": [{ELEMENT: id}]}),
            );
            match self.call("POST", &format!("/element/{id}/click"), &json!({})) {
                Ok(_) => return,
                Err(_) if Instant::now() < deadline => std::thread::sleep(LOOK),
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// Types into an element, in place of what it holds.
    pub(crate) fn fill(&self, selector: &str, words: &str) {
        self.click(selector, "");
        self.press_with('\u{e009}', 'a');
        self.press(&words.replace('\n', "\u{e007}"));
    }

    /// Presses keys one after the other, wherever the focus is. `\u{e007}` is Enter.
    pub(crate) fn press(&self, keys: &str) {
        let actions: Vec<Value> = keys
            .chars()
            .flat_map(|key| {
                ["keyDown", "keyUp"].map(|kind| json!({"type": kind, "value": key.to_string()}))
            })
            .collect();
        self.post(
            "/actions",
            json!({"actions": [{"type": "key", "id": "keys", "actions": actions}]}),
        );
    }

    /// Presses a key while another is held.
    pub(crate) fn press_with(&self, held: char, key: char) {
        let step = |kind: &str, key: char| json!({"type": kind, "value": key.to_string()});
        let actions = [
            step("keyDown", held),
            step("keyDown", key),
            step("keyUp", key),
            step("keyUp", held),
        ];
        self.post(
            "/actions",
            json!({"actions": [{"type": "key", "id": "keys", "actions": actions}]}),
        );
    }

    /// The window at hand.
    pub(crate) fn window(&self) -> String {
        self.call("GET", "/window", &Value::Null)
            .unwrap()
            .as_str()
            .unwrap()
            .to_owned()
    }

    /// Opens another tab and goes to it.
    pub(crate) fn new_tab(&self) -> String {
        let handle = self.post("/window/new", json!({"type": "tab"}))["handle"]
            .as_str()
            .unwrap()
            .to_owned();
        self.switch(&handle);
        handle
    }

    /// Goes to another tab.
    pub(crate) fn switch(&self, handle: &str) {
        self.post("/window", json!({"handle": handle}));
    }

    /// Closes the tab at hand and goes to another.
    pub(crate) fn close_tab(&self, then: &str) {
        self.call("DELETE", "/window", &Value::Null).unwrap();
        self.switch(then);
    }

    /// A command of the browser's own protocol.
    pub(crate) fn devtools(&self, command: &str, parameters: Value) -> Value {
        self.post(
            "/goog/cdp/execute",
            json!({"cmd": command, "params": parameters}),
        )
    }

    /// What the console of the browser has had to say since it was last asked.
    pub(crate) fn console(&self) -> Vec<String> {
        let entries = self.post("/se/log", json!({"type": "browser"}));
        let entries = entries.as_array().cloned().unwrap_or_default();
        entries
            .iter()
            .map(|entry| format!("{} {}", entry["level"], entry["message"]))
            .collect()
    }

    /// A picture of the page, kept for the eye.
    pub(crate) fn picture(&self, file: &Path) {
        use base64::Engine as _;
        let picture = self.call("GET", "/screenshot", &Value::Null).unwrap();
        let bytes = base64::engine::general_purpose::STANDARD
            .decode(picture.as_str().unwrap())
            .unwrap();
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, bytes).unwrap();
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.call("DELETE", "", &Value::Null);
        let _ = self.driver.kill();
        let _ = self.driver.wait();
        // A browser that hangs does not leave when it is asked to.
        for process in self.tag.survivors().unwrap_or_default() {
            let pid = i32::try_from(process.pid).ok().and_then(Pid::from_raw);
            if let Some(pid) = pid {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
        let _ = self.tag.wait_until_gone(PATIENCE);
    }
}

/// The driver says where it listens.
fn port_of(said: &mut BufReader<ChildStdout>) -> u16 {
    let said = said.lines().map_while(Result::ok).find_map(|line| {
        let rest = line
            .split_once("started successfully on port ")?
            .1
            .to_owned();
        rest.trim_end_matches('.').parse().ok()
    });
    said.unwrap_or_else(|| panic!("chromedriver does not say on which port it listens"))
}

/// The browser and its driver: of the system, or those that the script has installed.
fn installed() -> (PathBuf, PathBuf) {
    let deps = std::env::var_os("ATTACHE_TEST_DEPS").map(PathBuf::from);
    let deps =
        deps.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.test-deps"));
    let find = |names: &[&str], own: &str| {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        let of_system = std::env::split_paths(&folders).flat_map(|folder| {
            names
                .iter()
                .map(move |name| folder.join(name))
                .collect::<Vec<_>>()
        });
        of_system
            .chain([deps.join("browser").join(own)])
            .find(|path| path.is_file())
    };
    let browser = find(
        &["chromium", "chromium-browser", "google-chrome"],
        "chromium",
    );
    let driver = find(&["chromedriver"], "chromedriver");
    match (browser, driver) {
        (Some(browser), Some(driver)) => (browser, driver),
        _ => panic!(
            "there is no Chromium with its driver here; install them: scripts/install-test-servers"
        ),
    }
}
