//! The machine as a table: what happens, when, and what it answers.

use std::time::Duration;

use super::*;

const TRY_AGAIN: MachineEvent = MachineEvent::Failed(Remedy::TryAgain { processes: 1 });

/// A machine and a clock that only the test moves.
struct Life {
    machine: Machine,
    now: Instant,
}

impl Life {
    fn new() -> Self {
        Self::with(Restart::default(), 42)
    }

    fn with(limits: Restart, seed: u64) -> Self {
        Self {
            machine: Machine::new(limits, fastrand::Rng::with_seed(seed)),
            now: Instant::now(),
        }
    }

    fn happens(&mut self, what: MachineEvent) -> Action {
        self.machine.happened(what, self.now)
    }

    fn passes(&mut self, time: Duration) {
        self.now += time;
    }

    /// Lets a pause pass and gives its length.
    fn waits(&mut self, action: Action) -> Duration {
        let Action::Pause { until } = action else {
            panic!("expected a pause, got {action:?}");
        };
        let pause = until - self.now;
        self.now = until;
        assert_eq!(self.happens(MachineEvent::PauseOver), Action::Start);
        pause
    }

    fn ready(mut self) -> Self {
        assert_eq!(self.happens(MachineEvent::Wanted), Action::Start);
        assert_eq!(self.happens(MachineEvent::Started), Action::Rest);
        self
    }
}

#[test]
fn fault_15_many_wishes_are_one_start() {
    let mut life = Life::new();
    assert_eq!(life.happens(MachineEvent::Wanted), Action::Start);
    for _ in 0..1000 {
        assert_eq!(life.happens(MachineEvent::Wanted), Action::Rest);
    }
    life.happens(MachineEvent::Started);
    assert_eq!(life.happens(MachineEvent::Wanted), Action::Rest);
    assert_eq!(life.machine.starts(), 1);
}

#[test]
fn promise_3_a_server_that_crashes_at_once_is_started_five_times_and_parked() {
    for seed in 0..200 {
        let mut life = Life::with(Restart::default(), seed);
        let began = life.now;
        life.happens(MachineEvent::Wanted);
        let mut bound = Duration::from_millis(100);
        for start in 2..=5 {
            let action = life.happens(TRY_AGAIN);
            let pause = life.waits(action);
            assert!(pause <= bound, "{pause:?} before start {start}");
            bound *= 2;
        }
        assert_eq!(life.happens(TRY_AGAIN), Action::Rest);
        assert_eq!(life.machine.phase(), Phase::Parked);
        assert_eq!(life.machine.starts(), 5);
        assert!(life.now - began < Duration::from_secs(60));
        // Nobody but a person wakes it up.
        life.passes(Duration::from_secs(3600));
        assert_eq!(life.happens(MachineEvent::Wanted), Action::Rest);
        assert_eq!(life.happens(MachineEvent::PauseOver), Action::Rest);
        assert_eq!(life.happens(MachineEvent::RestartAsked), Action::Start);
    }
}

#[test]
fn promise_3_no_minute_ever_sees_more_than_five_starts() {
    for seed in 0..50 {
        let mut life = Life::with(Restart::default(), seed);
        let mut random = fastrand::Rng::with_seed(seed);
        let mut starts = vec![life.now];
        life.happens(MachineEvent::Wanted);
        for _ in 0..300 {
            // It runs for up to 40 s before it fails, or never comes up at all.
            if random.u8(..3) > 0 {
                life.happens(MachineEvent::Started);
                life.passes(Duration::from_millis(random.u64(..40_000)));
            }
            match life.happens(TRY_AGAIN) {
                Action::Pause { until } => {
                    life.now = until;
                    life.happens(MachineEvent::PauseOver);
                    starts.push(life.now);
                }
                other => {
                    assert_eq!(other, Action::Rest);
                    break;
                }
            }
        }
        for window in starts.windows(6) {
            assert!(window[5] - window[0] >= Duration::from_secs(60), "{seed}");
        }
    }
}

#[test]
fn promise_3_thirty_healthy_seconds_forgive_and_less_do_not() {
    for (healthy, bound) in [(29_999, 200), (30_000, 100)] {
        let mut seen = Duration::ZERO;
        for seed in 0..100 {
            let mut life = Life::with(Restart::default(), seed).ready();
            let action = life.happens(TRY_AGAIN);
            life.waits(action);
            life.happens(MachineEvent::Started);
            life.passes(Duration::from_millis(healthy));
            let action = life.happens(TRY_AGAIN);
            seen = seen.max(life.waits(action));
        }
        let bound = Duration::from_millis(bound);
        assert!(seen <= bound && seen > bound.mul_f64(0.8), "{seen:?}");
    }
}

#[test]
fn fault_13_what_a_restart_cannot_mend_parks_at_once() {
    let mut life = Life::new();
    life.happens(MachineEvent::Wanted);
    let hopeless = MachineEvent::Failed(Remedy::NeedsAPerson);
    assert_eq!(life.happens(hopeless), Action::Rest);
    assert_eq!(life.machine.phase(), Phase::Parked);
    assert_eq!(life.machine.starts(), 1);
}

