package handlers_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"filmroom/handlers"
	"filmroom/tasks"
)

// The viewers' benchmark: the desk runs in this process on one core, its viewers in another process, so that what is
// measured is the desk alone. Each viewer is signed in by a cookie and follows one of a hundred tasks, all of which
// tell news every 300 ms, out of step with each other.
const (
	watchedTasks = 100
	tickEvery    = 300 * time.Millisecond
	watchFor     = 10 * time.Second
	viewersEnv   = "FILMROOM_TEST_VIEWERS" // set: this process is the viewers
)

func BenchmarkViewers(b *testing.B) {
	for _, n := range []int{1000, 10000} {
		for name, path := range map[string]string{"api": "/api/events", "page": "/events"} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) { watch(b, path, n) })
		}
	}
}

// seen is what the viewers saw.
type seen struct {
	Events, Dropped int
	P50, P99, Max   time.Duration
}

func watch(b *testing.B, path string, viewers int) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	d := setup(b, options{
		config: func(c *handlers.Config) { c.Logger = slog.New(slog.NewJSONHandler(io.Discard, nil)) },
		tasks: func(c *tasks.Config) {
			c.Kinds, c.Lanes, c.ProgressInterval = must(tasks.NewKinds(ticking())), map[string]int{"tick": watchedTasks}, tickEvery/3
		},
	})
	var cookies []string
	for i := range watchedTasks {
		p := d.person(fmt.Sprintf("p%d@example.org", i))
		must(d.tasks.Submit(b.Context(), p.as(), tasks.Spec{Kind: "tick", Name: "ticking", Args: tickArgs{time.Duration(i) * tickEvery / watchedTasks}}))
		cookies = append(cookies, p.cookie.String())
	}
	before := memory()
	child := startViewers(b, d.url, path, viewers, cookies)
	child.expect("connected")
	kib := float64(memory()-before) / float64(viewers) / 1024
	from, began := cpu(), time.Now()
	child.say("measure")
	time.Sleep(watchFor) // the window of the measurement, not a wait for something
	used, took := cpu()-from, time.Since(began)
	child.say("stop")
	var got seen
	if err := json.Unmarshal([]byte(child.line()), &got); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(got.Dropped), "dropped")
	b.ReportMetric(float64(got.Events)/took.Seconds(), "events/s")
	b.ReportMetric(float64(got.P50.Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(got.P99.Microseconds())/1000, "p99-ms")
	b.ReportMetric(float64(got.Max.Microseconds())/1000, "max-ms")
	b.ReportMetric(100*used.Seconds()/took.Seconds(), "cpu-%")
	b.ReportMetric(kib, "KiB/viewer")
	b.ReportMetric(0, "ns/op")
}

type tickArgs struct {
	Offset time.Duration `json:"offset"`
}

// ticking is a kind that says at each tick which one it is, and when it was said.
func ticking() tasks.Kind {
	k := tasks.Kind{Name: "tick", Lane: "tick", Rerunnable: true, Retry: tasks.Retry{MaxAttempts: 1}}
	return tasks.Define(k, func(ctx context.Context, args tickArgs, r *tasks.Run) (tasks.Done, error) {
		select {
		case <-time.After(args.Offset):
		case <-ctx.Done():
			return tasks.Done{}, context.Cause(ctx)
		}
		tick := time.NewTicker(tickEvery)
		defer tick.Stop()
		for i := 0; ; i++ {
			r.Progress("tick "+strconv.Itoa(i)+" at "+strconv.FormatInt(time.Now().UnixMicro(), 10)+".", int64(i), 1<<40)
			select {
			case <-tick.C:
			case <-ctx.Done():
				return tasks.Done{}, context.Cause(ctx)
			}
		}
	})
}

// memory is what the process holds, in bytes, after a collection.
func memory() uint64 {
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}

