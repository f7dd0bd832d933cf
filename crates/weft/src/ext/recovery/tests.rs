use weft_wire::SourceInfo;

use super::*;
use crate::sample::Beside;

const S: u64 = 1_000_000;

fn zid(id: u8) -> ZenohId {
    format!("{id:x}").parse().unwrap()
}

fn publisher(id: u8) -> EntityGlobalId {
    EntityGlobalId { zid: zid(id), eid: 1 }
}

fn key() -> KeyExpr {
    KeyExpr::new("k/@adv/pub/1/1/_").unwrap()
}

fn from(source: EntityGlobalId, sn: u32) -> Sample {
    let source_info = Some(SourceInfo { id: source, sn });
    Sample {
        beside: Beside::of(None, source_info, None),
        ..Sample::token(KeyExpr::new("k").unwrap(), true)
    }
}

/// Number `sn` of publisher 1.
fn numbered(sn: u32) -> Sample {
    from(publisher(1), sn)
}

/// Stamped by node 1.
fn stamped(time: u64) -> Sample {
    let timestamp = Some(Timestamp::new(time, zid(1)));
    Sample { timestamp, ..Sample::token(KeyExpr::new("k").unwrap(), true) }
}

/// What came out, in short: numbers (or times) of samples, and `-n` for n that were missed.
fn out(recovery: &mut Recovery) -> Vec<i64> {
    let short = |output| match output {
        Output::Sample(sample) => match (sample.source_info(), sample.timestamp()) {
            (Some(info), _) => i64::from(info.sn),
            (None, Some(stamp)) => stamp.time as i64,
            (None, None) => i64::MAX,
        },
        Output::Miss(miss) => -i64::from(miss.count),
    };
    recovery.outputs.drain(..).map(short).collect()
}

/// The questions asked, in short.
fn asked(recovery: &mut Recovery) -> Vec<String> {
    let short = |question: Question| match question.topic {
        Topic::History => "history".to_owned(),
        Topic::HistoryOf(_) => "history of one".to_owned(),
        Topic::Numbers(_, range) => range.to_string(),
        Topic::NumbersOf(_, range) => format!("heartbeat {range}"),
    };
    recovery.questions.drain(..).map(short).collect()
}

/// The questions are answered by `samples`, and end.
fn answer(recovery: &mut Recovery, samples: impl IntoIterator<Item = Sample>) {
    let questions = std::mem::take(&mut recovery.questions);
    assert!(!questions.is_empty());
    for sample in samples {
        recovery.replied(sample, 0);
    }
    for question in questions {
        recovery.answered(question.about);
    }
}

fn live(recovery: &mut Recovery, numbers: impl IntoIterator<Item = u32>) {
    for sn in numbers {
        recovery.live(numbered(sn), 0);
    }
}

fn plain() -> Recovery {
    Recovery::new(Rules::default())
}

fn recovering() -> Recovery {
    Recovery::new(Rules { recovers: true, ..Rules::default() })
}

fn with_history(depth: Option<usize>, recovers: bool) -> Recovery {
    Recovery::new(Rules { history: true, depth, recovers, ..Rules::default() })
}

#[test]
fn without_recovery_a_gap_is_missed_at_once() {
    let mut it = plain();
    live(&mut it, [5, 6, 9, 8, 6, 10]);
    assert_eq!(out(&mut it), [5, 6, -2, 9, 10]);
    assert_eq!(asked(&mut it), [""; 0]);
}

#[test]
fn numbers_wrap_around() {
    let mut it = plain();
    live(&mut it, [u32::MAX - 1, u32::MAX, 0, u32::MAX, 3]);
    assert_eq!(out(&mut it), [i64::from(u32::MAX) - 1, i64::from(u32::MAX), 0, -2, 3]);
    let mut it = recovering();
    live(&mut it, [u32::MAX - 1, 1, 2]);
    assert_eq!(asked(&mut it), ["4294967295.."]);
    live(&mut it, [0, u32::MAX]);
    assert_eq!(out(&mut it)[1..], [i64::from(u32::MAX), 0, 1, 2]);
}

#[test]
fn a_gap_is_asked_for_and_filled_in_order() {
    let mut it = recovering();
    live(&mut it, [0, 1, 4, 5]);
    assert_eq!(out(&mut it), [0, 1]);
    answer(&mut it, [2, 3, 4].map(numbered));
    assert_eq!(out(&mut it), [2, 3, 4, 5]);
    live(&mut it, [6]);
    assert_eq!((out(&mut it), asked(&mut it)), (vec![6], vec![]));
}

