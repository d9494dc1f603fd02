package handlers

import (
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
	"golang.org/x/time/rate"
)

// maxRationed is how many credentials a generation of the ration book remembers.
const maxRationed = 10_000

// rations bound how often one credential may ask: a token for itself, all sessions of a person together. A
// request counts once, however long its stream or download lasts. Only credentials that were proven get an
// entry, and memory holds two generations of them, so that nobody grows it or starts afresh by being many.
type rations struct {
	limit rate.Limit
	burst int

	mu         sync.Mutex
	young, old map[string]*rate.Limiter
}

// newRations makes rations of so many requests a second, or none at all when that is negative.
func newRations(perSecond float64, burst int) *rations {
	if perSecond < 0 {
		return nil
	}
	return &rations{limit: rate.Limit(perSecond), burst: burst, young: map[string]*rate.Limiter{}}
}

func (r *rations) of(credential string) *rate.Limiter {
	r.mu.Lock()
	defer r.mu.Unlock()
	if one, ok := r.young[credential]; ok {
		return one
	}
	one, ok := r.old[credential]
	if !ok {
		one = rate.NewLimiter(r.limit, r.burst)
	}
	if len(r.young) >= maxRationed {
		r.old, r.young = r.young, map[string]*rate.Limiter{}
	}
	r.young[credential] = one
	return one
}

// take takes one request off a ration. left is how many may follow at once; full is how long until the ration is
// whole again; wait, when it is not ok, how long until the next request.
func (r *rations) take(credential string, now time.Time) (ok bool, left int, full, wait time.Duration) {
	one := r.of(credential)
	ok = one.AllowN(now, 1)
	tokens := one.TokensAt(now)
	full = r.lasts(float64(r.burst) - tokens)
	if !ok {
		wait = max(r.lasts(1-tokens), time.Millisecond)
	}
	return ok, max(int(tokens), 0), full, wait
}

func (r *rations) lasts(tokens float64) time.Duration {
	return time.Duration(tokens / float64(r.limit) * float64(time.Second))
}

// ration counts a request of somebody who is known, and tells them how many they have left.
func (s *Server) ration(c echo.Context) error {
	v := who(c)
	if s.rations == nil || v.ID == "" {
		return nil
	}
	credential := "token " + v.credential.TokenID
	if v.credential.TokenID == "" {
		credential = "person " + v.ID
	}
	ok, left, full, wait := s.rations.take(credential, s.now())
	h := c.Response().Header()
	h.Set("RateLimit-Limit", strconv.Itoa(s.rations.burst))
	h.Set("RateLimit-Remaining", strconv.Itoa(left))
	h.Set("RateLimit-Reset", strconv.Itoa(int(math.Ceil(full.Seconds()))))
	if !ok {
		return &fault{status: http.StatusTooManyRequests, detail: "Too many requests. Wait a little before the next one.", retryAfter: wait}
	}
	return nil
}
