//! The order of the checks, the time they get, and what becomes of a server that dies meanwhile.
//!
//! Checks that bear it share one connection, one after the other; the others run beside them on
//! connections of their own. A connection that breaks is a finding of the check that broke it, and
//! the next check gets a new one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use attache_protocol::{Era, Revision};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::baseline::Baseline;
use crate::bench::{AllowedCall, Bench, Clock, Spoken};
use crate::calls::{self, SavedCall};
use crate::check::{
    Check, Finding, Group, How, Level, Outcome, Over, Verdict, kept, milliseconds, not_offered,
    not_testable,
};
use crate::checks;
use crate::peer::{Opening, Peer, Trouble};
use crate::report::{EraReport, Report};
use crate::sse::SseWire;
use crate::target::Target;
use crate::trace::Trace;
use crate::watch::Watch;

/// What is checked, and how patiently.
#[derive(Clone, Debug)]
pub struct Options {
    /// The eras to look at.
    pub eras: Eras,
    /// The legacy revision to ask for.
    pub legacy: Revision,
    /// Duties below this level are left out.
    pub level: Level,
    /// Names of checks, groups or duties; all checks if there are none.
    pub only: Vec<String>,
    /// Tools that may be called though they may change something.
    pub allowed: Vec<AllowedCall>,
    /// Calls with expectations, made after the checks.
    pub calls: Vec<SavedCall>,
    /// What makes the changed messages the same every time.
    pub seed: u64,
    /// How long all of it may take.
    pub budget: Duration,
    /// How long one answer may take.
    pub patience: Duration,
    /// How long a server may take to start.
    pub start_patience: Duration,
    /// Failures that are known.
    pub baseline: Option<Baseline>,
}

/// Which eras are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Eras {
    /// Those that the server speaks.
    Both,
    /// This one, and it is a failure if the server does not speak it.
    Only(Era),
}

impl Eras {
    fn has(self, era: Era) -> bool {
        match self {
            Self::Both => true,
            Self::Only(only) => only == era,
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            eras: Eras::Both,
            legacy: Revision::V2025_11_25,
            level: Level::Should,
            only: Vec::new(),
            allowed: Vec::new(),
            calls: Vec::new(),
            seed: 1,
            budget: Duration::from_secs(52),
            patience: Duration::from_secs(10),
            start_patience: Duration::from_secs(30),
            baseline: None,
        }
    }
}

impl Options {
    /// Whether a check is wanted.
    pub fn wants(&self, check: &Check) -> bool {
        check.level <= self.level && self.names(check.id, check.group, check.duties)
    }

    fn names(&self, id: &str, group: Group, duties: &[&str]) -> bool {
        self.only.is_empty()
            || self.only.iter().any(|wanted| {
                wanted == id || wanted == group.name() || duties.contains(&wanted.as_str())
            })
    }
}

/// How many checks run beside the shared connection.
const BESIDE: usize = 3;
/// How long one check may take.
const CHECK_LIMIT: Duration = Duration::from_secs(25);
/// How often in a row a shared connection may fail to open.
const MOST_FAILED_OPENINGS: usize = 2;
/// How long is waited at the end for servers to leave.
const LEAVING: Duration = Duration::from_secs(3);