#[test]
fn what_nobody_has_is_missed_when_the_question_ends() {
    let mut it = recovering();
    live(&mut it, [0, 3]);
    answer(&mut it, [2].map(numbered));
    assert_eq!(out(&mut it), [0, -1, 2, 3]);
    live(&mut it, [6]);
    answer(&mut it, [4].map(numbered));
    assert_eq!(out(&mut it), [4, -1, 6]);
    live(&mut it, [1, 5, 7]);
    assert_eq!(out(&mut it), [7], "a sample that was given up comes too late");
}

/// What is lost while a question is under way is not given up with it.
#[test]
fn a_gap_behind_a_question_is_asked_for_in_turn() {
    let mut it = recovering();
    live(&mut it, [0, 2]);
    let first = std::mem::take(&mut it.questions);
    live(&mut it, [5]);
    assert_eq!(asked(&mut it), [""; 0], "one question at a time");
    it.replied(numbered(1), 0);
    for question in first {
        it.answered(question.about);
    }
    assert_eq!(out(&mut it), [0, 1, 2]);
    assert_eq!(it.questions.len(), 1);
    answer(&mut it, [3, 4].map(numbered));
    assert_eq!(out(&mut it), [3, 4, 5]);
}

#[test]
fn sources_are_kept_apart() {
    let mut it = recovering();
    live(&mut it, [0, 2]);
    for sn in [7, 8] {
        it.live(from(publisher(2), sn), 0);
    }
    assert_eq!(out(&mut it), [0, 7, 8]);
    answer(&mut it, []);
    assert_eq!(out(&mut it), [-1, 2]);
}

#[test]
fn history_comes_before_what_is_live() {
    let mut it = with_history(Some(10), false);
    live(&mut it, [5, 6]);
    assert_eq!(out(&mut it), [0; 0]);
    answer(&mut it, [3, 4, 5].map(numbered));
    assert_eq!(out(&mut it), [3, 4, 5, 6]);
    live(&mut it, [7]);
    assert_eq!(out(&mut it), [7]);
}

#[test]
fn a_history_of_one_sample_holds_nothing_back() {
    let mut it = with_history(Some(1), false);
    live(&mut it, [5]);
    assert_eq!(out(&mut it), [5]);
    answer(&mut it, [4].map(numbered));
    assert_eq!(out(&mut it), [0; 0]);
}

#[test]
fn a_history_that_is_full_does_not_wait_for_older_samples() {
    let mut it = with_history(Some(2), false);
    live(&mut it, [5]);
    assert_eq!(out(&mut it), [0; 0]);
    live(&mut it, [6, 7]);
    assert_eq!(out(&mut it), [5, 6, 7]);
    answer(&mut it, [4, 5].map(numbered));
    assert_eq!(out(&mut it), [0; 0]);
}

#[test]
fn a_hole_in_the_history_is_missed_or_asked_for() {
    let mut it = with_history(None, false);
    answer(&mut it, [1, 4].map(numbered));
    assert_eq!(out(&mut it), [1, -2, 4]);
    let mut it = with_history(None, true);
    answer(&mut it, [1, 4].map(numbered));
    assert_eq!(out(&mut it), [1]);
    answer(&mut it, [2, 3].map(numbered));
    assert_eq!(out(&mut it), [2, 3, 4]);
}

#[test]
fn stamped_samples_are_ordered_while_history_comes_and_never_repeated() {
    let mut it = with_history(Some(10), false);
    it.live(stamped(7), 0);
    answer(&mut it, [5, 6, 7].map(stamped));
    assert_eq!(out(&mut it), [5, 6, 7]);
    for time in [8, 7, 9] {
        it.live(stamped(time), 0);
    }
    assert_eq!(out(&mut it), [8, 9]);
}

/// Samples of several publishers may have been stamped by one router and overtaken each other.
#[test]
fn stamps_say_nothing_where_nothing_is_repeated() {
    let mut it = recovering();
    for time in [8, 7, 7] {
        it.live(stamped(time), 0);
    }
    it.live(Sample::token(KeyExpr::new("k").unwrap(), true), 0);
    assert_eq!(out(&mut it), [8, 7, 7, i64::MAX]);
}

#[test]
fn the_history_of_a_publisher_that_comes_late_is_asked_for() {
    for source in [SourceId::Numbered(publisher(1)), SourceId::Stamped(zid(1))] {
        let sample = |at: u32| match source {
            SourceId::Numbered(_) => numbered(at),
            SourceId::Stamped(_) => stamped(at.into()),
        };
        let mut it = with_history(None, false);
        answer(&mut it, []);
        it.appeared(source, &key(), 0);
        it.live(sample(3), 0);
        assert_eq!(out(&mut it), [0; 0]);
        answer(&mut it, [1, 2, 3].map(sample));
        assert_eq!(out(&mut it), [1, 2, 3]);
    }
}

