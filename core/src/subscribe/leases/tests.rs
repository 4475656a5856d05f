use super::*;

const S: fn(u64) -> Duration = Duration::from_secs;
const HOUR: u64 = 3_600;

#[expect(clippy::disallowed_methods, reason = "time has to begin somewhere")]
fn start() -> (Leases, Instant) {
    (Leases::new(usize::MAX), Instant::now())
}

fn lease(number: u64, seconds: u16, last: Instant) -> NewLease {
    NewLease {
        message: MessageNo::of(number),
        ack_id: format!("a{number}").as_str().into(),
        bytes: 10,
        seconds,
        last,
        receipt: None,
    }
}

fn due(leases: &Leases) -> Option<Instant> {
    leases.timers().min()
}

#[test]
fn a_lease_is_due_when_half_of_it_is_left() {
    let (mut leases, now) = start();
    let no = leases.begin(now, lease(1, 60, now + S(HOUR)));
    assert_eq!(due(&leases), Some(now + S(30)));
    assert!(leases.next(now + S(29), 60).is_none());
    let next = leases.next(now + S(30), 60).unwrap();
    assert_eq!((next.leases, next.seconds), (vec![no], 60));
    // While it is asked for, only its end counts.
    assert_eq!(due(&leases), Some(now + S(60)));
    leases.extended(no, now + S(30), 60);
    assert_eq!(due(&leases), Some(now + S(60)));
    assert!(leases.next(now + S(60), 60).is_some());
}

#[test]
fn those_that_are_due_within_a_tenth_go_along() {
    let (mut leases, now) = start();
    for number in 0..20 {
        leases.begin(now + S(number), lease(number, 60, now + S(HOUR)));
    }
    let sizes: Vec<_> = [30, 37, 44]
        .map(|at| leases.next(now + S(at), 60).unwrap().leases.len())
        .into();
    assert_eq!(sizes, [7, 7, 6]);
    assert!(leases.next(now + S(50), 60).is_none());
}

#[test]
fn a_request_takes_so_many_and_the_rest_has_the_next() {
    let (mut leases, now) = start();
    for number in 0..2_500 {
        leases.begin(now, lease(number, 10, now + S(HOUR)));
    }
    let sizes: Vec<_> = std::iter::from_fn(|| leases.next(now + S(5), 10))
        .map(|next| next.leases.len())
        .collect();
    assert_eq!(sizes, [1_000, 1_000, 500]);
}

#[test]
fn the_last_extension_is_cut_and_then_there_is_none() {
    let (mut leases, now) = start();
    let no = leases.begin(now, lease(1, 60, now + S(75)));
    let next = leases.next(now + S(30), 60).unwrap();
    assert_eq!(next.seconds, 45);
    leases.extended(no, now + S(30), 45);
    assert!(leases.next(now + S(74), 60).is_none());
    let message = MessageNo::of(1);
    assert_eq!(leases.lapsed(now + S(74)), None);
    let kept = true;
    assert_eq!(leases.lapsed(now + S(75)), Some(Lapsed { message, kept }));
    assert_eq!((leases.lapsed(now + S(99)), due(&leases)), (None, None));
}

#[test]
fn a_lease_that_has_more_than_is_usual_now_is_left_alone() {
    let (mut leases, now) = start();
    leases.begin(now, lease(1, 600, now + S(HOUR)));
    assert!(leases.next(now + S(300), 60).is_none());
    assert_eq!(due(&leases), Some(now + S(570)));
    assert!(leases.next(now + S(570), 60).is_some());
}

#[test]
fn a_first_extension_is_made_whatever_the_lease_has() {
    let (mut leases, now) = start();
    let receipt = Some(now);
    let new = lease(1, 600, now + S(600));
    let no = leases.begin(now, NewLease { receipt, ..new });
    let next = leases.next(now, 60).unwrap();
    assert_eq!((&next.leases[..], next.seconds), (&[no][..], 60));
    // It is shorter, and may have arrived.
    assert_eq!(due(&leases), Some(now + S(60)));
}

#[test]
fn after_a_failure_two_more_tries_fit_and_they_end_with_the_lease() {
    let (mut leases, now) = start();
    let no = leases.begin(now, lease(1, 60, now + S(HOUR)));
    let mut tries = Vec::new();
    let mut at = now + S(30);
    while leases.next(at, 60).is_some() {
        tries.push(at);
        assert!(leases.failed(no, at, Trouble::Transient));
        let Some(next) = due(&leases).filter(|next| *next < now + S(60)) else {
            break;
        };
        assert!(next >= at + LEAST_PAUSE);
        at = next;
    }
    assert!((6..=20).contains(&tries.len()), "{}", tries.len());
    assert!(tries.last().unwrap() > &(now + S(59)));
    let kept = false;
    let message = MessageNo::of(1);
    assert_eq!(leases.lapsed(now + S(60)), Some(Lapsed { message, kept }));
}

#[test]
fn one_that_failed_has_requests_of_its_own() {
    let (mut leases, now) = start();
    let bad = leases.begin(now, lease(1, 60, now + S(HOUR)));
    leases.next(now + S(30), 60).unwrap();
    leases.failed(bad, now + S(30), Trouble::Transient);
    let good = leases.begin(now + S(1), lease(2, 60, now + S(HOUR)));
    let later = now + S(31);
    assert_eq!(leases.next(later, 60).unwrap().leases, [bad]);
    assert_eq!(leases.next(later, 60).unwrap().leases, [good]);
}

#[test]
fn a_pause_holds_for_all_but_not_beyond_their_end() {
    let (mut leases, now) = start();
    let first = leases.begin(now, lease(1, 60, now + S(HOUR)));
    leases.next(now + S(30), 60).unwrap();
    leases.failed(first, now + S(30), Trouble::Throttled(Some(S(300))));
    // A fifth of it is left.
    assert_eq!(due(&leases), Some(now + S(48)));
    leases.begin(now + S(1), lease(2, 60, now + S(HOUR)));
    assert!(leases.next(now + S(31), 60).is_none());
    assert_eq!(leases.next(now + S(48), 60).unwrap().leases, [first]);
    assert!(leases.next(now + S(49), 60).is_some());
}

#[test]
fn what_is_refused_without_a_word_is_tried_three_times() {
    let (mut leases, now) = start();
    let no = leases.begin(now, lease(1, 600, now + S(HOUR)));
    assert!(leases.failed(no, now, Trouble::Invalid));
    assert!(leases.failed(no, now, Trouble::Invalid));
    assert!(!leases.failed(no, now, Trouble::Invalid));
}

#[test]
fn what_is_being_settled_is_not_extended_and_does_not_end() {
    let (mut leases, now) = start();
    let no = leases.begin(now, lease(1, 60, now + S(HOUR)));
    assert_eq!(leases.settling(no), Some("a1".into()));
    assert_eq!(due(&leases), None);
    // An extension that was under way changes nothing about that.
    leases.extended(no, now + S(10), 60);
    assert!(leases.failed(no, now, Trouble::Invalid) && leases.is_settling(no));
    assert_eq!((due(&leases), leases.lapsed(now + S(99))), (None, None));
    assert!(leases.resume(no, now + S(20)));
    assert_eq!(due(&leases), Some(now + S(40)));
    leases.settling(no);
    assert!(!leases.resume(no, now + S(70)));
    leases.end(no);
    assert_eq!((due(&leases), leases.message(no)), (None, None));
}
