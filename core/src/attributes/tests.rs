use super::*;

#[test]
fn sorted_whatever_the_order_of_insertion_and_the_last_value_wins() {
    let attributes: Attributes = [("b", "1"), ("a", "2"), ("c", "3"), ("b", "4")]
        .into_iter()
        .collect();
    let pairs: Vec<_> = attributes.iter().collect();
    assert_eq!(pairs, [("a", "2"), ("b", "4"), ("c", "3")]);
    assert_eq!(attributes.get("b"), Some("4"));
    assert_eq!(attributes.get("d"), None);
}

#[test]
fn a_clone_is_changed_alone() {
    let first: Attributes = [("a", "1"), ("b", "2")].into_iter().collect();
    let mut second = first.clone();
    assert!(second.are_shared_with(&first));
    second.insert("a", "other");
    assert!(!second.are_shared_with(&first));
    assert_eq!(
        (first.get("a"), second.get("a")),
        (Some("1"), Some("other"))
    );
    second.insert("a", "1");
    assert_eq!(first, second);
    assert_eq!(
        format!("{second:?}"),
        r#"Attributes([("a", "1"), ("b", "2")])"#
    );
}

#[test]
fn what_was_replaced_is_not_counted() {
    let mut replaced: Attributes = [("a", "a \"long\" value"), ("é", "2")]
        .into_iter()
        .collect();
    replaced.insert("a", "1");
    let fresh: Attributes = [("a", "1"), ("é", "2")].into_iter().collect();
    assert_eq!(replaced.sizes(), fresh.sizes());
    assert_eq!(Attributes::new().sizes(), AttributeSizes::default());
}

fn read(pairs: &[(&str, &str)]) -> Attributes {
    let bytes = pairs
        .iter()
        .map(|(name, value)| (name.as_bytes(), value.as_bytes()));
    Attributes::read(&bytes.collect::<Vec<_>>()).unwrap()
}

#[test]
fn those_that_were_received_are_like_those_that_were_made() {
    for pairs in [
        &[][..],
        &[("a", "1")],
        &[("b", "1"), ("a", "2"), ("c", "3"), ("b", "4"), ("a", "")],
        &[("", "é"), ("é", ""), ("z", "a \"long\" value"), ("aé", "b")],
    ] {
        let (read, made) = (read(pairs), pairs.iter().copied().collect::<Attributes>());
        assert_eq!(read, made);
        assert!(read.iter().eq(made.iter()), "{read:?}");
        assert_eq!((read.len(), read.is_empty()), (made.len(), made.is_empty()));
        assert_eq!(
            (read.sizes(), read.text_len()),
            (made.sizes(), made.text_len())
        );
        assert_eq!(format!("{read:?}"), format!("{made:?}"));
        for name in ["", "a", "b", "é", "no"] {
            assert_eq!(read.get(name), made.get(name), "{name}");
        }
    }
}

#[test]
fn what_was_received_can_be_changed() {
    let first = read(&[("b", "1"), ("a", "2")]);
    let mut second = first.clone();
    assert!(second.are_shared_with(&first));
    second.insert("b", "other");
    second.insert("c", "3");
    let pairs: Vec<_> = second.iter().collect();
    assert_eq!(pairs, [("a", "2"), ("b", "other"), ("c", "3")]);
    assert_eq!(
        second.sizes(),
        pairs.into_iter().map(owned).collect::<Attributes>().sizes()
    );
    assert_eq!(first.get("b"), Some("1"));
}

fn owned((name, value): (&str, &str)) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

#[test]
fn the_first_that_is_no_text_is_told() {
    let read = |pairs: &[(&[u8], &[u8])]| Attributes::read(pairs).map(drop);
    assert_eq!(read(&[(b"a", b"1"), (b"\xFF", b"2")]), Err(NotUtf8::Name));
    assert_eq!(
        read(&[(b"a", b"\xFF"), (b"\xFF", b"2")]),
        Err(NotUtf8::Value)
    );
    // Together they would be text.
    assert_eq!(read(&[(b"a\xC3", b"\xA9")]), Err(NotUtf8::Name));
    assert_eq!(
        read(&[(b"a", b"\xC3"), (b"\xA9", b"")]),
        Err(NotUtf8::Value)
    );
    assert_eq!(read(&[("é".as_bytes(), "é".as_bytes())]), Ok(()));
}
