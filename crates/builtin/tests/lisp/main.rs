//! The evaluator with real workers: one executable that is the server's side, the worker and the
//! runner of the tests.

#![expect(clippy::unwrap_used, reason = "everything here is a test")]

mod attacks;
mod callers;
mod evaluation;
mod limits;
#[cfg(target_os = "linux")]
mod misbehaviour;
#[cfg(target_os = "linux")]
mod processes;
mod sessions;
mod support;

use std::process::ExitCode;

use attache_testkit::harness;

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    misbehaviour::play_role();
    attache_builtin::lisp::enable();
    #[cfg(target_os = "linux")]
    processes::play_role();
    let portable = harness::tests![
        evaluation::values_and_output_come_back,
        evaluation::every_kind_of_failure_has_its_name_and_place,
        evaluation::the_same_program_gives_the_same_answer,
        evaluation::long_runs_tell_their_progress,
        evaluation::many_at_once_are_all_answered,
        limits::every_limit_at_its_edge,
        limits::a_limit_cannot_be_raised,
        limits::the_wall_limit_ends_what_is_left,
        limits::a_message_is_cut_to_the_limit_of_output,
        attacks::attacks_end_in_their_limit_and_the_server_lives,
        sessions::definitions_stay_under_a_name,
        sessions::the_oldest_session_is_dropped,
        sessions::an_idle_session_ends_its_process_and_says_so,
        sessions::a_flood_of_sessions_costs_its_owner_only,
        sessions::slow_work_of_one_owner_delays_no_other,
        sessions::a_session_takes_one_program_at_a_time,
        sessions::a_cancelled_evaluation_keeps_its_session,
        sessions::one_hundred_definitions_at_a_time,
        callers::over_http_a_session_belongs_to_who_asks_and_outlives_connections,
    ];
    #[cfg(target_os = "linux")]
    let of_linux = harness::tests![
        misbehaviour::a_worker_that_cannot_start_is_reported,
        misbehaviour::a_worker_that_aborts_is_a_defect,
        misbehaviour::a_worker_that_overflows_its_stack_is_a_defect,
        misbehaviour::a_worker_that_exits_early_says_its_last_words,
        misbehaviour::a_worker_that_never_answers_is_killed_at_the_wall,
        misbehaviour::a_worker_that_ignores_a_cancellation_is_killed,
        misbehaviour::a_worker_that_talks_nonsense_is_replaced,
        misbehaviour::a_worker_without_memory_is_a_memory_error,
        processes::a_killed_session_worker_loses_its_session_and_says_so,
        processes::a_worker_killed_at_work_is_reported,
        processes::a_killed_spare_worker_is_not_noticed,
        processes::workers_are_reused_and_bounded,
        processes::workers_are_confined,
        processes::no_worker_outlives_a_server_that_is_killed,
        processes::no_worker_outlives_its_evaluator,
    ];
    #[cfg(not(target_os = "linux"))]
    let of_linux: [harness::Test; 0] = [];
    harness::run(&[&portable[..], &of_linux].concat())
}
