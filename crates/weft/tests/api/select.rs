//! `_filter` and `_project`: at responders, at the querier, and at subscribers.

use std::sync::mpsc;

use weft::{
    Consolidation, Encoding, ErrorKind, Query, Reply, SampleView, SelectMode, Session, Timestamp,
};

use crate::support::{alone, await_queryable, next, pair, soon};

const VALUES: [&str; 3] = [
    r#"{"temp":26,"hum":40,"name":"Bob"}"#,
    r#"{"temp":20,"hum":50,"name":"Eve"}"#,
    r#"{"temp":30}"#,
];

/// Answers with all values as they are, as a responder that knows nothing of selecting, and tells
/// the parameters of each query.
fn naive(session: &Session) -> (weft::Queryable<()>, mpsc::Receiver<String>) {
    let (asked, parameters) = mpsc::channel();
    let answer = move |query: Query| {
        asked.send(query.parameters().to_string()).unwrap();
        for (index, value) in VALUES.iter().enumerate() {
            let reply = query.reply(format!("home/{index}"), *value);
            reply.encoding(Encoding::APPLICATION_JSON).wait().unwrap();
        }
        query.reply_del("home/9").wait().unwrap();
        query.reply_err("an error").wait().unwrap();
    };
    let queryable = session.declare_queryable("home/*").callback(answer).wait().unwrap();
    (queryable, parameters)
}

fn texts(replies: impl IntoIterator<Item = Reply>) -> Vec<String> {
    let text = |reply: Reply| match reply.into_result() {
        Ok(sample) => {
            let index = sample.key_expr().as_str().trim_start_matches("home/").to_owned();
            format!("{index}:{}", sample.payload().try_to_str().unwrap())
        }
        Err(error) => error.to_string(),
    };
    let mut texts: Vec<_> = replies.into_iter().map(text).collect();
    texts.sort();
    texts
}

fn got(session: &Session, selector: &str, mode: SelectMode) -> Vec<String> {
    texts(session.get(selector).select(mode).wait().unwrap())
}

