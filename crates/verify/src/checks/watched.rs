//! Checks that ask nothing of their own: rules about every message that came, on any connection.

use super::check;
use crate::check::Check;

pub(super) const CHECKS: &[Check] = &[
    check!(
        "envelope.pure",
        Envelope,
        Must,
        ALL,
        Any,
        ["S-STDIO-02", "X-STDIO-01"],
        "Is everything that the server sends a JSON message, one for each line or event?",
        Watched
    ),
    check!(
        "envelope.utf8",
        Envelope,
        Must,
        ALL,
        Any,
        ["X-BASE-09"],
        "Is every message UTF-8?",
        Watched
    ),
    check!(
        "envelope.jsonrpc",
        Envelope,
        Must,
        ALL,
        Any,
        ["X-BASE-01"],
        "Is every message an object with \"jsonrpc\":\"2.0\"?",
        Watched
    ),
    check!(
        "envelope.result-or-error",
        Envelope,
        Must,
        ALL,
        Any,
        ["X-BASE-06"],
        "Has every response either a result that is an object or an error?",
        Watched
    ),
    check!(
        "envelope.error-shape",
        Envelope,
        Must,
        ALL,
        Any,
        ["X-BASE-07"],
        "Has every error an integer code and a message?",
        Watched
    ),
    check!(
        "envelope.answers-open",
        Envelope,
        Must,
        ALL,
        Any,
        ["X-BASE-05"],
        "Does every response answer a request that is open, once?",
        Watched
    ),
    check!(
        "envelope.ids",
        Envelope,
        Must,
        ALL,
        Any,
        ["X-BASE-02"],
        "Is the id of every request of the server a string or an integer?",
        Watched
    ),
    check!(
        "envelope.batch",
        Envelope,
        Should,
        ALL,
        Any,
        ["X-BATCH-04"],
        "Does the server send no batches where the revision has none?",
        Watched
    ),
    check!(
        "envelope.meta-keys",
        Envelope,
        Must,
        ALL,
        Any,
        ["X-BASE-19"],
        "Do the keys of _meta follow their grammar?",
        Watched
    ),
    check!(
        "start.negotiated",
        Start,
        Must,
        LEGACY,
        Any,
        ["X-INIT-09", "S-ROOT-06", "S-SAMP-04", "S-ELIC-02"],
        "Does the server ask nothing of the client that the client did not declare?",
        Watched
    ),
    check!(
        "start.quiet",
        Start,
        Should,
        LEGACY,
        Any,
        ["S-INIT-08"],
        "Does the server ask nothing but ping before notifications/initialized?",
        Watched
    ),
    check!(
        "discover.no-requests",
        Discover,
        Must,
        MODERN,
        Any,
        ["S-BASE-13", "S-STDIO-09", "S-MRTR-01", "S-SHM-25"],
        "Does the server send no requests?",
        Watched
    ),
    check!(
        "discover.result-type",
        Discover,
        Must,
        MODERN,
        Any,
        ["S-BASE-10"],
        "Has every result a resultType that is known?",
        Watched
    ),
    check!(
        "discover.server-info",
        Discover,
        Should,
        MODERN,
        Any,
        ["S-MOD-07"],
        "Does every result name the server in its _meta?",
        Watched
    ),
    check!(
        "discover.input-required",
        Discover,
        Must,
        MODERN,
        Any,
        ["S-MRTR-02", "S-MRTR-03", "S-MRTR-05"],
        "Is input asked for only where it may be, and only what the request declared?",
        Watched
    ),
    check!(
        "errors.reserved",
        Errors,
        Must,
        MODERN,
        Any,
        ["X-ERR-05", "X-ERR-06"],
        "Are no codes used that are reserved or withdrawn?",
        Watched
    ),
    check!(
        "errors.without-meaning",
        Errors,
        Should,
        MODERN,
        Any,
        ["X-ERR-07"],
        "Are no codes used that have no agreed meaning?",
        Watched
    ),
    check!(
        "errors.data",
        Errors,
        Must,
        MODERN,
        Any,
        ["S-MOD-06", "S-MOD-09", "X-ERR-04"],
        "Do -32021 and -32022 say what is required and what is supported?",
        Watched
    ),
    check!(
        "caching.hints",
        Caching,
        Must,
        MODERN,
        Any,
        ["S-CACHE-01"],
        "Have discovery, lists and reads ttlMs and cacheScope?",
        Watched
    ),
    check!(
        "tasks.only-declared",
        Tasks,
        Must,
        MODERN,
        Any,
        ["S-TSKE-02"],
        "Is no request answered with a task that did not declare the extension?",
        Watched
    ),
    check!(
        "progress.tokens",
        Progress,
        Must,
        ALL,
        Any,
        ["X-PROG-02", "S-PROG-06"],
        "Does all progress name the token of a request that is open?",
        Watched
    ),
    check!(
        "progress.rises",
        Progress,
        Must,
        ALL,
        Any,
        ["X-PROG-02"],
        "Does the progress of each token rise?",
        Watched
    ),
    check!(
        "logging.declared",
        Logging,
        Must,
        ALL,
        Any,
        ["S-LOG-01"],
        "Does a server that sends log messages declare logging?",
        Watched
    ),
    check!(
        "logging.shape",
        Logging,
        Should,
        ALL,
        Any,
        ["S-LOG-02"],
        "Has every log message a level and data?",
        Watched
    ),
    check!(
        "logging.level",
        Logging,
        Should,
        LEGACY,
        Any,
        ["S-LOG-02"],
        "Are no log messages sent below the level that was set?",
        Watched
    ),
    check!(
        "logging.only-asked",
        Logging,
        Must,
        MODERN,
        Any,
        ["S-LOG-04"],
        "Are log messages sent only for requests that ask for them?",
        Watched
    ),
    check!(
        "list-changed.declared",
        ListChanged,
        Should,
        ALL,
        Any,
        ["S-TOOL-06", "S-RES-08", "S-PRM-06", "S-SUBL-03"],
        "Are changes of lists announced only where listChanged is declared?",
        Watched
    ),
    check!(
        "subscriptions.only-asked",
        Subscriptions,
        Must,
        MODERN,
        Any,
        ["S-SUBM-02", "S-SUBM-04"],
        "Do changes come only for subscriptions that are open?",
        Watched
    ),
    check!(
        "cancel.by-server",
        Cancel,
        Must,
        MODERN,
        Any,
        ["S-CANC-07"],
        "Does the server cancel nothing but subscriptions?",
        Watched
    ),
];
