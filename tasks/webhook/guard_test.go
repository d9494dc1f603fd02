package webhook

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestWhichAddressesArePublic(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"8.8.8.8": true, "93.184.215.14": true, "172.15.255.255": true, "172.32.0.1": true, "2606:4700::1111": true, "2a00:1450::1": true,
		"::ffff:8.8.8.8": true,

		"127.0.0.1": false, "127.255.255.254": false, "0.0.0.0": false, "0.1.2.3": false, "10.0.0.1": false, "172.16.0.1": false,
		"172.31.255.255": false, "192.168.1.1": false, "169.254.169.254": false, "100.64.0.1": false, "192.0.2.1": false,
		"198.18.0.1": false, "198.19.255.255": false, "224.0.0.1": false, "240.0.0.1": false, "255.255.255.255": false,
		"::": false, "::1": false, "fe80::1": false, "fe80::1%eth0": false, "fc00::1": false, "fd12:3456::1": false, "ff02::1": false,
		"fec0::1": false, "::ffff:127.0.0.1": false, "::ffff:10.0.0.1": false, "::ffff:169.254.169.254": false, "::7f00:1": false,
		"64:ff9b::7f00:1": false, "64:ff9b:1::a00:1": false, "2002:7f00:1::": false, "2001:0:7f00:1::": false, "2001:db8::1": false,
	} {
		if got := public(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s is public: %v, want %v", address, got, want)
		}
	}
}

// Threat: a person makes the desk call what only the desk can reach: its own ports, the cloud's metadata, the
// hospital's network. Every spelling that a resolver takes ends in an address, and that is what is judged.
func TestPrivateAddressesAreRefusedBeforeAnythingIsSent(t *testing.T) {
	t.Parallel()
	var called atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called.Add(1) }))
	defer s.Close()
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	d := &sender{cfg: Config{Now: fixed}, client: newClient(false)}
	for _, host := range []string{
		"127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "localhost", "0.0.0.0", "[::]", "10.1.2.3", "192.168.0.1",
		"172.16.5.4", "169.254.169.254", "[fe80::1]", "[fd00::1]", "100.64.0.1", "[64:ff9b::7f00:1]",
	} {
		err := d.post(t.Context(), Target{URL: "http://" + host + ":" + port + "/?key=42", Secret: "s"}, "id", Notice{})
		if !errors.Is(err, errNotPublic) {
			t.Errorf("%s: %v, want it refused", host, err)
		}
		if err != nil && strings.Contains(err.Error(), "key=42") {
			t.Errorf("%s: the error tells the address: %v", host, err)
		}
	}
	if called.Load() > 0 {
		t.Errorf("the desk's neighbour was called %d times", called.Load())
	}
	allowed := &sender{cfg: Config{Now: fixed}, client: newClient(true)}
	if err := allowed.post(t.Context(), Target{URL: s.URL}, "id", Notice{}); err != nil || called.Load() != 1 {
		t.Errorf("where private addresses are allowed: %v after %d calls", err, called.Load())
	}
}

// Threat: DNS rebinding. A name of the attacker's leads to a public address when it is checked and to a private
// one when it is dialled. Here the name is answered by a resolver of the test's own.
func TestANameThatLeadsToAPrivateAddressIsRefusedAtDial(t *testing.T) {
	t.Parallel()
	client := newClient(false)
	dialer := &net.Dialer{ControlContext: refusePrivate, Resolver: &net.Resolver{PreferGo: true, Dial: answering(t, "192.168.7.7")}}
	client.Transport.(*http.Transport).DialContext = dialer.DialContext
	d := &sender{cfg: Config{Now: fixed}, client: client}
	err := d.post(t.Context(), Target{URL: "http://rebound.example.net/"}, "id", Notice{})
	if !errors.Is(err, errNotPublic) {
		t.Errorf("%v, want it refused", err)
	}
}

func fixed() time.Time { return time.Unix(1_700_000_000, 0) }

// answering is a name server that knows one address, for every name.
func answering(t *testing.T, address string) func(context.Context, string, string) (net.Conn, error) {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var ended sync.WaitGroup
	ended.Go(func() {
		for query := make([]byte, 512); ; {
			n, from, err := server.ReadFrom(query)
			if err != nil {
				return
			}
			if _, err := server.WriteTo(answerTo(query[:n], netip.MustParseAddr(address).As4()), from); err != nil {
				t.Error(err)
			}
		}
	})
	t.Cleanup(func() { _ = server.Close(); ended.Wait() })
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", server.LocalAddr().String())
	}
}

// answerTo answers a query of one question (RFC 1035 section 4.1): the query's id and question, and for type A
// the address, named by a pointer to the question.
func answerTo(query []byte, address [4]byte) []byte {
	question := query[12 : 12+bytes.IndexByte(query[12:], 0)+5]
	answer := append(bytes.Clone(query[:2]), 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0)
	answer = append(answer, question...)
	if isA := question[len(question)-3] == 1; isA {
		answer[7] = 1
		answer = append(answer, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
		answer = append(answer, address[:]...)
	}
	return answer
}
