//! The table itself. Rows say: name, type, default, example, meaning. Defaults are those of the
//! profile `standard`.

use super::super::choices::{self, words};
use super::Kind::{
    ByName, Choice, ChoiceOrTable, Choices, Decimal, Names, Number, Path, Plain, Text, Texts, Time,
    Truth,
};
use super::{Key, Kind, Only, Table};

/// The form of a server's name, which `ServerName` checks.
const SERVER_NAME: &str = "^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$";
/// The most bytes that can be given to the cache: 64 GiB.
const MOST_CACHE_BYTES: i64 = 64 * 1024 * 1024 * 1024;

macro_rules! keys {
    ($(
        $name:ident: $kind:expr,
        $(default $default:tt,)? $(example $example:tt,)? $(only $only:ident,)?
        $summary:literal;
    )*) => {
        &[$(Key {
            name: stringify!($name),
            kind: $kind,
            default: keys!(@optional $(stringify!($default))?),
            example: keys!(@optional $(stringify!($example))?),
            summary: $summary,
            only: keys!(@optional $(Only::$only)?),
        }),*]
    };
    (@optional) => { None };
    (@optional $value:expr) => { Some($value) };
}

const fn table(keys: &'static [Key]) -> Table {
    Table { keys, like: None }
}

pub(super) static FILE: Table = table(keys! {
    servers: ByName(SERVER_NAME, &Kind::Table(&SERVER)),
        "The servers: a table for each, under a name of letters, digits, `_`, `-` and `.`.";
    mcp: Kind::Table(&SINGLE),
        "A single server by the name of `default`, with every key of `[servers.NAME]`.";
    client: Kind::Table(&CLIENT),
        "How this client names itself to servers; without it as `attache` and its version.";
    policy: Kind::Table(&POLICY),
        "Which tools of all servers may be called; names are matched with `server/tool`.";
    cache: Kind::Table(&CACHE),
        "The memory that the answers of all servers share.";
    startup: Kind::Table(&STARTUP),
        "How servers are started together.";
    log: Kind::Table(&LOG),
        "What is written down of calls and servers.";
    chat: Kind::Table(&CHAT),
        "The model that `attache chat` talks to; never read from a file that came with a folder.";
    speckit: Kind::Table(&SPECKIT),
        "The spec workflow of `attache serve speckit` and the UI's tab of specs.";
    ui: Kind::Table(&UI),
        "The terminal UI, `attache ui`; never read from a file that came with a folder.";
});

static CHAT: Table = table(keys! {
    endpoint: Text, example "ollama",
        "Where the model is: openai, anthropic, openrouter, ollama, llamacpp, or a URL; a conversation needs it.";
    model: Text, example "qwen3",
        "The name of the model there; without it `--model` says it.";
    api_key: Text, example "${TOKEN}",
        "The key of the endpoint; without it the usual variable, or one kept with `attache chat --keep-key`.";
    api: Choice(&words(&choices::CHAT_APIS)), example "anthropic",
        "How the endpoint is spoken to; without it as is usual for the endpoint, else openai.";
    headers: ByName("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$", &Plain), example { X-Team = "red" },
        "Headers of every request to the endpoint.";
    allow_plain_http: Truth, default false, example true,
        "Whether a key may travel over plain http to another machine.";
    context_tokens: Number(1024, 100_000_000), example 128000,
        "How many tokens the model takes; without it what the endpoint says, else 32768.";
    max_rounds: Number(1, 1000), default 20, example 5,
        "How often the model may be asked for one question, tools being called in between.";
    temperature: Decimal(0.0, 2.0), example 0.7,
        "How freely the model speaks; without it as is usual for the model.";
    tools: Choice(&words(&choices::CHAT_TOOLS)), default "auto", example "search",
        "Which tools the model is told of: all, those it searches for, or none; auto searches when they are many.";
});

static SPECKIT: Table = table(keys! {
    agent: Texts, example ["claude", "-p"],
        "A program that reads a prompt on stdin, and its arguments; without it nobody does tasks. Never from a folder's file.";
    writer: Choice(&words(&choices::SPECKIT_WRITERS)), default "auto", example "plain",
        "Who writes documents: the agent, the client's model, or the plain writer; auto takes the first of them that is there.";
    specs_directory: Text, example "docs/specs",
        "The folder of specs in a project; without it `specs`.";
});