func cpu() time.Duration {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		panic(err)
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// A child is the process of the viewers.
type child struct {
	b   *testing.B
	in  io.Writer
	out *bufio.Reader
}

func startViewers(b *testing.B, url, path string, n int, cookies []string) *child {
	command := exec.CommandContext(b.Context(), os.Args[0])
	command.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %d %s", viewersEnv, strings.TrimPrefix(url, "http://"), path, n, strings.Join(cookies, "|")))
	command.Stderr = os.Stderr
	c := &child{b: b, in: must(command.StdinPipe()), out: bufio.NewReader(must(command.StdoutPipe()))}
	check(b, command.Start())
	b.Cleanup(func() { check(b, command.Wait()) })
	return c
}

func (c *child) say(word string) { fmt.Fprintln(c.in, word) }

func (c *child) line() string {
	line, err := c.out.ReadString('\n')
	if err != nil {
		c.b.Fatalf("the viewers left: %v", err)
	}
	return strings.TrimSpace(line)
}

func (c *child) expect(word string) {
	if got := c.line(); got != word {
		c.b.Fatalf("the viewers say %q instead of %q", got, word)
	}
}

// beViewers is the other process's whole life.
func beViewers(order string) {
	fields := strings.SplitN(order, " ", 4)
	address, path, cookies := fields[0], fields[1], strings.Split(fields[3], "|")
	viewers := make([]*watcher, must(strconv.Atoi(fields[2])))
	var all sync.WaitGroup
	slots := make(chan struct{}, 50) // connections that are being opened at once
	for i := range viewers {
		slots <- struct{}{}
		viewers[i] = connect(address, path, cookies[i%len(cookies)])
		all.Go(func() {
			viewers[i].first(func() { <-slots })
			viewers[i].follow()
		})
	}
	for range cap(slots) {
		slots <- struct{}{}
	}
	fmt.Println("connected")
	in := bufio.NewReader(os.Stdin)
	must(in.ReadString('\n'))
	from := time.Now()
	must(in.ReadString('\n'))
	until := time.Now()
	for _, v := range viewers {
		v.conn.Close()
	}
	all.Wait()
	fmt.Println(string(must(json.Marshal(sum(viewers, from, until)))))
}

// A watcher is one viewer.
type watcher struct {
	conn net.Conn
	in   *bufio.Reader
	news []news
}

type news struct {
	at   time.Time
	lag  time.Duration
	tick int
}

func connect(address, path, cookie string) *watcher {
	conn := must(net.Dial("tcp", address))
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: desk\r\nCookie: %s\r\nAccept: text/event-stream\r\n\r\n", path, cookie)
	return &watcher{conn: conn, in: bufio.NewReaderSize(conn, 4096)}
}

// first reads until the first piece of news.
func (w *watcher) first(then func()) {
	defer then()
	for !w.next() {
	}
	w.news = make([]news, 0, 2*int(watchFor/tickEvery))
}

func (w *watcher) follow() {
	for w.in != nil {
		w.next()
	}
}

// next reads a line, and reports whether it told of a tick.
func (w *watcher) next() bool {
	line, err := w.in.ReadSlice('\n')
	if err != nil && err != bufio.ErrBufferFull {
		w.in = nil
		return true
	}
	_, after, found := bytes.Cut(line, []byte("tick "))
	if !found {
		return false
	}
	number, after, _ := bytes.Cut(after, []byte(" at "))
	moment, _, whole := bytes.Cut(after, []byte("."))
	if tick, err := strconv.Atoi(string(number)); err == nil && whole && (len(w.news) == 0 || w.news[len(w.news)-1].tick != tick) {
		now := time.Now()
		w.news = append(w.news, news{now, now.Sub(time.UnixMicro(must(strconv.ParseInt(string(moment), 10, 64)))), tick})
	}
	return true
}

// sum counts what came within the window; a tick that did not come between two that did was dropped.
func sum(viewers []*watcher, from, until time.Time) (s seen) {
	var lags []time.Duration
	for _, v := range viewers {
		last := -1
		for _, n := range v.news {
			if n.at.Before(from) || n.at.After(until) {
				continue
			}
			if lags = append(lags, n.lag); last >= 0 {
				s.Dropped += n.tick - last - 1
			}
			last = n.tick
		}
		if last < 0 {
			s.Dropped++ // saw nothing at all
		}
	}
	slices.Sort(lags)
	if s.Events = len(lags); s.Events > 0 {
		s.P50, s.P99, s.Max = lags[s.Events/2], lags[s.Events*99/100], lags[s.Events-1]
	}
	return s
}
