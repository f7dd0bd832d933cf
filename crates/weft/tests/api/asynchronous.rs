//! Everything that waits can be awaited, on any executor: here on the smallest there is.

use crate::support::{alone, await_queryable, block_on, brokered, next};

#[test]
fn declarations_puts_and_receiving_are_awaited() {
    block_on(async {
        let session = alone();
        let subscriber = session.declare_subscriber("a/*").await.unwrap();
        let publisher = session.declare_publisher("a/b").await.unwrap();
        publisher.put("one").await.unwrap();
        session.put("a/c", "two").await.unwrap();
        session.delete("a/c").await.unwrap();
        let one = subscriber.recv_async().await.unwrap();
        assert_eq!(one.payload().to_bytes(), b"one".as_slice());
        assert_eq!(subscriber.recv_async().await.unwrap().key_expr().as_str(), "a/c");
        assert_eq!(subscriber.recv_async().await.unwrap().kind(), weft::SampleKind::Delete);
        session.close().await;
        assert!(subscriber.recv_async().await.is_err());
    });
}

#[test]
fn queries_over_the_network_are_awaited() {
    let (_router, asking, answering) = brokered();
    block_on(async {
        let queryable = answering.declare_queryable("q/*").complete(true).await.unwrap();
        await_queryable(&asking, "q/1");
        let replies = asking.get("q/1").await.unwrap();
        let query = queryable.recv_async().await.unwrap();
        query.reply("q/1", "yes").await.unwrap();
        drop(query);
        let reply = replies.recv_async().await.unwrap();
        assert_eq!(reply.result().unwrap().payload().to_bytes(), b"yes".as_slice());
        assert!(replies.recv_async().await.is_err(), "the query has ended");

        let watcher =
            asking.liveliness().declare_subscriber("alive/*").history(true).await.unwrap();
        let token = answering.liveliness().declare_token("alive/1").await.unwrap();
        assert_eq!(watcher.recv_async().await.unwrap().kind(), weft::SampleKind::Put);
        token.undeclare();
        assert_eq!(next(&watcher).kind(), weft::SampleKind::Delete);
    });
}

#[test]
fn opening_is_awaited() {
    let mut config = weft::Config::default();
    config.insert_json5("scouting/multicast/enabled", "false").unwrap();
    config.insert_json5("listen/endpoints", "['tcp/127.0.0.1:0']").unwrap();
    let session = block_on(async { weft::open(config).await.unwrap() });
    assert_eq!(session.info().locators().len(), 1);
}
