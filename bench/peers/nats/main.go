// Command bench-nats puts NATS behind the roles of the benchmark: its server as the router, its own client at both ends.
//
// Flags, output and way of measuring are those of bench/roles, which is Rust; the contract is in bench/README.md.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

// usageError is a wrong command line: status 2.
type usageError string

func (e usageError) Error() string { return string(e) }

// output is what a role prints at its end.
type output map[string]any

var roles = map[string]func(*flags) (output, error){
	"router":    route,
	"sub-thr":   subscribe,
	"sub-first": subscribeFirst,
	"pub-thr":   publish,
	"ping":      ping,
	"pong":      pong,
	"queryable": answer,
	"get":       ask,
	"sessions":  open,
}

func main() {
	status, err := run()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
	}
	os.Exit(status)
}

func run() (int, error) {
	if len(os.Args) < 2 {
		return 2, usageError("no role is given")
	}
	role, known := roles[os.Args[1]]
	if !known {
		return 2, usageError("no role `" + os.Args[1] + "`")
	}
	result, err := role(&flags{words: os.Args[2:]})
	var usage usageError
	if errors.As(err, &usage) {
		return 2, err
	}
	if err != nil {
		return 1, err
	}
	result["role"] = os.Args[1]
	line, err := json.Marshal(result)
	if err != nil {
		return 1, err
	}
	fmt.Println(string(line))
	return 0, nil
}

// ready tells whoever started this process that the other side may start.
func ready() { fmt.Fprintln(os.Stderr, "ready") }

// waitForEnd blocks until standard input ends, so that a role never outlives whoever started it.
func waitForEnd() { _, _ = io.Copy(io.Discard, os.Stdin) }

// endWithStdin ends the process, with 0, when standard input ends.
func endWithStdin() {
	go func() {
		waitForEnd()
		os.Exit(0)
	}()
}

// flags are the words after the role; each role takes its own.
type flags struct {
	words []string
	err   error
}

func (f *flags) text(name, fallback string) string {
	for at, word := range f.words {
		if word == "--"+name && at+1 < len(f.words) {
			value := f.words[at+1]
			f.words = append(f.words[:at:at], f.words[at+2:]...)
			return value
		}
	}
	return fallback
}

func (f *flags) on(name string) bool {
	for at, word := range f.words {
		if word == "--"+name {
			f.words = append(f.words[:at:at], f.words[at+1:]...)
			return true
		}
	}
	return false
}

func (f *flags) number(name string, fallback float64) float64 {
	text := f.text(name, "")
	if text == "" {
		return fallback
	}
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		f.err = usageError(fmt.Sprintf("--%s %s: %v", name, text, err))
	}
	return value
}

func (f *flags) count(name string, fallback int) int { return int(f.number(name, float64(fallback))) }

func (f *flags) seconds(name string, fallback float64) time.Duration {
	return time.Duration(f.number(name, fallback) * float64(time.Second))
}

// address is the host and port of an endpoint, and whether there is one. A mode and a priority mean nothing here.
func (f *flags) address(name string) string {
	for _, other := range []string{"mode", "priority"} {
		f.text(other, "")
	}
	f.on("express")
	endpoint := f.text(name, "")
	if !strings.HasPrefix(endpoint, "tcp/") {
		f.err = usageError("--" + name + " tcp/ADDRESS:PORT is missing")
	}
	return strings.TrimPrefix(endpoint, "tcp/")
}

// finish ends the reading of flags.
func (f *flags) finish() error {
	if f.err == nil && len(f.words) > 0 {
		f.err = usageError("unexpected argument `" + f.words[0] + "`")
	}
	return f.err
}
