package deid

import (
	"strings"
	"time"

	"filmroom/dicom"
	"filmroom/dicom/vr"
)

// shift moves dates by the subject's offset and leaves times of day: intervals and order stay (PS3.15
// section E.3.6). What is no date, though it should be, becomes a dummy. Under EmptyTimes times go, also
// those within a DT value.
func (p *pass) shift(src, out *dicom.Dataset, e *dicom.Element) {
	if e.Section != nil || e.VR == vr.SQ {
		p.note(src, e, Removed, out, nil)
		return
	}
	var move func([]byte, string) ([]byte, bool)
	switch v := vrOf(e); v {
	case vr.DA:
		move = p.shiftDate
	case vr.DT:
		move = p.shiftDateTime
	case vr.TM:
		if p.plan.options.EmptyTimes {
			p.set(src, e, Emptied, out, v, nil)
			return
		}
		move = keepTime
	case vr.SH:
		move = keepZone
	default: // a time stamp in bytes, in whatever form
		p.dummy(src, out, e)
		return
	}
	b, sound := p.bytes(), true
	eachValue(e.Value, func(v []byte) {
		var ok bool
		if len(b) > 0 {
			b = append(b, '\\')
		}
		b, ok = move(b, string(v))
		sound = sound && ok
	})
	if !sound {
		p.dummy(src, out, e)
		return
	}
	done := Shifted
	if !p.plan.options.ShiftDates {
		done = Cleaned
	}
	p.set(src, e, done, out, vrOf(e), padded(b, vrOf(e)))
}

// shiftDate moves a DA value, also one with the dots of ACR-NEMA.
func (p *pass) shiftDate(b []byte, v string) ([]byte, bool) {
	if v == "" {
		return b, true
	}
	t, err := dicom.ParseDate(strings.ReplaceAll(v, ".", ""))
	return p.appendDay(b, t, len(dummyDate), err == nil)
}

// shiftDateTime moves the date in a DT value. A year or a month alone moves as its first day does.
func (p *pass) shiftDateTime(b []byte, v string) ([]byte, bool) {
	if v == "" {
		return b, true
	}
	if _, err := dicom.ParseDateTime(v); err != nil {
		return b, false
	}
	n := 0
	for n < len(v) && n < len(dummyDate) && v[n] >= '0' && v[n] <= '9' {
		n++
	}
	t, err := dicom.ParseDate(v[:n] + "00000101"[n:])
	b, ok := p.appendDay(b, t, n, err == nil)
	if p.plan.options.EmptyTimes {
		return b, ok
	}
	return append(b, v[n:]...), ok
}

// appendDay adds the first n digits of the moved day.
func (p *pass) appendDay(b []byte, t time.Time, n int, ok bool) ([]byte, bool) {
	if p.plan.options.ShiftDates {
		t = t.AddDate(0, 0, p.subject.DateOffset)
	}
	if !ok || t.Year() < 1 || t.Year() > 9999 {
		return b, false
	}
	return append(b, dicom.FormatDate(t)[:n]...), true
}

// keepTime leaves a time of day, also one with the colons of ACR-NEMA.
func keepTime(b []byte, v string) ([]byte, bool) {
	_, err := dicom.ParseClock(strings.ReplaceAll(v, ":", ""))
	return append(b, v...), v == "" || err == nil
}

// keepZone leaves an offset from UTC, "+0100", without which the times mean nothing.
func keepZone(b []byte, v string) ([]byte, bool) {
	_, err := dicom.ParseDateTime("2000" + v)
	return append(b, v...), v == "" || err == nil && (v[0] == '+' || v[0] == '-')
}
