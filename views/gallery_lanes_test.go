package views

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/a-h/templ"

	"filmroom/accounts"
	"filmroom/tasks"
)

// The part of the gallery for those who run the desk, and what a waiting task looks like.

func steeringGallery() map[string]templ.Component {
	f := galleryFrame()
	reader := Frame{User: Viewer{Email: "ben@example.org"}, Now: galleryNow}
	hostileFrame := Frame{User: Viewer{Email: hostile, Name: hostile, Admin: true}, Now: galleryNow}
	pages := map[string]templ.Component{
		"lanes":                   LanesPage(NewLanes(f, galleryLanes())),
		"lanes-idle":              LanesPage(NewLanes(f, LanesParts{States: []tasks.LaneState{{Lane: tasks.Lane{Name: "import", Capacity: 2}}}})),
		"lanes-reader":            LanesPage(NewLanes(reader, LanesParts{States: galleryLanes().States})),
		"lanes-hostile":           LanesPage(NewLanes(hostileFrame, hostileLanes())),
		"users":                   UsersPage(NewUsers(f, galleryUsers(), Users{})),
		"users-added":             UsersPage(NewUsers(f, galleryUsers(), Users{Secret: Secret{Of: "cleo@example.org", Value: "k3j9d-0svb2-qm7xw-t1yzr"}})),
		"users-hostile":           UsersPage(NewUsers(hostileFrame, hostileUsers(), Users{Typed: UserForm{Email: hostile, Name: hostile, Error: hostile}, Secret: Secret{hostile, hostile}})),
		"user":                    UserPage(NewUser(f, galleryUsers()[1], galleryTokens("nightly export"), User{})),
		"user-disabled":           UserPage(NewUser(f, galleryUsers()[2], nil, User{})),
		"user-reset":              UserPage(NewUser(f, galleryUsers()[1], nil, User{Secret: Secret{Of: "ben@example.org", Value: "k3j9d-0svb2-qm7xw-t1yzr"}})),
		"user-hostile":            UserPage(NewUser(hostileFrame, hostileUsers()[0], galleryTokens(hostile), User{Error: hostile, Secret: Secret{hostile, hostile}})),
		"audit":                   AuditPage(NewAudit(f, AuditQuery{}, accounts.AuditPage{Items: galleryAudit(), NextCursor: "01JE"}, galleryUsers())),
		"audit-new":               AuditPage(NewAudit(f, AuditQuery{}, accounts.AuditPage{}, galleryUsers())),
		"audit-none":              AuditPage(NewAudit(f, AuditQuery{UserID: "01JGONE", Action: accounts.ActExported, From: galleryNow}, accounts.AuditPage{}, galleryUsers())),
		"audit-end":               AuditPage(NewAudit(f, AuditQuery{Cursor: "01JE"}, accounts.AuditPage{}, nil)),
		"audit-hostile":           AuditPage(NewAudit(hostileFrame, AuditQuery{UserID: hostile, Action: hostile, Target: hostile}, accounts.AuditPage{Items: hostileAudit()}, hostileUsers())),
		"board-bulk":              BoardPage(NewBoard(f, BoardQuery{Statuses: []tasks.Status{tasks.StatusError}}, tasks.Page{Items: galleryTasks()[8:9], Total: 1204, TotalExact: true}, galleryCounts(), galleryBulk()...)),
		"account-webhook":         AccountPage(NewAccount(f, nil, Account{Webhook: "https://pacs.example.org/hooks/filmroom", WebhookSecret: "frs_K3J9D0SVB2QM7XWT1YZR8LPA4Q"})),
		"account-webhook-refused": AccountPage(NewAccount(f, nil, Account{Webhook: hostile, WebhookError: hostile})),
	}
	for name, t := range galleryWaits(f) {
		pages["task-waits-"+name] = TaskPage(t)
	}
	pages["task-attempts"] = TaskPage(galleryAttempts(f))
	return pages
}

