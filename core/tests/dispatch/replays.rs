//! Dead letters are sent again.

use std::time::Duration;

use pubsink_core::dispatch::DispatchOptions;
use pubsink_core::failure::Class;
use pubsink_core::journal::{Filter, ReplayJob, ReplayState};

use crate::sim::{Sim, fails, ms, ok, sink};

/// A journal with 1,000 dead letters of two sources, and a sink that is mended at `mended`.
fn dead(mended: Duration) -> Sim {
    let script = Box::new(move |at: Duration, _: &str, _: &str, _| {
        (
            ms(1),
            if at < mended {
                fails(Class::Config)
            } else {
                ok()
            },
        )
    });
    let mut sim = Sim::new(DispatchOptions::default(), vec![sink("a")], script);
    for n in 0..1_000 {
        let source = if n % 4 == 0 { "some" } else { "others" };
        sim.enqueue(&n.to_string(), source);
    }
    sim.run_until(ms(10_000));
    assert_eq!(sim.table.dead_len(), 1_000);
    sim.seen.attempts.clear();
    sim
}

fn job(filter: Filter) -> ReplayJob {
    ReplayJob::new("again", filter)
}

#[test]
fn those_meant_go_out_at_the_rate_with_the_replay_id() {
    let mut sim = dead(ms(10_000));
    let filter = Filter {
        source: Some("some".into()),
        ..Filter::default()
    };
    sim.replay(job(filter));
    sim.run();
    assert_eq!((sim.seen.attempts.len(), sim.table.dead_len()), (250, 750));
    // 50 a second.
    let (first, last) = (sim.seen.attempts[0].0, sim.seen.attempts[249].0);
    let took = last - first;
    assert!(took >= ms(4_800) && took <= ms(5_100), "{took:?}");
    let replayed = sim
        .seen
        .settled
        .iter()
        .filter(|s| s.row.replay_id.as_deref() == Some("again"));
    assert_eq!(replayed.count(), 250);
    let done = &sim.table.replays()[0];
    assert_eq!(done.state, ReplayState::Done);
    assert_eq!((done.progress.sent, done.progress.delivered), (250, 250));
    assert!(done.is_settled());
    assert_eq!(sim.seen.replays.last().unwrap().state, ReplayState::Done);
}

#[test]
fn a_job_whose_messages_keep_dying_pauses_itself_and_goes_on_when_it_is_told() {
    let mut sim = dead(ms(100_000));
    sim.replay(job(Filter::default()));
    sim.run_until(ms(90_000));
    let paused = sim.table.replays()[0].clone();
    assert_eq!(paused.state, ReplayState::Failing);
    // 20 deaths in a row, and what was on its way by then.
    assert!((20..=30).contains(&paused.progress.died), "{paused:?}");
    assert_eq!(sim.seen.replays.last().unwrap().state, ReplayState::Failing);
    assert_eq!(
        sim.table.dead_len(),
        1_000,
        "those that died again are dead letters again"
    );

    sim.run_until(ms(110_000));
    let job = sim.table.set_replay(&"again".into(), true).unwrap();
    sim.input(pubsink_core::dispatch::DispatchInput::Replay(job));
    sim.run();
    let done = &sim.table.replays()[0];
    assert_eq!(done.state, ReplayState::Done);
    // Not those it had made itself: it would never end.
    assert_eq!(sim.table.dead_len() as u64, paused.progress.died);
    assert_eq!(done.progress.sent, 1_000);
}

#[test]
fn a_restart_goes_on_where_it_was() {
    let mut sim = dead(ms(10_000));
    sim.replay(job(Filter::default()));
    sim.run_until(ms(15_000));
    let sent = sim.table.replays()[0].progress.sent;
    assert!((230..=270).contains(&sent), "{sent}");
    let mut table = sim.table;
    table.forget_claims();
    let script = Box::new(|_, _: &str, _: &str, _| (ms(1), ok()));
    let mut sim = Sim::over(
        table,
        DispatchOptions::default(),
        vec![sink("a")],
        script,
        3,
    );
    sim.run();
    let job = &sim.table.replays()[0];
    assert_eq!((job.state, job.progress.sent), (ReplayState::Done, 1_000));
    assert!(job.is_settled() && sim.table.is_empty() && sim.table.dead_len() == 0);
}

#[test]
fn a_journal_that_fails_is_asked_again() {
    let mut sim = dead(ms(10_000));
    sim.faults = Box::new(|at, what| what == "replay" && at < ms(12_500));
    sim.replay(job(Filter::default()));
    sim.run();
    assert_eq!(sim.table.replays()[0].progress.delivered, 1_000);
    assert!(
        sim.seen.journal_errors.len() < 6,
        "{:?}",
        sim.seen.journal_errors
    );
}

#[test]
fn a_fast_job_pauses_itself_before_all_of_it_is_dead_again() {
    let mut sim = dead(ms(1_000_000));
    let mut fast = job(Filter::default());
    fast.per_second = 100_000;
    sim.replay(fast);
    sim.run_until(ms(60_000));
    let paused = &sim.table.replays()[0];
    assert_eq!(paused.state, ReplayState::Failing);
    assert!(paused.progress.sent <= 200, "{paused:?}");
}

#[test]
fn a_job_for_a_sink_that_is_gone_is_left_alone() {
    let mut sim = dead(ms(10_000));
    let filter = Filter {
        sink: Some("gone".into()),
        ..Filter::default()
    };
    sim.replay(job(filter));
    sim.run();
    assert_eq!(sim.seen.unknown_sinks, ["gone"]);
    assert_eq!((sim.table.dead_len(), sim.table.len()), (1_000, 0));
}