static UI: Table = table(keys! {
    theme: Choice(&words(&choices::UI_THEMES)), default "auto", example "light",
        "What the background of the terminal is taken for; auto asks the terminal. On a light one faint text is grey.";
    ascii: Truth, default false, example true,
        "Whether only ASCII is drawn, for terminals without Unicode.";
    mouse: Truth, example false,
        "Whether the mouse works in the UI from the beginning; without it, it does. `m` switches it.";
    keys: ByName("^[a-z][a-z-]*$", &Plain), example { quit = "Q ctrl-q" },
        "Keys by the name of an action, which `?` in the UI lists; several are set apart by spaces.";
});

static SINGLE: Table = Table {
    keys: keys! {
        endpoint: Text, example "http://localhost:8080/mcp",
            "The address of the server; another name for `url`.";
    },
    like: Some(&SERVER),
};

static CLIENT: Table = table(keys! {
    name: Text, example "my-client",
        "The name of the client; a `client` table needs it.";
    version: Text, default "0", example "1.2",
        "The version of the client.";
});

static POLICY: Table = table(keys! {
    deny: Names, default [], example ["shell/*"],
        "Tools that are never called.";
    ask: Names, default [], example ["*/delete_*"],
        "Tools that are called only after a question.";
    allow: Names, default [], example ["notes/*"],
        "Tools that are called without a question.";
    default: Choice(&words(&choices::DECISIONS)), example "ask",
        "What holds for other tools; without it programs have to ask, and what a person types is called.";
    read_only: Choice(&words(&choices::READ_ONLY)), example "allow",
        "Whether a tool that claims to be read-only needs a question; without it the claim counts for nothing.";
});

static CACHE: Table = table(keys! {
    bytes: Number(0, MOST_CACHE_BYTES), default 67108864, example 1048576,
        "The most bytes that remembered answers may take.";
});

static STARTUP: Table = table(keys! {
    concurrent: Number(1, 1000), example 1,
        "How many programs may be starting at a time; without it two for each core, and at least four.";
});

static LOG: Table = table(keys! {
    directory: Path, example "logs",
        "The folder of log files, those of servers and that of calls; without it one in your state folder.";
    calls: Choice(&words(&choices::CALL_LOGGING)), default "on", example "off",
        "Whether calls are written down with their arguments and results, secrets masked, for `attache history`.";
});

