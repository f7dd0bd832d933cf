package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

const (
	patience = 10 * time.Second
	// payloadMax is the largest that the server may be set to without a warning.
	payloadMax = 64 << 20
	// pendingMax is what the server may hold for a slow subscriber before it hangs up.
	pendingMax = 1 << 30
	// putsPerClock is how many messages a publisher sends between two reads of its clock.
	putsPerClock = 64
	// busyMessages are published by a session to itself before it counts as busy.
	busyMessages = 16
)

// route forwards for others until standard input ends.
func route(f *flags) (output, error) {
	host, port, err := net.SplitHostPort(f.address("listen"))
	if err := errors.Join(f.finish(), err); err != nil {
		return nil, err
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return nil, err
	}
	srv, err := server.NewServer(&server.Options{
		Host: host, Port: number, NoLog: true, NoSigs: true, MaxConn: 1 << 20,
		MaxPayload: payloadMax, MaxPending: pendingMax, WriteDeadline: time.Minute,
	})
	if err != nil {
		return nil, err
	}
	go srv.Start()
	if !srv.ReadyForConnections(patience) {
		return nil, errors.New("the server does not listen")
	}
	ready()
	waitForEnd()
	srv.Shutdown()
	return output{}, nil
}

func connect(address string) (*nats.Conn, error) {
	return nats.Connect("nats://"+address, nats.NoReconnect(), nats.Timeout(patience))
}

// listen subscribes without a limit of its own, and returns when the server knows.
func listen(conn *nats.Conn, subject string, callback nats.MsgHandler) error {
	sub, err := conn.Subscribe(subject, callback)
	if err != nil {
		return err
	}
	if err := sub.SetPendingLimits(-1, -1); err != nil {
		return err
	}
	return conn.Flush()
}

