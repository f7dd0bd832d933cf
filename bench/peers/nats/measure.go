package main

import (
	"encoding/binary"
	"errors"
	"slices"
	"sync"
	"time"
)

// markEvery is how many messages may pass between two reads of the clock.
const markEvery = 256

// window finds the first and the last message of a time that begins some time after the first message.
type window struct {
	lock              sync.Mutex
	warmup, duration  time.Duration
	since             time.Time
	count, first      int64
	waiting, isInside bool
	rates             chan float64
}

func newWindow(warmup, duration time.Duration) *window {
	return &window{warmup: warmup, duration: duration, waiting: true, rates: make(chan float64, 1)}
}

// add says that so many have come, and closes the window when it is time.
func (w *window) add(count int64) {
	now := time.Now()
	w.lock.Lock()
	defer w.lock.Unlock()
	w.count += count
	switch passed := now.Sub(w.since); {
	case w.waiting:
		w.waiting, w.since = false, now
	case w.isInside && passed >= w.duration:
		select {
		case w.rates <- float64(w.count-w.first) / passed.Seconds():
		default:
		}
	case !w.isInside && passed >= w.warmup:
		w.isInside, w.since, w.first = true, now, w.count
	}
}

// rate waits until the window closes.
func (w *window) rate() (float64, error) {
	select {
	case rate := <-w.rates:
		return rate, nil
	case <-time.After(w.warmup + w.duration + 30*time.Second):
		return 0, errors.New("too few messages came to fill the window")
	}
}

// trips are round trips: those after the warm-up, and their percentiles.
type trips struct {
	warmup, count int
	samples       []time.Duration
}

// record takes one; whether there is another one to send.
func (t *trips) record(sample time.Duration) bool {
	if t.warmup > 0 {
		t.warmup--
	} else if len(t.samples) < t.count {
		t.samples = append(t.samples, sample)
	}
	return len(t.samples) < t.count
}

func (t *trips) output(size int) output {
	slices.Sort(t.samples)
	percentile := func(percent int) float64 {
		rank := max(1, (len(t.samples)*percent+99)/100)
		return float64(t.samples[rank-1].Nanoseconds()) / 1000
	}
	return output{
		"size": size, "count": len(t.samples),
		"min_us": percentile(0), "p50_us": percentile(50), "p90_us": percentile(90), "p99_us": percentile(99),
	}
}

// sleepSlack is what a sleep may take longer than it should; the rest of a wait is spent awake.
const sleepSlack = 120 * time.Microsecond

// pace says when the next message is due.
type pace struct {
	due time.Time
	gap time.Duration
}

func newPace(rate float64) *pace {
	p := &pace{due: time.Now()}
	if rate > 0 {
		p.gap = time.Duration(float64(time.Second) / rate)
	}
	return p
}

func (p *pace) wait() {
	if p.gap == 0 {
		return
	}
	for left := time.Until(p.due); left > 0; left = time.Until(p.due) {
		if left > sleepSlack {
			time.Sleep(left - sleepSlack)
		}
	}
	p.due = p.due.Add(p.gap)
}

// stamp writes a time into the first eight bytes of a message.
func stamp(payload []byte, at time.Duration) {
	binary.LittleEndian.PutUint64(payload, uint64(at))
}

func stamped(payload []byte) time.Duration {
	return time.Duration(binary.LittleEndian.Uint64(payload))
}
