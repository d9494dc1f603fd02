package imaging

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"filmroom/dicom/deid"
	"filmroom/tasks"
)

const exportKindName = "export"

// maxSeries bounds one export.
const maxSeries = 10_000

// An ExportRequest is what a person wants to take out.
type ExportRequest struct {
	SeriesIDs       []string
	Profile         string                     // "basic"
	Options         map[string]json.RawMessage // name -> true or false
	Name            string                     // of the task and the file; "" for kind and count
	Confirm         string                     // for the profile "none"
	Pseudonyms      map[string]string          // patient id -> text
	PseudonymPrefix string                     // "" is P
	PixelsReviewed  []string                   // series whose pixels a person has looked at
	Blackout        map[string][][]int         // series -> rectangles to paint over: x, y, width, height in pixels
	Key             string                     // name of a key that the person keeps; "" for one that nothing else shares
}

// exportArgs are what an export is asked to do, without what is secret.
type exportArgs struct {
	Series         []string `json:"seriesIds"`
	Profile        string   `json:"profile"`
	Options        []string `json:"options,omitempty"` // those that are on
	Name           string   `json:"name,omitempty"`
	PixelsReviewed []string `json:"pixelsReviewed,omitempty"`
	Images         int64    `json:"images"`

	Blackout map[string][][]int `json:"blackout,omitempty"`
	Key      string             `json:"key,omitempty"`
	Naming   string             `json:"naming,omitempty"` // tells pseudonyms that were asked for from others, without telling them
}

// Export submits an export; see [Desk.ExportSpec].
func (d *Desk) Export(ctx context.Context, p tasks.Person, request ExportRequest) (tasks.Task, error) {
	spec, err := d.ExportSpec(ctx, p, request)
	if err != nil {
		return tasks.Task{}, err
	}
	return d.tasks.Submit(ctx, p, spec)
}

// ExportSpec is the task that carries out a request, for whoever has more to say of when and where it runs. Keys,
// pseudonyms and offsets of dates are fixed here. [FieldErrors] name all that is wrong with the request;
// [ErrNotFound]: a series is not in the person's library.
func (d *Desk) ExportSpec(ctx context.Context, p tasks.Person, request ExportRequest) (tasks.Spec, error) {
	_, all, hidden, err := d.order(ctx, p, request)
	if err != nil {
		return tasks.Spec{}, err
	}
	args := d.askedFor(p, request, idsOf(all))
	for _, s := range all {
		args.Images += int64(s.Instances)
	}
	id := tasks.NewID()
	sealed, err := d.sealer.seal(id, hidden)
	if err != nil {
		return tasks.Spec{}, err
	}
	return tasks.Spec{ID: id, Kind: exportKindName, Name: exportName(args), Args: args, Sealed: sealed, LockKey: lockKey(p, args.Key)}, nil
}

// AskedSpec is [Desk.ExportSpec] as far as the request alone tells it, whatever is in the library: to find out whether
// a task asks for the same, not to be submitted. The series may be in another order.
func (d *Desk) AskedSpec(p tasks.Person, request ExportRequest) tasks.Spec {
	args := d.askedFor(p, request, slices.Compact(slices.Sorted(slices.Values(request.SeriesIDs))))
	return tasks.Spec{Kind: exportKindName, Name: exportName(args), Args: args, LockKey: lockKey(p, args.Key)}
}

func (d *Desk) askedFor(p tasks.Person, request ExportRequest, series []string) exportArgs {
	args := exportArgs{Series: series, Profile: request.Profile, Options: optionsOn(request), Name: request.Name,
		Blackout: request.Blackout, Key: request.Key, Naming: d.sealer.naming(p.UserID, request)}
	for _, id := range series {
		if slices.Contains(request.PixelsReviewed, id) {
			args.PixelsReviewed = append(args.PixelsReviewed, id)
		}
	}
	return args
}

