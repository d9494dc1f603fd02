package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"filmroom/tasks"
)

// maxRetryAfter is the longest pause that a receiver may ask for.
const maxRetryAfter = time.Hour

// Sign returns the value of Filmroom-Signature: HMAC-SHA256 under the secret, of the value of
// Filmroom-Timestamp, a full stop, and the body. A receiver computes the same, compares in constant time,
// and refuses timestamps that are minutes old.
func Sign(secret, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(timestamp + "."))
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

func (s *sender) post(ctx context.Context, target Target, delivery string, n Notice) error {
	body, err := json.Marshal(n)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target.URL, bytes.NewReader(body))
	if err != nil {
		// Not err, which holds the address, and the address may hold a key.
		return tasks.Permanent(tasks.UserError("The webhook's address cannot be understood.", nil))
	}
	timestamp := strconv.FormatInt(s.cfg.Now().Unix(), 10)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "Filmroom")
	req.Header.Set("Filmroom-Delivery", delivery)
	req.Header.Set("Filmroom-Timestamp", timestamp)
	req.Header.Set("Filmroom-Signature", Sign(target.Secret, timestamp, body))
	res, err := s.client.Do(req)
	if err != nil {
		return unsent(err)
	}
	_ = res.Body.Close() // unread: nothing in it matters, and it may be endless
	return verdict(res)
}

// unsent words why there was no answer.
func unsent(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // without the address
	}
	if errors.Is(err, errNotPublic) {
		return tasks.Permanent(tasks.UserError(
			"The webhook's address leads into a private network. An administrator can allow that with FILMROOM_WEBHOOK_ALLOW_PRIVATE.", err))
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return tasks.UserError(fmt.Sprintf("The receiver did not answer within %s.", requestTimeout), err)
	}
	return tasks.UserError("The receiver could not be reached.", err)
}

// verdict judges an answer: success, worth another attempt, or not.
func verdict(res *http.Response) error {
	code := res.StatusCode
	if code >= 200 && code < 300 {
		return nil
	}
	err := tasks.UserError(fmt.Sprintf("The receiver answered %d %s.", code, http.StatusText(code)), nil)
	switch {
	case code >= 300 && code < 400:
		return tasks.Permanent(tasks.UserError(
			fmt.Sprintf("The receiver answered %d, a redirect. Those are not followed: give the address that it leads to.", code), nil))
	case code == http.StatusRequestTimeout, code == http.StatusTooManyRequests, code >= 500:
		if seconds, bad := strconv.ParseUint(res.Header.Get("Retry-After"), 10, 16); bad == nil && seconds > 0 {
			return tasks.After(min(time.Duration(seconds)*time.Second, maxRetryAfter), err)
		}
		return err
	}
	return tasks.Permanent(err)
}
