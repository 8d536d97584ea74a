//! The guardian with real processes: one executable that is the client, the guardian
//! and the runner of the tests.

#![cfg_attr(
    target_os = "linux",
    expect(
        clippy::print_stdout,
        clippy::unwrap_used,
        reason = "everything here is a test"
    )
)]

#[cfg(target_os = "linux")]
mod client_role;
#[cfg(target_os = "linux")]
mod closing;
#[cfg(target_os = "linux")]
mod contents;
#[cfg(target_os = "linux")]
mod scan;
#[cfg(target_os = "linux")]
mod sudden_death;
#[cfg(target_os = "linux")]
mod upkeep;

use std::process::ExitCode;

use attache_testkit::harness;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    attache_process::guardian::enable();
    if std::env::args()
        .nth(1)
        .is_some_and(|role| role == client_role::CLIENT_ARGUMENT)
    {
        client_role::run();
        return ExitCode::SUCCESS;
    }
    harness::run(&harness::tests![
        closing::fault_01_a_server_that_obeys_eof_ends_by_itself,
        closing::fault_01_a_server_that_obeys_term_ends_by_it,
        closing::fault_01_a_stopped_server_is_woken_to_end,
        closing::fault_03_a_launcher_that_exits_leaves_nothing,
        closing::fault_04_grandchildren_that_left_are_closed_too,
        closing::fault_05_a_server_that_ignores_everything_is_killed_at_the_deadline,
        closing::kill_takes_the_tree_down_at_once,
        closing::a_tree_that_keeps_forking_is_caught,
        closing::a_close_that_nobody_awaits_runs_to_its_end,
        closing::fault_01_a_close_that_is_left_behind_still_lets_the_server_finish,
        closing::fault_01_a_close_that_is_left_behind_ends_within_two_seconds,
        closing::a_dropped_server_goes_down_without_a_runtime,
        closing::a_dropped_start_leaves_nothing,
        contents::fault_13_failures_to_start_are_typed_and_say_what_was_tried,
        contents::fault_13_a_guardian_that_is_none_is_named,
        contents::fault_28_writing_to_a_server_that_ended_is_an_error,
        contents::s12_a_server_inherits_its_three_streams_and_nothing_else,
        contents::the_guardian_holds_none_of_the_pipes,
        contents::arguments_and_variables_need_not_be_utf_8,
        contents::a_large_environment_arrives_whole,
        contents::signals_the_client_had_ignored_do_not_blind_the_guardian,
        contents::signals_the_client_had_blocked_or_ignored_reach_the_server,
        sudden_death::fault_02_p2_nothing_survives_a_client_that_is_killed_outright,
        sudden_death::fault_02_a_copy_of_the_socket_does_not_keep_the_tree_alive,
        sudden_death::fault_11_a_client_stopped_during_start_leaves_nothing,
        sudden_death::fault_11_signals_to_everyone_do_not_stop_the_guardian,
        sudden_death::a_guardian_that_is_killed_takes_the_server_with_it,
        upkeep::fault_06_a_child_that_exits_is_reaped,
        upkeep::fault_06_orphans_are_reaped_while_the_server_runs,
        upkeep::fault_08_servers_that_are_dropped_free_everything,
        upkeep::fault_09_a_thousand_cycles_leave_nothing_behind,
        upkeep::every_waiter_learns_the_same,
        upkeep::the_guardian_stays_small,
    ])
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    harness::run(&harness::tests![])
}
