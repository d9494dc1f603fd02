package handlers_test

import (
	"net/http"
	"testing"
	"time"

	"filmroom/tasks"
)

// Threat: a token that was revoked goes on telling of what happens.
func TestAWaitEndsWithTheCredentialThatAsked(t *testing.T) {
	t.Parallel()
	d := setup(t)
	ada := d.person("ada@example.org")
	list := must(d.accounts.Tokens(t.Context(), ada.user.ID))
	asked := make(chan *answer)
	go func() {
		asked <- ada.api("POST", "/api/tasks?wait=60s", jsonBody(fields{"kind": "gate", "idempotencyKey": "k"}))
	}()
	taskID := ada.running("gate")
	check(t, d.accounts.DeleteToken(t.Context(), ada.user.ID, list[0].ID))
	select {
	case a := <-asked:
		a.problem(http.StatusUnauthorized)
	case <-time.After(30 * time.Second):
		t.Fatal("the wait goes on without a credential")
	}
	ada.tell(taskID, step{end: true}) // the task itself goes on
	if end := ada.ends(taskID); end.Status != tasks.StatusFinished {
		t.Errorf("the task ended %s", end.Status)
	}
}

// running waits for a task of the kind that runs and returns its id.
func (p *person) running(kind string) string {
	p.t.Helper()
	sub := p.tasks.Subscribe(p.as(), tasks.Scope{})
	defer sub.Close()
	for {
		page := must(p.tasks.List(p.t.Context(), p.as(), tasks.Query{Kind: kind, Statuses: []tasks.Status{tasks.StatusProcessing}, Limit: 1}))
		if len(page.Items) == 1 {
			return page.Items[0].ID
		}
		select {
		case <-sub.Ready():
			sub.Take()
		case <-time.After(30 * time.Second):
			p.t.Fatal("no such task runs")
		}
	}
}
