//! One list of cases for every journal: what each call does.

#![allow(clippy::unwrap_used, clippy::panic, reason = "they fail the test")]

mod check_ins;
#[path = "../common/mod.rs"]
mod common;
mod dead;
mod lanes;
mod limits;
mod replays;
mod rows;

use pubsink_core::journal::TableLimits;
use pubsink_journal::{DiskJournal, DiskOptions};
use pubsink_runtime::journal::{Journal, MemoryJournal};

use common::Dir;

/// A journal, and how it comes back after a restart.
trait Subject: Sized {
    type Journal: Journal;

    fn with(limits: TableLimits) -> Self;

    fn journal(&self) -> &Self::Journal;

    fn restart(self) -> Self;

    fn new() -> Self {
        Self::with(TableLimits::MEMORY)
    }
}

struct Memory(MemoryJournal);

impl Subject for Memory {
    type Journal = MemoryJournal;

    fn with(limits: TableLimits) -> Self {
        Self(MemoryJournal::new(limits))
    }

    fn journal(&self) -> &MemoryJournal {
        &self.0
    }

    fn restart(self) -> Self {
        self.0.begin();
        self
    }
}

struct Disk(DiskJournal, DiskOptions, Dir);

impl Disk {
    fn open(options: DiskOptions, dir: Dir) -> Self {
        Self(
            DiskJournal::open(dir.path(), options).unwrap(),
            options,
            dir,
        )
    }
}

impl Subject for Disk {
    type Journal = DiskJournal;

    fn with(limits: TableLimits) -> Self {
        let options = DiskOptions {
            max_rows: limits.rows,
            max_bytes: limits.bytes,
            ..DiskOptions::default()
        };
        Self::open(options, Dir::new())
    }

    fn journal(&self) -> &DiskJournal {
        &self.0
    }

    fn restart(self) -> Self {
        let Self(journal, options, dir) = self;
        drop(journal);
        Self::open(options, dir)
    }
}

macro_rules! cases {
    ($($module:ident: $($case:ident)*;)*) => {
        mod memory {
            $(mod $module {
                $(#[test] fn $case() {
                    smol::block_on(crate::$module::$case(<crate::Memory as crate::Subject>::new()));
                })*
            })*
        }
        mod disk {
            $(mod $module {
                $(#[test] fn $case() {
                    smol::block_on(crate::$module::$case(<crate::Disk as crate::Subject>::new()));
                })*
            })*
        }
    };
}

cases! {
    rows: a_row_comes_back_as_it_was_enqueued rows_come_by_when_they_are_due
        nothing_is_given_out_before_it_is_due a_claim_keeps_to_its_windows
        the_first_row_may_be_oversize a_released_row_is_due_as_it_was
        a_retried_row_waits_and_remembers a_row_is_recorded_once records_are_kept_all_or_none
        a_restart_forgets_claims_and_nothing_else
        a_dispatcher_begins_with_nothing_claimed a_hook_for_nobody_is_stored_nowhere;
    lanes: rows_of_a_key_go_one_at_a_time_and_in_order a_retried_row_keeps_its_place_in_its_key
        a_lane_stops_with_its_dead_letter_and_goes_on lanes_are_told_by_when_they_are_due
        lanes_without_a_row_to_give_are_not_told;
    dead: a_dead_letter_carries_everything filters_choose letters_come_in_pages
        discarded_letters_are_gone one_of_two_rows_dies;
    limits: rows_are_counted_over_restarts bytes_are_counted_over_restarts
        a_known_hook_needs_no_room a_name_is_known a_name_follows_its_rows
        one_call_may_bring_a_name_twice;
    replays: letters_are_sent_again a_job_means_the_letters_that_were_there
        a_filter_passes_over_others a_job_can_be_paused_and_pauses_itself
        jobs_are_known_by_their_ids what_a_replay_became_is_counted_over_restarts;
    check_ins: a_row_waits_for_its_check_in_after_a_restart
        what_one_row_learns_every_row_of_its_hook_knows a_row_that_is_tried_again_knows_it
        the_ref_a_hook_came_with_stays dead_letters_and_replays_know_it;
}