func steeringFragments() map[string]templ.Component {
	m := NewLanes(galleryFrame(), hostileLanes())
	return map[string]templ.Component{
		"lanes": LanesPartial(m), "lane": LanePartial(m.Lanes[0]), "wait": TaskWaitPartial(galleryWaits(galleryFrame())["hostile"]),
	}
}

func galleryLanes() LanesParts {
	lane := func(name string, capacity int, load tasks.Load) tasks.LaneState {
		return tasks.LaneState{Lane: tasks.Lane{Name: name, Capacity: capacity, ChangedAt: galleryNow.Add(-48 * time.Hour)}, Load: load}
	}
	imports := lane("import", 2, tasks.Load{Queued: 14, Scheduled: 1, Processing: 2, OldestQueuedAt: galleryNow.Add(-190 * time.Second)})
	exports := lane("export", 4, tasks.Load{Queued: 1204, OldestQueuedAt: galleryNow.Add(-72 * time.Minute)})
	exports.Paused, exports.By, exports.Reason, exports.ChangedAt = true, "kim@example.org", "The disk is being exchanged; back at 15:00.", galleryNow.Add(-71*time.Minute)
	hooks := lane("webhook", 2, tasks.Load{Scheduled: 3})
	hooks.Rate, hooks.Burst, hooks.By, hooks.ChangedAt = 0.5, 3, "ada@example.org", galleryNow.Add(-26*time.Hour)
	closed := lane("bulk", 0, tasks.Load{})

	var past []tasks.Task
	for i := range 240 {
		t := galleryTask("", tasks.StatusFinished, "")
		t.EndedAt = galleryNow.Add(-time.Duration(i*i) * 63 * time.Millisecond)
		t.StartedAt = t.EndedAt.Add(-4 * time.Second)
		t.AvailableAt = t.StartedAt.Add(-time.Duration(1+i%7) * time.Second)
		t.CreatedAt = t.AvailableAt
		past = append(past, t)
	}
	var failed []tasks.Task
	for i := range 12 {
		failed = append(failed, failedTask(i, "The disk is full: "+fmt.Sprint(i)+" MB are left.", tasks.CauseError))
	}
	failed = append(failed, failedTask(20, "The ZIP ends in the middle (entry 7). Send the whole file again.", tasks.CausePermanent))
	return LanesParts{
		States: []tasks.LaneState{closed, exports, imports, hooks}, History: NewLaneHistory(galleryNow, past), Failures: GroupFailures(failed, galleryNow),
		Running: tasks.Page{Items: galleryTasks()[:3], Total: 43, TotalExact: true}, Cut: true, Abandoned: 1,
		Typed: map[string]LaneForm{"bulk": {Capacity: "5000", Reason: "Many want to go home", Error: "The capacity is 5000, it must be from 0 to 1000."}},
	}
}

func failedTask(i int, message string, cause tasks.Cause) tasks.Task {
	t := galleryTask(fmt.Sprintf("01JF%02d", i), tasks.StatusError, "Import, 12 files")
	t.EndedAt, t.Error, t.UserID = galleryNow.Add(-time.Duration(i)*time.Hour), message, fmt.Sprint(i%3)
	t.Failures = []tasks.Failure{{Attempt: 1, At: t.EndedAt, Cause: cause, Message: message}}
	return t
}

func hostileLanes() LanesParts {
	s := tasks.LaneState{Lane: tasks.Lane{Name: hostile, Capacity: 1000, Rate: 1e-9, Burst: 1 << 40, By: hostile, Reason: strings.Repeat(hostile, 5), ChangedAt: galleryNow},
		Load: tasks.Load{Queued: 1 << 40, Scheduled: 1 << 40, Processing: 1 << 40, OldestQueuedAt: galleryNow.Add(-9000 * time.Hour)}}
	running := hostileTasks()[2]
	running.Lane, running.UserEmail = hostile, hostile
	failed := hostileTasks()[4]
	failed.Status, failed.EndedAt = tasks.StatusError, galleryNow
	return LanesParts{States: []tasks.LaneState{s}, Running: tasks.Page{Items: []tasks.Task{running}}, Failures: GroupFailures([]tasks.Task{failed}, galleryNow),
		Typed: map[string]LaneForm{hostile: {Capacity: hostile, Rate: hostile, Burst: hostile, Reason: hostile, Error: hostile}}}
}

