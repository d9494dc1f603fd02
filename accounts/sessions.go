package accounts

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/alexedwards/scs/v2"
)

// SessionUserKey is the key under which a session holds the id of who signed in, as a string. It must be
// put there when somebody signs in, so that ending an account ends its sessions.
const SessionUserKey = "userId"

// sweepEvery is how often signing in also removes expired sessions.
const sweepEvery = 10 * time.Minute

// SessionHash is what the store and a [Credential] call a session whose cookie has this value.
func SessionHash(cookie string) string { return hashed(cookie) }

// SessionStore returns where a scs.SessionManager keeps its sessions. The manager's codec must stay the
// default, scs.GobCodec.
func (s *Service) SessionStore() *SessionStore { return s.sessions }

// A SessionStore is a [scs.CtxStore] on a [Store]. It hands on only the hash of a cookie.
type SessionStore struct {
	service *Service
	swept   atomic.Int64 // Unix seconds of the last sweep
}

var _ scs.CtxStore = (*SessionStore)(nil)

// FindCtx returns the data of a session that has not expired.
func (ss *SessionStore) FindCtx(ctx context.Context, cookie string) ([]byte, bool, error) {
	session, err := ss.service.store.Session(ctx, hashed(cookie), ss.service.now())
	if errors.Is(err, ErrNotFound) {
		return nil, false, nil
	}
	return session.Data, err == nil, err
}

// CommitCtx stores a session.
func (ss *SessionStore) CommitCtx(ctx context.Context, cookie string, data []byte, expiry time.Time) error {
	_, values, err := scs.GobCodec{}.Decode(data)
	if err != nil {
		return err
	}
	userID, _ := values[SessionUserKey].(string) // nobody has signed in yet when it is absent
	ss.sweep(ctx)
	return ss.service.store.PutSession(ctx, Session{Hash: hashed(cookie), UserID: userID, Data: data, ExpiresAt: millis(expiry)})
}

// DeleteCtx ends a session and the streams opened with it.
func (ss *SessionStore) DeleteCtx(ctx context.Context, cookie string) error {
	defer ss.service.watch.look()
	return ss.service.store.DeleteSession(ctx, hashed(cookie))
}

// sweep removes expired sessions now and then, so that they are bounded by the rate of signing in.
func (ss *SessionStore) sweep(ctx context.Context) {
	now, last := ss.service.now(), ss.swept.Load()
	if now.Unix()-last < int64(sweepEvery/time.Second) || !ss.swept.CompareAndSwap(last, now.Unix()) {
		return
	}
	if _, err := ss.service.store.DeleteExpiredSessions(ctx, now); err != nil {
		ss.service.log.WarnContext(ctx, "expired sessions were not removed", "error", err)
	}
}

// Find, Commit and Delete complete the interface; the session manager calls the ones with a context.
func (ss *SessionStore) Find(cookie string) ([]byte, bool, error) {
	return ss.FindCtx(context.Background(), cookie)
}

// Commit is [SessionStore.CommitCtx] without a context.
func (ss *SessionStore) Commit(cookie string, data []byte, expiry time.Time) error {
	return ss.CommitCtx(context.Background(), cookie, data, expiry)
}

// Delete is [SessionStore.DeleteCtx] without a context.
func (ss *SessionStore) Delete(cookie string) error {
	return ss.DeleteCtx(context.Background(), cookie)
}
