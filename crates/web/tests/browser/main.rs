//! The page in a real browser: everything a person does on it, and what an attacker would.
//!
//! One Chromium serves all tests, one after the other, and ends with them.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "everything here is a test")]
#![expect(clippy::print_stderr, reason = "figures of a run are for the eye")]

mod asking;
mod driver;
mod filling;
mod keyboard;
mod large;
mod looks;
mod losing;
mod opening;
mod refusing;
mod running;
mod world;

use std::process::ExitCode;

use attache_testkit::harness;

fn main() -> ExitCode {
    let tests = harness::tests![
        opening::the_link_opens_the_page_and_the_token_leaves_the_address,
        opening::a_page_without_its_token_says_what_to_run,
        opening::the_page_is_small_and_needs_few_requests,
        opening::s1_the_address_that_a_browser_is_started_with_opens_the_page_once,
        opening::a_dozen_tabs_are_all_usable,
        filling::every_kind_of_widget_fills_the_arguments_exactly,
        filling::form_and_json_edit_one_value_and_a_wrong_one_is_sent_only_on_purpose,
        running::progress_moves_and_the_result_is_drawn,
        running::a_cancelled_call_is_told_to_the_server,
        running::every_kind_of_ending_has_its_words,
        asking::a_form_is_answered_in_a_second_tab_and_gone_in_the_first,
        asking::an_approval_shows_what_would_be_called,
        asking::s4_a_changed_definition_is_shown_side_by_side_before_it_is_used,
        asking::a_page_outside_is_opened_only_by_a_click_and_a_model_can_be_answered_for,
        losing::a_killed_server_is_seen_and_comes_back,
        losing::events_resume_after_a_cut_without_loss_or_repetition,
        losing::a_lost_console_is_said_and_a_new_one_needs_its_own_link,
        keyboard::a_tool_is_found_filled_and_run_without_a_mouse,
        looks::all_views_are_accessible_in_both_themes_and_widths,
        refusing::s1_s2_strangers_in_the_browser_are_refused,
        refusing::s13_text_of_a_server_is_only_text,
        large::ten_thousand_tools_are_drawn_and_filtered_by_screenfuls,
        large::a_hundred_thousand_log_lines_take_no_more_memory_and_none_is_lost_untold,
    ];
    let listed = std::env::args().any(|argument| argument == "--list");
    if !listed {
        world::begin();
    }
    let verdict = harness::run(&tests);
    world::end();
    verdict
}