#[test]
fn a_heartbeat_shows_what_is_lacking_at_the_end() {
    let mut it = recovering();
    live(&mut it, [0, 1]);
    it.heartbeat(publisher(1), &key(), 1, 0);
    assert_eq!(asked(&mut it), [""; 0]);
    it.heartbeat(publisher(1), &key(), 3, 0);
    it.heartbeat(publisher(1), &key(), 4, 0);
    assert_eq!(it.questions[0].topic, Topic::NumbersOf(key(), SnRange::parse("2..3")));
    answer(&mut it, [2, 3].map(numbered));
    assert_eq!(out(&mut it), [0, 1, 2, 3]);
    it.heartbeat(publisher(1), &key(), 4, 0);
    assert_eq!(asked(&mut it), ["heartbeat 4..4"]);
}

#[test]
fn a_heartbeat_of_a_new_source_asks_for_everything_unless_history_does() {
    let mut it = recovering();
    it.heartbeat(publisher(1), &key(), 3, 0);
    assert_eq!(asked(&mut it), ["heartbeat ..3"]);
    let mut it = with_history(None, true);
    it.heartbeat(publisher(1), &key(), 3, 0);
    assert_eq!(asked(&mut it), ["history"]);
    let mut it = plain();
    it.heartbeat(publisher(1), &key(), 3, 0);
    assert_eq!(asked(&mut it), [""; 0]);
}

#[test]
fn sources_are_asked_from_time_to_time() {
    let rules = Rules { recovers: true, period_us: Some(S), ..Rules::default() };
    let mut it = Recovery::new(rules);
    assert_eq!(it.due_us(), None);
    it.live(numbered(4), 5 * S);
    assert_eq!(it.due_us(), Some(6 * S));
    it.due(6 * S - 1);
    assert_eq!(asked(&mut it), [""; 0]);
    it.due(6 * S);
    assert_eq!(it.due_us(), Some(7 * S));
    answer(&mut it, [5, 7].map(numbered));
    assert_eq!(out(&mut it), [4, 5]);
    assert_eq!(asked(&mut it), ["6.."], "the answer has a gap");
    it.due(7 * S);
    assert_eq!(asked(&mut it), [""; 0], "a question is under way");
}

#[test]
fn silent_sources_are_forgotten_unless_they_are_alive() {
    let mut it = with_history(None, false);
    answer(&mut it, []);
    it.live(numbered(1), 0);
    it.live(from(publisher(2), 1), RETENTION_US / 2);
    it.appeared(SourceId::Numbered(publisher(3)), &key(), 0);
    answer(&mut it, []);
    assert_eq!(it.due_us(), Some(RETENTION_US));
    it.due(RETENTION_US);
    assert_eq!(it.numbered.len(), 2);
    assert!(it.due_us().is_some_and(|due| due > RETENTION_US && due <= RETENTION_US * 3 / 2));
    it.disappeared(SourceId::Numbered(publisher(3)));
    it.due(2 * RETENTION_US);
    assert_eq!((it.numbered.len(), it.due_us()), (0, None));
}

#[test]
fn the_number_of_sources_is_bounded() {
    let mut it = recovering();
    it.live(numbered(0), 0);
    it.live(numbered(2), 0);
    for eid in 0..SOURCES_MAX as u32 {
        it.live(from(EntityGlobalId { zid: zid(2), eid }, 0), 1);
    }
    assert_eq!(it.numbered.len(), SOURCES_MAX);
    assert_eq!(out(&mut it)[..4], [0, 0, 0, 0]);
    assert!(!it.numbered.contains_key(&publisher(1)), "the longest silent one");
    assert_eq!(it.pending, 0, "what it held back was delivered");
    answer(&mut it, [1].map(numbered));
}

#[test]
fn the_number_of_samples_held_back_is_bounded() {
    let mut it = recovering();
    live(&mut it, [0]);
    live(&mut it, 2..PENDING_MAX as u32 + 2);
    assert_eq!((it.pending, out(&mut it)), (PENDING_MAX, vec![0]));
    live(&mut it, [PENDING_MAX as u32 + 2]);
    assert_eq!(it.pending, 0);
    let delivered = out(&mut it);
    assert_eq!((delivered.len(), delivered[0], delivered[1]), (PENDING_MAX + 2, -1, 2));
}

#[test]
fn samples_held_back_are_counted_once() {
    let mut it = recovering();
    live(&mut it, [0, 3, 5, 3, 5, 4]);
    assert_eq!(it.pending, 3);
    answer(&mut it, [3, 1, 2].map(numbered));
    assert_eq!((it.pending, out(&mut it)), (0, vec![0, 1, 2, 3, 4, 5]));
}
