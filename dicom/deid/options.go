package deid

import (
	"errors"
	"fmt"

	"filmroom/dicom"
	"filmroom/dicom/tag"
)

// Basic is the profile of PS3.15 Table E.1-1, the only one there is.
const Basic = "basic"

// ErrPlan: a profile or a combination of options that cannot be carried out.
var ErrPlan = errors.New("no such de-identification")

// Options are those of PS3.15 section E.3. The zero value is the Basic profile alone.
type Options struct {
	RetainUIDs                   bool // E.3.9: UIDs stay
	RetainDevice                 bool // E.3.8: serial numbers, station names
	RetainInstitution            bool // E.3.11
	RetainPatientCharacteristics bool // E.3.7: sex, age, size, weight and the like
	RetainFullDates              bool // E.3.6: dates and times stay
	ShiftDates                   bool // E.3.6: dates move by Subject.DateOffset, times of day stay
	EmptyTimes                   bool // with one of the two above: times of day go, dates stay as that one has them
	CleanDescriptors             bool // E.3.5: descriptions stay, without what identifies
	CleanStructuredContent       bool // E.3.4: content items stay by Table E.3.4-1
	CleanGraphics                bool // E.3.3: annotations stay, without what identifies; overlays if they were looked at
	RetainSafePrivate            bool // E.3.10: private elements that are known to be safe
}

// option ties an option's name to its column in the tables and its code in CID 7050.
type option struct {
	name   string
	column int
	code   string
	on     func(*Options) bool
}

var options = [...]option{
	{"retainUids", retainUIDs, "113110", func(o *Options) bool { return o.RetainUIDs }},
	{"retainDevice", retainDevice, "113109", func(o *Options) bool { return o.RetainDevice }},
	{"retainInstitution", retainInstitution, "113112", func(o *Options) bool { return o.RetainInstitution }},
	{"retainPatientCharacteristics", retainPatientCharacteristics, "113108", func(o *Options) bool { return o.RetainPatientCharacteristics }},
	{"retainFullDates", retainFullDates, "113106", func(o *Options) bool { return o.RetainFullDates }},
	{"shiftDates", retainModifiedDates, "113107", func(o *Options) bool { return o.ShiftDates }},
	{"cleanDescriptors", cleanDescriptors, "113105", func(o *Options) bool { return o.CleanDescriptors }},
	{"cleanStructuredContent", cleanStructuredContent, "113104", func(o *Options) bool { return o.CleanStructuredContent }},
	{"cleanGraphics", cleanGraphics, "113103", func(o *Options) bool { return o.CleanGraphics }},
	{"retainSafePrivate", retainSafePrivate, "113111", func(o *Options) bool { return o.RetainSafePrivate }},
}

// Supported are the names of the options that are carried out completely, as the export's API spells
// them.
func Supported() []string {
	names := make([]string, len(options), len(options)+1)
	for i, o := range options {
		names[i] = o.name
	}
	return append(names, emptyTimes)
}

// emptyTimes is an option that is ours: it has no column in the tables and no code.
const emptyTimes = "emptyTimes"

// Plan is a profile with its options, compiled. It is safe for use by many goroutines.
type Plan struct {
	options Options
	rules   map[tag.Tag]treatment // exact tags of Table E.1-1
	items   map[concept]treatment // content items of Table E.3.4-1
	codes   []string              // CID 7050 codes of what the plan does
	method  *dicom.Element        // the same for people
}

// Compile makes a plan of a profile's name and options. The error wraps ErrPlan and says what would be
// right.
func Compile(profile string, o Options) (*Plan, error) {
	if profile != Basic {
		return nil, fmt.Errorf("%w: unknown profile, want %q", ErrPlan, Basic)
	}
	if o.RetainFullDates && o.ShiftDates {
		return nil, fmt.Errorf("%w: retainFullDates and shiftDates exclude each other, want one of them", ErrPlan)
	}
	if o.EmptyTimes && !o.RetainFullDates && !o.ShiftDates {
		return nil, fmt.Errorf("%w: emptyTimes goes with retainFullDates or shiftDates; without them all times go anyway", ErrPlan)
	}
	p := &Plan{options: o, rules: make(map[tag.Tag]treatment, len(attributes)), codes: []string{"113100"}}
	var on [10]bool
	for _, option := range options {
		if option.on(&o) {
			on[option.column] = true
			p.codes = append(p.codes, option.code)
		}
	}
	for i := range attributes {
		if attributes[i].mask == ^tag.Tag(0) {
			p.rules[attributes[i].tag] = resolve(attributes[i].basic, attributes[i].options, on)
		}
	}
	p.items = resolveItems(on)
	p.method = methodOf(&o)
	return p, nil
}
