//! What breaks is done again, and nothing is lost.

use pubsink_fixtures::broker::Status;
use pubsink_fixtures::faults::{Action, Match, Rule, StreamEnd};
use pubsink_runtime::core::subscribe::Wire;

use super::support::{Place, ack_all, leased, options, publish, server, subscribe};

pub(crate) async fn what_is_cut_is_asked_for_again<P: Place>(wire: Wire) {
    let server = server();
    let busy = Status::unavailable("busy");
    let ways = match wire {
        Wire::Grpc => Match::streaming_pull,
        Wire::Rest => || Match::verb("pull"),
    };
    server.script([
        Rule::on(ways()).times(1).then(Action::refuse(&busy)),
        Rule::on(ways()).times(1).then(Action::reset()),
        Rule::on(ways())
            .times(1)
            .then(Action::status(502, "a page")),
        Rule::on(ways()).times(1).then(Action::reset_stream()),
    ]);
    let mut subscription = subscribe::<P>(options(&server, wire));
    publish::<P>(&server, 50).await;
    ack_all(&mut subscription, 50).await;
    assert_eq!(leased(&server), 0);
}

pub(crate) async fn each_end_of_a_stream<P: Place>(wire: Wire) {
    for end in [
        StreamEnd::Status(Status::unavailable("go on elsewhere")),
        StreamEnd::Reset,
        StreamEnd::Connection,
    ] {
        let server = server();
        let cut = Action::proceed().cut_after_messages(10, end.clone());
        server.script([Rule::on(Match::streaming_pull()).times(1).then(cut)]);
        let mut subscription = subscribe::<P>(options(&server, wire).max_outstanding(10));
        publish::<P>(&server, 50).await;
        ack_all(&mut subscription, 50).await;
        assert_eq!(server.gauges().streams, 2, "{end:?}");
        assert_eq!(leased(&server), 0, "{end:?}");
    }
}

pub(crate) async fn acks_that_fail_are_sent_again<P: Place>(wire: Wire) {
    let server = server();
    let busy = Action::refuse(&Status::unavailable("busy"));
    server.script([
        Rule::on(Match::verb("acknowledge")).times(1).then(busy),
        Rule::on(Match::verb("acknowledge"))
            .times(1)
            .then(Action::reset().store()),
    ]);
    let mut subscription = subscribe::<P>(options(&server, wire));
    publish::<P>(&server, 20).await;
    assert_eq!(ack_all(&mut subscription, 20).await, 20);
    assert_eq!(leased(&server), 0);
}

pub(crate) async fn a_server_that_goes_away<P: Place>(wire: Wire) {
    let server = server();
    let mut subscription = subscribe::<P>(options(&server, wire));
    publish::<P>(&server, 10).await;
    ack_all(&mut subscription, 10).await;
    server.refuse_connections(true).unwrap();
    server.drop_connections();
    server.refuse_connections(false).unwrap();
    publish::<P>(&server, 10).await;
    ack_all(&mut subscription, 10).await;
}