func galleryUsers() []accounts.User {
	return []accounts.User{
		{ID: "01JU1", Email: "ada@example.org", Name: "Ada", Admin: true, CreatedAt: galleryNow.Add(-900 * time.Hour)},
		{ID: "01JU2", Email: "ben@example.org", Name: "Ben Okafor", CreatedAt: galleryNow.Add(-400 * time.Hour)},
		{ID: "01JU3", Email: "cleo@example.org", CreatedAt: galleryNow.Add(-300 * time.Hour), DisabledAt: galleryNow.Add(-26 * time.Hour)},
	}
}

func hostileUsers() []accounts.User {
	return []accounts.User{{ID: hostile, Email: strings.Repeat(hostile, 3), Name: strings.Repeat(hostile, 3), Admin: true, CreatedAt: galleryNow}}
}

func galleryAudit() []accounts.AuditEntry {
	var all []accounts.AuditEntry
	for i, action := range accounts.Actions {
		e := accounts.AuditEntry{ID: fmt.Sprintf("01JE%02d", i), At: galleryNow.Add(-time.Duration(i*i) * time.Minute), UserID: "01JU1", Email: "ada@example.org", Action: action, Address: "192.0.2.17"}
		switch action {
		case accounts.ActLaneChanged:
			e.Target, e.Note = "export", "paused: the disk is being exchanged"
		case accounts.ActSignInFailed:
			e.UserID, e.Email, e.Address = "", "", "2001:db8:85a3::8a2e:370:7334"
		case accounts.ActDownloaded, accounts.ActUploaded, accounts.ActSeriesViewed, accounts.ActExported:
			e.Target = "01JCZ7M3T9QK0V2W4X6Y8A1B3C"
		case accounts.ActUserAdded:
			e.Target, e.Address = "01JU2", ""
		}
		all = append(all, e)
	}
	return all
}

func hostileAudit() []accounts.AuditEntry {
	return []accounts.AuditEntry{
		{ID: "1", At: galleryNow, UserID: hostile, Email: hostile, Action: hostile, Target: strings.Repeat(hostile, 3), Note: strings.Repeat(hostile, 5), Address: hostile},
		{ID: "2", At: galleryNow, UserID: hostile, Email: hostile, Action: accounts.ActDownloaded, Target: hostile, Note: hostile, Address: hostile},
	}
}

func galleryBulk() []tasks.Task {
	waits := galleryTask("01JB1", tasks.StatusQueued, "Retry 1204 tasks")
	waits.Kind, waits.Lane, waits.Attempt, waits.AvailableAt = tasks.BulkKind, "bulk", 0, galleryNow.Add(6*time.Second)
	runs := galleryTask("01JB2", tasks.StatusProcessing, "Dismiss 80 tasks")
	runs.Kind, runs.Progress = tasks.BulkKind, tasks.Progress{Message: "Working", Value: 31, Max: 80}
	return []tasks.Task{waits, runs}
}

