//! How large requests are, and that it is known before.

use proptest::prelude::*;
use pubsink_core::subscribe::{AckId, Wire};
use pubsink_core::wire::subscribe::{
    ACK_REQUEST_MAX_BYTES, ack_id_bytes, ack_overhead_bytes, grpc, rest,
};

use crate::help::defaults;

/// The bodies of an acknowledge and of a deadline change.
fn lens(wire: Wire, ids: &[AckId], seconds: u16) -> [usize; 2] {
    let options = defaults();
    let requests = match wire {
        Wire::Rest => [
            rest::acknowledge(&options, ids, None),
            rest::modify_ack_deadline(&options, ids, seconds, None),
        ],
        Wire::Grpc => [
            grpc::acknowledge(&options, ids, None),
            grpc::modify_ack_deadline(&options, ids, seconds, None),
        ],
    };
    requests.map(|request| request.body().len())
}

/// 500 bytes is what official clients take as the most of an ack id.
#[test]
fn a_thousand_ids_of_500_bytes_fit_on_both_wires() {
    let ids: Vec<_> = (0..1_000)
        .map(|number| AckId::from(&*format!("{number:a>500}")))
        .collect();
    // Each takes three more bytes: quotes and a comma, or a tag and a length of two.
    assert_eq!(lens(Wire::Rest, &ids, 600), [503_012, 503_037]);
    assert_eq!(lens(Wire::Grpc, &ids, 600), [503_042, 503_045]);
    const { assert!(503_045 < ACK_REQUEST_MAX_BYTES) };
}

proptest! {
    #[test]
    fn what_was_counted_is_what_is_sent(
        ids in prop::collection::vec("(?s).{0,200}", 1..20),
        seconds in any::<u16>(),
    ) {
        let ids: Vec<_> = ids.iter().map(|id| AckId::from(&**id)).collect();
        for wire in [Wire::Rest, Wire::Grpc] {
            let counted: usize = ids.iter().map(|id| ack_id_bytes(wire, id)).sum();
            let at_most = counted + ack_overhead_bytes(wire, &defaults());
            for len in lens(wire, &ids, seconds) {
                prop_assert!(len <= at_most, "{} of {}", len, at_most);
                prop_assert!(len + 40 > at_most, "{} of {}", len, at_most);
            }
        }
    }
}
