package handlers

import (
	"crypto/rand"
	"net"
	"net/http"
	"net/netip"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"
)

// protect forbids browsers what the desk does not need, and refuses writes that another site makes in a
// person's name.
func (s *Server) protect(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		nonce := rand.Text()
		r := c.Request()
		c.SetRequest(r.WithContext(templ.WithNonce(r.Context(), nonce)))
		s.setHeaders(c.Response().Header(), r, nonce)
		if err := s.origins.Check(r); err != nil {
			return errOtherSite
		}
		return next(c)
	}
}

func (s *Server) setHeaders(h http.Header, r *http.Request, nonce string) {
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", pagePolicy(nonce))
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
	h.Set("Referrer-Policy", s.referrerPolicy(r))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	if s.secure {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
}

// pagePolicy lets a page load what the desk itself serves, run the scripts it names, and nothing else.
func pagePolicy(nonce string) string {
	return "default-src 'none'; script-src 'nonce-" + nonce + "' 'strict-dynamic'; style-src 'self'; img-src 'self' data: blob:; " +
		"font-src 'self'; connect-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
}

// filePolicy shuts a file that a browser might show into a world of its own, without scripts.
const filePolicy = "sandbox; default-src 'none'; frame-ancestors 'none'"

// referrerPolicy is no-referrer, but over plain HTTP to another machine: there browsers send no Sec-Fetch-Site,
// and under no-referrer a form's Origin is "null", so the desk's own forms would look like another site's.
func (s *Server) referrerPolicy(r *http.Request) string {
	if s.secure || r.TLS != nil || isLoopback(r.Host) {
		return "no-referrer"
	}
	return "same-origin"
}

func isLoopback(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// addressOf finds the address a request comes from. X-Forwarded-For counts only as far as trusted proxies
// wrote it: anybody can send one.
func addressOf(proxies []netip.Prefix) echo.IPExtractor {
	if len(proxies) == 0 {
		return echo.ExtractIPDirect()
	}
	options := []echo.TrustOption{echo.TrustLoopback(false), echo.TrustLinkLocal(false), echo.TrustPrivateNet(false)}
	for _, p := range proxies {
		p = p.Masked()
		options = append(options, echo.TrustIPRange(&net.IPNet{
			IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen()),
		}))
	}
	return echo.ExtractIPFromXFFHeader(options...)
}
