//! Mosquitto behind the roles of the benchmark: its broker as the router, and the client library rumqttc at both ends.
//!
//! Quality of service 0, which is what the others are compared at. Not here: how anything is measured: the crate `bench_roles`.

mod broker;

use bench_roles::{Failure, How, Message, Mode, Network, Place, Publish, play};
use broker::Broker;
use rumqttc::{Client, Event, EventLoop, MqttOptions, Packet, QoS};
use std::process::ExitCode;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, RwLock};
use std::time::Duration;
use tokio::runtime::Runtime;

fn main() -> ExitCode {
    play::<Mqtt>()
}

/// All sessions of a process share its threads.
static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Runtime::new().expect("the system gives a process two threads and a poller"));

/// Requests between a session and its event loop.
const REQUESTS: usize = 1024;

/// How long a broker may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// More than any case sends.
const PACKET_LEN_MAX: usize = 256 << 20;

enum Mqtt {
    Broker { _it: Broker },
    Session(Session),
}

struct Session {
    client: Client,
    callbacks: Arc<RwLock<Vec<Callback>>>,
    /// One for the connection, then one for each subscription that the broker has confirmed.
    confirmed: Mutex<Receiver<()>>,
}

type Call = Box<dyn Fn(&[u8]) + Send + Sync>;

struct Callback {
    filter: String,
    call: Call,
}

impl Mqtt {
    fn session(&self) -> Result<&Session, Failure> {
        match self {
            Self::Session(session) => Ok(session),
            Self::Broker { .. } => Err(Failure::Usage("a broker only forwards".to_owned())),
        }
    }
}

impl Session {
    fn open(place: &Place) -> Result<Self, Failure> {
        let Some((host, port)) = place.connect.as_deref().and_then(broker::address) else {
            return Err(Failure::Usage("--connect tcp/ADDRESS:PORT is missing".to_owned()));
        };
        // An empty identity is one that the broker chooses.
        let mut options = MqttOptions::new("", host, port);
        options.set_clean_session(true).set_keep_alive(Duration::from_secs(60));
        options.set_max_packet_size(PACKET_LEN_MAX, PACKET_LEN_MAX);
        let (client, connection) = Client::new(options, REQUESTS);
        let mut events = connection.eventloop;
        events.network_options.set_tcp_nodelay(true);
        let callbacks = Arc::new(RwLock::new(Vec::new()));
        let (confirm, confirmed) = mpsc::channel();
        RUNTIME.spawn(drive(events, Arc::clone(&callbacks), confirm));
        let session = Self { client, callbacks, confirmed: Mutex::new(confirmed) };
        session.wait_confirmed()?;
        Ok(session)
    }

    fn wait_confirmed(&self) -> Result<(), Failure> {
        let confirmed = self.confirmed.lock().unwrap_or_else(PoisonError::into_inner);
        confirmed.recv_timeout(PATIENCE).map_err(|_| Failure::Run("the broker is silent".into()))
    }

    fn subscribe(&self, key: &str, call: Call) -> Result<(), Failure> {
        let filter = key.replace("**", "#");
        let callback = Callback { filter: filter.clone(), call };
        self.callbacks.write().unwrap_or_else(PoisonError::into_inner).push(callback);
        self.client.subscribe(filter, QoS::AtMostOnce)?;
        self.wait_confirmed()
    }
}

/// Moves the bytes of a session until it ends; whoever waits then notices by itself.
async fn drive(mut events: EventLoop, callbacks: Arc<RwLock<Vec<Callback>>>, confirm: Sender<()>) {
    while let Ok(event) = events.poll().await {
        match event {
            Event::Incoming(Packet::ConnAck(_) | Packet::SubAck(_)) => {
                // Nobody waits for it after the deadline.
                let _ = confirm.send(());
            }
            Event::Incoming(Packet::Publish(publish)) => {
                let callbacks = callbacks.read().unwrap_or_else(PoisonError::into_inner);
                for callback in callbacks.iter() {
                    let is_alone = callbacks.len() == 1;
                    if is_alone || rumqttc::matches(&publish.topic, &callback.filter) {
                        (callback.call)(&publish.payload);
                    }
                }
            }
            _ => {}
        }
    }
}

impl Network for Mqtt {
    type Payload = Vec<u8>;
    type Publisher = MqttPublisher;
    type Held = ();

    fn open(place: &Place) -> Result<Self, Failure> {
        match place.mode {
            Mode::Router => Ok(Self::Broker { _it: Broker::start(place)? }),
            Mode::Client => Ok(Self::Session(Session::open(place)?)),
            Mode::Peer => Err(Failure::Usage("MQTT has no peers".to_owned())),
        }
    }

    fn payload(bytes: Vec<u8>) -> Vec<u8> {
        bytes
    }

    fn publisher(&self, key: &str, _how: How) -> Result<MqttPublisher, Failure> {
        Ok(MqttPublisher { client: self.session()?.client.clone(), topic: key.to_owned() })
    }

    fn subscribe<F>(&self, key: &str, callback: F) -> Result<(), Failure>
    where
        F: Fn(&dyn Message) + Send + Sync + 'static,
    {
        self.session()?.subscribe(key, Box::new(move |payload| callback(&payload)))
    }

    fn echo(&self, from: &str, to: &str, _how: How) -> Result<(), Failure> {
        let session = self.session()?;
        let (client, to) = (session.client.clone(), to.to_owned());
        let answer = move |payload: &[u8]| {
            // The event loop must not wait for itself; with few messages on their way there is room.
            let _ = client.try_publish(to.as_str(), QoS::AtMostOnce, false, payload);
        };
        session.subscribe(from, Box::new(answer))
    }

    fn answer(&self, _key: &str, _size: usize) -> Result<(), Failure> {
        Err(no_questions())
    }

    fn ask(&self, _key: &str) -> Result<bool, Failure> {
        Err(no_questions())
    }

    fn ask_then<F>(&self, _key: &str, _closed: F) -> Result<(), Failure>
    where
        F: FnOnce() + Send + 'static,
    {
        Err(no_questions())
    }
}

fn no_questions() -> Failure {
    Failure::Usage("MQTT has no questions".to_owned())
}

struct MqttPublisher {
    client: Client,
    topic: String,
}

impl Publish for MqttPublisher {
    type Payload = Vec<u8>;

    fn put(&self, payload: &Vec<u8>) -> Result<(), Failure> {
        // Where it is called from an event loop of its own, there are few messages on their way.
        let topic = self.topic.as_str();
        if tokio::runtime::Handle::try_current().is_ok() {
            let _ = self.client.try_publish(topic, QoS::AtMostOnce, false, payload.as_slice());
            return Ok(());
        }
        Ok(self.client.publish(topic, QoS::AtMostOnce, false, payload.as_slice())?)
    }
}