static SERVER: Table = table(keys! {
    command: Text, example "uvx",
        "The program to start; a name is searched in PATH, a relative path begins at the file.";
    args: Texts, default [], example ["mcp-server-fetch"], only Command,
        "The arguments of the program.";
    env: ByName("^[^=]+$", &Plain), example { API_KEY = "${TOKEN}" }, only Command,
        "Variables of the program, beside the few that it inherits.";
    cwd: Path, example "work", only Command,
        "The folder the program starts in; without it the file's, or an empty one for your own file's servers.";
    url: Text, example "https://example.org/mcp",
        "The address of a server that runs already, in place of `command`.";
    headers: ByName("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$", &Plain), example { X-Team = "red" }, only Url,
        "Headers of every request.";
    ca_file: Path, example "~/root.pem", only Url,
        "A PEM file with root certificates to trust beside those of the system.";
    auth: Kind::Table(&AUTH), only Url,
        "How to log in, beyond what the server itself tells.";
    allow_plain_http: Truth, default false, example true, only Url,
        "Whether tokens may travel over plain http to another machine.";
    transport: Choice(&words(&choices::TRANSPORTS)), example "sse",
        "How the server is reached; without it stdio for a command, and for a URL whatever it speaks.";
    profile: Choice(&words(&choices::PROFILES)), default "standard", example "interactive",
        "A set of defaults: interactive is quick to give up and repeats, workflow waits a minute and speaks lsp.";
    dialect: Choice(&words(&choices::DIALECTS)), default "standard", example "lsp",
        "Where the defaults of `quirks` come from; lsp cancels and shuts down as language servers do.";
    era: Choice(&words(&choices::ERAS)), default "auto", example "legacy",
        "Which protocol era to speak; auto finds out.";
    protocol: Choice(&words(&choices::PROTOCOLS)), default "newest", example "2025-06-18",
        "The protocol revision to ask for.";
    quirks: Kind::Table(&QUIRKS),
        "Deviations from the protocol that the server needs.";
    timeouts: Kind::Table(&TIMEOUTS),
        "How long to wait for what, up to 24 hours.";
    retry: Kind::Table(&RETRY),
        "How often a request that is safe to repeat is made.";
    client: Kind::Table(&CLIENT),
        "How this client names itself to this server; without it as to all others.";
    log_level: Choice(&words(&choices::LOG_LEVELS)), example "warning",
        "The least serious log messages wanted of the server; without it the server decides.";
    capabilities: Choice(&words(&choices::CAPABILITIES)), default "lenient", example "strict",
        "Whether calls, reads and prompts that the server does not declare are sent or refused.";
    restart: ChoiceOrTable(&words(&choices::RESTARTS), &RESTART), default "on-failure", example "never",
        "Whether a server that crashed is started again; a table says how often.";
    cache: ChoiceOrTable(&words(&choices::CACHE_USES), &CACHE_OF_SERVER), default "on", example "off",
        "Whether lists and resources are remembered; a table says how long.";
    policy: ChoiceOrTable(&words(&choices::DECISIONS), &POLICY_OF_SERVER), example "allow",
        "What becomes of calls of its tools; a table tells them apart, and without it the policy of all holds.";
    start: Choice(&words(&choices::STARTS)), default "lazy", example "eager",
        "Whether the server is started on first use or together with the host.";
    enabled: Truth, default true, example false,
        "Whether the server is used; one that is not is listed and never started.";
    tools: Kind::Table(&TOOLS),
        "Which of its tools there are for you.";
    projects: Texts, default [], example ["DAAS"],
        "The projects of `attache chat --project` that it belongs to.";
});

static AUTH: Table = table(keys! {
    grant: Choice(&words(&choices::GRANTS)), default "authorization_code", example "client_credentials",
        "Whether a person logs in with a browser, or the client with `client_id` and `client_secret`.";
    client_id: Text, example "attache-at-work",
        "A client that was registered beforehand; without it one is registered.";
    client_secret: Text, example "${TOKEN}",
        "The secret of that client, if it has one.";
    client_metadata_url: Text, example "https://example.org/client.json",
        "The address of a document that describes the client, in place of a registration.";
    scopes: Texts, default [], example ["notes:read"],
        "The scopes to ask for; if there are none, those that the server names.";
    redirect_port: Number(1, 65535), example 8123,
        "The port of this machine that the browser comes back to; without it any free one.";
    issuer: Text, example "https://login.example.org",
        "The authorization server to use; without it the one that the server names.";
    token: Text, example "${TOKEN}",
        "A ready bearer token, in place of any login.";
});

static QUIRKS: Table = table(keys! {
    cancel: Choice(&words(&choices::CANCEL_FORMS)), default "standard", example "both",
        "How a request is cancelled: `notifications/cancelled`, `$/cancelRequest`, or one after the other.";
    shutdown: Choice(&words(&choices::SHUTDOWN_FORMS)), default "close", example "lsp",
        "How a session ends: stdin is closed, or `shutdown` and `exit` are sent first.";
    send_initialized: Truth, default true, example false,
        "Whether `notifications/initialized` is sent; false for a server that breaks on it.";
    omit_empty_params: Truth, default true, example false,
        "Whether empty params are left out or written as `{}`.";
    missing_input_schema: Choice(&words(&choices::MISSING_INPUT_SCHEMAS)), default "repair", example "reject",
        "Whether a tool without an input schema takes any object or counts as malformed.";
    error_aliases: ByName("^-?[0-9]+$", &Choice(&words(&choices::ERROR_ALIASES))),
        example { "-32000" = "resource_not_found" },
        "What error codes of the server mean, by code.";
    progress_token: Choice(&words(&choices::PROGRESS_TOKENS)), default "number", example "tool",
        "Whether progress is named by the number of the request, or by `tool-` and that number.";
    call_retry: Choice(&words(&choices::CALL_RETRIES)), default "safe-only", example "never",
        "Which calls may be repeated after a failure; safe are those never sent, and read-only ones if policy believes them.";
    invalidate_after: Names, default [], example ["sync_*"],
        "Tools whose calls make all that is remembered of the server stale; also in `cache`.";
});