#[test]
fn fault_7_a_stop_ends_every_phase() {
    type Prepare = fn(&mut Life);
    let at_every_phase: [(&str, Prepare); 5] = [
        ("configured", |_| {}),
        ("starting", |life| {
            life.happens(MachineEvent::Wanted);
        }),
        ("ready", |life| {
            life.happens(MachineEvent::Wanted);
            life.happens(MachineEvent::Started);
        }),
        ("backing off", |life| {
            life.happens(MachineEvent::Wanted);
            life.happens(TRY_AGAIN);
        }),
        ("parked", |life| {
            life.happens(MachineEvent::Wanted);
            life.happens(MachineEvent::Failed(Remedy::NeedsAPerson));
        }),
    ];
    for (name, prepare) in at_every_phase {
        let mut life = Life::new();
        prepare(&mut life);
        assert_eq!(
            life.happens(MachineEvent::StopAsked),
            Action::Stop,
            "{name}"
        );
        // A start that was under way reports too late.
        for late in [MachineEvent::Started, TRY_AGAIN, MachineEvent::PauseOver] {
            assert_eq!(life.happens(late), Action::Rest, "{name}");
        }
        assert_eq!(life.happens(MachineEvent::Gone), Action::Rest, "{name}");
        assert_eq!(life.machine.phase(), Phase::Stopped, "{name}");
        for vain in [MachineEvent::Wanted, MachineEvent::RestartAsked] {
            assert_eq!(life.happens(vain), Action::Rest, "{name}");
        }
    }
}

#[test]
fn a_restart_stops_first_what_runs() {
    let mut life = Life::new().ready();
    assert_eq!(life.happens(MachineEvent::RestartAsked), Action::Stop);
    assert_eq!(life.happens(MachineEvent::Gone), Action::Start);
    // A stop that comes while it restarts has the last word.
    life.happens(MachineEvent::Started);
    assert_eq!(life.happens(MachineEvent::RestartAsked), Action::Stop);
    assert_eq!(life.happens(MachineEvent::StopAsked), Action::Rest);
    assert_eq!(life.happens(MachineEvent::Gone), Action::Rest);
    assert_eq!(life.machine.phase(), Phase::Stopped);
}

#[test]
fn a_timer_that_fires_early_is_set_again() {
    let mut life = Life::new();
    life.happens(MachineEvent::Wanted);
    let pause = life.happens(TRY_AGAIN);
    let Phase::BackingOff { until } = life.machine.phase() else {
        panic!("it should pause: {:?}", life.machine.phase());
    };
    assert!(until > life.now);
    assert_eq!(life.happens(MachineEvent::PauseOver), pause);
    life.waits(pause);
    assert_eq!(life.machine.phase(), Phase::Starting);
}

#[test]
fn a_server_that_is_never_restarted_is_parked_when_it_ends() {
    let never = Restart {
        when: RestartWhen::Never,
        ..Restart::default()
    };
    let mut life = Life::with(never, 1).ready();
    assert_eq!(life.happens(TRY_AGAIN), Action::Rest);
    assert_eq!(life.machine.phase(), Phase::Parked);
}

#[test]
fn promise_3_a_second_process_of_one_start_counts_too() {
    let twice = MachineEvent::Failed(Remedy::TryAgain { processes: 2 });
    let mut life = Life::new();
    life.happens(MachineEvent::Wanted);
    let mut processes = 1;
    loop {
        assert_eq!(life.happens(MachineEvent::StartedAgain), Action::Rest);
        processes += 1;
        match life.happens(twice) {
            Action::Rest => break,
            action => life.waits(action),
        };
        processes += 1;
    }
    // A third start might have been the sixth process.
    assert_eq!(processes, 4);
    assert_eq!(life.machine.phase(), Phase::Parked);
}

#[test]
fn a_server_at_rest_starts_again_when_it_is_wanted() {
    let mut life = Life::new().ready();
    assert_eq!(life.happens(MachineEvent::RestAsked), Action::Stop);
    assert_eq!(life.happens(MachineEvent::Gone), Action::Rest);
    assert_eq!(life.machine.phase(), Phase::Configured);
    assert_eq!(life.happens(MachineEvent::RestAsked), Action::Rest);
    assert_eq!(life.happens(MachineEvent::Wanted), Action::Start);
    // Who wants it while it ends gets it.
    assert_eq!(life.happens(MachineEvent::RestAsked), Action::Stop);
    assert_eq!(life.happens(MachineEvent::Wanted), Action::Rest);
    assert_eq!(life.happens(MachineEvent::Gone), Action::Start);
    // Rest is the end of a restart, and stopping is the end of rest.
    assert_eq!(life.happens(MachineEvent::RestartAsked), Action::Stop);
    assert_eq!(life.happens(MachineEvent::RestAsked), Action::Rest);
    assert_eq!(life.happens(MachineEvent::StopAsked), Action::Rest);
    assert_eq!(life.happens(MachineEvent::RestAsked), Action::Rest);
    assert_eq!(life.happens(MachineEvent::Gone), Action::Rest);
    assert_eq!(life.machine.phase(), Phase::Stopped);
}

#[test]
fn a_parked_server_that_is_put_to_rest_has_another_chance() {
    let mut life = Life::new();
    life.happens(MachineEvent::Wanted);
    life.happens(MachineEvent::Failed(Remedy::NeedsAPerson));
    assert_eq!(life.machine.phase(), Phase::Parked);
    assert_eq!(life.happens(MachineEvent::RestAsked), Action::Stop);
    assert_eq!(life.happens(MachineEvent::Gone), Action::Rest);
    assert_eq!(life.happens(MachineEvent::Wanted), Action::Start);
}