func galleryWaits(f Frame) map[string]Task {
	t := galleryTask("01JW", tasks.StatusQueued, "Import, 12,000 files")
	t.Attempt = 0
	lane := tasks.Lane{Name: "import", Capacity: 2}
	holder := galleryTasks()[0]
	stopped := tasks.Lane{Name: "import", Paused: true, Capacity: 2, By: "kim@example.org", Reason: "The disk is being exchanged.", ChangedAt: galleryNow.Add(-12 * time.Minute)}
	closed := stopped
	closed.Paused, closed.Capacity = false, 0
	paused := t
	paused.Status = tasks.StatusPaused
	paused.Journal = []tasks.Entry{{At: galleryNow.Add(-3 * time.Minute), Event: tasks.EventPaused, By: "ada@example.org"}}
	later := galleryNow.Add(4 * time.Minute)
	bad := hostileTasks()[0]
	bad.Lane, bad.Status = hostile, tasks.StatusQueued
	badHolder := hostileTasks()[2]

	pages := map[string]Task{}
	for name, w := range map[string]tasks.Wait{
		"slot":    {For: tasks.WaitsForSlot, Lane: lane, Ahead: 5, AheadExact: true, Start: later, Earliest: later.Add(-time.Minute), Latest: later.Add(3 * time.Minute)},
		"next":    {For: tasks.WaitsForSlot, Lane: tasks.Lane{Name: "import", Capacity: 1}, AheadExact: true},
		"many":    {For: tasks.WaitsForSlot, Lane: lane, Ahead: tasks.CountLimit},
		"time":    {For: tasks.WaitsForTime, Lane: lane, Until: later, Start: later, Earliest: later, Latest: later},
		"lane":    {For: tasks.WaitsForLane, Lane: stopped, Ahead: 2, AheadExact: true},
		"closed":  {For: tasks.WaitsForLane, Lane: closed, Ahead: 2, AheadExact: true},
		"lock":    {For: tasks.WaitsForLock, Lane: lane, AheadExact: true, Holder: &holder},
		"another": {For: tasks.WaitsForLock, Lane: lane, AheadExact: true},
		"rate":    {For: tasks.WaitsForRate, Lane: tasks.Lane{Name: "import", Capacity: 2, Rate: 0.5, Burst: 1}, Ahead: 3, AheadExact: true, Start: later, Earliest: later, Latest: later},
	} {
		pages[name] = NewTask(f, t, TaskParts{Wait: &w})
	}
	pages["paused"] = NewTask(f, paused, TaskParts{Wait: &tasks.Wait{For: tasks.WaitsForPerson, Lane: lane}})
	pages["hostile"] = NewTask(f, bad, TaskParts{Origin: hostile, Wait: &tasks.Wait{For: tasks.WaitsForLock, Holder: &badHolder, Lane: hostileLanes().States[0].Lane}})
	return pages
}

func galleryAttempts(f Frame) Task {
	t := galleryTask("01JA", tasks.StatusFinished, "Reindex, 3 studies")
	t.Kind, t.Attempt, t.EndedAt = "reindex", 3, galleryNow
	t.Args = json.RawMessage(`{"seriesIds":["01JS0","01JS1"],"keepUIDs":true,"limit":12000,"note":"it's Ada's","options":{"deep":true},"none":null}`)
	t.Result = json.RawMessage(`{"done":480,"sha256":"3f3f"}`)
	t.Failures = []tasks.Failure{
		{Attempt: 1, At: galleryNow.Add(-130 * time.Second), Cause: tasks.CauseError, Message: "Something went wrong on the desk. Its log says more, under this task's id."},
		{Attempt: 2, At: galleryNow.Add(-60 * time.Second), Cause: tasks.CauseTimeout, Message: "It took longer than the 1m0s it may take."},
	}
	at := galleryNow.Add(-140 * time.Second)
	for n, end := range []tasks.Event{tasks.EventRetryScheduled, tasks.EventRetryScheduled, tasks.EventFinished} {
		t.Journal = append(t.Journal, tasks.Entry{At: at, Event: tasks.EventClaimed, Attempt: n + 1}, tasks.Entry{At: at.Add(10 * time.Second), Event: end, Attempt: n + 1})
		at = at.Add(60 * time.Second)
	}
	var lines []tasks.LogLine
	for i := range 18 {
		lines = append(lines, tasks.LogLine{Attempt: 1 + i/6, Seq: int64(i), At: at, Level: []string{"info", "warn", "error"}[i%3], Text: fmt.Sprintf("series %d of 18: read back 4,012 instances, and their hashes are as they were", i)})
	}
	return NewTask(f, t, TaskParts{Log: lines, Origin: "https://desk.example.org"})
}