/// By default both go to the responders, and are applied to what comes back.
#[test]
fn pushdown_filters_what_others_do_not() {
    let (a, b) = pair();
    let (_queryable, parameters) = naive(&a);
    await_queryable(&b, "home/*");
    let pushdown = SelectMode::Pushdown;
    assert_eq!(SelectMode::default(), pushdown);

    let hot = got(&b, "home/*?_filter=temp>25;_project=hum;x=1", pushdown);
    assert_eq!(hot, [r#"0:{"hum":40}"#, "2:{}", "an error"]);
    let sent = soon(&parameters);
    assert!(sent.contains("_filter=temp>25") && sent.contains("x=1"), "{sent}");
    // The responder must keep what the filter looks at when it is evaluated again.
    assert!(sent.contains("_project=hum,temp") || sent.contains("_project=temp,hum"), "{sent}");

    let projected = got(&b, "home/*?_project=hum", pushdown);
    assert_eq!(projected, [r#"0:{"hum":40}"#, r#"1:{"hum":50}"#, "2:{}", "9:", "an error"]);
    assert_eq!(soon(&parameters), "_project=hum");

    let querier = b.declare_querier("home/*").wait().unwrap();
    let named = querier.get().parameters("_filter=name='Eve'").wait().unwrap();
    assert_eq!(texts(named), [format!("1:{}", VALUES[1]), "an error".into()]);
}

/// Late, nothing is sent, and the values are filtered after consolidation.
#[test]
fn late_selection_is_exact() {
    let (a, b) = pair();
    let zid = a.zid();
    let (asked, parameters) = mpsc::channel();
    let answer = move |query: Query| {
        asked.send(query.parameters().to_string()).unwrap();
        // Two storages: the stale one matches, the newest value does not.
        for (time, temp) in [(1, 30), (2, 10)] {
            let reply = query.reply("home/0", format!(r#"{{"temp":{temp},"hum":1}}"#));
            let reply = reply.encoding(Encoding::APPLICATION_JSON);
            reply.timestamp(Timestamp::new(time, zid)).wait().unwrap();
        }
    };
    let _queryable = a.declare_queryable("home/*").callback(answer).wait().unwrap();
    await_queryable(&b, "home/*");
    let selector = "home/*?_filter=temp>25;_project=temp;x=1";
    assert_eq!(got(&b, selector, SelectMode::Late), [""; 0]);
    assert_eq!(soon(&parameters), "x=1");
    assert_eq!(got(&b, selector, SelectMode::Pushdown), [r#"0:{"temp":30}"#]);
    soon(&parameters);
    for consolidation in [Consolidation::None, Consolidation::Monotonic] {
        let get = b.get(selector).select(SelectMode::Late).consolidation(consolidation);
        assert_eq!(texts(get.wait().unwrap()), [r#"0:{"temp":30}"#]);
        soon(&parameters);
    }
}

/// Off, they are parameters like any others.
#[test]
fn off_sends_parameters_verbatim() {
    let (a, b) = pair();
    let (_queryable, parameters) = naive(&a);
    await_queryable(&b, "home/*");
    assert_eq!(got(&b, "home/*?_filter=temp>25;_project=hum", SelectMode::Off).len(), 5);
    assert_eq!(soon(&parameters), "_filter=temp>25;_project=hum");
    assert_eq!(got(&b, "home/*?_filter=not a filter(", SelectMode::Off).len(), 5);
}

/// What is malformed is refused by the querier, with the place, and nothing is sent.
#[test]
fn malformed_expressions_are_refused() {
    let session = alone();
    let error = session.get("home/*?_filter=temp>").wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Select);
    assert!(error.to_string().contains("bad_filter"), "{error}");
    let error = session.get("home/*?_project=a..b").wait().unwrap_err();
    assert!(error.to_string().contains("bad_projection"), "{error}");
    let subscriber = session.declare_subscriber("home/*");
    assert_eq!(subscriber.filter("temp >").wait().unwrap_err().kind(), ErrorKind::Select);
}

/// A queryable can evaluate the expressions itself, or have it done for all its replies.
#[test]
fn responders_select() {
    let (a, b) = pair();
    let (sent, replies_sent) = mpsc::channel();
    let by_hand = move |query: Query| {
        for (index, value) in VALUES.iter().enumerate() {
            match query.select(&(*value).into(), &Encoding::APPLICATION_JSON) {
                Ok(Some((payload, encoding))) => {
                    sent.send(payload.try_to_str().unwrap().into_owned()).unwrap();
                    query
                        .reply(format!("home/{index}"), payload)
                        .encoding(encoding)
                        .wait()
                        .unwrap();
                }
                Ok(None) => {}
                Err(error) => panic!("{error}"),
            }
        }
    };
    let queryable = a.declare_queryable("home/*").callback(by_hand).wait().unwrap();
    await_queryable(&b, "home/*");
    let hot = got(&b, "home/*?_filter=temp>25;_project=hum", SelectMode::Off);
    assert_eq!(hot, [r#"0:{"hum":40}"#, "2:{}"]);
    assert_eq!(replies_sent.try_iter().collect::<Vec<_>>(), [r#"{"hum":40}"#, "{}"]);
    drop(queryable);

    let naive = |query: Query| {
        for (index, value) in VALUES.iter().enumerate() {
            let reply = query.reply(format!("home/{index}"), *value);
            reply.encoding(Encoding::APPLICATION_JSON).wait().unwrap();
        }
        query.reply_del("home/9").wait().unwrap();
    };
    let queryable = a.declare_queryable("home/*").auto_select(true).callback(naive);
    let _queryable = queryable.wait().unwrap();
    await_queryable(&b, "home/*");
    assert_eq!(got(&b, "home/*?_filter=temp>25;_project=hum", SelectMode::Off), hot);
    assert_eq!(got(&b, "home/*?_project=hum", SelectMode::Off).len(), 4);
    assert_eq!(got(&b, "home/*", SelectMode::Off).len(), 4);
    let malformed = b.get("home/*?_filter=temp>").select(SelectMode::Off).wait().unwrap();
    let errors: Vec<_> = malformed.into_iter().map(|it| it.into_result().unwrap_err()).collect();
    assert_eq!(errors.len(), 1, "one error, no data");
    assert_eq!(*errors[0].encoding(), Encoding::APPLICATION_JSON);
    let text = errors[0].payload().try_to_str().unwrap().into_owned();
    assert!(text.contains(r#""error":"bad_filter""#) && text.contains("_filter"), "{text}");
}

/// A subscriber may have expressions of its own.
#[test]
fn subscribers_select() {
    let (a, b) = pair();
    let owned = a.declare_subscriber("home/*").filter("temp>25").project("hum").wait().unwrap();
    let (seen, views) = mpsc::channel();
    let callback = move |view: &SampleView<'_>| {
        seen.send((view.payload().to_vec(), view.encoding(), view.attachment().is_some())).unwrap();
    };
    let viewed = a.declare_subscriber("home/*").filter("name=='a;b'").callback(callback);
    let _viewed = viewed.wait().unwrap();
    let fence = a.declare_subscriber("home/fence").wait().unwrap();
    drop(crate::support::matched_publisher(&b, "home/fence"));
    let put = |value: &str| {
        let put = b.put("home/x", value).encoding(Encoding::APPLICATION_JSON).attachment("more");
        put.wait().unwrap();
    };
    for value in VALUES {
        put(value);
    }
    put(r#"{"name":"a;b"}"#);
    b.delete("home/x").wait().unwrap();
    b.put("home/fence", "x").wait().unwrap();
    next(&fence);
    let got: Vec<_> = owned.drain().collect();
    assert_eq!(got.len(), 2);
    assert_eq!(*got[0].payload(), r#"{"hum":40}"#);
    assert_eq!(*got[0].encoding(), Encoding::APPLICATION_JSON);
    assert_eq!(*got[0].attachment().unwrap(), "more");
    assert_eq!(*got[1].payload(), "{}");
    let named = (br#"{"name":"a;b"}"#.to_vec(), Encoding::APPLICATION_JSON, true);
    assert_eq!(views.try_iter().collect::<Vec<_>>(), [named]);
}
