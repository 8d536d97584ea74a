//! All routes of the API, in the order of the documentation.

use attache::protocol::{Prompt, Resource, ResourceTemplate, Tool};

use crate::routes::Answers::{Accepted, Created, Events, Nothing};
use crate::routes::{Query, Route, TOKEN};
use crate::servers::Empty;
use crate::{
    calling, copy, forms, history, lists, openapi, opening, pins, questions, reading, servers,
    streams, subscriptions, tools,
};

const WAIT: &[Query] = &[Query {
    name: "wait_ms",
    about: "Answer at the end of the call, or after so long as it stands; 60,000 at most.",
}];

/// The table.
pub(crate) fn routes() -> Vec<Route> {
    let mut all = of_servers();
    all.extend(of_calls());
    all.extend(of_content());
    all.extend(of_the_user());
    all
}

fn of_servers() -> Vec<Route> {
    vec![
        Route::get(
            "/snapshot",
            "Everything at this moment, as of one event.",
            streams::snapshot,
        ),
        Route::post::<Empty, _, _>(
            TOKEN,
            "The token, for the code of an address that was opened in a browser.",
            opening::token,
        ),
        Route::get(
            "/events",
            "What happens, from an event's number on.",
            streams::events,
        )
        .query(streams::EVENTS_QUERY)
        .answers(Events),
        Route::get(
            "/frames",
            "The messages that pass, from now on, secrets hidden.",
            streams::frames,
        )
        .query(streams::FRAMES_QUERY)
        .answers(Events),
        Route::get("/servers", "All servers.", servers::list),
        Route::get("/servers/{server}", "One server.", servers::show),
        Route::post::<Empty, _, _>(
            "/servers/{server}/start",
            "Starts a server and waits until it is ready.",
            servers::start,
        ),
        Route::post::<Empty, _, _>(
            "/servers/{server}/stop",
            "Ends a server until it is needed again.",
            servers::stop,
        ),
        Route::post::<Empty, _, _>(
            "/servers/{server}/restart",
            "Starts a server afresh.",
            servers::restart,
        ),
        Route::post::<Empty, _, _>(
            "/servers/{server}/enable",
            "Switches a server on, for as long as the console runs.",
            servers::enable,
        ),
        Route::post::<Empty, _, _>(
            "/servers/{server}/disable",
            "Switches a server off, for as long as the console runs.",
            servers::disable,
        ),
        Route::post::<Empty, _, _>(
            "/servers/{server}/refresh",
            "Asks a server for all its lists again.",
            servers::refresh,
        ),
        Route::put::<servers::SetLogLevel, _, _>(
            "/servers/{server}/log_level",
            "Sets the least serious messages that a server logs.",
            servers::log_level,
        ),
        Route::get("/logs", "The end of a server's log file.", history::logs)
            .query(history::LOGS_QUERY),
    ]
}

fn of_calls() -> Vec<Route> {
    vec![
        Route::get(
            "/tools",
            "The tools of all servers or of one.",
            lists::list::<Tool>,
        )
        .query(lists::QUERY),
        Route::get(
            "/tools/{server}/{tool}",
            "One tool, with its pin.",
            tools::tool,
        ),
        Route::post::<calling::UseTool, _, _>(
            "/use_mcp_tool",
            "Calls a tool.",
            calling::use_mcp_tool,
        )
        .answers(Accepted),
        Route::get("/calls", "The calls of this console.", calling::list),
        Route::get("/calls/{call}", "One call, with its result.", calling::show).query(WAIT),
        Route::delete("/calls/{call}", "Cancels a call.", calling::cancel),
        Route::post::<copy::CopyAs, _, _>(
            "/copy",
            "A call or a read as a command, as JSON-RPC and for curl.",
            copy::copy,
        ),
        Route::get(
            "/history",
            "Calls of this and earlier launches.",
            history::list,
        )
        .query(history::QUERY),
        Route::get("/history/{number}", "One call of the log.", history::show),
    ]
}

fn of_content() -> Vec<Route> {
    vec![
        Route::get("/resources", "The resources.", lists::list::<Resource>).query(lists::QUERY),
        Route::get(
            "/templates",
            "The resource templates.",
            lists::list::<ResourceTemplate>,
        )
        .query(lists::QUERY),
        Route::post::<reading::AccessResource, _, _>(
            "/access_mcp_resource",
            "Reads a resource.",
            reading::access_mcp_resource,
        ),
        Route::post::<reading::ExpandTemplate, _, _>(
            "/expand",
            "The URI that a template makes.",
            reading::expand,
        ),
        Route::get(
            "/subscriptions",
            "The resources that are watched.",
            subscriptions::list,
        ),
        Route::post::<subscriptions::Subscribe, _, _>(
            "/subscriptions",
            "Watches a resource; updates come as events.",
            subscriptions::subscribe,
        )
        .answers(Created),
        Route::delete(
            "/subscriptions/{id}",
            "Ends a watch.",
            subscriptions::unsubscribe,
        )
        .answers(Nothing),
        Route::get("/prompts", "The prompts.", lists::list::<Prompt>).query(lists::QUERY),
        Route::post::<reading::FillPrompt, _, _>(
            "/prompts/{server}/{prompt}",
            "A prompt, filled in.",
            reading::prompt,
        ),
        Route::post::<reading::CompleteArgument, _, _>(
            "/completion",
            "How an argument could go on.",
            reading::complete,
        ),
        Route::post::<reading::ViewText, _, _>(
            "/view",
            "A text as Markdown or JSON, in blocks.",
            reading::view,
        ),
    ]
}

fn of_the_user() -> Vec<Route> {
    vec![
        Route::get(
            "/questions",
            "The questions that wait for an answer.",
            questions::list,
        ),
        Route::get(
            "/questions/{question}",
            "One question, with what helps to answer it.",
            questions::show,
        ),
        Route::post::<questions::GiveAnswer, _, _>(
            "/questions/{question}",
            "Answers a question; the first answer wins.",
            questions::answer,
        ),
        Route::post::<forms::FillForm, _, _>(
            "/form",
            "The fields of a form, what is filled in, and what is wrong with it.",
            forms::fill,
        ),
        Route::get(
            "/pins/{server}",
            "How a server's tools stand to what was approved.",
            pins::list,
        ),
        Route::post::<pins::AcceptPins, _, _>(
            "/pins/{server}/accept",
            "Approves tools as they were shown.",
            pins::accept,
        ),
        Route::get("/openapi.json", "This description.", openapi::show),
    ]
}
