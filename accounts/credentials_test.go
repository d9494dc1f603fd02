package accounts_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alexedwards/scs/v2"

	"filmroom/accounts"
)

// signedIn stores a session of the bundle's user as the session manager would, and returns its cookie.
func signedIn(t *testing.T, b *bundle, cookie string) string {
	t.Helper()
	deadline := time.Now().Add(time.Hour)
	data, err := scs.GobCodec{}.Encode(deadline, map[string]any{accounts.SessionUserKey: b.user.ID})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.SessionStore().CommitCtx(t.Context(), cookie, data, deadline); err != nil {
		t.Fatal(err)
	}
	return cookie
}

func TestASessionThroughItsManager(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sm := scs.New()
	sm.Store = b.SessionStore()
	mux := http.NewServeMux()
	mux.HandleFunc("/in", func(_ http.ResponseWriter, r *http.Request) {
		sm.Put(r.Context(), accounts.SessionUserKey, b.user.ID)
	})
	mux.HandleFunc("/who", func(w http.ResponseWriter, r *http.Request) {
		w.Write([]byte(sm.GetString(r.Context(), accounts.SessionUserKey)))
	})
	mux.HandleFunc("/out", func(_ http.ResponseWriter, r *http.Request) {
		if err := sm.Destroy(r.Context()); err != nil {
			t.Error(err)
		}
	})
	get := func(path string, cookies ...*http.Cookie) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), "GET", path, nil)
		for _, c := range cookies {
			r.AddCookie(c)
		}
		w := httptest.NewRecorder()
		sm.LoadAndSave(mux).ServeHTTP(w, r)
		return w
	}
	cookie := get("/in").Result().Cookies()[0]
	if who := get("/who", cookie).Body.String(); who != b.user.ID {
		t.Errorf("the session is %q's, want %q's", who, b.user.ID)
	}
	for hash, s := range b.store.sessions {
		if strings.Contains(hash, cookie.Value) || hash != accounts.SessionHash(cookie.Value) || s.UserID != b.user.ID {
			t.Errorf("stored as %q of %q", hash, s.UserID)
		}
	}
	get("/out", cookie)
	if who := get("/who", cookie).Body.String(); who != "" {
		t.Errorf("after signing out the cookie still speaks for %q", who)
	}
}

func TestASessionExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		cookie := signedIn(t, b, "here")
		time.Sleep(time.Hour)
		if _, found, err := b.SessionStore().FindCtx(t.Context(), cookie); found || err != nil {
			t.Errorf("found %v, %v after its time", found, err)
		}
		signedIn(t, b, "later")
		if len(b.store.sessions) != 1 {
			t.Errorf("%d sessions are kept, want only the one that is valid", len(b.store.sessions))
		}
	})
}

func TestSessionDataThatIsNoneIsAnError(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if err := b.SessionStore().CommitCtx(t.Context(), "x", []byte("not gob"), time.Now()); err == nil {
		t.Error("it was stored")
	}
}

func TestAToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t)
		ctx := t.Context()
		made, text, err := b.CreateToken(ctx, b.user.ID, "nightly")
		if err != nil || !strings.HasPrefix(text, accounts.TokenPrefix) || len(text) < 28 {
			t.Fatalf("got %q, %v", text, err)
		}
		if strings.Contains(made.Hash, text) || strings.Contains(text, made.Hash) {
			t.Error("the token itself is stored")
		}
		u, tok, err := b.Authenticate(ctx, text)
		if err != nil || u.ID != b.user.ID || tok.ID != made.ID || tok.LastUsedAt.IsZero() {
			t.Fatalf("got %+v, %+v, %v", u, tok, err)
		}
		first := tok.LastUsedAt
		time.Sleep(59 * time.Second)
		if _, tok, _ = b.Authenticate(ctx, text); !tok.LastUsedAt.Equal(first) {
			t.Error("a use was noted within the minute")
		}
		time.Sleep(time.Second)
		if _, tok, _ = b.Authenticate(ctx, text); !tok.LastUsedAt.After(first) {
			t.Error("a use after the minute was not noted")
		}
		if err := b.DeleteToken(ctx, "somebody else", made.ID); !errors.Is(err, accounts.ErrNotFound) {
			t.Errorf("somebody else's delete gave %v, want ErrNotFound", err)
		}
		if err := b.DeleteToken(ctx, b.user.ID, made.ID); err != nil {
			t.Fatal(err)
		}
		if _, _, err := b.Authenticate(ctx, text); !errors.Is(err, accounts.ErrBadCredentials) {
			t.Errorf("a deleted token gave %v, want ErrBadCredentials", err)
		}
	})
}

func TestTokensThatAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, text, err := b.CreateToken(t.Context(), b.user.ID, "nightly")
	if err != nil {
		t.Fatal(err)
	}
	for _, wrong := range []string{"", "frm_", text + "x", strings.ToLower(text), strings.TrimPrefix(text, "frm_")} {
		if _, _, err := b.Authenticate(t.Context(), wrong); !errors.Is(err, accounts.ErrBadCredentials) {
			t.Errorf("%q gave %v, want ErrBadCredentials", wrong, err)
		}
	}
	for _, name := range []string{"", " ", "two\nlines", strings.Repeat("x", 101), "\xff"} {
		if _, _, err := b.CreateToken(t.Context(), b.user.ID, name); err == nil {
			t.Errorf("the name %q was taken", name)
		}
	}
	if err := b.Disable(t.Context(), b.user.ID); err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.Authenticate(t.Context(), text); !errors.Is(err, accounts.ErrBadCredentials) {
		t.Errorf("a disabled account's token gave %v, want ErrBadCredentials", err)
	}
	if _, _, err := b.CreateToken(t.Context(), b.user.ID, "another"); !errors.Is(err, accounts.ErrNotFound) {
		t.Errorf("a disabled account made a token: %v", err)
	}
}

func TestTokensOfOneUserAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for range 100 {
		if _, _, err := b.CreateToken(t.Context(), b.user.ID, "nightly"); err != nil {
			t.Fatal(err)
		}
	}
	_, _, err := b.CreateToken(t.Context(), b.user.ID, "nightly")
	if _, ok := errors.AsType[*accounts.InvalidError](err); !ok {
		t.Errorf("got %v, want an InvalidError", err)
	}
}

func TestAStoreThatFailsIsNotAWrongToken(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.store.broken = errors.New("the disk is gone")
	if _, _, err := b.Authenticate(context.Background(), "frm_x"); !errors.Is(err, b.store.broken) {
		t.Errorf("got %v, want the store's error", err)
	}
}
