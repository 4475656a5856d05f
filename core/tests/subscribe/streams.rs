//! The life of streams.

use pubsink_core::subscribe::{CallClass, CallFailure, SubscribeEvent, SubscribeWait, Wire};
use pubsink_core::token::Token;

use crate::network::{Fate, What, but, fails, ms, secs};
use crate::sim::{Sim, acks_after, options};

fn opened(sim: &Sim) -> Vec<std::time::Duration> {
    sim.seen.opened.iter().map(|opened| opened.0).collect()
}

#[test]
fn a_stream_that_had_brought_something_is_opened_again_at_once_and_nothing_is_lost() {
    let mut sim = Sim::new(options().extension_min(secs(10)), acks_after(secs(30)));
    sim.publish("m", 20);
    for at in [5, 10, 15] {
        sim.later(secs(at), |sim| {
            sim.server
                .publish(&format!("late{}", sim.at().as_secs()), "", 10);
        });
        sim.later(secs(at) + ms(500), |sim| {
            sim.cut(&fails(CallClass::Transient));
        });
    }
    sim.run_until(secs(100));
    let opened = opened(&sim);
    assert_eq!(opened.len(), 4);
    for (opened, cut) in opened[1..].iter().zip([5, 10, 15]) {
        assert!(*opened <= secs(cut) + ms(600), "{opened:?}");
    }
    assert_eq!((sim.server.left(), sim.server.lapsed.len()), (0, 0));
    assert_eq!(sim.seen.handled.len(), 23);
    let told = sim.seen.events.iter();
    let opened = told.filter(|(_, event)| matches!(event, SubscribeEvent::StreamOpened(_)));
    // The last one has nothing to bring.
    assert_eq!(opened.count(), 3);
}

#[test]
fn streams_that_bring_nothing_are_opened_after_pauses_that_double() {
    let mut sim = Sim::new(options(), acks_after(ms(1)));
    sim.network = but(What::Stream, |_| {
        Fate::Fails(ms(0), fails(CallClass::Transient))
    });
    sim.run_until(secs(600));
    let opened = opened(&sim);
    let pauses: Vec<_> = opened.windows(2).map(|pair| pair[1] - pair[0]).collect();
    for (pause, whole) in pauses
        .iter()
        .zip([100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600])
    {
        assert!(*pause >= ms(whole / 2) && *pause <= ms(whole), "{pause:?}");
    }
    assert!(
        pauses[10..]
            .iter()
            .all(|pause| *pause >= secs(30) && *pause <= secs(60))
    );
    // A pause that is asked for is granted.
    let failure = fails(CallClass::Throttled(Some(secs(100))));
    sim.network = but(What::Stream, move |_| Fate::Fails(ms(0), failure.clone()));
    sim.run_until(secs(2_000));
    let last = sim.seen.opened.len() - 1;
    let pause = sim.seen.opened[last].0 - sim.seen.opened[last - 1].0;
    assert!(pause >= secs(100), "{pause:?}");
}

#[test]
fn a_server_that_ends_streams_at_once_is_not_asked_in_a_loop() {
    let mut sim = Sim::new(options(), acks_after(ms(1)));
    sim.heartbeat = Some(ms(1));
    // It says a word, and hangs up.
    sim.network = but(What::Stream, |_| Fate::Served(ms(1)));
    for at in 0..6_000 {
        sim.later(ms(at * 10), |sim| sim.cut(&fails(CallClass::Transient)));
    }
    sim.run_until(secs(60));
    assert!(opened(&sim).len() < 30, "{}", opened(&sim).len());
}

#[test]
fn a_stream_is_kept_alive() {
    let mut sim = Sim::new(options(), acks_after(ms(1)));
    sim.run_until(secs(100));
    assert_eq!(sim.seen.pinged, [secs(30), secs(60), secs(90)]);
}

#[test]
fn a_stream_that_falls_silent_is_half_closed_and_another_opened() {
    for ends in [true, false] {
        let mut sim = Sim::new(options(), acks_after(ms(1)));
        sim.heartbeat = Some(secs(20));
        sim.ends = ends;
        sim.later(secs(50), Sim::freeze);
        sim.publish("m", 1);
        sim.run_until(secs(300));
        // The last heartbeat was at 40 s.
        let half_closed: Vec<_> = sim.seen.half_closed.iter().map(|h| h.0.as_secs()).collect();
        assert_eq!(half_closed, [130]);
        assert_eq!(opened(&sim)[1].as_secs(), 130);
        let dropped: Vec<_> = sim.seen.dropped.iter().map(|d| d.0.as_secs()).collect();
        let expected: &[u64] = if ends { &[] } else { &[140] };
        assert_eq!(dropped, expected);
        assert_eq!(sim.machine.gauges().streams, 1);
    }
}

#[test]
fn where_there_are_no_heartbeats_silence_says_nothing() {
    let mut sim = Sim::new(options(), acks_after(ms(1)));
    sim.publish("m", 1);
    sim.run_until(secs(3_600));
    assert_eq!((sim.seen.half_closed.len(), opened(&sim).len()), (0, 1));
}

#[test]
fn a_stream_is_not_blamed_for_a_silence_of_our_own() {
    let options = options().max_outstanding(1).handlers(1);
    let mut sim = Sim::new(options, acks_after(secs(400)));
    sim.heartbeat = Some(secs(20));
    sim.later(secs(50), |sim| sim.publish("m", 1));
    // At 450 s its handler is done, and what the server said meanwhile is read.
    sim.run_until(secs(600));
    assert_eq!((sim.seen.half_closed.len(), sim.server.left()), (0, 0));
}

