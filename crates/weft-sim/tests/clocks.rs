//! Wall clocks that differ, and the stamps that routers put on samples.

use weft_sim::Sim;

fn stamps(sim: &Sim, sub: weft_sim::Sub) -> Vec<u64> {
    sim.samples(sub).iter().map(|sample| sample.timestamp.map_or(0, |stamp| stamp.time)).collect()
}

#[test]
fn stamps_of_a_router_grow_whatever_its_clock_does() {
    Sim::seeds(0..10).run(|sim| {
        let skew_ms = -5_000 + 1_000 * sim.seed() as i64;
        let router = sim.router("r").skew_ms(skew_ms).start();
        let [c1, c2] = ["c1", "c2"].map(|name| sim.client(name).connect([router]).start());
        let sub = sim.subscribe(c2, "k");
        sim.settle();
        for i in 0..100 {
            sim.put(c1, "k", &[i]);
        }
        sim.settle();
        let stamps = stamps(sim, sub);
        assert_eq!(stamps.len(), 100);
        assert!(stamps.windows(2).all(|pair| pair[0] < pair[1]));
    });
}

/// A peer stamps its own publications with a clock that is five seconds ahead: the router that
/// forwards them stamps them anew, or drops them if it is told to.
#[test]
fn stamps_from_the_future_are_replaced_or_their_samples_dropped() {
    Sim::seeds(0..10).run(|sim| {
        let strict = sim.seed() % 2 == 1;
        let builder = sim.router("r");
        let router = if strict { builder.drop_future() } else { builder }.start();
        let ahead = sim.peer("ahead").stamps(true).skew_ms(5_000).connect([router]).start();
        let source = sim.client("source").connect([ahead]).start();
        let reader = sim.client("reader").connect([router]).start();
        let sub = sim.subscribe(reader, "k");
        sim.settle();
        sim.put(source, "k", b"from the future");
        sim.delete(source, "k");
        sim.settle();
        if strict {
            assert_eq!(sim.payloads(sub), ["-"], "deletions are not stamped");
        } else {
            assert_eq!(sim.payloads(sub), ["from the future", "-"]);
            let stamp = sim.samples(sub)[0].timestamp.unwrap();
            let now_s = 1_700_000_000 + sim.now_us() / 1_000_000;
            assert!(stamp.time >> 32 <= now_s, "the router's own time");
        }
    });
}