static TIMEOUTS: Table = table(keys! {
    initialize: Time, default "60s", example "2m",
        "For the server to start and to be connected.";
    request: Time, default "60s", example "5s",
        "For lists, completion and other small requests.";
    read: Time, default "60s", example "5s",
        "For reading a resource.";
    call: Time, default "60s", example "5m",
        "For a tool call or a prompt; progress extends it.";
    maximum: Time, default "10m", example "1h",
        "For any request, however much progress there is.";
    probe: Time, default "3s", example "1s",
        "For an answer in the modern era before the legacy one is tried.";
    start_grace: Time, default "2s", example "5s",
        "Added to `probe` for a server that has not shown any sign of life yet.";
    write_stall: Time, default "30s", example "10s",
        "For a server to read what is written to it before it counts as stuck.";
    close_grace: Time, default "2s", example "5s",
        "For a server to leave by itself after its stdin was closed.";
    close_terminate: Time, default "2s", example "5s",
        "For a server to leave after it was told to terminate, before it is killed.";
});

static RETRY: Table = table(keys! {
    attempts: Number(1, 10), default 3, example 5,
        "How often a request is made at the most, the first time included.";
    first: Time, default "50ms", example "200ms",
        "The longest pause before the first repeat; the pause is a random part of it.";
    factor: Decimal(1.0, 10.0), default 2.0, example 1.5,
        "How many times longer each next pause may be.";
    ceiling: Time, default "1s", example "5s",
        "The longest pause before any repeat.";
    on: Choices(&words(&choices::RETRY_ON)), default ["lost"], example ["lost", "timeout"],
        "After which failures: a lost connection, a time-out, or an HTTP status that says to try later.";
});

static RESTART: Table = table(keys! {
    when: Choice(&words(&choices::RESTARTS)), default "on-failure", example "never",
        "Whether a server that crashed is started again.";
    starts: Number(1, 1000), default 5, example 3,
        "How many starts are allowed `within` a time before the server is given up.";
    within: Time, default "60s", example "10m",
        "The time over which starts are counted.";
    backoff_first: Time, default "100ms", example "500ms",
        "The longest pause before the first restart; it doubles each time.";
    backoff_longest: Time, default "30s", example "2m",
        "The longest pause before any restart.";
    healthy_after: Time, default "30s", example "5m",
        "How long a server has to be ready for its crashes to be forgotten.";
});

static CACHE_OF_SERVER: Table = table(keys! {
    use: Choice(&words(&choices::CACHE_USES)), default "on", example "off",
        "Whether anything is remembered.";
    ttl: Time, example "5m",
        "How long resources and lists stay fresh if the server does not say; without it they do not.";
    list_ttl: Time, example "10s",
        "How long lists stay fresh if the server does not say; without it as long as `ttl`.";
    invalidate_after: Names, default [], example ["sync_*"],
        "Tools whose calls make all that is remembered of the server stale.";
});

static POLICY_OF_SERVER: Table = table(keys! {
    deny: Names, default [], example ["delete_*"],
        "Tools that are never called.";
    ask: Names, default [], example ["put"],
        "Tools that are called only after a question.";
    allow: Names, default [], example ["get_*"],
        "Tools that are called without a question.";
    default: Choice(&words(&choices::DECISIONS)), example "deny",
        "What holds for other tools; without it the policy of all servers.";
    read_only: Choice(&words(&choices::READ_ONLY)), example "allow",
        "Whether a tool that claims to be read-only needs a question; without it the policy of all servers.";
});

static TOOLS: Table = table(keys! {
    include: Names, default [], example ["get_*", "put"],
        "The tools that there are; if the list is empty, all.";
    exclude: Names, default [], example ["get_secret"],
        "Tools that there are not, whatever `include` says.";
});