/// Looks at a server. `tell` hears of each outcome as soon as it is there.
pub async fn verify(target: &Target, options: &Options, tell: impl Fn(&Outcome)) -> Report {
    let begun = Instant::now();
    let clock = Clock::new(options.patience, options.start_patience);
    let deadline = begun + options.budget;
    let bench = Bench {
        target: target.clone(),
        revision: options.legacy,
        trace: Trace::default(),
        watch: Watch::default(),
        allowed: Arc::new(options.allowed.clone()),
        seed: options.seed,
        spoken: Spoken::default(),
        deadline,
        clock: Arc::new(clock),
    };
    let mut collected = Collected {
        options,
        target,
        outcomes: Vec::new(),
        tell: &tell,
    };
    let [old, new] = open_eras(bench, options).await;
    let (target, clock) = (old.bench.target.clone(), Arc::clone(&old.bench.clock));
    let spoken = Spoken {
        legacy: matches!(old.opened, Some(Ok(_))),
        modern: matches!(new.opened, Some(Ok(_))),
    };
    let mut eras = Vec::new();
    let mut newest = None;
    let mut is_refused = false;
    for probed in [old, new] {
        let Probed {
            bench,
            trace,
            opened,
        } = probed;
        let Some(opened) = opened else { continue };
        let era = bench.revision.era();
        // Of two eras the first leaves time for the second.
        let is_first = era == Era::Legacy && spoken.modern;
        let bench = Bench {
            spoken,
            deadline: match is_first {
                true => begun + options.budget * 11 / 20,
                false => deadline,
            },
            ..bench
        };
        eras.push(EraReport::of(era, &opened));
        collected.opening(&bench, &trace, &opened);
        match opened {
            Ok(peer) => {
                let bench = Bench {
                    revision: peer.revision,
                    ..bench
                };
                run_era(&bench, peer, &mut collected).await;
                newest = Some(bench);
            }
            // What a server tells those without a login is the same in both eras.
            Err(Trouble::LoginNeeded(_)) if !std::mem::replace(&mut is_refused, true) => {
                run_refused(&bench, &mut collected).await;
            }
            Err(_) => {}
        }
    }
    if let Some(bench) = &newest {
        for call in &options.calls {
            if options.names(&format!("calls.{}", call.name), Group::Calls, &[]) {
                let begun = Instant::now();
                let bench = bench.for_check();
                let found = calls::run(&bench, call).await;
                let outcome = calls::outcome(call, &bench, found, begun.elapsed());
                collected.add(outcome);
            }
        }
    }
    let _ = tokio::time::timeout(LEAVING, async {
        for task in clock.take_tasks() {
            let _ = task.await;
        }
    })
    .await;
    Report::new(&target, eras, collected.outcomes, begun.elapsed())
}

/// What came of opening a connection of an era.
struct Probed {
    /// For the checks of the era.
    bench: Bench,
    trace: Trace,
    /// Nothing if the era is not wanted.
    opened: Option<Result<Peer, Trouble>>,
}

impl Probed {
    /// Opens a connection of an era, if that is wanted.
    async fn of(bench: Bench, options: &Options) -> Self {
        let own = bench.for_check();
        let opened = match options.eras.has(bench.revision.era()) {
            true => Some(Peer::open(&own, Opening::Whole).await),
            false => None,
        };
        Self {
            bench,
            trace: own.trace,
            opened,
        }
    }

    fn is_refused(&self) -> bool {
        matches!(self.opened, None | Some(Err(Trouble::Refused(_))))
    }
}

/// Opens both eras. Where neither is spoken over Streamable HTTP the older HTTP+SSE is tried, as
/// clients do.
async fn open_eras(bench: Bench, options: &Options) -> [Probed; 2] {
    let opened = open_both(bench, options).await;
    let bench = &opened[0].bench;
    let Target::Http(http) = &bench.target else {
        return opened;
    };
    let may_be_older = options.eras.has(Era::Legacy) && opened.iter().all(Probed::is_refused);
    if !may_be_older || SseWire::open(http, bench.start_patience()).await.is_err() {
        return opened;
    }
    let older = Bench {
        target: Target::Sse(http.clone()),
        watch: Watch::default(),
        ..bench.clone()
    };
    open_both(older, options).await
}

/// Both at once: a server that is slow to start is waited for once.
async fn open_both(bench: Bench, options: &Options) -> [Probed; 2] {
    let modern = Bench {
        revision: Revision::V2026_07_28,
        watch: Watch::default(),
        ..bench.clone()
    };
    let (old, new) = tokio::join!(Probed::of(bench, options), Probed::of(modern, options));
    [old, new]
}

/// The outcomes so far.
struct Collected<'a, T: Fn(&Outcome)> {
    options: &'a Options,
    target: &'a Target,
    outcomes: Vec<Outcome>,
    tell: &'a T,
}

