//! Names of tools of servers that are not known, or not there.

use crate::configured::{after, home};
use crate::harness::toml_server;

#[test]
fn fault_74_a_plain_name_waits_for_a_choice_while_its_owner_is_unknown() {
    let broken = ["sh", "-c", "exit 3"].map(str::to_owned);
    let config = toml_server("broken", &broken) + &after("good", ":");
    let home = home("owner", &config);
    let plain = ["call", "echo", "message=x", "--json"];
    for _ in 0..2 {
        let error = home.run(&plain).expect(2).error();
        assert_eq!(
            error["message"],
            "\"echo\" may also be offered by servers that have not answered: broken"
        );
        assert_eq!(error["hint"], "say which: good/echo, broken/echo");
    }
    let error = home.run(&["call", "ecoh", "--json"]).expect(4).error();
    assert_eq!(
        error["hint"],
        "did you mean \"echo\"? could not be asked: broken"
    );
    // Who has chosen once need not say it again.
    home.run(&["call", "good/echo", "message=x"]).expect(0);
    home.run(&plain).expect(0);
}

#[test]
fn a_server_that_there_is_not_is_named_as_such() {
    let two = home("unknown-server", &(after("one", ":") + &after("two", ":")));
    let error = two.run(&["call", "tow/echo", "message=x", "--json"]);
    let error = error.expect(2).error();
    assert_eq!(error["message"], "no server is named \"tow\"");
    assert_eq!(error["hint"], "did you mean \"two\"?");
    let only = home("unknown-one", &after("one", ":"));
    for verb in ["call", "prompt"] {
        let error = only.run(&[verb, "oen/echo", "--json"]).expect(2).error();
        assert_eq!(error["message"], "no server is named \"oen\"");
        assert_eq!(error["hint"], "did you mean \"one\"?");
    }
}
