use super::*;
use crate::failure::MessageId;

fn id(text: &'static str) -> MessageId {
    MessageId::from_utf8(text).unwrap()
}

fn no(number: u64) -> MessageNo {
    MessageNo::of(number)
}

#[expect(clippy::disallowed_methods, reason = "time has to begin somewhere")]
fn begin() -> Instant {
    Instant::now()
}

/// Messages 1, 2 and so on of one key wait.
fn waiting(turns: &mut Turns, count: u64) -> Arc<str> {
    let mut key = None;
    for number in 1..=count {
        let name = turns.join("k");
        turns.wait(Some(&name), no(number), true);
        key = Some(name);
    }
    key.unwrap()
}

#[test]
fn the_oldest_goes_first_and_of_a_key_one_at_a_time() {
    let mut turns = Turns::default();
    turns.wait(None, no(5), true);
    let key = waiting(&mut turns, 3);
    assert_eq!(turns.next(), Some(no(1)));
    turns.begin(Some(&key), no(1));
    assert_eq!(turns.next(), Some(no(5)));
    turns.begin(None, no(5));
    assert_eq!((turns.next(), turns.is_idle()), (None, true));
    turns.end(&key);
    assert_eq!(turns.next(), Some(no(2)));
}

#[test]
fn one_that_may_not_go_yet_holds_up_its_key_and_nobody_else() {
    let mut turns = Turns::default();
    let key = turns.join("k");
    turns.wait(Some(&key), no(1), false);
    turns.wait(Some(&key), no(2), true);
    turns.wait(None, no(3), false);
    turns.wait(None, no(4), true);
    assert_eq!(turns.next(), Some(no(4)));
    turns.wait(Some(&key), no(1), true);
    assert_eq!(turns.next(), Some(no(1)));
    // It was lost.
    turns.remove(Some(&key), no(1));
    assert_eq!(turns.next(), Some(no(2)));
}

#[test]
fn a_key_with_nothing_in_hand_is_forgotten() {
    let mut turns = Turns::default();
    let key = waiting(&mut turns, 2);
    assert_eq!(turns.take_behind(&key, Some(no(2))), [no(2)]);
    assert_eq!(turns.take(&key), [no(1)]);
    turns.leave(&key);
    assert_eq!(turns.keys(), 1);
    turns.leave(&key);
    assert_eq!(turns.keys(), 0);
}

#[test]
fn a_key_waits_for_what_it_gave_back_and_what_came_before_goes_back_too() {
    let mut turns = Turns::default();
    let key = turns.join("k");
    turns.stop(&key, id("1"), Some(id("2")));
    turns.wait(Some(&key), no(7), true);
    assert_eq!(turns.next(), None);
    let back = turns.comes(&key, no(8), &id("1"), true);
    assert_eq!(back, [no(7)]);
    turns.wait(Some(&key), no(8), true);
    assert_eq!(turns.next(), Some(no(8)));
}

#[test]
fn it_does_not_wait_for_ever() {
    let mut turns = Turns::default();
    let (key, now) = (turns.join("k"), begin());
    turns.stop(&key, id("1"), None);
    turns.wait(Some(&key), no(7), true);
    // What came before Pub/Sub had taken it goes back; what comes later may be the next.
    assert_eq!(turns.given_back(now, &key, &id("1")), [no(7)]);
    assert_eq!(turns.given_back(now, &key, &id("1")), []);
    assert_eq!(turns.comes(&key, no(9), &id("3"), false), []);
    turns.wait(Some(&key), no(9), true);
    let due = turns.reopens().unwrap();
    assert!(!turns.reopen(now) && turns.next().is_none());
    assert!(turns.reopen(due) && !turns.reopen(due));
    assert_eq!((turns.next(), turns.reopens()), (Some(no(9)), None));
}

#[test]
fn where_the_next_one_comes_first_the_message_is_gone() {
    let mut turns = Turns::default();
    let (key, now) = (turns.join("k"), begin());
    turns.stop(&key, id("1"), Some(id("2")));
    // It had been sent before.
    assert_eq!(turns.comes(&key, no(6), &id("5"), true), []);
    turns.wait(Some(&key), no(6), true);
    for (number, again) in [(7, "2"), (8, "3")] {
        let strays = turns.comes(&key, no(number), &id(again), true);
        assert_eq!(strays, if again == "2" { vec![no(6)] } else { vec![] });
        turns.wait(Some(&key), no(number), true);
    }
    assert_eq!(turns.given_back(now, &key, &id("1")), []);
    assert!(turns.reopen(now + std::time::Duration::from_secs(1)));
    assert_eq!(turns.next(), Some(no(7)));
}

#[test]
fn what_came_meanwhile_is_waited_for_too_where_the_message_may_be_gone() {
    let mut turns = Turns::default();
    let (key, now) = (turns.join("k"), begin());
    turns.stop(&key, id("1"), None);
    turns.wait(Some(&key), no(5), true);
    turns.wait(Some(&key), no(6), true);
    assert_eq!(turns.given_back(now, &key, &id("1")), [no(5), no(6)]);
    turns.stop_again(&key, &id("5"), Some(id("6")));
    assert_eq!(
        (turns.reopens(), turns.waits_for(&key)),
        (None, Some(&id("5")))
    );
    // It came before they had gone back.
    assert_eq!(turns.comes(&key, no(7), &id("7"), false), []);
    turns.wait(Some(&key), no(7), true);
    assert_eq!(turns.comes(&key, no(8), &id("5"), true), [no(7)]);
    turns.wait(Some(&key), no(8), true);
    assert_eq!(turns.next(), Some(no(8)));
}

#[test]
fn a_key_that_waits_is_remembered_for_so_long_and_no_longer() {
    let mut turns = Turns::default();
    let (key, now) = (turns.join("k"), begin());
    turns.stop(&key, id("1"), None);
    turns.leave(&key);
    assert_eq!(turns.keys(), 1);
    turns.given_back(now, &key, &id("1"));
    assert!(turns.reopen(now + std::time::Duration::from_secs(1)));
    assert_eq!(turns.keys(), 0);
    // Or until it closes.
    let key = turns.join("k");
    turns.stop(&key, id("1"), None);
    turns.leave(&key);
    turns.reopen_all();
    assert_eq!((turns.keys(), turns.reopens()), (0, None));
}