impl<T: Fn(&Outcome)> Collected<'_, T> {
    fn add(&mut self, mut outcome: Outcome) {
        let baseline = self.options.baseline.as_ref();
        outcome.known = outcome.verdict == Verdict::Fail
            && baseline.is_some_and(|baseline| baseline.has(&outcome.key()));
        for secret in self.target.secrets() {
            let texts = outcome.sent.iter_mut().chain(&mut outcome.came);
            for text in texts.chain([&mut outcome.found, &mut outcome.reproduce]) {
                *text = text.replace(&secret, "[hidden]");
            }
        }
        (self.tell)(&outcome);
        self.outcomes.push(outcome);
    }

    /// What came of opening a connection of an era.
    fn opening(&mut self, bench: &Bench, trace: &Trace, opened: &Result<Peer, Trouble>) {
        let Some(check) = checks::all().find(|check| check.id == "start.opens") else {
            return;
        };
        let era = bench.revision.era();
        let speaks_other = bench.spoken.has(match era {
            Era::Legacy => Era::Modern,
            Era::Modern => Era::Legacy,
        });
        let is_free = self.options.eras == Eras::Both && speaks_other;
        let found = match opened {
            Ok(_) => Ok(kept("it does")),
            // A server of one era need not understand the other.
            Err(trouble) if is_free => Ok(not_offered(format!("the {era} era: {trouble}"))),
            Err(Trouble::SlowStart(text)) => Err(Trouble::Silent(text.clone())),
            Err(trouble) => Err(trouble.clone()),
        };
        let is_broken = found.is_err();
        let bench = Bench {
            trace: trace.clone(),
            ..bench.clone()
        };
        if self.options.wants(check) || is_broken {
            self.add(outcome(check, &bench, found, Duration::ZERO));
        }
    }
}

/// Makes an outcome of what a check came to.
fn outcome(
    check: &'static Check,
    bench: &Bench,
    found: Result<Finding, Trouble>,
    took: Duration,
) -> Outcome {
    let (verdict, found) = judged(found, check.level);
    Outcome {
        check: check.id.to_owned(),
        group: check.group,
        duties: check.duties.to_vec(),
        level: check.level,
        revision: Some(bench.revision),
        question: check.question.to_owned(),
        verdict,
        known: false,
        found,
        sent: bench.trace.sent(),
        came: bench.trace.received(),
        reproduce: bench.trace.reproduce(&bench.target),
        took_ms: milliseconds(took),
    }
}

/// A server that dies or hangs fails, whatever the check's level is.
pub(crate) fn judged(found: Result<Finding, Trouble>, level: Level) -> (Verdict, String) {
    match found {
        Ok(finding) => (finding.verdict(level), finding.into_text()),
        // It has started before, so this says more about the machine than about the server.
        Err(trouble @ (Trouble::TimeIsUp | Trouble::SlowStart(_))) => {
            (Verdict::NotTestable, trouble.to_string())
        }
        Err(trouble @ Trouble::LoginNeeded(_)) => (Verdict::NotTestable, trouble.to_string()),
        Err(trouble) => (Verdict::Fail, trouble.to_string()),
    }
}

type Done = (&'static Check, Bench, Result<Finding, Trouble>, Duration);

async fn run_era<T: Fn(&Outcome)>(bench: &Bench, peer: Peer, collected: &mut Collected<'_, T>) {
    // How a process ends does not depend on what it spoke.
    let is_second = bench.revision.era() == Era::Modern && bench.spoken.legacy;
    let applies = |check: &&'static Check| {
        check.applies_to(bench.revision)
            && !(is_second && check.group == Group::Ending)
            && collected.options.wants(check)
            && match check.over {
                Over::Any => true,
                Over::Stdio => matches!(bench.target, Target::Stdio(_)),
                Over::Http => bench.is_http(),
                Over::Sse => matches!(bench.target, Target::Sse(_)),
            }
    };
    let wanted: Vec<&'static Check> = checks::all()
        .filter(|check| check.id != "start.opens")
        .filter(applies)
        .collect();
    let alone = run_alone(&wanted, bench);
    let shared = run_shared(&wanted, bench, peer);
    let (alone, shared) = tokio::join!(alone, shared);
    let mut done: BTreeMap<&str, Outcome> = BTreeMap::new();
    for (check, bench, found, took) in alone.into_iter().chain(shared) {
        done.insert(check.id, outcome(check, &bench, found, took));
    }
    for check in wanted {
        let outcome = match done.remove(check.id) {
            Some(outcome) => outcome,
            None => watched(check, bench),
        };
        collected.add(outcome);
    }
}

