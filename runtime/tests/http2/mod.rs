//! One list of cases for the streaming transport, run by each runtime's crate on its own sockets.
//!
//! The server is the crate `h2`'s, on a thread of its own, and does what a case says.

pub(crate) mod calls;
pub(crate) mod connections;
pub(crate) mod google;
pub(crate) mod server;
pub(crate) mod streams;
pub(crate) mod support;
pub(crate) mod tls;
pub(crate) mod windows;

/// A test of each case, with `$connector`, run by `$run`.
macro_rules! cases {
    ($connector:ty, $run:path) => {
        $crate::http2::cases! {
            $connector, $run,
            calls: brings_head_body_and_trailers;
            calls: sends_what_it_is_given_and_nothing_else;
            calls: an_error_from_the_start_is_all_head;
            calls: a_megabyte_of_headers_is_taken;
            calls: headers_without_end_are_a_failure_of_the_call;
            calls: a_reset_is_a_broken_connection;
            calls: an_answer_before_the_request_was_read_is_an_answer;
            calls: a_large_request_arrives_whole;
            calls: a_body_over_the_limit;
            calls: no_answer_in_time;
            calls: one_that_is_dropped_is_reset;
            calls: needs_an_absolute_url;
            streams: heads_come_with_the_first_message;
            streams: a_closed_uplink_ends_with_trailers;
            streams: a_dropped_uplink_is_closed;
            streams: an_error_from_the_start_ends_the_uplink;
            streams: a_reset_ends_both_sides;
            streams: a_dropped_downlink_resets_it;
            streams: a_dropped_downlink_resets_it_while_the_uplink_is_stuck;
            windows: a_server_that_is_faster_has_to_wait;
            windows: a_client_that_is_faster_has_to_wait;
            windows: calls_pass_streams_that_nobody_reads;
            connections: callers_share_the_first_one;
            connections: one_that_goes_away_is_replaced;
            connections: one_that_is_cut_is_replaced;
            connections: what_is_on_one_that_broke_fails;
            connections: no_more_streams_than_the_server_allows;
            connections: one_without_a_word_is_replaced_after_a_timeout;
            connections: one_that_talks_is_kept_after_a_timeout;
            connections: an_idle_one_is_closed;
            connections: streams_outlive_their_client;
            connections: a_refused_one_says_so;
            connections: one_that_is_not_http2_says_so;
            connections: one_that_says_nothing_is_given_up;
            connections: who_has_more_time_tries_another;
            connections: a_storm_passes;
            connections: a_name_that_does_not_resolve_says_so;
            tls: http2_over_tls;
            tls: a_certificate_that_nobody_vouches_for;
            tls: a_server_without_alpn;
            tls: a_server_that_chooses_another_protocol;
            google: publish_and_pull_on_a_stream;
        }
    };
    ($connector:ty, $run:path, $($group:ident: $case:ident;)*) => {
        $(
            #[test]
            fn $case() {
                $run(http2::$group::$case::<$connector>());
            }
        )*
    };
}
pub(crate) use cases;
