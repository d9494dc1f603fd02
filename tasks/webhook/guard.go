package webhook

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"
)

var errNotPublic = errors.New("the address is not public")

// newClient returns a client that reaches public addresses alone, unless all are allowed. The check is made on
// the address that is about to be connected, after the name was looked up, so that a name which leads to
// one address when asked and to another when used gains nothing. There is no proxy, for it would dial on
// our behalf, and no connection is used twice, for each is to be checked.
func newClient(allowPrivate bool) *http.Client {
	dialer := &net.Dialer{Timeout: requestTimeout}
	if !allowPrivate {
		dialer.ControlContext = refusePrivate
	}
	return &http.Client{
		Timeout:       requestTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext:            dialer.DialContext,
			DisableKeepAlives:      true,
			DisableCompression:     true,
			TLSHandshakeTimeout:    requestTimeout,
			ResponseHeaderTimeout:  requestTimeout,
			ExpectContinueTimeout:  time.Second,
			MaxResponseHeaderBytes: 64 << 10,
		},
	}
}

// refusePrivate is called with the address in numbers, just before it is connected.
func refusePrivate(_ context.Context, network, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil || (network != "tcp4" && network != "tcp6") || !public(at.Addr()) {
		return fmt.Errorf("%w: %s", errNotPublic, address)
	}
	return nil
}

// reserved are networks that lead nowhere public, or back in, beyond those that package netip knows by name:
// the special-purpose registries of IANA (RFC 6890). Those of IPv6 that carry an IPv4 address within are
// refused as a whole.
var reserved = prefixes(
	"0.0.0.0/8",       // this network, RFC 791
	"100.64.0.0/10",   // carriers' own, RFC 6598
	"192.0.0.0/24",    // protocol assignments, RFC 6890
	"192.0.2.0/24",    // documentation, RFC 5737
	"192.88.99.0/24",  // 6to4 relays, RFC 7526
	"198.18.0.0/15",   // benchmarks, RFC 2544
	"198.51.100.0/24", // documentation
	"203.0.113.0/24",  // documentation
	"240.0.0.0/4",     // reserved, and broadcast, RFC 1112
	"::/96",           // with an IPv4 address within, RFC 4291 section 2.5.5.1
	"64:ff9b::/96",    // NAT64, RFC 6052
	"64:ff9b:1::/48",  // NAT64 of a site's own, RFC 8215
	"100::/64",        // discard, RFC 6666
	"2001::/23",       // Teredo and other protocols, RFC 2928
	"2001:db8::/32",   // documentation, RFC 3849
	"2002::/16",       // 6to4, RFC 3056
	"3fff::/20",       // documentation, RFC 9637
	"5f00::/16",       // segment routing, RFC 9602
	"fec0::/10",       // site-local, RFC 3879
)

func prefixes(all ...string) (list []netip.Prefix) {
	for _, p := range all {
		list = append(list, netip.MustParsePrefix(p))
	}
	return list
}

// public reports whether an address belongs to the internet at large.
func public(a netip.Addr) bool {
	a = a.Unmap().WithZone("") // no prefix contains an address with a zone
	if !a.IsGlobalUnicast() || a.IsPrivate() {
		return false // unspecified, loopback, multicast, link-local, broadcast; RFC 1918, RFC 4193
	}
	for _, p := range reserved {
		if p.Contains(a) {
			return false
		}
	}
	return true
}