// order checks a request: how it is to be carried out, the series in the order in which they leave, and what
// nobody may read.
func (d *Desk) order(ctx context.Context, p tasks.Person, request ExportRequest) (plan *deid.Plan, all []Series, hidden *secret, err error) {
	plan, wrong := planOf(request)
	series := slices.Compact(slices.Sorted(slices.Values(request.SeriesIDs)))
	if len(series) == 0 {
		wrong.add("seriesIds", "nothing is selected")
	}
	if len(series) > maxSeries {
		wrong.add("seriesIds", fmt.Sprintf("one export takes at most %d series", maxSeries))
	}
	if len(request.Name) > maxExportName {
		wrong.add("name", fmt.Sprintf("at most %d bytes", maxExportName))
	}
	wrong = append(wrong, checkBlackout(request.Blackout, series)...)
	wrong = append(wrong, checkKey(request.Key)...)
	if err := wrong.orNil(); err != nil {
		return nil, nil, nil, err
	}
	if all, err = d.chosen(ctx, p, series); err != nil {
		return nil, nil, nil, err
	}
	hidden, err = d.secretFor(p, request, all)
	return plan, all, hidden, err
}

const maxExportName = 200

// chosen reads the series that were asked for, patients and studies together.
func (d *Desk) chosen(ctx context.Context, p tasks.Person, ids []string) ([]Series, error) {
	all := make([]Series, 0, len(ids))
	for _, id := range ids {
		s, err := d.Series(ctx, p, id)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	slices.SortStableFunc(all, func(a, b Series) int { return strings.Compare(a.StudyUID, b.StudyUID) })
	return all, nil
}

func idsOf(all []Series) []string {
	ids := make([]string, len(all))
	for i, s := range all {
		ids[i] = s.ID
	}
	return ids
}

func exportName(args exportArgs) string {
	if args.Name != "" {
		return args.Name
	}
	return fmt.Sprintf("Export, %d series", len(args.Series))
}

// planOf compiles the profile with its options, or says what is wrong with them. An option that this build
// does not carry out completely is refused, never ignored.
func planOf(request ExportRequest) (plan *deid.Plan, wrong FieldErrors) {
	switch request.Profile {
	case deid.Basic:
	case "none":
		wrong.add("profile", "identified data does not leave this desk: use the profile "+deid.Basic)
	default:
		wrong.add("profile", "unknown profile: use "+deid.Basic)
	}
	supported := append(deid.Supported(), cleanPixelData)
	for _, name := range slices.Sorted(maps.Keys(request.Options)) {
		var on bool
		switch {
		case json.Unmarshal(request.Options[name], &on) != nil:
			wrong.add("options."+name, "use true or false")
		case !slices.Contains(supported, name):
			wrong.add("options."+name, "this desk does not carry this out; it has "+strings.Join(supported, ", "))
		case name == cleanPixelData && on && len(request.Blackout) == 0:
			wrong.add("options."+name, `say what to paint over: "blackout": {seriesId: [[x, y, width, height], ...]}, in pixels from the upper left corner`)
		case name == cleanPixelData && !on && len(request.Blackout) > 0:
			wrong.add("options."+name, "use true, or give no rectangles in blackout")
		}
	}
	if len(wrong) > 0 {
		return nil, wrong
	}
	plan, err := compile(request.Profile, optionsOn(request))
	if err != nil {
		wrong.add("options", err.Error())
	}
	return plan, wrong
}

// optionsOn are the names of the options that are on. To give rectangles is to ask for clean pixels.
func optionsOn(request ExportRequest) []string {
	var on []string
	if len(request.Blackout) > 0 {
		on = append(on, cleanPixelData)
	}
	for _, name := range slices.Sorted(maps.Keys(request.Options)) {
		if name != cleanPixelData && bytes.Equal(bytes.TrimSpace(request.Options[name]), []byte("true")) {
			on = append(on, name)
		}
	}
	return on
}

// compile makes a plan. Options' names are those of deid's fields, but for the case of the first letter, so
// that what deid comes to support is supported here. Clean pixels are no affair of the plan: each series has
// its own rectangles.
func compile(profile string, on []string) (*deid.Plan, error) {
	switches := map[string]bool{}
	for _, name := range on {
		if name != cleanPixelData {
			switches[name] = true
		}
	}
	encoded, err := json.Marshal(switches)
	if err != nil {
		return nil, err
	}
	var options deid.Options
	decoder := json.NewDecoder(bytes.NewReader(encoded))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&options); err != nil {
		return nil, errors.New("unknown option")
	}
	return deid.Compile(profile, options)
}

// lockKey is the lock of exports under one kept key: they run one after the other, so that what they agree
// about is never made twice at once. Others need none.
func lockKey(p tasks.Person, key string) string {
	if key == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(p.UserID + "\n" + key))
	return "deid/" + hex.EncodeToString(sum[:])
}
