//! One list of cases for subscriptions, run by each runtime's crate over both wires against the
//! embedded server: what was published is received, and what is said of it reaches Pub/Sub.

pub(crate) mod breaking;
pub(crate) mod endings;
pub(crate) mod giving_back;
pub(crate) mod receiving;
pub(crate) mod support;
pub(crate) mod tokens;

/// A test of each case over each wire, on `$place`, run by `$run`.
macro_rules! cases {
    ($place:ty, $run:path) => {
        $crate::subscribe::cases! {
            $place, $run,
            receiving: each_message_once;
            receiving: exactly_once;
            receiving: keys_keep_their_order;
            receiving: no_more_than_there_is_room_for;
            receiving: a_service_handles_them;
            giving_back: what_is_nacked_comes_again;
            giving_back: what_is_dropped_comes_again;
            giving_back: a_pause_is_held_before;
            breaking: what_is_cut_is_asked_for_again;
            breaking: acks_that_fail_are_sent_again;
            breaking: a_server_that_goes_away;
            endings: closing_gives_back_what_waits;
            endings: a_deadline_ends_what_runs;
            endings: a_dropped_one_closes;
            endings: a_handle_closes;
            endings: one_that_is_not_there_is_given_up;
            endings: a_dropped_driver_tells_who_waits;
            tokens: a_refused_one_is_replaced;
            tokens: one_that_stays_refused_ends_it;
            tokens: a_provider_may_fail_now_and_then;
        }
        $crate::subscribe::cases! {
            @wire grpc Grpc, $place, $run,
            breaking: each_end_of_a_stream;
            receiving: streams_are_told_who_and_how_much;
            receiving: a_silent_stream_is_kept_alive;
        }
        $crate::subscribe::cases! {
            @wire rest Rest, $place, $run,
            receiving: what_cannot_be_read_is_counted;
        }
        #[test]
        fn a_client_has_to_fit_the_wire() {
            $run($crate::subscribe::endings::a_client_has_to_fit_the_wire::<$place>());
        }
    };
    ($place:ty, $run:path, $($module:ident: $case:ident;)*) => {
        mod over_grpc {
            use super::*;
            $(#[test] fn $case() {
                $run($crate::subscribe::$module::$case::<$place>(Wire::Grpc));
            })*
        }
        mod over_rest {
            use super::*;
            $(#[test] fn $case() {
                $run($crate::subscribe::$module::$case::<$place>(Wire::Rest));
            })*
        }
    };
    (@wire $name:ident $wire:ident, $place:ty, $run:path, $($module:ident: $case:ident;)*) => {
        mod $name {
            use super::*;
            $(#[test] fn $case() {
                $run($crate::subscribe::$module::$case::<$place>(Wire::$wire));
            })*
        }
    };
}

pub(crate) use cases;