/// A server that wants a login is asked what can be asked without one.
async fn run_refused<T: Fn(&Outcome)>(bench: &Bench, collected: &mut Collected<'_, T>) {
    let is_wanted = |check: &&'static Check| {
        check.group == Group::Authorization
            && bench.is_http()
            && check.applies_to(bench.revision)
            && collected.options.wants(check)
    };
    let wanted: Vec<&'static Check> = checks::all().filter(is_wanted).collect();
    let mut done = run_alone(&wanted, bench).await;
    done.sort_by_key(|(check, ..)| wanted.iter().position(|it| it.id == check.id));
    for (check, bench, found, took) in done {
        collected.add(outcome(check, &bench, found, took));
    }
}

async fn run_alone(wanted: &[&'static Check], bench: &Bench) -> Vec<Done> {
    let mut waiting = wanted.iter().copied();
    let mut running: JoinSet<Done> = JoinSet::new();
    let mut done = Vec::new();
    loop {
        while running.len() < BESIDE
            && let Some(check) = waiting.next()
        {
            let How::Alone(run) = check.how else { continue };
            let bench = bench.for_check();
            running.spawn(async move {
                let begun = Instant::now();
                let found = match bench.check_time() {
                    Ok(()) => within_limit(run(&bench)).await,
                    Err(trouble) => Err(trouble),
                };
                (check, bench, found, begun.elapsed())
            });
        }
        match running.join_next().await {
            None => return done,
            Some(Ok(one)) => done.push(one),
            // A check that panicked is our own fault; its row says so by being not testable.
            Some(Err(_)) => {}
        }
    }
}

async fn run_shared(wanted: &[&'static Check], bench: &Bench, peer: Peer) -> Vec<Done> {
    let mut peer = Some(peer);
    let mut failed_openings = 0;
    let mut done = Vec::new();
    for check in wanted.iter().copied() {
        let How::Shared(run) = check.how else {
            continue;
        };
        let bench = bench.for_check();
        let begun = Instant::now();
        if peer.is_none() && failed_openings < MOST_FAILED_OPENINGS {
            match Peer::open(&bench, Opening::Whole).await {
                Ok(opened) => {
                    failed_openings = 0;
                    peer = Some(opened);
                }
                Err(trouble) => {
                    failed_openings += 1;
                    let text = format!("it did not start again: {trouble}");
                    done.push((check, bench, Ok(not_testable(text)), begun.elapsed()));
                    continue;
                }
            }
        }
        let Some(open) = &mut peer else {
            let text = "the server does not start any more";
            done.push((check, bench, Ok(not_testable(text)), begun.elapsed()));
            continue;
        };
        open.begin(bench.trace.clone());
        let found = match bench.check_time() {
            Ok(()) => within_limit(run(open, &bench)).await,
            Err(trouble) => Err(trouble),
        };
        if matches!(found, Err(ref trouble) if !matches!(trouble, Trouble::TimeIsUp)) {
            peer = None;
        }
        done.push((check, bench, found, begun.elapsed()));
    }
    done
}

async fn within_limit(running: crate::check::Running<'_>) -> Result<Finding, Trouble> {
    match tokio::time::timeout(CHECK_LIMIT, running).await {
        Ok(found) => found,
        Err(_) => Ok(not_testable(format!(
            "the check was not over after {} s",
            CHECK_LIMIT.as_secs()
        ))),
    }
}

/// The outcome of a rule about every message.
fn watched(check: &'static Check, bench: &Bench) -> Outcome {
    if !matches!(check.how, How::Watched) {
        let finding = not_testable("the check ended before it came to anything");
        return outcome(check, &bench.for_check(), Ok(finding), Duration::ZERO);
    }
    let bench = bench.for_check();
    let cases = bench.watch.cases(check.id);
    let texts: Vec<String> = cases.iter().map(|case| case.text.clone()).collect();
    let messages = bench.watch.messages();
    let finding = Finding::of(&texts, format!("{messages} messages were looked at"));
    let mut outcome = outcome(check, &bench, Ok(finding), Duration::ZERO);
    if let Some(case) = cases.first() {
        outcome.reproduce.clone_from(&case.reproduce);
    }
    outcome.came = cases.into_iter().map(|case| case.message).take(5).collect();
    outcome
}
