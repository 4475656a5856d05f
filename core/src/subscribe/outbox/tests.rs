use super::*;
use crate::reason::TransportKind;

const MS: fn(u64) -> Duration = Duration::from_millis;

#[expect(clippy::disallowed_methods, reason = "time has to begin somewhere")]
fn start() -> (Outbox, Instant, Rng) {
    (
        Outbox::new(MS(100), 1_000_000),
        Instant::now(),
        Rng::with_seed(1),
    )
}

fn item(number: u64, key: Option<&str>, since: Instant) -> Item {
    Item {
        lease: LeaseNo::of(number),
        key: key.map(Into::into),
        bytes: 100,
        since,
    }
}

fn numbers(batch: &Batch) -> Vec<LeaseNo> {
    batch.items.iter().map(|item| item.lease).collect()
}

fn leases(numbers: impl IntoIterator<Item = u64>) -> Vec<LeaseNo> {
    numbers.into_iter().map(LeaseNo::of).collect()
}

fn done(outbox: &mut Outbox, batch: &Batch) {
    outbox.ended(batch);
    for item in &batch.items {
        outbox.release(batch.no(), item);
    }
}

fn reason() -> Arc<Reason> {
    let (transport, detail) = (TransportKind::Timeout, "late".into());
    Reason::Transport { transport, detail }.into()
}

#[test]
fn what_waits_leaves_together_after_its_time_or_when_a_request_is_full() {
    let (mut outbox, now, _) = start();
    outbox.push(item(1, None, now));
    outbox.push(item(2, None, now + MS(60)));
    assert_eq!(outbox.due(), Some(now + MS(100)));
    assert!(outbox.next(now + MS(99)).is_none());
    assert_eq!(
        numbers(&outbox.next(now + MS(100)).unwrap()),
        leases([1, 2])
    );
    for number in 0..1_001 {
        outbox.push(item(number, None, now));
    }
    assert_eq!(outbox.next(now).unwrap().items.len(), 1_000);
    assert!(outbox.next(now).is_none());
}

#[test]
fn a_request_is_full_by_its_bytes_too() {
    let (mut outbox, now, _) = start();
    outbox.max_bytes = 1_050;
    for number in 0..25 {
        outbox.push(item(number, None, now));
    }
    let sizes = std::iter::from_fn(|| outbox.next(now)).map(|batch| batch.items.len());
    assert_eq!(sizes.collect::<Vec<_>>(), [10, 10]);
}

#[test]
fn so_many_calls_are_in_flight_and_no_more() {
    let (mut outbox, now, _) = start();
    for number in 0..10_000 {
        outbox.push(item(number, None, now));
    }
    let batches: Vec<_> = std::iter::from_fn(|| outbox.next(now)).collect();
    assert_eq!(batches.len(), CALLS);
    done(&mut outbox, &batches[0]);
    assert!(outbox.next(now).is_some() && outbox.next(now).is_none());
}

#[test]
fn what_failed_goes_again_by_itself_and_others_wait_for_a_moment() {
    let (mut outbox, now, mut rng) = start();
    outbox.push(item(1, None, now - MS(100)));
    let batch = outbox.next(now).unwrap();
    outbox.ended(&batch);
    outbox.failed(now, Trouble::Transient, &reason(), &mut rng);
    outbox.again(now, batch, Trouble::Transient, &mut rng);
    outbox.push(item(2, None, now - MS(100)));
    assert!(outbox.next(now).is_none());
    let later = now + MS(250);
    let mut due = [outbox.next(later).unwrap(), outbox.next(later).unwrap()];
    due.sort_by_key(|batch| batch.tries);
    assert_eq!(numbers(&due[0]), leases([2]));
    assert_eq!((numbers(&due[1]), due[1].tries), (leases([1]), 1));
    assert_eq!(outbox.last_failure(), Some(&reason()));
    outbox.well();
    assert_eq!(outbox.last_failure(), None);
}

#[test]
fn batches_that_never_pass_leave_a_call_to_others() {
    let (mut outbox, now, mut rng) = start();
    for number in 0..10 {
        outbox.push(item(number, None, now - MS(100)));
        let batch = outbox.next(now).unwrap();
        outbox.ended(&batch);
        outbox.again(now, batch, Trouble::Transient, &mut rng);
    }
    let later = now + MS(250);
    let again = std::iter::from_fn(|| outbox.next(later));
    assert_eq!(again.filter(|batch| batch.tries > 0).count(), CALLS_AGAIN);
    outbox.push(item(99, None, now));
    assert_eq!(numbers(&outbox.next(later).unwrap()), leases([99]));
}

#[test]
fn of_one_key_there_is_one_call_at_a_time_and_the_order_is_kept() {
    let (mut outbox, now, mut rng) = start();
    outbox.hasten(Haste::Soon);
    outbox.push(item(1, Some("k"), now));
    outbox.push(item(2, Some("k"), now));
    let first = outbox.next(now).unwrap();
    assert_eq!(numbers(&first), leases([1, 2]));
    outbox.push(item(3, Some("k"), now));
    outbox.push(item(4, None, now));
    outbox.push(item(5, Some("k"), now));
    // Those of others go.
    assert_eq!(numbers(&outbox.next(now).unwrap()), leases([4]));
    assert!(outbox.next(now).is_none());
    // A batch that failed keeps its key.
    outbox.ended(&first);
    outbox.again(now, first, Trouble::Transient, &mut rng);
    let later = now + MS(250);
    let again = outbox.next(later).unwrap();
    assert_eq!(numbers(&again), leases([1, 2]));
    assert!(outbox.next(later).is_none());
    outbox.push(item(6, Some("k"), now));
    done(&mut outbox, &again);
    assert_eq!(numbers(&outbox.next(later).unwrap()), leases([3, 5, 6]));
}

#[test]
fn what_belongs_together_is_not_parted_where_a_request_has_room_for_it() {
    let (mut outbox, now, _) = start();
    for number in 0..600 {
        outbox.push(item(number, Some("a"), now));
    }
    for number in 600..1_200 {
        outbox.push(item(number, Some("b"), now));
    }
    assert_eq!(numbers(&outbox.next(now).unwrap()), leases(0..600));
    assert_eq!(
        numbers(&outbox.next(now + MS(100)).unwrap()),
        leases(600..1_200)
    );
    // More than a request takes is parted, and the rest waits for the answer.
    for number in 0..1_500 {
        outbox.push(item(number, Some("c"), now));
    }
    let first = outbox.next(now).unwrap();
    assert_eq!(first.items.len(), 1_000);
    assert!(outbox.next(now + MS(100)).is_none());
    done(&mut outbox, &first);
    assert_eq!(outbox.next(now + MS(100)).unwrap().items.len(), 500);
}

#[test]
fn in_the_end_nothing_waits() {
    let (mut outbox, now, mut rng) = start();
    outbox.push(item(1, Some("k"), now - MS(100)));
    let batch = outbox.next(now).unwrap();
    outbox.ended(&batch);
    outbox.failed(now, Trouble::Config, &reason(), &mut rng);
    outbox.again(now, batch, Trouble::Config, &mut rng);
    outbox.push(item(2, Some("k"), now));
    outbox.push(item(3, None, now));
    outbox.hasten(Haste::Now);
    assert_eq!(numbers(&outbox.next(now).unwrap()), leases([1, 2, 3]));
    outbox.clear();
    assert_eq!((outbox.due(), outbox.next(now).is_none()), (None, true));
}
