//! What an attacker would do from another page of the same browser.

use std::io::{Read, Write};
use std::net::TcpListener;

use serde_json::json;

use super::running::run_tool;
use super::world::{with_browser, with_console};

/// A page on another port of this machine, which is the same site to the browser.
fn stranger() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().take(20) {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let page = "<!doctype html><title>stranger</title>";
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{page}",
                page.len()
            );
        }
    });
    format!("http://{address}/")
}

pub(crate) fn s1_s2_strangers_in_the_browser_are_refused() {
    with_console(|browser, console| {
        let origin = console.origin().to_owned();
        let before = console
            .server("chaos")
            .received_of("tools/call")
            .unwrap()
            .len();
        let body =
            json!({"server_name": "chaos", "tool_name": "danger", "arguments": {}}).to_string();
        // Another page of this origin's own: without the token, and as a form would send it.
        let own = "const [address, body, token] = given;
            const status = async (init) => (await fetch(address + '/api/v1/use_mcp_tool', init)).status;
            return [
                await status({method: 'POST', headers: {'content-type': 'application/json'}, body}),
                await status({method: 'POST', headers: {authorization: 'Bearer ' + token}, body}),
                await status({method: 'POST', headers: {authorization: 'Bearer ' + token, 'content-type': 'text/plain'}, body}),
                (await fetch(address + '/api/v1/snapshot')).status,
            ];";
        let statuses = browser.run_async(own, json!([origin, body, console.token()]));
        assert_eq!(statuses, json!([401, 415, 415, 401]));
        let _ = browser.console();

        // A page on another port, even with the token: the browser says where it comes from.
        browser.open(&stranger());
        let other = "const [address, body, token] = given;
            const outcome = async (init) => { try { const answer = await fetch(address + '/api/v1/use_mcp_tool', init); return [answer.type, answer.status]; } catch (error) { return error.name; } };
            return [
                await outcome({method: 'POST', mode: 'no-cors', headers: {'content-type': 'text/plain'}, body}),
                await outcome({method: 'POST', headers: {authorization: 'Bearer ' + token, 'content-type': 'application/json'}, body}),
                await outcome({method: 'GET', mode: 'no-cors'}),
                await new Promise((done) => { const frame = document.createElement('iframe'); frame.src = address + '/'; frame.onload = () => { try { done(frame.contentDocument === null ? 'closed' : 'open'); } catch { done('closed'); } }; document.body.append(frame); }),
            ];";
        let outcomes = browser.run_async(other, json!([origin, body, console.token()]));
        assert_eq!(
            outcomes,
            json!(["TypeError", "TypeError", "TypeError", "closed"])
        );
        let _ = browser.console();

        // A name that an attacker has let lead here.
        let rebound = origin.replace("127.0.0.1", "rebound.example");
        browser.open(&rebound);
        let refused = browser.run_async(
            "const token = given[0]; const answer = await fetch('/api/v1/snapshot', {headers: {authorization: 'Bearer ' + token}}); return [answer.status, document.querySelector('script') === null];",
            json!([console.token()]),
        );
        assert_eq!(refused, json!([403, true]));
        let _ = browser.console();
        assert_eq!(
            console
                .server("chaos")
                .received_of("tools/call")
                .unwrap()
                .len(),
            before
        );
    });
}

/// Names, descriptions and answers with markup, escapes and marks that turn text around.
pub(crate) fn s13_text_of_a_server_is_only_text() {
    with_console(|browser, _| {
        run_tool(browser, "hostile");
        browser.find(
            ".result",
            "<script>document.title='owned'</script><b>bold</b>",
        );
        browser.find(".description", "<img src=x onerror=alert(1)>");
        browser.fill(".filter", "turned");
        browser.find(".row .name", "turned\\u{202e}round");
        let text = browser.text();
        assert!(
            !text.contains('\u{202e}') && !text.contains('\u{1b}'),
            "{text}"
        );
        let found = browser.run("return [document.title.includes('owned'), document.querySelectorAll('.detail img, .detail script, .detail b').length]", json!([]));
        assert_eq!(found, json!([false, 0]));
    });
    // The policy of the page stops what the page itself never does.
    with_browser(|_| {});
    with_console(|browser, _| {
        let stopped = browser.run("try { document.body.innerHTML = '<p>x</p>'; return 'written' } catch (error) { return error.name }", json!([]));
        assert_eq!(stopped, json!("TypeError"));
        let said = browser.console();
        assert!(
            said.iter().any(|line| line.contains("TrustedHTML")),
            "{said:?}"
        );
    });
}