#[test]
fn where_there_were_heartbeats_a_stream_that_never_says_a_word_is_replaced() {
    let mut sim = Sim::new(options(), acks_after(ms(1)));
    sim.heartbeat = Some(secs(20));
    sim.run_until(secs(50));
    let mut calls = 0;
    sim.network = but(What::Stream, move |_| {
        calls += 1;
        if calls == 1 {
            Fate::Silent(false)
        } else {
            Fate::Served(ms(1))
        }
    });
    sim.cut(&fails(CallClass::Transient));
    sim.publish("m", 1);
    sim.run_until(secs(200));
    assert_eq!(opened(&sim).len(), 3);
    assert_eq!(sim.server.left(), 0);
}

#[test]
fn a_refused_token_is_replaced_once_at_once_and_is_the_operators_to_mend_then() {
    for wire in [Wire::Grpc, Wire::Rest] {
        let mut failure = fails(CallClass::Unauthenticated);
        failure.refused = Some(Token::new("stale-token").unwrap());
        let mut sim = Sim::new(options().wire(wire), acks_after(ms(1)));
        let what = if wire == Wire::Grpc {
            What::Stream
        } else {
            What::Pull
        };
        sim.network = but(what, move |sent| match sent.renewed && sent.at > secs(20) {
            true => Fate::Served(ms(1)),
            false => Fate::Fails(ms(1), failure.clone()),
        });
        sim.publish("m", 1);
        sim.run_until(secs(19));
        let asked = &sim.seen.asked;
        assert_eq!((asked[0].1, asked[1].1, asked[1].0), (false, true, ms(1)));
        // In pairs, with pauses that double between them.
        assert!((10..=20).contains(&asked.len()), "{}", asked.len());
        assert!(
            asked
                .chunks(2)
                .all(|pair| pair.len() < 2 || !pair[0].1 && pair[1].1)
        );
        sim.run_until(secs(55));
        assert_eq!(sim.server.left(), 0);
    }
}

#[test]
fn it_goes_on_for_a_while_where_the_subscription_is_not_found_and_gives_up_then() {
    for wire in [Wire::Grpc, Wire::Rest] {
        let mut sim = Sim::new(options().wire(wire), acks_after(ms(1)));
        let what = if wire == Wire::Grpc {
            What::Stream
        } else {
            What::Pull
        };
        sim.network = but(what, |_| Fate::Fails(ms(1), fails(CallClass::Config)));
        assert_eq!(sim.run(), SubscribeWait::Closed);
        let closed = sim.closed.unwrap();
        assert!(closed >= secs(60) && closed <= secs(61), "{closed:?}");
        let reason = sim.machine.ended_because().unwrap();
        assert_eq!(reason.kind(), "status");
        let given_up = sim.seen.events.last().unwrap().1.clone();
        assert_eq!(given_up, SubscribeEvent::GaveUp(reason));
        assert!(
            (8..=14).contains(&sim.seen.asked.len()),
            "{}",
            sim.seen.asked.len()
        );
    }
}

#[test]
fn a_subscription_that_was_just_created_is_found_in_the_end() {
    let mut sim = Sim::new(options(), acks_after(ms(1)));
    sim.network = but(What::Stream, |sent| match sent.at < secs(20) {
        true => Fate::Fails(ms(1), fails(CallClass::Config)),
        false => Fate::Served(ms(1)),
    });
    sim.publish("m", 1);
    sim.run_until(secs(60));
    assert_eq!((sim.server.left(), sim.machine.ended_because()), (0, None));
}

#[test]
fn patience_begins_anew_with_every_stream_that_was_accepted() {
    let mut sim = Sim::new(options(), acks_after(ms(1)));
    sim.network = but(What::Stream, |sent| match sent.at < secs(1) {
        true => Fate::Fails(ms(1), fails(CallClass::Config)),
        false => Fate::Served(ms(1)),
    });
    // A stream that says nothing for a thousand seconds, and ends with a word that is no refusal
    // of it: its subscription was deleted and created again.
    sim.later(secs(1_000), |sim| sim.cut(&fails(CallClass::Config)));
    sim.run_until(secs(1_010));
    assert_eq!(sim.machine.ended_because(), None);
    sim.publish("m", 1);
    sim.run_until(secs(1_020));
    assert_eq!(sim.server.left(), 0);
}

#[test]
fn when_it_gives_up_handlers_have_half_a_minute() {
    for (takes, result) in [(70, true), (300, false)] {
        let mut sim = Sim::new(options(), acks_after(secs(takes)));
        sim.publish("m", 1);
        sim.run_until(secs(1));
        sim.network = but(What::Stream, |_| {
            Fate::Fails(ms(1), fails(CallClass::Config))
        });
        sim.cut(&fails(CallClass::Config));
        assert_eq!(sim.run(), SubscribeWait::Closed);
        let (_, _, settled) = sim.seen.handled[0].settled.clone().unwrap();
        assert_eq!(settled.is_ok(), result);
        assert!(sim.closed.unwrap() <= secs(93), "{:?}", sim.closed);
    }
}

#[test]
fn a_server_that_ends_a_stream_with_success_has_ended_it_all_the_same() {
    let mut sim = Sim::new(options(), acks_after(ms(1)));
    sim.publish("m", 1);
    sim.later(secs(5), Sim::finish_streams);
    sim.run_until(secs(6));
    sim.publish("later", 1);
    sim.run_until(secs(7));
    assert_eq!((opened(&sim).len(), sim.server.left()), (2, 0));
    let interrupted = |event: &SubscribeEvent| {
        matches!(
            event,
            SubscribeEvent::Interrupted {
                failure: CallFailure {
                    class: CallClass::Transient,
                    ..
                },
                ..
            }
        )
    };
    assert!(sim.seen.events.iter().any(|(_, event)| interrupted(event)));
}