// subscribe counts messages from the first one on, over all sessions, and reports the rate inside the window.
func subscribe(f *flags) (output, error) {
	address := f.address("connect")
	within := newWindow(f.seconds("warmup", 1), f.seconds("duration", 3))
	size, sessions, keys := f.count("size", 1), f.count("sessions", 1), f.count("keys", 1)
	if err := f.finish(); err != nil {
		return nil, err
	}
	endWithStdin()
	every := int64(min(markEvery, max(1, (1<<20)/max(1, size))))
	if sessions > 1 {
		every = min(every, int64(max(8, markEvery/sessions)))
	}
	subject := "test.thr"
	if keys > 1 {
		subject = "test.thr.>"
	}
	for range sessions {
		conn, err := connect(address)
		if err != nil {
			return nil, err
		}
		// The callbacks of a subscription come one after the other.
		var count int64
		err = listen(conn, subject, func(*nats.Msg) {
			count++
			if count%every == 0 {
				within.add(every)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	ready()
	rate, err := within.rate()
	return output{"msgs_per_s": rate}, err
}

// subscribeFirst is ready when it has received a message, and ends.
func subscribeFirst(f *flags) (output, error) {
	address := f.address("connect")
	if err := f.finish(); err != nil {
		return nil, err
	}
	conn, err := connect(address)
	if err != nil {
		return nil, err
	}
	first := make(chan struct{}, 1)
	_, err = conn.Subscribe("test.thr", func(*nats.Msg) {
		select {
		case first <- struct{}{}:
		default:
		}
	})
	if err != nil {
		return nil, err
	}
	if err := conn.Flush(); err != nil {
		return nil, err
	}
	select {
	case <-first:
	case <-time.After(3 * patience):
		return nil, errors.New("no message came")
	}
	ready()
	return output{}, nil
}

// publish sends the same payload for a time: as fast as it can, or so many a second.
func publish(f *flags) (output, error) {
	address := f.address("connect")
	size, duration, rate := f.count("size", 8), f.seconds("duration", 5), f.number("rate", 0)
	sessions, keys := f.count("sessions", 1), f.count("keys", 1)
	if err := f.finish(); err != nil {
		return nil, err
	}
	endWithStdin()
	subjects := []string{"test.thr"}
	if keys > 1 {
		subjects = nil
		for key := range keys {
			subjects = append(subjects, fmt.Sprintf("test.thr.%d", key))
		}
	}
	var done sync.WaitGroup
	var total atomic.Int64
	for range sessions {
		conn, err := connect(address)
		if err != nil {
			return nil, err
		}
		done.Add(1)
		go func() {
			defer done.Done()
			total.Add(flood(conn, subjects, make([]byte, size), duration, newPace(rate/float64(sessions))))
		}()
	}
	ready()
	done.Wait()
	return output{"size": size, "count": total.Load(), "seconds": duration.Seconds()}, nil
}

func flood(conn *nats.Conn, subjects []string, payload []byte, duration time.Duration, due *pace) int64 {
	burst := int64(putsPerClock)
	if due.gap > 0 || len(payload) > 1<<16 {
		burst = 1
	}
	var count int64
	for start := time.Now(); time.Since(start) < duration; {
		due.wait()
		for range burst {
			if conn.Publish(subjects[count%int64(len(subjects))], payload) != nil {
				return count
			}
			count++
		}
	}
	_ = conn.Flush()
	return count
}

// pong sends every ping back from the callback that received it.
func pong(f *flags) (output, error) {
	conn, err := session(f)
	if err != nil {
		return nil, err
	}
	err = listen(conn, "test.ping", func(msg *nats.Msg) { _ = conn.Publish("test.pong", msg.Data) })
	if err != nil {
		return nil, err
	}
	ready()
	waitForEnd()
	return output{}, nil
}

func session(f *flags) (*nats.Conn, error) {
	address := f.address("connect")
	if err := f.finish(); err != nil {
		return nil, err
	}
	return connect(address)
}

// ping measures round trips: back to back, or so many a second.
func ping(f *flags) (output, error) {
	address := f.address("connect")
	size, rate := f.count("size", 64), f.number("rate", 0)
	measured := trips{count: f.count("count", 10_000), warmup: f.count("warmup", 1000)}
	if err := f.finish(); err != nil {
		return nil, err
	}
	conn, err := connect(address)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	send := func() {
		payload := make([]byte, max(8, size))
		stamp(payload, time.Since(start))
		_ = conn.Publish("test.ping", payload)
	}
	var isMeasuring atomic.Bool
	contact, over := make(chan struct{}, 1), make(chan struct{})
	err = listen(conn, "test.pong", func(msg *nats.Msg) {
		switch {
		case !isMeasuring.Load():
			select {
			case contact <- struct{}{}:
			default:
			}
		case !measured.record(time.Since(start) - stamped(msg.Data)):
			isMeasuring.Store(false)
			close(over)
		case rate == 0:
			send()
		}
	})
	if err != nil {
		return nil, err
	}
	send()
	select {
	case <-contact:
	case <-time.After(patience):
		return nil, errors.New("nobody answers")
	}
	isMeasuring.Store(true)
	send()
	for due := newPace(rate); rate > 0 && isMeasuring.Load(); send() {
		due.wait()
	}
	select {
	case <-over:
		return measured.output(size), nil
	case <-time.After(6 * patience):
		return nil, errors.New("the answers stopped, or came too slowly")
	}
}

// answer answers every question until standard input ends.
func answer(f *flags) (output, error) {
	payload := make([]byte, f.count("size", 8))
	conn, err := session(f)
	if err != nil {
		return nil, err
	}
	if err := listen(conn, "test.get", func(msg *nats.Msg) { _ = msg.Respond(payload) }); err != nil {
		return nil, err
	}
	ready()
	waitForEnd()
	return output{}, nil
}

// ask reports how many questions are answered a second, one after the other or with many open.
func ask(f *flags) (output, error) {
	within := newWindow(f.seconds("warmup", 1), f.seconds("duration", 3))
	inFlight := f.count("in-flight", 1)
	conn, err := session(f)
	if err != nil {
		return nil, err
	}
	endWithStdin()
	// The client has no questions with a callback: each open one has a goroutine.
	for range inFlight {
		go func() {
			for {
				if _, err := conn.Request("test.get", nil, patience); err != nil {
					return
				}
				within.add(1)
			}
		}()
	}
	rate, err := within.rate()
	return output{"gets_per_s": rate, "in_flight": inFlight}, err
}

// open holds sessions until standard input ends. Busy ones have received what they have published.
func open(f *flags) (output, error) {
	address, sessions, isBusy := f.address("connect"), f.count("sessions", 1), f.on("busy")
	if err := f.finish(); err != nil {
		return nil, err
	}
	endWithStdin()
	var arrived atomic.Int64
	var conns []*nats.Conn
	subject := func(at int) string { return fmt.Sprintf("test.busy.%d.%d", os.Getpid(), at) }
	for at := range sessions {
		conn, err := connect(address)
		if err != nil {
			return nil, err
		}
		if isBusy {
			if err := listen(conn, subject(at), func(*nats.Msg) { arrived.Add(1) }); err != nil {
				return nil, err
			}
		}
		conns = append(conns, conn)
	}
	deadline := time.Now().Add(6 * patience)
	for isBusy && arrived.Load() < int64(sessions*busyMessages) {
		for at, conn := range conns {
			_ = conn.Publish(subject(at), make([]byte, 64))
		}
		if time.Now().After(deadline) {
			return nil, errors.New("the messages of busy sessions did not come")
		}
		time.Sleep(5 * time.Millisecond)
	}
	ready()
	waitForEnd()
	return output{}, nil
}
